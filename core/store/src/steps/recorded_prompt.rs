//! A prompt in the record of a model call: whole, except that what prompts have in common stands in it by digest.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use nod_contract::model::{CompletionRequest, Tier, Turn};
use nod_contract::prompt::PromptText;

/// A prompt as it is recorded. The function `whole_prompt` of the database puts it together again.
#[derive(Serialize)]
pub(super) struct RecordedPrompt<'a> {
    tier: Tier,
    /// The digest of the fixed part, and the own part.
    system: (Uuid, &'a str),
    turns: &'a [Turn],
    /// The digest of the list of the definitions' digests.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Uuid>,
    /// The name, and the digest of the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_schema: Option<(&'a str, Uuid)>,
}

impl<'a> RecordedPrompt<'a> {
    /// Returns a prompt as it is recorded, and the texts that it names.
    pub(super) fn new(ask: &'a CompletionRequest) -> (Self, Vec<Arc<PromptText>>) {
        let mut texts = vec![Arc::clone(ask.system.fixed_part())];
        let mut name = |text: Arc<PromptText>| {
            let digest = text.digest();
            texts.push(text);
            digest
        };
        let definitions: Vec<Uuid> = ask.tools.iter().map(|tool| name(Arc::clone(tool.text()))).collect();
        let recorded = Self {
            tier: ask.tier,
            system: (ask.system.fixed_part().digest(), ask.system.own_part()),
            turns: &ask.turns,
            // The same tools in another order are another list, which is short.
            tools: (!definitions.is_empty()).then(|| name(PromptText::from_json(&json!(definitions)))),
            response_schema: ask
                .response_schema
                .as_ref()
                .map(|(answer, schema)| (answer.as_str(), name(PromptText::from_json(schema)))),
        };
        (recorded, texts)
    }
}
