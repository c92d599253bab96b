//! Regression stories: lost events, blocked lanes, and cards that said something false.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{ChatOperation, Platform};
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    an_unknown_outcome_is_never_told_as_nothing_sent,
    draft_recipient_is_not_a_known_contact,
    undisplayable_request_is_not_asked,
    thread_opened_by_others_does_not_block_its_channel,
    failing_job_is_dead_lettered_and_its_lane_continues,
    whatever_a_model_claims_without_a_receipt_is_set_right,
);

/// The model stops answering right after a mail with an unknown outcome.
async fn an_unknown_outcome_is_never_told_as_nothing_sent(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    world.google.faults.next("gmail.users.drafts.send", Fault::DropConnection);
    world.click("ana", "dm:ana", "Approve & send").await;
    let draft = world.google.drafts("ana@acme.test")[0].draft_id.clone().unwrap();
    assert!(world.google.delete_draft("ana@acme.test", &draft));
    world.model.will(Answer::status(401, None));
    for _ in 0..10 {
        world.advance(TimeDelta::minutes(1)).await;
    }
    let read = world.read_new("dm:ana");
    insta::allow_duplicates! {
        insta::assert_snapshot!(read[read.find("→ Unknown").unwrap()..].lines().skip(1).collect::<Vec<_>>().join("\n"), @r"
              · I checked the draft, its thread and your Sent folder. Please check before sending it again.
              [Check again] [Send again]
            nod: The model refused the request (status 401). The person who runs Nod needs to look at it. I can't tell whether anything went through before that. Please check its card above.
              · run ········
              [Try again]
        ");
    }
    world.finish().await;
}

async fn draft_recipient_is_not_a_known_contact(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    let to_eve = || json!({ "to": ["eve@evil.test"], "subject": "Hi", "body": "Hi." });
    world.script_model("tool", [Answer::tool("gmail_create_draft", to_eve())]);
    world.say("ana", "dm:ana", "draft a hello to eve@evil.test").await;
    world.script_model("tool", [Answer::tool("gmail_send_email", to_eve()), Answer::text("Not sent.")]);
    world.say("ana", "dm:ana", "send eve@evil.test a hello").await;
    let read = world.read_new("dm:ana");
    assert!(read.contains("First email to eve@evil.test, outside acme.test"), "{read}");
    world.deny_request("ana", "dm:ana", "").await;
    world.read_new("dm:ana");
    world.finish().await;
}

async fn undisplayable_request_is_not_asked(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    let many: Vec<String> = (0..90)
        .map(|n| format!("somebody.of.that.number.{n}@a-very-long-name-of-a-house.example.test"))
        .collect();
    let mail = json!({ "to": many, "subject": "News", "body": "word ".repeat(1_500) });
    world.script_model(
        "tool",
        [Answer::tool("gmail_send_email", mail), Answer::text("It is too long to show you whole.")],
    );
    world.say("ana", "dm:ana", "send the news to everybody").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: send the news to everybody
            nod: It is too long to show you whole.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    let heard =
        world.model.requests().pop().unwrap()["messages"].as_array().unwrap().last().unwrap()["content"]
            .to_string();
    assert!(
        heard.contains("more than can be shown for approval") && heard.contains("90 recipients"),
        "{heard}"
    );
    world.finish().await;
}

/// The question is posted, Nod does not know it yet, and a user writes into its thread.
async fn thread_opened_by_others_does_not_block_its_channel(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.chat.faults().next(world.chat.operation_name(ChatOperation::PostMessage), Fault::DropResponse);
    world.script_model("conversational", [Answer::text("Forty-two.")]);
    world.run_command("ana", "general", "ask what is the answer?").await;
    let root = world.chat.message_ids("general")[0].clone();
    world.script_model("conversational", [Answer::text("To you as well.")]);
    world.reply("bo", "general", &root, "@nod and hello").await;
    world.advance(TimeDelta::seconds(5)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            nod: # Ana Silva asked
              what is the answer?
                bo: @nod and hello
                nod: @ana
                  Forty-two.
                nod: To you as well.
        ");
    }
    world.expect_loose_end("a ping: ana");
    world.finish().await;
}

async fn failing_job_is_dead_lettered_and_its_lane_continues(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let lane = uuid::Uuid::from_u128(7);
    sqlx::query(
        "select enqueue(id, $1, '{\"payload\": \"of another version\"}', due.at, due.at)
         from tenants, (select now() - interval '1 year' as at) due",
    )
    .bind(lane)
    .execute(&world.pool)
    .await
    .unwrap();
    for _ in 0..40 {
        world.advance(TimeDelta::seconds(70)).await;
    }
    let (dead, left): (i64, i64) =
        sqlx::query_as("select (select count(*) from dead_jobs), (select count(*) from lanes where id = $1)")
            .bind(lane)
            .fetch_one(&world.pool)
            .await
            .unwrap();
    assert_eq!((dead, left), (1, 0));
    world.script_model("conversational", [Answer::text("All is well.")]);
    world.say("ana", "dm:ana", "are you well?").await;
    world.read_new("dm:ana");
    world.finish().await;
}

/// The user asked for a mail; the model calls no tool and says that it is done.
async fn whatever_a_model_claims_without_a_receipt_is_set_right(platform: Platform) {
    const CLAIMS: [&str; 14] = [
        "Consider it sent.",
        "Email delivered to bo@acme.test.",
        "Your email to Bo is on its way!",
        "Bo has been notified by email.",
        "The mail left a minute ago.",
        "All done!",
        "Bo knows now.",
        "Ich habe Bo geschrieben.",
        "Die Mail an Bo ist raus.",
        "El correo ya fue enviado a Bo.",
        "C'est fait, Bo a reçu le message.",
        "O e-mail foi enviado.",
        "Boにメールを送りました。",
        "👍",
    ];
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    for claim in CLAIMS {
        world.model.router_will(Answer::json(&json!({ "intent": "tool", "tool": "gmail_send_email" })));
        world.model.will(Answer::text(claim));
        world.say("ana", "dm:ana", "tell Bo I'm late").await;
        let said = world.read_new("dm:ana");
        let newest: Vec<&str> = said.lines().rev().take(2).map(str::trim).collect();
        assert_eq!(newest[0], "· To be clear, nothing was sent or changed just now.", "{claim}:\n{said}");
    }
    world.finish().await;
}
