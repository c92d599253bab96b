//! The cards and sentences for requests that two people must approve.

use super::{CoApprover, Role};
use crate::approval::card::{ASK_AGAIN, clock, deadline, escape, line, name, notice, single};
use crate::approval::{Approval, Status, retry_unknown, risks};
use nod_contract::card::{Action, Block, Button, Card, OnClick, Style, reconnect};
use nod_contract::privacy::Provenance;
use nod_contract::tool::Preview;
use nod_when::when::local_time;

/// The maximum number of names that are listed.
const MAX_LISTED_NAMES: usize = 5;

/// Returns "Bo Lind (legal)", or "one of legal (Bo Lind, Cho Park)".
pub fn co_approvers_label(approval: &Approval) -> String {
    let list = approval.co_approver_list.as_deref().unwrap_or_default();
    match &approval.co_approvers[..] {
        [one] => format!("{} ({list})", one.name),
        several => format!("one of {list} ({})", names(several)),
    }
}

/// Returns "Bo Lind, Cho Park".
pub fn names(all: &[CoApprover]) -> String {
    let told: Vec<&str> = all.iter().take(MAX_LISTED_NAMES).map(|one| one.name.as_str()).collect();
    match all.len() - told.len() {
        0 => told.join(", "),
        more => format!("{} and {more} more", told.join(", ")),
    }
}

/// Returns the note on the owner's card: who must approve after them, and what those will read.
pub fn co_approval_note(approval: &Approval) -> String {
    let all = if approval.co_approvers.len() == 1 { "" } else { "each of " };
    let them = match &approval.co_approvers[..] {
        [one] => one.name.clone(),
        _ => "them".to_owned(),
    };
    format!(
        "{} approves first, then {}. After that, {all}{them} will see all of this.",
        approval.decider_name,
        co_approvers_label(approval)
    )
}

/// Returns "Approved by Ana Silva 10:32 WET", about the owner.
pub fn first_of(approval: &Approval) -> String {
    let at = approval.owner_approved_at.map_or_else(String::new, |at| clock(at, &approval.zone));
    format!("Approved by {} {at}", name(&approval.decider_name))
}

/// Returns both approvals: "Approved by Ana Silva 10:32 WET and by Bo Lind 10:40 WET".
pub(crate) fn full_approval_line(approval: &Approval) -> String {
    let agreed = approval.co_approvers.iter().find_map(|one| Some((one, one.approved_at?)));
    let and = agreed.map_or_else(String::new, |(one, at)| {
        format!(" and {} {}", name(&one.name), clock(at, &approval.zone))
    });
    format!("{}{and}", first_of(approval))
}

/// Returns the status on the owner's card between the first approval and the second.
pub fn waiting_for_co_approver_line(approval: &Approval) -> String {
    format!("{} · waiting for {}", first_of(approval), escape(&co_approvers_label(approval)))
}

/// Says to which co-approvers it was shown.
pub fn shown_to_line(approval: &Approval) -> String {
    let asked: Vec<CoApprover> =
        approval.asked_co_approvers().into_iter().map(|(one, _)| one.clone()).collect();
    format!("Shown to {}. If you edit it, everyone is asked again.", names(&asked))
}

/// Renders a co-approver's card: the same request in their time zone, without what only the owner's mailbox shows and
/// without the owner's buttons.
pub fn card(approval: &Approval, reader: &CoApprover) -> Card {
    let seen = seen_by_another(approval, reader);
    let mut card = single(&seen, Role::CoApprover);
    card.notice = (seen.status == Status::Pending).then(|| notice(&reader.name, [&seen]));
    let theirs = |button: &Button| match &button.on_click {
        OnClick::Action(verb) => !matches!(verb.kind.as_str(), "recheck" | "send_again" | reconnect::VERB),
        OnClick::Link(_) | OnClick::Connect { .. } => false,
    };
    card.buttons.retain(theirs);
    card.body.retain(|block| !matches!(block, Block::Note(note) if note == ASK_AGAIN));
    card
}

