//! Mailboxes: messages, labels, threads and drafts of every account, and the delivery of mail between them.
//!
//! It does not handle requests. Ids are counted up, so that a test gets the same ones each time.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::Account;
use super::mime::Mime;

/// Labels that every mailbox has.
pub(super) const SYSTEM_LABELS: [&str; 9] =
    ["INBOX", "SENT", "DRAFT", "UNREAD", "STARRED", "IMPORTANT", "TRASH", "SPAM", "CATEGORY_PERSONAL"];

/// One message in one mailbox.
#[derive(Debug, Clone)]
pub(super) struct StoredMessage {
    pub id: String,
    pub thread: String,
    pub mime: Mime,
    pub labels: BTreeSet<String>,
    pub at: DateTime<Utc>,
    pub history: u64,
    /// From how many more searches it is hidden.
    pub hidden: u32,
}

impl StoredMessage {
    pub fn has(&self, label: &str) -> bool {
        self.labels.contains(label)
    }
}

/// A draft is a message with an additional id; the message's id changes with every edit.
#[derive(Debug, Clone)]
pub(super) struct DraftRow {
    pub id: String,
    pub message: String,
}

/// A label that a person created.
#[derive(Debug, Clone)]
pub(super) struct UserLabel {
    pub id: String,
    pub name: String,
}

#[derive(Debug)]
pub(super) struct AccountMailbox {
    pub account: Account,
    pub labels: Vec<UserLabel>,
    pub messages: Vec<StoredMessage>,
    pub drafts: Vec<DraftRow>,
}

impl AccountMailbox {
    pub fn knows_label(&self, id: &str) -> bool {
        SYSTEM_LABELS.contains(&id) || self.labels.iter().any(|label| label.id == id)
    }

    pub fn message(&self, id: &str) -> Option<&StoredMessage> {
        self.messages.iter().find(|message| message.id == id)
    }

    pub fn thread(&self, id: &str) -> Vec<&StoredMessage> {
        self.messages.iter().filter(|message| message.thread == id).collect()
    }

    /// Returns the draft and its content.
    pub fn draft(&self, id: &str) -> Option<(&DraftRow, &StoredMessage)> {
        let row = self.drafts.iter().find(|draft| draft.id == id)?;
        Some((row, self.message(&row.message)?))
    }

    /// Removes the draft with its content.
    pub fn remove_draft(&mut self, id: &str) -> Option<StoredMessage> {
        let at = self.drafts.iter().position(|draft| draft.id == id)?;
        let row = self.drafts.remove(at);
        let at = self.messages.iter().position(|message| message.id == row.message)?;
        Some(self.messages.remove(at))
    }

    // Gmail's threading: the thread to which the message's references point, else a new one.
    fn thread_of(&self, mime: &Mime) -> Option<String> {
        let answered = mime.answers();
        let named = |stored: &&StoredMessage| {
            stored.mime.header("Message-ID").is_some_and(|id| answered.iter().any(|one| one == id))
        };
        self.messages.iter().rev().find(named).map(|stored| stored.thread.clone())
    }
}

/// Mail sent to an address without an account here.
#[derive(Debug, Clone)]
pub(super) struct OutboxEntry {
    pub recipient: String,
    pub stored: StoredMessage,
}

/// All mailboxes, and the mail sent elsewhere.
#[derive(Debug, Default)]
pub(super) struct Mailboxes {
    boxes: BTreeMap<String, AccountMailbox>,
    pub outbox: Vec<OutboxEntry>,
    pub lag: u32,
    counter: u64,
}

impl Mailboxes {
    pub fn new(accounts: &[Account]) -> Self {
        let mut all = Self::default();
        for account in accounts {
            all.add(account.clone());
        }
        all
    }

    pub fn add(&mut self, account: Account) {
        let mailbox = AccountMailbox {
            account: account.clone(),
            labels: Vec::new(),
            messages: Vec::new(),
            drafts: Vec::new(),
        };
        self.boxes.entry(account.email.to_lowercase()).or_insert(mailbox);
    }

