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

use super::disconnect::{self, Over};
use super::scopes::Scopes;
use super::waiting::{self, wake, wake_unless_another};
use super::{Accounts, Connections, Held, Tokens, cards, ending, other, sql};
use crate::work::AccountJob;
use nod_contract::chat::Membership;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, OfferId, PersonId, RunId, TenantId};
use nod_contract::provider::Provider;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{open_pages, people};
use nod_store::audit;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs::ConnectOutcome;
use nod_store::store::is_deadlock;

/// The offers, for the page behind the link.
#[derive(Clone)]
pub struct Offers {
    core: Accounts,
}

/// What the page shows before anything happens.
#[derive(Debug, Clone)]
pub struct OfferPage {
    /// The person whose account it will be.
    pub person_name: String,
    /// The only address that is accepted.
    pub address: Option<String>,
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
pub struct Begun {
    /// OAuth `state`, single-use.
    pub state: String,
    /// PKCE verifier.
    pub verifier: String,
    /// The only address that is accepted, if the platform reports one.
    pub address: Option<String>,
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
pub struct Pending {
    /// PKCE verifier.
    pub verifier: String,
    /// The provider.
    pub provider: Provider,
    /// What was asked for.
    pub scopes: Vec<String>,
    offer: OfferId,
}

/// Why no account was connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setback {
    /// The person declined at the provider.
    Declined,
    /// The person left every box empty.
    TooLittle,
    /// The user who followed the link is not the person it was made for.
    SomebodyElse,
    /// The provider did not complete it.
    Broken,
}

impl From<Setback> for ConnectOutcome {
    fn from(why: Setback) -> Self {
        match why {
            Setback::Declined => Self::Declined,
            Setback::TooLittle => Self::InsufficientScopes,
            Setback::SomebodyElse | Setback::Broken => Self::Failed,
        }
    }
}

/// The result of a completed offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// The account is connected.
    Connected {
        /// Its address.
        account: String,
        /// Scopes that were requested but not granted.
        lacks: Vec<String>,
    },
    /// More was requested for the connected account, and the person signed in to another.
    NotThatAccount {
        /// The account they signed in to.
        account: String,
        /// The connected account.
        connected: String,
    },
    /// The account is not the person's own, and no admin has allowed it.
    OtherAccount {
        /// The account they signed in to.
        account: String,
        /// The address that would be accepted.
        expected: Option<String>,
        /// Whether an admin was asked.
        admin_asked: bool,
    },
}

/// Why a step of an offer failed.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    /// This installation did not make that link or state.
    #[error("This link is not one of mine. Ask Nod in chat to connect, and use the link it gives you.")]
    Unknown,
    /// The link has expired.
    #[error("It worked for an hour. Ask Nod in chat to connect, and use the new link.")]
    Expired,
    /// A link works once.
    #[error("A link works once. Ask Nod in chat to connect if you need another.")]
    Used,
    /// The link belongs to a person who is not a member.
    #[error("I work for members of this workspace only. Nothing was connected. An admin can change that.")]
    Stranger,
    /// The person's membership cannot be determined now.
    #[error(
        "I could not find out yet whose link this is. Nothing was connected; please try again in a moment."
    )]
    NotNow,
    /// The database did not answer; nothing was changed.
    #[error("Something is wrong here just now. Nothing was connected; please try again in a minute.")]
    Database(#[from] sqlx::Error),
}

impl Offers {
    pub fn new(core: Accounts) -> Self {
        Self { core }
    }

    fn tenant(&self) -> TenantId {
        self.core.tenant
    }

    /// Loads the offer behind a link, with the address of its person. If the platform has not been asked for the
    /// address yet, asks it now.
    async fn usable(&self, token: &str) -> Result<Offer, OfferError> {
        let (core, tenant) = (&self.core, self.tenant());
        let id = core.links.offer(token).ok_or(OfferError::Unknown)?;
        let mut conn = core.pool.acquire().await?;
        let mut offer = sql::offer(core, &mut conn, tenant, id).await?.ok_or(OfferError::Unknown)?;
        offer.usable(core.now())?;
        let (platform, workspace) = (offer.platform.as_str(), offer.workspace.as_str());
        let person = people::sql::load_there(&mut conn, tenant, offer.person, platform, workspace).await?;
        drop(conn);
        let mut person = person.ok_or(OfferError::Unknown)?;
        if person.standing == Membership::Unknown {
            person = people::directory::known(core, tenant, person, platform, workspace).await.map_err(
                |error| {
                    tracing::warn!(offer = %id, %error, "whose link it is could not be asked");
                    OfferError::NotNow
                },
            )?;
            let mut conn = core.pool.acquire().await?;
            offer = sql::offer(core, &mut conn, tenant, id).await?.ok_or(OfferError::Unknown)?;
        }
        if !core.welcome.admits(person.standing) {
            return Err(OfferError::Stranger);
        }
        Ok(offer)
    }

