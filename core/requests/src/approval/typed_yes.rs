//! A typed "yes" while a request is pending. It counts as a click if it can mean only one thing, by rule and without a
//! model; never if text from outside was in view, which might have been written to provoke it.

use sqlx::PgConnection;

use super::card::{escape, line, line_without_untrusted_text};
use super::co_approval::Role;
use super::decide::{DecisionResult, apply_decision, notify_run, refresh_decided};
use super::revalidate::{self, forbidden_text};
use super::sql::{PendingFilter, list_pending};
use super::{Approval, Decision};
use crate::context::Requests;
use crate::question;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, TenantId};
use nod_contract::text::normalize_label;
use nod_people::conversations::{self, ConversationLocation};
use nod_people::people::{self, heard};
use nod_store::runs::{self, Verdict};

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
pub struct TypedYes {
    /// Nod's reply; `None` if it is an ordinary message.
    pub reply: Option<String>,
    /// The card of the request that it approved.
    card_delivery: Option<DeliveryId>,
}

/// Whether a text says no more than "yes".
#[must_use]
pub fn is_yes(text: &str) -> bool {
    YES.contains(&normalize_label(text).as_str())
}

/// Applies a message if it is an approval. The caller updates the card afterwards with [`refresh_approved_card`]: the conversation's
/// lane is locked before the channel's.
pub async fn yes(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    word: &Word<'_>,
    now: Timestamp,
) -> sqlx::Result<TypedYes> {
    let Word { by, conversation, shared, .. } = *word;
    if !is_yes(word.text) {
        return Ok(TypedYes::default());
    }
    let venue = conversations::load_location(conn, tenant, conversation).await?;
    if !is_allowed_user(core, conn, tenant, by, &venue).await? {
        return Ok(TypedYes::default());
    }
    let mut waiting = list_pending(conn, tenant, by, PendingFilter::Conversation(conversation)).await?;
    waiting.retain(|approval| approval.expires_at > now);
    let openly = match shared {
        true => list_pending(conn, tenant, by, PendingFilter::OpenlyIn(conversation)).await?,
        false => waiting.clone(),
    };
    let here = |approval: &Approval| openly.iter().any(|open| open.id == approval.id);
    let said = |answer: String| Ok(TypedYes { reply: Some(answer), card_delivery: None });
    match &waiting[..] {
        [] if !shared && is_asked_as_co_approver(conn, tenant, by).await? => {
            said(CO_APPROVAL_NEEDS_BUTTON.to_owned())
        }
        [] => Ok(TypedYes::default()),
        [one] => {
            // A message from before the current version of the card refers to something else.
            let Some(heard) = super::sql::load_referenced_card(conn, tenant, one.id, by, word.at).await?
            else {
                return Ok(TypedYes::default());
            };
            let for_nod = match addressee(word, &heard) {
                Addressee::Another => return Ok(TypedYes::default()),
                Addressee::Nod => true,
                Addressee::Perhaps => false,
            };
            if !here(one) {
                return said(ASKED_PRIVATELY.to_owned());
            }
            if word.answers.is_none() && runs::is_step(conn, tenant, one.run).await? {
                return said(TASK_NEEDS_BUTTON.to_owned());
            }
            if word.answers.is_none() && is_answer_too(conn, tenant, word, now).await? {
                return said(QUESTION_NEEDS_BUTTON.to_owned());
            }
            if one.co_approver_list.is_some() {
                return said(CO_APPROVAL_NEEDS_BUTTON.to_owned());
            }
            if one.untrusted_in_view {
                return said(UNTRUSTED_NEEDS_BUTTON.to_owned());
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
            if revalidate::is_co_approval_required(core, conn, tenant, one).await? {
                return said(CO_APPROVAL_NEEDS_BUTTON.to_owned());
            }
            let decision = Decision { id: one.id, revision: one.revision, by, approve: true, reason: None };
            let answer = match apply_decision(core, conn, tenant, one, &decision, now).await? {
                // Another decision was possibly a moment earlier; then this is an ordinary message.
                DecisionResult::Rejected => return Ok(TypedYes::default()),
                DecisionResult::NoCoApprover(why) => return said(why),
                DecisionResult::Forbidden(why) => {
                    let answer = forbidden_text(&why);
                    notify_run(core, conn, tenant, one, Verdict::ForbiddenByPolicy(why), now).await?;
                    answer
                }
                DecisionResult::Accepted(_) => accepted_text(one),
            };
            Ok(TypedYes { reply: Some(answer), card_delivery: Some(one.delivery) })
        }
        several => said(ambiguous_text(several.iter().filter(|a| here(a)), several.len())),
    }
}

/// Returns whether a "yes" is also a button of a question that a task asks.
async fn is_answer_too(
    conn: &mut PgConnection,
    tenant: TenantId,
    word: &Word<'_>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let place = (word.conversation, word.shared);
    let labels = question::sql::list_likely_answers(conn, tenant, word.by, place, now).await?;
    Ok(labels.iter().any(|label| is_yes(label)))
}

/// What is known about the card to which an approval could refer.
#[derive(Debug, Default)]
pub(super) struct ReferencedCard {
    /// The platform's id of its message.
    pub(super) card: String,
    /// Whether another person has written there since the card's current version was posted.
    pub(super) others: bool,
}

/// Whom an approval addresses.
#[derive(Debug, PartialEq, Eq)]
enum Addressee {
    /// Another person, because of the message that it replies to.
    Another,
    Nod,
    /// Nod, if no other person has written since the card's current version was posted.
    Perhaps,
}

fn addressee(word: &Word<'_>, heard: &ReferencedCard) -> Addressee {
    match word.answers {
        Some(message) if message != heard.card => Addressee::Another,
        Some(_) => Addressee::Nod,
        None if word.named || !word.shared => Addressee::Nod,
        None => Addressee::Perhaps,
    }
}

/// Returns whether the person is still admitted by their membership on this platform.
async fn is_allowed_user(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    by: PersonId,
    venue: &ConversationLocation,
) -> sqlx::Result<bool> {
    let person =
        people::sql::load_with_membership(conn, tenant, by, &venue.platform, &venue.workspace).await?;
    let standing = person.map(|person| person.membership);
    Ok(standing.is_some_and(|there| core.welcome.admits(there)))
}

/// Updates the card of what a typed approval approved.
pub async fn refresh_approved_card(
    conn: &mut PgConnection,
    tenant: TenantId,
    yes: &TypedYes,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(card) = yes.card_delivery else { return Ok(()) };
    refresh_decided(conn, tenant, card, now).await
}

/// Returns whether a request waits for this person as co-approver, in their DM.
async fn is_asked_as_co_approver(
    conn: &mut PgConnection,
    tenant: TenantId,
    by: PersonId,
) -> sqlx::Result<bool> {
    let waiting = list_pending(conn, tenant, by, PendingFilter::Everywhere).await?;
    Ok(waiting.iter().any(|approval| approval.role(by) == Role::CoApprover))
}

const CO_APPROVAL_NEEDS_BUTTON: &str =
    "Two people have to approve this, so please use the button on the card.";
const UNTRUSTED_NEEDS_BUTTON: &str =
    "I read text from outside before preparing this, so please use the button on its card.";
const TASK_NEEDS_BUTTON: &str = "A task of yours asked for a nod here, so I can't tell what your yes is for. If it is for \
    the task, please use the button on its card; if it is for something else, say it in a few words.";
const QUESTION_NEEDS_BUTTON: &str =
    "A task of yours asks something too, and your yes may be for that. Please use the buttons.";
const OTHERS: &str = "Someone else has written here since I asked, so your yes may be for them. Please use the \
    button on the card, or write yes to me by name.";
const BEHIND: &str = "I may not have read everything here yet, so I can't tell what your yes answers. Please use \
    the button on the card.";
const ASKED_PRIVATELY: &str = "I asked you privately, so please approve it on the card there.";

fn accepted_text(approval: &Approval) -> String {
    let undo = match approval.undo_window.num_seconds() {
        0 => String::new(),
        seconds => format!(" You have {seconds} s to undo it on its card."),
    };
    format!("Approved: {}.{undo}", escape(&line(approval)))
}

fn ambiguous_text<'a>(here: impl Iterator<Item = &'a Approval>, count: usize) -> String {
    let lines: Vec<String> =
        here.map(|approval| format!("- {}", escape(&line_without_untrusted_text(approval)))).collect();
    let private = match count - lines.len() {
        0 => String::new(),
        more => format!("\n- {more} more that I asked you about privately"),
    };
    format!(
        "{count} requests are waiting for you here. Which one do you mean? Please use the button on its \
         card.\n\n{}{private}",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn for_whom_a_yes_is() {
        let heard = ReferencedCard { card: "card".to_owned(), others: true };
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
            (false, false, None, Addressee::Nod),
            (false, false, Some("card"), Addressee::Nod),
            (false, false, Some("another"), Addressee::Another),
            (true, true, None, Addressee::Nod),
            (true, false, Some("card"), Addressee::Nod),
            // A reply answers the message that it replies to, even if that is another of Nod's messages.
            (true, true, Some("another"), Addressee::Another),
            (true, false, None, Addressee::Perhaps),
        ] {
            assert_eq!(
                addressee(&word(shared, named, answers), &heard),
                expected,
                "{shared} {named} {answers:?}"
            );
        }
    }

    #[test]
    fn only_the_listed_phrases_count_as_yes() {
        for yes in ["yes", " Yes! ", "YES.", "yes please", "Ja", "approve", "Go ahead!"] {
            assert!(is_yes(yes), "{yes}");
        }
        for no in ["", "yes?", "yes, but to Cho", "no", "yesterday", "send it", "yes yes yes", "ok"] {
            assert!(!is_yes(no), "{no}");
        }
    }
}
