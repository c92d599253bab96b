//! Accounts that the operator lends to people who connected none: their own account at the organisation, by delegation,
//! or one that belongs to the organisation. Each is the operator's explicit choice; none is stored in `connections`.
//!
//! A borrower is identified by what a platform says about its members. An address that a person or a model wrote, or
//! one that a person once signed in with, opens no mailbox.

use std::sync::{Arc, OnceLock};

use sqlx::{PgConnection, PgPool};

use super::sql;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::provider::Provider;
use nod_people::named::Named;
use nod_people::people::{self, Member};

/// What the operator lends, and to whom; by default nothing.
#[derive(Debug, Default)]
pub struct DelegatedAccess {
    /// Nod can act as the members whose address is at one of these domains, in lower case.
    domains: Vec<String>,
    /// Who may use the organisation's account.
    organisation_users: OrganisationAccountUsers,
    /// That account's address, once the provider has reported it.
    organisation_email: OnceLock<String>,
}

/// Who may use the organisation's account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OrganisationAccountUsers {
    /// No person.
    #[default]
    Nobody,
    /// These people.
    Listed(Vec<Named>),
    /// Every member.
    AllMembers,
}

/// Which account Nod uses for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountSource {
    /// The account that they connected, whether it works or not.
    Connected,
    /// An account that is lent to them.
    Delegated(DelegatedAccount),
    /// None, until they connect theirs.
    NoAccount,
}

/// An account that is lent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DelegatedAccount {
    /// The person's own account at the organisation, by its address.
    Impersonated(String),
    /// The organisation's account.
    Organisation,
}

impl DelegatedAccess {
    /// Lends members at these domains their own accounts, and these people the organisation's account.
    #[must_use]
    pub fn new(domains: &[String], borrowers: OrganisationAccountUsers) -> Self {
        let domains = domains.iter().map(|domain| domain.to_lowercase()).collect();
        Self { domains, organisation_users: borrowers, organisation_email: OnceLock::new() }
    }

    /// Returns whether anything is lent to any person.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        !self.domains.is_empty() || self.organisation_users != OrganisationAccountUsers::Nobody
    }

    /// Returns the domains whose members Nod can act as.
    #[must_use]
    pub fn domains(&self) -> &[String] {
        &self.domains
    }

    /// Decides which account is used: a connected one first, then the person's own, then the organisation's. `member`
    /// is `None` for a person who is not a member everywhere they are known.
    #[must_use]
    pub fn account_source(&self, connected: bool, member: Option<&Member>) -> AccountSource {
        match member {
            _ if connected => AccountSource::Connected,
            Some(Member { email: Some(address), .. }) if self.is_delegated_domain(address) => {
                AccountSource::Delegated(DelegatedAccount::Impersonated(address.clone()))
            }
            Some(member) if self.organisation_users.contains(member) => {
                AccountSource::Delegated(DelegatedAccount::Organisation)
            }
            _ => AccountSource::NoAccount,
        }
    }

    fn is_delegated_domain(&self, address: &str) -> bool {
        let at = address.split_once('@').filter(|(name, _)| !name.is_empty());
        at.is_some_and(|(_, domain)| self.domains.iter().any(|one| one.eq_ignore_ascii_case(domain)))
    }

    /// Remembers the address of the organisation's account, as the provider reported it.
    pub fn set_organisation_email(&self, address: &str) {
        // A second caller was given the same address.
        let _ = self.organisation_email.set(address.to_owned());
    }

    /// Returns the address of the organisation's account, if it is known.
    #[must_use]
    pub fn organisation_email(&self) -> Option<&str> {
        self.organisation_email.get().map(String::as_str)
    }

    /// Returns whether this can be the organisation's account, whose address is unknown before its first use. What Nod
    /// does to that account affects every borrower.
    pub(crate) fn may_be_organisation_account(&self, account: &str) -> bool {
        let is = |theirs: &str| theirs.eq_ignore_ascii_case(account);
        self.organisation_users != OrganisationAccountUsers::Nobody
            && self.organisation_email().is_none_or(is)
    }

    /// Describes the loan: "ana@acme.test, as your organisation lets me".
    pub fn describe(&self, loan: &DelegatedAccount) -> String {
        match (loan, self.organisation_email()) {
            (DelegatedAccount::Impersonated(address), _) => {
                format!("{address}, through your organisation")
            }
            (DelegatedAccount::Organisation, Some(address)) => {
                format!("{address}, your organisation's account")
            }
            (DelegatedAccount::Organisation, None) => "your organisation's account".to_owned(),
        }
    }
}

impl OrganisationAccountUsers {
    fn contains(&self, member: &Member) -> bool {
        let is = |one: &Named| match one {
            Named::Email(address) => {
                member.email.as_ref().is_some_and(|theirs| theirs.eq_ignore_ascii_case(address))
            }
            Named::User { platform, user } => {
                member.users.iter().any(|(there, theirs)| there == platform && theirs == user)
            }
        };
        match self {
            Self::Nobody => false,
            Self::Listed(all) => all.iter().any(is),
            Self::AllMembers => true,
        }
    }
}

/// Tells a connector which account is lent to a person.
#[derive(Clone)]
pub struct DelegatedAccountResolver {
    pool: PgPool,
    delegated_access: Arc<DelegatedAccess>,
}

