//! The forms behind a card's buttons: edit, deny, show all. Opening one changes nothing.

use sqlx::PgConnection;

use super::card::literal;
use super::co_approval::{self, DecisionStep, Role};
use super::rejection::rejection_text;
use super::{Approval, pending_line, risks, sql};
use nod_contract::card::{Action, Block, Field, Form, FormFallback};
use nod_contract::chat::{ChannelRef, InteractionResponse};
use nod_contract::clock::Timestamp;
use nod_contract::hidden_chars;
use nod_contract::ids::{ApprovalId, PersonId, TenantId};
use nod_people::delivery;

/// The id of the reason's field.
const REASON: &str = "reason";
/// The longest reason, in characters; the card shows it.
pub(super) const MAX_REASON_CHARS: usize = 300;

/// Handles a click on [Edit] or [Deny]: opens the form if the user can decide and saw the current revision.
pub async fn open(
    conn: &mut PgConnection,
    tenant: TenantId,
    verb: &Action,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(approval) = sql::load(conn, tenant, ApprovalId(verb.subject)).await? else {
        return Ok(unknown_approval());
    };
    let does = approval.decision_step(by, false);
    let may = if verb.kind == "edit" { approval.decider == by } else { does == DecisionStep::Denied };
    if !may && verb.kind == "edit" && approval.role(by) == Role::CoApprover {
        return Ok(InteractionResponse::ephemeral(format!(
            "Only {} can edit this. You can deny it and say why.",
            approval.decider_name
        )));
    }
    if !may || !approval.is_pending(verb.revision(), now) {
        return Ok(InteractionResponse::ephemeral(rejection_text(&approval, by, verb.revision(), now)));
    }
    if verb.kind == "edit" && approval.preview.form.is_empty() {
        return Ok(InteractionResponse::ephemeral(
            "This one can't be edited. Deny it and ask me for another.",
        ));
    }
    Ok(InteractionResponse::Form(Box::new(if verb.kind == "edit" {
        edit_form(&approval)
    } else {
        deny_form(&approval)
    })))
}

/// Handles a click on [Show all]: shows the exact text only to this user, who must see the card or decide.
pub async fn show(
    conn: &mut PgConnection,
    tenant: TenantId,
    verb: &Action,
    by: PersonId,
    place: &ChannelRef,
) -> sqlx::Result<InteractionResponse> {
    let Some(approval) = sql::load(conn, tenant, ApprovalId(verb.subject)).await? else {
        return Ok(unknown_approval());
    };
    let asked = approval.asked_co_approvers().into_iter().map(|(one, _)| one).find(|one| one.person == by);
    let decides = approval.decider == by || asked.is_some();
    if !decides && !is_card_visible_to_all(conn, tenant, &approval, by, place).await? {
        return Ok(InteractionResponse::ephemeral("That's for someone else, or it's gone."));
    }
    if approval.revision != verb.revision() {
        return Ok(InteractionResponse::ephemeral(outdated_revision_text()));
    }
    let seen = match asked.filter(|_| approval.decider != by) {
        Some(other) => co_approval::seen_by_another(&approval, other),
        None => approval,
    };
    Ok(InteractionResponse::Form(Box::new(full_text_form(&seen, decides))))
}

/// Returns whether this person sees the card in that place.
pub(super) async fn is_card_visible_to_all(
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    by: PersonId,
    place: &ChannelRef,
) -> sqlx::Result<bool> {
    let card = delivery::sql::load(conn, tenant, approval.delivery).await?;
    Ok(card.is_some_and(|(card, _)| match card.only_for {
        Some(reader) => reader == by,
        None => card.posted_message.is_some_and(|at| at.is_in_channel(place)),
    }))
}

fn edit_form(approval: &Approval) -> Form {
    Form {
        title: format!("Edit this {}", approval.preview.labels.noun),
        verb: Action::on_revision("edit", approval.id, approval.revision),
        body: Vec::new(),
        fields: approval.preview.form.clone(),
        submit: "Save".to_owned(),
        fallback: FormFallback::ShowText("The form didn't open. Please press Edit again.".to_owned()),
    }
}

