//! `nod chat`: the same assistant, in a terminal.

use nod_sandbox::model::Answer;
use nod_tests::{Terminal, World};
use serde_json::json;

use crate::mail::late_mail_call;
use crate::tasks::{finish, plan, result};

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");

/// Ana's mail is connected through the chat; then she uses a terminal.
async fn with_terminal() -> (World, Terminal) {
    let mut world = World::with_real_clock().await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.kill_program(nod).await;
    let mut terminal = Terminal::open(NOD, "ana@acme.test", &world.env);
    terminal.wait_for_text("Ctrl-D leaves").await;
    (world, terminal)
}

#[tokio::test]
async fn a_mail_is_asked_for_edited_and_sent() {
    let (world, mut terminal) = with_terminal().await;
    world.script_model("tool", [late_mail_call(), Answer::text("Done: Bo knows.")]);
    terminal.type_line("tell Bo I'm late").await;
    terminal.wait_for_text("Approve & send").await;
    terminal.click("Edit").await;
    terminal.wait_for_text("To: ").await;
    terminal.press_keys("\r").await;
    terminal.wait_for_text("Cc: ").await;
    terminal.type_line("nobody at all").await;
    terminal.wait_for_text("Bcc: ").await;
    terminal.press_keys("\r").await;
    terminal.wait_for_text("Subject: ").await;
    terminal.type_line(" indeed").await;
    terminal.wait_for_text("Body: ").await;
    terminal.press_keys("\r").await;
    // The error is shown, and what was typed is kept.
    terminal.wait_for_text("⚠").await;
    terminal.wait_for_text("To: ").await;
    terminal.press_keys("\r").await;
    terminal.wait_for_text("Cc: nobody at all").await;
    terminal.type_line("\u{15}cho@acme.test").await;
    for field in ["Bcc: ", "Subject: Running late indeed", "Body: "] {
        terminal.wait_for_text(field).await;
        terminal.press_keys("\r").await;
    }
    terminal.wait_for_text("· edited").await;
    terminal.wait_for_text("Running late indeed").await;
    terminal.wait_for_text("Approve & send").await;
    // A number from the card before the edit is not sent to the model.
    terminal.type_line("1").await;
    terminal.wait_for_text("[1] no longer works").await;
    terminal.click("Approve & send").await;
    terminal.wait_for_text("→ Sent").await;
    terminal.wait_for_text("Done: Bo knows.").await;
    let [mail] = &world.google.list_sent("ana@acme.test")[..] else { panic!("not one mail") };
    assert_eq!(
        (mail.subject.as_str(), mail.cc.join(",")),
        ("Running late indeed", "cho@acme.test".to_owned())
    );
    assert!(terminal.close().await.success());
    world.discard().await;
}

#[tokio::test]
async fn a_typed_yes_approves_the_card_that_stands_on_the_screen() {
    let (world, mut terminal) = with_terminal().await;
    world.script_model("tool", [late_mail_call(), Answer::text("Done: Bo knows.")]);
    terminal.type_line("tell Bo I'm late").await;
    terminal.wait_for_text("Approve & send").await;
    // A yes counts once it is recorded that the card stands, which is a moment after it does.
    world.wait_until_idle().await;
    terminal.type_line("yes").await;
    terminal.wait_for_text("Approved: ").await;
    terminal.wait_for_text("Done: Bo knows.").await;
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    assert!(terminal.close().await.success());
    world.discard().await;
}

#[tokio::test]
async fn it_is_killed_while_it_waits_and_shows_it_again() {
    let (world, mut terminal) = with_terminal().await;
    world.script_model("tool", [late_mail_call(), Answer::text("Done: Bo knows.")]);
    terminal.type_line("tell Bo I'm late").await;
    terminal.wait_for_text("Approve & send").await;
    terminal.kill().await;
    let mut terminal = Terminal::open(NOD, "ana@acme.test", &world.env);
    terminal.wait_for_text("› tell Bo I'm late").await;
    terminal.wait_for_text("Approve & send").await;
    terminal.wait_for_text("Ctrl-D leaves").await;
    terminal.click("Approve & send").await;
    terminal.wait_for_text("→ Sent").await;
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    assert!(terminal.close().await.success());
    world.discard().await;
}

#[tokio::test]
async fn control_c_stops_the_turn_and_not_the_program() {
    let (world, mut terminal) = with_terminal().await;
    world.script_model("tool", [Answer::hang()]);
    terminal.type_line("what is the answer?").await;
    terminal.wait_for_text("Working on it").await;
    terminal.press_keys("\u{3}").await;
    terminal.wait_for_text("Stopped by Ana Silva").await;
    terminal.press_keys("\u{3}").await;
    terminal.wait_for_text("I'm not working on anything").await;
    terminal.type_line("/help").await;
    terminal.wait_for_text("connect google").await;
    assert!(terminal.close().await.success());
    world.discard().await;
}

#[tokio::test]
async fn a_task_asks_and_brings_its_result() {
    let (world, mut terminal) = with_terminal().await;
    plan(&world, &["Ask for the date"]);
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which date?", "options": ["12 March"] })));
    terminal.type_line("/task plan the party").await;
    terminal.wait_for_text("Which date?").await;
    terminal.wait_for_text("Something else").await;
    world.model.will(finish("It is the 12th.", "The party is on 12 March."));
    result(&world, "It is the 12th.", "The party is on 12 March.");
    terminal.click("12 March").await;
    terminal.wait_for_text("Which date? → 12 March").await;
    terminal.wait_for_text("Done: Plan the party").await;
    assert!(terminal.close().await.success());
    world.discard().await;
}
