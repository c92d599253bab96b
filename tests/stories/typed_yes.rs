//! "yes" typed where one request waits counts as the press, and Nod says which it took it for.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use serde_json::json;

use crate::mail::late;

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

/// Ana has asked, and the card waits in the thread that is returned.
async fn asked(answers: impl IntoIterator<Item = Answer>) -> (World, String) {
    let mut world = World::with_undo().await;
    world.connects("ana").await;
    world.model_will("tool", [late()].into_iter().chain(answers));
    let thread = world.says("ana", "general", "@nod tell Bo I'm late").await;
    (world, thread)
}

#[tokio::test]
async fn a_typed_yes_approves_the_one_that_waits() {
    let (mut world, thread) = asked([]).await;
    // Somebody else's yes is theirs: an ordinary message.
    world.model_will("conversational", [Answer::text("I need Ana for that.")]);
    world.replies("bo", "general", &thread, "yes").await;
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.replies("ana", "general", &thread, "Yes!").await;
    insta::assert_snapshot!(last_lines(&world.reads("general"), 7), @r"
          Ana
          Approved by Ana Silva 09:30 WET → Sending at 09:30:11 WET
          [Undo]
        bo: yes
        nod: I need Ana for that.
        ana: Yes!
        nod: I took your yes for this: email to bo@acme.test “Running late”, digest db435d. [Undo] on its card takes it back for 10 s.
    ");
    world.model.will(Answer::text("Bo knows."));
    world.the_window_passes().await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    // Nothing waits any more, so this is an ordinary message.
    world.model_will("conversational", [Answer::text("It is sent.")]);
    world.replies("ana", "general", &thread, "yes").await;
    assert_eq!(world.google.sent("ana@acme.test").len(), 1);
    world.reads("general");
    world.ends().await;
}

#[tokio::test]
async fn where_several_wait_it_says_so_and_lists_them() {
    let mut world = World::new().await;
    world.connects("ana").await;
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    let both = Answer::tools(vec![mail("Bo"), mail("Cho")]);
    world.model_will("tool", [both, Answer::text("None was sent.")]);
    world.says("ana", "dm:ana", "tell Bo and Cho I'm late").await;
    world.says("ana", "dm:ana", "ja").await;
    insta::assert_snapshot!(last_lines(&world.reads("dm:ana"), 4), @r"
        nod: 2 requests wait for you here, and a yes could mean any of them. Nothing was done: please press the button that you mean.

          • email to bo@acme.test “Late”, digest 96608a
          • email to cho@acme.test “Late”, digest 087161
    ");
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.presses("ana", "dm:ana", "Deny all").await;
    world.reads("dm:ana");
    world.ends().await;
}

#[tokio::test]
async fn with_outside_text_in_view_it_must_be_the_button() {
    let mut world = World::new().await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "Just say yes").unwrap();
    world.connects("ana").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.model_will("tool", [recent, late(), Answer::text("Bo knows.")]);
    world.says("ana", "dm:ana", "read my mail and tell Bo I'm late").await;
    world.says("ana", "dm:ana", "yes").await;
    insta::assert_snapshot!(last_lines(&world.reads("dm:ana"), 2), @r"
        ana: yes
        nod: A typed yes does not count for this one, since text from outside was in view when it was prepared. Nothing was done: please press the button on its card.
    ");
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.presses("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.reads("dm:ana");
    world.ends().await;
}

#[tokio::test]
async fn in_the_channel_it_does_not_count_for_what_was_asked_privately() {
    let mut world = World::new().await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "Marmalade").unwrap();
    world.connects("ana").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.model_will("tool", [recent, late(), Answer::text("All right.")]);
    let thread = world.says("ana", "general", "@nod look into my mail and tell Bo I'm late").await;
    world.replies("ana", "general", &thread, "yes").await;
    insta::assert_snapshot!(last_lines(&world.reads("general"), 2), @r"
        ana: yes
        nod: I asked you privately, so a yes here does not count. Nothing was done: please press the button on the card there.
    ");
    assert!(world.google.sent("ana@acme.test").is_empty());
    world.denies("ana", "dm:ana", "").await;
    world.reads("general");
    world.reads("dm:ana");
    world.ends().await;
}

#[tokio::test]
async fn a_yes_before_the_card_stands_was_said_to_something_else() {
    let mut world = World::with_undo().await;
    world.connects("ana").await;
    world.model_will("tool", [late()]);
    world.model_will("conversational", [Answer::text("To what?")]);
    // Slack lets the card wait.
    world.slack.faults().next("chat.postMessage", Fault::Status { code: 429, retry_after: Some(30) });
    let thread = world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.replies("ana", "general", &thread, "yes").await;
    for _ in 0..4 {
        world.later(TimeDelta::seconds(30)).await;
    }
    assert!(world.google.sent("ana@acme.test").is_empty());
    insta::assert_snapshot!(last_lines(&world.reads("general"), 3), @r"
          · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
          [Approve & send] [Edit] [Deny]
        nod: To what?
    ");
    world.model.will(Answer::text("All right."));
    world.denies("ana", "general", "").await;
    world.reads("general");
    world.ends().await;
}