    pub fn accounts(&self) -> Vec<Account> {
        self.boxes.values().map(|mailbox| mailbox.account.clone()).collect()
    }

    pub fn account(&self, email: &str) -> Option<&Account> {
        self.get(email).map(|mailbox| &mailbox.account)
    }

    pub fn get(&self, email: &str) -> Option<&AccountMailbox> {
        self.boxes.get(&email.to_lowercase())
    }

    pub fn get_mut(&mut self, email: &str) -> Option<&mut AccountMailbox> {
        self.boxes.get_mut(&email.to_lowercase())
    }

    pub fn history(&self) -> u64 {
        self.counter + 1000
    }

    pub fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    fn next_id(&mut self) -> String {
        format!("{:016x}", 0x19a_4000_0000_0000_u64 + self.next())
    }

    /// Returns a Message-ID in Gmail's format.
    pub fn message_id(&mut self) -> String {
        format!("<CAsandbox{:08x}@mail.gmail.com>", self.next())
    }

    /// Puts a message into one mailbox, in `thread` or in that of its references. The mailbox must exist.
    pub fn insert_message(
        &mut self,
        email: &str,
        mime: Mime,
        labels: &[&str],
        thread: Option<String>,
        at: DateTime<Utc>,
    ) -> Option<StoredMessage> {
        let id = self.next_id();
        let (history, hidden) = (self.history(), self.lag);
        let mailbox = self.get_mut(email)?;
        let thread = thread.or_else(|| mailbox.thread_of(&mime)).unwrap_or_else(|| id.clone());
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        let stored = StoredMessage { id, thread, mime, labels, at, history, hidden };
        mailbox.messages.push(stored.clone());
        Some(stored)
    }

    /// Puts a draft into one mailbox under `id`, or under a new id.
    pub fn insert_draft(
        &mut self,
        email: &str,
        id: Option<String>,
        mime: Mime,
        thread: Option<String>,
        at: DateTime<Utc>,
    ) -> Option<(String, StoredMessage)> {
        let stored = self.insert_message(email, mime, &["DRAFT"], thread, at)?;
        let id = id.unwrap_or_else(|| format!("r-{}", 7_000_000_000_000_000_000_u64 + self.next()));
        let row = DraftRow { id: id.clone(), message: stored.id.clone() };
        self.get_mut(email)?.drafts.push(row);
        Some((id, stored))
    }

    /// Delivers a complete mail to its recipients, once each; the sender keeps the copy with Bcc.
    pub fn send(
        &mut self,
        from: &str,
        mime: Mime,
        recipients: &BTreeSet<String>,
        thread: Option<String>,
        at: DateTime<Utc>,
    ) -> Option<StoredMessage> {
        let to_self = recipients.iter().any(|one| self.is_own(from, one));
        let labels: &[&str] = if to_self { &["SENT", "INBOX", "UNREAD"] } else { &["SENT"] };
        let sent = self.insert_message(from, mime, labels, thread, at)?;
        let mut copy = sent.mime.clone();
        copy.remove("Bcc");
        let mut reached = BTreeSet::new();
        for recipient in recipients {
            if self.is_own(from, recipient) {
                continue;
            }
            match self.owner_of(recipient) {
                // Two addresses of one mailbox get one delivery.
                Some(owner) if reached.insert(owner.clone()) => {
                    self.insert_message(&owner, copy.clone(), &["INBOX", "UNREAD"], None, at);
                }
                Some(_) => {}
                None => {
                    let stored = StoredMessage { mime: copy.clone(), ..sent.clone() };
                    self.outbox.push(OutboxEntry { recipient: recipient.clone(), stored });
                }
            }
        }
        Some(sent)
    }

    fn is_own(&self, account: &str, address: &str) -> bool {
        self.account(account).is_some_and(|account| account.may_send_as(address))
    }

    pub fn owner_of(&self, address: &str) -> Option<String> {
        let owner = self.boxes.values().find(|mailbox| mailbox.account.may_send_as(address))?;
        Some(owner.account.email.clone())
    }
}
