//! The world of a story: a company on Slack and Gmail, a scripted model, and a running Nod.

mod browser;
mod programs;
mod quiet;
mod talk;

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
use nod_sandbox::slack::{Channel, Slack, SlackConfig, User};
use sqlx::PgPool;

use crate::chat::{Chat, On};
use crate::{TestClock, TestDatabase, TestIds, free_port};

pub use browser::{Browser, link_in, words_of};

/// How long a story waits for something before it fails.
#[must_use]
pub fn patience() -> Duration {
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
    pub chat: Chat,
    /// The other platform, in a story on both.
    beside: Option<Chat>,
    /// The mailboxes.
    pub google: Google,
    /// The model.
    pub model: Model,
    /// The story's time.
    pub clock: TestClock,
    /// A pool for looking at rows.
    pub pool: PgPool,
    /// Nod's configuration, by the names of environment variables.
    pub env: BTreeMap<String, String>,
    mode: Mode,
    /// The story's time, as the fakes read it.
    told: nod_sandbox::slack::Clock,
    database: TestDatabase,
    connections: u32,
    ids: Arc<TestIds>,
    app: Option<App>,
    beside_the_house: Vec<fn() -> Plug>,
    read: BTreeMap<String, String>,
    heard: BTreeMap<String, usize>,
    expected_violations: BTreeSet<String>,
    data: tempfile::TempDir,
}

fn company(clock: nod_sandbox::slack::Clock, specs: Option<PathBuf>) -> SlackConfig {
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
        .user(person("eve", "Eve Elsewhere").stranger("T0OTHER001"))
        .channel(Channel::new("general", &[&everybody[..], &["eve"]].concat()))
        .channel(Channel::new("backroom", &["ana", "bo"]));
    config.clock = clock;
    config.post_limit = true;
    config.specs_dir = specs;
    config
}

