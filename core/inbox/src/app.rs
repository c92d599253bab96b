//! [`Nod`], the whole core, assembled once by the composition root.

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
use crate::recent_keys::RecentKeys;
use crate::transcript::{EntryBody, Transcript};
use crate::{catch_up, tidy, transcript, worker};
use nod_accounts::connection;
use nod_accounts::connection::{Accounts, ConnectRequests, Connections, DelegatedAccess, Grantor};
use nod_agent::context::{Agent, Workflows};
use nod_contract::chat::{Adapters, ChannelRef};
use nod_contract::clock::Clock;
use nod_contract::command::{CommandSpec, MenuEntrySpec};
use nod_contract::contacts::ContactSource;
use nod_contract::ids::{Ids, TenantId};
use nod_contract::model::Model;
use nod_contract::tool::{InvalidSchema, Tool, Tools};
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
use nod_store::prompt_texts::PromptTexts;
use nod_store::vault::Vault;
use nod_store::{leader_lease, tenant};

/// What the composition root passes in.
pub struct Dependencies {
    /// Postgres.
    pub pool: PgPool,
    /// A separate pool for the inbox only: it must answer in three seconds even if the workers are busy.
    pub ingest_pool: PgPool,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids and randomness.
    pub ids: Arc<dyn Ids>,
    /// Chat platforms.
    pub adapters: Adapters,
    /// What Nod can do in addition to chatting.
    pub abilities: Vec<Plug>,
    /// Sources of contact names, such as the people's own mail.
    pub contacts: Vec<Arc<dyn ContactSource>>,
    /// The reader of documents.
    pub reading: Arc<dyn Reader>,
    /// Clients that connect accounts, one for each provider.
    pub grantors: Vec<Arc<dyn Grantor>>,
    /// The model endpoint.
    pub model: Arc<dyn Model>,
    /// Encrypts tokens and signs links.
    pub vault: Vault,
    /// Configured values.
    pub settings: Settings,
}

/// Values that an operator configures.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The organisation of this installation.
    pub tenant: TenantId,
    /// Its name.
    pub tenant_name: String,
    /// Who approves what, how long an approval is open, and how long an action can be undone.
    pub policy: Policy,
    /// Accounts that people can use who have connected none.
    pub delegated_access: Arc<DelegatedAccess>,
    /// How long a link to connect an account is valid.
    pub connect_link_ttl: TimeDelta,
    /// Limit of reasoner calls in one run.
    pub step_budget: u32,
    /// Longest message that is read, in characters.
    pub max_message_chars: usize,
    /// The first admins, as pairs of platform and user id.
    pub admins: Vec<(String, String)>,
    /// Whether guests may use Nod.
    pub allow_guests: bool,
    /// Whether people of other organisations may use Nod.
    pub allow_external: bool,
    /// The base URL at which browsers reach this Nod, without a trailing slash.
    pub public_url: String,
    /// A message that is older than this when Nod returns from an outage is not acted upon.
    pub max_message_age: TimeDelta,
    /// How long a run's record keeps what it read of other people's conversations.
    pub history_retention: TimeDelta,
    /// How long after its first token an answer is awaited before it is streamed.
    pub stream_delay: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tenant: TenantId(Uuid::from_u128(1)),
            tenant_name: "default".to_owned(),
            policy: Policy::default(),
            delegated_access: Arc::default(),
            connect_link_ttl: TimeDelta::hours(1),
            step_budget: 12,
            max_message_chars: 40_000,
            admins: Vec::new(),
            allow_guests: false,
            allow_external: false,
            public_url: "http://127.0.0.1:8080".to_owned(),
            max_message_age: TimeDelta::hours(1),
            history_retention: TimeDelta::days(7),
            stream_delay: Duration::from_millis(500),
        }
    }
}

/// The assistant.
#[derive(Clone)]
pub struct Nod {
    core: Arc<App>,
    handlers: Handlers,
}

