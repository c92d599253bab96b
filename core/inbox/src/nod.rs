//! Everything the core is made of, put together once by the composition root.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use sqlx::PgPool;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::abilities::{Abilities, Clash};
use crate::context::App;
use crate::inbox::{self, Inbox};
use crate::transcript::{Said, Transcript};
use crate::{catch_up, transcript, worker};
use nod_accounts::connection;
use nod_accounts::connection::{Accounts, Connections, Grantor, Lending, Offers};
use nod_agent::context::Agent;
use nod_contract::chat::{Adapters, ChannelRef};
use nod_contract::clock::Clock;
use nod_contract::command::CommandSpec;
use nod_contract::contacts::ContactSource;
use nod_contract::ids::{Ids, TenantId};
use nod_contract::model::Model;
use nod_contract::tool::{Tool, Tools};
use nod_memory::context::Memory;
use nod_people::ability::Plug;
use nod_people::context::{Chat, Welcome};
use nod_people::links::Links;
use nod_people::people;
use nod_people::reading::Reader;
use nod_people::work::PeopleJob;
use nod_requests::context::Requests;
use nod_requests::policy::Policy;
use nod_store::context::Base;
use nod_store::hooks::Hook;
use nod_store::jobs::{Dispatcher, Handlers, JobNotifier, Twice, sql as jobs};
use nod_store::vault::Vault;
use nod_store::{leader_lease, tenant};

/// What the composition root hands in.
pub struct Parts {
    /// Postgres.
    pub pool: PgPool,
    /// The same, for the door alone: it must answer in three seconds however busy the workers are.
    pub door: PgPool,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids and randomness.
    pub ids: Arc<dyn Ids>,
    /// Chat platforms.
    pub adapters: Adapters,
    /// What Nod can do beside talking.
    pub abilities: Vec<Plug>,
    /// Whose names people know from their own mail.
    pub contacts: Vec<Arc<dyn ContactSource>>,
    /// Where documents are read.
    pub reading: Arc<dyn Reader>,
    /// What grants accounts, one for each provider.
    pub grantors: Vec<Arc<dyn Grantor>>,
    /// The model endpoint.
    pub model: Arc<dyn Model>,
    /// Seals tokens and signs links.
    pub vault: Vault,
    /// Numbers and names.
    pub settings: Settings,
}

/// Numbers and names that an operator sets.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The organisation of this installation.
    pub tenant: TenantId,
    /// Its name.
    pub tenant_name: String,
    /// Who may approve what, for how long, and how long it can be taken back.
    pub policy: Policy,
    /// Whose accounts are lent to whoever has connected none.
    pub lending: Arc<Lending>,
    /// How long a link to connect an account is good.
    pub offer_expires_after: TimeDelta,
    /// How many times the reasoner may think in one run.
    pub step_budget: u32,
    /// Longest message that is read, in characters.
    pub longest_message: usize,
    /// The first admins, as their platform knows them: the platform, and a user there.
    pub admins: Vec<(String, String)>,
    /// Whether guests may use Nod.
    pub allow_guests: bool,
    /// Whether people of other organisations may.
    pub allow_external: bool,
    /// Where a browser reaches this Nod, without a trailing slash.
    pub public_url: String,
    /// What was said to Nod longer ago, while it was away, is not acted upon any more.
    pub answers_within: TimeDelta,
    /// How long a run's record keeps what it read of others' talk.
    pub keeps_talk_for: TimeDelta,
    /// How long an answer is waited for after its first words before it is shown while it is written.
    pub stream_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tenant: TenantId(Uuid::from_u128(1)),
            tenant_name: "default".to_owned(),
            policy: Policy::default(),
            lending: Arc::default(),
            offer_expires_after: TimeDelta::hours(1),
            step_budget: 12,
            longest_message: 40_000,
            admins: Vec::new(),
            allow_guests: false,
            allow_external: false,
            public_url: "http://127.0.0.1:8080".to_owned(),
            answers_within: TimeDelta::hours(1),
            keeps_talk_for: TimeDelta::days(7),
            stream_after: Duration::from_millis(500),
        }
    }
}

