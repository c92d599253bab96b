//! [Share in the thread]: a private answer is shown to the others only after its recipient shares it.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{Click, World};
use serde_json::json;

use crate::long_answers::long_answer;

on_each_platform!(
    an_answer_is_shared_by_whom_it_was_given_to,
    what_was_not_shared_of_a_conversation_stays_private,
    nobody_else_shares_it,
    pressed_twice_it_is_shared_once,
    a_long_answer_is_shared_whole_and_in_order,
    other_card_content_is_not_shared,
    where_the_platform_loses_its_answer_it_still_stands_there_once,
);

const SECRET: &str = "the merger is called Marmalade";

/// Ana has asked in #general about her new mail, and was answered privately.
async fn with_private_answer(platform: Platform, answer: String) -> (World, String) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", SECRET).unwrap();
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text(answer)]);
    let thread = world.say("ana", "general", "@nod what's new in my mail?").await;
    (world, thread)
}

async fn with_short_answer(platform: Platform) -> (World, String) {
    with_private_answer(platform, format!("The bank writes: {SECRET}.")).await
}

async fn an_answer_is_shared_by_whom_it_was_given_to(platform: Platform) {
    let (mut world, thread) = with_short_answer(platform).await;
    world.click("ana", "dm:ana", "Share in the thread").await;
    world.script_model("conversational", [Answer::text("It is called Marmalade.")]);
    world.reply("bo", "general", &thread, "what is it called?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what's new in my mail?
                nod: · Ana Silva shared this answer.
                nod: The bank writes: the merger is called Marmalade.
                  cfo@bank.test · Plans · Fri 6 Mar, 09:30 WET
                bo: what is it called?
                nod: It is called Marmalade.
        ");
    }
    let asked = world.model.requests().pop().unwrap();
    assert!(asked.to_string().contains(SECRET), "what was shared is the channel's: {asked}");
    // It is still untrusted text.
    let outside: Vec<String> =
        sqlx::query_scalar("select unnest(untrusted_sources) from messages where role = 'ai' and only_for is null and run_id = (select id from runs order by created_at limit 1)")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    assert_eq!(outside, ["an email from cfo@bank.test"]);
    world.read_new("dm:ana");
    world.finish().await;
}

async fn what_was_not_shared_of_a_conversation_stays_private(platform: Platform) {
    let (mut world, thread) = with_short_answer(platform).await;
    world.script_model("conversational", [Answer::text("And the price is Tamarind.")]);
    world.reply("ana", "general", &thread, "for how much?").await;
    // The newer of the two answers.
    world.click("ana", "dm:ana", "Share in the thread").await;
    world.script_model("conversational", [Answer::text("I cannot tell.")]);
    world.reply("bo", "general", &thread, "what is it called?").await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("Tamarind") && !asked.contains("Marmalade"), "{asked}");
    let said = world.read_new("general");
    assert!(said.contains("Tamarind") && !said.contains("Marmalade"), "{said}");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn nobody_else_shares_it(platform: Platform) {
    let (mut world, _) = with_short_answer(platform).await;
    let share = world.prepare_click("ana", "dm:ana", "Share in the thread").action;
    world.send_click(&Click::forged("bo", "general", share)).await;
    let heard = world.wait_for_ephemeral("bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(bo only) nod: Only the person I answered can share that.");
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what's new in my mail?
                nod: · Answered Ana Silva privately.
        ");
    }
    world.read_new("dm:ana");
    world.finish().await;
}

async fn pressed_twice_it_is_shared_once(platform: Platform) {
    let (mut world, _) = with_short_answer(platform).await;
    world.click_twice("ana", "dm:ana", "Share in the thread").await;
    let heard = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(ana only) nod: That was already shared.");
    }
    assert_eq!(world.read_new("general").matches(SECRET).count(), 1);
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_long_answer_is_shared_whole_and_in_order(platform: Platform) {
    let (mut world, _) = with_private_answer(platform, long_answer()).await;
    world.click("ana", "dm:ana", "Share in the thread").await;
    let (alone, shared) = (world.read_new("dm:ana"), world.read_new("general"));
    let lines = |said: &str| -> Vec<String> {
        let said = said.lines().map(|line| line.trim().trim_start_matches("nod: ").to_owned());
        // What can be done with an email stays with its reader.
        said.filter(|line| !line.is_empty() && line != "[Reply] [Archive]").collect()
    };
    let (alone, shared) = (lines(&alone), lines(&shared));
    let begins = |all: &[String]| all.iter().position(|line| line.starts_with("Paragraph 1 begins")).unwrap();
    assert_eq!(alone[begins(&alone)..], shared[begins(&shared)..]);
    world.finish().await;
}

async fn other_card_content_is_not_shared(platform: Platform) {
    let (mut world, thread) = with_short_answer(platform).await;
    let plan = json!({ "to": ["bo@acme.test"], "subject": "Plan", "body": "See you." });
    world.script_model("tool", [Answer::tool("gmail_create_draft", plan)]);
    world.reply("ana", "general", &thread, "draft a mail to Bo about the plan").await;
    let plan = json!({ "draft": world.google.drafts("ana@acme.test")[0].draft_id });
    let mail = world.google.inbox("ana@acme.test")[0].thread_id.clone();
    let answer = json!({ "thread_id": mail, "body": "Tamarind is the price." });
    let both = Answer::tools(vec![("gmail_draft_reply", answer), ("gmail_discard_draft", plan)]);
    world.script_model("tool", [both]);
    world.reply("ana", "general", &thread, "rather answer the bank, without that draft").await;
    assert!(world.read_new("dm:ana").contains("Tamarind"));
    world.click("ana", "dm:ana", "Share in the thread").await;
    world.script_model("conversational", [Answer::text("I cannot tell.")]);
    world.reply("bo", "general", &thread, "for how much?").await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("Draft discarded") && !asked.contains("Tamarind"), "{asked}");
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn where_the_platform_loses_its_answer_it_still_stands_there_once(platform: Platform) {
    let (mut world, _) = with_short_answer(platform).await;
    world.chat.faults().next(world.chat.operation_name(ChatOperation::PostMessage), Fault::DropResponse);
    world.click("ana", "dm:ana", "Share in the thread").await;
    world.advance(chrono::TimeDelta::seconds(30)).await;
    assert_eq!(world.read_new("general").matches(SECRET).count(), 1);
    world.read_new("dm:ana");
    world.finish().await;
}
