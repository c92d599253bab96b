//! Checks of external services: Slack, the models, Google, and the access from outside.

use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, Utc};
use nod_connectors::llm::{OpenAi, TierSettings};
use nod_contract::clock::{Clock, SystemClock};
use nod_contract::embedding::TextKind;
use nod_contract::model::{ModelError, Tier as ModelTier};
use url::{Host, Url};

use super::{Finding, Verdict};
use crate::app::embeddings;
use crate::config::{Config, Slack, SlackMode, env_name};
use crate::server;
use crate::slack::{SlackSettings, Transport, probe, probe_socket};

/// A clock that is off by more, in seconds, breaks sign-ins and expiries.
pub(super) const CLOCK_TOLERANCE: i64 = 30;

pub(super) async fn check_slack(config: Arc<Config>) -> Vec<Finding> {
    let Slack { api_url, bot_token, app_token, .. } = &config.slack;
    if config.discord.token.is_some() && bot_token.is_none() && app_token.is_none() {
        return vec![Finding::skipped("Slack", "not set up: Discord only", None)];
    }
    let missing = |key: &str, what: &str, cure: &str| {
        Finding::failed(what, "not set", format!("set {key} ({}): {cure}", env_name(key)))
    };
    let (bot_token, way) = match (bot_token, transport(&config.slack)) {
        (Some(bot), Ok(way)) => (bot.clone(), way),
        (bot, way) => {
            let no_bot = bot.is_none().then(|| missing("slack.bot_token", BOT, BOT_CURE));
            let no_way = way.err().map(|(key, what, cure)| missing(key, what, cure));
            return no_bot.into_iter().chain(no_way).collect();
        }
    };
    let reached = match &way {
        Transport::Socket { app_token } => match probe_socket(api_url, app_token).await {
            Ok(()) => Finding::ok(APP, "can open Socket Mode connections"),
            Err(error) => Finding::failed(APP, error.to_string(), APP_CURE),
        },
        Transport::Http { .. } => requests(config.server.public_url.as_ref()),
    };
    let settings = SlackSettings { api_url: api_url.clone(), bot_token, transport: way };
    let mut all = match probe(&settings).await {
        Ok(report) => vec![
            Finding::ok(BOT, format!("bot {} in {}", report.identity.bot_user, report.identity.team_name)),
            scopes(&report.missing),
        ],
        Err(error) => vec![Finding::failed(BOT, error.to_string(), BOT_CURE)],
    };
    all.push(reached);
    all.extend(fetch_slack_time(api_url).await.map(|theirs| clock(theirs, SystemClock.now())));
    all
}

/// Returns the connection that the mode needs, or what is missing: its key, its name, and where to find it.
fn transport(slack: &Slack) -> Result<Transport, (&'static str, &'static str, &'static str)> {
    match slack.mode {
        SlackMode::Socket => {
            let app_token = slack.app_token.clone().ok_or(("slack.app_token", APP, APP_CURE))?;
            Ok(Transport::Socket { app_token })
        }
        SlackMode::Http => {
            let secret = slack.signing_secret.clone().ok_or((
                "slack.signing_secret",
                SIGNING_SECRET,
                SIGNING_SECRET_FIX,
            ))?;
            Ok(Transport::Http { signing_secret: secret })
        }
    }
}

/// Slack's API does not return its request URLs, so the operator must compare them.
fn requests(public: Option<&Url>) -> Finding {
    match public {
        Some(public) => {
            let said = format!("Slack has to post to {public}slack/events, …/interactions and …/commands");
            let cure =
                "“nod manifest slack --mode http” prints a manifest with these; Socket Mode must be off";
            Finding::new(REQUESTS, Verdict::Ok, said, Some(cure.to_owned()))
        }
        None => Finding::failed(REQUESTS, "Slack can't reach Nod", "set server.public_url to Nod's address"),
    }
}

const REQUESTS: &str = "Slack requests";
const SIGNING_SECRET: &str = "Slack signing secret";
const SIGNING_SECRET_FIX: &str = "copy the Signing Secret from your app's Basic Information";
const BOT: &str = "Slack bot token";
const APP: &str = "Slack app token";
const BOT_CURE: &str = "copy the Bot User OAuth Token (xoxb-…) from your app's OAuth & Permissions";
const APP_CURE: &str = "in your app's Basic Information, create an App-Level Token (xapp-…) with the scope \
    connections:write, and turn on Socket Mode";

