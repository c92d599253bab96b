//! Commands with autocomplete while a user types them.

use nod_tests::patience;
use serde_json::json;

use super::*;

/// Counts the known people and channels.
async fn known(world: &World) -> (i64, i64) {
    let count = "select (select count(*) from people), (select count(*) from channels)";
    sqlx::query_as(count).fetch_one(&world.pool).await.unwrap()
}

#[tokio::test]
async fn typing_a_command_leaves_no_trace_of_whoever_never_spoke_to_nod() {
    let (world, discord) = world().await;
    let before = known(&world).await;
    discord.add_user(nod_sandbox::discord::User::new("finn", "Finn New"));
    for (user, channel) in [("bo", "general"), ("finn", "general")] {
        let typing = discord.complete(user, channel, "memory", &json!({"forget": "lau"})).unwrap();
        let offered = typing.acknowledged(patience()).await.payload.unwrap();
        assert_eq!(offered["data"]["choices"], json!([]));
    }
    assert_eq!(known(&world).await, before);
    world.ends().await;
}
