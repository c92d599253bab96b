//! Approving, undoing, expiring, being killed and coming back, in any order: what was sent matches the rows and the
//! card, and nothing is sent twice. The orders come from a seed, so a failing one can be played again.

use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{Program, World};
use serde_json::json;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use super::invariants::{count, wait_for_count};
use super::{CREATE, NOD, SEND};

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
enum SequenceStep {
    /// The person clicks the first button that begins like this, if there is one.
    Click(&'static str),
    /// Nod is killed and comes back.
    Crash,
    /// Nod is killed in a call to Gmail, before or after it was executed, if it makes one soon.
    CrashInCall(&'static str, bool),
    /// A response or a request is lost.
    LoseCall(&'static str, bool),
    /// Nothing happens for this many milliseconds.
    Wait(u64),
}

const STEPS: [SequenceStep; 14] = [
    SequenceStep::Click("Approve"),
    SequenceStep::Click("Approve"),
    SequenceStep::Click("Approve 2 of 3"),
    SequenceStep::Click("Untick"),
    SequenceStep::Click("Deny"),
    SequenceStep::Click("Undo"),
    SequenceStep::Click("Undo"),
    SequenceStep::Crash,
    SequenceStep::CrashInCall(CREATE, true),
    SequenceStep::CrashInCall(SEND, false),
    SequenceStep::CrashInCall(SEND, true),
    SequenceStep::LoseCall(SEND, true),
    SequenceStep::Wait(400),
    SequenceStep::Wait(1_500),
];

/// Returns orders that are worth playing every time, and some that follow from the seed.
fn sequences() -> Vec<(String, Vec<SequenceStep>)> {
    use SequenceStep::{Click, Crash, CrashInCall, LoseCall, Wait};
    let told = [
        vec![Click("Approve"), Crash, Click("Undo")],
        vec![Click("Approve"), Click("Undo"), Crash],
        vec![Click("Approve"), Wait(900), Crash, Click("Undo"), CrashInCall(SEND, true)],
        vec![Crash, Wait(1_500)],
        vec![Click("Untick"), Click("Approve 2 of 3"), Click("Undo"), CrashInCall(SEND, false)],
        vec![Click("Approve"), LoseCall(SEND, true), CrashInCall(CREATE, true), Click("Undo")],
    ];
    let mut orders: Vec<_> = told.into_iter().enumerate().map(|(n, o)| (format!("told {n}"), o)).collect();
    for seed in 1..=6_u64 {
        orders.push((format!("seed {seed}"), random_steps(seed)));
    }
    orders
}

/// Returns five steps that follow from the seed.
fn random_steps(seed: u64) -> Vec<SequenceStep> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        STEPS[usize::try_from(state % 14).unwrap_or_default()]
    };
    (0..5).map(|_| next()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_any_order_it_sends_what_it_says_and_says_what_it_sent() {
    run_all_sequences(Platform::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_any_order_it_sends_what_it_says_and_says_what_it_sent_on_discord() {
    run_all_sequences(Platform::Discord).await;
}

async fn run_all_sequences(platform: Platform) {
    LocalSet::new()
        .run_until(async {
            let room = std::sync::Arc::new(tokio::sync::Semaphore::new(4));
            let mut stories = JoinSet::new();
            for (name, steps) in sequences() {
                let room = room.clone();
                stories.spawn_local(async move {
                    let _place = room.acquire_owned().await;
                    run_sequence(platform, &name, &steps).await;
                });
            }
            let mut wrong = 0;
            while let Some(ended) = stories.join_next().await {
                wrong += usize::from(ended.is_err());
            }
            assert_eq!(wrong, 0, "each said why above");
        })
        .await;
}

/// How long an approval is valid: on Discord it takes ten seconds until another replica receives events instead.
fn request_lifetime(platform: Platform) -> &'static str {
    match platform {
        Platform::Slack => "12s",
        Platform::Discord => "30s",
    }
}

async fn run_sequence(platform: Platform, name: &str, steps: &[SequenceStep]) {
    let mut world = World::with_real_clock_on(platform).await;
    world.env.insert("NOD_APPROVALS__UNDO".to_owned(), "1s".to_owned());
    world.env.insert("NOD_APPROVALS__EXPIRE_AFTER".to_owned(), request_lifetime(platform).to_owned());
    let mut nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    world.script_model("tool", [Answer::tools(vec![mail("Bo"), mail("Cho"), mail("eve@x.test")])]);
    world.chat.say("ana", "general", None, "@nod tell Bo, Cho and Eve I'm late");
    super::invariants::wait_for_text(&world, "[Approve all]").await;
    for step in steps {
        nod = run_step(&world, nod, *step).await;
    }
    world.google.faults.clear();
    wait_for_count(&world, "select count(*) from approvals where status = 'pending'", 0).await;
    wait_for_count(&world, "select count(*) from effects where status in ('planned', 'started')", 0).await;
    wait_for_count(&world, "select count(*) from runs where status = 'done'", 1).await;
    world.wait_until_idle().await;
    assert_consistent(&world, name).await;
    assert_eq!(world.google.violations(), Vec::<String>::new(), "{name}");
    world.kill_program(nod).await;
    world.discard().await;
}

async fn run_step(world: &World, nod: Program, step: SequenceStep) -> Program {
    match step {
        SequenceStep::Click(label) => click(world, label).await,
        SequenceStep::Wait(long) => sleep(Duration::from_millis(long)).await,
        SequenceStep::LoseCall(operation, after) => {
            world
                .google
                .faults
                .next(operation, if after { Fault::DropResponse } else { Fault::DropConnection });
        }
        SequenceStep::Crash => return crash_and_restart(world, nod).await,
        SequenceStep::CrashInCall(operation, after) => {
            let before = count_faults_met(world, operation);
            world.google.faults.next(operation, if after { Fault::HangAfter } else { Fault::HangBefore });
            let comes = async {
                while count_faults_met(world, operation) == before {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            let _ = timeout(Duration::from_millis(2_500), comes).await;
            let nod = crash_and_restart(world, nod).await;
            world.google.faults.clear();
            return nod;
        }
    }
    nod
}

fn count_faults_met(world: &World, operation: &str) -> usize {
    world.google.calls().iter().filter(|call| call.operation == operation).count()
}

async fn crash_and_restart(world: &World, nod: Program) -> Program {
    world.kill_program(nod).await;
    world.start_program(NOD).await
}

async fn click(world: &World, begins: &str) {
    let mut labels = world.chat.buttons("general").into_iter().map(|button| button.label);
    let Some(label) = labels.find(|label| label.starts_with(begins)) else { return };
    // The card can change at this very moment.
    let Some(card) = world.chat.find_message_with_button("general", &label) else { return };
    world.chat.click_if_present("ana", "general", &card, &label).await;
}

/// Checks that each approval has one outcome, that mail was sent exactly for the effects that say so, and that the card
/// agrees.
async fn assert_consistent(world: &World, name: &str) {
    let rows: Vec<(String, Option<String>, Option<uuid::Uuid>)> = sqlx::query_as(
        "select a.status, e.status, e.id from approvals a left join effects e on e.approval_id = a.id order by a.id",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    let said = world.chat.channel_text("general");
    let sent = world.google.list_sent("ana@acme.test");
    let mut receipts = [0; 4];
    for (approval, effect, id) in &rows {
        let mails = sent
            .iter()
            .filter(|m| id.is_some_and(|id| m.header("X-Nod-Effect") == Some(&id.to_string())))
            .count();
        let receipt = match (approval.as_str(), effect.as_deref()) {
            ("approved", Some("done")) if mails == 1 => 0,
            ("undone", Some("cancelled")) if mails == 0 => 1,
            ("denied", None) => 2,
            ("expired", None) => 3,
            other => panic!("{name}: {other:?} and {mails} mails\n{said}"),
        };
        receipts[receipt] += 1;
    }
    let told = ["→ Sent", "Undone by Ana Silva", "Denied by Ana Silva", "Expired without an answer"];
    assert_eq!(told.map(|words| said.matches(words).count()), receipts, "{name}\n{said}");
    assert_eq!((rows.len(), sent.len()), (3, receipts[0]), "{name}");
    assert!(world.google.drafts("ana@acme.test").is_empty(), "{name}: a draft is left");
    assert_eq!(count(world, "select count(*) from dead_jobs").await, 0, "{name}");
}
