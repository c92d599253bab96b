//! Nod is killed while Google issues another refresh token: the new one is used from then on.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::json;

use super::{At, NOD, Person, killed, suffers};

on_each_platform!(killed_right_after_it_got_another_refresh_token_it_uses_that_one);

const ANA: &str = "ana@acme.test";

async fn killed_right_after_it_got_another_refresh_token_it_uses_that_one(platform: On) {
    let mut world = World::in_real_time_on(platform).await;
    world.google.rotate_refresh_tokens();
    // It is about to expire when it is used first.
    world.google.next_token_lives(30);
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    let recent = || Answer::tool("gmail_list_recent", json!({}));
    world.model_will("tool", [recent(), Answer::text("Nothing new.")]);
    let list = At::Google("gmail.users.messages.list", Fault::Hang);
    let death = killed("after another refresh token", Person::Asks, list);
    let asks = || drop(world.chat.say("ana", "dm:ana", None, "what's new in my mail?"));
    let nod = suffers(&world, nod, &death, asks).await;
    world.stands("dm:ana", "Nothing new.").await;
    // Now the second one is needed: the first is no longer valid.
    world.google.expire_tokens(ANA);
    world.model_will("tool", [recent(), Answer::text("Still nothing.")]);
    world.says("ana", "dm:ana", "and now?").await;
    world.stands("dm:ana", "Still nothing.").await;
    let refreshed =
        world.google.calls().iter().filter(|call| call.body["grant_type"] == "refresh_token").count();
    assert_eq!(refreshed, 2);
    world.reads("dm:ana");
    world.kills(nod).await;
    world.ends().await;
}
