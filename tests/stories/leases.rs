//! Leases of lanes: who gets one, and who does not look at lanes that others hold.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nod_contract::clock::SystemClock;
use nod_sandbox::model::Answer;
use nod_store::jobs::sql::complete;
use nod_store::jobs::{Claim, Dispatcher, Handlers, JobHandler, JobNotifier, Loaded, WorkError};
use nod_tests::chat::Platform;
use nod_tests::{TestDatabase, World};
use serde_json::json;
use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

on_each_platform!(a_message_is_begun_without_a_claim, a_heartbeat_during_the_last_commit_loses_nothing);

/// The jobs that a claim gets, each with its attempt.
const CLAIM: &str = "select id, attempts from claim_jobs(now(), 10, 16) where id is not null order by id";

/// Inserts lanes of one job, which somebody leased an hour after it was due. The lease ends in this time, or has ended.
async fn insert_leased(pool: &PgPool, jobs: std::ops::RangeInclusive<i64>, ends_in: &str) {
    let insert = format!(
        "insert into lanes (tenant_id, id, due_at, job, payload, created_at, attempts, lease_id, leased_until)
         select gen_random_uuid(), gen_random_uuid(), now() - interval '1 hour', n, '{{}}', now(), 1, gen_random_uuid(),
             clock_timestamp() + interval '{ends_in}'
         from generate_series($1, $2) n"
    );
    sqlx::query(AssertSqlSafe(insert)).bind(jobs.start()).bind(jobs.end()).execute(pool).await.unwrap();
}

async fn claim(pool: &PgPool) -> Vec<(i64, i32)> {
    let mut conn = pool.acquire().await.unwrap();
    sqlx::query("set lock_timeout = '5s'").execute(&mut *conn).await.unwrap();
    sqlx::query_as(CLAIM).fetch_all(&mut *conn).await.unwrap()
}

#[tokio::test]
async fn an_expired_lease_is_taken_over_and_a_living_one_is_not() {
    let database = TestDatabase::new().await;
    let pool = database.pool(2).await;
    insert_leased(&pool, 1..=1, "-1 second").await;
    insert_leased(&pool, 2..=2, "1 hour").await;
    assert_eq!(claim(&pool).await, [(1, 2)]);
    assert_eq!(claim(&pool).await, []);
    pool.close().await;
    database.drop_database().await;
}

#[tokio::test]
async fn a_lane_that_its_late_holder_has_locked_is_left_alone() {
    let database = TestDatabase::new().await;
    let pool = database.pool(2).await;
    insert_leased(&pool, 1..=1, "-1 second").await;
    let mut late = nod_store::store::begin(&pool).await.unwrap();
    sqlx::query("select from lanes for update").execute(&mut *late).await.unwrap();
    assert_eq!(claim(&pool).await, []);
    late.rollback().await.unwrap();
    assert_eq!(claim(&pool).await, [(1, 2)]);
    pool.close().await;
    database.drop_database().await;
}

#[tokio::test]
async fn a_holder_that_lost_its_lease_ends_nothing() {
    let database = TestDatabase::new().await;
    let pool = database.pool(2).await;
    insert_leased(&pool, 1..=1, "-1 second").await;
    let (tenant, lane, lost): (Uuid, Uuid, Uuid) =
        sqlx::query_as("select tenant_id, id, lease_id from lanes").fetch_one(&pool).await.unwrap();
    claim(&pool).await;
    for end in ["complete_job($1, $2, $3, 1, now(), 10, 4)", "end_job($1, $2, $3, 1, now(), 10)"] {
        let ended = format!("select count(*) from {end}");
        let ended = sqlx::query_scalar(AssertSqlSafe(ended)).bind(tenant).bind(lane).bind(lost);
        let ended: i64 = ended.fetch_one(&pool).await.unwrap();
        let lanes: i64 = sqlx::query_scalar("select count(*) from lanes").fetch_one(&pool).await.unwrap();
        assert_eq!((ended, lanes), (0, 1), "{end}");
    }
    pool.close().await;
    database.drop_database().await;
}

