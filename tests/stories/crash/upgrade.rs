//! A database of an earlier build is carried over, also by a build that is killed again and again while it migrates. For
//! some of the stories `NOD_TEST_EARLIER_BUILD` names the program of the earlier one:
//! `NOD_TEST_EARLIER_BUILD=PATH scripts/test --test stories -- --ignored crash::upgrade`

use std::time::Duration;

use nod_store::store::MIGRATOR;
use nod_tests::{Program, TestDatabase, World, find_link, max_wait};
use sqlx::{AssertSqlSafe, PgPool};
use tokio::time::sleep;

use super::invariants::{ExpectedReceipt, assert_invariants, wait_for_text};
use super::{NOD, click_approve};

/// The last migration before turns, lanes and records were stored as they are now.
const EARLIER: i64 = 41;
/// What a migration must not lose.
const KEPT: [&str; 7] = ["runs", "messages", "run_steps", "deliveries", "approvals", "effects", "jobs"];

/// Twenty thousand runs, and Nod is killed in the middle of a migration.
#[tokio::test]
async fn a_large_database_is_carried_over_whole() {
    let world = World::with_real_clock().await;
    let database = TestDatabase::with_samples_until(EARLIER).await;
    let pool = database.pool(2).await;
    sqlx::raw_sql(include_str!("large_database.sql")).execute(&pool).await.unwrap();
    let before = count_kept(&pool).await;
    let mut env = world.env.clone();
    env.insert("NOD_DATABASE__URL".to_owned(), database.url.clone());
    let env: Vec<(String, String)> = env.into_iter().collect();
    let program = Program::start(NOD, &env);
    let migrates = "select exists (select 1 from pg_stat_activity where datname = current_database()
         and pid <> pg_backend_pid() and state = 'active' and clock_timestamp() - xact_start > interval '100 ms')";
    wait_until(&pool, migrates).await;
    program.kill().await;
    let alone = "select not exists (select 1 from pg_stat_activity where datname = current_database() and state = 'active'
         and pid <> pg_backend_pid())";
    wait_until(&pool, alone).await;
    let newest = MIGRATOR.iter().map(|migration| migration.version).max().unwrap();
    let applied = applied_version(&pool).await;
    assert!((EARLIER..newest).contains(&applied), "killed too early or too late: {applied}");
    let program = Program::start(NOD, &env);
    wait_until(&pool, &format!("select max(version) = {newest} from _sqlx_migrations where success")).await;
    program.kill().await;
    assert_eq!(count_kept(&pool).await, before);
    let unnumbered: i64 = sqlx::query_scalar(
        "select count(*) from (select run_id from messages group by run_id having max(turn_number) + 1 <> count(*)) wrong",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(unnumbered, 0);
    pool.close().await;
    database.drop_database().await;
    world.finish().await;
}

async fn count_kept(pool: &PgPool) -> Vec<(&'static str, i64)> {
    let mut counts = Vec::new();
    for table in KEPT {
        let counted = sqlx::query_scalar(AssertSqlSafe(format!("select count(*) from {table}")));
        counts.push((table, counted.fetch_one(pool).await.unwrap()));
    }
    counts
}

async fn wait_until(pool: &PgPool, holds: &str) {
    let until = tokio::time::Instant::now() + max_wait();
    while !sqlx::query_scalar::<_, bool>(AssertSqlSafe(holds)).fetch_one(pool).await.unwrap() {
        assert!(tokio::time::Instant::now() < until, "never: {holds}");
        sleep(Duration::from_millis(5)).await;
    }
}

async fn applied_version(pool: &PgPool) -> i64 {
    sqlx::query_scalar("select max(version) from _sqlx_migrations where success")
        .fetch_one(pool)
        .await
        .unwrap()
}

fn earlier_build() -> String {
    std::env::var("NOD_TEST_EARLIER_BUILD").expect("NOD_TEST_EARLIER_BUILD is not set")
}

