//! The card of an approval: before the press what would happen, after it the receipt, in the same place.

use super::form::LONGEST_REASON;
use super::headline::headline;
use super::second::{self, Role};
use super::{Approval, EffectEnd, Status, batch, whole};
use crate::busy::asks_to_wait;
use nod_contract::card::reconnect::with_reconnect;
use nod_contract::card::{Block, Card, Press, Style, Verb, clipped};
use nod_contract::clock::Timestamp;
use nod_contract::ids::PersonId;
use nod_contract::provider;
use nod_contract::text::grouped;
use nod_contract::tool::{Fault, Gist, Preview, ToolOutput};
use nod_contract::visible::{self, visible};
use nod_when::when::{local_second, local_time};

/// The longest name in a receipt, in characters: longer ones are chosen to be in the way.
const LONGEST_NAME: usize = 40;
/// Under what nobody answered and what cannot be asked for as it was, to whoever asked for it.
pub(super) const ASK_AGAIN: &str = "Ask again and I will prepare it anew.";

/// The card as it should stand now, with everything that was asked on it.
#[must_use]
pub fn card(all: &[Approval]) -> Card {
    match all {
        [one] => single(one, Role::Owner),
        several => batch::card(several),
    }
}

/// The card of one request, for this person's own page.
#[must_use]
pub fn card_for(approval: &Approval, reader: PersonId) -> Card {
    match approval.approvers.iter().find(|one| one.person == reader && approval.decider != reader) {
        Some(other) => second::card(approval, other),
        None => single(approval, Role::Owner),
    }
}

/// The card of one request, as its owner or one of the others reads it.
pub(super) fn single(approval: &Approval, reader: Role) -> Card {
    let title = format!("{} · {}", headline(approval), mark(approval));
    let card = shown(Card::default().titled(title), approval);
    let card = match approval.status {
        Status::Pending if reader == Role::Approver => second::waiting(card, approval),
        Status::Pending => waiting(card, approval),
        _ => receipt(card, approval, LONGEST_REASON),
    };
    show_all(card, approval)
}

/// The way to what does not stand on the card.
pub(super) fn show_all(card: Card, approval: &Approval) -> Card {
    if !whole::more(&approval.preview, &approval.risks, &approval.sources) {
        return card;
    }
    let all = Press::Verb(Verb::on_revision("whole", approval.id, approval.revision));
    card.button("Show all", Style::Plain, all)
}

/// Which revision of which payload.
pub(super) fn mark(approval: &Approval) -> String {
    format!("rev {} · {}", approval.revision, &approval.digest[..6])
}

/// What would happen, exactly; and as long as it waits, what to be careful about.
pub(super) fn shown(card: Card, approval: &Approval) -> Card {
    let preview = &approval.preview;
    let mut card = card.with(Block::Fields(visible::fields(&preview.fields)));
    if preview.organisations {
        card = card.with(Block::Note(format!(
            "{} is the organisation's account, not {}'s own.",
            preview.account, approval.decider_name
        )));
    }
    card = payload(card, preview, &approval.risks);
    if approval.status == Status::Pending {
        card = careful(card, &approval.risks);
    }
    card
}

/// What a request shows beside its frame: every platform has room for it, where [`whole::askable`] finds so.
#[must_use]
pub fn request(preview: &Preview, risks: &[String]) -> Card {
    let fields = Block::Fields(visible::fields(&preview.fields));
    careful(payload(Card::default().with(fields), preview, risks), risks)
}

fn careful(card: Card, risks: &[String]) -> Card {
    if risks.is_empty() {
        return card;
    }
    let lines = whole::risk_lines(risks);
    card.with(Block::Risks(visible::lines(&lines)))
}

/// The body, or its beginning.
fn payload(mut card: Card, preview: &Preview, risks: &[String]) -> Card {
    match whole::beginning(preview, risks) {
        None => card.body.extend(preview.body.as_deref().map(literal)),
        Some(beginning) => {
            let length = preview.body.as_ref().map_or(0, |body| body.chars().count());
            card = card.with(literal(beginning)).with(Block::Note(format!(
                "The first {} of {} characters. Show all shows every one of them.",
                grouped(beginning.chars().count()),
                grouped(length)
            )));
        }
    }
    card
}

/// Letter by letter, also those that nobody would see.
pub(super) fn literal(text: &str) -> Block {
    Block::Literal(visible(text).into_owned())
}

/// Who may decide, and until when.
pub(super) fn by_whom(approval: &Approval) -> String {
    format!("Only {} can decide. {}", approval.decider_name, expires(approval))
}

fn expires(approval: &Approval) -> String {
    format!("Expires {}.", local_time(approval.expires_at, &approval.zone))
}

