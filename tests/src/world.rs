//! The world of a story: a company on Slack and Gmail, a scripted model, and a running Nod.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use nod_bot::app::{self, App};
use nod_bot::config::Config;
use nod_core::Nod;
use nod_core::clock::Clock;
use nod_sandbox::discord::{Discord, DiscordConfig};
use nod_sandbox::google::{Account, Google, GoogleConfig};
use nod_sandbox::model::{Answer, Model, ModelConfig};
use nod_sandbox::slack::{Channel, Say, Slack, SlackConfig, User};
use serde_json::json;
use sqlx::PgPool;

use crate::chat::{Chat, On};
use crate::{Program, TestClock, TestDatabase, TestIds, free_port};

/// How long a story waits for something before it says that it never came.
#[must_use]
pub fn patience() -> Duration {
    Duration::from_secs(60)
}

/// Whoever may have been told something; Discord has no guests.
const PEOPLE: [&str; 9] = ["ana", "bo", "stone", "reyes", "cho", "dana", "gus", "eli", "eve"];

/// How Slack reaches Nod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nod keeps a WebSocket open.
    Socket,
    /// Slack posts signed requests.
    Http,
}

/// A company, its Slack and mailboxes, a model and a Nod.
pub struct World {
    /// The workspace.
    pub slack: Slack,
    /// The platform that the story is played on: the workspace, or a Discord server with the same people.
    pub chat: Chat,
    /// The other platform, in a story of both.
    beside: Option<Chat>,
    /// The mailboxes.
    pub google: Google,
    /// The model.
    pub model: Model,
    /// The story's time.
    pub clock: TestClock,
    /// For looking at rows.
    pub pool: PgPool,
    /// What Nod is configured with, by environment names.
    pub env: BTreeMap<String, String>,
    mode: Mode,
    /// The story's time, as the fakes are told it.
    told: nod_sandbox::slack::Clock,
    database: TestDatabase,
    connections: u32,
    ids: Arc<TestIds>,
    app: Option<App>,
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

/// The same people on Discord, which tells no addresses.
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
    /// With a standing clock and Nod running inside the test.
    pub async fn new() -> Self {
        let mut world = Self::without_nod().await;
        world.start().await;
        world
    }

    /// The same, with Slack reaching Nod this way.
    pub async fn in_mode(mode: Mode) -> Self {
        let mut world = Self::without_nod().await;
        world.reached_by(mode);
        world.start().await;
        world
    }

    /// The same, and a nod can be taken back for as long as it can by default. (In other worlds it counts at once.)
    pub async fn with_undo() -> Self {
        Self::with_undo_on(On::Slack).await
    }

    /// The same on that platform.
    pub async fn with_undo_on(platform: On) -> Self {
        let mut world = Self::without_nod().await;
        world.play_on(platform).await;
        world.env.remove("NOD_APPROVALS__UNDO");
        world.start().await;
        world
    }

    /// From the next start on Slack reaches Nod this way.
    pub fn reached_by(&mut self, mode: Mode) {
        self.mode = mode;
        if mode == Mode::Http {
            let secret = self.slack.read(|w| w.config.app.signing_secret.clone());
            self.env.remove("NOD_SLACK__APP_TOKEN");
            self.env.insert("NOD_SLACK__MODE".to_owned(), "http".to_owned());
            self.env.insert("NOD_SLACK__SIGNING_SECRET".to_owned(), secret);
        }
    }

