//! The people a person writes with, from the headers of their own mail: for a name that the workspace cannot resolve.
//! Only those headers are read.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nod_accounts::connection::DelegatedAccount;
use nod_contract::address::is_outside;
use nod_contract::tool::{ToolContext, ToolError};
use tokio::time::timeout;

use super::address::Recipient;
use super::mailbox::Mailbox;
use super::message::header_recipients;
use crate::google::account::Accounts;
use crate::google::api_error::GoogleApiError;
use crate::google::scopes;
use nod_contract::contacts::{Contact, ContactSource};

/// The maximum number of messages searched per kind, newest first.
const MAX_MESSAGES: u32 = 10;
/// The maximum number of recipients of one mail for whom the sent mail is searched.
const MAX_ASKED: usize = 3;
/// The time limit for that.
const SENT_TIMEOUT: Duration = Duration::from_secs(3);

/// The mail of each person with an account.
pub(super) struct MailContacts {
    accounts: Arc<Accounts>,
}

impl MailContacts {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        Self { accounts }
    }
}

#[async_trait]
impl ContactSource for MailContacts {
    async fn find_by_name(&self, cx: &ToolContext, words: &[String]) -> Result<Vec<Contact>, ToolError> {
        // Correspondents of the organisation's account are not this person's contacts.
        if self.accounts.delegated_tokens().find_delegated_account(cx).await?
            == Some(DelegatedAccount::Organisation)
        {
            return Ok(Vec::new());
        }
        let mailbox = self.accounts.mailbox_with_scopes(cx, &[scopes::READONLY]).await?;
        let sent = search("in:sent", &["to", "cc"], words);
        let others = search("-in:sent -in:drafts", &["from", "to", "cc"], words);
        let found = futures::future::try_join(
            list_header_recipients(&mailbox, &sent, &["To", "Cc"]),
            list_header_recipients(&mailbox, &others, &["From", "To", "Cc"]),
        );
        let (written_to, others) = found.await.map_err(|trouble| trouble.into_read_error("the search"))?;
        let own = |one: &Recipient| one.address.eq_ignore_ascii_case(mailbox.address());
        let all = written_to.into_iter().chain(others).filter(|one| !own(one));
        Ok(all.map(|one| Contact { name: one.name.unwrap_or_default(), email: one.address }).collect())
    }
}

/// Returns those outside the organisation to whom this account has never written, for the card's warning. If Gmail does
/// not answer soon, nothing is known, and nobody is named.
pub(super) async fn find_never_written_to(mailbox: &Mailbox, recipients: &[String]) -> Vec<String> {
    let outside = recipients.iter().filter(|one| is_outside(one, mailbox.address()) && is_plain(one));
    let is_new = |address: String| async move {
        let sent = search("in:sent", &["to", "cc", "bcc"], std::slice::from_ref(&address));
        let found = timeout(SENT_TIMEOUT, mailbox.list_message_ids(Some(&sent), None, 1)).await;
        found.is_ok_and(|found| found.is_ok_and(|ids| ids.is_empty())).then_some(address)
    };
    let asked = futures::future::join_all(outside.take(MAX_ASKED).cloned().map(is_new)).await;
    asked.into_iter().flatten().collect()
}

/// Returns whether an address can stand in a search: nothing in it can be an operator.
fn is_plain(address: &str) -> bool {
    address.chars().all(|c| c.is_alphanumeric() || "@.-_+".contains(c))
}

/// Builds a search in which each word is in one of these headers. Words are letters and digits, so none can be an
/// operator.
fn search(within: &str, headers: &[&str], words: &[String]) -> String {
    let any = |word: &String| {
        let fields: Vec<String> = headers.iter().map(|header| format!("{header}:{word}")).collect();
        format!("{{{}}}", fields.join(" "))
    };
    std::iter::once(within.to_owned()).chain(words.iter().map(any)).collect::<Vec<_>>().join(" ")
}

/// Returns all people in these headers of the matching messages, newest first.
async fn list_header_recipients(
    mailbox: &Mailbox,
    search: &str,
    headers: &[&str],
) -> Result<Vec<Recipient>, GoogleApiError> {
    let ids = mailbox.list_message_ids(Some(search), None, MAX_MESSAGES).await?;
    let messages = mailbox.fetch_all_headers(ids, headers).await?;
    let of = |message| headers.iter().flat_map(move |header| header_recipients(message, header));
    Ok(messages.iter().flat_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_looked_for_in_each_header() {
        let words = ["zoe", "kim"].map(str::to_owned);
        assert_eq!(search("in:sent", &["to", "cc"], &words), "in:sent {to:zoe cc:zoe} {to:kim cc:kim}");
    }
}
