//! The line that an earlier request to the same person still waits: the two might be one wish, said twice.

use sqlx::PgConnection;

use super::sql::{self, PendingFilter};
use super::{Approval, guests};
use nod_contract::ids::TenantId;
use nod_people::people::colleagues;

/// Returns "Another email to Bo Lind is waiting", if an earlier run of this conversation asked for one. `is_private`
/// says that only the owner reads the card; otherwise requests that only the owner saw are not mentioned.
pub async fn waiting_line(
    conn: &mut PgConnection,
    tenant: TenantId,
    newer: &Approval,
    is_private: bool,
) -> sqlx::Result<Option<String>> {
    let recipients = &newer.preview.recipients;
    if recipients.is_empty() {
        return Ok(None);
    }
    let within = match is_private {
        true => PendingFilter::Conversation(newer.conversation),
        false => PendingFilter::OpenlyIn(newer.conversation),
    };
    let noun = &newer.preview.labels.noun;
    let reaches =
        |old: &Approval, one: &String| old.preview.recipients.iter().any(|r| r.eq_ignore_ascii_case(one));
    let waiting = sql::list_pending(conn, tenant, newer.decider, within).await?;
    let earlier = waiting.iter().filter(|old| old.run != newer.run && old.preview.labels.noun == *noun);
    let Some(one) = earlier.flat_map(|old| recipients.iter().find(|one| reaches(old, one))).next() else {
        return Ok(None);
    };
    let known = colleagues::find_by_emails(conn, tenant, std::slice::from_ref(one)).await?;
    let name = known.into_values().next().map_or_else(|| one.clone(), |colleague| guests::name(&colleague));
    Ok(Some(format!("Another {noun} to {name} is waiting")))
}
