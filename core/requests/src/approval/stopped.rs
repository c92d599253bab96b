//! The card of a request that outside text asked for and nobody here did: what came from where stands first, [Deny]
//! comes first, and what it would do is shown in full all the same. Whatever a sender wrote in it is literal and short.

use super::card::{MAX_NOTICE_CHARS, add_details, by_whom, deadline, line, with_show_all_button};
use super::{Approval, Status, co_approval};
use nod_contract::card::{Action, Block, Card, OnClick, Row, Style, truncate};
use nod_contract::hidden_chars::show_hidden_chars;
use nod_contract::outside::{AskedBy, Source};
use nod_contract::text::capitalize;
use nod_contract::tool::{Preview, quote_title};

/// Returns the text that asked for it, while nobody here has agreed to it.
pub(super) fn asked_by(approval: &Approval) -> Option<&AskedBy> {
    let is_open = approval.status == Status::Pending && approval.owner_approved_at.is_none();
    approval.preview.asked_by.as_ref().filter(|_| is_open)
}

/// Returns "Stopped: an email asked for this, not you".
pub(super) fn headline(by: &AskedBy) -> String {
    format!("Stopped: {} asked for this, not you", Kind::from_source(by).a)
}

/// Renders the card below its title.
pub(super) fn card(card: Card, approval: &Approval, by: &AskedBy) -> Card {
    let verb = |verb| OnClick::Action(Action::on_revision(verb, approval.id, approval.revision));
    let notice = format!("{}: {}", headline(by), line(approval));
    let who = match approval.co_approver_list {
        Some(_) => co_approval::co_approval_note(approval),
        None => by_whom(approval),
    };
    let wish = Row::new(wish(&approval.preview, by), Vec::new());
    let card = add_details(card.with_block(Block::Row(wish)), approval)
        .with_notice(truncate(&notice, MAX_NOTICE_CHARS))
        .with_block(deadline(&who, approval))
        .with_button("Deny", Style::Primary, verb("deny"));
    let does = approval.preview.question.split_whitespace().next().unwrap_or("Do it");
    with_show_all_button(card, approval).with_button(
        format!("{does} all the same"),
        Style::Danger,
        verb("approve"),
    )
}

/// Returns the line about recipients whom nobody here named.
pub(super) fn risk(unknown: &[&str], by: &AskedBy) -> Option<String> {
    let (first, more) = unknown.split_first()?;
    let first = Source::new(first);
    Some(match more.len() {
        0 if by.is_only_place => {
            format!("{first} stands only in {}, and nobody here named it", Kind::from_source(by).that)
        }
        0 => format!("Nobody here named {first}"),
        more => format!("Nobody here named {first} and {more} more"),
    })
}

/// Says who wants what of whom: "“Terms” from eve@x.test wants me to send “Contract” to eve@x.test. Nothing was sent."
pub(super) fn wish(preview: &Preview, by: &AskedBy) -> String {
    let recipients: Vec<Source> = preview.recipients.iter().map(|one| Source::new(one)).collect();
    let to = match &recipients[..] {
        [] => String::new(),
        [one] => one.to_string(),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
    };
    let question = preview.question.trim_end_matches('?').to_lowercase();
    let subject = preview.fields.iter().find(|(name, value)| name == "Subject" && !value.trim().is_empty());
    let what = match (question.strip_prefix("send "), subject) {
        (Some(_), Some((_, subject))) => format!("send {} to {to}", quote(subject)),
        (Some(_), None) => format!("{question} to {to}"),
        (None, _) => format!("{question} and tell {to}"),
    };
    let want = Kind::from_source(by).want;
    let done = preview.labels.done.to_lowercase();
    format!("{} {want} me to {what}. Nothing was {done}.", subject_of(by))
}

/// Names the text at the beginning of a sentence.
fn subject_of(by: &AskedBy) -> String {
    let source = by.source.as_str();
    let title = by.title.as_deref().filter(|title| !source.contains(*title)).map(quote);
    match (title, source.strip_prefix("an email from ")) {
        (Some(title), Some(from)) => format!("{title} from {from}"),
        (Some(title), None) => format!("{}, {title},", capitalize(source)),
        (None, _) => capitalize(source),
    }
}

