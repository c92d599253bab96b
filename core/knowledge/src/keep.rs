//! "Keep this": a dropped file becomes a document, without a model.

use std::collections::HashSet;

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::document::{NewDocument, Readers, Status};
use crate::job::{KnowledgeJob, lane};
use crate::{card, sql};
use nod_contract::chat::Attachment;
use nod_contract::ids::{DeliveryId, PersonId};
use nod_people::attachment;
use nod_people::context::Chat;
use nod_people::delivery::{self, ConversationLocation, NewDelivery};
use nod_store::ability::{AddressedMessage, Asker, MessageHandler};
use nod_store::blobs::{self, BlobOwner};
use nod_store::jobs::sql as jobs;

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
        is_keep_phrase(text)
    }

    async fn handle_message(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        message: &AddressedMessage<'_>,
    ) -> sqlx::Result<bool> {
        let location = delivery::sql::load_location(conn, asker.tenant, message.conversation).await?;
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
        let mut seen = HashSet::new();
        for file in files {
            let is_named_alike = !seen.insert(file.name.to_lowercase());
            keep(&self.0, conn, asker, &location, file, is_named_alike).await?;
        }
        Ok(true)
    }
}

/// Returns whether a text only says that a file is to be kept.
fn is_keep_phrase(text: &str) -> bool {
    let text = text.trim().trim_end_matches(['!', '.']).to_lowercase().replace(',', "");
    let text = text.strip_prefix("please ").or_else(|| text.strip_suffix(" please")).unwrap_or(&text);
    PHRASES.contains(&text.trim())
}

/// Stores the document, the message that shows how far it is, and the job that reads it.
async fn keep(
    core: &Chat,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    location: &ConversationLocation,
    file: &Attachment,
    is_named_alike: bool,
) -> sqlx::Result<()> {
    let tenant = asker.tenant;
    let readers = Readers::of_location(location, asker.person);
    let delivery: DeliveryId = core.id();
    let url = file.url.as_ref().filter(|_| !is_named_alike);
    let shown = match (url, is_named_alike) {
        (Some(_), _) => card::indexing(&file.name),
        (None, true) => card::not_kept(&file.name, "another file of this message has the same name"),
        (None, false) => card::not_kept(&file.name, "it is not stored in this chat"),
    };
    let new = NewDelivery {
        id: delivery,
        conversation: location.conversation,
        run: None,
        platform: &location.platform,
        target: None,
        opens_thread: location.is_thread_pending,
        card: &shown,
        only_for: readers.person().map(PersonId),
    };
    delivery::enqueue(conn, tenant, location, &new, asker.now).await?;
    let Some(url) = url else { return Ok(()) };
    // A file of the same name is its next version: otherwise the old text would be found next to the new one.
    let known = sql::list(conn, tenant, readers).await?;
    let known = known.iter().find(|document| document.title.to_lowercase() == file.name.to_lowercase());
    if let Some(open) = known.filter(|document| document.status == Status::Indexing) {
        let card = card::superseded(&open.title);
        delivery::update_card(conn, tenant, open.delivery, &card, asker.now).await?;
    }
    let document = NewDocument {
        id: known.map_or_else(|| core.ids.next(), |document| document.id),
        readers,
        added_by: asker.person,
        platform: &location.platform,
        file,
        url,
        delivery,
        now: asker.now,
    };
    let next = match known {
        Some(known) => {
            let next = sql::begin_version(conn, tenant, &document).await?;
            // What could not be read, or was not read yet, is not wanted any more.
            let owner = BlobOwner::document(known.id);
            blobs::release_except(conn, tenant, owner, known.digest.as_slice()).await?;
            next
        }
        None => None,
    };
    let generation = match next {
        Some(generation) => generation,
        None => {
            sql::insert(conn, tenant, &document).await?;
            1
        }
    };
    let work = KnowledgeJob::IndexDocument { document: document.id, generation };
    jobs::enqueue(conn, tenant, lane(tenant), &work, asker.now, asker.now).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_keep_phrase;

    #[test]
    fn only_the_bare_phrases_keep() {
        for said in ["keep this", "Keep this!", "please keep these files", "keep it, please", " Keep it. "] {
            assert!(is_keep_phrase(said), "{said}");
        }
        for said in ["keep this short", "keep it out of the mail", "should we keep this?", "keep", ""] {
            assert!(!is_keep_phrase(said), "{said}");
        }
    }
}
