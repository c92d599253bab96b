//! The world of a story: a company on Slack and Gmail, a scripted model, and a running Nod.

mod browser;
mod conversation;
mod idle;
mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nod_bot::app::{self, App};
use nod_bot::config::Config;
use nod_contract::clock::Clock;
use nod_inbox::Nod;
use nod_people::ability::Plug;
use nod_sandbox::discord::{Discord, DiscordConfig};
use nod_sandbox::google::{Account, Google, GoogleConfig};
use nod_sandbox::model::{Model, ModelConfig};
use nod_sandbox::qdrant::{Qdrant, QdrantConfig};
use nod_sandbox::slack::{Channel, Slack, SlackConfig, User};
use sqlx::PgPool;

use crate::chat::{FakeChat, Platform};
use crate::{TestClock, TestDatabase, TestIds, free_port};

pub use browser::{Browser, find_link, page_text};

/// How long a story waits for something before it fails.
#[must_use]
pub fn max_wait() -> Duration {
    Duration::from_secs(60)
}

/// The users who might have received something; Discord has no guests.
const PEOPLE: [&str; 9] = ["ana", "bo", "stone", "reyes", "cho", "dana", "gus", "eli", "eve"];

/// How Slack reaches Nod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nod keeps a WebSocket open.
    Socket,
    /// Slack posts signed requests.
    Http,
}

/// A company with its Slack and mailboxes, a model and a running Nod.
pub struct World {
    /// The workspace.
    pub slack: Slack,
    /// The platform that the story is played on: the workspace, or a Discord server with the same people.
    pub chat: FakeChat,
    /// The other platform, in a story on both.
    other_chat: Option<FakeChat>,
    /// The mailboxes.
    pub google: Google,
    /// The model.
    pub model: Model,
    /// The store of vectors, if Nod has one.
    qdrant: Option<Qdrant>,
    /// The story's time.
    pub clock: TestClock,
    /// A pool for looking at rows.
    pub pool: PgPool,
    /// Nod's configuration, by the names of environment variables.
    pub env: BTreeMap<String, String>,
    mode: Mode,
    /// The story's time, as the fakes read it.
    fake_clock: nod_sandbox::slack::Clock,
    database: TestDatabase,
    max_connections: u32,
    ids: Arc<TestIds>,
    app: Option<App>,
    beside_the_house: Vec<fn() -> Plug>,
    read_texts: BTreeMap<String, String>,
    read_ephemerals: BTreeMap<String, Vec<String>>,
    expected_violations: BTreeSet<String>,
    data_dir: tempfile::TempDir,
}

fn slack_config(clock: nod_sandbox::slack::Clock, specs: Option<PathBuf>) -> SlackConfig {
    let person = |handle: &str, name: &str| User::new(handle, name);
    let in_lisbon = |handle: &str, name: &str| User {
        tz: "Europe/Lisbon".to_owned(),
        tz_offset: 0,
        ..person(handle, name)
    };
    let guest = User { is_restricted: true, ..person("gus", "Gus Guest") };
    let closed = User { refuses_dms: true, ..in_lisbon("eli", "Eli Closed") };
    let everybody = ["ana", "bo", "stone", "reyes", "cho", "dana", "gus", "eli", "nod"];
    let mut config = SlackConfig::new("nod")
        .user(in_lisbon("ana", "Ana Silva"))
        .user(person("bo", "Bo Lind"))
        .user(person("stone", "Bob Stone"))
        .user(person("reyes", "Bob Reyes"))
        .user(person("cho", "Cho Park"))
        .user(person("dana", "Dana Admin"))
        .user(guest)
        .user(closed)
        .user(person("eve", "Eve Elsewhere").external("T0OTHER001"))
        .channel(Channel::new("general", &[&everybody[..], &["eve"]].concat()))
        .channel(Channel::new("backroom", &["ana", "bo"]));
    config.clock = clock;
    config.post_limit = true;
    config.specs_dir = specs;
    config
}

