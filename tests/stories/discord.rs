//! What is specific to Discord: threads that are channels, a gateway that does not redeliver, forms that close on
//! submit.

mod away;
mod completing;
mod presses;
mod servers;
mod shards;
mod threads;

use std::collections::BTreeMap;

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::discord::{Channel, Discord};
use nod_sandbox::model::Answer;
use nod_tests::chat::{Chat, On};
use nod_tests::{Program, World};

use crate::mail::late;

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");

async fn world() -> (World, Discord) {
    let world = World::on(On::Discord).await;
    let discord = server(&world);
    (world, discord)
}

fn server(world: &World) -> Discord {
    match &world.chat {
        Chat::Discord(discord) => discord.clone(),
        Chat::Slack(_) => panic!("the story is played on Discord"),
    }
}

async fn asked() -> (World, Discord) {
    let (mut world, discord) = world().await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late()]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    (world, discord)
}

fn typed(changes: &[(&str, &str)]) -> BTreeMap<String, String> {
    changes.iter().map(|(field, text)| ((*field).to_owned(), (*text).to_owned())).collect()
}

#[tokio::test]
async fn a_follow_up_in_the_thread_needs_no_mention_and_talk_beside_it_is_not_heard() {
    let (mut world, _) = world().await;
    world.model_will("conversational", [Answer::text("On Friday."), Answer::text("At noon.")]);
    let thread = world.says("ana", "general", "@nod when is the launch?").await;
    world.model.router_will(Answer::json(&serde_json::json!({"intent": "conversational", "tool": null})));
    world.replies("bo", "general", &thread, "at what time?").await;
    world.says("bo", "general", "lunch?").await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod when is the launch?
            nod: On Friday.
            bo: at what time?
            nod: At noon.
        bo: lunch?
    ");
    world.ends().await;
}

