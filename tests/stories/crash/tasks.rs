//! Nod is killed on the way of a task: while it plans, while a step works, around the nod to its mail, and while it writes the
//! result. One plan, one mail, one result, and the steps of an undisturbed task.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::ModelRole;
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{World, max_wait};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep, timeout};

use super::invariants::{count, wait_for_count};
use super::{CREATE, CrashCase, CrashPoint, NOD, SEND, UserAction, killed_case, run_until_crash};

/// How often Nod is killed at random.
const KILLS: usize = 10;
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

/// Interrupted three times in one call of the model, the step asks before it is tried once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_three_times_at_one_point_a_step_asks() {
    let mut world = World::with_real_clock_on(Platform::Slack).await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    let death = CrashCase {
        at: vec![CrashPoint::Model(ModelRole::Reasoner); 3],
        ..killed_case("three times in one call", UserAction::Ask, CrashPoint::Acknowledged)
    };
    let ask = || world.chat.run_command_without_waiting("ana", DM, "task list my newest mail");
    let nod = run_until_crash(&world, nod, &death, ask).await;
    wait_for_text(&world, &death, "I was interrupted three times at the same point.").await;
    wait_for_text(&world, &death, "[Try this step again]").await;
    let message = world.find_message_with_button(DM, "Try this step again");
    world.chat.click_without_waiting("ana", DM, &message, "Try this step again");
    wait_for_text(&world, &death, "Ana Silva's task · Done · 1 step").await;
    world.wait_until_idle().await;
    let said = world.read_new(DM);
    assert!(said.contains("Went on after an interruption."), "{said}");
    assert_eq!(said.matches("# Done: List my newest mail").count(), 1, "{said}");
    world.kill_program(nod).await;
    world.finish().await;
}

/// A step that gets on after each interruption is not given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_gets_on_is_never_given_up() {
    let mut world = World::with_real_clock_on(Platform::Slack).await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let thinks = killed_case("as it thinks", UserAction::Ask, CrashPoint::Model(ModelRole::Reasoner));
    let ask =
        || world.chat.run_command_without_waiting("ana", DM, "task list my newest mail and tell Bo I'm late");
    let nod = run_until_crash(&world, nod, &thinks, ask).await;
    // As if it had been killed after each of seven commits.
    let counted =
        sqlx::query("update lanes set attempts = 7 where attempts > 0 and payload->>'work' = 'advance_run'")
            .execute(&world.pool)
            .await
            .unwrap();
    assert_eq!(counted.rows_affected(), 1);
    let list = CrashPoint::Google("gmail.users.messages.list", Fault::HangBefore);
    let nod = run_until_crash(&world, nod, &killed_case("as it reads", UserAction::Ask, list), || {}).await;
    wait_for_text(&world, &thinks, "[Approve & send]").await;
    world.wait_until_idle().await;
    world.click("ana", DM, "Stop").await;
    world.read_new(DM);
    world.kill_program(nod).await;
    world.finish().await;
}

