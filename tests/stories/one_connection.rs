//! All of Nod on a database pool of one connection: no task holds it while it waits for the network.

use std::future::Future;
use std::task::Poll;

use nod_sandbox::model::Answer;
use nod_store::store;
use nod_tests::chat::On;
use nod_tests::{TestDatabase, World};
use serde_json::json;
use sqlx::PgPool;

use crate::mail::late;

on_each_platform!(the_mail_story_needs_one_connection, a_slow_model_holds_no_connection,);

async fn the_mail_story_needs_one_connection(platform: On) {
    let mut world = World::without_nod_on(platform).await;
    world.connections(1);
    world.start().await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.google.deliver("ana@acme.test", "bo@acme.test", "Lunch?", "At noon?").unwrap();
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.model_will("tool", [recent, late(), Answer::text("Bo knows.")]);
    world.says("ana", "general", "@nod answer my mail from Bo").await;
    world.presses("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.reads("general");
    world.reads("dm:ana");
    world.ends().await;
}

async fn a_slow_model_holds_no_connection(platform: On) {
    let mut world = World::without_nod_on(platform).await;
    world.connections(1);
    world.start().await;
    let slow = Answer::text("One.").delayed(std::time::Duration::from_millis(1500));
    world.model_will("conversational", [slow]);
    world.model_will("conversational", [Answer::text("Two.")]);
    world.chat.say("ana", "general", None, "@nod first");
    let begun = std::time::Instant::now();
    world.chat.command("bo", "general", "help").await;
    assert!(begun.elapsed() < std::time::Duration::from_millis(1000), "{:?}", begun.elapsed());
    world.says("bo", "general", "@nod second").await;
    world.reads("general");
    world.whispers("bo");
    world.ends().await;
}

/// A task that waits for a transaction can be dropped at any moment: the next one still commits what it writes.
#[tokio::test]
async fn a_transaction_that_nobody_waits_for_holds_nobody_up() {
    let database = TestDatabase::new().await;
    let (one, other) = (database.pool(1).await, database.pool(1).await);
    sqlx::query("create table written (polls int)").execute(&one).await.unwrap();
    let mut polls = 0;
    while !is_given_up_after(&one, polls).await {
        sqlx::query("insert into written values ($1)").bind(polls).execute(&one).await.unwrap();
        polls += 1;
        let written = sqlx::query_scalar::<_, i64>("select count(*) from written").fetch_one(&other);
        assert_eq!(written.await.unwrap(), i64::from(polls));
    }
    assert!(polls > 1, "it was never given up half-way");
    for pool in [one, other] {
        pool.close().await;
    }
    database.drop_it().await;
}

/// Polls `begin` this often, then drops it. Returns true if it had completed before.
async fn is_given_up_after(pool: &PgPool, polls: i32) -> bool {
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
