//! What a run did, step by step: each node, tool call and model call. Steps that are stored together are one row of
//! `step_records`; the view `run_steps` shows a row for each.

mod recorded_output;
mod recorded_prompt;

pub use recorded_prompt::StoredTurns;

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::jobs::sql::to_json;
use crate::steps::recorded_output::Output;
use crate::steps::recorded_prompt::RecordedPrompt;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{InvocationId, RunId, TenantId};
use nod_contract::model::{Completion, CompletionRequest, Usage};
use nod_contract::privacy::Audience;
use nod_contract::prompt::PromptText;

/// One thing that a run did.
#[derive(Debug, Clone)]
pub struct StepRecord {
    /// The id of this call, which logs have too. Nodes have none.
    invocation: Option<InvocationId>,
    /// `node`, `tool` or `model`.
    kind: &'static str,
    /// The node's, tool's or model tier's name.
    name: String,
    started_at: Timestamp,
    duration_us: i64,
    /// The tokens of a model call.
    usage: Option<Usage>,
    /// The prompt or the arguments.
    input: Option<Box<RawValue>>,
    /// The answer or the result.
    output: Option<Output>,
    /// The error, if it failed.
    pub error: Option<String>,
    /// Texts that the prompt names by their digests.
    pub(crate) texts: Vec<Arc<PromptText>>,
}

impl StepRecord {
    /// Creates a record of a call that lasted from `started_at` to `ended_at`.
    pub fn new(
        kind: &'static str,
        name: &str,
        invocation: InvocationId,
        started_at: Timestamp,
        ended_at: Timestamp,
    ) -> Self {
        Self { invocation: Some(invocation), kind, ..Self::of_node(name, started_at, ended_at) }
    }

    /// Creates a record of a node that lasted from `started_at` to `ended_at`.
    pub fn of_node(name: &str, started_at: Timestamp, ended_at: Timestamp) -> Self {
        Self {
            invocation: None,
            kind: "node",
            name: name.to_owned(),
            started_at,
            duration_us: (ended_at - started_at).num_microseconds().unwrap_or_default(),
            usage: None,
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

    /// Sets the result of a tool call as the output.
    pub fn set_output(&mut self, output: &impl Serialize) {
        self.output = to_raw_value(output).ok().map(Output::Result);
    }

    /// Sets the answer of a model call as the output.
    pub fn set_answer(&mut self, answer: &Completion) {
        self.usage = answer.usage;
        self.output = Some(Output::Answer(answer.clone()));
    }
}

/// Returns the records as they are stored. An output that is a turn of the run, too, stands in them by its number.
pub fn to_stored<'a>(steps: &'a [StepRecord], stored: &'a StoredTurns<'_>) -> impl Serialize + 'a {
    steps.iter().map(|step| StoredStep { step, stored }).collect::<Vec<_>>()
}

/// A record as it is stored. The view `run_steps` shows all of it, and `whole_output` gives its output.
struct StoredStep<'a> {
    step: &'a StepRecord,
    stored: &'a StoredTurns<'a>,
}

impl Serialize for StoredStep<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { step, stored } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(step.kind, &step.name)?;
        map.serialize_entry("at", &step.started_at.timestamp_micros())?;
        map.serialize_entry("us", &step.duration_us)?;
        if let Some(id) = step.invocation {
            map.serialize_entry("id", &id)?;
        }
        if let Some(usage) = step.usage {
            map.serialize_entry("tokens", &(usage.prompt, usage.completion))?;
        }
        if let Some(input) = &step.input {
            map.serialize_entry("input", input)?;
        }
        match &step.output {
            Some(Output::Answer(answer)) => map.serialize_entry("output", &stored.record_answer(answer))?,
            Some(Output::Result(result)) => match stored.find_result(&step.name, result.get()) {
                Some(place) => map.serialize_entry("in_turn", &place)?,
                None => map.serialize_entry("output", result)?,
            },
            None => {}
        }
        if let Some(error) = &step.error {
            map.serialize_entry("error", error)?;
        }
        map.end()
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
        to_json(&to_stored(steps, &StoredTurns::default()))? as _,
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
             select jsonb_agg(s.step - 'input' - 'output' - 'in_turn' order by s.place)
             from jsonb_array_elements(steps) with ordinality as s (step, place))
         where tenant_id = $1 and run_id = $2",
        tenant.0,
        run.0
    )
    .execute(conn)
    .await?;
    Ok(())
}
