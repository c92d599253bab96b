//! Clicks on a draft's card. Only the draft's owner can use the buttons.

use sqlx::PgConnection;

use super::{InboundContext, message};
use nod_contract::chat::InteractionResponse;
use nod_contract::ids::{DraftId, PersonId};
use nod_people::conversations;
use nod_requests::approval;
use nod_requests::draft::{self, DiscardResult, card, sql::StoredDraft};

/// [Send…] does the same as the message "send it": it begins a run, which asks for approval.
pub(super) async fn handle_send_click(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    id: DraftId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let row = match load_open_draft(arrival, conn, id, person).await? {
        Ok(row) => row,
        Err(why) => return Ok(why),
    };
    let venue = conversations::load_location(conn, arrival.tenant, row.conversation).await?;
    let words = message::RunRequest {
        person,
        conversation: row.conversation,
        text: "send it",
        message: None,
        is_shared: !venue.channel_ref.is_dm,
        quoted_message: None,
        is_first_in_thread: false,
        prepared_answer: None,
    };
    message::start_run_with(arrival, conn, &words, |state| state.drafts.chosen = Some(row.draft.id)).await?;
    Ok(InteractionResponse::Ack)
}

/// [Discard] deletes the draft, at its provider too.
pub(super) async fn handle_discard_click(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    id: DraftId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let row = match load_open_draft(arrival, conn, id, person).await? {
        Ok(row) => row,
        Err(why) => return Ok(why),
    };
    Ok(match draft::discard(arrival.core, conn, arrival.tenant, &row, arrival.now).await? {
        DiscardResult::Started => InteractionResponse::Ack,
        DiscardResult::NotOpen => InteractionResponse::ephemeral(card::NOT_OPEN),
        DiscardResult::Forbidden(why) => InteractionResponse::ephemeral(approval::forbidden_text(&why)),
    })
}

async fn load_open_draft(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    id: DraftId,
    person: PersonId,
) -> sqlx::Result<Result<StoredDraft, InteractionResponse>> {
    Ok(match draft::sql::load(conn, arrival.tenant, id).await? {
        None => Err(InteractionResponse::ephemeral(card::DRAFT_NOT_FOUND)),
        Some(row) if row.person != person => Err(InteractionResponse::ephemeral(card::NOT_YOUR_DRAFT)),
        Some(row) if row.status != "open" => Err(InteractionResponse::ephemeral(card::NOT_OPEN)),
        Some(row) => Ok(row),
    })
}
