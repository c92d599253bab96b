//! The command `knowledge`, and the buttons that remove a document or have it read again.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::access::{Access, find_channel};
use crate::document::{Document, NewDocument, Readers, STUCK_AFTER, Status};
use crate::fetch;
use crate::job::{KnowledgeJob, lane};
use crate::points::Points;
use crate::sql::Citation;
use crate::{card, sql, version};
use nod_contract::card::Action;
use nod_contract::chat::{Attachment, InteractionResponse};
use nod_contract::command::{CommandOption, CommandSpec, Takes};
use nod_contract::ids::ChannelId;
use nod_contract::vector_store::Reader;
use nod_contract::web::WebFetcher;
use nod_people::context::Chat;
use nod_store::ability::{Asker, Buttons, Command};
use nod_store::audit;
use nod_store::jobs::sql as jobs;

const UNKNOWN: &str = "I don't know a document of that name here. Nothing changed.";
/// The most choices of an option, and the longest label of one.
const MAX_CHOICES: usize = 25;
const MAX_LABEL_CHARS: usize = 100;

/// `knowledge` lists the documents here, `knowledge add https://…` adds a page of the web, `knowledge remove handbook.pdf`
/// removes a document, and `knowledge again handbook.pdf` reads it again.
pub(crate) struct Knowledge {
    pub(crate) chat: Chat,
    pub(crate) access: Access,
    pub(crate) web: Arc<dyn WebFetcher>,
}

#[async_trait]
impl Command for Knowledge {
    fn spec(&self) -> CommandSpec {
        CommandSpec {
            name: "knowledge",
            does: "lists the documents I know here; `add URL`, `remove NAME` and `again NAME` change them",
            about: "The documents that Nod knows here",
            options: &[
                CommandOption { name: "remove", about: "A document to remove", takes: Takes::Completed },
                CommandOption { name: "again", about: "A document to read again", takes: Takes::Completed },
                CommandOption { name: "add", about: "The address of a page on the web", takes: Takes::Words },
            ],
        }
    }

    async fn handle_command(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        words: &str,
    ) -> sqlx::Result<InteractionResponse> {
        if let Some(address) = words.strip_prefix("add ") {
            return self.add_page(conn, asker, address).await;
        }
        let readers = self.access.find_asker_readers(conn, asker).await?;
        let documents = sql::list(conn, asker.tenant, &readers).await?;
        let again = words.strip_prefix("again ");
        // Discord hands over only the value of the other option.
        let name = again.or_else(|| words.strip_prefix("remove ")).unwrap_or(words).trim();
        if name.is_empty() && !documents.is_empty() {
            return Ok(InteractionResponse::Ephemeral(card::list(documents, asker.now)));
        }
        if name.is_empty() {
            return Ok(InteractionResponse::ephemeral(card::NO_DOCUMENTS));
        }
        let named = |document: &&Document| {
            document.title.to_lowercase() == name.to_lowercase() || document.id.to_string() == name
        };
        let named: Vec<&Document> = documents.iter().filter(named).collect();
        Ok(match (named.as_slice(), again.is_some()) {
            ([document], true) => read_again(conn, asker, document.id).await?,
            ([document], false) if !may_remove(&self.chat, asker, document) => not_theirs(),
            ([document], false) => InteractionResponse::Ephemeral(card::ask_remove(document)),
            ([], _) => InteractionResponse::ephemeral(UNKNOWN),
            (several, is_again) => InteractionResponse::Ephemeral(card::ask_which(several, is_again)),
        })
    }

    async fn choices(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        typed: &str,
    ) -> sqlx::Result<Vec<(String, String)>> {
        let readers = self.access.find_asker_readers(conn, asker).await?;
        let documents = sql::list(conn, asker.tenant, &readers).await?;
        let typed = typed.to_lowercase();
        let fits = documents.into_iter().filter(|document| document.title.to_lowercase().contains(&typed));
        let choice = |document: Document| {
            let label = format!("{} · {}", document.title, card::reader_text(document.reader));
            (label.chars().take(MAX_LABEL_CHARS).collect(), document.id.to_string())
        };
        Ok(fits.take(MAX_CHOICES).map(choice).collect())
    }
}

impl Knowledge {
    /// Adds a page of the web to the documents of the channel, or in a DM to the person's own.
    async fn add_page(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        address: &str,
    ) -> sqlx::Result<InteractionResponse> {
        let tenant = asker.tenant;
        let url = match self.web.normalise(address) {
            Ok(url) => url,
            Err(error) => return Ok(InteractionResponse::ephemeral(format!("I added nothing: {error}."))),
        };
        let reader = match find_channel(conn, asker).await? {
            Some(channel) => Reader::Channel(ChannelId(channel)),
            None if asker.place.is_dm || asker.place.channel.is_empty() => Reader::Person(asker.person),
            None => {
                return Ok(InteractionResponse::ephemeral(
                    "I added nothing: no one has mentioned me in this channel yet. Mention me once, then try again.",
                ));
            }
        };
        let name = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).trim_end_matches('/');
        let file = Attachment { name: name.to_owned(), media_type: String::new(), size: 0, url: None };
        jobs::lock_lane(conn, tenant, lane(tenant)).await?;
        let known = sql::list(conn, tenant, &Readers::of_reader(reader)).await?;
        // Other capitals may be another page.
        let known = known.iter().find(|document| document.platform == fetch::WEB && document.url == url);
        let new = NewDocument {
            reader,
            added_by: Some(asker.person),
            platform: fetch::WEB,
            file: &file,
            url: &url,
            delivery: None,
            now: asker.now,
        };
        version::begin(conn, tenant, self.chat.ids.as_ref(), known, &new).await?;
        Ok(InteractionResponse::Ephemeral(card::reading_page(name)))
    }
}

