#![allow(clippy::unwrap_used)]

use std::io::Write;

use secrecy::ExposeSecret;

use nod_contract::tool::Reach;
use nod_requests::policy;

use super::*;

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn load(toml: &str, pairs: &[(&str, &str)]) -> Result<Config, Problems> {
    Config::load(Some(file(toml).path()), env(pairs).into_iter())
}

fn problem_lines(result: Result<Config, Problems>) -> Vec<String> {
    result.unwrap_err().0.iter().map(ToString::to_string).collect()
}

#[test]
fn empty_configuration_is_valid() {
    let config = load("", &[("HOME", "/home/ana")]).unwrap();
    assert_eq!(config.server.bind.to_string(), "127.0.0.1:8080");
    assert_eq!(config.slack.api_url.as_str(), "https://slack.com/api/");
    assert_eq!(config.llm.router.timeout, Duration::from_secs(10));
    assert_eq!(config.llm.reasoner.timeout, Duration::from_secs(60));
    assert_eq!(config.approvals.policy, Policy::default());
    assert!(config.database.url.is_none() && config.inactive().is_empty());
    assert!(config.data.dir.ends_with("nod"));
    assert_eq!(load("", &[]).unwrap().data.dir, Path::new(".nod"));
}

#[test]
fn the_environment_wins_over_the_file() {
    let toml =
        "[slack]\nbot_token = \"xoxb-file\"\n[llm]\nmodel = \"big\"\nbase_url = \"http://127.0.0.1:9/v1\"";
    let pairs = [
        ("NOD_SLACK__BOT_TOKEN", "xoxb-env"),
        ("NOD_LLM__ROUTER__MODEL", "small"),
        ("NOD_LLM__ROUTER__TIMEOUT", "3s"),
        ("NOD_ADMIN__SLACK", "U1, U2"),
        ("NOD_DATABASE__MAX_CONNECTIONS", "3"),
        ("NOD_SLACK__ALLOW_GUESTS", "true"),
        ("NOD_LLM__API_KEY", ""),
    ];
    let config = load(toml, &pairs).unwrap();
    assert_eq!(config.slack.bot_token.unwrap().expose_secret(), "xoxb-env");
    assert_eq!(config.llm.router.model.as_deref(), Some("small"));
    assert_eq!(config.llm.router.timeout, Duration::from_secs(3));
    assert_eq!(config.llm.reasoner.model.as_deref(), Some("big"));
    assert_eq!(config.llm.reasoner.base_url.unwrap().as_str(), "http://127.0.0.1:9/v1/");
    assert_eq!(config.admin.slack, ["U1", "U2"]);
    assert_eq!(config.database.max_connections, 3);
    assert!(config.slack.allow_guests && config.llm.reasoner.api_key.is_none());
}

#[test]
fn a_preset_sets_what_is_known_of_a_provider_and_a_key_stays_at_its_own() {
    let pairs = [
        ("NOD_LLM__PRESET", "openai"),
        ("NOD_LLM__API_KEY", "sk-1"),
        ("NOD_LLM__MODEL", "big"),
        ("NOD_LLM__ROUTER__PRESET", "ollama"),
        ("NOD_LLM__ROUTER__FALLBACK__MODEL", "other"),
        ("NOD_LLM__REASONER__FALLBACK__PRESET", "anthropic"),
        ("NOD_LLM__REASONER__FALLBACK__MODEL", "claude"),
    ];
    let llm = load("", &pairs).unwrap().llm;
    let reasoner = llm.reasoner.settings().unwrap();
    assert!(reasoner.base_url.contains("api.openai.com") && reasoner.dialect.completion_tokens);
    let stand_in = reasoner.fallback.unwrap();
    assert!(stand_in.base_url.contains("api.anthropic.com") && stand_in.dialect.lone_system);
    assert_eq!((stand_in.model.as_str(), stand_in.api_key.expose_secret()), ("claude", ""));
    let router = llm.router.settings().unwrap();
    assert_eq!(router.base_url, "http://127.0.0.1:11434/v1");
    assert_eq!(
        router.fallback.map(|other| (other.model, other.base_url)),
        Some(("other".into(), router.base_url))
    );
    let own =
        load("", &[("NOD_LLM__PRESET", "groq"), ("NOD_LLM__BASE_URL", "http://127.0.0.1:9/v1")]).unwrap();
    assert_eq!(own.llm.router.base_url.unwrap().as_str(), "http://127.0.0.1:9/v1/");
}