fn scopes(missing: &[&str]) -> Finding {
    if missing.is_empty() {
        return Finding::ok("Slack scopes", "all there");
    }
    let cure = "paste the output of “nod manifest slack” into the app's manifest, then reinstall the app";
    Finding::failed("Slack scopes", format!("missing: {}", missing.join(", ")), cure)
}

/// Reads Slack's time: every response of Slack has a `Date` header.
async fn fetch_slack_time(api_url: &Url) -> Option<DateTime<Utc>> {
    let answer = reqwest::get(api_url.join("api.test").ok()?).await.ok()?;
    let date = answer.headers().get(reqwest::header::DATE)?.to_str().ok()?;
    Some(DateTime::parse_from_rfc2822(date).ok()?.to_utc())
}

pub(super) fn clock(theirs: DateTime<Utc>, ours: DateTime<Utc>) -> Finding {
    let off = (ours - theirs).num_seconds();
    if off.abs() <= CLOCK_TOLERANCE {
        return Finding::ok("clock", "matches Slack's");
    }
    let way = if off > 0 { "ahead of" } else { "behind" };
    let said = format!("{} s {way} Slack's", off.abs());
    Finding::failed("clock", said, "let the machine set its clock automatically: timedatectl set-ntp true")
}

pub(super) async fn check_model(config: Arc<Config>, which: ModelTier) -> Vec<Finding> {
    let what = format!("{} model", which.as_str());
    let tier = match which {
        ModelTier::Router => &config.llm.router,
        ModelTier::Reasoner => &config.llm.reasoner,
        ModelTier::Summariser => &config.llm.summariser,
    };
    let preset = tier.preset.as_ref().map(|preset| format!(" (preset {})", preset.name));
    let Some(tier) = tier.settings() else {
        let cure =
            "set llm.preset or llm.base_url, and llm.model (and llm.api_key if the endpoint needs one)";
        // One setting gives all of them a model, so it is missed once.
        return match (config.llm.router.settings(), config.llm.reasoner.settings(), which) {
            (None, None, ModelTier::Router) => vec![Finding::failed("model", "not set", cure)],
            (None, None, _) => Vec::new(),
            _ => vec![Finding::failed(&what, "not set", cure)],
        };
    };
    let stand_in = tier.fallback.as_ref().map(|other| format!("; backup: {}", other.model));
    let asked = format!(
        "{} at {}{}{}",
        tier.model,
        tier.base_url,
        preset.unwrap_or_default(),
        stand_in.unwrap_or_default()
    );
    let cure = format!("check llm.{0}.base_url, llm.{0}.model and llm.{0}.api_key", which.as_str());
    match OpenAi::new(tier.clone(), tier.clone(), tier.clone(), Arc::new(SystemClock)) {
        Err(error) => vec![Finding::failed(&what, error.to_string(), cure)],
        Ok(models) => match models.probe(which).await {
            Ok(()) => {
                let called = check_tool_calls(&what, &models, &tier, which).await;
                std::iter::once(Finding::ok(&what, asked)).chain(called).collect()
            }
            Err(error) => vec![Finding::failed(&what, format!("{asked}: {error}"), cure)],
        },
    }
}

/// Checks whether the reasoning model can call tools: without them it is useless here.
async fn check_tool_calls(
    what: &str,
    models: &OpenAi,
    tier: &TierSettings,
    which: ModelTier,
) -> Option<Finding> {
    if which != ModelTier::Reasoner {
        return None;
    }
    let what = format!("{what}'s tools");
    let cure = format!("choose a model that can use tools in llm.{}.model", which.as_str());
    Some(match models.probe_tool_calls(which).await {
        Ok(true) => Finding::ok(&what, format!("{} can use tools", tier.model)),
        Ok(false) => {
            let said = format!("{} answered in words where it should have used a tool", tier.model);
            Finding::new(&what, Verdict::Skipped, said, Some(cure))
        }
        Err(ModelError::ToolsUnsupported { model }) => {
            Finding::failed(&what, format!("{model} can't use tools"), cure)
        }
        Err(error) => Finding::failed(&what, error.to_string(), cure),
    })
}

