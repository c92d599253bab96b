//! What tests and the demo can read and change in the fake, outside of the vendor's protocol.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};

use super::compose::{as_draft, encoded, envelope, phrase};
use super::consent::{Choice, ConsentRequest, decide};
use super::mailbox::UserLabel;
use super::mime::Mime;
use super::model::{DraftEdit, IncomingMail, MailMessage, OutgoingMail};
use super::{Account, ApiCall, Google};

/// Separates the parts of a mail with files.
const BOUNDARY: &str = "nod-sandbox-part";

/// The tokens of a grant that was made without a browser.
#[derive(Clone)]
pub struct TokenPair {
    pub access_token: String,
    pub refresh_token: String,
}

impl std::fmt::Debug for TokenPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(…)")
    }
}

/// Consent.
impl Google {
    /// Goes through the consent page as `email`, and grants `scopes`, or all that were requested. Returns the address
    /// to which the browser is redirected.
    ///
    /// # Errors
    /// The text of the page if the request is not valid.
    pub fn consent(&self, auth_url: &str, email: &str, scopes: Option<&[&str]>) -> Result<String, String> {
        let ask = self.ask(auth_url)?;
        let scopes = match scopes {
            Some(some) => some.iter().map(|&scope| scope.to_owned()).collect(),
            None => ask.scopes().clone(),
        };
        decide(&self.shared, &ask, Choice::Allow { email: email.to_owned(), scopes })
    }

    /// Clicks Cancel on the consent page.
    ///
    /// # Errors
    /// As [`Google::consent`].
    pub fn refuse_consent(&self, auth_url: &str) -> Result<String, String> {
        decide(&self.shared, &self.ask(auth_url)?, Choice::Deny)
    }

    fn ask(&self, auth_url: &str) -> Result<ConsentRequest, String> {
        let url = url::Url::parse(auth_url).map_err(|error| error.to_string())?;
        if url.path() != "/o/oauth2/v2/auth" || !auth_url.starts_with(&self.auth_url()) {
            return Err(format!("{} is not the consent page", url.path()));
        }
        ConsentRequest::parse(&self.shared, &url.query_pairs().into_owned().collect())
    }

    /// Creates a grant without browser or code, for tests that begin after it. Unknown accounts get no mailbox.
    #[must_use]
    pub fn grant_as(&self, email: &str, scopes: &[&str]) -> TokenPair {
        let now = self.shared.now();
        self.shared.change(|state| {
            let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
            let grant = state.grants.add(&email.to_lowercase(), scopes);
            TokenPair {
                access_token: state.grants.issue(grant, now).0,
                refresh_token: state.grants.make_refreshable(grant).unwrap_or_default(),
            }
        })
    }

    /// Adds a scope to every grant of the person.
    pub fn widen_grants(&self, email: &str, scope: &str) {
        self.shared.change(|state| state.grants.widen_all(email, scope));
    }

    /// Revokes every grant of the person: access tokens become invalid, and a refresh returns `invalid_grant`.
    pub fn revoke_grants(&self, email: &str) {
        self.shared.change(|state| state.grants.revoke_all(email));
    }

    /// Sets the app's publishing status to "Testing": new grants end after seven days.
    pub fn test_the_app(&self) {
        self.shared.change(|state| state.testing = true);
    }

    /// Sets the lifetime of the next access token.
    pub fn set_next_token_lifetime(&self, seconds: i64) {
        self.shared.change(|state| state.grants.next_token_lifetime = Some(seconds));
    }

    /// From now on each refresh returns a new refresh token, and the previous one becomes invalid (RFC 6749, section
    /// 6).
    pub fn rotate_refresh_tokens(&self) {
        self.shared.change(|state| state.grants.rotates_refresh_tokens = true);
    }

    /// Expires every access token of the person; refreshing still works.
    pub fn expire_tokens(&self, email: &str) {
        self.shared.change(|state| state.grants.expire_all(email));
    }

    /// Returns every access and refresh token that was issued, for tests that check whether one leaked.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        self.shared.state().grants.secrets()
    }

    /// Adds a redirect address that consent accepts.
    pub fn register_redirect(&self, uri: &str) {
        self.shared.change(|state| state.redirect_uris.push(uri.to_owned()));
    }

    /// Changes the settings with which an account sends.
    pub fn settings(&self, email: &str, change: impl FnOnce(&mut Account)) {
        self.shared.change(|state| {
            if let Some(mailbox) = state.mail.get_mut(email) {
                change(&mut mailbox.account);
            }
        });
    }

    /// Adds an account.
    pub fn add_account(&self, account: Account) {
        self.shared.change(|state| {
            state.calendars.add(&account);
            state.mail.add(account);
        });
    }
}

