//! `nod doctor`: checks everything that can go wrong before a user notices, with one line and a remedy each. Changes
//! nothing except what starting the embedded database changes. Prints no secret.

mod delegated_access;
mod discord;
mod local;
mod services;
mod vector_store;

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use nod_contract::model::Tier as ModelTier;
use serde::Serialize;
use tokio::time::timeout;

use crate::cli::print;
use crate::config::{Config, Problems};

/// How long one check may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked.
    #[serde(rename = "what")]
    pub subject: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The observation.
    #[serde(rename = "said")]
    pub detail: String,
    /// A remedy, if there is one.
    #[serde(rename = "cure")]
    pub fix: Option<String>,
}

/// The verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Works.
    #[serde(rename = "good")]
    Ok,
    /// Will not work.
    #[serde(rename = "wrong")]
    Failed,
    /// Not configured, or without effect; nothing is broken.
    Skipped,
}

impl Finding {
    fn new(what: &str, verdict: Verdict, said: impl Into<String>, cure: Option<String>) -> Self {
        Self { subject: what.to_owned(), verdict, detail: said.into(), fix: cure }
    }

    fn ok(what: &str, said: impl Into<String>) -> Self {
        Self::new(what, Verdict::Ok, said, None)
    }

    fn failed(what: &str, said: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::new(what, Verdict::Failed, said, Some(cure.into()))
    }

    fn skipped(what: &str, said: impl Into<String>, cure: Option<String>) -> Self {
        Self::new(what, Verdict::Skipped, said, cure)
    }
}

/// Runs every check at once and prints the results. Returns 0 if nothing is wrong, else 1.
pub async fn run_checks(config: Result<Config, Problems>, json: bool) -> ExitCode {
    let findings = match config {
        Ok(config) => check_all(Arc::new(config)).await,
        Err(Problems(problems)) => problems
            .iter()
            .map(|p| Finding::failed("configuration", p.to_string(), "config/nod.toml explains every key"))
            .collect(),
    };
    print(&if json { as_json(&findings) } else { as_text(&findings) });
    match findings.iter().any(|f| f.verdict == Verdict::Failed) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

type Check = BoxFuture<'static, Vec<Finding>>;

async fn check_all(config: Arc<Config>) -> Vec<Finding> {
    let checks: Vec<(&str, Check)> = vec![
        ("configuration", local::check_settings(config.clone()).boxed()),
        ("secret key", local::check_secret_key(config.clone()).boxed()),
        ("documents", local::documents(config.clone()).boxed()),
        ("database", check_database(config.clone()).boxed()),
        ("Slack", services::check_slack(config.clone()).boxed()),
        ("Discord", discord::check_discord(config.clone()).boxed()),
        ("router model", services::check_model(config.clone(), ModelTier::Router).boxed()),
        ("reasoner model", services::check_model(config.clone(), ModelTier::Reasoner).boxed()),
        ("summariser model", services::check_model(config.clone(), ModelTier::Summariser).boxed()),
        ("embedding model", services::check_embeddings(config.clone()).boxed()),
        ("vector store", vector_store::check_store(config.clone()).boxed()),
        ("Google", services::check_google(config.clone()).boxed()),
        ("public address", services::check_public_url(config).boxed()),
    ];
    let count = checks.len();
    let timed = checks.into_iter().map(|(what, check)| async move {
        timeout(CHECK_TIMEOUT, check).await.unwrap_or_else(|_| {
            let said = format!("no answer within {} s", CHECK_TIMEOUT.as_secs());
            vec![Finding::failed(what, said, "check the address, and whether this machine can reach it")]
        })
    });
    stream::iter(timed).buffered(count).concat().await
}

/// Checks the database first: testing delegated access needs a person to act as, and the database knows some.
async fn check_database(config: Arc<Config>) -> Vec<Finding> {
    let (mut findings, somebody) = local::check_database(&config).await;
    findings.extend(delegated_access::check_accounts(&config, somebody.as_deref()).await);
    findings
}

fn as_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { subject: what, verdict, detail: said, fix: cure } in findings {
        let sign = match verdict {
            Verdict::Ok => '✓',
            Verdict::Failed => '✗',
            Verdict::Skipped => '–',
        };
        let cure = cure.as_deref().map(|cure| format!(" → {cure}")).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{sign} {what}: {said}{cure}");
    }
    let wrong = findings.iter().filter(|f| f.verdict == Verdict::Failed).count();
    text.push_str(&match wrong {
        0 => "Everything looks good.".to_owned(),
        1 => "1 problem found.".to_owned(),
        n => format!("{n} problems found."),
    });
    text
}