/// The assistant.
#[derive(Clone)]
pub struct Nod {
    core: Arc<App>,
    handlers: Handlers,
}

/// Nod cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database did not answer.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// Two abilities have something of the same name.
    #[error(transparent)]
    Clash(#[from] Clash),
    /// Two abilities have a job of the same kind.
    #[error(transparent)]
    Twice(#[from] Twice),
}

impl Nod {
    /// Puts the parts together and makes the tenant known.
    ///
    /// # Errors
    /// When the database does not answer, or two abilities do not go together.
    pub async fn new(parts: Parts) -> Result<Self, StartError> {
        let core = Arc::new(assembled(parts)?);
        let handlers = worker::handlers(&core)?;
        let mut conn = core.pool.acquire().await?;
        tenant::upsert(&mut conn, core.tenant, &core.accounts.tenant_name, core.now()).await?;
        Ok(Self { core, handlers })
    }

    /// The commands that the abilities bring.
    #[must_use]
    pub fn commands(&self) -> Vec<CommandSpec> {
        self.core.abilities.commands().collect()
    }

    /// The door for everything that arrives.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        Inbox::new(self.core.clone())
    }

    /// The offers to connect an account, for the web page behind the link.
    #[must_use]
    pub fn offers(&self) -> Offers {
        Offers::new(self.core.accounts.clone())
    }

    /// The connected accounts.
    #[must_use]
    pub fn connections(&self) -> Connections {
        Connections::new(self.core.pool.clone(), self.core.links.vault.clone(), self.core.ids.clone())
    }

    /// A platform's workspace is at hand, and of it these parts are served, all where there are none: its people are read
    /// when they were not within a day, and where other parts were served until now.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn open_workspace(
        &self,
        platform: &str,
        workspace: &str,
        name: &str,
        served: &[String],
    ) -> sqlx::Result<()> {
        let core = &self.core;
        let (tenant, now) = (core.tenant, core.now());
        let lane = people::directory::lane(platform, workspace);
        let served: Vec<String> = BTreeSet::from_iter(served).into_iter().cloned().collect();
        let mut tx = core.begin().await?;
        // The lane before the row, as whoever reads the list locks them.
        jobs::lock_lane(&mut tx, tenant, lane).await?;
        let opened = people::sql::open_directory(&mut tx, tenant, platform, workspace, name, &served).await?;
        if opened.served_others {
            people::sql::unlearn(&mut tx, tenant, platform, workspace, now).await?;
        }
        if opened.served_others || opened.read_at.is_none_or(|at| at < now - TimeDelta::hours(24)) {
            let work =
                PeopleJob::ReadDirectory { platform: platform.to_owned(), workspace: workspace.to_owned() };
            // Another replica's start, or the daily reading, may stand there already.
            let moved = jobs::bring_forward(&mut tx, tenant, lane, now, now).await?;
            if !moved && jobs::is_lane_idle(&mut tx, tenant, lane).await? {
                jobs::enqueue(&mut tx, tenant, lane, &work, now, now).await?;
            }
        }
        tx.commit().await?;
        core.jobs.wake();
        Ok(())
    }

    /// What is said in a workspace reaches Nod now: again (`anew`), so that what it missed meanwhile is looked
    /// up, or still. Where a platform brings it in several parts, each is told of by itself.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn hears(&self, platform: &str, workspace: &str, part: u32, anew: bool) -> sqlx::Result<()> {
        catch_up::hears(&self.core, platform, workspace, part, anew).await
    }

    /// Takes a seat that only one replica may hold: false where another does. It is held for ten seconds and has to
    /// be taken anew before they are over.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn take_seat(&self, name: &str, holder: Uuid) -> sqlx::Result<bool> {
        let core = &self.core;
        // Not from the workers' connections, which may all be busy.
        leader_lease::acquire(&mut *core.door.acquire().await?, core.tenant, name, holder).await
    }

    /// Leaves a seat, so that another replica need not wait for it.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn leave_seat(&self, name: &str, holder: Uuid) -> sqlx::Result<()> {
        let core = &self.core;
        leader_lease::release(&mut *core.door.acquire().await?, core.tenant, name, holder).await
    }

    /// A new id.
    #[must_use]
    pub fn fresh_id(&self) -> Uuid {
        self.core.ids.next()
    }

    /// What the database serves and this program was not given: platforms whose people it knows, and providers with
    /// connected accounts. It would fail at their work.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn unserved(&self) -> sqlx::Result<Vec<String>> {
        let core = &self.core;
        let mut conn = core.pool.acquire().await?;
        let platforms = people::sql::platforms(&mut conn, core.tenant).await?;
        let mut unserved: Vec<String> =
            platforms.into_iter().filter(|platform| core.adapters.get(platform).is_none()).collect();
        for provider in connection::sql::providers(&mut conn, core.tenant).await? {
            let served = |tool: &Tool| tool.spec().provider.is_some_and(|of| of.as_str() == provider);
            if !core.tools.iter().any(served) {
                unserved.push(provider);
            }
        }
        Ok(unserved)
    }

    /// Makes somebody known whom no platform tells of: whoever has this address in a workspace already is the
    /// same person.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn introduce(&self, platform: &str, workspace: &str, user: &str) -> sqlx::Result<()> {
        let core = &self.core;
        let mut conn = core.pool.acquire().await?;
        people::sql::introduce(&mut conn, core.tenant, platform, workspace, user).await
    }

    /// What stands in a direct line, with the links that only its reader is shown.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn transcript(
        &self,
        platform: &str,
        workspace: &str,
        place: &ChannelRef,
    ) -> sqlx::Result<Transcript> {
        let core = &self.core;
        let mut conn = core.pool.acquire().await?;
        let mut read = transcript::read(&mut conn, core.tenant, platform, workspace, place).await?;
        for line in &mut read.lines {
            if let Said::Nod { card, .. } = &mut line.said {
                *card = core.links.resolved(std::mem::take(card));
            }
        }
        Ok(read)
    }

    /// Does the jobs until `stop`.
    pub async fn work(&self, stop: CancellationToken) {
        let core = &self.core;
        Dispatcher::new(
            core.pool.clone(),
            core.clock.clone(),
            core.ids.clone(),
            core.jobs.clone(),
            self.handlers.clone(),
        )
        .run(stop)
        .await;
    }

    /// There may be work: the clock was moved, or another replica died.
    pub fn wake(&self) {
        self.core.jobs.wake();
    }
}

