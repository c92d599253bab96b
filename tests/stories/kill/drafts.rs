//! Nod is killed around a draft: while creating, changing or sending it. One draft, changed once, one mail.

use std::sync::Arc;

use nod_sandbox::Fault;
use nod_tests::World;
use nod_tests::chat::{Deed, On};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};

use super::holds::{count, reads};
use super::{At, CREATE, Death, NOD, Person, SEND, killed, lived, presses, suffers};

/// Played at once, in addition to the other stories of kills.
const AT_ONCE: usize = 2;
const UPDATE: &str = "gmail.users.drafts.update";

/// What the person does when it happens.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Drafts,
    Changes,
    SaysSend,
    Approves,
}

fn deaths() -> Vec<(Step, Death)> {
    use Fault::{Hang, HangAfter, LoseAnswer};
    use Step::{Approves, Changes, Drafts, SaysSend};
    let asks = |name, at| killed(name, Person::Asks, at);
    vec![
        (Drafts, asks("before the draft", At::Google(CREATE, Hang))),
        (Drafts, asks("after the draft", At::Google(CREATE, HangAfter))),
        (Drafts, asks("before its card stands", At::Chat(Deed::Posts, Hang))),
        (Changes, asks("before the change", At::Google(UPDATE, Hang))),
        (Changes, asks("after the change", At::Google(UPDATE, HangAfter))),
        (Changes, lived("the change's answer is lost", At::Google(UPDATE, LoseAnswer))),
        (SaysSend, asks("\"send it\" was acknowledged", At::Acknowledged)),
        (Approves, asks("before the draft went out", At::Google(SEND, Hang))),
        (Approves, asks("after the draft went out", At::Google(SEND, HangAfter))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_a_draft_there_is_one_draft_and_one_mail() {
    all_deaths(On::Slack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_around_a_draft_there_is_one_draft_and_one_mail_on_discord() {
    all_deaths(On::Discord).await;
}

async fn all_deaths(platform: On) {
    let only = std::env::var("NOD_TEST_DEATH").ok();
    let all = deaths().into_iter().filter(|(_, death)| only.as_ref().is_none_or(|o| death.name.contains(o)));
    LocalSet::new()
        .run_until(async {
            let (mut stories, room) = (JoinSet::new(), Arc::new(Semaphore::new(AT_ONCE)));
            for (step, death) in all {
                let room = room.clone();
                stories.spawn_local(async move {
                    let _place = room.acquire_owned().await;
                    dies(platform, step, &death).await;
                });
            }
            while let Some(ended) = stories.join_next().await {
                ended.unwrap();
            }
        })
        .await;
}

async fn dies(platform: On, step: Step, death: &Death) {
    let mut world = World::in_real_time_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.can_be_written_to("cho").await;
    let mut thread = None;
    for (now, words, until) in [
        (Step::Drafts, "@nod draft a mail to Bo saying I'm late", "It was not sent."),
        (Step::Changes, "add Cho in copy", "Cc  cho@acme.test"),
        (Step::SaysSend, "send it", "[Approve & send]"),
        (Step::Approves, "", "Sent “Running late”"),
    ] {
        let mut act = || {
            if now == Step::Approves {
                return presses(&world);
            }
            let said = world.chat.say("ana", "general", thread.as_deref(), words);
            thread.get_or_insert(said);
        };
        if now == step {
            nod = suffers(&world, nod, death, act).await;
        } else {
            act();
        }
        reads(&world, until).await;
    }
    world.settles().await;
    let sent = world.google.sent("ana@acme.test");
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
    world.reads("general");
    world.kills(nod).await;
    world.ends().await;
}
