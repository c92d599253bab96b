//! The tool by which a turn of a conversation begins a task.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::context::{Room, TaskContext};
use crate::{TASK, list, sql};
use nod_contract::tool::{
    FollowUp, Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec,
};

/// What the person reads below the task's card.
const BEGUN: &str = "I have begun a task. It goes on by itself; talk to me meanwhile.";
/// The same if others have to end first.
const QUEUED: &str = "I have queued a task. It begins by itself once another one of yours has ended.";

/// Returns the tool `create_task`.
pub(crate) fn tool(core: &TaskContext) -> Tool {
    let spec = ToolSpec {
        name: "create_task",
        description: include_str!("../prompts/create_task.md"),
        parameters: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        reach: Reach::Reads,
        provider: None,
        status_text: "Beginning a task",
    };
    Tool::Read(Arc::new(CreateTask { spec, core: core.clone() }))
}

struct CreateTask {
    spec: ToolSpec,
    core: TaskContext,
}

#[async_trait]
impl ReadTool for CreateTask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, _: &Value) -> ToolResult {
        let open = async {
            let mut conn = self.core.pool.acquire().await?;
            sql::list_open(&mut conn, cx.scope.tenant, cx.principal.person).await
        };
        let open = open.await.map_err(|error| ToolError::internal(error.to_string()))?;
        let (status, said) = match list::room_beside(&open, self.core.limits) {
            Room::Now => ("begun", BEGUN),
            Room::Later => ("queued", QUEUED),
            Room::Never => {
                let said = format!("{} One has to end or be stopped first.", list::too_many(&open));
                let refused = json!({ "status": "not_begun", "why": said });
                return Ok(ToolOutput::trusted(refused).with_verbatim(said));
            }
        };
        let work = FollowUp::Work { workflow: TASK.to_owned() };
        Ok(ToolOutput::trusted(json!({ "status": status })).with_verbatim(said).with_follow_up(work))
    }
}