fn deny_form(approval: &Approval) -> Form {
    let reason = Field {
        id: REASON.to_owned(),
        label: "Reason".to_owned(),
        value: String::new(),
        multiline: false,
        max_chars: MAX_REASON_CHARS,
        optional: true,
        accepts_recipients: false,
    };
    let about = format!("{}.", pending_line(approval));
    Form {
        title: format!("Deny this {}", approval.preview.labels.noun),
        verb: Action::on_revision("deny", approval.id, approval.revision),
        body: vec![
            Block::Note(about),
            Block::Note("I'll read your reason, and the card will show it.".to_owned()),
        ],
        fields: vec![reason],
        submit: "Deny".to_owned(),
        // A user who clicked [Deny] wants it not to happen.
        fallback: FormFallback::Submit,
    }
}

fn full_text_form(approval: &Approval, decides: bool) -> Form {
    let preview = &approval.preview;
    let mut body = vec![Block::Fields(hidden_chars::fields(&preview.fields))];
    let below = preview.trailing_text.as_deref().filter(|_| decides);
    let text = match (preview.body.as_deref(), below) {
        (Some(words), Some(below)) if !words.trim().is_empty() => {
            Some(format!("{}\n\n{below}", words.trim_end()))
        }
        (words, below) => below.or(words).map(str::to_owned),
    };
    body.extend(text.as_deref().map(literal));
    if preview.trailing_text.is_some() && !decides {
        body.push(Block::Note(format!("Only {} can see the rest.", approval.decider_name)));
    }
    if !approval.risks.is_empty() {
        body.push(Block::Risks(hidden_chars::lines(&approval.risks)));
    }
    if !approval.sources.is_empty() {
        let whose = |source: &String| {
            let colleague = risks::has_colleagues_address(source, &preview.account);
            format!("{source}{}", if colleague { " (a colleague's address)" } else { "" })
        };
        let newest_first: Vec<String> = approval.sources.iter().rev().map(whose).collect();
        let read = hidden_chars::lines(&newest_first).join(", ");
        body.push(Block::Note(format!("Prepared after reading, latest first: {read}.")));
    }
    let outcome = approval.effect.as_ref().and_then(|effect| effect.outcome.as_ref()?.as_ref().ok());
    let message_id = outcome.and_then(|output| output.content["message_id"].as_str());
    let message_id = message_id.map(|id| format!(" Message-ID {id}.")).unwrap_or_default();
    body.push(Block::Note(format!(
        "Revision {}, SHA-256 {}.{message_id}",
        approval.revision, approval.digest
    )));
    Form {
        title: format!("Full {}", preview.labels.noun),
        verb: Action::on_revision("show_full_text", approval.id, approval.revision),
        body,
        fields: Vec::new(),
        submit: String::new(),
        fallback: FormFallback::ShowText("That didn't open. Please press Show all again.".to_owned()),
    }
}

/// Returns the reason from a submitted form; an error if it is too long for the card.
pub(super) fn reason(values: &std::collections::BTreeMap<String, String>) -> Result<Option<String>, String> {
    let words = values.get(REASON).map(String::as_str).unwrap_or_default();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = words.chars().count();
    if length > MAX_REASON_CHARS {
        return Err(too_long(length, MAX_REASON_CHARS));
    }
    Ok(Some(words).filter(|words| !words.is_empty()))
}

/// The field at which errors of a reason are shown.
pub(super) const REASON_FIELD: &str = REASON;

pub(super) fn too_long(length: usize, most: usize) -> String {
    let (length, most) = (nod_contract::text::group_digits(length), nod_contract::text::group_digits(most));
    format!("That's {length} characters, and the limit is {most}.")
}

pub(super) fn outdated_revision_text() -> String {
    "This was edited after you saw it. Please look at the card again before you decide.".to_owned()
}

pub(super) fn unknown_approval() -> InteractionResponse {
    InteractionResponse::ephemeral("I can't find that request any more. Nothing was done.")
}
