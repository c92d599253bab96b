//! The command line: the commands of `nod` and their exit codes.
//!
//! 0: done. 1: it failed, or `nod doctor` found a problem. 2: the input was wrong (a misspelt command or
//! configuration).

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Config, Problems, SlackMode};
use crate::database::{self, Database};
use crate::{app, discord, doctor, documents, eval, logging, policy, server, slack};

/// The longest time that a stop takes before it is cut short.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// An assistant in your chat that only acts once you approve
#[derive(Debug, Parser)]
#[command(name = "nod", version, arg_required_else_help = true)]
struct Cli {
    /// Configuration file [default: NOD_CONFIG, else config/nod.toml]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run Nod until you stop it (Ctrl-C or SIGTERM)
    Run,
    /// Talk to Nod in this terminal, with the configuration and data of `nod run`
    Chat {
        /// Who you are: the address your chat knows you by, or any name [default: USER]
        #[arg(long = "as", value_name = "WHO")]
        user: Option<String>,
    },
    /// Try all of Nod in your browser, on this machine, without any account
    #[cfg(feature = "demo")]
    Demo,
    /// Measure what a turn costs, with fakes and a Postgres of its own
    #[cfg(feature = "demo")]
    Bench(crate::bench::Options),
    /// Bring the database up to date
    Migrate,
    /// Print the manifest for creating an app
    Manifest {
        #[command(subcommand)]
        platform: Manifest,
    },
    /// Print the link that adds Nod to a server
    Invite {
        #[command(subcommand)]
        platform: Invite,
    },
    /// Your own approval rules, on top of the configuration's
    Policy {
        #[command(subcommand)]
        action: PolicyAction,
    },
    /// Check the whole set-up and say how to fix what's wrong
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Keep files as documents, and wait until a running Nod has read them
    Ingest {
        /// Files, and folders of files: PDF, DOCX, HTML, Markdown, CSV, text
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Who may read them: everyone, channel:slack:C0123456789 or person:ana@example.com
        #[arg(long, value_name = "WHO")]
        audience: documents::Audience,
        /// Print a line of JSON for each file
        #[arg(long)]
        json: bool,
    },
    /// Measure how well documents are found: nDCG, recall and time, for each way to search
    Eval {
        /// The folder with docs.jsonl {id, title, text}, queries.jsonl {id, text} and qrels.jsonl {query, doc, rel}
        dir: PathBuf,
        /// Another such folder, whose queries have no answer in the first: how many get "I don't know"
        #[arg(long, value_name = "DIR")]
        foreign: Option<PathBuf>,
        /// A file that keeps the vectors for the next time
        #[arg(long, value_name = "FILE")]
        cache: Option<PathBuf>,
        /// Has the router's model order the best passages of each query once more, with one call for each
        #[arg(long)]
        scored: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Reads documents from standard input; Nod starts this itself
    #[command(hide = true)]
    Parse,
}

#[derive(Debug, Subcommand)]
enum Manifest {
    /// For https://api.slack.com/apps → Create New App → From a manifest
    Slack {
        /// Where browsers and, in http mode, Slack reach Nod [default: server.public_url]
        #[arg(long, value_name = "URL", value_parser = parse_public_url)]
        public_url: Option<url::Url>,
        /// How Slack reaches Nod [default: slack.mode]
        #[arg(long, value_enum)]
        mode: Option<SlackMode>,
        /// Name of the app and its bot
        #[arg(long, default_value = "Nod")]
        name: String,
    },
}

#[derive(Debug, Subcommand)]
enum PolicyAction {
    /// Show the rules in force
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace your own rules with those in a file. config/policy.toml explains them; a file without rules removes
    /// them
    Set {
        /// The file with the rules
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum Invite {
    /// Open it and pick one of the servers you manage
    Discord,
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // The parser process needs none of the setup below, and is smaller and safer without it.
    if matches!(cli.command, Command::Parse) {
        return nod_reading::main();
    }
    // Before anything opens a connection: the HTTP client panics without a provider.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider is already installed");
    }
    let config = Config::load(cli.config.as_deref(), environment());
    if let Command::Manifest { platform: Manifest::Slack { public_url, mode, name } } = &cli.command {
        return manifest(config.as_ref().ok(), name, *mode, public_url.as_ref());
    }
    if let Err(error) = log(&cli.command, config.as_ref().ok()) {
        eprintln!("nod: can't write logs: {error}");
    }
    if let Err(error) = server::raise_open_files() {
        tracing::debug!(%error, "could not raise the open file limit");
    }
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(run_command(cli.command, config));
            // A thread that looks up a host name may hang; shutdown does not wait for it.
            runtime.shutdown_background();
            code
        }
        Err(error) => report_error(&error.into()),
    }
}

