//! Nod is killed (SIGKILL) anywhere on the path of a mail, and is started again: one mail, and a true receipt.

mod arrivals;
mod attachments;
mod drafts;
mod edits;
mod events;
mod holds;
mod keys;
mod memory;
mod names;
mod orders;
mod replicas;
mod second;
mod shares;
mod streams;
mod votes;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nod_sandbox::Fault;
use nod_sandbox::model::{Answer, Lane};
use nod_tests::chat::{Deed, On};
use nod_tests::{Program, World, patience};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, LocalSet};

use holds::{Receipt, holds, reads};

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");
/// The number of stories at once; most of their time is waiting for the dead process's lease of ten seconds.
const AT_ONCE: usize = 6;
const CREATE: &str = "gmail.users.drafts.create";
const SEND: &str = "gmail.users.drafts.send";
const LOOK: &str = "gmail.users.messages.get";

/// Where Nod is when it happens.
#[derive(Debug, Clone)]
enum At {
    Google(&'static str, Fault),
    Chat(Deed, Fault),
    /// The model got a request and does not answer.
    Model(Lane),
    /// The platform received the acknowledgement of what the person did, or it is stored if there is none.
    Acknowledged,
    /// At any point, this many milliseconds after that.
    Somewhere(u64),
}

/// What the person does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Person {
    Asks,
    Presses,
}

/// One way to be killed.
#[derive(Debug, Clone)]
struct Death {
    name: &'static str,
    person: Person,
    /// The points, one after another.
    at: Vec<At>,
    /// Whether Nod is killed there, or survives the fault.
    killed: bool,
    /// What happens while no Nod is running.
    meanwhile: fn(&World),
    receipt: Receipt,
}

fn killed(name: &'static str, person: Person, at: At) -> Death {
    Death { name, person, at: vec![at], killed: true, meanwhile: |_| {}, receipt: Receipt::Sent }
}

fn lived(name: &'static str, at: At) -> Death {
    Death { killed: false, ..killed(name, Person::Presses, at) }
}

