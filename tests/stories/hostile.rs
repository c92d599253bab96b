//! A mailbox that is made to harm its reader. Ana has all of it read, and the other people who talk with Nod meanwhile
//! get their answers. How long they wait is printed and never asserted:
//!
//! `NOD_TEST_HOSTILE=1000 scripts/test -p nod-tests --test stories -- hostile:: --nocapture`

use std::cell::Cell;
use std::time::{Duration, Instant};

use nod_sandbox::model::{Answer, ScriptedAnswer};
use nod_sandbox::slack::{Message, World as Workspace};
use nod_tests::hostile::{self, Class};
use nod_tests::{Program, World, max_wait};
use serde_json::json;
use sqlx::AssertSqlSafe;
use tokio::time::sleep;

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");
const ANA: &str = "ana@acme.test";
/// What only Ana says.
const WISH: &str = "read on in my mail";
const SEND: &str = "Approve & send";
/// The number of mails, unless the environment asks for more.
const FEW: usize = 100;
/// The number of mails in one turn.
const AT_ONCE: usize = 5;
/// The messages of each of the others before any mail is read.
const QUIET: usize = 10;
/// The pause between two of their messages: no channel takes two messages within a second.
const PACE: Duration = Duration::from_millis(1_100);
/// The time limit of a turn in which every mail keeps its reader busy until the reader's own time limit.
const TURN: Duration = Duration::from_secs(300);
/// The memory limit of Nod itself, in KiB.
const MAX_MEMORY_KIB: u64 = 300 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_mailbox_is_read_through_and_the_others_are_answered() {
    let wanted = std::env::var("NOD_TEST_HOSTILE").map_or(FEW, |wanted| wanted.parse().unwrap());
    let mut world = World::with_real_clock().await;
    let nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    let spoken = Cell::new(0);
    let few = || {
        spoken.set(spoken.get() + 1);
        spoken.get() <= 2 * QUIET
    };
    let quiet =
        tokio::join!(measure_answer_times(&world, "bo", few), measure_answer_times(&world, "cho", few));

    let mails: Vec<_> = hostile::mails(wanted, ANA, 1).map(|mail| delivered(&world, mail)).collect();
    let (begun, reading) = (Instant::now(), Cell::new(true));
    let ana = async {
        for (turn, mails) in mails.chunks(AT_ONCE).enumerate() {
            reads(&world, mails, turn + 1).await;
        }
        reading.set(false);
    };
    let ((), bo, cho) = tokio::join!(
        ana,
        measure_answer_times(&world, "bo", || reading.get()),
        measure_answer_times(&world, "cho", || reading.get())
    );
    let took = begun.elapsed();
    world.wait_until_idle().await;

    let memory = peak(&nod);
    eprintln!("{} mails in {} s, {} MiB at most", mails.len(), took.as_secs(), memory >> 10);
    eprintln!("quiet: {}", figures(quiet));
    eprintln!("loud: {}", figures((bo, cho)));
    assert!(memory < MAX_MEMORY_KIB, "{memory} KiB");
    let told = texts_sent_to_model(&world);
    assert!(told.len() > mails.len(), "{} of {}", told.len(), mails.len());
    let refused: Vec<&String> = told.iter().filter(|told| told.starts_with("{\"error\"")).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(count(&world, "approvals").await > 0, "nothing was asked");
    for nothing in [
        "dead_jobs",
        "runs where status <> 'done'",
        "approvals where status = 'pending'",
        "deliveries where posted_version is distinct from version",
    ] {
        assert_eq!(count(&world, nothing).await, 0, "{nothing}");
    }
    for channel in ["dm:ana", "dm:bo", "dm:cho"] {
        world.read_new(channel);
    }
    world.kill_program(nod).await;
    world.finish().await;
}

/// A mail in Ana's mailbox.
struct Delivered {
    class: Class,
    id: String,
    file: Option<String>,
}

fn delivered(world: &World, mail: hostile::Mail) -> Delivered {
    let id = world.google.deliver_raw(ANA, &mail.raw);
    Delivered {
        class: mail.class,
        id: id.unwrap_or_else(|e| panic!("{:?}: {e}", mail.class)),
        file: mail.file,
    }
}

