//! Offers: the way from a private link to a connected account, one guarded step after another.
//!
//! open → begun (the link was used, by a POST) → resumed (the provider sent the browser back) → done | declined |
//! other_account; or expired. Each step happens once. If the chat platform reports no address, the browser is sent
//! there first, and comes back from it as from a provider: resumed → begun, signed in.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::disconnect::{self, EndedGrant};
use super::scopes::Scopes;
use super::waiting_runs::{self, resume_unless_other_route, resume_waiting_runs};
use super::{Accounts, ConnectedAccount, Connections, Tokens, account_review, card, grant_expiry, sql};
use crate::work::AccountJob;
use nod_contract::chat::Membership;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, OfferId, PersonId, RunId, TenantId};
use nod_contract::provider::Provider;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{conversations, open_pages, people};
use nod_store::audit;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs::ConnectOutcome;
use nod_store::store::is_deadlock;

/// The offers, for the page behind the link.
#[derive(Clone)]
pub struct ConnectRequests {
    core: Accounts,
}

/// What the page shows before anything happens.
#[derive(Debug, Clone)]
pub struct ConnectPage {
    /// The person whose account it will be.
    pub person_name: String,
    /// The only address that is accepted.
    pub required_email: Option<String>,
    /// The platform where the person talks with Nod.
    pub platform: String,
    /// The name of the person's workspace.
    pub workspace_name: String,
    /// The provider.
    pub provider: Provider,
    /// What it asks for.
    pub scopes: Vec<String>,
    /// When the link expires.
    pub expires_at: Timestamp,
}

/// The link was used: the data for the request to the provider.
#[derive(Debug, Clone)]
pub struct AuthorizationRequest {
    /// OAuth `state`, single-use.
    pub state: String,
    /// PKCE verifier.
    pub verifier: String,
    /// The only address that is accepted, if the platform reports one.
    pub required_email: Option<String>,
    /// The account that is already connected.
    pub account: Option<String>,
    /// What to ask for.
    pub scopes: Vec<String>,
    /// The platform where the person talks with Nod. If it reports no address, a user who signs in there as that person
    /// can connect any account of theirs.
    pub platform: String,
}

/// The browser came back: the data for completing the offer.
#[derive(Debug, Clone)]
pub struct PendingAuthorization {
    /// PKCE verifier.
    pub verifier: String,
    /// The provider.
    pub provider: Provider,
    /// What was asked for.
    pub scopes: Vec<String>,
    request_id: OfferId,
}

/// Why no account was connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectFailure {
    /// The person declined at the provider.
    Declined,
    /// The person left every box empty.
    NoScopesGranted,
    /// The user who followed the link is not the person it was made for.
    WrongPerson,
    /// The provider did not complete it.
    ProviderError,
}

impl From<ConnectFailure> for ConnectOutcome {
    fn from(why: ConnectFailure) -> Self {
        match why {
            ConnectFailure::Declined => Self::Declined,
            ConnectFailure::NoScopesGranted => Self::InsufficientScopes,
            ConnectFailure::WrongPerson | ConnectFailure::ProviderError => Self::Failed,
        }
    }
}

/// The result of a completed offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectCompletion {
    /// The account is connected.
    Connected {
        /// Its address.
        account: String,
        /// Scopes that were requested but not granted.
        missing_scopes: Vec<String>,
    },
    /// More was requested for the connected account, and the person signed in to another.
    AccountMismatch {
        /// The account they signed in to.
        account: String,
        /// The connected account.
        connected: String,
    },
    /// The account is not the person's own, and no admin has allowed it.
    NeedsReview {
        /// The account they signed in to.
        account: String,
        /// The address that would be accepted.
        expected: Option<String>,
        /// Whether an admin was asked.
        review_requested: bool,
    },
}

/// Why a step of an offer failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectRequestError {
    /// This installation did not make that link or state.
    #[error("This isn't one of Nod's links. Ask Nod in chat to connect, and use the link you get there.")]
    Unknown,
    /// The link has expired.
    #[error("Links work for an hour. Ask Nod in chat to connect, and use the new one.")]
    Expired,
    /// A link works once.
    #[error("Links work once. Ask Nod in chat to connect if you need another.")]
    Used,
    /// The link belongs to a person who is not a member.
    #[error("I work for members of this workspace only. Nothing was connected. An admin can change that.")]
    Stranger,
    /// The person's membership cannot be determined now.
    #[error(
        "I couldn't find out yet whose link this is. Nothing was connected. Please try again in a moment."
    )]
    NotNow,
    /// The database did not answer; nothing was changed.
    #[error("Something went wrong on our side. Nothing was connected. Please try again in a minute.")]
    Database(#[from] sqlx::Error),
}

