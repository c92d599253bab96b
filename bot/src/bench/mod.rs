//! `nod bench`: what a turn costs. Runs one or several builds of `nod` as real processes, in turns, over the fakes and a
//! Postgres of its own, and prints what each kind of turn takes of the machine, the database and the vendors.
//!
//! It drives a build through its public doors and its environment alone, so that builds of different ages can be
//! compared (only the steps of a task are read from the database). It stops at the first answer that is lost, and after the
//! kind of turn of which one came twice.

mod company;
mod counters;
mod driver;
pub mod fill;
mod postgres;
mod report;
mod subject;
mod turns;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use counters::{Counters, Idle};
use driver::Driver;
use fill::HeldBy;
use postgres::Server;
use report::{Measured, Report, Tasks};
use subject::Subject;
use turns::Kind;

/// What is measured.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// A build of nod to measure, once or more often [default: this one]
    #[arg(long = "binary", value_name = "PATH")]
    binaries: Vec<PathBuf>,
    /// Turns of each kind, in each round
    #[arg(long, default_value_t = 200, value_parser = at_least_one)]
    turns: usize,
    /// How often the builds take turns
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    rounds: usize,
    /// Conversations at once
    #[arg(long, default_value_t = 8, value_parser = at_least_one)]
    at_once: usize,
    /// Also give it so many tasks of ten steps, one after another
    #[arg(long, default_value_t = 0)]
    tasks: usize,
    /// Fill the database first, with copies of the first turns, to about so many runs
    #[arg(long, value_name = "RUNS")]
    fill: Option<u32>,
    /// Also print, per turn, how often each statement runs, its time and its WAL
    #[arg(long)]
    statements: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "write a number from 1 on".to_owned())
}

/// Backends report their statistics when they have been idle for ten seconds.
const SETTLE: Duration = Duration::from_secs(11);
/// Events a second for the acknowledgements, of which every third is answered, and for how long.
const EVENTS_A_SECOND: u32 = 300;
const FLOOD: Duration = Duration::from_secs(5);

/// Runs the measurement and prints its result.
///
/// # Errors
/// If something does not start, or if an answer is lost or comes twice.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("a folder for the measurement")?;
    let server = Server::start(folder.path()).await?;
    let measured = measure(&options, &server, folder.path()).await;
    server.stop().await;
    if measured.is_err() {
        // The log of the build is in it.
        let _ = folder.keep();
    }
    let report = measured?;
    crate::cli::print(&if options.json { report.to_json() } else { report.to_text() });
    Ok(())
}

async fn measure(options: &Options, server: &Server, folder: &std::path::Path) -> anyhow::Result<Report> {
    let binaries = match options.binaries.as_slice() {
        [] => vec![std::env::current_exe().context("this program's own path")?],
        some => some.to_vec(),
    };
    let mut subjects = Vec::new();
    for (number, binary) in binaries.into_iter().enumerate() {
        subjects.push(Subject::prepare(binary, number, server, folder).await?);
    }
    let mut report = Report::new(&subjects, options.turns * options.rounds, options.at_once);
    for round in 0..options.rounds {
        for (number, subject) in subjects.iter().enumerate() {
            eprintln!("nod: round {} of {}, {}", round + 1, options.rounds, subject.binary.display());
            let measured = measure_once(subject, server, options, round).await;
            let measured = measured.with_context(|| format!("see {}", subject.log.display()))?;
            report.add(number, measured);
        }
    }
    Ok(report)
}

/// Starts the build, measures each kind of turn, and stops it.
async fn measure_once(
    subject: &Subject,
    server: &Server,
    options: &Options,
    round: usize,
) -> anyhow::Result<Measured> {
    let nod = subject.start().await?;
    let mut driver = Driver::new(subject);
    if round == 0 {
        driver.connect_accounts().await?;
    }
    // Everybody is known and every connection is open.
    for kind in Kind::ALL {
        driver.run(kind, options.at_once * 3, options.at_once).await?;
    }
    driver.wait_until_quiet().await?;
    if let Some(runs) = options.fill.filter(|_| round == 0) {
        fill::fill(&subject.url, runs, HeldBy::TheSame).await.context("could not fill the database")?;
    }
    subject.vacuum().await?;
    tokio::time::sleep(SETTLE).await;
    let count = async || Counters::read(server, subject, nod.id).await;
    let memory_idle = counters::memory(nod.id)?.resident_kib;
    let begun = count().await?;
    tokio::time::sleep(SETTLE).await;
    let idle = Idle::between(&begun, &count().await?);
    let mut kinds = Vec::new();
    for kind in Kind::ALL {
        subject.vacuum().await?;
        if options.statements {
            server.forget_statements().await?;
        }
        let before = count().await?;
        let taken = driver.run(kind, options.turns, options.at_once).await?;
        driver.wait_until_quiet().await?;
        driver.check_every_answer()?;
        tokio::time::sleep(SETTLE).await;
        kinds.push((kind, taken, count().await?.since(&before, &idle)));
        if options.statements {
            eprintln!("nod: {}, a turn: times, microseconds, bytes of WAL, statement", kind.name());
            for line in server.list_statements(&subject.database, options.turns).await? {
                eprintln!("{line}");
            }
        }
    }
    let acknowledgements = driver.flood(EVENTS_A_SECOND, FLOOD).await?;
    driver.wait_until_quiet().await?;
    driver.check_every_answer()?;
    let mut tasks = None;
    if options.tasks > 0 {
        subject.vacuum().await?;
        let before = count().await?;
        let (taken, ticks) = driver.run_tasks(options.tasks).await?;
        driver.wait_until_quiet().await?;
        tokio::time::sleep(SETTLE).await;
        tasks = Some(Tasks { taken, ticks, spent: count().await?.since(&before, &idle) });
    }
    let memory_peak = counters::memory(nod.id)?.peak_kib;
    let ready_after = nod.ready_after;
    nod.stop().await?;
    Ok(Measured { kinds, tasks, acknowledgements, idle, memory_idle, memory_peak, ready_after })
}
