//! The given values: the file, then the environment over it, as one flat table from key to value. Knows nothing of what
//! the keys mean.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Error, Figment, Metadata, Profile, Provider};

use super::problem::{PREFIX, Problem};

/// Where the file is looked for if no other is named.
const DEFAULT_FILE: &str = "config/nod.toml";

/// Names with Nod's prefix that are read elsewhere: by the command line, the scripts and the tests.
const RESERVED_VARIABLES: [&str; 8] = [
    "NOD_CI_CACHE",
    "NOD_CONFIG",
    "NOD_EVAL_DIR",
    "NOD_MODELS",
    "NOD_PICTURES",
    "NOD_POSTGRES_PASSWORD",
    "NOD_SPECS_DIR",
    "NOD_TEST_DATABASE_URL",
];

/// A flat table, `slack.bot_token` → value.
pub(super) type Given = BTreeMap<String, Value>;

/// The part of the environment that sets Nod's keys.
struct Environment(Dict);

impl Provider for Environment {
    fn metadata(&self) -> Metadata {
        Metadata::named("environment")
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Profile::Default.collect(self.0.clone()))
    }
}

/// Reads both. A file that cannot be read is a problem, but the environment is still read.
pub(super) fn load_sources(
    file: Option<&Path>,
    env: &BTreeMap<String, String>,
    found: &mut Vec<Problem>,
) -> Given {
    let mut figment = Figment::new();
    if let Some(path) = choose(file, env) {
        match read(&path) {
            Ok(toml) => figment = figment.merge(toml),
            Err(problem) => found.push(problem),
        }
    }
    figment = figment.merge(Environment(nest_variables(env)));
    let mut given = Given::new();
    match figment.extract::<Dict>() {
        Ok(dict) => flatten("", dict, &mut given),
        Err(error) => found.extend(error.into_iter().map(|e| Problem::without_key(e.to_string()))),
    }
    given
}

/// Returns the file to read. A file that was named must exist; the usual one may be missing.
fn choose(file: Option<&Path>, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let named = file.map(Path::to_owned).or_else(|| env.get("NOD_CONFIG").map(PathBuf::from));
    named.or_else(|| Some(PathBuf::from(DEFAULT_FILE)).filter(|usual| usual.exists()))
}

fn read(path: &Path) -> Result<impl Provider + use<>, Problem> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Problem::without_key(format!("can't read {shown}: {e}")))?;
    let toml = Toml::string(&text);
    match toml.data() {
        Ok(_) => Ok(toml),
        Err(error) => Err(Problem::without_key(format!("{shown} isn't valid TOML: {}", error.kind))),
    }
}

/// Turns `NOD_SLACK__BOT_TOKEN=x` into `{slack: {bot_token: x}}`. An empty value counts as unset, because compose files
/// and CI use it to leave a variable out.
fn nest_variables(env: &BTreeMap<String, String>) -> Dict {
    let mut dict = Dict::new();
    for (name, text) in env {
        let Some(key) = name.strip_prefix(PREFIX) else { continue };
        if text.is_empty() || RESERVED_VARIABLES.contains(&name.as_str()) {
            continue;
        }
        let path: Vec<String> = key.to_lowercase().split("__").map(str::to_owned).collect();
        insert(&mut dict, &path, Value::from(text.as_str()));
    }
    dict
}

fn insert(dict: &mut Dict, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        dict.insert(first.clone(), value);
        return;
    }
    let below = dict.entry(first.clone()).or_insert_with(|| Value::from(Dict::new()));
    // `NOD_SLACK=x` next to `NOD_SLACK__MODE=y`: the first is not a key and is reported only if it is set without the
    // second; the longer name is the one that was meant.
    if !matches!(below, Value::Dict(..)) {
        *below = Value::from(Dict::new());
    }
    if let Value::Dict(_, below) = below {
        insert(below, rest, value);
    }
}

fn flatten(prefix: &str, dict: Dict, into: &mut Given) {
    for (name, value) in dict {
        let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        match value {
            Value::Dict(_, below) => flatten(&key, below, into),
            leaf => {
                into.insert(key, leaf);
            }
        }
    }
}