/// Ends the first job of the only lane. Returns the next one if it is leased, or when it is due, in hours.
async fn end_first(conn: &mut PgConnection, seconds: Option<f64>) -> (Option<i64>, Option<i32>, Option<i32>) {
    sqlx::query_as(
        "select e.id, e.attempts, round(extract(epoch from e.next_due_at - now()) / 3600)::integer
         from lanes l, end_job(l.tenant_id, l.id, l.lease_id, l.job, now(), $1) e",
    )
    .bind(seconds)
    .fetch_one(conn)
    .await
    .unwrap()
}

#[tokio::test]
async fn the_end_of_a_job_leases_the_next_one_of_its_lane() {
    let database = TestDatabase::new().await;
    let pool = database.pool(1).await;
    insert_leased(&pool, 1..=1, "1 hour").await;
    let mut conn = pool.acquire().await.unwrap();
    for (job, due) in [(2, "now()"), (3, "now()"), (4, "now() + interval '2 hours'")] {
        let queue = format!(
            "with lane as (update lanes set queued = queued + 1 returning tenant_id, id)
             insert into queued_jobs (tenant_id, lane_id, id, payload, run_at, created_at)
             select tenant_id, id, {job}, '{{}}', {due}, now() from lane"
        );
        sqlx::query(AssertSqlSafe(queue)).execute(&mut *conn).await.unwrap();
    }
    assert_eq!(end_first(&mut conn, Some(10.0)).await, (Some(2), Some(1), None));
    // Its process is stopping.
    assert_eq!(end_first(&mut conn, None).await, (None, None, Some(0)));
    sqlx::query("select from claim_jobs(now(), 10, 1)").execute(&mut *conn).await.unwrap();
    assert_eq!(end_first(&mut conn, Some(10.0)).await, (None, None, Some(2)));
    drop(conn);
    assert_eq!(claim(&pool).await, []);
    pool.close().await;
    database.drop_database().await;
}

#[tokio::test]
async fn a_plan_made_while_there_were_no_lanes_finds_one_of_many() {
    let database = TestDatabase::new().await;
    let pool = database.pool(1).await;
    sqlx::query("set enable_seqscan = off").execute(&pool).await.unwrap();
    sqlx::query("analyze lanes").execute(&pool).await.unwrap();
    insert_leased(&pool, 1..=1, "1 hour").await;
    let mut conn = pool.acquire().await.unwrap();
    end_first(&mut conn, Some(10.0)).await;
    drop(conn);
    insert_leased(&pool, 1..=2_000, "1 hour").await;
    let mut tx = nod_store::store::begin(&pool).await.unwrap();
    let (tenant, lane, lease): (Uuid, Uuid, Uuid) =
        sqlx::query_as("select tenant_id, id, lease_id from lanes where job = 7")
            .fetch_one(&mut *tx)
            .await
            .unwrap();
    let before = count_visited(&mut tx).await;
    let end =
        sqlx::query("select from end_job($1, $2, $3, 7, now(), 10)").bind(tenant).bind(lane).bind(lease);
    let ended = end.execute(&mut *tx).await.unwrap().rows_affected();
    let visited = count_visited(&mut tx).await - before;
    tx.rollback().await.unwrap();
    assert_eq!(ended, 1);
    assert!(visited < 10, "{visited} lanes visited");
    pool.close().await;
    database.drop_database().await;
}

/// Returns how many lanes this transaction has visited.
async fn count_visited(conn: &mut PgConnection) -> i64 {
    let visited = "select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables where relname = 'lanes'";
    sqlx::query_scalar(visited).fetch_one(conn).await.unwrap()
}