/// Mail.
impl Google {
    /// Delivers a mail. Returns its id in the mailbox of `to`, which must be an account here.
    ///
    /// # Errors
    /// As [`Google::deliver_raw`].
    pub fn deliver(&self, to: &str, from: &str, subject: &str, body: &str) -> Result<String, String> {
        let owned = str::to_owned;
        self.deliver_mail(&IncomingMail {
            to: owned(to),
            from: owned(from),
            subject: owned(subject),
            body: owned(body),
            ..IncomingMail::default()
        })
    }

    /// Delivers a mail with all its properties.
    ///
    /// # Errors
    /// As [`Google::deliver_raw`].
    pub fn deliver_mail(&self, mail: &IncomingMail) -> Result<String, String> {
        let at = mail.received_at.unwrap_or_else(|| self.shared.now());
        let number = self.shared.state().mail.history();
        let mut raw = String::new();
        let mut header = |name: &str, value: &str| raw.push_str(&format!("{name}: {value}\r\n"));
        match mail.from_name.is_empty() {
            true => header("From", &mail.from),
            false => header("From", &format!("{} <{}>", phrase(&mail.from_name), mail.from)),
        }
        header("To", &mail.to);
        if !mail.cc.is_empty() {
            header("Cc", &mail.cc.join(", "));
        }
        header("Subject", &encoded(&mail.subject));
        header("Date", &at.to_rfc2822());
        header("Message-ID", &format!("<{number}.{}@mail.sandbox.example>", at.timestamp_millis()));
        if let Some(answered) = &mail.in_reply_to {
            header("In-Reply-To", answered);
            header("References", answered);
        }
        for (name, value) in &mail.headers {
            header(name, &encoded(value));
        }
        header("MIME-Version", "1.0");
        let text = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n";
        if mail.files.is_empty() {
            raw.push_str(&format!("{text}{}", mail.body));
        } else {
            let part = format!("--{BOUNDARY}\r\n");
            raw.push_str(&format!("Content-Type: multipart/mixed; boundary={BOUNDARY}\r\n\r\n"));
            raw.push_str(&format!("{part}{text}{}\r\n", mail.body));
            for (name, kind, bytes) in &mail.files {
                raw.push_str(&format!(
                    "{part}Content-Type: {kind}\r\nContent-Disposition: attachment; filename=\"{}\"\r\n\
                     Content-Transfer-Encoding: base64\r\n\r\n",
                    encoded(name)
                ));
                let letters = STANDARD.encode(bytes);
                for line in letters.as_bytes().chunks(76) {
                    raw.push_str(&String::from_utf8_lossy(line));
                    raw.push_str("\r\n");
                }
            }
            raw.push_str(&format!("--{BOUNDARY}--\r\n"));
        }
        self.insert_into_inbox(&mail.to, raw.as_bytes(), at)
    }

    /// Delivers a mail in its raw form.
    ///
    /// # Errors
    /// If it is not a mail, or `to` has no account here.
    pub fn deliver_raw(&self, to: &str, raw: &[u8]) -> Result<String, String> {
        self.insert_into_inbox(to, raw, self.shared.now())
    }

    fn insert_into_inbox(&self, to: &str, raw: &[u8], at: DateTime<Utc>) -> Result<String, String> {
        let mime = Mime::parse(raw)?;
        let stored = self.shared.change(|state| {
            let owner = state.mail.owner_of(to)?;
            state.mail.insert_message(&owner, mime, &["INBOX", "UNREAD"], None, at)
        });
        stored.map(|stored| stored.id).ok_or(format!("{to} has no account here"))
    }

    /// Sends a mail from Gmail itself, to the recipients of its header. Returns false if the sender has no account
    /// here, or the recipients are not valid.
    #[must_use]
    pub fn writes(&self, from: &str, to: &str, subject: &str) -> bool {
        let raw = format!("From: {from}\r\nTo: {to}\r\nSubject: {}\r\n\r\nHello.", encoded(subject));
        let now = self.shared.now();
        self.shared.change(|state| {
            let Some(account) = state.mail.account(from).cloned() else { return false };
            let Ok(mime) = as_draft(&mut state.mail, &account, raw.as_bytes(), now) else { return false };
            let Ok(recipients) = envelope(&mime) else { return false };
            state.mail.send(from, mime, &recipients, None, now).is_some()
        })
    }

    /// Returns all messages with a label, given by its id or its name, oldest first.
    #[must_use]
    pub fn list_by_label(&self, email: &str, label: &str) -> Vec<MailMessage> {
        let id = self.shared.state().mail.get(email).and_then(|mailbox| {
            mailbox.labels.iter().find(|one| one.name == label).map(|one| one.id.clone())
        });
        self.shared.list_by_label(email, id.as_deref().unwrap_or(label))
    }

