//! A draft that stays open: how it is told to the core, and what it has become in Gmail meanwhile. What the
//! person writes there by hand counts, and nothing of it is overwritten unseen.

use google_gmail1::api::Draft;
use mail_parser::{Addr, Address, MessageParser};
use nod_core::draft::{Closing, Draft as Open, DraftTools};
use nod_core::effect::EffectKey;
use nod_core::privacy::Provenance;
use nod_core::tool::{Fault, Leaves, ToolContext, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::Recipient;
use super::letter::{Asked, Letter, Seen};
use super::mailbox::Mailbox;
use super::mime::EFFECT_HEADER;
use super::trouble::Trouble;
use super::{discard_draft, drafts, read_draft, send_draft, update_draft};

/// How an open draft stands in Gmail now.
pub(super) enum Now {
    /// As it was seen, but for a version that may be newer.
    Same(Box<Letter>, Seen),
    /// Changed by hand.
    Changed(Box<Letter>, Seen),
    /// Sent or thrown away.
    Gone,
}

/// The argument of the tools that work on an open draft.
pub(super) fn argument() -> Value {
    json!({"type": "string", "format": "draft", "maxLength": 100,
        "description": "Its id, where several are open; the newest if left out."})
}

/// The open draft that the core handed in, as it was seen last.
pub(super) fn handed(args: &Value) -> Result<(Letter, Seen), Fault> {
    let open = Open::deserialize(&args["draft"]).map_err(|error| Fault::broken(error.to_string()))?;
    let letter = Letter::deserialize(&open.letter).map_err(|error| Fault::broken(error.to_string()))?;
    Ok((letter, Seen { id: open.id, version: open.version }))
}

/// What became of it.
pub(super) async fn now(mailbox: &Mailbox, letter: &Letter, seen: &Seen) -> Result<Now, Fault> {
    letter.of_this_account(mailbox)?;
    let draft = match mailbox.draft_whole(&seen.id).await {
        Ok(draft) => draft,
        Err(trouble) if trouble.is_gone() => return Ok(Now::Gone),
        Err(trouble) => return Err(trouble.looking("the draft")),
    };
    let message = draft.message.unwrap_or_default();
    let seen_now = Seen { id: seen.id.clone(), version: message.id.unwrap_or_default() };
    if seen_now.version == seen.version {
        return Ok(Now::Same(Box::new(letter.clone()), seen_now));
    }
    let written = written(letter, &message.raw.unwrap_or_default())?;
    let same = Letter { body: written.body.clone(), ..letter.clone() } == written
        && letter.body.trim_end() == written.body.trim_end();
    Ok(match same {
        true => Now::Same(Box::new(letter.clone()), seen_now),
        false => Now::Changed(Box::new(written), seen_now),
    })
}

/// Reads what stands in the draft, in the place of what was known of it.
fn written(known: &Letter, raw: &[u8]) -> Result<Letter, Fault> {
    let mail = MessageParser::new().parse(raw);
    let mail = mail.ok_or_else(|| Fault::broken("the draft in Gmail cannot be read"))?;
    if mail.attachment_count() > 0 {
        let reason =
            "the draft has attachments now, which I cannot carry; change and send it in Gmail".into();
        return Err(Fault::Forbidden { reason });
    }
    let body = mail.body_text(0).unwrap_or_default().replace("\r\n", "\n");
    let asked = Asked {
        to: people(mail.to()),
        cc: people(mail.cc()),
        bcc: people(mail.bcc()),
        subject: mail.subject().unwrap_or_default().to_owned(),
        body: body.trim_end_matches('\n').to_owned(),
    };
    let letter = Letter::new(&asked, &known.tool, &known.from)?;
    Ok(Letter { reply: known.reply.clone(), ..letter })
}

fn people(list: Option<&Address<'_>>) -> Vec<String> {
    list.map(|list| list.iter().map(person).collect()).unwrap_or_default()
}

/// A name that we would not write is left out; a wrong address is refused later, by its own name.
fn person(one: &Addr<'_>) -> String {
    let address = one.address().unwrap_or_default().to_owned();
    let named = one.name().map(|name| format!("{name} <{address}>"));
    let sound = |text: &String| Recipient::parse(text).is_ok();
    named.filter(sound).unwrap_or(address)
}

/// The draft as the core keeps it.
fn told(mailbox: &Mailbox, letter: &Letter, seen: &Seen) -> Result<Open, Fault> {
    let letter = Letter { draft: None, ..letter.clone() };
    Ok(Open {
        id: seen.id.clone(),
        version: seen.version.clone(),
        letter: letter.payload()?,
        fields: letter.fields(),
        body: letter.body.clone(),
        label: letter.label(),
        link: drafts::link(mailbox.address(), &format!("drafts/{}", seen.version)),
        place: "Gmail".to_owned(),
        tools: DraftTools {
            read: read_draft::NAME.to_owned(),
            update: update_draft::NAME.to_owned(),
            send: send_draft::NAME.to_owned(),
            discard: discard_draft::NAME.to_owned(),
        },
    })
}

/// Written, and open from now on.
pub(super) fn saved(mailbox: &Mailbox, letter: &Letter, draft: &Draft) -> Result<ToolOutput, Fault> {
    let id = draft.id.clone().ok_or_else(|| Fault::broken("Gmail made a draft without an id"))?;
    let version = draft.message.as_ref().and_then(|message| message.id.clone()).unwrap_or_default();
    let open = told(mailbox, letter, &Seen { id, version })?;
    let content = json!({
        "status": "draft saved", "id": open.id, "link": open.link, "to": letter.to, "subject": letter.subject,
        "shown": "the person sees the draft whole already",
    });
    let words = format!("Draft {} (saved, not sent):\n\n{}", open.label, open.body);
    Ok(ToolOutput::ours(content).verbatim(words).leaving(Leaves::Draft(Box::new(open))))
}

/// Its text for whoever is to work on it.
pub(super) fn text(
    cx: &ToolContext,
    mailbox: &Mailbox,
    letter: &Letter,
    seen: &Seen,
    by_hand: bool,
) -> Result<ToolOutput, Fault> {
    let open = told(mailbox, letter, seen)?;
    let mut content = json!({
        "id": seen.id, "to": letter.to, "cc": letter.cc, "bcc": letter.bcc, "subject": letter.subject,
        "body": letter.body,
    });
    if by_hand {
        content["changed"] = json!("the person changed it in Gmail; this is the newest text");
    }
    let output = ToolOutput::ours(content).leaving(Leaves::Draft(Box::new(open)));
    if !by_hand {
        return Ok(output);
    }
    // What was written in the mailbox is for its owner; under an answer the other's words may be quoted.
    let quoted = letter
        .reply
        .as_ref()
        .map(|reply| Provenance::outside(format!("a draft that answers {}", reply.answers)));
    Ok(output.private(cx.principal.person).written_by(quoted.unwrap_or(Provenance::Ours)))
}

/// It is in Gmail no more.
pub(super) fn gone(seen: &Seen) -> ToolOutput {
    let why = "the draft is not in Gmail any more: it was sent or thrown away there";
    ToolOutput::ours(json!({"status": "gone", "why": why}))
        .verbatim("That draft is not in Gmail any more: it was sent or thrown away there. I did nothing.")
        .leaving(Leaves::Closed { draft: seen.id.clone(), how: Closing::Gone })
}

/// What it says now, to a caller who worked from something older.
pub(super) fn outdated(
    cx: &ToolContext,
    mailbox: &Mailbox,
    letter: &Letter,
    seen: &Seen,
) -> Result<Fault, Fault> {
    let mut now = text(cx, mailbox, letter, seen, true)?;
    now.content["status"] = json!("not_done");
    now.content["why"] = json!("the draft was changed in Gmail meanwhile, so nothing was done");
    Ok(Fault::Outdated { now: Box::new(now) })
}

/// Whether this effect wrote the draft that is there now.
pub(super) async fn carries(mailbox: &Mailbox, id: &str, key: EffectKey) -> Result<Option<Draft>, Trouble> {
    let draft = mailbox.draft(id).await?;
    let message = draft.message.as_ref();
    let ours = message.is_some_and(|m| drafts::carries(super::message::raw_header(m, EFFECT_HEADER), key));
    Ok(ours.then_some(draft))
}
