//! Checks of delegated access: the service account, and the organisation's account.

use std::time::Duration;

use nod_accounts::connection::OrganisationAccountUsers;
use nod_connectors::google::{DomainDelegation, OrganisationAccount, scopes};
use nod_contract::clock::{Clock, SystemClock};
use tokio::time::timeout;
use url::Url;

use super::Finding;
use crate::app::google;
use crate::config::{self, Config, env_name};

const DELEGATION: &str = "Google delegation";
const SYSTEM: &str = "Google's lent account";
/// Less than the limit of a whole check.
const TIMEOUT: Duration = Duration::from_secs(5);
const NO_RESPONSE: &str = "Google didn't answer within 5 s";
const REACH_FIX: &str = "check google.token_url, and whether this machine can reach it";

/// Runs the checks. `somebody` is an email address at one of the domains.
pub(super) async fn check_accounts(config: &Config, somebody: Option<&str>) -> Vec<Finding> {
    let mut all = Vec::new();
    if let Some(delegation) = &config.google.delegation {
        all.push(check_delegation(delegation, somebody).await);
    }
    if let Some(system) = &config.google.system {
        all.push(check_organisation_account(config, system).await);
    }
    all
}

async fn check_delegation(config: &config::Delegation, somebody: Option<&str>) -> Finding {
    let whose = format!("{}, for {}", config.key.email(), config.domains.join(", "));
    let Some(somebody) = somebody else {
        let said = format!("the key of {whose}; not tried because no address is known");
        return Finding::skipped(
            DELEGATION,
            said,
            Some("run “nod run” once, so it can read people's addresses".into()),
        );
    };
    // All scopes that any tool needs.
    let needs: Vec<String> = scopes::ALL.map(str::to_owned).to_vec();
    match timeout(TIMEOUT, DomainDelegation::new(config.key.clone()).fetch_token(somebody, &needs)).await {
        Ok(Ok(_)) => Finding::ok(DELEGATION, format!("{whose}: may act as {somebody}")),
        Ok(Err(error)) => {
            let cure = format!("the client to allow is {}", config.key.client_id());
            Finding::failed(DELEGATION, error.to_string(), cure)
        }
        Err(_) => Finding::failed(DELEGATION, NO_RESPONSE, REACH_FIX),
    }
}

async fn check_organisation_account(config: &Config, system: &config::OrganisationAccount) -> Finding {
    let nowhere = Url::parse("http://127.0.0.1/").ok();
    let oauth = nowhere.and_then(|url| google::oauth(config, &url).ok().flatten());
    let Some(oauth) = oauth else {
        return Finding::failed(
            SYSTEM,
            "no OAuth client is set",
            "set google.client_id and google.client_secret",
        );
    };
    let account = OrganisationAccount::new(oauth, system.refresh_token.clone());
    let cure = format!(
        "set {}: a token that the account gave to google.client_id",
        env_name("google.system.refresh_token")
    );
    match timeout(TIMEOUT, account.fetch_email(SystemClock.now())).await {
        Ok(Ok(address)) => match &system.people {
            OrganisationAccountUsers::Nobody => {
                let cure = "list who may use it in google.system.people";
                Finding::skipped(SYSTEM, format!("{address}, but no one may use it"), Some(cure.into()))
            }
            OrganisationAccountUsers::Listed(some) => {
                let many =
                    if some.len() == 1 { "one person".to_owned() } else { format!("{} people", some.len()) };
                Finding::ok(SYSTEM, format!("{address}, for {many}"))
            }
            OrganisationAccountUsers::AllMembers => {
                Finding::ok(SYSTEM, format!("{address}, for every member"))
            }
        },
        Ok(Err(error)) => Finding::failed(SYSTEM, error.to_string(), cure),
        Err(_) => Finding::failed(SYSTEM, NO_RESPONSE, REACH_FIX),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;

    use nod_sandbox::google::{Account, Google, GoogleConfig};

    use super::*;
    use crate::doctor::Verdict;

    /// Returns the findings for a service account with these scopes, and for an organisation's account with this token.
    async fn findings_for(
        google: &Google,
        scopes: &[&str],
        token: &str,
        somebody: Option<&str>,
    ) -> Vec<Finding> {
        let mut key = tempfile::NamedTempFile::new().unwrap();
        key.write_all(google.service_account("acme.test", scopes).as_bytes()).unwrap();
        let client = GoogleConfig::default();
        let pairs = [
            ("CLIENT_ID", client.client_id.as_str()),
            ("CLIENT_SECRET", &client.client_secret),
            ("TOKEN_URL", &google.token_url()),
            ("GMAIL_URL", &google.url()),
            ("DELEGATION__KEY_FILE", key.path().to_str().unwrap()),
            ("DELEGATION__DOMAINS", "acme.test"),
            ("SYSTEM__REFRESH_TOKEN", token),
            ("SYSTEM__PEOPLE", "*"),
        ];
        let pairs = pairs.map(|(name, value)| (format!("NOD_GOOGLE__{name}"), value.to_owned()));
        let config = Config::load(Some(std::path::Path::new("/dev/null")), pairs.into_iter()).unwrap();
        check_accounts(&config, somebody).await
    }

    #[tokio::test]
    async fn each_delegated_account_has_a_finding() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let people =
            vec![Account::new("ana@acme.test", "Ana"), Account::new("assistant@acme.test", "Assistant")];
        let google =
            Google::start(GoogleConfig { accounts: people, ..GoogleConfig::default() }).await.unwrap();
        let all = scopes::ALL;
        let token = google.grant_as("assistant@acme.test", &all).refresh_token;
        let ana = Some("ana@acme.test");
        let good = findings_for(&google, &all, &token, ana).await;
        assert!(good.iter().all(|one| one.verdict == Verdict::Ok), "{good:?}");
        assert!(good[0].detail.ends_with(", for acme.test: may act as ana@acme.test"), "{good:?}");
        assert_eq!(good[1].detail, "assistant@acme.test, for every member");
        let untried = findings_for(&google, &all, &token, None).await;
        assert_eq!(untried[0].verdict, Verdict::Skipped);
        assert!(untried[0].detail.ends_with("not tried because no address is known"), "{untried:?}");
        let wrong = findings_for(&google, &all[..2], "1//gone", ana).await;
        assert!(wrong.iter().all(|one| one.verdict == Verdict::Failed), "{wrong:?}");
        assert!(wrong[0].detail.contains("Domain-wide delegation, client 104729"), "{wrong:?}");
        assert!(wrong[1].fix.as_ref().unwrap().contains("NOD_GOOGLE__SYSTEM__REFRESH_TOKEN"), "{wrong:?}");
        assert!(!format!("{wrong:?}").contains("1//gone"));
    }
}
