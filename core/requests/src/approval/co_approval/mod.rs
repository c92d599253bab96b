//! Co-approvers: if the rules require a second person, the account's owner approves first, then one of those whom the
//! rules name. Each has their own card in a DM, posted only once the owner has approved exactly that.

mod card;
pub mod sql;

use serde::Deserialize;
use sqlx::PgConnection;

pub(super) use card::{
    add_decision_buttons, closed_reminder_card, co_approval_note, first_of, full_approval_line,
    no_co_approver_text, nobody_answered_line, outdated_card, reminder_card, seen_by_another, shown_to_line,
    too_long_for_card_text, waiting_for_co_approver_line,
};
pub use card::{card, co_approvers_label};

use super::Approval;
use crate::policy::{ApproverList, Terms};
use nod_contract::card::Card;
use nod_contract::chat::{Adapters, DeliveryTarget};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_people::context::Chat;
use nod_people::conversations::{self, ConversationLocation};
use nod_people::delivery::{self, NewDelivery};
use nod_people::people;

/// A person who can be the co-approver of a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CoApprover {
    pub person: PersonId,
    pub name: String,
    pub zone: String,
    /// The platform and workspace where they are asked.
    pub platform: String,
    pub workspace: String,
    /// How much of a request a card shows there.
    pub display_limit: usize,
    /// Their card, once they were asked about the current revision.
    pub delivery: Option<DeliveryId>,
    /// The message that reminded them.
    pub reminder: Option<DeliveryId>,
    /// When they approved.
    pub(crate) approved_at: Option<Timestamp>,
}

/// A person's role for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The owner of the account.
    Owner,
    /// Named by the rules as a co-approver.
    CoApprover,
    /// Neither.
    Other,
}

/// What a person's decision does to a pending request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionStep {
    /// The owner approves, and a co-approver must follow.
    OwnerApproved,
    /// It is approved.
    Approved,
    /// It is denied.
    Denied,
    /// It does not count, or not now.
    Ignored,
}

/// Returns what a decision does: by role, whether two are required, whether the owner has approved, and yes or no.
pub fn decision_step(role: Role, two: bool, first: bool, yes: bool) -> DecisionStep {
    match (role, two, first, yes) {
        (Role::Other, ..) | (Role::CoApprover, false, ..) | (Role::CoApprover, true, false, _) => {
            DecisionStep::Ignored
        }
        (Role::Owner, _, _, false) | (Role::CoApprover, true, true, false) => DecisionStep::Denied,
        (Role::Owner, false, _, true) | (Role::CoApprover, true, true, true) => DecisionStep::Approved,
        (Role::Owner, true, false, true) => DecisionStep::OwnerApproved,
        // The owner cannot be the co-approver too.
        (Role::Owner, true, true, true) => DecisionStep::Ignored,
    }
}

impl Approval {
    pub fn role(&self, by: PersonId) -> Role {
        match by {
            _ if self.decider == by => Role::Owner,
            _ if self.co_approvers.iter().any(|one| one.person == by) => Role::CoApprover,
            _ => Role::Other,
        }
    }

    /// Returns what this person's decision would do in the current state.
    pub fn decision_step(&self, by: PersonId, yes: bool) -> DecisionStep {
        decision_step(self.role(by), self.co_approver_list.is_some(), self.owner_approved_at.is_some(), yes)
    }

    /// Returns it with times in this person's zone.
    pub fn localized_for(&self, person: PersonId) -> Approval {
        let other = self.co_approvers.iter().find(|one| one.person == person && self.decider != person);
        let zone = other.map_or(&self.zone, |one| &one.zone).clone();
        Approval { zone, ..self.clone() }
    }

    /// Returns the card on which this person decides: a co-approver's own, or the one where it was requested.
    pub fn card_for_person(&self, person: PersonId) -> DeliveryId {
        let theirs = self.co_approvers.iter().find(|one| one.person == person).and_then(|one| one.delivery);
        theirs.filter(|_| self.decider != person).unwrap_or(self.delivery)
    }

    /// Returns the co-approvers who were asked, with their cards.
    pub fn asked_co_approvers(&self) -> Vec<(&CoApprover, DeliveryId)> {
        self.co_approvers.iter().filter_map(|one| Some((one, one.delivery?))).collect()
    }
}

/// Returns the possible co-approvers for an owner: members on the list who can be reached, never the owner under
/// another identity. They are asked where the request was made if they are there, otherwise elsewhere.
async fn list_candidates(
    conn: &mut PgConnection,
    adapters: &Adapters,
    tenant: TenantId,
    list: &ApproverList,
    owner: &sql::AccountOwner<'_>,
) -> sqlx::Result<Vec<CoApprover>> {
    let mut found = sql::list_candidates(conn, tenant, list, owner).await?;
    found.sort_by(|one, other| (&one.name, one.person).cmp(&(&other.name, other.person)));
    found.retain_mut(|one| {
        let adapter = adapters.get(&one.platform);
        one.display_limit = adapter.map_or(0, |adapter| adapter.display_limit());
        adapter.is_some()
    });
    Ok(found)
}

