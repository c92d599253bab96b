//! Logging: what is logged, and where; by default to standard error, for people. Targets that are known to write
//! secrets or the content of mail stay quiet whatever filter an operator sets.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::{EnvFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// The filter if none is configured.
pub const DEFAULT: &str =
    "info,serenity=error,slack_morphism=off,async_openai=off,yup_oauth2=off,hyper=warn,rmcp=warn,sqlx=warn";

/// The maximum level of these targets. yup_oauth2 logs tokens, async_openai whole bodies, slack_morphism the URL of a
/// socket with its ticket when a dial fails (we log that failure ourselves); the others log headers and bodies at debug
/// level. serenity warns with the full payload that it cannot parse. sqlx, which can log statements, is limited only by
/// `DEFAULT`.
const LEVEL_CAPS: [(&str, LevelFilter); 11] = [
    ("yup_oauth2", LevelFilter::OFF),
    ("async_openai", LevelFilter::OFF),
    ("serenity", LevelFilter::ERROR),
    ("slack_morphism", LevelFilter::OFF),
    ("hyper", LevelFilter::WARN),
    ("hyper_util", LevelFilter::WARN),
    ("h2", LevelFilter::WARN),
    ("reqwest", LevelFilter::WARN),
    ("rustls", LevelFilter::WARN),
    ("tungstenite", LevelFilter::WARN),
    ("rmcp", LevelFilter::WARN),
];

/// Starts logging for the lifetime of the program.
///
/// # Errors
/// If logging was started before.
pub fn start(filter: Option<&str>) -> Result<(), TryInitError> {
    subscriber_for(filter, std::io::stderr, std::io::stderr().is_terminal()).try_init()
}

/// Returns the same subscriber, not started, with another writer.
pub fn subscriber_for<W>(filter: Option<&str>, into: W, ansi: bool) -> impl tracing::Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    // The filter is a layer of its own: as that of another layer, `tracing::enabled!` would say yes to everything, and
    // sqlx would format each statement for a log that does not take it.
    let lines = tracing_subscriber::fmt::layer().with_writer(into).with_ansi(ansi);
    registry().with(env_filter(filter)).with(lines)
}

/// Returns a registry with the caps, which apply to every layer added later.
fn registry() -> impl tracing::Subscriber + for<'s> tracing_subscriber::registry::LookupSpan<'s> {
    Registry::default().with(level_caps())
}

fn level_caps() -> Targets {
    Targets::new().with_default(LevelFilter::TRACE).with_targets(LEVEL_CAPS)
}

/// What `nod_core` means in a filter: operators need not know the core's crates.
const CORE: [&str; 11] = [
    "nod_contract",
    "nod_when",
    "nod_store",
    "nod_people",
    "nod_accounts",
    "nod_requests",
    "nod_knowledge",
    "nod_memory",
    "nod_feedback",
    "nod_agent",
    "nod_inbox",
];

/// Merges the operator's filter over the default: a bare `debug` changes only the level of our own modules.
fn env_filter(filter: Option<&str>) -> EnvFilter {
    let whole_core = |text: &str| {
        let each = |directive: &str| match directive.trim().strip_prefix("nod_core=") {
            Some(level) => CORE.map(|part| format!("{part}={level}")).join(","),
            None => directive.to_owned(),
        };
        text.split(',').map(each).collect::<Vec<_>>().join(",")
    };
    filter
        .and_then(|text| EnvFilter::try_new(format!("{DEFAULT},{}", whole_core(text))).ok())
        .unwrap_or_else(|| EnvFilter::new(DEFAULT))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged_lines(filter: Option<&str>) -> String {
        let page = Buffer::default();
        let writer = page.clone();
        tracing::subscriber::with_default(subscriber_for(filter, move || writer.clone(), false), || {
            tracing::debug!(target: "nod_agent::run", "a step");
            tracing::info!(target: "nod_agent::run", "a run");
            tracing::error!(target: "yup_oauth2", "hidden token");
            tracing::error!(target: "async_openai::client", "hidden body");
            tracing::debug!(target: "hyper::proto", "hidden header");
            tracing::info!(target: "slack_morphism", "hidden payload");
            tracing::error!(target: "slack_morphism", "hidden ticket");
            tracing::warn!(target: "nod_bot::slack", "a lost connection");
        });
        let bytes = page.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn secrets_stay_out_whatever_is_asked_for() {
        for filter in [None, Some("debug"), Some("trace,yup_oauth2=trace,async_openai=trace,hyper=debug")] {
            let text = logged_lines(filter);
            assert!(!text.contains("hidden"), "{filter:?}: {text}");
            assert!(text.contains("a lost connection") && text.contains("a run"), "{filter:?}: {text}");
        }
    }

    #[test]
    fn a_statement_is_formatted_only_for_a_log_that_takes_it() {
        let is_logged = |filter| {
            tracing::subscriber::with_default(
                subscriber_for(filter, std::io::sink, false),
                || tracing::enabled!(target: "sqlx::query", tracing::Level::DEBUG),
            )
        };
        assert!(!is_logged(None) && !is_logged(Some("debug")));
        assert!(is_logged(Some("sqlx=debug")));
    }

    #[test]
    fn the_operators_filter_is_heard() {
        assert!(!logged_lines(None).contains("a step"));
        assert!(logged_lines(Some("debug")).contains("a step"));
        assert!(logged_lines(Some("nod_core=debug")).contains("a step"));
        assert!(!logged_lines(Some("error")).contains("a run"));
    }
}
