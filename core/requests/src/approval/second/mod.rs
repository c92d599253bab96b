//! The second person: where the rules want one, the account's owner agrees first, and then one of those whom the
//! rules name. Each of them has a card of their own in their direct line, which is there only once the owner has
//! agreed to exactly that.

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

/// Somebody who may be the second person of a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Approver {
    pub person: PersonId,
    pub name: String,
    pub zone: String,
    /// Where they are asked.
    pub platform: String,
    pub workspace: String,
    /// How much of a request a card shows there.
    pub room: usize,
    /// Their card, once they were asked about the revision that stands.
    pub delivery: Option<DeliveryId>,
    /// The message that reminded them.
    pub reminder: Option<DeliveryId>,
    /// Their yes.
    pub(crate) agreed_at: Option<Timestamp>,
}

/// What somebody is to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is their account.
    Owner,
    /// The rules name them.
    Approver,
    /// Neither.
    Other,
}

/// What somebody's word does to a request that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The owner agrees, and one of the others has to follow.
    First,
    /// It is approved.
    Approved,
    /// It is denied.
    Denied,
    /// Their word does not count, or not now.
    Nothing,
}

/// Decides what a word does: whose it is, whether the rules want two, whether the owner has agreed, and yes or no.
pub fn step(role: Role, two: bool, first: bool, yes: bool) -> Step {
    match (role, two, first, yes) {
        (Role::Other, ..) | (Role::Approver, false, ..) | (Role::Approver, true, false, _) => Step::Nothing,
        (Role::Owner, _, _, false) | (Role::Approver, true, true, false) => Step::Denied,
        (Role::Owner, false, _, true) | (Role::Approver, true, true, true) => Step::Approved,
        (Role::Owner, true, false, true) => Step::First,
        // Nobody is two people.
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

    /// What this person's word would do as things stand.
    pub fn step(&self, by: PersonId, yes: bool) -> Step {
        step(self.role(by), self.second.is_some(), self.first_at.is_some(), yes)
    }

    /// With times as this person reads them.
    pub fn read_by(&self, person: PersonId) -> Approval {
        let other = self.approvers.iter().find(|one| one.person == person && self.decider != person);
        let zone = other.map_or(&self.zone, |one| &one.zone).clone();
        Approval { zone, ..self.clone() }
    }

    /// The card on which this person decides: the owner's own stands where it was asked.
    pub fn card_of(&self, person: PersonId) -> DeliveryId {
        let theirs = self.approvers.iter().find(|one| one.person == person).and_then(|one| one.delivery);
        theirs.filter(|_| self.decider != person).unwrap_or(self.delivery)
    }

    /// Whoever was asked as the second person, and still sees that card.
    pub fn asked(&self) -> Vec<(&Approver, DeliveryId)> {
        self.approvers.iter().filter_map(|one| Some((one, one.delivery?))).collect()
    }
}

/// Who may be the second person beside an owner: members whom the list names and who can be written to, never the
/// owner under whatever name. They are asked where the request stands if they are there, else where they are.
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

/// Who they are on these terms: nobody where the owner alone decides. A sentence where somebody is needed and there is
/// nobody: then nothing is asked, and the owner alone is never enough.
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

/// Somebody who is asked now, with their card.
pub(super) struct Asking {
    one: Approver,
    target: DeliveryTarget,
    card: Card,
}

/// Whom a yes of the owner's asks: each of the others who is still there, and is shown all of it. A sentence where that
/// is nobody.
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
        // Nobody approves what they cannot see: where their platform shows less, the others are asked.
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

/// The owner has agreed: these are asked.
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

/// The owner changed what the others were asked about: their cards say so, and they are asked anew once the owner
/// has agreed again.
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

    /// Whose word × whether two are needed × whether the owner has agreed → what a yes and a no do.
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
