//! Commands with autocomplete while a user types them.

use nod_tests::max_wait;
use serde_json::json;

use super::*;

/// Counts the known people and channels.
async fn count_known(world: &World) -> (i64, i64) {
    let count = "select (select count(*) from people), (select count(*) from channels)";
    sqlx::query_as(count).fetch_one(&world.pool).await.unwrap()
}

#[tokio::test]
async fn typing_a_command_leaves_no_trace_of_whoever_never_spoke_to_nod() {
    let (world, discord) = world().await;
    let before = count_known(&world).await;
    discord.add_user(nod_sandbox::discord::User::new("finn", "Finn New"));
    for (user, channel) in [("bo", "general"), ("finn", "general")] {
        let typing = discord.complete(user, channel, "memory", &json!({"forget": "lau"})).unwrap();
        let offered = typing.wait_for_acknowledgement(max_wait()).await.payload.unwrap();
        assert_eq!(offered["data"]["choices"], json!([]));
    }
    assert_eq!(count_known(&world).await, before);
    world.finish().await;
}