#[test]
fn a_key_stays_at_the_endpoint_that_it_was_given_for() {
    let pairs = [
        ("NOD_LLM__BASE_URL", "https://a.test/v1"),
        ("NOD_LLM__API_KEY", "sk-1"),
        ("NOD_LLM__MODEL", "m"),
        ("NOD_LLM__ROUTER__BASE_URL", "https://b.test/v1"),
        ("NOD_LLM__SUMMARISER__BASE_URL", "https://a.test/v1/"),
    ];
    let llm = load("", &pairs).unwrap().llm;
    let key = |tier: &Tier| tier.api_key.as_ref().map(|key| key.expose_secret().to_owned());
    assert_eq!(key(&llm.router), None);
    assert_eq!((key(&llm.reasoner), key(&llm.summariser)), (Some("sk-1".into()), Some("sk-1".into())));
    let each = [("NOD_LLM__API_KEY", "sk-1"), ("NOD_LLM__ROUTER__BASE_URL", "https://b.test/v1")];
    assert_eq!(key(&load("", &each).unwrap().llm.router), Some("sk-1".into()));
}

#[test]
fn the_summariser_takes_from_the_reasoner_what_it_does_not_set() {
    let toml = "[llm]\nmodel = \"all\"\n[llm.reasoner]\nmodel = \"big\"\ntemperature = 0.3\ntimeout = \"9s\"\n\
                [llm.summariser]\nmax_tokens = 500";
    let summariser = load(toml, &[]).unwrap().llm.summariser;
    assert_eq!(summariser.model.as_deref(), Some("big"));
    assert_eq!((summariser.temperature, summariser.timeout), (Some(0.3), Duration::from_secs(9)));
    assert_eq!(summariser.max_tokens, Some(500));
    let own = load(toml, &[("NOD_LLM__SUMMARISER__MODEL", "small")]).unwrap().llm.summariser;
    assert_eq!(own.model.as_deref(), Some("small"));
}

#[test]
fn a_wrong_value_says_what_is_wanted() {
    for (key, value, wanted) in [
        ("server.bind", "localhost", "an address and a port"),
        ("server.public_url", "nod.example.com", "an address like https://"),
        ("server.public_url", "ftp://nod.example.com", "an address like https://"),
        ("slack.api_url", "https://user:secret@example.com", "without user or password"),
        ("slack.mode", "sockets", "socket or http"),
        ("slack.allow_guests", "maybe", "true or false"),
        ("database.max_connections", "0", "a whole number above 0"),
        ("database.max_connections", "many", "a whole number above 0"),
        ("llm.temperature", "2.5", "a number from 0 to 2"),
        ("llm.preset", "opnai", "one of openai, anthropic"),
        ("llm.router.timeout", "0s", "a duration above 0"),
        ("approvals.expire_after", "tomorrow", "a duration above 0"),
        ("approvals.undo", "2h", "in whole seconds up to an hour"),
        ("approvals.undo", "1500ms", "in whole seconds up to an hour"),
        ("approvals.remind_before", "-1h", "a duration, like 0s"),
        ("tasks.open", "6", "a whole number from 1 to 5"),
        ("tasks.questions", "0", "a whole number above 0"),
        ("tasks.answer_within", "90s", "a duration in whole minutes"),
        ("tasks.steps_per_run", "-1", "a whole number above 0"),
        ("otel.endpoint", "here", "an address like https://"),
        ("log.filter", "nod=shouting=", "a filter like"),
    ] {
        let said = problem_lines(load("", &[(&env_name(key), value)]));
        assert_eq!(said.len(), 1, "{key} = {value}: {said:?}");
        assert!(said[0].starts_with(&format!("{key} ({}): got {value:?}", env_name(key))), "{said:?}");
        assert!(said[0].contains(wanted), "{said:?}");
    }
}

