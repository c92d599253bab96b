//! An approval can be undone before anything leaves; undo and start never both happen.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{Click, World};

use crate::mail::late_mail_call;

on_each_platform!(
    mail_leaves_when_the_window_has_passed,
    what_is_undone_is_not_sent_and_the_model_hears_it,
    only_who_decided_may_undo_and_only_in_time,
    presses_on_what_was_undone_are_told_so,
    what_was_undone_is_asked_for_again_as_often_as_it_is_undone,
    a_restart_within_the_window_keeps_it,
    what_nod_slept_through_is_not_sent_hours_later,
    what_is_altered_behind_the_nod_is_not_sent,
);

/// Ana has asked and approved, and the mail is about to be sent.
async fn with_approved_mail(platform: Platform, answer: &str) -> World {
    let mut world = World::with_undo_window_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call(), Answer::text(answer)]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.click("ana", "general", "Approve & send").await;
    world
}

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

async fn mail_leaves_when_the_window_has_passed(platform: Platform) {
    let mut world = with_approved_mail(platform, "Bo knows.").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 2), @r"
            Approved by Ana Silva 09:30 WET → Sending at 09:30:10 WET
            [Undo]
        ");
    }
    world.advance(TimeDelta::seconds(5)).await;
    assert!(
        world.google.list_sent("ana@acme.test").is_empty() && world.google.drafts("ana@acme.test").is_empty()
    );
    world.advance(TimeDelta::seconds(5)).await;
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

async fn what_is_undone_is_not_sent_and_the_model_hears_it(platform: Platform) {
    let mut world = with_approved_mail(platform, "All right, you took it back.").await;
    world.advance(TimeDelta::seconds(5)).await;
    world.click("ana", "general", "Undo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Approved by Ana Silva → Undone by Ana Silva 09:30 WET. Not sent.
              [Ask again]
            nod: All right, you took it back.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    world.advance(TimeDelta::hours(1)).await;
    assert!(
        world.google.list_sent("ana@acme.test").is_empty() && world.google.drafts("ana@acme.test").is_empty()
    );
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("took it back before it happened"), "{heard}");
    world.finish().await;
}

async fn only_who_decided_may_undo_and_only_in_time(platform: Platform) {
    let mut world = with_approved_mail(platform, "Bo knows.").await;
    let undo = world.prepare_click("ana", "general", "Undo");
    world.click("bo", "general", "Undo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("bo"), @"(bo only) nod: Only Ana Silva can undo this. Nothing was done.");
    }
    world.advance_past_undo_window().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.send_click(&undo).await;
    let said = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: Too late to undo: sent 09:30 WET.");
    }
    world.read_new("general");
    world.finish().await;
}

async fn presses_on_what_was_undone_are_told_so(platform: Platform) {
    let mut world = with_approved_mail(platform, "You took it back.").await;
    let undo = world.prepare_click("ana", "general", "Undo");
    world.click("ana", "general", "Undo").await;
    let approve = Click { action: undo.action.replace("undo", "approve"), ..undo.clone() };
    for press in [undo, approve] {
        world.send_click(&press).await;
    }
    let said = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: You already undid this.
            (ana only) nod: You undid this (Fri 6 Mar 2026, 09:30 WET): not sent.
        ");
    }
    world.advance_past_undo_window().await;
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.read_new("general");
    world.finish().await;
}

async fn what_was_undone_is_asked_for_again_as_often_as_it_is_undone(platform: Platform) {
    let mut world = with_approved_mail(platform, "You took it back.").await;
    for _ in 0..2 {
        world.click("ana", "general", "Undo").await;
        world.click("ana", "general", "Ask again").await;
        world.click("ana", "general", "Approve & send").await;
    }
    world.advance_past_undo_window().await;
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    let read = world.read_new("general");
    assert_eq!((read.matches("Undone by").count(), read.matches("[Ask again]").count()), (2, 0), "{read}");
    world.finish().await;
}

async fn a_restart_within_the_window_keeps_it(platform: Platform) {
    let mut world = with_approved_mail(platform, "You took it back.").await;
    world.stop().await;
    world.start().await;
    world.click("ana", "general", "Undo").await;
    world.advance_past_undo_window().await;
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.read_new("general");
    world.finish().await;
}

async fn what_nod_slept_through_is_not_sent_hours_later(platform: Platform) {
    let mut world = with_approved_mail(platform, "It was not sent.").await;
    world.stop().await;
    world.clock.advance(TimeDelta::hours(8));
    world.start().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Approved by Ana Silva 09:30 WET → Not sent 17:30 WET
              · I couldn't get to it within 15 minutes of your approval. Nothing was sent: ask me again if you still want it.
            nod: It was not sent.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.finish().await;
}

async fn what_is_altered_behind_the_nod_is_not_sent(platform: Platform) {
    let mut world = with_approved_mail(platform, "It was not sent.").await;
    let altering =
        "update effects set digest = '', payload = jsonb_set(payload, '{body}', '\"Pay Mallory.\"')";
    sqlx::query(altering).execute(&world.pool).await.unwrap();
    world.advance_past_undo_window().await;
    assert!(
        world.google.list_sent("ana@acme.test").is_empty() && world.google.drafts("ana@acme.test").is_empty()
    );
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
              · What was about to be done is not what was approved. Nothing was sent: ask me again if you still want it.
            nod: It was not sent.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    world.finish().await;
}
