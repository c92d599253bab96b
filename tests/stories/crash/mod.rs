//! Nod is killed (SIGKILL) anywhere on the path of a mail, and is started again: one mail, and a true receipt.

mod attachments;
mod catch_up;
mod co_approval;
mod drafts;
mod edits;
mod events;
mod ingest;
pub(crate) mod invariants;
mod knowledge;
mod memory;
mod random_sequences;
mod recipient_names;
mod refresh_token;
mod replicas;
mod sharing;
mod streams;
mod tasks;
mod upgrade;
mod votes;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::{Answer, ModelRole};
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{Program, World, max_wait};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};

use invariants::{ExpectedReceipt, assert_invariants, assert_receipt_only, wait_for_text};

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");
/// The number of stories at once; most of their time is waiting for the dead process's lease of ten seconds.
const MAX_CONCURRENT: usize = 6;
const CREATE: &str = "gmail.users.drafts.create";
const SEND: &str = "gmail.users.drafts.send";
/// After this wish the rules of the model leave the last word to the receipt.
const RECEIPT_ONLY: &str = "@nod tell Bo I'm late, that's all";
const GET_MESSAGE: &str = "gmail.users.messages.get";

/// Where Nod is when it happens.
#[derive(Debug, Clone)]
enum CrashPoint {
    Google(&'static str, Fault),
    Chat(ChatOperation, Fault),
    /// The model got a request and does not answer.
    Model(ModelRole),
    /// The platform received the acknowledgement of what the person did, or it is stored if there is none.
    Acknowledged,
    /// At any point, this many milliseconds after that.
    AfterMillis(u64),
}

/// What the person does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq)]
enum UserAction {
    Ask,
    Click,
}

/// One way to be killed.
#[derive(Debug, Clone)]
struct CrashCase {
    name: &'static str,
    wish: &'static str,
    person: UserAction,
    /// The points, one after another.
    at: Vec<CrashPoint>,
    /// Whether Nod is killed there, or survives the fault.
    is_killed: bool,
    /// What happens while no Nod is running.
    meanwhile: fn(&World),
    receipt: ExpectedReceipt,
}

fn killed_case(name: &'static str, person: UserAction, at: CrashPoint) -> CrashCase {
    CrashCase {
        name,
        wish: "@nod tell Bo I'm late",
        person,
        at: vec![at],
        is_killed: true,
        meanwhile: |_| {},
        receipt: ExpectedReceipt::Sent,
    }
}

/// Nothing is left to say after it, so the receipt is the answer.
fn receipt_only_case(name: &'static str, at: CrashPoint) -> CrashCase {
    CrashCase { wish: RECEIPT_ONLY, ..killed_case(name, UserAction::Click, at) }
}

fn survived_case(name: &'static str, at: CrashPoint) -> CrashCase {
    CrashCase { is_killed: false, ..killed_case(name, UserAction::Click, at) }
}

fn crash_cases() -> Vec<CrashCase> {
    use CrashPoint::{Acknowledged, AfterMillis, Chat, Google, Model};
    use Fault::{DropConnection, DropResponse, HangAfter, HangBefore, Status};
    use UserAction::{Ask, Click};
    let not_acting = || Status { code: 503, retry_after: None };
    vec![
        // The slow ones first.
        CrashCase {
            meanwhile: |world| delete_drafts(world),
            receipt: ExpectedReceipt::Unknown,
            ..killed_case("the person throws the draft away meanwhile", Click, Google(SEND, HangBefore))
        },
        CrashCase {
            meanwhile: |world| world.google.revoke_grants("ana@acme.test"),
            receipt: ExpectedReceipt::Unknown,
            ..killed_case("the person takes the access back meanwhile", Click, Google(SEND, HangAfter))
        },
        CrashCase {
            at: vec![Google(SEND, HangBefore), Google(SEND, HangAfter)],
            ..killed_case("twice: before it went out, and after", Click, Acknowledged)
        },
        CrashCase {
            at: vec![Google(CREATE, HangAfter), Google(SEND, HangBefore)],
            ..killed_case("twice: after the draft, and before it went out", Click, Acknowledged)
        },
        CrashCase {
            meanwhile: |world| world.google.faults.next(SEND, Status { code: 403, retry_after: None }),
            receipt: ExpectedReceipt::NotSent,
            ..killed_case("Gmail refuses the second try", Click, Google(SEND, HangBefore))
        },
        CrashCase {
            meanwhile: |world| world.google.lag_search(50),
            ..killed_case("the search lags", Click, Google(SEND, HangAfter))
        },
        CrashCase {
            meanwhile: |world| world.google.expire_tokens("ana@acme.test"),
            ..killed_case("the access token has ended meanwhile", Click, Google(SEND, HangAfter))
        },
        killed_case("the mention was acknowledged", Ask, Acknowledged),
        killed_case("the router was asked", Ask, Model(ModelRole::Router)),
        killed_case("the reasoner was asked", Ask, Model(ModelRole::Reasoner)),
        killed_case("before the card stands", Ask, Chat(ChatOperation::PostMessage, HangBefore)),
        killed_case("after the card stands", Ask, Chat(ChatOperation::PostMessage, HangAfter)),
        killed_case("before its thread is open", Ask, Chat(ChatOperation::OpenThread, HangBefore)),
        killed_case("after its thread is open", Ask, Chat(ChatOperation::OpenThread, HangAfter)),
        killed_case("somewhere while it thinks", Ask, AfterMillis(40)),
        killed_case("somewhere later", Ask, AfterMillis(120)),
        killed_case("somewhere while it sends", Click, AfterMillis(15)),
        killed_case("somewhere after it was sent", Click, AfterMillis(90)),
        killed_case("the press was acknowledged", Click, Acknowledged),
        killed_case(
            "before the press is answered",
            Click,
            Chat(ChatOperation::AnswerInteraction, HangBefore),
        ),
        killed_case("after the press is answered", Click, Chat(ChatOperation::AnswerInteraction, HangAfter)),
        killed_case("before the draft", Click, Google(CREATE, HangBefore)),
        killed_case("after the draft", Click, Google(CREATE, HangAfter)),
        killed_case("before it went out", Click, Google(SEND, HangBefore)),
        killed_case("after it went out", Click, Google(SEND, HangAfter)),
        killed_case("before the look at what went out", Click, Google(GET_MESSAGE, HangBefore)),
        killed_case("after the look at what went out", Click, Google(GET_MESSAGE, HangAfter)),
        killed_case("before the card changed", Click, Chat(ChatOperation::UpdateMessage, HangBefore)),
        killed_case("after the card changed", Click, Chat(ChatOperation::UpdateMessage, HangAfter)),
        killed_case("the reasoner hears the outcome", Click, Model(ModelRole::Reasoner)),
        killed_case("before the answer stands", Click, Chat(ChatOperation::PostMessage, HangBefore)),
        killed_case("after the answer stands", Click, Chat(ChatOperation::PostMessage, HangAfter)),
        receipt_only_case("before it went out, and its receipt is the answer", Google(SEND, HangBefore)),
        receipt_only_case("after it went out, and its receipt is the answer", Google(SEND, HangAfter)),
        receipt_only_case("before the look, and the receipt is the answer", Google(GET_MESSAGE, HangBefore)),
        receipt_only_case(
            "before the card changed, and its receipt is the answer",
            Chat(ChatOperation::UpdateMessage, HangBefore),
        ),
        receipt_only_case(
            "after the card changed, and its receipt is the answer",
            Chat(ChatOperation::UpdateMessage, HangAfter),
        ),
        receipt_only_case("somewhere around its receipt", AfterMillis(60)),
        survived_case("the draft's answer is lost", Google(CREATE, DropResponse)),
        survived_case("the answer is lost", Google(SEND, DropResponse)),
        survived_case("the request is lost", Google(SEND, DropConnection)),
        survived_case("Gmail breaks before it is sent", Google(SEND, not_acting())),
        survived_case("Gmail is silent after it is sent", Google(SEND, HangAfter)),
    ]
}

/// On Slack the first message opens a thread, and a click is acknowledged on the socket that delivered it.
fn is_discord_only(death: &CrashCase) -> bool {
    matches!(
        death.at[..],
        [CrashPoint::Chat(ChatOperation::OpenThread | ChatOperation::AnswerInteraction, _)]
    )
}

fn delete_drafts(world: &World) {
    for draft in world.google.drafts("ana@acme.test") {
        assert!(world.google.delete_draft("ana@acme.test", draft.draft_id.as_deref().unwrap()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_anywhere_it_sends_one_mail_and_says_so() {
    LocalSet::new().run_until(run_all_crashes(Platform::Slack)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_anywhere_it_sends_one_mail_and_says_so_on_discord() {
    LocalSet::new().run_until(run_all_crashes(Platform::Discord)).await;
}

async fn run_all_crashes(platform: Platform) {
    let only = std::env::var("NOD_TEST_DEATH").ok();
    let room = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let mut stories = JoinSet::new();
    let mut names = HashMap::new();
    for death in
        crash_cases().into_iter().filter(|death| platform == Platform::Discord || !is_discord_only(death))
    {
        if only.as_ref().is_some_and(|only| !death.name.contains(only)) {
            continue;
        }
        let (room, name) = (room.clone(), death.name);
        let told = stories.spawn_local(async move {
            let _place = room.acquire_owned().await;
            run_crash(platform, &death).await;
        });
        names.insert(told.id(), name);
    }
    let mut wrong = Vec::new();
    while let Some(ended) = stories.join_next_with_id().await {
        if let Err(panic) = ended {
            wrong.push(names[&panic.id()]);
        }
    }
    assert!(wrong.is_empty(), "these ended badly (each said why above): {wrong:#?}");
}

/// This concerns the database, so it is played once; what the harness waits for on Discord is in the rows of the other
/// database.
#[tokio::test]
async fn killed_with_its_own_database_it_sends_one_mail_too() {
    let mut world = World::with_real_clock().await;
    world.env.remove("NOD_DATABASE__URL");
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    wait_for_text(&world, "[Approve & send]").await;
    let death =
        killed_case("after it went out", UserAction::Click, CrashPoint::Google(SEND, Fault::HangAfter));
    let nod = run_until_crash(&world, nod, &death, || click_approve(&world)).await;
    wait_for_text(&world, "→ Sent").await;
    wait_for_text(&world, "Sent to bo@acme.test").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.wait_until_idle().await;
    world.read_new("dm:ana");
    world.read_new("general");
    world.kill_program(nod).await;
    world.finish().await;
}

fn click_approve(world: &World) {
    let card = world.find_message_with_button("general", "Approve & send");
    world.chat.click_without_waiting("ana", "general", &card, "Approve & send");
}

/// Plays the story of one kill.
async fn run_crash(platform: Platform, death: &CrashCase) {
    let mut world = World::with_real_clock_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    nod = if death.person == UserAction::Ask {
        run_until_crash(&world, nod, death, || {
            world.chat.say("ana", "general", None, death.wish);
        })
        .await
    } else {
        world.chat.say("ana", "general", None, death.wish);
        nod
    };
    wait_for_text(&world, "[Approve & send]").await;
    nod = if death.person == UserAction::Click {
        run_until_crash(&world, nod, death, || click_approve(&world)).await
    } else {
        click_approve(&world);
        nod
    };
    if death.wish == RECEIPT_ONLY {
        assert_receipt_only(&mut world, death.receipt).await;
    } else {
        assert_invariants(&mut world, death.receipt).await;
    }
    world.kill_program(nod).await;
    world.finish().await;
}

/// Lets the person act, and plays the faults and kills on Nod.
async fn run_until_crash(world: &World, mut nod: Program, death: &CrashCase, act: impl FnOnce()) -> Program {
    let mut met: HashMap<_, usize> = HashMap::new();
    let mut plans = |at: &CrashPoint| {
        let times = met.entry(operation(world, at)).or_default();
        plan(world, at);
        *times += 1;
        *times
    };
    let mut all = death.at.iter();
    let mut next = all.next().map(|at| (at, plans(at)));
    act();
    while let Some((at, times)) = next {
        tokio::time::timeout(max_wait(), wait_for_crash_point(world, at, times))
            .await
            .unwrap_or_else(|_| panic!("{}: never came to {at:?}\n{}", death.name, world.chat.dump()));
        if !death.is_killed {
            next = all.next().map(|at| (at, plans(at)));
            continue;
        }
        world.kill_program(nod).await;
        (death.meanwhile)(world);
        // Planned before the start: Nod might get there before the test sees it connected.
        next = all.next().map(|at| (at, plans(at)));
        nod = world.start_program(NOD).await;
    }
    nod
}

fn plan(world: &World, at: &CrashPoint) {
    match at {
        CrashPoint::Google(operation, fault) => world.google.faults.next(operation, fault.clone()),
        CrashPoint::Chat(deed, fault) => world.chat.inject_fault(*deed, fault.clone()),
        CrashPoint::Model(role) => world.model.will(Answer::hang().for_role(*role)),
        CrashPoint::Acknowledged | CrashPoint::AfterMillis(_) => {}
    }
}

fn operation(world: &World, at: &CrashPoint) -> Option<&'static str> {
    match at {
        CrashPoint::Google(operation, _) => Some(operation),
        CrashPoint::Chat(deed, _) => Some(world.chat.operation_name(*deed)),
        CrashPoint::Model(_) | CrashPoint::Acknowledged | CrashPoint::AfterMillis(_) => None,
    }
}

async fn wait_for_crash_point(world: &World, at: &CrashPoint, times: usize) {
    match at {
        CrashPoint::Google(operation, _) => world.google.faults.wait_until_triggered(operation, times).await,
        CrashPoint::Chat(deed, _) => {
            world.chat.faults().wait_until_triggered(world.chat.operation_name(*deed), times).await
        }
        CrashPoint::Model(_) => {
            assert!(world.model.wait_for(|model| model.list_unused().is_empty(), max_wait()).await)
        }
        CrashPoint::Acknowledged => wait_until_acknowledged(world).await,
        CrashPoint::AfterMillis(after) => {
            wait_until_acknowledged(world).await;
            tokio::time::sleep(Duration::from_millis(*after)).await;
        }
    }
}

async fn wait_until_acknowledged(world: &World) {
    world.chat.wait_until_delivered("dana").await;
    while world.chat.has_unacknowledged() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
