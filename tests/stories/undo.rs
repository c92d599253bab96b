//! An approval can be undone before anything leaves; undo and start never both happen.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::chat::On;
use nod_tests::{Press, World};

use crate::mail::late;

on_each_platform!(
    mail_leaves_when_the_window_has_passed,
    what_is_undone_is_not_sent_and_the_model_hears_it,
    only_who_decided_may_undo_and_only_in_time,
    presses_on_what_was_undone_are_told_so,
    a_restart_within_the_window_keeps_it,
    what_nod_slept_through_is_not_sent_hours_later,
    what_is_altered_behind_the_nod_is_not_sent,
);

/// Ana has asked and approved, and the mail is about to be sent.
async fn approved(platform: On, answer: &str) -> World {
    let mut world = World::with_undo_on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late(), Answer::text(answer)]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.presses("ana", "general", "Approve & send").await;
    world
}

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

async fn mail_leaves_when_the_window_has_passed(platform: On) {
    let mut world = approved(platform, "Bo knows.").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 2), @r"
            Approved by Ana Silva 09:30 WET → Sending at 09:30:10 WET
            [Undo]
        ");
    }
    world.later(TimeDelta::seconds(5)).await;
    assert!(world.google.sent("ana@acme.test").is_empty() && world.google.drafts("ana@acme.test").is_empty());
    world.later(TimeDelta::seconds(5)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 4), @r"
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              · Message-ID <CAsandbox00000004@mail.gmail.com> · id 019a400000000005
              [Open in Gmail]
            nod: Bo knows.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.ends().await;
}

async fn what_is_undone_is_not_sent_and_the_model_hears_it(platform: On) {
    let mut world = approved(platform, "All right, you took it back.").await;
    world.later(TimeDelta::seconds(5)).await;
    world.presses("ana", "general", "Undo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 3), @r"
              Approved by Ana Silva → Undone by Ana Silva 09:30 WET. Not sent.
            nod: All right, you took it back.
              · For the record: nothing was sent or changed in this turn.
        ");
    }
    world.later(TimeDelta::hours(1)).await;
    assert!(world.google.sent("ana@acme.test").is_empty() && world.google.drafts("ana@acme.test").is_empty());
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("took it back before it happened"), "{heard}");
    world.ends().await;
}

async fn only_who_decided_may_undo_and_only_in_time(platform: On) {
    let mut world = approved(platform, "Bo knows.").await;
    let undo = world.keeps_press("ana", "general", "Undo");
    world.presses("bo", "general", "Undo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.whispers("bo"), @"(bo only) nod: Only Ana Silva can take this back. Nothing was done.");
    }
    world.the_window_passes().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.sends_press(&undo).await;
    let said = world.hears("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: Too late to take it back: sent 09:30 WET.");
    }
    world.reads("general");
    world.ends().await;
}

async fn presses_on_what_was_undone_are_told_so(platform: On) {
    let mut world = approved(platform, "You took it back.").await;
    let undo = world.keeps_press("ana", "general", "Undo");
    world.presses("ana", "general", "Undo").await;
    let approve = Press { verb: undo.verb.replace("undo", "approve"), ..undo.clone() };
    for press in [undo, approve] {
        world.sends_press(&press).await;
    }
    let said = world.hears("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: You took this back already. Nothing more was done.
            (ana only) nod: Ana Silva took this back (Fri 6 Mar 2026, 09:30 WET): not sent. Nothing more was done.
        ");
    }
    world.the_window_passes().await;
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.reads("general");
    world.ends().await;
}

async fn a_restart_within_the_window_keeps_it(platform: On) {
    let mut world = approved(platform, "You took it back.").await;
    world.stop().await;
    world.start().await;
    world.presses("ana", "general", "Undo").await;
    world.the_window_passes().await;
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.reads("general");
    world.ends().await;
}

async fn what_nod_slept_through_is_not_sent_hours_later(platform: On) {
    let mut world = approved(platform, "It was not sent.").await;
    world.stop().await;
    world.clock.pass(TimeDelta::hours(8));
    world.start().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 4), @r"
              Approved by Ana Silva 09:30 WET → Not sent 17:30 WET
              · Nod could not get to it within 15 minutes of the nod. Nothing was sent; ask again once that is mended.
            nod: It was not sent.
              · For the record: nothing was sent or changed in this turn.
        ");
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.ends().await;
}

async fn what_is_altered_behind_the_nod_is_not_sent(platform: On) {
    let mut world = approved(platform, "It was not sent.").await;
    let altering =
        "update effects set digest = '', payload = jsonb_set(payload, '{body}', '\"Pay Mallory.\"')";
    sqlx::query(altering).execute(&world.pool).await.unwrap();
    world.the_window_passes().await;
    assert!(world.google.sent("ana@acme.test").is_empty() && world.google.drafts("ana@acme.test").is_empty());
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 4), @r"
              Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
              · What was about to be done is not what was approved. Nothing was sent; ask again once that is mended.
            nod: It was not sent.
              · For the record: nothing was sent or changed in this turn.
        ");
    }
    world.ends().await;
}