    /// Creates a label in Gmail.
    pub fn create_label(&self, email: &str, name: &str) {
        self.shared.change(|state| {
            let id = format!("Label_{}", state.mail.next());
            if let Some(mailbox) = state.mail.get_mut(email) {
                mailbox.labels.push(UserLabel { id, name: name.to_owned() });
            }
        });
    }

    /// Returns the received mail, oldest first.
    #[must_use]
    pub fn inbox(&self, email: &str) -> Vec<MailMessage> {
        self.shared.list_by_label(email, "INBOX")
    }

    /// Returns the sent mail, oldest first.
    #[must_use]
    pub fn list_sent(&self, email: &str) -> Vec<MailMessage> {
        self.shared.list_by_label(email, "SENT")
    }

    /// Returns the drafts, oldest first.
    #[must_use]
    pub fn drafts(&self, email: &str) -> Vec<MailMessage> {
        self.shared.list_by_label(email, "DRAFT")
    }

    /// Returns the mail sent to addresses without an account here.
    #[must_use]
    pub fn outbox(&self) -> Vec<OutgoingMail> {
        self.shared.outbox()
    }

    /// Edits a draft in Gmail. Returns false if it does not exist.
    #[must_use]
    pub fn edit_draft(&self, email: &str, draft_id: &str, edit: &DraftEdit) -> bool {
        let now = self.shared.now();
        self.shared.change(|state| {
            let Some(mailbox) = state.mail.get_mut(email) else { return false };
            let Some(old) = mailbox.remove_draft(draft_id) else { return false };
            let mime = edited(&old.mime, edit);
            state.mail.insert_draft(email, Some(draft_id.to_owned()), mime, Some(old.thread), now).is_some()
        })
    }

    /// Deletes a mail permanently. Returns false if it does not exist.
    #[must_use]
    pub fn delete_mail(&self, email: &str, id: &str) -> bool {
        self.shared.change(|state| {
            let Some(mailbox) = state.mail.get_mut(email) else { return false };
            let before = mailbox.messages.len();
            mailbox.messages.retain(|message| message.id != id);
            mailbox.messages.len() < before
        })
    }

    /// Discards a draft in Gmail. Returns false if it does not exist.
    #[must_use]
    pub fn delete_draft(&self, email: &str, draft_id: &str) -> bool {
        self.shared.change(|state| {
            state.mail.get_mut(email).is_some_and(|mailbox| mailbox.remove_draft(draft_id).is_some())
        })
    }

    /// From now on each new message is missing from its mailbox's next `calls` searches (lists with `q`). Reads by id,
    /// thread or label are not delayed.
    pub fn lag_search(&self, calls: u32) {
        self.shared.change(|state| state.mail.lag = calls);
    }
}

fn edited(old: &Mime, edit: &DraftEdit) -> Mime {
    let mut mime = old.clone();
    if let Some(from) = &edit.from {
        mime.set("From", from);
    }
    if let Some(to) = &edit.to {
        mime.set("To", to);
    }
    if let Some(subject) = &edit.subject {
        mime.set("Subject", &encoded(subject));
    }
    if let Some(body) = &edit.body {
        mime.set("Content-Type", "text/plain; charset=utf-8");
        mime.set("Content-Transfer-Encoding", "8bit");
        mime.set_body(body);
    }
    if let Some(html) = &edit.html {
        mime.set("Content-Type", "text/html; charset=utf-8");
        mime.set("Content-Transfer-Encoding", "8bit");
        mime.set_body(html);
    }
    mime
}

/// The recorded calls and violations.
impl Google {
    /// Returns every request that reached an operation, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<ApiCall> {
        self.shared.state().calls.clone()
    }

    /// Returns requests, and answers of this fake, that violated Google's description.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }

    /// Waits for the next change: a call, mail, a grant.
    pub async fn wait_for_change(&self) {
        let mut version = self.shared.version.subscribe();
        // The sender is part of `self`, so waiting cannot fail while `self` is borrowed.
        let _ = version.changed().await;
    }

    /// Waits until `predicate` holds; returns false if `timeout` expires first.
    pub async fn wait_for(&self, predicate: impl Fn(&Self) -> bool, timeout: Duration) -> bool {
        let mut version = self.shared.version.subscribe();
        let holds = async {
            while !predicate(self) {
                let _ = version.changed().await;
            }
        };
        tokio::time::timeout(timeout, holds).await.is_ok()
    }
}
