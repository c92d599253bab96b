//! The rows of rolls. Every statement names the tenant. (A real ability uses `sqlx::query!`, checked against the
//! migrations, which do not contain the example's table.)

use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::Roll;
use nod_contract::ids::{ConversationId, PersonId, TenantId};

pub(crate) async fn insert(conn: &mut PgConnection, roll: &Roll) -> sqlx::Result<()> {
    sqlx::query(
        "insert into dice_rolls (tenant_id, id, person_id, conversation_id, sides, rolled, rolled_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(roll.tenant.0)
    .bind(roll.id)
    .bind(roll.person.0)
    .bind(roll.conversation.0)
    .bind(roll.sides)
    .bind(roll.rolled)
    .bind(roll.at)
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn load(conn: &mut PgConnection, tenant: TenantId, id: Uuid) -> sqlx::Result<Option<Roll>> {
    let row = sqlx::query(
        "select person_id, conversation_id, sides, rolled, rolled_at from dice_rolls
         where tenant_id = $1 and id = $2",
    )
    .bind(tenant.0)
    .bind(id)
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Roll {
        tenant,
        id,
        person: PersonId(row.try_get("person_id")?),
        conversation: ConversationId(row.try_get("conversation_id")?),
        sides: row.try_get("sides")?,
        rolled: row.try_get("rolled")?,
        at: row.try_get("rolled_at")?,
    }))
}