impl ConnectRequests {
    pub fn new(core: Accounts) -> Self {
        Self { core }
    }

    fn tenant(&self) -> TenantId {
        self.core.tenant
    }

    /// Loads the offer behind a link, with the address of its person. If the platform has not been asked for the
    /// address yet, asks it now.
    async fn load_usable(&self, token: &str) -> Result<ConnectRequest, ConnectRequestError> {
        let (core, tenant) = (&self.core, self.tenant());
        let id = core.links.parse_link_token(token).ok_or(ConnectRequestError::Unknown)?;
        let mut conn = core.pool.acquire().await?;
        let mut offer =
            sql::load_request(core, &mut conn, tenant, id).await?.ok_or(ConnectRequestError::Unknown)?;
        offer.usable(core.now())?;
        let (platform, workspace) = (offer.platform.as_str(), offer.workspace.as_str());
        let person =
            people::sql::load_with_membership(&mut conn, tenant, offer.person, platform, workspace).await?;
        drop(conn);
        let mut person = person.ok_or(ConnectRequestError::Unknown)?;
        if person.membership == Membership::Unknown {
            person = people::directory::ensure_profile(core, tenant, person, platform, workspace)
                .await
                .map_err(|error| {
                    tracing::warn!(offer = %id, %error, "whose link it is could not be asked");
                    ConnectRequestError::NotNow
                })?;
            let mut conn = core.pool.acquire().await?;
            offer =
                sql::load_request(core, &mut conn, tenant, id).await?.ok_or(ConnectRequestError::Unknown)?;
        }
        if !core.welcome.admits(person.membership) {
            return Err(ConnectRequestError::Stranger);
        }
        Ok(offer)
    }

    /// Returns what the page behind a link shows. This does not use the link up, because previews fetch links.
    ///
    /// # Errors
    /// If the link is unknown, expired or used, or the database does not answer.
    pub async fn load_page(&self, token: &str) -> Result<ConnectPage, ConnectRequestError> {
        let offer = self.load_usable(token).await?;
        Ok(ConnectPage {
            person_name: offer.person_name,
            required_email: offer.email,
            platform: offer.platform,
            workspace_name: offer.workspace_name.unwrap_or_else(|| self.core.tenant_name.clone()),
            provider: offer.provider,
            scopes: offer.scopes,
            expires_at: offer.expires_at,
        })
    }

    /// Uses the link up.
    ///
    /// # Errors
    /// If the link is unknown, expired or used, or the database does not answer.
    pub async fn start_authorization(
        &self,
        token: &str,
    ) -> Result<AuthorizationRequest, ConnectRequestError> {
        let core = &self.core;
        let offer = self.load_usable(token).await?;
        let leg = self.new_round_trip(offer.id);
        let mut conn = core.pool.acquire().await?;
        if !sql::mark_authorizing(
            &mut conn,
            self.tenant(),
            offer.id,
            &hash(&leg.state),
            &leg.verifier_sealed,
            core.now(),
        )
        .await?
        {
            return Err(ConnectRequestError::Used);
        }
        Ok(leg.into_authorization_request(offer))
    }

    /// The platform says that `user` is signed in in the browser. If the link is theirs, the browser goes on to the
    /// provider, and any account is accepted. Otherwise the offer ends, and this returns `None`.
    ///
    /// # Errors
    /// If the offer no longer exists, or the database does not answer.
    pub async fn confirm_sign_in(
        &self,
        pending: PendingAuthorization,
        user: &str,
    ) -> Result<Option<AuthorizationRequest>, ConnectRequestError> {
        let (core, tenant) = (&self.core, self.tenant());
        let leg = self.new_round_trip(pending.request_id);
        let mut conn = core.pool.acquire().await?;
        let offer = sql::load_request(core, &mut conn, tenant, pending.request_id)
            .await?
            .ok_or(ConnectRequestError::Unknown)?;
        let (platform, workspace) = (offer.platform.as_str(), offer.workspace.as_str());
        let theirs = people::sql::find_user_id(&mut conn, tenant, offer.person, platform, workspace).await?;
        if theirs.as_deref() != Some(user) {
            drop(conn);
            self.fail(pending, ConnectFailure::WrongPerson).await?;
            return Ok(None);
        }
        if !sql::mark_signed_in(
            &mut conn,
            tenant,
            offer.id,
            &hash(&leg.state),
            &leg.verifier_sealed,
            core.now(),
        )
        .await?
        {
            return Err(ConnectRequestError::Used);
        }
        Ok(Some(leg.into_authorization_request(offer)))
    }