#[test]
fn every_problem_is_told_at_once_and_no_secret_is_shown() {
    let toml = "
        nonsense = 1
        [slack]
        bot_tokn = \"xoxb-hidden\"
        app_token = 5
        [database]
        url = \"mysql://root:hidden@db/nod\"
        [web]
        allow_private = [1, 2]
        [lm.router]
        model = \"m\"";
    let pairs = [("NOD_SLACK__SIGNING_SECRET", "two hidden"), ("NOD_GOOGLE__CLIENT", "x"), ("NOD_DATA", "y")];
    let said = problem_lines(load(toml, &pairs)).join("\n");
    let wanted = [
        "database.url (NOD_DATABASE__URL): the value is wrong (not shown because it's a secret): it should \
         be postgres://",
        "slack.app_token (NOD_SLACK__APP_TOKEN): the value is wrong (not shown",
        "slack.signing_secret (NOD_SLACK__SIGNING_SECRET): the value is wrong (not shown",
        "web.allow_private (NOD_WEB__ALLOW_PRIVATE): got \"[1, 2]\", but it should be a list",
        "slack.bot_tokn (NOD_SLACK__BOT_TOKN): no such key. Did you mean slack.bot_token \
         (NOD_SLACK__BOT_TOKEN)?",
        "lm.router.model (NOD_LM__ROUTER__MODEL): no such key. Did you mean llm.router.model",
        "google.client (NOD_GOOGLE__CLIENT): no such key. Did you mean google.client_id",
        "data (NOD_DATA): no such key",
        "nonsense (NOD_NONSENSE): no such key. config/nod.toml explains all of them",
    ];
    for line in wanted {
        assert!(said.contains(line), "missing {line:?} in\n{said}");
    }
    assert_eq!(said.lines().count(), wanted.len(), "{said}");
    assert!(!said.contains("hidden"), "{said}");
}

#[test]
fn unreadable_file_is_reported_with_the_other_problems() {
    let said = problem_lines(load("[slack\n", &[("NOD_SLACK__MODE", "x")]));
    assert!(said.len() == 2 && said[0].contains("isn't valid TOML"), "{said:?}");
    let missing = Config::load(None, env(&[("NOD_CONFIG", "/nowhere/nod.toml")]).into_iter());
    assert!(problem_lines(missing)[0].starts_with("can't read /nowhere/nod.toml"));
}

#[test]
fn foreign_variables_are_ignored() {
    let others = [("NOD_SPECS_DIR", "/x"), ("NOD_EVAL_DIR", "/y"), ("PATH", "/bin"), ("NODE_OPTIONS", "z")];
    assert!(load("", &others).is_ok());
}

#[test]
fn unbuilt_keys_are_validated_and_listed() {
    let pairs = [("NOD_GITHUB__API_URL", "https://api.github.com/"), ("NOD_LLM__SCORER__MODEL", "m")];
    let config = load("", &pairs).unwrap();
    let mut keys: Vec<&str> = config.inactive().iter().map(|i| i.key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["github.api_url", "llm.scorer.model"]);
}

#[test]
fn debug_output_shows_no_secret() {
    let pairs = [("NOD_SLACK__BOT_TOKEN", "xoxb-hidden"), ("NOD_DATABASE__URL", "postgres://u:hidden@h/d")];
    assert!(!format!("{:?}", load("", &pairs).unwrap()).contains("hidden"));
}

