//! Clicks on a draft's card. Only the draft's owner can use the buttons.

use sqlx::PgConnection;

use super::{Arrival, said};
use nod_contract::chat::InteractionResponse;
use nod_contract::ids::{DraftId, PersonId};
use nod_people::delivery;
use nod_requests::approval;
use nod_requests::draft::{self, Discarded, card, sql::Row};

/// [Send…] does the same as the message "send it": it begins a run, which asks for approval.
pub(super) async fn send(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    id: DraftId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let row = match open(arrival, conn, id, person).await? {
        Ok(row) => row,
        Err(why) => return Ok(why),
    };
    let venue = delivery::sql::venue(conn, arrival.tenant, row.conversation).await?;
    let words = said::Said {
        person,
        conversation: row.conversation,
        text: "send it",
        message: None,
        shared: !venue.place.is_dm,
        outside: None,
        joins: false,
        answer: None,
    };
    said::begin_with(arrival, conn, &words, |state| state.drafts.chosen = Some(row.draft.id)).await?;
    Ok(InteractionResponse::Ack)
}

/// [Discard] deletes the draft, at its provider too.
pub(super) async fn discard(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    id: DraftId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let row = match open(arrival, conn, id, person).await? {
        Ok(row) => row,
        Err(why) => return Ok(why),
    };
    Ok(match draft::discard(arrival.core, conn, arrival.tenant, &row, arrival.now).await? {
        Discarded::Yes => InteractionResponse::Ack,
        Discarded::NotOpen => InteractionResponse::ephemeral(card::NOT_OPEN),
        Discarded::Never(why) => InteractionResponse::ephemeral(approval::forbidden(&why)),
    })
}

async fn open(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    id: DraftId,
    person: PersonId,
) -> sqlx::Result<Result<Row, InteractionResponse>> {
    Ok(match draft::sql::load(conn, arrival.tenant, id).await? {
        None => Err(InteractionResponse::ephemeral(card::NO_SUCH)),
        Some(row) if row.person != person => Err(InteractionResponse::ephemeral(card::NOT_YOURS)),
        Some(row) if row.status != "open" => Err(InteractionResponse::ephemeral(card::NOT_OPEN)),
        Some(row) => Ok(row),
    })
}
