//! Several mails of one turn on one card: each in full, selectable one by one, sent once, with a receipt each.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{Click, World};
use serde_json::{Value, json};

on_each_platform!(
    three_mails_are_approved_at_once,
    what_is_unticked_is_not_sent,
    one_of_several_is_picked_to_be_edited_and_to_be_read_in_full,
    each_of_several_can_be_undone_alone,
    several_expire_with_one_reminder,
    presses_on_several_count_once_and_only_for_what_was_shown,
    what_does_not_fit_one_message_has_a_card_each,
    what_just_fits_is_shown_whole_before_and_after,
);

fn mail(to: &str, body: &str) -> (&'static str, Value) {
    ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": body }))
}

/// Ana has asked for three mails, and the card waits.
async fn with_three_pending_mails(mut world: World, answer: &str) -> World {
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let all = Answer::tools(vec![
        mail("Bo", "Late, Bo."),
        mail("Cho", "Late, Cho."),
        mail("eve@x.test", "Late, Eve."),
    ]);
    world.script_model("tool", [all, Answer::text(answer)]);
    world.say("ana", "general", "@nod tell Bo, Cho and Eve I'm late").await;
    world
}

/// Returns the labels of the card's primary buttons.
fn green(world: &World) -> Vec<String> {
    let all = world.chat.buttons("general").into_iter().filter(|button| button.is_primary);
    all.map(|button| button.label).collect()
}

/// Removes blank lines and the rows of buttons, which differ by platform.
fn compact(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('['));
    lines.collect::<Vec<_>>().join("\n")
}

fn got(world: &World) -> (usize, usize, usize) {
    let inbox = |who: &str| world.google.inbox(&format!("{who}@acme.test")).len();
    (inbox("bo"), inbox("cho"), world.google.list_sent("ana@acme.test").len())
}

async fn three_mails_are_approved_at_once(platform: Platform) {
    let mut world = with_three_pending_mails(World::new_on(platform).await, "All three know.").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(compact(&world.read_new("general")), @r"
            ana: @nod tell Bo, Cho and Eve I'm late
                nod: # 3 emails to approve
                  ☑ 1. Send this email?
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Late
                  Late, Bo.
                  ☑ 2. Send this email?
                  From  ana@acme.test
                  To  cho@acme.test
                  Subject  Late
                  Late, Cho.
                  ☑ 3. Send this email?
                  From  ana@acme.test
                  To  eve@x.test
                  Subject  Late
                  Late, Eve.
                  ⚠ eve@x.test is outside acme.test
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
        ");
    }
    assert_eq!(
        world.button_labels("general"),
        "[Untick 1] [Untick 2] [Untick 3] [Approve all] [Edit…] [Deny all]"
    );
    world.click("bo", "general", "Approve all").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("bo"), @"(bo only) nod: Only Ana Silva can decide this. Nothing was done.");
    }
    world.click("ana", "general", "Approve all").await;
    let read = world.read_new("general");
    assert_eq!((1..4).filter(|n| read.contains(&format!("  {n}. Email sent"))).count(), 3, "{read}");
    assert!(
        read.contains("# 3 emails\n") && read.contains("[Open in Gmail (1)] [Open in Gmail (2)]"),
        "{read}"
    );
    assert_eq!(read.matches("Approved by Ana Silva 09:30 WET → Sent 09:30 WET").count(), 3, "{read}");
    assert_eq!(got(&world), (1, 1, 3));
    world.finish().await;
}

async fn what_is_unticked_is_not_sent(platform: Platform) {
    let mut world = with_three_pending_mails(World::new_on(platform).await, "Bo and Eve know.").await;
    assert_eq!(green(&world), ["Approve all"]);
    world.click("ana", "general", "Untick 2").await;
    assert_eq!(
        world.button_labels("general"),
        "[Untick 1] [Tick 2] [Untick 3] [Approve 2 of 3] [Edit…] [Deny all]"
    );
    assert_eq!(green(&world), ["Approve 2 of 3"]);
    assert!(world.read_new("general").contains("What isn't ticked is denied."));
    world.click("bo", "general", "Tick 2").await;
    assert!(world.read_ephemerals("bo").contains("Only Ana Silva can decide this."));
    world.click("ana", "general", "Approve 2 of 3").await;
    let read = world.read_new("general");
    assert_eq!(
        (read.matches("→ Sent").count(), read.matches("Denied by Ana Silva").count()),
        (2, 1),
        "{read}"
    );
    assert_eq!(got(&world), (1, 0, 2));
    world.finish().await;
}

