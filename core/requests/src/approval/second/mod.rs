//! Co-approvers: if the rules require a second person, the account's owner approves first, then one of those whom the
//! rules name. Each has their own card in a DM, posted only once the owner has approved exactly that.

mod card;
pub mod sql;

use serde::Deserialize;
use sqlx::PgConnection;

pub use card::{card, others};
pub(super) use card::{
    changed, first_of, gone, last_of, nobody_left, note, reminder_of, seen_by, seen_by_another, too_much,
    unanswered, waiting, waits,
};

use super::Approval;
use crate::policy::{Approvers, Terms};
use nod_contract::card::Card;
use nod_contract::chat::{Adapters, DeliveryTarget};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_people::context::Chat;
use nod_people::delivery::{self, NewDelivery, Venue};
use nod_people::people;

/// A person who can be the co-approver of a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Approver {
    pub person: PersonId,
    pub name: String,
    pub zone: String,
    /// The platform and workspace where they are asked.
    pub platform: String,
    pub workspace: String,
    /// How much of a request a card shows there.
    pub room: usize,
    /// Their card, once they were asked about the current revision.
    pub delivery: Option<DeliveryId>,
    /// The message that reminded them.
    pub reminder: Option<DeliveryId>,
    /// When they approved.
    pub(crate) agreed_at: Option<Timestamp>,
}

/// A person's role for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The owner of the account.
    Owner,
    /// Named by the rules as a co-approver.
    Approver,
    /// Neither.
    Other,
}

/// What a person's decision does to a pending request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The owner approves, and a co-approver must follow.
    First,
    /// It is approved.
    Approved,
    /// It is denied.
    Denied,
    /// It does not count, or not now.
    Nothing,
}

/// Returns what a decision does: by role, whether two are required, whether the owner has approved, and yes or no.
pub fn step(role: Role, two: bool, first: bool, yes: bool) -> Step {
    match (role, two, first, yes) {
        (Role::Other, ..) | (Role::Approver, false, ..) | (Role::Approver, true, false, _) => Step::Nothing,
        (Role::Owner, _, _, false) | (Role::Approver, true, true, false) => Step::Denied,
        (Role::Owner, false, _, true) | (Role::Approver, true, true, true) => Step::Approved,
        (Role::Owner, true, false, true) => Step::First,
        // The owner cannot be the co-approver too.
        (Role::Owner, true, true, true) => Step::Nothing,
    }
}

impl Approval {
    pub fn role(&self, by: PersonId) -> Role {
        match by {
            _ if self.decider == by => Role::Owner,
            _ if self.approvers.iter().any(|one| one.person == by) => Role::Approver,
            _ => Role::Other,
        }
    }

    /// Returns what this person's decision would do in the current state.
    pub fn step(&self, by: PersonId, yes: bool) -> Step {
        step(self.role(by), self.second.is_some(), self.first_at.is_some(), yes)
    }

    /// Returns it with times in this person's zone.
    pub fn read_by(&self, person: PersonId) -> Approval {
        let other = self.approvers.iter().find(|one| one.person == person && self.decider != person);
        let zone = other.map_or(&self.zone, |one| &one.zone).clone();
        Approval { zone, ..self.clone() }
    }

    /// Returns the card on which this person decides: a co-approver's own, or the one where it was requested.
    pub fn card_of(&self, person: PersonId) -> DeliveryId {
        let theirs = self.approvers.iter().find(|one| one.person == person).and_then(|one| one.delivery);
        theirs.filter(|_| self.decider != person).unwrap_or(self.delivery)
    }

    /// Returns the co-approvers who were asked, with their cards.
    pub fn asked(&self) -> Vec<(&Approver, DeliveryId)> {
        self.approvers.iter().filter_map(|one| Some((one, one.delivery?))).collect()
    }
}

/// Returns the possible co-approvers for an owner: members on the list who can be reached, never the owner under
/// another identity. They are asked where the request was made if they are there, otherwise elsewhere.
async fn among(
    conn: &mut PgConnection,
    adapters: &Adapters,
    tenant: TenantId,
    list: &Approvers,
    owner: &sql::Owner<'_>,
) -> sqlx::Result<Vec<Approver>> {
    let mut found = sql::named(conn, tenant, list, owner).await?;
    found.sort_by(|one, other| (&one.name, one.person).cmp(&(&other.name, other.person)));
    found.retain_mut(|one| {
        let adapter = adapters.get(&one.platform);
        one.room = adapter.map_or(0, |adapter| adapter.display_limit());
        adapter.is_some()
    });
    Ok(found)
}

