//! Writes a transition down: the state, the new messages and records, and what the nodes want to happen, in
//! one transaction that begins and ends here.

use chrono::TimeDelta;
use serde_json::json;
use sqlx::PgConnection;

use super::runner::new_turns;
use super::sql::{self, NewMessage, Run};
use crate::approval::{self, Approval};
use crate::audit;
use crate::card::{Block, Card};
use crate::chat::Target;
use crate::clock::Timestamp;
use crate::connection::{self, NewOffer, cards};
use crate::delivery::{self, NewDelivery, Venue};
use crate::effect;
use crate::graph::{Emit, StepRecord};
use crate::ids::{ApprovalId, DeliveryId, OfferId, QuestionId};
use crate::jobs::{Claim, Work, WorkError, sql as jobs};
use crate::nod::Core;
use crate::people;
use crate::privacy::Audience;
use crate::question;
use crate::tool::Preview;

/// What has happened to a run since its last commit.
pub(super) struct Commit<'a> {
    pub(super) run: Run,
    pub(super) emits: Vec<Emit>,
    /// Messages with a target of their own.
    pub(super) aimed: Vec<(Card, Target)>,
    pub(super) records: Vec<StepRecord>,
    core: &'a Core,
    claim: &'a Claim,
    venue: &'a Venue,
    /// Turns that are rows already.
    kept: usize,
    /// The job still carries news that this run has absorbed.
    news: bool,
}

impl<'a> Commit<'a> {
    pub(super) fn begin(core: &'a Core, claim: &'a Claim, venue: &'a Venue, run: Run, news: bool) -> Self {
        // What absorbing news added is not a row yet; tool turns are the only ones it adds.
        let kept = run.kept;
        Self {
            run,
            emits: Vec::new(),
            aimed: Vec::new(),
            records: Vec::new(),
            core,
            claim,
            venue,
            kept,
            news,
        }
    }

    /// Commits and goes on.
    pub(super) async fn transition(&mut self, status: &str) -> Result<(), WorkError> {
        let mut tx = self.core.pool.begin().await?;
        jobs::hold(&mut tx, self.claim).await?;
        self.write(&mut tx, status, None).await?;
        if self.news {
            let work = Work::Advance { run: self.run.id, news: None };
            jobs::rewrite(&mut tx, self.claim, &work).await?;
        }
        tx.commit().await?;
        if !self.emits.is_empty() {
            self.core.jobs.wake();
        }
        self.written();
        Ok(())
    }

    /// Commits and ends the job.
    pub(super) async fn end(mut self, status: &str, error: Option<&str>) -> Result<(), WorkError> {
        let mut tx = self.core.pool.begin().await?;
        jobs::hold(&mut tx, self.claim).await?;
        self.write(&mut tx, status, error).await?;
        jobs::finish(&mut tx, self.claim).await?;
        Ok(tx.commit().await?)
    }

    fn written(&mut self) {
        self.run.version += 1;
        self.kept = self.run.state.turns.len();
        self.news = false;
        self.emits.clear();
        self.aimed.clear();
        self.records.clear();
    }

    async fn write(
        &mut self,
        conn: &mut PgConnection,
        status: &str,
        error: Option<&str>,
    ) -> Result<(), WorkError> {
        let (tenant, now) = (self.claim.tenant, self.core.now());
        status.clone_into(&mut self.run.status);
        self.run.kept = self.run.state.turns.len();
        sql::save(conn, tenant, &self.run, error, now).await?;
        let audience = self.run.state.audience;
        for turn in new_turns(&self.run, self.kept) {
            let message = NewMessage {
                id: self.core.id(),
                conversation: self.run.conversation,
                run: self.run.id,
                person: None,
                message_ref: None,
                turn,
                audience,
                provenance: &self.run.state.provenance,
            };
            sql::keep(conn, tenant, &message, now).await?;
        }
        if !self.records.is_empty() {
            sql::record(conn, tenant, self.run.id, &self.records, audience).await?;
        }
        for emit in &self.emits {
            self.emit(conn, emit, now).await?;
        }
        for (card, target) in &self.aimed {
            self.send(conn, self.core.id(), card, Some(target), Audience::Channel, now).await?;
        }
        Ok(())
    }

    async fn emit(&self, conn: &mut PgConnection, emit: &Emit, now: Timestamp) -> Result<(), WorkError> {
        match emit {
            Emit::Say { card, audience } => self.say(conn, card, *audience, now).await,
            Emit::Ask { approval, call_id, tool, preview } => {
                self.ask(conn, *approval, call_id, tool, preview, now).await
            }
            Emit::Act { effect, call_id, tool, preview } => {
                let digest = approval::digest(&preview.payload)?;
                let new = effect::sql::NewEffect {
                    id: *effect,
                    conversation: self.run.conversation,
                    run: self.run.id,
                    call_id,
                    approval: None,
                    person: self.run.person,
                    tool,
                    preview,
                    digest: &digest,
                };
                Ok(effect::insert(conn, self.claim.tenant, &new, now).await?)
            }
            Emit::Question { question, call_id, name, choices } => {
                self.question(conn, *question, call_id, name, choices, now).await
            }
            Emit::Connect { provider, revoked } => {
                let (delivery, offer): (DeliveryId, OfferId) = (self.core.id(), self.core.id());
                let card = cards::connect(*provider, offer, &cards::needed(*provider, *revoked));
                let line = format!(
                    "First I need access to {}'s account. The link went there privately.",
                    self.name()
                );
                self.privately(conn, delivery, &card, &line, now).await?;
                let new = NewOffer {
                    id: offer,
                    person: self.run.person,
                    provider: *provider,
                    conversation: self.run.conversation,
                    run: Some(self.run.id),
                    delivery: Some(delivery),
                };
                Ok(connection::make(self.core, conn, self.claim.tenant, &new, now).await?)
            }
        }
    }

