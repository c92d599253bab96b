//! What many documents cost: the time to take them in and the model's part of it, the time of a search, memory, and what a
//! conversation beside it notices. Nod runs as the real process, on the Postgres of `NOD_TEST_DATABASE_URL`; the
//! embedding model is a fake that costs nearly nothing, or the one in `NOD_MODEL_DIR`.
//!
//! `NOD_BENCH_DOCUMENTS` says how many there are (500 without it); each has ten chunks.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::large_futures)]

mod conversation;
mod figures;
mod library;
mod memory;

use std::path::Path;
use std::time::{Duration, Instant};

use nod_sandbox::model::{Answer, Model, ModelConfig};
use nod_sandbox::slack::User;
use nod_tests::{Program, World};
use tokio::process::Command;

use conversation::ConversationLoad;
use figures::{DisplayDuration, ProcessStats, quantile};
use library::Library;

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");
/// The people of the company, and how many of them talk at once while documents are taken in. Each has a DM, because Slack
/// takes one message a second in each.
const PEOPLE: usize = 200;
const CONCURRENT_PEOPLE: usize = 4;
const TURNS: usize = 40;
const QUESTIONS: usize = 300;
/// How many numbers a vector of the fake has: as many as all-MiniLM-L6-v2's.
const DIMENSION: usize = 384;

#[tokio::main]
async fn main() {
    let built = if cfg!(debug_assertions) { "without optimisation" } else { "optimised" };
    println!("nod-under-test, built {built}; {} cores", std::thread::available_parallelism().unwrap());
    let count = std::env::var("NOD_BENCH_DOCUMENTS").map_or(500, |count| count.parse().unwrap());
    let mut world = World::with_real_clock().await;
    let model = start_embedding_model(&mut world).await;
    for number in 0..PEOPLE {
        let name = conversation::handle_of(number);
        world.slack.add_user(User::new(&name, &name));
    }
    let nod = world.start_program(NOD).await;
    let talk = ConversationLoad::listen(&world);
    talk.run_concurrently(PEOPLE, 1).await;
    println!("\n{CONCURRENT_PEOPLE} conversations, {TURNS} turns each, before");
    talk.run_concurrently(CONCURRENT_PEOPLE, TURNS).await.print();

    let mut library = Library::new();
    let folder = tempfile::tempdir().unwrap();
    library.write(folder.path(), count);
    let (begun, cpu) = (Instant::now(), ProcessStats::load(nod.id()).cpu);
    let take_in = async {
        let problem = ingest(&world, folder.path()).await;
        assert!(problem.is_empty(), "{problem}");
        begun.elapsed()
    };
    let (took, ()) = tokio::join!(take_in, async {
        println!("\nthe same while documents are taken in");
        talk.run_concurrently(CONCURRENT_PEOPLE, TURNS).await.print();
    });
    let cpu = ProcessStats::load(nod.id()).cpu - cpu;
    print_ingestion(&world, count, took, cpu, model.as_ref()).await;

    ask(&world, &mut library).await;
    print_memory(&world, &nod).await;
    world.kill_program(nod).await;
    println!("\nafter a restart, which reads the index at once");
    let nod = world.start_program(NOD).await;
    ask(&world, &mut library).await;
    print_memory(&world, &nod).await;
    world.kill_program(nod).await;
    world.discard().await;
}

/// Returns the fake, if it is one.
async fn start_embedding_model(world: &mut World) -> Option<Model> {
    if let Ok(folder) = std::env::var("NOD_MODEL_DIR") {
        world.env.insert("NOD_EMBEDDINGS__MODEL_DIR".to_owned(), folder);
        return None;
    }
    let model = Model::start(ModelConfig::default()).await.unwrap();
    model.set_embedding_dimension(DIMENSION);
    for (setting, value) in
        [("BASE_URL", model.base_url()), ("API_KEY", "sk-bench".to_owned()), ("MODEL", "fake".to_owned())]
    {
        world.env.insert(format!("NOD_EMBEDDINGS__{setting}"), value);
    }
    Some(model)
}

/// Has a folder taken in for everyone, and returns what the command said if it failed.
async fn ingest(world: &World, folder: &Path) -> String {
    let keep = ["PATH", "HOME"].into_iter().filter_map(|n| Some((n.to_owned(), std::env::var(n).ok()?)));
    let output = Command::new(NOD)
        .args([Path::new("ingest"), folder, Path::new("--audience"), Path::new("everyone")])
        .env_clear()
        .envs(keep)
        .envs(world.env.clone())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    if output.status.success() { String::new() } else { said }
}

async fn print_ingestion(world: &World, count: usize, took: Duration, cpu: Duration, model: Option<&Model>) {
    let (documents, chunks, windows): (i64, i64, i64) = sqlx::query_as(
        "select (select count(*) from documents where status = 'indexed'), (select count(*) from document_chunks),
             (select coalesce(sum(cardinality(scales)), 0) from chunk_vectors)",
    )
    .fetch_one(&world.pool)
    .await
    .unwrap();
    assert_eq!(usize::try_from(documents).unwrap(), count, "not all were taken in");
    println!("\n{documents} documents, {chunks} chunks, {windows} windows");
    println!("  taken in after {:.1} s, {:.1} s of Nod's CPU", took.as_secs_f64(), cpu.as_secs_f64());
    if let Some(model) = model {
        println!("  the fake model answered for {:.1} s of it", model.total_response_time().as_secs_f64());
    }
}

/// Asks questions, one after another. Each is looked up by a step of its own, whose time Nod stores.
async fn ask(world: &World, library: &mut Library) {
    for number in 0..QUESTIONS {
        world.script_model("retrieval", [Answer::text("I do not know.")]);
        let name = conversation::handle_of(number % PEOPLE);
        world.say(&name, &format!("dm:{name}"), &format!("what about {}?", library.write_question())).await;
    }
    let steps: Vec<i64> = sqlx::query_scalar(
        "select duration_us from (
             select duration_us, started_at from run_steps where name = 'retrieve_knowledge_base'
             order by started_at desc limit $1) newest
         order by started_at",
    )
    .bind(i64::try_from(QUESTIONS).unwrap())
    .fetch_all(&world.pool)
    .await
    .unwrap();
    let times: Vec<Duration> = steps.iter().map(|time| Duration::from_micros(time.cast_unsigned())).collect();
    let (first, others) = times.split_first().unwrap();
    println!("\n{} searches, with the embedding of the question", times.len());
    println!("  the first: {}", DisplayDuration(*first));
    println!(
        "  the others: median {}, p95 {}, p99 {}, slowest {}",
        quantile(others, 0.5),
        quantile(others, 0.95),
        quantile(others, 0.99),
        quantile(others, 1.0)
    );
}

async fn print_memory(world: &World, nod: &Program) {
    let stats = ProcessStats::load(nod.id());
    println!("\nmemory of Nod: {} MiB now, {} MiB at most", stats.resident >> 10, stats.peak >> 10);
    let backend: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&world.pool).await.unwrap();
    match memory::of_server(backend.cast_unsigned()) {
        Some(kib) => println!("memory of Postgres, what its processes share counted once: {} MiB", kib >> 10),
        None => println!("memory of Postgres: NOT CHECKED, it does not run here"),
    }
}
