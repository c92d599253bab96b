//! The kinds of values a key can have, and how each is parsed. A number, a switch or a list can also be given as text,
//! because the environment has nothing else.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;
use figment::value::{Num, Value};
use nod_connectors::google::Room;
use secrecy::SecretString;
use url::Url;

/// A kind of value.
pub(super) trait ConfigValue: Sized {
    /// What is wanted, to complete the sentence "wanted …".
    const EXPECTED: &'static str;
    /// Whether the value must not be shown.
    const SECRET: bool = false;
    /// Parses it.
    fn read(given: &Value) -> Option<Self>;
}

/// Formats a given value as a person would write it.
pub(super) fn display_value(given: &Value) -> String {
    match given {
        Value::Array(_, items) => {
            format!("[{}]", items.iter().map(display_value).collect::<Vec<_>>().join(", "))
        }
        Value::Num(_, Num::F32(n)) => n.to_string(),
        Value::Num(_, Num::F64(n)) => n.to_string(),
        Value::Num(_, n) => to_integer(*n).map_or_else(|| "a number".to_owned(), |n| n.to_string()),
        Value::Bool(_, b) => b.to_string(),
        Value::String(_, text) => text.clone(),
        _ => "something else".to_owned(),
    }
}

fn to_integer(number: Num) -> Option<i128> {
    number.to_i128().or_else(|| number.to_u128().and_then(|n| i128::try_from(n).ok()))
}

fn text(given: &Value) -> Option<&str> {
    given.as_str().map(str::trim)
}

impl ConfigValue for String {
    const EXPECTED: &'static str = "text";
    fn read(given: &Value) -> Option<Self> {
        text(given).filter(|t| !t.is_empty()).map(str::to_owned)
    }
}

impl ConfigValue for SecretString {
    const EXPECTED: &'static str = "text in one line, without blanks";
    const SECRET: bool = true;
    fn read(given: &Value) -> Option<Self> {
        let text = text(given).filter(|t| !t.is_empty() && !t.contains(char::is_whitespace))?;
        Some(Self::from(text))
    }
}

/// The URL of a Postgres server. It is a secret because it contains the password.
pub(super) struct DatabaseUrl(pub(super) SecretString);

impl ConfigValue for DatabaseUrl {
    const EXPECTED: &'static str = "postgres://user:password@host:5432/database";
    const SECRET: bool = true;
    fn read(given: &Value) -> Option<Self> {
        let text = text(given)?;
        let url = Url::parse(text).ok()?;
        matches!(url.scheme(), "postgres" | "postgresql").then(|| Self(SecretString::from(text)))
    }
}

impl ConfigValue for Url {
    const EXPECTED: &'static str = "an address like https://example.com/path, without user or password";
    fn read(given: &Value) -> Option<Self> {
        let url = Self::parse(text(given)?).ok()?;
        let plain = matches!(url.scheme(), "http" | "https") && url.has_host();
        (plain && url.username().is_empty() && url.password().is_none()).then_some(url)
    }
}

/// A URL that others are joined to: its path always ends in a slash.
pub(super) struct BaseUrl(pub(super) Url);

impl ConfigValue for BaseUrl {
    const EXPECTED: &'static str = Url::EXPECTED;
    fn read(given: &Value) -> Option<Self> {
        let mut url = <Url as ConfigValue>::read(given)?;
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Some(Self(url))
    }
}

impl ConfigValue for SocketAddr {
    const EXPECTED: &'static str = "an address and a port, like 127.0.0.1:8080";
    fn read(given: &Value) -> Option<Self> {
        text(given)?.parse().ok()
    }
}

impl ConfigValue for PathBuf {
    const EXPECTED: &'static str = "a path";
    fn read(given: &Value) -> Option<Self> {
        text(given).filter(|t| !t.is_empty()).map(Self::from)
    }
}

impl ConfigValue for bool {
    const EXPECTED: &'static str = "true or false";
    fn read(given: &Value) -> Option<Self> {
        given.to_bool().or_else(|| text(given)?.parse().ok())
    }
}

impl ConfigValue for u32 {
    const EXPECTED: &'static str = "a whole number above 0";
    fn read(given: &Value) -> Option<Self> {
        let number = match given {
            Value::Num(_, n) => to_integer(*n).and_then(|n| Self::try_from(n).ok()),
            other => text(other)?.parse().ok(),
        };
        number.filter(|n| *n > 0)
    }
}

/// A number of what is worked on for a person at once.
pub(super) struct UpToFive(pub(super) u32);

impl ConfigValue for UpToFive {
    const EXPECTED: &'static str = "a whole number from 1 to 5";
    fn read(given: &Value) -> Option<Self> {
        <u32 as ConfigValue>::read(given).filter(|number| *number <= 5).map(Self)
    }
}