fn as_json(findings: &[Finding]) -> String {
    serde_json::to_string_pretty(findings).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt;

    use nod_contract::clock::{Clock, SystemClock};

    use super::local::{check_secret_key, check_settings, reader};
    use super::services::{check_embeddings, check_google, check_public_url, clock};
    use super::*;
    use crate::config::key_file;
    use crate::database::Offset;
    use nod_contract::wire::Hello;
    use nod_inbox::consistency::Inconsistency;

    fn config(pairs: &[(&str, &str)]) -> Arc<Config> {
        let pairs = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Arc::new(Config::load(Some(std::path::Path::new("/dev/null")), pairs).unwrap())
    }

    #[tokio::test]
    async fn google_needs_id_secret_and_public_url() {
        const ID: (&str, &str) = ("NOD_GOOGLE__CLIENT_ID", "id");
        const SECRET: (&str, &str) = ("NOD_GOOGLE__CLIENT_SECRET", "s");
        const PUBLIC: (&str, &str) = ("NOD_SERVER__PUBLIC_URL", "https://nod.example.com/base");
        for (given, verdict) in [
            (vec![], Verdict::Skipped),
            (vec![ID], Verdict::Failed),
            (vec![SECRET], Verdict::Failed),
            (vec![ID, SECRET], Verdict::Failed),
            (vec![ID, SECRET, PUBLIC], Verdict::Ok),
        ] {
            let found = check_google(config(&given)).await;
            assert_eq!(found[0].verdict, verdict, "{given:?}: {found:?}");
        }
        let found = check_google(config(&[ID, SECRET, PUBLIC])).await;
        assert!(found[0].detail.contains("https://nod.example.com/base/oauth/google/callback"));
    }

    #[tokio::test]
    async fn an_embedding_model_is_tried() {
        let found = check_embeddings(config(&[])).await;
        assert_eq!(found[0].verdict, Verdict::Skipped);
        let found = check_embeddings(config(&[("NOD_EMBEDDINGS__MODEL_DIR", "/nonexistent")])).await;
        assert_eq!(found[0].verdict, Verdict::Failed);
        assert!(found[0].detail.contains("cannot read /nonexistent/config.json"), "{found:?}");
        let closed = ("NOD_EMBEDDINGS__BASE_URL", "http://127.0.0.1:9/v1/");
        let found = check_embeddings(config(&[closed, ("NOD_EMBEDDINGS__MODEL", "small")])).await;
        assert_eq!(found[0].verdict, Verdict::Failed);
    }

    #[tokio::test]
    async fn a_public_address_without_https_is_wrong() {
        let found = check_public_url(config(&[("NOD_SERVER__PUBLIC_URL", "http://nod.example.com")])).await;
        assert!(found[0].detail.contains("isn't https"), "{found:?}");
    }

    #[test]
    fn clock_skew_is_reported_in_seconds() {
        let now = SystemClock.now();
        assert_eq!(clock(now, now).verdict, Verdict::Ok);
        let found = clock(now - chrono::TimeDelta::seconds(95), now);
        assert_eq!((found.verdict, found.detail.as_str()), (Verdict::Failed, "95 s ahead of Slack's"));
        for (by, verdict, said) in [
            (1, Verdict::Ok, "agrees with the database's"),
            (12, Verdict::Ok, "12 ms behind the database's; Nod goes by the database's"),
            (-95_000, Verdict::Failed, "95000 ms ahead of the database's; Nod goes by the database's"),
        ] {
            let (by, within) = (chrono::TimeDelta::milliseconds(by), chrono::TimeDelta::milliseconds(2));
            let found = local::clock(Offset { by, within });
            assert_eq!((found.verdict, found.detail.as_str()), (verdict, said));
        }
    }

    #[test]
    fn rows_that_lost_what_they_refer_to_are_reported() {
        assert_eq!(local::rows(&[]).verdict, Verdict::Ok);
        let one = |rows, rule: &str| Inconsistency { rule: rule.to_owned(), rows };
        let found = local::rows(&[one(2, "messages without a run"), one(1, "lanes without a job")]);
        let said = "messages without a run: 2, lanes without a job: 1";
        assert_eq!((found.verdict, found.detail.as_str()), (Verdict::Failed, said));
    }

    #[tokio::test]
    async fn inactive_keys_are_reported() {
        let found = check_settings(config(&[("NOD_LLM__SCORER__MODEL", "m")])).await;
        let text = as_text(&found);
        assert!(
            text.contains(
                "– llm.scorer.model: set, but not used yet: this tier doesn't exist yet, so \
            the reasoner does its work"
            ),
            "{text}"
        );
        assert!(text.ends_with("Everything looks good."), "{text}");
    }

    #[test]
    fn what_a_reader_could_do_is_said() {
        let hello = Hello { version: "1".to_owned(), memory: true, files: true, network: true };
        let found = reader(Ok(hello.clone()));
        assert_eq!((found.verdict, found.detail.contains("no files, no network")), (Verdict::Ok, true));
        let found = reader(Ok(Hello { files: false, network: false, ..hello }));
        assert_eq!(found.verdict, Verdict::Skipped);
        assert!(
            found.detail.ends_with("this system does not keep it from files and the network"),
            "{found:?}"
        );
        assert_eq!(reader(Err(std::io::ErrorKind::NotFound.into())).verdict, Verdict::Failed);
    }

    #[tokio::test]
    async fn a_key_that_others_can_read_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(&[("NOD_DATA__DIR", folder.path().to_str().unwrap())]);
        assert_eq!(check_secret_key(config.clone()).await[0].verdict, Verdict::Ok);
        config.vault(&nod_contract::ids::SystemIds).unwrap();
        assert_eq!(check_secret_key(config.clone()).await[0].verdict, Verdict::Ok);
        let path = key_file(folder.path());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let found = check_secret_key(config).await;
        assert!(found[0].fix.as_deref().unwrap().starts_with("chmod 600"), "{found:?}");
    }
}
