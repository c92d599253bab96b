//! What is specific to Discord: threads that are channels, a gateway that does not redeliver, forms that close on
//! submit.

mod autocomplete;
mod catch_up;
mod memberships;
mod presses;
mod private_threads;
mod servers;
mod shards;
mod threads;

use std::collections::BTreeMap;

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::discord::{Channel, Discord};
use nod_sandbox::model::Answer;
use nod_tests::chat::{FakeChat, Platform};
use nod_tests::{Program, World};

use crate::mail::late_mail_call;

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");

async fn world() -> (World, Discord) {
    let world = World::new_on(Platform::Discord).await;
    let discord = server(&world);
    (world, discord)
}

fn server(world: &World) -> Discord {
    match &world.chat {
        FakeChat::Discord(discord) => discord.clone(),
        FakeChat::Slack(_) => panic!("the story is played on Discord"),
    }
}

async fn with_pending_request() -> (World, Discord) {
    let (mut world, discord) = world().await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    (world, discord)
}

fn form_values(changes: &[(&str, &str)]) -> BTreeMap<String, String> {
    changes.iter().map(|(field, text)| ((*field).to_owned(), (*text).to_owned())).collect()
}

#[tokio::test]
async fn a_follow_up_in_the_thread_needs_no_mention_and_talk_beside_it_is_not_heard() {
    let (mut world, _) = world().await;
    world.script_model("conversational", [Answer::text("On Friday."), Answer::text("At noon.")]);
    let thread = world.say("ana", "general", "@nod when is the launch?").await;
    world.model.router_will(Answer::json(&serde_json::json!({"intent": "conversational", "tool": null})));
    world.reply("bo", "general", &thread, "at what time?").await;
    world.say("bo", "general", "lunch?").await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod when is the launch?
            nod: On Friday.
            bo: at what time?
            nod: At noon.
        bo: lunch?
    ");
    world.finish().await;
}

#[tokio::test]
async fn a_direct_message_needs_no_mention() {
    let (mut world, _) = world().await;
    world.script_model("conversational", [Answer::text("Hello, Ana!")]);
    world.say("ana", "dm:ana", "hello").await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        ana: hello
        nod: Hello, Ana!
    ");
    world.finish().await;
}

#[tokio::test]
async fn what_was_written_directly_while_nod_was_away_is_answered() {
    let (mut world, discord) = world().await;
    world.script_model("conversational", [Answer::text("Hello, Ana!")]);
    world.say("ana", "dm:ana", "hello").await;
    world.stop().await;
    discord.post_message("ana", "dm:ana", None, "are you there?");
    world.script_model("conversational", [Answer::text("Here I am.")]);
    world.start().await;
    world.wait_for_nod_message("dm:ana", "Here I am.").await;
    assert_eq!(world.read_new("dm:ana").matches("Here I am.").count(), 1);
    world.finish().await;
}

#[tokio::test]
async fn an_answer_that_discord_did_not_confirm_stands_once() {
    let (mut world, discord) = world().await;
    world.script_model("conversational", [Answer::text("On Friday.")]);
    discord.faults().next("create_message", Fault::DropResponse);
    world.say("ana", "general", "@nod when is the launch?").await;
    world.advance(TimeDelta::seconds(3)).await;
    assert_eq!(world.read_new("general").matches("On Friday.").count(), 1);
    world.finish().await;
}

#[tokio::test]
async fn a_full_channel_is_waited_for() {
    let (mut world, discord) = world().await;
    world.script_model("conversational", [Answer::text("On Friday.")]);
    discord.faults().next("create_message", Fault::Status { code: 429, retry_after: Some(2) });
    world.say("ana", "general", "@nod when is the launch?").await;
    world.advance(TimeDelta::seconds(6)).await;
    assert_eq!(world.read_new("general").matches("On Friday.").count(), 1);
    world.finish().await;
}

