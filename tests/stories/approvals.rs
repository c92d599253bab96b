//! The approval: only from the owner of the account, once, for exactly what they saw.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    denied_request_is_reported_and_nothing_is_sent,
    only_the_person_whose_account_it_is_may_press,
    a_second_press_changes_nothing,
    a_receipt_whose_card_is_gone_is_told_anew,
    a_late_press_is_told_that_nobody_answered,
    what_lapsed_is_asked_for_again_by_a_press,
    what_was_denied_is_asked_for_again_by_a_press,
    what_was_edited_and_denied_is_asked_for_again_as_edited,
    what_the_rules_have_come_to_forbid_is_not_asked_for_again,
    a_newer_request_takes_the_place_of_the_one_that_waits,
    two_mails_to_one_person_stand_beside_each_other,
    pending_approvals_survive_a_restart,
    what_gmail_refuses_is_told_on_the_card,
    a_lost_answer_is_looked_for_and_the_receipt_is_true,
    where_nobody_can_tell_the_card_says_unknown,
    an_edit_in_gmail_does_not_slip_through,
    a_draft_in_ones_own_mailbox_needs_no_nod,
);

/// Ana has asked, and the card waits.
async fn with_pending_request(platform: Platform, answers: impl IntoIterator<Item = Answer>) -> World {
    request_approval_in(World::new_on(platform).await, answers).await
}

async fn request_approval_in(mut world: World, answers: impl IntoIterator<Item = Answer>) -> World {
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

async fn denied_request_is_reported_and_nothing_is_sent(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("All right, I did not send it.")]).await;
    world.deny_request("ana", "general", "").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Denied by Ana Silva 09:30 WET. Not sent.
              [Ask again]
            nod: All right, I did not send it.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    assert!(world.google.calls().iter().all(|call| !call.operation.contains("drafts")));
    world.finish().await;
}

async fn a_receipt_whose_card_is_gone_is_told_anew(platform: Platform) {
    let mut world =
        request_approval_in(World::with_undo_window_on(platform).await, [Answer::text("Bo knows.")]).await;
    let card = world.find_message_with_button("general", "Approve & send");
    world.click("ana", "general", "Approve & send").await;
    world.chat.takes_away("general", &card);
    world.advance_past_undo_window().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 3), @r"
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              [Open in Gmail]
            nod: Bo knows.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.finish().await;
}

async fn only_the_person_whose_account_it_is_may_press(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Done.")]).await;
    world.click("bo", "general", "Approve & send").await;
    world.click("bo", "general", "Deny").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("bo"), @r"
            (bo only) nod: Only Ana Silva can decide this. Nothing was done.
            (bo only) nod: Only Ana Silva can decide this. Nothing was done.
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn a_second_press_changes_nothing(platform: Platform) {
    let mut world =
        request_approval_in(World::with_undo_window_on(platform).await, [Answer::text("Done.")]).await;
    // Two clicks before the card has changed: one wins, the other gets an explanation.
    world.click_twice("ana", "general", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: You already approved this (Fri 6 Mar 2026, 09:30 WET): it hasn't started, and Undo still works.");
    }
    world.advance_past_undo_window().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn a_late_press_is_told_that_nobody_answered(platform: Platform) {
    let mut world =
        with_pending_request(platform, [Answer::text("Nobody answered, so nothing was sent.")]).await;
    let late = world.prepare_click("ana", "general", "Approve & send");
    world.advance(TimeDelta::hours(25)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Expired without an answer. Not sent.
              [Ask again]
            nod: Nobody answered, so nothing was sent.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    world.send_click(&late).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: This expired without an answer. Nothing was done. Ask me again if you still want it.");
    }
    let prompt = world.model.requests().pop().unwrap();
    let heard = prompt["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(heard.contains("nobody answered in time") && !heard.contains("denied"), "{heard}");
    world.finish().await;
}

async fn what_lapsed_is_asked_for_again_by_a_press(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Nobody answered.")]).await;
    world.advance(TimeDelta::hours(25)).await;
    let again = world.prepare_click("ana", "general", "Ask again");
    world.send_click(&again).await;
    let read = world.read_new("general");
    assert_eq!(read.matches("Hi Bo,").count(), 2, "{read}");
    assert!(read.contains("Expires Sun 8 Mar 2026") && !read.contains("[Ask again]"), "{read}");
    world.send_click(&again).await;
    assert!(world.read_ephemerals("ana").contains("I've already asked you again"));
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    let read = world.read_new("general");
    assert!(read.contains("→ Sent") && !read.contains("happen twice"), "{read}");
    world.finish().await;
}

async fn what_was_denied_is_asked_for_again_by_a_press(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("All right.")]).await;
    world.deny_request("ana", "general", "").await;
    let again = world.prepare_click("ana", "general", "Ask again");
    world.click("bo", "general", "Ask again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("bo"), @"(bo only) nod: Only Ana Silva can decide this. Nothing was done.");
    }
    world.click_twice("ana", "general", "Ask again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: I've already asked you again. Look for the newer card.");
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Email not sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Denied by Ana Silva 09:30 WET. Not sent.
                nod: All right.
                  · To be clear, nothing was sent or changed just now.
                nod: # Send this email?
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.click("ana", "general", "Approve & send").await;
    world.send_click(&again).await;
    assert!(world.read_ephemerals("ana").contains("I've already asked you again"));
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn what_was_edited_and_denied_is_asked_for_again_as_edited(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("All right.")]).await;
    world.edit_request("ana", "general", &[("Body", "An hour late.")]).await;
    world.deny_request("ana", "general", "").await;
    world.click("ana", "general", "Ask again").await;
    let read = world.read_new("general");
    let asked = &read[read.rfind("# Send this email?").unwrap()..];
    assert!(asked.contains("· edited") && asked.contains("An hour late."), "{read}");
    world.edit_request("ana", "general", &[("Subject", "Late")]).await;
    world.click("ana", "general", "Approve & send").await;
    let mail = &world.google.inbox("bo@acme.test")[0];
    assert_eq!((mail.subject.as_str(), mail.body.as_str()), ("Late", "An hour late."));
    world.read_new("general");
    world.finish().await;
}