/// Returns the possible co-approvers on these terms; empty if only the owner decides. If one is required but none
/// exists, returns a sentence: then nothing is requested, as the owner's approval is never enough.
pub async fn find_co_approvers(
    conn: &mut PgConnection,
    adapters: &Adapters,
    tenant: TenantId,
    terms: &Terms,
    owner: &sql::AccountOwner<'_>,
) -> sqlx::Result<Result<Vec<CoApprover>, String>> {
    let Some(list) = terms.co_approvers() else { return Ok(Ok(Vec::new())) };
    let found = list_candidates(conn, adapters, tenant, list, owner).await?;
    Ok(if found.is_empty() { Err(no_candidate_text(list)) } else { Ok(found) })
}

fn no_candidate_text(list: &ApproverList) -> String {
    format!(
        "This needs a second person from {}, and I don't know any of them as a member of this workspace \
         other than you. An admin can change that.",
        list.name
    )
}

/// A co-approver to ask now, with their card.
pub(super) struct CoApprovalRequest {
    co_approver: CoApprover,
    target: DeliveryTarget,
    card: Card,
}

/// Returns whom to ask after the owner's approval: each co-approver who is still a member and whose card shows all of
/// it; a sentence if there is none.
pub(super) async fn plan_requests(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    now: Timestamp,
) -> sqlx::Result<Result<Vec<CoApprovalRequest>, String>> {
    let approval = &Approval { owner_approved_at: Some(now), ..approval.clone() };
    let (mut asking, mut unshown) = (Vec::new(), Vec::new());
    for one in approval.co_approvers.iter().cloned() {
        if !sql::is_still_member(conn, tenant, &one).await? {
            continue;
        }
        let user = people::sql::find_user_id(conn, tenant, one.person, &one.platform, &one.workspace).await?;
        let Some(user) = user else { continue };
        let card = card(approval, &one);
        // No user approves what they cannot see: if a platform shows less, only the others are asked.
        if core.adapters.get(&one.platform).is_some_and(|adapter| adapter.fits_in_one_message(&card)) {
            let target = DeliveryTarget::DirectMessage { workspace: one.workspace.clone(), user };
            asking.push(CoApprovalRequest { co_approver: one, target, card });
        } else {
            unshown.push(one);
        }
    }
    Ok(match (&asking[..], &unshown[..]) {
        ([], []) => Err(no_co_approver_text(approval)),
        ([], unshown) => Err(too_long_for_card_text(unshown)),
        _ => Ok(asking),
    })
}

/// Asks the co-approvers after the owner's approval.
pub(super) async fn send_requests(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    asking: Vec<CoApprovalRequest>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let venue = conversations::load_location(conn, tenant, approval.conversation).await?;
    for CoApprovalRequest { co_approver: one, target, card } in asking {
        let id = core.id();
        let there = ConversationLocation {
            platform: one.platform.clone(),
            workspace: one.workspace.clone(),
            ..venue.clone()
        };
        let new = NewDelivery {
            id,
            conversation: approval.conversation,
            run: Some(approval.run),
            platform: &one.platform,
            target: Some(&target),
            opens_thread: false,
            card: &card,
            only_for: Some(one.person),
        };
        delivery::enqueue(conn, tenant, &there, &new, now).await?;
        sql::mark_asked(conn, tenant, approval.id, one.person, id).await?;
    }
    Ok(())
}

/// Updates the co-approvers' cards after the owner's edit. They are asked again once the owner has approved that.
pub(super) async fn invalidate_requests(
    conn: &mut PgConnection,
    tenant: TenantId,
    old: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    for (one, delivery) in old.asked_co_approvers() {
        delivery::update_card(conn, tenant, delivery, &outdated_card(old), now).await?;
        if let Some(reminder) = one.reminder {
            delivery::update_card(conn, tenant, reminder, &closed_reminder_card(one), now).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Role × whether two are required × whether the owner has approved → what an approval and a denial do.
    #[test]
    fn decisions_count_once_and_only_from_named_people() {
        use DecisionStep::{Approved, Denied, Ignored, OwnerApproved};
        use Role::{CoApprover, Other, Owner};
        let table = [
            (Owner, false, false, Approved, Denied),
            (Owner, true, false, OwnerApproved, Denied),
            (Owner, true, true, Ignored, Denied),
            (CoApprover, true, false, Ignored, Ignored),
            (CoApprover, true, true, Approved, Denied),
            (CoApprover, false, false, Ignored, Ignored),
            (Other, false, false, Ignored, Ignored),
            (Other, true, false, Ignored, Ignored),
            (Other, true, true, Ignored, Ignored),
        ];
        for (role, two, first, yes, no) in table {
            let steps = (decision_step(role, two, first, true), decision_step(role, two, first, false));
            assert_eq!(steps, (yes, no), "{role:?}, two {two}, first {first}");
        }
    }
}
