//! The tool `find_in_document`.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Library, Opened, Shown, database_error, handle, place};
use crate::analysis::{query_words, terms};
use crate::check;
use crate::chunk::sentences;
use crate::cite::compared_words;
use crate::sql::FoundChunk;
use nod_contract::privacy::Provenance;
use nod_contract::tool::{Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec};

/// The most places that one call returns, and the longest in characters.
const MAX_PLACES: usize = 12;
const MAX_PLACE_CHARS: usize = 600;

pub(super) fn tool(library: &Library) -> Tool {
    let spec = ToolSpec {
        name: check::FIND,
        description: include_str!("../../prompts/find.md"),
        parameters: json!({
            "type": "object",
            "properties": {
                "document": {
                    "type": "string", "minLength": 1, "maxLength": 200,
                    "description": "The document's title.",
                },
                "words": {
                    "type": "string", "minLength": 2, "maxLength": 200,
                    "description": "The words to find, as the document has them.",
                },
            },
            "required": ["document", "words"],
            "additionalProperties": false,
        }),
        reach: Reach::Reads,
        provider: None,
        status_text: "Looking through a document",
    };
    Tool::Read(Arc::new(FindInDocument { spec, library: library.clone() }))
}

struct FindInDocument {
    spec: ToolSpec,
    library: Library,
}

#[async_trait]
impl ReadTool for FindInDocument {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let [title, words] = ["document", "words"].map(|name| args[name].as_str().unwrap_or_default());
        let mut opened = match self.library.open(cx, title).await.map_err(database_error)? {
            Ok(opened) => opened,
            Err(unclear) => return Ok(unclear),
        };
        let (chunks, wanted) = (std::mem::take(&mut opened.chunks), words.to_owned());
        // To stem a book takes long enough to hold up others.
        let found = tokio::task::spawn_blocking(move || {
            let found = find_places(&chunks, &wanted);
            found.into_iter().map(|(chunk, text)| (chunk.id, place(chunk), text)).collect::<Vec<_>>()
        });
        let found = found.await.map_err(|error| {
            tracing::error!(%error, "could not look through a document");
            ToolError::internal("the document could not be read")
        })?;
        Ok(describe(cx, &opened, words, &found))
    }
}

fn describe(cx: &ToolContext, opened: &Opened, words: &str, found: &[(Uuid, String, String)]) -> ToolOutput {
    let places: Vec<Value> = found
        .iter()
        .map(|(chunk, place, text)| json!({ "handle": handle(*chunk), "place": place, "text": text }))
        .collect();
    let mut content = json!({ "document": opened.title, "searched": words, "places": places });
    if found.is_empty() {
        content["why"] =
            json!("these words do not stand in it; others might, or retrieve_knowledge_base finds more");
    }
    let output = ToolOutput::trusted(content)
        .with_provenance(Provenance::untrusted(format!("the document {}", opened.title)));
    let chunks = found.iter().map(|(chunk, ..)| *chunk).collect();
    Shown { grant: &opened.grant, query: Some(words), documents: 1, unread: 0, by_words_alone: false, chunks }
        .leave(cx, output)
}

/// Returns the sentences that have the words, with those around them: first where they stand exactly so, then where all
/// of them stand in any form.
fn find_places<'a>(chunks: &'a [FoundChunk], words: &str) -> Vec<(&'a FoundChunk, String)> {
    let language = chunks.first().map(|chunk| chunk.language).unwrap_or_default();
    let (exact, stems) = (compared_words(words), query_words(words, &[language]).concat());
    if exact.is_empty() {
        return Vec::new();
    }
    let (mut exactly, mut in_any_form) = (Vec::new(), Vec::new());
    // The end of a chunk is repeated at the beginning of the next.
    let mut seen = HashSet::new();
    for chunk in chunks {
        let sentences = sentences(&chunk.text);
        for (at, sentence) in
            sentences.iter().enumerate().filter(|(_, sentence)| seen.insert(sentence.trim()))
        {
            let found: HashSet<i32> = terms(sentence, language).into_iter().collect();
            if compared_words(sentence).windows(exact.len()).any(|run| run == exact) {
                exactly.push((chunk, excerpt(&sentences, at)));
            } else if stems.iter().all(|stem| found.contains(stem)) {
                in_any_form.push((chunk, excerpt(&sentences, at)));
            }
        }
    }
    exactly.into_iter().chain(in_any_form).take(MAX_PLACES).collect()
}

fn excerpt(sentences: &[&str], at: usize) -> String {
    let around = sentences[at.saturating_sub(1)..sentences.len().min(at + 2)].concat();
    let fits = around.chars().count() <= MAX_PLACE_CHARS;
    let shown = if fits { around.as_str() } else { sentences[at] };
    shown.trim().chars().take(MAX_PLACE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(text: &str) -> FoundChunk {
        FoundChunk {
            id: Uuid::nil(),
            document_id: Uuid::nil(),
            generation: 1,
            title: "handbook.md".to_owned(),
            page: None,
            heading: "Leave".to_owned(),
            language: crate::language::Language::English,
            text: text.to_owned(),
            published_at: nod_contract::clock::Timestamp::default(),
        }
    }

    #[test]
    fn exact_words_come_before_their_forms() {
        let chunks = [
            chunk("We plan leaves for a year. So it is. We work. We rest."),
            chunk("We rest. A year of leave costs 1,000 euros. Ask us."),
        ];
        let places =
            |words: &str| find_places(&chunks, words).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        let exact = "We rest. A year of leave costs 1,000 euros. Ask us.";
        assert_eq!(places("Year of leave"), [exact, "We plan leaves for a year. So it is."]);
        assert_eq!(places("1000 Euros"), [exact]);
        assert_eq!(places("we rest").len(), 1, "what is repeated is found once");
        assert_eq!(places("parking"), [""; 0]);
        assert_eq!(places("?!"), [""; 0]);
    }
}
