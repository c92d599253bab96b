//! One person's mailbox: the calls that Nod makes to Gmail, each with a time limit.
//!
//! Reads are retried up to twice if Gmail fails; writes are sent once.

mod labels;

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use google_gmail1::api::{Draft, Message, Thread};
use google_gmail1::common::GetToken;
use nod_contract::tool::{ToolContext, ToolError};
use nod_people::attachment::{AttachmentStore, StoredAttachment};
use tokio::time::Instant;
use url::Url;
use uuid::Uuid;

use crate::google::api_caller::ApiCaller;
use crate::google::api_error::GoogleApiError;
use crate::google::http::{self, Connector, HttpClient};
use crate::google::oauth::SCOPES;
use crate::google::reading::Reading;

const READONLY: &str = SCOPES[0];
const COMPOSE: &str = SCOPES[1];
/// Gmail limits the requests per second; this stays well below.
const MAX_CONCURRENT: usize = 5;
const ME: &str = "me";
const LETTER: &str = "message/rfc822";
const NO_TYPE: GoogleApiError = GoogleApiError::NotSent("message/rfc822 is no media type");

/// Where Gmail is, and the connection pool to it.
#[derive(Clone)]
pub struct GmailEndpoint {
    client: HttpClient,
    base: String,
}

impl GmailEndpoint {
    /// Creates it for this URL.
    #[must_use]
    pub fn new(url: &Url) -> Self {
        Self { client: http::client(), base: format!("{}/", url.as_str().trim_end_matches('/')) }
    }
}

/// One account's mail, for the duration of one tool call.
pub(in crate::google) struct Mailbox {
    hub: google_gmail1::Gmail<Connector>,
    address: String,
    calls: ApiCaller,
    /// The attachments of the conversation; `None` during a sign-in.
    attachments: Option<(AttachmentStore, ToolContext)>,
    /// The reader for untrusted text; empty during a sign-in.
    reading: Reading,
}

