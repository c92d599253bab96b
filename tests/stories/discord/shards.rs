//! Several shards: each delivers a part of the events, and each can be disconnected on its own.

use std::time::Duration;

use super::*;
use crate::catch_up::script_answer;

/// The guild's messages arrive on the second shard, DMs on the first.
const GUILDS_SHARD: u64 = 1;

async fn with_two_shards() -> (World, Discord) {
    let mut world = World::without_nod_on(Platform::Discord).await;
    let discord = server(&world);
    discord.change(|w| w.config.shards = 2);
    world.start().await;
    (world, discord)
}

/// Waits until `/readyz` gives this status, and returns its body.
async fn wait_for_readiness(world: &World, expected: bool) -> String {
    let asked = async {
        loop {
            let answer = reqwest::get(format!("{}/readyz", world.server_url())).await.unwrap();
            let ready = answer.status().is_success();
            let said = answer.text().await.unwrap();
            if ready == expected {
                return said;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(nod_tests::max_wait(), asked).await.unwrap()
}

#[tokio::test]
async fn what_one_shard_missed_is_looked_up_though_another_was_heard_on() {
    let (mut world, discord) = with_two_shards().await;
    wait_for_readiness(&world, true).await;
    script_answer(&world, "hello", "Hello.");
    world.say("ana", "dm:ana", "hello").await;
    discord.refuse_shard(Some(GUILDS_SHARD));
    let said = wait_for_readiness(&world, false).await;
    assert_eq!(said, r#"{"not_ready":["discord"],"ready":false}"#);
    script_answer(&world, "with us", "Here.");
    discord.post_message("bo", "general", None, "@nod are you with us?");
    world.clock.advance(TimeDelta::minutes(10));
    // The replica that receives the first shard keeps advancing the ingest watermark.
    sqlx::query("update ingest_watermarks set received_until = $1 where workspace = $2")
        .bind(nod_contract::clock::Clock::now(&world.clock))
        .bind(discord.read(|w| w.config.app.id.clone()))
        .execute(&world.pool)
        .await
        .unwrap();
    discord.refuse_shard(None);
    world.wait_for_nod_message("general", "Here.").await;
    wait_for_readiness(&world, true).await;
    assert_eq!(world.read_new("general").matches("Here.").count(), 1);
    world.read_new("dm:ana");
    world.finish().await;
}

#[tokio::test]
async fn at_a_start_discord_is_asked_once_for_the_gateway_and_for_what_is_set() {
    let (world, discord) = with_two_shards().await;
    for operation in ["get_my_application", "get_bot_gateway"] {
        assert_eq!(discord.list_calls_of(operation).len(), 1, "{operation}");
    }
    world.finish().await;
}
