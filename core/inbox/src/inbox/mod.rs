//! The door. Everything that arrives takes it: stored in one transaction before it is acknowledged, once
//! however often it is delivered. What is said to nobody is acknowledged and not stored.

mod admin;
mod card;
mod changed;
mod command;
mod draft;
mod echo;
mod hours;
mod pane;
mod press;
mod runs;
mod said;
mod settings;
mod sql;
mod submit;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::PgTransaction;

pub(crate) use command::{ABLE, help_text, own_commands};
pub(crate) use press::own_verbs;

use crate::context::App;
use crate::join;
use nod_contract::chat::{
    Author, ChannelRef, CommandSyntax, Event, Inbound, InteractionResponse, Membership, Profile,
};
use nod_contract::clock::Timestamp;
use nod_contract::digest::digest;
use nod_contract::ids::{PersonId, TenantId};
use nod_people::open_pages::{self, Home};
use nod_people::people;
use nod_store::ability::Asker;
use nod_store::store::{self, is_deadlock};

/// So long a platform is asked who somebody is: the shortest time for an answer is that of Discord's, three seconds.
const ASKS_FOR: Duration = Duration::from_millis(1_200);

/// The door.
#[derive(Clone)]
pub struct Inbox {
    core: Arc<App>,
}

/// Nothing was stored: do not acknowledge, so that the platform delivers again.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The database did not answer.
    #[error("the database did not answer: {0}")]
    Database(#[from] sqlx::Error),
}

/// How something reached Nod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The platform brought it.
    Brought {
        /// All that was said there before has reached Nod too, or is written down to be looked up.
        all_known: bool,
    },
    /// It was looked up after an absence.
    LookedUp {
        /// Too long after it was said to be acted upon.
        late: bool,
    },
}

/// Something that arrived, at the door.
struct Arrival<'a> {
    core: &'a App,
    tenant: TenantId,
    inbound: &'a Inbound,
    reached: Reached,
    now: Timestamp,
    /// It stopped a turn: whoever works on it is told after the commit.
    stops: AtomicBool,
}

impl Inbox {
    pub(crate) fn new(core: Arc<App>) -> Self {
        Self { core }
    }

    /// Takes something in and gives the immediate answer. A second delivery of the same thing gives
    /// [`Immediate::Nothing`] and has no effect. `all_known` tells that all that was said there before has reached Nod
    /// too, or is to be looked up.
    ///
    /// # Errors
    /// When it could not be stored.
    pub async fn accept(
        &self,
        inbound: Inbound,
        all_known: bool,
    ) -> Result<InteractionResponse, AcceptError> {
        let core = &self.core;
        if refused(core, &inbound.author) {
            // Bots talk all day.
            if inbound.author.membership != Membership::Bot {
                tracing::info!(platform = inbound.platform, standing = ?inbound.author.membership, "a stranger was refused");
            }
            overhear(core, &inbound).await?;
            return Ok(match inbound.event {
                Event::Message { .. }
                | Event::MessageEdited { .. }
                | Event::MessageDeleted { .. }
                | Event::Autocomplete { .. }
                | Event::HomeOpened
                | Event::AssistantThreadOpened { .. } => InteractionResponse::Ack,
                _ => InteractionResponse::ephemeral(people::NOT_FOR_STRANGERS),
            });
        }
        let immediate = take_in(core, &inbound, Reached::Brought { all_known }).await?;
        Ok(match immediate {
            InteractionResponse::Ephemeral(card) => InteractionResponse::Ephemeral(core.links.resolved(card)),
            InteractionResponse::Form(form) => {
                if form.fields.iter().any(|field| field.accepts_recipients) {
                    request_lists(core).await;
                }
                InteractionResponse::Form(form)
            }
            other => other,
        })
    }

    /// Writes down what a platform tells of one of its people by itself: who joined, changed or left.
    ///
    /// # Errors
    /// When it could not be stored.
    pub async fn learn(&self, platform: &str, workspace: &str, profile: Profile) -> Result<(), AcceptError> {
        Ok(people::directory::told(&self.core, platform, workspace, profile).await?)
    }