async fn one_of_several_is_picked_to_be_edited_and_to_be_read_in_full(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let to_many = json!({
        "to": ["a@x.test", "b@x.test", "c@x.test"], "bcc": (0..8).map(|n| format!("{n}@acme.test")).collect::<Vec<_>>(),
        "subject": "Late", "body": "Late, all.",
    });
    let both = Answer::tools(vec![mail("Bo", "Late, Bo."), ("gmail_send_email", to_many)]);
    world.script_model("tool", [both, Answer::text("All know.")]);
    world.say("ana", "general", "@nod tell Bo and the others I'm late").await;
    assert_eq!(
        world.button_labels("general"),
        "[Untick 1] [Untick 2] [Approve all] [Edit…] [Deny all] [Show all…]"
    );
    world.click("ana", "general", "Show all…").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @r"
            (ana only) nod: Which one in full?
            [2 · a@x.test +10]
        ");
    }
    let whole = match platform {
        Platform::Slack => {
            let form = world.open_form_from_ephemeral("ana", "2 · a@x.test +10").await;
            world.close_form("ana");
            form.text
        }
        Platform::Discord => world.click_ephemeral("ana", "2 · a@x.test +10").await,
    };
    assert!(whole.contains("11 recipients"), "{whole}");
    world.click("ana", "general", "Edit…").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @r"
            (ana only) nod: Which one?
            [1 · bo@acme.test] [2 · a@x.test +10]
        ");
    }
    world.open_form_from_ephemeral("ana", "1 · bo@acme.test").await;
    assert_eq!(world.submit_form("ana", &[("Body", "Late, dear Bo.")]).await, "");
    assert!(world.read_new("general").contains("☑ 1. Send this email? · edited"));
    // Whoever may not decide sees the menu, and reaches nothing with it.
    world.click("bo", "general", "Edit…").await;
    world.read_ephemerals("bo");
    let said = world.click_ephemeral("bo", "1 · bo@acme.test").await;
    assert!(said.contains("Only Ana Silva can decide this."), "{said}");
    for number in ["Untick 1", "Untick 2"] {
        world.click("ana", "general", number).await;
    }
    // Nothing is ticked, so there is nothing to approve.
    assert_eq!(world.button_labels("general"), "[Tick 1] [Tick 2] [Edit…] [Deny all] [Show all…]");
    world.click("ana", "general", "Tick 1").await;
    world.click("ana", "general", "Approve 1 of 2").await;
    world.read_new("general");
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    world.finish().await;
}

async fn each_of_several_can_be_undone_alone(platform: Platform) {
    let mut world =
        with_three_pending_mails(World::with_undo_window_on(platform).await, "Bo and Eve know.").await;
    world.click("ana", "general", "Approve all").await;
    assert_eq!(world.button_labels("general"), "[Undo (1)] [Undo (2)] [Undo (3)]");
    world.click("ana", "general", "Undo (2)").await;
    world.advance_past_undo_window().await;
    let read = world.read_new("general");
    assert_eq!(
        (read.matches("→ Sent").count(), read.matches("Undone by Ana Silva").count()),
        (2, 1),
        "{read}"
    );
    assert_eq!(got(&world), (1, 0, 2));
    world.finish().await;
}

