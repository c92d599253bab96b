//! A card can be shown in more places than where it stands: from the list of what waits, on another platform. It changes
//! only where it stands, so whoever presses on a copy is told beside it what came of the press.

use sqlx::PgConnection;

use super::Arrival;
use crate::approval;
use crate::card::{Card, Verb};
use crate::chat::{Immediate, Inbound, Place, Target};
use crate::delivery::{self, NewDelivery};
use crate::ids::{ApprovalId, PersonId};

const TOLD_THERE: &str = "What becomes of it is told where it was asked.";

/// Tells it, where a verdict or a change was taken on a copy.
pub(super) async fn tell(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    verb: &Verb,
    place: &Place,
    person: PersonId,
    immediate: &Immediate,
) -> sqlx::Result<()> {
    let (core, tenant) = (arrival.core, arrival.tenant);
    let verdict = match verb.verb.as_str() {
        _ if *immediate != Immediate::Nothing => return Ok(()),
        "approve" => Some("Approved"),
        "deny" => Some("Denied"),
        "edit" => None,
        _ => return Ok(()),
    };
    let id = ApprovalId(verb.subject);
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    // A person's own page changes by itself.
    if place.channel.is_empty() || !approval::sql::stands_elsewhere(conn, tenant, id, platform, place).await?
    {
        return Ok(());
    }
    let Some(approval) = approval::sql::load(conn, tenant, id).await? else { return Ok(()) };
    let card = match verdict {
        Some(verdict) => Card::say(format!("{verdict}. {TOLD_THERE}")),
        None => match delivery::sql::card_for(conn, tenant, approval.delivery, person).await? {
            Some(card) if core.adapters.get(platform).is_some_and(|adapter| adapter.fits(&card)) => card,
            Some(_) => Card::say(format!("Saved. {TOLD_THERE}")),
            None => return Ok(()),
        },
    };
    let venue = delivery::sql::venue(conn, tenant, approval.conversation).await?;
    let target =
        Target::Whisper { workspace: workspace.clone(), place: place.clone(), user: author.user.clone() };
    let new = NewDelivery {
        id: core.id(),
        conversation: approval.conversation,
        run: None,
        platform,
        target: Some(&target),
        opens_thread: false,
        card: &card,
        only_for: Some(person),
    };
    delivery::send(conn, tenant, &venue, &new, arrival.now).await
}