/// Each part where it is used.
pub(crate) fn assembled(parts: Parts) -> Result<App, Clash> {
    let Parts { pool, door, clock, ids, adapters, abilities, .. } = parts;
    let Parts { contacts, reading, grantors, model, vault, settings, .. } = parts;
    let base = Base { pool, clock, ids, jobs: JobNotifier::default(), tenant: settings.tenant };
    let chat = Chat {
        base,
        door,
        adapters,
        links: Links { vault, public_url: settings.public_url },
        reading,
        welcome: Welcome { guests: settings.allow_guests, external: settings.allow_external },
        admins: settings.admins,
    };
    let abilities = abilities.into_iter().map(|plug| plug(&chat)).collect();
    let abilities = Abilities::new(abilities, inbox::own_commands(), inbox::own_verbs())?;
    let tools = Tools::new(abilities.tools());
    let commands: Vec<CommandSpec> = abilities.commands().collect();
    let requests = Requests { chat: chat.clone(), tools, policy: settings.policy };
    let hooks =
        std::iter::once(Arc::new(requests.clone()) as Arc<dyn Hook>).chain(abilities.hooks()).collect();
    let accounts = Accounts {
        chat: chat.clone(),
        lending: settings.lending,
        grantors,
        hooks,
        tenant_name: settings.tenant_name,
        offer_expires_after: settings.offer_expires_after,
    };
    let memory = Memory { chat, model };
    let agent = Agent {
        requests,
        accounts,
        memory,
        contacts,
        help: Arc::new(move |typing| inbox::help_text(&commands, typing)),
        stops: Arc::new(Notify::new()),
        step_budget: settings.step_budget,
        longest_message: settings.longest_message,
        stream_after: settings.stream_after,
        keeps_talk_for: settings.keeps_talk_for,
    };
    Ok(App { agent, abilities, answers_within: settings.answers_within })
}
