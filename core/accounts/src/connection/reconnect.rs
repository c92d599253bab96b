//! The Reconnect button. A click creates the private link, because a card can be days old and a link lasts one hour.

use sqlx::PgConnection;

use super::disconnect::{NOT_YOUR_ACCOUNT, parse_account_action};
use super::{Accounts, NewConnectRequest, card, load_connected_account, make};
use nod_contract::card::Action;
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, OfferId, PersonId, TenantId};

/// Handles a click on Reconnect: sends a link that asks for the scopes granted before, or for the usual ones.
pub async fn handle_click(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    verb: &Action,
    person: PersonId,
    conversation: ConversationId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(provider) = parse_account_action(verb, person) else {
        return Ok(InteractionResponse::ephemeral(NOT_YOUR_ACCOUNT));
    };
    let scopes = core.scopes(provider);
    let held = load_connected_account(conn, tenant, person, provider).await?;
    let allowed =
        held.as_ref().map(|held| scopes.usable_scopes(&held.scopes)).filter(|scopes| !scopes.is_empty());
    let scopes = allowed.unwrap_or_else(|| scopes.usual());
    let id: OfferId = core.id();
    let card = card::reconnect_link(provider, id, held.as_ref());
    make(
        core,
        conn,
        tenant,
        &NewConnectRequest { id, person, provider, scopes, conversation, run: None, delivery: None },
        now,
    )
    .await?;
    Ok(InteractionResponse::Ephemeral(card))
}
