//! The tool by which a step asks its person something.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::sql;
use nod_contract::card::truncate;
use nod_contract::scope::RunOrIngestion;
use nod_contract::tool::{Choice, Reach, ReadTool, Tool, ToolContext, ToolError, ToolResult, ToolSpec};
use nod_people::context::Chat;

const MAX_QUESTION_CHARS: usize = 200;
const MAX_OPTIONS: usize = 8;
const MAX_OPTION_CHARS: usize = 60;
/// The most questions of a task.
const MAX_QUESTIONS: i64 = 5;

#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

/// Returns the tool `ask_user`.
pub(crate) fn tool(chat: &Chat) -> Tool {
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
    Tool::Read(Arc::new(AskUser { spec, chat: chat.clone() }))
}

struct AskUser {
    spec: ToolSpec,
    chat: Chat,
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
            let mut conn = self.chat.pool.acquire().await?;
            sql::find_asker(&mut conn, cx.scope.tenant, run).await
        };
        let asker = asker.await.map_err(|error| ToolError::internal(error.to_string()))?;
        let Some(asker) = asker else { return Err(ToolError::invalid("only a step of a task can ask")) };
        if asker.questions >= MAX_QUESTIONS {
            return Err(ToolError::invalid(format!(
                "this task has asked {MAX_QUESTIONS} questions, which is the most: go on with what is known, and say what is open"
            )));
        }
        let how = asker.takes_replies.then(|| "Press a button, or reply to this message.".to_owned());
        Err(ToolError::Ask { question, choices: choices(asked.options), message: how })
    }
}

/// Returns a text without control characters: it stands on a card and beside the answer.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the options that say something, each once.
fn choices(options: Vec<String>) -> Vec<Choice> {
    let mut seen = BTreeSet::new();
    let options = options.iter().map(|option| truncate(&one_line(option), MAX_OPTION_CHARS));
    let once = options.filter(|option| !option.is_empty() && seen.insert(option.to_lowercase()));
    once.map(|option| Choice { label: option.clone(), value: option }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_are_alike_or_empty_are_one_or_none() {
        let given = ["12 March", " ", "12 march", "19 March\n"].map(str::to_owned).to_vec();
        let labels: Vec<String> = choices(given).into_iter().map(|choice| choice.label).collect();
        assert_eq!(labels, ["12 March", "19 March"]);
    }
}
