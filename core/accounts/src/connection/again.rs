//! [Reconnect]: the press makes the private link. A card may stand for days; a link is good for an hour.

use sqlx::PgConnection;

use super::disconnect::{NOT_THEIRS, meant};
use super::{Accounts, NewOffer, cards, held, make};
use nod_contract::card::Action;
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, OfferId, PersonId, TenantId};

/// Somebody pressed: a link to all that they had allowed, or to what is usual.
pub async fn press(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    verb: &Action,
    person: PersonId,
    conversation: ConversationId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(provider) = meant(verb, person) else { return Ok(InteractionResponse::ephemeral(NOT_THEIRS)) };
    let scopes = core.scopes(provider);
    let held = held(conn, tenant, person, provider).await?;
    let allowed = held.as_ref().map(|held| scopes.known(&held.scopes)).filter(|scopes| !scopes.is_empty());
    let scopes = allowed.unwrap_or_else(|| scopes.usual());
    let id: OfferId = core.id();
    let card = cards::reconnect_link(provider, id, held.as_ref());
    make(
        core,
        conn,
        tenant,
        &NewOffer { id, person, provider, scopes, conversation, run: None, delivery: None },
        now,
    )
    .await?;
    Ok(InteractionResponse::Ephemeral(card))
}