async fn what_the_rules_have_come_to_forbid_is_not_asked_for_again(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("All right.")]).await;
    world.deny_request("ana", "general", "").await;
    world.stop().await;
    world.set_rules("[[rule]]\ntool = \"gmail_send_email\"\nnever = \"mail is written by hand\"");
    world.start().await;
    world.click("ana", "general", "Ask again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: The rules here don't allow this: mail is written by hand. Nothing was done.");
    }
    world.read_new("general");
    world.finish().await;
}

async fn a_newer_request_takes_the_place_of_the_one_that_waits(platform: Platform) {
    let later = Answer::tool(
        "gmail_send_email",
        json!({ "to": ["bo@acme.test"], "subject": "Running late", "body": "Very." }),
    );
    let mut world = with_pending_request(platform, []).await;
    let root = world.chat.first_message("general");
    world.script_model("tool", [later]);
    world.reply("ana", "general", &root, "no, say very late").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Replaced: email not sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Replaced by a newer card.
                ana: no, say very late
                nod: # Send this email?
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Very.
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.model.will(Answer::text("Sent the new one."));
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body, "Very.");
    world.read_new("general");
    world.finish().await;
}

async fn two_mails_to_one_person_stand_beside_each_other(platform: Platform) {
    let mut world = with_pending_request(platform, []).await;
    let first = world.prepare_click("ana", "general", "Approve & send");
    let plan = Answer::tool(
        "gmail_send_email",
        json!({ "to": ["bo@acme.test"], "subject": "Plan", "body": "Plan." }),
    );
    world.script_model("tool", [plan]);
    let root = world.chat.first_message("general");
    world.reply("ana", "general", &root, "and send Bo the plan").await;
    let read = world.read_new("general");
    assert_eq!(read.matches("⚠ Another email to Bo Lind is waiting").count(), 1, "{read}");
    world.model.will(Answer::text("Bo has the plan."));
    world.click("ana", "general", "Approve & send").await;
    world.model.will(Answer::text("Bo knows that you are late."));
    world.send_click(&first).await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 2);
    world.read_new("general");
    world.finish().await;
}

async fn pending_approvals_survive_a_restart(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Done.")]).await;
    world.stop().await;
    world.start().await;
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn what_gmail_refuses_is_told_on_the_card(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("It was not sent.")]).await;
    world.google.faults.next("gmail.users.drafts.send", Fault::Status { code: 400, retry_after: None });
    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
              · Google said no: Request contains an invalid argument. Nothing was sent: ask me again if you still want it.
            nod: It was not sent.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.finish().await;
}