#[tokio::test]
async fn what_is_edited_is_what_is_sent() {
    let (mut world, discord) = with_pending_request().await;
    world.model.will(Answer::text("Sent."));
    world.click("ana", "general", "Edit").await;
    world.chat.submit_form("ana", &form_values(&[("Subject", "Very late")])).await;
    world.wait_until_idle().await;
    let read = world.read_new("general");
    assert!(read.contains("edited"), "{read}\n{}", world.read_ephemerals("ana"));
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].subject, "Very late");
    assert!(discord.forms("ana").is_empty());
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn what_is_wrong_in_a_form_is_said_with_what_was_typed() {
    let (mut world, _) = with_pending_request().await;
    world.click("ana", "general", "Edit").await;
    world.chat.submit_form("ana", &form_values(&[("To", "Zoe")])).await;
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @r"
        (ana only) nod: # That wasn't saved.
        ⚠ Zoe isn't in this workspace, so I need an address.
        To  Zoe
        Cc  —
        Bcc  —
        Subject  Running late
        Body  Hi Bo,

        I'm running late.

        Ana
    ");
    world.model.will(Answer::text("All right."));
    world.click("ana", "general", "Deny").await;
    world.chat.submit_form("ana", &form_values(&[])).await;
    world.wait_until_idle().await;
    assert!(world.read_new("general").contains("Denied by Ana Silva"));
    world.finish().await;
}

