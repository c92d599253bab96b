//! The tool that the model can call.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::{MAX_SIDES, USUAL_SIDES, rolled};
use nod_contract::ids::Ids;
use nod_contract::tool::{Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec};
use nod_people::context::Chat;

/// The tool `dice_roll`. It changes nothing, so it needs no approval.
pub(crate) fn roll(chat: &Chat) -> Tool {
    let spec = ToolSpec {
        name: "dice_roll",
        description: "Rolls a die and tells the number. Use it whenever somebody wants a random number.",
        parameters: json!({
            "type": "object",
            "properties": {"sides": {"type": "integer", "minimum": 2, "maximum": MAX_SIDES}},
            "additionalProperties": false,
        }),
        reach: Reach::Reads,
        provider: None,
        status_text: "Rolling a die",
    };
    Tool::Read(Arc::new(Die { spec, ids: chat.ids.clone() }))
}

struct Die {
    spec: ToolSpec,
    ids: Arc<dyn Ids>,
}

#[async_trait]
impl ReadTool for Die {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _: &ToolContext, args: &Value) -> ToolResult {
        // The arguments were already checked against the schema.
        let sides = args["sides"].as_i64().unwrap_or(USUAL_SIDES.into());
        let sides = i32::try_from(sides).map_err(|_| ToolError::invalid("too many sides"))?;
        Ok(ToolOutput::trusted(json!({"sides": sides, "rolled": rolled(self.ids.as_ref(), sides)})))
    }
}
