//! What a run read of others' talk is not kept for ever.

use chrono::TimeDelta;

use super::sql;
use crate::ids::RunId;
use crate::jobs::{Claim, WorkError, sql as jobs};
use crate::nod::Core;

/// Takes it out of the run's record; later, where the run still waits for something.
pub(crate) async fn forget(core: &Core, claim: &Claim, run: RunId) -> Result<(), WorkError> {
    let mut tx = core.begin().await?;
    jobs::hold(&mut tx, claim).await?;
    if sql::forget(&mut tx, claim.tenant, run).await? {
        jobs::finish(&mut tx, claim).await?;
    } else {
        jobs::put_off(&mut tx, claim, core.now() + TimeDelta::days(1), None, false).await?;
    }
    Ok(tx.commit().await?)
}
