//! The perform job: continues an effect from the state in which a crash left it.

use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::busy::{SHORT_WAIT, wait_sentence};
use crate::context::Requests;
use crate::effect::sql;
use crate::effect::sql::Effect;
use crate::{approval, draft};
use nod_contract::clock::Timestamp;
use nod_contract::digest::digest;
use nod_contract::ids::{EffectId, RunId, TenantId};
use nod_contract::privacy::Audience;
use nod_contract::provider::Provider;
use nod_contract::scope::{CHAT, RunOrIngestion, Scope};
use nod_contract::tool::account::SealedAccounts;
use nod_contract::tool::effect::{EffectKey, Permit};
use nod_contract::tool::{ActTool, EffectLookup, Tool, ToolContext, ToolError, ToolResult};
use nod_people::progress;
use nod_store::audit;
use nod_store::jobs::{Claim, WorkError, commit_and_begin, sql as jobs};
use nod_store::runs::{self, RunEvent};
use nod_store::steps::{self, StepRecord};

/// The number of lookups of an effect before a person is asked; the pauses double from one second.
const MAX_LOOKUPS: i32 = 7;
/// A request that was cut off might still be in progress at the provider, so "not done" counts only if it is found this
/// long after the start.
const LOOKUP_GRACE: TimeDelta = TimeDelta::seconds(10);
/// An effect that has not happened this long after its approval is given up: "I'm ten minutes late" is of no use in the
/// evening.
const PERFORM_DEADLINE: TimeDelta = TimeDelta::minutes(15);
/// How long a person looks at the card that they have just approved.
const RECEIPT_IS_AWAITED: TimeDelta = TimeDelta::minutes(1);
/// The maximum number of attempts if the effect certainly did not happen.
const MAX_ATTEMPTS: i32 = 5;
/// The first retry pause in seconds, which doubles per attempt if the provider asks for no longer one, and its maximum.
const STEP: u64 = 5;
const MAX_BACKOFF_SECS: u64 = 3600;
/// The time limit of one tool call (`prepare`, `perform` or `find_effect`).
const LIMIT: TimeDelta = TimeDelta::seconds(60);

/// Handles a user's request to look up again whether an effect with an unknown outcome happened.
pub(crate) async fn look_up_unknown_outcome(
    core: &Requests,
    claim: &Claim,
    id: EffectId,
) -> Result<(), WorkError> {
    let work = load_execution(core, claim, id).await?;
    match core.tools.get(&work.effect.tool) {
        Some(Tool::Act(tool)) if work.effect.status == "unknown" => work.look_up_unknown_outcome(tool).await,
        _ => work.complete_job().await,
    }
}

async fn load_execution<'a>(
    core: &'a Requests,
    claim: &'a Claim,
    id: EffectId,
) -> Result<EffectExecution<'a>, WorkError> {
    let effect = match claim.take_loaded() {
        Some(effect) => effect,
        None => {
            let mut conn = core.pool.acquire().await?;
            sql::load(&mut conn, claim.tenant, id).await?.ok_or("no such effect")?
        }
    };
    let principal = effect.owner.principal();
    Ok(EffectExecution { core, claim, effect, principal, started_at: core.now() })
}

/// Continues an effect from its stored status.
pub async fn perform(core: &Requests, claim: &Claim, id: EffectId) -> Result<(), WorkError> {
    let work = load_execution(core, claim, id).await?;
    let Some(Tool::Act(tool)) = core.tools.get(&work.effect.tool) else {
        tracing::error!(effect = %id, tool = %work.effect.tool, "the tool is not installed any more");
        // The card says "I" before the reason of an unknown outcome.
        let fault = if work.effect.status == "started" {
            ToolError::UnknownOutcome { reason: "can't do this kind of request any more".to_owned() }
        } else {
            ToolError::internal("I can't do this kind of request any more")
        };
        return work.record_outcome(Err(fault)).await;
    };
    match work.effect.status.as_str() {
        "planned" if !work.effect.released => work.end_undo_window(tool).await,
        "planned" => work.prepare_and_start(tool).await,
        "started" => work.look_up(tool).await,
        _ => work.complete_job().await,
    }
}

struct EffectExecution<'a> {
    core: &'a Requests,
    claim: &'a Claim,
    effect: Effect,
    principal: nod_contract::tool::Principal,
    started_at: Timestamp,
}

