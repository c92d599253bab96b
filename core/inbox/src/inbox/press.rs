//! A press is just another inbound: it carries a thing's id and a verb, and counts only from whom the thing
//! names.

use sqlx::PgConnection;

use super::{Arrival, draft, echo, hours, said, settings};
use crate::join;
use nod_accounts::connection::other::{self, Presser};
use nod_accounts::connection::{again, disconnect};
use nod_agent::rows;
use nod_agent::run::share;
use nod_agent::run::stop::{self, Stopped};
use nod_contract::card::{Verb, reconnect};
use nod_contract::chat::{Immediate, Inbound, Place};
use nod_contract::ids::{ApprovalId, ChannelId, DeliveryId, DraftId, PersonId, QuestionId, RunId};
use nod_people::delivery;
use nod_requests::approval::{self, Decision, Many};
use nod_requests::question;
use nod_store::jobs::sql as jobs;
use nod_store::runs::{News, RunJob};

/// Names that no button of an ability may have.
pub(crate) const OWN_VERBS: [&str; 31] = [
    "approve",
    "edit",
    "deny",
    "whole",
    "tick",
    "untick",
    "approve_all",
    "approve_selected",
    "deny_all",
    "look",
    "again",
    "undo",
    "choose",
    "ask_others",
    "vote",
    "vote_none",
    share::VERB,
    "show",
    "send_draft",
    "discard_draft",
    "retry",
    "stop",
    settings::HEAR_ALL,
    settings::HEAR_MENTIONS,
    hours::CHANGE,
    "disconnect",
    "disconnect_yes",
    reconnect::VERB,
    "join",
    "allow",
    "refuse",
];