    /// Keeps something that could not be read, so that it is not lost. It has no effect.
    ///
    /// # Errors
    /// When it could not be stored.
    pub async fn keep_unreadable(
        &self,
        platform: &str,
        workspace: &str,
        raw: &serde_json::Value,
    ) -> Result<(), AcceptError> {
        let core = &self.core;
        let digest = digest(raw).unwrap_or_else(|_| core.ids.next().to_string());
        let key = format!("unreadable:{workspace}:{digest}");
        let mut conn = core.door.acquire().await?;
        sql::first(&mut conn, core.tenant, platform, &key, "unreadable", Some(raw), core.now()).await?;
        tracing::warn!(platform, workspace, "something arrived that could not be read; it was kept");
        Ok(())
    }
}

/// The same, however it reached Nod. What is late is not acted upon any more, and its author is told so.
pub(crate) async fn take_in(
    core: &App,
    inbound: &Inbound,
    reached: Reached,
) -> sqlx::Result<InteractionResponse> {
    if refused(core, &inbound.author) {
        overhear(core, inbound).await?;
        return Ok(InteractionResponse::Ack);
    }
    let arrival = Arrival {
        core,
        tenant: core.tenant,
        inbound,
        reached,
        now: core.now(),
        stops: AtomicBool::new(false),
    };
    if is_by_hand(&inbound.event) {
        arrival.ask_who().await?;
    }
    let immediate = match taken_in(&arrival).await {
        // The other transaction has gone on, and platforms do not repeat a press: once more.
        Err(error) if is_deadlock(&error) => taken_in(&arrival).await?,
        taken => taken?,
    };
    core.jobs.wake();
    if arrival.stops.load(Ordering::Relaxed) {
        core.stops.notify_waiters();
    }
    Ok(immediate)
}

/// What is answered at once, so that nobody is asked later who it was.
fn is_by_hand(what: &Event) -> bool {
    match what {
        Event::Command { .. }
        | Event::ButtonClicked { .. }
        | Event::FormSubmitted { .. }
        | Event::MessageAction { .. }
        | Event::AssistantThreadOpened { .. } => true,
        // What somebody only types asks nobody.
        Event::Message { .. }
        | Event::MessageEdited { .. }
        | Event::MessageDeleted { .. }
        | Event::HomeOpened
        | Event::Autocomplete { .. } => false,
    }
}

async fn taken_in(arrival: &Arrival<'_>) -> sqlx::Result<InteractionResponse> {
    match &arrival.inbound.event {
        Event::Message { place, message, text, addressing: addressed, attachments: files, answers } => {
            let (addressed, answers) = (*addressed, answers.as_deref());
            said::accept(arrival, &said::Words { place, message, text, addressed, files, answers }).await
        }
        Event::MessageEdited { place, message, text } => {
            changed::accept(arrival, place, message, Some(text)).await
        }
        Event::MessageDeleted { place, message } => changed::accept(arrival, place, message, None).await,
        Event::Command { place, name, text } => command::accept(arrival, place, name, text).await,
        Event::AssistantThreadOpened { place, viewing } => {
            pane::looked(arrival, place, viewing.as_deref()).await
        }
        Event::MessageAction { place, wish, author, text } => {
            let picked = pane::Picked { place, wish: *wish, author: author.as_deref(), text };
            pane::picked(arrival, &picked).await
        }
        Event::HomeOpened => home_opened(arrival).await,
        Event::Autocomplete { place, command, typed } => {
            command::complete(arrival, place, command, typed).await
        }
        Event::ButtonClicked { place, verb } => press::accept(arrival, place, verb.as_ref()).await,
        Event::FormSubmitted { place, verb, values } => {
            submit::accept(arrival, place.as_ref(), verb.as_ref(), values).await
        }
    }
}

async fn home_opened(arrival: &Arrival<'_>) -> sqlx::Result<InteractionResponse> {
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    let mut tx = arrival.begin().await?;
    if arrival.first(&mut tx, "home").await? {
        let person = arrival.person(&mut tx).await?;
        let home = Home {
            person,
            platform: platform.clone(),
            workspace: workspace.clone(),
            user: author.user.clone(),
        };
        open_pages::opened(&mut tx, arrival.tenant, &home, arrival.now).await?;
    }
    tx.commit().await?;
    Ok(InteractionResponse::Ack)
}

/// Notes that somebody spoke whom Nod does not listen to: a yes in that thread may be for them.
async fn overhear(core: &App, inbound: &Inbound) -> sqlx::Result<()> {
    let Event::Message { place, .. } = &inbound.event else { return Ok(()) };
    let mut conn = core.door.acquire().await?;
    sql::mark_overheard(&mut conn, core.tenant, inbound, place).await
}

