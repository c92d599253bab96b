//! `gmail_reply` and `gmail_draft_reply`: answers a mail in its thread.
//!
//! The recipients, the subject and the headers of the thread are read from that mail and never written by a model,
//! which gives the text and names the thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use google_gmail1::api::Message;
use jiff::tz::TimeZone;
use nod_contract::card::FieldError;
use nod_contract::clock::Timestamp;
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::tool::{
    ActTool, EffectLookup, FieldValue, Preview, Reach, ToolContext, ToolError, ToolResult, ToolSpec,
};
use nod_people::reading::Unread;
use serde::Deserialize;
use serde_json::{Value, json};

use super::address::Recipient;
use super::identity::Identities;
use super::mailbox::Mailbox;
use super::message::{Body, has_label, header, header_recipients, raw_header, sender};
use super::outgoing_email::{BODY_CHARS, EmailArguments, OutgoingEmail, Reply, SUBJECT_CHARS};
use super::{create_draft, outgoing_attachments, parse_arguments, quote, send_email};
use crate::google::account::Accounts;
use crate::google::reading;
use nod_contract::tool::effect::{EffectKey, Permit};

/// Sends the answer.
pub(super) const SEND: &str = "gmail_reply";
/// Saves the answer as a draft.
pub(super) const DRAFT: &str = "gmail_draft_reply";
/// The maximum number of Message-IDs in `References`: the first and the newest, as RFC 5537 advises.
const MAX_REFERENCES: usize = 20;
const MAX_MESSAGE_ID_CHARS: usize = 250;

/// The tool, in one of its two forms.
pub(super) struct ReplyTool {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

#[derive(Deserialize)]
struct Arguments {
    thread_id: String,
    body: String,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    cc: Vec<String>,
    from: Option<String>,
    #[serde(default)]
    attach: Vec<outgoing_attachments::AttachmentArgument>,
    #[serde(default = "default_true")]
    quote: bool,
}

fn default_true() -> bool {
    true
}

impl ReplyTool {
    /// Creates the tool that sends the answer after an approval.
    pub(super) fn for_sending(accounts: Arc<Accounts>) -> Self {
        let description = include_str!("../../../prompts/gmail_reply.md");
        let spec = super::spec(SEND, description, "Writing a reply", Reach::Others, parameters());
        Self { spec, accounts }
    }

    /// Creates the tool that saves the answer as a draft.
    pub(super) fn for_draft(accounts: Arc<Accounts>) -> Self {
        let description = include_str!("../../../prompts/gmail_draft_reply.md");
        let spec = super::spec(DRAFT, description, "Writing a draft", Reach::Drafts, parameters());
        Self { spec, accounts }
    }

    fn build_preview(&self, letter: &OutgoingEmail) -> Result<Preview, ToolError> {
        match self.spec.name {
            DRAFT => letter.preview("Save this draft?", create_draft::action_labels(), false),
            _ => send_email::approval_preview(letter),
        }
    }

    fn parse_payload(&self, payload: &Value) -> Result<OutgoingEmail, ToolError> {
        OutgoingEmail::from_payload(payload, self.spec.name)
    }
}

/// Returns the schema of the argument for the sender, for every tool that writes mail.
pub(super) fn sender_schema() -> Value {
    json!({"type": "string", "minLength": 3, "maxLength": 320,
        "description": "Which of the person's own addresses it is sent from, where they named one."})
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "thread_id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$",
                "description": "The thread to answer: from a hint, or from a tool that lists or reads mail."},
            "body": {"type": "string", "minLength": 1, "maxLength": BODY_CHARS, "description": "Plain text, whole."},
            "all": {"type": "boolean", "description": "Whether everybody in that mail gets it; false if left out."},
            "cc": {"type": "array", "maxItems": 50,
                "description": "Further people that the person named: addresses, or names.",
                "items": {"type": "string", "minLength": 1, "maxLength": 320, "format": "recipient"}},
            "from": sender_schema(),
            "attach": outgoing_attachments::argument(),
            "quote": {"type": "boolean",
                "description": "Whether that mail is quoted below the text; true if left out."},
        },
        "required": ["thread_id", "body"],
        "additionalProperties": false,
    })
}

