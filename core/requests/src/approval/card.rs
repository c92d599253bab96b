//! The card of an approval: what would happen before the decision, and the receipt after it, in the same message.

use super::co_approval::{self, Role};
use super::form::MAX_REASON_CHARS;
use super::headline::headline;
use super::{Approval, EffectState, Status, batch, display_limits, stopped};
use crate::busy::wait_sentence;
use nod_contract::card::reconnect::with_reconnect;
use nod_contract::card::{Action, Block, Card, Deadline, OnClick, Style, truncate};
use nod_contract::clock::Timestamp;
use nod_contract::hidden_chars::{self, show_hidden_chars};
use nod_contract::ids::PersonId;
use nod_contract::provider;
use nod_contract::text::{capitalize, group_digits};
use nod_contract::tool::{Preview, Summary, ToolError, ToolOutput};
use nod_when::when::{local_second, local_time};

/// The longest name in a receipt, in characters; a longer one was chosen to clutter it.
const MAX_NAME_CHARS: usize = 40;
/// The longest notification; phones show no more of one.
pub(super) const MAX_NOTICE_CHARS: usize = 200;
/// Shown to the requester of what expired and cannot be repeated unchanged.
pub(super) const ASK_AGAIN: &str = "Ask me again and I'll prepare a new one.";

/// Renders the card in its current state, with all requests on it.
#[must_use]
pub fn card(all: &[Approval]) -> Card {
    match all {
        [one] => single(one, Role::Owner),
        several => batch::card(several),
    }
}

/// Renders the card of one request, for this person's own page.
#[must_use]
pub fn card_for(approval: &Approval, reader: PersonId) -> Card {
    match approval.co_approvers.iter().find(|one| one.person == reader && approval.decider != reader) {
        Some(other) => co_approval::card(approval, other),
        None => single(approval, Role::Owner),
    }
}

/// Renders the card of one request, for its owner or a co-approver.
pub(super) fn single(approval: &Approval, reader: Role) -> Card {
    let card = Card::default().with_title(title(approval));
    if let Some(by) = stopped::asked_by(approval) {
        return stopped::card(card, approval, by);
    }
    let card = add_details(card, approval);
    let card = match approval.status {
        Status::Pending if reader == Role::CoApprover => co_approval::add_decision_buttons(card, approval),
        Status::Pending => add_decision_buttons(card, approval),
        _ => receipt(card, approval, MAX_REASON_CHARS),
    };
    with_show_all_button(card, approval)
}

/// Adds [Show all] if the card does not show everything.
pub(super) fn with_show_all_button(card: Card, approval: &Approval) -> Card {
    if !display_limits::has_hidden_text(&approval.preview, &approval.risks, &approval.sources) {
        return card;
    }
    let all = OnClick::Action(Action::on_revision("show_full_text", approval.id, approval.revision));
    card.with_button("Show all", Style::Plain, all)
}

/// Returns the first line: "Send this email?", and whether it is still what was prepared first.
pub(super) fn title(approval: &Approval) -> String {
    let edited = if approval.revision > 1 { " · edited" } else { "" };
    format!("{}{edited}", headline(approval))
}

/// Adds what would happen, exactly, and while it is pending the risk lines.
pub(super) fn add_details(card: Card, approval: &Approval) -> Card {
    let preview = &approval.preview;
    let mut card = card.with_block(Block::Fields(hidden_chars::fields(&preview.fields)));
    if preview.is_organisation_account {
        card = card.with_block(Block::Note(format!(
            "{} belongs to your organisation, not to {}.",
            preview.account, approval.decider_name
        )));
    }
    card = with_payload(card, preview, &approval.risks);
    if approval.status == Status::Pending {
        card = with_risks(card, &approval.risks);
    }
    card
}

/// Renders a request's content without its frame. Every platform can show it if [`display_limits::check_displayable`] accepts it.
#[must_use]
pub fn request(preview: &Preview, risks: &[String]) -> Card {
    with_risks(
        with_payload(
            Card::default().with_block(Block::Fields(hidden_chars::fields(&preview.fields))),
            preview,
            risks,
        ),
        risks,
    )
}

fn with_risks(card: Card, risks: &[String]) -> Card {
    match display_limits::risk_line(risks) {
        Some(line) => card.with_block(Block::Risks(hidden_chars::lines(&[line]))),
        None => card,
    }
}

