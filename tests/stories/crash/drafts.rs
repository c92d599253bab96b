//! Nod is killed around a draft: while creating, changing or sending it. One draft, changed once, one mail.

use std::sync::Arc;

use nod_sandbox::Fault;
use nod_tests::World;
use nod_tests::chat::{ChatOperation, Platform};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};

use super::invariants::{count, wait_for_text};
use super::{
    CREATE, CrashCase, CrashPoint, NOD, SEND, UserAction, click_approve, killed_case, run_until_crash,
    survived_case,
};

/// Played at once, in addition to the other stories of kills.
const MAX_CONCURRENT: usize = 2;
const UPDATE: &str = "gmail.users.drafts.update";

/// What the person does when it happens.
#[derive(Debug, Clone, Copy, PartialEq)]
enum DraftStep {
    CreateDraft,
    ChangeDraft,
    RequestSend,
    Approve,
}

fn crash_points() -> Vec<(DraftStep, CrashCase)> {
    use DraftStep::{Approve, ChangeDraft, CreateDraft, RequestSend};
    use Fault::{DropResponse, HangAfter, HangBefore};
    let asks = |name, at| killed_case(name, UserAction::Ask, at);
    vec![
        (CreateDraft, asks("before the draft", CrashPoint::Google(CREATE, HangBefore))),
        (CreateDraft, asks("after the draft", CrashPoint::Google(CREATE, HangAfter))),
        (
            CreateDraft,
            asks("before its card stands", CrashPoint::Chat(ChatOperation::PostMessage, HangBefore)),
        ),
        (ChangeDraft, asks("before the change", CrashPoint::Google(UPDATE, HangBefore))),
        (ChangeDraft, asks("after the change", CrashPoint::Google(UPDATE, HangAfter))),
        (ChangeDraft, survived_case("the change's answer is lost", CrashPoint::Google(UPDATE, DropResponse))),
        (RequestSend, asks("\"send it\" was acknowledged", CrashPoint::Acknowledged)),
        (Approve, asks("before the draft went out", CrashPoint::Google(SEND, HangBefore))),
        (Approve, asks("after the draft went out", CrashPoint::Google(SEND, HangAfter))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_a_draft_there_is_one_draft_and_one_mail() {
    run_all_crashes(Platform::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_a_draft_there_is_one_draft_and_one_mail_on_discord() {
    run_all_crashes(Platform::Discord).await;
}

async fn run_all_crashes(platform: Platform) {
    let only = std::env::var("NOD_TEST_DEATH").ok();
    let all =
        crash_points().into_iter().filter(|(_, death)| only.as_ref().is_none_or(|o| death.name.contains(o)));
    LocalSet::new()
        .run_until(async {
            let (mut stories, room) = (JoinSet::new(), Arc::new(Semaphore::new(MAX_CONCURRENT)));
            for (step, death) in all {
                let room = room.clone();
                stories.spawn_local(async move {
                    let _place = room.acquire_owned().await;
                    run_crash(platform, step, &death).await;
                });
            }
            while let Some(ended) = stories.join_next().await {
                ended.unwrap();
            }
        })
        .await;
}

async fn run_crash(platform: Platform, step: DraftStep, death: &CrashCase) {
    let mut world = World::with_real_clock_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let mut thread = None;
    for (now, words, until) in [
        (DraftStep::CreateDraft, "@nod draft a mail to Bo saying I'm late", "Not sent yet."),
        (DraftStep::ChangeDraft, "add Cho in copy", "Cc  cho@acme.test"),
        (DraftStep::RequestSend, "send it", "[Approve & send]"),
        (DraftStep::Approve, "", "Sent “Running late”"),
    ] {
        let mut act = || {
            if now == DraftStep::Approve {
                return click_approve(&world);
            }
            let said = world.chat.say("ana", "general", thread.as_deref(), words);
            thread.get_or_insert(said);
        };
        if now == step {
            nod = run_until_crash(&world, nod, death, act).await;
        } else {
            act();
        }
        wait_for_text(&world, until).await;
    }
    world.wait_until_idle().await;
    let sent = world.google.list_sent("ana@acme.test");
    let [mail] = &sent[..] else { panic!("{}: not one mail: {sent:#?}", death.name) };
    assert_eq!(mail.cc, ["cho@acme.test"], "{}", death.name);
    assert!(world.google.drafts("ana@acme.test").is_empty(), "{}", death.name);
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1, "{}", death.name);
    for (what, rows) in [("drafts", 1), ("drafts where status = 'sent'", 1), ("approvals", 1), ("effects", 3)]
    {
        assert_eq!(
            count(&world, &format!("select count(*) from {what}")).await,
            rows,
            "{}: {what}",
            death.name
        );
    }
    world.read_new("general");
    world.kill_program(nod).await;
    world.finish().await;
}
