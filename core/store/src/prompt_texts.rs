//! Texts that prompts have in common. Each is stored once, and the record of a model call names it by its digest, so
//! that a turn writes only what was new in it.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::steps::StepRecord;
use nod_contract::clock::Timestamp;

/// The texts that this process knows to be stored in its database.
#[derive(Clone, Default)]
pub struct PromptTexts(Arc<Mutex<HashSet<Uuid>>>);

impl PromptTexts {
    /// Stores the texts that records name and this process has not stored yet. Call it before the records are written,
    /// and not in their transaction: two replicas may store the same text at once, and one then waits for the other's
    /// commit, which must not wait for a row of the first. A text that no record names in the end does no harm.
    ///
    /// # Errors
    /// If the database does not answer; none of the texts counts as stored then.
    pub(crate) async fn store(
        &self,
        pool: &PgPool,
        steps: &[StepRecord],
        now: Timestamp,
    ) -> sqlx::Result<()> {
        // In the order of their digests, so that two replicas do not wait for each other.
        let mut new: BTreeMap<Uuid, &str> =
            steps.iter().flat_map(|step| &step.texts).map(|text| (text.digest(), text.body())).collect();
        new.retain(|digest, _| !self.stored().contains(digest));
        if new.is_empty() {
            return Ok(());
        }
        insert(&mut *pool.acquire().await?, &new, now).await?;
        self.stored().extend(new.into_keys());
        Ok(())
    }

    fn stored(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn insert(conn: &mut PgConnection, texts: &BTreeMap<Uuid, &str>, now: Timestamp) -> sqlx::Result<()> {
    let digests: Vec<Uuid> = texts.keys().copied().collect();
    let bodies: Vec<String> = texts.values().map(|body| (*body).to_owned()).collect();
    sqlx::query!(
        "insert into prompt_texts (digest, body, first_used_at)
         select t.digest, t.body, $3 from unnest($1::uuid[], $2::text[]) as t (digest, body)
         on conflict do nothing",
        &digests,
        &bodies,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}
