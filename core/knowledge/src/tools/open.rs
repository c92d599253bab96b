//! The tool `open_document`.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Library, Opened, Shown, database_error, handle, place};
use crate::check;
use crate::sql::FoundChunk;
use nod_contract::privacy::Provenance;
use nod_contract::tool::{Reach, ReadTool, Tool, ToolContext, ToolOutput, ToolResult, ToolSpec};

/// The most characters that one call returns, and the most lines of a table of contents.
const MAX_SHOWN_CHARS: usize = 4_000;
const MAX_CONTENTS: usize = 80;

pub(super) fn tool(library: &Library) -> Tool {
    let spec = ToolSpec {
        name: check::OPEN,
        description: include_str!("../../prompts/open.md"),
        parameters: json!({
            "type": "object",
            "properties": {
                "document": {
                    "type": "string", "minLength": 1, "maxLength": 200,
                    "description": "The document's title.",
                },
                "page": { "type": "integer", "minimum": 1, "description": "The page to begin at." },
                "heading": {
                    "type": "string", "minLength": 1, "maxLength": 200,
                    "description": "The heading to begin at.",
                },
                "passage": {
                    "type": "string", "minLength": 1, "maxLength": 20,
                    "description": "The handle of the passage to begin at, such as the one that a text goes on with.",
                },
            },
            "required": ["document"],
            "additionalProperties": false,
        }),
        reach: Reach::Reads,
        provider: None,
        status_text: "Reading a document",
    };
    Tool::Read(Arc::new(OpenDocument { spec, library: library.clone() }))
}

struct OpenDocument {
    spec: ToolSpec,
    library: Library,
}

#[async_trait]
impl ReadTool for OpenDocument {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let title = args["document"].as_str().unwrap_or_default();
        Ok(match self.library.open(cx, title).await.map_err(database_error)? {
            Ok(opened) => describe(cx, &opened, args),
            Err(unclear) => unclear,
        })
    }
}

fn describe(cx: &ToolContext, opened: &Opened, args: &Value) -> ToolOutput {
    let begin = find_begin(&opened.chunks, args);
    let shown = begin.map_or(&[][..], |begin| take_fitting(&opened.chunks[begin..]));
    let mut content = match begin {
        Some(begin) => {
            let passage = |chunk: &FoundChunk| {
                let text: String = chunk.text.chars().take(MAX_SHOWN_CHARS).collect();
                json!({ "handle": handle(chunk.id), "place": place(chunk), "text": text })
            };
            let next = opened.chunks.get(begin + shown.len()).map(|chunk| handle(chunk.id));
            json!({ "passages": shown.iter().map(passage).collect::<Vec<_>>(), "goes_on_at_passage": next })
        }
        None => json!({
            "contents": list_contents(&opened.chunks),
            "why": "only the contents are shown; open it once more at one of these pages or headings",
        }),
    };
    content["document"] = json!(opened.title);
    let output = ToolOutput::trusted(content)
        .with_provenance(Provenance::untrusted(format!("the document {}", opened.title)));
    let chunks = shown.iter().map(|chunk| chunk.id).collect();
    Shown { grant: &opened.grant, query: None, documents: 1, unread: 0, by_words_alone: false, chunks }
        .leave(cx, output)
}

/// Returns the chunk to begin at; `None` if there is none at that place, or if none was named and the text is long.
fn find_begin(chunks: &[FoundChunk], args: &Value) -> Option<usize> {
    if let Some(passage) = args["passage"].as_str() {
        return chunks.iter().position(|chunk| handle(chunk.id) == passage);
    }
    if let Some(page) = args["page"].as_i64() {
        return chunks.iter().position(|chunk| chunk.page.map(i64::from) == Some(page));
    }
    let Some(heading) = args["heading"].as_str() else {
        return (take_fitting(chunks).len() == chunks.len()).then_some(0);
    };
    let heading = heading.trim().to_lowercase();
    let find = |fits: &dyn Fn(&str) -> bool| chunks.iter().position(|c| fits(&c.heading.to_lowercase()));
    find(&|path| path == heading || path.rsplit(" › ").next() == Some(heading.as_str()))
        .or_else(|| find(&|path| path.contains(&heading)))
}

/// Returns the first chunks that fit into one result, and at least one.
fn take_fitting(chunks: &[FoundChunk]) -> &[FoundChunk] {
    let mut length = 0;
    let fitting = chunks.iter().take_while(|chunk| {
        length += chunk.text.chars().count();
        length <= MAX_SHOWN_CHARS
    });
    &chunks[..fitting.count().max(1).min(chunks.len())]
}

fn list_contents(chunks: &[FoundChunk]) -> Vec<String> {
    let mut places: Vec<String> = chunks.iter().map(place).filter(|place| !place.is_empty()).collect();
    places.dedup();
    places.truncate(MAX_CONTENTS);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(id: u128, page: i32, heading: &str, length: usize) -> FoundChunk {
        FoundChunk {
            id: uuid::Uuid::from_u128(id),
            document_id: uuid::Uuid::nil(),
            generation: 1,
            title: "handbook.pdf".to_owned(),
            page: Some(page),
            heading: heading.to_owned(),
            language: crate::language::Language::English,
            text: "x".repeat(length),
            published_at: nod_contract::clock::Timestamp::default(),
        }
    }

    #[test]
    fn a_document_opens_where_it_was_asked() {
        let chunks = [
            chunk(1, 1, "Leave", 3_000),
            chunk(2, 1, "Leave › Annual leave", 1_000),
            chunk(3, 2, "Travel", 10),
            chunk(4, 4, "Travel › By train", 5_000),
        ];
        for (args, expected) in [
            (json!({}), None),
            (json!({ "page": 2 }), Some(2)),
            (json!({ "page": 3 }), None),
            (json!({ "heading": "annual LEAVE" }), Some(1)),
            (json!({ "heading": "train" }), Some(3)),
            (json!({ "heading": "parking" }), None),
            (json!({ "passage": handle(chunks[1].id) }), Some(1)),
            (json!({ "passage": "pffffff" }), None),
        ] {
            assert_eq!(find_begin(&chunks, &args), expected, "{args}");
        }
        assert_eq!(find_begin(&chunks[..2], &json!({})), Some(0));
        let lengths = [0, 2, 3].map(|begin| take_fitting(&chunks[begin..]).len());
        assert_eq!((lengths, take_fitting(&[]).len()), ([2, 1, 1], 0));
        assert_eq!(list_contents(&chunks)[1], "p. 1 · Leave › Annual leave");
    }
}
