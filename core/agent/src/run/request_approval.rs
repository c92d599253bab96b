//! Stores the approval requests of a step: each call is a request of its own, but several of one turn share a card if
//! it shows all of them in full.

use serde_json::json;
use sqlx::PgConnection;

use super::commit::Commit;
use crate::graph::NodeOutput;
use nod_contract::card::Card;
use nod_contract::clock::Timestamp;
use nod_contract::digest::digest;
use nod_people::people;
use nod_requests::approval::{self, AccountOwner, Approval};
use nod_requests::effect;
use nod_requests::policy::Terms;
use nod_requests::work::RequestJob;
use nod_store::audit;
use nod_store::jobs::{WorkError, sql as jobs};

impl Commit<'_> {
    /// Stores and posts all approval requests of this step.
    pub(super) async fn request_approvals(
        &self,
        conn: &mut PgConnection,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let tenant = self.claim.tenant;
        let mut asked = Vec::new();
        for emit in &self.outputs {
            if let NodeOutput::ApprovalRequest { terms, .. } = emit {
                asked.push((self.insert_approval(conn, emit, now).await?, terms.clone()));
            }
        }
        let is_private = self.is_seen_only_by_owner();
        let mut earlier_waits = false;
        for (approval, _) in &mut asked {
            earlier_waits |= approval::supersede(self.core, conn, tenant, approval, is_private, now).await?;
        }
        if earlier_waits {
            for (approval, _) in &mut asked {
                approval.risks.extend(approval::waiting_line(conn, tenant, approval, is_private).await?);
            }
        }
        let adapter = self.core.adapters.get(&self.venue.platform);
        let called = self.mentioned_user(conn, self.run.state.audience).await?;
        let fits = |card: &Card| {
            adapter.is_none_or(|adapter| {
                adapter.fits_in_one_message(&card.clone().with_mention(called.as_deref()))
            })
        };
        for cards in group_into_cards(asked, fits) {
            let all: Vec<Approval> = cards.iter().map(|(approval, _)| approval.clone()).collect();
            let Some(first) = all.first() else { continue };
            self.enqueue_request_card(conn, first.delivery, &approval::card(&all), now).await?;
            for (approval, terms) in &cards {
                approval::sql::insert(conn, tenant, approval, now).await?;
                self.plan(conn, approval, terms, now).await?;
            }
        }
        Ok(())
    }

    async fn insert_approval(
        &self,
        conn: &mut PgConnection,
        emit: &NodeOutput,
        now: Timestamp,
    ) -> Result<Approval, WorkError> {
        let NodeOutput::ApprovalRequest { approval: id, call_id, tool, preview, terms } = emit else {
            return Err("this asks for nothing".into());
        };
        let (tenant, run) = (self.claim.tenant, &self.run);
        let known = effect::sql::find_known_recipients(conn, tenant, run.person, &preview.recipients).await?;
        let person = people::sql::load(conn, tenant, run.person).await?.ok_or("no such person")?;
        let owner = AccountOwner {
            person: run.person,
            account: &preview.account,
            platform: &self.venue.platform,
            workspace: &self.venue.workspace,
        };
        // If no co-approver is left since the gate looked, the owner is notified when they approve.
        let others = approval::find_co_approvers(conn, &self.core.adapters, tenant, terms, &owner).await?;
        let mut preview = (**preview).clone();
        if !self.is_seen_only_by_owner() {
            preview.never_written_to.clear();
        }
        // Whom the person had Nod write to before is no stranger whom only a text brought up.
        if !known.is_empty() {
            preview.asked_by = None;
        }
        let called = person.display_name();
        let guests =
            approval::guests::add_guest_times(conn, tenant, &mut preview, run.person, called).await?;
        let private = if self.is_seen_only_by_owner() { preview.private_risks.clone() } else { Vec::new() };
        let minor = [guests, private].concat();
        Ok(Approval {
            id: *id,
            conversation: run.conversation,
            run: run.id,
            call_id: call_id.clone(),
            tool: (*tool).to_owned(),
            revision: 1,
            digest: digest(&preview.payload)?,
            risks: approval::risks(&preview, &known, minor, &run.state.provenance),
            sources: run.state.provenance.sources(),
            preview,
            decider: run.person,
            decider_name: person.display_name().to_owned(),
            zone: run.state.principal.zone.clone(),
            status: approval::Status::Pending,
            decided_at: None,
            decided_by: None,
            co_approver_list: terms.co_approvers().map(|list| list.name.clone()),
            co_approvers: others.unwrap_or_default(),
            owner_approved_at: None,
            reason: None,
            expires_at: now + terms.expire_after,
            delivery: self.core.id(),
            undo_window: terms.undo_window,
            untrusted_in_view: run.state.provenance.is_untrusted(),
            reminder: None,
            selected: true,
            retry_of: None,
            original_done: false,
            was_retried: false,
            effect: None,
        })
    }

    /// Schedules the reminder and the expiry, and writes the audit entry.
    async fn plan(
        &self,
        conn: &mut PgConnection,
        approval: &Approval,
        terms: &Terms,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let (tenant, id) = (self.claim.tenant, approval.id);
        approval::plan_reminder(conn, tenant, id, terms, now).await?;
        let work = RequestJob::ExpireApproval { approval: id };
        jobs::enqueue(conn, tenant, id.0, &work, approval.expires_at, now).await?;
        let detail = json!({ "tool": approval.tool, "revision": approval.revision });
        let (by, digest) = (Some(self.run.person), Some(approval.digest.as_str()));
        Ok(audit::insert_entry(conn, tenant, by, "approval.requested", id.0, digest, &detail, now).await?)
    }
}

/// Puts all requests on one card if it shows them in full, otherwise each on its own. If one of them needs a
/// co-approver, each gets its own card, because the co-approver must see nothing else. What outside text asked for
/// stands alone in any case, so that no press about another request decides it.
fn group_into_cards(
    asked: Vec<(Approval, Terms)>,
    shows: impl Fn(&Card) -> bool,
) -> Vec<Vec<(Approval, Terms)>> {
    let (stopped, mut asked): (Vec<_>, Vec<_>) =
        asked.into_iter().partition(|(approval, _)| approval.preview.asked_by.is_some());
    let stopped = stopped.into_iter().map(|one| vec![one]);
    let own: Vec<_> = asked.iter().map(|(approval, _)| approval.delivery).collect();
    let alone = asked.iter().any(|(approval, _)| approval.co_approver_list.is_some());
    if let [first, _, ..] = own[..]
        && !alone
    {
        asked.iter_mut().for_each(|(approval, _)| approval.delivery = first);
        let all: Vec<Approval> = asked.iter().map(|(approval, _)| approval.clone()).collect();
        if approval::fits_on_one_card(&all, shows) {
            return std::iter::once(asked).chain(stopped).collect();
        }
        asked.iter_mut().zip(own).for_each(|((approval, _), own)| approval.delivery = own);
    }
    asked.into_iter().map(|one| vec![one]).chain(stopped).collect()
}