/// Returns the possible co-approvers on these terms; empty if only the owner decides. If one is required but none
/// exists, returns a sentence: then nothing is requested, as the owner's approval is never enough.
pub async fn wanted(
    conn: &mut PgConnection,
    adapters: &Adapters,
    tenant: TenantId,
    terms: &Terms,
    owner: &sql::Owner<'_>,
) -> sqlx::Result<Result<Vec<Approver>, String>> {
    let Some(list) = terms.second() else { return Ok(Ok(Vec::new())) };
    let found = among(conn, adapters, tenant, list, owner).await?;
    Ok(if found.is_empty() { Err(nobody(list)) } else { Ok(found) })
}

fn nobody(list: &Approvers) -> String {
    format!(
        "The rules here ask for a second person for this, somebody of {}, and I know no member of the workspace among \
         those who is surely somebody else than the owner of the account; an admin can change that.",
        list.name
    )
}

/// A co-approver to ask now, with their card.
pub(super) struct Asking {
    one: Approver,
    target: DeliveryTarget,
    card: Card,
}

/// Returns whom to ask after the owner's approval: each co-approver who is still a member and whose card shows all of
/// it; a sentence if there is none.
pub(super) async fn to_ask(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    now: Timestamp,
) -> sqlx::Result<Result<Vec<Asking>, String>> {
    let approval = &Approval { first_at: Some(now), ..approval.clone() };
    let (mut asking, mut unshown) = (Vec::new(), Vec::new());
    for one in approval.approvers.iter().cloned() {
        if !sql::belongs(conn, tenant, &one).await? {
            continue;
        }
        let user = people::sql::user_of(conn, tenant, one.person, &one.platform, &one.workspace).await?;
        let Some(user) = user else { continue };
        let card = card(approval, &one);
        // No user approves what they cannot see: if a platform shows less, only the others are asked.
        if core.adapters.get(&one.platform).is_some_and(|adapter| adapter.fits_in_one_message(&card)) {
            let target = DeliveryTarget::DirectMessage { workspace: one.workspace.clone(), user };
            asking.push(Asking { one, target, card });
        } else {
            unshown.push(one);
        }
    }
    Ok(match (&asking[..], &unshown[..]) {
        ([], []) => Err(nobody_left(approval)),
        ([], unshown) => Err(too_much(unshown)),
        _ => Ok(asking),
    })
}

/// Asks the co-approvers after the owner's approval.
pub(super) async fn ask(
    core: &Chat,
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    asking: Vec<Asking>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let venue = delivery::sql::venue(conn, tenant, approval.conversation).await?;
    for Asking { one, target, card } in asking {
        let id = core.id();
        let there =
            Venue { platform: one.platform.clone(), workspace: one.workspace.clone(), ..venue.clone() };
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
        delivery::send(conn, tenant, &there, &new, now).await?;
        sql::asked(conn, tenant, approval.id, one.person, id).await?;
    }
    Ok(())
}

/// Updates the co-approvers' cards after the owner's edit. They are asked again once the owner has approved that.
pub(super) async fn void(
    conn: &mut PgConnection,
    tenant: TenantId,
    old: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    for (one, delivery) in old.asked() {
        delivery::show(conn, tenant, delivery, &changed(old), now).await?;
        if let Some(reminder) = one.reminder {
            delivery::show(conn, tenant, reminder, &gone(one), now).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Role × whether two are required × whether the owner has approved → what an approval and a denial do.
    #[test]
    fn a_word_counts_once_and_only_from_whom_the_rules_name() {
        use Role::{Approver, Other, Owner};
        use Step::{Approved, Denied, First, Nothing};
        let table = [
            (Owner, false, false, Approved, Denied),
            (Owner, true, false, First, Denied),
            (Owner, true, true, Nothing, Denied),
            (Approver, true, false, Nothing, Nothing),
            (Approver, true, true, Approved, Denied),
            (Approver, false, false, Nothing, Nothing),
            (Other, false, false, Nothing, Nothing),
            (Other, true, false, Nothing, Nothing),
            (Other, true, true, Nothing, Nothing),
        ];
        for (role, two, first, yes, no) in table {
            let steps = (step(role, two, first, true), step(role, two, first, false));
            assert_eq!(steps, (yes, no), "{role:?}, two {two}, first {first}");
        }
    }
}
