//! The tool `retrieve_knowledge_base`.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Shown, database_error, handle, load_readers};
use crate::check;
use crate::document::Readers;
use crate::search::{Passage, SearchResult, Searcher};
use nod_contract::privacy::Provenance;
use nod_contract::tool::{Reach, ReadTool, Tool, ToolContext, ToolOutput, ToolResult, ToolSpec};
use nod_people::context::Chat;

pub(super) fn tool(chat: &Chat, searcher: Searcher) -> Tool {
    let spec = ToolSpec {
        name: check::RETRIEVE,
        description: include_str!("../../prompts/retrieve.md"),
        parameters: json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string", "minLength": 2, "maxLength": 400,
                    "description": "What to look up, complete in itself, in the words of the person.",
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        reach: Reach::Reads,
        provider: None,
        status_text: "Searching the documents",
    };
    Tool::Read(Arc::new(Retrieve { spec, chat: chat.clone(), searcher }))
}

struct Retrieve {
    spec: ToolSpec,
    chat: Chat,
    searcher: Searcher,
}

#[async_trait]
impl ReadTool for Retrieve {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let query = args["query"].as_str().unwrap_or_default();
        let (readers, found) = self.search(cx, query).await.map_err(database_error)?;
        let chunks = found.passages.iter().map(|passage| passage.chunk).collect();
        let shown = Shown {
            readers,
            query: Some(query),
            documents: found.document_count,
            by_words_alone: found.by_words_alone,
            chunks,
        };
        Ok(shown.leave(cx, describe(query, &found)))
    }
}

impl Retrieve {
    async fn search(&self, cx: &ToolContext, query: &str) -> sqlx::Result<(Readers, SearchResult)> {
        let mut conn = self.chat.pool.acquire().await?;
        let readers = load_readers(&mut conn, cx).await?;
        drop(conn);
        let found = self.searcher.search(&self.chat, cx.scope.tenant, readers, query).await?;
        Ok((readers, found))
    }
}

fn describe(query: &str, found: &SearchResult) -> ToolOutput {
    if found.document_count == 0 {
        return ToolOutput::trusted(json!({
            "documents": 0,
            "why": "no document is kept here; to keep one, a person drops the file here and says \"keep this\"",
        }));
    }
    if found.passages.is_empty() {
        return ToolOutput::trusted(json!({
            "searched": query,
            "documents": found.document_count,
            "passages": [],
            "why": if found.by_words_alone {
                "these words stand nowhere in these documents: try other words for it, then say that nothing is about it"
            } else {
                "nothing in these documents is about it: say so, with what was searched"
            },
        }));
    }
    let passage = |passage: &Passage| {
        json!({
            "handle": handle(passage.chunk),
            "document": passage.title,
            "place": passage.place(),
            "changed": passage.published_at.date_naive().to_string(),
            "text": passage.text,
        })
    };
    let content = json!({
        "searched": query,
        "documents": found.document_count,
        "passages": found.passages.iter().map(passage).collect::<Vec<_>>(),
    });
    let sources = found.passages.iter().map(|passage| format!("the document {}", passage.title));
    ToolOutput::trusted(content).with_provenance(Provenance::from_sources(sources))
}