/// Interrupted three times as its result is written, a task ends with what its steps have handed on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_three_times_at_its_result_a_task_loses_none_of_it() {
    interrupt_its_result(Platform::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_three_times_at_its_result_a_task_loses_none_of_it_on_discord() {
    interrupt_its_result(Platform::Discord).await;
}

async fn interrupt_its_result(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    let death = CrashCase {
        at: vec![CrashPoint::Model(ModelRole::Finaliser); 3],
        ..killed_case("three times at the result", UserAction::Ask, CrashPoint::Acknowledged)
    };
    let ask = || world.chat.run_command_without_waiting("ana", DM, "task list my newest mail");
    let nod = run_until_crash(&world, nod, &death, ask).await;
    wait_for_text(&world, &death, "# Done: List my newest mail").await;
    world.wait_until_idle().await;
    let said = world.read_new(DM).split_once('\n').unwrap().1.to_owned();
    insta::allow_duplicates! { insta::assert_snapshot!(said, @r"
        nod: # List my newest mail
          · Ana Silva's task · Done · 1 step
          ✓ 1 List my newest mail — I found no mail.
          · Went on after an interruption.
          [Run again] [Show details]
        nod: # Done: List my newest mail
          I was interrupted three times at the same point. This is what the steps handed on.

          List my newest mail

          I found no mail.
          [Raw] [As a file]
    "); }
    world.read_ephemerals("ana");
    world.kill_program(nod).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ten_times_at_random_a_task_is_done_once() {
    is_as_undisturbed(Platform::Slack, 7).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ten_times_at_random_a_task_is_done_once_on_discord() {
    is_as_undisturbed(Platform::Discord, 11).await;
}

const WISH: &str = "list my newest mail, then ask me which date: 12 March or 19 March, then put it into a file called plan, \
    then tell Bo I'm late";
/// What the person presses once it is there and Nod was killed so often, and again if nothing comes of it.
const PRESSES: [(&str, usize); 3] = [("19 March", 3), ("Approve & send", 6), ("Try this step again", 0)];

async fn is_as_undisturbed(platform: Platform, seed: u64) {
    let undisturbed = play(platform, seed, 0).await;
    assert_eq!(play(platform, seed, KILLS).await, undisturbed, "seed {seed}");
}

/// A mail is read, a date is asked for, a file is made, a mail waits for its nod, and a result comes. Nod is killed behind
/// every few requests that it makes, and while it waits for a person. Returns what the audit says of it.
async fn play(platform: Platform, seed: u64, most_kills: usize) -> Vec<String> {
    let mut world = World::with_real_clock_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let mut state = seed;
    let mut random = |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    let requests = |world: &World| world.model.all_requests().len() + world.google.calls().len();
    let until = Instant::now() + 30 * max_wait();
    let (mut kills, mut kills_on_the_way, mut kills_without_steps) = (0, 0, 0);
    let mut pressed: HashMap<&str, Instant> = HashMap::new();
    let mut next_kill = requests(&world) + 1;
    world.chat.run_command_without_waiting("ana", DM, &format!("task {WISH}"));
    loop {
        assert!(Instant::now() < until, "seed {seed}, {kills} kills:\n{}", world.chat.dump());
        let text = world.chat.channel_text(DM);
        let is_done = text.contains("Ana Silva's task · Done · 4 steps") && text.contains("# Done: ");
        if is_done && kills >= most_kills {
            break;
        }
        let shown = PRESSES.into_iter().filter(|(label, _)| text.contains(&format!("[{label}]")));
        let (early, due): (Vec<_>, Vec<_>) = shown.partition(|(_, least)| kills < (*least).min(most_kills));
        for (label, _) in due {
            if pressed.get(label).is_none_or(|at| at.elapsed() > Duration::from_secs(5)) {
                pressed.insert(label, Instant::now());
                let message = world.find_message_with_button(DM, label);
                world.chat.click_without_waiting("ana", DM, &message, label);
            }
        }
        // Interrupted three times as it plans or writes the result, it would give up.
        let without_steps = text.contains("Planning…") || text.contains("Writing the result…");
        let may_kill = (requests(&world) >= next_kill || !early.is_empty())
            && !(without_steps && kills_without_steps >= 2);
        if kills < most_kills && (may_kill || is_done) {
            sleep(Duration::from_millis(random(40))).await;
            world.kill_program(nod).await;
            nod = world.start_program(NOD).await;
            kills += 1;
            kills_on_the_way += usize::from(!is_done);
            kills_without_steps += usize::from(without_steps);
            next_kill = requests(&world) + 1 + usize::try_from(random(3)).unwrap_or_default();
        }
        sleep(Duration::from_millis(5)).await;
    }
    assert!(
        kills_on_the_way >= most_kills * 6 / 10,
        "seed {seed}: killed {kills_on_the_way} times before it was done"
    );
    world.wait_until_idle().await;
    let said = world.read_new(DM);
    let seen = |words: &str| said.matches(words).count();
    for words in [
        "# Done: List my newest mail",
        "→ Sent",
        "Here is the file from your task",
        "Which date? → 19 March",
        "[file plan.",
    ] {
        assert_eq!(seen(words), 1, "seed {seed}: {words}: {said}");
    }
    assert_eq!(said.contains("Went on after an interruption."), kills > 0, "seed {seed}: {said}");
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1, "seed {seed}");
    for (rows, wanted) in [
        ("tasks where summary is not null", 1),
        ("task_steps where status = 'done' and waits_for is null", 4),
        ("runs where workflow = 'step' and status = 'done'", 4),
        ("approvals", 1),
        ("questions where status = 'answered'", 1),
        ("audit where action = 'task.begun'", 1),
        ("audit where action = 'approval.requested'", 1),
        ("audit where action = 'approval.approved'", 1),
    ] {
        assert_eq!(
            count(&world, &format!("select count(*) from {rows}")).await,
            wanted,
            "seed {seed}: {rows}"
        );
    }
    let audit = sqlx::query_scalar("select action from audit order by at, action");
    let audit = audit.fetch_all(&world.pool).await.unwrap();
    world.read_ephemerals("ana");
    world.kill_program(nod).await;
    world.finish().await;
    audit
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