/// What is sent: whether its job is leased, and whether somebody has to look for it later (in seconds).
async fn send(
    conn: &mut PgConnection,
    conversation: Uuid,
    lane: Uuid,
    pause: Option<f64>,
) -> Vec<(bool, Option<i32>)> {
    let message = json!([{
        "id": Uuid::new_v4(), "lane": lane, "conversation": conversation, "platform": "slack", "opens_thread": false,
        "card": {}, "payload": {}, "pause": pause,
    }]);
    sqlx::query_as(
        "select id is not null, extract(epoch from next_due_at - '2026-03-06 09:30Z')::integer
         from send_messages($1, $2, '2026-03-06 09:30Z', 10)",
    )
    .bind(OWN)
    .bind(message)
    .fetch_all(conn)
    .await
    .unwrap()
}

/// The organisation of the samples.
const OWN: Uuid = Uuid::from_u128(1);

#[tokio::test]
async fn a_message_begins_with_its_commit_if_its_lane_is_free_and_has_a_place() {
    let database = TestDatabase::with_samples().await;
    let pool = database.pool(1).await;
    let mut conn = pool.acquire().await.unwrap();
    let find = "select id from conversations where tenant_id = $1 and private_with is null limit 1";
    let conversation: Uuid = sqlx::query_scalar(find).bind(OWN).fetch_one(&mut *conn).await.unwrap();
    let (free, full, unpaced) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    assert_eq!(send(&mut conn, conversation, free, Some(1.0)).await, [(true, None)]);
    // Behind the first one: the end of its post finds it.
    assert_eq!(send(&mut conn, conversation, free, Some(1.0)).await, []);
    let place =
        "insert into rate_limits (tenant_id, lane_id, next_post_at) values ($1, $2, '2026-03-06 09:30:04Z')";
    sqlx::query(place).bind(OWN).bind(full).execute(&mut *conn).await.unwrap();
    assert_eq!(send(&mut conn, conversation, full, Some(1.0)).await, [(false, Some(4))]);
    assert_eq!(send(&mut conn, conversation, unpaced, None).await, []);
    // It goes on with one person, which the sender might not know.
    let private = "update conversations set private_with = (select id from people where tenant_id = $1 limit 1) where id = $2";
    sqlx::query(private).bind(OWN).bind(conversation).execute(&mut *conn).await.unwrap();
    assert_eq!(send(&mut conn, conversation, Uuid::new_v4(), Some(1.0)).await, [(false, Some(0))]);
    let due = "select id, lease_id is not null, attempts, extract(epoch from due_at - '2026-03-06 09:30Z')::integer, queued
         from lanes where id = any($1)";
    let lanes: Vec<(Uuid, bool, i32, i32, i32)> =
        sqlx::query_as(due).bind([free, full, unpaced].to_vec()).fetch_all(&mut *conn).await.unwrap();
    let found: BTreeSet<_> = lanes.into_iter().collect();
    let wanted = [(free, true, 1, 0, 1), (full, false, 0, 4, 0), (unpaced, false, 0, 0, 0)];
    assert_eq!(found, BTreeSet::from(wanted));
    drop(conn);
    pool.close().await;
    database.drop_database().await;
}

#[tokio::test]
async fn a_commit_claims_what_is_due_and_takes_nothing_over() {
    let database = TestDatabase::new().await;
    let pool = database.pool(1).await;
    insert_leased(&pool, 1..=1, "-1 second").await;
    for due in ["now()", "now() + interval '1 hour'"] {
        let enqueue = format!("select enqueue(gen_random_uuid(), gen_random_uuid(), '{{}}', {due}, now())");
        sqlx::query(AssertSqlSafe(enqueue)).execute(&pool).await.unwrap();
    }
    let claim = "select attempts, round(extract(epoch from next_due_at - now()) / 3600)::integer
         from claim_due_jobs(now(), 10, 4) order by attempts";
    let claimed: Vec<(Option<i32>, Option<i32>)> = sqlx::query_as(claim).fetch_all(&pool).await.unwrap();
    assert_eq!(claimed, [(Some(1), None), (None, Some(1))]);
    pool.close().await;
    database.drop_database().await;
}