/// Starts this build several times, and kills it sooner or later while it migrates or has just begun.
async fn kill_while_it_migrates(world: &World) {
    let env: Vec<(String, String)> = world.env.clone().into_iter().collect();
    for millis in [20, 40, 60, 80, 100, 130, 160, 200, 250, 300] {
        let program = Program::start(NOD, &env);
        sleep(Duration::from_millis(millis)).await;
        program.kill().await;
        let applied = applied_version(&world.pool).await;
        eprintln!("killed after {millis} ms: the database is at {applied}");
    }
}

/// Ana has asked an earlier build, and these words of its answer stand. Also returns her message.
async fn ask_earlier_build(wish: &str, answer: &str) -> (World, Program, String) {
    let mut world = World::with_real_clock().await;
    world.env.insert("NOD_APPROVALS__UNDO".to_owned(), "10s".to_owned());
    // It has the tables of this build.
    for statement in ["drop schema public cascade", "create schema public"] {
        sqlx::query(statement).execute(&world.pool).await.unwrap();
    }
    // Each kill costs what was on its way a delivery, and Slack would give up.
    world.slack.change(|w| w.config.redeliveries = 30);
    let before = world.start_program(&earlier_build()).await;
    // Whether the earlier build is idle cannot be told from its tables.
    world.chat.run_command("ana", "general", "connect google").await;
    let link = find_link(&world.chat.newest_ephemeral("ana").unwrap()).unwrap();
    world.consent_as("ana", &link, "ana@acme.test", None).await;
    let asked = world.chat.say("ana", "general", None, wish);
    wait_for_text(&world, answer).await;
    (world, before, asked)
}

#[tokio::test]
#[ignore = "needs an earlier build"]
async fn a_waiting_card_of_an_earlier_build_is_still_approved() {
    let (mut world, before, _) = ask_earlier_build("@nod tell Bo I'm late", "[Approve & send]").await;
    world.kill_program(before).await;
    kill_while_it_migrates(&world).await;
    let program = world.start_program(NOD).await;
    click_approve(&world);
    wait_for_text(&world, "Sent to bo@acme.test").await;
    assert_invariants(&mut world, ExpectedReceipt::Sent).await;
    world.read_new("dm:ana");
    world.read_ephemerals("ana");
    world.kill_program(program).await;
    world.finish().await;
}

#[tokio::test]
#[ignore = "needs an earlier build"]
async fn a_mail_that_an_earlier_build_was_about_to_send_goes_out_once() {
    let (mut world, before, _) = ask_earlier_build("@nod tell Bo I'm late", "[Approve & send]").await;
    click_approve(&world);
    wait_for_text(&world, "[Undo]").await;
    world.kill_program(before).await;
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    kill_while_it_migrates(&world).await;
    let program = world.start_program(NOD).await;
    wait_for_text(&world, "Sent to bo@acme.test").await;
    assert_invariants(&mut world, ExpectedReceipt::Sent).await;
    world.read_new("dm:ana");
    world.read_ephemerals("ana");
    world.kill_program(program).await;
    world.finish().await;
}

#[tokio::test]
#[ignore = "needs an earlier build"]
async fn a_draft_of_an_earlier_build_is_changed_and_sent() {
    let wish = "@nod draft a mail to Bo saying I'm late";
    let (mut world, before, asked) = ask_earlier_build(wish, "Not sent yet.").await;
    world.kill_program(before).await;
    kill_while_it_migrates(&world).await;
    let program = world.start_program(NOD).await;
    world.chat.say("ana", "general", Some(&asked), "add Cho in copy");
    wait_for_text(&world, "Cc  cho@acme.test").await;
    world.chat.say("ana", "general", Some(&asked), "send it");
    wait_for_text(&world, "[Approve & send]").await;
    click_approve(&world);
    wait_for_text(&world, "Sent “Running late”").await;
    world.wait_until_idle().await;
    let sent = world.google.list_sent("ana@acme.test");
    let [mail] = &sent[..] else { panic!("not one mail: {sent:#?}") };
    assert_eq!(mail.cc, ["cho@acme.test"]);
    assert!(world.google.drafts("ana@acme.test").is_empty());
    world.read_new("general");
    world.read_new("dm:ana");
    world.read_ephemerals("ana");
    world.kill_program(program).await;
    world.finish().await;
}
