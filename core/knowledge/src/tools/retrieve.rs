//! The tool `retrieve_knowledge_base`.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Grant, Library, Shown, audience_of, database_error, handle};
use crate::card;
use crate::check;
use crate::filter::Filter;
use crate::search::{Passage, Query, SearchError, SearchResult, Searcher};
use nod_contract::privacy::Provenance;
use nod_contract::tool::{Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec};

pub(super) fn tool(library: &Library, searcher: Searcher) -> Tool {
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
                "document": {
                    "type": "string", "minLength": 1, "maxLength": 200,
                    "description": "Only documents with this title or a part of it.",
                },
                "kind": {
                    "type": "string", "enum": ["pdf", "docx", "html", "markdown", "text", "csv"],
                    "description": "Only documents of this kind.",
                },
                "changed_since": {
                    "type": "string", "format": "date",
                    "description": "Only documents that changed on this day or later, such as 2026-03-01.",
                },
                "changed_until": {
                    "type": "string", "format": "date",
                    "description": "Only documents that last changed on this day or earlier.",
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        reach: Reach::Reads,
        provider: None,
        status_text: "Searching the documents",
    };
    Tool::Read(Arc::new(Retrieve { spec, library: library.clone(), searcher }))
}

struct Retrieve {
    spec: ToolSpec,
    library: Library,
    searcher: Searcher,
}

#[async_trait]
impl ReadTool for Retrieve {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let query = args["query"].as_str().unwrap_or_default();
        let filter =
            Filter::deserialize(args).map_err(|_| ToolError::invalid("a day is written as 2026-03-01"))?;
        let (grant, mut found) = match self.search(cx, query, &filter).await {
            Ok(found) => found,
            Err(SearchError::Database(error)) => return Err(database_error(error)),
            Err(SearchError::Store(error)) => {
                tracing::error!(%error, "could not search the documents");
                return Ok(unreachable_output());
            }
        };
        let audience = audience_of(grant.audience);
        found.passages = self.searcher.choose(&cx.scope, audience, query, found.passages).await;
        let chunks = found.passages.iter().map(|passage| passage.chunk).collect();
        let shown = Shown {
            grant: &grant,
            query: Some(query),
            documents: found.document_count,
            unread: found.unread_count,
            by_words_alone: found.by_words_alone,
            chunks,
        };
        Ok(shown.leave(cx, describe(query, &found, &grant)))
    }
}

impl Retrieve {
    /// Searches what may be told where the person asks. If nothing there is about it and others read along, it searches what
    /// the person alone may read; that is told to them alone.
    async fn search(
        &self,
        cx: &ToolContext,
        query: &str,
        filter: &Filter,
    ) -> Result<(Grant, SearchResult), SearchError> {
        let Library { chat, .. } = &self.library;
        let (tenant, mut query) = (cx.scope.tenant, Query::new(query, filter));
        let location = self.library.load_location(cx).await?;
        let grant = self.library.find_grant(cx, &location).await?;
        let found = self.searcher.search(chat, tenant, &grant.readers, &mut query).await?;
        if !found.passages.is_empty() || location.is_private_location() {
            return Ok((grant, found));
        }
        let private = self.library.find_private_grant(cx).await?;
        let more = self.searcher.search(chat, tenant, &private.readers, &mut query).await?;
        Ok(if more.passages.is_empty() { (grant, found) } else { (private, more) })
    }
}

/// What is answered while the store is away. It is said as it stands, because a model could answer without a look.
fn unreachable_output() -> ToolOutput {
    let why =
        "the index of documents cannot be reached now; the person is told so: do not answer from memory";
    ToolOutput::trusted(json!({ "status": "unreachable", "why": why })).with_verbatim(card::UNREACHABLE)
}

fn describe(query: &str, found: &SearchResult, grant: &Grant) -> ToolOutput {
    let mut output = describe_found(query, found);
    if found.unread_count > 0 {
        output.content["still_being_read"] = json!(format!(
            "{} more: they cannot be searched yet, say so if nothing else answers",
            found.unread_count
        ));
    }
    if grant.unknown_channels > 0 {
        let channels = match grant.unknown_channels {
            1 => "1 channel".to_owned(),
            n => format!("{n} channels"),
        };
        let why = "it is not known now whether the person is there: say so";
        output.content["not_searched"] = json!(format!("the documents of {channels}, because {why}"));
    }
    output
}

fn describe_found(query: &str, found: &SearchResult) -> ToolOutput {
    if found.is_none_meant {
        return ToolOutput::trusted(json!({
            "searched": query,
            "passages": [],
            "why": "there are documents here, but none with this title, of this kind or of this time: search without that",
        }));
    }
    if found.document_count == 0 && found.unread_count > 0 {
        return ToolOutput::trusted(json!({ "searched": query, "documents": 0, "passages": [] }));
    }
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
        let mut shown = json!({
            "handle": handle(passage.chunk),
            "document": passage.title,
            "place": passage.place(),
            "changed": passage.published_at.date_naive().to_string(),
            "text": passage.text,
        });
        if let Some(reason) = &passage.reason {
            shown["why"] = json!(reason);
        }
        shown
    };
    let content = json!({
        "searched": query,
        "documents": found.document_count,
        "passages": found.passages.iter().map(passage).collect::<Vec<_>>(),
    });
    let sources = found.passages.iter().map(|passage| format!("the document {}", passage.title));
    ToolOutput::trusted(content).with_provenance(Provenance::from_sources(sources))
}