    fn new_round_trip(&self, offer: OfferId) -> OAuthRoundTrip {
        let core = &self.core;
        let state = URL_SAFE_NO_PAD.encode(core.ids.secret());
        let verifier = SecretString::from(URL_SAFE_NO_PAD.encode(core.ids.secret()));
        let sealed = core.links.vault.seal(&verifier, &format!("offer/{offer}"), core.ids.as_ref());
        OAuthRoundTrip { state, verifier, verifier_sealed: sealed }
    }

    /// Resumes the offer after the provider sent the browser back with this state, which works once.
    ///
    /// # Errors
    /// If the state is unknown or used, or the database does not answer.
    pub async fn receive_callback(&self, state: &str) -> Result<PendingAuthorization, ConnectRequestError> {
        let core = &self.core;
        let mut conn = core.pool.acquire().await?;
        let resumed = sql::mark_callback_received(&mut conn, self.tenant(), &hash(state), core.now()).await?;
        let (offer, provider, scopes, sealed) = resumed.ok_or(ConnectRequestError::Used)?;
        let verifier = core
            .links
            .vault
            .unseal(&sealed, &format!("offer/{offer}"))
            .map_err(|_| ConnectRequestError::Unknown)?;
        let provider = Provider::from_name(&provider).ok_or(ConnectRequestError::Unknown)?;
        let scopes = core.scopes(provider).or_legacy_scopes(scopes);
        Ok(PendingAuthorization {
            verifier: verifier.expose_secret().to_owned(),
            provider,
            scopes,
            request_id: offer,
        })
    }

