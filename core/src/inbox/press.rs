//! A press is just another inbound: it carries a thing's id and a verb, and counts only from whom the thing
//! names.

use sqlx::PgConnection;

use super::Arrival;
use crate::approval;
use crate::card::{Card, Verb};
use crate::chat::Immediate;
use crate::connection::other::{self, Presser};
use crate::delivery;
use crate::ids::{ApprovalId, DeliveryId, PersonId, QuestionId, RunId};
use crate::jobs::{News, Work, sql as jobs};
use crate::question;
use crate::run;

pub(super) async fn accept(arrival: &Arrival<'_>, verb: Option<&Verb>) -> sqlx::Result<Immediate> {
    let mut tx = arrival.core.door.begin().await?;
    if !arrival.first(&mut tx, "pressed").await? {
        tx.commit().await?;
        return Ok(Immediate::Nothing);
    }
    let person = arrival.person(&mut tx).await?;
    let immediate = match verb {
        Some(verb) => pressed(arrival, &mut tx, verb, person).await?,
        None => unknown(),
    };
    tx.commit().await?;
    Ok(immediate)
}

fn unknown() -> Immediate {
    Immediate::Whisper(Card::say("I do not know that button. Nothing was done."))
}

async fn pressed(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    verb: &Verb,
    person: PersonId,
) -> sqlx::Result<Immediate> {
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let subject = verb.subject;
    match verb.verb.as_str() {
        "approve" => approval::press(core, conn, tenant, ApprovalId(subject), true, person, now).await,
        "deny" => approval::press(core, conn, tenant, ApprovalId(subject), false, person, now).await,
        "choose" => question::press(conn, tenant, QuestionId(subject), verb.choice, person, now).await,
        "show" => show(arrival, conn, DeliveryId(subject), person).await,
        "retry" => retry(arrival, conn, RunId(subject), person).await,
        "allow" | "refuse" => {
            let by = Presser { person, user: &arrival.inbound.author.user };
            other::press(core, conn, tenant, subject, verb.verb == "allow", &by, now).await
        }
        _ => Ok(unknown()),
    }
}

/// A card that is for this person: where their direct line is closed, or from the list of what waits.
async fn show(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    delivery: DeliveryId,
    person: PersonId,
) -> sqlx::Result<Immediate> {
    let card = delivery::sql::card_for(conn, arrival.tenant, delivery, person).await?;
    Ok(Immediate::Whisper(
        card.unwrap_or_else(|| Card::say("That is for somebody else, or gone. Nothing was done.")),
    ))
}

/// Another try of a failed run, for the person who began it.
async fn retry(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    run: RunId,
    person: PersonId,
) -> sqlx::Result<Immediate> {
    let whisper = |words: &str| Ok(Immediate::Whisper(Card::say(words)));
    match run::sql::load(conn, arrival.tenant, run).await? {
        Some(run) if run.person != person => whisper("Only whoever asked can try again. Nothing was done."),
        Some(run) if run.status == "failed" => {
            let work = Work::Advance { run: run.id, news: Some(News::Retry) };
            jobs::enqueue(conn, arrival.tenant, run.conversation.0, &work, arrival.now, arrival.now).await?;
            Ok(Immediate::Nothing)
        }
        Some(_) => whisper("That is not waiting for another try. Nothing was done."),
        None => whisper("I know of no such run. Nothing was done."),
    }
}
