//! Each document is found by those who may read it, where only they read along.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{SharedFile, World};
use serde_json::json;

on_each_platform!(
    each_document_as_each_person,
    another_channels_document_is_answered_privately,
    a_document_is_opened_privately,
    who_left_a_channel_reads_no_more,
    only_an_admin_keeps_for_everyone,
    everyones_document_is_listed_for_members_and_removed_by_admins,
    a_platform_that_does_not_answer_is_said,
    of_two_documents_with_one_title_the_right_one_is_removed,
    who_added_a_document_may_leave,
    a_shared_answer_offers_no_passage_that_others_may_not_read,
);

/// The planted words, each in a document of its own.
const EVERYONES: &str = "Carnelian";
const CHANNELS: &str = "Malachite";
const ANAS: &str = "Obsidian";

fn stone_file(name: &str, word: &str) -> SharedFile {
    SharedFile::new(name, "text/plain", format!("The stone of the house is {word}."))
}

/// Keeps one document of everyone, one of the channel launch (ana and bo), and one of ana's.
async fn keep_stones(world: &mut World) {
    world.chat.add_channel("launch", &["ana", "bo"]);
    for (user, channel, words, name, stone) in [
        ("dana", "dm:dana", "keep this for everyone", "everyone.txt", EVERYONES),
        ("ana", "launch", "@nod keep this", "launch.txt", CHANNELS),
        ("ana", "dm:ana", "keep this", "own.txt", ANAS),
    ] {
        world.share_file(user, channel, words, &stone_file(name, stone)).await;
        let kept = world.read_new(channel);
        assert!(kept.contains("I've read this. Ask me about it."), "{kept}");
    }
}

/// Asks for the stone, and returns which of the planted words the model was shown.
async fn ask(world: &mut World, user: &str, channel: &str) -> Vec<&'static str> {
    world.script_model("retrieval", [Answer::text("I do not know.")]);
    let mention = if channel.starts_with("dm:") { "" } else { "@nod " };
    world.say(user, channel, &format!("{mention}which is the stone of the house?")).await;
    let shown = world.model.requests().pop().unwrap().to_string();
    [EVERYONES, CHANNELS, ANAS].into_iter().filter(|word| shown.contains(word)).collect()
}

async fn each_document_as_each_person(platform: Platform) {
    let mut world = World::new_on(platform).await;
    keep_stones(&mut world).await;
    world.chat.add_channel("quiet", &["cho", "reyes"]);
    for (user, channel, expected) in [
        ("ana", "dm:ana", vec![EVERYONES, CHANNELS, ANAS]),
        ("bo", "dm:bo", vec![EVERYONES, CHANNELS]),
        ("cho", "dm:cho", vec![EVERYONES]),
        // What ana alone may read is not told in the channel, although she asks.
        ("ana", "launch", vec![EVERYONES, CHANNELS]),
        ("bo", "launch", vec![EVERYONES, CHANNELS]),
        ("cho", "quiet", vec![EVERYONES]),
    ] {
        assert_eq!(ask(&mut world, user, channel).await, expected, "{user} in {channel}");
        let said = world.read_new(channel);
        assert!(said.contains("I do not know."), "{said}");
        let listed = world.run_command(user, channel, "knowledge").await;
        let is_listed = |name: &&str| listed.contains(name);
        let names = ["everyone.txt", "launch.txt", "own.txt"].into_iter().filter(is_listed).count();
        assert_eq!(names, expected.len(), "{listed}");
    }
    world.finish().await;
}

async fn another_channels_document_is_answered_privately(platform: Platform) {
    let mut world = World::new_on(platform).await;
    keep_stones(&mut world).await;
    let remove = world.run_command("dana", "dm:dana", "knowledge remove everyone.txt").await;
    assert!(remove.contains("everyone.txt"), "{remove}");
    world.click_newest_ephemeral("dana", "Yes, remove it").await;
    assert_eq!(ask(&mut world, "bo", "general").await, [CHANNELS]);
    let told = world.read_new("general");
    assert!(told.contains("Answered Bo Lind privately.") && !told.contains("launch.txt"), "{told}");
    let said = world.read_new("dm:bo");
    assert!(said.contains("Looked at launch.txt"), "{said}");
    // Nobody learns from the answer to others that there is something.
    assert!(ask(&mut world, "cho", "general").await.is_empty());
    let told = world.read_new("general");
    assert!(told.contains("I do not know.") && !told.contains("Answered Cho Park privately."), "{told}");
    world.read_new("dm:dana");
    world.read_ephemerals("dana");
    world.finish().await;
}

async fn a_document_is_opened_privately(platform: Platform) {
    let mut world = World::new_on(platform).await;
    keep_stones(&mut world).await;
    let call = Answer::tool("open_document", json!({ "document": "own.txt" }));
    world.script_model("tool", [call, Answer::text("I do not know.")]);
    world.say("ana", "launch", "@nod open own.txt").await;
    assert!(world.model.requests().pop().unwrap().to_string().contains(ANAS));
    assert!(world.read_new("launch").contains("Answered Ana Silva privately."));
    assert!(world.read_new("dm:ana").contains("Looked at own.txt"));
    world.finish().await;
}

async fn who_left_a_channel_reads_no_more(platform: Platform) {
    let mut world = World::new_on(platform).await;
    keep_stones(&mut world).await;
    assert_eq!(ask(&mut world, "bo", "dm:bo").await, [EVERYONES, CHANNELS]);
    world.chat.add_channel("launch", &["ana"]);
    world.advance(TimeDelta::minutes(2)).await;
    assert_eq!(ask(&mut world, "bo", "dm:bo").await, [EVERYONES]);
    let listed = world.run_command("bo", "dm:bo", "knowledge").await;
    assert!(!listed.contains("launch.txt"), "{listed}");
    world.read_new("dm:bo");
    world.finish().await;
}

