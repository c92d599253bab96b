//! Nod is killed on the way of a task: while it plans, while a step works, around the nod to its mail, and while it writes the
//! result. One plan, one mail, one result, and the steps of an undisturbed task.

use std::sync::Arc;
use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::ModelRole;
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{World, max_wait};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use super::invariants::{count, wait_for_count};
use super::{CREATE, CrashCase, CrashPoint, NOD, SEND, UserAction, killed_case, run_until_crash};

/// Played at once, in addition to the other stories of kills.
const MAX_CONCURRENT: usize = 3;
const DM: &str = "dm:ana";

fn crash_points() -> Vec<CrashCase> {
    use CrashPoint::{Acknowledged, AfterMillis, Chat, Google, Model};
    use Fault::{HangAfter, HangBefore};
    use UserAction::{Ask, Click};
    vec![
        killed_case("the task was acknowledged", Ask, Acknowledged),
        killed_case("somewhere while it begins", Ask, AfterMillis(15)),
        killed_case("somewhere while it works", Ask, AfterMillis(150)),
        killed_case("the planner was asked", Ask, Model(ModelRole::Planner)),
        killed_case("before its card stands", Ask, Chat(ChatOperation::PostMessage, HangBefore)),
        killed_case("after its card stands", Ask, Chat(ChatOperation::PostMessage, HangAfter)),
        killed_case("a step was asked", Ask, Model(ModelRole::Reasoner)),
        killed_case("a step reads the mailbox", Ask, Google("gmail.users.messages.list", HangBefore)),
        CrashCase {
            at: vec![Model(ModelRole::Planner), Model(ModelRole::Reasoner), Model(ModelRole::Reasoner)],
            ..killed_case("three times: as it plans, and twice in a step", Ask, Acknowledged)
        },
        killed_case("the nod was acknowledged", Click, Acknowledged),
        killed_case("after the draft of its mail", Click, Google(CREATE, HangAfter)),
        killed_case("before its mail went out", Click, Google(SEND, HangBefore)),
        killed_case("after its mail went out", Click, Google(SEND, HangAfter)),
        killed_case("the step hears of its mail", Click, Model(ModelRole::Reasoner)),
        killed_case("the result was asked for", Click, Model(ModelRole::Finaliser)),
        CrashCase {
            at: vec![Google(SEND, HangAfter), Model(ModelRole::Reasoner), Model(ModelRole::Finaliser)],
            ..killed_case("three times: after the mail, in the step and at the result", Click, Acknowledged)
        },
        killed_case("before a tick is shown", Click, Chat(ChatOperation::UpdateMessage, HangBefore)),
        killed_case("after a tick is shown", Click, Chat(ChatOperation::UpdateMessage, HangAfter)),
        killed_case("before the result stands", Click, Chat(ChatOperation::PostMessage, HangBefore)),
        killed_case("after the result stands", Click, Chat(ChatOperation::PostMessage, HangAfter)),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_on_its_way_a_task_is_done_once() {
    run_all_crashes(Platform::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_on_its_way_a_task_is_done_once_on_discord() {
    run_all_crashes(Platform::Discord).await;
}

async fn run_all_crashes(platform: Platform) {
    let only = std::env::var("NOD_TEST_DEATH").ok();
    let all = crash_points().into_iter().filter(|death| only.as_ref().is_none_or(|o| death.name.contains(o)));
    LocalSet::new()
        .run_until(async {
            let (mut stories, room) = (JoinSet::new(), Arc::new(Semaphore::new(MAX_CONCURRENT)));
            for death in all {
                let room = room.clone();
                stories.spawn_local(async move {
                    let _place = room.acquire_owned().await;
                    run_crash(platform, &death).await;
                });
            }
            while let Some(ended) = stories.join_next().await {
                ended.unwrap();
            }
        })
        .await;
}

async fn run_crash(platform: Platform, death: &CrashCase) {
    let mut world = World::with_real_clock_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let ask =
        || world.chat.run_command_without_waiting("ana", DM, "task list my newest mail and tell Bo I'm late");
    if death.person == UserAction::Ask {
        nod = run_until_crash(&world, nod, death, ask).await;
    } else {
        ask();
    }
    wait_for_text(&world, death, "[Approve & send]").await;
    // What is still to be shown of the steps before is not what the nod leads to.
    world.wait_until_idle().await;
    let approve = || {
        let card = world.find_message_with_button(DM, "Approve & send");
        world.chat.click_without_waiting("ana", DM, &card, "Approve & send");
    };
    if death.person == UserAction::Click {
        nod = run_until_crash(&world, nod, death, approve).await;
    } else {
        approve();
    }
    wait_for_text(&world, death, "Ana Silva's task · Done · 2 steps").await;
    wait_for_count(&world, "select count(*) from runs where status = 'done'", 3).await;
    world.wait_until_idle().await;
    let said = world.read_new(DM);
    assert_eq!(
        said.matches("# Done: List my newest mail and tell Bo I'm late").count(),
        1,
        "{}: {said}",
        death.name
    );
    assert_eq!(said.matches("→ Sent").count(), 1, "{}: {said}", death.name);
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1, "{}", death.name);
    for (rows, wanted) in [
        ("tasks where summary is not null", 1),
        ("task_steps where status = 'done' and waits_for is null", 2),
        ("runs where workflow = 'step'", 2),
        ("approvals", 1),
        ("audit where action = 'task.begun'", 1),
    ] {
        assert_eq!(
            count(&world, &format!("select count(*) from {rows}")).await,
            wanted,
            "{}: {rows}",
            death.name
        );
    }
    world.read_ephemerals("ana");
    world.kill_program(nod).await;
    world.finish().await;
}

async fn wait_for_text(world: &World, death: &CrashCase, words: &str) {
    let seen = async {
        while !world.chat.channel_text(DM).contains(words) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let come = timeout(4 * max_wait(), seen).await;
    assert!(come.is_ok(), "{}: “{words}” never came:\n{}", death.name, world.chat.dump());
}