#[async_trait]
impl ActTool for ReplyTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn preview(&self, cx: &ToolContext, args: &Value) -> Result<Preview, ToolError> {
        let wanted: Arguments = parse_arguments(args)?;
        let mailbox = self.accounts.mailbox(cx).await?;
        let answer = compose_reply(cx, &mailbox, wanted, self.spec.name).await?;
        let preview = Preview {
            audience: Audience::Person(cx.principal.person),
            provenance: Provenance::untrusted(answer.source),
            thread_participants: answer.participants,
            ..self.build_preview(&answer.letter)?
        };
        Ok(match self.spec.name {
            DRAFT => preview,
            _ => send_email::add_first_contacts(&mailbox, preview).await,
        })
    }

    fn revise(
        &self,
        payload: &Value,
        filled: &BTreeMap<String, FieldValue>,
        _: Timestamp,
        _: &TimeZone,
    ) -> Result<Preview, Vec<FieldError>> {
        let broken = |fault: ToolError| vec![FieldError::new("body", fault.to_string())];
        let draft = self.spec.name == DRAFT;
        let letter = self.parse_payload(payload).map_err(broken)?.apply_form(filled, !draft)?;
        self.build_preview(&letter).map_err(broken)
    }

    async fn prepare(&self, cx: &ToolContext, payload: &Value, key: EffectKey) -> Result<Value, ToolError> {
        if self.spec.name == DRAFT {
            return Ok(json!({}));
        }
        let mailbox = self.accounts.mailbox(cx).await?;
        send_email::prepare_email(cx, &mailbox, &self.parse_payload(payload)?, key).await
    }

    async fn perform(&self, cx: &ToolContext, payload: &Value, handle: &Value, permit: Permit) -> ToolResult {
        let (letter, mailbox) = (self.parse_payload(payload)?, self.accounts.mailbox(cx).await?);
        match self.spec.name {
            DRAFT => create_draft::create_from_email(cx, &mailbox, &letter, permit.key()).await,
            _ => send_email::send_email(&mailbox, &letter, handle, permit.key()).await,
        }
    }

    async fn find_effect(
        &self,
        cx: &ToolContext,
        payload: &Value,
        handle: &Value,
        key: EffectKey,
    ) -> Result<EffectLookup, ToolError> {
        let (letter, mailbox) = (self.parse_payload(payload)?, self.accounts.mailbox(cx).await?);
        match self.spec.name {
            DRAFT => create_draft::find_created_draft(&mailbox, &letter, key).await,
            _ => send_email::find_sent_email(&mailbox, &letter, handle, key).await,
        }
    }
}

struct ComposedReply {
    letter: OutgoingEmail,
    /// By name and address: who wrote and who read the answered mail, without whoever its Reply-To names.
    participants: Vec<(String, String)>,
    source: String,
}

async fn compose_reply(
    cx: &ToolContext,
    mailbox: &Mailbox,
    wanted: Arguments,
    tool: &str,
) -> Result<ComposedReply, ToolError> {
    let newest = fetch_newest(mailbox, &wanted.thread_id).await?;
    let identities = Identities::fetch(mailbox).await?;
    let mine = is_own_mail(&newest, &identities);
    let (to, mut cc) = recipients(&newest, mine, &|address| identities.is_own_address(address), wanted.all);
    cc.extend(wanted.cc);
    let of = header_line(&header(&newest, "Subject"));
    let asked = EmailArguments { to, cc, bcc: Vec::new(), subject: subject(&of), body: wanted.body };
    let from = sender(&newest).unwrap_or_else(|| "an unknown sender".to_owned());
    let tied = reply_headers(&newest, wanted.thread_id, &of, &from);
    let quoted = match wanted.quote {
        true => {
            let body = Body::read(&newest, &mut mailbox.reading().open_session()).await.map_err(unquoted)?;
            Some(quote::quote_for_reply(&newest, &body, &from, &cx.principal.zone))
        }
        false => None,
    };
    let letter = OutgoingEmail {
        quoted,
        attachments: outgoing_attachments::resolve_attachments(mailbox, &wanted.attach).await?,
        // The Reply-To of the person's own mail is meant for other people.
        reply: Some(Reply { reply_to: tied.reply_to.clone().filter(|_| !mine), ..tied }),
        ..OutgoingEmail::new(&asked, tool, mailbox.address())?
            .with_sender(&identities.choose(wanted.from.as_deref(), Some(&newest))?)
    };
    let participants = ["From", "To", "Cc"].iter().flat_map(|name| header_recipients(&newest, name));
    let participants = participants.map(|one| (one.name.unwrap_or_default(), one.address)).collect();
    Ok(ComposedReply { source: format!("an email from {from}"), participants, letter })
}

fn unquoted(unread: Unread) -> ToolError {
    reading::to_tool_error(unread, "that mail cannot be read safely; answer it without quoting it")
}

