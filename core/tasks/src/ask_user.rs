//! The tool by which a step asks its person something.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::card::count;
use crate::context::TaskContext;
use crate::sql;
use nod_contract::card::truncate;
use nod_contract::scope::RunOrIngestion;
use nod_contract::text::normalize_label;
use nod_contract::tool::{Choice, Reach, ReadTool, Tool, ToolContext, ToolError, ToolResult, ToolSpec};

const MAX_QUESTION_CHARS: usize = 200;
const MAX_OPTIONS: usize = 8;
const MAX_OPTION_CHARS: usize = 60;

#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

/// Returns the tool `ask_user`.
pub(crate) fn tool(core: &TaskContext) -> Tool {
    let spec = ToolSpec {
        name: "ask_user",
        description: include_str!("../prompts/ask_user.md"),
        parameters: json!({
            "type": "object",
            "properties": {
                "question": { "type": "string", "minLength": 1, "maxLength": MAX_QUESTION_CHARS },
                "options": {
                    "type": "array", "maxItems": MAX_OPTIONS,
                    "items": { "type": "string", "maxLength": MAX_OPTION_CHARS },
                    "description": "The answers that are likely; leave it out if any answer is",
                },
            },
            "required": ["question"],
            "additionalProperties": false,
        }),
        reach: Reach::Reads,
        provider: None,
        status_text: "",
    };
    Tool::Read(Arc::new(AskUser { spec, core: core.clone() }))
}

struct AskUser {
    spec: ToolSpec,
    core: TaskContext,
}

#[async_trait]
impl ReadTool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked = Asked::deserialize(args).map_err(|error| ToolError::invalid(error.to_string()))?;
        let question = truncate(&one_line(&asked.question), MAX_QUESTION_CHARS);
        if question.is_empty() {
            return Err(ToolError::invalid("the question says nothing"));
        }
        let RunOrIngestion::RunId(run) = cx.scope.run else {
            return Err(ToolError::invalid("only a step of a task can ask"));
        };
        let asker = async {
            let mut conn = self.core.pool.acquire().await?;
            sql::find_asker(&mut conn, cx.scope.tenant, run).await
        };
        let asker = asker.await.map_err(|error| ToolError::internal(error.to_string()))?;
        let Some(asker) = asker else { return Err(ToolError::invalid("only a step of a task can ask")) };
        let limits = self.core.limits;
        if asker.questions >= i64::from(limits.questions) {
            return Err(ToolError::invalid(format!(
                "this task has asked {}, which is the most: go on with what is known, and say what is open",
                count(usize::try_from(limits.questions).unwrap_or_default(), "question")
            )));
        }
        let how = asker.takes_replies.then(|| "Press a button, or reply to this message.".to_owned());
        let until = cx.now + limits.answer_within;
        Err(ToolError::Ask { question, choices: choices(asked.options), message: how, until })
    }
}

/// Returns a text without control characters: it stands on a card and beside the answer.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the options that say something, each once: what is typed is one of them.
fn choices(options: Vec<String>) -> Vec<Choice> {
    let mut seen = BTreeSet::new();
    let options = options.iter().map(|option| truncate(&one_line(option), MAX_OPTION_CHARS));
    let once = options.filter(|option| {
        let typed = normalize_label(option);
        !typed.is_empty() && seen.insert(typed)
    });
    once.map(|option| Choice { label: option.clone(), value: option }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_are_alike_or_empty_are_one_or_none() {
        let given = ["12 March", " ", "12 march.", "…", "...", "19 March\n"].map(str::to_owned).to_vec();
        let labels: Vec<String> = choices(given).into_iter().map(|choice| choice.label).collect();
        assert_eq!(labels, ["12 March", "…", "19 March"]);
    }
}
