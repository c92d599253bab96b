//! The keys, section by section. Each name and kind is declared here once, and so is each default that the core does
//! not have itself ([`Settings`]).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::TimeDelta;
use figment::value::Value;
use nod_embeddings::EndpointSettings;
use nod_inbox::Settings;
use nod_requests::policy::{Policy, Terms};
use nod_tasks::TaskLimits;
use secrecy::SecretString;
use url::Url;

use super::preset::Preset;
use super::problem::Problem;
use super::reader::ConfigReader;
use super::value::{
    BaseUrl, ConfigValue, DatabaseUrl, LogFilter, Rooms, SlackMode, Snowflakes, Temperature, UpToFive,
    WholeMinutes, WholeSeconds, ZeroableDuration,
};
use super::{
    Admin, Approvals, Config, Data, Database, Discord, Embeddings, Google, Knowledge, Llm, Log, Qdrant,
    Reading, Replies, Secrets, Server, Slack, Tier, Web, delegated_access, policy,
};

type Env = BTreeMap<String, String>;

pub(super) fn read(reader: &mut ConfigReader, env: &Env) -> Config {
    let config = Config {
        server: server(reader),
        data: Data { dir: data_dir(reader, env) },
        database: database(reader),
        slack: slack(reader),
        discord: Discord {
            api_url: base(reader, "discord.api_url", "https://discord.com/api/v10/"),
            token: reader.maybe("discord.token"),
            application_id: reader.maybe("discord.application_id"),
            client_secret: reader.maybe("discord.client_secret"),
            servers: reader.maybe("discord.servers").map(|Snowflakes(all)| all).unwrap_or_default(),
        },
        google: google(reader),
        llm: llm(reader),
        reading: Reading { program: reader.maybe("reading.program") },
        replies: replies(reader),
        approvals: approvals(reader),
        tasks: tasks(reader),
        admin: Admin {
            slack: reader.or_default("admin.slack", Vec::new()),
            discord: reader.or_default("admin.discord", Vec::new()),
        },
        embeddings: embeddings(reader),
        knowledge: Knowledge { scoring: reader.or_default("knowledge.scoring", false) },
        qdrant: qdrant(reader),
        web: Web {
            allow_private: reader.maybe("web.allow_private").map(|Origins(all)| all).unwrap_or_default(),
        },
        secrets: Secrets { key: reader.maybe("secrets.key") },
        log: Log { filter: reader.maybe("log.filter").map(|LogFilter(text)| text) },
        inactive: Vec::new(),
    };
    read_unbuilt(reader);
    config
}

fn server(reader: &mut ConfigReader) -> Server {
    Server {
        bind: reader.or_default("server.bind", SocketAddr::from(([127, 0, 0, 1], 8080))),
        public_url: reader.maybe("server.public_url").map(|BaseUrl(url)| url),
    }
}

