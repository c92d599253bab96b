//! "yes" typed where a request waits. It counts as the press where it can mean one thing only, by rule and
//! without a model; and never where text from outside was in view, which may have been written to get it.

use sqlx::PgConnection;

use super::anew::{self, forbidden};
use super::card::{escape, line, own_line};
use super::decide::{Decided, decided, redraw, tell};
use super::second::Role;
use super::sql::{Within, pending};
use super::{Approval, Decision, remind};
use crate::chat::Standing;
use crate::clock::Timestamp;
use crate::delivery;
use crate::ids::{ConversationId, DeliveryId, PersonId, TenantId};
use crate::jobs::Verdict;
use crate::nod::Core;
use crate::people;

/// What counts as a yes: these words and nothing beside them.
const YES: [&str; 14] = [
    "yes",
    "yes please",
    "yes, please",
    "yep",
    "approve",
    "approved",
    "approve it",
    "go ahead",
    "ja",
    "ja bitte",
    "ja, bitte",
    "oui",
    "sí",
    "sim",
];

/// What a typed yes did.
#[derive(Debug, Default)]
pub(crate) struct Yes {
    /// What Nod says to it; `None` where it is an ordinary message.
    pub(crate) answer: Option<String>,
    /// The card of what was approved by it.
    card: Option<DeliveryId>,
}

fn is_yes(text: &str) -> bool {
    let said = text.trim().trim_end_matches(['!', '.']).trim_end().to_lowercase();
    YES.contains(&said.as_str())
}

/// Takes what somebody typed as a yes, where it is one. The caller shows the card afterwards, by [`shown`]: the
/// conversation's lane is locked before the channel's.
#[expect(clippy::too_many_arguments, reason = "who said what, where and when")]
pub(crate) async fn yes(
    core: &Core,
    conn: &mut PgConnection,
    tenant: TenantId,
    by: PersonId,
    conversation: ConversationId,
    shared: bool,
    text: &str,
    at: Timestamp,
    now: Timestamp,
) -> sqlx::Result<Yes> {
    if !is_yes(text) || !welcome(core, conn, tenant, by, conversation).await? {
        return Ok(Yes::default());
    }
    let mut waiting = pending(conn, tenant, by, Within::Conversation(conversation)).await?;
    waiting.retain(|approval| approval.expires_at > now);
    let openly = match shared {
        true => pending(conn, tenant, by, Within::OpenlyIn(conversation)).await?,
        false => waiting.clone(),
    };
    let here = |approval: &Approval| openly.iter().any(|open| open.id == approval.id);
    let said = |answer: String| Ok(Yes { answer: Some(answer), card: None });
    match &waiting[..] {
        [] if !shared && asked_second(conn, tenant, by).await? => said(TWO.to_owned()),
        [] => Ok(Yes::default()),
        // Said before the card stood there as it is now, it was said to something else.
        [one] if !super::sql::stands(conn, tenant, one.id, at).await? => Ok(Yes::default()),
        [one] if !here(one) => said(ELSEWHERE.to_owned()),
        [one] if one.second.is_some() => said(TWO.to_owned()),
        [one] if one.outside => said(OUTSIDE.to_owned()),
        [one] if anew::wants_two(core, conn, tenant, one).await? => said(TWO.to_owned()),
        [one] => {
            let decision = Decision { id: one.id, revision: one.revision, by, approve: true, reason: None };
            let answer = match decided(core, conn, tenant, one, &decision, now).await? {
                // Somebody may have been earlier by this much: then it is an ordinary message.
                Decided::No => return Ok(Yes::default()),
                Decided::Nobody(why) => return said(why),
                Decided::Never(why) => {
                    let answer = forbidden(&why);
                    tell(conn, tenant, one, Verdict::Never(why), now).await?;
                    answer
                }
                Decided::Yes(_) => took(one),
            };
            Ok(Yes { answer: Some(answer), card: Some(one.delivery) })
        }
        several => said(which(several.iter().filter(|a| here(a)), several.len())),
    }
}

/// Whether the platform counts whoever says it among the organisation's people still.
async fn welcome(
    core: &Core,
    conn: &mut PgConnection,
    tenant: TenantId,
    by: PersonId,
    conversation: ConversationId,
) -> sqlx::Result<bool> {
    let venue = delivery::sql::venue(conn, tenant, conversation).await?;
    let person = people::sql::load_there(conn, tenant, by, &venue.platform, &venue.workspace).await?;
    let standing = person.map(|person| person.standing);
    Ok(standing.is_some_and(|there| there == Standing::Unknown || core.settings.welcomes(there)))
}

/// Shows the card of what was approved by a typed yes.
pub(crate) async fn shown(
    conn: &mut PgConnection,
    tenant: TenantId,
    yes: &Yes,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(card) = yes.card else { return Ok(()) };
    redraw(conn, tenant, card, now).await?;
    remind::over(conn, tenant, card, now).await
}

/// Whether somebody is asked in their direct line as the second person.
async fn asked_second(conn: &mut PgConnection, tenant: TenantId, by: PersonId) -> sqlx::Result<bool> {
    let waiting = pending(conn, tenant, by, Within::Everywhere).await?;
    Ok(waiting.iter().any(|approval| approval.role(by) == Role::Approver))
}

const TWO: &str = "A typed yes does not count where two people must decide. Nothing was done: please press the button \
     on the card.";
const OUTSIDE: &str = "A typed yes does not count for this one, since text from outside was in view when it was \
     prepared. Nothing was done: please press the button on its card.";
const ELSEWHERE: &str = "I asked you privately, so a yes here does not count. Nothing was done: please press the button on the card there.";

fn took(approval: &Approval) -> String {
    let undo = match approval.undo.num_seconds() {
        0 => String::new(),
        seconds => format!(" [Undo] on its card takes it back for {seconds} s."),
    };
    format!("I took your yes for this: {}.{undo}", escape(&line(approval)))
}

fn which<'a>(here: impl Iterator<Item = &'a Approval>, count: usize) -> String {
    let lines: Vec<String> = here.map(|approval| format!("- {}", escape(&own_line(approval)))).collect();
    let private = match count - lines.len() {
        0 => String::new(),
        more => format!("\n- {more} more that I asked you about privately"),
    };
    format!(
        "{count} requests wait for you here, and a yes could mean any of them. Nothing was done: please press the \
         button that you mean.\n\n{}{private}",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bare_yes_is_one() {
        for yes in ["yes", " Yes! ", "YES.", "yes please", "Ja", "approve", "Go ahead!"] {
            assert!(is_yes(yes), "{yes}");
        }
        for no in ["", "yes?", "yes, but to Cho", "no", "yesterday", "send it", "yes yes yes", "ok"] {
            assert!(!is_yes(no), "{no}");
        }
    }
}