impl Mailbox {
    /// `token` is asked before each request, and no request is waited for after `until`.
    pub(in crate::google) fn new<T: GetToken + 'static>(
        gmail: &GmailEndpoint,
        token: T,
        address: String,
        until: Instant,
    ) -> Self {
        let mut hub = google_gmail1::Gmail::new(gmail.client.clone(), token);
        hub.base_url(gmail.base.clone());
        hub.root_url(gmail.base.clone());
        hub.user_agent("nod".into());
        Self { hub, address, calls: ApiCaller::new(until), attachments: None, reading: Reading::default() }
    }

    /// Adds a flag that tells the token's source that Google rejected its token.
    pub(in crate::google) fn with_token_rejected_flag(self, refused: Arc<AtomicBool>) -> Self {
        Self { calls: self.calls.with_token_rejected_flag(refused), ..self }
    }

    /// Adds the attachments of the current conversation, and the reader of documents.
    pub(in crate::google) fn with_attachments(
        self,
        shelf: AttachmentStore,
        reading: Reading,
        cx: ToolContext,
    ) -> Self {
        Self { attachments: Some((shelf, cx)), reading, ..self }
    }

    /// Returns the reader for text that others wrote.
    pub(super) fn reading(&self) -> &Reading {
        &self.reading
    }

    /// Returns the newest file of that name in the conversation.
    pub(super) async fn find_conversation_file(&self, name: &str) -> Result<StoredAttachment, ToolError> {
        let (shelf, cx) = self.attachments.as_ref().ok_or_else(no_conversation_error)?;
        shelf.find_by_name(cx, name).await
    }

    /// Returns the current bytes of a file in the conversation.
    pub(super) async fn fetch_conversation_file(&self, id: Uuid, most: usize) -> Result<Vec<u8>, ToolError> {
        let (shelf, cx) = self.attachments.as_ref().ok_or_else(no_conversation_error)?;
        shelf.download(cx, id, most).await
    }

    /// Returns the account's email address.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Asks Gmail for the account's email address.
    pub(in crate::google) async fn fetch_email(&self) -> Result<String, GoogleApiError> {
        let profile = self
            .calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call = self.hub.users().get_profile(ME).clear_scopes().add_scope(READONLY);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await?;
        profile.email_address.ok_or_else(|| GoogleApiError::NoResponse("the profile names no address".into()))
    }

    /// Returns the ids of the matching messages, newest first.
    pub(super) async fn list_message_ids(
        &self,
        query: Option<&str>,
        label: Option<&str>,
        max: u32,
    ) -> Result<Vec<String>, GoogleApiError> {
        let list = self
            .calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let mut call = self.hub.users().messages_list(ME).clear_scopes().add_scope(READONLY);
                call = call.max_results(max);
                if let Some(query) = query {
                    call = call.q(query);
                }
                if let Some(label) = label {
                    call = call.add_label_ids(label);
                }
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await?;
        Ok(list.messages.unwrap_or_default().into_iter().filter_map(|message| message.id).collect())
    }

    /// Returns a message's labels and the named headers.
    pub(super) async fn fetch_headers(&self, id: &str, names: &[&str]) -> Result<Message, GoogleApiError> {
        self.calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let mut call = self.hub.users().messages_get(ME, id).clear_scopes().add_scope(READONLY);
                call = call.format("metadata");
                for name in names {
                    call = call.add_metadata_headers(name);
                }
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await
    }

    /// Returns the same for several messages, in the order of `ids`; messages that were deleted meanwhile are left out.
    pub(super) async fn fetch_all_headers(
        &self,
        ids: Vec<String>,
        names: &[&str],
    ) -> Result<Vec<Message>, GoogleApiError> {
        let mut all = Vec::with_capacity(ids.len());
        for some in ids.chunks(MAX_CONCURRENT) {
            let looks = some.iter().map(|id| self.fetch_headers(id, names));
            for found in futures::future::join_all(looks).await {
                match found {
                    Err(trouble) if trouble.is_gone() => {}
                    other => all.push(other?),
                }
            }
        }
        Ok(all)
    }

    /// Returns a whole message, except for its attachments.
    pub(super) async fn fetch_message(&self, id: &str) -> Result<Message, GoogleApiError> {
        self.calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call =
                    self.hub.users().messages_get(ME, id).clear_scopes().add_scope(READONLY).format("full");
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await
    }

    /// Returns the bytes of an attachment.
    pub(super) async fn fetch_attachment(&self, message: &str, id: &str) -> Result<Vec<u8>, GoogleApiError> {
        let body = self
            .calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call = self.hub.users().messages_attachments_get(ME, message, id);
                let done = call.clear_scopes().add_scope(READONLY).delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await?;
        body.data.ok_or_else(|| GoogleApiError::NoResponse("the file came without its bytes".into()))
    }

    /// Returns a whole thread, or only its labels and some headers.
    pub(super) async fn fetch_thread(
        &self,
        id: &str,
        only: Option<&[&str]>,
    ) -> Result<Thread, GoogleApiError> {
        self.calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let mut call = self.hub.users().threads_get(ME, id).clear_scopes().add_scope(READONLY);
                call = call.format(if only.is_some() { "metadata" } else { "full" });
                for name in only.unwrap_or_default() {
                    call = call.add_metadata_headers(name);
                }
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await
    }

    /// Returns some headers of the messages of several threads; deleted threads are left out.
    pub(super) async fn fetch_all_threads(
        &self,
        ids: &[String],
        only: &[&str],
    ) -> Result<Vec<Thread>, GoogleApiError> {
        let mut all = Vec::with_capacity(ids.len());
        for some in ids.chunks(MAX_CONCURRENT) {
            for found in
                futures::future::join_all(some.iter().map(|id| self.fetch_thread(id, Some(only)))).await
            {
                match found {
                    Err(trouble) if trouble.is_gone() && ids.len() > 1 => {}
                    other => all.push(other?),
                }
            }
        }
        Ok(all)
    }

    /// Returns the newest drafts with their headers.
    pub(super) async fn list_drafts(&self, max: u32) -> Result<Vec<Draft>, GoogleApiError> {
        let list = self
            .calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call =
                    self.hub.users().drafts_list(ME).clear_scopes().add_scope(COMPOSE).max_results(max);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await?;
        let ids: Vec<String> =
            list.drafts.unwrap_or_default().into_iter().filter_map(|draft| draft.id).collect();
        let mut all = Vec::with_capacity(ids.len());
        for some in ids.chunks(MAX_CONCURRENT) {
            for found in futures::future::join_all(some.iter().map(|id| self.fetch_draft(id))).await {
                match found {
                    Err(trouble) if trouble.is_gone() => {}
                    other => all.push(other?),
                }
            }
        }
        Ok(all)
    }

    /// Returns a draft with its headers.
    pub(super) async fn fetch_draft(&self, id: &str) -> Result<Draft, GoogleApiError> {
        self.calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call =
                    self.hub.users().drafts_get(ME, id).clear_scopes().add_scope(COMPOSE).format("metadata");
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await
    }

    /// Returns a draft with its raw bytes.
    pub(super) async fn fetch_raw_draft(&self, id: &str) -> Result<Draft, GoogleApiError> {
        self.calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call =
                    self.hub.users().drafts_get(ME, id).clear_scopes().add_scope(COMPOSE).format("raw");
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await
    }

    /// Creates a draft with these bytes, in `thread` if given.
    pub(super) async fn create_draft(
        &self,
        raw: Vec<u8>,
        thread: Option<&str>,
    ) -> Result<Draft, GoogleApiError> {
        self.calls
            .write(async {
                let mut watch = self.calls.watch();
                let draft = Draft { id: None, message: message_in_thread(thread) };
                let call = self.hub.users().drafts_create(draft, ME).clear_scopes().add_scope(COMPOSE);
                let kind = LETTER.parse().map_err(|_| NO_TYPE)?;
                let done = call.delegate(&mut watch).upload(Cursor::new(raw), kind).await;
                watch.outcome(done)
            })
            .await
    }

    /// Replaces the bytes of a draft. Without `thread`, it leaves its thread.
    pub(super) async fn update_draft(
        &self,
        id: &str,
        raw: Vec<u8>,
        thread: Option<&str>,
    ) -> Result<Draft, GoogleApiError> {
        self.calls
            .write(async {
                let mut watch = self.calls.watch();
                let draft = Draft { id: Some(id.to_owned()), message: message_in_thread(thread) };
                let call = self.hub.users().drafts_update(draft, ME, id).clear_scopes().add_scope(COMPOSE);
                let kind = LETTER.parse().map_err(|_| NO_TYPE)?;
                let done = call.delegate(&mut watch).upload(Cursor::new(raw), kind).await;
                watch.outcome(done)
            })
            .await
    }

    /// Sends a draft with these bytes instead of its own.
    pub(super) async fn send_draft(
        &self,
        id: &str,
        raw: Vec<u8>,
        thread: Option<&str>,
    ) -> Result<Message, GoogleApiError> {
        self.calls
            .write(async {
                let mut watch = self.calls.watch();
                let draft = Draft { id: Some(id.to_owned()), message: message_in_thread(thread) };
                let call = self.hub.users().drafts_send(draft, ME).clear_scopes().add_scope(COMPOSE);
                let kind = LETTER.parse().map_err(|_| NO_TYPE)?;
                let done = call.delegate(&mut watch).upload(Cursor::new(raw), kind).await;
                watch.outcome(done)
            })
            .await
    }

    /// Deletes a draft permanently: Gmail keeps no drafts in its trash.
    pub(super) async fn delete_draft(&self, id: &str) -> Result<(), GoogleApiError> {
        self.calls
            .write(async {
                let mut watch = self.calls.watch();
                let call = self.hub.users().drafts_delete(ME, id).clear_scopes().add_scope(COMPOSE);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done.map(|response| (response, ())))
            })
            .await
    }
}

fn no_conversation_error() -> ToolError {
    ToolError::internal("there is no conversation here")
}

fn message_in_thread(thread: Option<&str>) -> Option<Message> {
    thread.map(|thread| Message { thread_id: Some(thread.to_owned()), ..Message::default() })
}
