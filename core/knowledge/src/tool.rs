//! The tool `retrieve_knowledge_base`.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::document::Readers;
use crate::search::{Passage, SearchResult, Searcher};
use nod_contract::ids::ConversationId;
use nod_contract::privacy::Provenance;
use nod_contract::tool::{Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec};
use nod_people::context::Chat;
use nod_people::delivery;

pub(crate) fn retrieve(chat: &Chat, searcher: Searcher) -> Tool {
    let spec = ToolSpec {
        name: "retrieve_knowledge_base",
        description: include_str!("../prompts/retrieve.md"),
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
        let found = self.search(cx, cx.scope.case, query).await;
        let (readers, found) = found.map_err(|error| {
            tracing::error!(%error, "could not search the documents");
            ToolError::internal("the documents could not be searched")
        })?;
        let output = output(query, &found);
        Ok(match readers {
            Readers::Person(person) => output.private_to(person),
            Readers::Channel(_) => output,
        })
    }
}

impl Retrieve {
    async fn search(
        &self,
        cx: &ToolContext,
        conversation: ConversationId,
        query: &str,
    ) -> sqlx::Result<(Readers, SearchResult)> {
        let mut conn = self.chat.pool.acquire().await?;
        let location = delivery::sql::load_location(&mut conn, cx.scope.tenant, conversation).await?;
        let readers = Readers::of(&location, cx.principal.person);
        let found = self.searcher.search(&mut conn, cx.scope.tenant, readers, query).await?;
        Ok((readers, found))
    }
}

fn output(query: &str, found: &SearchResult) -> ToolOutput {
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
            "why": "nothing in these documents is about it: say so, with what was searched",
        }));
    }
    let passage = |passage: &Passage| {
        json!({
            "document": passage.title,
            "place": passage.place(),
            "changed": passage.updated_at.date_naive().to_string(),
            "text": passage.text,
        })
    };
    let content = json!({
        "searched": query,
        "documents": found.document_count,
        "passages": found.passages.iter().map(passage).collect::<Vec<_>>(),
    });
    let sources = found.passages.iter().map(|passage| format!("the document {}", passage.title));
    ToolOutput::trusted(content)
        .with_provenance(Provenance::from_sources(sources))
        .with_note(format!("Looked up in {}", places(&found.passages)))
}

/// Returns the documents and places of passages, each once: "handbook.pdf (p. 4, p. 7) and travel.md".
fn places(passages: &[Passage]) -> String {
    let mut documents: Vec<(&str, Vec<String>)> = Vec::new();
    for passage in passages {
        let place = passage.place();
        let known = documents.iter().position(|(title, _)| *title == passage.title);
        let at = known.unwrap_or_else(|| {
            documents.push((&passage.title, Vec::new()));
            documents.len() - 1
        });
        if !place.is_empty() && !documents[at].1.contains(&place) {
            documents[at].1.push(place);
        }
    }
    let named = documents.into_iter().map(|(title, places)| {
        if places.is_empty() { title.to_owned() } else { format!("{title} ({})", places.join(", ")) }
    });
    named.collect::<Vec<_>>().join(" and ")
}