    /// Ends the offer without an account. The person and the waiting runs receive the reason.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn fail(
        &self,
        pending: PendingAuthorization,
        why: ConnectFailure,
    ) -> Result<(), ConnectRequestError> {
        let (core, tenant, now) = (&self.core, self.tenant(), self.core.now());
        let mut tx = core.begin().await?;
        if let Some(offer) = sql::load_request(core, &mut tx, tenant, pending.request_id).await? {
            sql::set_status(&mut tx, tenant, offer.id, "declined").await?;
            notify(core, &mut tx, tenant, &offer, &card::failed_card(pending.provider, why), now).await?;
            let (person, provider) = (offer.person, offer.provider);
            resume_waiting_runs(&mut tx, tenant, person, provider, why.into(), now).await?;
        }
        tx.commit().await?;
        core.jobs.wake();
        Ok(())
    }

    /// Takes the tokens that the provider gave for `account`, and stores them if it is the person's own or allowed.
    ///
    /// # Errors
    /// If the offer no longer exists, or the database does not answer.
    pub async fn complete(
        &self,
        pending: PendingAuthorization,
        account: &str,
        tokens: &Tokens,
    ) -> Result<ConnectCompletion, ConnectRequestError> {
        match self.finish_authorization(&pending, account, tokens).await {
            // The link is used up and cannot be followed again, so this retries.
            Err(ConnectRequestError::Database(error)) if is_deadlock(&error) => {
                self.finish_authorization(&pending, account, tokens).await
            }
            ended => ended,
        }
    }

    async fn finish_authorization(
        &self,
        pending: &PendingAuthorization,
        account: &str,
        tokens: &Tokens,
    ) -> Result<ConnectCompletion, ConnectRequestError> {
        let (core, tenant, now) = (&self.core, self.tenant(), self.core.now());
        let provider = pending.provider;
        let mut tx = core.begin().await?;
        let offer = sql::load_request(core, &mut tx, tenant, pending.request_id)
            .await?
            .ok_or(ConnectRequestError::Unknown)?;
        let own = match offer.email.as_deref() {
            Some(address) => address.eq_ignore_ascii_case(account),
            None => offer.signed_in,
        };
        if !own && !account_review::is_allowed(&mut tx, tenant, offer.person, provider, account).await? {
            sql::set_status(&mut tx, tenant, offer.id, "needs_review").await?;
            let admin_asked =
                account_review::request_review(core, &mut tx, tenant, &offer, account, now).await?;
            let card = card::other_account(account, offer.email.as_deref(), admin_asked);
            notify(core, &mut tx, tenant, &offer, &card, now).await?;
            end_rejected_grant(core, &mut tx, tenant, &offer, account, tokens, now).await?;
            tx.commit().await?;
            core.jobs.wake();
            let (account, expected) = (account.to_owned(), offer.email);
            return Ok(ConnectCompletion::NeedsReview { account, expected, review_requested: admin_asked });
        }
        if let Some(connected) = offer.account_mismatch(account) {
            sql::set_status(&mut tx, tenant, offer.id, "declined").await?;
            let card = card::account_mismatch_card(account, &connected);
            notify(core, &mut tx, tenant, &offer, &card, now).await?;
            resume_waiting_runs(&mut tx, tenant, offer.person, provider, ConnectOutcome::Failed, now).await?;
            end_rejected_grant(core, &mut tx, tenant, &offer, account, tokens, now).await?;
            tx.commit().await?;
            core.jobs.wake();
            return Ok(ConnectCompletion::AccountMismatch { account: account.to_owned(), connected });
        }
        let granted = tokens.scopes.as_ref().unwrap_or(&offer.scopes);
        let scopes = core.scopes(provider);
        let lacks = scopes.missing_scopes(granted, &offer.scopes);
        let connections = Connections::new(core.pool.clone(), core.links.vault.clone(), core.ids.clone());
        for said in sql::cancel_revocations(&mut tx, tenant, provider.as_str(), account).await? {
            delivery::update_card(&mut tx, tenant, said, &card::reconnected_card(provider, account), now)
                .await?;
        }
        if offer.is_improvement(scopes, account, granted) {
            disconnect::end_replaced_grant(core, &mut tx, tenant, &offer, account, now).await?;
            connections.connect(&mut tx, tenant, offer.person, provider, account, tokens, now).await?;
            if let Some(ends_at) = tokens.grant_expires_at {
                let (person, place) = (offer.person, offer.conversation);
                grant_expiry::schedule_warning(core, &mut tx, tenant, person, provider, place, ends_at, now)
                    .await?;
            }
        }
        people::sql::set_connected_email(&mut tx, tenant, offer.person, account).await?;
        sql::set_status(&mut tx, tenant, offer.id, "done").await?;
        let detail = json!({ "provider": provider.as_str() });
        audit::insert_entry(
            &mut tx,
            tenant,
            Some(offer.person),
            "connection.created",
            offer.id.0,
            None,
            &detail,
            now,
        )
        .await?;
        waiting_runs::resume_after_grant(
            core,
            &mut tx,
            tenant,
            offer.person,
            provider,
            granted,
            offer.run,
            now,
        )
        .await?;
        let card = card::connected_card(provider, scopes, account, offer.connected.as_ref(), granted, &lacks);
        notify(core, &mut tx, tenant, &offer, &card, now).await?;
        open_pages::enqueue_refresh(&mut tx, tenant, offer.person, now).await?;
        tx.commit().await?;
        core.jobs.wake();
        Ok(ConnectCompletion::Connected { account: account.to_owned(), missing_scopes: lacks })
    }
}

/// The account is not kept: its new grant is revoked, unless a person here uses that account.
async fn end_rejected_grant(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    offer: &ConnectRequest,
    account: &str,
    tokens: &Tokens,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (person, provider) = (offer.person, offer.provider);
    if disconnect::is_account_in_use(core, conn, tenant, provider, account).await? {
        return Ok(());
    }
    let token = Some(tokens.refresh.clone().unwrap_or_else(|| tokens.access.clone()));
    let over = EndedGrant { person, provider, account: account.to_owned(), token };
    disconnect::enqueue_revocation(core, conn, tenant, &over, offer.conversation, now).await?;
    Ok(())
}

/// What one round trip of the browser needs.
struct OAuthRoundTrip {
    state: String,
    verifier: SecretString,
    verifier_sealed: String,
}

impl OAuthRoundTrip {
    fn into_authorization_request(self, offer: ConnectRequest) -> AuthorizationRequest {
        let verifier = self.verifier.expose_secret().to_owned();
        let account = offer.connected.map(|held| held.account);
        let ConnectRequest { email: address, platform, scopes, .. } = offer;
        AuthorizationRequest {
            state: self.state,
            verifier,
            required_email: address,
            account,
            scopes,
            platform,
        }
    }
}