/// Nod could not be assembled.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database did not answer.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// Two abilities use the same name.
    #[error(transparent)]
    Clash(#[from] Clash),
    /// The parameters of a tool are no JSON Schema.
    #[error(transparent)]
    InvalidSchema(#[from] InvalidSchema),
    /// Two handlers have the same job kind.
    #[error(transparent)]
    Twice(#[from] Twice),
}

impl Nod {
    /// Assembles the parts and stores the tenant.
    ///
    /// # Errors
    /// If the database does not answer, or two abilities use the same name or job kind.
    pub async fn new(parts: Dependencies) -> Result<Self, StartError> {
        let core = Arc::new(assembled(parts)?);
        let handlers = worker::handlers(&core)?;
        let mut conn = core.pool.acquire().await?;
        tenant::upsert(&mut conn, core.tenant, &core.accounts.tenant_name, core.now()).await?;
        Ok(Self { core, handlers })
    }

    /// Returns the commands of the abilities.
    #[must_use]
    pub fn commands(&self) -> Vec<CommandSpec> {
        self.core.abilities.commands().collect()
    }

    /// Returns the menu entries of the abilities.
    #[must_use]
    pub fn menu_entries(&self) -> Vec<MenuEntrySpec> {
        self.core.abilities.menu_entries().collect()
    }

    /// Returns the inbox, through which everything arrives.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        Inbox::new(self.core.clone())
    }

    /// Returns the connect offers, for the web page behind the link.
    #[must_use]
    pub fn connect_requests(&self) -> ConnectRequests {
        ConnectRequests::new(self.core.accounts.clone())
    }

    /// Returns the connected accounts.
    #[must_use]
    pub fn connections(&self) -> Connections {
        Connections::new(self.core.pool.clone(), self.core.links.vault.clone(), self.core.ids.clone())
    }

    /// Opens a platform's workspace, of which the given parts are served, or all if the list is empty. Its people are
    /// read if that did not happen within a day, or if other parts were served before.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn register_workspace(
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
        // The lane is locked before the row, in the same order as by the job that reads the list.
        jobs::lock_lane(&mut tx, tenant, lane).await?;
        let opened =
            people::sql::upsert_directory(&mut tx, tenant, platform, workspace, name, &served).await?;
        if opened.served_others {
            people::sql::mark_memberships_unknown(&mut tx, tenant, platform, workspace, now).await?;
        }
        if opened.served_others || opened.read_at.is_none_or(|at| at < now - TimeDelta::hours(24)) {
            let work =
                PeopleJob::SyncDirectory { platform: platform.to_owned(), workspace: workspace.to_owned() };
            // Another replica's start, or the daily reading, may have enqueued the job already.
            let moved = jobs::bring_forward(&mut tx, tenant, lane, now, now).await?;
            if !moved && jobs::is_lane_idle(&mut tx, tenant, lane).await? {
                jobs::enqueue(&mut tx, tenant, lane, &work, now, now).await?;
            }
        }
        tx.commit().await?;
        core.jobs.wake();
        Ok(())
    }

    /// Records that messages of a workspace arrive. With `anew` they arrive again after an interruption, so missed ones
    /// are looked up. If a platform delivers a workspace in several parts (shards), call this for each part.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn record_ingest(
        &self,
        platform: &str,
        workspace: &str,
        part: u32,
        anew: bool,
    ) -> sqlx::Result<()> {
        catch_up::record_ingest(&self.core, platform, workspace, part, anew).await
    }

    /// Acquires or renews a leader lease; returns false if another replica holds it. It lasts ten seconds and must be
    /// renewed before it expires.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn acquire_leader_lease(&self, name: &str, holder: Uuid) -> sqlx::Result<bool> {
        let core = &self.core;
        // The workers' connections may all be busy, so this uses the inbox's pool.
        leader_lease::acquire(&mut *core.door.acquire().await?, core.tenant, name, holder).await
    }

    /// Releases a leader lease, so that another replica need not wait for it.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn release_leader_lease(&self, name: &str, holder: Uuid) -> sqlx::Result<()> {
        let core = &self.core;
        leader_lease::release(&mut *core.door.acquire().await?, core.tenant, name, holder).await
    }

    /// Returns a new id.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        self.core.ids.next()
    }

    /// Lists what the database refers to and this program does not support: platforms whose people are stored, and
    /// providers with connected accounts. Their jobs would fail.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn list_unserved(&self) -> sqlx::Result<Vec<String>> {
        let core = &self.core;
        let mut conn = core.pool.acquire().await?;
        let platforms = people::sql::list_platforms(&mut conn, core.tenant).await?;
        let mut unserved: Vec<String> =
            platforms.into_iter().filter(|platform| core.adapters.get(platform).is_none()).collect();
        for provider in connection::sql::list_providers(&mut conn, core.tenant).await? {
            let served = |tool: &Tool| tool.spec().provider.is_some_and(|of| of.as_str() == provider);
            if !core.tools.iter().any(served) {
                unserved.push(provider);
            }
        }
        Ok(unserved)
    }

    /// Links a user of a platform that sends no profiles to the member whose address is the user's id, if exactly one
    /// member has it.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn link_user_by_email(&self, platform: &str, workspace: &str, user: &str) -> sqlx::Result<()> {
        let core = &self.core;
        let mut conn = core.pool.acquire().await?;
        people::sql::link_user_by_email(&mut conn, core.tenant, platform, workspace, user).await
    }

    /// Returns the content of a DM channel, with the links that only its reader may see.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn load_transcript(
        &self,
        platform: &str,
        workspace: &str,
        place: &ChannelRef,
    ) -> sqlx::Result<Transcript> {
        let core = &self.core;
        let mut conn = core.pool.acquire().await?;
        let mut read = transcript::load(&mut conn, core.tenant, platform, workspace, place).await?;
        for line in &mut read.lines {
            if let EntryBody::Nod { card, .. } = &mut line.body {
                *card = core.links.resolve_links(std::mem::take(card));
            }
        }
        Ok(read)
    }

    /// Runs jobs until `stop`. Meanwhile the abilities warm up, and the tidying is scheduled.
    pub async fn run_jobs(&self, stop: CancellationToken) {
        let core = &self.core;
        let warming_up = async {
            for ability in core.abilities.warm_ups() {
                ability.warm_up().await;
            }
        };
        let warming_up = stop.run_until_cancelled(warming_up);
        let scheduling = async {
            if let Err(error) = tidy::schedule(core).await {
                tracing::warn!(%error, "could not schedule the tidying; the next start does");
            }
        };
        let dispatcher = Dispatcher::new(core.pool.clone(), core.jobs.clone(), self.handlers.clone());
        tokio::join!(dispatcher.run(stop.clone()), warming_up, scheduling);
    }

    /// Wakes the dispatcher because there may be work: the clock was moved, or another replica died.
    pub fn wake(&self) {
        self.core.jobs.wake();
    }
}

