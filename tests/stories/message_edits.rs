//! People edit and delete their messages: a run that such a message started is notified while it is under way.

use std::time::Duration;

use nod_sandbox::model::Answer;
use nod_store::store::begin;
use nod_tests::chat::Platform;
use nod_tests::{Click, Mode, World};
use serde_json::json;

use crate::crash::invariants::wait_for_count;
use crate::mail::late_mail_call;

on_each_platform!(
    an_edit_while_nod_was_away_is_found,
    an_edit_before_the_nod_starts_over_with_the_new_words,
    a_deleted_message_takes_its_request_back,
    after_the_answer_an_edit_is_no_new_question,
    a_link_that_is_unfurled_is_no_edit,
    an_edit_while_nod_is_thinking_is_what_is_answered,
    an_edit_that_is_stored_while_the_answer_waits_to_be_is_what_is_answered,
    what_was_done_already_stays_done_and_is_said,
);

fn mail_to_cho() -> Answer {
    Answer::tool("gmail_send_email", json!({ "to": ["Cho"], "subject": "Running late", "body": "Hi Cho!" }))
}

fn text_after<'a>(text: &'a str, mark: &str) -> &'a str {
    &text[text.find(mark).unwrap_or_else(|| panic!("no {mark} in:\n{text}"))..]
}

async fn an_edit_while_nod_was_away_is_found(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    world.script_model("tool", [late_mail_call()]);
    let ts = world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.stop().await;
    world.chat.drop_undelivered_events();
    world.clock.advance(chrono::TimeDelta::minutes(10));
    world.chat.edit("ana", "general", &ts, "@nod tell Cho I'm late");
    world.script_model("tool", [mail_to_cho(), Answer::text("Cho knows.")]);
    world.start().await;
    world.wait_for_nod_message("general", "cho@acme.test").await;
    world.click("ana", "general", "Approve & send").await;
    assert!(world.read_new("general").contains("Cho knows."));
    assert_eq!((world.google.inbox("bo@acme.test").len(), world.google.inbox("cho@acme.test").len()), (0, 1));
    world.finish().await;
}

async fn an_edit_before_the_nod_starts_over_with_the_new_words(platform: Platform) {
    assert_starts_over(World::new_on(platform).await).await;
}

#[tokio::test]
async fn an_edit_that_slack_posts_starts_over_too() {
    assert_starts_over(World::with_slack_mode(Mode::Http).await).await;
}

async fn assert_starts_over(mut world: World) {
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    world.script_model("tool", [late_mail_call()]);
    let ts = world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.script_model("tool", [mail_to_cho(), Answer::text("Cho knows.")]);
    world.chat.edit("ana", "general", &ts, "@nod tell Cho I'm late");
    world.wait_until_idle().await;
    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Cho I'm late (edited)
                nod: # Email not sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  The message that asked for this was edited or deleted. Not sent.
                nod: # Email sent
                  From  ana@acme.test
                  To  cho@acme.test
                  Subject  Running late
                  Hi Cho!
                  Approved by Ana Silva 09:30 WET → Sent 09:30 WET
                  [Open in Gmail]
                nod: Cho knows.
        ");
    }
    assert!(world.google.inbox("bo@acme.test").is_empty());
    assert_eq!(world.google.inbox("cho@acme.test").len(), 1);
    world.finish().await;
}

async fn a_deleted_message_takes_its_request_back(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    world.script_model("tool", [late_mail_call()]);
    let ts = world.say("ana", "general", "@nod tell Bo I'm late").await;
    let id: uuid::Uuid = sqlx::query_scalar("select id from approvals").fetch_one(&world.pool).await.unwrap();
    world.chat.delete("ana", "general", &ts);
    world.wait_until_idle().await;
    // Each platform has its own text in the place of a deleted message.
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("general"), "nod: # Email"), @r"
            nod: # Email not sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  The message that asked for this was edited or deleted. Not sent.
        ");
    }
    // A client might still show the button.
    world.send_click(&Click::forged("ana", "general", format!("approve:{id}"))).await;
    let said = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: The message that asked for this was edited or deleted, so it's off. Nothing was done.");
    }
    assert!(world.google.inbox("bo@acme.test").is_empty());
    // A deleted text is in no later prompt of any user.
    let said: i64 = sqlx::query_scalar(
        "select count(*) from messages where turn::text like '%tell Bo%' and role = 'human'",
    )
    .fetch_one(&world.pool)
    .await
    .unwrap();
    assert_eq!(said, 0);
    world.finish().await;
}

