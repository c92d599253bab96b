//! A draft that stays open: what the core knows of it, and its current state in Gmail. Changes that the person makes
//! there by hand count, and none is overwritten unseen.

use google_gmail1::api::Draft;
use nod_contract::privacy::Provenance;
use nod_contract::tool::{FollowUp, ToolContext, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::Recipient;
use super::identity::Identities;
use super::mailbox::Mailbox;
use super::mime::EFFECT_HEADER;
use super::outgoing_email::{DraftVersion, EmailArguments, OutgoingEmail, Reply};
use super::written::{Person, Written};
use super::{create_draft, discard_draft, drafts, read_draft, send_draft, update_draft};
use crate::google::api_error::GoogleApiError;
use nod_contract::tool::draft::{CloseReason, Draft as Open, DraftTools};
use nod_contract::tool::effect::EffectKey;

/// The current state of an open draft in Gmail.
pub(super) enum DraftState {
    /// Unchanged since it was seen, except for a version that might be newer.
    Unchanged(Box<OutgoingEmail>, DraftVersion),
    /// Changed by hand.
    Changed(Box<OutgoingEmail>, DraftVersion),
    /// Sent or deleted.
    Gone,
}

/// Returns the schema of the argument for an open draft.
pub(super) fn argument() -> Value {
    json!({"type": "string", "format": "draft", "maxLength": 100,
        "description": "Its id, where several are open; the newest if left out."})
}

/// Returns the open draft from the core, in the version last seen.
pub(super) fn parse_draft(args: &Value) -> Result<(Open, DraftVersion), ToolError> {
    let open = Open::from_payload(args).map_err(|error| ToolError::internal(error.to_string()))?;
    let seen = DraftVersion { id: open.id.clone(), version: open.version.clone() };
    Ok((open, seen))
}

/// Returns the open draft from the core, completed with data that the core does not have: the current name of its sender.
pub(super) async fn load_open_draft(
    mailbox: &Mailbox,
    args: &Value,
) -> Result<(OutgoingEmail, DraftVersion), ToolError> {
    let (open, seen) = parse_draft(args)?;
    let letter =
        OutgoingEmail::deserialize(&open.content).map_err(|error| ToolError::internal(error.to_string()))?;
    letter.check_account(mailbox)?;
    let identity = Identities::fetch(mailbox).await?.sender_for(&letter.from);
    Ok((letter.with_current_sender(&identity), seen))
}

/// Looks up the current state of the draft.
pub(super) async fn check_state(
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    seen: &DraftVersion,
) -> Result<DraftState, ToolError> {
    letter.check_account(mailbox)?;
    let draft = match mailbox.fetch_raw_draft(&seen.id).await {
        Ok(draft) => draft,
        Err(trouble) if trouble.is_gone() => return Ok(DraftState::Gone),
        Err(trouble) => return Err(trouble.into_read_error("the draft")),
    };
    let message = draft.message.unwrap_or_default();
    let seen_now = DraftVersion { id: seen.id.clone(), version: message.id.unwrap_or_default() };
    if seen_now.version == seen.version {
        return Ok(DraftState::Unchanged(Box::new(letter.clone()), seen_now));
    }
    let draft = Written::parse_draft(mailbox, &message.raw.unwrap_or_default()).await?;
    let written = parse_raw(&with_current_sender(mailbox, letter, &draft).await?, &draft)?;
    let same = OutgoingEmail { body: written.body.clone(), ..letter.clone() } == written
        && letter.body.trim_end() == written.body.trim_end();
    Ok(match same {
        true => DraftState::Unchanged(Box::new(letter.clone()), seen_now),
        false => DraftState::Changed(Box::new(written), seen_now),
    })
}

/// Returns the letter with the draft's current sender: the person can choose another address in Gmail.
async fn with_current_sender(
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    draft: &Written,
) -> Result<OutgoingEmail, ToolError> {
    match draft.sender() {
        Some(from) if !from.eq_ignore_ascii_case(&letter.from) => {
            let identity = Identities::fetch(mailbox).await?.sender_for(from);
            Ok(letter.clone().with_current_sender(&identity))
        }
        _ => Ok(letter.clone()),
    }
}

/// Opens a draft of the mailbox that was not open before.
pub(super) async fn open_from_mailbox(
    mailbox: &Mailbox,
    id: &str,
    draft: Draft,
) -> Result<(OutgoingEmail, DraftVersion), ToolError> {
    let identities = Identities::fetch(mailbox).await?;
    let message = draft.message.unwrap_or_default();
    let draft = Written::parse_draft(mailbox, &message.raw.unwrap_or_default()).await?;
    let from = draft.sender().unwrap_or_else(|| mailbox.address()).to_owned();
    let reply = draft.answered.last().map(|newest| Reply {
        thread_id: message.thread_id.unwrap_or_default(),
        in_reply_to: Some(newest.clone()),
        references: draft.references.clone(),
        answers: "an email in its thread".to_owned(),
        subject: Some(draft.subject.clone()),
        reply_to: None,
        forwards: false,
    });
    let nothing =
        EmailArguments { to: vec![], cc: vec![], bcc: vec![], subject: String::new(), body: String::new() };
    let sent = OutgoingEmail::new(&nothing, create_draft::NAME, mailbox.address())?
        .with_sender(&identities.sender_for(&from));
    // All of its text is the person's.
    let known = OutgoingEmail { signature: None, reply, ..sent };
    let seen = DraftVersion { id: id.to_owned(), version: message.id.unwrap_or_default() };
    Ok((parse_raw(&known, &draft)?, seen))
}

/// Replaces the known text with the current text of the draft.
fn parse_raw(known: &OutgoingEmail, draft: &Written) -> Result<OutgoingEmail, ToolError> {
    if !draft.files.iter().eq(known.attachments.iter().map(|file| &file.sha256)) {
        let reason =
            "the draft now has other attachments I can't take along. Please finish it in Gmail".into();
        return Err(ToolError::Forbidden { reason });
    }
    let (body, below) = split_body(known, draft.text.trim_end());
    let AppendedParts { has_signature: signed, has_quote: quoted } = below;
    let asked = EmailArguments {
        to: recipient_list(&draft.to),
        cc: recipient_list(&draft.cc),
        bcc: recipient_list(&draft.bcc),
        subject: draft.subject.clone(),
        body: body.to_owned(),
    };
    let letter = OutgoingEmail::new(&asked, &known.tool, &known.from)?;
    Ok(OutgoingEmail {
        name: known.name.clone(),
        reply_to: known.reply_to.clone(),
        account: known.account.clone(),
        signature: known.signature.clone().filter(|_| signed),
        quoted: known.quoted.clone().filter(|_| quoted),
        attachments: known.attachments.clone(),
        reply: known.reply.clone(),
        has_rich_formatting: draft.formatted,
        ..letter
    })
}

/// Which of our additions below the person's words are still there.
struct AppendedParts {
    has_signature: bool,
    has_quote: bool,
}

/// Separates the person's own words from our additions below them. Additions that changed count as the person's words.
/// So does the signature of another address, while the answered mail can still be quoted.
fn split_body<'a>(known: &OutgoingEmail, text: &'a str) -> (&'a str, AppendedParts) {
    for signed in [true, false] {
        let signature = known.signature.clone().filter(|_| signed);
        let below = OutgoingEmail { body: String::new(), signature, ..known.clone() }.text();
        if let Some(body) = text.strip_suffix(below.trim_end()) {
            return (body.trim_end_matches('\n'), AppendedParts { has_signature: signed, has_quote: true });
        }
    }
    (text, AppendedParts { has_signature: false, has_quote: false })
}

