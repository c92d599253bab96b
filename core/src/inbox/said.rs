//! A message: it begins a run where it is addressed to Nod or stands in a thread that Nod follows.

use sqlx::{Connection, PgConnection};

use super::Arrival;
use crate::chat::{Addressed, Immediate, Place};
use crate::delivery;
use crate::ids::{ConversationId, PersonId, RunId};
use crate::jobs::{Work, sql as jobs};
use crate::model::Turn;
use crate::privacy::{Audience, Provenance};
use crate::run::{self, AgentState, sql::NewMessage, sql::NewRun};
use crate::tool::Principal;

pub(super) async fn accept(
    arrival: &Arrival<'_>,
    place: &Place,
    message: &str,
    text: &str,
    addressed: Addressed,
) -> sqlx::Result<Immediate> {
    let mut conn = arrival.core.door.acquire().await?;
    let (platform, workspace) = (&arrival.inbound.platform, &arrival.inbound.workspace);
    let followed = delivery::sql::followed(&mut conn, arrival.tenant, platform, workspace, place).await?;
    // Not addressed: acknowledged, not stored, and its key is not used up, since a twin may be addressed.
    if addressed == Addressed::Overheard && followed.is_none() {
        return Ok(Immediate::Nothing);
    }
    let mut tx = conn.begin().await?;
    if arrival.first(&mut tx, "said").await? {
        let person = arrival.person(&mut tx).await?;
        let conversation = match followed {
            Some(conversation) => conversation,
            None => {
                let thread = place.thread.clone().unwrap_or_default();
                conversation(arrival, &mut tx, place, Some(&thread)).await?
            }
        };
        let said = Said { person, conversation, text, message: Some(message), shared: !place.direct };
        begin_run(arrival, &mut tx, &said).await?;
    }
    tx.commit().await?;
    Ok(Immediate::Nothing)
}

/// The conversation of a place, begun if new.
pub(super) async fn conversation(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    place: &Place,
    thread: Option<&str>,
) -> sqlx::Result<ConversationId> {
    let (platform, workspace) = (&arrival.inbound.platform, &arrival.inbound.workspace);
    let fresh = arrival.core.ids.next();
    let channel =
        delivery::sql::channel(conn, arrival.tenant, platform, workspace, place, fresh, arrival.now).await?;
    let fresh = arrival.core.id();
    delivery::sql::conversation(conn, arrival.tenant, channel, thread, fresh, arrival.now).await
}

/// Something that a person said to Nod.
pub(super) struct Said<'a> {
    pub(super) person: PersonId,
    pub(super) conversation: ConversationId,
    pub(super) text: &'a str,
    pub(super) message: Option<&'a str>,
    pub(super) shared: bool,
}

/// Keeps what was said and begins the run that answers it.
pub(super) async fn begin_run(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    said: &Said<'_>,
) -> sqlx::Result<RunId> {
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let run: RunId = core.id();
    // Recall tells more of the person, once the platform has been asked.
    let principal =
        Principal { person: said.person, name: String::new(), address: None, zone: "UTC".to_owned() };
    let state = AgentState::begin(principal, said.shared, said.text);
    let new = NewRun {
        id: run,
        conversation: said.conversation,
        person: said.person,
        trace: core.id(),
        state: &state,
    };
    let message = NewMessage {
        id: core.id(),
        conversation: said.conversation,
        run,
        person: Some(said.person),
        message_ref: said.message,
        turn: &Turn::Human { text: said.text.to_owned() },
        audience: Audience::Channel,
        provenance: &Provenance::Ours,
    };
    let work = Work::Advance { run, news: None };
    // The lane first, as everywhere: whoever holds it is writing to this conversation.
    jobs::enqueue(conn, tenant, said.conversation.0, &work, now, now).await?;
    run::sql::insert(conn, tenant, &new, now).await?;
    run::sql::keep(conn, tenant, &message, now).await?;
    Ok(run)
}
