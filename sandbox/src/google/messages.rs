//! Messages, threads, profile: everything of Gmail v1 except drafts and labels.

use base64::Engine;
use base64::alphabet::URL_SAFE as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::gmail::ApiRequest;
use super::mailbox::{AccountMailbox, Mailboxes, StoredMessage};
use super::mime::Mime;
use super::payload::{self, Format};
use super::response::{Outcome, Rejection};
use super::search::SearchQuery;
use super::{Account, compose};

const LIST_SIZE: usize = 100;

/// Returns the caller's own mailbox.
pub(super) fn own_mailbox<'a>(
    mail: &'a mut Mailboxes,
    ask: &ApiRequest<'_>,
) -> Result<&'a mut AccountMailbox, Rejection> {
    mail.get_mut(&ask.account.email).ok_or_else(Rejection::not_found)
}

/// Returns the mail in a write: next to the JSON, or inside it as base64url.
pub(super) fn content(ask: &ApiRequest<'_>, message: &Value) -> Result<Option<Vec<u8>>, Rejection> {
    match (message["raw"].as_str(), &ask.body.media) {
        (Some(_), Some(_)) => Err(Rejection::bad_request("The mail is given twice, as raw and as media")),
        (None, media) => Ok(media.clone()),
        (Some(raw), None) => {
            // Gmail accepts base64url with and without padding, only in the URL-safe alphabet.
            let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
            let decoded = GeneralPurpose::new(&ALPHABET, config).decode(raw);
            decoded
                .map(Some)
                .map_err(|_| Rejection::bad_request("Invalid value at 'message.raw' (TYPE_BYTES)"))
        }
    }
}

/// Returns the thread that a write names; it must exist.
pub(super) fn find_thread(
    mail: &mut Mailboxes,
    ask: &ApiRequest<'_>,
    message: &Value,
) -> Result<Option<String>, Rejection> {
    let Some(thread) = message["threadId"].as_str() else { return Ok(None) };
    if own_mailbox(mail, ask)?.thread(thread).is_empty() {
        return Err(Rejection::not_found());
    }
    Ok(Some(thread.to_owned()))
}

/// Gmail adds a mail to a thread only if the request names the thread, the mail's headers refer to a mail in it, and
/// the subject is the same. A real mailbox would silently start another thread; here the mail is rejected.
pub(super) fn joins(
    mail: &mut Mailboxes,
    ask: &ApiRequest<'_>,
    thread: Option<&str>,
    mime: &Mime,
) -> Result<(), Rejection> {
    let Some(thread) = thread else { return Ok(()) };
    let mailbox = own_mailbox(mail, ask)?;
    let there: Vec<&StoredMessage> =
        mailbox.thread(thread).into_iter().filter(|one| !one.has("DRAFT")).collect();
    if there.is_empty() {
        return Ok(());
    }
    let answers = mime.answers();
    let answered = |one: &&&StoredMessage| {
        one.mime.header("Message-ID").is_some_and(|id| answers.iter().any(|answer| answer == id))
    };
    if !there.iter().any(|one| answered(&one)) {
        return Err(Rejection::bad_request(
            "threadId is given, but no In-Reply-To or References leads into that thread",
        ));
    }
    let subject = |mime: &Mime| bare_subject(&mime.decoded_header("Subject").unwrap_or_default());
    if !there.iter().any(|one| subject(&one.mime) == subject(mime)) {
        return Err(Rejection::bad_request("threadId is given, but the Subject is not the thread's"));
    }
    Ok(())
}

fn bare_subject(text: &str) -> String {
    let mut text = text.trim().to_lowercase();
    while let Some(rest) = ["re:", "fwd:", "fw:"].iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest.trim().to_owned();
    }
    text
}

pub(super) fn profile(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let history = mail.history();
    let mailbox = own_mailbox(mail, ask)?;
    let threads: std::collections::BTreeSet<_> = mailbox.messages.iter().map(|one| &one.thread).collect();
    Ok(Some(json!({
        "emailAddress": mailbox.account.email,
        "messagesTotal": mailbox.messages.len(),
        "threadsTotal": threads.len(),
        "historyId": history.to_string(),
    })))
}

/// Returns the messages of a list, newest first, with the delay of the search index applied.
pub(super) fn search_results(
    mail: &mut Mailboxes,
    ask: &ApiRequest<'_>,
    now: DateTime<Utc>,
    only: &[String],
) -> Result<Vec<StoredMessage>, Rejection> {
    let mut wanted = ask.params("labelIds");
    wanted.extend_from_slice(only);
    let text = ask.param("q").unwrap_or_default();
    if ask.metadata_only && !text.is_empty() {
        return Err(Rejection::forbidden("Metadata scope does not support 'q' parameter"));
    }
    let query = SearchQuery::parse(text, now)
        .map_err(|why| Rejection::bad_request(format!("Invalid query: {why}")))?;
    let everywhere = ask.param("includeSpamTrash") == Some("true") || query.is_anywhere();
    let mailbox = own_mailbox(mail, ask)?;
    if let Some(unknown) = wanted.iter().find(|label| !mailbox.knows_label(label)) {
        return Err(Rejection::bad_request(format!("Invalid label: {unknown}")));
    }
    let query = query.with_labels(&mailbox.labels);
    let visible = |one: &&StoredMessage| {
        (text.is_empty() || one.hidden == 0)
            && (everywhere || !(one.has("TRASH") || one.has("SPAM")))
            && wanted.iter().all(|label| one.has(label))
            && query.matches(one)
    };
    let mut all: Vec<StoredMessage> = mailbox.messages.iter().filter(visible).cloned().collect();
    all.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
    if !text.is_empty() {
        mailbox.messages.iter_mut().for_each(|one| one.hidden = one.hidden.saturating_sub(1));
    }
    Ok(all)
}