/// A time in which a person can do something.
pub(super) struct WholeMinutes(pub(super) TimeDelta);

impl ConfigValue for WholeMinutes {
    const EXPECTED: &'static str = "a duration in whole minutes, like 90m or 72h";
    fn read(given: &Value) -> Option<Self> {
        let time = TimeDelta::from_std(<Duration as ConfigValue>::read(given)?).ok()?;
        (TimeDelta::minutes(time.num_minutes()) == time).then_some(Self(time))
    }
}

/// A model's sampling temperature.
pub(super) struct Temperature(pub(super) f32);

impl ConfigValue for Temperature {
    const EXPECTED: &'static str = "a number from 0 to 2";
    fn read(given: &Value) -> Option<Self> {
        let number: f32 = display_value(given).trim().parse().ok()?;
        (0.0..=2.0).contains(&number).then_some(Self(number))
    }
}

/// A hundred years: enough for everything, and small enough that times can be added without overflow.
const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

impl ConfigValue for Duration {
    const EXPECTED: &'static str = "a duration above 0, like 10s, 5m or 24h";
    fn read(given: &Value) -> Option<Self> {
        humantime::parse_duration(text(given)?).ok().filter(|d| !d.is_zero() && *d <= MAX_DURATION)
    }
}

/// A duration that can be zero.
pub(super) struct ZeroableDuration(pub(super) Duration);

impl ConfigValue for ZeroableDuration {
    const EXPECTED: &'static str = "a duration, like 0s, 10s or 1m";
    fn read(given: &Value) -> Option<Self> {
        humantime::parse_duration(text(given)?).ok().filter(|d| *d <= MAX_DURATION).map(Self)
    }
}

/// An undo window in whole seconds, at most an hour: a change of mind after that was not a slip.
pub(super) struct WholeSeconds(pub(super) Duration);

impl ConfigValue for WholeSeconds {
    const EXPECTED: &'static str = "a duration in whole seconds up to an hour, like 0s, 10s or 1m";
    fn read(given: &Value) -> Option<Self> {
        let ZeroableDuration(pause) = ConfigValue::read(given)?;
        (pause.subsec_nanos() == 0 && pause.as_secs() <= 3600).then_some(Self(pause))
    }
}

/// Rooms, each with the address of its calendar.
pub(super) struct Rooms(pub(super) Vec<Room>);

impl ConfigValue for Rooms {
    const EXPECTED: &'static str = "a list like [\"Ada <c_188a@resource.calendar.google.com>\"]";
    fn read(given: &Value) -> Option<Self> {
        Vec::<String>::read(given)?.iter().map(|text| Room::read(text)).collect::<Option<_>>().map(Self)
    }
}

impl ConfigValue for Vec<String> {
    const EXPECTED: &'static str = "a list like [\"A\", \"B\"], or A,B";
    fn read(given: &Value) -> Option<Self> {
        let items: Self = match given {
            Value::Array(_, items) => {
                items.iter().map(|i| i.as_str().map(|t| t.trim().to_owned())).collect::<Option<_>>()?
            }
            other => text(other)?.split(',').map(|t| t.trim().to_owned()).collect(),
        };
        Some(items.into_iter().filter(|t| !t.is_empty()).collect())
    }
}

/// Discord's ids.
pub(super) struct Snowflakes(pub(super) Vec<String>);

impl ConfigValue for Snowflakes {
    const EXPECTED: &'static str =
        "a list of ids like [\"123456789012345678\"], or 123456789012345678,234567890123456789";
    fn read(given: &Value) -> Option<Self> {
        let all = Vec::<String>::read(given)?;
        let digits = |id: &String| id.len() >= 15 && id.bytes().all(|b| b.is_ascii_digit());
        all.iter().all(|id| digits(id) && id.parse::<u64>().is_ok()).then_some(Self(all))
    }
}

/// How Slack reaches Nod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SlackMode {
    /// Nod opens a WebSocket; no public address is needed.
    Socket,
    /// Slack posts to Nod's server.
    Http,
}

impl ConfigValue for SlackMode {
    const EXPECTED: &'static str = "socket or http";
    fn read(given: &Value) -> Option<Self> {
        match text(given)? {
            "socket" => Some(Self::Socket),
            "http" => Some(Self::Http),
            _ => None,
        }
    }
}

/// What is logged.
pub(super) struct LogFilter(pub(super) String);

impl ConfigValue for LogFilter {
    const EXPECTED: &'static str = "a filter like info or info,nod_core=debug";
    fn read(given: &Value) -> Option<Self> {
        let text = text(given)?;
        tracing_subscriber::EnvFilter::try_new(text).ok().map(|_| Self(text.to_owned()))
    }
}
