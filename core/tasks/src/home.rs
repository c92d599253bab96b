//! The open tasks on a person's home page.

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::{list, sql};
use nod_contract::card::Card;
use nod_contract::ids::{PersonId, TenantId};
use nod_store::ability::HomeSection;

pub(crate) struct OnHome;

#[async_trait]
impl HomeSection for OnHome {
    async fn load(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        person: PersonId,
    ) -> sqlx::Result<Option<Card>> {
        let open = sql::list_open(conn, tenant, person).await?;
        Ok((!open.is_empty()).then(|| list::open_tasks_card(&open)))
    }
}