#[tokio::test]
async fn a_claim_does_not_visit_leased_lanes() {
    let database = TestDatabase::new().await;
    let pool = database.pool(1).await;
    insert_leased(&pool, 1..=2_000, "1 hour").await;
    sqlx::query("select enqueue(gen_random_uuid(), gen_random_uuid(), '{}', now(), now())")
        .execute(&pool)
        .await
        .unwrap();
    sqlx::query("analyze lanes").execute(&pool).await.unwrap();
    let mut tx = nod_store::store::begin(&pool).await.unwrap();
    let before = count_visited(&mut tx).await;
    let claimed: Vec<(i64, i32)> = sqlx::query_as(CLAIM).fetch_all(&mut *tx).await.unwrap();
    let visited = count_visited(&mut tx).await - before;
    tx.rollback().await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert!(visited < 10, "{visited} lanes visited");
    pool.close().await;
    database.drop_database().await;
}

#[tokio::test]
async fn a_lane_is_inserted_leased_if_it_is_free_and_there_is_room() {
    let database = TestDatabase::new().await;
    let pool = database.pool(2).await;
    let (tenant, busy, waiting) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    let enqueue = |lane: Uuid, seconds: Option<f64>| {
        let enqueued = "select job, lease_id is not null from enqueue_leased($1, $2, '{}', now(), $3)";
        sqlx::query_as::<_, (i64, bool)>(enqueued).bind(tenant).bind(lane).bind(seconds).fetch_one(&pool)
    };
    let (first, is_leased) = enqueue(busy, Some(10.0)).await.unwrap();
    assert!(is_leased);
    let (second, is_leased) = enqueue(busy, Some(10.0)).await.unwrap();
    assert!(!is_leased && second > first);
    let (third, is_leased) = enqueue(waiting, None).await.unwrap();
    assert!(!is_leased);
    // Nobody else gets what was inserted leased, and that counts as its first attempt.
    assert_eq!(claim(&pool).await, [(third, 1)]);
    let jobs: Vec<(i64, i32)> =
        sqlx::query_as("select id, attempts from jobs order by id").fetch_all(&pool).await.unwrap();
    assert_eq!(jobs, [(first, 1), (second, 0), (third, 1)]);
    pool.close().await;
    database.drop_database().await;
}