/// Adds the body, or its beginning.
fn with_payload(mut card: Card, preview: &Preview, risks: &[String]) -> Card {
    match display_limits::excerpt(preview, risks) {
        None => card.body.extend(preview.body.as_deref().map(literal)),
        Some(beginning) => {
            let length = preview.body.as_ref().map_or(0, |body| body.chars().count());
            card = card.with_block(literal(beginning)).with_block(Block::Note(format!(
                "First {} of {} characters. Press Show all to read the rest.",
                group_digits(beginning.chars().count()),
                group_digits(length)
            )));
        }
    }
    card
}

/// Returns a block with the exact text, hidden characters included.
pub(super) fn literal(text: &str) -> Block {
    Block::Literal(show_hidden_chars(text).into_owned())
}

/// Says who decides.
pub(super) fn by_whom(approval: &Approval) -> String {
    format!("Only {} can approve this.", approval.decider_name)
}

/// Says which task asks, who decides, in these words, and until when.
pub(super) fn deadline(words: &str, approval: &Approval) -> Block {
    let task = approval.preview.task.as_ref().map(|task| format!("Asked by {task}. "));
    Block::Deadline(Deadline {
        words: format!("{}{words} Expires", task.unwrap_or_default()),
        at: approval.expires_at.timestamp(),
        text: local_time(approval.expires_at, &approval.zone),
    })
}

/// What a notification says to who decides: it is read on a phone, without the card.
pub(super) fn notice<'a>(reader: &str, waiting: impl IntoIterator<Item = &'a Approval>) -> String {
    let lines: Vec<String> = waiting.into_iter().map(line).collect();
    truncate(&format!("{reader}, please approve: {}", lines.join(", ")), MAX_NOTICE_CHARS)
}

fn add_decision_buttons(card: Card, approval: &Approval) -> Card {
    let verb = |verb| OnClick::Action(Action::on_revision(verb, approval.id, approval.revision));
    let mut card = match (&approval.co_approver_list, approval.owner_approved_at) {
        (None, _) => {
            let does = &approval.preview.labels.approve;
            card.with_notice(notice(&approval.decider_name, [approval]))
                .with_block(deadline(&by_whom(approval), approval))
                .with_button(does, Style::Primary, verb("approve"))
        }
        // This approval performs nothing yet.
        (Some(_), None) => card
            .with_notice(notice(&approval.decider_name, [approval]))
            .with_block(deadline(&co_approval::co_approval_note(approval), approval))
            .with_button("Approve", Style::Primary, verb("approve")),
        (Some(_), Some(_)) => card
            .with_block(Block::Markdown(co_approval::waiting_for_co_approver_line(approval)))
            .with_block(deadline(&co_approval::shown_to_line(approval), approval)),
    };
    if !approval.preview.form.is_empty() {
        card = card.with_button("Edit", Style::Plain, verb("edit"));
    }
    card.with_button("Deny", Style::Danger, verb("deny"))
}

/// Returns a name as a receipt shows it.
pub(super) fn name(name: &str) -> String {
    escape(&truncate(name, MAX_NAME_CHARS))
}

