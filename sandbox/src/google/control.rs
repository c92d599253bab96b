//! What a test or the demo sees of the fake and does to it, beside the vendor's protocol.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};

use super::compose::{as_draft, encoded, envelope, phrase};
use super::consent::{Ask, Choice, decide};
use super::mailbox::UserLabel;
use super::mime::Mime;
use super::view::{DraftEdit, Incoming, Mail, Outgoing};
use super::{Account, Call, Google};

/// Between the parts of a mail that brings files.
const BOUNDARY: &str = "nod-sandbox-part";

/// Keys of a grant that was made without a browser.
#[derive(Clone)]
pub struct Tokens {
    pub access_token: String,
    pub refresh_token: String,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(…)")
    }
}

/// Consent.
impl Google {
    /// Goes through the consent page as `email`, granting `scopes`, or everything asked for. Returns the
    /// address that the browser is sent to.
    ///
    /// # Errors
    /// What the page says when the request is not acceptable.
    pub fn consent(&self, auth_url: &str, email: &str, scopes: Option<&[&str]>) -> Result<String, String> {
        let ask = self.ask(auth_url)?;
        let scopes = match scopes {
            Some(some) => some.iter().map(|&scope| scope.to_owned()).collect(),
            None => ask.scopes().clone(),
        };
        decide(&self.shared, &ask, Choice::Allow { email: email.to_owned(), scopes })
    }

    /// Presses Cancel on the consent page.
    ///
    /// # Errors
    /// As [`Google::consent`].
    pub fn refuse_consent(&self, auth_url: &str) -> Result<String, String> {
        decide(&self.shared, &self.ask(auth_url)?, Choice::Deny)
    }

    fn ask(&self, auth_url: &str) -> Result<Ask, String> {
        let url = url::Url::parse(auth_url).map_err(|error| error.to_string())?;
        if url.path() != "/o/oauth2/v2/auth" || !auth_url.starts_with(&self.auth_url()) {
            return Err(format!("{} is not the consent page", url.path()));
        }
        Ask::parse(&self.shared, &url.query_pairs().into_owned().collect())
    }

    /// A grant without browser or code, for stories that begin after it. Unknown accounts get no mailbox.
    #[must_use]
    pub fn grant_as(&self, email: &str, scopes: &[&str]) -> Tokens {
        let now = self.shared.now();
        self.shared.change(|state| {
            let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
            let grant = state.grants.add(&email.to_lowercase(), scopes);
            Tokens {
                access_token: state.grants.issue(grant, now).0,
                refresh_token: state.grants.make_refreshable(grant).unwrap_or_default(),
            }
        })
    }

    /// The person agrees to one scope more: every grant of theirs that lives has it from now on.
    pub fn widen_grants(&self, email: &str, scope: &str) {
        self.shared.change(|state| state.grants.widen_all(email, scope));
    }

    /// The person withdraws every grant: access tokens die, refreshing says `invalid_grant`.
    pub fn revoke_grants(&self, email: &str) {
        self.shared.change(|state| state.grants.revoke_all(email));
    }

    /// The app's publishing status is "Testing" from now on: what is granted ends after seven days.
    pub fn test_the_app(&self) {
        self.shared.change(|state| state.testing = true);
    }

    /// The next access token that is handed out lives so long.
    pub fn next_token_lives(&self, seconds: i64) {
        self.shared.change(|state| state.grants.next_lives = Some(seconds));
    }

    /// From now on each refresh gives another refresh token, and the one before is over (RFC 6749, section 6).
    pub fn rotate_refresh_tokens(&self) {
        self.shared.change(|state| state.grants.rotating = true);
    }

    /// Every access token of the person is over; refreshing still works.
    pub fn expire_tokens(&self, email: &str) {
        self.shared.change(|state| state.grants.expire_all(email));
    }

    /// Every access and refresh token that was handed out, for those who look whether one leaked.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        self.shared.state().grants.secrets()
    }

    /// One more address that consent may lead back to.
    pub fn register_redirect(&self, uri: &str) {
        self.shared.change(|state| state.redirect_uris.push(uri.to_owned()));
    }

    /// Somebody changes how their account sends.
    pub fn settings(&self, email: &str, change: impl FnOnce(&mut Account)) {
        self.shared.change(|state| {
            if let Some(mailbox) = state.mail.get_mut(email) {
                change(&mut mailbox.account);
            }
        });
    }

    /// One more account.
    pub fn add_account(&self, account: Account) {
        self.shared.change(|state| {
            state.calendars.add(&account);
            state.mail.add(account);
        });
    }
}

/// Mail.
impl Google {
    /// Mail arrives. Returns its id in the mailbox of `to`, which must be an account here.
    ///
    /// # Errors
    /// As [`Google::deliver_raw`].
    pub fn deliver(&self, to: &str, from: &str, subject: &str, body: &str) -> Result<String, String> {
        let owned = str::to_owned;
        self.deliver_mail(&Incoming {
            to: owned(to),
            from: owned(from),
            subject: owned(subject),
            body: owned(body),
            ..Incoming::default()
        })
    }

