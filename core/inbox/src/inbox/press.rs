//! Button clicks. A click is an inbound like any other: it carries an id and an action, and has an effect only if the
//! row with that id allows this user.

use sqlx::PgConnection;

use super::{Arrival, draft, echo, hours, said, settings};
use crate::join;
use nod_accounts::connection::other::{self, Presser};
use nod_accounts::connection::{again, disconnect};
use nod_agent::rows;
use nod_agent::run::share;
use nod_agent::run::stop::{self, Stopped};
use nod_contract::card::{Action, reconnect};
use nod_contract::chat::{ChannelRef, Inbound, InteractionResponse};
use nod_contract::ids::{ApprovalId, ChannelId, DeliveryId, DraftId, PersonId, QuestionId, RunId};
use nod_people::delivery;
use nod_requests::approval::{self, Decision, Many};
use nod_requests::question;
use nod_store::jobs::sql as jobs;
use nod_store::runs::{RunEvent, RunJob};

/// What a button of the core does.
#[derive(Clone, Copy)]
enum Does {
    Approve,
    OpenForm,
    ShowWhole,
    Tick(bool),
    Decide(Many),
    Look,
    Again,
    Undo,
    Choose,
    AskOthers,
    Vote,
    Share,
    Show,
    SendDraft,
    DiscardDraft,
    Retry,
    Stop,
    OnlyMentions(bool),
    Hours,
    Disconnect,
    Disconnected,
    Reconnect,
    Join,
    Allow(bool),
}

/// The action name of each.
const OWN: &[(&str, Does)] = &[
    ("approve", Does::Approve),
    ("edit", Does::OpenForm),
    ("deny", Does::OpenForm),
    ("whole", Does::ShowWhole),
    ("tick", Does::Tick(true)),
    ("untick", Does::Tick(false)),
    ("approve_all", Does::Decide(Many::All)),
    ("approve_selected", Does::Decide(Many::Selected)),
    ("deny_all", Does::Decide(Many::None)),
    ("look", Does::Look),
    ("again", Does::Again),
    ("undo", Does::Undo),
    ("choose", Does::Choose),
    ("ask_others", Does::AskOthers),
    ("vote", Does::Vote),
    ("vote_none", Does::Vote),
    (share::VERB, Does::Share),
    ("show", Does::Show),
    ("send_draft", Does::SendDraft),
    ("discard_draft", Does::DiscardDraft),
    ("retry", Does::Retry),
    ("stop", Does::Stop),
    (settings::HEAR_ALL, Does::OnlyMentions(false)),
    (settings::HEAR_MENTIONS, Does::OnlyMentions(true)),
    (hours::CHANGE, Does::Hours),
    ("disconnect", Does::Disconnect),
    ("disconnect_yes", Does::Disconnected),
    (reconnect::VERB, Does::Reconnect),
    ("join", Does::Join),
    ("allow", Does::Allow(true)),
    ("refuse", Does::Allow(false)),
];

/// Returns the names that no ability's button can have.
pub(crate) fn own_verbs() -> impl Iterator<Item = &'static str> {
    OWN.iter().map(|(verb, _)| *verb)
}

pub(super) async fn accept(
    arrival: &Arrival<'_>,
    place: &ChannelRef,
    verb: Option<&Action>,
) -> sqlx::Result<InteractionResponse> {
    let mut tx = arrival.begin().await?;
    if !arrival.first(&mut tx, "pressed").await? {
        tx.commit().await?;
        return Ok(InteractionResponse::Ack);
    }
    let person = arrival.person(&mut tx).await?;
    if let Some(why) = arrival.refusal(&mut tx, person).await? {
        tx.commit().await?;
        return Ok(InteractionResponse::ephemeral(why));
    }
    let immediate = match verb {
        Some(verb) => {
            let immediate = pressed(arrival, &mut tx, place, verb, person).await?;
            echo::tell(arrival, &mut tx, verb, place, person, &immediate).await?;
            immediate
        }
        None => unknown(),
    };
    tx.commit().await?;
    Ok(immediate)
}

fn unknown() -> InteractionResponse {
    InteractionResponse::ephemeral("I do not know that button. Nothing was done.")
}

