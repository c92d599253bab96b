//! The tables of every turn have no foreign keys. What does not hold between their rows is counted, at the end of each
//! story and by `nod doctor`.

use nod_inbox::Settings;
use nod_inbox::consistency::find_inconsistencies;
use nod_sandbox::model::Answer;
use nod_tests::World;

use crate::mail::late_mail_call;

/// What somebody could do by hand, and what is found then.
const BROKEN: [(&str, &[&str]); 14] = [
    (
        "delete from lanes; delete from queued_jobs",
        &[
            "approvals to decide without a job that ends them",
            "effects to perform without a job in their lane",
        ],
    ),
    ("delete from queued_jobs", &["lanes with another number of queued jobs"]),
    ("update lanes set queued = queued + 1", &["lanes with another number of queued jobs"]),
    (
        "insert into queued_jobs (tenant_id, lane_id, id, payload, run_at, created_at)
         select tenant_id, gen_random_uuid(), job, payload, due_at, created_at from lanes",
        &["jobs without a lane"],
    ),
    (
        "insert into queued_jobs (tenant_id, lane_id, id, payload, run_at, created_at)
         select tenant_id, id, job, payload, due_at, created_at from lanes;
         update lanes set queued = queued + 1",
        &["jobs in front of an earlier one"],
    ),
    (
        "update runs set status = 'running' where status = 'done'",
        &["runs to advance without a job in their lane"],
    ),
    (
        "update runs set workflow = 'task', status = 'waiting', node = 'queued' where status = 'done'",
        &["tasks that wait for no step"],
    ),
    (
        "update runs set conversation_id = gen_random_uuid(), person_id = gen_random_uuid() where status = 'done'",
        &["runs without a conversation", "runs without a person"],
    ),
    (
        "update messages set run_id = gen_random_uuid() where role = 'ai' and turn->>'text' = 'Hello.'",
        &["messages without a run"],
    ),
    (
        "update step_records set run_id = gen_random_uuid() where steps @> '[{\"node\": \"recall\"}]'",
        &["steps without a run"],
    ),
    (
        "insert into recalled_contexts
         select tenant_id, gen_random_uuid(), 0, person_id, '{}' from runs limit 1",
        &["what was recalled without a run"],
    ),
    ("update runs set first_turn = 7 where status = 'done'", &["runs without their first turn"]),
    (
        "update deliveries set conversation_id = gen_random_uuid() where card::text like '%Hello.%'",
        &["outgoing messages without a conversation"],
    ),
    (
        "update approvals set run_id = gen_random_uuid();
         update effects set run_id = gen_random_uuid(), approval_id = gen_random_uuid()",
        &["approvals without a run", "effects without a run", "effects without their approval"],
    ),
];

/// An answered message, a mail that waits for its approval, and one that was approved and can still be undone.
#[tokio::test]
async fn rows_that_lost_what_they_refer_to_are_counted() {
    let mut world = World::with_undo_window().await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "dm:ana", "hello").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    for (statement, expected) in BROKEN {
        let mut tx = nod_store::store::begin(&world.pool).await.unwrap();
        sqlx::raw_sql(statement).execute(&mut *tx).await.unwrap();
        let found = find_inconsistencies(&mut tx, Settings::default().tenant).await.unwrap();
        tx.rollback().await.unwrap();
        let mut lines: Vec<String> = found.into_iter().map(|found| found.rule).collect();
        lines.sort();
        assert_eq!(lines, *expected, "{statement}");
    }
    world.discard().await;
}
