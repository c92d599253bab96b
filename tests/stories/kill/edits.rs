//! Nod is killed around an edit: one mail with the text that the card shows, and a true receipt.

use nod_sandbox::Fault;
use nod_tests::World;
use nod_tests::chat::On;

use super::arrivals::{Came, dies_at_the_door};
use super::holds::{Receipt, holds, reads};
use super::{At, NOD, SEND, happens, plan, presses};

const TEXT: &str = "Hi Bo,\n\nan hour late.\n\nAna";

on_each_platform!(
    an_edit_that_was_not_stored_may_be_sent_again,
    an_edit_that_was_stored_counts_though_the_platform_says_it_failed,
    killed_after_an_edit_it_sends_what_was_edited,
);

async fn an_edit_that_was_not_stored_may_be_sent_again(platform: On) {
    edit(platform, Came::Unstored).await;
}

async fn an_edit_that_was_stored_counts_though_the_platform_says_it_failed(platform: On) {
    edit(platform, Came::Stored).await;
}

fn saves(world: &World) {
    world.chat.sends_form("ana", &[("Body".to_owned(), TEXT.to_owned())].into());
}

async fn asked(platform: On) -> (World, nod_tests::Program) {
    let mut world = World::in_real_time_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    let card = world.button("general", "Edit");
    world.chat.press("ana", "general", &card, "Edit").await;
    world.chat.has_form("ana").await;
    (world, nod)
}

async fn edit(platform: On, came: Came) {
    let (mut world, nod) = asked(platform).await;
    let nod = dies_at_the_door(&world, nod, came, || saves(&world)).await;
    if came == Came::Stored {
        reads(&world, "rev 2").await;
    }
    // The platform has shown that it failed, and the form is still open with everything that was typed.
    saves(&world);
    super::acknowledged(&world).await;
    world.settles().await;
    if came == Came::Stored {
        // Slack's form stays open and says so; Discord's is closed, and an ephemeral message says it.
        let said = world.reads_form("ana") + &world.whispers("ana");
        assert!(said.contains("revision 2 is what counts now"), "{said}");
        if !world.chat.open_forms().is_empty() {
            world.closes_form("ana");
        }
    }
    assert_eq!(world.chat.open_forms(), Vec::<String>::new());
    reads(&world, "rev 2").await;
    presses(&world);
    ends_with_the_edited_mail(world, nod).await;
}

async fn killed_after_an_edit_it_sends_what_was_edited(platform: On) {
    let (world, nod) = asked(platform).await;
    saves(&world);
    super::acknowledged(&world).await;
    world.kills(nod).await;
    let nod = world.start_program(NOD).await;
    reads(&world, "rev 2").await;
    let at = At::Google(SEND, Fault::HangAfter);
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