async fn only_an_admin_keeps_for_everyone(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.share_file("ana", "general", "@nod keep this for everyone", &stone_file("mine.txt", ANAS)).await;
    let said = world.read_new("general");
    assert!(said.contains("only an admin of Nod can keep a document for everyone"), "{said}");
    let kept: i64 =
        sqlx::query_scalar("select count(*) from documents").fetch_one(&world.pool).await.unwrap();
    assert_eq!(kept, 0);
    world.finish().await;
}

async fn everyones_document_is_listed_for_members_and_removed_by_admins(platform: Platform) {
    let mut world = World::new_on(platform).await;
    keep_stones(&mut world).await;
    let refused = world.run_command("bo", "general", "knowledge remove everyone.txt").await;
    assert!(refused.contains("Only the person who added it, or an admin, can remove it."), "{refused}");
    world.run_command("dana", "general", "knowledge remove everyone.txt").await;
    world.click_newest_ephemeral("dana", "Yes, remove it").await;
    world.wait_until_idle().await;
    assert!(ask(&mut world, "cho", "dm:cho").await.is_empty());
    for channel in ["dm:cho", "dm:dana"] {
        world.read_new(channel);
    }
    world.read_ephemerals("dana");
    world.finish().await;
}

async fn a_platform_that_does_not_answer_is_said(platform: Platform) {
    let mut world = World::new_on(platform).await;
    keep_stones(&mut world).await;
    let fault = match platform {
        Platform::Slack => Fault::ErrorReason { code: 200, reason: "internal_error", retry_after: None },
        Platform::Discord => Fault::Status { code: 429, retry_after: Some(30) },
    };
    world.chat.inject_fault(ChatOperation::FindMember, fault);
    assert_eq!(ask(&mut world, "bo", "dm:bo").await, [EVERYONES]);
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("the documents of 1 channel"), "{asked}");
    world.read_new("dm:bo");
    world.finish().await;
}

/// A guest of Slack, and somebody of another organisation, read along in the channel.
#[tokio::test]
async fn everyones_document_is_not_told_where_a_guest_reads() {
    let mut world = World::new().await;
    keep_stones(&mut world).await;
    assert_eq!(ask(&mut world, "cho", "general").await, [EVERYONES]);
    let told = world.read_new("general");
    assert!(told.contains("Answered Cho Park privately."), "{told}");
    assert!(world.read_new("dm:cho").contains("Looked at everyone.txt"));
    world.finish().await;
}

async fn of_two_documents_with_one_title_the_right_one_is_removed(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.chat.add_channel("launch", &["ana", "bo", "dana"]);
    let file = |stone: &str| stone_file("stone.txt", stone);
    world.share_file("dana", "dm:dana", "keep this for everyone", &file(EVERYONES)).await;
    world.share_file("dana", "launch", "@nod keep this", &file(CHANNELS)).await;
    let listed = world.run_command("dana", "launch", "knowledge").await;
    assert!(
        listed.contains("everyone's, 1 passage") && listed.contains("a channel's, 1 passage"),
        "{listed}"
    );
    let asked = world.run_command("dana", "launch", "knowledge remove stone.txt").await;
    assert!(asked.contains("Several documents have that name."), "{asked}");
    world.click_newest_ephemeral("dana", "stone.txt (a channel's)").await;
    assert!(world.read_ephemerals("dana").contains("The channel's"));
    world.click_newest_ephemeral("dana", "Yes, remove it").await;
    world.read_new("launch");
    assert_eq!(ask(&mut world, "bo", "launch").await, [EVERYONES]);
    world.read_new("launch");
    world.read_new("dm:dana");
    world.read_ephemerals("dana");
    world.finish().await;
}

async fn who_added_a_document_may_leave(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.share_file("ana", "general", "@nod keep this", &stone_file("stone.txt", ANAS)).await;
    world.read_new("general");
    world.chat.remove_user("ana");
    world.advance(TimeDelta::days(2)).await;
    world.share_file("bo", "general", "@nod keep this", &stone_file("stone.txt", CHANNELS)).await;
    let said = world.read_new("general");
    assert!(said.contains("It replaces the earlier one."), "{said}");
    assert_eq!(ask(&mut world, "bo", "general").await, [CHANNELS]);
    world.read_new("general");
    world.finish().await;
}

async fn a_shared_answer_offers_no_passage_that_others_may_not_read(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.chat.add_channel("launch", &["ana", "bo"]);
    world.share_file("ana", "dm:ana", "keep this", &stone_file("own.txt", ANAS)).await;
    world.read_new("dm:ana");
    world.script_model("retrieval", [Answer::text("The stone of the house is Obsidian.")]);
    world.say("ana", "launch", "@nod which is the stone of the house?").await;
    assert!(world.read_new("launch").contains("Answered Ana Silva privately."));
    let own = world.read_new("dm:ana");
    assert!(own.contains("[1] own.txt"), "{own}");
    world.click("ana", "dm:ana", "Share in the thread").await;
    let shared = world.read_new("launch");
    assert!(shared.contains("is Obsidian [1].") && !shared.contains("<[1] own.txt>"), "{shared}");
    assert!(!world.read_new("dm:ana").contains("[Share in the thread]"));
    world.finish().await;
}