/// Returns the same people on Discord, which reveals no email addresses.
fn discord_config(
    clock: nod_sandbox::discord::Clock,
    specs: Option<PathBuf>,
    signed_in: String,
) -> DiscordConfig {
    let person = nod_sandbox::discord::User::new;
    let closed = nod_sandbox::discord::User { refuses_dms: true, ..person("eli", "Eli Closed") };
    let mut config = DiscordConfig::new("nod")
        .user(person("ana", "Ana Silva"))
        .user(person("bo", "Bo Lind"))
        .user(person("stone", "Bob Stone"))
        .user(person("reyes", "Bob Reyes"))
        .user(person("cho", "Cho Park"))
        .user(person("dana", "Dana Admin"))
        .user(closed)
        .user(person("eve", "Eve Elsewhere").outside_guild())
        .channel(nod_sandbox::discord::Channel::new("general", &[]))
        .channel(nod_sandbox::discord::Channel::new("backroom", &["ana", "bo"]));
    config.guild.system_channel = Some("general".to_owned());
    config.app.redirects = vec![signed_in];
    config.clock = clock;
    config.post_limit = true;
    config.specs_dir = specs;
    config
}

impl World {
    /// Creates a world on Slack with a stopped clock, and starts Nod inside the test.
    pub async fn new() -> Self {
        let mut world = Self::without_nod().await;
        world.start().await;
        world
    }

    /// The same, with Slack reaching Nod in this mode.
    pub async fn with_slack_mode(mode: Mode) -> Self {
        let mut world = Self::without_nod().await;
        world.set_slack_mode(mode);
        world.start().await;
        world
    }

    /// The same with the default undo window. (In other worlds an approval takes effect at once.)
    pub async fn with_undo_window() -> Self {
        Self::with_undo_window_on(Platform::Slack).await
    }

    /// The same on this platform.
    pub async fn with_undo_window_on(platform: Platform) -> Self {
        let mut world = Self::without_nod().await;
        world.use_platform(platform).await;
        world.env.remove("NOD_APPROVALS__UNDO");
        world.start().await;
        world
    }

    /// From the next start on, Slack reaches Nod in this mode.
    pub fn set_slack_mode(&mut self, mode: Mode) {
        self.mode = mode;
        if mode == Mode::Http {
            let secret = self.slack.read(|w| w.config.app.signing_secret.clone());
            self.env.remove("NOD_SLACK__APP_TOKEN");
            self.env.insert("NOD_SLACK__MODE".to_owned(), "http".to_owned());
            self.env.insert("NOD_SLACK__SIGNING_SECRET".to_owned(), secret);
        }
    }

    /// Returns the URL of Nod's server, without a trailing slash.
    #[must_use]
    pub fn server_url(&self) -> String {
        format!("http://{}", self.env["NOD_SERVER__BIND"])
    }

    /// Creates a world with these policy rules.
    pub async fn with_rules(rules: &str) -> Self {
        Self::with_rules_on(Platform::Slack, rules).await
    }

    /// The same on this platform. `<bo>` in the rules is replaced by the user's name on the platform.
    pub async fn with_rules_on(platform: Platform, rules: &str) -> Self {
        let mut world = Self::without_nod().await;
        world.use_platform(platform).await;
        world.set_rules(rules);
        world.start().await;
        world
    }

    /// Sets the policy rules from the next start on.
    pub fn set_rules(&mut self, rules: &str) {
        let file = self.data_dir.path().join("policy.toml");
        expect_started(std::fs::write(&file, self.with_platform_ids(rules)));
        self.env.insert("NOD_APPROVALS__POLICY".to_owned(), file.display().to_string());
    }

    /// Replaces every `<user>` in the rules by the name that the platform's rules use.
    #[must_use]
    pub fn with_platform_ids(&self, rules: &str) -> String {
        let name = |user: &str| match &self.chat {
            FakeChat::Slack(_) => format!("{user}@acme.test"),
            FakeChat::Discord(discord) => {
                format!("discord:{}", discord.read(|w| w.user_id(user).unwrap_or_default()))
            }
        };
        PEOPLE.iter().fold(rules.to_owned(), |rules, user| match rules.contains(&format!("<{user}>")) {
            true => rules.replace(&format!("<{user}>"), &name(user)),
            false => rules,
        })
    }

