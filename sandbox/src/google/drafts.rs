//! Drafts: created, updated, sent once, discarded.
//!
//! Sending deletes the draft, so a second send finds nothing. A send request that contains a mail sends that mail,
//! whatever the draft contains meanwhile.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::compose;
use super::gmail::ApiRequest;
use super::mailbox::Mailboxes;
use super::messages::{content, find_thread, joins, own_mailbox, page, search_results};
use super::mime::Mime;
use super::payload::{self, Format};
use super::response::{Outcome, Rejection};

fn resource(id: &str, message: Value) -> Outcome {
    Ok(Some(json!({"id": id, "message": message})))
}

fn parse_draft(mail: &mut Mailboxes, ask: &ApiRequest<'_>, now: DateTime<Utc>) -> Result<Mime, Rejection> {
    let raw = content(ask, &ask.body.json["message"])?;
    let raw = raw.ok_or_else(|| Rejection::bad_request("Missing draft message"))?;
    compose::as_draft(mail, &ask.account, &raw, now)
}

pub(super) fn create(mail: &mut Mailboxes, ask: &ApiRequest<'_>, now: DateTime<Utc>) -> Outcome {
    if ask.body.json.get("id").is_some() {
        return Err(Rejection::bad_request("A new draft has no id yet"));
    }
    let thread = find_thread(mail, ask, &ask.body.json["message"])?;
    let mime = parse_draft(mail, ask, now)?;
    joins(mail, ask, thread.as_deref(), &mime)?;
    let (id, stored) =
        mail.insert_draft(&ask.account.email, None, mime, thread, now).ok_or_else(Rejection::not_found)?;
    resource(&id, payload::with_label_ids(&stored))
}

pub(super) fn update(mail: &mut Mailboxes, ask: &ApiRequest<'_>, now: DateTime<Utc>) -> Outcome {
    if ask.body.json["id"].as_str().is_some_and(|id| id != ask.id()) {
        return Err(Rejection::bad_request("The id in the body is not the id in the path"));
    }
    own_mailbox(mail, ask)?.draft(ask.id()).ok_or_else(Rejection::not_found)?;
    let thread = find_thread(mail, ask, &ask.body.json["message"])?;
    let mime = parse_draft(mail, ask, now)?;
    joins(mail, ask, thread.as_deref(), &mime)?;
    let mailbox = own_mailbox(mail, ask)?;
    let old = mailbox.remove_draft(ask.id()).ok_or_else(Rejection::not_found)?;
    // A thread with other mail is kept only if the request names it again, or by the headers.
    let alone = mailbox.thread(&old.thread).is_empty();
    let thread = thread.or_else(|| alone.then_some(old.thread));
    let put = mail.insert_draft(&ask.account.email, Some(ask.id().to_owned()), mime, thread, now);
    let (id, stored) = put.ok_or_else(Rejection::not_found)?;
    resource(&id, payload::with_label_ids(&stored))
}

pub(super) fn get(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let format = Format::parse(ask.param("format"), Vec::new()).map_err(Rejection::bad_request)?;
    let mailbox = own_mailbox(mail, ask)?;
    let (row, message) = mailbox.draft(ask.id()).ok_or_else(Rejection::not_found)?;
    resource(&row.id, payload::message(message, &format))
}

pub(super) fn list(mail: &mut Mailboxes, ask: &ApiRequest<'_>, now: DateTime<Utc>) -> Outcome {
    let all = search_results(mail, ask, now, &["DRAFT".to_owned()])?;
    let mailbox = own_mailbox(mail, ask)?;
    let resource = |message: &super::mailbox::StoredMessage| {
        let row = mailbox.drafts.iter().find(|row| row.message == message.id)?;
        Some(json!({"id": row.id, "message": payload::reference(message)}))
    };
    let drafts = all.iter().filter_map(resource).collect();
    page(ask, "drafts", drafts)
}

pub(super) fn send(mail: &mut Mailboxes, ask: &ApiRequest<'_>, now: DateTime<Utc>) -> Outcome {
    let body = &ask.body.json;
    let id = body["id"].as_str().ok_or_else(|| Rejection::bad_request("Missing draft id"))?;
    let (_, draft) = own_mailbox(mail, ask)?.draft(id).ok_or_else(Rejection::not_found)?;
    let (raw, thread) = (draft.mime.raw(), draft.thread.clone());
    let raw = content(ask, &body["message"])?.unwrap_or(raw);
    let named = find_thread(mail, ask, &body["message"])?;
    let mime = compose::as_draft(mail, &ask.account, &raw, now)?;
    joins(mail, ask, named.as_deref(), &mime)?;
    let thread = named.unwrap_or(thread);
    let recipients = compose::envelope(&mime)?;
    own_mailbox(mail, ask)?.remove_draft(id);
    let sent = mail.send(&ask.account.email, mime, &recipients, Some(thread), now);
    Ok(Some(payload::with_label_ids(&sent.ok_or_else(Rejection::not_found)?)))
}

pub(super) fn delete(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    own_mailbox(mail, ask)?.remove_draft(ask.id()).ok_or_else(Rejection::not_found)?;
    Ok(None)
}
