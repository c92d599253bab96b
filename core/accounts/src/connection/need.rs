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
pub struct Held {
    pub account: String,
    /// What was granted.
    pub scopes: Vec<String>,
    /// Whether the provider still grants access, as far as is known.
    pub works: bool,
    /// When the person last agreed, if it was recorded.
    pub(crate) granted_at: Option<Timestamp>,
    /// When the grant expires, if the provider said so.
    pub ends_at: Option<Timestamp>,
}

/// Google ends the grants of an app in "Testing" after seven days
/// (<https://developers.google.com/identity/protocols/oauth2#expiration>).
const TESTED: TimeDelta = TimeDelta::days(7);

impl Held {
    /// Returns whether the provider said that the grant ends after a week, or sooner.
    pub(crate) fn is_for_a_week(&self) -> bool {
        self.granted_at.zip(self.ends_at).is_some_and(|(granted, ends)| ends - granted <= TESTED)
    }

    /// Returns whether the grant seems to have expired after a week, rather than being revoked. Google does not
    /// distinguish the two, and says only in some cases beforehand when a grant will expire.
    pub(crate) fn ended_after_a_week(&self, now: Timestamp) -> bool {
        let Some(granted) = self.granted_at else { return false };
        match self.ends_at {
            Some(ends) => ends <= now && self.is_for_a_week(),
            None => (TESTED..TESTED + TimeDelta::days(1)).contains(&(now - granted)),
        }
    }
}

/// Loads the account of `person`, without its tokens.
pub async fn held(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
) -> sqlx::Result<Option<Held>> {
    let row = sql::load(conn, tenant, person, provider.as_str()).await?;
    Ok(row.map(|row| Held {
        works: row.status == "active",
        account: row.account,
        scopes: row.scopes,
        granted_at: row.granted_at,
        ends_at: row.ends_at,
    }))
}

/// What a request needs.
#[derive(Debug)]
pub struct Need {
    pub provider: Provider,
    pub revoked: bool,
    /// Empty if the tool does not say.
    pub missing: Vec<String>,
    pub held: Option<Held>,
    /// What the provider can allow.
    pub scopes: &'static Scopes,
}

impl Need {
    /// Returns what the consent has to ask for: the missing scopes, and also all earlier ones if access has ended.
    pub fn asked(&self) -> Vec<String> {
        let missing = self.scopes.with(Vec::new(), self.missing.clone());
        let missing = self.scopes.asked(missing);
        match &self.held {
            Some(held) if self.revoked || !held.works => {
                self.scopes.with(missing, self.scopes.known(&held.scopes))
            }
            _ => missing,
        }
    }

    /// Returns the account for which more is requested.
    pub(crate) fn of_account(&self) -> Option<&Held> {
        self.held.as_ref().filter(|held| held.works && !self.revoked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_that_ended_after_a_week_is_told_from_one_that_was_taken_back() {
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
            let held = Held {
                account: String::new(),
                scopes: Vec::new(),
                works: false,
                granted_at: Some(granted),
                ends_at: ends,
            };
            assert_eq!(held.ended_after_a_week(now), ended, "{ends:?} {now}");
        }
    }
}