/// Adds the outcome; `room` limits the length of reasons, in characters.
pub(super) fn receipt(card: Card, approval: &Approval, room: usize) -> Card {
    let words = &approval.preview.labels;
    let at = |at: Option<Timestamp>| at.map_or_else(String::new, |at| clock(at, &approval.zone));
    let who = name(approval.decided_by.as_ref().unwrap_or(&approval.decider_name));
    let decided = at(approval.decided_at);
    // The owner's approval is shown before the outcome.
    let first = approval
        .owner_approved_at
        .map_or_else(String::new, |_| format!("{} → ", co_approval::first_of(approval)));
    let approved = match approval.co_approver_list {
        None => format!("Approved by {} {decided}", name(&approval.decider_name)),
        Some(_) => co_approval::full_approval_line(approval),
    };
    match (approval.status, &approval.effect) {
        (Status::Denied, _) => {
            let why = approval
                .reason
                .as_ref()
                .map_or_else(String::new, |why| format!(" ({})", escape(&truncate(why, room))));
            let said = format!("{first}Denied by {who} {decided}{why}. **{}**.", words.not_done);
            with_ask_again(card.with_block(Block::Markdown(said)), approval)
        }
        (Status::Expired, _) => lapsed(
            card.with_block(Block::Markdown(format!(
                "{} **{}**.",
                co_approval::nobody_answered_line(approval),
                words.not_done
            ))),
            approval,
        ),
        (Status::Superseded, _) if approval.original_done => card.with_block(Block::Markdown(format!(
            "The first one did go through. **{} again**.",
            words.not_done
        ))),
        (Status::Superseded, _) => card.with_block(Block::Markdown("Replaced by a newer card.".to_owned())),
        (Status::Withdrawn, _) if approval.reason.is_some() => card.with_block(Block::Markdown(format!(
            "{first}The rules here don't allow this: {}. **{}**.",
            escape(&truncate(approval.reason.as_deref().unwrap_or_default(), room)),
            words.not_done
        ))),
        (Status::Withdrawn, _) if approval.decided_by.is_some() => card.with_block(Block::Markdown(format!(
            "{first}Stopped by {who} {decided}. **{}**.",
            words.not_done
        ))),
        (Status::Withdrawn, _) => card.with_block(Block::Markdown(format!(
            "The message that asked for this was edited or deleted. **{}**.",
            words.not_done
        ))),
        (Status::Undone, _) => {
            let yes = match approval.co_approver_list {
                Some(_) => approved,
                None => format!("Approved by {who}"),
            };
            let said = format!("{yes} → Undone by {who} {decided}. **{}**.", words.not_done);
            with_ask_again(card.with_block(Block::Markdown(said)), approval)
        }
        (_, effect) => outcome(card, approval, &approved, effect.as_ref(), room),
    }
}

/// Adds [Ask again] for an expired request, or says how to get another.
fn lapsed(card: Card, approval: &Approval) -> Card {
    if !approval.can_be_asked_again() {
        return card.with_block(Block::Note(ASK_AGAIN.to_owned()));
    }
    with_ask_again(card, approval)
}

/// Adds [Ask again] for a request that was not performed and can be repeated.
fn with_ask_again(card: Card, approval: &Approval) -> Card {
    if !approval.can_be_asked_again() || approval.was_retried {
        return card;
    }
    card.with_button("Ask again", Style::Plain, OnClick::Action(Action::new("send_again", approval.id)))
}

fn outcome(
    card: Card,
    approval: &Approval,
    approved: &str,
    effect: Option<&EffectState>,
    room: usize,
) -> Card {
    let words = &approval.preview.labels;
    let Some(EffectState { at, outcome: Some(outcome), .. }) = effect else {
        let undo_until = effect.filter(|effect| !effect.released).map(|effect| effect.starts_at);
        let card = add_in_progress(card, approval, approved, undo_until);
        return match effect.and_then(|effect| effect.rate_limited_until) {
            Some((provider, until)) => {
                let asks = wait_sentence(provider, until, &approval.zone);
                card.with_block(Block::Note(format!("{asks} I'll try again then.")))
            }
            None => card,
        };
    };
    let at = clock(*at, &approval.zone);
    match outcome {
        Ok(output) => receipt_of(card, &format!("{approved} → **{}** {at}", words.done), output),
        Err(ToolError::UnknownOutcome { reason }) => add_unknown_outcome(card, approval)
            .with_block(Block::Markdown(format!(
                "{approved} → **Unknown** {at}. I can't tell yet whether this {} was {}.",
                words.noun,
                words.done.to_lowercase()
            )))
            .with_block(Block::Note(format!(
                "I {}. Please check before {} it again.",
                truncate(sentence(reason), room),
                words.in_progress_verb().to_lowercase()
            ))),
        Err(fault) => {
            let then = match fault {
                // See `run::apply_event`; no run would ask again for an edited or a repeated request.
                ToolError::NeedsConnect { missing, .. }
                    if !missing.is_empty() && approval.revision == 1 && approval.retry_of.is_none() =>
                {
                    "I'll ask you again once it's connected"
                }
                _ => "ask me again if you still want it",
            };
            let note = format!(
                "{}. Nothing was {}: {then}.",
                truncate(&capitalize(&failure_reason(fault)), room),
                words.done.to_lowercase()
            );
            let card = card.with_block(Block::Markdown(format!("{approved} → **{}** {at}", words.not_done)));
            let card = card.with_block(Block::Note(note));
            match fault {
                ToolError::NeedsConnect { provider, .. } => with_reconnect(card, approval.decider, *provider),
                _ => card,
            }
        }
    }
}