fn deaths() -> Vec<Death> {
    use At::{Acknowledged, Chat, Google, Model, Somewhere};
    use Fault::{Drop, Hang, HangAfter, LoseAnswer, Status};
    use Person::{Asks, Presses};
    let not_acting = || Status { code: 503, retry_after: None };
    vec![
        // The slow ones first.
        Death {
            meanwhile: |world| throw_drafts_away(world),
            receipt: Receipt::Unknown,
            ..killed("the person throws the draft away meanwhile", Presses, Google(SEND, Hang))
        },
        Death {
            meanwhile: |world| world.google.revoke_grants("ana@acme.test"),
            receipt: Receipt::Unknown,
            ..killed("the person takes the access back meanwhile", Presses, Google(SEND, HangAfter))
        },
        Death {
            at: vec![Google(SEND, Hang), Google(SEND, HangAfter)],
            ..killed("twice: before it went out, and after", Presses, Acknowledged)
        },
        Death {
            at: vec![Google(CREATE, HangAfter), Google(SEND, Hang)],
            ..killed("twice: after the draft, and before it went out", Presses, Acknowledged)
        },
        Death {
            meanwhile: |world| world.google.faults.next(SEND, Status { code: 403, retry_after: None }),
            receipt: Receipt::NotSent,
            ..killed("Gmail refuses the second try", Presses, Google(SEND, Hang))
        },
        Death {
            meanwhile: |world| world.google.lag_search(50),
            ..killed("the search lags", Presses, Google(SEND, HangAfter))
        },
        Death {
            meanwhile: |world| world.google.expire_tokens("ana@acme.test"),
            ..killed("the access token has ended meanwhile", Presses, Google(SEND, HangAfter))
        },
        killed("the mention was acknowledged", Asks, Acknowledged),
        killed("the router was asked", Asks, Model(Lane::Router)),
        killed("the reasoner was asked", Asks, Model(Lane::Reasoner)),
        killed("before the card stands", Asks, Chat(Deed::Posts, Hang)),
        killed("after the card stands", Asks, Chat(Deed::Posts, HangAfter)),
        killed("before its thread is open", Asks, Chat(Deed::OpensThread, Hang)),
        killed("after its thread is open", Asks, Chat(Deed::OpensThread, HangAfter)),
        killed("somewhere while it thinks", Asks, Somewhere(40)),
        killed("somewhere later", Asks, Somewhere(120)),
        killed("somewhere while it sends", Presses, Somewhere(15)),
        killed("somewhere after it was sent", Presses, Somewhere(90)),
        killed("the press was acknowledged", Presses, Acknowledged),
        killed("before the press is answered", Presses, Chat(Deed::Answers, Hang)),
        killed("after the press is answered", Presses, Chat(Deed::Answers, HangAfter)),
        killed("before the draft", Presses, Google(CREATE, Hang)),
        killed("after the draft", Presses, Google(CREATE, HangAfter)),
        killed("before it went out", Presses, Google(SEND, Hang)),
        killed("after it went out", Presses, Google(SEND, HangAfter)),
        killed("before the look at what went out", Presses, Google(LOOK, Hang)),
        killed("after the look at what went out", Presses, Google(LOOK, HangAfter)),
        killed("before the card changed", Presses, Chat(Deed::Replaces, Hang)),
        killed("after the card changed", Presses, Chat(Deed::Replaces, HangAfter)),
        killed("the reasoner hears the outcome", Presses, Model(Lane::Reasoner)),
        killed("before the answer stands", Presses, Chat(Deed::Posts, Hang)),
        killed("after the answer stands", Presses, Chat(Deed::Posts, HangAfter)),
        lived("the draft's answer is lost", Google(CREATE, LoseAnswer)),
        lived("the answer is lost", Google(SEND, LoseAnswer)),
        lived("the request is lost", Google(SEND, Drop)),
        lived("Gmail breaks before it is sent", Google(SEND, not_acting())),
        lived("Gmail is silent after it is sent", Google(SEND, HangAfter)),
    ]
}

/// On Slack the first message opens a thread, and a click is acknowledged on the socket that delivered it.
fn is_discords(death: &Death) -> bool {
    matches!(death.at[..], [At::Chat(Deed::OpensThread | Deed::Answers, _)])
}

