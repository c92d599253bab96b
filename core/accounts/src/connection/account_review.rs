//! Accounts whose address is not the person's own. An admin allows or refuses each once, so that a forwarded link never
//! gives one person's mail to another.

use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::connect_request::{ConnectRequest, NewConnectRequest, make};
use super::waiting_runs::resume_unless_other_route;
use super::{Accounts, card, sql};
use nod_contract::card::Card;
use nod_contract::chat::{DeliveryTarget, InteractionResponse};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, OfferId, PersonId, TenantId};
use nod_contract::provider::Provider;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{conversations, people};
use nod_store::audit;
use nod_store::runs::ConnectOutcome;

/// Returns whether an admin allowed this account for this person.
pub(super) async fn is_allowed(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    provider: Provider,
    account: &str,
) -> sqlx::Result<bool> {
    sql::is_review_allowed(conn, tenant, person, provider.as_str(), &account.to_lowercase()).await
}

/// Asks every admin; returns false if there is none. A second attempt with the same account asks no admin again.
pub(super) async fn request_review(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    offer: &ConnectRequest,
    account: &str,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let venue = conversations::load_location(conn, tenant, offer.conversation).await?;
    let admins: Vec<&str> = core.admins_on(&venue.platform).collect();
    if admins.is_empty() {
        return Ok(false);
    }
    let id: Uuid = core.id();
    let deliveries: Vec<DeliveryId> = admins.iter().map(|_| core.id()).collect();
    let request = sql::NewAccountReview {
        id,
        person: offer.person,
        provider: offer.provider.as_str(),
        email: &account.to_lowercase(),
        deliveries: &deliveries,
    };
    if !sql::insert_review(conn, tenant, &request, now).await? {
        return Ok(true);
    }
    let card = card::account_review_request_card(id, &offer.person_name, account, offer.email.as_deref());
    for (admin, delivery) in admins.into_iter().zip(deliveries) {
        let target =
            DeliveryTarget::DirectMessage { workspace: venue.workspace.clone(), user: admin.to_owned() };
        let new = NewDelivery {
            id: delivery,
            conversation: offer.conversation,
            run: None,
            platform: &venue.platform,
            target: Some(&target),
            opens_thread: false,
            card: &card,
            only_for: None,
        };
        delivery::enqueue(conn, tenant, &venue, &new, now).await?;
    }
    Ok(true)
}

/// Handles an admin's click.
pub async fn handle_click(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    allow: bool,
    by: &Reviewer<'_>,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let whisper = |words: &str| Ok(InteractionResponse::ephemeral(words));
    if !core.admins_on(by.platform).any(|admin| admin == by.user) {
        return whisper("Only a Nod admin can decide this.");
    }
    let status = if allow { "allowed" } else { "denied" };
    let Some(request) = sql::mark_review_decided(conn, tenant, id, status, by.person, now).await? else {
        return whisper("This was already decided.");
    };
    let detail = json!({ "provider": request.provider, "for": request.person });
    let action = format!("account.{status}");
    audit::insert_entry(conn, tenant, Some(by.person), &action, id, None, &detail, now).await?;
    let person = people::sql::load(conn, tenant, request.person).await?;
    let name = person.as_ref().map_or("somebody", |p| p.display_name());
    let admin = people::sql::load(conn, tenant, by.person).await?;
    let admin = admin.as_ref().map_or("an admin", |p| p.display_name());
    for delivery in &request.deliveries {
        let card = card::account_review_decided_card(name, &request.email, allow, admin);
        delivery::update_card(conn, tenant, *delivery, &card, now).await?;
    }
    if let Some(first) = request.deliveries.first() {
        notify_person(core, conn, tenant, &request, *first, allow, now).await?;
    }
    Ok(InteractionResponse::Ack)
}

/// The user who clicked, as the platform and as Nod know them.
pub struct Reviewer<'a> {
    pub person: PersonId,
    pub user: &'a str,
    pub platform: &'a str,
}

/// Notifies the person of the decision; for an allowed account with a new link.
async fn notify_person(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    request: &sql::AccountReview,
    asked_in: DeliveryId,
    allow: bool,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (_, _, venue) = delivery::sql::load_target(conn, tenant, asked_in).await?;
    let conversation = venue.conversation;
    let user =
        people::sql::find_user_id(conn, tenant, request.person, &venue.platform, &venue.workspace).await?;
    let (Some(user), Some(provider)) = (user, Provider::from_name(&request.provider)) else { return Ok(()) };
    let id: DeliveryId = core.id();
    let offer: OfferId = core.id();
    let card = if allow {
        card::connect_reviewed_card(provider, offer, &request.email)
    } else {
        Card::from_markdown(format!("An admin didn't allow {}, so nothing was connected.", request.email))
    };
    let target = DeliveryTarget::DirectMessage { workspace: venue.workspace.clone(), user };
    let new = NewDelivery {
        id,
        conversation,
        run: None,
        platform: &venue.platform,
        target: Some(&target),
        opens_thread: false,
        card: &card,
        only_for: Some(request.person),
    };
    delivery::enqueue(conn, tenant, &venue, &new, now).await?;
    if allow {
        let new = NewConnectRequest {
            id: offer,
            person: request.person,
            provider,
            scopes: core.scopes(provider).usual(),
            conversation,
            run: None,
            delivery: Some(id),
        };
        make(core, conn, tenant, &new, now).await?;
    } else {
        let ended = ConnectOutcome::DeniedByAdmin;
        resume_unless_other_route(conn, tenant, request.person, provider, ended, now).await?;
    }
    Ok(())
}
