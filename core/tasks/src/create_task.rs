//! The tool by which a turn of a conversation begins a task.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::{TASK, list, sql};
use nod_contract::tool::{
    FollowUp, Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec,
};
use nod_people::context::Chat;

/// What the person reads below the task's card.
const BEGUN: &str = "I have begun a task. It goes on by itself; talk to me meanwhile.";

/// Returns the tool `create_task`.
pub(crate) fn tool(chat: &Chat) -> Tool {
    let spec = ToolSpec {
        name: "create_task",
        description: include_str!("../prompts/create_task.md"),
        parameters: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        reach: Reach::Reads,
        provider: None,
        status_text: "Beginning a task",
    };
    Tool::Read(Arc::new(CreateTask { spec, chat: chat.clone() }))
}

struct CreateTask {
    spec: ToolSpec,
    chat: Chat,
}

#[async_trait]
impl ReadTool for CreateTask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, _: &Value) -> ToolResult {
        let open = async {
            let mut conn = self.chat.pool.acquire().await?;
            sql::list_open(&mut conn, cx.scope.tenant, cx.principal.person).await
        };
        let open = open.await.map_err(|error| ToolError::internal(error.to_string()))?;
        if list::is_full(&open) {
            let said = format!("{} A task has to end or be stopped first.", list::too_many());
            return Ok(ToolOutput::trusted(json!({ "status": "not_begun", "why": said })).with_verbatim(said));
        }
        let work = FollowUp::Work { workflow: TASK.to_owned() };
        Ok(ToolOutput::trusted(json!({ "status": "begun" })).with_verbatim(BEGUN).with_follow_up(work))
    }
}
