//! What Nod asks Discord to know which channels a person reads.

use nod_tests::SharedFile;

use super::*;

/// A server limits how often it answers; what it does not answer is not searched.
#[tokio::test]
async fn a_question_about_many_channels_asks_once_about_the_server_and_the_person() {
    let (mut world, discord) = world().await;
    for n in 0..9 {
        let channel = format!("team-{n}");
        world.chat.add_channel(&channel, &["ana", "bo"]);
        let text = format!("The stone of team {n} is Malachite.");
        let file = SharedFile::new(format!("{n}.txt"), "text/plain", text);
        world.share_file("ana", &channel, "@nod keep this", &file).await;
        world.read_new(&channel);
    }
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("bo", "dm:bo", "hello").await;
    let before = discord.calls().len();
    world.script_model("retrieval", [Answer::text("I do not know.")]);
    world.say("bo", "dm:bo", "which is the stone of the teams?").await;
    let calls = discord.calls().split_off(before);
    let count = |operation: &str| calls.iter().filter(|call| call.method == operation).count();
    assert_eq!((count("get_guild"), count("get_guild_member"), count("get_channel")), (1, 1, 9));
    let shown = world.model.requests().pop().unwrap().to_string();
    assert!(shown.contains("Malachite"), "{shown}");
    world.read_new("dm:bo");
    world.finish().await;
}
