//! The whole house on a database pool of one connection: nothing holds it while it waits for the network.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::json;

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
