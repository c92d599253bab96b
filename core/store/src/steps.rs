//! What a run did, step by step: one row per node, tool call and model call.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::jobs::sql::to_json;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{InvocationId, RunId, TenantId};
use nod_contract::model::Usage;
use nod_contract::privacy::Audience;

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
    pub prompt_tokens: Option<u32>,
    /// Tokens written by a model.
    pub completion_tokens: Option<u32>,
    /// The prompt or the arguments.
    pub input: Option<Box<RawValue>>,
    /// The answer or the result.
    pub output: Option<Box<RawValue>>,
    /// The error, if it failed.
    pub error: Option<String>,
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
        }
    }

    pub fn set_input(&mut self, input: &impl Serialize) {
        self.input = to_raw_value(input).ok();
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
    // All steps are inserted by one statement, from one JSON array.
    sqlx::query!(
        "insert into run_steps (tenant_id, run_id, invocation_id, kind, name, started_at, duration_us,
             prompt_tokens, completion_tokens, input, output, error, only_for)
         select $1, $2, s.invocation, s.kind, s.name, s.started_at, s.duration_us, s.prompt_tokens,
             s.completion_tokens, s.input, s.output, s.error, $4
         from jsonb_to_recordset($3) as s(invocation uuid, kind text, name text, started_at timestamptz,
             duration_us bigint, prompt_tokens integer, completion_tokens integer, input jsonb, output jsonb,
             error text)",
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
        "update run_steps set input = null, output = null where tenant_id = $1 and run_id = $2",
        tenant.0,
        run.0
    )
    .execute(conn)
    .await?;
    Ok(())
}
