//! Nod is killed around an event: while creating, moving or cancelling it. One event, moved once, cancelled once, and
//! its guest is notified of each once.

use std::sync::Arc;
use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::google::News;
use nod_tests::chat::{Deed, On};
use nod_tests::{World, patience};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use super::holds::{count, until};
use super::{At, Death, NOD, Person, killed, lived, suffers};

/// Played at once, in addition to the other stories of kills.
const AT_ONCE: usize = 3;
const ANA: &str = "ana@acme.test";
const BO: &str = "bo@acme.test";
const INSERT: &str = "calendar.events.insert";
const PATCH: &str = "calendar.events.patch";
const DELETE: &str = "calendar.events.delete";
const LOOK: &str = "calendar.events.get";

/// A new invitation is public in the channel; an event that is already in a calendar is only for its owner.
fn place(act: Act) -> &'static str {
    if act == Act::Invites { "general" } else { "dm:ana" }
}

/// What Ana asks for, one after another: the message, the button, the receipt and the answer.
const ACTS: [(Act, [&str; 4]); 3] = [
    (
        Act::Invites,
        [
            "@nod invite Bo to lunch tomorrow at noon for an hour",
            "Approve & invite",
            "→ Created",
            "is in your calendar",
        ],
    ),
    (Act::Moves, ["move lunch to 3pm", "Approve & change", "→ Changed", "“Lunch” is changed"]),
    (Act::Cancels, ["cancel lunch", "Approve & cancel it", "→ Cancelled", "“Lunch” is cancelled"]),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    Invites,
    Moves,
    Cancels,
}

fn deaths() -> Vec<(Act, Death)> {
    use Act::{Cancels, Invites, Moves};
    use Fault::{Hang, HangAfter, LoseAnswer};
    let not_acting = || Fault::Status { code: 503, retry_after: None };
    let asks = |name, at| killed(name, Person::Asks, at);
    let presses = |name, at| killed(name, Person::Presses, at);
    vec![
        (Invites, asks("an invitation was asked for", At::Acknowledged)),
        (Invites, asks("after the invitation's card stands", At::Chat(Deed::Posts, HangAfter))),
        (Invites, presses("the invitation was approved", At::Acknowledged)),
        (Invites, presses("before the event", At::Google(INSERT, Hang))),
        (Invites, presses("after the event", At::Google(INSERT, HangAfter))),
        (Moves, asks("before the event is looked at", At::Google(LOOK, Hang))),
        (Moves, presses("before the event is moved", At::Google(PATCH, Hang))),
        (Moves, presses("after the event is moved", At::Google(PATCH, HangAfter))),
        (Cancels, asks("after the cancellation's card stands", At::Chat(Deed::Posts, HangAfter))),
        (Cancels, presses("before the event is cancelled", At::Google(DELETE, Hang))),
        (Cancels, presses("after the event is cancelled", At::Google(DELETE, HangAfter))),
        (Invites, lived("the event's answer is lost", At::Google(INSERT, LoseAnswer))),
        (Moves, lived("the move's answer is lost", At::Google(PATCH, LoseAnswer))),
        (Cancels, lived("the cancellation's answer is lost", At::Google(DELETE, LoseAnswer))),
        (Invites, lived("Calendar breaks before the event", At::Google(INSERT, not_acting()))),
        (Moves, lived("Calendar breaks before the move", At::Google(PATCH, not_acting()))),
        (Cancels, lived("Calendar breaks before the cancellation", At::Google(DELETE, not_acting()))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_an_event_each_guest_is_told_once() {
    all_deaths(On::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_an_event_each_guest_is_told_once_on_discord() {
    all_deaths(On::Discord).await;
}

async fn all_deaths(platform: On) {
    let only = std::env::var("NOD_TEST_DEATH").ok();
    let all = deaths().into_iter().filter(|(_, death)| only.as_ref().is_none_or(|o| death.name.contains(o)));
    LocalSet::new()
        .run_until(async {
            let (mut stories, room) = (JoinSet::new(), Arc::new(Semaphore::new(AT_ONCE)));
            for (act, death) in all {
                let room = room.clone();
                stories.spawn_local(async move {
                    let _place = room.acquire_owned().await;
                    dies(platform, act, &death).await;
                });
            }
            while let Some(ended) = stories.join_next().await {
                ended.unwrap();
            }
        })
        .await;
}

async fn dies(platform: On, fatal: Act, death: &Death) {
    let mut world = World::in_real_time_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    for (done, (act, [words, button, receipt, answer])) in (1..).zip(ACTS) {
        let place = place(act);
        for (person, seen) in [(Person::Asks, button), (Person::Presses, answer)] {
            let does = || match person {
                Person::Asks => drop(world.chat.say("ana", place, None, words)),
                Person::Presses => {
                    let card = world.button(place, button);
                    world.chat.pushes("ana", place, &card, button);
                }
            };
            if (act, person) == (fatal, death.person) {
                nod = suffers(&world, nod, death, does).await;
            } else {
                does();
            }
            reads(&world, death, place, seen).await;
        }
        until(&world, "select count(*) from runs where status = 'done'", done).await;
        world.settles().await;
        let read = world.reads(place);
        assert_eq!(read.matches(receipt).count(), 1, "{}:\n{read}", death.name);
        assert_eq!(read.matches(answer).count(), 1, "{}:\n{read}", death.name);
        stands(&world, death, act);
    }
    for (what, rows) in
        [("approvals", 3), ("effects where status = 'done'", 3), ("audit where action like 'effect.%'", 3)]
    {
        let there = count(&world, &format!("select count(*) from {what}")).await;
        assert_eq!(there, rows, "{}: {what}", death.name);
    }
    assert_eq!(count(&world, "select count(*) from effects").await, 3, "{}", death.name);
    world.kills(nod).await;
    world.ends().await;
}

/// Checks the event in its guest's calendar, and the notifications about it.
fn stands(world: &World, death: &Death, act: Act) {
    let (events, told) = (world.google.events(BO), world.google.all_invitations());
    assert!(told.iter().all(|one| one.to == BO), "{}: {told:#?}", death.name);
    let news: Vec<&News> = told.iter().map(|one| &one.news).collect();
    let (hours, all): (&[&str], &[News]) = match act {
        Act::Invites => (&["12:00–13:00"], &[News::Invited]),
        Act::Moves => (&["15:00–16:00"], &[News::Invited, News::Updated]),
        Act::Cancels => (&[], &[News::Invited, News::Updated, News::Cancelled]),
    };
    assert_eq!(news, all.iter().collect::<Vec<_>>(), "{}", death.name);
    assert_eq!(world.google.events(ANA).len(), hours.len(), "{}", death.name);
    assert_eq!(events.len(), hours.len(), "{}: {events:#?}", death.name);
    for (event, hours) in events.iter().zip(hours) {
        assert!(event.when().contains(hours), "{}: {}", death.name, event.when());
    }
}

/// Waits until the channel shows these words.
async fn reads(world: &World, death: &Death, place: &str, words: &str) {
    let seen = async {
        while !world.chat.spoken(place).contains(words) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let come = timeout(2 * patience(), seen).await;
    assert!(come.is_ok(), "{}: “{words}” never came:\n{}", death.name, world.chat.everything());
}
