//! Without `database.url`, the database is the program's own and survives a kill of the program.

use nod_tests::{World, max_wait};

#[tokio::test]
async fn what_waits_in_the_embedded_database_survives_a_kill() {
    let mut world = World::with_real_clock().await;
    world.env.remove("NOD_DATABASE__URL");
    let program = world.start_program(env!("CARGO_BIN_EXE_nod-under-test")).await;
    world.connect_google("ana").await;
    world.slack.post_message("ana", "dm:ana", None, "tell Bo I'm late");
    let card = wait_for_message(&world, "[Approve & send]").await;
    world.kill_program(program).await;

    let program = world.start_program(env!("CARGO_BIN_EXE_nod-under-test")).await;
    let press = world.slack.click("ana", "dm:ana", &card, "Approve & send").unwrap();
    press.wait_for_acknowledgement(max_wait()).await;
    wait_for_message(&world, "→ Sent").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    program.kill().await;
}

/// Waits until these words are shown in Ana's DM channel, and returns the message.
async fn wait_for_message(world: &World, words: &str) -> String {
    let dm = world.slack.dm("ana");
    world
        .slack
        .wait_for(words, max_wait(), |slack| {
            slack
                .channel_text(&dm)
                .contains(words)
                .then(|| slack.messages(&dm).iter().rev().find(|m| m.is_from_bot).map(|m| m.ts.clone()))?
        })
        .await
}
