//! Disconnects an account. One commit deletes its tokens from where tools find them and stores a job that revokes them
//! at the provider. So no crash leaves a usable token, or forgets one that is still valid.

use chrono::TimeDelta;
use secrecy::SecretString;
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::connect_request::ConnectRequest;
use super::{Accounts, ConnectedAccount, DelegatedAccess, RevokeError, card, context, delegated_access, sql};
use crate::work::AccountJob;
use nod_contract::card::reconnect::{account_action, with_reconnect};
use nod_contract::card::{Action, Card};
use nod_contract::chat::{DeliveryTarget, InteractionResponse};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, TenantId};
use nod_contract::provider::Provider;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{conversations, open_pages, people};
use nod_store::audit;
use nod_store::context::Base;
use nod_store::hooks::AccountEnded;
use nod_store::jobs::{Claim, WorkError, sql as jobs};

/// How long revocation is retried if the provider does not answer.
const REVOKE_RETRY_WINDOW: TimeDelta = TimeDelta::days(1);
/// The shortest and longest wait between two attempts. Within them, it equals the time since the first attempt.
const RETRY_DELAY_RANGE: (TimeDelta, TimeDelta) = (TimeDelta::seconds(30), TimeDelta::hours(1));

/// The answer to a click on another person's account.
pub(super) const NOT_YOUR_ACCOUNT: &str = "That's someone else's account.";

pub(super) fn parse_account_action(verb_: &Action, person: PersonId) -> Option<Provider> {
    Provider::ALL.into_iter().find(|provider| account_action("", person, *provider).subject == verb_.subject)
}