/// Ana has Nod read these mails with their attachments, and answer one with hostile headers if that is possible.
async fn reads(world: &World, mails: &[Delivered], turn: usize) {
    let mut calls = vec![("gmail_list_recent", json!({}))];
    for Delivered { id, file, .. } in mails {
        // A thread's id is the id of its first mail.
        calls.push(("gmail_read_thread", json!({ "thread_id": id })));
        let read = |name| ("gmail_read_attachment", json!({ "message_id": id, "name": name }));
        calls.extend(file.iter().map(read));
    }
    let odd = |mail: &&Delivered| matches!(mail.class, Class::Sender | Class::Recipients | Class::Subject);
    let answered = &mails.iter().find(odd).unwrap_or(&mails[0]).id;
    let end = format!("That was part {turn}.");
    let wish = Answer::json(&json!({ "intent": "tool", "tool": null }));
    let reply = json!({ "thread_id": answered, "body": "No, thank you.", "all": true });
    for answer in [wish, Answer::tools(calls), Answer::tool("gmail_reply", reply), Answer::text(&end)] {
        world
            .model
            .script(ScriptedAnswer::from(answer).with_condition(|asked| asked.to_string().contains(WISH)));
    }
    world.chat.say("ana", "dm:ana", None, WISH);
    let line = world.slack.dm("ana");
    let ended = |slack: &Workspace| {
        slack.messages(&line).iter().any(|one| one.is_from_bot && one.text.contains(&end)).then_some(None)
    };
    let card = |slack: &Workspace| {
        let asks = |one: &&Message| json!(one.blocks).to_string().contains(&format!("\"{SEND}\""));
        slack.messages(&line).iter().rev().find(asks).map(|one| Some(one.ts.clone()))
    };
    let asked = world.slack.wait_for(&end, TURN, |slack| ended(slack).or_else(|| card(slack))).await;
    if let Some(card) = asked {
        world.chat.click("ana", "dm:ana", &card, SEND).await;
        world.slack.wait_for(&end, max_wait(), ended).await;
    }
}

/// Returns what the model received of the mails: their text, or why they were not read.
fn texts_sent_to_model(world: &World) -> Vec<String> {
    let mut told = Vec::new();
    for asked in world.model.requests() {
        let turns = asked["messages"].as_array().unwrap().iter().rev();
        let results = turns.take_while(|turn| turn["role"] == "tool");
        let words: Vec<_> = results.map(|turn| turn["content"].as_str().unwrap().to_owned()).collect();
        // Only the reading calls are made together.
        if words.len() > 1 {
            told.extend(words);
        }
    }
    told
}

/// Sends one message after another and waits for each answer. Returns the waiting times.
async fn measure_answer_times(world: &World, who: &str, on: impl Fn() -> bool) -> Vec<Duration> {
    let (line, mut waited) = (world.slack.dm(who), Vec::new());
    let answers = |slack: &Workspace| slack.messages(&line).iter().filter(|one| one.is_from_bot).count();
    while on() {
        sleep(PACE).await;
        let before = world.slack.read(answers);
        let said = Instant::now();
        world.chat.say(who, &format!("dm:{who}"), None, "thanks!");
        let more = |slack: &Workspace| (answers(slack) > before).then_some(());
        world.slack.wait_for(&format!("an answer to {who}"), max_wait(), more).await;
        waited.push(said.elapsed());
    }
    waited
}

/// Returns the peak resident memory in KiB.
fn peak(nod: &Program) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", nod.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has ended");
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Formats the time within which most messages were answered.
fn figures((bo, cho): (Vec<Duration>, Vec<Duration>)) -> String {
    let mut all = [bo, cho].concat();
    all.sort();
    let within = |of_hundred: usize| all[(all.len() * of_hundred).div_ceil(100) - 1].as_millis();
    format!("{} answers, half within {} ms, 95 of 100 within {} ms", all.len(), within(50), within(95))
}

async fn count(world: &World, what: &str) -> i64 {
    let count = AssertSqlSafe(format!("select count(*) from {what}"));
    sqlx::query_scalar(count).fetch_one(&world.pool).await.unwrap()
}