/// [Remove], [Yes, remove it], [Try again], and the buttons that show a cited passage.
pub(crate) struct DocumentButtons {
    pub(crate) chat: Chat,
    pub(crate) access: Access,
    pub(crate) points: Points,
}

#[async_trait]
impl Buttons for DocumentButtons {
    fn action_kinds(&self) -> &'static [&'static str] {
        &[card::ASK_REMOVE, card::REMOVE, card::READ_AGAIN, card::SHOW_PASSAGE]
    }

    async fn handle_click(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        verb: &Action,
    ) -> sqlx::Result<InteractionResponse> {
        // The rows decide: a click can come from anywhere.
        let readers = self.access.find_asker_readers(conn, asker).await?;
        if verb.kind == card::SHOW_PASSAGE {
            return show_passage(conn, asker, verb.subject, &readers).await;
        }
        let document = sql::load(conn, asker.tenant, verb.subject).await?;
        let Some(document) = document.filter(|document| readers.include(document.reader)) else {
            return Ok(InteractionResponse::ephemeral(UNKNOWN));
        };
        match verb.kind.as_str() {
            card::READ_AGAIN => read_again(conn, asker, document.id).await,
            _ if !may_remove(&self.chat, asker, &document) => Ok(not_theirs()),
            card::ASK_REMOVE => Ok(InteractionResponse::Ephemeral(card::ask_remove(&document))),
            _ => remove(conn, asker, &document, &self.points).await,
        }
    }
}

async fn show_passage(
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    id: Uuid,
    readers: &Readers,
) -> sqlx::Result<InteractionResponse> {
    let channel = find_channel(conn, asker).await?;
    // They alone see it, wherever they press.
    let readers = &Readers { person: Some(asker.person.0), ..readers.clone() };
    Ok(match sql::load_citation(conn, asker.tenant, id, readers, channel).await? {
        Some(Citation { title, place, quote, text }) => {
            InteractionResponse::Ephemeral(card::passage(&title, &place, &quote, text.as_deref()))
        }
        None => InteractionResponse::ephemeral("That is for somebody else, or the document was removed."),
    })
}

async fn remove(
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    document: &Document,
    points: &Points,
) -> sqlx::Result<InteractionResponse> {
    let Asker { tenant, person, now, .. } = *asker;
    // In the same order as by the job.
    jobs::lock_lane(conn, tenant, lane(tenant)).await?;
    let Some(document) = &sql::load(conn, tenant, document.id).await? else {
        return Ok(InteractionResponse::ephemeral(UNKNOWN));
    };
    card::show(conn, tenant, document, &card::removed(&document.title), now).await?;
    // Before its vectors are gone, because they tell where its points are.
    points.enqueue_sweep(conn, tenant, document.id, now).await?;
    if !sql::delete(conn, tenant, document.id).await? {
        return Ok(InteractionResponse::ephemeral(UNKNOWN));
    }
    let detail = json!({ "passages": document.chunk_count });
    audit::insert_entry(conn, tenant, Some(person), "document.removed", document.id, None, &detail, now)
        .await?;
    Ok(InteractionResponse::Ephemeral(card::removed(&document.title)))
}

/// Begins to read a document again, from the bytes that are kept.
async fn read_again(
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    document: Uuid,
) -> sqlx::Result<InteractionResponse> {
    let Asker { tenant, now, .. } = *asker;
    // In the same order as by the job.
    jobs::lock_lane(conn, tenant, lane(tenant)).await?;
    let Some(document) = &sql::load(conn, tenant, document).await? else {
        return Ok(InteractionResponse::ephemeral(UNKNOWN));
    };
    let shown = card::rereading(document);
    if document.status == Status::Indexing && !document.is_stuck(now) {
        return Ok(InteractionResponse::ephemeral("I'm already reading it."));
    }
    card::show(conn, tenant, document, &shown, now).await?;
    let next = sql::begin_rereading(conn, tenant, document.id, now - STUCK_AFTER, now).await?;
    let Some(generation) = next else {
        return Ok(InteractionResponse::ephemeral("I'm already reading it."));
    };
    let work = KnowledgeJob::IndexDocument { document: document.id, generation, asked_by: None };
    jobs::enqueue(conn, tenant, lane(tenant), &work, now, now).await?;
    Ok(InteractionResponse::Ephemeral(shown))
}

/// Whoever added a document can remove it, and so can an admin.
fn may_remove(core: &Chat, asker: &Asker<'_>, document: &Document) -> bool {
    document.added_by == Some(asker.person) || core.admins_on(asker.platform).any(|admin| admin == asker.user)
}

fn not_theirs() -> InteractionResponse {
    InteractionResponse::ephemeral(
        "Only the person who added it, or an admin, can remove it. Nothing changed.",
    )
}
