//! Failures of the model, the platform or Gmail: what people then read, and that nothing happens twice.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{Deed, On};
use serde_json::json;

use crate::mail::late;

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

async fn with_a_hasty_model(platform: On) -> World {
    let mut world = World::without_nod_on(platform).await;
    world.env.insert("NOD_LLM__TIMEOUT".to_owned(), "1s".to_owned());
    world.start().await;
    world
}

async fn connected(platform: On) -> World {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world
}

async fn a_model_that_never_answers_is_said_and_tried_again(platform: On) {
    let mut world = with_a_hasty_model(platform).await;
    world.model_will("tool", std::iter::repeat_with(Answer::hang).take(2));
    world.says("ana", "general", "@nod are you there?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod are you there?
                nod: The model did not answer (2 tries, 1 s). Nothing was sent or changed.
                  · run ········
                  [Try again]
        ");
    }
    world.model.clear();
    world.presses("bo", "general", "Try again").await;
    let heard = world.hears("bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(bo only) nod: Only whoever asked can try again. Nothing was done.");
    }
    world.model.will(Answer::text("Here I am."));
    world.presses("ana", "general", "Try again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod are you there?
                nod: The model did not answer (2 tries, 1 s). Nothing was sent or changed.
                  · run ········
                  [Try again]
                nod: Here I am.
        ");
    }
    world.ends().await;
}

async fn without_a_router_the_full_agent_answers(platform: On) {
    let mut world = with_a_hasty_model(platform).await;
    world.model.router_will(Answer::status(500, None));
    world.model.router_will(Answer::text("no JSON at all"));
    world.model.will(Answer::text("Here I am."));
    world.says("ana", "general", "@nod are you there?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod are you there?
                nod: Here I am.
        ");
    }
    let via: String = sqlx::query_scalar("select routed_via from runs").fetch_one(&world.pool).await.unwrap();
    assert_eq!(via, "fallback");
    world.ends().await;
}

async fn a_busy_model_is_waited_for(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will("conversational", [Answer::status(429, Some(1)), Answer::text("Here I am.")]);
    world.says("ana", "dm:ana", "are you there?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            ana: are you there?
            nod: Here I am.
        ");
    }
    world.ends().await;
}

async fn a_cut_stream_is_asked_again_and_nothing_half_is_shown(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will(
        "conversational",
        [Answer::text("Half of the truth is").cut_after(2), Answer::text("All of it.")],
    );
    world.says("ana", "dm:ana", "tell me").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            ana: tell me
            nod: All of it.
        ");
    }
    world.ends().await;
}

async fn an_empty_answer_is_asked_again_and_then_said(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will("tool", std::iter::repeat_with(Answer::empty).take(3));
    world.says("ana", "dm:ana", "tell me").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            ana: tell me
            nod: The model gave an empty answer, 3 times. Nothing was sent or changed.
              · run ········
              [Try again]
        ");
    }
    world.ends().await;
}

async fn an_invented_tool_gets_an_honest_answer(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will("tool", [Answer::tool("rm_rf", json!({})), Answer::text("I cannot do that.")]);
    world.says("ana", "dm:ana", "delete everything").await;
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("there is no tool “rm_rf”"), "{heard}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            ana: delete everything
            nod: I cannot do that.
        ");
    }
    world.ends().await;
}

async fn malformed_arguments_go_back_to_the_reasoner(platform: On) {
    let mut world = connected(platform).await;
    let bad = Answer::malformed_arguments("gmail_send_email", r#"{"to": ["Bo", "#);
    let short = Answer::tool("gmail_send_email", json!({ "to": [], "subject": 3 }));
    world.model_will("tool", [bad, short, late()]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("the arguments are no JSON"), "{heard}");
    assert!(heard.contains("is not of type"), "{heard}");
    assert!(world.reads("general").contains("[Approve & send]"));
    world.ends().await;
}

async fn a_loop_is_cut_off_with_an_honest_message(platform: On) {
    let mut world = connected(platform).await;
    world.model_will("tool", std::iter::repeat_with(recent).take(12));
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: what's new in my mail?
            nod: I stopped after 12 steps without getting to an answer. Nothing was sent or changed. A narrower question may help.
        ");
    }
    world.ends().await;
}

