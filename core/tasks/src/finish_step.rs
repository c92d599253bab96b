//! The tool by which a step of a task ends.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use nod_contract::card::truncate;
use nod_contract::tool::{FollowUp, Reach, ReadTool, Tool, ToolContext, ToolOutput, ToolResult, ToolSpec};

const MAX_SUMMARY_CHARS: usize = 140;
const MAX_OUTPUT_CHARS: usize = 12_000;

/// What a step hands on.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Handover {
    pub(crate) step_summary: String,
    pub(crate) step_output_markdown: String,
    /// Whether it did what it was for. A model that leaves it out says so with the call.
    #[serde(default = "is_done")]
    pub(crate) done: bool,
}

fn is_done() -> bool {
    true
}

impl Handover {
    /// Makes one of what a step wrote instead of calling the tool.
    pub(crate) fn from_words(words: &str) -> Self {
        let first = words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self {
            step_summary: truncate(first, MAX_SUMMARY_CHARS),
            step_output_markdown: words.chars().take(MAX_OUTPUT_CHARS).collect(),
            done: true,
        }
    }
}

/// Returns the tool `finish_step`.
pub(crate) fn tool() -> Tool {
    Tool::Read(Arc::new(FinishStep(ToolSpec {
        name: "finish_step",
        description: "Ends this step and hands on what came out of it. Call it alone, when nothing is left to do in this step.",
        parameters: json!({
            "type": "object",
            "properties": {
                "stepSummary": {
                    "type": "string", "minLength": 1, "maxLength": MAX_SUMMARY_CHARS,
                    "description": "What came out, in one short sentence",
                },
                "stepOutputMarkdown": {
                    "type": "string", "maxLength": MAX_OUTPUT_CHARS,
                    "description": "Everything that later steps and the result need of it, in Markdown",
                },
                "done": {
                    "type": "boolean",
                    "description": "false if nothing came out of the step; true if left out",
                },
            },
            "required": ["stepSummary", "stepOutputMarkdown"],
            "additionalProperties": false,
        }),
        reach: Reach::Reads,
        provider: None,
        status_text: "",
    })))
}

struct FinishStep(ToolSpec);

#[async_trait]
impl ReadTool for FinishStep {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: &ToolContext, args: &Value) -> ToolResult {
        Ok(ToolOutput::trusted(json!({ "status": "finished" }))
            .with_follow_up(FollowUp::Outcome(args.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_summary_and_an_output() {
        let handover = Handover::from_words("\n Three found. Fig costs 21.\nOlive costs 23.");
        assert_eq!(handover.step_summary, "Three found. Fig costs 21.");
        assert_eq!(handover.step_output_markdown, "\n Three found. Fig costs 21.\nOlive costs 23.");
        assert_eq!(Handover::from_words(&"é".repeat(20_000)).step_output_markdown.chars().count(), 12_000);
        assert_eq!(Handover::from_words("").step_summary, "");
    }
}
