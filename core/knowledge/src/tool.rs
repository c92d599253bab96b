//! The tool `retrieve_knowledge_base`.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::check::{self, PassageHandle, SearchPart};
use crate::cite;
use crate::document::Readers;
use crate::search::{Passage, SearchResult, Searcher};
use nod_contract::ids::ConversationId;
use nod_contract::privacy::Provenance;
use nod_contract::scope::RunOrIngestion;
use nod_contract::tool::{
    FollowUp, Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec,
};
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
        let output = output(cx, query, readers, &found);
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
        drop(conn);
        let readers = Readers::of_location(&location, cx.principal.person);
        let found = self.searcher.search(&self.chat, cx.scope.tenant, readers, query).await?;
        Ok((readers, found))
    }
}

/// Returns the result for the model, and leaves for the check what the model was shown.
fn output(cx: &ToolContext, query: &str, readers: Readers, found: &SearchResult) -> ToolOutput {
    let RunOrIngestion::RunId(run) = cx.scope.run else { return describe(query, &[], found) };
    let handles: Vec<PassageHandle> = found
        .passages
        .iter()
        .map(|passage| PassageHandle { handle: handle(passage.chunk), chunk: passage.chunk })
        .collect();
    let output = describe(query, &handles, found);
    let part = SearchPart {
        run: run.0,
        query: query.to_owned(),
        documents: found.document_count,
        channel: readers.channel(),
        person: readers.person(),
        passages: handles,
    };
    match serde_json::to_value(part) {
        Ok(part) => output.with_follow_up(FollowUp::CheckPart { check: check::NAME.to_owned(), part }),
        Err(_) => output,
    }
}

/// Returns the name of a passage for the model: "p3f2a91", from the random end of its id.
fn handle(chunk: Uuid) -> String {
    let id = chunk.simple().to_string();
    format!("p{}", &id[id.len() + 1 - cite::HANDLE_LENGTH..])
}

fn describe(query: &str, handles: &[PassageHandle], found: &SearchResult) -> ToolOutput {
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
    let passage = |(passage, handle): (&Passage, &PassageHandle)| {
        json!({
            "handle": handle.handle,
            "document": passage.title,
            "place": passage.place(),
            "changed": passage.published_at.date_naive().to_string(),
            "text": passage.text,
        })
    };
    let content = json!({
        "searched": query,
        "documents": found.document_count,
        "passages": found.passages.iter().zip(handles).map(passage).collect::<Vec<_>>(),
    });
    let sources = found.passages.iter().map(|passage| format!("the document {}", passage.title));
    ToolOutput::trusted(content).with_provenance(Provenance::from_sources(sources))
}