/// Returns the same people on Discord, which reveals no email addresses.
fn guild(clock: nod_sandbox::discord::Clock, specs: Option<PathBuf>, signed_in: String) -> DiscordConfig {
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
        .user(person("eve", "Eve Elsewhere").stranger())
        .channel(nod_sandbox::discord::Channel::new("general", &[]))
        .channel(nod_sandbox::discord::Channel::new("backroom", &["ana", "bo"]));
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
    pub async fn in_mode(mode: Mode) -> Self {
        let mut world = Self::without_nod().await;
        world.reached_by(mode);
        world.start().await;
        world
    }

    /// The same with the default undo window. (In other worlds an approval takes effect at once.)
    pub async fn with_undo() -> Self {
        Self::with_undo_on(On::Slack).await
    }

    /// The same on this platform.
    pub async fn with_undo_on(platform: On) -> Self {
        let mut world = Self::without_nod().await;
        world.play_on(platform).await;
        world.env.remove("NOD_APPROVALS__UNDO");
        world.start().await;
        world
    }

    /// From the next start on, Slack reaches Nod in this mode.
    pub fn reached_by(&mut self, mode: Mode) {
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
    pub fn address(&self) -> String {
        format!("http://{}", self.env["NOD_SERVER__BIND"])
    }

    /// Creates a world with these policy rules.
    pub async fn with_rules(rules: &str) -> Self {
        Self::with_rules_on(On::Slack, rules).await
    }

    /// The same on this platform. `<bo>` in the rules is replaced by the user's name on the platform.
    pub async fn with_rules_on(platform: On, rules: &str) -> Self {
        let mut world = Self::without_nod().await;
        world.play_on(platform).await;
        world.lays_down(rules);
        world.start().await;
        world
    }

    /// Sets the policy rules from the next start on.
    pub fn lays_down(&mut self, rules: &str) {
        let file = self.data.path().join("policy.toml");
        started(std::fs::write(&file, self.naming(rules)));
        self.env.insert("NOD_APPROVALS__POLICY".to_owned(), file.display().to_string());
    }

    /// Replaces every `<user>` in the rules by the name that the platform's rules use.
    #[must_use]
    pub fn naming(&self, rules: &str) -> String {
        let name = |user: &str| match &self.chat {
            Chat::Slack(_) => format!("{user}@acme.test"),
            Chat::Discord(discord) => {
                format!("discord:{}", discord.read(|w| w.user_id(user).unwrap_or_default()))
            }
        };
        PEOPLE.iter().fold(rules.to_owned(), |rules, user| match rules.contains(&format!("<{user}>")) {
            true => rules.replace(&format!("<{user}>"), &name(user)),
            false => rules,
        })
    }

    /// Creates a world on this platform, and starts Nod.
    pub async fn on(platform: On) -> Self {
        let mut world = Self::without_nod_on(platform).await;
        world.start().await;
        world
    }

    /// Moves the story to this platform. Must be called before Nod is started.
    pub async fn play_on(&mut self, platform: On) {
        if platform == On::Slack {
            return;
        }
        let discord = self.discord().await;
        self.env.retain(|name, _| !name.starts_with("NOD_SLACK__") && name != "NOD_ADMIN__SLACK");
        self.chat = Chat::Discord(discord);
    }

    /// Creates a world on Slack and Discord with the same people; the story begins on Slack.
    pub async fn on_both() -> Self {
        let mut world = Self::without_nod_on_both().await;
        world.start().await;
        world
    }

    /// The same without starting Nod.
    pub async fn without_nod_on_both() -> Self {
        let mut world = Self::without_nod().await;
        world.beside = Some(Chat::Discord(world.discord().await));
        world
    }

    /// Continues a story of both platforms on the other one.
    pub fn changes_over(&mut self) {
        let beside = self.beside.as_mut().unwrap_or_else(|| panic!("there is no other platform"));
        std::mem::swap(&mut self.chat, beside);
    }

    fn chats(&self) -> impl Iterator<Item = &Chat> {
        std::iter::once(&self.chat).chain(&self.beside)
    }

    async fn discord(&mut self) -> Discord {
        let signed_in = format!("{}/oauth/discord/callback", self.address());
        let discord = started(Discord::start(guild(self.told.clone(), specs_dir(), signed_in)).await);
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
    pub async fn without_nod_on(platform: On) -> Self {
        let mut world = Self::without_nod().await;
        world.play_on(platform).await;
        world
    }

    /// Creates a world with the machine's clock on this platform, for Nod as a process.
    pub async fn in_real_time_on(platform: On) -> Self {
        let mut world = Self::in_real_time().await;
        world.play_on(platform).await;
        world
    }

    /// Creates a world with a stopped clock without starting Nod.
    pub async fn without_nod() -> Self {
        let clock = TestClock::default();
        let told = clock.clone();
        Self::built(clock, Arc::new(move || told.now()), false).await
    }

    /// Creates a world with the machine's clock, for Nod as a process. Unscripted model requests are answered by rules.
    pub async fn in_real_time() -> Self {
        Self::built(TestClock::default(), Arc::new(chrono::Utc::now), true).await
    }

    async fn built(
        clock: TestClock,
        told: Arc<dyn Fn() -> chrono::DateTime<chrono::Utc> + Send + Sync>,
        rules: bool,
    ) -> Self {
        // Two tests of one process can both get here first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let specs = specs_dir();
        let slack = started(Slack::start(company(told.clone(), specs.clone())).await);
        let port = free_port();
        let google = started(
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
        let model =
            started(Model::start(ModelConfig { rules, specs_dir: specs, ..ModelConfig::default() }).await);
        let database = TestDatabase::new().await;
        let data = started(tempfile::tempdir());
        let env = env(&slack, &google, &model, &database.url, data.path(), port);
        let pool = database.pool(3).await;
        Self {
            chat: Chat::Slack(slack.clone()),
            beside: None,
            told,
            slack,
            google,
            model,
            clock,
            pool,
            env,
            mode: Mode::Socket,
            database,
            connections: 10,
            ids: Arc::default(),
            app: None,
            beside_the_house: Vec::new(),
            read: BTreeMap::new(),
            heard: BTreeMap::new(),
            expected_violations: BTreeSet::new(),
            data,
        }
    }

    /// Limits the database connections of Nod.
    pub fn connections(&mut self, most: u32) {
        self.connections = most;
    }

    /// Starts Nod after an absence, and waits until what it missed is looked up or rescheduled: it learns only shortly
    /// after it has connected that there is something to catch up.
    ///
    /// # Panics
    /// If Nod does not start, or never records that it receives events.
    pub async fn comes_back(&mut self) {
        let back = self.clock.now();
        self.start().await;
        self.is_written_down_as_hearing(back).await;
        self.settles().await;
    }

    /// Starts Nod inside the test.
    pub async fn start(&mut self) {
        let env = self.env.iter().map(|(k, v)| (k.clone(), v.clone()));
        let config = Config::load(None, env).unwrap_or_else(|problems| panic!("{problems}"));
        let pool = self.database.pool(self.connections).await;
        let app =
            Box::pin(app::start(&config, pool, Arc::new(self.clock.clone()), self.ids.clone(), self.plugs()))
                .await;
        self.app = Some(app.unwrap_or_else(|e| panic!("nod did not start: {e:#}")));
        match self.mode {
            Mode::Socket => {
                for chat in self.chats() {
                    chat.connected(patience()).await;
                }
            }
            Mode::Http => self.slack.request_url(&self.address()).await.unwrap_or_else(|e| panic!("{e}")),
        }
        self.is_ready().await;
        self.settles().await;
    }

    /// From the next start on, Nod has this ability as well.
    pub fn plug_in(&mut self, plug: fn() -> Plug) {
        self.beside_the_house.push(plug);
    }

    fn plugs(&self) -> Vec<Plug> {
        self.beside_the_house.iter().map(|plug| plug()).collect()
    }

    /// Waits until Nod reports that it is ready.
    async fn is_ready(&self) {
        let ready = async {
            loop {
                let answer = reqwest::get(format!("{}/readyz", self.address())).await;
                if answer.is_ok_and(|answer| answer.status().is_success()) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(patience(), ready).await.unwrap_or_else(|_| panic!("nod did not become ready"));
    }

    /// Returns the Nod that runs inside the test.
    #[must_use]
    pub fn nod(&self) -> &Nod {
        &self.app.as_ref().unwrap_or_else(|| panic!("nod was not started")).nod
    }

    /// Starts one more inside the test, on the same database. The caller stops it.
    pub async fn another_nod(&self) -> App {
        let env = self.env_of_a_replica().into_iter();
        let config = Config::load(None, env).unwrap_or_else(|problems| panic!("{problems}"));
        let pool = self.database.pool(self.connections).await;
        let app =
            Box::pin(app::start(&config, pool, Arc::new(self.clock.clone()), self.ids.clone(), self.plugs()))
                .await;
        app.unwrap_or_else(|e| panic!("nod did not start: {e:#}"))
    }

    /// Shuts Nod down.
    pub async fn stop(&mut self) {
        if let Some(app) = self.app.take() {
            let before = self.chat.connections();
            app.stop().await;
            if self.mode == Mode::Socket {
                // Slack notices a little later; if Nod is started again, it must not find the old socket.
                self.sockets("a socket less", |now| now < before.max(1)).await;
            }
        }
    }
}

fn started<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}

fn specs_dir() -> Option<PathBuf> {
    std::env::var_os("NOD_SPECS_DIR").map(PathBuf::from)
}

/// Returns the path of `nod`, built next to the tests: a test executable cannot act as the document reader.
fn program() -> String {
    let tests = started(std::env::current_exe());
    let folder = tests.parent().and_then(std::path::Path::parent);
    folder.map(|folder| folder.join("nod-under-test").display().to_string()).unwrap_or_default()
}

fn env(
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
