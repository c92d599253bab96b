//! Listing and disconnecting connected accounts.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::json;

use crate::mail::late;

on_each_platform!(
    disconnecting_erases_the_keys_and_gives_them_back,
    what_waits_on_an_account_that_is_disconnected_is_called_off,
    a_google_that_does_not_answer_is_asked_again,
    who_connects_again_before_google_heard_keeps_the_new_keys,
    an_account_whose_place_another_takes_is_given_back,
    a_no_of_google_is_not_taken_for_a_grant_that_has_ended,
    a_turn_to_renew_of_a_replica_that_was_killed_ends_by_itself,
    a_grant_that_google_ends_after_a_week_is_told_from_one_that_was_taken_back,
);

pub(crate) fn asked(world: &World, operation: &str) -> usize {
    world.google.calls().iter().filter(|call| call.operation == operation).count()
}

/// Ana lists her connections and disconnects.
pub(crate) async fn ana_disconnects(world: &mut World) {
    world.commands("ana", "general", "connect").await;
    world.presses_whisper("ana", "Disconnect Google").await;
    world.presses_whisper("ana", "Yes, disconnect Google").await;
}

async fn rows(world: &World, table: &str) -> i64 {
    let query = format!("select count(*) from {table}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&world.pool).await.unwrap()
}

async fn disconnecting_erases_the_keys_and_gives_them_back(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    let secrets = world.google.secrets();
    let said = world.commands("ana", "general", "connect").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # Connected accounts
            Google  ana@acme.test
            · I may read your mail, write mail for you, work with your calendar and see when people are busy.
            · /nod connect google connects another account, or allows me more.
            [Disconnect Google]
        ");
    }
    let said = world.presses_whisper("ana", "Disconnect Google").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: Disconnect ana@acme.test? I forget its keys and give them back to Google. What waits for your nod there is called off. Nothing was disconnected yet.
            [Yes, disconnect Google]
        ");
    }
    assert_eq!(rows(&world, "connections").await, 1, "nothing is done before the second press");
    let said = world.presses_whisper("ana", "Yes, disconnect Google").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: Google is disconnected. I wrote to you directly how it goes on.");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · Google account ana@acme.test is not connected. Its keys are forgotten here and given back to Google.
        ");
    }
    assert_eq!(asked(&world, "oauth.revoke"), 1);
    assert_eq!((rows(&world, "connections").await, rows(&world, "revocations").await), (0, 0));
    let rows = world.rows().await;
    assert!(secrets.iter().all(|secret| !rows.contains(secret)));
    world.model_will("tool", [Answer::tool("gmail_list_recent", json!({}))]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.reads("dm:ana").contains("I need access to your Gmail"));
    world.ends().await;
}

async fn what_waits_on_an_account_that_is_disconnected_is_called_off(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late(), Answer::text("Google was disconnected, so Bo was not told.")]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.reads("general");
    ana_disconnects(&mut world).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Email not sent · rev 1 · db435d
                  From  ana@acme.test
                  To  bo@acme.test
                  Cc  —
                  Bcc  —
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Denied by Ana Silva 09:30 WET (Google was disconnected). Not sent.
                nod: Google was disconnected, so Bo was not told.
                  · For the record: nothing was sent or changed in this turn.
        ");
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.reads("dm:ana");
    world.ends().await;
}

async fn a_google_that_does_not_answer_is_asked_again(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.google.faults.next("oauth.revoke", Fault::Status { code: 503, retry_after: None });
    ana_disconnects(&mut world).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · Google account ana@acme.test is not connected. Its keys are forgotten here; I am giving them back to Google…
        ");
    }
    assert_eq!(rows(&world, "connections").await, 0, "no tool finds a token meanwhile");
    world.later(TimeDelta::seconds(31)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · Google account ana@acme.test is not connected. Its keys are forgotten here and given back to Google.
        ");
    }
    assert_eq!((asked(&world, "oauth.revoke"), rows(&world, "revocations").await), (2, 0));
    world.ends().await;
}

async fn who_connects_again_before_google_heard_keeps_the_new_keys(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.google.faults.next("oauth.revoke", Fault::Status { code: 503, retry_after: None });
    ana_disconnects(&mut world).await;
    world.connects("ana").await;
    world.later(TimeDelta::seconds(31)).await;
    assert_eq!(asked(&world, "oauth.revoke"), 1);
    world.model_will("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("Nothing new.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.reads("dm:ana").contains("Nothing new."));
    world.ends().await;
}