/// Returns the whole newest mail of a thread.
pub(super) async fn fetch_newest(mailbox: &Mailbox, thread: &str) -> Result<Message, ToolError> {
    let looking = |trouble: crate::google::api_error::GoogleApiError| trouble.into_read_error("that email");
    let all =
        mailbox.fetch_thread(thread, Some(&["Subject"])).await.map_err(looking)?.messages.unwrap_or_default();
    let newest = all.iter().rev().find(|message| !has_label(message, "DRAFT"));
    let id = newest.and_then(|message| message.id.as_deref());
    let id = id.ok_or_else(|| ToolError::NotFound { what: "that email".into() })?;
    mailbox.fetch_message(id).await.map_err(looking)
}

/// Returns what links a letter to a mail.
pub(super) fn reply_headers(mail: &Message, thread_id: String, subject: &str, from: &str) -> Reply {
    Reply {
        thread_id,
        in_reply_to: ids(mail, "Message-ID").pop(),
        references: references(mail),
        answers: format!("“{subject}” from {from}"),
        subject: Some(subject.to_owned()),
        reply_to: reply_to_elsewhere(mail, from),
        forwards: false,
    }
}

/// Returns whether the person wrote it. Mail from an address that they share with others is theirs if it was sent from
/// this mailbox.
fn is_own_mail(mail: &Message, identities: &Identities) -> bool {
    let sent = has_label(mail, "SENT");
    sender(mail).is_some_and(|from| identities.is_own_address(&from) || (sent && identities.sends_as(&from)))
}

/// Returns the recipients of an answer: the mail's Reply-To or else its sender; for the person's own mail, its
/// recipients. With `all`, also all others on it.
fn recipients(
    mail: &Message,
    mine: bool,
    own: &dyn Fn(&str) -> bool,
    all: bool,
) -> (Vec<String>, Vec<String>) {
    let asked = header_recipients(mail, "Reply-To");
    let to = match (mine, asked.is_empty()) {
        (true, _) => header_recipients(mail, "To"),
        (false, false) => asked,
        (false, true) => header_recipients(mail, "From"),
    };
    let mut cc: Vec<Recipient> = Vec::new();
    if all {
        let others = header_recipients(mail, "To").into_iter().chain(header_recipients(mail, "Cc"));
        let known = |one: &Recipient, list: &[Recipient]| {
            list.iter().any(|r| r.address.eq_ignore_ascii_case(&one.address))
        };
        for one in others {
            if !own(&one.address) && !known(&one, &to) && !known(&one, &cc) {
                cc.push(one);
            }
        }
    }
    let written = |list: Vec<Recipient>| list.iter().map(ToString::to_string).collect();
    (written(to), written(cc))
}

/// Returns the other address to which the mail asks answers to go; the person should know of it.
fn reply_to_elsewhere(mail: &Message, from: &str) -> Option<String> {
    let asked = header_recipients(mail, "Reply-To");
    let other = asked.iter().find(|one| !one.address.eq_ignore_ascii_case(from));
    other.map(|one| one.address.clone())
}

/// Adds the prefix once; prefixes in other languages count too. Gmail requires the thread's own subject.
fn subject(of: &str) -> String {
    let start: String = of.chars().take(8).collect::<String>().to_lowercase();
    let mark = start.split(':').next().filter(|_| start.contains(':')).unwrap_or_default();
    // "Re[2]:" counts.
    let mark = mark.trim_end().trim_end_matches(|c: char| c.is_ascii_digit() || "[]()".contains(c));
    let answered = ["re", "aw", "sv", "antw", "odp", "ynt", "res", "回复", "答复"].contains(&mark);
    if answered { of.to_owned() } else { format!("Re: {of}") }
}

/// Returns the text on one line, limited to the length of a header.
pub(super) fn header_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut text = plain.trim().to_owned();
    text.truncate(text.floor_char_boundary(SUBJECT_CHARS - 8));
    text
}

fn references(mail: &Message) -> Vec<String> {
    let mut all = ids(mail, "References");
    if all.is_empty() {
        all = ids(mail, "In-Reply-To");
    }
    all.extend(ids(mail, "Message-ID"));
    all.dedup();
    let surplus = all.len().saturating_sub(MAX_REFERENCES);
    all.drain(1.min(all.len())..(1 + surplus).min(all.len()));
    all
}

