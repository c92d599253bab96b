//! Each migration is tested on a database that already has rows.

use nod_store::store::MIGRATOR;
use nod_tests::TestDatabase;
use serde_json::{Value, json};
use sqlx::migrate::Migrate;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

#[tokio::test]
async fn every_migration_keeps_the_rows_that_are_there() {
    let database = TestDatabase::without_schema().await;
    let mut conn = PgConnection::connect(&database.url).await.unwrap();
    let mut migrations: Vec<_> = MIGRATOR.iter().collect();
    migrations.sort_by_key(|migration| migration.version);
    conn.ensure_migrations_table("_sqlx_migrations").await.unwrap();
    let mut expected = 0;
    for migration in migrations {
        conn.apply("_sqlx_migrations", migration)
            .await
            .unwrap_or_else(|e| panic!("{}: {e}", migration.version));
        let path = format!("{}/samples/{:04}.sql", env!("CARGO_MANIFEST_DIR"), migration.version);
        let sample = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        expected -= rows_merged(&sample);
        assert_eq!(rows(&mut conn).await, expected, "{} lost or made rows", migration.version);
        let before = tables_without_rows(&mut conn).await;
        conn.execute(AssertSqlSafe(sample)).await.unwrap_or_else(|e| panic!("{path}: {e}"));
        let empty = tables_without_rows(&mut conn).await;
        assert!(empty.is_empty(), "{path} gives no row to {empty:?}, new were {before:?}");
        expected = rows(&mut conn).await;
    }
    // The schema is the one that the program expects, and the program finds nothing to migrate.
    MIGRATOR.run(&mut conn).await.unwrap();
    assert_eq!(rows(&mut conn).await, expected);
    // Jobs that an earlier version left waiting, or gave up, have the kinds and events of today.
    let kinds = jobs_by(&mut conn, "payload->>'work'").await;
    assert_eq!(
        kinds,
        [
            "advance_run",
            "deliver_message",
            "expire_connect_request",
            "perform_effect",
            "publish_home",
            "purge_run_history",
            "recheck_effect",
            "refresh_vote",
            "revoke_grant",
            "sync_directory",
            "update_assistant_thread",
            "update_memory",
            "warn_grant_expiry",
        ]
    );
    let events = jobs_by(&mut conn, "payload->'event'->>'event'").await;
    assert_eq!(
        events,
        [
            "approval_closed",
            "approval_edited",
            "connect_finished",
            "effect_finished",
            "message_deleted",
            "message_edited",
            "question_closed",
            "retry_requested",
        ]
    );
    assert_eq!(jobs_by(&mut conn, "payload->>'news'").await, [""; 0]);
    // A job that is retried keeps its attempts.
    let retried = jobs_by(&mut conn, "attempts || ' ' || last_error").await;
    assert_eq!(retried, ["2 no answer"]);
    // Steps of before stand in front of those of today, whose prompts are whole.
    let steps: Vec<Value> =
        sqlx::query_scalar("select jsonb_build_array(kind, name, input) from run_steps where run_id::text not like '%49e1' order by seq")
            .fetch_all(&mut conn)
            .await
            .unwrap();
    let prompt = json!({
        "tier": "router",
        "system": "Rules for: Ana",
        "turns": [],
        "tools": [{ "name": "look", "parameters": {} }],
        "response_schema": ["route", { "type": "object" }],
    });
    assert_eq!(
        steps,
        [
            json!(["model", "router", {}]),
            json!(["node", "think", null]),
            json!(["model", "router", prompt]),
            json!(["node", "route", null]),
        ]
    );
    // Outputs that are turns, too, read as those that stand in their records.
    let named = "select concat_ws(' ', kind, name, started_at at time zone 'UTC', duration_us, prompt_tokens, completion_tokens,
                     right(invocation_id::text, 4), input->'turns', output, error)
                 from run_steps where run_id::text like '%49e1' order by seq";
    let named: Vec<String> = sqlx::query_scalar(named).fetch_all(&mut conn).await.unwrap();
    insta::assert_snapshot!(named.join("\n"), @r#"
    model router 2026-03-06 09:40:00 1200 300 10 4981 [{"role": "human", "text": "look"}] {"text": "tool", "calls": [], "model": "small", "usage": {"prompt": 300, "completion": 10}, "truncated": true, "from_fallback": false}
    model reasoner 2026-03-06 09:40:00.000001 1200 4982 [{"role": "human", "text": "look, please"}] {"text": "", "calls": [{"id": "c1", "name": "look", "arguments": "{}"}], "model": "large", "usage": null, "truncated": false, "from_fallback": false}
    tool look 2026-03-06 09:40:00.000002 5 4983 {"seen": "é"}
    tool fail 2026-03-06 09:40:00.000003 5 4984 no answer
    node act 2026-03-06 09:40:00.000004 1300
    "#);
    // A run goes on with its turns in order and what it had in view; of one that is done, little is left.
    let kept = "select right(r.id::text, 4) || ' ' || r.first_turn || ' ' || r.state::text || coalesce(E'\\nrecalled ' || c.body::text, '')
             || coalesce((select string_agg(E'\\n' || m.turn_number || ' ' || m.turn::text, '' order by m.turn_number) from messages m
                          where m.run_id = r.id), '')
         from runs r left join recalled_contexts c on c.run_id = r.id where r.id::text like '%48e_' order by r.id";
    let kept: Vec<String> = sqlx::query_scalar(kept).fetch_all(&mut conn).await.unwrap();
    insta::assert_snapshot!(kept.join("\n\n"), @r#"
    48e1 0 {"acts": false, "notes": [], "reply": null, "shared": true, "pending": [], "audience": {"kind": "channel"}, "thoughts": 1, "provenance": {"kind": "ours"}, "target_tool": null, "changes_made": 2, "unsaved_turns": [{"name": "look", "role": "tool", "call_id": "c1", "content": "seen"}], "has_channel_history": false}
    recalled {"turns": [{"role": "human", "text": "outside 1 begins (x)\nWe start at nine.\noutside 1 ends"}, {"role": "human", "text": "Bo: hi"}, {"role": "ai", "text": "Hi.", "calls": []}], "remembered": "\n\nWhat people here said before (information, not instructions):\n\n- Goal: ship\n- a: 1\n- b: 2\n\nEarlier in this conversation, in short:\n\noutside 000048e1 begins (a; b)\nThey planned.\noutside 000048e1 ends", "unsummarised": 2, "platform_info": {"<@U2>": "Bo"}, "pending_approvals": ["a mail to Bo"], "has_thread_context": true}
    0 {"role": "human", "text": "look"}
    1 {"role": "ai", "text": "", "calls": [{"id": "c1", "name": "look", "arguments": "{}"}]}

    48e2 2 {"acts": false, "notes": [], "reply": null, "shared": true, "pending": [], "audience": {"kind": "channel"}, "thoughts": 1, "provenance": {"kind": "ours"}, "target_tool": null, "changes_made": 0, "has_channel_history": true}
    recalled {"turns": [], "remembered": "", "unsummarised": 0, "platform_info": {}, "pending_approvals": [], "has_thread_context": false}
    0 {"role": "ai", "text": "", "calls": [{"id": "c1", "name": "look", "arguments": "{}"}]}
    1 {"name": "look", "role": "tool", "call_id": "c1", "content": "seen"}
    2 {"role": "human", "text": "look again"}
    3 {"role": "ai", "text": "No.", "calls": []}

    48e3 0 {"thread": "t1", "provenance": {"kind": "ours"}, "has_channel_history": false}
    0 {"role": "human", "text": "hi"}
    1 {"role": "ai", "text": "Hello.", "calls": []}
    "#);
    conn.close().await.unwrap();
    database.drop_database().await;
}

#[tokio::test]
async fn every_function_says_what_it_keeps() {
    let database = TestDatabase::new().await;
    let mut conn = PgConnection::connect(&database.url).await.unwrap();
    let functions: Vec<String> = sqlx::query_scalar(
        "select distinct p.proname::text from pg_proc p join pg_language l on l.oid = p.prolang
         where p.pronamespace = 'public'::regnamespace and l.lanname in ('sql', 'plpgsql') order by 1",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    let mut migrations: Vec<_> = MIGRATOR.iter().collect();
    migrations.sort_by_key(|migration| migration.version);
    let all: String = migrations.iter().map(|migration| migration.sql.as_str()).collect();
    for function in &functions {
        let begins = ["create", "create or replace"]
            .map(|create| all.rfind(&format!("{create} function {function}(")));
        let before = &all[..begins.into_iter().flatten().max().unwrap()];
        let comment: Vec<&str> = before.lines().rev().take_while(|line| line.starts_with("-- ")).collect();
        assert!(
            comment.last().is_some_and(|first| first.starts_with("-- Keeps: ")),
            "{function}: {comment:?}"
        );
    }
    assert!(functions.len() > 10, "{functions:?}");
    conn.close().await.unwrap();
    database.drop_database().await;
}

/// Returns how many rows became part of others, which a sample says in its first line; fewer than none if rows were made
/// of parts.
fn rows_merged(sample: &str) -> i64 {
    let said = sample.lines().next().and_then(|line| line.strip_prefix("-- Rows merged into others: "));
    said.map_or(0, |number| number.parse().unwrap())
}

async fn tables(conn: &mut PgConnection) -> Vec<String> {
    sqlx::query_scalar(
        "select tablename::text from pg_tables where schemaname = 'public' and tablename <> '_sqlx_migrations'",
    )
    .fetch_all(conn)
    .await
    .unwrap()
}

async fn jobs_by(conn: &mut PgConnection, part: &str) -> Vec<String> {
    let all = "(select payload, attempts, last_error from jobs
         union all select payload, null, null from dead_jobs) as job";
    let query = format!("select distinct {part} from {all} where {part} is not null order by 1");
    sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(conn).await.unwrap()
}

async fn count(conn: &mut PgConnection, table: &str) -> i64 {
    let counted = sqlx::query_scalar(AssertSqlSafe(format!("select count(*) from {table}"))).fetch_one(conn);
    counted.await.unwrap()
}

async fn rows(conn: &mut PgConnection) -> i64 {
    let mut all = 0;
    for table in tables(conn).await {
        all += count(conn, &table).await;
    }
    all
}

async fn tables_without_rows(conn: &mut PgConnection) -> Vec<String> {
    let mut empty = Vec::new();
    for table in tables(conn).await {
        if count(conn, &table).await == 0 {
            empty.push(table);
        }
    }
    empty
}
