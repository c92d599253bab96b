//! Failures of the model, the platform or Gmail: what people then read, and that nothing happens twice.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{ChatOperation, Platform};
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    a_model_that_never_answers_is_said_and_tried_again,
    without_a_router_the_full_agent_answers,
    a_busy_model_is_waited_for,
    a_cut_stream_is_asked_again_and_nothing_half_is_shown,
    an_empty_answer_is_asked_again_and_then_said,
    an_invented_tool_gets_an_honest_answer,
    malformed_arguments_go_back_to_the_reasoner,
    a_loop_is_cut_off_with_an_honest_message,
    a_tool_that_fails_goes_back_to_the_reasoner,
    gmail_that_breaks_while_reading_is_asked_again,
    a_platform_that_asks_to_wait_is_waited_for,
    a_platform_that_breaks_or_loses_an_answer_shows_one_message,
    an_answer_that_the_channel_refuses_reaches_the_person,
    a_mail_that_gmail_refuses_is_not_sent_and_says_why,
    a_person_whom_the_platform_does_not_tell_of_yet_is_answered_later,
    what_was_begun_in_vain_is_not_sent_when_it_is_too_late,
);

fn recent() -> Answer {
    Answer::tool("gmail_list_recent", json!({}))
}

async fn with_short_model_timeout(platform: Platform) -> World {
    let mut world = World::without_nod_on(platform).await;
    world.env.insert("NOD_LLM__TIMEOUT".to_owned(), "1s".to_owned());
    world.start().await;
    world
}

async fn with_connected_account(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world
}

async fn a_model_that_never_answers_is_said_and_tried_again(platform: Platform) {
    let mut world = with_short_model_timeout(platform).await;
    world.script_model("tool", std::iter::repeat_with(Answer::hang).take(2));
    world.say("ana", "general", "@nod are you there?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod are you there?
                nod: The model didn't answer (2 tries, 1 s). Nothing was sent or changed.
                  · run ········
                  [Try again]
        ");
    }
    world.model.clear();
    world.click("bo", "general", "Try again").await;
    let heard = world.wait_for_ephemeral("bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(bo only) nod: Only the person who asked can try this again.");
    }
    world.model.will(Answer::text("Here I am."));
    world.click("ana", "general", "Try again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod are you there?
                nod: The model didn't answer (2 tries, 1 s). Nothing was sent or changed.
                  · run ········
                  [Try again]
                nod: Here I am.
        ");
    }
    world.finish().await;
}

async fn without_a_router_the_full_agent_answers(platform: Platform) {
    let mut world = with_short_model_timeout(platform).await;
    world.model.router_will(Answer::status(500, None));
    world.model.router_will(Answer::text("no JSON at all"));
    world.model.will(Answer::text("Here I am."));
    world.say("ana", "general", "@nod are you there?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod are you there?
                nod: Here I am.
        ");
    }
    let via: String = sqlx::query_scalar("select routed_via from runs").fetch_one(&world.pool).await.unwrap();
    assert_eq!(via, "fallback");
    world.finish().await;
}

async fn a_busy_model_is_waited_for(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::status(429, Some(1)), Answer::text("Here I am.")]);
    world.say("ana", "dm:ana", "are you there?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: are you there?
            nod: Here I am.
        ");
    }
    world.finish().await;
}

async fn a_cut_stream_is_asked_again_and_nothing_half_is_shown(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model(
        "conversational",
        [Answer::text("Half of the truth is").with_cut_after(2), Answer::text("All of it.")],
    );
    world.say("ana", "dm:ana", "tell me").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: tell me
            nod: All of it.
        ");
    }
    world.finish().await;
}

async fn an_empty_answer_is_asked_again_and_then_said(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("tool", std::iter::repeat_with(Answer::empty).take(3));
    world.say("ana", "dm:ana", "tell me").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: tell me
            nod: The model gave an empty answer 3 times. Nothing was sent or changed.
              · run ········
              [Try again]
        ");
    }
    world.finish().await;
}

async fn an_invented_tool_gets_an_honest_answer(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("tool", [Answer::tool("rm_rf", json!({})), Answer::text("I cannot do that.")]);
    world.say("ana", "dm:ana", "delete everything").await;
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("there is no tool “rm_rf”"), "{heard}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: delete everything
            nod: I cannot do that.
        ");
    }
    world.finish().await;
}

