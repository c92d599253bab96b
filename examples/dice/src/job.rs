//! The job that posts a roll in the conversation.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::sql;
use nod_contract::card::Card;
use nod_people::context::Chat;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{conversations, people};
use nod_store::jobs::{Claim, Job, JobHandler, WorkError, sql as jobs};

/// The jobs of dice. A job kind's name is stored in rows, so no two abilities can use the same one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum DiceJob {
    /// Posts a roll; each in its own lane.
    TellRoll { roll: Uuid },
}

impl Job for DiceJob {
    const KINDS: &'static [&'static str] = &["tell_roll"];
}

pub(crate) struct Telling(pub(crate) Chat);

#[async_trait]
impl JobHandler for Telling {
    fn kinds(&self) -> &'static [&'static str] {
        DiceJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            DiceJob::TellRoll { roll } => tell(&self.0, claim, roll).await,
        }
    }
}

async fn tell(core: &Chat, claim: &Claim, roll: Uuid) -> Result<(), WorkError> {
    let tenant = claim.tenant;
    let mut tx = core.begin().await?;
    // Nothing is committed for a job that another replica has taken over.
    jobs::assert_lease(&mut tx, claim).await?;
    if let Some(roll) = sql::load(&mut tx, tenant, roll).await? {
        let venue = conversations::load_location(&mut tx, tenant, roll.conversation).await?;
        let person = people::sql::load(&mut tx, tenant, roll.person).await?;
        let name = person.as_ref().map_or("Somebody", |person| person.display_name());
        let card = Card::from_markdown(format!("{name} rolled {} of {}.", roll.rolled, roll.sides));
        // The message is a row, and the job that posts it belongs to `people`.
        let new = NewDelivery {
            id: core.id(),
            conversation: roll.conversation,
            run: None,
            platform: &venue.platform,
            target: None,
            opens_thread: venue.is_thread_pending,
            card: &card,
            only_for: None,
        };
        delivery::enqueue(&mut tx, tenant, &venue, &new, core.now()).await?;
    }
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}
