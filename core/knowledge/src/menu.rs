//! "Keep in knowledge" in the menu of a message: its files become documents, as with "keep this".

use std::collections::HashSet;

use async_trait::async_trait;
use nod_contract::chat::InteractionResponse;
use nod_contract::command::MenuEntrySpec;
use nod_contract::vector_store::Reader;
use nod_people::context::Chat;
use nod_people::conversations;
use nod_store::ability::{Asker, MenuEntry, PickedMessage};
use nod_store::jobs::sql as jobs;
use sqlx::PgConnection;

use crate::card;
use crate::document::NewDocument;
use crate::job::lane;
use crate::keep::{begin_version, find_problem};

/// The entry.
pub const KEEP_ENTRY: MenuEntrySpec = MenuEntrySpec {
    name: "Keep in knowledge",
    about: "Nod reads the files of this message, and answers from them where it was posted",
};

pub(crate) struct KeepFiles(pub(crate) Chat);

#[async_trait]
impl MenuEntry for KeepFiles {
    fn spec(&self) -> MenuEntrySpec {
        KEEP_ENTRY
    }

    async fn handle_pick(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        picked: &PickedMessage<'_>,
    ) -> sqlx::Result<InteractionResponse> {
        let (tenant, attachments) = (asker.tenant, picked.attachments);
        if attachments.is_empty() {
            return Ok(InteractionResponse::ephemeral(card::NO_FILE));
        }
        let Some(reader) = find_reader(conn, asker).await? else {
            return Ok(InteractionResponse::ephemeral(card::NOT_HEARD_HERE));
        };
        jobs::lock_lane(conn, tenant, lane(tenant)).await?;
        let mut seen = HashSet::new();
        let mut files = Vec::with_capacity(attachments.len());
        for file in attachments {
            let problem = find_problem(file, &mut seen);
            files.push((file, problem));
            let Some(url) = file.url.as_ref().filter(|_| problem.is_none()) else { continue };
            let new = NewDocument {
                reader,
                added_by: Some(asker.person),
                platform: asker.platform,
                file,
                url,
                // Nobody in the channel asked for it, so nothing is posted there.
                delivery: None,
                now: asker.now,
            };
            begin_version(&self.0, conn, tenant, &new).await?;
        }
        let command = self.0.adapters.command_syntax(asker.platform).format_command("knowledge");
        Ok(InteractionResponse::Ephemeral(card::reading_files(&files, &command)))
    }
}

/// Returns whose the files of the picked message become; `None` where nobody has spoken to Nod. That is also so in a DM of
/// two other people, whose messages have the entry too.
async fn find_reader(conn: &mut PgConnection, asker: &Asker<'_>) -> sqlx::Result<Option<Reader>> {
    let Asker { tenant, platform, workspace, place, person, .. } = *asker;
    let channel = conversations::find_channel(conn, tenant, platform, workspace, &place.channel).await?;
    Ok(channel.map(|channel| if place.is_dm { Reader::Person(person) } else { Reader::Channel(channel) }))
}