#[tokio::test]
async fn a_direct_message_needs_no_mention() {
    let (mut world, _) = world().await;
    world.model_will("conversational", [Answer::text("Hello, Ana!")]);
    world.says("ana", "dm:ana", "hello").await;
    insta::assert_snapshot!(world.reads("dm:ana"), @r"
        ana: hello
        nod: Hello, Ana!
    ");
    world.ends().await;
}

#[tokio::test]
async fn what_was_written_directly_while_nod_was_away_is_answered() {
    let (mut world, discord) = world().await;
    world.model_will("conversational", [Answer::text("Hello, Ana!")]);
    world.says("ana", "dm:ana", "hello").await;
    world.stop().await;
    discord.say("ana", "dm:ana", None, "are you there?");
    world.model_will("conversational", [Answer::text("Here I am.")]);
    world.start().await;
    world.hears_nod("dm:ana", "Here I am.").await;
    assert_eq!(world.reads("dm:ana").matches("Here I am.").count(), 1);
    world.ends().await;
}

#[tokio::test]
async fn an_answer_that_discord_did_not_confirm_stands_once() {
    let (mut world, discord) = world().await;
    world.model_will("conversational", [Answer::text("On Friday.")]);
    discord.faults().next("create_message", Fault::LoseAnswer);
    world.says("ana", "general", "@nod when is the launch?").await;
    world.later(TimeDelta::seconds(3)).await;
    assert_eq!(world.reads("general").matches("On Friday.").count(), 1);
    world.ends().await;
}

#[tokio::test]
async fn a_full_channel_is_waited_for() {
    let (mut world, discord) = world().await;
    world.model_will("conversational", [Answer::text("On Friday.")]);
    discord.faults().next("create_message", Fault::Status { code: 429, retry_after: Some(2) });
    world.says("ana", "general", "@nod when is the launch?").await;
    world.later(TimeDelta::seconds(6)).await;
    assert_eq!(world.reads("general").matches("On Friday.").count(), 1);
    world.ends().await;
}

#[tokio::test]
async fn what_is_edited_is_what_is_sent() {
    let (mut world, discord) = asked().await;
    world.model.will(Answer::text("Sent."));
    world.presses("ana", "general", "Edit").await;
    world.chat.submit("ana", &typed(&[("Subject", "Very late")])).await;
    world.settles().await;
    let read = world.reads("general");
    assert!(read.contains("rev 2"), "{read}\n{}", world.whispers("ana"));
    world.presses("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].subject, "Very late");
    assert!(discord.forms("ana").is_empty());
    world.reads("general");
    world.ends().await;
}

#[tokio::test]
async fn what_is_wrong_in_a_form_is_said_with_what_was_typed() {
    let (mut world, _) = asked().await;
    world.presses("ana", "general", "Edit").await;
    world.chat.submit("ana", &typed(&[("To", "Zoe")])).await;
    world.settles().await;
    insta::assert_snapshot!(world.whispers("ana"), @r"
        (ana only) nod: # That was not saved.
        ⚠ Zoe is nobody in this workspace; an address is needed.
        bcc  —
        body  Hi Bo,

        I'm running late.

        Ana
        cc  —
        subject  Running late
        to  Zoe
    ");
    world.model.will(Answer::text("All right."));
    world.presses("ana", "general", "Deny").await;
    world.chat.submit("ana", &typed(&[])).await;
    world.settles().await;
    assert!(world.reads("general").contains("Denied by Ana Silva"));
    world.ends().await;
}

#[tokio::test]
async fn what_no_form_holds_is_said_to_be_changed_in_another_way() {
    let (mut world, _) = world().await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    let body = "All work and no play makes a long mail.\n".repeat(150);
    let mail = serde_json::json!({ "to": ["Bo"], "subject": "Long", "body": body });
    world.model_will("tool", [Answer::tool("gmail_send_email", mail)]);
    world.says("ana", "general", "@nod send Bo the long mail").await;
    world.presses("ana", "general", "Edit").await;
    insta::assert_snapshot!(world.whispers("ana"), @"(ana only) nod: This is longer than a form of Discord's. Nothing was changed; tell me what should be different, and I will prepare it anew.");
    world.reads("general");
    world.ends().await;
}

#[tokio::test]
async fn another_persons_press_does_nothing() {
    let (mut world, _) = asked().await;
    world.presses("bo", "general", "Approve & send").await;
    insta::assert_snapshot!(world.whispers("bo"), @"(bo only) nod: Only Ana Silva can decide this. Nothing was done.");
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.reads("general");
    world.ends().await;
}

#[tokio::test]
async fn what_was_said_while_the_gateway_was_down_is_answered_once() {
    let (mut world, discord) = world().await;
    world.model_will("conversational", [Answer::text("On Friday.")]);
    discord.invalidate(false);
    discord.say("ana", "general", None, "@nod when is the launch?");
    world.hears_nod("general", "On Friday.").await;
    assert_eq!(world.reads("general").matches("On Friday.").count(), 1);
    world.ends().await;
}

#[tokio::test]
async fn a_dropped_connection_is_resumed_and_nothing_is_heard_twice() {
    let (mut world, discord) = world().await;
    world.model_will("conversational", [Answer::text("On Friday.")]);
    discord.cut();
    discord.say("ana", "general", None, "@nod when is the launch?");
    world.hears_nod("general", "On Friday.").await;
    world.model_will("conversational", [Answer::text("At noon.")]);
    discord.duplicate_next();
    world.says("bo", "general", "@nod at what time?").await;
    let read = world.reads("general");
    assert_eq!((read.matches("On Friday.").count(), read.matches("At noon.").count()), (1, 1), "{read}");
    world.ends().await;
}

#[tokio::test]
async fn commands_are_registered_once() {
    let (mut world, discord) = world().await;
    world.stop().await;
    world.start().await;
    assert_eq!(discord.calls_of("bulk_set_application_commands").len(), 1);
    let help = world.commands("ana", "general", "help").await;
    assert!(help.contains("I read your mail"), "{help}");
    let shown = discord.whispers("ana").join("\n");
    assert!(shown.contains("`/memory` shows") && !shown.contains("/nod"), "{shown}");
    assert!(
        shown.contains("`/ask question:…` asks") && shown.contains("`/connect account:google`"),
        "{shown}"
    );
    let later = world.commands("ana", "general", "task").await;
    insta::assert_snapshot!(later, @"(ana only) nod: `task` comes later: I can't do that yet. I know `help`, `ask`, `connect`, `disconnect`, `approvals`, `memory`, `runs`, `settings`.");
    world.ends().await;
}

#[tokio::test]
async fn a_question_by_command_is_answered_in_its_thread() {
    let (mut world, _) = world().await;
    world.model_will("conversational", [Answer::text("On Friday.")]);
    let said = world.commands("ana", "general", "ask when is the launch?").await;
    insta::assert_snapshot!(said, @"(ana only) nod: On it.");
    insta::assert_snapshot!(world.reads("general"), @r"
        nod: # Ana Silva asks
          when is the launch?
            nod: @ana
              On Friday.
    ");
    world.expects("a ping: ana");
    world.ends().await;
}

#[tokio::test]
async fn a_question_by_command_in_a_thread_is_answered_there() {
    let (mut world, _) = world().await;
    let thread = world.says("bo", "general", "the launch is on Friday").await;
    world.chat.say("cho", "general", Some(&thread), "at noon");
    world.model_will("conversational", [Answer::text("On Friday.")]);
    insta::assert_snapshot!(world.commands("ana", &thread, "ask when is the launch?").await, @"(ana only) nod: On it.");
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("at noon"), "what stands in the thread is what it is about: {asked}");
    insta::assert_snapshot!(world.reads("general"), @r"
        bo: the launch is on Friday
            cho: at noon
            nod: # Ana Silva asks
              when is the launch?
            nod: @ana
              On Friday.
    ");
    world.expects("a ping: ana");
    world.ends().await;
}

#[tokio::test]
async fn what_is_remembered_completes_the_command_that_forgets_it() {
    let (mut world, discord) = world().await;
    world.model_will("conversational", [Answer::text("Noted.")]);
    let facts = serde_json::json!([{"name": "Launch", "value": "Friday", "about": "channel", "message": 1}]);
    let noted = serde_json::json!({"summary": "", "goal": null, "facts": facts, "forget": []});
    world.model.summariser_will(Answer::json(&noted));
    world.says("ana", "general", "@nod remember that the launch is on Friday").await;
    let typing = discord.complete("ana", "general", "memory", &serde_json::json!({"forget": "lau"})).unwrap();
    let offered = typing.acknowledged(nod_tests::patience()).await.payload.unwrap();
    let choice = &offered["data"]["choices"][0];
    assert_eq!(choice["name"], "Launch: Friday");
    let chosen = serde_json::json!({"forget": choice["value"]});
    discord.slash("ana", "general", "memory", &chosen).acknowledged(nod_tests::patience()).await;
    world.settles().await;
    insta::assert_snapshot!(world.whispers("ana"), @r"
        (ana only) nod: # What I remember
        · Forgotten: Launch: Friday
        Nothing yet, neither about this channel nor about you. Tell me: “remember that the launch is on Friday”.
    ");
    world.reads("general");
    world.ends().await;
}

/// Two replicas, of which only one receives events. It is killed, and a message is sent meanwhile.
#[tokio::test]
async fn the_gateway_passes_to_the_other_replica_and_nothing_is_lost_or_answered_twice() {
    let mut world = World::in_real_time().await;
    world.play_on(On::Discord).await;
    let discord = server(&world);
    let first = world.start_program(NOD).await;
    world.says("ana", "general", "@nod hello").await;
    world.hears_nod("general", "Hello").await;
    let env: Vec<(String, String)> = world.env_of_a_replica().into_iter().collect();
    let second = Program::run(NOD, &env);
    first.kill().await;
    let lost = discord.say("ana", "general", None, "@nod hello again");
    let answered = |w: &nod_sandbox::discord::World| {
        let channel = w.channel_id("general").ok()?;
        let there = |m: &&nod_sandbox::discord::Message| m.by_bot && m.channel == lost;
        w.messages(&channel).into_iter().find(there).map(|_| ())
    };
    discord.wait_for("an answer to what was said meanwhile", nod_tests::patience(), answered).await;
    assert_eq!(discord.identified(), 2);
    world.settles().await;
    let read = world.reads("general");
    assert_eq!(read.lines().filter(|line| line.contains("nod:")).count(), 2, "{read}");
    world.kills(second).await;
    world.ends().await;
}
