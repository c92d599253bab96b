//! Effects with an unknown outcome: [Check again] looks, [Send again] asks.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;

use crate::drafts::with_open_draft;
use crate::mail::late_mail_call;

on_each_platform!(
    check_again_finds_what_went_out,
    check_again_says_when_it_still_cannot_tell,
    an_open_draft_that_is_gone_is_not_offered_to_be_sent_again,
    send_again_asks_once_more_and_warns,
    what_turns_out_to_have_gone_is_not_asked_for_again,
    what_may_have_gone_and_lapsed_is_not_asked_for_by_a_press,
    what_was_approved_again_is_called_off_when_the_first_is_found,
    an_edit_does_not_take_the_warning_away,
    what_a_newer_request_replaces_is_not_said_to_have_gone,
);

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

/// Ana's mail met a fault and its draft is gone, so the outcome is unknown. `sent`: whether it was sent after all.
async fn with_unknown_outcome(platform: Platform, sent: bool) -> World {
    reach_unknown_outcome(World::new_on(platform).await, sent).await
}

async fn reach_unknown_outcome(mut world: World, sent: bool) -> World {
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Nobody can tell yet whether it went out.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let fault = if sent { Fault::DropResponse } else { Fault::DropConnection };
    world.google.faults.next("gmail.users.drafts.send", fault);
    world.click("ana", "general", "Approve & send").await;
    if !world.env.contains_key("NOD_APPROVALS__UNDO") {
        world.advance_past_undo_window().await;
    }
    if sent {
        // Nod can no longer look it up.
        world.google.revoke_grants("ana@acme.test");
    } else {
        let draft = world.google.drafts("ana@acme.test")[0].draft_id.clone().unwrap();
        assert!(world.google.delete_draft("ana@acme.test", &draft));
    }
    for _ in 0..8 {
        world.advance(TimeDelta::minutes(2)).await;
    }
    assert!(world.read_new("general").contains("→ Unknown"));
    world
}

async fn check_again_finds_what_went_out(platform: Platform) {
    let mut world = with_unknown_outcome(platform, true).await;
    world.click("bo", "general", "Check again").await;
    assert!(world.read_ephemerals("bo").contains("Only Ana Silva can decide this."));
    world.connect_google("ana").await;
    world.click("ana", "general", "Check again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 3), @r"
              Approved by Ana Silva 09:30 WET → Sent 09:46 WET
              [Open in Gmail]
            nod: Nobody can tell yet whether it went out.
        ");
    }
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    world.finish().await;
}

async fn an_open_draft_that_is_gone_is_not_offered_to_be_sent_again(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.reply("ana", "general", &thread, "send it").await;
    world.google.faults.next("gmail.users.drafts.send", Fault::DropConnection);
    world.click("ana", "general", "Approve & send").await;
    let draft = world.google.drafts("ana@acme.test")[0].draft_id.clone().unwrap();
    assert!(world.google.delete_draft("ana@acme.test", &draft));
    for _ in 0..8 {
        world.advance(TimeDelta::minutes(2)).await;
    }
    let said = world.read_new("general");
    assert!(said.contains("→ Unknown") && said.contains("[Check again]"), "{said}");
    assert!(!said.contains("Send again"), "there is nothing left that could be sent: {said}");
    world.finish().await;
}

async fn check_again_says_when_it_still_cannot_tell(platform: Platform) {
    let mut world = with_unknown_outcome(platform, false).await;
    world.advance(TimeDelta::minutes(10)).await;
    world.click("ana", "general", "Check again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Approved by Ana Silva 09:30 WET → Unknown 09:56 WET. I can't tell yet whether this email was sent.
              · I checked the draft, its thread and your Sent folder. Please check before sending it again.
              [Check again] [Send again]
            nod: Nobody can tell yet whether it went out.
        ");
    }
    world.finish().await;
}

async fn send_again_asks_once_more_and_warns(platform: Platform) {
    let mut world = with_unknown_outcome(platform, false).await;
    world.click("bo", "general", "Send again").await;
    assert!(world.read_ephemerals("bo").contains("Only Ana Silva can decide this."));
    world.click_twice("ana", "general", "Send again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: I've already asked you again. Look for the newer card.");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 18), @r"
              Ana
              Approved by Ana Silva 09:30 WET → Unknown 09:44 WET. I can't tell yet whether this email was sent.
              · I checked the draft, its thread and your Sent folder. Please check before sending it again.
              [Check again]
            nod: Nobody can tell yet whether it went out.
            nod: # Send this email?
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              ⚠ This may go out twice: I don't know whether it went out at 09:44 WET
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:46 WET
              [Approve & send] [Edit] [Deny]
        ");
    }
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    let keys: i64 =
        sqlx::query_scalar("select count(distinct id) from effects").fetch_one(&world.pool).await.unwrap();
    let asked: i64 = sqlx::query_scalar("select count(*) from audit where action = 'approval.requested'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!((keys, asked), (2, 2));
    world.read_new("general");
    world.finish().await;
}

async fn what_turns_out_to_have_gone_is_not_asked_for_again(platform: Platform) {
    let mut world = with_unknown_outcome(platform, true).await;
    world.click("ana", "general", "Send again").await;
    world.connect_google("ana").await;
    world.click("ana", "general", "Check again").await;
    let read = world.read_new("general");
    assert!(read.contains("The first one did go through. Not sent again."), "{read}");
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    world.finish().await;
}

async fn what_was_approved_again_is_called_off_when_the_first_is_found(platform: Platform) {
    let mut world = reach_unknown_outcome(World::with_undo_window_on(platform).await, true).await;
    world.click("ana", "general", "Send again").await;
    world.click("ana", "general", "Approve & send").await;
    world.connect_google("ana").await;
    world.click("ana", "general", "Check again").await;
    world.advance_past_undo_window().await;
    let read = world.read_new("general");
    assert!(read.contains("The first one did go through. Not sent again."), "{read}");
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    world.finish().await;
}

/// The first one might turn out to have been sent meanwhile.
async fn what_may_have_gone_and_lapsed_is_not_asked_for_by_a_press(platform: Platform) {
    let mut world = with_unknown_outcome(platform, true).await;
    world.click("ana", "general", "Send again").await;
    world.advance(TimeDelta::hours(25)).await;
    let read = world.read_new("general");
    assert!(
        read.contains("Ask me again and I'll prepare a new one.") && !read.contains("[Ask again]"),
        "{read}"
    );
    world.finish().await;
}

async fn an_edit_does_not_take_the_warning_away(platform: Platform) {
    let mut world = with_unknown_outcome(platform, false).await;
    world.click("ana", "general", "Send again").await;
    world.edit_request("ana", "general", &[("Subject", "Late, really")]).await;
    let read = world.read_new("general");
    assert!(read.contains("Late, really") && read.contains("⚠ This may go out twice"), "{read}");
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}

async fn what_a_newer_request_replaces_is_not_said_to_have_gone(platform: Platform) {
    let mut world = with_unknown_outcome(platform, false).await;
    world.click("ana", "general", "Send again").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Asked anew.")]);
    let root = world.chat.first_message("general");
    world.reply("ana", "general", &root, "send it to Bo once more").await;
    let read = world.read_new("general");
    assert!(read.contains("Replaced by a newer card") && !read.contains("did go through"), "{read}");
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}
