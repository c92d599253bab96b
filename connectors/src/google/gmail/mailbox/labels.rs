//! Requests about labels, and about the addresses that the account sends from.

use google_gmail1::api::{BatchModifyMessagesRequest, Label, SendAs};

use super::{ME, Mailbox, READONLY};
use crate::google::api_error::GoogleApiError;

/// Not among the scopes that are requested by default when an account is connected.
pub(in crate::google::gmail) const MODIFY: &str = "https://www.googleapis.com/auth/gmail.modify";

impl Mailbox {
    /// Returns all labels, including Gmail's own.
    pub(in crate::google::gmail) async fn list_labels(&self) -> Result<Vec<Label>, GoogleApiError> {
        let list = self
            .calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call = self.hub.users().labels_list(ME).clear_scopes().add_scope(READONLY);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await?;
        Ok(list.labels.unwrap_or_default())
    }

    /// Returns the addresses that the account can send from.
    pub(in crate::google::gmail) async fn list_send_as(&self) -> Result<Vec<SendAs>, GoogleApiError> {
        let list = self
            .calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call = self.hub.users().settings_send_as_list(ME).clear_scopes().add_scope(READONLY);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await?;
        Ok(list.send_as.unwrap_or_default())
    }

    /// Creates a label of that name.
    pub(in crate::google::gmail) async fn create_label(&self, name: &str) -> Result<Label, GoogleApiError> {
        self.calls
            .write(async {
                let mut watch = self.calls.watch();
                let label = Label {
                    name: Some(name.to_owned()),
                    label_list_visibility: Some("labelShow".to_owned()),
                    message_list_visibility: Some("show".to_owned()),
                    ..Label::default()
                };
                let call = self.hub.users().labels_create(label, ME).clear_scopes().add_scope(MODIFY);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await
    }

    /// Adds labels to messages and removes others, by the labels' ids. Deleted messages are skipped.
    pub(in crate::google::gmail) async fn modify_labels(
        &self,
        messages: &[String],
        add: &[String],
        remove: &[String],
    ) -> Result<(), GoogleApiError> {
        self.calls
            .write(async {
                let mut watch = self.calls.watch();
                let change = BatchModifyMessagesRequest {
                    ids: Some(messages.to_vec()),
                    add_label_ids: Some(add.to_vec()),
                    remove_label_ids: Some(remove.to_vec()),
                };
                let call =
                    self.hub.users().messages_batch_modify(change, ME).clear_scopes().add_scope(MODIFY);
                let done = call.delegate(&mut watch).doit().await;
                watch.outcome(done.map(|response| (response, ())))
            })
            .await
    }

    /// Returns the ids of the matching threads, newest first.
    pub(in crate::google::gmail) async fn list_thread_ids(
        &self,
        query: &str,
        max: u32,
    ) -> Result<Vec<String>, GoogleApiError> {
        let list = self
            .calls
            .read(|| async {
                let mut watch = self.calls.watch();
                let call = self.hub.users().threads_list(ME).clear_scopes().add_scope(READONLY);
                let done = call.q(query).max_results(max).delegate(&mut watch).doit().await;
                watch.outcome(done)
            })
            .await?;
        Ok(list.threads.unwrap_or_default().into_iter().filter_map(|thread| thread.id).collect())
    }
}