pub(super) async fn check_google(config: Arc<Config>) -> Vec<Finding> {
    const SUBJECT: &str = "Google";
    let finding = match (&config.google.client_id, &config.google.client_secret, &config.server.public_url) {
        (None, None, _) => {
            let cure = "set google.client_id and google.client_secret so people can connect their email and \
                calendar";
            Finding::skipped(SUBJECT, "not set up", Some(cure.to_owned()))
        }
        (Some(_), None, _) => Finding::failed(SUBJECT, "no client secret", "set google.client_secret"),
        (None, Some(_), _) => Finding::failed(SUBJECT, "no client id", "set google.client_id"),
        (_, _, None) => Finding::failed(
            SUBJECT,
            "people can't get back from Google to Nod",
            "set server.public_url to Nod's address",
        ),
        (Some(_), Some(_), Some(public)) => {
            let redirect = format!("{public}oauth/google/callback");
            let said = format!("the client's redirect URIs must include {redirect}");
            let cure =
                "an OAuth client in “Testing” loses access after seven days: publish it, or make it internal";
            Finding::new(SUBJECT, Verdict::Ok, said, Some(cure.to_owned()))
        }
    };
    vec![finding]
}

pub(super) async fn check_public_url(config: Arc<Config>) -> Vec<Finding> {
    const SUBJECT: &str = "public address";
    let Some(public) = &config.server.public_url else {
        let cure = "only needed for connecting accounts: set server.public_url";
        return vec![Finding::skipped(SUBJECT, "not set", Some(cure.to_owned()))];
    };
    let loopback = match public.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    if public.scheme() != "https" && !loopback {
        let said = format!("{public} isn't https");
        return vec![Finding::failed(
            SUBJECT,
            said,
            "put a proxy with a certificate in front of Nod, and use its address",
        )];
    }
    let finding = match is_alive(public).await {
        Ok(true) => Finding::ok(SUBJECT, format!("{public} reaches a running Nod")),
        Ok(false) => Finding::failed(
            SUBJECT,
            format!("{public} reaches something else"),
            "check where the proxy points",
        ),
        Err(error) if loopback => Finding::skipped(
            SUBJECT,
            format!("{public} doesn't answer ({error})"),
            Some("start “nod run”".to_owned()),
        ),
        Err(error) => {
            let cure = "start “nod run”, then check DNS, the proxy and its target";
            Finding::failed(SUBJECT, format!("{public} doesn't answer ({error})"), cure)
        }
    };
    vec![finding]
}

async fn is_alive(public: &Url) -> anyhow::Result<bool> {
    let address = public.join("healthz")?;
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    let answer = client.get(address).send().await.map_err(reqwest::Error::without_url)?;
    Ok(answer.text().await? == server::HEALTH_TEXT)
}

/// Has the embedding model compute one sentence.
pub(super) async fn check_embeddings(config: Arc<Config>) -> Vec<Finding> {
    const NAME: &str = "embedding model";
    const FIX: &str = "check [embeddings] in the configuration; scripts/fetch-model fetches a model";
    let opened = tokio::task::spawn_blocking(move || embeddings::open(&config)).await;
    let embedder = match opened.map_err(anyhow::Error::from).and_then(|opened| opened) {
        Ok(Some(embedder)) => embedder,
        Ok(None) => {
            let cure = "scripts/fetch-model fetches one; config/nod.toml explains [embeddings]".to_owned();
            return vec![Finding::skipped(
                NAME,
                "none: documents are found by their words alone",
                Some(cure),
            )];
        }
        Err(error) => {
            return vec![Finding::failed(NAME, error.to_string(), FIX)];
        }
    };
    let begun = Instant::now();
    let sentence = vec!["Everybody has 25 days of annual leave.".to_owned()];
    vec![match embedder.embed(sentence, TextKind::Query).await {
        Ok(vectors) => {
            let dimension = vectors.first().map_or(0, Vec::len);
            let said = format!(
                "{}, {dimension} numbers a vector, one sentence in {} ms",
                embedder.model().id,
                begun.elapsed().as_millis()
            );
            Finding::ok(NAME, said)
        }
        Err(error) => Finding::failed(NAME, error.to_string(), FIX),
    }]
}