/// Who joined today should be found once a form with names is sent, which has to be answered at once.
async fn request_lists(core: &App) {
    if let Err(error) = people::refresh::Lists::at_the_door(core).request().await {
        tracing::warn!(%error, "the people of a workspace were not asked for");
    }
}

/// Refused by what the event itself tells; the rest is known once the platform was asked for the profile.
fn refused(core: &App, author: &Author) -> bool {
    match author.membership {
        Membership::Unknown | Membership::Member => false,
        Membership::Guest => !core.welcome.guests,
        Membership::External => !core.welcome.external,
        Membership::Bot | Membership::Deactivated => true,
    }
}

impl Arrival<'_> {
    /// Begins a transaction at the door, where nothing waits behind the jobs.
    async fn begin(&self) -> sqlx::Result<PgTransaction<'static>> {
        store::begin(&self.core.door).await
    }

    /// Notes the arrival; false where it came before.
    async fn first(&self, conn: &mut sqlx::PgConnection, kind: &str) -> sqlx::Result<bool> {
        let Inbound { platform, dedup_key: key, .. } = self.inbound;
        sql::first(conn, self.tenant, platform, key, kind, None, self.now).await
    }

    /// A turn is stopped by this.
    fn stopped(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    /// The person behind the author.
    async fn person(&self, conn: &mut sqlx::PgConnection) -> sqlx::Result<PersonId> {
        let Inbound { platform, workspace, author, .. } = self.inbound;
        let fresh = self.core.id();
        people::sql::meet(conn, self.tenant, platform, workspace, &author.user, fresh, self.now).await
    }

    /// How commands are typed where it came from.
    fn typing(&self) -> CommandSyntax<'_> {
        self.core.adapters.command_syntax(&self.inbound.platform)
    }

    /// Who may be the same as somebody elsewhere.
    fn joiner(&self, person: PersonId) -> join::Asker<'_> {
        let platform = &self.inbound.platform;
        join::Asker { core: self.core, tenant: self.tenant, platform, person, now: self.now }
    }

    /// Who asks, and where, as abilities are told it.
    fn asker<'p>(&'p self, person: PersonId, place: &'p ChannelRef) -> Asker<'p> {
        let Inbound { platform, workspace, author, .. } = self.inbound;
        Asker { tenant: self.tenant, platform, workspace, place, person, user: &author.user, now: self.now }
    }

    /// Has the platform asked about an author of whom it has not told: before the transaction, and never for longer than
    /// whoever pressed can wait. Messages do not wait here: the run asks.
    async fn ask_who(&self) -> sqlx::Result<()> {
        let Inbound { platform, workspace, author, .. } = self.inbound;
        let mut conn = self.core.door.acquire().await?;
        let known = people::sql::by_user(&mut conn, self.tenant, platform, workspace, &author.user).await?;
        drop(conn);
        if known.is_some_and(|person| person.standing != Membership::Unknown) {
            return Ok(());
        }
        let Some(adapter) = self.core.adapters.get(platform) else { return Ok(()) };
        let asked = self.core.now();
        match tokio::time::timeout(ASKS_FOR, adapter.fetch_profile(workspace, &author.user)).await {
            Ok(Ok(profile)) => {
                people::directory::learn(self.core, platform, workspace, &profile, asked).await?
            }
            Ok(Err(error)) => tracing::warn!(platform, %error, "the platform did not say who somebody is"),
            Err(_) => tracing::warn!(platform, "the platform did not say in time who somebody is"),
        }
        Ok(())
    }

    /// What is said to this person in place of serving them; `None` where they belong.
    async fn refusal(
        &self,
        conn: &mut sqlx::PgConnection,
        person: PersonId,
    ) -> sqlx::Result<Option<&'static str>> {
        Ok(match self.standing(conn, person).await? {
            standing if self.core.welcome.admits(standing) => None,
            Membership::Unknown => Some(people::NOT_KNOWN_YET),
            _ => Some(people::NOT_FOR_STRANGERS),
        })
    }

    /// What the platform has told of this person's standing there.
    async fn standing(&self, conn: &mut sqlx::PgConnection, person: PersonId) -> sqlx::Result<Membership> {
        let Inbound { platform, workspace, .. } = self.inbound;
        let person = people::sql::load_there(conn, self.tenant, person, platform, workspace).await?;
        Ok(person.map_or(Membership::Unknown, |p| p.standing))
    }
}
