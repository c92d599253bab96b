//! Nod is killed around a vote: while the others are asked, at a person's click, at the last one, or when the asker
//! picks a time. Every vote counts once, one question is posted, and one event is created.

use std::sync::Arc;
use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::{Answer, Lane};
use nod_tests::chat::{Deed, On};
use nod_tests::{World, patience};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use super::holds::{count, until};
use super::{At, Death, NOD, Person, killed, suffers};

/// Played at once, in addition to the other stories of kills.
const AT_ONCE: usize = 3;
const ANA: &str = "ana@acme.test";
const GENERAL: &str = "general";
const ANAS: &str = "dm:ana";

/// What people do, one after another.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    AsksOthers,
    BoVotes,
    ChoVotes,
    /// This ends the vote, because the time suits everybody.
    AnaVotes,
    /// Instead of the last vote.
    AnaPicks,
    Approves,
}

fn deaths() -> Vec<(Step, Death)> {
    use Fault::{Hang, HangAfter};
    use Step::{AnaPicks, AnaVotes, Approves, AsksOthers, BoVotes, ChoVotes};
    let at = |name, at| killed(name, Person::Presses, at);
    vec![
        (AsksOthers, at("the others are asked", At::Acknowledged)),
        (AsksOthers, at("before the vote stands", At::Chat(Deed::Posts, Hang))),
        (AsksOthers, at("after the vote stands", At::Chat(Deed::Posts, HangAfter))),
        (BoVotes, at("a vote was acknowledged", At::Acknowledged)),
        (BoVotes, at("before a vote is shown", At::Chat(Deed::Replaces, Hang))),
        (ChoVotes, at("after a vote is shown", At::Chat(Deed::Replaces, HangAfter))),
        (AnaVotes, at("the last vote was acknowledged", At::Acknowledged)),
        (AnaVotes, at("somewhere while the last vote is counted", At::Somewhere(20))),
        (AnaVotes, at("before the end is shown", At::Chat(Deed::Replaces, Hang))),
        (AnaVotes, at("before the request stands", At::Chat(Deed::Posts, Hang))),
        (AnaVotes, at("after the request stands", At::Chat(Deed::Posts, HangAfter))),
        (AnaPicks, at("the pick was acknowledged", At::Acknowledged)),
        (AnaPicks, at("after the pick is shown", At::Chat(Deed::Replaces, HangAfter))),
        (Approves, at("after the voted event", At::Google("calendar.events.insert", HangAfter))),
        (Approves, at("the reasoner hears of the voted event", At::Model(Lane::Reasoner))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_a_vote_each_counts_once() {
    all_deaths(On::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_a_vote_each_counts_once_on_discord() {
    all_deaths(On::Discord).await;
}

async fn all_deaths(platform: On) {
    let only = std::env::var("NOD_TEST_DEATH").ok();
    let all = deaths().into_iter().filter(|(_, death)| only.as_ref().is_none_or(|o| death.name.contains(o)));
    LocalSet::new()
        .run_until(async {
            let (mut stories, room) = (JoinSet::new(), Arc::new(Semaphore::new(AT_ONCE)));
            for (step, death) in all {
                let room = room.clone();
                stories.spawn_local(async move {
                    let _place = room.acquire_owned().await;
                    dies(platform, step, &death).await;
                });
            }
            while let Some(ended) = stories.join_next().await {
                ended.unwrap();
            }
        })
        .await;
}

async fn dies(platform: On, fatal: Step, death: &Death) {
    let mut world = World::in_real_time_on(platform).await;
    // Each person who is asked is mentioned once, also if the message was already posted when Nod was killed.
    world.expects("a ping: bo");
    world.expects("a ping: cho");
    let mut nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.can_be_written_to("cho").await;
    let planning =
        json!({ "title": "Planning", "when": "next week", "minutes": 45, "guests": ["Bo", "Cho"] });
    world.model_will("tool", [Answer::tool("calendar_create_event", planning)]);
    world.says("ana", GENERAL, "@nod find 45 minutes with Bo and Cho next week for planning").await;
    let third = if fatal == Step::AnaPicks { Step::AnaPicks } else { Step::AnaVotes };
    for step in [Step::AsksOthers, Step::BoVotes, Step::ChoVotes, third, Step::Approves] {
        let (person, place, label, seen) = does(&world, step).await;
        let act = || world.chat.pushes(person, place, &world.button(place, &label), &label);
        if step == fatal {
            nod = suffers(&world, nod, death, act).await;
        } else {
            act();
        }
        reads(&world, death, seen.0, seen.1).await;
        world.settles().await;
    }
    holds(&mut world, death).await;
    world.kills(nod).await;
    world.ends().await;
}

/// Returns who clicks which button, and what is read then.
async fn does(
    world: &World,
    step: Step,
) -> (&'static str, &'static str, String, (&'static str, &'static str)) {
    match step {
        Step::AsksOthers => ("ana", ANAS, "Ask the others".to_owned(), (GENERAL, "When suits you?")),
        Step::BoVotes => ("bo", GENERAL, "2".to_owned(), (GENERAL, "✓ Bo Lind")),
        Step::ChoVotes => ("cho", GENERAL, "2".to_owned(), (GENERAL, "✓ Bo Lind, Cho Park")),
        Step::AnaVotes => ("ana", GENERAL, "2".to_owned(), (ANAS, "[Approve & invite]")),
        Step::AnaPicks => ("ana", ANAS, suits_two(world).await, (ANAS, "[Approve & invite]")),
        Step::Approves => ("ana", ANAS, "Approve & invite".to_owned(), (GENERAL, "It is booked")),
    }
}

/// Returns the label of the time that Bo and Cho have voted for.
async fn suits_two(world: &World) -> String {
    let second = sqlx::query_scalar("select choices->1->>'label' || ' · suits 2 of 3' from questions");
    second.fetch_one(&world.pool).await.unwrap()
}

/// Checks one vote of each person, one question and one event, and that each person was notified once.
async fn holds(world: &mut World, death: &Death) {
    until(world, "select count(*) from runs where status = 'done'", 1).await;
    world.settles().await;
    let votes = if death.name.contains("pick") { 2 } else { 3 };
    for (what, rows) in [
        ("votes where choice = 1", votes),
        ("votes", votes),
        ("approvals", 1),
        ("effects where status = 'done'", 1),
        ("effects", 1),
        ("runs", 1),
        ("vote_cards", 1),
    ] {
        let there = count(world, &format!("select count(*) from {what}")).await;
        assert_eq!(there, rows, "{}: {what}\n{}", death.name, world.chat.everything());
    }
    let (shared, own) = (world.reads(GENERAL), world.reads(ANAS));
    assert_eq!(shared.matches(" · Planning").count(), 1, "{}:\n{shared}", death.name);
    assert_eq!(shared.matches("It is booked").count(), 1, "{}:\n{shared}", death.name);
    assert_eq!(own.matches("→ Created").count(), 1, "{}:\n{own}", death.name);
    assert_eq!(own.matches("is in your calendar").count(), 1, "{}:\n{own}", death.name);
    assert_eq!(world.chat.pings().len(), 2, "{}", death.name);
    assert_eq!(world.google.events(ANA).len(), 1, "{}", death.name);
    assert_eq!(world.google.all_invitations().len(), 2, "{}", death.name);
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