/// Adds the buttons for an unknown outcome: look it up again, or request it again.
fn add_unknown_outcome(card: Card, approval: &Approval) -> Card {
    let verb = |verb| OnClick::Action(Action::new(verb, approval.id));
    let card = card.with_button("Check again", Style::Plain, verb("look"));
    // An open draft with an unknown outcome is missing where it was, so sending it again could only fail.
    if approval.was_retried || approval.preview.draft.is_some() {
        return card;
    }
    // The label's verb comes from the question: "Send this email?" gives "Send again".
    let does = approval.preview.question.split_whitespace().next().unwrap_or("Do it");
    card.with_button(format!("{does} again"), Style::Danger, verb("send_again"))
}

/// Until it starts, it can be undone. The card shows the time: a number of seconds would not count down.
fn add_in_progress(card: Card, approval: &Approval, approved: &str, undo_until: Option<Timestamp>) -> Card {
    let words = &approval.preview.labels;
    let Some(starts) = undo_until else {
        return card.with_block(Block::Markdown(format!("{approved} → {}", words.in_progress)));
    };
    let at = local_second(starts, &approval.zone);
    card.with_block(Block::Markdown(format!("{approved} → {} at {at}", words.in_progress_verb())))
        .with_button("Undo", Style::Plain, OnClick::Action(Action::new("undo", approval.id)))
}

fn receipt_of(card: Card, line: &str, output: &ToolOutput) -> Card {
    let text = |key: &str| output.content[key].as_str().map(str::to_owned);
    let card = card.with_block(Block::Markdown(line.to_owned()));
    match text("link") {
        Some(link) => {
            let place = text("in").unwrap_or_else(|| provider::MAIL.to_owned());
            card.with_button(format!("Open in {place}"), Style::Plain, OnClick::Link(link))
        }
        None => card,
    }
}

/// Says why it was not done, without the prefixes that name the kind of error.
fn failure_reason(fault: &ToolError) -> String {
    match fault {
        ToolError::InvalidArguments { reason }
        | ToolError::NoAddress { reason }
        | ToolError::Forbidden { reason }
        | ToolError::NeedsAdmin { reason }
        | ToolError::UnknownOutcome { reason }
        | ToolError::Internal { reason } => sentence(reason).to_owned(),
        ToolError::NoSuchTime { message: why } => sentence(why).to_owned(),
        ToolError::NotFound { what } => format!("I couldn't find {}", sentence(what)),
        ToolError::NeedsConnect { provider, revoked: true, .. } => {
            format!("I've lost access to your {} account: please reconnect it", provider.display_name())
        }
        ToolError::NeedsConnect { provider, .. } => {
            format!(
                "Your {} account isn't connected, or doesn't allow that: please connect it again",
                provider.display_name()
            )
        }
        ToolError::Conflict { .. }
        | ToolError::Ambiguous { .. }
        | ToolError::AmbiguousTime { .. }
        | ToolError::Ask { .. }
        | ToolError::RateLimited { .. } => fault.to_string(),
    }
}

/// Drops the full stop that the card adds.
fn sentence(text: &str) -> &str {
    text.trim_end_matches('.')
}

/// Renders the one reminder. It names its addressee without a mention. It links to the card if that has a permalink: a
/// copy shown on a click could never be updated and would keep its buttons forever.
pub(super) fn reminder(waiting: &[Approval], address: Option<String>) -> Card {
    let Some(first) = waiting.first() else { return Card::default() };
    let lines: Vec<String> = waiting.iter().map(pending_line).collect();
    let line = format!(
        "{}, this is still waiting for you: {}. Without an answer: {}.",
        first.decider_name,
        lines.join("; "),
        first.preview.labels.not_done.to_lowercase()
    );
    let card = Card { body: vec![Block::Note(line)], ..Card::default() };
    match address {
        Some(address) => card.with_button("Go to the card", Style::Plain, OnClick::Link(address)),
        None => card.with_button(
            "Show me",
            Style::Plain,
            OnClick::Action(Action::new("show_privately", first.delivery)),
        ),
    }
}

/// Replaces the reminder once the request is no longer pending.
pub(super) fn closed_reminder_card(approval: &Approval) -> Card {
    let line = format!("I reminded {} about a request. Its card shows how it ended.", approval.decider_name);
    Card { body: vec![Block::Note(line)], ..Card::default() }
}