    async fn say(
        &self,
        conn: &mut PgConnection,
        card: &Card,
        audience: Audience,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let id = self.core.id();
        match audience {
            Audience::Channel => self.send(conn, id, card, None, audience, now).await,
            Audience::Person(_) => {
                let line = format!("Answered {} privately.", self.name());
                self.privately(conn, id, card, &line, now).await
            }
        }
    }

    /// To the person alone; where others read too, with a neutral line in the thread.
    async fn privately(
        &self,
        conn: &mut PgConnection,
        id: DeliveryId,
        card: &Card,
        line: &str,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let audience = Audience::Person(self.run.person);
        if !self.run.state.shared {
            return self.send(conn, id, card, None, audience, now).await;
        }
        let target = delivery::direct(conn, self.claim.tenant, self.venue, self.run.person).await?;
        let target = target.ok_or("nobody to write to")?;
        self.send(conn, id, card, Some(&target), audience, now).await?;
        let line = Card { body: vec![Block::Note(line.to_owned())], ..Card::default() };
        self.send(conn, delivery::line_of(id), &line, None, Audience::Channel, now).await
    }

    async fn send(
        &self,
        conn: &mut PgConnection,
        id: DeliveryId,
        card: &Card,
        target: Option<&Target>,
        audience: Audience,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let new = NewDelivery {
            id,
            conversation: self.run.conversation,
            run: Some(self.run.id),
            platform: &self.venue.platform,
            target,
            opens_thread: false,
            card,
            only_for: match audience {
                Audience::Person(person) => Some(person),
                Audience::Channel => None,
            },
        };
        Ok(delivery::send(conn, self.claim.tenant, self.venue, &new, now).await?)
    }

    async fn ask(
        &self,
        conn: &mut PgConnection,
        id: ApprovalId,
        call_id: &str,
        tool: &str,
        preview: &Preview,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let (tenant, run) = (self.claim.tenant, &self.run);
        let known = effect::sql::known_recipients(conn, tenant, run.person, &preview.recipients).await?;
        let person = people::sql::load(conn, tenant, run.person).await?.ok_or("no such person")?;
        let approval = Approval {
            id,
            conversation: run.conversation,
            run: run.id,
            call_id: call_id.to_owned(),
            tool: tool.to_owned(),
            revision: 1,
            preview: preview.clone(),
            digest: approval::digest(&preview.payload)?,
            risks: approval::risks(&preview.account, &preview.recipients, &known, &run.state.provenance),
            decider: run.person,
            decider_name: person.display_name().to_owned(),
            zone: run.state.principal.zone.clone(),
            status: approval::Status::Pending,
            decided_at: None,
            expires_at: now + self.core.settings.approval_expires_after,
            delivery: self.core.id(),
            effect: None,
        };
        approval::supersede(conn, tenant, &approval, now).await?;
        self.ask_there(conn, approval.delivery, &approval::card(&approval), now).await?;
        approval::sql::insert(conn, tenant, &approval, now).await?;
        let work = Work::ExpireApproval { approval: id };
        jobs::enqueue(conn, tenant, id.0, &work, approval.expires_at, now).await?;
        let detail = json!({ "tool": tool, "revision": approval.revision });
        let by = Some(run.person);
        Ok(audit::write(conn, tenant, by, "approval.asked", id.0, Some(&approval.digest), &detail, now)
            .await?)
    }

    async fn question(
        &self,
        conn: &mut PgConnection,
        id: QuestionId,
        call_id: &str,
        name: &str,
        choices: &[crate::tool::Choice],
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let tenant = self.claim.tenant;
        let new = question::sql::Question {
            id,
            conversation: self.run.conversation,
            run: self.run.id,
            call_id: call_id.to_owned(),
            person: self.run.person,
            about: name.to_owned(),
            choices: choices.to_vec(),
            expires_at: now + TimeDelta::hours(24),
            delivery: self.core.id(),
        };
        let card = question::card(id, name, choices);
        self.ask_there(conn, new.delivery, &card, now).await?;
        question::sql::insert(conn, tenant, &new, now).await?;
        let work = Work::ExpireQuestion { question: id };
        Ok(jobs::enqueue(conn, tenant, id.0, &work, new.expires_at, now).await?)
    }

    /// A card that shows only what was said in the channel stands in the thread; one that shows anything of
    /// the person's mailbox goes to them alone.
    async fn ask_there(
        &self,
        conn: &mut PgConnection,
        id: DeliveryId,
        card: &Card,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        match self.run.state.audience {
            Audience::Channel => self.send(conn, id, card, None, Audience::Channel, now).await,
            Audience::Person(_) => {
                let line = format!("Asked {} privately.", self.name());
                self.privately(conn, id, card, &line, now).await
            }
        }
    }

    fn name(&self) -> &str {
        &self.run.state.principal.name
    }
}

/// Ends a job that has nothing to do any more.
pub(super) async fn drop_job(core: &Core, claim: &Claim) -> Result<(), WorkError> {
    let mut tx = core.pool.begin().await?;
    jobs::hold(&mut tx, claim).await?;
    jobs::finish(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}