fn waiting(card: Card, approval: &Approval) -> Card {
    let verb = |verb| Press::Verb(Verb::on_revision(verb, approval.id, approval.revision));
    let mut card = match (&approval.second, approval.first_at) {
        (None, _) => {
            let does = &approval.preview.words.approve;
            card.with(Block::Note(by_whom(approval))).button(does, Style::Primary, verb("approve"))
        }
        // Nothing is done by it yet.
        (Some(_), None) => {
            let note = format!("{} {}", second::note(approval), expires(approval));
            card.with(Block::Note(note)).button("Approve", Style::Primary, verb("approve"))
        }
        (Some(_), Some(_)) => {
            let note = format!("{} {}", second::seen_by(approval), expires(approval));
            card.with(Block::Markdown(second::waits(approval))).with(Block::Note(note))
        }
    };
    if !approval.preview.form.is_empty() {
        card = card.button("Edit", Style::Plain, verb("edit"));
    }
    card.button("Deny", Style::Danger, verb("deny"))
}

/// What somebody is called in a receipt.
pub(super) fn name(name: &str) -> String {
    escape(&clipped(name, LONGEST_NAME))
}

/// What became of it; reasons have so much room in it, in characters.
pub(super) fn receipt(card: Card, approval: &Approval, room: usize) -> Card {
    let words = &approval.preview.words;
    let at = |at: Option<Timestamp>| at.map_or_else(String::new, |at| clock(at, &approval.zone));
    let who = name(approval.decided_by.as_ref().unwrap_or(&approval.decider_name));
    let decided = at(approval.decided_at);
    // The owner's yes stands before whatever came of it.
    let first = approval.first_at.map_or_else(String::new, |_| format!("{} → ", second::first_of(approval)));
    let approved = match approval.second {
        None => format!("Approved by {} {decided}", name(&approval.decider_name)),
        Some(_) => second::last_of(approval),
    };
    match (approval.status, &approval.effect) {
        (Status::Denied, _) => {
            let why = approval
                .reason
                .as_ref()
                .map_or_else(String::new, |why| format!(" ({})", escape(&clipped(why, room))));
            card.with(Block::Markdown(format!(
                "{first}Denied by {who} {decided}{why}. **{}**.",
                words.not_done
            )))
        }
        (Status::Expired, _) => lapsed(
            card.with(Block::Markdown(format!("{} **{}**.", second::unanswered(approval), words.not_done))),
            approval,
        ),
        (Status::Superseded, _) if approval.first_done => card.with(Block::Markdown(format!(
            "The first one turned out to have gone through. **{} again**.",
            words.not_done
        ))),
        (Status::Superseded, _) => {
            card.with(Block::Markdown(format!("A newer request took its place. **{}**.", words.not_done)))
        }
        (Status::Withdrawn, _) if approval.reason.is_some() => card.with(Block::Markdown(format!(
            "{first}The rules here never allow this: {}. **{}**.",
            escape(&clipped(approval.reason.as_deref().unwrap_or_default(), room)),
            words.not_done
        ))),
        (Status::Withdrawn, _) => card.with(Block::Markdown(format!(
            "The message that asked for this was changed or deleted. **{}**.",
            words.not_done
        ))),
        (Status::Undone, _) => card.with(Block::Markdown(format!(
            "{} → Undone by {who} {decided}. **{}**.",
            if approval.second.is_some() { approved } else { format!("Approved by {who}") },
            words.not_done
        ))),
        (_, effect) => outcome(card, approval, &approved, effect.as_ref(), room),
    }
}

/// Nobody answered: it can be asked for once more, as it is.
fn lapsed(card: Card, approval: &Approval) -> Card {
    if !approval.can_be_asked_again() {
        return card.with(Block::Note(ASK_AGAIN.to_owned()));
    }
    if approval.asked_again {
        return card;
    }
    card.button("Ask again", Style::Plain, Press::Verb(Verb::new("again", approval.id)))
}

