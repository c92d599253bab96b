//! Nod serves only the servers that are listed, because any user can add a public bot to a server of their own.

use std::sync::Arc;

use nod_bot::app;
use nod_bot::config::Config;
use nod_sandbox::discord::{Guild, NewMessage};
use nod_sandbox::model::Answer;
use nod_tests::{TestIds, max_wait};

use super::*;

const ELSEWHERE: &str = "1100000000000000777";
const SERVERS: &str = "NOD_DISCORD__SERVERS";

/// A Nod that was added to two servers, and is not started yet.
async fn in_two() -> (World, Discord) {
    let world = World::without_nod_on(Platform::Discord).await;
    let discord = server(&world);
    let elsewhere = Guild::new(ELSEWHERE, "Elsewhere");
    discord.change(|w| w.config.elsewhere = Some(elsewhere));
    (world, discord)
}

#[tokio::test]
async fn a_server_that_is_not_listed_is_left_and_nothing_of_it_is_kept() {
    let (mut world, discord) = in_two().await;
    world.env.insert(SERVERS.to_owned(), discord.read(|w| w.config.guild.id.clone()));
    // Nod was added to it just now, and it is not greeted.
    let added = discord.read(|w| w.now());
    discord.change(|w| {
        let elsewhere = w.config.elsewhere.as_mut().unwrap();
        (elsewhere.joined_at, elsewhere.system_channel) = (added, Some("1100000000000000778".to_owned()));
    });
    discord.faults().next("leave_guild", Fault::Status { code: 500, retry_after: None });
    world.start().await;
    discord.faults().wait_until_triggered("leave_guild", 1).await;
    // Discord failed to leave that server, and still delivers its messages.
    let there = serde_json::json!({ "guild_id": ELSEWHERE });
    let said = discord
        .post_message_with(NewMessage { extra: there, ..NewMessage::new("bo", "general", "@nod hello") })
        .unwrap();
    world.wait_until_idle().await;
    discord.delete("bo", "general", &said);
    let kept: i64 = sqlx::query_scalar("select count(*) from inbound").fetch_one(&world.pool).await.unwrap();
    assert_eq!(kept, 0);
    // Eve is a member there only, so she is no member here.
    world.say("eve", "dm:eve", "what is in the mail?").await;
    insta::assert_snapshot!(world.read_new("dm:eve"), @r"
        eve: what is in the mail?
        nod: Sorry, I only work for members of this workspace. An admin can change that.
    ");
    assert!(world.model.requests().is_empty());
    world.stop().await;
    world.start().await;
    discord.wait_for("that it is left", max_wait(), |w| w.config.elsewhere.is_none().then_some(())).await;
    world.read_new("general");
    world.finish().await;
}

/// Members of a server that is no longer listed lose their membership at once, not only at the daily reading of the
/// members.
#[tokio::test]
async fn a_list_of_servers_holds_from_the_start_for_whoever_belonged_before() {
    let (mut world, discord) = in_two().await;
    world.start().await;
    world.script_model("conversational", [Answer::text("Nothing new.")]);
    world.say("eve", "dm:eve", "what is in the mail?").await;
    world.script_model("conversational", [Answer::text("Hello Bo.")]);
    world.say("bo", "dm:bo", "hello").await;
    world.stop().await;
    world.env.insert(SERVERS.to_owned(), discord.read(|w| w.config.guild.id.clone()));
    // While the members cannot be read.
    discord.faults().next("list_guild_members", Fault::Status { code: 500, retry_after: None });
    world.start().await;
    world.say("eve", "dm:eve", "and now?").await;
    assert!(
        world
            .read_new("dm:eve")
            .ends_with("Sorry, I only work for members of this workspace. An admin can change that.\n")
    );
    world.script_model("conversational", [Answer::text("Hello again.")]);
    world.say("bo", "dm:bo", "hello").await;
    assert!(world.read_new("dm:bo").contains("Hello again."));
    world.finish().await;
}

#[tokio::test]
async fn a_public_bot_without_a_list_does_not_start() {
    let (mut world, discord) = in_two().await;
    discord.change(|w| w.config.app.public = true);
    let env = world.env.iter().map(|(k, v)| (k.clone(), v.clone()));
    let config = Config::load(None, env).unwrap();
    let ids = Arc::new(TestIds::default());
    let started =
        app::start(&config, world.pool.clone(), Arc::new(world.clock.clone()), ids, Vec::new()).await;
    let Err(error) = started else { panic!("it started") };
    assert_eq!(
        format!("{error:#}"),
        "discord.servers is not set, and anybody may add this bot to their own server: list the servers that it \
         serves, or switch off Public Bot in the developer portal"
    );
    world.env.insert(SERVERS.to_owned(), discord.read(|w| w.config.guild.id.clone()));
    world.start().await;
    world.finish().await;
}
