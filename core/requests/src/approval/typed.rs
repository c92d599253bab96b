//! A typed "yes" while a request is pending. It counts as a click if it can mean only one thing, by rule and without a
//! model; never if text from outside was in view, which might have been written to provoke it.

use sqlx::PgConnection;

use super::anew::{self, forbidden};
use super::card::{escape, line, own_line};
use super::decide::{Decided, decided, redraw, tell};
use super::second::Role;
use super::sql::{Within, pending};
use super::{Approval, Decision, remind};
use crate::context::Requests;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, TenantId};
use nod_people::delivery::{self, Venue};
use nod_people::people::{self, heard};
use nod_store::runs::Verdict;

/// The texts that count as an approval, with nothing else in the message.
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

/// A typed message, and where it was written.
#[derive(Debug)]
pub struct Word<'a> {
    pub by: PersonId,
    pub conversation: ConversationId,
    /// Whether other people read and write there too.
    pub shared: bool,
    /// Whether it mentions Nod.
    pub named: bool,
    /// The platform's id of the message that it replies to.
    pub answers: Option<&'a str>,
    pub text: &'a str,
    /// When it was written, by the platform's clock.
    pub at: Timestamp,
    /// Whether all earlier messages there have reached Nod, or their lookup is planned.
    pub all_known: bool,
}

/// The result of a typed approval.
#[derive(Debug, Default)]
pub struct Yes {
    /// Nod's reply; `None` if it is an ordinary message.
    pub answer: Option<String>,
    /// The card of the request that it approved.
    card: Option<DeliveryId>,
}

fn is_yes(text: &str) -> bool {
    let said = text.trim().trim_end_matches(['!', '.']).trim_end().to_lowercase();
    YES.contains(&said.as_str())
}

/// Applies a message if it is an approval. The caller updates the card afterwards with [`shown`]: the conversation's
/// lane is locked before the channel's.
pub async fn yes(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    word: &Word<'_>,
    now: Timestamp,
) -> sqlx::Result<Yes> {
    let Word { by, conversation, shared, .. } = *word;
    if !is_yes(word.text) {
        return Ok(Yes::default());
    }
    let venue = delivery::sql::venue(conn, tenant, conversation).await?;
    if !welcome(core, conn, tenant, by, &venue).await? {
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
        [one] => {
            // A message from before the current version of the card refers to something else.
            let Some(heard) = super::sql::heard(conn, tenant, one.id, by, word.at).await? else {
                return Ok(Yes::default());
            };
            let for_nod = match whom(word, &heard) {
                Whom::Another => return Ok(Yes::default()),
                Whom::Nod => true,
                Whom::Perhaps => false,
            };
            if !here(one) {
                return said(ELSEWHERE.to_owned());
            }
            if one.second.is_some() {
                return said(TWO.to_owned());
            }
            if one.outside {
                return said(OUTSIDE.to_owned());
            }
            if !for_nod && heard.others {
                return said(OTHERS.to_owned());
            }
            let (platform, workspace) = (&venue.platform, &venue.workspace);
            let clear =
                for_nod || word.all_known && heard::has_caught_up(conn, tenant, platform, workspace).await?;
            if !clear {
                return said(BEHIND.to_owned());
            }
            if anew::wants_two(core, conn, tenant, one).await? {
                return said(TWO.to_owned());
            }
            let decision = Decision { id: one.id, revision: one.revision, by, approve: true, reason: None };
            let answer = match decided(core, conn, tenant, one, &decision, now).await? {
                // Another decision was possibly a moment earlier; then this is an ordinary message.
                Decided::No => return Ok(Yes::default()),
                Decided::Nobody(why) => return said(why),
                Decided::Never(why) => {
                    let answer = forbidden(&why);
                    tell(conn, tenant, one, Verdict::ForbiddenByPolicy(why), now).await?;
                    answer
                }
                Decided::Yes(_) => took(one),
            };
            Ok(Yes { answer: Some(answer), card: Some(one.delivery) })
        }
        several => said(which(several.iter().filter(|a| here(a)), several.len())),
    }
}

/// What is known about the card to which an approval could refer.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The platform's id of its message.
    pub(super) card: String,
    /// Whether another person has written there since the card's current version was posted.
    pub(super) others: bool,
}

/// Whom an approval addresses.
#[derive(Debug, PartialEq, Eq)]
enum Whom {
    /// Another person, because of the message that it replies to.
    Another,
    Nod,
    /// Nod, if no other person has written since the card's current version was posted.
    Perhaps,
}

fn whom(word: &Word<'_>, heard: &Heard) -> Whom {
    match word.answers {
        Some(message) if message != heard.card => Whom::Another,
        Some(_) => Whom::Nod,
        None if word.named || !word.shared => Whom::Nod,
        None => Whom::Perhaps,
    }
}

/// Returns whether the person is still admitted by their membership on this platform.
async fn welcome(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    by: PersonId,
    venue: &Venue,
) -> sqlx::Result<bool> {
    let person = people::sql::load_there(conn, tenant, by, &venue.platform, &venue.workspace).await?;
    let standing = person.map(|person| person.standing);
    Ok(standing.is_some_and(|there| core.welcome.admits(there)))
}

/// Updates the card of what a typed approval approved.
pub async fn shown(conn: &mut PgConnection, tenant: TenantId, yes: &Yes, now: Timestamp) -> sqlx::Result<()> {
    let Some(card) = yes.card else { return Ok(()) };
    redraw(conn, tenant, card, now).await?;
    remind::over(conn, tenant, card, now).await
}

/// Returns whether a request waits for this person as co-approver, in their DM.
async fn asked_second(conn: &mut PgConnection, tenant: TenantId, by: PersonId) -> sqlx::Result<bool> {
    let waiting = pending(conn, tenant, by, Within::Everywhere).await?;
    Ok(waiting.iter().any(|approval| approval.role(by) == Role::Approver))
}

const TWO: &str = "A typed yes does not count where two people must decide. Nothing was done: please press the button \
     on the card.";
const OUTSIDE: &str = "A typed yes does not count for this one, since text from outside was in view when it was \
     prepared. Nothing was done: please press the button on its card.";
const OTHERS: &str = "Somebody else has written here since I asked, so your yes may be for them. Nothing was done: please press the \
     button on the card, or write yes to me by name.";
const BEHIND: &str = "I may not have read yet all that was written here, so I cannot tell what your yes answers. Nothing was \
     done: please press the button on the card.";
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
    use uuid::Uuid;

    use super::*;

    #[test]
    fn for_whom_a_yes_is() {
        let heard = Heard { card: "card".to_owned(), others: true };
        let word = |shared, named, answers| Word {
            by: PersonId(Uuid::nil()),
            conversation: ConversationId(Uuid::nil()),
            shared,
            named,
            answers,
            text: "yes",
            at: Timestamp::default(),
            all_known: true,
        };
        for (shared, named, answers, expected) in [
            (false, false, None, Whom::Nod),
            (false, false, Some("card"), Whom::Nod),
            (false, false, Some("another"), Whom::Another),
            (true, true, None, Whom::Nod),
            (true, false, Some("card"), Whom::Nod),
            // A reply answers the message that it replies to, even if that is another of Nod's messages.
            (true, true, Some("another"), Whom::Another),
            (true, false, None, Whom::Perhaps),
        ] {
            assert_eq!(whom(&word(shared, named, answers), &heard), expected, "{shared} {named} {answers:?}");
        }
    }

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