/// Puts each part where it is used.
pub(crate) fn assembled(parts: Dependencies) -> Result<App, StartError> {
    let Dependencies { pool, ingest_pool: door, clock, ids, adapters, abilities, .. } = parts;
    let Dependencies { contacts, reading, grantors, model, vault, settings, .. } = parts;
    let jobs = JobNotifier::new(clock.clone());
    let prompt_texts = PromptTexts::default();
    let base = Base { pool, clock, ids, jobs, tenant: settings.tenant, prompt_texts };
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
    let tools: Vec<Tool> = abilities.tools().collect();
    let workflows = Workflows::new(abilities.workflows(), &tools)?;
    let tools = Tools::new(tools.into_iter().chain(workflows.begin_tools()))?;
    let commands: Vec<CommandSpec> = abilities.commands().collect();
    let requests = Requests { chat: chat.clone(), tools, policy: settings.policy };
    let hooks =
        std::iter::once(Arc::new(requests.clone()) as Arc<dyn Hook>).chain(abilities.hooks()).collect();
    let accounts = Accounts {
        chat: chat.clone(),
        lending: settings.delegated_access,
        grantors,
        hooks,
        tenant_name: settings.tenant_name,
        offer_expires_after: settings.connect_link_ttl,
    };
    let memory = Memory { chat, model };
    let agent = Agent {
        requests,
        accounts,
        memory,
        contacts,
        workflows,
        checks: abilities.checks().collect(),
        help: Arc::new(move |typing| inbox::help_text(&commands, typing)),
        stops: Arc::new(Notify::new()),
        step_budget: settings.step_budget,
        longest_message: settings.max_message_chars,
        stream_after: settings.stream_delay,
        keeps_talk_for: settings.history_retention,
    };
    Ok(App { agent, abilities, answers_within: settings.max_message_age, recent_keys: RecentKeys::default() })
}
