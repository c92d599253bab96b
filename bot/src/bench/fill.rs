//! Fills a database with the past of many conversations: copies of those that were really held, each row many times,
//! under ids that follow from the first row's id and the number of the copy. So references stay right, whatever schema
//! the build has.

use anyhow::Context;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

/// What is copied, in the order in which rows refer to each other.
const TABLES: [&str; 10] = [
    "channels",
    "conversations",
    "runs",
    "messages",
    "run_steps",
    "deliveries",
    "approvals",
    "effects",
    "inbound",
    "audit",
];
/// References to what is not copied.
const SHARED: [&str; 7] =
    ["tenant_id", "person_id", "decider_id", "decided_by", "private_with", "only_for", "lease_id"];
/// Texts that are unique.
const UNIQUE: [&str; 4] = ["channel_ref", "thread_ref", "message_ref", "key"];
/// What is too large to be kept a hundred thousand times on a small disk, and is read for its own run alone.
const LARGE: [(&str, &str); 3] = [("run_steps", "input"), ("run_steps", "output"), ("runs", "state")];
/// A channel has so many copies of each of its conversations.
const CONVERSATIONS_A_CHANNEL: usize = 10;

/// Copies until there are about so many runs.
pub(super) async fn fill(url: &str, runs: u32) -> anyhow::Result<()> {
    let mut conn = PgConnection::connect(url).await?;
    let held: i64 = sqlx::query_scalar("select count(*) from runs").fetch_one(&mut conn).await?;
    let copies = i64::from(runs) / held.max(1);
    // The copies are consistent by themselves, and keys checked one by one would take an hour.
    sqlx::query("set session_replication_role = replica").execute(&mut conn).await?;
    for table in TABLES {
        let statement = copy_statement(&mut conn, table, copies).await?;
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut conn).await.with_context(|| table.to_owned())?;
    }
    sqlx::raw_sql("vacuum analyze").execute(&mut conn).await?;
    Ok(conn.close().await?)
}

async fn copy_statement(conn: &mut PgConnection, table: &str, copies: i64) -> anyhow::Result<String> {
    let columns = sqlx::query(
        "select column_name::text as name, data_type = 'uuid' as is_id from information_schema.columns
         where table_schema = 'public' and table_name = $1 and is_identity = 'NO' order by ordinal_position",
    )
    .bind(table)
    .fetch_all(conn)
    .await?;
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for column in columns {
        let (name, is_id): (String, bool) = (column.try_get("name")?, column.try_get("is_id")?);
        let is_channel = table == "channels" || name == "channel_id";
        let copy = if is_channel { format!("(n / {CONVERSATIONS_A_CHANNEL})") } else { "n".to_owned() };
        values.push(if LARGE.contains(&(table, name.as_str())) {
            if name == "state" { "'{}'".to_owned() } else { "null".to_owned() }
        } else if is_id && !SHARED.contains(&name.as_str()) {
            format!("md5(t.{name}::text || {copy})::uuid")
        } else if UNIQUE.contains(&name.as_str()) {
            format!("t.{name} || '.' || {copy}")
        } else {
            format!("t.{name}")
        });
        names.push(name);
    }
    let (names, values) = (names.join(", "), values.join(", "));
    let last = if table == "channels" { copies - copies % 10 } else { copies };
    let step = if table == "channels" { CONVERSATIONS_A_CHANNEL } else { 1 };
    // Not the copies of copies: all rows are read before the first is written.
    Ok(format!(
        "insert into {table} ({names}) select {values} from {table} t, generate_series({first}, {last}, {step}) n",
        first = if table == "channels" { 0 } else { 1 },
    ))
}
