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
pub struct Lending {
    /// Nod can act as the members whose address is at one of these domains, in lower case.
    domains: Vec<String>,
    /// Who may use the organisation's account.
    borrowers: Borrowers,
    /// That account's address, once the provider has reported it.
    organisations: OnceLock<String>,
}

/// Who may use the organisation's account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Borrowers {
    /// No person.
    #[default]
    Nobody,
    /// These people.
    These(Vec<Named>),
    /// Every member.
    Everybody,
}

/// Which account Nod uses for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// The account that they connected, whether it works or not.
    Own,
    /// An account that is lent to them.
    Lent(Loan),
    /// None, until they connect theirs.
    Nobodys,
}

/// An account that is lent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Loan {
    /// The person's own account at the organisation, by its address.
    Own(String),
    /// The organisation's account.
    Organisations,
}

impl Lending {
    /// Lends members at these domains their own accounts, and these people the organisation's account.
    #[must_use]
    pub fn new(domains: &[String], borrowers: Borrowers) -> Self {
        let domains = domains.iter().map(|domain| domain.to_lowercase()).collect();
        Self { domains, borrowers, organisations: OnceLock::new() }
    }

    /// Returns whether anything is lent to any person.
    #[must_use]
    pub fn lends(&self) -> bool {
        !self.domains.is_empty() || self.borrowers != Borrowers::Nobody
    }

    /// Returns the domains whose members Nod can act as.
    #[must_use]
    pub fn domains(&self) -> &[String] {
        &self.domains
    }

    /// Decides which account is used: a connected one first, then the person's own, then the organisation's. `member`
    /// is `None` for a person who is not a member everywhere they are known.
    #[must_use]
    pub fn decide(&self, connected: bool, member: Option<&Member>) -> Whose {
        match member {
            _ if connected => Whose::Own,
            Some(Member { address: Some(address), .. }) if self.acts_as(address) => {
                Whose::Lent(Loan::Own(address.clone()))
            }
            Some(member) if self.borrowers.has(member) => Whose::Lent(Loan::Organisations),
            _ => Whose::Nobodys,
        }
    }

    fn acts_as(&self, address: &str) -> bool {
        let at = address.split_once('@').filter(|(name, _)| !name.is_empty());
        at.is_some_and(|(_, domain)| self.domains.iter().any(|one| one.eq_ignore_ascii_case(domain)))
    }

    /// Remembers the address of the organisation's account, as the provider reported it.
    pub fn learn_organisations(&self, address: &str) {
        // A second caller was given the same address.
        let _ = self.organisations.set(address.to_owned());
    }

    /// Returns the address of the organisation's account, if it is known.
    #[must_use]
    pub fn organisations(&self) -> Option<&str> {
        self.organisations.get().map(String::as_str)
    }

    /// Returns whether this can be the organisation's account, whose address is unknown before its first use. What Nod
    /// does to that account affects every borrower.
    pub(crate) fn may_be_organisations(&self, account: &str) -> bool {
        let is = |theirs: &str| theirs.eq_ignore_ascii_case(account);
        self.borrowers != Borrowers::Nobody && self.organisations().is_none_or(is)
    }

    /// Describes the loan: "ana@acme.test, as your organisation lets me".
    pub fn words(&self, loan: &Loan) -> String {
        match (loan, self.organisations()) {
            (Loan::Own(address), _) => format!("{address}, as your organisation lets me"),
            (Loan::Organisations, Some(address)) => format!("{address}, your organisation's account"),
            (Loan::Organisations, None) => "your organisation's account".to_owned(),
        }
    }
}

impl Borrowers {
    fn has(&self, member: &Member) -> bool {
        let is = |one: &Named| match one {
            Named::Address(address) => {
                member.address.as_ref().is_some_and(|theirs| theirs.eq_ignore_ascii_case(address))
            }
            Named::User { platform, user } => {
                member.users.iter().any(|(there, theirs)| there == platform && theirs == user)
            }
        };
        match self {
            Self::Nobody => false,
            Self::These(all) => all.iter().any(is),
            Self::Everybody => true,
        }
    }
}

/// Tells a connector which account is lent to a person.
#[derive(Clone)]
pub struct Loans {
    pool: PgPool,
    lending: Arc<Lending>,
}

impl Loans {
    /// Creates it over a pool.
    #[must_use]
    pub fn new(pool: PgPool, lending: Arc<Lending>) -> Self {
        Self { pool, lending }
    }

