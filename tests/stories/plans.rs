//! However much people have talked, a turn reads only the rows that it is about: none of its statements scans a table that
//! grows. Functions hide their statements, so the database's counters are the judge, not the plans.

use std::collections::BTreeMap;
use std::time::Duration;

use nod_bot::bench::fill::{HeldBy, fill};
use nod_sandbox::model::Answer;
use nod_tests::{TestDatabase, World, max_wait};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::mail::late_mail_call;

/// So many that an index is cheaper than reading every row.
const RUNS: u32 = 6_000;
/// A table with fewer rows has not been filled.
const FILLED: i64 = 500;
/// Tables that have rows, were not filled and may be scanned, each with the reason.
const MAY_BE_SCANNED: [(&str, &str); 8] = [
    ("_sqlx_migrations", "one row for each migration, read at the start"),
    ("tenants", "there is one"),
    ("prompt_texts", "one row for each text of the program, not for each prompt"),
    ("directories", "one row for each workspace"),
    ("ingest_watermarks", "one row for each workspace"),
    ("catch_up_channels", "one row for each channel that is still to be read, by one job"),
    (
        "lanes",
        "one row for each piece of work that is left; the harness scans them too, to see whether any is",
    ),
    ("queued_jobs", "the same"),
];
/// Rows that have to do with these are as many as people and conversations.
const GROWS_WITH: [&str; 4] = ["channel_id", "conversation_id", "run_id", "person_id"];

/// A talk, an answer from the mailbox, and an email that is approved and leaves when the undo window has passed.
async fn each_kind_of_turn(world: &mut World) {
    world.script_model("conversational", [Answer::text("Hello.")]);
    let thread = world.say("ana", "general", "@nod hello").await;
    world.script_model("conversational", [Answer::text("Hello again.")]);
    world.reply("ana", "general", &thread, "@nod and again").await;
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("No news.")]);
    world.say("ana", "general", "@nod what's new in my mail?").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.click("ana", "general", "Approve & send").await;
    world.advance_past_undo_window().await;
    world.read_new("general");
    world.read_new("dm:ana");
}

/// Puts the rows of the migrations' samples into tables in which Ana has left nothing, such as drafts and facts: an empty
/// table cannot be filled, and whoever scans it reads nothing.
async fn add_samples(conn: &mut PgConnection) {
    let samples = TestDatabase::with_samples().await;
    let mut from = PgConnection::connect(&samples.url).await.unwrap();
    // Work would be done, and a person can have only one code to link an identity with.
    let tables = "select distinct t.table_name::text
        from information_schema.tables t join information_schema.columns c using (table_schema, table_name)
        where t.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.column_name = any($1)
            and t.table_name not in ('lanes', 'queued_jobs', 'link_codes')";
    let tables: Vec<String> =
        sqlx::query_scalar(tables).bind(GROWS_WITH.map(str::to_owned)).fetch_all(&mut *conn).await.unwrap();
    // What they refer to is left behind.
    sqlx::query("set session_replication_role = replica").execute(&mut *conn).await.unwrap();
    for table in tables {
        let rows = AssertSqlSafe(format!("select to_jsonb(t) from {table} t"));
        let rows: Vec<Value> = sqlx::query_scalar(rows).fetch_all(&mut from).await.unwrap();
        let add = AssertSqlSafe(format!(
            "insert into {table} overriding system value select r.* from jsonb_populate_recordset(null::{table}, $1) r
             where not exists (select from {table})"
        ));
        sqlx::query(add).bind(Value::from(rows)).execute(&mut *conn).await.unwrap();
    }
    from.close().await.unwrap();
    samples.drop_database().await;
}

/// Gives the company a past. A table that has rows and was not filled must be one of those that stay small, or else nobody
/// would notice a scan of it.
async fn fill_database(world: &World) {
    let url = &world.env["NOD_DATABASE__URL"];
    let mut conn = PgConnection::connect(url).await.unwrap();
    add_samples(&mut conn).await;
    fill(url, RUNS, HeldBy::Colleagues).await.unwrap();
    let small = sqlx::query_scalar(
        "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
             and reltuples > 0 and reltuples < $1",
    );
    let small: Vec<String> = small.bind(FILLED).fetch_all(&mut conn).await.unwrap();
    let unnamed: Vec<&String> = small.iter().filter(|table| !may_be_scanned(table)).collect();
    assert!(unnamed.is_empty(), "these were not filled: {unnamed:?}");
    conn.close().await.unwrap();
}

fn may_be_scanned(table: &str) -> bool {
    MAY_BE_SCANNED.iter().any(|(named, _)| *named == table)
}

/// Returns how many rows of each table were read by scans, once all connections but the harness's have ended: a backend
/// reports what it has counted when it ends, and before that only now and then.
async fn count_scanned_rows(world: &World) -> BTreeMap<String, i64> {
    let open = "select count(*) from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend'";
    let until = tokio::time::Instant::now() + max_wait();
    loop {
        let open: i64 = sqlx::query_scalar(open).fetch_one(&world.pool).await.unwrap();
        if open <= i64::from(world.pool.size()) {
            break;
        }
        assert!(tokio::time::Instant::now() < until, "{open} connections stay open");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let counters = sqlx::query_as("select relname::text, seq_tup_read from pg_stat_user_tables");
    counters.fetch_all(&world.pool).await.unwrap().into_iter().collect()
}

/// Starts Nod, plays each kind of turn twice, stops it, and returns the tables that were scanned and should not have been,
/// with the number of rows.
async fn play(world: &mut World) -> Vec<(String, i64)> {
    let before = count_scanned_rows(world).await;
    world.comes_back().await;
    for _ in 0..2 {
        each_kind_of_turn(world).await;
    }
    world.stop().await;
    let after = count_scanned_rows(world).await;
    let scanned = after.into_iter().map(|(table, rows)| (rows - before[&table], table));
    scanned
        .filter(|(rows, table)| *rows > 0 && !may_be_scanned(table))
        .map(|(rows, table)| (table, rows))
        .collect()
}

/// Postgres plans a statement for its parameters, or once for all, which is what Nod's own connections ask for. Both are tried.
async fn set_plans(world: &World, mode: &str) {
    let statement = format!(
        "do $$ begin
             execute format('alter database %I set plan_cache_mode = {mode}', current_database());
         end $$"
    );
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&world.pool).await.unwrap();
}

#[tokio::test]
async fn no_turn_scans_a_table_that_grows() {
    let mut world = World::with_undo_window().await;
    world.connect_google("ana").await;
    each_kind_of_turn(&mut world).await;
    world.stop().await;
    fill_database(&world).await;
    for mode in ["force_custom_plan", "force_generic_plan"] {
        set_plans(&world, mode).await;
        let scanned = play(&mut world).await;
        assert!(scanned.is_empty(), "{mode}: rows read by scans: {scanned:?}");
    }
    // Without an index, a scan is found.
    sqlx::raw_sql("drop index runs_of_conversation").execute(&world.pool).await.unwrap();
    let scanned = play(&mut world).await;
    assert!(scanned.iter().any(|(table, _)| table == "runs"), "{scanned:?}");
    world.start().await;
    world.finish().await;
}
