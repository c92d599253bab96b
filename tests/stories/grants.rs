//! A Google grant expires, is revoked, or gets new keys: its owner reads that, and continues.

use std::time::Duration;

use chrono::TimeDelta;
use nod_contract::chat::{Addressing, Author, ChannelRef, Event, Inbound, Membership};
use nod_contract::clock::Clock;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::json;

use crate::mail::late;

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

fn asked(world: &World, operation: &str) -> usize {
    world.google.calls().iter().filter(|call| call.operation == operation).count()
}

/// Ana's request waits for her approval, and she revokes the access before she approves.
async fn taken_back(platform: On, tool: Answer, place: &str) -> World {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [tool, Answer::text("It is done.")]);
    let asks = if place == "general" { "@nod tell Bo" } else { "tell Bo" };
    world.says("ana", place, asks).await;
    world.google.revoke_grants(ANA);
    world
}

async fn a_mail_whose_access_was_taken_back_is_asked_for_again_and_sent_once(platform: On) {
    let mut world = taken_back(platform, late(), "general").await;
    world.presses("ana", "general", "Approve & send").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod tell Bo
            nod: # Email not sent · rev 1 · db435d
              From  ana@acme.test
              To  bo@acme.test
              Cc  —
              Bcc  —
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
              · Google no longer lets Nod into the account: connect it again. Nothing was sent; I ask for your nod again once it is connected.
              [Reconnect Google]
            nod: · Ana Silva, first I need access to your account. I have written to you directly.
    "); }
    insta::allow_duplicates! { insta::assert_snapshot!(world.reads("dm:ana"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        nod: Google no longer lets me into your account. Connect it again, and your request goes on by itself.
          · The link is for you alone, works once and for an hour. It takes only your own account.
          [Reconnect Google]
    "); }
    assert!(world.google.sent(ANA).is_empty());
    world.consents_as("ana", &world.newest_link_for("ana"), ANA, None).await;
    world.settles().await;
    assert!(world.google.sent(ANA).is_empty(), "nothing goes without another nod");
    world.presses("ana", "general", "Approve & send").await;
    let read = world.reads("general");
    assert_eq!((read.matches("Not sent").count(), read.matches("→ Sent").count()), (1, 1), "{read}");
    assert!(read.ends_with("nod: It is done.\n"), "{read}");
    assert_eq!(world.google.sent(ANA).len(), 1);
    world.reads("dm:ana");
    world.ends().await;
}

/// The edited text is only on its card: the model receives it, and asks with it.
async fn an_edited_mail_does_not_come_back_in_its_old_words(platform: On) {
    let mut world = taken_back(platform, late(), "general").await;
    world.edits("ana", "general", &[("Subject", "A bit late")]).await;
    world.presses("ana", "general", "Approve & send").await;
    let read = world.reads("general");
    assert!(!read.contains("I ask for your nod again") && read.contains("[Reconnect Google]"), "{read}");
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("A bit late"), "{heard}");
    world.connects("ana").await;
    assert!(!world.reads("general").contains("[Approve"));
    assert!(world.google.sent(ANA).is_empty());
    world.reads("dm:ana");
    world.ends().await;
}

async fn an_event_whose_access_was_taken_back_is_asked_for_again_and_made_once(platform: On) {
    let lunch = json!({ "title": "Lunch", "when": "tomorrow at noon", "minutes": 60, "guests": ["Bo"] });
    let mut world = taken_back(platform, Answer::tool("calendar_create_event", lunch), "dm:ana").await;
    world.presses("ana", "dm:ana", "Approve & invite").await;
    let read = world.reads("dm:ana");
    assert!(
        read.contains("Google no longer lets Nod into the account") && read.contains("[Reconnect Google]"),
        "{read}"
    );
    assert!(world.google.events(ANA).is_empty());
    world.consents_as("ana", &world.newest_link_for("ana"), ANA, None).await;
    world.settles().await;
    world.presses("ana", "dm:ana", "Approve & invite").await;
    assert_eq!((world.google.events(ANA).len(), world.google.invitations("bo@acme.test").len()), (1, 1));
    world.reads("dm:ana");
    world.ends().await;
}

async fn the_card_has_a_button_for_its_person_alone(platform: On) {
    let mut world = taken_back(platform, late(), "general").await;
    world.presses("ana", "general", "Approve & send").await;
    world.presses("bo", "general", "Reconnect Google").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.whispers("bo"), @r"(bo only) nod: That is somebody else's account. Nothing was done."); }
    world.presses("ana", "general", "Reconnect Google").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.whispers("ana"), @r"
        (ana only) nod: Connect your Google account again.
        · The link is for you alone, works once and for an hour. Sign in as ana@acme.test.
        [Reconnect Google]
    "); }
    let link = nod_tests::link_in(&world.chat.newest_whisper("ana").unwrap()).unwrap();
    world.consents_as("ana", &link, ANA, None).await;
    world.settles().await;
    world.presses("ana", "general", "Approve & send").await;
    assert_eq!(world.google.sent(ANA).len(), 1);
    // The link that she did not need posts nothing more when it expires.
    world.later(TimeDelta::minutes(61)).await;
    let told = world.reads("dm:ana");
    assert!(
        !told.contains("not used in time") && told.contains("This link is not needed any more"),
        "{told}"
    );
    assert_eq!(told.matches("is connected").count(), 2, "before and after it was taken back: {told}");
    world.reads("general");
    world.ends().await;
}

