//! All of Nod on a database pool of one connection: no task holds it while it waits for the network.

use std::future::Future;
use std::task::Poll;

use nod_sandbox::model::Answer;
use nod_store::store;
use nod_tests::chat::Platform;
use nod_tests::{TestDatabase, World};
use serde_json::json;
use sqlx::PgPool;

use crate::mail::late_mail_call;

on_each_platform!(the_mail_story_needs_one_connection, a_slow_model_holds_no_connection,);

async fn the_mail_story_needs_one_connection(platform: Platform) {
    let mut world = World::without_nod_on(platform).await;
    world.set_max_connections(1);
    world.start().await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.google.deliver("ana@acme.test", "bo@acme.test", "Lunch?", "At noon?").unwrap();
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.script_model("tool", [recent, late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod answer my mail from Bo").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_slow_model_holds_no_connection(platform: Platform) {
    const SLOW: std::time::Duration = std::time::Duration::from_secs(5);
    let mut world = World::without_nod_on(platform).await;
    world.set_max_connections(1);
    world.start().await;
    let slow = Answer::text("One.").with_delay(SLOW);
    world.script_model("conversational", [slow]);
    world.script_model("conversational", [Answer::text("Two.")]);
    world.chat.say("ana", "general", None, "@nod first");
    let begun = std::time::Instant::now();
    world.chat.run_command("bo", "general", "help").await;
    assert!(begun.elapsed() < SLOW, "{:?}", begun.elapsed());
    world.say("bo", "general", "@nod second").await;
    world.read_new("general");
    world.read_ephemerals("bo");
    world.finish().await;
}

/// A task that waits for a transaction can be dropped at any moment: the next one still commits what it writes.
#[tokio::test]
async fn a_transaction_that_nobody_waits_for_holds_nobody_up() {
    let database = TestDatabase::new().await;
    let (one, other) = (database.pool(1).await, database.pool(1).await);
    sqlx::query("create table written (polls int)").execute(&one).await.unwrap();
    let mut polls = 0;
    while !is_begin_cancelled_after(&one, polls).await {
        sqlx::query("insert into written values ($1)").bind(polls).execute(&one).await.unwrap();
        polls += 1;
        let written = sqlx::query_scalar::<_, i64>("select count(*) from written").fetch_one(&other);
        assert_eq!(written.await.unwrap(), i64::from(polls));
    }
    assert!(polls > 1, "it was never given up half-way");
    for pool in [one, other] {
        pool.close().await;
    }
    database.drop_database().await;
}

/// Polls `begin` this often, then drops it. Returns true if it had completed before.
async fn is_begin_cancelled_after(pool: &PgPool, polls: i32) -> bool {
    let mut begins = Box::pin(store::begin(pool));
    for _ in 0..polls {
        let begun = std::future::poll_fn(|cx| Poll::Ready(begins.as_mut().poll(cx).is_ready())).await;
        if begun {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}