impl EffectExecution<'_> {
    /// Ends the time for undo: after this commit the effect can no longer be undone.
    async fn end_undo_window(&self, tool: &Arc<dyn ActTool>) -> Result<(), WorkError> {
        let (tenant, now) = (self.claim.tenant, self.core.now());
        let mut tx = self.core.begin().await?;
        jobs::assert_lease(&mut tx, self.claim).await?;
        if now < self.effect.starts_at {
            jobs::reschedule(&mut tx, self.claim, self.effect.starts_at, None, false).await?;
            return Ok(tx.commit().await?);
        }
        let released = sql::release(&mut tx, tenant, self.effect.id, now).await?;
        if let Some(approval) = self.effect.approval.filter(|_| released) {
            approval::refresh(&mut tx, tenant, approval, now).await?;
        }
        commit_and_begin(tx, &self.core.jobs).await?;
        if released { self.prepare_and_start(tool).await } else { self.complete_job().await }
    }

    /// Prepares an effect that has not started, then starts it.
    async fn prepare_and_start(&self, tool: &Arc<dyn ActTool>) -> Result<(), WorkError> {
        // Nod might have been down since the approval.
        if self.is_past_deadline() {
            let said = format!(
                "I couldn't get to it within {} minutes of your approval",
                PERFORM_DEADLINE.num_minutes()
            );
            return self.record_outcome(Err(ToolError::internal(said))).await;
        }
        if let Some(fault) = self.payload_mismatch() {
            return self.record_outcome(Err(fault)).await;
        }
        // The claim's attempt counts crashes too, so `prepare` looks for what an earlier attempt left behind.
        let key = EffectKey { id: self.effect.id, attempt: self.claim.attempt.unsigned_abs() };
        let cx = self.scope(self.effect.accounts.clone());
        match with_timeout(&cx, tool.prepare(&cx, &self.effect.payload, key)).await {
            Ok(handle) => self.start(tool, handle).await,
            Err(ToolError::RateLimited { .. }) if self.is_past_deadline() => {
                self.record_outcome(Err(deadline_error())).await
            }
            Err(ToolError::RateLimited { retry_after_secs: after_seconds }) => {
                self.retry_or_fail(tool, after_seconds).await
            }
            // `prepare` reaches no recipient, so a retry is harmless.
            Err(fault @ (ToolError::Internal { .. } | ToolError::UnknownOutcome { .. }))
                if self.claim.attempt < MAX_ATTEMPTS =>
            {
                Err(fault.to_string().into())
            }
            Err(ToolError::UnknownOutcome { reason }) => {
                self.record_outcome(Err(ToolError::internal(reason))).await
            }
            Err(fault) => self.record_outcome(Err(fault)).await,
        }
    }

    /// Returns an error if the payload is no longer the one that was approved: its digest must still match.
    fn payload_mismatch(&self) -> Option<ToolError> {
        let effect = &self.effect;
        if digest(&effect.payload).is_ok_and(|found| found == effect.digest) {
            return None;
        }
        tracing::error!(effect = %effect.id, run = %effect.run, "payload differs from the approved one; not performed");
        Some(ToolError::Forbidden { reason: "What was about to be done is not what was approved".to_owned() })
    }

    /// Commits *started* and mints the permit. No other code does.
    async fn start(&self, tool: &Arc<dyn ActTool>, handle: Value) -> Result<(), WorkError> {
        // Checked here too, because an effect found in *started* gets here without `begin`.
        if let Some(fault) = self.payload_mismatch() {
            return self.record_outcome(Err(fault)).await;
        }
        let mut tx = self.core.begin().await?;
        if !sql::start(&mut tx, self.claim, self.effect.id, &handle, self.core.now()).await? {
            tx.rollback().await?;
            return self.complete_job().await;
        }
        // By a statement of its own, which sees what was disconnected while that one waited for a lock.
        let accounts = sql::load_accounts(&mut tx, self.claim.tenant, self.effect.person).await?;
        tx.commit().await?;
        let attempt = u32::try_from(self.effect.attempt + 1).unwrap_or(1);
        #[expect(clippy::disallowed_methods, reason = "the row that says so has just been committed")]
        let permit = Permit::mint(EffectKey { id: self.effect.id, attempt });
        let cx = self.scope(accounts);
        let performed = tool.perform(&cx, &self.effect.payload, &handle, permit);
        match tokio::time::timeout(cx.time_left(), performed).await {
            Ok(Ok(output)) => self.record_outcome(Ok(output)).await,
            // The effect stays *started*: the next attempt looks it up first.
            Err(_) | Ok(Err(ToolError::UnknownOutcome { .. } | ToolError::Internal { .. })) => {
                self.reschedule_in(1, false).await
            }
            Ok(Err(ToolError::RateLimited { retry_after_secs: after_seconds })) => {
                self.retry_or_fail(tool, after_seconds).await
            }
            Ok(Err(fault)) => self.record_outcome(Err(fault)).await,
        }
    }

    /// Looks up whether an effect found in *started* happened.
    async fn look_up(&self, tool: &Arc<dyn ActTool>) -> Result<(), WorkError> {
        let handle = self.effect.handle.clone().unwrap_or(Value::Null);
        let key = EffectKey { id: self.effect.id, attempt: self.effect.attempt.unsigned_abs() };
        let cx = self.scope(self.effect.accounts.clone());
        let reason = match with_timeout(&cx, tool.find_effect(&cx, &self.effect.payload, &handle, key)).await
        {
            Ok(EffectLookup::Done(output)) => return self.record_outcome(Ok(output)).await,
            Ok(EffectLookup::NotDone) if self.core.now() - self.effect.updated_at < LOOKUP_GRACE => {
                let left = LOOKUP_GRACE - (self.core.now() - self.effect.updated_at);
                return self.reschedule_in(left.num_seconds().unsigned_abs() + 1, false).await;
            }
            Ok(EffectLookup::NotDone) if self.is_past_deadline() => {
                return self.record_outcome(Err(deadline_error())).await;
            }
            Ok(EffectLookup::NotDone) if self.effect.attempt < MAX_ATTEMPTS => {
                return self.start(tool, handle).await;
            }
            Ok(EffectLookup::NotDone) => {
                let said =
                    format!("I tried {} times, and it certainly didn't go through", self.effect.attempt);
                return self.record_outcome(Err(ToolError::internal(said))).await;
            }
            Ok(EffectLookup::Inconclusive(looked_at)) => looked_at,
            // A failed lookup decides nothing, but a user is waiting.
            Err(fault) if self.is_past_deadline() => {
                let reason =
                    format!("couldn't check for {} minutes: {fault}", PERFORM_DEADLINE.num_minutes());
                return self.record_outcome(Err(ToolError::UnknownOutcome { reason })).await;
            }
            Err(ToolError::RateLimited { retry_after_secs: after_seconds }) => {
                return self.wait_for_rate_limit(tool, after_seconds).await;
            }
            Err(ToolError::Internal { .. } | ToolError::UnknownOutcome { .. }) => {
                return self.reschedule_in(10, false).await;
            }
            Err(fault) => format!("couldn't check: {fault}"),
        };
        if self.effect.lookup_count + 1 >= MAX_LOOKUPS {
            return self.record_outcome(Err(ToolError::UnknownOutcome { reason })).await;
        }
        self.reschedule_in(1 << self.effect.lookup_count.clamp(0, 6), true).await
    }

    /// Looks the effect up once and shows the result on the card. It never performs the effect again.
    async fn look_up_unknown_outcome(&self, tool: &Arc<dyn ActTool>) -> Result<(), WorkError> {
        let handle = self.effect.handle.clone().unwrap_or(Value::Null);
        let key = EffectKey { id: self.effect.id, attempt: self.effect.attempt.unsigned_abs() };
        let cx = self.scope(self.effect.accounts.clone());
        let unknown = |reason| Err(ToolError::UnknownOutcome { reason });
        let (status, outcome) =
            match with_timeout(&cx, tool.find_effect(&cx, &self.effect.payload, &handle, key)).await {
                Ok(EffectLookup::Done(output)) => ("done", Ok(output)),
                Ok(EffectLookup::NotDone) => (
                    "failed",
                    Err(ToolError::internal("I checked again, and it certainly didn't go through")),
                ),
                Ok(EffectLookup::Inconclusive(looked_at)) => ("unknown", unknown(looked_at)),
                Err(fault) => ("unknown", unknown(format!("couldn't check: {fault}"))),
            };
        self.resolve_unknown(status, outcome).await
    }

    async fn resolve_unknown(&self, status: &str, outcome: ToolResult) -> Result<(), WorkError> {
        let (tenant, now, effect) = (self.claim.tenant, self.core.now(), &self.effect);
        let mut tx = self.core.begin().await?;
        jobs::assert_lease(&mut tx, self.claim).await?;
        if let Some(approval) = effect.approval {
            // Blocks a click on [Send again] until this is committed.
            approval::sql::lock_row(&mut tx, tenant, approval).await?;
        }
        if sql::resolve_unknown(&mut tx, tenant, effect.id, status, &outcome, now).await? {
            let audience = Audience::Person(effect.person);
            steps::record(&mut tx, tenant, effect.run, &[self.record(&outcome, now)], audience).await?;
            let (detail, digest) =
                (json!({ "tool": effect.tool, "found": status }), Some(effect.digest.as_str()));
            let (by, id) = (Some(effect.person), effect.id.0);
            audit::insert_entry(&mut tx, tenant, by, "effect.rechecked", id, digest, &detail, now).await?;
            if let Some(approval) = effect.approval {
                if status == "done" {
                    let worked_on = effect.draft.as_deref();
                    draft::close_after_effect(&mut tx, tenant, effect.person, worked_on, &outcome, now)
                        .await?;
                    approval::supersede_retry_request(self.core, &mut tx, tenant, approval, now).await?;
                }
                approval::refresh(&mut tx, tenant, approval, now).await?;
            }
        }
        jobs::complete(&mut tx, self.claim).await?;
        tx.commit().await?;
        self.core.jobs.wake();
        Ok(())
    }

    fn is_past_deadline(&self) -> bool {
        self.core.now() - self.effect.starts_at > PERFORM_DEADLINE
    }

    /// Handles a request to wait before the effect happened. If the wait is too long to be of use, the effect fails.
    async fn retry_or_fail(&self, tool: &Arc<dyn ActTool>, seconds: u64) -> Result<(), WorkError> {
        let until = self.core.now() + self.backoff(seconds);
        if until - self.effect.starts_at <= PERFORM_DEADLINE {
            return self.wait_for_rate_limit(tool, seconds).await;
        }
        let asks = tool.spec().provider.map(|provider| wait_sentence(provider, until, &self.principal.zone));
        self.record_outcome(Err(asks.map_or_else(deadline_error, ToolError::internal))).await
    }

    /// Returns the pause that the provider asks for, or from the second attempt on at least the growing retry pause.
    fn backoff(&self, seconds: u64) -> TimeDelta {
        let pause = match self.claim.attempt.unsigned_abs() {
            0 | 1 => seconds,
            tries => seconds.max(STEP << (tries - 1).min(8)),
        };
        let pause = pause.clamp(1, MAX_BACKOFF_SECS);
        TimeDelta::seconds(i64::try_from(pause).unwrap_or(60))
    }

    /// Reschedules because the provider asks to wait. The user sees until when if it is more than a moment.
    async fn wait_for_rate_limit(&self, tool: &Arc<dyn ActTool>, seconds: u64) -> Result<(), WorkError> {
        let until = self.core.now() + self.backoff(seconds);
        let asks = tool.spec().provider.filter(|_| self.backoff(seconds) > SHORT_WAIT);
        self.reschedule_at(until, asks.map(|provider| (provider, until)), false).await
    }

    /// Reschedules the job by some seconds; `looked` counts an inconclusive lookup.
    async fn reschedule_in(&self, seconds: u64, looked: bool) -> Result<(), WorkError> {
        let until = self.core.now() + TimeDelta::seconds(i64::try_from(seconds.clamp(1, 3600)).unwrap_or(60));
        self.reschedule_at(until, None, looked).await
    }

    async fn reschedule_at(
        &self,
        until: Timestamp,
        asks: Option<(Provider, Timestamp)>,
        looked: bool,
    ) -> Result<(), WorkError> {
        let (tenant, effect) = (self.claim.tenant, &self.effect);
        let mut tx = self.core.begin().await?;
        jobs::assert_lease(&mut tx, self.claim).await?;
        if effect.approval.is_none() {
            // The lane is locked before the rows, in the same order as when a turn is stopped.
            runs::lock(&mut tx, tenant, effect.run).await?;
        }
        if looked {
            sql::increment_lookups(&mut tx, tenant, effect.id).await?;
        }
        if asks.is_some() || effect.is_rate_limited {
            sql::set_waiting(&mut tx, tenant, effect.id, asks).await?;
            self.show_rate_limit_notice(&mut tx, asks).await?;
        }
        jobs::reschedule(&mut tx, self.claim, until, None, true).await?;
        tx.commit().await?;
        self.core.jobs.wake();
        Ok(())
    }

    /// Shows the wait on the card, or in the progress line of the turn if there is no card.
    async fn show_rate_limit_notice(
        &self,
        conn: &mut PgConnection,
        asks: Option<(Provider, Timestamp)>,
    ) -> sqlx::Result<()> {
        let (core, tenant, effect) = (self.core, self.claim.tenant, &self.effect);
        if let Some(approval) = effect.approval {
            return approval::refresh(conn, tenant, approval, core.now()).await;
        }
        let Some((provider, until)) = asks else { return Ok(()) };
        let words = wait_sentence(provider, until, &self.principal.zone);
        progress::show_wait_notice(core, conn, tenant, effect.conversation, effect.run, words).await
    }

    async fn complete_job(&self) -> Result<(), WorkError> {
        let mut conn = self.core.pool.acquire().await?;
        Ok(jobs::complete(&mut conn, self.claim).await?)
    }

    /// Ends the effect: its row, the run's event, the receipt on the card and the audit entry, in one commit.
    async fn record_outcome(&self, outcome: ToolResult) -> Result<(), WorkError> {
        let (tenant, now, effect) = (self.claim.tenant, self.core.now(), &self.effect);
        let status = match &outcome {
            Ok(_) => "done",
            Err(ToolError::UnknownOutcome { .. }) => "unknown",
            Err(_) => "failed",
        };
        let mut tx = self.core.begin().await?;
        jobs::assert_lease(&mut tx, self.claim).await?;
        if sql::mark_finished(&mut tx, tenant, effect.id, status, &outcome, now).await? {
            let audience = Audience::Person(effect.person);
            steps::record(&mut tx, tenant, effect.run, &[self.record(&outcome, now)], audience).await?;
            let ticket = effect.approval.map_or(effect.id.0, |a| a.0);
            let edit_kept_by = match (&outcome, effect.approval) {
                (Ok(_) | Err(ToolError::UnknownOutcome { .. } | ToolError::Conflict { .. }), _)
                | (_, None) => None,
                (Err(_), Some(approval)) => {
                    approval::keep_unsent_edit(self.core, &mut tx, tenant, approval, now).await?
                }
            };
            let event = RunEvent::EffectFinished {
                awaited_id: ticket,
                result: outcome.clone(),
                edit_kept_by,
                is_receipt_seen: effect.is_decided_by_owner && now - effect.starts_at < RECEIPT_IS_AWAITED,
            };
            runs::notify(&mut tx, tenant, effect.run, event, now).await?;
            let worked_on = effect.draft.as_deref();
            draft::close_after_effect(&mut tx, tenant, effect.person, worked_on, &outcome, now).await?;
            if let Some(approval) = effect.approval {
                approval::refresh(&mut tx, tenant, approval, now).await?;
            }
            let detail = json!({ "tool": effect.tool, "attempt": effect.attempt });
            let action = format!("effect.{status}");
            let digest = Some(effect.digest.as_str());
            audit::insert_entry(
                &mut tx,
                tenant,
                Some(effect.person),
                &action,
                effect.id.0,
                digest,
                &detail,
                now,
            )
            .await?;
        }
        jobs::complete(&mut tx, self.claim).await?;
        tx.commit().await?;
        tracing::info!(effect = %effect.id, run = %effect.run, status, "effect finished");
        Ok(())
    }

    /// The tool call as the run's steps record it; the payload is stored only in the effect's row.
    fn record(&self, outcome: &ToolResult, now: Timestamp) -> StepRecord {
        let mut record = StepRecord::new("tool", &self.effect.tool, self.core.id(), self.started_at, now);
        record.set_input(&json!({ "effect": self.effect.id, "digest": self.effect.digest }));
        match outcome {
            Ok(output) => record.set_output(&output.content),
            Err(fault) => record.error = Some(fault.to_string()),
        }
        record
    }

    /// Creates the context of a call with the accounts that the last statement of this job read.
    fn scope(&self, accounts: SealedAccounts) -> ToolContext {
        let now = self.core.now();
        ToolContext {
            scope: Scope {
                tenant: self.claim.tenant,
                case: self.effect.conversation,
                workflow: CHAT,
                run: RunOrIngestion::RunId(self.effect.run),
                trace: self.effect.trace,
                invocation: self.core.id(),
            },
            principal: self.principal.clone(),
            now,
            deadline: now + LIMIT,
            accounts: Some(accounts),
        }
    }
}

fn deadline_error() -> ToolError {
    ToolError::internal(format!(
        "I couldn't reach the service for {} minutes",
        PERFORM_DEADLINE.num_minutes()
    ))
}

async fn with_timeout<T>(
    cx: &ToolContext,
    movement: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    tokio::time::timeout(cx.time_left(), movement).await.unwrap_or_else(|_| {
        Err(ToolError::internal(format!("no answer within {} s", cx.time_left().as_secs())))
    })
}

/// Ends the effects of a stopped turn that have not begun.
pub async fn fail_unstarted_effects(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let reason = "it was stopped before it began".to_owned();
    for approval in sql::cancel_for_run(conn, tenant, run, &Err(ToolError::Forbidden { reason }), now).await?
    {
        approval::refresh(conn, tenant, approval, now).await?;
    }
    Ok(())
}
