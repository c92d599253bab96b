//! The tools that read documents. What the model is shown has a handle, and is left for the check of its answer.
//!
//! A document that they may not read and one that does not exist give the same words.

mod find;
mod open;
mod retrieve;

use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::check::{self, PassageHandle, SearchPart};
use crate::cite;
use crate::document::{Document, Readers};
use crate::search::{Searcher, place_text};
use crate::sql::{self, FoundChunk};
use nod_contract::privacy::Provenance;
use nod_contract::scope::RunOrIngestion;
use nod_contract::tool::{FollowUp, Tool, ToolContext, ToolError, ToolOutput};
use nod_people::context::Chat;
use nod_people::delivery;

pub(crate) fn list_tools(chat: &Chat, searcher: Searcher) -> Vec<Tool> {
    vec![retrieve::tool(chat, searcher), find::tool(chat), open::tool(chat)]
}

/// Returns whose documents a call may read.
async fn load_readers(conn: &mut PgConnection, cx: &ToolContext) -> sqlx::Result<Readers> {
    let location = delivery::sql::load_location(conn, cx.scope.tenant, cx.scope.case).await?;
    Ok(Readers::of_location(&location, cx.principal.person))
}

fn database_error(error: sqlx::Error) -> ToolError {
    tracing::error!(%error, "could not read the documents");
    ToolError::internal("the documents could not be read")
}

/// A document that was opened by its title.
struct Opened {
    title: String,
    readers: Readers,
    chunks: Vec<FoundChunk>,
}

/// Opens a document, or returns what the model reads if it is not clear which.
async fn open_by_title(
    chat: &Chat,
    cx: &ToolContext,
    title: &str,
) -> sqlx::Result<Result<Opened, ToolOutput>> {
    let mut conn = chat.pool.acquire().await?;
    let tenant = cx.scope.tenant;
    let readers = load_readers(&mut conn, cx).await?;
    let mut documents = sql::list(&mut conn, tenant, readers).await?;
    documents.retain(|document| document.generation > 0);
    let titles: Vec<&str> = documents.iter().map(|document| document.title.as_str()).collect();
    let output = match match_titles(&titles, title).as_slice() {
        [at] => {
            let Document { id, title, .. } = &documents[*at];
            let chunks = sql::list_chunks(&mut conn, tenant, *id, readers).await?;
            return Ok(Ok(Opened { title: title.clone(), readers, chunks }));
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
    Ok(Err(limit_audience(output, readers)))
}

/// Returns the titles that fit best: the same, the same without the ending, those that contain it.
fn match_titles(titles: &[&str], wanted: &str) -> Vec<usize> {
    let wanted = wanted.trim().to_lowercase();
    let without_ending = |title: &str| title.rsplit_once('.').map_or(title, |(name, _)| name).to_owned();
    let fits: [&dyn Fn(&str) -> bool; 3] =
        [&|title| title == wanted, &|title| without_ending(title) == wanted, &|title| {
            !wanted.is_empty() && title.contains(&wanted)
        }];
    let found = fits.iter().map(|fits| {
        let fitting = titles.iter().enumerate().filter(|(_, title)| fits(&title.to_lowercase()));
        fitting.map(|(at, _)| at).collect::<Vec<_>>()
    });
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
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
    readers: Readers,
    /// What was searched; `None` if a document was opened.
    query: Option<&'a str>,
    /// The documents that were searched.
    documents: usize,
    by_words_alone: bool,
    chunks: Vec<Uuid>,
}

impl Shown<'_> {
    /// Leaves for the check what the model was shown.
    fn leave(self, cx: &ToolContext, output: ToolOutput) -> ToolOutput {
        let output = limit_audience(output, self.readers);
        let RunOrIngestion::RunId(run) = cx.scope.run else { return output };
        let mut chunks = self.chunks;
        chunks.dedup();
        let part = SearchPart {
            run: run.0,
            query: self.query.map(str::to_owned),
            documents: self.documents,
            by_words_alone: self.by_words_alone,
            channel: self.readers.channel(),
            person: self.readers.person(),
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

fn limit_audience(output: ToolOutput, readers: Readers) -> ToolOutput {
    match readers {
        Readers::Person(person) => output.private_to(person),
        Readers::Channel(_) => output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_matched_as_people_write_it() {
        let titles = ["Handbook.md", "handbook.pdf", "Handbook", "Travel policy 2026.docx", "v1.2 notes"];
        for (wanted, expected) in [
            ("handbook.md", vec![0]),
            ("HANDBOOK", vec![2]),
            ("travel policy 2026", vec![3]),
            (" Travel policy ", vec![3]),
            ("handb", vec![0, 1, 2]),
            ("v1.2 notes", vec![4]),
            ("offer", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(match_titles(&titles, wanted), expected, "{wanted}");
        }
        assert_eq!(match_titles(&titles[..2], "handbook"), [0, 1]);
    }
}
