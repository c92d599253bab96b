//! The inbox, through which everything arrives. An inbound is stored in one transaction before it is acknowledged, and
//! only once even if it is delivered again. Messages that are not for Nod are acknowledged and not stored.

mod admin;
mod assistant_thread;
mod button_click;
mod card;
mod command;
mod copied_card;
mod draft;
mod form_submission;
mod hello;
mod message;
mod message_change;
mod quick_action;
mod runs;
mod settings;
mod sql;
mod working_hours;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::PgTransaction;

pub(crate) use button_click::own_verbs;
pub(crate) use command::{CAPABILITIES_SENTENCE, help_text, own_commands};

use crate::context::App;
use crate::identity_link;
use nod_contract::chat::{
    Author, ChannelRef, CommandSyntax, Event, Inbound, InteractionResponse, Membership, Profile,
};
use nod_contract::clock::Timestamp;
use nod_contract::digest::digest;
use nod_contract::ids::{PersonId, TenantId};
use nod_people::open_pages::{self, Home};
use nod_people::people;
use nod_store::ability::{Asker, PickedMessage};
use nod_store::jobs::{LeasedJob, commit_and_begin};
use nod_store::store::{self, is_deadlock};

/// Limit for fetching a profile here. The shortest time that a platform gives for an answer is Discord's, three
/// seconds.
const ASKS_FOR: Duration = Duration::from_millis(1_200);

/// The entry for everything that arrives.
#[derive(Clone)]
pub struct Inbox {
    core: Arc<App>,
}

/// Nothing was stored. Do not acknowledge, so that the platform delivers again.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The database did not answer.
    #[error("the database did not answer: {0}")]
    Database(#[from] sqlx::Error),
}

/// How an inbound reached Nod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The platform delivered it.
    Brought {
        /// All earlier messages of that workspace have arrived too, or are recorded to be looked up.
        all_known: bool,
    },
    /// It was looked up after an outage.
    LookedUp {
        /// It is too old to be acted upon.
        late: bool,
    },
}

/// An inbound that is being taken in.
struct InboundContext<'a> {
    core: &'a App,
    tenant: TenantId,
    inbound: &'a Inbound,
    reached: Reached,
    now: Timestamp,
    after_commit: Mutex<AfterCommit>,
}

/// What an inbound's transaction leaves to do after its commit.
#[derive(Debug, Default)]
struct AfterCommit {
    /// It stopped a run: the worker is notified.
    run_stopped: bool,
    /// No job is due, apart from the leased one.
    nothing_due: bool,
    /// A job whose lane it leased.
    leased: Option<LeasedJob>,
}

impl Inbox {
    pub(crate) fn new(core: Arc<App>) -> Self {
        Self { core }
    }

    /// Takes an inbound in and returns the immediate answer. A second delivery of the same inbound returns
    /// [`InteractionResponse::Ack`] and has no effect. `all_known` says that all earlier messages of the workspace have
    /// arrived too, or are recorded to be looked up.
    ///
    /// # Errors
    /// If it could not be stored.
    pub async fn accept(
        &self,
        inbound: Inbound,
        all_known: bool,
    ) -> Result<InteractionResponse, AcceptError> {
        let core = &self.core;
        if is_refused(core, &inbound.author) {
            // Bots write all day, so they are not logged.
            if inbound.author.membership != Membership::Bot {
                tracing::info!(platform = inbound.platform, standing = ?inbound.author.membership, "refused an outsider");
            }
            record_ignored_user_message(core, &inbound).await?;
            return Ok(match inbound.event {
                Event::Message { .. }
                | Event::MessageEdited { .. }
                | Event::MessageDeleted { .. }
                | Event::Autocomplete { .. }
                | Event::HomeOpened
                | Event::JoinedChannel { .. }
                | Event::AssistantThreadOpened { .. } => InteractionResponse::Ack,
                _ => InteractionResponse::ephemeral(people::MEMBERS_ONLY),
            });
        }
        let immediate = ingest(core, &inbound, Reached::Brought { all_known }).await?;
        Ok(match immediate {
            InteractionResponse::Ephemeral(card) => {
                InteractionResponse::Ephemeral(core.links.resolve_links(card))
            }
            InteractionResponse::Replacement(card) => {
                InteractionResponse::Replacement(core.links.resolve_links(card))
            }
            InteractionResponse::Form(form) => {
                if form.fields.iter().any(|field| field.accepts_recipients) {
                    request_stale_directories(core).await;
                }
                InteractionResponse::Form(form)
            }
            other => other,
        })
    }

