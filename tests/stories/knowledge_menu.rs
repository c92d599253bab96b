//! The files of a message are kept from its menu.

use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{MessageShortcut, SharedFile, World};
use serde_json::json;

on_each_platform!(
    a_file_is_kept_from_the_menu_of_its_message,
    a_file_in_the_direct_line_is_kept_for_its_person,
    a_message_without_a_file_is_not_kept,
    nothing_is_kept_where_nobody_spoke_to_nod,
    a_file_that_is_picked_twice_is_kept_once,
);

const HANDBOOK: &str = "# Leave\nEverybody has 25 days of annual leave.\n# Travel\nWe go by train.";

fn handbook() -> SharedFile {
    SharedFile::new("handbook.md", "text/markdown", HANDBOOK)
}

/// Returns a world in which somebody has spoken to Nod in the channel.
async fn world_that_talks_in(platform: Platform, channel: &str) -> World {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("bo", channel, "@nod hi").await;
    world.read_new(channel);
    world
}

/// Picks "Keep in knowledge" on a message, and returns what is answered.
async fn keep(world: &mut World, user: &str, channel: &str, message: &str) -> String {
    world.chat.use_shortcut(user, channel, message, MessageShortcut::KeepFiles).await;
    let said = world.wait_for_ephemeral(user).await;
    world.wait_until_idle().await;
    said
}

async fn count_documents(world: &World) -> i64 {
    sqlx::query_scalar("select count(*) from documents").fetch_one(&world.pool).await.unwrap()
}

async fn a_file_is_kept_from_the_menu_of_its_message(platform: Platform) {
    let mut world = world_that_talks_in(platform, "general").await;
    let message = world.share_file("bo", "general", "the new rules", &handbook()).await;
    let said = keep(&mut world, "ana", "general", &message).await;
    assert!(said.contains("knowledge") && said.contains("to see when I'm done."), "{said}");
    assert!(said.contains("handbook.md") && said.contains("reading"), "{said}");
    let rest = world.read_rest("general");
    assert!(rest.contains("the new rules") && !rest.contains("nod:"), "{rest}");
    let listed = world.run_command("ana", "general", "knowledge").await;
    assert!(listed.contains("handbook.md") && listed.contains("2 passages"), "{listed}");

    let call = Answer::tool("retrieve_knowledge_base", json!({ "query": "days of annual leave" }));
    world.script_model("retrieval", [call, Answer::text("25 days.")]);
    world.say("bo", "general", "@nod how much leave do I have?").await;
    let said = world.read_new("general");
    assert!(said.contains("25 days [1].") && said.contains("[1] handbook.md · Leave"), "{said}");

    // Whoever picked it has added it.
    let told = world.run_command("bo", "general", "knowledge remove handbook.md").await;
    assert!(told.contains("Only the person who added it, or an admin, can remove it."), "{told}");
    let asked = world.run_command("ana", "general", "knowledge remove handbook.md").await;
    assert!(asked.contains("Remove this document?"), "{asked}");
    world.finish().await;
}

async fn a_file_in_the_direct_line_is_kept_for_its_person(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Thanks.")]);
    let message = world.share_file("ana", "dm:ana", "look at this", &handbook()).await;
    keep(&mut world, "ana", "dm:ana", &message).await;
    let listed = world.run_command("ana", "dm:ana", "knowledge").await;
    assert!(listed.contains("handbook.md") && listed.contains("2 passages"), "{listed}");
    let listed = world.run_command("bo", "dm:bo", "knowledge").await;
    assert!(listed.contains("I don't know any documents here."), "{listed}");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_message_without_a_file_is_not_kept(platform: Platform) {
    let mut world = world_that_talks_in(platform, "general").await;
    let message = world.say("bo", "general", "see the handbook").await;
    let said = keep(&mut world, "ana", "general", &message).await;
    assert!(said.contains("There's no file in that message, so I kept nothing."), "{said}");
    assert_eq!(count_documents(&world).await, 0);
    world.read_new("general");
    world.finish().await;
}

async fn nothing_is_kept_where_nobody_spoke_to_nod(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.chat.add_channel_without_nod("attic", &["ana", "bo"]);
    let message = world.share_file("bo", "attic", "the new rules", &handbook()).await;
    let said = keep(&mut world, "ana", "attic", &message).await;
    assert!(said.contains("I kept nothing: no one has mentioned me in that channel yet."), "{said}");
    assert_eq!(count_documents(&world).await, 0);
    world.finish().await;
}

async fn a_file_that_is_picked_twice_is_kept_once(platform: Platform) {
    let mut world = world_that_talks_in(platform, "general").await;
    let message = world.share_file("bo", "general", "the new rules", &handbook()).await;
    let copy = SharedFile::new("copy.md", "text/markdown", HANDBOOK);
    let copied = world.share_file("bo", "general", "and again", &copy).await;
    for (user, message) in [("ana", &message), ("ana", &message), ("bo", &message), ("bo", &copied)] {
        keep(&mut world, user, "general", message).await;
    }
    let listed = world.run_command("ana", "general", "knowledge").await;
    assert!(listed.contains("handbook.md") && listed.contains("2 passages"), "{listed}");
    assert!(
        listed.contains("copy.md") && listed.contains("failed: it says exactly what handbook.md says"),
        "{listed}"
    );
    assert_eq!(count_documents(&world).await, 2, "the copy and why it is none");
    world.read_new("general");
    world.finish().await;
}

/// A guest of Slack sees the message and its menu.
#[tokio::test]
async fn a_guest_keeps_nothing_from_the_menu() {
    let mut world = world_that_talks_in(Platform::Slack, "general").await;
    let message = world.share_file("bo", "general", "the new rules", &handbook()).await;
    let said = keep(&mut world, "gus", "general", &message).await;
    assert!(said.contains("I only work for members of this workspace"), "{said}");
    assert_eq!(count_documents(&world).await, 0);
    world.read_new("general");
    world.finish().await;
}