/// Returns the Message-IDs of a header, without their brackets. They are untrusted and become headers of ours, so a
/// value that is not clearly a Message-ID is left out.
fn ids(mail: &Message, name: &str) -> Vec<String> {
    let value = raw_header(mail, name).unwrap_or_default();
    let id = |word: &str| {
        let id = word.strip_prefix('<')?.strip_suffix('>')?;
        let plain = id.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '<' | '>'));
        (plain && !id.is_empty() && id.len() <= MAX_MESSAGE_ID_CHARS).then(|| id.to_owned())
    };
    value.split_whitespace().filter_map(id).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use google_gmail1::api::{MessagePart, MessagePartHeader};

    use super::*;

    fn mail(headers: &[(&str, &str)]) -> Message {
        let header = |(name, value): &(&str, &str)| MessagePartHeader {
            name: Some((*name).to_owned()),
            value: Some((*value).to_owned()),
        };
        let headers = Some(headers.iter().map(header).collect());
        Message { payload: Some(MessagePart { headers, ..Default::default() }), ..Default::default() }
    }

    const ME: &str = "ana@acme.test";

    #[test]
    fn an_answer_goes_where_the_mail_says() {
        let from = ("From", "Kim Vale <kim@x.test>");
        let to = ("To", "ana@acme.test, Bo <bo@acme.test>");
        let cc = ("Cc", "cho@acme.test, KIM@x.test");
        let elsewhere = ("Reply-To", "desk@y.test");
        let own = |address: &str| [ME, "sales@acme.test"].iter().any(|one| one.eq_ignore_ascii_case(address));
        let owned = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        for (headers, all, wanted_to, wanted_cc) in [
            (&[from, to, cc][..], false, &["Kim Vale <kim@x.test>"][..], &[][..]),
            (&[from, to, cc], true, &["Kim Vale <kim@x.test>"], &["Bo <bo@acme.test>", "cho@acme.test"]),
            (
                &[from, ("To", "Sales@acme.test, bo@acme.test")],
                true,
                &["Kim Vale <kim@x.test>"],
                &["bo@acme.test"],
            ),
            (
                &[("From", "sales@acme.test"), ("To", "bo@acme.test"), cc],
                true,
                &["bo@acme.test"],
                &["cho@acme.test", "KIM@x.test"],
            ),
            (&[from, to, elsewhere], false, &["desk@y.test"], &[]),
            (&[("From", ME), ("To", "bo@acme.test")], false, &["bo@acme.test"], &[]),
            (&[("From", "\"ceo@acme.test\" <eve@x.test>")], false, &["eve@x.test"], &[]),
            (&[("From", "nobody")], false, &[], &[]),
        ] {
            let mail = mail(headers);
            let mine = sender(&mail).is_some_and(|from| own(&from));
            assert_eq!(
                recipients(&mail, mine, &own, all),
                (owned(wanted_to), owned(wanted_cc)),
                "{headers:?}"
            );
        }
        let asked = reply_to_elsewhere(&mail(&[from, elsewhere]), "kim@x.test");
        assert_eq!(asked.as_deref(), Some("desk@y.test"));
        assert_eq!(reply_to_elsewhere(&mail(&[from]), "kim@x.test"), None);
    }

    #[test]
    fn the_headers_tie_it_to_the_thread_and_carry_nothing_else() {
        let long = format!("<{}@x.test>", "a".repeat(300));
        let references = format!("<1@x.test> <b\u{e9}@x> {long} Bcc: <2@x.test>");
        let mail = mail(&[("References", &references), ("Message-ID", "<3@x.test>")]);
        assert_eq!(super::references(&mail), ["1@x.test", "2@x.test", "3@x.test"]);
        let many: Vec<String> = (0..40).map(|n| format!("<{n}@x.test>")).collect();
        let mail = self::mail(&[("References", &many.join(" ")), ("Message-ID", "<40@x.test>")]);
        let kept = super::references(&mail);
        assert_eq!((kept.len(), kept[0].as_str(), kept[19].as_str()), (20, "0@x.test", "40@x.test"));
    }

    #[test]
    fn a_subject_says_re_once() {
        assert_eq!(subject("Lunch?"), "Re: Lunch?");
        for said in ["RE: Lunch?", "AW: Lunch?", "Sv: Lunch?", "Re[2]: Lunch?", "RE : Lunch?"] {
            assert_eq!(subject(said), said);
        }
        assert_eq!(subject("Report: Lunch"), "Re: Report: Lunch");
        assert_eq!(subject(&header_line("a\r\nBcc: x")), "Re: a  Bcc: x");
        assert_eq!(subject(&header_line(&"é".repeat(900))).len(), 994);
    }
}
