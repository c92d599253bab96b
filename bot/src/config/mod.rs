//! Configuration: every name an operator can set, its kind, its default. It is read once at the start from the file and
//! from the environment over it; all problems are reported at once. It never changes while Nod runs.

mod delegated_access;
pub mod policy;
mod preset;
mod problem;
mod reader;
mod secret_key;
mod sections;
mod sources;
mod value;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nod_accounts::connection::OrganisationAccountUsers;
use nod_connectors::google::{Room, ServiceKey};
use nod_connectors::llm::TierSettings;
use nod_requests::policy::Policy;
use nod_tasks::TaskLimits;
use secrecy::SecretString;
use url::Url;

pub use preset::Preset;
pub use problem::{Problem, Problems, env_name};
pub use reader::InactiveKey;
pub use secret_key::{KeyError, key_file};
pub use value::SlackMode;

use reader::ConfigReader;

/// Everything that was configured, with defaults filled in.
#[derive(Debug, Clone)]
pub struct Config {
    /// `server.*`
    pub server: Server,
    /// `data.*`
    pub data: Data,
    /// `database.*`
    pub database: Database,
    /// `slack.*`
    pub slack: Slack,
    /// `discord.*`
    pub discord: Discord,
    /// `google.*`
    pub google: Google,
    /// `llm.*`
    pub llm: Llm,
    /// `replies.*`
    pub replies: Replies,
    /// `approvals.*`
    pub approvals: Approvals,
    /// `tasks.*`
    pub tasks: TaskLimits,
    /// `admin.*`
    pub admin: Admin,
    /// `reading.*`
    pub reading: Reading,
    /// `embeddings.*`
    pub embeddings: Option<Embeddings>,
    /// `knowledge.*`
    pub knowledge: Knowledge,
    /// `qdrant.*`
    pub qdrant: Option<Qdrant>,
    /// `web.*`
    pub web: Web,
    /// `secrets.*`
    pub secrets: Secrets,
    /// `log.*`
    pub log: Log,
    inactive: Vec<InactiveKey>,
}

/// How documents are read.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The program that reads them; `None` means Nod itself.
    pub program: Option<PathBuf>,
}

/// The embedding model that finds documents by their meaning.
#[derive(Debug, Clone)]
pub enum Embeddings {
    /// An endpoint that speaks the OpenAI protocol.
    Endpoint(nod_embeddings::EndpointSettings),
    /// A folder with the files of a model.
    Folder(PathBuf),
}

/// How documents are searched.
#[derive(Debug, Clone, Copy, Default)]
pub struct Knowledge {
    /// Whether a model orders the best passages of each search.
    pub scoring: bool,
}

/// The Qdrant that ranks the pieces of documents.
#[derive(Debug, Clone)]
pub struct Qdrant {
    /// Where it speaks gRPC.
    pub url: Url,
    /// Its API key.
    pub api_key: Option<SecretString>,
    /// The longest time for one answer.
    pub timeout: Duration,
}

/// What Nod reads of the web.
#[derive(Debug, Clone)]
pub struct Web {
    /// Origins on private addresses that it may read too.
    pub allow_private: Vec<nod_web::Origin>,
}

/// Nod's one HTTP server.
#[derive(Debug, Clone)]
pub struct Server {
    /// Where it listens.
    pub bind: SocketAddr,
    /// The URL at which people's browsers reach it; ends in a slash.
    pub public_url: Option<Url>,
}

/// What Nod stores on disk.
#[derive(Debug, Clone)]
pub struct Data {
    /// Holds the embedded database and the secret key.
    pub dir: PathBuf,
}

/// Where the database is.
#[derive(Debug, Clone)]
pub struct Database {
    /// An external server; `None` means the embedded database in `data.dir`.
    pub url: Option<SecretString>,
    /// The maximum number of connections in one `nod` process's pool; its ingest pool has two more.
    pub max_connections: u32,
}

/// The Slack app.
#[derive(Debug, Clone)]
pub struct Slack {
    /// Ends in a slash.
    pub api_url: Url,
    /// `xoxb-…`
    pub bot_token: Option<SecretString>,
    /// `xapp-…`, for Socket Mode.
    pub app_token: Option<SecretString>,
    /// Slack's signing secret, for mode `http`.
    pub signing_secret: Option<SecretString>,
    /// How Slack reaches Nod.
    pub mode: SlackMode,
    /// Messages that were sent longer ago than this, while Nod was away, are not acted on.
    pub answer_within: Duration,
    /// Whether the workspace's guests can use Nod.
    pub allow_guests: bool,
    /// Whether people of other organisations (Slack Connect) can use Nod.
    pub allow_external: bool,
}

/// The Discord application.
#[derive(Debug, Clone)]
pub struct Discord {
    /// Ends in a slash.
    pub api_url: Url,
    /// The bot's token; without one Discord is off.
    pub token: Option<SecretString>,
    /// The application's id. The token contains it, so it is only compared.
    pub application_id: Option<String>,
    /// The OAuth client secret for sign-in. Without it an admin must allow each connected account.
    pub client_secret: Option<SecretString>,
    /// The ids of the servers that it serves; if empty, all that it is a member of.
    pub servers: Vec<String>,
}