pub(super) async fn accept(
    arrival: &Arrival<'_>,
    place: &Place,
    verb: Option<&Verb>,
) -> sqlx::Result<Immediate> {
    let mut tx = arrival.begin().await?;
    if !arrival.first(&mut tx, "pressed").await? {
        tx.commit().await?;
        return Ok(Immediate::Nothing);
    }
    let person = arrival.person(&mut tx).await?;
    if let Some(why) = arrival.refusal(&mut tx, person).await? {
        tx.commit().await?;
        return Ok(Immediate::whisper(why));
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

fn unknown() -> Immediate {
    Immediate::whisper("I do not know that button. Nothing was done.")
}

async fn pressed(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    place: &Place,
    verb: &Verb,
    person: PersonId,
) -> sqlx::Result<Immediate> {
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let subject = verb.subject;
    match verb.verb.as_str() {
        "approve" => {
            let (id, revision) = (ApprovalId(subject), verb.revision());
            let yes = Decision { id, revision, by: person, approve: true, reason: None };
            approval::press(core, conn, tenant, &yes, now).await
        }
        "edit" | "deny" => approval::open(conn, tenant, verb, person, now).await,
        "whole" => approval::show(conn, tenant, verb, person, place).await,
        "tick" => approval::tick(conn, tenant, ApprovalId(subject), true, person, now).await,
        "untick" => approval::tick(conn, tenant, ApprovalId(subject), false, person, now).await,
        "approve_all" | "approve_selected" | "deny_all" => {
            let which = match verb.verb.as_str() {
                "approve_all" => Many::All,
                "approve_selected" => Many::Selected,
                _ => Many::None,
            };
            let press = approval::press_many;
            press(core, conn, tenant, DeliveryId(subject), which, verb.choice, person, now).await
        }
        "look" => approval::look(conn, tenant, ApprovalId(subject), person, now).await,
        "again" => approval::again(core, conn, tenant, ApprovalId(subject), person, now).await,
        "undo" => approval::undo(conn, tenant, ApprovalId(subject), person, now).await,
        "choose" => question::press(conn, tenant, QuestionId(subject), verb.choice, person, now).await,
        "ask_others" => question::vote::ask(conn, tenant, QuestionId(subject), person, now).await,
        "vote" | "vote_none" => {
            let press = question::vote::press;
            press(conn, tenant, QuestionId(subject), verb.choice, person, now).await
        }
        share::VERB => share::press(conn, tenant, DeliveryId(subject), person, now).await,
        "show" => show(arrival, conn, DeliveryId(subject), person).await,
        "send_draft" => draft::send(arrival, conn, DraftId(subject), person).await,
        "discard_draft" => draft::discard(arrival, conn, DraftId(subject), person).await,
        "retry" => retry(arrival, conn, RunId(subject), person).await,
        "stop" => stop(arrival, conn, RunId(subject), person).await,
        settings::HEAR_ALL => settings::change(arrival, conn, ChannelId(subject), false, person).await,
        settings::HEAR_MENTIONS => settings::change(arrival, conn, ChannelId(subject), true, person).await,
        hours::CHANGE => hours::open(arrival, conn, PersonId(subject), person).await,
        "disconnect" => disconnect::press(conn, &core.accounts.lending, tenant, verb, person).await,
        "disconnect_yes" => {
            let conversation =
                said::conversation(arrival, conn, place, place.direct.then_some(""), person).await?;
            disconnect::done(&core.accounts, conn, tenant, verb, person, conversation, now).await
        }
        reconnect::VERB => {
            let conversation =
                said::conversation(arrival, conn, place, place.direct.then_some(""), person).await?;
            again::press(&core.accounts, conn, tenant, verb, person, conversation, now).await
        }
        "join" => join::press(&arrival.joiner(person), conn, subject).await,
        "allow" | "refuse" => {
            let Inbound { platform, author, .. } = arrival.inbound;
            let by = Presser { person, user: &author.user, platform };
            other::press(&core.accounts, conn, tenant, subject, verb.verb == "allow", &by, now).await
        }
        of_an_ability => match core.abilities.buttons(of_an_ability) {
            Some(buttons) => buttons.pressed(conn, &arrival.asker(person, place), verb).await,
            None => Ok(unknown()),
        },
    }
}

/// A card that is for this person: where their direct line is closed, or from the list of what waits.
async fn show(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    delivery: DeliveryId,
    person: PersonId,
) -> sqlx::Result<Immediate> {
    let Some(card) = delivery::sql::card_for(conn, arrival.tenant, delivery, person).await? else {
        return Ok(Immediate::whisper("That is for somebody else, or gone. Nothing was done."));
    };
    // Another platform may show less than the one where it stands, and nobody approves what they cannot see.
    let adapter = arrival.core.adapters.get(&arrival.inbound.platform);
    if adapter.is_some_and(|adapter| !adapter.fits(&card)) {
        return Ok(Immediate::whisper(
            "That is too long to be shown here. It stands where you asked for it.",
        ));
    }
    Ok(Immediate::Whisper(card))
}

/// Ends a turn, for the person whose it is.
async fn stop(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    run: RunId,
    person: PersonId,
) -> sqlx::Result<Immediate> {
    let stopped = stop::one(arrival.core, conn, arrival.tenant, run, person, arrival.now).await?;
    let whisper = |words: &str| Ok(Immediate::whisper(words));
    match stopped {
        Stopped::Yes => {
            arrival.stopped();
            Ok(Immediate::Nothing)
        }
        Stopped::Over => whisper("That had ended already. Nothing more was done."),
        Stopped::NotTheirs => whisper("Only whoever asked can stop this. Nothing was done."),
    }
}

/// Another try of a failed run, for the person who began it.
async fn retry(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    run: RunId,
    person: PersonId,
) -> sqlx::Result<Immediate> {
    let whisper = |words: &str| Ok(Immediate::whisper(words));
    match rows::load(conn, arrival.tenant, run).await?.map(|loaded| loaded.run) {
        Some(run) if run.person != person => whisper("Only whoever asked can try again. Nothing was done."),
        Some(run) if run.status == "failed" => {
            let work = RunJob::Advance { run: run.id, news: Some(News::Retry) };
            jobs::enqueue(conn, arrival.tenant, run.conversation.0, &work, arrival.now, arrival.now).await?;
            Ok(Immediate::Nothing)
        }
        Some(_) => whisper("That is not waiting for another try. Nothing was done."),
        None => whisper("I know of no such run. Nothing was done."),
    }
}
