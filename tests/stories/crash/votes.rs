//! Nod is killed around a vote: while the others are asked, at a person's click, at the last one, or when the asker
//! picks a time. Every vote counts once, one question is posted, and one event is created.

use std::sync::Arc;
use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::{Answer, ModelRole};
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{World, max_wait};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use super::invariants::{count, wait_for_count};
use super::{CrashCase, CrashPoint, NOD, UserAction, killed_case, run_until_crash};

/// Played at once, in addition to the other stories of kills.
const MAX_CONCURRENT: usize = 3;
const ANA: &str = "ana@acme.test";
const GENERAL: &str = "general";
const ANA_DM: &str = "dm:ana";

/// What people do, one after another.
#[derive(Debug, Clone, Copy, PartialEq)]
enum VoteStep {
    AskOthers,
    BoVote,
    ChoVote,
    /// This ends the vote, because the time suits everybody.
    AnaVote,
    /// Instead of the last vote.
    AnaPick,
    Approve,
}

fn crash_points() -> Vec<(VoteStep, CrashCase)> {
    use Fault::{HangAfter, HangBefore};
    use VoteStep::{AnaPick, AnaVote, Approve, AskOthers, BoVote, ChoVote};
    let at = |name, at| killed_case(name, UserAction::Click, at);
    vec![
        (AskOthers, at("the others are asked", CrashPoint::Acknowledged)),
        (AskOthers, at("before the vote stands", CrashPoint::Chat(ChatOperation::PostMessage, HangBefore))),
        (AskOthers, at("after the vote stands", CrashPoint::Chat(ChatOperation::PostMessage, HangAfter))),
        (BoVote, at("a vote was acknowledged", CrashPoint::Acknowledged)),
        (BoVote, at("before a vote is shown", CrashPoint::Chat(ChatOperation::UpdateMessage, HangBefore))),
        (ChoVote, at("after a vote is shown", CrashPoint::Chat(ChatOperation::UpdateMessage, HangAfter))),
        (AnaVote, at("the last vote was acknowledged", CrashPoint::Acknowledged)),
        (AnaVote, at("somewhere while the last vote is counted", CrashPoint::AfterMillis(20))),
        (AnaVote, at("before the end is shown", CrashPoint::Chat(ChatOperation::UpdateMessage, HangBefore))),
        (AnaVote, at("before the request stands", CrashPoint::Chat(ChatOperation::PostMessage, HangBefore))),
        (AnaVote, at("after the request stands", CrashPoint::Chat(ChatOperation::PostMessage, HangAfter))),
        (AnaPick, at("the pick was acknowledged", CrashPoint::Acknowledged)),
        (AnaPick, at("after the pick is shown", CrashPoint::Chat(ChatOperation::UpdateMessage, HangAfter))),
        (Approve, at("after the voted event", CrashPoint::Google("calendar.events.insert", HangAfter))),
        (Approve, at("the reasoner hears of the voted event", CrashPoint::Model(ModelRole::Reasoner))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_a_vote_each_counts_once() {
    run_all_crashes(Platform::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_a_vote_each_counts_once_on_discord() {
    run_all_crashes(Platform::Discord).await;
}

async fn run_all_crashes(platform: Platform) {
    let only = std::env::var("NOD_TEST_DEATH").ok();
    let all =
        crash_points().into_iter().filter(|(_, death)| only.as_ref().is_none_or(|o| death.name.contains(o)));
    LocalSet::new()
        .run_until(async {
            let (mut stories, room) = (JoinSet::new(), Arc::new(Semaphore::new(MAX_CONCURRENT)));
            for (step, death) in all {
                let room = room.clone();
                stories.spawn_local(async move {
                    let _place = room.acquire_owned().await;
                    run_crash(platform, step, &death).await;
                });
            }
            while let Some(ended) = stories.join_next().await {
                ended.unwrap();
            }
        })
        .await;
}

async fn run_crash(platform: Platform, fatal: VoteStep, death: &CrashCase) {
    let mut world = World::with_real_clock_on(platform).await;
    // Each person who is asked is mentioned once, also if the message was already posted when Nod was killed.
    world.expect_loose_end("a ping: bo");
    world.expect_loose_end("a ping: cho");
    let mut nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let planning =
        json!({ "title": "Planning", "when": "next week", "minutes": 45, "guests": ["Bo", "Cho"] });
    world.script_model("tool", [Answer::tool("calendar_create_event", planning)]);
    world.say("ana", GENERAL, "@nod find 45 minutes with Bo and Cho next week for planning").await;
    let third = if fatal == VoteStep::AnaPick { VoteStep::AnaPick } else { VoteStep::AnaVote };
    for step in [VoteStep::AskOthers, VoteStep::BoVote, VoteStep::ChoVote, third, VoteStep::Approve] {
        let (person, place, label, seen) = run_step(&world, step).await;
        let act = || {
            world.chat.click_without_waiting(
                person,
                place,
                &world.find_message_with_button(place, &label),
                &label,
            )
        };
        if step == fatal {
            nod = run_until_crash(&world, nod, death, act).await;
        } else {
            act();
        }
        wait_for_text(&world, death, seen.0, seen.1).await;
        world.wait_until_idle().await;
    }
    assert_invariants(&mut world, death).await;
    world.kill_program(nod).await;
    world.finish().await;
}

/// Returns who clicks which button, and what is read then.
async fn run_step(
    world: &World,
    step: VoteStep,
) -> (&'static str, &'static str, String, (&'static str, &'static str)) {
    match step {
        VoteStep::AskOthers => ("ana", ANA_DM, "Ask the others".to_owned(), (GENERAL, "When works for you?")),
        VoteStep::BoVote => ("bo", GENERAL, "2".to_owned(), (GENERAL, "✓ Bo Lind")),
        VoteStep::ChoVote => ("cho", GENERAL, "2".to_owned(), (GENERAL, "✓ Bo Lind, Cho Park")),
        VoteStep::AnaVote => ("ana", GENERAL, "2".to_owned(), (ANA_DM, "[Approve & invite]")),
        VoteStep::AnaPick => {
            ("ana", ANA_DM, label_of_agreed_time(world).await, (ANA_DM, "[Approve & invite]"))
        }
        VoteStep::Approve => ("ana", ANA_DM, "Approve & invite".to_owned(), (GENERAL, "It's booked")),
    }
}

/// Returns the label of the time that Bo and Cho have voted for.
async fn label_of_agreed_time(world: &World) -> String {
    let second = sqlx::query_scalar("select choices->1->>'label' || ' · works for 2 of 3' from questions");
    second.fetch_one(&world.pool).await.unwrap()
}

/// Checks one vote of each person, one question and one event, and that each person was notified once.
async fn assert_invariants(world: &mut World, death: &CrashCase) {
    wait_for_count(world, "select count(*) from runs where status = 'done'", 1).await;
    world.wait_until_idle().await;
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
        assert_eq!(there, rows, "{}: {what}\n{}", death.name, world.chat.dump());
    }
    let (shared, own) = (world.read_new(GENERAL), world.read_new(ANA_DM));
    assert_eq!(shared.matches(" · Planning").count(), 1, "{}:\n{shared}", death.name);
    assert_eq!(shared.matches("It's booked").count(), 1, "{}:\n{shared}", death.name);
    assert_eq!(own.matches("→ Created").count(), 1, "{}:\n{own}", death.name);
    assert_eq!(own.matches("is in your calendar").count(), 1, "{}:\n{own}", death.name);
    assert_eq!(world.chat.mentioned_users().len(), 2, "{}", death.name);
    assert_eq!(world.google.events(ANA).len(), 1, "{}", death.name);
    assert_eq!(world.google.list_all_invitations().len(), 2, "{}", death.name);
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