/// Returns one page of a list in Gmail's format.
pub(super) fn page(ask: &ApiRequest<'_>, name: &str, all: Vec<Value>) -> Outcome {
    let size = ask.param("maxResults").and_then(|text| text.parse().ok()).unwrap_or(LIST_SIZE);
    let from = match ask.param("pageToken") {
        None => 0,
        Some(token) => token.parse::<usize>().map_err(|_| Rejection::bad_request("Invalid pageToken"))?,
    };
    let mut answer = json!({"resultSizeEstimate": all.len()});
    let total = all.len();
    let some: Vec<Value> = all.into_iter().skip(from).take(size).collect();
    if from + some.len() < total {
        answer["nextPageToken"] = json!((from + some.len()).to_string());
    }
    // Gmail omits an empty list.
    if !some.is_empty() {
        answer[name] = json!(some);
    }
    Ok(Some(answer))
}

pub(super) fn list(mail: &mut Mailboxes, ask: &ApiRequest<'_>, now: DateTime<Utc>) -> Outcome {
    let all = search_results(mail, ask, now, &[])?;
    page(ask, "messages", all.iter().map(payload::reference).collect())
}

fn format(ask: &ApiRequest<'_>) -> Result<Format, Rejection> {
    let format =
        Format::parse(ask.param("format"), ask.params("metadataHeaders")).map_err(Rejection::bad_request)?;
    match format {
        Format::Full | Format::Raw if ask.metadata_only => {
            Err(Rejection::forbidden("Metadata scope doesn't allow format FULL"))
        }
        other => Ok(other),
    }
}

pub(super) fn get(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let format = format(ask)?;
    let message = own_mailbox(mail, ask)?.message(ask.id()).ok_or_else(Rejection::not_found)?;
    Ok(Some(payload::message(message, &format)))
}

pub(super) fn attachment(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let message = own_mailbox(mail, ask)?.message(ask.id()).ok_or_else(Rejection::not_found)?;
    let id = ask.ids.get(1).map(String::as_str).unwrap_or_default();
    payload::attachment(&message.mime, id).map(Some).ok_or_else(Rejection::not_found)
}

pub(super) fn send(mail: &mut Mailboxes, ask: &ApiRequest<'_>, now: DateTime<Utc>) -> Outcome {
    let raw = content(ask, &ask.body.json)?;
    let raw = raw.ok_or_else(|| {
        Rejection::bad_request(
            "'raw' RFC822 payload message string or uploading message via /upload/* URL required",
        )
    })?;
    let thread = find_thread(mail, ask, &ask.body.json)?;
    let mime = compose::as_draft(mail, &ask.account, &raw, now)?;
    joins(mail, ask, thread.as_deref(), &mime)?;
    let recipients = compose::envelope(&mime)?;
    let sent =
        mail.send(&ask.account.email, mime, &recipients, thread, now).ok_or_else(Rejection::not_found)?;
    Ok(Some(payload::with_label_ids(&sent)))
}

pub(super) fn threads(mail: &mut Mailboxes, ask: &ApiRequest<'_>, now: DateTime<Utc>) -> Outcome {
    let mut all: Vec<StoredMessage> = Vec::new();
    for one in search_results(mail, ask, now, &[])? {
        if !all.iter().any(|earlier| earlier.thread == one.thread) {
            all.push(one);
        }
    }
    let resource = |one: &StoredMessage| json!({"id": one.thread, "snippet": payload::snippet(&one.mime), "historyId": one.history.to_string()});
    page(ask, "threads", all.iter().map(resource).collect())
}

pub(super) fn thread(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let format = format(ask)?;
    if format == Format::Raw {
        return Err(Rejection::bad_request("Invalid value at 'format': \"raw\""));
    }
    let mailbox = own_mailbox(mail, ask)?;
    let all = mailbox.thread(ask.id());
    let history = all.iter().map(|one| one.history).max().ok_or_else(Rejection::not_found)?;
    let messages: Vec<Value> = all.iter().map(|one| payload::message(one, &format)).collect();
    Ok(Some(json!({"id": ask.id(), "historyId": history.to_string(), "messages": messages})))
}

pub(super) fn send_as(ask: &ApiRequest<'_>) -> Outcome {
    let Account {
        email,
        aliases,
        unverified_aliases: unconfirmed,
        default_alias: usual,
        signatures,
        names,
        answers,
        shared_aliases: shared,
        ..
    } = &ask.account;
    let usual = usual.as_ref().unwrap_or(email);
    let one = |address: &String| {
        json!({
            "sendAsEmail": address, "isDefault": address == usual,
            "displayName": names.get(address).cloned().unwrap_or_default(),
            "replyToAddress": answers.get(address).cloned().unwrap_or_default(),
            "signature": signatures.get(address).cloned().unwrap_or_default(),
        })
    };
    let alias = |address: &String, status: &str| {
        let mut alias = one(address);
        alias["treatAsAlias"] = json!(!shared.contains(address));
        alias["verificationStatus"] = json!(status);
        alias
    };
    let mut own = one(email);
    own["isPrimary"] = json!(true);
    let confirmed = aliases.iter().map(|address| alias(address, "accepted"));
    let pending = unconfirmed.iter().map(|address| alias(address, "pending"));
    let all: Vec<Value> = std::iter::once(own).chain(confirmed).chain(pending).collect();
    Ok(Some(json!({ "sendAs": all })))
}