async fn a_turn_to_renew_of_a_replica_that_was_killed_ends_by_itself(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.later(TimeDelta::minutes(60)).await;
    let before = asked(&world, "oauth.token");
    sqlx::query(
        "update connections set renewing_by = gen_random_uuid(),
             renewing_until = clock_timestamp() + interval '1 second'",
    )
    .execute(&world.pool)
    .await
    .unwrap();
    world.model_will("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("Nothing new.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.reads("dm:ana").contains("Nothing new."));
    assert_eq!(asked(&world, "oauth.token") - before, 1);
    let held: i64 = sqlx::query_scalar("select count(*) from connections where renewing_by is not null")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(held, 0);
    world.ends().await;
}

async fn a_grant_that_google_ends_after_a_week_is_told_from_one_that_was_taken_back(platform: On) {
    let mut world = World::on(platform).await;
    world.google.test_the_app();
    world.connects("ana").await;
    world.later(TimeDelta::days(6)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Google ends my access to ana@acme.test on Fri 13 Mar 2026, 09:29 WET, a week after you gave it. Google's consent screen for this Nod is in “Testing”, which ends every access after seven days; whoever runs Nod can publish it. Connect again, and nothing stops.
              [Reconnect Google]
        ");
    }
    world.later(TimeDelta::days(1)).await;
    world.reads("dm:ana");
    world.model_will("tool", [Answer::tool("gmail_list_recent", json!({}))]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Google ends my access to ana@acme.test on Fri 13 Mar 2026, 09:29 WET, a week after you gave it. Google's consent screen for this Nod is in “Testing”, which ends every access after seven days; whoever runs Nod can publish it. Connect again, and nothing stops.
              [Reconnect Google]
            ana: what's new in my mail?
            nod: Google no longer lets me into your account. Google's consent screen for this Nod is in “Testing”, which ends every access after seven days; whoever runs Nod can publish it. Connect it again, and your request goes on by itself.
              · The link is for you alone, works once and for an hour. It takes only your own account.
              [Reconnect Google]
        ");
    }
    world.ends().await;
}

const OTHER: &str = "ana.private@mail.test";

async fn an_account_whose_place_another_takes_is_given_back(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late(), Answer::text("Then not.")]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    let connected = rows(&world, "connections").await;
    let link = world.asks_for_link("ana").await;
    world.consents_as("ana", &link, OTHER, None).await;
    world.settles().await;
    if platform == On::Slack {
        // The consent is refused at first, and its grant at Google is revoked as well.
        assert_eq!(asked(&world, "oauth.revoke"), 1);
        world.presses("dana", "dm:dana", "Allow").await;
        world.reads("dm:dana");
        let link = world.asks_for_link("ana").await;
        world.consents_as("ana", &link, OTHER, None).await;
        world.settles().await;
    }
    let said = world.reads("dm:ana");
    assert!(
        said.contains(
            "Google account ana@acme.test is not connected. Its keys are forgotten here and given back"
        ),
        "{said}"
    );
    assert!(said.contains("✓ Google is connected: ana.private@mail.test"), "{said}");
    let called_off = world.reads("general");
    assert!(called_off.contains("another account was connected"), "{called_off}");
    assert_eq!(asked(&world, "oauth.revoke"), if platform == On::Slack { 2 } else { 1 });
    assert_eq!((rows(&world, "connections").await, rows(&world, "revocations").await), (connected, 0));
    // The new account works.
    world.model_will("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("Nothing new.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.reads("dm:ana").contains("Nothing new."));
    world.ends().await;
}

async fn a_no_of_google_is_not_taken_for_a_grant_that_has_ended(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.google.faults.next("oauth.revoke", Fault::Status { code: 400, retry_after: None });
    ana_disconnects(&mut world).await;
    assert!(world.reads("dm:ana").contains("I am giving them back to Google…"));
    world.later(TimeDelta::seconds(31)).await;
    assert!(world.reads("dm:ana").contains("given back to Google."));
    assert_eq!(asked(&world, "oauth.revoke"), 2);
    world.ends().await;
}