impl DelegatedAccountResolver {
    /// Creates it over a pool.
    #[must_use]
    pub fn new(pool: PgPool, lending: Arc<DelegatedAccess>) -> Self {
        Self { pool, delegated_access: lending }
    }

    /// Returns what is lent to whom.
    #[must_use]
    pub fn delegated_access(&self) -> &DelegatedAccess {
        &self.delegated_access
    }

    /// Returns the address of any member as whom Nod can act, for testing the delegation.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn find_delegated_email(&self, tenant: TenantId) -> Result<Option<String>, sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        people::sql::find_member_email_at(&mut conn, tenant, self.delegated_access.domains()).await
    }

    /// Returns what is lent to `person`; `None` if they use their own account, or have to connect it.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn find_delegated_account(
        &self,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
    ) -> Result<Option<DelegatedAccount>, sqlx::Error> {
        if !self.delegated_access.is_enabled() {
            return Ok(None);
        }
        let mut conn = self.pool.acquire().await?;
        match load_account_source(&mut conn, &self.delegated_access, tenant, person, provider).await? {
            AccountSource::Delegated(loan) => Ok(Some(loan)),
            AccountSource::Connected | AccountSource::NoAccount => Ok(None),
        }
    }
}

/// Returns which account is used for `person`.
pub async fn load_account_source(
    conn: &mut PgConnection,
    lending: &DelegatedAccess,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
) -> sqlx::Result<AccountSource> {
    let connected = sql::load(conn, tenant, person, provider.as_str()).await?.is_some();
    Ok(lending.account_source(connected, load_member(conn, lending, tenant, person).await?.as_ref()))
}

/// Describes what is lent to `person` if they have connected nothing.
pub async fn describe_delegated_access(
    conn: &mut PgConnection,
    lending: &DelegatedAccess,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Option<String>> {
    match lending.account_source(false, load_member(conn, lending, tenant, person).await?.as_ref()) {
        AccountSource::Delegated(loan) => Ok(Some(lending.describe(&loan))),
        AccountSource::Connected | AccountSource::NoAccount => Ok(None),
    }
}

async fn load_member(
    conn: &mut PgConnection,
    lending: &DelegatedAccess,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Option<Member>> {
    if lending.is_enabled() { people::sql::load_member(conn, tenant, person).await } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connected_account_wins_over_delegated_over_organisation() {
        let member = |address: Option<&str>| Member {
            email: address.map(str::to_owned),
            users: vec![("discord".to_owned(), "1".to_owned())],
        };
        let named = |text: &str| OrganisationAccountUsers::Listed(vec![Named::Email(text.to_owned())]);
        let user = |platform: &str| {
            OrganisationAccountUsers::Listed(vec![Named::User {
                platform: platform.to_owned(),
                user: "1".to_owned(),
            }])
        };
        let own =
            |address: &str| AccountSource::Delegated(DelegatedAccount::Impersonated(address.to_owned()));
        let organisations = || AccountSource::Delegated(DelegatedAccount::Organisation);
        let acme = ["Acme.test".to_owned()];
        let ana = || Some(member(Some("ana@acme.test")));
        for (connected, who, domains, borrowers, whose) in [
            (true, ana(), &acme[..], OrganisationAccountUsers::AllMembers, AccountSource::Connected),
            (true, None, &[], OrganisationAccountUsers::Nobody, AccountSource::Connected),
            (false, ana(), &acme, OrganisationAccountUsers::AllMembers, own("ana@acme.test")),
            (
                false,
                Some(member(Some("Ana@ACME.test"))),
                &acme,
                OrganisationAccountUsers::Nobody,
                own("Ana@ACME.test"),
            ),
            (false, ana(), &[], OrganisationAccountUsers::AllMembers, organisations()),
            (false, ana(), &[], named("ANA@acme.test"), organisations()),
            (false, Some(member(None)), &acme, user("discord"), organisations()),
            (false, Some(member(Some("bo@x.test"))), &acme, named("ana@acme.test"), AccountSource::NoAccount),
            (false, Some(member(None)), &acme, user("slack"), AccountSource::NoAccount),
            (false, Some(member(None)), &acme, OrganisationAccountUsers::Nobody, AccountSource::NoAccount),
            (
                false,
                Some(member(Some("ana@sub.acme.test"))),
                &acme,
                OrganisationAccountUsers::Nobody,
                AccountSource::NoAccount,
            ),
            (
                false,
                Some(member(Some("ana@evilacme.test"))),
                &acme,
                OrganisationAccountUsers::Nobody,
                AccountSource::NoAccount,
            ),
            (
                false,
                Some(member(Some("ana@x.test@acme.test"))),
                &acme,
                OrganisationAccountUsers::Nobody,
                AccountSource::NoAccount,
            ),
            (
                false,
                Some(member(Some("@acme.test"))),
                &acme,
                OrganisationAccountUsers::Nobody,
                AccountSource::NoAccount,
            ),
            // Guests, people of other organisations, and people who have left.
            (false, None, &acme, OrganisationAccountUsers::AllMembers, AccountSource::NoAccount),
            (false, ana(), &[], OrganisationAccountUsers::Nobody, AccountSource::NoAccount),
        ] {
            let lending = DelegatedAccess::new(domains, borrowers);
            assert_eq!(lending.account_source(connected, who.as_ref()), whose, "{who:?} {lending:?}");
        }
    }
}
