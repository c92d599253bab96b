//! What must hold in the end, whatever happened before.

use std::time::Duration;

use nod_sandbox::google::MailMessage;
use nod_tests::World;
use sqlx::AssertSqlSafe;
use tokio::time::{Instant, sleep};

/// An effect with an unknown outcome is looked up for about a minute.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(100);

/// What the card finally says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ExpectedReceipt {
    Sent,
    NotSent,
    Unknown,
}

/// Waits until the channel shows these words.
pub(super) async fn wait_for_text(world: &World, words: &str) {
    let long = Instant::now() + SETTLE_TIMEOUT;
    while !world.chat.channel_text("general").contains(words) {
        assert!(Instant::now() < long, "“{words}” never came:\n{}", world.chat.dump());
        sleep(Duration::from_millis(10)).await;
    }
}

/// Checks that there is one mail or none, and that the receipt, the rows and the channel say so.
pub(super) async fn assert_invariants(world: &mut World, receipt: ExpectedReceipt) {
    let (posted, read) = assert_one_mail(world, receipt).await;
    assert_eq!(posted, 2, "a card and an answer:\n{read}");
}

/// As [`assert_invariants`], where nothing is said after the card.
pub(super) async fn assert_receipt_only(world: &mut World, receipt: ExpectedReceipt) {
    let (posted, read) = assert_one_mail(world, receipt).await;
    assert_eq!(posted, 1, "a card alone:\n{read}");
}

/// Returns how many messages of Nod are in the channel, and its text.
async fn assert_one_mail(world: &mut World, receipt: ExpectedReceipt) -> (usize, String) {
    let (words, status) = match receipt {
        ExpectedReceipt::Sent => ("→ Sent", "done"),
        ExpectedReceipt::NotSent => ("→ Not sent", "failed"),
        ExpectedReceipt::Unknown => ("→ Unknown", "unknown"),
    };
    wait_for_text(world, words).await;
    wait_for_count(world, "select count(*) from runs where status = 'done'", 1).await;
    world.wait_until_idle().await;
    assert_single_rows(world, status).await;
    let read = world.read_new("general");
    let posted = world.chat.nod_message_ids("general").len();
    let (sent, arrived) = (world.google.list_sent("ana@acme.test"), world.google.inbox("bo@acme.test"));
    assert_eq!(sent.len(), arrived.len());
    match receipt {
        ExpectedReceipt::Sent => {
            let [mail] = &sent[..] else { panic!("not one mail: {sent:#?}") };
            let outcome: String =
                sqlx::query_scalar("select outcome::text from effects").fetch_one(&world.pool).await.unwrap();
            assert!(outcome.contains(&mail.id) && outcome.contains(&mail.message_id), "another: {outcome}");
            assert_eq!(arrived[0].subject, "Running late");
            assert_eq!(world.google.drafts("ana@acme.test"), Vec::<MailMessage>::new());
        }
        ExpectedReceipt::NotSent => assert_eq!(sent, Vec::<MailMessage>::new()),
        ExpectedReceipt::Unknown => assert!(sent.len() <= 1, "{sent:#?}"),
    }
    (posted, read)
}

/// Checks that the request, the answer and the effect each exist once.
async fn assert_single_rows(world: &World, status: &str) {
    let effect: Vec<String> =
        sqlx::query_scalar("select status from effects").fetch_all(&world.pool).await.unwrap();
    assert_eq!(effect, [status]);
    for (what, rows) in [
        ("approvals", 1),
        ("runs", 1),
        ("messages where role = 'human'", 1),
        ("audit where action = 'approval.approved'", 1),
        ("audit where action like 'effect.%'", 1),
    ] {
        assert_eq!(count(world, &format!("select count(*) from {what}")).await, rows, "{what}");
    }
    // Jobs that start by themselves meanwhile, such as catching up, end too.
    wait_for_count(world, "select count(*) from lanes where leased_until is not null", 0).await;
    wait_for_count(world, "select count(*) from jobs where run_at <= now()", 0).await;
}

pub(super) async fn count(world: &World, query: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_one(&world.pool).await.unwrap()
}

pub(crate) async fn wait_for_count(world: &World, query: &str, wanted: i64) {
    let long = Instant::now() + SETTLE_TIMEOUT;
    while count(world, query).await != wanted {
        assert!(Instant::now() < long, "{query}: never {wanted}\n{}", world.chat.dump());
        sleep(Duration::from_millis(20)).await;
    }
}