/// Returns one line for a list.
#[must_use]
pub fn pending_line(approval: &Approval) -> String {
    with_expiry(approval, &line(approval))
}

/// Returns one line for a prompt.
#[must_use]
pub fn prompt_line(approval: &Approval) -> String {
    with_expiry(approval, &line_without_untrusted_text(approval))
}

fn with_expiry(approval: &Approval, line: &str) -> String {
    let after = match (approval.owner_approved_at, &approval.co_approver_list) {
        (Some(_), Some(_)) => {
            format!(
                ", approved by {}, waiting for {}",
                approval.decider_name,
                co_approval::co_approvers_label(approval)
            )
        }
        _ => String::new(),
    };
    format!("{line}{after}, expires {}", local_time(approval.expires_at, &approval.zone))
}

/// Returns in a few words which request is meant.
pub(crate) fn line(approval: &Approval) -> String {
    summary_text(&approval.preview, |gist| &gist.full)
}

/// Returns the same for a model that reads it as Nod's own words: text that outsiders might have written is omitted.
pub(super) fn line_without_untrusted_text(approval: &Approval) -> String {
    redacted_summary(approval)
}

/// Returns what it is about, for a model that reads it as Nod's own words.
pub(super) fn redacted_summary(approval: &Approval) -> String {
    summary_text(
        &approval.preview,
        |gist| if approval.untrusted_in_view { &gist.redacted } else { &gist.full },
    )
}

fn summary_text(preview: &Preview, which: impl Fn(&Summary) -> &String) -> String {
    let said = match &preview.summary {
        Some(gist) => which(gist).clone(),
        None if preview.recipients.is_empty() => preview.labels.noun.clone(),
        None => format!("{} to {}", preview.labels.noun, preview.recipients.join(", ")),
    };
    show_hidden_chars(&said).into_owned()
}

/// Formats a time as "10:32 CET".
pub(super) fn clock(at: Timestamp, zone: &str) -> String {
    local_time(at, zone).split(", ").nth(1).unwrap_or_default().to_owned()
}

/// Escapes Markdown in a name.
pub(super) fn escape(name: &str) -> String {
    name.chars().flat_map(|c| if "*_`[]()<>\\~#|".contains(c) { vec!['\\', c] } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::rejection::tests::approval;
    use super::*;

    #[test]
    fn reminder_links_to_card_when_it_has_a_permalink() {
        let waiting = [approval(Status::Pending, None)];
        let button = |address: Option<&str>| reminder(&waiting, address.map(str::to_owned)).buttons.remove(0);
        let link = button(Some("https://acme.test/p1"));
        assert_eq!(
            (link.label.as_str(), link.on_click),
            ("Go to the card", OnClick::Link("https://acme.test/p1".into()))
        );
        assert_eq!(button(None).label, "Show me");
    }

    #[test]
    fn event_outcome_does_not_use_mail_wording() {
        let told = |fault: ToolError| {
            let end = EffectState {
                id: uuid::Uuid::nil().into(),
                at: Timestamp::UNIX_EPOCH,
                starts_at: Timestamp::UNIX_EPOCH,
                released: true,
                outcome: Some(Err(fault)),
                rate_limited_until: None,
            };
            let mut one = approval(Status::Approved, Some(end));
            one.preview.question = "Update this event?".into();
            let words = &mut one.preview.labels;
            (words.in_progress, words.done) = ("Changing…".into(), "Changed".into());
            (words.not_done, words.noun) = ("Not changed".into(), "event".into());
            let card = card(&[one]);
            let said = card.body.iter().filter_map(|block| match block {
                Block::Markdown(text) | Block::Note(text) => Some(text.clone()),
                _ => None,
            });
            let buttons = card.buttons.iter().map(|button| format!("[{}]", button.label));
            said.chain(buttons).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(
            told(ToolError::UnknownOutcome { reason: "looked at the event".into() }),
            "Approved by Ana 09:30 UTC → **Unknown** 00:00 UTC. I can't tell yet whether this event was \
             changed.\nI looked at the event. Please check before changing it again.\n[Check \
             again]\n[Update again]"
        );
        assert_eq!(
            told(ToolError::internal("Calendar is away")),
            "Approved by Ana 09:30 UTC → **Not changed** 00:00 UTC\nCalendar is away. Nothing was changed: \
             ask me again if you still want it."
        );
    }
}