/// Logs to standard error, or to a file if the terminal shows a conversation.
fn log(command: &Command, config: Option<&Config>) -> anyhow::Result<()> {
    let filter = config.and_then(|c| c.log.filter.as_deref());
    match (command, config) {
        (Command::Chat { .. }, Some(config)) => {
            std::fs::create_dir_all(&config.data.dir)?;
            let file =
                std::fs::File::options().create(true).append(true).open(config.data.dir.join("chat.log"))?;
            Ok(logging::subscriber_for(filter, Mutex::new(file), false).try_init()?)
        }
        _ => Ok(logging::start(filter)?),
    }
}

fn parse_public_url(text: &str) -> Result<url::Url, String> {
    let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.filter(url::Url::has_host).ok_or_else(|| "write it like https://nod.example.com/".to_owned())
}

/// Prints the manifest. Options that are not given come from the configuration, if it can be read.
fn manifest(
    config: Option<&Config>,
    name: &str,
    mode: Option<SlackMode>,
    public_url: Option<&url::Url>,
) -> ExitCode {
    let mode = mode.or(config.map(|c| c.slack.mode)).unwrap_or(SlackMode::Socket);
    let public_url = public_url.or(config.and_then(|c| c.server.public_url.as_ref()));
    if mode == SlackMode::Http && public_url.is_none() {
        return report_error(&anyhow::anyhow!(
            "in http mode Slack has to know where Nod is: give --public-url or set server.public_url"
        ));
    }
    print(&format!("{:#}", slack::manifest(name, mode, public_url, &app::MENU_ENTRIES)))
}

/// Returns the environment. Names and values that are not UTF-8 cannot be Nod's, so they are skipped.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

async fn run_command(command: Command, config: Result<Config, Problems>) -> ExitCode {
    let config = match (command, config) {
        (Command::Doctor { json }, config) => return doctor::run_checks(config, json).await,
        #[cfg(feature = "demo")]
        (Command::Demo, _) => return to_exit_code(run_until_stopped(crate::demo::run).await),
        #[cfg(feature = "demo")]
        (Command::Bench(options), _) => return to_exit_code(crate::bench::run(options).await),
        (_, Err(problems)) => {
            eprintln!("nod: {problems}");
            return ExitCode::from(2);
        }
        (Command::Migrate, Ok(config)) => return to_exit_code(migrate(&config).await),
        (Command::Invite { platform: Invite::Discord }, Ok(config)) => {
            return to_exit_code(invite(&config).await);
        }
        (Command::Policy { action: PolicyAction::Show { json } }, Ok(config)) => {
            return to_exit_code(policy::show(&config, json).await);
        }
        (Command::Policy { action: PolicyAction::Set { file } }, Ok(config)) => {
            return to_exit_code(policy::set(&config, &file).await);
        }
        (Command::Eval { dir, foreign, cache, scored, json }, Ok(config)) => {
            let ran = eval::run(&config, &dir, foreign.as_deref(), cache.as_deref(), scored, json).await;
            return to_exit_code(ran.map(|text| {
                print(&text);
            }));
        }
        (Command::Ingest { paths, audience, json }, Ok(config)) => {
            return to_exit_code(documents::ingest(&config, &paths, &audience, json).await);
        }
        (Command::Chat { user }, Ok(config)) => return to_exit_code(chat(config, user).await),
        (Command::Run | Command::Manifest { .. } | Command::Parse, Ok(config)) => config,
    };
    to_exit_code(run_until_stopped(|stop| app::run(config, stop)).await)
}

