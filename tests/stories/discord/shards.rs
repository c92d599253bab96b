//! Several shards: each delivers a part of the events, and each can be disconnected on its own.

use std::time::Duration;

use super::*;
use crate::catch_up::answers;

/// The guild's messages arrive on the second shard, DMs on the first.
const GUILDS_SHARD: u64 = 1;

async fn in_two_shards() -> (World, Discord) {
    let mut world = World::without_nod_on(On::Discord).await;
    let discord = server(&world);
    discord.change(|w| w.config.shards = 2);
    world.start().await;
    (world, discord)
}

/// Waits until `/readyz` gives this status, and returns its body.
async fn is_ready(world: &World, expected: bool) -> String {
    let asked = async {
        loop {
            let answer = reqwest::get(format!("{}/readyz", world.address())).await.unwrap();
            let ready = answer.status().is_success();
            let said = answer.text().await.unwrap();
            if ready == expected {
                return said;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(nod_tests::patience(), asked).await.unwrap()
}

#[tokio::test]
async fn what_one_shard_missed_is_looked_up_though_another_was_heard_on() {
    let (mut world, discord) = in_two_shards().await;
    is_ready(&world, true).await;
    answers(&world, "hello", "Hello.");
    world.says("ana", "dm:ana", "hello").await;
    discord.hold_off(Some(GUILDS_SHARD));
    let said = is_ready(&world, false).await;
    assert_eq!(said, r#"{"not_ready":["discord"],"ready":false}"#);
    answers(&world, "with us", "Here.");
    discord.say("bo", "general", None, "@nod are you with us?");
    world.clock.pass(TimeDelta::minutes(10));
    // The replica that receives the first shard keeps advancing the ingest watermark.
    sqlx::query("update hearings set heard_until = $1 where workspace = $2")
        .bind(nod_contract::clock::Clock::now(&world.clock))
        .bind(discord.read(|w| w.config.app.id.clone()))
        .execute(&world.pool)
        .await
        .unwrap();
    discord.hold_off(None);
    world.hears_nod("general", "Here.").await;
    is_ready(&world, true).await;
    assert_eq!(world.reads("general").matches("Here.").count(), 1);
    world.reads("dm:ana");
    world.ends().await;
}

#[tokio::test]
async fn at_a_start_discord_is_asked_once_for_the_gateway_and_for_what_is_set() {
    let (world, discord) = in_two_shards().await;
    for operation in ["get_my_application", "get_bot_gateway"] {
        assert_eq!(discord.calls_of(operation).len(), 1, "{operation}");
    }
    world.ends().await;
}
