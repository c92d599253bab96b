//! Listing and disconnecting connected accounts.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    disconnecting_erases_the_keys_and_gives_them_back,
    what_waits_on_an_account_that_is_disconnected_is_called_off,
    a_mail_is_not_sent_if_its_account_is_disconnected_while_its_draft_is_made,
    a_google_that_does_not_answer_is_asked_again,
    who_connects_again_before_google_heard_keeps_the_new_keys,
    an_account_whose_place_another_takes_is_given_back,
    a_no_of_google_is_not_taken_for_a_grant_that_has_ended,
    a_turn_to_renew_of_a_replica_that_was_killed_ends_by_itself,
    a_grant_that_google_ends_after_a_week_is_told_from_one_that_was_taken_back,
);

pub(crate) fn request_count(world: &World, operation: &str) -> usize {
    world.google.calls().iter().filter(|call| call.operation == operation).count()
}

/// Ana lists her connections and disconnects.
pub(crate) async fn disconnect_ana(world: &mut World) {
    world.run_command("ana", "general", "connect").await;
    world.click_ephemeral("ana", "Disconnect Google").await;
    world.click_ephemeral("ana", "Disconnect Google").await;
}

async fn count_rows(world: &World, table: &str) -> i64 {
    let query = format!("select count(*) from {table}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&world.pool).await.unwrap()
}

async fn disconnecting_erases_the_keys_and_gives_them_back(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    let secrets = world.google.secrets();
    let said = world.run_command("ana", "general", "connect").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # Connected accounts
            Google  ana@acme.test
            · I can read your email, write email for you, organise your email, work with your calendar and see when people are busy.
            · Use /nod connect google to connect another account or to allow me more.
            [Disconnect Google]
        ");
    }
    let said = world.click_ephemeral("ana", "Disconnect Google").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: Disconnect ana@acme.test? I'll delete its keys and tell Google I don't need them any more. Requests waiting on it will be cancelled. Nothing is disconnected yet.
            [Disconnect Google]
        ");
    }
    assert_eq!(count_rows(&world, "connections").await, 1, "nothing is done before the second press");
    let said = world.click_ephemeral("ana", "Disconnect Google").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: Google is disconnected. Details are in our direct messages.");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · Google account ana@acme.test is disconnected. I've deleted its keys, and Google has cancelled them.
        ");
    }
    assert_eq!(request_count(&world, "oauth.revoke"), 1);
    assert_eq!((count_rows(&world, "connections").await, count_rows(&world, "revocations").await), (0, 0));
    let rows = world.dump_rows().await;
    assert!(secrets.iter().all(|secret| !rows.contains(secret)));
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({}))]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.read_new("dm:ana").contains("I need access to your Gmail"));
    world.finish().await;
}

async fn what_waits_on_an_account_that_is_disconnected_is_called_off(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model(
        "tool",
        [late_mail_call(), Answer::text("Google was disconnected, so Bo was not told.")],
    );
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.read_new("general");
    disconnect_ana(&mut world).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Email not sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Denied by Ana Silva 09:30 WET (Google was disconnected). Not sent.
                  [Ask again]
                nod: Google was disconnected, so Bo was not told.
                  · To be clear, nothing was sent or changed just now.
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.read_new("dm:ana");
    world.finish().await;
}

/// Google has not heard of the end yet and would still send it.
async fn a_mail_is_not_sent_if_its_account_is_disconnected_while_its_draft_is_made(platform: Platform) {
    const CREATE: &str = "gmail.users.drafts.create";
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.read_new("general");
    world.run_command("ana", "general", "connect").await;
    world.click_ephemeral("ana", "Disconnect Google").await;
    world.google.faults.next("oauth.revoke", Fault::Status { code: 503, retry_after: None });
    let draft = world.google.faults.hold_next(CREATE);
    let card = world.find_message_with_button("general", "Approve & send");
    world.chat.click("ana", "general", &card, "Approve & send").await;
    world.google.faults.wait_until_triggered(CREATE, 1).await;
    world.chat.click_ephemeral("ana", "Disconnect Google").await;
    assert!(world.wait_for_ephemeral("ana").await.contains("Google is disconnected."));
    assert_eq!(count_rows(&world, "connections where account = 'ana@acme.test'").await, 0);
    drop(draft);
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Email not sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
                  · Your Google account isn't connected, or doesn't allow that: please connect it again. Nothing was sent: I'll ask you again once it's connected.
                  [Reconnect Google]
                nod: · Ana Silva, I need access to your account first. Check our direct messages.
        ");
    }
    assert_eq!((request_count(&world, CREATE), request_count(&world, "gmail.users.drafts.send")), (1, 0));
    world.advance(TimeDelta::seconds(31)).await;
    assert_eq!(request_count(&world, "oauth.revoke"), 2);
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_google_that_does_not_answer_is_asked_again(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.google.faults.next("oauth.revoke", Fault::Status { code: 503, retry_after: None });
    disconnect_ana(&mut world).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · Google account ana@acme.test is disconnected. I've deleted its keys and I'm telling Google…
        ");
    }
    assert_eq!(count_rows(&world, "connections").await, 0, "no tool finds a token meanwhile");
    world.advance(TimeDelta::seconds(31)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · Google account ana@acme.test is disconnected. I've deleted its keys, and Google has cancelled them.
        ");
    }
    assert_eq!((request_count(&world, "oauth.revoke"), count_rows(&world, "revocations").await), (2, 0));
    world.finish().await;
}

