//! Content of a person's mailbox stays private to that person.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    what_a_mailbox_shows_goes_to_its_owner_alone,
    nobody_elses_prompt_has_it,
    a_follow_up_that_has_it_in_view_is_answered_privately_too,
    a_card_that_comes_of_mail_goes_to_the_owner_with_a_warning,
    who_takes_no_direct_messages_is_shown_it_on_demand,
    who_takes_no_direct_messages_can_still_approve,
    every_row_with_it_says_whose_it_is,
    why_a_tool_did_not_do_it_is_told_to_the_owner_alone,
    the_log_has_no_words_and_no_tokens,
);

/// A text that is only in Ana's mailbox.
const SECRET: &str = "the merger is called Marmalade";

fn recent() -> Answer {
    Answer::tool("gmail_list_recent", json!({}))
}

async fn with_mail(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", SECRET).unwrap();
    world
}

async fn ask_in_general(platform: Platform) -> (World, String) {
    let world = with_mail(platform).await;
    world.script_model("tool", [recent(), Answer::text(format!("The bank writes: {SECRET}."))]);
    let thread = world.say("ana", "general", "@nod what's new in my mail?").await;
    (world, thread)
}

async fn what_a_mailbox_shows_goes_to_its_owner_alone(platform: Platform) {
    let (mut world, _) = ask_in_general(platform).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what's new in my mail?
                nod: · Answered Ana Silva privately.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · You asked in a channel: “what's new in my mail?”
              The bank writes: the merger is called Marmalade.
              cfo@bank.test · Plans · Fri 6 Mar, 09:30 WET
              [Reply] [Archive]
              [Share in the thread]
        ");
    }
    world.finish().await;
}

async fn nobody_elses_prompt_has_it(platform: Platform) {
    let (mut world, thread) = ask_in_general(platform).await;
    let before = world.model.requests().len();
    world.script_model("conversational", [Answer::text("I cannot tell you that.")]);
    world.reply("bo", "general", &thread, "what does it say?").await;
    for request in &world.model.requests()[before..] {
        assert!(!request.to_string().contains("Marmalade"), "{request}");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what's new in my mail?
                nod: · Answered Ana Silva privately.
                bo: what does it say?
                nod: I cannot tell you that.
        ");
    }
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_follow_up_that_has_it_in_view_is_answered_privately_too(platform: Platform) {
    let (mut world, thread) = ask_in_general(platform).await;
    world.script_model("conversational", [Answer::text(format!("In short: {SECRET}!"))]);
    world.reply("ana", "general", &thread, "in short?").await;
    assert!(world.model.requests().last().unwrap().to_string().contains("Marmalade"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what's new in my mail?
                nod: · Answered Ana Silva privately.
                ana: in short?
                nod: · Answered Ana Silva privately.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · You asked in a channel: “what's new in my mail?”
              The bank writes: the merger is called Marmalade.
              cfo@bank.test · Plans · Fri 6 Mar, 09:30 WET
              [Reply] [Archive]
              [Share in the thread]
            nod: · You asked in a channel: “in short?”
              In short: the merger is called Marmalade!
              [Share in the thread]
        ");
    }
    world.finish().await;
}

async fn a_card_that_comes_of_mail_goes_to_the_owner_with_a_warning(platform: Platform) {
    let mut world = with_mail(platform).await;
    world.script_model("tool", [recent(), late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod look into my mail and tell Bo I'm late").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod look into my mail and tell Bo I'm late
                nod: · Asked Ana Silva privately.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Send this email?
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              ⚠ Prepared after reading an email from cfo@bank.test
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & send] [Edit] [Deny] [Show all]
        ");
    }
    world.click("ana", "dm:ana", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod look into my mail and tell Bo I'm late
                nod: · Answered Ana Silva privately.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Email sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              [Open in Gmail] [Show all]
            nod: · You asked in a channel: “look into my mail and tell Bo I'm late”
              Bo knows.
              [Share in the thread]
        ");
    }
    world.finish().await;
}

async fn who_takes_no_direct_messages_is_shown_it_on_demand(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.make_mail_address_known("bo").await;
    world.google.deliver("eli@acme.test", "cfo@bank.test", "Plans", SECRET).unwrap();
    world.connect_google("eli").await;
    assert_eq!(world.read_new("general"), "");
    world.script_model("tool", [recent(), Answer::text(format!("The bank writes: {SECRET}."))]);
    world.say("eli", "general", "@nod what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            eli: @nod what's new in my mail?
                nod: · Eli Closed, I have something just for you, but I can't send you direct messages.
                  [Show me]
        ");
    }

    world.click("bo", "general", "Show me").await;
    let heard = world.wait_for_ephemeral("bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(bo only) nod: That's for someone else, or it's gone.");
    }
    world.click("eli", "general", "Show me").await;
    let heard = world.wait_for_ephemeral("eli").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @r"
            (eli only) nod: · You asked in a channel: “what's new in my mail?”
            The bank writes: the merger is called Marmalade.
            cfo@bank.test · Plans · Fri 6 Mar, 09:30 WET
            [Reply] [Archive]
            [Share in the thread]
        ");
    }
    world.finish().await;
}