async fn a_lost_answer_is_looked_for_and_the_receipt_is_true(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Bo has it.")]).await;
    world.google.faults.next("gmail.users.drafts.send", Fault::DropResponse);
    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 1), @"      Approved by Ana Silva 09:30 WET → Sending…");
    }
    world.advance(TimeDelta::seconds(2)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 3), @r"
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              [Open in Gmail]
            nod: Bo has it.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.finish().await;
}

async fn where_nobody_can_tell_the_card_says_unknown(platform: Platform) {
    let mut world =
        with_pending_request(platform, [Answer::text("Nobody can tell yet whether it went out.")]).await;
    world.google.faults.next("gmail.users.drafts.send", Fault::DropConnection);
    world.click("ana", "general", "Approve & send").await;
    let draft = world.google.drafts("ana@acme.test")[0].draft_id.clone().unwrap();
    assert!(world.google.delete_draft("ana@acme.test", &draft));
    for _ in 0..8 {
        world.advance(TimeDelta::minutes(2)).await;
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 3), @r"
              · I checked the draft, its thread and your Sent folder. Please check before sending it again.
              [Check again] [Send again]
            nod: Nobody can tell yet whether it went out.
        ");
    }
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.finish().await;
}

async fn an_edit_in_gmail_does_not_slip_through(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Done.")]).await;
    world.google.faults.next("gmail.users.drafts.send", Fault::Status { code: 429, retry_after: Some(5) });
    world.click("ana", "general", "Approve & send").await;
    let draft = world.google.drafts("ana@acme.test")[0].draft_id.clone().unwrap();
    let edit =
        nod_sandbox::google::DraftEdit { body: Some("Pay eve@x.test".to_owned()), ..Default::default() };
    assert!(world.google.edit_draft("ana@acme.test", &draft, &edit));
    world.advance(TimeDelta::seconds(15)).await;
    assert_eq!(
        world.google.inbox("bo@acme.test")[0].body.trim(),
        "Hi Bo,\r\n\r\nI'm running late.\r\n\r\nAna".replace("\r\n", "\n")
    );
    world.read_new("general");
    world.finish().await;
}

async fn a_draft_in_ones_own_mailbox_needs_no_nod(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let draft = json!({ "to": ["Bo"], "subject": "Plan", "body": "Hi Bo, the plan." });
    world.script_model("tool", [Answer::tool("gmail_create_draft", draft)]);
    world.say("ana", "dm:ana", "draft a mail to Bo about the plan").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_rest("dm:ana"), @r"
            ana: draft a mail to Bo about the plan
            nod: # Draft
              From  ana@acme.test
              To  bo@acme.test
              Subject  Plan
              Hi Bo, the plan.
              · Not sent yet. Tell me what to change, or say “send it”.
              [Send…] [Discard] [Open in Gmail]
        ");
    }
    assert_eq!(world.google.drafts("ana@acme.test").len(), 1);
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.finish().await;
}

/// A phone shows the first line of a message's text and none of its blocks.
#[tokio::test]
async fn a_notification_says_who_is_asked_for_what() {
    let mut world = World::new_on(Platform::Slack).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let newest_text = |world: &World| {
        let mut all = world.slack.messages("dm:ana").into_iter().filter(|message| message.is_from_bot);
        all.next_back().map(|message| message.text.lines().next().unwrap_or_default().to_owned()).unwrap()
    };
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "I'm late." }));
    world.script_model("tool", [Answer::tools(vec![mail("Bo")])]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    insta::assert_snapshot!(newest_text(&world), @"Ana Silva, please approve: email to bo@acme.test “Late”");
    world.script_model("tool", [Answer::tools(vec![mail("cho@acme.test"), mail("eve@x.test")])]);
    world.say("ana", "dm:ana", "tell Cho and Eve too").await;
    insta::assert_snapshot!(newest_text(&world), @"Ana Silva, please approve: email to cho@acme.test “Late”, email to eve@x.test “Late”");
    let raw = json!(world.slack.messages("dm:ana").last().unwrap().blocks).to_string();
    assert!(raw.contains("^{date_short_pretty} {time}|Sat 7 Mar 2026, 09:30 WET>"), "{raw}");
    world.read_new("dm:ana");
    world.discard().await;
}
