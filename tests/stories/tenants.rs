//! Two organisations in one database: what one Nod does never touches the other's rows.

use std::collections::BTreeMap;

use nod_sandbox::model::Answer;
use nod_tests::{TestDatabase, World};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor, PgPool};

use crate::mail::late_mail_call;

/// Every row of the other organisation, by table.
async fn load_other_rows(pool: &PgPool) -> BTreeMap<String, Vec<Value>> {
    let tables: Vec<String> = sqlx::query_scalar(
        "select table_name::text from information_schema.columns
         where table_schema = 'public' and column_name = 'tenant_id' order by table_name",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    let mut rows = BTreeMap::new();
    for table in tables {
        let query = format!(
            "select to_jsonb(t) from {table} t where tenant_id = '00000000-0000-0000-0000-000000000002' order by t::text"
        );
        let found: Vec<Value> = sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(pool).await.unwrap();
        rows.insert(table, found);
    }
    rows
}

/// Inserts the samples of the migrations as rows of another organisation in the same workspace.
async fn insert_other_organisation(pool: &PgPool) {
    let database = TestDatabase::with_samples().await;
    let samples = database.pool(1).await;
    let mut conn = pool.acquire().await.unwrap();
    // Tables come in any order, so references are not checked meanwhile.
    conn.execute("set session_replication_role = replica").await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "select tablename::text from pg_tables where schemaname = 'public' and tablename <> '_sqlx_migrations'",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    for table in tables {
        let all = format!("select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text from {table} t");
        let rows: String = sqlx::query_scalar(AssertSqlSafe(all)).fetch_one(&samples).await.unwrap();
        let mut rows = rows
            .replace("\"00000000-0000-0000-0000-000000000001\"", "\"00000000-0000-0000-0000-000000000002\"")
            .replace("\"T1\"", "\"T0ACME0001\"")
            .replace("\"C1\"", "\"C00GENERAL\"");
        if table == "lanes" {
            // Only their own Nod would do these jobs; here they are never due.
            rows = rows.replace("\"due_at\": \"2026", "\"due_at\": \"2036");
        }
        let insert = format!(
            "insert into {table} overriding system value select * from jsonb_populate_recordset(null::{table}, $1)"
        );
        let rows: Value = serde_json::from_str(&rows).unwrap();
        sqlx::query(AssertSqlSafe(insert))
            .bind(rows)
            .execute(&mut *conn)
            .await
            .unwrap_or_else(|e| panic!("{table}: {e}"));
    }
    conn.execute("set session_replication_role = default").await.unwrap();
    samples.close().await;
    database.drop_database().await;
}

#[tokio::test]
async fn one_organisation_never_touches_the_others_rows() {
    let mut world = World::without_nod().await;
    insert_other_organisation(&world.pool).await;
    // Any replica frees a lane whose holder died.
    sqlx::query("update lanes set lease_id = null, leased_until = null").execute(&world.pool).await.unwrap();
    let before = load_other_rows(&world.pool).await;
    assert!(before.values().all(|rows| !rows.is_empty()), "{:?}", before.iter().find(|(_, r)| r.is_empty()));
    world.start().await;
    world.connect_google("ana").await;
    let bob = Answer::tool("gmail_send_email", json!({ "to": ["Bob"], "subject": "Hello", "body": "Hi" }));
    world.script_model("tool", [bob, Answer::text("Nobody picked a Bob.")]);
    world.say("ana", "general", "@nod say hello to Bob").await;
    world.click("ana", "general", "Someone else").await;
    world.script_model(
        "tool",
        [Answer::tool("gmail_list_recent", json!({})), late_mail_call(), Answer::text("Bo knows.")],
    );
    world.say("ana", "dm:ana", "read my mail and tell Bo I'm late").await;
    world.click("ana", "dm:ana", "Approve & send").await;

    // Ids of the other organisation, in a button of this one.
    for value in [
        "approve:00000000-0000-0000-0000-000000000051",
        "undo:00000000-0000-0000-0000-000000000057",
        "deny:00000000-0000-0000-0000-000000000051",
        "edit:00000000-0000-0000-0000-000000000051",
        "show_full_text:00000000-0000-0000-0000-000000000051",
        "select:00000000-0000-0000-0000-000000000051",
        "recheck:00000000-0000-0000-0000-000000000051",
        "send_again:00000000-0000-0000-0000-000000000051",
        "approve_all:00000000-0000-0000-0000-000000000061:1",
        "stop_run:00000000-0000-0000-0000-0000000000e1",
        "answer_question:00000000-0000-0000-0000-000000000031:0",
        "show_privately:00000000-0000-0000-0000-000000000061",
        "send_draft:00000000-0000-0000-0000-0000000000b1",
        "discard_draft:00000000-0000-0000-0000-0000000000b1",
        "retry_run:00000000-0000-0000-0000-0000000000e1",
        "allow_account:00000000-0000-0000-0000-000000000011",
    ] {
        let user = if value.starts_with("allow") { "dana" } else { "ana" };
        let forged = nod_sandbox::slack::ForgedClick {
            user: user.to_owned(),
            channel: "general".to_owned(),
            ts: "1.1".to_owned(),
            action_id: "x".to_owned(),
            value: value.to_owned(),
            ..Default::default()
        };
        world.slack.click_forged(forged).unwrap().wait_for_acknowledgement(nod_tests::max_wait()).await;
        let said = world.wait_for_ephemeral(user).await;
        let nothing = ["any more", "or it's gone", "already"];
        assert!(nothing.iter().any(|n| said.contains(n)), "{value}: {said}");
    }
    world.advance(chrono::TimeDelta::hours(30)).await;
    assert_eq!(load_other_rows(&world.pool).await, before);
    let own: i64 = sqlx::query_scalar(
        "select count(*) from runs where tenant_id = '00000000-0000-0000-0000-000000000001' and status = 'done'",
    )
    .fetch_one(&world.pool)
    .await
    .unwrap();
    assert_eq!(own, 2);
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

#[tokio::test]
async fn every_key_leads_with_the_organisation() {
    let database = TestDatabase::new().await;
    let pool = database.pool(1).await;
    let stray: Vec<String> = sqlx::query_scalar(
        "select c.relname::text from pg_index i
         join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
         join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
         where n.nspname = 'public' and i.indisprimary and a.attname <> 'tenant_id'
           and c.relname not in ('tenants', 'prompt_texts', '_sqlx_migrations')",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert!(stray.is_empty(), "{stray:?}");
    pool.close().await;
    database.drop_database().await;
}