/// Returns the platform's data folder, else one in the program's working directory.
fn data_dir(reader: &mut ConfigReader, env: &Env) -> PathBuf {
    let home = env.get("HOME").filter(|h| !h.is_empty()).map(PathBuf::from);
    if let Some(given) = reader.maybe::<PathBuf>("data.dir") {
        return match (given.strip_prefix("~"), home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => given,
        };
    }
    let xdg = env.get("XDG_DATA_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let usual = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    xdg.or_else(|| home.map(|h| h.join(usual)))
        .map_or_else(|| PathBuf::from(".nod"), |d| d.join(Path::new("nod")))
}

fn database(reader: &mut ConfigReader) -> Database {
    Database {
        url: reader.maybe("database.url").map(|DatabaseUrl(url)| url),
        max_connections: reader.or_default("database.max_connections", 10),
    }
}

fn slack(reader: &mut ConfigReader) -> Slack {
    let usual = Settings::default();
    Slack {
        api_url: base(reader, "slack.api_url", "https://slack.com/api/"),
        bot_token: reader.maybe("slack.bot_token"),
        app_token: reader.maybe("slack.app_token"),
        signing_secret: reader.maybe("slack.signing_secret"),
        mode: reader.or_default("slack.mode", SlackMode::Socket),
        answer_within: reader
            .or_default("slack.answer_within", usual.max_message_age.to_std().unwrap_or_default()),
        allow_guests: reader.or_default("slack.allow_guests", usual.allow_guests),
        allow_external: reader.or_default("slack.allow_external", usual.allow_external),
    }
}

fn google(reader: &mut ConfigReader) -> Google {
    let client_id = reader.maybe("google.client_id");
    let client_secret = reader.maybe("google.client_secret");
    let token_url: Option<Url> = reader.maybe("google.token_url");
    let has_client = client_id.is_some() && client_secret.is_some();
    Google {
        delegation: delegated_access::delegation(reader, token_url.as_ref(), has_client),
        system: delegated_access::system(reader, has_client),
        client_id,
        client_secret,
        auth_url: exact_url(reader, "google.auth_url", "https://accounts.google.com/o/oauth2/v2/auth"),
        token_url: token_url.unwrap_or_else(|| constant("https://oauth2.googleapis.com/token")),
        revoke_url: exact_url(reader, "google.revoke_url", "https://oauth2.googleapis.com/revoke"),
        gmail_url: base(reader, "google.gmail_url", "https://gmail.googleapis.com/"),
        calendar_url: base(reader, "google.calendar_url", "https://www.googleapis.com/calendar/v3/"),
        rooms: reader.maybe("google.rooms").map(|Rooms(all)| all).unwrap_or_default(),
    }
}

fn llm(reader: &mut ConfigReader) -> Llm {
    const UNUSED_TIER_REASON: &str = "this tier doesn't exist yet, so the reasoner does its work";
    reader.inactive::<Url>("llm.scorer.base_url", UNUSED_TIER_REASON);
    reader.inactive::<SecretString>("llm.scorer.api_key", UNUSED_TIER_REASON);
    reader.inactive::<String>("llm.scorer.model", UNUSED_TIER_REASON);
    reader.inactive::<Temperature>("llm.scorer.temperature", UNUSED_TIER_REASON);
    reader.inactive::<Duration>("llm.scorer.timeout", UNUSED_TIER_REASON);
    reader.inactive::<u32>("llm.scorer.max_tokens", UNUSED_TIER_REASON);
    let common = TierValues::read(reader, "llm");
    // A classification needs no creativity, whatever the other temperatures are.
    let mut router =
        TierValues::read(reader, "llm.router").with_defaults(&common, Duration::from_secs(10), Some(0.0));
    router.fallback = fallback(reader, "llm.router", &router);
    let mut reasoner = TierValues::read(reader, "llm.reasoner").with_defaults(
        &common,
        Duration::from_secs(60),
        common.temperature,
    );
    reasoner.fallback = fallback(reader, "llm.reasoner", &reasoner);
    let base = TierValues::from_tier(&reasoner);
    let mut summariser = TierValues::read(reader, "llm.summariser").with_defaults(
        &base,
        Duration::from_secs(60),
        base.temperature,
    );
    summariser.fallback =
        fallback(reader, "llm.summariser", &summariser).or_else(|| reasoner.fallback.clone());
    Llm { router, reasoner, summariser }
}

/// Reads the fallback model of a tier: another model at the same endpoint, or at another. A key is never sent to an
/// endpoint that it was not given for.
fn fallback(reader: &mut ConfigReader, section: &str, tier: &Tier) -> Option<Box<Tier>> {
    let given = TierValues::read(reader, &format!("{section}.fallback"));
    if given.base_url.is_none() && given.model.is_none() {
        return None;
    }
    let mut like = TierValues::from_tier(tier);
    if given.base_url.is_some() && given.base_url != like.base_url {
        like.api_key = None;
        like.model = None;
    }
    Some(Box::new(given.with_defaults(&like, tier.timeout, tier.temperature)))
}

/// The settings of one tier, or those common to all.
struct TierValues {
    base_url: Option<Url>,
    api_key: Option<SecretString>,
    model: Option<String>,
    temperature: Option<f32>,
    timeout: Option<Duration>,
    max_tokens: Option<u32>,
    preset: Option<Preset>,
}

impl TierValues {
    fn read(reader: &mut ConfigReader, section: &str) -> Self {
        let preset: Option<Preset> = reader.maybe(&format!("{section}.preset"));
        let base_url = reader.maybe(&format!("{section}.base_url")).map(|BaseUrl(url)| url);
        Self {
            base_url: base_url.or_else(|| preset.as_ref().map(|preset| preset.base_url.clone())),
            api_key: reader.maybe(&format!("{section}.api_key")),
            model: reader.maybe(&format!("{section}.model")),
            temperature: reader.maybe(&format!("{section}.temperature")).map(|Temperature(t)| t),
            timeout: reader.maybe(&format!("{section}.timeout")),
            max_tokens: reader.maybe(&format!("{section}.max_tokens")),
            preset,
        }
    }

    /// Takes another tier's settings as the base of one more.
    fn from_tier(tier: &Tier) -> Self {
        Self {
            base_url: tier.base_url.clone(),
            api_key: tier.api_key.clone(),
            model: tier.model.clone(),
            temperature: tier.temperature,
            timeout: Some(tier.timeout),
            max_tokens: tier.max_tokens,
            preset: tier.preset.clone(),
        }
    }

    fn with_defaults(self, common: &Self, usual_timeout: Duration, usual_temperature: Option<f32>) -> Tier {
        // A key is never sent to an endpoint that it was not given for.
        let elsewhere = (self.preset.is_some() && self.preset != common.preset)
            || (self.base_url.is_some() && common.base_url.is_some() && self.base_url != common.base_url);
        // Another endpoint can have another dialect, so the common preset does not apply to it.
        let preset = match (&self.preset, &self.base_url) {
            (None, None) => common.preset.clone(),
            _ => self.preset,
        };
        Tier {
            base_url: self.base_url.or_else(|| common.base_url.clone()),
            api_key: self.api_key.or_else(|| common.api_key.clone().filter(|_| !elsewhere)),
            model: self.model.or_else(|| common.model.clone()),
            temperature: self.temperature.or(usual_temperature),
            timeout: self.timeout.or(common.timeout).unwrap_or(usual_timeout),
            max_tokens: self.max_tokens.or(common.max_tokens),
            preset,
            fallback: None,
        }
    }
}

fn replies(reader: &mut ConfigReader) -> Replies {
    let ZeroableDuration(stream_after) =
        reader.or_default("replies.stream_after", ZeroableDuration(Settings::default().stream_delay));
    Replies { stream_after }
}

fn approvals(reader: &mut ConfigReader) -> Approvals {
    let mut usual = Policy::default().default_terms;
    let waits = |given: Option<Duration>, usual: TimeDelta| {
        given.and_then(|given| TimeDelta::from_std(given).ok()).unwrap_or(usual)
    };
    usual = Terms {
        expire_after: waits(reader.maybe("approvals.expire_after"), usual.expire_after),
        remind_before: waits(
            reader.maybe("approvals.remind_before").map(|ZeroableDuration(p)| p),
            usual.remind_before,
        ),
        undo_window: waits(reader.maybe("approvals.undo").map(|WholeSeconds(s)| s), usual.undo_window),
        ..usual
    };
    let file = reader.maybe::<PathBuf>("approvals.policy");
    let mut problems = Vec::new();
    let rules = policy::rules(file.as_deref(), &mut problems);
    reader.add_problems(problems);
    Approvals { policy: Policy { default_terms: usual, rules } }
}

fn tasks(reader: &mut ConfigReader) -> TaskLimits {
    let usual = TaskLimits::default();
    TaskLimits {
        open: reader.maybe("tasks.open").map_or(usual.open, |UpToFive(open)| open),
        questions: reader.or_default("tasks.questions", usual.questions),
        answer_within: reader
            .maybe("tasks.answer_within")
            .map_or(usual.answer_within, |WholeMinutes(time)| time),
    }
}

struct Origins(Vec<nod_web::Origin>);

impl ConfigValue for Origins {
    const EXPECTED: &'static str = "a list of origins, like [\"http://wiki.internal:8080\"]";
    fn read(given: &Value) -> Option<Self> {
        Vec::<String>::read(given)?.iter().map(|origin| origin.parse().ok()).collect::<Option<_>>().map(Self)
    }
}

/// Reads where the embedding model is: at an endpoint or in a folder.
fn embeddings(reader: &mut ConfigReader) -> Option<Embeddings> {
    const BASE_URL: &str = "embeddings.base_url";
    const MODEL: &str = "embeddings.model";
    let before = reader.problem_count();
    let base_url = reader.maybe(BASE_URL).map(|BaseUrl(url)| url);
    let api_key = reader.maybe("embeddings.api_key");
    let model: Option<String> = reader.maybe(MODEL);
    let max_tokens: u32 = reader.or_default("embeddings.max_tokens", 500);
    let folder: Option<PathBuf> = reader.maybe("embeddings.model_dir");
    if reader.problem_count() > before {
        return None;
    }
    let problem =
        |key: &str, message: &str| vec![Problem { key: key.to_owned(), message: message.to_owned() }];
    match (base_url, model, folder) {
        (None, None, folder) => folder.map(Embeddings::Folder),
        (Some(base_url), Some(model), _) => {
            let max_tokens = usize::try_from(max_tokens).unwrap_or(usize::MAX);
            Some(Embeddings::Endpoint(EndpointSettings { base_url, api_key, model, max_tokens }))
        }
        (Some(_), None, _) => {
            reader.add_problems(problem(MODEL, "say which model of the endpoint computes the vectors"));
            None
        }
        (None, Some(_), _) => {
            reader.add_problems(problem(BASE_URL, "a model is given, and no endpoint that has it"));
            None
        }
    }
}

fn qdrant(reader: &mut ConfigReader) -> Option<Qdrant> {
    const URL: &str = "qdrant.url";
    let before = reader.problem_count();
    let url = reader.maybe(URL).map(|BaseUrl(url)| url);
    let api_key: Option<SecretString> = reader.maybe("qdrant.api_key");
    let timeout = reader.or_default("qdrant.timeout", Duration::from_secs(5));
    if url.is_none() && api_key.is_some() && reader.problem_count() == before {
        let message = "a key is given, and no address of a Qdrant".to_owned();
        reader.add_problems(vec![Problem { key: URL.to_owned(), message }]);
    }
    url.map(|url| Qdrant { url, api_key, timeout })
}

fn read_unbuilt(reader: &mut ConfigReader) {
    reader.inactive::<BaseUrl>("github.api_url", "GitHub isn't available yet");
    const WEB: &str = "searching the web is not built yet";
    for key in ["web.tavily_url", "web.jina_search_url", "web.jina_reader_url", "web.perplexity_url"] {
        reader.inactive::<BaseUrl>(key, WEB);
    }
    for key in ["web.tavily_api_key", "web.jina_api_key", "web.perplexity_api_key"] {
        reader.inactive::<SecretString>(key, WEB);
    }
    const TASKS: &str = "a task cannot be limited yet";
    reader.inactive::<u32>("tasks.steps_per_run", TASKS);
    reader.inactive::<Duration>("tasks.time_per_run", TASKS);
    reader.inactive::<Url>("otel.endpoint", "sending traces isn't available yet");
}

fn base(reader: &mut ConfigReader, key: &str, usual: &str) -> Url {
    reader.maybe(key).map_or_else(|| constant(usual), |BaseUrl(url)| url)
}

fn exact_url(reader: &mut ConfigReader, key: &str, usual: &str) -> Url {
    reader.maybe(key).unwrap_or_else(|| constant(usual))
}

/// Parses a default from this file.
fn constant(address: &str) -> Url {
    <Url as ConfigValue>::read(&address.into()).unwrap_or_else(|| unreachable!("{address} is an address"))
}
