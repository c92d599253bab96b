//! Approving, undoing, expiring, being killed and coming back, in any order: what was sent matches the rows and the
//! card, and nothing is sent twice. The orders come from a seed, so a failing one can be played again.

use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::On;
use nod_tests::{Program, World};
use serde_json::json;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use super::holds::{count, until};
use super::{CREATE, NOD, SEND};

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The person clicks the first button that begins like this, if there is one.
    Presses(&'static str),
    /// Nod is killed and comes back.
    Dies,
    /// Nod is killed in a call to Gmail, before or after it was executed, if it makes one soon.
    DiesIn(&'static str, bool),
    /// A response or a request is lost.
    Loses(&'static str, bool),
    /// Nothing happens for this many milliseconds.
    Waits(u64),
}

const STEPS: [Step; 14] = [
    Step::Presses("Approve"),
    Step::Presses("Approve"),
    Step::Presses("Approve selected"),
    Step::Presses("☑"),
    Step::Presses("Deny"),
    Step::Presses("Undo"),
    Step::Presses("Undo"),
    Step::Dies,
    Step::DiesIn(CREATE, true),
    Step::DiesIn(SEND, false),
    Step::DiesIn(SEND, true),
    Step::Loses(SEND, true),
    Step::Waits(400),
    Step::Waits(1_500),
];

/// Returns orders that are worth playing every time, and some that follow from the seed.
fn orders() -> Vec<(String, Vec<Step>)> {
    use Step::{Dies, DiesIn, Loses, Presses, Waits};
    let told = [
        vec![Presses("Approve"), Dies, Presses("Undo")],
        vec![Presses("Approve"), Presses("Undo"), Dies],
        vec![Presses("Approve"), Waits(900), Dies, Presses("Undo"), DiesIn(SEND, true)],
        vec![Dies, Waits(1_500)],
        vec![Presses("☑"), Presses("Approve selected"), Presses("Undo"), DiesIn(SEND, false)],
        vec![Presses("Approve"), Loses(SEND, true), DiesIn(CREATE, true), Presses("Undo")],
    ];
    let mut orders: Vec<_> = told.into_iter().enumerate().map(|(n, o)| (format!("told {n}"), o)).collect();
    for seed in 1..=6_u64 {
        orders.push((format!("seed {seed}"), made(seed)));
    }
    orders
}

/// Returns five steps that follow from the seed.
fn made(seed: u64) -> Vec<Step> {
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
    all_orders(On::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_any_order_it_sends_what_it_says_and_says_what_it_sent_on_discord() {
    all_orders(On::Discord).await;
}

async fn all_orders(platform: On) {
    LocalSet::new()
        .run_until(async {
            let room = std::sync::Arc::new(tokio::sync::Semaphore::new(4));
            let mut stories = JoinSet::new();
            for (name, steps) in orders() {
                let room = room.clone();
                stories.spawn_local(async move {
                    let _place = room.acquire_owned().await;
                    tells(platform, &name, &steps).await;
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
fn lives(platform: On) -> &'static str {
    match platform {
        On::Slack => "12s",
        On::Discord => "30s",
    }
}

async fn tells(platform: On, name: &str, steps: &[Step]) {
    let mut world = World::in_real_time_on(platform).await;
    world.env.insert("NOD_APPROVALS__UNDO".to_owned(), "1s".to_owned());
    world.env.insert("NOD_APPROVALS__EXPIRE_AFTER".to_owned(), lives(platform).to_owned());
    let mut nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.can_be_written_to("cho").await;
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    world.model_will("tool", [Answer::tools(vec![mail("Bo"), mail("Cho"), mail("eve@x.test")])]);
    world.chat.say("ana", "general", None, "@nod tell Bo, Cho and Eve I'm late");
    super::holds::reads(&world, "[Approve all]").await;
    for step in steps {
        nod = happens(&world, nod, *step).await;
    }
    world.google.faults.clear();
    until(&world, "select count(*) from approvals where status = 'pending'", 0).await;
    until(&world, "select count(*) from effects where status in ('planned', 'started')", 0).await;
    until(&world, "select count(*) from runs where status = 'done'", 1).await;
    world.settles().await;
    is_true(&world, name).await;
    assert_eq!(world.google.violations(), Vec::<String>::new(), "{name}");
    world.kills(nod).await;
    world.abandoned().await;
}

async fn happens(world: &World, nod: Program, step: Step) -> Program {
    match step {
        Step::Presses(label) => presses(world, label).await,
        Step::Waits(long) => sleep(Duration::from_millis(long)).await,
        Step::Loses(operation, after) => {
            world.google.faults.next(operation, if after { Fault::LoseAnswer } else { Fault::Drop });
        }
        Step::Dies => return dies(world, nod).await,
        Step::DiesIn(operation, after) => {
            let before = met(world, operation);
            world.google.faults.next(operation, if after { Fault::HangAfter } else { Fault::Hang });
            let comes = async {
                while met(world, operation) == before {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            let _ = timeout(Duration::from_millis(2_500), comes).await;
            let nod = dies(world, nod).await;
            world.google.faults.clear();
            return nod;
        }
    }
    nod
}

fn met(world: &World, operation: &str) -> usize {
    world.google.calls().iter().filter(|call| call.operation == operation).count()
}

async fn dies(world: &World, nod: Program) -> Program {
    world.kills(nod).await;
    world.start_program(NOD).await
}

async fn presses(world: &World, begins: &str) {
    let mut labels = world.chat.buttons("general").into_iter().map(|button| button.label);
    let Some(label) = labels.find(|label| label.starts_with(begins)) else { return };
    let card = world.button("general", &label);
    // The card can change at this very moment.
    world.chat.press_if_there("ana", "general", &card, &label).await;
}

/// Checks that each approval has one outcome, that mail was sent exactly for the effects that say so, and that the card
/// agrees.
async fn is_true(world: &World, name: &str) {
    let rows: Vec<(String, Option<String>, Option<uuid::Uuid>)> = sqlx::query_as(
        "select a.status, e.status, e.id from approvals a left join effects e on e.approval_id = a.id order by a.id",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    let said = world.chat.spoken("general");
    let sent = world.google.sent("ana@acme.test");
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
    let told = ["→ Sent", "Undone by Ana Silva", "Denied by Ana Silva", "Nobody answered in time"];
    assert_eq!(told.map(|words| said.matches(words).count()), receipts, "{name}\n{said}");
    assert_eq!((rows.len(), sent.len()), (3, receipts[0]), "{name}");
    assert!(world.google.drafts("ana@acme.test").is_empty(), "{name}: a draft is left");
    assert_eq!(count(world, "select count(*) from dead_jobs").await, 0, "{name}");
}
