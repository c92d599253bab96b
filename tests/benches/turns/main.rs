//! How fast Nod is: acknowledgement under load, its own time in a turn, turns per second, CPU, memory, database work,
//! and the time until it is ready. Nod runs as the real process, on the Postgres of `NOD_TEST_DATABASE_URL`; everything
//! else is the sandbox, on loopback. It ends by itself after two minutes.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::large_futures)]

mod conversation;
mod figures;
mod proxy;

use std::time::{Duration, Instant};

use nod_sandbox::model::{Model, ModelConfig};
use nod_sandbox::slack::{Delivery, User};
use nod_tests::{Program, World};
use tokio::time::sleep;

use conversation::ConversationLoad;
use figures::{ProcessStats, quantile};

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");
/// The people of the company, and how many of them talk at once.
const PEOPLE: usize = 200;
const CONCURRENT_PEOPLE: usize = 20;
/// The latency of a fast model; a turn asks two, the router and the reasoner.
const MODEL_LATENCY: Duration = Duration::from_millis(400);
/// The time between the starts of two people, who do not begin in the same instant.
const STAGGER: Duration = Duration::from_millis(40);

#[tokio::main]
async fn main() {
    let built = if cfg!(debug_assertions) { "without optimisation" } else { "optimised" };
    println!("nod-under-test, built {built}; {} cores", std::thread::available_parallelism().unwrap());
    let mut world = World::with_real_clock().await;
    // Requests after a reply go to another model: no user waits for them, so they are not part of a turn's time.
    let aside = Model::start(ModelConfig { rules: true, ..ModelConfig::default() }).await.unwrap();
    world.env.insert("NOD_LLM__SUMMARISER__BASE_URL".to_owned(), aside.base_url());
    for number in 0..PEOPLE {
        let name = conversation::handle_of(number);
        world.slack.add_user(User::new(&name, &name));
    }
    bench_database(&world).await;
    bench_turns(&world).await;
    bench_queries(&world).await;
    bench_startup(&world).await;
    world.discard().await;
}

