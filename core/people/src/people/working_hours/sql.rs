//! Rows of working hours.

use jiff::civil::Weekday;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{WorkingHours, minute, time};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};

/// Returns, for each known person, the zone that the platform reports and what they set.
pub(super) async fn load_many(
    conn: &mut PgConnection,
    tenant: TenantId,
    people: &[PersonId],
) -> sqlx::Result<Vec<(PersonId, Option<String>, WorkingHours)>> {
    let ids: Vec<Uuid> = people.iter().map(|person| person.0).collect();
    let rows = sqlx::query!(
        r#"select p.id, p.zone as told, h.zone as "zone?", h.days as "days?", h.from_minute as "from_minute?",
             h.to_minute as "to_minute?", h.buffer_minutes as "buffer_minutes?", h.notice_minutes as "notice_minutes?"
         from people p
         left join working_hours h on h.tenant_id = p.tenant_id and h.person_id = p.id
         where p.tenant_id = $1 and p.id = any($2)
         order by p.id"#,
        tenant.0,
        &ids
    )
    .fetch_all(conn)
    .await?;
    let usual = WorkingHours::default;
    Ok(rows
        .into_iter()
        .map(|row| {
            let settings = WorkingHours {
                zone: row.zone,
                days: row.days.map_or_else(|| usual().days, |days| weekdays(&days)),
                from: row.from_minute.map_or_else(|| usual().from, time),
                to: row.to_minute.map_or_else(|| usual().to, time),
                buffer: row.buffer_minutes.unwrap_or_default(),
                notice: row.notice_minutes.unwrap_or_default(),
            };
            (PersonId(row.id), row.told, settings)
        })
        .collect())
}

pub(super) async fn upsert(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    settings: &WorkingHours,
    now: Timestamp,
) -> sqlx::Result<()> {
    let days: Vec<i16> = settings.days.iter().map(|day| day.to_monday_one_offset().into()).collect();
    sqlx::query!(
        "insert into working_hours (tenant_id, person_id, zone, days, from_minute, to_minute, buffer_minutes,
             notice_minutes, changed_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (tenant_id, person_id) do update set zone = $3, days = $4, from_minute = $5, to_minute = $6,
             buffer_minutes = $7, notice_minutes = $8, changed_at = $9",
        tenant.0,
        person.0,
        settings.zone,
        &days,
        minute(settings.from),
        minute(settings.to),
        settings.buffer,
        settings.notice,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

fn weekdays(days: &[i16]) -> Vec<Weekday> {
    let day = |day: &i16| Weekday::from_monday_one_offset(i8::try_from(*day).ok()?).ok();
    days.iter().filter_map(day).collect()
}