/// The file that documents the keys documents all of them, and its examples are valid.
#[test]
fn the_file_in_config_explains_every_key() {
    let text = include_str!("../../../config/nod.toml");
    let uncommented: Vec<&str> = text
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|rest| is_setting(rest)).unwrap_or(line))
        .collect();
    // Paths are relative to the project's folder.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/");
    // No key is in the repository, so this test generates one.
    let key = file(&nod_sandbox::google::unknown_service_account_key());
    let text = uncommented.join("\n").replace("\"config/", &format!("\"{folder}"));
    let text = text.replace("/etc/nod/service-account.json", key.path().to_str().unwrap());
    let config = load(&text, &[]).unwrap();
    assert!(!config.inactive().is_empty());
    let mut named = BTreeSet::new();
    let mut section = String::new();
    for line in &uncommented {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name.to_owned();
        } else if is_setting(line) {
            named.insert(format!("{section}.{}", line.split(' ').next().unwrap()));
        }
    }
    assert_eq!(named, Config::names());
    load(include_str!("../../../config/nod.toml"), &[]).unwrap();
}

#[test]
fn delegated_access_problems_are_reported_together() {
    const CLIENT: [(&str, &str); 2] = [("NOD_GOOGLE__CLIENT_ID", "id"), ("NOD_GOOGLE__CLIENT_SECRET", "s")];
    let key = file(&nod_sandbox::google::unknown_service_account_key());
    let key = key.path().to_str().unwrap();
    let mut broken: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(key).unwrap()).unwrap();
    broken["private_key"] = "hidden".into();
    let broken = file(&broken.to_string());
    let (broken, other) = (broken.path().to_str().unwrap(), file("{\"type\": \"authorized_user\"}"));
    let other = other.path().to_str().unwrap();
    let said = |pairs: &[(&str, &str)]| problem_lines(load("", pairs)).join("\n");
    let with = |pairs: &[(&'static str, &str)]| said(&[&CLIENT[..], pairs].concat());
    const FILE: &str = "NOD_GOOGLE__DELEGATION__KEY_FILE";
    const DOMAINS: &str = "NOD_GOOGLE__DELEGATION__DOMAINS";
    const TOKEN: &str = "NOD_GOOGLE__SYSTEM__REFRESH_TOKEN";
    const PEOPLE: &str = "NOD_GOOGLE__SYSTEM__PEOPLE";
    for (given, expected) in [
        (
            &[(FILE, key)][..],
            "google.delegation.domains (NOD_GOOGLE__DELEGATION__DOMAINS): list the domains where Nod",
        ),
        (
            &[(DOMAINS, "acme.test")],
            "google.delegation.key_file (NOD_GOOGLE__DELEGATION__KEY_FILE): domains are set",
        ),
        (&[(FILE, "/nowhere"), (DOMAINS, "acme.test")], "can't read /nowhere: No such file"),
        (&[(FILE, other), (DOMAINS, "acme.test")], "this isn't a service account's JSON key"),
        (&[(FILE, broken), (DOMAINS, "acme.test")], "its private_key is missing or can't be read"),
        (&[(FILE, key), (DOMAINS, "*")], "got \"*\", but it should be a list of domains"),
        (&[(FILE, key), (DOMAINS, "ana@acme.test")], "it should be a list of domains"),
        (&[(FILE, key), (DOMAINS, ",")], "it should be a list of domains"),
        (
            &[(PEOPLE, "ana@acme.test")],
            "google.system.refresh_token (NOD_GOOGLE__SYSTEM__REFRESH_TOKEN): people are",
        ),
        (
            &[(TOKEN, "1//hidden"), (PEOPLE, "everybody")],
            "got \"everybody\", but it should be [\"*\"], or a list of people",
        ),
        (
            &[(TOKEN, "1//hidden"), (PEOPLE, "*, ana@acme.test")],
            "but it should be [\"*\"], or a list of people",
        ),
    ] {
        let said = with(given);
        assert!(said.contains(expected) && said.lines().count() == 1, "{given:?}: {said}");
        assert!(!said.contains("hidden"), "{said}");
    }
    let both = said(&[(FILE, key), (DOMAINS, "acme.test"), (TOKEN, "1//hidden")]);
    assert_eq!(both.matches("needs google.client_id and google.client_secret").count(), 2, "{both}");

    let google = load(
        "",
        &[&CLIENT[..], &[(FILE, key), (DOMAINS, "acme.test, b.test"), (TOKEN, "1//hidden")]].concat(),
    );
    let google = google.unwrap().google;
    assert_eq!(google.delegation.as_ref().unwrap().domains, ["acme.test", "b.test"]);
    assert_eq!(google.system.as_ref().unwrap().people, OrganisationAccountUsers::Nobody);
    assert!(!format!("{google:?}").contains("hidden") && !format!("{google:?}").contains("PRIVATE"));
}

fn with_rules(text: &str) -> Result<Config, Problems> {
    let rules = file(text);
    load("", &[("NOD_APPROVALS__UNDO", "5s"), ("NOD_APPROVALS__POLICY", rules.path().to_str().unwrap())])
}

#[test]
fn rules_override_the_default_terms() {
    let shipped = include_str!("../../../config/policy.toml");
    assert!(with_rules(shipped).unwrap().approvals.policy.rules.is_empty());
    let is_rule = |line: &&str| line.starts_with('[') || is_setting(&line.replace("when.", ""));
    let example: Vec<&str> = shipped.lines().filter_map(|l| l.strip_prefix("# ")).filter(is_rule).collect();
    let policy = with_rules(&example.join("\n")).unwrap().approvals.policy;
    assert_eq!(policy.rules.len(), 4);
    let rule = |recipients: &[String]| {
        let (tool, account) = ("gmail_send_email", "ana@acme.test");
        policy::decide(
            &policy,
            &policy::PolicyInput {
                tool,
                reach: Reach::Others,
                account,
                recipients,
                has_untrusted_content: false,
                overwrites_user_draft: false,
            },
        )
    };
    let undo = |ruling| match ruling {
        policy::Ruling::Ask(terms) => terms.undo_window.num_seconds(),
        other => panic!("{other:?}"),
    };
    assert_eq!(undo(rule(&["bo@acme.test".to_owned()])), 5);
    assert_eq!(undo(rule(&["bo@x.test".to_owned()])), 30);
    let many = vec!["bo@acme.test".to_owned(); 51];
    assert!(matches!(rule(&many), policy::Ruling::Forbid(why) if why.contains("mailing list")));
}

#[test]
fn rule_problems_are_reported_with_the_rest() {
    let rules = file(
        "rules = 1
        [approvers]
        legal = [\"bo\"]
        none = []
        [[rule]]
        tool = \"gmail_send_mail\"
        undo = \"2h\"
        when.recipients_abov = 3
        [[rule]]
        when.recipients_above = 0
        when.outside_text = \"maybe\"
        decider = \"boss\"
        never = \"\"
        [[rule]]
        decider = \"legal\"
        when.recipients_at = [\"*.x.test\"]
        [[rule]]
        decider = \"owner and legal\"",
    );
    let said = problem_lines(load(
        "",
        &[("NOD_SLACK__MODE", "x"), ("NOD_APPROVALS__POLICY", rules.path().to_str().unwrap())],
    ));
    let wanted = [
        "slack.mode (NOD_SLACK__MODE): got \"x\"",
        "rules: no such key. You can use approvers and rule",
        "rule 1, tool: got \"gmail_send_mail\", but it should be one of gmail_create_draft, gmail_update_draft",
        "rule 1, undo: got \"2h\", but it should be a duration in whole seconds",
        "rule 1, when.recipients_abov: no such key. You can use tool, when.recipients_above,",
        "rule 2, when.recipients_above: got \"0\", but it should be a whole number above 0",
        "rule 2, when.outside_text: got \"maybe\", but it should be true or false",
        "approvers.legal: got \"[bo]\", but it should be a list of people, each as an address or as slack:",
        "approvers.none: got \"[]\", but it should be a list of people",
        "rule 2, decider: got \"boss\", but it should be owner, or “owner and legal” or “owner and none”",
        "rule 3, decider: got \"legal\", but it should be owner, or “owner and legal”",
        "rule 3, when.recipients_at: got \"[*.x.test]\", but it should be a list of domains",
        "rule 2, never: got \"\", but it should be text",
    ];
    for line in wanted {
        assert!(said.iter().any(|s| s.contains(line)), "missing {line:?} in\n{}", said.join("\n"));
    }
    assert_eq!(said.len(), wanted.len(), "{}", said.join("\n"));
    let missing = problem_lines(load("", &[("NOD_APPROVALS__POLICY", "/nowhere/rules.toml")]));
    assert!(missing[0].contains("can't read /nowhere/rules.toml"), "{missing:?}");
    assert!(problem_lines(with_rules("[rule]\n"))[0].contains("[[rule]]"));
}

fn is_setting(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(key, _)| key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
}

/// The names that operators rely on, as `product` promises; a name can be added here and never removed.
#[test]
fn every_promised_name_is_accepted() {
    let names = Config::names();
    for name in include_str!("stable_keys.txt").split_whitespace() {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn key_file_is_created_once_and_private() {
    use nod_contract::ids::SystemIds;
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("deep/er");
    let config = load("", &[("NOD_DATA__DIR", dir.to_str().unwrap())]).unwrap();
    let first = config.vault(&SystemIds).unwrap();
    assert_eq!(config.vault(&SystemIds).unwrap().key_id(), first.key_id());
    let mode = std::fs::metadata(key_file(&dir)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
    std::fs::write(key_file(&dir), "short").unwrap();
    assert!(config.vault(&SystemIds).unwrap_err().to_string().contains("32 bytes in base64"));
}

/// What `config/compose.yaml` starts is what the file in `config` names, and nobody else reaches it.
#[test]
fn the_compose_file_starts_what_the_keys_name() {
    let compose = include_str!("../../../config/compose.yaml");
    let lines: Vec<&str> = compose.lines().map(str::trim).collect();
    let ports: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("- \"127.0.0.1:")?.strip_suffix('"')).collect();
    assert_eq!(ports, ["5432:5432", "6334:6334"]);
    assert_eq!(lines.iter().filter(|line| **line == "ports:").count(), ports.len(), "all on loopback");
    for line in [
        "image: postgres:17",
        "image: qdrant/qdrant:v1.20.0",
        "- postgres:/var/lib/postgresql/data",
        "- qdrant:/qdrant/storage",
        "QDRANT__SERVICE__API_KEY: ${NOD_QDRANT__API_KEY:?set a key for Qdrant}",
    ] {
        assert!(lines.contains(&line), "{line}");
    }
    assert_eq!(lines.iter().filter(|line| **line == "healthcheck:").count(), 2);
    let toml = include_str!("../../../config/nod.toml");
    assert!(toml.contains("# url = \"http://127.0.0.1:6334\""));
    assert!(Config::names().contains("qdrant.api_key") && Config::names().contains("database.url"));
}

#[test]
fn a_qdrant_needs_an_address() {
    let config = load("", &[("NOD_QDRANT__URL", "http://127.0.0.1:6334")]).unwrap();
    assert_eq!(config.qdrant.unwrap().timeout.as_secs(), 5);
    let said = problem_lines(load("", &[("NOD_QDRANT__API_KEY", "hidden")]));
    assert!(said[0].contains("a key is given, and no address of a Qdrant"), "{said:?}");
}