fn throw_drafts_away(world: &World) {
    for draft in world.google.drafts("ana@acme.test") {
        assert!(world.google.delete_draft("ana@acme.test", draft.draft_id.as_deref().unwrap()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_anywhere_it_sends_one_mail_and_says_so() {
    LocalSet::new().run_until(all_deaths(On::Slack)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_anywhere_it_sends_one_mail_and_says_so_on_discord() {
    LocalSet::new().run_until(all_deaths(On::Discord)).await;
}

async fn all_deaths(platform: On) {
    let only = std::env::var("NOD_TEST_DEATH").ok();
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut stories = JoinSet::new();
    let mut names = HashMap::new();
    for death in deaths().into_iter().filter(|death| platform == On::Discord || !is_discords(death)) {
        if only.as_ref().is_some_and(|only| !death.name.contains(only)) {
            continue;
        }
        let (room, name) = (room.clone(), death.name);
        let told = stories.spawn_local(async move {
            let _place = room.acquire_owned().await;
            dies(platform, &death).await;
        });
        names.insert(told.id(), name);
    }
    let mut wrong = Vec::new();
    while let Some(ended) = stories.join_next_with_id().await {
        if let Err(panic) = ended {
            wrong.push(names[&panic.id()]);
        }
    }
    assert!(wrong.is_empty(), "these ended badly (each said why above): {wrong:#?}");
}

/// This concerns the database, so it is played once; what the harness waits for on Discord is in the rows of the other
/// database.
#[tokio::test]
async fn killed_with_its_own_database_it_sends_one_mail_too() {
    let mut world = World::in_real_time().await;
    world.env.remove("NOD_DATABASE__URL");
    let nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    reads(&world, "[Approve & send]").await;
    let death = killed("after it went out", Person::Presses, At::Google(SEND, Fault::HangAfter));
    let nod = suffers(&world, nod, &death, || presses(&world)).await;
    reads(&world, "→ Sent").await;
    reads(&world, "Sent to bo@acme.test").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.settles().await;
    world.reads("dm:ana");
    world.reads("general");
    world.kills(nod).await;
    world.ends().await;
}

fn presses(world: &World) {
    let card = world.button("general", "Approve & send");
    world.chat.pushes("ana", "general", &card, "Approve & send");
}

/// Plays the story of one kill.
async fn dies(platform: On, death: &Death) {
    let mut world = World::in_real_time_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    nod = if death.person == Person::Asks {
        suffers(&world, nod, death, || {
            world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
        })
        .await
    } else {
        world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
        nod
    };
    reads(&world, "[Approve & send]").await;
    nod = if death.person == Person::Presses {
        suffers(&world, nod, death, || presses(&world)).await
    } else {
        presses(&world);
        nod
    };
    holds(&mut world, death.receipt).await;
    world.kills(nod).await;
    world.ends().await;
}

/// Lets the person act, and plays the faults and kills on Nod.
async fn suffers(world: &World, mut nod: Program, death: &Death, act: impl FnOnce()) -> Program {
    let mut met: HashMap<_, usize> = HashMap::new();
    let mut plans = |at: &At| {
        let times = met.entry(operation(world, at)).or_default();
        plan(world, at);
        *times += 1;
        *times
    };
    let mut all = death.at.iter();
    let mut next = all.next().map(|at| (at, plans(at)));
    act();
    while let Some((at, times)) = next {
        tokio::time::timeout(patience(), happens(world, at, times))
            .await
            .unwrap_or_else(|_| panic!("{}: never came to {at:?}\n{}", death.name, world.chat.everything()));
        if !death.killed {
            next = all.next().map(|at| (at, plans(at)));
            continue;
        }
        world.kills(nod).await;
        (death.meanwhile)(world);
        // Planned before the start: Nod might get there before the test sees it connected.
        next = all.next().map(|at| (at, plans(at)));
        nod = world.start_program(NOD).await;
    }
    nod
}

fn plan(world: &World, at: &At) {
    match at {
        At::Google(operation, fault) => world.google.faults.next(operation, fault.clone()),
        At::Chat(deed, fault) => world.chat.fails(*deed, fault.clone()),
        At::Model(Lane::Router) => world.model.router_will(Answer::hang()),
        At::Model(Lane::Reasoner) => world.model.will(Answer::hang()),
        At::Model(Lane::Summariser) => world.model.summariser_will(Answer::hang()),
        At::Acknowledged | At::Somewhere(_) => {}
    }
}

fn operation(world: &World, at: &At) -> Option<&'static str> {
    match at {
        At::Google(operation, _) => Some(operation),
        At::Chat(deed, _) => Some(world.chat.operation(*deed)),
        At::Model(_) | At::Acknowledged | At::Somewhere(_) => None,
    }
}

async fn happens(world: &World, at: &At, times: usize) {
    match at {
        At::Google(operation, _) => world.google.faults.met(operation, times).await,
        At::Chat(deed, _) => world.chat.faults().met(world.chat.operation(*deed), times).await,
        At::Model(_) => assert!(world.model.wait_for(|model| model.unused().is_empty(), patience()).await),
        At::Acknowledged => acknowledged(world).await,
        At::Somewhere(after) => {
            acknowledged(world).await;
            tokio::time::sleep(Duration::from_millis(*after)).await;
        }
    }
}

async fn acknowledged(world: &World) {
    world.chat.has_heard("dana").await;
    while world.chat.waits() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