    /// Creates a world on this platform, and starts Nod.
    pub async fn new_on(platform: Platform) -> Self {
        let mut world = Self::without_nod_on(platform).await;
        world.start().await;
        world
    }

    /// Moves the story to this platform. Must be called before Nod is started.
    pub async fn use_platform(&mut self, platform: Platform) {
        if platform == Platform::Slack {
            return;
        }
        let discord = self.start_discord().await;
        self.env.retain(|name, _| !name.starts_with("NOD_SLACK__") && name != "NOD_ADMIN__SLACK");
        self.chat = FakeChat::Discord(discord);
    }

    /// Creates a world on Slack and Discord with the same people; the story begins on Slack.
    pub async fn on_both_platforms() -> Self {
        let mut world = Self::without_nod_on_both_platforms().await;
        world.start().await;
        world
    }

    /// The same without starting Nod.
    pub async fn without_nod_on_both_platforms() -> Self {
        let mut world = Self::without_nod().await;
        world.other_chat = Some(FakeChat::Discord(world.start_discord().await));
        world
    }

    /// Continues a story of both platforms on the other one.
    pub fn switch_platform(&mut self) {
        let beside = self.other_chat.as_mut().unwrap_or_else(|| panic!("there is no other platform"));
        std::mem::swap(&mut self.chat, beside);
    }

    fn chats(&self) -> impl Iterator<Item = &FakeChat> {
        std::iter::once(&self.chat).chain(&self.other_chat)
    }

    async fn start_discord(&mut self) -> Discord {
        let signed_in = format!("{}/oauth/discord/callback", self.server_url());
        let discord = expect_started(
            Discord::start(discord_config(self.fake_clock.clone(), specs_dir(), signed_in)).await,
        );
        let app = discord.read(|w| w.config.app.clone());
        let admin = discord.read(|w| w.user_id("dana").unwrap_or_default());
        for (name, value) in [
            ("NOD_DISCORD__API_URL", discord.url()),
            ("NOD_DISCORD__TOKEN", app.bot_token),
            ("NOD_DISCORD__CLIENT_SECRET", app.client_secret),
            ("NOD_ADMIN__DISCORD", admin),
        ] {
            self.env.insert(name.to_owned(), value);
        }
        discord
    }

    /// Creates a world on this platform without starting Nod.
    pub async fn without_nod_on(platform: Platform) -> Self {
        let mut world = Self::without_nod().await;
        world.use_platform(platform).await;
        world
    }

    /// Creates a world with the machine's clock on this platform, for Nod as a process.
    pub async fn with_real_clock_on(platform: Platform) -> Self {
        let mut world = Self::with_real_clock().await;
        world.use_platform(platform).await;
        world
    }

    /// Creates a world with a stopped clock without starting Nod.
    pub async fn without_nod() -> Self {
        let clock = TestClock::default();
        let told = clock.clone();
        Self::build(clock, Arc::new(move || told.now()), false).await
    }

    /// Creates a world with a stopped clock on this platform, in which the demo's model answers.
    pub async fn with_demo_model_on(platform: Platform) -> Self {
        let clock = TestClock::default();
        let told = clock.clone();
        let mut world = Self::build(clock, Arc::new(move || told.now()), true).await;
        world.use_platform(platform).await;
        world.start().await;
        world
    }

    /// Creates a world with the machine's clock, for Nod as a process. Unscripted model requests are answered by rules.
    pub async fn with_real_clock() -> Self {
        Self::build(TestClock::default(), Arc::new(chrono::Utc::now), true).await
    }

