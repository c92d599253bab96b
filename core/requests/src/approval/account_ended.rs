//! Denies pending requests on a connected account that has ended.

use async_trait::async_trait;
use sqlx::PgConnection;

use super::{Decision, handle_decision_click, sql};
use crate::context::Requests;
use nod_contract::clock::Timestamp;
use nod_store::hooks::{AccountEnded, Hook};

#[async_trait]
impl Hook for Requests {
    /// Denies, with the reason, the person's pending requests that use the ended account: they can no longer be done.
    /// Requests on the account that replaces it, and those where this person is only a co-approver, stay.
    async fn account_ended(
        &self,
        conn: &mut PgConnection,
        ended: AccountEnded<'_>,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let AccountEnded { tenant, person, provider, but, reason } = ended;
        for id in sql::list_pending_on_account(conn, tenant, person).await? {
            let Some(waiting) = sql::load(conn, tenant, id).await? else { continue };
            let uses = self.tools.get(&waiting.tool).and_then(|tool| tool.spec().provider);
            let goes_on = but.is_some_and(|but| waiting.preview.account.eq_ignore_ascii_case(but));
            if uses == Some(provider) && !goes_on {
                let no = Decision {
                    id,
                    revision: waiting.revision,
                    by: person,
                    approve: false,
                    reason: Some(reason),
                };
                handle_decision_click(self, conn, tenant, &no, now).await?;
            }
        }
        Ok(())
    }
}