async fn migrate(config: &Config) -> anyhow::Result<()> {
    let database = Database::open_or_join(config).await?;
    let done = database::migrate(&database.pool).await;
    let facts = database::load_info(&database.pool).await;
    database.close().await;
    done?;
    let newest = facts?.newest.unwrap_or_default();
    print(&format!("The database is up to date (migration {newest})."));
    Ok(())
}

async fn invite(config: &Config) -> anyhow::Result<()> {
    let application = match (&config.discord.application_id, app::discord_settings(config)) {
        (Some(id), _) => id.clone(),
        (None, Some(settings)) => discord::probe(settings).await?.identity.application,
        (None, None) => anyhow::bail!("set discord.token or discord.application_id first"),
    };
    print(&discord::invitation(&application));
    Ok(())
}

/// Ctrl-C cancels a turn and not the program, even if no line is being typed.
async fn chat(config: Config, user: Option<String>) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut gone = signal(SignalKind::hangup())?;
    let _interrupt = signal(SignalKind::interrupt())?;
    if !std::io::stdin().is_terminal() {
        anyhow::bail!("nod chat needs a terminal, and standard input isn't one");
    }
    let user = user.or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "me".to_owned());
    let stop = CancellationToken::new();
    let mut talk = Box::pin(app::chat(config, user, stop.clone()));
    tokio::select! {
        ended = &mut talk => return ended,
        _ = terminate.recv() => {}
        _ = gone.recv() => {}
    }
    stop.cancel();
    tokio::time::timeout(SHUTDOWN_TIMEOUT, talk).await.unwrap_or(Ok(()))
}

/// Runs `body` until it ends or a stop signal arrives; then it has [`SHUTDOWN_TIMEOUT`] to finish. A second signal ends it
/// immediately.
async fn run_until_stopped<F: Future<Output = anyhow::Result<()>>>(
    body: impl FnOnce(CancellationToken) -> F,
) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let mut body = Box::pin(body(stop.clone()));
    tokio::select! {
        done = &mut body => return done,
        asked = wait_for_stop_signal() => asked?,
    }
    eprintln!("nod: stopping. Press Ctrl-C again to stop right away");
    stop.cancel();
    tokio::select! {
        done = &mut body => done,
        again = wait_for_stop_signal() => again.and_then(|()| anyhow::bail!("stopped right away, as you asked")),
        () = tokio::time::sleep(SHUTDOWN_TIMEOUT) => anyhow::bail!("didn't stop within {} s", SHUTDOWN_TIMEOUT.as_secs()),
    }
}

async fn wait_for_stop_signal() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn to_exit_code(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report_error(&error),
    }
}

fn report_error(error: &anyhow::Error) -> ExitCode {
    eprintln!("nod: {error:#}");
    ExitCode::FAILURE
}

/// Prints to standard output; a closed pipe (`nod … | head`) is not an error.
pub(crate) fn print(text: &str) -> ExitCode {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_wrong_public_url_is_answered_with_an_example() {
        for wrong in ["nod.example.com", "ftp://nod.example.com", "https://", "  "] {
            let parsed = Cli::try_parse_from(["nod", "manifest", "slack", "--public-url", wrong]);
            let error = parsed.map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("write it like https://nod.example.com/"), "{wrong}: {error}");
        }
        let right = ["nod", "manifest", "slack", "--public-url", "https://nod.example.com"];
        assert!(Cli::try_parse_from(right).is_ok());
    }
}
