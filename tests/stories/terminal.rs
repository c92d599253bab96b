//! `nod chat`: the same assistant, in a terminal.

use nod_sandbox::model::Answer;
use nod_tests::{Terminal, World};

use crate::mail::late;

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");

/// Ana's mail is connected through the chat; then she uses a terminal.
async fn at_the_terminal() -> (World, Terminal) {
    let mut world = World::in_real_time().await;
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.kills(nod).await;
    let mut terminal = Terminal::open(NOD, "ana@acme.test", &world.env);
    terminal.reads("Ctrl-D leaves").await;
    (world, terminal)
}

#[tokio::test]
async fn a_mail_is_asked_for_edited_and_sent() {
    let (world, mut terminal) = at_the_terminal().await;
    world.model_will("tool", [late(), Answer::text("Done: Bo knows.")]);
    terminal.types("tell Bo I'm late").await;
    terminal.reads("Approve & send").await;
    terminal.presses("Edit").await;
    terminal.reads("To: ").await;
    terminal.keys("\r").await;
    terminal.reads("Cc: ").await;
    terminal.types("nobody at all").await;
    terminal.reads("Bcc: ").await;
    terminal.keys("\r").await;
    terminal.reads("Subject: ").await;
    terminal.types(" indeed").await;
    terminal.reads("Body: ").await;
    terminal.keys("\r").await;
    // The error is shown, and what was typed is kept.
    terminal.reads("⚠").await;
    terminal.reads("To: ").await;
    terminal.keys("\r").await;
    terminal.reads("Cc: nobody at all").await;
    terminal.types("\u{15}cho@acme.test").await;
    for field in ["Bcc: ", "Subject: Running late indeed", "Body: "] {
        terminal.reads(field).await;
        terminal.keys("\r").await;
    }
    terminal.reads("· rev 2 ·").await;
    terminal.reads("Running late indeed").await;
    terminal.reads("Approve & send").await;
    // A number from the card before the edit is not sent to the model.
    terminal.types("1").await;
    terminal.reads("[1] is gone").await;
    terminal.presses("Approve & send").await;
    terminal.reads("→ Sent").await;
    terminal.reads("Done: Bo knows.").await;
    let [mail] = &world.google.sent("ana@acme.test")[..] else { panic!("not one mail") };
    assert_eq!(
        (mail.subject.as_str(), mail.cc.join(",")),
        ("Running late indeed", "cho@acme.test".to_owned())
    );
    assert!(terminal.leaves().await.success());
    world.abandoned().await;
}

#[tokio::test]
async fn a_typed_yes_approves_the_card_that_stands_on_the_screen() {
    let (world, mut terminal) = at_the_terminal().await;
    world.model_will("tool", [late(), Answer::text("Done: Bo knows.")]);
    terminal.types("tell Bo I'm late").await;
    terminal.reads("Approve & send").await;
    terminal.types("yes").await;
    terminal.reads("I took your yes").await;
    terminal.reads("Done: Bo knows.").await;
    assert_eq!(world.google.sent("ana@acme.test").len(), 1);
    assert!(terminal.leaves().await.success());
    world.abandoned().await;
}

#[tokio::test]
async fn it_is_killed_while_it_waits_and_shows_it_again() {
    let (world, mut terminal) = at_the_terminal().await;
    world.model_will("tool", [late(), Answer::text("Done: Bo knows.")]);
    terminal.types("tell Bo I'm late").await;
    terminal.reads("Approve & send").await;
    terminal.kill().await;
    let mut terminal = Terminal::open(NOD, "ana@acme.test", &world.env);
    terminal.reads("› tell Bo I'm late").await;
    terminal.reads("Approve & send").await;
    terminal.reads("Ctrl-D leaves").await;
    terminal.presses("Approve & send").await;
    terminal.reads("→ Sent").await;
    assert_eq!(world.google.sent("ana@acme.test").len(), 1);
    assert!(terminal.leaves().await.success());
    world.abandoned().await;
}

#[tokio::test]
async fn control_c_stops_the_turn_and_not_the_program() {
    let (world, mut terminal) = at_the_terminal().await;
    world.model_will("tool", [Answer::hang()]);
    terminal.types("what is the answer?").await;
    terminal.reads("Working on it").await;
    terminal.keys("\u{3}").await;
    terminal.reads("Stopped by Ana Silva").await;
    terminal.keys("\u{3}").await;
    terminal.reads("Nothing is under way").await;
    terminal.types("/help").await;
    terminal.reads("connect google").await;
    assert!(terminal.leaves().await.success());
    world.abandoned().await;
}
