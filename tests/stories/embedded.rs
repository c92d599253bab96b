//! Without `database.url`, the database is the program's own and survives a kill of the program.

use nod_tests::{World, patience};

#[tokio::test]
async fn what_waits_in_the_embedded_database_survives_a_kill() {
    let mut world = World::in_real_time().await;
    world.env.remove("NOD_DATABASE__URL");
    let program = world.start_program(env!("CARGO_BIN_EXE_nod-under-test")).await;
    world.connects("ana").await;
    world.slack.say("ana", "dm:ana", None, "tell Bo I'm late");
    let card = shown(&world, "[Approve & send]").await;
    world.kills(program).await;

    let program = world.start_program(env!("CARGO_BIN_EXE_nod-under-test")).await;
    let press = world.slack.press("ana", "dm:ana", &card, "Approve & send").unwrap();
    press.acknowledged(patience()).await;
    shown(&world, "→ Sent").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    program.kill().await;
}

/// Waits until these words are shown in Ana's DM channel, and returns the message.
async fn shown(world: &World, words: &str) -> String {
    let dm = world.slack.dm("ana");
    world
        .slack
        .wait_for(words, patience(), |slack| {
            slack
                .spoken(&dm)
                .contains(words)
                .then(|| slack.messages(&dm).iter().rev().find(|m| m.by_bot).map(|m| m.ts.clone()))?
        })
        .await
}
