//! The tools that read documents. What the model is shown has a handle, and is left for the check of its answer.
//!
//! A document that they may not read and one that does not exist give the same words.

mod find;
mod list;
mod open;
mod retrieve;

use serde_json::json;
use uuid::Uuid;

use crate::access::{Access, PersonAccess};
use crate::check::{self, PassageHandle, SearchPart};
use crate::cite;
use crate::document::{Document, Readers};
use crate::filter::match_titles;
use crate::search::{Searcher, place_text};
use crate::sql::{self, FoundChunk};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::scope::RunOrIngestion;
use nod_contract::tool::{FollowUp, Tool, ToolContext, ToolError, ToolOutput};
use nod_contract::vector_store::Reader;
use nod_people::context::Chat;
use nod_people::conversations::{self, ConversationLocation};
use nod_people::listing;

pub(crate) fn list_tools(chat: &Chat, access: &Access, searcher: Searcher) -> Vec<Tool> {
    let library = Library { chat: chat.clone(), access: access.clone() };
    vec![
        retrieve::tool(&library, searcher),
        find::tool(&library),
        open::tool(&library),
        listing::tool(list::ListDocuments(library)),
    ]
}

/// Whose documents a call uses.
#[derive(Debug, Clone)]
struct Grant {
    readers: Readers,
    /// Who may be told what they say: those in the channel, or one person.
    audience: Reader,
    /// The channels whose documents are left out because nobody knows now whether the person is in them.
    unknown_channels: usize,
}

/// What the tools have in common.
#[derive(Clone)]
struct Library {
    chat: Chat,
    access: Access,
}

impl Library {
    async fn load_location(&self, cx: &ToolContext) -> sqlx::Result<ConversationLocation> {
        let mut conn = self.chat.pool.acquire().await?;
        conversations::load_location(&mut conn, cx.scope.tenant, cx.scope.case).await
    }

    /// Returns what may be used where the person asks.
    async fn find_grant(&self, cx: &ToolContext, location: &ConversationLocation) -> sqlx::Result<Grant> {
        if location.is_private_location() {
            return self.find_private_grant(cx).await;
        }
        let readers = self.access.find_channel_readers(cx.scope.tenant, location).await?;
        Ok(Grant { readers, audience: Reader::Channel(location.channel), unknown_channels: 0 })
    }

    /// Returns what may be used for the person alone.
    async fn find_private_grant(&self, cx: &ToolContext) -> sqlx::Result<Grant> {
        let person = cx.principal.person;
        let access = self.access.find_person_readers(cx.scope.tenant, person).await?;
        let PersonAccess { readers, unknown_channels } = access;
        Ok(Grant { readers, audience: Reader::Person(person), unknown_channels })
    }

    /// Opens a document by its title, or returns what the model reads if it is not clear which. Where others read along,
    /// one that only the person may read is opened for them alone, if there is no other.
    async fn open(&self, cx: &ToolContext, title: &str) -> sqlx::Result<Result<Opened, ToolOutput>> {
        let location = self.load_location(cx).await?;
        let grant = self.find_grant(cx, &location).await?;
        let opened = self.open_granted(cx, title, grant).await?;
        if opened.is_ok() || location.is_private_location() {
            return Ok(opened);
        }
        let grant = self.find_private_grant(cx).await?;
        let privately = self.open_granted(cx, title, grant).await?;
        Ok(if privately.is_ok() { privately } else { opened })
    }

    async fn open_granted(
        &self,
        cx: &ToolContext,
        title: &str,
        grant: Grant,
    ) -> sqlx::Result<Result<Opened, ToolOutput>> {
        let tenant = cx.scope.tenant;
        let mut conn = self.chat.pool.acquire().await?;
        let mut documents = sql::list(&mut conn, tenant, &grant.readers).await?;
        documents.retain(|document| document.generation > 0);
        let titles: Vec<&str> = documents.iter().map(|document| document.title.as_str()).collect();
        let output = match match_titles(&titles, title).as_slice() {
            [at] => {
                let Document { id, title, .. } = &documents[*at];
                let chunks = sql::list_chunks(&mut conn, tenant, *id, &grant.readers).await?;
                return Ok(Ok(Opened { title: title.clone(), grant, chunks }));
            }
            [] => ToolOutput::trusted(json!({ "found": false, "why": "there is no such document here" })),
            several => {
                let several: Vec<&str> = several.iter().map(|at| titles[*at]).collect();
                let sources = several.iter().map(|title| format!("the document {title}"));
                let content = json!({
                    "found": false,
                    "why": "several documents have such a title: name one of them, or ask which is meant",
                    "documents": several,
                });
                ToolOutput::trusted(content).with_provenance(Provenance::from_sources(sources))
            }
        };
        Ok(Err(limit_audience(output, grant.audience)))
    }
}

fn database_error(error: sqlx::Error) -> ToolError {
    tracing::error!(%error, "could not read the documents");
    ToolError::internal("the documents could not be read")
}

/// A document that was opened by its title.
struct Opened {
    title: String,
    grant: Grant,
    chunks: Vec<FoundChunk>,
}

/// Returns the name of a passage for the model: "p3f2a91", from the random end of its id.
fn handle(chunk: Uuid) -> String {
    let id = chunk.simple().to_string();
    format!("p{}", &id[id.len() + 1 - cite::HANDLE_LENGTH..])
}

fn place(chunk: &FoundChunk) -> String {
    place_text(chunk.page, &chunk.heading)
}

/// What a call has shown.
struct Shown<'a> {
    grant: &'a Grant,
    /// What was searched; `None` if a document was opened.
    query: Option<&'a str>,
    /// The documents that were searched.
    documents: usize,
    /// Those that could not be searched yet.
    unread: usize,
    by_words_alone: bool,
    chunks: Vec<Uuid>,
}

impl Shown<'_> {
    /// Leaves for the check what the model was shown.
    fn leave(self, cx: &ToolContext, output: ToolOutput) -> ToolOutput {
        let Grant { readers, audience, .. } = self.grant;
        let output = limit_audience(output, *audience);
        let RunOrIngestion::RunId(run) = cx.scope.run else { return output };
        let mut chunks = self.chunks;
        chunks.dedup();
        let part = SearchPart {
            run: run.0,
            query: self.query.map(str::to_owned),
            documents: self.documents,
            unread: self.unread,
            by_words_alone: self.by_words_alone,
            readers: readers.clone(),
            channel: if let Reader::Channel(channel) = audience { Some(channel.0) } else { None },
            person: if let Reader::Person(person) = audience { Some(person.0) } else { None },
            passages: chunks
                .into_iter()
                .map(|chunk| PassageHandle { handle: handle(chunk), chunk })
                .collect(),
        };
        match serde_json::to_value(part) {
            Ok(part) => output.with_follow_up(FollowUp::CheckPart { check: check::NAME.to_owned(), part }),
            Err(_) => output,
        }
    }
}

fn limit_audience(output: ToolOutput, audience: Reader) -> ToolOutput {
    match audience_of(audience) {
        Audience::Person(person) => output.private_to(person),
        Audience::Channel => output,
    }
}

fn audience_of(reader: Reader) -> Audience {
    match reader {
        Reader::Person(person) => Audience::Person(person),
        Reader::Everyone | Reader::Channel(_) => Audience::Channel,
    }
}