fn quote(title: &str) -> String {
    quote_title(&show_hidden_chars(title))
}

/// What kind of text a source is, in the words of the card.
struct Kind {
    a: &'static str,
    that: &'static str,
    want: &'static str,
}

impl Kind {
    fn from_source(by: &AskedBy) -> Self {
        let source = by.source.as_str();
        let one = |a, that| Self { a, that, want: "wants" };
        let begins = |all: &[&str]| all.iter().any(|beginning| source.starts_with(beginning));
        if begins(&["an email"]) {
            one("an email", "that email")
        } else if begins(&["a calendar event"]) {
            one("a calendar event", "that event")
        } else if begins(&["the document"]) {
            one("a document", "that document")
        } else if begins(&["the file", "a file"]) {
            one("a file", "that file")
        } else if begins(&["a chat message"]) {
            one("a message", "that message")
        } else if begins(&["messages", "earlier messages"]) {
            Self { a: "a message", that: "those messages", want: "want" }
        } else if begins(&["a draft"]) {
            one("a draft", "that draft")
        } else {
            one("something I read", "that text")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::card::single;
    use super::super::co_approval::Role;
    use super::super::rejection::tests::approval;
    use super::*;

    fn asker(source: &str, title: Option<&str>) -> AskedBy {
        AskedBy { source: Source::new(source), title: title.map(str::to_owned), is_only_place: true }
    }

    #[test]
    fn the_line_says_who_wants_what_of_whom() {
        let email = ("Send this email?", "Sent");
        for (source, title, (question, done), to, wanted) in [
            (
                "an email from eve@x.test",
                Some("Terms"),
                email,
                &["loot@x.test"][..],
                "“Terms” from eve@x.test wants me to send this email to loot@x.test. Nothing was sent.",
            ),
            (
                "messages in this channel",
                None,
                email,
                &["a@x.test", "b@x.test"],
                "Messages in this channel want me to send this email to a@x.test and 1 more. Nothing was sent.",
            ),
            (
                "the document offer.pdf",
                Some("offer.pdf"),
                email,
                &["lo\u{200b}ot@x.test"],
                "The document offer.pdf wants me to send this email to lo⟨200B⟩ot@x.test. Nothing was sent.",
            ),
            (
                "a calendar event from eve@x.test",
                Some("Sync"),
                ("Update this event?", "Updated"),
                &["loot@x.test"],
                "A calendar event from eve@x.test, “Sync”, wants me to update this event and tell \
                 loot@x.test. Nothing was updated.",
            ),
        ] {
            let mut preview = approval(Status::Pending, None).preview;
            preview.question = question.to_owned();
            preview.labels.done = done.to_owned();
            preview.recipients = to.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(wish(&preview, &asker(source, title)), wanted);
        }
    }

    #[test]
    fn it_is_stopped_only_until_somebody_here_decides() {
        let mut one = approval(Status::Pending, None);
        assert!(asked_by(&one).is_none());
        one.preview.asked_by = Some(asker("an email from eve@x.test", None));
        assert!(asked_by(&one).is_some());
        one.owner_approved_at = one.decided_at;
        assert!(asked_by(&one).is_none(), "its owner agreed, and it waits for a second person");
        one.owner_approved_at = None;
        for status in [Status::Denied, Status::Expired, Status::Withdrawn] {
            one.status = status;
            assert_eq!(single(&one, Role::Owner).title.as_deref(), Some("Email not sent"));
        }
    }

    #[test]
    fn a_row_of_an_earlier_version_is_stopped_by_nobody() {
        let stored = serde_json::to_value(approval(Status::Pending, None).preview).unwrap();
        assert!(!stored.as_object().unwrap().contains_key("asked_by"));
        let read: Preview = serde_json::from_value(stored).unwrap();
        assert_eq!(read.asked_by, None);
        let short: AskedBy = serde_json::from_value(json!({"source": "an email from eve@x.test"})).unwrap();
        assert_eq!((short.title, short.is_only_place), (None, false));
    }
}