/// Returns the request with only what a co-approver is allowed to see.
pub(crate) fn seen_by_another(approval: &Approval, reader: &CoApprover) -> Approval {
    let mut seen = Approval {
        zone: reader.zone.clone(),
        risks: public_risk_lines(approval),
        sources: Vec::new(),
        ..approval.clone()
    };
    seen.preview.display_limit = reader.display_limit;
    seen.preview.asked_by = None;
    seen.preview.task = None;
    seen
}

/// Returns the risk lines that follow from the request itself. To whom the owner wrote before, and whose mail they
/// read, is private.
fn public_risk_lines(approval: &Approval) -> Vec<String> {
    let preview = &approval.preview;
    // The line that it might happen twice comes first; it is about the request.
    let mut lines: Vec<String> = retry_unknown::duplicate_risk(approval).cloned().into_iter().collect();
    let public = Preview { never_written_to: Vec::new(), asked_by: None, ..preview.clone() };
    lines.extend(risks(&public, &[], Vec::new(), &Provenance::Trusted));
    if approval.untrusted_in_view {
        lines.push("Prepared after reading text from outside".to_owned());
    }
    lines
}

/// Adds the status and buttons of a co-approver's card while it waits for them.
pub fn add_decision_buttons(card: Card, approval: &Approval) -> Card {
    let verb = |verb| OnClick::Action(Action::on_revision(verb, approval.id, approval.revision));
    let list = approval.co_approver_list.as_deref().unwrap_or_default();
    card.with_block(Block::Markdown(format!(
        "{} · now it needs **you** ({})",
        first_of(approval),
        escape(list)
    )))
    .with_block(deadline("Two people have to approve this.", approval))
    .with_button(&approval.preview.labels.approve, Style::Primary, verb("approve"))
    .with_button("Deny", Style::Danger, verb("deny"))
}

/// The message if no co-approver on the list can be asked any longer.
pub(crate) fn no_co_approver_text(approval: &Approval) -> String {
    format!(
        "This needs a second person from {}, and I can't reach any of them. Nothing was done. An admin can \
         change the rules.",
        approval.co_approver_list.as_deref().unwrap_or_default()
    )
}

/// The message if a card on the co-approvers' platforms cannot show all of it.
pub(crate) fn too_long_for_card_text(readers: &[CoApprover]) -> String {
    format!(
        "This needs a second person, and it's too long to show {} on a card. It's still waiting for you: \
         edit it down, or deny it and ask for something shorter.",
        names(readers)
    )
}

/// Replaces a co-approver's card after the owner edited the request.
pub fn outdated_card(old: &Approval) -> Card {
    Card {
        body: vec![Block::Note(format!(
            "{} edited this after you were asked. If it's approved again, I'll show you the new version.",
            old.decider_name
        ))],
        ..Card::default()
    }
}

/// Renders the one reminder to a co-approver.
pub(crate) fn reminder_card(approval: &Approval, reader: &CoApprover, address: Option<String>) -> Card {
    let expires = local_time(approval.expires_at, &reader.zone);
    let line = format!(
        "{}, this is still waiting for you after {} approved it: {}, expires {expires}. Without an answer: \
         {}.",
        reader.name,
        approval.decider_name,
        line(approval),
        approval.preview.labels.not_done.to_lowercase()
    );
    let card = Card { body: vec![Block::Note(line)], ..Card::default() };
    match address {
        Some(address) => card.with_button("Go to the card", Style::Plain, OnClick::Link(address)),
        None => card,
    }
}

/// Replaces a co-approver's reminder once nothing waits for them.
pub fn closed_reminder_card(reader: &CoApprover) -> Card {
    let line = format!("I reminded {} about a request. Its card shows how it ended.", reader.name);
    Card { body: vec![Block::Note(line)], ..Card::default() }
}

/// Describes a request that expired.
pub fn nobody_answered_line(approval: &Approval) -> String {
    let list = approval.co_approver_list.as_deref().unwrap_or_default();
    match approval.owner_approved_at {
        None => "Expired without an answer.".to_owned(),
        Some(_) => format!("{}. Expired: no answer from {}.", first_of(approval), escape(list)),
    }
}