async fn a_tool_that_fails_goes_back_to_the_reasoner(platform: On) {
    let mut world = connected(platform).await;
    let gone = Answer::tool("gmail_read_thread", json!({ "thread_id": "nothere" }));
    world.model_will("tool", [gone, recent(), Answer::text("Your inbox is empty.")]);
    world.says("ana", "dm:ana", "read that thread").await;
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("not found"), "{heard}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: read that thread
            nod: Your inbox is empty.
        ");
    }
    world.ends().await;
}

async fn gmail_that_breaks_while_reading_is_asked_again(platform: On) {
    let mut world = connected(platform).await;
    let broken = Fault::Status { code: 503, retry_after: None };
    world.google.faults.next("gmail.users.messages.list", broken);
    world.google.faults.next("gmail.users.messages.list", Fault::Drop);
    world.model_will("tool", [recent(), Answer::text("Your inbox is empty.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: what's new in my mail?
            nod: Your inbox is empty.
        ");
    }
    world.ends().await;
}

async fn a_platform_that_asks_to_wait_is_waited_for(platform: On) {
    let mut world = World::on(platform).await;
    world
        .chat
        .faults()
        .next(world.chat.operation(Deed::Posts), Fault::Status { code: 429, retry_after: Some(30) });
    world.model_will("conversational", [Answer::text("Here I am.")]);
    world.says("ana", "general", "@nod are you there?").await;
    world.later(TimeDelta::seconds(20)).await;
    assert!(!world.chat.spoken("general").contains("Here I am"));
    assert_eq!(world.chat.posts().len(), 1);
    world.later(TimeDelta::seconds(11)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod are you there?
                nod: Here I am.
        ");
    }
    world.ends().await;
}

async fn a_platform_that_breaks_or_loses_an_answer_shows_one_message(platform: On) {
    for fault in [Fault::Status { code: 500, retry_after: None }, Fault::Drop, Fault::LoseAnswer] {
        let mut world = World::on(platform).await;
        world.chat.faults().next(world.chat.operation(Deed::Posts), fault);
        world.model_will("conversational", [Answer::text("Here I am.")]);
        world.says("ana", "general", "@nod are you there?").await;
        world.later(TimeDelta::seconds(5)).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.reads("general"), @r"
                ana: @nod are you there?
                    nod: Here I am.
            ");
        }
        world.ends().await;
    }
}

async fn an_answer_that_the_channel_refuses_reaches_the_person(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will("conversational", [Answer::text("Here I am.")]);
    world.chat.say("ana", "general", None, "@nod are you there?");
    world.chat.admits_nod("general", false);
    world.settles().await;
    world.reads("general");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: Here I am.
              · I may not write where you asked, so this comes to you here.
        ");
    }
    world.ends().await;
}

async fn a_mail_that_gmail_refuses_is_not_sent_and_says_why(platform: On) {
    let mut world = connected(platform).await;
    world.model_will("tool", [late(), Answer::text("Gmail did not take the mail.")]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.google.faults.next("gmail.users.drafts.send", Fault::Status { code: 400, retry_after: None });
    world.presses("ana", "general", "Approve & send").await;
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
                  Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
                  · Google refuses: Request contains an invalid argument. Nothing was sent; ask again once that is mended.
                nod: Gmail did not take the mail.
                  · For the record: nothing was sent or changed in this turn.
        ");
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.ends().await;
}

async fn a_person_whom_the_platform_does_not_tell_of_yet_is_answered_later(platform: On) {
    let mut world = World::on(platform).await;
    for table in ["people", "identities"] {
        let unknown = format!("update {table} set standing = 'unknown'");
        sqlx::query(sqlx::AssertSqlSafe(unknown)).execute(&world.pool).await.unwrap();
    }
    world
        .chat
        .faults()
        .next(world.chat.operation(Deed::LooksUp), Fault::Status { code: 429, retry_after: Some(30) });
    world.model_will("conversational", [Answer::text("Here I am.")]);
    world.says("ana", "dm:ana", "are you there?").await;
    world.later(TimeDelta::seconds(60)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            ana: are you there?
            nod: Here I am.
        ");
    }
    world.ends().await;
}

async fn what_was_begun_in_vain_is_not_sent_when_it_is_too_late(platform: On) {
    let mut world = connected(platform).await;
    world.model_will("tool", [late(), Answer::text("It was not sent.")]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.google.faults.next("gmail.users.drafts.create", Fault::Drop);
    world.presses("ana", "general", "Approve & send").await;
    world.later(TimeDelta::minutes(20)).await;
    let read = world.reads("general");
    assert!(read.contains("could not get to it within 15 minutes"), "{read}");
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.ends().await;
}