async fn after_the_answer_an_edit_is_no_new_question(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("4.")]);
    let ts = world.say("ana", "general", "@nod 2+2?").await;
    let asked = world.model.requests().len();
    world.chat.edit("ana", "general", &ts, "@nod 2+3?");
    world.chat.delete("ana", "general", &ts);
    world.wait_until_idle().await;
    assert_eq!(world.model.requests().len(), asked);
    world.read_new("general");
    world.finish().await;
}

async fn a_link_that_is_unfurled_is_no_edit(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    world.script_model("tool", [late_mail_call()]);
    let ts = world.say("ana", "general", "@nod tell Bo I'm late, see https://acme.test/timetable").await;
    let asked = world.model.requests().len();
    world.chat.unfurl("general", &ts);
    world.wait_until_idle().await;
    assert_eq!(world.model.requests().len(), asked);
    assert!(world.read_new("general").contains("[Approve & send]"));
    world.finish().await;
}

async fn an_edit_while_nod_is_thinking_is_what_is_answered(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Oslo.").with_delay(Duration::from_millis(500))]);
    let ts = world.chat.say("ana", "dm:ana", None, "capital of Norway?");
    world.wait_for_model_requests(2).await;
    world.script_model("conversational", [Answer::text("Stockholm.")]);
    world.chat.edit("ana", "dm:ana", &ts, "capital of Sweden?");
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: capital of Sweden? (edited)
            nod: Stockholm.
        ");
    }
    world.finish().await;
}

async fn an_edit_that_is_stored_while_the_answer_waits_to_be_is_what_is_answered(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Oslo.").with_delay(Duration::from_millis(500))]);
    world.chat.say("ana", "dm:ana", None, "capital of Norway?");
    world.wait_for_model_requests(2).await;
    let mut edit = begin(&world.pool).await.unwrap();
    let event = json!({ "event": "message_edited", "text": "capital of Sweden?" });
    sqlx::query(
        "select enqueue(tenant_id, conversation_id,
             jsonb_build_object('work', 'advance_run', 'run', id, 'event', $1::jsonb), created_at, created_at) from runs",
    )
    .bind(event)
    .execute(&mut *edit)
    .await
    .unwrap();
    let waits = "select count(*) from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock' and query like '%update runs%'";
    wait_for_count(&world, waits, 1).await;
    world.script_model("conversational", [Answer::text("Stockholm.")]);
    edit.commit().await.unwrap();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: capital of Norway?
            nod: Stockholm.
        ");
    }
    world.finish().await;
}

async fn what_was_done_already_stays_done_and_is_said(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    world.script_model("tool", [late_mail_call(), mail_to_cho(), Answer::text("Bo has it, Cho does not.")]);
    let ts = world.say("ana", "general", "@nod tell Bo and then Cho I'm late").await;
    world.click("ana", "general", "Approve & send").await;
    world.chat.edit("ana", "general", &ts, "@nod tell nobody");
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell nobody (edited)
                nod: # Email sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Approved by Ana Silva 09:30 WET → Sent 09:30 WET
                  [Open in Gmail]
                nod: # Email not sent
                  From  ana@acme.test
                  To  cho@acme.test
                  Subject  Running late
                  Hi Cho!
                  The message that asked for this was edited or deleted. Not sent.
                nod: You edited your message after I'd started. The receipt shows what was done. For anything else, send a new message.
                nod: Bo has it, Cho does not.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    assert!(world.google.inbox("cho@acme.test").is_empty());
    world.finish().await;
}
