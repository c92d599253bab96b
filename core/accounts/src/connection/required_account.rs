//! What a request needs of a person's account beyond what they have allowed.

use chrono::TimeDelta;
use sqlx::PgConnection;

use super::scopes::Scopes;
use super::sql;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::provider::Provider;

/// An existing account.
#[derive(Debug, Clone)]
pub struct ConnectedAccount {
    pub account: String,
    /// What was granted.
    pub scopes: Vec<String>,
    /// Whether the provider still grants access, as far as is known.
    pub is_working: bool,
    /// When the person last agreed, if it was recorded.
    pub(crate) granted_at: Option<Timestamp>,
    /// When the grant expires, if the provider said so.
    pub grant_expires_at: Option<Timestamp>,
}

/// Google ends the grants of an app in "Testing" after seven days
/// (<https://developers.google.com/identity/protocols/oauth2#expiration>).
const TESTING_GRANT_LIFETIME: TimeDelta = TimeDelta::days(7);

impl ConnectedAccount {
    /// Returns whether the provider said that the grant ends after a week, or sooner.
    pub(crate) fn is_seven_day_grant(&self) -> bool {
        self.granted_at
            .zip(self.grant_expires_at)
            .is_some_and(|(granted, ends)| ends - granted <= TESTING_GRANT_LIFETIME)
    }

    /// Returns whether the grant seems to have expired after a week, rather than being revoked. Google does not
    /// distinguish the two, and says only in some cases beforehand when a grant will expire.
    pub(crate) fn is_expired_seven_day_grant(&self, now: Timestamp) -> bool {
        let Some(granted) = self.granted_at else { return false };
        match self.grant_expires_at {
            Some(ends) => ends <= now && self.is_seven_day_grant(),
            None => (TESTING_GRANT_LIFETIME..TESTING_GRANT_LIFETIME + TimeDelta::days(1))
                .contains(&(now - granted)),
        }
    }
}

/// Loads the account of `person`, without its tokens.
pub async fn load_connected_account(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
) -> sqlx::Result<Option<ConnectedAccount>> {
    let row = sql::load(conn, tenant, person, provider.as_str()).await?;
    Ok(row.map(|row| ConnectedAccount {
        is_working: row.status == "active",
        account: row.account,
        scopes: row.scopes,
        granted_at: row.granted_at,
        grant_expires_at: row.grant_expires_at,
    }))
}

/// What a request needs.
#[derive(Debug)]
pub struct RequiredAccount {
    pub provider: Provider,
    pub revoked: bool,
    /// Empty if the tool does not say.
    pub missing: Vec<String>,
    pub connected: Option<ConnectedAccount>,
    /// What the provider can allow.
    pub scopes: &'static Scopes,
}

impl RequiredAccount {
    /// Returns what the consent has to ask for: the missing scopes, and also all earlier ones if access has ended, or all
    /// usual ones if nothing was ever connected, so that one consent is enough.
    pub fn scopes_to_request(&self) -> Vec<String> {
        let missing = self.needed_scopes();
        match &self.connected {
            Some(held) if self.revoked || !held.is_working => {
                self.scopes.union(missing, self.scopes.usable_scopes(&held.scopes))
            }
            Some(_) => missing,
            None => self.scopes.union(self.scopes.usual(), missing),
        }
    }

    /// Returns what it is needed for.
    pub(crate) fn needed_scopes(&self) -> Vec<String> {
        self.scopes.or_legacy_scopes(self.scopes.union(Vec::new(), self.missing.clone()))
    }

    /// Returns the account for which more is requested.
    pub(crate) fn connected_account(&self) -> Option<&ConnectedAccount> {
        self.connected.as_ref().filter(|held| held.is_working && !self.revoked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_day_expiry_differs_from_revocation() {
        let granted: Timestamp = Timestamp::UNIX_EPOCH;
        let after = |days| granted + TimeDelta::days(days);
        for (ends, now, ended) in [
            (Some(after(7)), after(7), true),
            (Some(after(7)), after(30), true),
            (Some(after(7)), after(3), false),
            (Some(after(90)), after(91), false),
            (None, after(7), true),
            (None, after(6), false),
            (None, after(9), false),
        ] {
            let held = ConnectedAccount {
                account: String::new(),
                scopes: Vec::new(),
                is_working: false,
                granted_at: Some(granted),
                grant_expires_at: ends,
            };
            assert_eq!(held.is_expired_seven_day_grant(now), ended, "{ends:?} {now}");
        }
    }
}