/// Returns a card with what the person has connected and what it allows; `None` if nothing is connected.
pub async fn list(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<Option<Card>> {
    let mut card: Option<Card> = None;
    for provider in Provider::ALL {
        if let Some(held) = super::load_connected_account(conn, tenant, person, provider).await? {
            let before = card.take().unwrap_or_else(|| Card::default().with_title("Connected accounts"));
            let before = match held.is_working {
                true => before,
                false => with_reconnect(before, person, provider),
            };
            let disconnect = account_action("ask_disconnect", person, provider);
            card = Some(card::account(before, provider, core.scopes(provider), &held, disconnect));
        }
    }
    Ok(card)
}

/// Asks for confirmation.
pub async fn confirm_disconnect(
    conn: &mut PgConnection,
    lending: &DelegatedAccess,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
) -> sqlx::Result<InteractionResponse> {
    let lent = delegated_access::describe_delegated_access(conn, lending, tenant, person).await?;
    let lent = lent.as_deref();
    let Some(held) = super::load_connected_account(conn, tenant, person, provider).await? else {
        return Ok(InteractionResponse::ephemeral(card::not_connected_text(provider, lent)));
    };
    Ok(InteractionResponse::Ephemeral(card::confirm_disconnect_card(
        provider,
        &held,
        lent,
        account_action("confirm_disconnect", person, provider),
    )))
}

/// Handles a click on Disconnect.
pub async fn handle_click(
    conn: &mut PgConnection,
    lending: &DelegatedAccess,
    tenant: TenantId,
    verb: &Action,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    match parse_account_action(verb, person) {
        Some(provider) => confirm_disconnect(conn, lending, tenant, person, provider).await,
        None => Ok(InteractionResponse::ephemeral(NOT_YOUR_ACCOUNT)),
    }
}

/// Handles the confirmation. The account is deleted with this commit; a job revokes it at the provider.
pub async fn disconnect(
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
    let reason = format!("{} was disconnected", provider.display_name());
    tell(core, conn, AccountEnded { tenant, person, provider, but: None, reason: &reason }, now).await?;
    let Some(row) = sql::delete(conn, tenant, person, provider.as_str()).await? else {
        return Ok(InteractionResponse::ephemeral(card::nothing_connected_text(provider)));
    };
    let over = EndedGrant::from_row(core, tenant, person, provider, row);
    let id = enqueue_revocation(core, conn, tenant, &over, conversation, now).await?;
    let detail = json!({ "provider": provider.as_str() });
    audit::insert_entry(conn, tenant, Some(person), "connection.deleted", id, None, &detail, now).await?;
    open_pages::enqueue_refresh(conn, tenant, person, now).await?;
    Ok(InteractionResponse::ephemeral(card::disconnected_text(provider)))
}

/// A grant that is no longer of use here.
#[derive(Debug)]
pub struct EndedGrant {
    pub(super) person: PersonId,
    pub(super) provider: Provider,
    pub(super) account: String,
    /// The refresh token, else the access token; `None` if it could not be decrypted.
    pub(super) token: Option<SecretString>,
}

impl EndedGrant {
    pub(super) fn from_row(
        core: &Accounts,
        tenant: TenantId,
        person: PersonId,
        provider: Provider,
        row: sql::ConnectionRow,
    ) -> Self {
        let sealed = row.refresh_sealed.as_deref().unwrap_or(&row.access_sealed);
        let token = core.links.vault.unseal(sealed, &context(tenant, person, provider)).ok();
        Self { person, provider, account: row.account, token }
    }
}

/// Notifies the person and enqueues the job that revokes the grant. Returns the job's subject.
pub async fn enqueue_revocation(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    over: &EndedGrant,
    conversation: ConversationId,
    now: Timestamp,
) -> sqlx::Result<Uuid> {
    let EndedGrant { person, provider, account, token } = over;
    let id: Uuid = core.id();
    let card = card::disconnected_and_revoking_card(*provider, account);
    let Some(delivery) = send_to_person(core, conn, tenant, *person, conversation, &card, now).await? else {
        return Ok(id);
    };
    let shared = is_account_in_use(core, conn, tenant, *provider, account).await?;
    let Some(token) = token.as_ref().filter(|_| !shared) else {
        delivery::update_card(
            conn,
            tenant,
            delivery,
            &card::disconnected_but_not_revoked_card(*provider, account),
            now,
        )
        .await?;
        return Ok(id);
    };
    let revocation = Revocation {
        provider: *provider,
        account: account.clone(),
        token: core.links.vault.seal(token, &seal_context(id), core.ids.as_ref()),
        conversation,
        delivery,
        since: now,
    };
    sql::insert_revocation(conn, tenant, id, &revocation).await?;
    jobs::enqueue(conn, tenant, id, &AccountJob::RevokeGrant { revocation: id }, now, now).await?;
    Ok(id)
}

/// Returns whether a person or the operator still uses that account. Revoking it at the provider would end every grant
/// of it to this Nod, theirs included.
pub(super) async fn is_account_in_use(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    provider: Provider,
    account: &str,
) -> sqlx::Result<bool> {
    let lent = core.lending.may_be_organisation_account(account);
    Ok(lent || sql::is_connected(conn, tenant, provider.as_str(), account).await?)
}

/// Another account replaces this one, or a lent one. Approvals waiting on it end, and its grant is revoked.
pub(super) async fn end_replaced_grant(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    offer: &ConnectRequest,
    account: &str,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (person, provider) = (offer.person, offer.provider);
    let reason = "you connected another account";
    tell(core, conn, AccountEnded { tenant, person, provider, but: Some(account), reason }, now).await?;
    let other = |held: &&ConnectedAccount| held.is_working && !held.account.eq_ignore_ascii_case(account);
    if offer.connected.as_ref().filter(other).is_none() {
        return Ok(());
    }
    if let Some(row) = sql::delete(conn, tenant, person, provider.as_str()).await? {
        let over = EndedGrant::from_row(core, tenant, person, provider, row);
        enqueue_revocation(core, conn, tenant, &over, offer.conversation, now).await?;
    }
    Ok(())
}

/// Tells the hooks that the account ends.
async fn tell(
    core: &Accounts,
    conn: &mut PgConnection,
    ended: AccountEnded<'_>,
    now: Timestamp,
) -> sqlx::Result<()> {
    for hook in &core.hooks {
        hook.account_ended(conn, ended, now).await?;
    }
    Ok(())
}

/// Sends the card to the person directly.
pub(super) async fn send_to_person(
    core: &Base,
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    conversation: ConversationId,
    card: &Card,
    now: Timestamp,
) -> sqlx::Result<Option<DeliveryId>> {
    let venue = conversations::load_location(conn, tenant, conversation).await?;
    let user = people::sql::find_user_id(conn, tenant, person, &venue.platform, &venue.workspace).await?;
    let Some(user) = user else { return Ok(None) };
    let target = DeliveryTarget::DirectMessage { workspace: venue.workspace.clone(), user };
    let id: DeliveryId = core.id();
    let new = NewDelivery {
        id,
        conversation,
        run: None,
        platform: &venue.platform,
        target: Some(&target),
        opens_thread: false,
        card,
        only_for: Some(person),
    };
    delivery::enqueue(conn, tenant, &venue, &new, now).await?;
    Ok(Some(id))
}

/// A grant that is still to be revoked.
pub(super) struct Revocation {
    pub(super) provider: Provider,
    pub(super) account: String,
    /// Sealed for this row only.
    pub(super) token: String,
    pub(super) conversation: ConversationId,
    pub(super) delivery: DeliveryId,
    pub(super) since: Timestamp,
}

/// The context that ties the sealed token to its row.
fn seal_context(id: Uuid) -> String {
    format!("revocation/{id}")
}

/// The job: revokes the grant at the provider, with retries for a day.
pub(crate) async fn revoke_grant(core: &Accounts, claim: &Claim, id: Uuid) -> Result<(), WorkError> {
    let mut conn = core.pool.acquire().await?;
    let Some(row) = sql::load_revocation(&mut conn, claim.tenant, id).await? else {
        return Ok(jobs::complete(&mut conn, claim).await?);
    };
    drop(conn);
    let to = core.grantors.iter().find(|to| to.provider() == row.provider);
    let token = core.links.vault.unseal(&row.token, &seal_context(id));
    let went = match (to, token) {
        (Some(to), Ok(token)) => to.revoke(&token).await,
        (None, _) => Err(RevokeError("this provider is not configured any more".to_owned())),
        (_, Err(error)) => Err(RevokeError(error.to_string())),
    };
    let now = core.now();
    let card = match went {
        Ok(()) => card::disconnected_and_revoked_card(row.provider, &row.account),
        Err(error) if now - row.since >= REVOKE_RETRY_WINDOW => {
            tracing::warn!(revocation = %id, %error, "could not revoke grant");
            card::disconnected_but_not_revoked_card(row.provider, &row.account)
        }
        Err(error) => {
            let again = now + (now - row.since).clamp(RETRY_DELAY_RANGE.0, RETRY_DELAY_RANGE.1);
            let mut tx = core.begin().await?;
            jobs::assert_lease(&mut tx, claim).await?;
            jobs::reschedule(&mut tx, claim, again, Some(&error.to_string()), true).await?;
            return Ok(tx.commit().await?);
        }
    };
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    sql::delete_revocation(&mut tx, claim.tenant, id).await?;
    delivery::update_card(&mut tx, claim.tenant, row.delivery, &card, now).await?;
    jobs::complete(&mut tx, claim).await?;
    tx.commit().await?;
    core.jobs.wake();
    Ok(())
}
