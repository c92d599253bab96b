//! The facts of each provider: its endpoint and its API dialect. The files are in `config/presets` and compiled into
//! the program.

use figment::Figment;
use figment::providers::{Format, Toml};
use figment::value::Value;
use nod_connectors::llm::Dialect;
use serde::Deserialize;
use url::Url;

use super::value::ConfigValue;

const FILES: [(&str, &str); 7] = [
    ("openai", include_str!("../../../config/presets/openai.toml")),
    ("anthropic", include_str!("../../../config/presets/anthropic.toml")),
    ("openrouter", include_str!("../../../config/presets/openrouter.toml")),
    ("google", include_str!("../../../config/presets/google.toml")),
    ("groq", include_str!("../../../config/presets/groq.toml")),
    ("ollama", include_str!("../../../config/presets/ollama.toml")),
    ("vllm", include_str!("../../../config/presets/vllm.toml")),
];

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// `openai`, `groq`, …
    #[serde(skip)]
    pub name: String,
    /// Ends in a slash.
    pub base_url: Url,
    /// Whether it refuses requests without a key.
    pub needs_key: bool,
    /// Its API dialect.
    pub dialect: Dialect,
}

impl Preset {
    fn find(name: &str) -> Option<Self> {
        let (name, text) = FILES.iter().find(|(known, _)| *known == name)?;
        let preset: Self = Figment::from(Toml::string(text)).extract().ok()?;
        Some(Self { name: (*name).to_owned(), ..preset })
    }
}

impl ConfigValue for Preset {
    const EXPECTED: &'static str = "one of openai, anthropic, openrouter, google, groq, ollama, vllm";
    fn read(given: &Value) -> Option<Self> {
        Self::find(given.as_str()?.trim())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_preset_can_be_read() {
        for (name, text) in FILES {
            let read: Result<Preset, _> = Figment::from(Toml::string(text)).extract();
            let preset = read.unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(preset.base_url.path().ends_with('/'), "{name}");
            assert!(Preset::EXPECTED.contains(name), "{name}");
            let loopback = preset.base_url.host_str() == Some("127.0.0.1");
            assert_ne!(loopback, preset.needs_key, "{name}");
        }
        assert_eq!(Preset::find("opnai"), None);
    }
}
