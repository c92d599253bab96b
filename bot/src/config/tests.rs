#![allow(clippy::unwrap_used)]

use std::io::Write;

use secrecy::ExposeSecret;

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

fn lines(result: Result<Config, Problems>) -> Vec<String> {
    result.unwrap_err().0.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_given_is_a_working_default() {
    let config = load("", &[("HOME", "/home/ana")]).unwrap();
    assert_eq!(config.server.bind.to_string(), "127.0.0.1:8080");
    assert_eq!(config.slack.api_url.as_str(), "https://slack.com/api/");
    assert_eq!(config.llm.router.timeout, Duration::from_secs(10));
    assert_eq!(config.llm.reasoner.timeout, Duration::from_secs(60));
    assert_eq!(config.approvals.expire_after, Duration::from_secs(86_400));
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
        ("llm.router.timeout", "0s", "a length of time above 0"),
        ("approvals.expire_after", "tomorrow", "a length of time above 0"),
        ("tasks.steps_per_run", "-1", "a whole number above 0"),
        ("otel.endpoint", "here", "an address like https://"),
        ("log.filter", "nod=shouting=", "a filter like"),
    ] {
        let said = lines(load("", &[(&env_name(key), value)]));
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
    let said = lines(load(toml, &pairs)).join("\n");
    let wanted = [
        "database.url (NOD_DATABASE__URL): the value given (not shown: it is a secret) is wrong; wanted postgres://",
        "slack.app_token (NOD_SLACK__APP_TOKEN): the value given (not shown",
        "slack.signing_secret (NOD_SLACK__SIGNING_SECRET): the value given (not shown",
        "web.allow_private (NOD_WEB__ALLOW_PRIVATE): got \"[1, 2]\", wanted a list",
        "slack.bot_tokn (NOD_SLACK__BOT_TOKN): there is no such key; did you mean slack.bot_token (NOD_SLACK__BOT_TOKEN)?",
        "lm.router.model (NOD_LM__ROUTER__MODEL): there is no such key; did you mean llm.router.model",
        "google.client (NOD_GOOGLE__CLIENT): there is no such key; did you mean google.client_id",
        "data (NOD_DATA): there is no such key",
        "nonsense (NOD_NONSENSE): there is no such key; config/nod.toml explains all of them",
    ];
    for line in wanted {
        assert!(said.contains(line), "missing {line:?} in\n{said}");
    }
    assert_eq!(said.lines().count(), wanted.len(), "{said}");
    assert!(!said.contains("hidden"), "{said}");
}

#[test]
fn a_file_that_does_not_parse_or_is_not_there_is_told_beside_the_rest() {
    let said = lines(load("[slack\n", &[("NOD_SLACK__MODE", "x")]));
    assert!(said.len() == 2 && said[0].contains("is not valid TOML"), "{said:?}");
    let missing = Config::load(None, env(&[("NOD_CONFIG", "/nowhere/nod.toml")]).into_iter());
    assert!(lines(missing)[0].starts_with("cannot read /nowhere/nod.toml"));
}

#[test]
fn other_peoples_names_are_left_alone() {
    let others = [("NOD_SPECS_DIR", "/x"), ("NOD_EVAL_DIR", "/y"), ("PATH", "/bin"), ("NODE_OPTIONS", "z")];
    assert!(load("", &others).is_ok());
}

#[test]
fn what_is_not_built_yet_is_checked_and_named() {
    let pairs = [
        ("NOD_DISCORD__TOKEN", "t"),
        ("NOD_SLACK__MODE", "http"),
        ("NOD_APPROVALS__UNDO", "0s"),
        ("NOD_LLM__SCORER__MODEL", "m"),
    ];
    let config = load("", &pairs).unwrap();
    let mut keys: Vec<&str> = config.inactive().iter().map(|i| i.key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["approvals.undo", "discord.token", "llm.scorer.model", "slack.mode"]);
}

#[test]
fn debug_output_shows_no_secret() {
    let pairs = [("NOD_SLACK__BOT_TOKEN", "xoxb-hidden"), ("NOD_DATABASE__URL", "postgres://u:hidden@h/d")];
    assert!(!format!("{:?}", load("", &pairs).unwrap()).contains("hidden"));
}

/// The file that documents the keys documents all of them, and what it shows would work.
#[test]
fn the_file_in_config_explains_every_key() {
    let text = include_str!("../../../config/nod.toml");
    let uncommented: Vec<&str> = text
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|rest| is_setting(rest)).unwrap_or(line))
        .collect();
    let config = load(&uncommented.join("\n"), &[]).unwrap();
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
    load(text, &[]).unwrap();
}

fn is_setting(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(key, _)| key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
}

/// What operators rely on, as `product` promises it; a name may be added here and never taken away.
#[test]
fn every_promised_name_is_accepted() {
    let names = Config::names();
    for name in include_str!("promised_names.txt").split_whitespace() {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn the_key_file_is_made_once_and_for_its_owner_alone() {
    use nod_core::ids::SystemIds;
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
