//! One build under measurement: its program, its database, and the fakes that it talks to.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use nod_contract::model::MORE_ARGUMENT;
use nod_sandbox::google::{Google, GoogleConfig};
use nod_sandbox::model::{Model, ModelConfig};
use nod_sandbox::slack::Slack;
use sqlx::{Connection, PgConnection};
use tokio::process::{Child, Command};

use super::company;
use super::postgres::Server;

pub(super) const BOT: &str = "nod";
/// A start is given up after this long.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct Subject {
    pub binary: PathBuf,
    pub database: String,
    pub url: String,
    pub slack: Slack,
    pub google: Google,
    pub model: Model,
    /// Answers what is asked after a reply, for which nobody waits.
    pub summariser: Model,
    pub log: PathBuf,
    /// How many turns were begun.
    pub turns: AtomicUsize,
    env: Vec<(String, String)>,
    ready: String,
    asked: Mutex<Asked>,
}

/// What the model was asked so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    pub requests: usize,
    pub bytes: usize,
    /// Whether a call can say that its receipt is answer enough.
    pub is_receipt_answer: bool,
}

/// A running build.
pub(super) struct Running {
    child: Child,
    pub id: u32,
    pub ready_after: Duration,
}

impl Subject {
    /// Starts the fakes and creates the database.
    pub(super) async fn prepare(
        binary: PathBuf,
        number: usize,
        server: &Server,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let database = format!("subject{number}");
        let url = server.create_database(&database).await?;
        let data = folder.join(format!("data{number}"));
        std::fs::create_dir_all(&data)?;
        // Released at once: the build binds it itself.
        let bind = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let public = format!("http://{bind}/");
        let slack = Slack::start(company::slack_config()).await?;
        let google = Google::start(company::google_config(&format!("{public}oauth/google/callback"))).await?;
        company::deliver_mail(&google)?;
        let rules = || ModelConfig { rules: true, ..ModelConfig::default() };
        let (model, summariser) = (Model::start(rules()).await?, Model::start(rules()).await?);
        let (bot, app) = slack.read(|w| (w.config.app.bot_token.clone(), w.config.app.app_token.clone()));
        let client = GoogleConfig::default();
        let env = [
            ("SERVER__BIND", bind.to_string()),
            ("SERVER__PUBLIC_URL", public.clone()),
            ("DATA__DIR", data.display().to_string()),
            ("DATABASE__URL", url.clone()),
            ("SLACK__API_URL", slack.api_url()),
            ("SLACK__BOT_TOKEN", bot),
            ("SLACK__APP_TOKEN", app),
            ("GOOGLE__CLIENT_ID", client.client_id),
            ("GOOGLE__CLIENT_SECRET", client.client_secret),
            ("GOOGLE__AUTH_URL", google.auth_url()),
            ("GOOGLE__TOKEN_URL", google.token_url()),
            ("GOOGLE__REVOKE_URL", google.revoke_url()),
            ("GOOGLE__GMAIL_URL", google.url()),
            ("GOOGLE__CALENDAR_URL", format!("{}/calendar/v3/", google.url())),
            ("LLM__BASE_URL", model.base_url()),
            ("LLM__API_KEY", "sk-sandbox".to_owned()),
            ("LLM__MODEL", "rules".to_owned()),
            ("LLM__SUMMARISER__BASE_URL", summariser.base_url()),
            ("LLM__SUMMARISER__API_KEY", "sk-sandbox".to_owned()),
            // A turn's cost is not that of the times at which its answer is shown in parts.
            ("REPLIES__STREAM_AFTER", "1h".to_owned()),
            ("APPROVALS__UNDO", "0s".to_owned()),
        ];
        let env = env.map(|(name, value)| (format!("NOD_{name}"), value)).into();
        let log = folder.join(format!("nod{number}.log"));
        let ready = format!("{public}readyz");
        let (asked, turns) = (Mutex::default(), AtomicUsize::default());
        Ok(Self { binary, database, url, slack, google, model, summariser, log, turns, env, ready, asked })
    }

    /// Returns what the model was asked so far.
    pub(super) fn model_usage(&self) -> Asked {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        // Kept, they would fill the memory: a prompt is some ten thousand characters.
        for request in self.model.take_requests() {
            asked.requests += 1;
            asked.bytes += request["messages"].to_string().len() + request["tools"].to_string().len();
            let tools = request["tools"].as_array().into_iter().flatten();
            let mut parameters = tools.map(|tool| &tool["function"]["parameters"]["properties"]);
            asked.is_receipt_answer |= parameters.any(|parameters| !parameters[MORE_ARGUMENT].is_null());
        }
        *asked
    }

    /// Does what autovacuum does within a minute: tables that were never analyzed get plans that read whole indexes.
    pub(super) async fn vacuum(&self) -> anyhow::Result<()> {
        let mut conn = PgConnection::connect(&self.url).await?;
        sqlx::raw_sql("vacuum analyze").execute(&mut conn).await?;
        conn.close().await.context("a connection that vacuums")
    }

    /// Starts `BINARY run`, and waits until it is ready.
    pub(super) async fn start(&self) -> anyhow::Result<Running> {
        let log = std::fs::File::options().create(true).append(true).open(&self.log)?;
        let keep = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let begun = Instant::now();
        let child = Command::new(&self.binary)
            .arg("run")
            .env_clear()
            .envs(keep)
            .envs(self.env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::from(log.try_clone()?))
            .stderr(Stdio::from(log))
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{}", self.binary.display()))?;
        let id = child.id().context("it ended at once")?;
        let mut running = Running { child, id, ready_after: Duration::ZERO };
        let client = reqwest::Client::new();
        while !client.get(&self.ready).send().await.is_ok_and(|answer| answer.status().is_success()) {
            if let Some(ended) = running.child.try_wait()? {
                anyhow::bail!("it did not start: {ended}");
            }
            anyhow::ensure!(begun.elapsed() < START_TIMEOUT, "it is not ready after {START_TIMEOUT:?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        running.ready_after = begun.elapsed();
        self.slack.wait_until_connected(START_TIMEOUT).await;
        Ok(running)
    }
}

impl Running {
    /// Stops it as an operator does.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        kill(Pid::from_raw(i32::try_from(self.id)?), Signal::SIGTERM)?;
        tokio::time::timeout(STOP_TIMEOUT, self.child.wait()).await.context("it does not stop")??;
        Ok(())
    }
}