#[tokio::test]
async fn nothing_is_leased_unless_a_dispatcher_runs() {
    let database = TestDatabase::new().await;
    let pool = database.pool(2).await;
    let (jobs, stop) = (JobNotifier::new(Arc::new(SystemClock)), CancellationToken::new());
    assert!(jobs.reserve_one().is_none());
    let running =
        tokio::spawn(Dispatcher::new(pool.clone(), jobs.clone(), Handlers::default()).run(stop.clone()));
    let reserved = loop {
        match jobs.reserve_one() {
            Some(reserved) => break reserved,
            None => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    stop.cancel();
    while jobs.reserve_one().is_some() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // A commit may be under way whose job has to begin.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!running.is_finished());
    drop(reserved);
    running.await.unwrap();
    assert!(jobs.reserve_one().is_none());
    pool.close().await;
    database.drop_database().await;
}

/// Handles jobs of one kind, of which every second cannot be loaded, and tells which it has done.
struct Loads(tokio::sync::mpsc::UnboundedSender<(i64, bool)>, PgPool);

#[async_trait]
impl JobHandler for Loads {
    fn kinds(&self) -> &'static [&'static str] {
        &["look"]
    }

    async fn load(&self, conn: &mut PgConnection, claim: &Claim) -> sqlx::Result<Option<Loaded>> {
        let loaded: i64 = sqlx::query_scalar("select 1 / ($1 % 2)").bind(claim.job).fetch_one(conn).await?;
        Ok(Some(Box::new(loaded)))
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        self.0.send((claim.job, claim.take_loaded::<i64>().is_some()))?;
        Ok(complete(&mut *self.1.acquire().await?, claim).await?)
    }
}

/// Whoever claims a job whose rows cannot be read is not held up by it twice, and the job itself runs.
#[tokio::test]
async fn a_job_that_cannot_be_loaded_holds_up_no_other() {
    let database = TestDatabase::new().await;
    let pool = database.pool(4).await;
    let (jobs, stop) = (JobNotifier::new(Arc::new(SystemClock)), CancellationToken::new());
    let (done, mut told) = tokio::sync::mpsc::unbounded_channel();
    let handlers = Handlers::new([Arc::new(Loads(done, pool.clone())) as Arc<dyn JobHandler>]).unwrap();
    for _ in 0..6 {
        sqlx::query(
            "select enqueue(gen_random_uuid(), gen_random_uuid(), '{\"work\": \"look\"}', now(), now())",
        )
        .execute(&pool)
        .await
        .unwrap();
    }
    let running = tokio::spawn(Dispatcher::new(pool.clone(), jobs.clone(), handlers).run(stop.clone()));
    let mut all = BTreeSet::new();
    while all.len() < 6 {
        let one = tokio::time::timeout(Duration::from_secs(60), told.recv());
        let (job, is_loaded) = one.await.expect("a job that never ran").unwrap();
        assert!(!is_loaded || job % 2 == 1, "job {job} was loaded");
        assert!(all.insert(job), "job {job} ran twice");
        jobs.wake();
    }
    stop.cancel();
    running.await.unwrap();
    pool.close().await;
    database.drop_database().await;
}

/// The run begins with its message's commit, and its answer is claimed with the run's end.
async fn a_message_is_begun_without_a_claim(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.wait_until_idle().await;
    sqlx::query("alter function claim_jobs rename to nobody_claims").execute(&world.pool).await.unwrap();
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "general", "@nod hello").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod hello
                nod: Hello.
        ");
    }
    world.finish().await;
}

/// The heartbeat waits for the commit, then finds no lease. Nobody claims a second time what the commit claimed.
async fn a_heartbeat_during_the_last_commit_loses_nothing(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.wait_until_idle().await;
    sqlx::query("alter function claim_jobs rename to nobody_claims").execute(&world.pool).await.unwrap();
    let mut holds_up = nod_store::store::begin(&world.pool).await.unwrap();
    sqlx::query("lock table deliveries in share mode").execute(&mut *holds_up).await.unwrap();
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.chat.say("ana", "general", None, "@nod hello");
    let waits = "select exists (select from pg_stat_activity where datname = current_database()
         and wait_event_type = 'Lock' and query like 'update lanes set leased_until%')";
    while !sqlx::query_scalar::<_, bool>(waits).fetch_one(&world.pool).await.unwrap() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    holds_up.commit().await.unwrap();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod hello
                nod: Hello.
        ");
    }
    world.finish().await;
}

/// Slack delivers again what was not acknowledged.
#[tokio::test]
async fn a_message_whose_commit_fails_begins_nothing() {
    let mut world = World::new().await;
    let fail_once = "create sequence tries;
        create function fail_once() returns trigger language plpgsql as
            $$ begin
                if nextval('tries') = 1 then
                    raise exception 'the commit fails';
                end if;
                return null;
            end $$;
        create constraint trigger fail_once after insert on inbound
            deferrable initially deferred for each row execute function fail_once()";
    sqlx::raw_sql(fail_once).execute(&world.pool).await.unwrap();
    // A second run would ask for a second answer.
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "general", "@nod hello").await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod hello
            nod: Hello.
    ");
    let tries: i64 = sqlx::query_scalar("select last_value from tries").fetch_one(&world.pool).await.unwrap();
    assert!(tries > 1);
    sqlx::raw_sql("drop trigger fail_once on inbound; drop function fail_once; drop sequence tries")
        .execute(&world.pool)
        .await
        .unwrap();
    world.finish().await;
}
