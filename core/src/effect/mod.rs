//! Effects: acts on the world, each done once.
//!
//! planned → started → done | failed | unknown. [`perform`] commits *started* and mints the [`Permit`] that
//! [`ActTool::perform`](crate::tool::ActTool::perform) demands; no other code can make one. An effect found
//! in *started* after a crash is looked for before it is done again, and where looking does not settle it,
//! a person is asked.

mod perform;
pub(crate) mod sql;

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

pub(crate) use perform::perform;

use crate::approval::Approval;
use crate::clock::Timestamp;
use crate::ids::{EffectId, TenantId};
use crate::jobs::{Work, sql as jobs};
use crate::nod::Core;

/// The idempotency key of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectKey {
    /// The same for every attempt.
    pub id: EffectId,
    /// From 1. Above 1, an earlier attempt may have left something.
    pub attempt: u32,
}

/// Exists because a committed row says *started*.
#[derive(Debug)]
pub struct Permit {
    key: EffectKey,
}

impl Permit {
    /// The effect that it permits.
    #[must_use]
    pub fn key(&self) -> EffectKey {
        self.key
    }
}

/// Plans the effect of an approved request, in the transaction of the approval.
pub(crate) async fn plan(
    core: &Core,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    let id: EffectId = core.id();
    let new = sql::NewEffect {
        id,
        conversation: approval.conversation,
        run: approval.run,
        call_id: &approval.call_id,
        approval: Some(approval.id),
        person: approval.decider,
        tool: &approval.tool,
        preview: &approval.preview,
        digest: &approval.digest,
    };
    insert(conn, tenant, &new, now).await
}

/// Writes a planned effect and its job.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &sql::NewEffect<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    sql::insert(conn, tenant, new, now).await?;
    jobs::enqueue(conn, tenant, new.id.0, &Work::Perform { effect: new.id }, now, now).await
}
