//! When the people behind some addresses work: for whoever looks for a time that suits them. Of somebody who is not
//! one of the organisation's people nothing is known.

use std::collections::HashMap;

use sqlx::{PgConnection, PgPool};

use super::hours::{self, Working};
use super::sql;
use nod_contract::ids::{PersonId, TenantId};

/// Reads working times by address, and nothing else.
#[derive(Clone)]
pub struct Colleagues {
    pool: PgPool,
}

/// One of the organisation's people.
#[derive(Debug, Clone)]
pub struct Colleague {
    /// Who.
    pub person: PersonId,
    /// As others know them.
    pub name: String,
    /// When they work.
    pub working: Working,
}

impl Colleagues {
    /// Over a pool.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    /// By address in lower case.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn at(
        &self,
        tenant: TenantId,
        addresses: &[String],
    ) -> Result<HashMap<String, Colleague>, sqlx::Error> {
        at(&mut *self.pool.acquire().await?, tenant, addresses).await
    }

    /// When one person works, whatever their addresses are.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn of(&self, tenant: TenantId, person: PersonId) -> Result<Option<Working>, sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        Ok(hours::working(&mut conn, tenant, &[person]).await?.remove(&person))
    }
}

/// By address in lower case.
pub async fn at(
    conn: &mut PgConnection,
    tenant: TenantId,
    addresses: &[String],
) -> sqlx::Result<HashMap<String, Colleague>> {
    let found = sql::at_addresses(conn, tenant, addresses).await?;
    let people: Vec<PersonId> = found.iter().map(|(_, person, _)| *person).collect();
    let working = hours::working(conn, tenant, &people).await?;
    let colleague = |(address, person, name): (String, PersonId, String)| {
        let working = working.get(&person)?.clone();
        Some((address, Colleague { person, name, working }))
    };
    Ok(found.into_iter().filter_map(colleague).collect())
}