    /// Returns what is lent to whom.
    #[must_use]
    pub fn lending(&self) -> &Lending {
        &self.lending
    }

    /// Returns the address of any member as whom Nod can act, for testing the delegation.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn somebody(&self, tenant: TenantId) -> Result<Option<String>, sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        people::sql::somebody_at(&mut conn, tenant, self.lending.domains()).await
    }

    /// Returns what is lent to `person`; `None` if they use their own account, or have to connect it.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn of(
        &self,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
    ) -> Result<Option<Loan>, sqlx::Error> {
        if !self.lending.lends() {
            return Ok(None);
        }
        let mut conn = self.pool.acquire().await?;
        match whose(&mut conn, &self.lending, tenant, person, provider).await? {
            Whose::Lent(loan) => Ok(Some(loan)),
            Whose::Own | Whose::Nobodys => Ok(None),
        }
    }
}

/// Returns which account is used for `person`.
pub async fn whose(
    conn: &mut PgConnection,
    lending: &Lending,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
) -> sqlx::Result<Whose> {
    let connected = sql::load(conn, tenant, person, provider.as_str()).await?.is_some();
    Ok(lending.decide(connected, member(conn, lending, tenant, person).await?.as_ref()))
}

/// Describes what is lent to `person` if they have connected nothing.
pub async fn words(
    conn: &mut PgConnection,
    lending: &Lending,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Option<String>> {
    match lending.decide(false, member(conn, lending, tenant, person).await?.as_ref()) {
        Whose::Lent(loan) => Ok(Some(lending.words(&loan))),
        Whose::Own | Whose::Nobodys => Ok(None),
    }
}

async fn member(
    conn: &mut PgConnection,
    lending: &Lending,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Option<Member>> {
    if lending.lends() { people::sql::member(conn, tenant, person).await } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_before_delegated_before_the_organisations_before_a_link() {
        let member = |address: Option<&str>| Member {
            address: address.map(str::to_owned),
            users: vec![("discord".to_owned(), "1".to_owned())],
        };
        let named = |text: &str| Borrowers::These(vec![Named::Address(text.to_owned())]);
        let user = |platform: &str| {
            Borrowers::These(vec![Named::User { platform: platform.to_owned(), user: "1".to_owned() }])
        };
        let own = |address: &str| Whose::Lent(Loan::Own(address.to_owned()));
        let organisations = || Whose::Lent(Loan::Organisations);
        let acme = ["Acme.test".to_owned()];
        let ana = || Some(member(Some("ana@acme.test")));
        for (connected, who, domains, borrowers, whose) in [
            (true, ana(), &acme[..], Borrowers::Everybody, Whose::Own),
            (true, None, &[], Borrowers::Nobody, Whose::Own),
            (false, ana(), &acme, Borrowers::Everybody, own("ana@acme.test")),
            (false, Some(member(Some("Ana@ACME.test"))), &acme, Borrowers::Nobody, own("Ana@ACME.test")),
            (false, ana(), &[], Borrowers::Everybody, organisations()),
            (false, ana(), &[], named("ANA@acme.test"), organisations()),
            (false, Some(member(None)), &acme, user("discord"), organisations()),
            (false, Some(member(Some("bo@x.test"))), &acme, named("ana@acme.test"), Whose::Nobodys),
            (false, Some(member(None)), &acme, user("slack"), Whose::Nobodys),
            (false, Some(member(None)), &acme, Borrowers::Nobody, Whose::Nobodys),
            (false, Some(member(Some("ana@sub.acme.test"))), &acme, Borrowers::Nobody, Whose::Nobodys),
            (false, Some(member(Some("ana@evilacme.test"))), &acme, Borrowers::Nobody, Whose::Nobodys),
            (false, Some(member(Some("ana@x.test@acme.test"))), &acme, Borrowers::Nobody, Whose::Nobodys),
            (false, Some(member(Some("@acme.test"))), &acme, Borrowers::Nobody, Whose::Nobodys),
            // Guests, people of other organisations, and people who have left.
            (false, None, &acme, Borrowers::Everybody, Whose::Nobodys),
            (false, ana(), &[], Borrowers::Nobody, Whose::Nobodys),
        ] {
            let lending = Lending::new(domains, borrowers);
            assert_eq!(lending.decide(connected, who.as_ref()), whose, "{who:?} {lending:?}");
        }
    }
}
