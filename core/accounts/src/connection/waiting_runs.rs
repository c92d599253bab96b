//! Runs that wait for an account, and how they receive the outcome.

use sqlx::PgConnection;

use super::{Accounts, sql};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, RunId, TenantId};
use nod_contract::provider::Provider;
use nod_store::runs::{self, ConnectOutcome, RunEvent};

/// A run of the person that waits for an account or might soon: a run in the middle of a step might park next. A run
/// that does not wait ignores the event.
pub(super) struct WaitingRun {
    pub(super) run: RunId,
    /// What its newest link asked for; empty if it has none.
    pub(super) scopes: Vec<String>,
    /// Whether a link of its own still works.
    pub(super) has_link: bool,
}

/// Resumes every waiting run with the outcome, unless a link of its own still works.
pub(super) async fn resume_waiting_runs(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
    ended: ConnectOutcome,
    now: Timestamp,
) -> sqlx::Result<()> {
    for run in sql::list_waiting_runs(conn, tenant, person, provider.as_str(), now).await? {
        if !run.has_link {
            notify_run(conn, tenant, run.run, provider, ended, now).await?;
        }
    }
    Ok(())
}

/// One way to an account has ended: resumes the runs, unless the person still has another.
pub(super) async fn resume_unless_other_route(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
    ended: ConnectOutcome,
    now: Timestamp,
) -> sqlx::Result<()> {
    if sql::has_other_route(conn, tenant, person, provider.as_str(), now).await? {
        return Ok(());
    }
    resume_waiting_runs(conn, tenant, person, provider, ended, now).await
}

/// Scopes were granted through a link of `asker`: resumes every run for which they suffice. Of the others, a run whose
/// own link still works keeps waiting, the asker receives that it was too little, and the rest try and ask again. A first
/// consent asks for more than its run needs: whoever unticks a part is asked again only for what is missing.
#[expect(clippy::too_many_arguments, reason = "whose account it is, what of it, and who asked")]
pub(super) async fn resume_after_grant(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
    granted: &[String],
    asker: Option<RunId>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let scopes = core.scopes(provider);
    let grants_a_part = !scopes.usable_scopes(granted).is_empty();
    for run in sql::list_waiting_runs(conn, tenant, person, provider.as_str(), now).await? {
        let enough = scopes.missing_scopes(granted, &run.scopes).is_empty();
        let asked_for_all = scopes.missing_scopes(&run.scopes, &scopes.usual()).is_empty();
        let ended = match enough {
            false if run.has_link => continue,
            false if Some(run.run) == asker && !(asked_for_all && grants_a_part) => {
                ConnectOutcome::InsufficientScopes
            }
            _ => ConnectOutcome::Connected,
        };
        notify_run(conn, tenant, run.run, provider, ended, now).await?;
    }
    Ok(())
}

async fn notify_run(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    provider: Provider,
    ended: ConnectOutcome,
    now: Timestamp,
) -> sqlx::Result<()> {
    let event = RunEvent::ConnectFinished { provider, outcome: ended };
    runs::notify(conn, tenant, run, event, now).await
}