async fn who_connects_again_before_google_heard_keeps_the_new_keys(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.google.faults.next("oauth.revoke", Fault::Status { code: 503, retry_after: None });
    disconnect_ana(&mut world).await;
    world.connect_google("ana").await;
    world.advance(TimeDelta::seconds(31)).await;
    assert_eq!(request_count(&world, "oauth.revoke"), 1);
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.read_new("dm:ana").contains("Nothing new."));
    world.finish().await;
}

async fn a_turn_to_renew_of_a_replica_that_was_killed_ends_by_itself(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.advance(TimeDelta::minutes(60)).await;
    let before = request_count(&world, "oauth.token");
    sqlx::query(
        "update connections set refresh_lease_holder = gen_random_uuid(),
             refresh_lease_until = clock_timestamp() + interval '1 second'",
    )
    .execute(&world.pool)
    .await
    .unwrap();
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.read_new("dm:ana").contains("Nothing new."));
    assert_eq!(request_count(&world, "oauth.token") - before, 1);
    let held: i64 =
        sqlx::query_scalar("select count(*) from connections where refresh_lease_holder is not null")
            .fetch_one(&world.pool)
            .await
            .unwrap();
    assert_eq!(held, 0);
    world.finish().await;
}

async fn a_grant_that_google_ends_after_a_week_is_told_from_one_that_was_taken_back(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.google.test_the_app();
    world.connect_google("ana").await;
    world.advance(TimeDelta::days(6)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: My access to ana@acme.test at Google ends on Fri 13 Mar 2026, 09:29 WET, a week after you connected it. Google ends access after seven days because this Nod is still in “Testing” there. The person who runs Nod can change that. Reconnect it now and nothing stops.
              [Reconnect Google]
        ");
    }
    world.advance(TimeDelta::days(1)).await;
    world.read_new("dm:ana");
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({}))]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: My access to ana@acme.test at Google ends on Fri 13 Mar 2026, 09:29 WET, a week after you connected it. Google ends access after seven days because this Nod is still in “Testing” there. The person who runs Nod can change that. Reconnect it now and nothing stops.
              [Reconnect Google]
            ana: what's new in my mail?
            nod: I've lost access to your Google account. Google ends access after seven days because this Nod is still in “Testing” there. The person who runs Nod can change that. Reconnect it, and I'll pick up where I left off.
              · This link is just for you. It works once, within an hour. It only works with your own account.
              [Reconnect Google]
        ");
    }
    world.finish().await;
}

const OTHER: &str = "ana.private@mail.test";

async fn an_account_whose_place_another_takes_is_given_back(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Then not.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let connected = count_rows(&world, "connections").await;
    let link = world.request_link("ana").await;
    world.consent_as("ana", &link, OTHER, None).await;
    world.wait_until_idle().await;
    if platform == Platform::Slack {
        // The consent is refused at first, and its grant at Google is revoked as well.
        assert_eq!(request_count(&world, "oauth.revoke"), 1);
        world.click("dana", "dm:dana", "Allow").await;
        world.read_new("dm:dana");
        let link = world.request_link("ana").await;
        world.consent_as("ana", &link, OTHER, None).await;
        world.wait_until_idle().await;
    }
    let said = world.read_new("dm:ana");
    assert!(
        said.contains("Google account ana@acme.test is disconnected. I've deleted its keys, and"),
        "{said}"
    );
    assert!(said.contains("✓ Google is connected: ana.private@mail.test"), "{said}");
    let called_off = world.read_new("general");
    assert!(called_off.contains("you connected another account"), "{called_off}");
    assert_eq!(request_count(&world, "oauth.revoke"), if platform == Platform::Slack { 2 } else { 1 });
    assert_eq!(
        (count_rows(&world, "connections").await, count_rows(&world, "revocations").await),
        (connected, 0)
    );
    // The new account works.
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.read_new("dm:ana").contains("Nothing new."));
    world.finish().await;
}

async fn a_no_of_google_is_not_taken_for_a_grant_that_has_ended(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.google.faults.next("oauth.revoke", Fault::Status { code: 400, retry_after: None });
    disconnect_ana(&mut world).await;
    assert!(world.read_new("dm:ana").contains("I'm telling Google…"));
    world.advance(TimeDelta::seconds(31)).await;
    assert!(world.read_new("dm:ana").contains("Google has cancelled them."));
    assert_eq!(request_count(&world, "oauth.revoke"), 2);
    world.finish().await;
}
