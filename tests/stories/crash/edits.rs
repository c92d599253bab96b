//! Nod is killed around an edit: one mail with the text that the card shows, and a true receipt.

use nod_sandbox::Fault;
use nod_tests::World;
use nod_tests::chat::Platform;

use super::ingest::{IngestProgress, crash_during_ingest};
use super::invariants::{ExpectedReceipt, assert_invariants, wait_for_text};
use super::{CrashPoint, NOD, SEND, click_approve, plan, wait_for_crash_point};

const UPDATE: &str = "gmail.users.drafts.update";
const TEXT: &str = "Hi Bo,\n\nan hour late.\n\nAna";

on_each_platform!(
    an_edit_that_was_not_stored_may_be_sent_again,
    an_edit_that_was_stored_counts_though_the_platform_says_it_failed,
    killed_after_an_edit_it_sends_what_was_edited,
    killed_between_undo_and_the_draft_it_keeps_the_edit_once,
);

async fn an_edit_that_was_not_stored_may_be_sent_again(platform: Platform) {
    crash_during_edit(platform, IngestProgress::NotStored).await;
}

async fn an_edit_that_was_stored_counts_though_the_platform_says_it_failed(platform: Platform) {
    crash_during_edit(platform, IngestProgress::Stored).await;
}

fn save_form(world: &World) {
    world.chat.submit_form_without_waiting("ana", &[("Body".to_owned(), TEXT.to_owned())].into());
}

async fn with_pending_request(platform: Platform) -> (World, nod_tests::Program) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let card = world.find_message_with_button("general", "Edit");
    world.chat.click("ana", "general", &card, "Edit").await;
    world.chat.wait_for_form("ana").await;
    (world, nod)
}

async fn crash_during_edit(platform: Platform, came: IngestProgress) {
    let (mut world, nod) = with_pending_request(platform).await;
    let nod = crash_during_ingest(&world, nod, came, || save_form(&world)).await;
    if came == IngestProgress::Stored {
        wait_for_text(&world, "edited").await;
    }
    // The platform has shown that it failed, and the form is still open with everything that was typed.
    save_form(&world);
    super::wait_until_acknowledged(&world).await;
    world.wait_until_idle().await;
    if came == IngestProgress::Stored {
        // Slack's form stays open and says so; Discord's is closed, and an ephemeral message says it.
        let said = world.form_text("ana") + &world.read_ephemerals("ana");
        assert!(said.contains("This was edited after you saw it"), "{said}");
        if !world.chat.list_open_forms().is_empty() {
            world.close_form("ana");
        }
    }
    assert_eq!(world.chat.list_open_forms(), Vec::<String>::new());
    wait_for_text(&world, "edited").await;
    click_approve(&world);
    assert_edited_mail_sent(world, nod).await;
}

async fn killed_after_an_edit_it_sends_what_was_edited(platform: Platform) {
    let (world, nod) = with_pending_request(platform).await;
    save_form(&world);
    super::wait_until_acknowledged(&world).await;
    world.kill_program(nod).await;
    let nod = world.start_program(NOD).await;
    wait_for_text(&world, "edited").await;
    let at = CrashPoint::Google(SEND, Fault::HangAfter);
    plan(&world, &at);
    click_approve(&world);
    wait_for_crash_point(&world, &at, 1).await;
    world.kill_program(nod).await;
    let nod = world.start_program(NOD).await;
    assert_edited_mail_sent(world, nod).await;
}

async fn killed_between_undo_and_the_draft_it_keeps_the_edit_once(platform: Platform) {
    for fault in [Fault::HangBefore, Fault::HangAfter] {
        let mut world = World::with_real_clock_on(platform).await;
        world.env.insert("NOD_APPROVALS__UNDO".to_owned(), "1m".to_owned());
        let nod = world.start_program(NOD).await;
        world.connect_google("ana").await;
        world.make_mail_address_known("bo").await;
        let thread = world.say("ana", "general", "@nod draft a mail to Bo saying I'm late").await;
        world.reply("ana", "general", &thread, "send it").await;
        world.edit_request("ana", "general", &[("Body", TEXT)]).await;
        wait_for_text(&world, "edited").await;
        click_approve(&world);
        wait_for_text(&world, "[Undo]").await;
        let at = CrashPoint::Google(UPDATE, fault);
        plan(&world, &at);
        let card = world.find_message_with_button("general", "Undo");
        world.chat.click_without_waiting("ana", "general", &card, "Undo");
        wait_for_crash_point(&world, &at, 1).await;
        world.kill_program(nod).await;
        let nod = world.start_program(NOD).await;
        wait_for_text(&world, "The draft has your edit").await;
        world.wait_until_idle().await;
        let drafts = world.google.drafts("ana@acme.test");
        let [draft] = &drafts[..] else { panic!("not one draft: {drafts:#?}") };
        assert_eq!(draft.body.trim_end(), TEXT);
        assert!(world.google.list_sent("ana@acme.test").is_empty());
        let read = world.read_new("general");
        assert_eq!(read.matches("The draft has your edit").count(), 1, "{read}");
        world.kill_program(nod).await;
        world.finish().await;
    }
}

async fn assert_edited_mail_sent(mut world: World, nod: nod_tests::Program) {
    assert_invariants(&mut world, ExpectedReceipt::Sent).await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body.trim_end(), TEXT);
    world.kill_program(nod).await;
    world.finish().await;
}
