//! What a run did, step by step: each node, tool call and model call. Steps that are stored together are one row of
//! `step_records`; the view `run_steps` shows a row for each.

mod recorded_prompt;

pub use recorded_prompt::StoredTurns;

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::jobs::sql::to_json;
use crate::steps::recorded_prompt::RecordedPrompt;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{InvocationId, RunId, TenantId};
use nod_contract::model::{CompletionRequest, Usage};
use nod_contract::privacy::Audience;
use nod_contract::prompt::PromptText;

/// One thing that a run did.
#[derive(Debug, Clone, Serialize)]
pub struct StepRecord {
    /// The id of this call.
    pub invocation: InvocationId,
    /// `node`, `tool` or `model`.
    pub kind: &'static str,
    /// The node's, tool's or model tier's name.
    pub name: String,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took, in microseconds.
    pub duration_us: i64,
    /// Tokens read by a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u32>,
    /// Tokens written by a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u32>,
    /// The prompt or the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    /// The answer or the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<RawValue>>,
    /// The error, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Texts that the prompt names by their digests.
    #[serde(skip)]
    pub(crate) texts: Vec<Arc<PromptText>>,
}

impl StepRecord {
    /// Creates a record of a step that lasted from `started_at` to `ended_at`.
    pub fn new(
        kind: &'static str,
        name: &str,
        invocation: InvocationId,
        started_at: Timestamp,
        ended_at: Timestamp,
    ) -> Self {
        Self {
            invocation,
            kind,
            name: name.to_owned(),
            started_at,
            duration_us: (ended_at - started_at).num_microseconds().unwrap_or_default(),
            prompt_tokens: None,
            completion_tokens: None,
            input: None,
            output: None,
            error: None,
            texts: Vec::new(),
        }
    }

    pub fn set_input(&mut self, input: &impl Serialize) {
        self.input = to_raw_value(input).ok();
    }

    /// Sets the prompt of a model call as the input. What prompts have in common stands in it by digest, so
    /// [`store_prompt_texts`](crate::context::Base::store_prompt_texts) comes before the record is written; what is a row
    /// of the run stands in it by its number.
    pub fn set_prompt(&mut self, ask: &CompletionRequest, stored: &StoredTurns<'_>) {
        let (prompt, texts) = RecordedPrompt::new(ask, stored);
        self.set_input(&prompt);
        self.texts = texts;
    }

    pub fn set_output(&mut self, output: &impl Serialize) {
        self.output = to_raw_value(output).ok();
    }

    pub fn tokens(mut self, usage: Option<Usage>) -> Self {
        self.prompt_tokens = usage.map(|u| u.prompt);
        self.completion_tokens = usage.map(|u| u.completion);
        self
    }
}

pub fn audience_person_id(audience: Audience) -> Option<Uuid> {
    match audience {
        Audience::Person(person) => Some(person.0),
        Audience::Channel => None,
    }
}

/// Stores what a run did.
pub async fn record(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    steps: &[StepRecord],
    audience: Audience,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into step_records (tenant_id, run_id, only_for, steps) values ($1, $2, $4, $3)",
        tenant.0,
        run.0,
        to_json(&steps)? as _,
        audience_person_id(audience)
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes the inputs and outputs of a run's steps and keeps the rest of each record.
pub async fn forget(conn: &mut PgConnection, tenant: TenantId, run: RunId) -> sqlx::Result<()> {
    sqlx::query!(
        "with old as (
             update old_run_steps set input = null, output = null where tenant_id = $1 and run_id = $2)
         update step_records set steps = (
             select jsonb_agg(s.step - 'input' - 'output' order by s.place)
             from jsonb_array_elements(steps) with ordinality as s (step, place))
         where tenant_id = $1 and run_id = $2",
        tenant.0,
        run.0
    )
    .execute(conn)
    .await?;
    Ok(())
}