    /// Stores a profile that a platform sends unasked: of a person who joined, changed or left.
    ///
    /// # Errors
    /// If it could not be stored.
    pub async fn store_reported_profile(
        &self,
        platform: &str,
        workspace: &str,
        profile: Profile,
    ) -> Result<(), AcceptError> {
        Ok(people::directory::store_reported_profile(&self.core, platform, workspace, profile).await?)
    }

    /// Stores an event that could not be parsed, so that it is not lost. It has no effect.
    ///
    /// # Errors
    /// If it could not be stored.
    pub async fn store_unreadable(
        &self,
        platform: &str,
        workspace: &str,
        raw: &serde_json::Value,
    ) -> Result<(), AcceptError> {
        let core = &self.core;
        let digest = digest(raw).unwrap_or_else(|_| core.ids.next().to_string());
        let key = format!("unreadable:{workspace}:{digest}");
        let mut conn = core.door.acquire().await?;
        sql::insert_once(&mut conn, core.tenant, platform, &key, "unreadable", Some(raw), core.now()).await?;
        tracing::warn!(platform, workspace, "stored an unreadable event");
        Ok(())
    }
}

/// Takes an inbound in, delivered or looked up. A late one is not acted upon, and its author is notified.
pub(crate) async fn ingest(
    core: &App,
    inbound: &Inbound,
    reached: Reached,
) -> sqlx::Result<InteractionResponse> {
    if is_refused(core, &inbound.author) {
        record_ignored_user_message(core, inbound).await?;
        return Ok(InteractionResponse::Ack);
    }
    let arrival = InboundContext {
        core,
        tenant: core.tenant,
        inbound,
        reached,
        now: core.now(),
        after_commit: Mutex::default(),
    };
    let immediate = match dispatch(&arrival).await {
        // The other transaction has continued, and platforms do not repeat a click, so this one is retried.
        Err(error) if is_deadlock(&error) => {
            arrival.take_after_commit();
            dispatch(&arrival).await?
        }
        taken => taken?,
    };
    let AfterCommit { run_stopped, nothing_due, leased } = arrival.take_after_commit();
    if let Some(leased) = leased {
        core.jobs.begin(leased);
    }
    if !nothing_due {
        core.jobs.wake();
    }
    if run_stopped {
        core.stops.notify_waiters();
    }
    Ok(immediate)
}