async fn the_warning_of_an_end_has_a_button_that_works_as_long_as_it_stands(platform: On) {
    let mut world = World::on(platform).await;
    world.google.test_the_app();
    world.connects("ana").await;
    world.later(TimeDelta::days(6)).await;
    // Longer than a link is valid.
    world.later(TimeDelta::hours(8)).await;
    world.presses("ana", "dm:ana", "Reconnect Google").await;
    let link = nod_tests::link_in(&world.chat.newest_whisper("ana").unwrap()).unwrap();
    world.whispers("ana");
    let page = world.consents_as("ana", &link, ANA, None).await;
    assert!(page.contains("Connected"), "{page}");
    // That day comes, and the access has not expired.
    world.later(TimeDelta::hours(20)).await;
    world.model_will("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("Nothing new.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.reads("dm:ana").ends_with("nod: Nothing new.\n"), "{}", world.reads("dm:ana"));
    world.ends().await;
}

async fn another_refresh_token_takes_the_place_of_the_one_before(platform: On) {
    let mut world = World::on(platform).await;
    world.google.rotate_refresh_tokens();
    world.connects("ana").await;
    for day in 1..=3 {
        world.later(TimeDelta::days(1)).await;
        world.model_will(
            "tool",
            [Answer::tool("gmail_list_recent", json!({})), Answer::text(format!("Day {day}."))],
        );
        world.says("ana", "dm:ana", "what's new in my mail?").await;
    }
    let read = world.reads("dm:ana");
    assert!(read.ends_with("nod: Day 3.\n") && !read.contains("no longer lets me"), "{read}");
    world.ends().await;
}

/// Posts a message of Ana's in #general, and returns it as her platform would deliver it as a mention of Nod.
async fn mention(world: &World) -> Inbound {
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

async fn two_replicas_renew_a_token_once(platform: On) {
    let mut world = World::on(platform).await;
    world.google.rotate_refresh_tokens();
    world.connects("ana").await;
    let (one, two) = (mention(&world).await, mention(&world).await);
    world.later(TimeDelta::hours(1)).await;
    let other = world.another_nod().await;
    let before = asked(&world, "oauth.token");
    // While one waits for Google, the other has found the token stale, too.
    world.google.faults.next("oauth.token", Fault::Delay(Duration::from_secs(1)));
    for _ in 0..2 {
        world.model_will("tool", [Answer::tool("gmail_list_recent", json!({}))]);
    }
    world.model.will(Answer::text("Nothing new."));
    world.model.will(Answer::text("Nothing new."));
    // The replica that accepts a message starts on it at once; the other one would start only when it polls.
    let (inbox, theirs) = (world.nod().inbox(), other.nod.inbox());
    let (first, second) = tokio::join!(inbox.accept(one, true), theirs.accept(two, true));
    first.unwrap();
    second.unwrap();
    world.settles().await;
    assert_eq!(asked(&world, LIST), 2);
    assert_eq!(asked(&world, "oauth.token") - before, 1);
    other.stop().await;
    world.reads("general");
    world.reads("dm:ana");
    world.ends().await;
}

async fn somebody_disconnects_by_command(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    let said = world.commands("ana", "general", "disconnect").await;
    assert!(
        said.contains("Disconnect ana@acme.test?") && said.contains("[Yes, disconnect Google]"),
        "{said}"
    );
    world.presses_whisper("ana", "Yes, disconnect Google").await;
    assert_eq!(asked(&world, "oauth.revoke"), 1);
    world.reads("dm:ana");
    world.ends().await;
}

async fn the_doctor_names_what_ends_grants_after_a_week(platform: On) {
    let mut world = World::in_real_time_on(platform).await;
    world.google.test_the_app();
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    let examined =
        std::process::Command::new(NOD).arg("doctor").env_clear().envs(&world.env).output().unwrap();
    let said = String::from_utf8(examined.stdout).unwrap();
    let line = said.lines().find(|line| line.contains("Google grants")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.starts_with("✗ Google grants: 1 of 1 end within a week, the first on "), "{line}");
    assert!(
        line.contains("the OAuth consent screen is in “Testing”") && line.contains("publish it"),
        "{line}"
    );
    assert!(!said.contains("ana@acme.test"), "{said}");
    world.kills(nod).await;
    world.ends().await;
}
