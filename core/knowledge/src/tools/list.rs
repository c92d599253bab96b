//! The tool `list_documents`.

use async_trait::async_trait;
use serde_json::json;

use super::{Library, limit_audience};
use crate::document::Document;
use crate::{card, sql};
use nod_contract::privacy::Provenance;
use nod_contract::tool::{ToolContext, ToolOutput};
use nod_people::listing::{Listing, MAX_ROWS, describe_rows};

pub(super) struct ListDocuments(pub(super) Library);

#[async_trait]
impl Listing for ListDocuments {
    fn name(&self) -> &'static str {
        "list_documents"
    }

    fn description(&self) -> &'static str {
        include_str!("../../prompts/list.md")
    }

    fn status_text(&self) -> &'static str {
        "Listing the documents"
    }

    async fn list(&self, cx: &ToolContext) -> sqlx::Result<ToolOutput> {
        let Self(library) = self;
        let location = library.load_location(cx).await?;
        let grant = library.find_grant(cx, &location).await?;
        let mut conn = library.chat.pool.acquire().await?;
        let documents = sql::list(&mut conn, cx.scope.tenant, &grant.readers).await?;
        drop(conn);
        let now = library.chat.now();
        let row =
            |document: &Document| vec![card::shorten(&document.title), card::status_text(document, now)];
        let rows: Vec<Vec<String>> = documents.iter().map(row).collect();
        let words = match rows.as_slice() {
            [] => card::NO_DOCUMENTS.to_owned(),
            rows => describe_rows(("document", "documents"), &["Document", "State"], rows),
        };
        let titles: Vec<&str> = documents.iter().take(MAX_ROWS).map(|d| d.title.as_str()).collect();
        let sources = titles.iter().map(|title| format!("the document {title}"));
        let output = ToolOutput::trusted(json!({ "documents": documents.len(), "titles": titles }))
            .with_provenance(Provenance::from_sources(sources))
            .with_verbatim(words);
        Ok(limit_audience(output, grant.audience))
    }
}