/// What somebody did by hand, and waits for.
enum ByHand {
    /// By a person whom Nod serves. The transaction has stored the arrival.
    Served(PgTransaction<'static>, PersonId),
    /// It arrived before, or Nod does not serve its author.
    Over(InteractionResponse),
}

async fn dispatch(arrival: &InboundContext<'_>) -> sqlx::Result<InteractionResponse> {
    match &arrival.inbound.event {
        Event::Message { place, message, text, addressing: addressed, attachments: files, answers } => {
            let (addressed, answers) = (*addressed, answers.as_deref());
            message::accept(
                arrival,
                &message::MessageEvent {
                    place,
                    message,
                    text,
                    addressing: addressed,
                    attachments: files,
                    answers,
                },
            )
            .await
        }
        Event::MessageEdited { place, message, text } => {
            message_change::accept(arrival, place, message, Some(text)).await
        }
        Event::MessageDeleted { place, message } => {
            message_change::accept(arrival, place, message, None).await
        }
        Event::Command { place, name, text } => command::accept(arrival, place, name, text).await,
        Event::AssistantThreadOpened { place, viewing } => {
            assistant_thread::accept_thread_opened(arrival, place, viewing.as_deref()).await
        }
        Event::MessageAction { place, wish, author, text, attachments } => {
            let message = PickedMessage { author: author.as_deref(), text, attachments };
            let picked = assistant_thread::MessageAction { place, kind: wish, message };
            assistant_thread::accept_message_action(arrival, &picked).await
        }
        Event::HomeOpened => accept_home_opened(arrival).await,
        Event::JoinedChannel { place } => hello::accept_joined_channel(arrival, place).await,
        Event::Autocomplete { place, command, typed } => {
            command::complete(arrival, place, command, typed).await
        }
        Event::ButtonClicked { place, verb, is_ephemeral } => {
            button_click::accept(arrival, place, verb.as_ref(), *is_ephemeral).await
        }
        Event::FormSubmitted { place, verb, values } => {
            form_submission::accept(arrival, place.as_ref(), verb.as_ref(), values).await
        }
    }
}

async fn accept_home_opened(arrival: &InboundContext<'_>) -> sqlx::Result<InteractionResponse> {
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    let mut tx = arrival.begin().await?;
    if arrival.record_once(&mut tx, "home_opened").await? {
        let person = arrival.find_or_create_person(&mut tx).await?;
        let home = Home {
            person,
            platform: platform.clone(),
            workspace: workspace.clone(),
            user: author.user.clone(),
        };
        open_pages::record_opened(&mut tx, arrival.tenant, &home, arrival.now).await?;
    }
    tx.commit().await?;
    Ok(InteractionResponse::Ack)
}

/// Records that a user whom Nod ignores wrote here: a later "yes" in that thread may be meant for them.
async fn record_ignored_user_message(core: &App, inbound: &Inbound) -> sqlx::Result<()> {
    let Event::Message { place, .. } = &inbound.event else { return Ok(()) };
    let mut conn = core.door.acquire().await?;
    sql::mark_overheard(&mut conn, core.tenant, inbound, place).await
}

/// Requests fresh lists of people when a form with recipients opens: submitting it must be answered at once, and it
/// should find those who joined today.
async fn request_stale_directories(core: &App) {
    if let Err(error) = people::refresh::Lists::at_the_door(core).enqueue_stale_refreshes().await {
        tracing::warn!(%error, "could not request a refresh of the people");
    }
}

/// Returns whether the event itself shows that its author is refused. Other authors are checked once their profile is
/// known.
fn is_refused(core: &App, author: &Author) -> bool {
    match author.membership {
        Membership::Unknown | Membership::Member => false,
        Membership::Guest => !core.welcome.guests,
        Membership::External => !core.welcome.external,
        Membership::Bot | Membership::Deactivated => true,
    }
}

impl InboundContext<'_> {
    /// Begins a transaction on the inbox's own pool, where nothing waits for jobs.
    async fn begin(&self) -> sqlx::Result<PgTransaction<'static>> {
        store::begin(&self.core.door).await
    }

    /// Stores the arrival; returns false if it arrived before.
    async fn record_once(&self, conn: &mut sqlx::PgConnection, kind: &str) -> sqlx::Result<bool> {
        let Inbound { platform, dedup_key: key, .. } = self.inbound;
        sql::insert_once(conn, self.tenant, platform, key, kind, None, self.now).await
    }

    /// Acknowledges what is stored already, or not to be stored.
    fn ignore(&self) -> InteractionResponse {
        self.after_commit().nothing_due = true;
        InteractionResponse::Ack
    }

    /// Records that this stops a run.
    fn mark_run_stopped(&self) {
        self.after_commit().run_stopped = true;
    }

    /// Keeps a job that was leased, until the commit.
    fn set_leased(&self, leased: Option<LeasedJob>) {
        self.after_commit().leased = leased;
    }

    /// Loads what the leased job begins with, as the last of the transaction.
    async fn load_leased(&self, conn: &mut sqlx::PgConnection) -> sqlx::Result<()> {
        let leased = self.after_commit().leased.take();
        if let Some(leased) = leased {
            leased.load(conn).await?;
            self.after_commit().leased = Some(leased);
        }
        Ok(())
    }

    /// Records that this enqueues nothing besides its run: if that one's lane was leased, nothing has to be claimed.
    fn mark_only_run(&self) {
        let mut after = self.after_commit();
        after.nothing_due = after.leased.is_some();
    }

    /// Commits, and begins what is due now.
    async fn commit_and_begin(&self, tx: PgTransaction<'static>) -> sqlx::Result<()> {
        commit_and_begin(tx, &self.core.jobs).await?;
        self.after_commit().nothing_due = true;
        Ok(())
    }

    fn take_after_commit(&self) -> AfterCommit {
        std::mem::take(&mut self.after_commit())
    }

    fn after_commit(&self) -> MutexGuard<'_, AfterCommit> {
        self.after_commit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the author's person, created if new.
    async fn find_or_create_person(&self, conn: &mut sqlx::PgConnection) -> sqlx::Result<PersonId> {
        let Inbound { platform, workspace, author, .. } = self.inbound;
        let fresh = self.core.id();
        people::sql::find_or_create(conn, self.tenant, platform, workspace, &author.user, fresh, self.now)
            .await
    }

    /// Returns how commands are typed on the inbound's platform.
    fn command_syntax(&self) -> CommandSyntax<'_> {
        self.core.adapters.command_syntax(&self.inbound.platform)
    }

    /// Returns the person as one who links identities.
    fn identity_link_requester(&self, person: PersonId) -> identity_link::LinkRequester<'_> {
        let platform = &self.inbound.platform;
        identity_link::LinkRequester { core: self.core, tenant: self.tenant, platform, person, now: self.now }
    }

    /// Returns who asks, and where, in the form that abilities receive.
    fn asker<'p>(&'p self, person: PersonId, place: &'p ChannelRef) -> Asker<'p> {
        let Inbound { platform, workspace, author, .. } = self.inbound;
        Asker { tenant: self.tenant, platform, workspace, place, person, user: &author.user, now: self.now }
    }

    /// Begins the transaction of something that a person did by hand, which stores the arrival.
    async fn begin_by_hand(&self, kind: &str) -> sqlx::Result<ByHand> {
        let Some((tx, person, membership)) = self.begin_with_author(kind).await? else {
            return Ok(ByHand::Over(InteractionResponse::Ack));
        };
        if self.core.welcome.admits(membership) {
            return Ok(ByHand::Served(tx, person));
        }
        tx.commit().await?;
        Ok(ByHand::Over(InteractionResponse::ephemeral(match membership {
            Membership::Unknown => people::NOT_KNOWN_YET,
            _ => people::MEMBERS_ONLY,
        })))
    }

    /// Begins a transaction, stores the arrival, and returns its author and what they are to this workspace; `None` if it
    /// arrived before. If the platform has not told what they are, it is asked first, and nothing is stored until then.
    /// (Messages do not wait for that: the run fetches the profile.)
    async fn begin_with_author(
        &self,
        kind: &str,
    ) -> sqlx::Result<Option<(PgTransaction<'static>, PersonId, Membership)>> {
        let mut was_asked = false;
        loop {
            let mut tx = self.begin().await?;
            if !self.record_once(&mut tx, kind).await? {
                tx.commit().await?;
                return Ok(None);
            }
            let Inbound { platform, workspace, author, .. } = self.inbound;
            let known =
                people::sql::lock_user(&mut tx, self.tenant, platform, workspace, &author.user).await?;
            let (person, membership) = match known {
                Some(known) => known,
                // The platform may have told of them meanwhile.
                None => {
                    let person = self.find_or_create_person(&mut tx).await?;
                    (person, self.load_membership(&mut tx, person).await?)
                }
            };
            if was_asked || membership != Membership::Unknown {
                return Ok(Some((tx, person, membership)));
            }
            tx.rollback().await?;
            self.fetch_author_profile().await?;
            was_asked = true;
        }
    }

    /// Fetches the author's profile, only as long as a user who clicked can wait.
    async fn fetch_author_profile(&self) -> sqlx::Result<()> {
        let Inbound { platform, workspace, author, .. } = self.inbound;
        let Some(adapter) = self.core.adapters.get(platform) else { return Ok(()) };
        let asked = self.core.now();
        match tokio::time::timeout(ASKS_FOR, adapter.fetch_profile(workspace, &author.user)).await {
            Ok(Ok(profile)) => {
                people::directory::store_profile(self.core, platform, workspace, &profile, asked).await?
            }
            Ok(Err(error)) => tracing::warn!(platform, %error, "could not look up a user"),
            Err(_) => tracing::warn!(platform, "looking up a user timed out"),
        }
        Ok(())
    }

    /// Returns whether this person is served, or is not known yet: whoever then acts for them checks it.
    async fn may_be_served(&self, conn: &mut sqlx::PgConnection, person: PersonId) -> sqlx::Result<bool> {
        let membership = self.load_membership(conn, person).await?;
        Ok(membership == Membership::Unknown || self.core.welcome.admits(membership))
    }

    /// Returns the person's membership in this workspace, as far as the platform has reported it.
    async fn load_membership(
        &self,
        conn: &mut sqlx::PgConnection,
        person: PersonId,
    ) -> sqlx::Result<Membership> {
        let Inbound { platform, workspace, .. } = self.inbound;
        let person =
            people::sql::load_with_membership(conn, self.tenant, person, platform, workspace).await?;
        Ok(person.map_or(Membership::Unknown, |p| p.membership))
    }
}
