//! Nod is killed around an event: while creating, moving or cancelling it. One event, moved once, cancelled once, and
//! its guest is notified of each once.

use std::sync::Arc;
use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::google::InvitationKind;
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{World, max_wait};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use super::invariants::{count, wait_for_count};
use super::{CrashCase, CrashPoint, NOD, UserAction, killed_case, run_until_crash, survived_case};

/// Played at once, in addition to the other stories of kills.
const MAX_CONCURRENT: usize = 3;
const ANA: &str = "ana@acme.test";
const BO: &str = "bo@acme.test";
const INSERT: &str = "calendar.events.insert";
const PATCH: &str = "calendar.events.patch";
const DELETE: &str = "calendar.events.delete";
const LOOK: &str = "calendar.events.get";

/// A new invitation is public in the channel; an event that is already in a calendar is only for its owner.
fn channel_of(act: EventAction) -> &'static str {
    if act == EventAction::Create { "general" } else { "dm:ana" }
}

/// What Ana asks for, one after another: the message, the button, the receipt and the answer.
const ACTS: [(EventAction, [&str; 4]); 3] = [
    (
        EventAction::Create,
        [
            "@nod invite Bo to lunch tomorrow at noon for an hour",
            "Approve & invite",
            "→ Created",
            "is in your calendar",
        ],
    ),
    (EventAction::Move, ["move lunch to 3pm", "Approve & update", "→ Updated", "“Lunch” is changed"]),
    (EventAction::Cancel, ["cancel lunch", "Approve & cancel event", "→ Cancelled", "“Lunch” is cancelled"]),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum EventAction {
    Create,
    Move,
    Cancel,
}

fn crash_points() -> Vec<(EventAction, CrashCase)> {
    use EventAction::{Cancel, Create, Move};
    use Fault::{DropResponse, HangAfter, HangBefore};
    let not_acting = || Fault::Status { code: 503, retry_after: None };
    let asks = |name, at| killed_case(name, UserAction::Ask, at);
    let presses = |name, at| killed_case(name, UserAction::Click, at);
    vec![
        (Create, asks("an invitation was asked for", CrashPoint::Acknowledged)),
        (
            Create,
            asks(
                "after the invitation's card stands",
                CrashPoint::Chat(ChatOperation::PostMessage, HangAfter),
            ),
        ),
        (Create, presses("the invitation was approved", CrashPoint::Acknowledged)),
        (Create, presses("before the event", CrashPoint::Google(INSERT, HangBefore))),
        (Create, presses("after the event", CrashPoint::Google(INSERT, HangAfter))),
        (Move, asks("before the event is looked at", CrashPoint::Google(LOOK, HangBefore))),
        (Move, presses("before the event is moved", CrashPoint::Google(PATCH, HangBefore))),
        (Move, presses("after the event is moved", CrashPoint::Google(PATCH, HangAfter))),
        (
            Cancel,
            asks(
                "after the cancellation's card stands",
                CrashPoint::Chat(ChatOperation::PostMessage, HangAfter),
            ),
        ),
        (Cancel, presses("before the event is cancelled", CrashPoint::Google(DELETE, HangBefore))),
        (Cancel, presses("after the event is cancelled", CrashPoint::Google(DELETE, HangAfter))),
        (Create, survived_case("the event's answer is lost", CrashPoint::Google(INSERT, DropResponse))),
        (Move, survived_case("the move's answer is lost", CrashPoint::Google(PATCH, DropResponse))),
        (
            Cancel,
            survived_case("the cancellation's answer is lost", CrashPoint::Google(DELETE, DropResponse)),
        ),
        (Create, survived_case("Calendar breaks before the event", CrashPoint::Google(INSERT, not_acting()))),
        (Move, survived_case("Calendar breaks before the move", CrashPoint::Google(PATCH, not_acting()))),
        (
            Cancel,
            survived_case(
                "Calendar breaks before the cancellation",
                CrashPoint::Google(DELETE, not_acting()),
            ),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_an_event_each_guest_is_told_once() {
    run_all_crashes(Platform::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_an_event_each_guest_is_told_once_on_discord() {
    run_all_crashes(Platform::Discord).await;
}

async fn run_all_crashes(platform: Platform) {
    let only = std::env::var("NOD_TEST_DEATH").ok();
    let all =
        crash_points().into_iter().filter(|(_, death)| only.as_ref().is_none_or(|o| death.name.contains(o)));
    LocalSet::new()
        .run_until(async {
            let (mut stories, room) = (JoinSet::new(), Arc::new(Semaphore::new(MAX_CONCURRENT)));
            for (act, death) in all {
                let room = room.clone();
                stories.spawn_local(async move {
                    let _place = room.acquire_owned().await;
                    run_crash(platform, act, &death).await;
                });
            }
            while let Some(ended) = stories.join_next().await {
                ended.unwrap();
            }
        })
        .await;
}

async fn run_crash(platform: Platform, fatal: EventAction, death: &CrashCase) {
    let mut world = World::with_real_clock_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    for (done, (act, [words, button, receipt, answer])) in (1..).zip(ACTS) {
        let place = channel_of(act);
        for (person, seen) in [(UserAction::Ask, button), (UserAction::Click, answer)] {
            let does = || match person {
                UserAction::Ask => drop(world.chat.say("ana", place, None, words)),
                UserAction::Click => {
                    let card = world.find_message_with_button(place, button);
                    world.chat.click_without_waiting("ana", place, &card, button);
                }
            };
            if (act, person) == (fatal, death.person) {
                nod = run_until_crash(&world, nod, death, does).await;
            } else {
                does();
            }
            wait_for_text(&world, death, place, seen).await;
        }
        wait_for_count(&world, "select count(*) from runs where status = 'done'", done).await;
        world.wait_until_idle().await;
        let read = world.read_new(place);
        assert_eq!(read.matches(receipt).count(), 1, "{}:\n{read}", death.name);
        assert_eq!(read.matches(answer).count(), 1, "{}:\n{read}", death.name);
        assert_event(&world, death, act);
    }
    for (what, rows) in
        [("approvals", 3), ("effects where status = 'done'", 3), ("audit where action like 'effect.%'", 3)]
    {
        let there = count(&world, &format!("select count(*) from {what}")).await;
        assert_eq!(there, rows, "{}: {what}", death.name);
    }
    assert_eq!(count(&world, "select count(*) from effects").await, 3, "{}", death.name);
    world.kill_program(nod).await;
    world.finish().await;
}

/// Checks the event in its guest's calendar, and the notifications about it.
fn assert_event(world: &World, death: &CrashCase, act: EventAction) {
    let (events, told) = (world.google.events(BO), world.google.list_all_invitations());
    assert!(told.iter().all(|one| one.to == BO), "{}: {told:#?}", death.name);
    let news: Vec<&InvitationKind> = told.iter().map(|one| &one.kind).collect();
    let (hours, all): (&[&str], &[InvitationKind]) = match act {
        EventAction::Create => (&["12:00–13:00"], &[InvitationKind::Invited]),
        EventAction::Move => (&["15:00–16:00"], &[InvitationKind::Invited, InvitationKind::Updated]),
        EventAction::Cancel => {
            (&[], &[InvitationKind::Invited, InvitationKind::Updated, InvitationKind::Cancelled])
        }
    };
    assert_eq!(news, all.iter().collect::<Vec<_>>(), "{}", death.name);
    assert_eq!(world.google.events(ANA).len(), hours.len(), "{}", death.name);
    assert_eq!(events.len(), hours.len(), "{}: {events:#?}", death.name);
    for (event, hours) in events.iter().zip(hours) {
        assert!(event.describe_time().contains(hours), "{}: {}", death.name, event.describe_time());
    }
}

/// Waits until the channel shows these words.
async fn wait_for_text(world: &World, death: &CrashCase, place: &str, words: &str) {
    let seen = async {
        while !world.chat.channel_text(place).contains(words) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let come = timeout(2 * max_wait(), seen).await;
    assert!(come.is_ok(), "{}: “{words}” never came:\n{}", death.name, world.chat.dump());
}