async fn pressed(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    place: &ChannelRef,
    verb: &Action,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let subject = verb.subject;
    let Some((_, does)) = OWN.iter().find(|(own, _)| *own == verb.kind) else {
        return match core.abilities.buttons(&verb.kind) {
            Some(buttons) => buttons.handle_click(conn, &arrival.asker(person, place), verb).await,
            None => Ok(unknown()),
        };
    };
    match *does {
        Does::Approve => {
            let (id, revision) = (ApprovalId(subject), verb.revision());
            let yes = Decision { id, revision, by: person, approve: true, reason: None };
            approval::press(core, conn, tenant, &yes, now).await
        }
        Does::OpenForm => approval::open(conn, tenant, verb, person, now).await,
        Does::ShowWhole => approval::show(conn, tenant, verb, person, place).await,
        Does::Tick(ticked) => approval::tick(conn, tenant, ApprovalId(subject), ticked, person, now).await,
        Does::Decide(which) => {
            let press = approval::press_many;
            press(core, conn, tenant, DeliveryId(subject), which, verb.argument, person, now).await
        }
        Does::Look => approval::look(conn, tenant, ApprovalId(subject), person, now).await,
        Does::Again => approval::again(core, conn, tenant, ApprovalId(subject), person, now).await,
        Does::Undo => approval::undo(conn, tenant, ApprovalId(subject), person, now).await,
        Does::Choose => question::press(conn, tenant, QuestionId(subject), verb.argument, person, now).await,
        Does::AskOthers => question::vote::ask(conn, tenant, QuestionId(subject), person, now).await,
        Does::Vote => {
            let press = question::vote::press;
            press(conn, tenant, QuestionId(subject), verb.argument, person, now).await
        }
        Does::Share => share::press(conn, tenant, DeliveryId(subject), person, now).await,
        Does::Show => show(arrival, conn, DeliveryId(subject), person).await,
        Does::SendDraft => draft::send(arrival, conn, DraftId(subject), person).await,
        Does::DiscardDraft => draft::discard(arrival, conn, DraftId(subject), person).await,
        Does::Retry => retry(arrival, conn, RunId(subject), person).await,
        Does::Stop => stop(arrival, conn, RunId(subject), person).await,
        Does::OnlyMentions(mentions) => {
            settings::change(arrival, conn, ChannelId(subject), mentions, person).await
        }
        Does::Hours => hours::open(arrival, conn, PersonId(subject), person).await,
        Does::Disconnect => disconnect::press(conn, &core.accounts.lending, tenant, verb, person).await,
        Does::Disconnected => {
            let conversation =
                said::conversation(arrival, conn, place, place.is_dm.then_some(""), person).await?;
            disconnect::done(&core.accounts, conn, tenant, verb, person, conversation, now).await
        }
        Does::Reconnect => {
            let conversation =
                said::conversation(arrival, conn, place, place.is_dm.then_some(""), person).await?;
            again::press(&core.accounts, conn, tenant, verb, person, conversation, now).await
        }
        Does::Join => join::press(&arrival.joiner(person), conn, subject).await,
        Does::Allow(allows) => {
            let Inbound { platform, author, .. } = arrival.inbound;
            let by = Presser { person, user: &author.user, platform };
            other::press(&core.accounts, conn, tenant, subject, allows, &by, now).await
        }
    }
}

/// Shows a card to this person: if their DM channel is closed, or from the list of pending approvals.
async fn show(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    delivery: DeliveryId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let Some(card) = delivery::sql::card_for(conn, arrival.tenant, delivery, person).await? else {
        return Ok(InteractionResponse::ephemeral("That is for somebody else, or gone. Nothing was done."));
    };
    // Another platform may show less than the one where the card is posted, and no user approves what they cannot see.
    let adapter = arrival.core.adapters.get(&arrival.inbound.platform);
    if adapter.is_some_and(|adapter| !adapter.fits_in_one_message(&card)) {
        return Ok(InteractionResponse::ephemeral(
            "That is too long to be shown here. It stands where you asked for it.",
        ));
    }
    Ok(InteractionResponse::Ephemeral(card))
}

/// Stops a run, if this person began it.
async fn stop(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    run: RunId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let stopped = stop::one(arrival.core, conn, arrival.tenant, run, person, arrival.now).await?;
    let whisper = |words: &str| Ok(InteractionResponse::ephemeral(words));
    match stopped {
        Stopped::Yes => {
            arrival.stopped();
            Ok(InteractionResponse::Ack)
        }
        Stopped::Over => whisper("That had ended already. Nothing more was done."),
        Stopped::NotTheirs => whisper("Only whoever asked can stop this. Nothing was done."),
    }
}

/// Retries a failed run, if this person began it.
async fn retry(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    run: RunId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let whisper = |words: &str| Ok(InteractionResponse::ephemeral(words));
    match rows::load(conn, arrival.tenant, run).await?.map(|loaded| loaded.run) {
        Some(run) if run.person != person => whisper("Only whoever asked can try again. Nothing was done."),
        Some(run) if run.status == "failed" => {
            let work = RunJob::Advance { run: run.id, news: Some(RunEvent::Retry) };
            jobs::enqueue(conn, arrival.tenant, run.conversation.0, &work, arrival.now, arrival.now).await?;
            Ok(InteractionResponse::Ack)
        }
        Some(_) => whisper("That is not waiting for another try. Nothing was done."),
        None => whisper("I know of no such run. Nothing was done."),
    }
}
