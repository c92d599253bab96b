//! Rows that nobody needs any longer are deleted once a day, a few at a time.

use chrono::TimeDelta;
use nod_contract::clock::Clock;
use nod_sandbox::model::Answer;
use nod_tests::World;
use sqlx::AssertSqlSafe;

use crate::mail::late_mail_call;

async fn run_sql(world: &World, statements: &str) {
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(&world.pool).await.unwrap();
}

async fn count(world: &World, rows: &str) -> i64 {
    let query = AssertSqlSafe(format!("select count(*) from {rows}"));
    sqlx::query_scalar(query).fetch_one(&world.pool).await.unwrap()
}

/// Makes the job due, and waits until it has done what it can.
async fn tidy(world: &World) {
    let now = world.clock.now();
    let due = "update lanes set due_at = $1 where payload->>'work' = 'tidy'";
    let done = sqlx::query(due).bind(now).execute(&world.pool).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
    world.nod().wake();
    world.wait_until_idle().await;
}

/// Adds arrivals of long ago, and one of today.
async fn add_arrivals(world: &World, old: u32) {
    let add = format!(
        "insert into inbound (tenant_id, platform, key, kind, received_at)
             select id, 'slack', 'old:' || lpad(n::text, 5, '0'), 'message', '2026-01-01 09:30Z'
             from tenants, generate_series(1, {old}) n;
         insert into inbound (tenant_id, platform, key, kind, received_at)
             select id, 'slack', 'old:00100:not', 'message', '2026-03-06 09:30Z' from tenants"
    );
    run_sql(world, &add).await;
}

#[tokio::test]
async fn what_is_older_than_it_is_kept_is_deleted_and_what_somebody_needs_stays() {
    let mut world = World::with_undo_window().await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "dm:ana", "hello").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let aged = "
        update runs set updated_at = updated_at - interval '31 days', finished_at = finished_at - interval '31 days';
        update inbound set received_at = received_at - interval '15 days';
        update rate_limits set next_post_at = next_post_at - interval '2 hours';
        insert into recalled_contexts (tenant_id, run_id, first_turn, only_for, body)
            select tenant_id, id, 0, person_id, '{}' from runs on conflict do nothing;
        insert into old_run_steps (tenant_id, run_id, invocation_id, kind, name, started_at, duration_us)
            select tenant_id, id, gen_random_uuid(), 'node', 'route', created_at, 1 from runs;
        insert into dead_jobs (tenant_id, id, lane_id, payload, attempts, error, dead_lettered_at)
            select tenant_id, row_number() over (), conversation_id,
                jsonb_build_object('work', 'advance_run', 'run', id), 5, 'no answer', '2025-11-01 09:30Z' from runs";
    run_sql(&world, aged).await;
    run_sql(
        &world,
        "insert into dead_jobs (tenant_id, id, lane_id, payload, attempts, error, dead_lettered_at)
             select id, 3, gen_random_uuid(), '{}', 5, 'no answer', '2026-02-01 09:30Z' from tenants",
    )
    .await;
    world.script_model("conversational", [Answer::text("Hello again.")]);
    world.say("ana", "dm:ana", "hello again").await;
    assert_eq!(count(&world, "runs where status = 'waiting'").await, 1);
    let arrivals = count(&world, "inbound where received_at < '2026-03-01'").await;
    assert!(arrivals >= 2 && count(&world, "inbound").await > arrivals);
    tidy(&world).await;
    assert_eq!(count(&world, "inbound where received_at < '2026-03-01'").await, 0);
    assert!(count(&world, "inbound").await > 0);
    // The first talk is over, the request still waits, and the second talk is of today.
    let kept = "runs r where exists (select from step_records s where s.run_id = r.id)";
    assert_eq!(count(&world, kept).await, 2);
    assert_eq!(count(&world, "old_run_steps").await, 1);
    assert_eq!(count(&world, "recalled_contexts").await, 2);
    assert_eq!(count(&world, "dead_jobs").await, 2);
    let ended = world.clock.now() - TimeDelta::hours(1);
    let limits: i64 = sqlx::query_scalar("select count(*) from rate_limits where next_post_at < $1")
        .bind(ended)
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(limits, 0);
    // What waited goes on.
    world.click("ana", "general", "Approve & send").await;
    world.advance_past_undo_window().await;
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

#[tokio::test]
async fn a_job_that_failed_between_two_batches_goes_on_at_the_second() {
    let world = World::new().await;
    add_arrivals(&world, 1_200).await;
    run_sql(
        &world,
        "create function fail() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$;
         create trigger fail before delete on inbound for each row when (old.key = 'old:00700') execute function fail()",
    )
    .await;
    tidy(&world).await;
    let left = "inbound where key like 'old:%'";
    // Of the first 500 keys, one is of today.
    assert_eq!(count(&world, left).await, 1_201 - 499);
    assert_eq!(count(&world, "lanes where payload->'position'->'from'->>1 = 'old:00500'").await, 1);
    run_sql(&world, "drop trigger fail on inbound").await;
    tidy(&world).await;
    assert_eq!(count(&world, left).await, 1);
    // It comes again tomorrow.
    let tomorrow: Vec<(i32, chrono::DateTime<chrono::Utc>)> =
        sqlx::query_as("select attempts, due_at from lanes where payload->>'work' = 'tidy'")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    assert_eq!(tomorrow, [(0, world.clock.now() + TimeDelta::days(1))]);
    world.finish().await;
}

#[tokio::test]
async fn other_work_that_is_due_comes_before_the_next_batch() {
    let world = World::new().await;
    add_arrivals(&world, 1_200).await;
    // Something is to be done from the first batch on.
    run_sql(
        &world,
        "create function add_work() returns trigger language plpgsql as $$ begin
             perform enqueue_once(id, '00000000-0000-0000-0000-0000000000ff',
                 '{\"work\": \"tidy\", \"position\": {\"table\": \"rate_limits\", \"from\": null}}', '2026-03-06 09:30Z')
             from tenants;
             return null;
         end $$;
         create trigger add_work after delete on inbound execute function add_work()",
    )
    .await;
    tidy(&world).await;
    let left = "inbound where key like 'old:%'";
    assert_eq!(count(&world, left).await, 1_201 - 499);
    run_sql(&world, "drop trigger add_work on inbound").await;
    world.advance(TimeDelta::seconds(30)).await;
    assert_eq!(count(&world, left).await, 1);
    world.finish().await;
}
