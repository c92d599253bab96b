//! The operator's rules for approvals: what is forbidden, how long a request waits, and the one reminder.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    what_the_rules_never_allow_is_not_asked_for,
    a_rule_says_how_long_a_request_waits,
    its_person_is_reminded_once_and_the_reminder_does_not_outlive_the_answer,
    a_reminder_of_a_turn_that_was_stopped_says_that_it_is_over,
    what_was_decided_is_not_reminded_of,
    what_expires_while_nod_is_down_is_told_and_not_reminded_of,
    a_reminder_of_something_private_is_private,
);

/// Ana has asked, and the card waits.
async fn request_approval(mut world: World, answers: impl IntoIterator<Item = Answer>) -> World {
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()].into_iter().chain(answers));
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world
}

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

/// Returns the URL of the newest reminder's button.
fn reminder_link(world: &World, channel: &str) -> String {
    let go = world.chat.buttons(channel).into_iter().find(|button| button.label == "Go to the card");
    go.unwrap().link.unwrap()
}

async fn count_reminders(world: &World) -> i64 {
    let query = "select count(*) from deliveries where card::text like '%still waiting for you%'";
    sqlx::query_scalar(query).fetch_one(&world.pool).await.unwrap()
}

async fn what_the_rules_never_allow_is_not_asked_for(platform: Platform) {
    let rules =
        "[[rule]]\ntool = \"gmail_send_email\"\nwhen.recipients_above = 1\nnever = \"one person at a time\"";
    let mut world = World::with_rules_on(platform, rules).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let mail = json!({ "to": ["Bo", "Cho"], "subject": "Late", "body": "Late." });
    let said = Answer::text("The rules here allow one person at a time.");
    world.script_model("tool", [Answer::tool("gmail_send_email", mail), said]);
    world.say("ana", "general", "@nod tell Bo and Cho I'm late").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo and Cho I'm late
                nod: The rules here allow one person at a time.
                  · To be clear, nothing was sent or changed just now.
        ");
    }
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("never allow this") && heard.contains("one person at a time"), "{heard}");
    world.finish().await;
}

async fn a_rule_says_how_long_a_request_waits(platform: Platform) {
    let rules = "[[rule]]\nexpire_after = \"30m\"\nundo = \"3s\"";
    let mut world =
        request_approval(World::with_rules_on(platform, rules).await, [Answer::text("Nobody answered.")])
            .await;
    assert!(world.read_new("general").contains("Expires Fri 6 Mar 2026, 10:00 WET"));
    // From the start, less time remained than a reminder's lead.
    world.advance(TimeDelta::minutes(29)).await;
    assert_eq!(count_reminders(&world).await, 0);
    world.advance(TimeDelta::minutes(1)).await;
    assert!(world.read_new("general").contains("Expired without an answer. Not sent."));
    world.finish().await;
}

async fn its_person_is_reminded_once_and_the_reminder_does_not_outlive_the_answer(platform: Platform) {
    let mut world = request_approval(World::new_on(platform).await, [Answer::text("Bo knows.")]).await;
    world.advance(TimeDelta::minutes(23 * 60)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 3), @r"
              [Approve & send] [Edit] [Deny]
            nod: · Ana Silva, this is still waiting for you: email to bo@acme.test “Running late”, expires Sat 7 Mar 2026, 09:30 WET. Without an answer: not sent.
              [Go to the card]
        ");
    }
    world.stop().await;
    world.start().await;
    world.advance(TimeDelta::minutes(30)).await;
    assert_eq!(count_reminders(&world).await, 1);
    let card = world.find_message_with_button("general", "Approve & send");
    assert_eq!(reminder_link(&world, "general"), world.chat.permalink("general", &card));
    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Approved by Ana Silva 09:00 WET → Sent 09:00 WET
              [Open in Gmail]
            nod: · I reminded Ana Silva about a request. Its card shows how it ended.
            nod: Bo knows.
        ");
    }
    world.finish().await;
}

async fn a_reminder_of_a_turn_that_was_stopped_says_that_it_is_over(platform: Platform) {
    let mut world = request_approval(World::new_on(platform).await, []).await;
    world.advance(TimeDelta::hours(23)).await;
    let question = world.chat.first_message("general");
    world.reply("ana", "general", &question, "stop").await;
    let read = world.read_new("general");
    assert!(read.contains("# Email not sent") && read.contains("Its card shows how it ended"), "{read}");
    assert!(!read.contains("still waits") && !read.contains("[Go to the card]"), "{read}");
    world.finish().await;
}

async fn what_was_decided_is_not_reminded_of(platform: Platform) {
    let mut world = request_approval(World::new_on(platform).await, [Answer::text("Not sent.")]).await;
    world.deny_request("ana", "general", "").await;
    world.advance(TimeDelta::hours(23)).await;
    assert_eq!(count_reminders(&world).await, 0);
    world.read_new("general");
    world.finish().await;
}

async fn what_expires_while_nod_is_down_is_told_and_not_reminded_of(platform: Platform) {
    let mut world = request_approval(World::new_on(platform).await, [Answer::text("Nobody answered.")]).await;
    world.stop().await;
    world.clock.advance(TimeDelta::hours(25));
    world.start().await;
    assert_eq!(count_reminders(&world).await, 0);
    assert!(world.read_new("general").contains("Expired without an answer. Not sent."));
    world.finish().await;
}

async fn a_reminder_of_something_private_is_private(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "Marmalade").unwrap();
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.script_model("tool", [recent, late_mail_call(), Answer::text("Nobody answered.")]);
    world.say("ana", "general", "@nod look into my mail and tell Bo I'm late").await;
    world.advance(TimeDelta::hours(23)).await;
    assert!(!world.read_new("general").contains("still waits"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("dm:ana"), 2), @r"
            nod: · Ana Silva, this is still waiting for you: email to bo@acme.test “Running late”, expires Sat 7 Mar 2026, 09:30 WET. Without an answer: not sent.
              [Go to the card]
        ");
    }
    let card = world.find_message_with_button("dm:ana", "Approve & send");
    assert_eq!(reminder_link(&world, "dm:ana"), world.chat.permalink("dm:ana", &card));
    world.advance(TimeDelta::hours(1)).await;
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}