/// An offer as loaded, with its person.
pub struct ConnectRequest {
    pub id: OfferId,
    pub person: PersonId,
    pub person_name: String,
    /// As the platform reports it.
    pub email: Option<String>,
    pub platform: String,
    pub workspace: String,
    pub workspace_name: Option<String>,
    pub provider: Provider,
    pub conversation: ConversationId,
    pub run: Option<RunId>,
    pub delivery: Option<DeliveryId>,
    /// What it asks for.
    pub scopes: Vec<String>,
    /// The existing account.
    pub connected: Option<ConnectedAccount>,
    pub status: String,
    pub signed_in: bool,
    pub expires_at: Timestamp,
}

impl ConnectRequest {
    fn usable(&self, now: Timestamp) -> Result<(), ConnectRequestError> {
        match self.status.as_str() {
            "open" if self.expires_at > now => Ok(()),
            "open" | "expired" => Err(ConnectRequestError::Expired),
            _ => Err(ConnectRequestError::Used),
        }
    }

    /// Returns the connected account if a request asks for more of it and `account` is another, which must not replace
    /// it.
    fn account_mismatch(&self, account: &str) -> Option<String> {
        let held = self.connected.as_ref().filter(|held| held.is_working && self.run.is_some())?;
        (!held.account.eq_ignore_ascii_case(account)).then(|| held.account.clone())
    }

    /// Returns whether the new grant is better than the existing one, so that a grant is never narrowed in vain.
    fn is_improvement(&self, scopes: &Scopes, account: &str, granted: &[String]) -> bool {
        let same = |held: &&ConnectedAccount| held.is_working && held.account.eq_ignore_ascii_case(account);
        let held = self.connected.as_ref().filter(same);
        held.is_none_or(|held| scopes.is_improvement(&held.scopes, granted, &self.scopes))
    }
}

/// A new offer and the job that expires it.
pub struct NewConnectRequest {
    pub id: OfferId,
    pub person: PersonId,
    pub provider: Provider,
    pub scopes: Vec<String>,
    pub conversation: ConversationId,
    pub run: Option<RunId>,
    pub delivery: Option<DeliveryId>,
}

/// Stores an offer.
pub async fn make(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &NewConnectRequest,
    now: Timestamp,
) -> sqlx::Result<()> {
    let expires_at = now + core.offer_expires_after;
    sql::insert_request(conn, tenant, new, expires_at, now).await?;
    jobs::enqueue(
        conn,
        tenant,
        new.id.0,
        &AccountJob::ExpireConnectRequest { offer: new.id },
        expires_at,
        now,
    )
    .await
}

/// The job: expires an offer whose link was not used in time or led to no account.
pub async fn expire(core: &Accounts, claim: &Claim, id: OfferId) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    if let Some(offer) = sql::load_request(core, &mut tx, tenant, id).await?
        && sql::mark_expired(&mut tx, tenant, id).await?
    {
        let (person, provider) = (offer.person, offer.provider);
        resume_unless_other_route(&mut tx, tenant, person, provider, ConnectOutcome::Expired, now).await?;
        // If an admin was asked, the card says so already.
        if offer.delivery.is_some() && offer.status != "needs_review" {
            let card = match offer.connected.as_ref().filter(|held| held.is_working) {
                // Granted through another link.
                Some(held)
                    if core.scopes(offer.provider).missing_scopes(&held.scopes, &offer.scopes).is_empty() =>
                {
                    card::not_needed_card(&held.account)
                }
                _ => card::expired_card(offer.provider),
            };
            notify(core, &mut tx, tenant, &offer, &card, now).await?;
        }
    }
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}

/// Shows the card where the link was posted, or sends it to the person directly.
pub(super) async fn notify(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    offer: &ConnectRequest,
    card: &nod_contract::card::Card,
    now: Timestamp,
) -> sqlx::Result<()> {
    if let Some(delivery) = offer.delivery {
        return delivery::update_card(conn, tenant, delivery, card, now).await;
    }
    let venue = conversations::load_location(conn, tenant, offer.conversation).await?;
    let user =
        people::sql::find_user_id(conn, tenant, offer.person, &venue.platform, &venue.workspace).await?;
    let Some(user) = user else { return Ok(()) };
    let target =
        nod_contract::chat::DeliveryTarget::DirectMessage { workspace: venue.workspace.clone(), user };
    let new = NewDelivery {
        id: core.id(),
        conversation: offer.conversation,
        run: None,
        platform: &venue.platform,
        target: Some(&target),
        opens_thread: false,
        card,
        only_for: Some(offer.person),
    };
    delivery::enqueue(conn, tenant, &venue, &new, now).await
}

fn hash(state: &str) -> String {
    hex::encode(Sha256::digest(state))
}
