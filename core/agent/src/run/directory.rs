//! Answers the nodes' lookups from the store.

mod sql;

use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::PgPool;

use crate::context::Agent;
use crate::graph::{Directory, NodeError};
use nod_contract::chat::Adapters;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::tool::account::SealedAccounts;
use nod_contract::tool::{Principal, ToolError};
use nod_people::conversations::ConversationLocation;
use nod_people::people::refresh::Lists;
use nod_people::people::{self, names};
use nod_requests::approval::{self, AccountOwner};
use nod_requests::policy::{Policy, Terms};

/// The people of a workspace, and the policy of its tenant.
pub(super) struct Rows<'a> {
    pool: &'a PgPool,
    adapters: &'a Adapters,
    /// The policy of the installation.
    policy: &'a Policy,
    /// Refreshes the lists of people.
    lists: Lists<'a>,
    tenant: TenantId,
    platform: &'a str,
    workspace: &'a str,
}

impl<'a> Rows<'a> {
    pub(super) fn new(core: &'a Agent, tenant: TenantId, venue: &'a ConversationLocation) -> Self {
        Self {
            pool: &core.pool,
            adapters: &core.adapters,
            policy: &core.policy,
            lists: Lists::new(core, tenant),
            tenant,
            platform: &venue.platform,
            workspace: &venue.workspace,
        }
    }

    /// Answers from a list that is still being refreshed: a match needs confirmation, and a missing person can still
    /// come.
    async fn downgrade_stale_result(
        &self,
        name: &str,
        found: Result<String, ToolError>,
    ) -> sqlx::Result<Result<String, ToolError>> {
        Ok(match found {
            Ok(address) => {
                let mut conn = self.pool.acquire().await?;
                let choices = people::find_choices_by_address(&mut conn, self.tenant, &address).await?;
                let why = "I'm reading the list of people again, so there may be another one.".to_owned();
                Err(ToolError::Ambiguous { name: name.to_owned(), choices, message: Some(why) })
            }
            Err(ToolError::NoAddress { reason }) => Err(ToolError::NoAddress {
                reason: format!(
                    "{reason}; I'm reading the list of people again, so ask me once more in a minute"
                ),
            }),
            other => other,
        })
    }
}

#[async_trait]
impl Directory for Rows<'_> {
    async fn resolve_recipient(
        &self,
        written: &str,
        me: &Principal,
    ) -> Result<Result<String, ToolError>, NodeError> {
        let resolve = || self.lists.resolve_recipient(self.platform, self.workspace, written, me);
        let (found, is_up_to_date) = resolve().await?;
        // If there are several, the person picks one.
        if is_up_to_date || matches!(found, Err(ToolError::Ambiguous { .. })) {
            return Ok(found);
        }
        let fresh = self.lists.refresh().await?;
        let (found, _) = resolve().await?;
        if fresh {
            Ok(found)
        } else {
            Ok(self.downgrade_stale_result(names::strip_quotes(written), found).await?)
        }
    }

    async fn load_policy_and_accounts(
        &self,
        person: PersonId,
    ) -> Result<(Policy, SealedAccounts), NodeError> {
        let mut conn = self.pool.acquire().await?;
        let (own, accounts) = sql::load_rules_and_accounts(&mut conn, self.tenant, person).await?;
        Ok((self.policy.followed_by(own), accounts))
    }

    async fn find_co_approval_obstacle(
        &self,
        terms: &Terms,
        me: &Principal,
        account: &str,
    ) -> Result<Option<String>, NodeError> {
        let (person, platform, workspace) = (me.person, self.platform, self.workspace);
        let owner = AccountOwner { person, account, platform, workspace };
        let mut conn = self.pool.acquire().await?;
        Ok(approval::find_co_approvers(&mut conn, self.adapters, self.tenant, terms, &owner).await?.err())
    }

    async fn find_names_by_email(&self, addresses: &[String]) -> Result<BTreeMap<String, String>, NodeError> {
        let mut conn = self.pool.acquire().await?;
        Ok(people::sql::find_names_by_email(&mut conn, self.tenant, addresses).await?)
    }
}

impl From<sqlx::Error> for NodeError {
    fn from(error: sqlx::Error) -> Self {
        Self::Directory(error.into())
    }
}