    async fn build(
        clock: TestClock,
        told: Arc<dyn Fn() -> chrono::DateTime<chrono::Utc> + Send + Sync>,
        rules: bool,
    ) -> Self {
        // Two tests of one process can both get here first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let specs = specs_dir();
        let slack = expect_started(Slack::start(slack_config(told.clone(), specs.clone())).await);
        let port = free_port();
        let google = expect_started(
            Google::start(GoogleConfig {
                accounts: ["ana", "bo", "stone", "reyes", "cho", "eli"]
                    .map(|n| Account::new(&format!("{n}@acme.test"), n))
                    .into_iter()
                    .chain([Account::new("ana.private@mail.test", "Ana")])
                    .collect(),
                redirect_uris: vec![format!("http://127.0.0.1:{port}/oauth/google/callback")],
                specs_dir: specs.clone(),
                clock: told.clone(),
                ..GoogleConfig::default()
            })
            .await,
        );
        let model = expect_started(
            Model::start(ModelConfig { rules, specs_dir: specs, ..ModelConfig::default() }).await,
        );
        let database = TestDatabase::new().await;
        let data = expect_started(tempfile::tempdir());
        let env = base_env(&slack, &google, &model, &database.url, data.path(), port);
        let pool = database.pool(3).await;
        let mut world = Self {
            chat: FakeChat::Slack(slack.clone()),
            other_chat: None,
            fake_clock: told,
            slack,
            google,
            model,
            qdrant: None,
            clock,
            pool,
            env,
            mode: Mode::Socket,
            database,
            max_connections: 10,
            ids: Arc::default(),
            app: None,
            beside_the_house: Vec::new(),
            read_texts: BTreeMap::new(),
            read_ephemerals: BTreeMap::new(),
            expected_violations: BTreeSet::new(),
            data_dir: data,
        };
        if std::env::var_os("NOD_STORIES_ON_QDRANT").is_some() {
            world.use_qdrant().await;
        }
        world
    }

    /// From the next start on, Nod has Qdrant as its store of vectors.
    pub async fn use_qdrant(&mut self) {
        let key = "qd-sandbox".to_owned();
        let qdrant = expect_started(Qdrant::start(QdrantConfig { api_key: Some(key.clone()) }).await);
        self.env.insert("NOD_QDRANT__URL".to_owned(), qdrant.url());
        self.env.insert("NOD_QDRANT__API_KEY".to_owned(), key);
        self.qdrant = Some(qdrant);
    }

    /// Returns the store of vectors.
    #[must_use]
    pub fn qdrant(&self) -> &Qdrant {
        self.qdrant.as_ref().unwrap_or_else(|| panic!("nod has no Qdrant"))
    }

    /// Limits the database connections of Nod.
    pub fn set_max_connections(&mut self, most: u32) {
        self.max_connections = most;
    }

    /// Starts Nod after an absence, and waits until what it missed is looked up or rescheduled: it learns only shortly
    /// after it has connected that there is something to catch up.
    ///
    /// # Panics
    /// If Nod does not start, or never records that it receives events.
    pub async fn comes_back(&mut self) {
        let back = self.clock.now();
        self.start().await;
        self.wait_until_ingest_recorded(back).await;
        self.wait_until_idle().await;
    }

    /// Starts Nod inside the test.
    pub async fn start(&mut self) {
        self.app = Some(self.start_app(self.env.clone()).await);
        match self.mode {
            Mode::Socket => {
                for chat in self.chats() {
                    chat.wait_until_connected(max_wait()).await;
                }
            }
            Mode::Http => {
                self.slack.set_request_url(&self.server_url()).await.unwrap_or_else(|e| panic!("{e}"))
            }
        }
        self.is_ready().await;
        self.wait_until_idle().await;
    }

    /// From the next start on, Nod has this ability as well.
    pub fn plug_in(&mut self, plug: fn() -> Plug) {
        self.beside_the_house.push(plug);
    }

    fn instantiate_plugs(&self) -> Vec<Plug> {
        self.beside_the_house.iter().map(|plug| plug()).collect()
    }