fn recipient_list(list: &[Person]) -> Vec<String> {
    list.iter().map(format_recipient).collect()
}

/// Leaves out a name that we would not write; an invalid address is rejected later, with its own error.
fn format_recipient((name, address): &Person) -> String {
    let named = Some(format!("{name} <{address}>")).filter(|_| !name.is_empty());
    let sound = |text: &String| Recipient::parse(text).is_ok();
    named.filter(sound).unwrap_or_else(|| address.clone())
}

/// Returns the draft as the core stores it, where others might read it. Its signature is empty, because Gmail's
/// settings have it.
fn to_open_draft(mailbox: &Mailbox, letter: &OutgoingEmail, seen: &DraftVersion) -> Result<Open, ToolError> {
    let signature = letter.signature.as_ref().map(|_| String::new());
    let letter = OutgoingEmail { draft: None, signature, ..letter.clone() };
    let mut fields = letter.fields();
    if letter.has_rich_formatting {
        fields.push(("Formatting".to_owned(), "made in Gmail, and lost if I change or send it".to_owned()));
    }
    Ok(Open {
        id: seen.id.clone(),
        version: seen.version.clone(),
        content: letter.payload()?,
        fields,
        body: letter.card_body(),
        label: letter.short_label(),
        link: drafts::link(mailbox.address(), &format!("drafts/{}", seen.version)),
        provider_name: "Gmail".to_owned(),
        tools: DraftTools {
            read: read_draft::NAME.to_owned(),
            update: update_draft::NAME.to_owned(),
            send: send_draft::NAME.to_owned(),
            discard: discard_draft::NAME.to_owned(),
        },
    })
}