async fn malformed_arguments_go_back_to_the_reasoner(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    let bad = Answer::malformed_arguments("gmail_send_email", r#"{"to": ["Bo", "#);
    let short = Answer::tool("gmail_send_email", json!({ "to": [], "subject": 3 }));
    world.script_model("tool", [bad, short, late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("the arguments are no JSON"), "{heard}");
    assert!(heard.contains("is not of type"), "{heard}");
    assert!(world.read_new("general").contains("[Approve & send]"));
    world.finish().await;
}

async fn a_loop_is_cut_off_with_an_honest_message(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.script_model("tool", std::iter::repeat_with(recent).take(12));
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: what's new in my mail?
            nod: I stopped after 12 steps without an answer. Nothing was sent or changed. Try asking something narrower.
        ");
    }
    world.finish().await;
}

async fn a_tool_that_fails_goes_back_to_the_reasoner(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    let gone = Answer::tool("gmail_read_thread", json!({ "thread_id": "nothere" }));
    world.script_model("tool", [gone, recent(), Answer::text("Your inbox is empty.")]);
    world.say("ana", "dm:ana", "read that thread").await;
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("I couldn't find that email"), "{heard}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: read that thread
            nod: Your inbox is empty.
        ");
    }
    world.finish().await;
}

async fn gmail_that_breaks_while_reading_is_asked_again(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    let broken = Fault::Status { code: 503, retry_after: None };
    world.google.faults.next("gmail.users.messages.list", broken);
    world.google.faults.next("gmail.users.messages.list", Fault::DropConnection);
    world.script_model("tool", [recent(), Answer::text("Your inbox is empty.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: what's new in my mail?
            nod: Your inbox is empty.
        ");
    }
    world.finish().await;
}

async fn a_platform_that_asks_to_wait_is_waited_for(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.chat.faults().next(
        world.chat.operation_name(ChatOperation::PostMessage),
        Fault::Status { code: 429, retry_after: Some(30) },
    );
    world.script_model("conversational", [Answer::text("Here I am.")]);
    world.say("ana", "general", "@nod are you there?").await;
    world.advance(TimeDelta::seconds(20)).await;
    assert!(!world.chat.channel_text("general").contains("Here I am"));
    assert_eq!(world.chat.posted_messages().len(), 1);
    world.advance(TimeDelta::seconds(11)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod are you there?
                nod: Here I am.
        ");
    }
    world.finish().await;
}

async fn a_platform_that_breaks_or_loses_an_answer_shows_one_message(platform: Platform) {
    for fault in [Fault::Status { code: 500, retry_after: None }, Fault::DropConnection, Fault::DropResponse]
    {
        let mut world = World::new_on(platform).await;
        world.chat.faults().next(world.chat.operation_name(ChatOperation::PostMessage), fault);
        world.script_model("conversational", [Answer::text("Here I am.")]);
        world.say("ana", "general", "@nod are you there?").await;
        world.advance(TimeDelta::seconds(5)).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.read_new("general"), @r"
                ana: @nod are you there?
                    nod: Here I am.
            ");
        }
        world.finish().await;
    }
}

async fn an_answer_that_the_channel_refuses_reaches_the_person(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Here I am.")]);
    world.chat.say("ana", "general", None, "@nod are you there?");
    world.chat.set_nod_access("general", false);
    world.wait_until_idle().await;
    world.read_new("general");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: Here I am.
              · I can't post where you asked, so here it is.
        ");
    }
    world.finish().await;
}

async fn a_mail_that_gmail_refuses_is_not_sent_and_says_why(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.script_model("tool", [late_mail_call(), Answer::text("Gmail did not take the mail.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.google.faults.next("gmail.users.drafts.send", Fault::Status { code: 400, retry_after: None });
    world.click("ana", "general", "Approve & send").await;
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
                  · Google said no: Request contains an invalid argument. Nothing was sent: ask me again if you still want it.
                nod: Gmail did not take the mail.
                  · To be clear, nothing was sent or changed just now.
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.finish().await;
}

async fn a_person_whom_the_platform_does_not_tell_of_yet_is_answered_later(platform: Platform) {
    let mut world = World::new_on(platform).await;
    for table in ["people", "identities"] {
        let unknown = format!("update {table} set membership = 'unknown'");
        sqlx::query(sqlx::AssertSqlSafe(unknown)).execute(&world.pool).await.unwrap();
    }
    world.chat.faults().next(
        world.chat.operation_name(ChatOperation::FetchProfile),
        Fault::Status { code: 429, retry_after: Some(30) },
    );
    world.script_model("conversational", [Answer::text("Here I am.")]);
    world.say("ana", "dm:ana", "are you there?").await;
    world.advance(TimeDelta::seconds(60)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: are you there?
            nod: Here I am.
        ");
    }
    world.finish().await;
}

async fn what_was_begun_in_vain_is_not_sent_when_it_is_too_late(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.script_model("tool", [late_mail_call(), Answer::text("It was not sent.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.google.faults.next("gmail.users.drafts.create", Fault::DropConnection);
    world.click("ana", "general", "Approve & send").await;
    world.advance(TimeDelta::minutes(20)).await;
    let read = world.read_new("general");
    assert!(read.contains("couldn't get to it within 15 minutes"), "{read}");
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.finish().await;
}
