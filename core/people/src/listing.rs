//! Tools that list what there is. They take no arguments, and what they return is shown as it is, so a question for it needs
//! no model after the router.

use std::sync::Arc;

use async_trait::async_trait;
use nod_contract::text::markdown_table;
use nod_contract::tool::{Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec};
use serde_json::{Value, json};

/// The most rows of a list that is shown.
pub const MAX_ROWS: usize = 20;

/// A list of what there is.
#[async_trait]
pub trait Listing: Send + Sync {
    /// Returns the name of its tool.
    fn name(&self) -> &'static str;
    /// Describes the tool to the model; the router reads the first line.
    fn description(&self) -> &'static str;
    /// Returns what a person reads meanwhile.
    fn status_text(&self) -> &'static str;

    /// Lists what the person may know where they ask.
    ///
    /// # Errors
    /// If the database does not answer.
    async fn list(&self, cx: &ToolContext) -> sqlx::Result<ToolOutput>;
}

/// Returns the tool of a list.
pub fn tool(listing: impl Listing + 'static) -> Tool {
    let spec = ToolSpec {
        name: listing.name(),
        description: listing.description(),
        parameters: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        reach: Reach::Reads,
        provider: None,
        status_text: listing.status_text(),
    };
    Tool::Read(Arc::new(ListingTool { spec, listing }))
}

struct ListingTool<L> {
    spec: ToolSpec,
    listing: L,
}

#[async_trait]
impl<L: Listing> ReadTool for ListingTool<L> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, _args: &Value) -> ToolResult {
        self.listing.list(cx).await.map_err(|error| {
            tracing::error!(%error, tool = self.spec.name, "could not list");
            ToolError::internal("the database did not answer")
        })
    }
}

/// Returns what is shown: how many there are, the first of them as a table, and how many more.
pub fn describe_rows(what: (&str, &str), head: &[&str], rows: &[Vec<String>]) -> String {
    let count = match rows.len() {
        1 => format!("1 {}", what.0),
        n => format!("{n} {}", what.1),
    };
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    let table = markdown_table(head, shown);
    match rows.len() - shown.len() {
        0 => format!("{count}:\n\n{table}"),
        more => format!("{count}:\n\n{table}\nand {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::describe_rows;

    #[test]
    fn a_long_list_says_how_many_more() {
        let row = vec!["a|b".to_owned()];
        let text = describe_rows(("draft", "drafts"), &["Draft"], &vec![row; 21]);
        assert!(text.starts_with("21 drafts:\n\n| Draft |\n| --- |\n| a\\|b |\n"), "{text}");
        assert!(text.ends_with("| a\\|b |\n\nand 1 more"), "{text}");
    }
}