    /// Where Nod's server is, without a trailing slash.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://{}", self.env["NOD_SERVER__BIND"])
    }

    /// With rules about asking for a nod.
    pub async fn with_rules(rules: &str) -> Self {
        Self::with_rules_on(On::Slack, rules).await
    }

    /// The same on that platform. Whoever stands there as `<bo>` is named as that platform's people are.
    pub async fn with_rules_on(platform: On, rules: &str) -> Self {
        let mut world = Self::without_nod().await;
        world.play_on(platform).await;
        world.lays_down(rules);
        world.start().await;
        world
    }

    /// The rules about asking for a nod are these from the next start on.
    pub fn lays_down(&mut self, rules: &str) {
        let file = self.data.path().join("policy.toml");
        started(std::fs::write(&file, self.naming(rules)));
        self.env.insert("NOD_APPROVALS__POLICY".to_owned(), file.display().to_string());
    }

    /// A text about rules with everybody by the name that rules have for them.
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

    /// The same on that platform.
    pub async fn on(platform: On) -> Self {
        let mut world = Self::without_nod_on(platform).await;
        world.start().await;
        world
    }

    /// From now on the story is played there. Must come before Nod is started.
    pub async fn play_on(&mut self, platform: On) {
        if platform == On::Slack {
            return;
        }
        let discord = self.discord().await;
        self.env.retain(|name, _| !name.starts_with("NOD_SLACK__") && name != "NOD_ADMIN__SLACK");
        self.chat = Chat::Discord(discord);
    }

    /// On Slack and on Discord with the same people; on Slack to begin with.
    pub async fn on_both() -> Self {
        let mut world = Self::without_nod_on_both().await;
        world.start().await;
        world
    }

    /// The same, Nod not started.
    pub async fn without_nod_on_both() -> Self {
        let mut world = Self::without_nod().await;
        world.beside = Some(Chat::Discord(world.discord().await));
        world
    }

    /// In a story of both platforms: goes on, on the other.
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

    /// The same, Nod not started.
    pub async fn without_nod_on(platform: On) -> Self {
        let mut world = Self::without_nod().await;
        world.play_on(platform).await;
        world
    }

    /// With the machine's clock, for Nod as a process, on that platform.
    pub async fn in_real_time_on(platform: On) -> Self {
        let mut world = Self::in_real_time().await;
        world.play_on(platform).await;
        world
    }

    /// With a standing clock, Nod not started.
    pub async fn without_nod() -> Self {
        let clock = TestClock::default();
        let told = clock.clone();
        Self::built(clock, Arc::new(move || told.now()), false).await
    }

    /// With the machine's clock, for Nod as a process; the model answers by rules where nothing is scripted.
    pub async fn in_real_time() -> Self {
        Self::built(TestClock::default(), Arc::new(chrono::Utc::now), true).await
    }

    async fn built(
        clock: TestClock,
        told: Arc<dyn Fn() -> chrono::DateTime<chrono::Utc> + Send + Sync>,
        rules: bool,
    ) -> Self {
        // Two tests of one process may both come first.
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
            read: BTreeMap::new(),
            heard: BTreeMap::new(),
            expected_violations: BTreeSet::new(),
            data,
        }
    }

    /// Gives Nod only this many database connections.
    pub fn connections(&mut self, most: u32) {
        self.connections = most;
    }

    /// Starts Nod inside the test.
    pub async fn start(&mut self) {
        let env = self.env.iter().map(|(k, v)| (k.clone(), v.clone()));
        let config = Config::load(None, env).unwrap_or_else(|problems| panic!("{problems}"));
        let pool = self.database.pool(self.connections).await;
        let app = app::start(&config, pool, Arc::new(self.clock.clone()), self.ids.clone()).await;
        self.app = Some(app.unwrap_or_else(|e| panic!("nod did not start: {e:#}")));
        match self.mode {
            Mode::Socket => {
                for chat in self.chats() {
                    chat.connected(patience()).await;
                }
            }
            Mode::Http => self.slack.request_url(&self.address()).await.unwrap_or_else(|e| panic!("{e}")),
        }
        self.settles().await;
    }

    /// The Nod that runs inside the test.
    #[must_use]
    pub fn nod(&self) -> &Nod {
        &self.app.as_ref().unwrap_or_else(|| panic!("nod was not started")).nod
    }

    /// One more inside the test, on the same database. Whoever gets it stops it.
    pub async fn another_nod(&self) -> App {
        let env = self.env_of_a_replica().into_iter();
        let config = Config::load(None, env).unwrap_or_else(|problems| panic!("{problems}"));
        let pool = self.database.pool(self.connections).await;
        let app = app::start(&config, pool, Arc::new(self.clock.clone()), self.ids.clone()).await;
        app.unwrap_or_else(|e| panic!("nod did not start: {e:#}"))
    }

    /// Stops Nod in order.
    pub async fn stop(&mut self) {
        if let Some(app) = self.app.take() {
            let before = self.chat.connections();
            app.stop().await;
            if self.mode == Mode::Socket {
                // Slack notices a little later; whoever starts Nod again must not meet the old socket.
                self.sockets("a socket less", |now| now < before.max(1)).await;
            }
        }
    }

    /// Starts Nod as a process, and waits until it is connected.
    pub async fn start_program(&self, binary: &str) -> Program {
        self.start_program_with(binary, &self.env).await
    }

    /// One more on the same database. On Discord it does not connect as long as another one hears.
    pub async fn start_replica(&self, binary: &str) -> Program {
        let env = self.env_of_a_replica();
        if matches!(self.chat, Chat::Discord(_)) {
            return Program::run(binary, &env.into_iter().collect::<Vec<_>>());
        }
        self.start_program_with(binary, &env).await
    }

    /// What one more on the same database is configured with.
    #[must_use]
    pub fn env_of_a_replica(&self) -> BTreeMap<String, String> {
        let mut env = self.env.clone();
        env.insert("NOD_SERVER__BIND".to_owned(), format!("127.0.0.1:{}", free_port()));
        env
    }

    /// Starts it with another environment.
    pub async fn start_program_with(&self, binary: &str, env: &BTreeMap<String, String>) -> Program {
        // A dead one's socket may still be there and go meanwhile.
        let mut fewest = self.chat.connections();
        let begun = chrono::Utc::now();
        let here = env.get("NOD_DATABASE__URL") == Some(&self.database.url);
        let env: Vec<(String, String)> = env.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        let program = Program::run(binary, &env);
        self.sockets("a socket more", |now| {
            fewest = fewest.min(now);
            now > fewest
        })
        .await;
        if here {
            self.is_written_down_as_hearing(begun).await;
        }
        program
    }

    /// Waits until the program has written that it hears, and with it whatever it has to catch up with: a story that
    /// looks earlier finds nothing to do, and kills it in the middle of that.
    async fn is_written_down_as_hearing(&self, since: chrono::DateTime<chrono::Utc>) {
        let until = tokio::time::Instant::now() + patience();
        loop {
            let heard = sqlx::query_scalar("select exists (select 1 from hearings where heard_until >= $1)");
            if heard.bind(since).fetch_one(&self.pool).await.unwrap_or_else(|e| panic!("{e}")) {
                return;
            }
            assert!(tokio::time::Instant::now() < until, "never heard:\n{}", self.chat.everything());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// SIGKILL, and Slack has noticed.
    pub async fn kills(&self, program: Program) {
        let before = self.chat.connections();
        program.kill().await;
        self.sockets("a socket less", |now| now < before.max(1)).await;
    }

    async fn sockets(&self, what: &str, mut enough: impl FnMut(usize) -> bool) {
        let until = tokio::time::Instant::now() + patience();
        while !enough(self.chat.connections()) {
            assert!(tokio::time::Instant::now() < until, "{what} never came:\n{}", self.chat.everything());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Somebody says something; returns its timestamp. Waits until Nod has nothing left to do.
    pub async fn says(&self, user: &str, channel: &str, text: &str) -> String {
        let ts = self.chat.say(user, channel, None, text);
        self.settles().await;
        ts
    }

    /// The same in a thread.
    pub async fn replies(&self, user: &str, channel: &str, thread: &str, text: &str) -> String {
        let ts = self.chat.say(user, channel, Some(thread), text);
        self.settles().await;
        ts
    }

    /// Types a `/nod` command and returns what it answers in the same breath, as its author reads it.
    pub async fn commands(&mut self, user: &str, channel: &str, text: &str) -> String {
        self.chat.command(user, channel, text).await;
        self.settles().await;
        self.whispers(user)
    }

    /// Presses the button with this label on the newest message that has it.
    pub async fn presses(&self, user: &str, channel: &str, label: &str) {
        let ts = self.button(channel, label);
        self.chat.press(user, channel, &ts, label).await;
        self.settles().await;
    }

    /// Presses the button with this label on the newest whisper to somebody that has it.
    pub async fn presses_whispered(&self, user: &str, label: &str) {
        self.chat.press_whispered(user, label).await;
        self.settles().await;
    }

    /// Says something and drops a file with it.
    pub async fn drops(&self, user: &str, channel: &str, text: &str, file: serde_json::Value) -> String {
        let said = match &self.chat {
            Chat::Slack(slack) => {
                let subtype = Some("file_share".to_owned());
                slack.say_with(Say { files: vec![file], subtype, ..Say::new(user, channel, text) })
            }
            Chat::Discord(discord) => {
                let say = nod_sandbox::discord::Say::new(user, channel, text);
                discord.say_with(nod_sandbox::discord::Say { files: vec![file], ..say })
            }
        };
        self.settles().await;
        said.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Opens the app's Home tab.
    pub async fn opens_home(&self, user: &str) {
        self.slack.open_home(user);
        self.settles().await;
    }

    /// Presses a button there.
    pub async fn presses_home(&self, user: &str, label: &str) {
        let pending = self.slack.press_home(user, label).unwrap_or_else(|e| panic!("{e}"));
        pending.acknowledged(patience()).await;
        self.settles().await;
    }

    /// The newest message of a channel that has a button with this label.
    #[must_use]
    pub fn button(&self, channel: &str, label: &str) -> String {
        let found = self.chat.with_button(channel, label);
        found.unwrap_or_else(|| panic!("no button [{label}] in {channel}:\n{}", self.chat.everything()))
    }

    /// The buttons of the newest message of a channel that has any to press, a line of labels.
    #[must_use]
    pub fn button_labels(&self, channel: &str) -> String {
        let buttons = self.chat.buttons(channel);
        buttons.iter().map(|button| format!("[{}]", button.label)).collect::<Vec<_>>().join(" ")
    }

    /// The whole label of the button there that begins so.
    #[must_use]
    pub fn labelled(&self, channel: &str, begins: &str) -> String {
        let mut labels = self.chat.buttons(channel).into_iter().map(|button| button.label);
        labels
            .find(|label| label.starts_with(begins))
            .unwrap_or_else(|| panic!("no button [{begins}…] in {channel}:\n{}", self.chat.everything()))
    }

    /// What stands in a channel, as people read it.
    pub fn reads(&mut self, channel: &str) -> String {
        let transcript = self.chat.spoken(channel);
        self.read.insert(self.named(channel), transcript.clone());
        self.as_told(without_run_ids(&transcript))
    }

    /// What of it was read so far.
    pub(crate) fn was_read(&self, channel: &str) -> String {
        let read = self.read.get(&self.named(channel));
        read.map_or_else(String::new, |read| self.as_told(without_run_ids(read)))
    }

    /// The same on each platform: on Discord nobody told Nod that Ana is in Lisbon, where it is the same time, and
    /// each command stands for itself.
    pub(crate) fn as_told(&self, text: String) -> String {
        match self.chat {
            Chat::Slack(_) => text,
            Chat::Discord(_) => as_typed_on_slack(text.replace(" UTC", " WET")),
        }
    }

    /// What was whispered to somebody since they last heard.
    pub fn whispers(&mut self, user: &str) -> String {
        let all = self.chat.whispers(user);
        let from = self.heard.insert(self.ear(user), all.len()).unwrap_or_default();
        self.as_told(all[from.min(all.len())..].join("\n"))
    }

    /// Somebody, where they are.
    fn ear(&self, user: &str) -> String {
        match self.chat {
            Chat::Slack(_) => format!("slack:{user}"),
            Chat::Discord(_) => format!("discord:{user}"),
        }
    }

    /// Waits until something was whispered to somebody, and returns it.
    pub async fn hears(&mut self, user: &str) -> String {
        let from = self.heard.get(&self.ear(user)).copied().unwrap_or_default();
        self.comes("a whisper", || (self.chat.whispers(user).len() > from).then_some(())).await;
        self.whispers(user)
    }

    /// Waits until this stands in a channel, and returns all that stands there.
    pub async fn stands(&self, channel: &str, words: &str) -> String {
        let look = || Some(self.chat.spoken(channel)).filter(|said| said.contains(words));
        self.comes(words, look).await
    }

    /// Waits until there is something to see.
    async fn comes<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let until = tokio::time::Instant::now() + patience();
        loop {
            if let Some(found) = look() {
                return found;
            }
            let late = tokio::time::Instant::now() > until;
            assert!(!late, "“{what}” never came:\n{}", self.chat.everything());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until Nod has said this somewhere, and everything else is done.
    pub async fn hears_nod(&self, channel: &str, text: &str) {
        let heard = async {
            let until = tokio::time::Instant::now() + patience();
            while !self.chat.nod_said(channel, text) {
                let late = tokio::time::Instant::now() > until;
                assert!(!late, "“{text}” was never said in {channel}:\n{}", self.chat.everything());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            () = heard => {}
            () = self.pauses_pass() => {}
        }
        self.settles().await;
    }

    /// Waits until the model was asked so often.
    pub async fn asked(&self, times: usize) {
        let until = tokio::time::Instant::now() + patience();
        while self.model.requests().len() < times {
            assert!(
                tokio::time::Instant::now() < until,
                "the model was never asked: {}",
                self.chat.everything()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Every row of every table, as text.
    pub async fn rows(&self) -> String {
        let tables: Vec<String> =
            sqlx::query_scalar("select tablename::text from pg_tables where schemaname = 'public'")
                .fetch_all(&self.pool)
                .await
                .unwrap_or_else(|e| panic!("{e}"));
        let mut all = String::new();
        for table in tables {
            let statement = sqlx::AssertSqlSafe(format!("select to_jsonb(t)::text from {table} t"));
            let rows: Vec<String> =
                sqlx::query_scalar(statement).fetch_all(&self.pool).await.unwrap_or_else(|e| panic!("{e}"));
            for row in rows {
                all.push_str(&format!("{table} {row}\n"));
            }
        }
        all
    }

    /// The ids of all people known to Nod.
    pub async fn persons(&self) -> Vec<String> {
        let all = sqlx::query_scalar("select id::text from people order by id");
        all.fetch_all(&self.pool).await.unwrap_or_else(|e| panic!("{e}"))
    }

    fn named(&self, channel: &str) -> String {
        match (&self.chat, channel.strip_prefix("dm:")) {
            (Chat::Slack(slack), Some(user)) => slack.dm(user),
            (Chat::Discord(discord), Some(user)) => discord.dm(user),
            (chat, None) => chat.channel_id(channel),
        }
    }

    /// Lets time pass, and Nod do what has become due.
    pub async fn later(&self, time: TimeDelta) {
        self.clock.pass(time);
        if let Some(app) = &self.app {
            app.nod.wake();
        }
        self.settles().await;
    }

    /// Waits until everything that arrived is acknowledged and no job is due.
    pub async fn settles(&self) {
        for chat in self.chats() {
            if self.app.is_some() || chat.connections() > 0 {
                chat.has_heard("dana").await;
            }
        }
        let mut look = tokio::time::interval(Duration::from_millis(5));
        let until = tokio::time::Instant::now() + patience();
        loop {
            look.tick().await;
            if !self.chats().any(Chat::waits) {
                match self.to_do().await {
                    (false, None) => return,
                    (false, Some(pause)) => self.passes(pause),
                    (true, _) => {}
                }
            }
            if tokio::time::Instant::now() > until {
                panic!("it never became quiet:\n{}\njobs: {:#?}", self.chat.everything(), self.jobs().await);
            }
        }
    }

    /// Lets every such second pass, for as long as somebody waits.
    async fn pauses_pass(&self) {
        let mut look = tokio::time::interval(Duration::from_millis(5));
        loop {
            look.tick().await;
            if let (_, Some(pause)) = self.to_do().await {
                self.passes(pause);
            }
        }
    }

    /// Whether anything is due or being done, and until when a message waits for its place to be free again; what
    /// was tried and lost waits for its next try, which is no pause. One look at both: between two, such a message
    /// may be taken up. (Where time does not stand still, it may be put off between ours at the clock and at the
    /// rows: hence a second more.)
    async fn to_do(&self) -> (bool, Option<chrono::DateTime<chrono::Utc>>) {
        let now = if self.app.is_some() { self.clock.now() } else { chrono::Utc::now() };
        let looked = sqlx::query_as(
            "select coalesce(bool_or(l.due_at <= $1 or l.lease is not null), false), min(l.due_at) filter (
                 where l.due_at > $1 and l.lease is null and 0 = (
                     select max(j.attempts) from jobs j where j.tenant_id = l.tenant_id and j.lane_id = l.id
                         and j.work->>'work' = 'deliver'))
             from lanes l where l.due_at <= $1 + make_interval(secs => $2)",
        );
        looked
            .bind(now)
            .bind(self.pause())
            .fetch_one(&self.pool)
            .await
            .unwrap_or_else(|e| panic!("the database does not answer: {e}"))
    }

    /// How long the platform has a message wait, in seconds. Slack takes one a second in a place, Discord five in five.
    fn pause(&self) -> f64 {
        let slack_alone = self.chats().all(|chat| matches!(chat, Chat::Slack(_)));
        let pause = if slack_alone { 1.0 } else { 5.0 };
        if self.app.is_some() { pause } else { pause + 1.0 }
    }

    /// Lets the time until then pass, where it is the story's.
    fn passes(&self, until: chrono::DateTime<chrono::Utc>) {
        if let Some(app) = &self.app {
            self.clock.pass((until - self.clock.now()).max(TimeDelta::zero()));
            app.nod.wake();
        }
    }

    /// The time in which a nod can be taken back passes.
    pub async fn the_window_passes(&self) {
        self.later(TimeDelta::seconds(10)).await;
    }

    /// What is left to do, each with its lane, for whoever has to find out why.
    async fn jobs(&self) -> Vec<String> {
        let all = sqlx::query_scalar(
            "select concat_ws(' ', j.work, 'try', j.attempts, j.last_error, 'due', l.due_at, 'leased until',
                 coalesce(l.leased_until::text, '—'), 'now', clock_timestamp())
             from lanes l left join jobs j on j.tenant_id = l.tenant_id and j.lane_id = l.id order by j.id",
        );
        all.fetch_all(&self.pool).await.unwrap_or_default()
    }

    /// The router says what kind of wish it is; the reasoner answers one after another.
    pub fn model_will(&self, intent: &str, answers: impl IntoIterator<Item = Answer>) {
        self.model.router_will(Answer::json(&json!({ "intent": intent, "tool": null })));
        for answer in answers {
            self.model.will(answer);
        }
    }

    /// Connects somebody's own Google account, by the private link and the consent page.
    pub async fn connects(&mut self, user: &str) {
        let link = self.asks_for_link(user).await;
        let page = self.consents_as(user, &link, &format!("{user}@acme.test"), None).await;
        assert!(page.contains("is connected") || page.contains("Connected"), "{page}");
        self.settles().await;
        self.reads(&format!("dm:{user}"));
    }

    /// Nod knows an address of somebody: Slack tells it, on Discord it is the account that they have connected.
    pub async fn can_be_written_to(&mut self, user: &str) {
        if matches!(self.chat, Chat::Discord(_)) {
            self.connects(user).await;
        }
    }

    /// `/nod connect google`, and the link in the answer.
    pub async fn asks_for_link(&mut self, user: &str) -> String {
        self.commands(user, "general", "connect google").await;
        let newest = self.chat.newest_whisper(user).unwrap_or_else(|| panic!("no answer to connect"));
        link_in(&newest).unwrap_or_else(|| panic!("no link in: {newest}"))
    }

    /// Follows a private link as that person to Google's consent page; its address.
    pub async fn leads_to_google(&self, user: &str, browser: &Browser, link: &str) -> String {
        self.way_to_google(user, browser, link)
            .await
            .unwrap_or_else(|page| panic!("no way to Google: {page}"))
    }

    async fn way_to_google(&self, user: &str, browser: &Browser, link: &str) -> Result<String, String> {
        let to = browser.begins(link).await;
        match &self.chat {
            Chat::Discord(discord) if to.starts_with(&discord.root_url()) => {
                browser.signs_in(discord, &to, user).await
            }
            _ => Ok(to),
        }
    }

    /// The link on the newest card in a person's direct line.
    #[must_use]
    pub fn newest_link_for(&self, user: &str) -> String {
        let found = self.chat.newest_link(&format!("dm:{user}"));
        found.unwrap_or_else(|| panic!("no link for {user}:\n{}", self.chat.everything()))
    }

    /// Follows a private link as that person: where the way leads by the platform's own sign-in, they sign in there.
    /// Consents at Google as `account`; the page at the end.
    pub async fn consents_as(
        &self,
        user: &str,
        link: &str,
        account: &str,
        scopes: Option<&[&str]>,
    ) -> String {
        let browser = Browser::new();
        let to = match self.way_to_google(user, &browser, link).await {
            Ok(to) => to,
            Err(page) => return page,
        };
        let back = self.google.consent(&to, account, scopes).unwrap_or_else(|e| panic!("{e}"));
        browser.returns(&back, &to).await
    }

    /// Ends the story. It fails where a job is due, a message unread, a script or fault unused, a request
    /// refused by the vendor's rules.
    pub async fn ends(mut self) {
        self.settles().await;
        let mut loose: Vec<String> = Vec::new();
        if self.app.is_some() {
            let failed: usize = self.chats().map(Chat::failed).sum();
            loose.extend(
                (failed > 0).then(|| format!("{failed} presses, commands or forms were answered by nobody")),
            );
        }
        self.stop().await;
        self.finds_unread(&mut loose);
        if self.beside.is_some() {
            self.changes_over();
            self.finds_unread(&mut loose);
        }
        loose.extend(self.model.unused().into_iter().map(|s| format!("unused answer: {s}")));
        loose.extend(self.model.unexpected().into_iter().map(|s| format!("unexpected prompt: {s}")));
        loose.extend(self.model.violations().into_iter().map(|s| format!("model request: {s}")));
        loose.extend(self.google.violations().into_iter().map(|s| format!("google request: {s}")));
        loose.extend(self.google.faults.unused().into_iter().map(|s| format!("unmet fault: {s}")));
        loose.retain(|line| !self.expected_violations.iter().any(|e| line.contains(e.as_str())));
        self.pool.close().await;
        self.database.drop_it().await;
        assert!(loose.is_empty(), "the story has loose ends:\n{}", loose.join("\n"));
    }

    /// What nobody read or heard on the platform where the story is now, and what should never have been asked of it.
    fn finds_unread(&mut self, loose: &mut Vec<String>) {
        for channel in self.chat.channels_with_nod() {
            let transcript = self.chat.spoken(&channel);
            if self.read.get(&channel) != Some(&transcript) {
                loose.push(format!("unread in {channel}:\n{transcript}"));
            }
        }
        for user in PEOPLE {
            let whispers = self.whispers(user);
            if !whispers.is_empty() {
                loose.push(format!("unheard by {user}: {whispers}"));
            }
        }
        for user in PEOPLE {
            let open = self.chat.open_form(user);
            loose.extend(open.map(|form| format!("a form is open before {user}: {}", form.shown)));
        }
        loose.extend(self.chat.violations().into_iter().map(|s| format!("chat request: {s}")));
        loose.extend(self.chat.faults().unused().into_iter().map(|s| format!("unmet fault: {s}")));
    }

    /// Ends without looking back, for what is no story.
    pub async fn abandoned(mut self) {
        self.stop().await;
        self.pool.close().await;
        self.database.drop_it().await;
    }

    /// This loose end is what the story is about.
    pub fn expects(&mut self, loose_end: &str) {
        self.expected_violations.insert(loose_end.to_owned());
    }
}

/// Follows links as a browser does, with its cookie.
pub struct Browser {
    http: reqwest::Client,
    cookie: std::sync::Mutex<String>,
}

impl Default for Browser {
    fn default() -> Self {
        Self::new()
    }
}

impl Browser {
    /// With no cookie yet.
    #[must_use]
    pub fn new() -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        Self { http: started(http), cookie: std::sync::Mutex::default() }
    }

    /// Looks at the page behind a link.
    pub async fn looks(&self, link: &str) -> String {
        started(started(self.http.get(link).send().await).text().await)
    }

    /// Presses the page's button; returns where it leads.
    pub async fn begins(&self, link: &str) -> String {
        self.tries(link).await.unwrap_or_else(|page| panic!("no way to Google: {page}"))
    }

    /// The same; the page where it leads nowhere.
    ///
    /// # Errors
    /// The page that says why.
    pub async fn tries(&self, link: &str) -> Result<String, String> {
        let url = started(url::Url::parse(link));
        let token: String =
            url.query_pairs().find(|(k, _)| k == "t").map(|(_, v)| v.into_owned()).unwrap_or_default();
        self.arrives(self.http.post(link).form(&[("t", token)])).await
    }

    /// Where the answer leads on to, keeping its cookie; else its page.
    async fn arrives(&self, request: reqwest::RequestBuilder) -> Result<String, String> {
        let response = started(request.send().await);
        let header =
            |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let cookie = header("set-cookie").unwrap_or_default();
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let location = header("location");
        *self.cookie.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = cookie;
        match location {
            Some(location) => Ok(location),
            None => Err(started(response.text().await)),
        }
    }

    /// Signs in with Discord as somebody; where that leads.
    ///
    /// # Errors
    /// The page where it leads nowhere.
    pub async fn signs_in(&self, discord: &Discord, to: &str, user: &str) -> Result<String, String> {
        let who = discord.read(|world| started(world.user_id(user)));
        let agreed = started(self.http.get(format!("{to}&as={who}")).send().await);
        let back = agreed.headers().get("location").and_then(|v| v.to_str().ok()).map(str::to_owned);
        let back = back.unwrap_or_else(|| panic!("Discord refused the sign-in: {}", agreed.status()));
        self.arrives(self.http.get(back).header("cookie", self.cookie()).header("referer", to)).await
    }

    fn cookie(&self) -> String {
        self.cookie.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Comes back from Google.
    pub async fn returns(&self, location: &str, from: &str) -> String {
        let sent =
            self.http.get(location).header("cookie", self.cookie()).header("referer", from).send().await;
        started(started(sent).text().await)
    }
}

/// With the commands behind `/nod`.
fn as_typed_on_slack(text: String) -> String {
    let commands =
        ["ask", "connect", "disconnect", "approvals", "memory", "runs", "settings", "admin", "help"];
    let options = ["/connect account:", "/ask question:", "/memory what:", "/admin what:"];
    let bare = |option: &str| option.split_inclusive(' ').next().unwrap_or_default().to_owned();
    let text = options.iter().fold(text, |text, option| text.replace(option, &bare(option)));
    commands.iter().fold(text, |text, name| {
        let typed = |text: String, before: &str| {
            text.replace(&format!("{before}/{name}"), &format!("{before}/nod {name}"))
        };
        [" ", "\n", "`"].into_iter().fold(text, typed)
    })
}

fn started<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}

/// The words of a page, a line each.
#[must_use]
pub fn words_of(page: &str) -> String {
    let main = page.split("<main>").nth(1).and_then(|rest| rest.split("</main>").next()).unwrap_or(page);
    let mut words = String::new();
    for piece in main.split('<') {
        let text = piece.split_once('>').map_or(piece, |(_, text)| text);
        words.push_str(text.trim_matches('\n'));
        words.push('\n');
    }
    let unescaped =
        words.replace("&#39;", "'").replace("&#34;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    unescaped
        .replace("&amp;", "&")
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The first web address in a text that is a link to connect.
#[must_use]
pub fn link_in(text: &str) -> Option<String> {
    let at = text.find("/oauth/")?;
    let begin = text[..at].rfind("http")?;
    let end =
        text[begin..].find(|c: char| c.is_whitespace() || ")>]|\"".contains(c)).unwrap_or(text.len() - begin);
    Some(text[begin..begin + end].to_owned())
}

fn specs_dir() -> Option<PathBuf> {
    std::env::var_os("NOD_SPECS_DIR").map(PathBuf::from)
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
        // However slow the machine: a story that is not about streams has whole answers.
        ("REPLIES__STREAM_AFTER", "1h".to_owned()),
        // Most stories are not about taking back.
        ("APPROVALS__UNDO", "0s".to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| (format!("NOD_{name}"), value))
    .collect()
}

/// A run's id says how many ids were handed out before it, which is no part of any story.
fn without_run_ids(text: &str) -> String {
    let mut parts = text.split("run ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |said, rest| {
        let id = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
        if id == 8 { said + "run ········" + &rest[id..] } else { said + "run " + rest }
    })
}