async fn several_expire_with_one_reminder(platform: Platform) {
    let mut world = with_three_pending_mails(World::new_on(platform).await, "Nobody answered.").await;
    world.advance(TimeDelta::hours(23)).await;
    assert_eq!(world.read_new("general").matches("is still waiting for you").count(), 1);
    world.advance(TimeDelta::hours(1)).await;
    let read = world.read_new("general");
    assert_eq!(read.matches("Expired without an answer. Not sent.").count(), 3, "{read}");
    assert_eq!(got(&world), (0, 0, 0));
    world.finish().await;
}

async fn presses_on_several_count_once_and_only_for_what_was_shown(platform: Platform) {
    let mut world = with_three_pending_mails(World::new_on(platform).await, "None was sent.").await;
    let approve = world.prepare_click("ana", "general", "Approve all");
    let deny = world.prepare_click("ana", "general", "Deny all");
    let shown = approve.action.rsplit_once(':').unwrap().0.to_owned();
    let stale = Click { action: format!("{shown}:2"), ..approve.clone() };
    let bare = Click { action: shown, ..approve.clone() };
    for forged in [stale, bare] {
        world.send_click(&forged).await;
        let said = world.wait_for_ephemeral("ana").await;
        assert!(said.contains("This card changed while you were reading"), "{said}");
    }
    for late in [deny.clone(), deny, approve] {
        world.send_click(&late).await;
    }
    let said = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: Everything on this card is already decided. Each one says how it ended.
            (ana only) nod: Everything on this card is already decided. Each one says how it ended.
        ");
    }
    assert_eq!(got(&world), (0, 0, 0));
    world.read_new("general");
    world.finish().await;
}

async fn what_does_not_fit_one_message_has_a_card_each(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let long = "All the reasons why I am late. ".repeat(120);
    let all = Answer::tools(vec![mail("Bo", &long), mail("Cho", &long), mail("eve@x.test", &long)]);
    world.script_model("tool", [all, Answer::text("All three know.")]);
    world.say("ana", "dm:ana", "tell Bo, Cho and Eve I'm late").await;
    let read = world.read_new("dm:ana");
    assert_eq!(read.matches("# Send this email?").count(), 3, "{read}");
    for _ in 0..3 {
        world.click("ana", "dm:ana", "Approve & send").await;
    }
    assert_eq!(got(&world), (1, 1, 3));
    world.read_new("dm:ana");
    world.finish().await;
}

async fn what_just_fits_is_shown_whole_before_and_after(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    // The size limit of a message differs by platform.
    let times = match platform {
        Platform::Slack => 38,
        Platform::Discord => 25,
    };
    let long = "All the reasons why I am late. ".repeat(times);
    let all = Answer::tools(vec![mail("Bo", &long), mail("Cho", &long), mail("eve@x.test", &long)]);
    world.script_model("tool", [all, Answer::text("All three know.")]);
    world.say("ana", "dm:ana", "tell Bo, Cho and Eve I'm late").await;
    let whole = |read: &str| (read.matches(long.trim()).count(), read.contains("more characters"));
    assert_eq!(whole(&world.read_new("dm:ana")), (3, false));
    world.click("ana", "dm:ana", "Approve all").await;
    assert_eq!(whole(&world.read_new("dm:ana")), (3, false));
    assert_eq!(got(&world), (1, 1, 3));
    world.finish().await;
}

/// Slack has its own measure of length, and it applies only when the card is sent.
#[tokio::test]
async fn what_slack_finds_too_long_is_not_approved_unread() {
    let mut world = World::new_on(Platform::Slack).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    world.script_model("tool", [Answer::tools(vec![mail("Bo", "Late, Bo."), mail("Cho", "Late, Cho.")])]);
    let posts = world.chat.operation_name(ChatOperation::PostMessage);
    let too_long = Fault::ErrorReason { code: 200, reason: "msg_blocks_too_long", retry_after: None };
    world.chat.faults().next(posts, too_long);
    world.say("ana", "general", "@nod tell Bo and Cho I'm late").await;
    assert!(!world.button_labels("general").contains("Approve"), "{}", world.button_labels("general"));
    let read = world.read_new("general");
    assert!(read.contains("it couldn't be posted here"), "{read}");
    world.finish().await;
}
