//! Private threads: what is kept or said in one is for those who are in it.

use nod_tests::SharedFile;

use super::*;

/// The planted word.
const STONE: &str = "Malachite";

/// Opens a private thread of ana, bo and Nod in #hr, which dana does not see.
fn open_thread(world: &World, discord: &Discord) -> String {
    world.chat.add_channel("hr", &["ana", "bo", "cho"]);
    discord.open_private_thread("ana", "hr", "Salaries", &["bo", "nod"])
}

/// Returns whether the model was shown the planted word.
async fn is_found(world: &mut World, user: &str) -> bool {
    world.script_model("retrieval", [Answer::text("I do not know.")]);
    let place = format!("dm:{user}");
    world.say(user, &place, "which is the stone of the house?").await;
    world.read_new(&place);
    world.model.requests().pop().unwrap().to_string().contains(STONE)
}

#[tokio::test]
async fn a_document_is_found_by_those_in_the_thread() {
    let (mut world, discord) = world().await;
    let thread = open_thread(&world, &discord);
    let file = SharedFile::new("stone.txt", "text/plain", format!("The stone of the house is {STONE}."));
    world.share_file("ana", &thread, "@nod keep this", &file).await;
    let kept = world.read_new(&thread);
    assert!(kept.contains("I've read this. Ask me about it."), "{kept}");
    // Cho sees the channel and is not in the thread; Dana sees neither.
    for (user, expected) in [("bo", true), ("cho", false), ("dana", false)] {
        assert_eq!(is_found(&mut world, user).await, expected, "{user}");
        let listed = world.run_command(user, &format!("dm:{user}"), "knowledge").await;
        assert_eq!(listed.contains("stone.txt"), expected, "{user}: {listed}");
    }
    // Bo has left the thread, and Ana no longer sees the channel.
    discord.remove_from_thread(&thread, "bo");
    world.chat.add_channel("hr", &["bo", "cho"]);
    world.advance(TimeDelta::minutes(2)).await;
    for user in ["ana", "bo"] {
        assert!(!is_found(&mut world, user).await, "{user}");
    }
    world.finish().await;
}

#[tokio::test]
async fn what_was_said_is_read_for_those_in_the_thread() {
    let (mut world, discord) = world().await;
    let thread = open_thread(&world, &discord);
    world.say("ana", &thread, &format!("the stone is {STONE}")).await;
    let read = || Answer::tool("chat_read_thread", serde_json::json!({}));
    let result = |world: &World| {
        let asked = world.model.requests().pop().unwrap();
        asked["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
    };
    world.script_model("tool", [read(), Answer::text("Malachite it is.")]);
    world.say("bo", &thread, "@nod what did we decide?").await;
    assert!(result(&world).contains(STONE), "{}", result(&world));
    // Bo is removed before Nod reads.
    world.script_model("tool", [read(), Answer::text("I may not read that.")]);
    world.chat.say("bo", &thread, None, "@nod and what else?");
    discord.remove_from_thread(&thread, "bo");
    world.wait_until_idle().await;
    assert!(result(&world).contains("you're not in that channel"), "{}", result(&world));
    world.read_new(&thread);
    world.finish().await;
}
