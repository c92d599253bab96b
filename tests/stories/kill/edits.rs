//! Nod dies around an edit: one mail with the text that stands on the card, and a true receipt.

use nod_sandbox::Fault;
use nod_tests::World;

use super::arrivals::{Came, dies_at_the_door};
use super::holds::{Receipt, holds, reads};
use super::{At, NOD, SEND, happens, plan, presses};

const TEXT: &str = "Hi Bo,\n\nan hour late.\n\nAna";

#[tokio::test]
async fn an_edit_that_was_not_stored_may_be_sent_again() {
    edit(Came::Unstored).await;
}

#[tokio::test]
async fn an_edit_that_was_stored_counts_though_slack_says_it_failed() {
    edit(Came::Stored).await;
}

fn saves(world: &World, form: &str) {
    let typed = [("Body".to_owned(), TEXT.to_owned())].into();
    world.slack.send_form("ana", form, &typed).unwrap();
}

async fn asked() -> (World, nod_tests::Program, String) {
    let mut world = World::in_real_time().await;
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    let form = world.opens("ana", "general", "Edit").await.id;
    (world, nod, form)
}

async fn edit(came: Came) {
    let (mut world, nod, form) = asked().await;
    let nod = dies_at_the_door(&world, nod, came, || saves(&world, &form)).await;
    if came == Came::Stored {
        reads(&world, "rev 2").await;
    }
    // Slack has shown that it did not work, and the form is still open with all that was typed.
    let left = world.submits("ana", &[("Body", TEXT)]).await;
    match came {
        Came::Unstored => assert_eq!(left, ""),
        Came::Stored => {
            assert!(left.contains("revision 2 is what counts now"), "{left}");
            world.closes_form("ana");
        }
    }
    reads(&world, "rev 2").await;
    presses(&world);
    ends_with_the_edited_mail(world, nod).await;
}

#[tokio::test]
async fn killed_after_an_edit_it_sends_what_was_edited() {
    let (world, nod, form) = asked().await;
    saves(&world, &form);
    super::acknowledged(&world).await;
    world.kills(nod).await;
    let nod = world.start_program(NOD).await;
    reads(&world, "rev 2").await;
    let at = At::Gmail(SEND, Fault::HangAfter);
    plan(&world, &at);
    presses(&world);
    happens(&world, &at, 1).await;
    world.kills(nod).await;
    let nod = world.start_program(NOD).await;
    ends_with_the_edited_mail(world, nod).await;
}

async fn ends_with_the_edited_mail(mut world: World, nod: nod_tests::Program) {
    holds(&mut world, Receipt::Sent).await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body.trim_end(), TEXT);
    world.kills(nod).await;
    world.ends().await;
}
