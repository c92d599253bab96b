//! Nod is killed while Google issues another refresh token: the new one is used from then on.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use super::{CrashPoint, NOD, UserAction, killed_case, run_until_crash};

on_each_platform!(killed_right_after_it_got_another_refresh_token_it_uses_that_one);

const ANA: &str = "ana@acme.test";

async fn killed_right_after_it_got_another_refresh_token_it_uses_that_one(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    world.google.rotate_refresh_tokens();
    // It is about to expire when it is used first.
    world.google.set_next_token_lifetime(30);
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    let recent = || Answer::tool("gmail_list_recent", json!({}));
    world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
    let list = CrashPoint::Google("gmail.users.messages.list", Fault::HangBefore);
    let death = killed_case("after another refresh token", UserAction::Ask, list);
    let asks = || drop(world.chat.say("ana", "dm:ana", None, "what's new in my mail?"));
    let nod = run_until_crash(&world, nod, &death, asks).await;
    world.wait_for_text("dm:ana", "Nothing new.").await;
    // Now the second one is needed: the first is no longer valid.
    world.google.expire_tokens(ANA);
    world.script_model("tool", [recent(), Answer::text("Still nothing.")]);
    world.say("ana", "dm:ana", "and now?").await;
    world.wait_for_text("dm:ana", "Still nothing.").await;
    let refreshed =
        world.google.calls().iter().filter(|call| call.body["grant_type"] == "refresh_token").count();
    assert_eq!(refreshed, 2);
    world.read_new("dm:ana");
    world.kill_program(nod).await;
    world.finish().await;
}