/// Returns the result for a draft that was saved and stays open.
pub(super) fn saved_output(
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    draft: &Draft,
) -> Result<ToolOutput, ToolError> {
    let id = draft
        .id
        .clone()
        .ok_or_else(|| ToolError::internal("Gmail saved the draft but didn't tell me where"))?;
    let version = draft.message.as_ref().and_then(|message| message.id.clone()).unwrap_or_default();
    let open = to_open_draft(mailbox, letter, &DraftVersion { id, version })?;
    let content = json!({
        "status": "draft saved", "id": open.id, "link": open.link, "to": letter.to, "subject": letter.subject,
        "shown": "the person sees the draft whole already",
    });
    let words = format!("Draft {} (saved, not sent):\n\n{}", open.label, open.body);
    Ok(ToolOutput::trusted(content).with_verbatim(words).with_follow_up(FollowUp::Draft(Box::new(open))))
}

/// Returns its text for the model.
pub(super) fn draft_output(
    cx: &ToolContext,
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    seen: &DraftVersion,
    by_hand: bool,
) -> Result<ToolOutput, ToolError> {
    let open = to_open_draft(mailbox, letter, seen)?;
    let mut content = json!({
        "id": seen.id, "to": letter.to, "cc": letter.cc, "bcc": letter.bcc, "subject": letter.subject,
        "body": letter.body,
    });
    if by_hand {
        content["changed"] = json!("the person changed it in Gmail; this is the newest text");
    }
    let output = ToolOutput::trusted(content).with_follow_up(FollowUp::Draft(Box::new(open)));
    if !by_hand {
        return Ok(output);
    }
    // Text from the mailbox is private to its owner; an answer might quote the other person's words.
    let quoted = letter
        .reply
        .as_ref()
        .map(|reply| Provenance::untrusted(format!("a draft replying to {}", reply.answers)));
    Ok(output.private_to(cx.principal.person).with_provenance(quoted.unwrap_or(Provenance::Trusted)))
}

/// Returns the result for a draft that is no longer in Gmail.
pub(super) fn gone_output(seen: &DraftVersion) -> ToolOutput {
    let why = "the draft isn't in Gmail any more: it was sent or discarded there";
    ToolOutput::trusted(json!({"status": "gone", "why": why}))
        .with_verbatim("That draft isn't in Gmail any more: it was sent or discarded there.")
        .with_follow_up(FollowUp::DraftClosed {
            draft: seen.id.clone(),
            reason: CloseReason::DeletedExternally,
        })
}

/// Returns the error with the current text, for a caller that worked from an older version.
pub(super) fn outdated_output(
    cx: &ToolContext,
    mailbox: &Mailbox,
    letter: &OutgoingEmail,
    seen: &DraftVersion,
) -> Result<ToolError, ToolError> {
    let mut now = draft_output(cx, mailbox, letter, seen, true)?;
    now.content["status"] = json!("not_done");
    now.content["why"] = json!("the draft was changed in Gmail in the meantime");
    Ok(ToolError::Conflict { current: Box::new(now) })
}

/// Returns the current draft if this effect wrote it.
pub(super) async fn find_written_by(
    mailbox: &Mailbox,
    id: &str,
    key: EffectKey,
) -> Result<Option<Draft>, GoogleApiError> {
    let draft = mailbox.fetch_draft(id).await?;
    let message = draft.message.as_ref();
    let ours = message.is_some_and(|m| drafts::carries(super::message::raw_header(m, EFFECT_HEADER), key));
    Ok(ours.then_some(draft))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::quote::Quoted;
    use super::*;

    #[test]
    fn appended_parts_are_recognised() {
        let nobody = EmailArguments {
            to: vec![],
            cc: vec![],
            bcc: vec![],
            subject: String::new(),
            body: String::new(),
        };
        let quoted = Quoted {
            text: "Bo wrote:\n\n> Hi".into(),
            source_label: "the mail of Bo".into(),
            people: vec![],
        };
        let known = OutgoingEmail {
            signature: Some("Ana".into()),
            quoted: Some(quoted),
            ..OutgoingEmail::new(&nobody, create_draft::NAME, "ana@acme.test").unwrap()
        };
        for (text, body, signed, quoted) in [
            ("Yes.\n\n-- \nAna\n\nBo wrote:\n\n> Hi", "Yes.", true, true),
            ("Yes.\n\n-- \nSales\n\nBo wrote:\n\n> Hi", "Yes.\n\n-- \nSales", false, true),
            ("Yes.\n\n-- \nAna", "Yes.\n\n-- \nAna", false, false),
        ] {
            let (own, below) = split_body(&known, text);
            assert_eq!((own, below.has_signature, below.has_quote), (body, signed, quoted));
        }
    }
}