fn outcome(card: Card, approval: &Approval, approved: &str, effect: Option<&EffectEnd>, room: usize) -> Card {
    let words = &approval.preview.words;
    let Some(EffectEnd { at, outcome: Some(outcome), .. }) = effect else {
        let undo_until = effect.filter(|effect| !effect.released).map(|effect| effect.starts_at);
        let card = under_way(card, approval, approved, undo_until);
        return match effect.and_then(|effect| effect.waits) {
            Some((provider, until)) => {
                let asks = asks_to_wait(provider, until, &approval.zone);
                card.with(Block::Note(format!("{asks} I go on by myself then.")))
            }
            None => card,
        };
    };
    let at = clock(*at, &approval.zone);
    match outcome {
        Ok(output) => receipt_of(card, &format!("{approved} → **{}** {at}", words.done), output),
        Err(Fault::Unknown { reason }) => unknown(card, approval)
            .with(Block::Markdown(format!(
                "{approved} → **Unknown** {at}. Nobody can tell yet whether this {} was {}.",
                words.thing,
                words.done.to_lowercase()
            )))
            .with(Block::Note(format!(
                "Nod {}. Please check before {} it again.",
                clipped(sentence(reason), room),
                words.at_it().to_lowercase()
            ))),
        Err(fault) => {
            let then = match fault {
                // See `run::absorb`; an edited one, and one that is done again, has no run that would ask.
                Fault::NeedsConnect { missing, .. }
                    if !missing.is_empty() && approval.revision == 1 && approval.again_of.is_none() =>
                {
                    "I ask for your nod again once it is connected"
                }
                Fault::Outdated { .. } => "ask again if it is still wanted",
                _ => "ask again once that is mended",
            };
            let note =
                format!("{}. Nothing was {}; {then}.", clipped(&why(fault), room), words.done.to_lowercase());
            let card = card.with(Block::Markdown(format!("{approved} → **{}** {at}", words.not_done)));
            let card = card.with(Block::Note(note));
            match fault {
                Fault::NeedsConnect { provider, .. } => with_reconnect(card, approval.decider, *provider),
                _ => card,
            }
        }
    }
}

/// Nobody knows: it can be looked for once more, and asked for once more.
fn unknown(card: Card, approval: &Approval) -> Card {
    let verb = |verb| Press::Verb(Verb::new(verb, approval.id));
    let card = card.button("Check again", Style::Plain, verb("look"));
    // An open draft of which nobody knows is gone from where it stood, so that could only fail.
    if approval.asked_again || approval.preview.draft.is_some() {
        return card;
    }
    // "Send this email?" is done again by "Send again".
    let does = approval.preview.question.split_whitespace().next().unwrap_or("Do it");
    card.button(format!("{does} again"), Style::Danger, verb("again"))
}

/// Until it starts, it can be taken back. The card says the time: a number of seconds would not count down.
fn under_way(card: Card, approval: &Approval, approved: &str, undo_until: Option<Timestamp>) -> Card {
    let words = &approval.preview.words;
    let Some(starts) = undo_until else {
        return card.with(Block::Markdown(format!("{approved} → {}", words.doing)));
    };
    let at = local_second(starts, &approval.zone);
    card.with(Block::Markdown(format!("{approved} → {} at {at}", words.at_it()))).button(
        "Undo",
        Style::Plain,
        Press::Verb(Verb::new("undo", approval.id)),
    )
}

fn receipt_of(card: Card, line: &str, output: &ToolOutput) -> Card {
    let text = |key: &str| output.content[key].as_str().map(str::to_owned);
    let ids: Vec<String> = [("Message-ID", text("message_id")), ("id", text("id"))]
        .into_iter()
        .filter_map(|(name, id)| id.map(|id| format!("{name} {id}")))
        .collect();
    let mut card = card.with(Block::Markdown(line.to_owned()));
    if !ids.is_empty() {
        card = card.with(Block::Note(ids.join(" · ")));
    }
    match text("link") {
        Some(link) => {
            let place = text("in").unwrap_or_else(|| provider::MAIL.to_owned());
            card.button(format!("Open in {place}"), Style::Plain, Press::Link(link))
        }
        None => card,
    }
}

/// Why it was not done, without the words by which we sort faults.
fn why(fault: &Fault) -> String {
    match fault {
        Fault::Invalid { reason }
        | Fault::Forbidden { reason }
        | Fault::NeedsAdmin { reason }
        | Fault::Unknown { reason }
        | Fault::Broken { reason } => sentence(reason).to_owned(),
        Fault::NoSuchTime { why } => sentence(why).to_owned(),
        Fault::NotFound { what } => format!("Not found: {}", sentence(what)),
        Fault::NeedsConnect { provider, revoked: true, .. } => {
            format!("{} no longer lets Nod into the account: connect it again", provider.title())
        }
        Fault::NeedsConnect { provider, .. } => {
            format!("{} is not connected, or does not allow that: connect it again", provider.title())
        }
        Fault::Outdated { .. } | Fault::Ambiguous { .. } | Fault::Slots { .. } | Fault::Busy { .. } => {
            fault.to_string()
        }
    }
}

/// Without the full stop that the card adds.
fn sentence(text: &str) -> &str {
    text.trim_end_matches('.')
}

/// The one reminder. It names whom it is for and pings nobody. It leads to the card where that has an address: a
/// copy, shown on a press, could never be changed again and would keep its buttons for ever.
pub(super) fn reminder(waiting: &[Approval], address: Option<String>) -> Card {
    let Some(first) = waiting.first() else { return Card::default() };
    let lines: Vec<String> = waiting.iter().map(waiting_line).collect();
    let line = format!(
        "{}, this still waits for your nod: {}. If nobody answers: {}.",
        first.decider_name,
        lines.join("; "),
        first.preview.words.not_done.to_lowercase()
    );
    let card = Card { body: vec![Block::Note(line)], ..Card::default() };
    match address {
        Some(address) => card.button("Go to the card", Style::Plain, Press::Link(address)),
        None => card.button("Show it", Style::Plain, Press::Verb(Verb::new("show", first.delivery))),
    }
}

