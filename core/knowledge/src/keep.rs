//! "Keep this": a dropped file becomes a document, without a model.

use std::collections::HashSet;

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::document::{NewDocument, reader_of_location};
use crate::job::lane;
use crate::{card, sql, version};
use nod_contract::chat::Attachment;
use nod_contract::ids::{DeliveryId, TenantId};
use nod_contract::vector_store::Reader;
use nod_people::attachment;
use nod_people::context::Chat;
use nod_people::conversations::{self, ConversationLocation};
use nod_people::delivery::{self, NewDelivery};
use nod_store::ability::{AddressedMessage, Asker, MessageHandler};
use nod_store::jobs::sql as jobs;

/// What an admin adds to have it kept for all members of the organisation.
const FOR_EVERYONE: [&str; 4] =
    [" for everyone", " for everybody", " for the whole company", " for all of us"];

/// What people say to have a file kept.
const PHRASES: [&str; 12] = [
    "keep this",
    "keep it",
    "keep these",
    "keep them",
    "keep this file",
    "keep these files",
    "keep the file",
    "keep this document",
    "keep these documents",
    "keep this for us",
    "add this to the knowledge base",
    "add it to the knowledge base",
];

pub(crate) struct Keep(pub(crate) Chat);

#[async_trait]
impl MessageHandler for Keep {
    fn accepts(&self, text: &str) -> bool {
        parse_keep_phrase(text).is_some()
    }

    async fn handle_message(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        message: &AddressedMessage<'_>,
    ) -> sqlx::Result<bool> {
        let Some(for_everyone) = parse_keep_phrase(message.text) else { return Ok(false) };
        let location = conversations::load_location(conn, asker.tenant, message.conversation).await?;
        // A conversation that one person has among others: a message about their file would be read by all.
        if location.private_with.is_some() && !location.channel_ref.is_dm {
            return Ok(false);
        }
        let earlier = match message.attachments {
            [] => attachment::sql::list_newest(conn, asker.tenant, message.conversation).await?,
            _ => Vec::new(),
        };
        let files = if message.attachments.is_empty() { &earlier[..] } else { message.attachments };
        if files.is_empty() {
            return Ok(false);
        }
        // The lane of the documents is locked before those of messages, in the same order as by the job.
        jobs::lock_lane(conn, asker.tenant, lane(asker.tenant)).await?;
        let may_keep = !for_everyone || self.0.admins_on(asker.platform).any(|admin| admin == asker.user);
        let reader =
            if for_everyone { Reader::Everyone } else { reader_of_location(&location, asker.person) };
        let mut seen = HashSet::new();
        for file in files {
            let problem = if may_keep {
                find_problem(file, &mut seen)
            } else {
                Some("only an admin of Nod can keep a document for everyone")
            };
            keep(&self.0, conn, asker, &location, reader, file, problem).await?;
        }
        Ok(true)
    }
}

/// Returns whether a file is to be kept for everyone, if a text says that it is to be kept and nothing else.
fn parse_keep_phrase(text: &str) -> Option<bool> {
    let text = text.trim().trim_end_matches(['!', '.']).to_lowercase().replace(',', "");
    let text = text.strip_prefix("please ").or_else(|| text.strip_suffix(" please")).unwrap_or(&text);
    let text = text.trim();
    let for_everyone = FOR_EVERYONE.iter().find_map(|end| text.strip_suffix(end));
    PHRASES.contains(&for_everyone.unwrap_or(text)).then_some(for_everyone.is_some())
}

/// Returns why a file of a message cannot be kept, as the end of a sentence. `seen` has the names of those before it.
pub(crate) fn find_problem(file: &Attachment, seen: &mut HashSet<String>) -> Option<&'static str> {
    if !seen.insert(file.name.to_lowercase()) {
        Some("another file of this message has the same name")
    } else if file.url.is_none() {
        Some("it is not stored in this chat")
    } else {
        None
    }
}

/// Stores the document, the message that shows how far it is, and the job that reads it. `problem` says why it is not kept,
/// as the end of a sentence.
async fn keep(
    core: &Chat,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    location: &ConversationLocation,
    reader: Reader,
    file: &Attachment,
    problem: Option<&str>,
) -> sqlx::Result<()> {
    let tenant = asker.tenant;
    let delivery: DeliveryId = core.id();
    let url = file.url.as_ref().filter(|_| problem.is_none());
    let shown =
        problem.map_or_else(|| card::indexing(&file.name), |problem| card::not_kept(&file.name, problem));
    let new = NewDelivery {
        id: delivery,
        conversation: location.conversation,
        run: None,
        platform: &location.platform,
        target: None,
        opens_thread: location.is_thread_pending,
        card: &shown,
        only_for: location.is_private_location().then_some(asker.person),
    };
    delivery::enqueue(conn, tenant, location, &new, asker.now).await?;
    let Some(url) = url else { return Ok(()) };
    let new = NewDocument {
        reader,
        added_by: Some(asker.person),
        platform: &location.platform,
        file,
        url,
        delivery: Some(delivery),
        now: asker.now,
    };
    begin_version(core, conn, tenant, &new).await
}

/// Begins a version of a document. A file of the same name is its next one: otherwise the old text would be found next to
/// the new one.
pub(crate) async fn begin_version(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &NewDocument<'_>,
) -> sqlx::Result<()> {
    let known = sql::find_by_title(conn, tenant, new.reader, &new.file.name).await?;
    version::begin(conn, tenant, core.ids.as_ref(), known.as_ref(), new).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use nod_contract::chat::Attachment;

    use super::{find_problem, parse_keep_phrase};

    #[test]
    fn a_name_is_kept_once_and_only_what_the_chat_stores() {
        let file = |name: &str, url: Option<&str>| Attachment {
            name: name.to_owned(),
            media_type: String::new(),
            size: 0,
            url: url.map(str::to_owned),
        };
        let files = [file("a.md", Some("u1")), file("A.md", Some("u2")), file("b.md", None)];
        let mut seen = HashSet::new();
        let problems = files.each_ref().map(|file| find_problem(file, &mut seen));
        let (twice, nowhere) =
            ("another file of this message has the same name", "it is not stored in this chat");
        assert_eq!(problems, [None, Some(twice), Some(nowhere)]);
    }

    #[test]
    fn only_the_bare_phrases_keep() {
        for said in ["keep this", "Keep this!", "please keep these files", "keep it, please", " Keep it. "] {
            assert_eq!(parse_keep_phrase(said), Some(false), "{said}");
        }
        for said in ["keep this for everyone", "Please keep these files for everybody!"] {
            assert_eq!(parse_keep_phrase(said), Some(true), "{said}");
        }
        for said in ["keep this short", "keep it out of the mail", "should we keep this?", "keep", ""] {
            assert_eq!(parse_keep_phrase(said), None, "{said}");
        }
    }
}