/// The Google OAuth client and Google's addresses.
#[derive(Debug, Clone)]
pub struct Google {
    /// As the Google Cloud console shows it.
    pub client_id: Option<String>,
    /// From the same page.
    pub client_secret: Option<SecretString>,
    /// Where a person consents.
    pub auth_url: Url,
    /// Where codes become tokens.
    pub token_url: Url,
    /// Where tokens are revoked.
    pub revoke_url: Url,
    /// Gmail's API; ends in a slash.
    pub gmail_url: Url,
    /// Calendar's API; ends in `/calendar/v3/`.
    pub calendar_url: Url,
    /// The rooms that can be booked with an event.
    pub rooms: Vec<Room>,
    /// `google.delegation.*`: Nod acts as the people of some domains.
    pub delegation: Option<Delegation>,
    /// `google.system.*`: an account of the organisation.
    pub system: Option<OrganisationAccount>,
}

/// A service account to which Google Workspace delegates people's accounts.
#[derive(Debug, Clone)]
pub struct Delegation {
    /// Its key.
    pub key: ServiceKey,
    /// The domains whose people it can act as.
    pub domains: Vec<String>,
}

/// An account of the organisation.
#[derive(Debug, Clone)]
pub struct OrganisationAccount {
    /// A refresh token that was issued to the OAuth client.
    pub refresh_token: SecretString,
    /// The people who can use it.
    pub people: OrganisationAccountUsers,
}

/// The models.
#[derive(Debug, Clone)]
pub struct Llm {
    /// Classifies a request: small and quick.
    pub router: Tier,
    /// Reasons and writes.
    pub reasoner: Tier,
    /// Extracts what is worth keeping of a conversation; settings that it lacks come from the reasoner.
    pub summariser: Tier,
}

/// One model. Everything that the tier itself does not set is taken from `llm.*`.
#[derive(Debug, Clone)]
pub struct Tier {
    /// An OpenAI-compatible endpoint, up to and including `/v1`; ends in a slash. `None` if not configured.
    pub base_url: Option<Url>,
    /// Sent as a bearer token.
    pub api_key: Option<SecretString>,
    /// The model's name there.
    pub model: Option<String>,
    /// 0 to 2; the endpoint's own default if not configured.
    pub temperature: Option<f32>,
    /// How long one answer may take.
    pub timeout: Duration,
    /// The maximum length of one answer.
    pub max_tokens: Option<u32>,
    /// The preset of its provider, if one is configured.
    pub preset: Option<Preset>,
    /// The model that answers if this one is down or out of credit.
    pub fallback: Option<Box<Tier>>,
}

impl Tier {
    /// Returns the client's settings; `None` if the endpoint or the model is not set. An endpoint without a key needs
    /// none.
    #[must_use]
    pub fn settings(&self) -> Option<TierSettings> {
        Some(TierSettings {
            base_url: self.base_url.as_ref()?.as_str().trim_end_matches('/').to_owned(),
            api_key: self.api_key.clone().unwrap_or_else(|| SecretString::from("")),
            model: self.model.clone()?,
            temperature: self.temperature,
            timeout: self.timeout,
            max_tokens: self.max_tokens,
            dialect: self.preset.as_ref().map(|preset| preset.dialect).unwrap_or_default(),
            fallback: self.fallback.as_ref().and_then(|other| other.settings()).map(Box::new),
        })
    }
}

/// Replies.
#[derive(Debug, Clone)]
pub struct Replies {
    /// How long after its first words an unfinished answer is shown.
    pub stream_after: Duration,
}

/// Approvals.
#[derive(Debug, Clone)]
pub struct Approvals {
    /// Who can approve what, how long an approval is valid, and how long an action can be undone.
    pub policy: Policy,
}

/// The first `org_admin`s, by platform id.
#[derive(Debug, Clone)]
pub struct Admin {
    /// Slack user ids.
    pub slack: Vec<String>,
    /// Discord user ids.
    pub discord: Vec<String>,
}

/// The key that encrypts tokens at rest.
#[derive(Debug, Clone)]
pub struct Secrets {
    /// 32 bytes in base64; `None` means the file in `data.dir`.
    pub key: Option<SecretString>,
}

/// Logging.
#[derive(Debug, Clone)]
pub struct Log {
    /// Replaces the default filter.
    pub filter: Option<String>,
}

impl Config {
    /// Reads the file (`file`, else `NOD_CONFIG`, else `config/nod.toml` if it exists) and the environment over it.
    ///
    /// # Errors
    /// Every problem at once.
    pub fn load(file: Option<&Path>, env: impl Iterator<Item = (String, String)>) -> Result<Self, Problems> {
        let env: BTreeMap<String, String> = env.collect();
        let mut problems = Vec::new();
        let given = sources::load_sources(file, &env, &mut problems);
        let mut reader = ConfigReader::new(given, problems);
        let mut config = sections::read(&mut reader, &env);
        let (problems, inactive, _) = reader.finish();
        config.inactive = inactive;
        if problems.is_empty() { Ok(config) } else { Err(Problems(problems)) }
    }

    /// Returns the keys that are set but whose ability is not built yet.
    #[must_use]
    pub fn inactive(&self) -> &[InactiveKey] {
        &self.inactive
    }

    /// Returns every key, as in the file.
    #[must_use]
    pub fn names() -> BTreeSet<String> {
        let mut reader = ConfigReader::new(BTreeMap::new(), Vec::new());
        sections::read(&mut reader, &BTreeMap::new());
        reader.finish().2
    }
}
