//! The Reconnect button. A click creates the private link, because a card can be days old and a link lasts one hour.

use sqlx::PgConnection;

use super::disconnect::{NOT_THEIRS, meant};
use super::{Accounts, NewOffer, cards, held, make};
use nod_contract::card::Action;
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, OfferId, PersonId, TenantId};

/// Handles a click on Reconnect: sends a link that asks for the scopes granted before, or for the usual ones.
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
