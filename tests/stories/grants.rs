//! A Google grant expires, is revoked, or gets new keys: its owner reads that, and continues.

use std::time::Duration;

use chrono::TimeDelta;
use nod_contract::chat::{Addressing, Author, ChannelRef, Event, Inbound, Membership};
use nod_contract::clock::Clock;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    a_mail_whose_access_was_taken_back_is_asked_for_again_and_sent_once,
    an_edited_mail_does_not_come_back_in_its_old_words,
    an_event_whose_access_was_taken_back_is_asked_for_again_and_made_once,
    the_card_has_a_button_for_its_person_alone,
    the_warning_of_an_end_has_a_button_that_works_as_long_as_it_stands,
    another_refresh_token_takes_the_place_of_the_one_before,
    two_replicas_renew_a_token_once,
    somebody_disconnects_by_command,
    the_doctor_names_what_ends_grants_after_a_week,
);

const ANA: &str = "ana@acme.test";
const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");
const LIST: &str = "gmail.users.messages.list";

fn request_count(world: &World, operation: &str) -> usize {
    world.google.calls().iter().filter(|call| call.operation == operation).count()
}

/// Ana's request waits for her approval, and she revokes the access before she approves.
async fn with_revoked_grant(platform: Platform, tool: Answer, place: &str) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [tool, Answer::text("It is done.")]);
    let asks = if place == "general" { "@nod tell Bo" } else { "tell Bo" };
    world.say("ana", place, asks).await;
    world.google.revoke_grants(ANA);
    world
}

async fn a_mail_whose_access_was_taken_back_is_asked_for_again_and_sent_once(platform: Platform) {
    let mut world = with_revoked_grant(platform, late_mail_call(), "general").await;
    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod tell Bo
            nod: # Email not sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
              · I've lost access to your Google account: please reconnect it. Nothing was sent: I'll ask you again once it's connected.
              [Reconnect Google]
            nod: · Ana Silva, I need access to your account first. Check our direct messages.
    "); }
    insta::allow_duplicates! { insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        nod: I've lost access to your Google account. Reconnect it, and I'll pick up where I left off.
          · This link is just for you. It works once, within an hour. It only works with your own account.
          [Reconnect Google]
    "); }
    assert!(world.google.list_sent(ANA).is_empty());
    world.consent_as("ana", &world.find_newest_link("ana"), ANA, None).await;
    world.wait_until_idle().await;
    assert!(world.google.list_sent(ANA).is_empty(), "nothing goes without another nod");
    world.click("ana", "general", "Approve & send").await;
    let read = world.read_new("general");
    assert_eq!((read.matches("Not sent").count(), read.matches("→ Sent").count()), (1, 1), "{read}");
    assert!(read.ends_with("nod: It is done.\n"), "{read}");
    assert_eq!(world.google.list_sent(ANA).len(), 1);
    world.read_new("dm:ana");
    world.finish().await;
}

/// The edited text is only on its card: the model receives it, and asks with it.
async fn an_edited_mail_does_not_come_back_in_its_old_words(platform: Platform) {
    let mut world = with_revoked_grant(platform, late_mail_call(), "general").await;
    world.edit_request("ana", "general", &[("Subject", "A bit late")]).await;
    world.click("ana", "general", "Approve & send").await;
    let read = world.read_new("general");
    assert!(!read.contains("I'll ask you again") && read.contains("[Reconnect Google]"), "{read}");
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("A bit late"), "{heard}");
    world.connect_google("ana").await;
    assert!(!world.read_new("general").contains("[Approve"));
    assert!(world.google.list_sent(ANA).is_empty());
    world.read_new("dm:ana");
    world.finish().await;
}

async fn an_event_whose_access_was_taken_back_is_asked_for_again_and_made_once(platform: Platform) {
    let lunch = json!({ "title": "Lunch", "when": "tomorrow at noon", "minutes": 60, "guests": ["Bo"] });
    let mut world =
        with_revoked_grant(platform, Answer::tool("calendar_create_event", lunch), "dm:ana").await;
    world.click("ana", "dm:ana", "Approve & invite").await;
    let read = world.read_new("dm:ana");
    assert!(
        read.contains("I've lost access to your Google account") && read.contains("[Reconnect Google]"),
        "{read}"
    );
    assert!(world.google.events(ANA).is_empty());
    world.consent_as("ana", &world.find_newest_link("ana"), ANA, None).await;
    world.wait_until_idle().await;
    world.click("ana", "dm:ana", "Approve & invite").await;
    assert_eq!((world.google.events(ANA).len(), world.google.invitations("bo@acme.test").len()), (1, 1));
    world.read_new("dm:ana");
    world.finish().await;
}

async fn the_card_has_a_button_for_its_person_alone(platform: Platform) {
    let mut world = with_revoked_grant(platform, late_mail_call(), "general").await;
    world.click("ana", "general", "Approve & send").await;
    world.click("bo", "general", "Reconnect Google").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.read_ephemerals("bo"), @r"(bo only) nod: That's someone else's account."); }
    world.click("ana", "general", "Reconnect Google").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.read_ephemerals("ana"), @r"
        (ana only) nod: Reconnect your Google account.
        · This link is just for you. It works once, within an hour. Sign in as ana@acme.test.
        [Reconnect Google]
    "); }
    let link = nod_tests::find_link(&world.chat.newest_ephemeral("ana").unwrap()).unwrap();
    world.consent_as("ana", &link, ANA, None).await;
    world.wait_until_idle().await;
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.list_sent(ANA).len(), 1);
    // The link that she did not need posts nothing more when it expires.
    world.advance(TimeDelta::minutes(61)).await;
    let told = world.read_new("dm:ana");
    assert!(
        !told.contains("expired, so nothing was connected")
            && told.contains("You don't need this link any more"),
        "{told}"
    );
    assert_eq!(told.matches("is connected").count(), 2, "before and after it was taken back: {told}");
    world.read_new("general");
    world.finish().await;
}

