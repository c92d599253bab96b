//! The working times of the people behind some addresses, for finding a time that suits them. Nothing is known of a
//! person outside the organisation.

use std::collections::HashMap;

use sqlx::{PgConnection, PgPool};

use super::sql;
use super::working_hours::{self, WorkingTime};
use nod_contract::ids::{PersonId, TenantId};

/// Reads working times by address, and nothing else.
#[derive(Clone)]
pub struct Colleagues {
    pool: PgPool,
}

/// One of the organisation's people.
#[derive(Debug, Clone)]
pub struct Colleague {
    /// The person.
    pub person: PersonId,
    /// The name that others see.
    pub name: String,
    /// When they work.
    pub working: WorkingTime,
}

impl Colleagues {
    /// Creates it over a pool.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    /// Returns colleagues by address in lower case.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn find_by_emails(
        &self,
        tenant: TenantId,
        addresses: &[String],
    ) -> Result<HashMap<String, Colleague>, sqlx::Error> {
        find_by_emails(&mut *self.pool.acquire().await?, tenant, addresses).await
    }

    /// Returns when one person works, whatever their addresses are.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn find_working_time(
        &self,
        tenant: TenantId,
        person: PersonId,
    ) -> Result<Option<WorkingTime>, sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        Ok(working_hours::load_working_times(&mut conn, tenant, &[person]).await?.remove(&person))
    }
}

/// Returns colleagues by address in lower case.
pub async fn find_by_emails(
    conn: &mut PgConnection,
    tenant: TenantId,
    addresses: &[String],
) -> sqlx::Result<HashMap<String, Colleague>> {
    let found = sql::find_by_emails(conn, tenant, addresses).await?;
    let people: Vec<PersonId> = found.iter().map(|(_, person, _)| *person).collect();
    let working = working_hours::load_working_times(conn, tenant, &people).await?;
    let colleague = |(address, person, name): (String, PersonId, String)| {
        let working = working.get(&person)?.clone();
        Some((address, Colleague { person, name, working }))
    };
    Ok(found.into_iter().filter_map(colleague).collect())
}
