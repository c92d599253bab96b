//! `google.delegation.*` and `google.system.*`: the accounts that the operator makes available to people who connected
//! none. Each is an explicit choice, so half of one is a mistake.

use std::path::PathBuf;

use figment::value::Value;
use nod_accounts::connection::OrganisationAccountUsers;
use nod_connectors::google::ServiceKey;
use secrecy::SecretString;
use url::Url;

use super::policy::{domain, parse_person};
use super::problem::Problem;
use super::reader::ConfigReader;
use super::value::ConfigValue;
use super::{Delegation, OrganisationAccount};

const KEY_FILE: &str = "google.delegation.key_file";
const DOMAINS: &str = "google.delegation.domains";
const REFRESH_TOKEN: &str = "google.system.refresh_token";
const PEOPLE: &str = "google.system.people";

/// Reads `google.delegation.*`. The token endpoint is `token_url` if configured, else the one in the key file.
pub(super) fn delegation(
    reader: &mut ConfigReader,
    token_url: Option<&Url>,
    has_client: bool,
) -> Option<Delegation> {
    let (mut problems, before) = (Vec::new(), reader.problem_count());
    let file = reader.maybe::<PathBuf>(KEY_FILE);
    let domains = reader.maybe(DOMAINS).map(|Domains(all)| all);
    // The reader has already reported values that it could not parse.
    let all_read = reader.problem_count() == before;
    match (&file, &domains) {
        (Some(_), None) if all_read => {
            problems.push(delegated_access_problem(
                DOMAINS,
                "list the domains where Nod may act for people, like [\"acme.test\"]",
            ));
        }
        (None, Some(_)) if all_read => {
            problems.push(delegated_access_problem(
                KEY_FILE,
                "domains are set, but not the file with the service account's key",
            ));
        }
        _ => {}
    }
    let key = file.and_then(|file| {
        let shown = file.display();
        let read = std::fs::read_to_string(&file).map_err(|error| format!("can't read {shown}: {error}"));
        let read = read.and_then(|json| {
            ServiceKey::read(&json, token_url).map_err(|problem| format!("{shown}: {problem}"))
        });
        read.map_err(|said| problems.push(delegated_access_problem(KEY_FILE, said))).ok()
    });
    if (key.is_some() || domains.is_some()) && !has_client {
        problems.push(delegated_access_problem(KEY_FILE, NEEDS_CLIENT));
    }
    reader.add_problems(problems);
    Some(Delegation { key: key?, domains: domains? })
}

pub(super) fn system(reader: &mut ConfigReader, has_client: bool) -> Option<OrganisationAccount> {
    let before = reader.problem_count();
    let refresh_token = reader.maybe::<SecretString>(REFRESH_TOKEN);
    let people = reader.maybe(PEOPLE).map(|People(people)| people);
    let mut problems = Vec::new();
    if refresh_token.is_none() && people.is_some() && reader.problem_count() == before {
        problems.push(delegated_access_problem(
            REFRESH_TOKEN,
            "people are set, but not the account's refresh token",
        ));
    }
    if refresh_token.is_some() && !has_client {
        problems.push(delegated_access_problem(REFRESH_TOKEN, NEEDS_CLIENT));
    }
    reader.add_problems(problems);
    // Empty unless configured, because everyone listed can read that mailbox.
    Some(OrganisationAccount { refresh_token: refresh_token?, people: people.unwrap_or_default() })
}

const NEEDS_CLIENT: &str = "this also needs google.client_id and google.client_secret, so that everyone else \
    can connect their own account";

fn delegated_access_problem(key: &str, said: impl Into<String>) -> Problem {
    Problem { key: key.to_owned(), message: said.into() }
}

struct Domains(Vec<String>);

impl ConfigValue for Domains {
    const EXPECTED: &'static str = "a list of domains, like [\"acme.test\"]";
    fn read(given: &Value) -> Option<Self> {
        let domains = Vec::<String>::read(given)?.iter().map(|one| domain(one)).collect::<Option<Vec<_>>>();
        domains.filter(|domains| !domains.is_empty()).map(Self)
    }
}

struct People(OrganisationAccountUsers);

impl ConfigValue for People {
    const EXPECTED: &'static str =
        "[\"*\"], or a list of people, each as an address or as slack:U0123ABCD or discord:123456789";
    fn read(given: &Value) -> Option<Self> {
        let people = Vec::<String>::read(given)?;
        match people.as_slice() {
            [] => None,
            [all] if all == "*" => Some(Self(OrganisationAccountUsers::AllMembers)),
            some => {
                let some = some.iter().map(|text| parse_person(text)).collect::<Option<_>>()?;
                Some(Self(OrganisationAccountUsers::Listed(some)))
            }
        }
    }
}