    /// Returns what the page behind a link shows. This does not use the link up, because previews fetch links.
    ///
    /// # Errors
    /// If the link is unknown, expired or used, or the database does not answer.
    pub async fn read(&self, token: &str) -> Result<OfferPage, OfferError> {
        let offer = self.usable(token).await?;
        Ok(OfferPage {
            person_name: offer.person_name,
            address: offer.address,
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
    pub async fn begin(&self, token: &str) -> Result<Begun, OfferError> {
        let core = &self.core;
        let offer = self.usable(token).await?;
        let leg = self.leg(offer.id);
        let mut conn = core.pool.acquire().await?;
        if !sql::begun(&mut conn, self.tenant(), offer.id, &hash(&leg.state), &leg.sealed, core.now()).await?
        {
            return Err(OfferError::Used);
        }
        Ok(leg.begun(offer))
    }

    /// The platform says that `user` is signed in in the browser. If the link is theirs, the browser goes on to the
    /// provider, and any account is accepted. Otherwise the offer ends, and this returns `None`.
    ///
    /// # Errors
    /// If the offer no longer exists, or the database does not answer.
    pub async fn signed_in(&self, pending: Pending, user: &str) -> Result<Option<Begun>, OfferError> {
        let (core, tenant) = (&self.core, self.tenant());
        let leg = self.leg(pending.offer);
        let mut conn = core.pool.acquire().await?;
        let offer = sql::offer(core, &mut conn, tenant, pending.offer).await?.ok_or(OfferError::Unknown)?;
        let (platform, workspace) = (offer.platform.as_str(), offer.workspace.as_str());
        let theirs = people::sql::user_of(&mut conn, tenant, offer.person, platform, workspace).await?;
        if theirs.as_deref() != Some(user) {
            drop(conn);
            self.failed(pending, Setback::SomebodyElse).await?;
            return Ok(None);
        }
        if !sql::signed_in(&mut conn, tenant, offer.id, &hash(&leg.state), &leg.sealed, core.now()).await? {
            return Err(OfferError::Used);
        }
        Ok(Some(leg.begun(offer)))
    }

    fn leg(&self, offer: OfferId) -> Leg {
        let core = &self.core;
        let state = URL_SAFE_NO_PAD.encode(core.ids.secret());
        let verifier = SecretString::from(URL_SAFE_NO_PAD.encode(core.ids.secret()));
        let sealed = core.links.vault.seal(&verifier, &format!("offer/{offer}"), core.ids.as_ref());
        Leg { state, verifier, sealed }
    }

    /// Resumes the offer after the provider sent the browser back with this state, which works once.
    ///
    /// # Errors
    /// If the state is unknown or used, or the database does not answer.
    pub async fn resume(&self, state: &str) -> Result<Pending, OfferError> {
        let core = &self.core;
        let mut conn = core.pool.acquire().await?;
        let resumed = sql::resumed(&mut conn, self.tenant(), &hash(state), core.now()).await?;
        let (offer, provider, scopes, sealed) = resumed.ok_or(OfferError::Used)?;
        let verifier =
            core.links.vault.unseal(&sealed, &format!("offer/{offer}")).map_err(|_| OfferError::Unknown)?;
        let provider = Provider::from_name(&provider).ok_or(OfferError::Unknown)?;
        let scopes = core.scopes(provider).asked(scopes);
        Ok(Pending { verifier: verifier.expose_secret().to_owned(), provider, scopes, offer })
    }

    /// Ends the offer without an account. The person and the waiting runs receive the reason.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn failed(&self, pending: Pending, why: Setback) -> Result<(), OfferError> {
        let (core, tenant, now) = (&self.core, self.tenant(), self.core.now());
        let mut tx = core.begin().await?;
        if let Some(offer) = sql::offer(core, &mut tx, tenant, pending.offer).await? {
            sql::close(&mut tx, tenant, offer.id, "declined").await?;
            say(core, &mut tx, tenant, &offer, &cards::failed(pending.provider, why), now).await?;
            let (person, provider) = (offer.person, offer.provider);
            wake(&mut tx, tenant, person, provider, why.into(), now).await?;
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
        pending: Pending,
        account: &str,
        tokens: &Tokens,
    ) -> Result<Completion, OfferError> {
        match self.completed(&pending, account, tokens).await {
            // The link is used up and cannot be followed again, so this retries.
            Err(OfferError::Database(error)) if is_deadlock(&error) => {
                self.completed(&pending, account, tokens).await
            }
            ended => ended,
        }
    }

    async fn completed(
        &self,
        pending: &Pending,
        account: &str,
        tokens: &Tokens,
    ) -> Result<Completion, OfferError> {
        let (core, tenant, now) = (&self.core, self.tenant(), self.core.now());
        let provider = pending.provider;
        let mut tx = core.begin().await?;
        let offer = sql::offer(core, &mut tx, tenant, pending.offer).await?.ok_or(OfferError::Unknown)?;
        let own = match offer.address.as_deref() {
            Some(address) => address.eq_ignore_ascii_case(account),
            None => offer.signed_in,
        };
        if !own && !other::allowed(&mut tx, tenant, offer.person, provider, account).await? {
            sql::close(&mut tx, tenant, offer.id, "other_account").await?;
            let admin_asked = other::ask(core, &mut tx, tenant, &offer, account, now).await?;
            let card = cards::other_account(account, offer.address.as_deref(), admin_asked);
            say(core, &mut tx, tenant, &offer, &card, now).await?;
            refused(core, &mut tx, tenant, &offer, account, tokens, now).await?;
            tx.commit().await?;
            core.jobs.wake();
            let (account, expected) = (account.to_owned(), offer.address);
            return Ok(Completion::OtherAccount { account, expected, admin_asked });
        }
        if let Some(connected) = offer.not_that(account) {
            sql::close(&mut tx, tenant, offer.id, "declined").await?;
            let card = cards::not_that_account(account, &connected);
            say(core, &mut tx, tenant, &offer, &card, now).await?;
            wake(&mut tx, tenant, offer.person, provider, ConnectOutcome::Failed, now).await?;
            refused(core, &mut tx, tenant, &offer, account, tokens, now).await?;
            tx.commit().await?;
            core.jobs.wake();
            return Ok(Completion::NotThatAccount { account: account.to_owned(), connected });
        }
        let granted = tokens.scopes.as_ref().unwrap_or(&offer.scopes);
        let scopes = core.scopes(provider);
        let lacks = scopes.missing(granted, &offer.scopes);
        let connections = Connections::new(core.pool.clone(), core.links.vault.clone(), core.ids.clone());
        for said in sql::keep(&mut tx, tenant, provider.as_str(), account).await? {
            delivery::show(&mut tx, tenant, said, &cards::connected_again(provider, account), now).await?;
        }
        if offer.improves(scopes, account, granted) {
            disconnect::make_way(core, &mut tx, tenant, &offer, account, now).await?;
            connections.connect(&mut tx, tenant, offer.person, provider, account, tokens, now).await?;
            if let Some(ends_at) = tokens.ends_at {
                let (person, place) = (offer.person, offer.conversation);
                ending::remember(core, &mut tx, tenant, person, provider, place, ends_at, now).await?;
            }
        }
        people::sql::reached_at(&mut tx, tenant, offer.person, account).await?;
        sql::close(&mut tx, tenant, offer.id, "done").await?;
        let detail = json!({ "provider": provider.as_str() });
        audit::insert_entry(
            &mut tx,
            tenant,
            Some(offer.person),
            "account.connected",
            offer.id.0,
            None,
            &detail,
            now,
        )
        .await?;
        waiting::granted(core, &mut tx, tenant, offer.person, provider, granted, offer.run, now).await?;
        let card = cards::connected(provider, scopes, account, offer.held.as_ref(), granted, &lacks);
        say(core, &mut tx, tenant, &offer, &card, now).await?;
        open_pages::touch(&mut tx, tenant, offer.person, now).await?;
        tx.commit().await?;
        core.jobs.wake();
        Ok(Completion::Connected { account: account.to_owned(), lacks })
    }
}

/// The account is not kept: its new grant is revoked, unless a person here uses that account.
async fn refused(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    offer: &Offer,
    account: &str,
    tokens: &Tokens,
    now: Timestamp,
) -> sqlx::Result<()> {
    let (person, provider) = (offer.person, offer.provider);
    if disconnect::is_used(core, conn, tenant, provider, account).await? {
        return Ok(());
    }
    let token = Some(tokens.refresh.clone().unwrap_or_else(|| tokens.access.clone()));
    let over = Over { person, provider, account: account.to_owned(), token };
    disconnect::end(core, conn, tenant, &over, offer.conversation, now).await?;
    Ok(())
}

/// What one round trip of the browser needs.
struct Leg {
    state: String,
    verifier: SecretString,
    sealed: String,
}

impl Leg {
    fn begun(self, offer: Offer) -> Begun {
        let verifier = self.verifier.expose_secret().to_owned();
        let account = offer.held.map(|held| held.account);
        let Offer { address, platform, scopes, .. } = offer;
        Begun { state: self.state, verifier, address, account, scopes, platform }
    }
}

/// An offer as loaded, with its person.
pub struct Offer {
    pub id: OfferId,
    pub person: PersonId,
    pub person_name: String,
    /// As the platform reports it.
    pub address: Option<String>,
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
    pub held: Option<Held>,
    pub status: String,
    pub signed_in: bool,
    pub expires_at: Timestamp,
}

impl Offer {
    fn usable(&self, now: Timestamp) -> Result<(), OfferError> {
        match self.status.as_str() {
            "open" if self.expires_at > now => Ok(()),
            "open" | "expired" => Err(OfferError::Expired),
            _ => Err(OfferError::Used),
        }
    }

    /// Returns the connected account if a request asks for more of it and `account` is another, which must not replace
    /// it.
    fn not_that(&self, account: &str) -> Option<String> {
        let held = self.held.as_ref().filter(|held| held.works && self.run.is_some())?;
        (!held.account.eq_ignore_ascii_case(account)).then(|| held.account.clone())
    }

    /// Returns whether the new grant is better than the existing one, so that a grant is never narrowed in vain.
    fn improves(&self, scopes: &Scopes, account: &str, granted: &[String]) -> bool {
        let same = |held: &&Held| held.works && held.account.eq_ignore_ascii_case(account);
        let held = self.held.as_ref().filter(same);
        held.is_none_or(|held| scopes.better(&held.scopes, granted, &self.scopes))
    }
}

/// A new offer and the job that expires it.
pub struct NewOffer {
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
    new: &NewOffer,
    now: Timestamp,
) -> sqlx::Result<()> {
    let expires_at = now + core.offer_expires_after;
    sql::insert_offer(conn, tenant, new, expires_at, now).await?;
    jobs::enqueue(conn, tenant, new.id.0, &AccountJob::ExpireOffer { offer: new.id }, expires_at, now).await
}

/// The job: expires an offer whose link was not used in time or led to no account.
pub async fn expire(core: &Accounts, claim: &Claim, id: OfferId) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    if let Some(offer) = sql::offer(core, &mut tx, tenant, id).await?
        && sql::expire(&mut tx, tenant, id).await?
    {
        let (person, provider) = (offer.person, offer.provider);
        wake_unless_another(&mut tx, tenant, person, provider, ConnectOutcome::Expired, now).await?;
        // If an admin was asked, the card says so already.
        if offer.delivery.is_some() && offer.status != "other_account" {
            let card = match offer.held.as_ref().filter(|held| held.works) {
                // Granted through another link.
                Some(held) if core.scopes(offer.provider).missing(&held.scopes, &offer.scopes).is_empty() => {
                    cards::not_needed(&held.account)
                }
                _ => cards::expired(offer.provider),
            };
            say(core, &mut tx, tenant, &offer, &card, now).await?;
        }
    }
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}

/// Shows the card where the link was posted, or sends it to the person directly.
pub(super) async fn say(
    core: &Accounts,
    conn: &mut PgConnection,
    tenant: TenantId,
    offer: &Offer,
    card: &nod_contract::card::Card,
    now: Timestamp,
) -> sqlx::Result<()> {
    if let Some(delivery) = offer.delivery {
        return delivery::show(conn, tenant, delivery, card, now).await;
    }
    let venue = delivery::sql::venue(conn, tenant, offer.conversation).await?;
    let user = people::sql::user_of(conn, tenant, offer.person, &venue.platform, &venue.workspace).await?;
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
    delivery::send(conn, tenant, &venue, &new, now).await
}

fn hash(state: &str) -> String {
    hex::encode(Sha256::digest(state))
}