async fn the_warning_of_an_end_has_a_button_that_works_as_long_as_it_stands(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.google.test_the_app();
    world.connect_google("ana").await;
    world.advance(TimeDelta::days(6)).await;
    // Longer than a link is valid.
    world.advance(TimeDelta::hours(8)).await;
    world.click("ana", "dm:ana", "Reconnect Google").await;
    let link = nod_tests::find_link(&world.chat.newest_ephemeral("ana").unwrap()).unwrap();
    world.read_ephemerals("ana");
    let page = world.consent_as("ana", &link, ANA, None).await;
    assert!(page.contains("Connected"), "{page}");
    // That day comes, and the access has not expired.
    world.advance(TimeDelta::hours(20)).await;
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.read_new("dm:ana").ends_with("nod: Nothing new.\n"), "{}", world.read_new("dm:ana"));
    world.finish().await;
}

async fn another_refresh_token_takes_the_place_of_the_one_before(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.google.rotate_refresh_tokens();
    world.connect_google("ana").await;
    for day in 1..=3 {
        world.advance(TimeDelta::days(1)).await;
        world.script_model(
            "tool",
            [Answer::tool("gmail_list_recent", json!({})), Answer::text(format!("Day {day}."))],
        );
        world.say("ana", "dm:ana", "what's new in my mail?").await;
    }
    let read = world.read_new("dm:ana");
    assert!(read.ends_with("nod: Day 3.\n") && !read.contains("no longer lets me"), "{read}");
    world.finish().await;
}

/// Posts a message of Ana's in #general, and returns it as her platform would deliver it as a mention of Nod.
async fn mention_event(world: &World) -> Inbound {
    let text = "what's new in my mail?".to_owned();
    let message = world.chat.say("ana", "general", None, &text);
    let ana = "select i.platform, i.workspace, i.user_ref from connections c join identities i using (tenant_id, person_id)";
    let (platform, workspace, user): (String, String, String) =
        sqlx::query_as(ana).fetch_one(&world.pool).await.unwrap();
    let channel = world.chat.channel_id("general");
    // The platform's own key, so that the message is not found again in the history.
    let key = match platform.as_str() {
        "slack" => format!("message:{workspace}:{channel}:{message}"),
        _ => format!("message:{message}"),
    };
    let place = ChannelRef { channel, is_dm: false, thread: None };
    let (addressed, files) = (Addressing::Mention, Vec::new());
    Inbound {
        dedup_key: key,
        platform,
        workspace,
        author: Author { user, membership: Membership::Member },
        at: world.clock.now(),
        event: Event::Message {
            place,
            message,
            text,
            addressing: addressed,
            attachments: files,
            answers: None,
        },
    }
}

async fn two_replicas_renew_a_token_once(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.google.rotate_refresh_tokens();
    world.connect_google("ana").await;
    let (one, two) = (mention_event(&world).await, mention_event(&world).await);
    world.advance(TimeDelta::hours(1)).await;
    let other = world.start_in_process_replica().await;
    let before = request_count(&world, "oauth.token");
    // While one waits for Google, the other has found the token stale, too.
    world.google.faults.next("oauth.token", Fault::DelayResponse(Duration::from_secs(1)));
    for _ in 0..2 {
        world.script_model("tool", [Answer::tool("gmail_list_recent", json!({}))]);
    }
    world.model.will(Answer::text("Nothing new."));
    world.model.will(Answer::text("Nothing new."));
    // The replica that accepts a message starts on it at once; the other one would start only when it polls.
    let (inbox, theirs) = (world.nod().inbox(), other.nod.inbox());
    let (first, second) = tokio::join!(inbox.accept(one, true), theirs.accept(two, true));
    first.unwrap();
    second.unwrap();
    world.wait_until_idle().await;
    assert_eq!(request_count(&world, LIST), 2);
    assert_eq!(request_count(&world, "oauth.token") - before, 1);
    other.stop().await;
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn somebody_disconnects_by_command(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    let said = world.run_command("ana", "general", "disconnect").await;
    assert!(said.contains("Disconnect ana@acme.test?") && said.contains("[Disconnect Google]"), "{said}");
    world.click_ephemeral("ana", "Disconnect Google").await;
    assert_eq!(request_count(&world, "oauth.revoke"), 1);
    world.read_new("dm:ana");
    world.finish().await;
}

async fn the_doctor_names_what_ends_grants_after_a_week(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    world.google.test_the_app();
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    let examined =
        std::process::Command::new(NOD).arg("doctor").env_clear().envs(&world.env).output().unwrap();
    let said = String::from_utf8(examined.stdout).unwrap();
    let line = said.lines().find(|line| line.contains("Google access")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.starts_with("✗ Google access: 1 of 1 end within a week, the first on "), "{line}");
    assert!(
        line.contains("the OAuth consent screen is in “Testing”") && line.contains("publish it"),
        "{line}"
    );
    assert!(!said.contains("ana@acme.test"), "{said}");
    world.kill_program(nod).await;
    world.finish().await;
}
