//! Whom a person writes with, as the headers of their own mail show it: for a name that the workspace does not settle.
//! Nothing but those headers is read.

use std::sync::Arc;

use async_trait::async_trait;
use nod_accounts::connection::Loan;
use nod_contract::tool::{ToolContext, ToolError};

use super::address::Recipient;
use super::mailbox::Mailbox;
use super::message::people;
use crate::google::account::Accounts;
use crate::google::scopes;
use crate::google::trouble::Trouble;
use nod_contract::contacts::{Contact, ContactSource};

/// Messages of each kind that are looked at, the newest.
const MOST: u32 = 10;

/// The mail of each person with an account.
pub(super) struct OwnMail {
    accounts: Arc<Accounts>,
}

impl OwnMail {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        Self { accounts }
    }
}

#[async_trait]
impl ContactSource for OwnMail {
    async fn find_by_name(&self, cx: &ToolContext, words: &[String]) -> Result<Vec<Contact>, ToolError> {
        // Whom others wrote with from the organisation's account are no contacts of this person's.
        if self.accounts.lent().loan(cx).await? == Some(Loan::Organisations) {
            return Ok(Vec::new());
        }
        let mailbox = self.accounts.mailbox_with(cx, &[scopes::READONLY]).await?;
        let sent = search("in:sent", &["to", "cc"], words);
        let others = search("-in:sent -in:drafts", &["from", "to", "cc"], words);
        let found = futures::future::try_join(
            seen(&mailbox, &sent, &["To", "Cc"]),
            seen(&mailbox, &others, &["From", "To", "Cc"]),
        );
        let (written_to, others) = found.await.map_err(|trouble| trouble.looking("the search"))?;
        let own = |one: &Recipient| one.address.eq_ignore_ascii_case(mailbox.address());
        let all = written_to.into_iter().chain(others).filter(|one| !own(one));
        Ok(all.map(|one| Contact { name: one.name.unwrap_or_default(), email: one.address }).collect())
    }
}

/// Each word stands in one of these headers. They are letters and digits, so none of them is a command of its own.
fn search(within: &str, headers: &[&str], words: &[String]) -> String {
    let any = |word: &String| {
        let fields: Vec<String> = headers.iter().map(|header| format!("{header}:{word}")).collect();
        format!("{{{}}}", fields.join(" "))
    };
    std::iter::once(within.to_owned()).chain(words.iter().map(any)).collect::<Vec<_>>().join(" ")
}

/// Everybody in these headers of the messages that match, those of the newest first.
async fn seen(mailbox: &Mailbox, search: &str, headers: &[&str]) -> Result<Vec<Recipient>, Trouble> {
    let ids = mailbox.list(Some(search), None, MOST).await?;
    let messages = mailbox.all_headers(ids, headers).await?;
    let of = |message| headers.iter().flat_map(move |header| people(message, header));
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