#[tokio::test]
async fn what_no_form_holds_is_said_to_be_changed_in_another_way() {
    let (mut world, _) = world().await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let body = "All work and no play makes a long mail.\n".repeat(150);
    let mail = serde_json::json!({ "to": ["Bo"], "subject": "Long", "body": body });
    world.script_model("tool", [Answer::tool("gmail_send_email", mail)]);
    world.say("ana", "general", "@nod send Bo the long mail").await;
    world.click("ana", "general", "Edit").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: That's too long for a form on Discord. Tell me here what to change, and I'll prepare a new one.");
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn another_persons_press_does_nothing() {
    let (mut world, _) = with_pending_request().await;
    world.click("bo", "general", "Approve & send").await;
    insta::assert_snapshot!(world.read_ephemerals("bo"), @"(bo only) nod: Only Ana Silva can decide this. Nothing was done.");
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn what_was_said_while_the_gateway_was_down_is_answered_once() {
    let (mut world, discord) = world().await;
    world.script_model("conversational", [Answer::text("On Friday.")]);
    discord.invalidate(false);
    discord.post_message("ana", "general", None, "@nod when is the launch?");
    world.wait_for_nod_message("general", "On Friday.").await;
    assert_eq!(world.read_new("general").matches("On Friday.").count(), 1);
    world.finish().await;
}

#[tokio::test]
async fn a_dropped_connection_is_resumed_and_nothing_is_heard_twice() {
    let (mut world, discord) = world().await;
    world.script_model("conversational", [Answer::text("On Friday.")]);
    discord.drop_connections();
    discord.post_message("ana", "general", None, "@nod when is the launch?");
    world.wait_for_nod_message("general", "On Friday.").await;
    world.script_model("conversational", [Answer::text("At noon.")]);
    discord.duplicate_next();
    world.say("bo", "general", "@nod at what time?").await;
    let read = world.read_new("general");
    assert_eq!((read.matches("On Friday.").count(), read.matches("At noon.").count()), (1, 1), "{read}");
    world.finish().await;
}

#[tokio::test]
async fn commands_are_registered_once() {
    let (mut world, discord) = world().await;
    world.stop().await;
    world.start().await;
    assert_eq!(discord.list_calls_of("bulk_set_application_commands").len(), 1);
    let help = world.run_command("ana", "general", "help").await;
    assert!(help.contains("I read your email"), "{help}");
    let shown = discord.ephemeral_texts("ana").join("\n");
    assert!(shown.contains("`/memory` see") && !shown.contains("/nod"), "{shown}");
    assert!(
        shown.contains("`/ask question:…` ask") && shown.contains("`/connect account:google`"),
        "{shown}"
    );
    world.finish().await;
}

#[tokio::test]
async fn a_question_by_command_is_answered_in_its_thread() {
    let (mut world, _) = world().await;
    world.script_model("conversational", [Answer::text("On Friday.")]);
    let said = world.run_command("ana", "general", "ask when is the launch?").await;
    insta::assert_snapshot!(said, @"(ana only) nod: On it.");
    insta::assert_snapshot!(world.read_new("general"), @r"
        nod: # Ana Silva asked
          when is the launch?
            nod: @ana
              On Friday.
    ");
    world.expect_loose_end("a ping: ana");
    world.finish().await;
}

#[tokio::test]
async fn a_question_by_command_in_a_thread_is_answered_there() {
    let (mut world, _) = world().await;
    let thread = world.say("bo", "general", "the launch is on Friday").await;
    world.chat.say("cho", "general", Some(&thread), "at noon");
    world.script_model("conversational", [Answer::text("On Friday.")]);
    insta::assert_snapshot!(world.run_command("ana", &thread, "ask when is the launch?").await, @"(ana only) nod: On it.");
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("at noon"), "what stands in the thread is what it is about: {asked}");
    insta::assert_snapshot!(world.read_new("general"), @r"
        bo: the launch is on Friday
            cho: at noon
            nod: # Ana Silva asked
              when is the launch?
            nod: @ana
              On Friday.
    ");
    world.expect_loose_end("a ping: ana");
    world.finish().await;
}

#[tokio::test]
async fn what_is_remembered_completes_the_command_that_forgets_it() {
    let (mut world, discord) = world().await;
    world.script_model("conversational", [Answer::text("Noted.")]);
    let facts = serde_json::json!([{"name": "Launch", "value": "Friday", "about": "channel", "message": 1}]);
    let noted = serde_json::json!({"summary": "", "goal": null, "facts": facts, "forget": []});
    world.model.summariser_will(Answer::json(&noted));
    world.say("ana", "general", "@nod remember that the launch is on Friday").await;
    let typing = discord.complete("ana", "general", "memory", &serde_json::json!({"forget": "lau"})).unwrap();
    let offered = typing.wait_for_acknowledgement(nod_tests::max_wait()).await.payload.unwrap();
    let choice = &offered["data"]["choices"][0];
    assert_eq!(choice["name"], "Launch: Friday");
    let chosen = serde_json::json!({"forget": choice["value"]});
    discord
        .run_command("ana", "general", "memory", &chosen)
        .wait_for_acknowledgement(nod_tests::max_wait())
        .await;
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @r"
        (ana only) nod: # What I remember
        · Forgotten: Launch: Friday
        Nothing yet. Try “remember that the launch is on Friday”.
    ");
    world.read_new("general");
    world.finish().await;
}

/// Two replicas, of which only one receives events. It is killed, and a message is sent meanwhile.
#[tokio::test]
async fn the_gateway_passes_to_the_other_replica_and_nothing_is_lost_or_answered_twice() {
    let mut world = World::with_real_clock().await;
    world.use_platform(Platform::Discord).await;
    let discord = server(&world);
    let first = world.start_program(NOD).await;
    world.say("ana", "general", "@nod hello").await;
    world.wait_for_nod_message("general", "Hello").await;
    let env: Vec<(String, String)> = world.replica_env().into_iter().collect();
    let second = Program::start(NOD, &env);
    first.kill().await;
    let lost = discord.post_message("ana", "general", None, "@nod hello again");
    let answered = |w: &nod_sandbox::discord::World| {
        let channel = w.channel_id("general").ok()?;
        let there = |m: &&nod_sandbox::discord::Message| m.is_from_bot && m.channel == lost;
        w.messages(&channel).into_iter().find(there).map(|_| ())
    };
    discord.wait_for("an answer to what was said meanwhile", nod_tests::max_wait(), answered).await;
    assert_eq!(discord.identify_count(), 2);
    world.wait_until_idle().await;
    let read = world.read_new("general");
    assert_eq!(read.lines().filter(|line| line.contains("nod:")).count(), 2, "{read}");
    world.kill_program(second).await;
    world.finish().await;
}