    /// The same with everything that can be said about it.
    ///
    /// # Errors
    /// As [`Google::deliver_raw`].
    pub fn deliver_mail(&self, mail: &Incoming) -> Result<String, String> {
        let at = mail.at.unwrap_or_else(|| self.shared.now());
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
        self.put(&mail.to, raw.as_bytes(), at)
    }

    /// Mail arrives as it came over the wire.
    ///
    /// # Errors
    /// When it is no mail, or `to` has no account here.
    pub fn deliver_raw(&self, to: &str, raw: &[u8]) -> Result<String, String> {
        self.put(to, raw, self.shared.now())
    }

    fn put(&self, to: &str, raw: &[u8], at: DateTime<Utc>) -> Result<String, String> {
        let mime = Mime::parse(raw)?;
        let stored = self.shared.change(|state| {
            let owner = state.mail.owner_of(to)?;
            state.mail.put(&owner, mime, &["INBOX", "UNREAD"], None, at)
        });
        stored.map(|stored| stored.id).ok_or(format!("{to} has no account here"))
    }

    /// Somebody writes a mail in Gmail itself, to whom the header says. False when they have no account here, or nobody
    /// can be sent that.
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

    /// Everything that carries a label, by its id or its name, oldest first.
    #[must_use]
    pub fn labelled(&self, email: &str, label: &str) -> Vec<Mail> {
        let id = self.shared.state().mail.get(email).and_then(|mailbox| {
            mailbox.labels.iter().find(|one| one.name == label).map(|one| one.id.clone())
        });
        self.shared.labelled(email, id.as_deref().unwrap_or(label))
    }

    /// Somebody makes a label in Gmail.
    pub fn make_label(&self, email: &str, name: &str) {
        self.shared.change(|state| {
            let id = format!("Label_{}", state.mail.next());
            if let Some(mailbox) = state.mail.get_mut(email) {
                mailbox.labels.push(UserLabel { id, name: name.to_owned() });
            }
        });
    }

    /// What came in, oldest first.
    #[must_use]
    pub fn inbox(&self, email: &str) -> Vec<Mail> {
        self.shared.labelled(email, "INBOX")
    }

    /// What was sent, oldest first.
    #[must_use]
    pub fn sent(&self, email: &str) -> Vec<Mail> {
        self.shared.labelled(email, "SENT")
    }

    /// The drafts, oldest first.
    #[must_use]
    pub fn drafts(&self, email: &str) -> Vec<Mail> {
        self.shared.labelled(email, "DRAFT")
    }

    /// What left for addresses without an account here.
    #[must_use]
    pub fn outbox(&self) -> Vec<Outgoing> {
        self.shared.outbox()
    }

    /// Somebody edits a draft in Gmail. False when it is not there.
    #[must_use]
    pub fn edit_draft(&self, email: &str, draft_id: &str, edit: &DraftEdit) -> bool {
        let now = self.shared.now();
        self.shared.change(|state| {
            let Some(mailbox) = state.mail.get_mut(email) else { return false };
            let Some(old) = mailbox.take_draft(draft_id) else { return false };
            let mime = edited(&old.mime, edit);
            state.mail.put_draft(email, Some(draft_id.to_owned()), mime, Some(old.thread), now).is_some()
        })
    }

    /// Somebody deletes a mail for good. False when it is not there.
    #[must_use]
    pub fn delete_mail(&self, email: &str, id: &str) -> bool {
        self.shared.change(|state| {
            let Some(mailbox) = state.mail.get_mut(email) else { return false };
            let before = mailbox.messages.len();
            mailbox.messages.retain(|message| message.id != id);
            mailbox.messages.len() < before
        })
    }

    /// Somebody throws a draft away in Gmail. False when it is not there.
    #[must_use]
    pub fn delete_draft(&self, email: &str, draft_id: &str) -> bool {
        self.shared.change(|state| {
            state.mail.get_mut(email).is_some_and(|mailbox| mailbox.take_draft(draft_id).is_some())
        })
    }

    /// From now on each new message stays out of its mailbox's next `calls` searches (lists with `q`).
    /// Reading by id, by thread, by label is not late.
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

/// What happened.
impl Google {
    /// Every request that reached an operation, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.shared.state().calls.clone()
    }

    /// Requests, and answers of our own, that broke Google's description.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }

    /// Resolves at the next change: a call, mail, a grant.
    pub async fn changed(&self) {
        let mut version = self.shared.version.subscribe();
        // The sender lives in `self`, so waiting cannot fail while we are borrowed.
        let _ = version.changed().await;
    }

    /// Waits until `predicate` holds; false when `timeout` is over first.
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