async fn bench_database(world: &World) {
    let said: Vec<String> = sqlx::query_scalar(
        "select name || ' ' || setting from pg_settings
         where name in ('server_version', 'fsync', 'synchronous_commit') order by name",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    println!("Postgres: {}", said.join(", "));
}

async fn bench_turns(world: &World) {
    let nod = world.start_program(NOD).await;
    let talk = ConversationLoad::listen(world);
    talk.run_concurrently(PEOPLE, 1).await; // Everybody is known and every connection is open.
    wait_until_idle(world).await;

    println!("\none conversation, 60 turns");
    let all = talk.run_concurrently(1, 60).await;
    all.print();
    println!("  first ten {}, last ten {}", quantile(&all.walls[..10], 0.5), quantile(&all.walls[50..], 0.5));

    println!(
        "\n{CONCURRENT_PEOPLE} conversations at once, 20 turns each, a model that takes {MODEL_LATENCY:?} for an answer"
    );
    world.model.thinks(MODEL_LATENCY);
    talk.run_staggered(CONCURRENT_PEOPLE, 20, STAGGER).await.print();
    world.model.thinks(Duration::ZERO);

    println!(
        "\n{CONCURRENT_PEOPLE} conversations at once, 10 turns each, a model that takes no time: both cores are full"
    );
    talk.run_concurrently(CONCURRENT_PEOPLE, 10).await.print();

    println!("\n8 conversations at once, 25 turns each");
    let before = ProcessStats::load(nod.id());
    let begun = Instant::now();
    let all = talk.run_concurrently(8, 25).await;
    let (took, cpu) = (begun.elapsed(), ProcessStats::load(nod.id()).cpu - before.cpu);
    all.print();
    let turns = u32::try_from(all.walls.len()).unwrap();
    println!(
        "  {:.1} turns a second; {:.1} ms of CPU a turn",
        f64::from(turns) / took.as_secs_f64(),
        cpu.as_secs_f64() * 1000.0 / f64::from(turns)
    );

    println!("\n100 events a second for 10 s, from {PEOPLE} people (and Slack's echo of each answer)");
    let earlier = world.slack.ack_times().len();
    let begun = Instant::now();
    for event in 0..1000_u32 {
        tokio::time::sleep_until((begun + Duration::from_millis(10) * event).into()).await;
        conversation::say(&world.slack, &conversation::handle_of(usize::try_from(event).unwrap() % PEOPLE));
    }
    wait_until_idle(world).await;
    let acks = world.slack.ack_times().split_off(earlier);
    println!(
        "  {} acknowledged: median {}, p99 {}, slowest {}",
        acks.len(),
        quantile(&acks, 0.5),
        quantile(&acks, 0.99),
        quantile(&acks, 1.0)
    );
    let given_up = world.slack.list_unacknowledged().len();
    if given_up > 0 {
        println!("  {given_up} given up by Slack: never acknowledged in time");
    }
    println!("  all answered after {:.1} s", begun.elapsed().as_secs_f64());
    let end = ProcessStats::load(nod.id());
    println!("  memory: {} MiB now, {} MiB at most", end.resident >> 10, end.peak >> 10);
    world.kill_program(nod).await;
}

/// Waits until there is nothing to do, however long the backlog is.
async fn wait_until_idle(world: &World) {
    let until = Instant::now() + Duration::from_secs(120);
    let busy = "select exists (select 1 from lanes where due_at <= now())";
    while world.slack.list_unacknowledged().iter().any(|e| e.state != Delivery::Abandoned)
        || sqlx::query_scalar::<_, bool>(busy).fetch_one(&world.pool).await.unwrap()
    {
        assert!(Instant::now() < until, "it does not become quiet");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Measures what a turn costs the database, counted on the wire.
async fn bench_queries(world: &World) {
    let proxy = proxy::start(&world.env["NOD_DATABASE__URL"]).await;
    let mut env = world.env.clone();
    env.insert("NOD_DATABASE__URL".to_owned(), proxy.url.clone());
    let nod = world.start_program_with(NOD, &env).await;
    let talk = ConversationLoad::listen(world);
    talk.run_concurrently(1, 5).await;
    wait_until_idle(world).await;
    let before = proxy.snapshot();
    let turns = 40;
    talk.run_concurrently(1, turns).await;
    wait_until_idle(world).await;
    let counted = proxy.snapshot() - before;
    println!("\ndatabase work of one turn (of {turns}): {counted}", counted = counted.per_turn(turns));
    world.kill_program(nod).await;
}

/// Measures the time from the start of the process until it is ready.
async fn bench_startup(world: &World) {
    println!("\nready (/readyz answers 200) after");
    for _ in 0..3 {
        println!("  {} with a migrated database", measure_startup(&world.env).await);
    }
    let mut env = world.env.clone();
    env.remove("NOD_DATABASE__URL");
    println!("  {} with its own database, which it makes first", measure_startup(&env).await);
    for _ in 0..3 {
        println!("  {} with its own database", measure_startup(&env).await);
    }
}

async fn measure_startup(env: &std::collections::BTreeMap<String, String>) -> figures::DisplayDuration {
    let env: Vec<(String, String)> = env.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    let bind = env.iter().find(|(name, _)| name == "NOD_SERVER__BIND").map(|(_, at)| at.clone()).unwrap();
    let http = reqwest::Client::new();
    let begun = Instant::now();
    let nod = Program::start(NOD, &env);
    loop {
        match http.get(format!("http://{bind}/readyz")).send().await {
            Ok(answer) if answer.status().is_success() => break,
            _ => sleep(Duration::from_millis(2)).await,
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "never ready");
    }
    let took = begun.elapsed();
    nod.stop().await;
    figures::DisplayDuration(took)
}