    /// Waits until Nod reports that it is ready.
    async fn is_ready(&self) {
        let ready = async {
            loop {
                let answer = reqwest::get(format!("{}/readyz", self.server_url())).await;
                if answer.is_ok_and(|answer| answer.status().is_success()) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(max_wait(), ready).await.unwrap_or_else(|_| panic!("nod did not become ready"));
    }

    /// Returns the Nod that runs inside the test.
    #[must_use]
    pub fn nod(&self) -> &Nod {
        &self.app.as_ref().unwrap_or_else(|| panic!("nod was not started")).nod
    }

    /// Starts one more inside the test, on the same database. The caller stops it.
    pub async fn start_in_process_replica(&self) -> App {
        self.start_app(self.replica_env()).await
    }

    async fn start_app(&self, env: BTreeMap<String, String>) -> App {
        let config = Config::load(None, env.into_iter()).unwrap_or_else(|problems| panic!("{problems}"));
        let until = tokio::time::Instant::now() + max_wait();
        loop {
            let started = Box::pin(app::start(
                &config,
                self.database.pool(self.max_connections).await,
                Arc::new(self.clock.clone()),
                self.ids.clone(),
                self.instantiate_plugs(),
            ));
            match started.await {
                Ok(app) => return app,
                // A program that another story is starting has copies of all our sockets until it replaces the fork, the
                // one that a stopped Nod listened on among them.
                Err(error) if is_port_in_use(error.root_cause()) && tokio::time::Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(error) => panic!("nod did not start: {error:#}"),
            }
        }
    }

    /// Shuts Nod down.
    pub async fn stop(&mut self) {
        if let Some(app) = self.app.take() {
            let before = self.chat.connection_count();
            app.stop().await;
            if self.mode == Mode::Socket {
                // Slack notices a little later; if Nod is started again, it must not find the old socket.
                self.wait_for_sockets("a socket less", |now| now < before.max(1)).await;
            }
        }
    }
}

fn is_port_in_use(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<std::io::Error>().is_some_and(|cause| cause.kind() == std::io::ErrorKind::AddrInUse)
}

fn expect_started<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}

fn specs_dir() -> Option<PathBuf> {
    std::env::var_os("NOD_SPECS_DIR").map(PathBuf::from)
}

/// Returns the path of `nod`, built next to the tests: a test executable cannot act as the document reader.
fn program() -> String {
    let tests = expect_started(std::env::current_exe());
    let folder = tests.parent().and_then(std::path::Path::parent);
    folder.map(|folder| folder.join("nod-under-test").display().to_string()).unwrap_or_default()
}

fn base_env(
    slack: &Slack,
    google: &Google,
    model: &Model,
    database: &str,
    data: &std::path::Path,
    port: u16,
) -> BTreeMap<String, String> {
    let (bot, app) =
        slack.read(|world| (world.config.app.bot_token.clone(), world.config.app.app_token.clone()));
    let admin = slack.read(|world| world.user_id("dana").unwrap_or_default());
    let client = GoogleConfig::default();
    [
        ("SERVER__BIND", format!("127.0.0.1:{port}")),
        ("DATA__DIR", data.display().to_string()),
        ("DATABASE__URL", database.to_owned()),
        ("READING__PROGRAM", program()),
        ("SLACK__API_URL", slack.api_url()),
        ("SLACK__BOT_TOKEN", bot),
        ("SLACK__APP_TOKEN", app),
        ("ADMIN__SLACK", admin),
        ("GOOGLE__CLIENT_ID", client.client_id),
        ("GOOGLE__CLIENT_SECRET", client.client_secret),
        ("GOOGLE__AUTH_URL", google.auth_url()),
        ("GOOGLE__TOKEN_URL", google.token_url()),
        ("GOOGLE__REVOKE_URL", google.revoke_url()),
        ("GOOGLE__GMAIL_URL", google.url()),
        ("GOOGLE__CALENDAR_URL", format!("{}/calendar/v3/", google.url())),
        ("LLM__BASE_URL", model.base_url()),
        ("LLM__API_KEY", "sk-sandbox".to_owned()),
        ("LLM__MODEL", "scripted".to_owned()),
        // However slow the machine is: in stories that are not about streams, answers are posted in full.
        ("REPLIES__STREAM_AFTER", "1h".to_owned()),
        // Most stories are not about undo.
        ("APPROVALS__UNDO", "0s".to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| (format!("NOD_{name}"), value))
    .collect()
}
