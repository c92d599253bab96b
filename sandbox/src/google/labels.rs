//! Labels: those of every mailbox, those that people create, and which messages have them.

use serde_json::{Value, json};

use super::gmail::ApiRequest;
use super::mailbox::{AccountMailbox, Mailboxes, SYSTEM_LABELS, UserLabel};
use super::messages::own_mailbox;
use super::payload;
use super::response::{Outcome, Rejection};

/// Google's limits.
const MAX_NAME_CHARS: usize = 225;
const MAX_IDS: usize = 1_000;
/// Gmail sets these itself and does not accept them in requests.
const FIXED: [&str; 2] = ["SENT", "DRAFT"];
/// Names that Gmail's own interface uses, so a user label cannot have them.
const RESERVED: [&str; 9] =
    ["inbox", "sent", "drafts", "draft", "unread", "starred", "important", "trash", "spam"];

fn resource(label: &UserLabel) -> Value {
    json!({
        "id": label.id, "name": label.name, "type": "user",
        "labelListVisibility": "labelShow", "messageListVisibility": "show",
    })
}

pub(super) fn list(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let system = SYSTEM_LABELS.iter().map(|id| json!({"id": id, "name": id, "type": "system"}));
    let all: Vec<Value> = system.chain(own_mailbox(mail, ask)?.labels.iter().map(resource)).collect();
    Ok(Some(json!({ "labels": all })))
}

pub(super) fn get(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let mailbox = own_mailbox(mail, ask)?;
    let id = ask.id();
    let made = mailbox.labels.iter().find(|label| label.id == id).map(resource);
    let system = SYSTEM_LABELS.contains(&id).then(|| json!({"id": id, "name": id, "type": "system"}));
    let mut label = made.or(system).ok_or_else(Rejection::not_found)?;
    let inside: Vec<_> = mailbox.messages.iter().filter(|one| one.has(id)).collect();
    label["messagesTotal"] = json!(inside.len());
    label["messagesUnread"] = json!(inside.iter().filter(|one| one.has("UNREAD")).count());
    Ok(Some(label))
}

pub(super) fn create(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let name = ask.body.json["name"].as_str().unwrap_or_default();
    if ask.body.json.get("id").is_some() {
        return Err(Rejection::bad_request("A new label has no id yet"));
    }
    if name.trim().is_empty() || name.trim() != name || name.chars().count() > MAX_NAME_CHARS {
        return Err(Rejection::bad_request("Invalid label name"));
    }
    let lower = name.to_lowercase();
    if RESERVED.contains(&lower.as_str()) || lower.starts_with("category_") {
        return Err(Rejection::bad_request("Invalid label name"));
    }
    if own_mailbox(mail, ask)?.labels.iter().any(|label| label.name.to_lowercase() == lower) {
        return Err(Rejection::conflict("Label name exists or conflicts"));
    }
    let id = format!("Label_{}", mail.next());
    let label = UserLabel { id, name: name.to_owned() };
    let shown = resource(&label);
    own_mailbox(mail, ask)?.labels.push(label);
    Ok(Some(shown))
}

/// Changes the labels of one message.
pub(super) fn modify(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let change = LabelChange::from_request(own_mailbox(mail, ask)?, ask)?;
    let history = mail.next() + 1000;
    let mailbox = own_mailbox(mail, ask)?;
    let message =
        mailbox.messages.iter_mut().find(|one| one.id == ask.id()).ok_or_else(Rejection::not_found)?;
    change.apply(message, history);
    Ok(Some(payload::with_label_ids(message)))
}

/// Changes the labels of many messages. As documented for Gmail, ids that do not exist are ignored.
pub(super) fn batch_modify(mail: &mut Mailboxes, ask: &ApiRequest<'_>) -> Outcome {
    let ids = names(ask, "ids");
    if ids.is_empty() || ids.len() > MAX_IDS {
        return Err(Rejection::bad_request(format!("{} ids; 1 to {MAX_IDS} are taken", ids.len())));
    }
    let change = LabelChange::from_request(own_mailbox(mail, ask)?, ask)?;
    let history = mail.next() + 1000;
    for message in own_mailbox(mail, ask)?.messages.iter_mut().filter(|one| ids.contains(&one.id)) {
        change.apply(message, history);
    }
    Ok(None)
}

fn names(ask: &ApiRequest<'_>, key: &str) -> Vec<String> {
    let all = ask.body.json[key].as_array().into_iter().flatten();
    all.filter_map(|label| label.as_str().map(str::to_owned)).collect()
}

struct LabelChange {
    add: Vec<String>,
    remove: Vec<String>,
}

impl LabelChange {
    fn from_request(mailbox: &AccountMailbox, ask: &ApiRequest<'_>) -> Result<Self, Rejection> {
        let change = Self { add: names(ask, "addLabelIds"), remove: names(ask, "removeLabelIds") };
        let all = || change.add.iter().chain(&change.remove);
        if all().next().is_none() {
            return Err(Rejection::bad_request("No label add or removes specified"));
        }
        if let Some(label) =
            all().find(|label| !mailbox.knows_label(label) || FIXED.contains(&label.as_str()))
        {
            return Err(Rejection::bad_request(format!("Invalid label: {label}")));
        }
        if change.add.iter().any(|label| change.remove.contains(label)) {
            return Err(Rejection::bad_request("Cannot both add and remove the same label"));
        }
        Ok(change)
    }

    fn apply(&self, message: &mut super::mailbox::StoredMessage, history: u64) {
        message.labels.extend(self.add.iter().cloned());
        message.labels.retain(|label| !self.remove.contains(label));
        message.history = history;
    }
}