/// In the place of the reminder, once it does not wait any more.
pub(super) fn reminder_over(approval: &Approval) -> Card {
    let line = format!("I reminded {} of a request; its card says what became of it.", approval.decider_name);
    Card { body: vec![Block::Note(line)], ..Card::default() }
}

/// One line for a list.
#[must_use]
pub fn waiting_line(approval: &Approval) -> String {
    until(approval, &line(approval))
}

/// One line for a prompt.
#[must_use]
pub fn prompt_line(approval: &Approval) -> String {
    until(approval, &own_line(approval))
}

fn until(approval: &Approval, line: &str) -> String {
    let after = match (approval.first_at, &approval.second) {
        (Some(_), Some(_)) => {
            format!(", approved by {}, waits for {}", approval.decider_name, second::others(approval))
        }
        _ => String::new(),
    };
    format!("{line}{after}, expires {}", local_time(approval.expires_at, &approval.zone))
}

/// Which request is meant, in a few words.
pub(super) fn line(approval: &Approval) -> String {
    marked(approval, &about(&approval.preview, |gist| &gist.said))
}

/// The same where a model reads it as Nod's own words: what somebody outside may have written is left out.
pub(super) fn own_line(approval: &Approval) -> String {
    marked(approval, &own_about(approval))
}

/// What it is about, where a model reads it as Nod's own words.
pub(super) fn own_about(approval: &Approval) -> String {
    about(&approval.preview, |gist| if approval.outside { &gist.bare } else { &gist.said })
}

fn about(preview: &Preview, which: impl Fn(&Gist) -> &String) -> String {
    let said = match &preview.gist {
        Some(gist) => which(gist).clone(),
        None if preview.recipients.is_empty() => preview.words.thing.clone(),
        None => format!("{} to {}", preview.words.thing, preview.recipients.join(", ")),
    };
    visible(&said).into_owned()
}

fn marked(approval: &Approval, about: &str) -> String {
    format!("{about}, digest {}", &approval.digest[..6])
}

/// "10:32 CET".
pub(super) fn clock(at: Timestamp, zone: &str) -> String {
    local_time(at, zone).split(", ").nth(1).unwrap_or_default().to_owned()
}

/// A name inside Markdown stays a name.
pub(super) fn escape(name: &str) -> String {
    name.chars().flat_map(|c| if "*_`[]()<>\\~#|".contains(c) { vec!['\\', c] } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::told::tests::approval;
    use super::*;

    #[test]
    fn a_reminder_leads_to_the_card_where_it_has_an_address() {
        let waiting = [approval(Status::Pending, None)];
        let button = |address: Option<&str>| reminder(&waiting, address.map(str::to_owned)).buttons.remove(0);
        let link = button(Some("https://acme.test/p1"));
        assert_eq!(
            (link.label.as_str(), link.does),
            ("Go to the card", Press::Link("https://acme.test/p1".into()))
        );
        assert_eq!(button(None).label, "Show it");
    }

    #[test]
    fn what_became_of_an_event_is_not_told_in_words_of_mail() {
        let told = |fault: Fault| {
            let end = EffectEnd {
                id: uuid::Uuid::nil().into(),
                at: Timestamp::UNIX_EPOCH,
                starts_at: Timestamp::UNIX_EPOCH,
                released: true,
                outcome: Some(Err(fault)),
                waits: None,
            };
            let mut one = approval(Status::Approved, Some(end));
            one.preview.question = "Change this event?".into();
            let words = &mut one.preview.words;
            (words.doing, words.done) = ("Changing…".into(), "Changed".into());
            (words.not_done, words.thing) = ("Not changed".into(), "event".into());
            let card = card(&[one]);
            let said = card.body.iter().filter_map(|block| match block {
                Block::Markdown(text) | Block::Note(text) => Some(text.clone()),
                _ => None,
            });
            let buttons = card.buttons.iter().map(|button| format!("[{}]", button.label));
            said.chain(buttons).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(
            told(Fault::Unknown { reason: "looked at the event".into() }),
            "Approved by Ana 09:30 UTC → **Unknown** 00:00 UTC. Nobody can tell yet whether this event was changed.\n\
             Nod looked at the event. Please check before changing it again.\n[Check again]\n[Change again]"
        );
        assert_eq!(
            told(Fault::broken("Calendar is away")),
            "Approved by Ana 09:30 UTC → **Not changed** 00:00 UTC\n\
             Calendar is away. Nothing was changed; ask again once that is mended."
        );
    }
}