async fn who_takes_no_direct_messages_can_still_approve(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.make_mail_address_known("bo").await;
    world.google.deliver("eli@acme.test", "cfo@bank.test", "Plans", SECRET).unwrap();
    world.connect_google("eli").await;
    world.script_model("tool", [recent(), late_mail_call(), Answer::text("Bo knows.")]);
    world.say("eli", "general", "@nod look into my mail and tell Bo I'm late").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            eli: @nod look into my mail and tell Bo I'm late
                nod: · Eli Closed, I have something just for you, but I can't send you direct messages.
                  [Show me]
        ");
    }
    world.click("eli", "general", "Show me").await;
    let heard = world.wait_for_ephemeral("eli").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @r"
            (eli only) nod: # Send this email?
            From  eli@acme.test
            To  bo@acme.test
            Subject  Running late
            Hi Bo,

            I'm running late.

            Ana
            ⚠ Prepared after reading an email from cfo@bank.test
            · Only Eli Closed can approve this. Expires Sat 7 Mar 2026, 09:30 WET
            [Approve & send] [Edit] [Deny] [Show all]
        ");
    }
    let whisper = world.chat.ephemeral_ids("eli").pop().unwrap();
    world.chat.click("eli", "general", &whisper, "Approve & send").await;
    world.wait_until_idle().await;
    assert!(world.read_ephemerals("eli").contains("Approved by Eli Closed"));
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            eli: @nod look into my mail and tell Bo I'm late
                nod: · Eli Closed, I have something just for you, but I can't send you direct messages.
                  [Show me] [Show me]
        ");
    }
    let first = world.chat.nod_message_ids("general")[0].clone();
    world.chat.click("eli", "general", &first, "Show me").await;
    let heard = world.wait_for_ephemeral("eli").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @r"
            (eli only) nod: · You asked in a channel: “look into my mail and tell Bo I'm late”
            Bo knows.
            [Share in the thread]
        ");
    }
    world.finish().await;
}

async fn every_row_with_it_says_whose_it_is(platform: Platform) {
    let (mut world, thread) = ask_in_general(platform).await;
    world.script_model("conversational", [Answer::text(format!("In short: {SECRET}!"))]);
    world.reply("ana", "general", &thread, "in short?").await;
    assert_rows_have_owner(&world, "Marmalade").await;
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn assert_rows_have_owner(world: &World, secret: &str) {
    let rows = world.dump_rows().await;
    let rows: Vec<&str> = rows.lines().filter(|row| row.contains(secret)).collect();
    assert!(!rows.is_empty(), "{secret} is nowhere");
    for row in rows {
        let (table, row) = row.split_once(' ').unwrap();
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let owned = match table {
            "messages" | "step_records" | "recalled_contexts" | "deliveries" => row["only_for"].is_string(),
            // A run belongs to its person.
            "runs" => row["person_id"].is_string(),
            _ => false,
        };
        assert!(owned, "{table} {row}");
    }
}

async fn why_a_tool_did_not_do_it_is_told_to_the_owner_alone(platform: Platform) {
    let mut world = with_mail(platform).await;
    world.google.create_label("ana@acme.test", "Redundancies 2026");
    let label = json!({ "search": "from:cfo@bank.test", "add_labels": ["redund"] });
    let said = Answer::text("There is no such label. Do you mean “Redundancies 2026”?");
    world.script_model("tool", [Answer::tool("gmail_organise", label), said]);
    world.say("ana", "general", "@nod label the bank's mail redund").await;
    assert!(world.model.requests().pop().unwrap().to_string().contains("did you mean “Redundancies 2026”?"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod label the bank's mail redund
                nod: · Answered Ana Silva privately.
        ");
    }
    assert!(world.read_new("dm:ana").contains("Redundancies 2026"));
    assert_rows_have_owner(&world, "Redundancies").await;
    world.finish().await;
}

/// The captured log output.
#[derive(Clone, Default)]
pub struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn the_log_has_no_words_and_no_tokens(platform: Platform) {
    let log = CapturedLog::default();
    let into = log.clone();
    let subscriber =
        nod_bot::logging::subscriber_for(Some("trace,sqlx=trace,hyper=trace"), move || into.clone(), false);
    let _here = tracing::subscriber::set_default(subscriber);
    // With only one subscriber in the process, a thread without one can disable a log line's callsite for all threads.
    let _second = tracing::Dispatch::new(nod_bot::logging::subscriber_for(None, io::sink, false));
    let mut world = with_mail(platform).await;
    world.google.faults.next("gmail.users.messages.list", nod_sandbox::Fault::DropConnection);
    world.script_model("tool", [recent(), late_mail_call(), Answer::text(format!("Sent. {SECRET}"))]);
    world.say("ana", "general", "@nod look into my mail and tell Bo about the pineapple").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    let said = log.text();
    assert!(said.contains("effect finished"), "nothing was logged");
    let chat = world.chat.secrets();
    let own = ["Marmalade", "pineapple", "running late", "sk-sandbox", "sandbox-client-secret"];
    let secrets = world.google.secrets();
    for secret in own.into_iter().chain(chat.iter().chain(&secrets).map(String::as_str)) {
        let found = said.lines().find(|line| line.contains(secret));
        assert!(found.is_none(), "{secret} is in the log: {found:?}");
    }
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}
