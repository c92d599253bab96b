//! What the kernel, Postgres and the fakes have counted so far.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::postgres::Server;
use super::subject::Subject;

/// Linux counts a process's time in hundredths of a second, on every machine that matters.
const TICK: Duration = Duration::from_millis(10);

/// Memory of a process.
pub(super) struct Memory {
    pub resident_kib: u64,
    pub peak_kib: u64,
}

pub(super) fn memory(id: u32) -> anyhow::Result<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let kib = |name: &str| {
        let line =
            status.lines().find_map(|line| line.strip_prefix(name)).context("memory of the process")?;
        anyhow::Ok(line.trim_matches(|c: char| !c.is_ascii_digit()).parse()?)
    };
    Ok(Memory { resident_kib: kib("VmRSS:")?, peak_kib: kib("VmHWM:")? })
}

/// All counters at one time.
pub(super) struct Counters {
    at: Instant,
    nod_cpu: Duration,
    postgres_cpu: Duration,
    statements: i64,
    commits: i64,
    transaction_ids: i64,
    wal_bytes: i64,
    slack_calls: usize,
    google_calls: usize,
    model_calls: usize,
    prompt_bytes: usize,
}

/// What is counted while nobody talks to Nod, in a second.
pub(super) struct Idle {
    pub statements: f64,
    pub commits: f64,
    pub nod_cpu_ms: f64,
    pub postgres_cpu_ms: f64,
}

/// What was counted between two times, without what an idle Nod does.
pub(super) struct Spent {
    pub nod_cpu_ms: f64,
    pub postgres_cpu_ms: f64,
    pub statements: f64,
    pub commits: f64,
    pub writing_commits: f64,
    pub wal_kb: f64,
    pub slack_calls: f64,
    pub google_calls: f64,
    pub model_calls: f64,
    pub prompt_tokens: f64,
}

impl Counters {
    pub(super) async fn read(server: &Server, subject: &Subject, nod: u32) -> anyhow::Result<Self> {
        let pool = server.pool();
        let statements = match server.counts_statements {
            true => {
                let sum = "select coalesce(sum(calls), 0)::bigint from pg_stat_statements s
                           join pg_database d on d.oid = s.dbid where d.datname = $1";
                sqlx::query_scalar(sum).bind(&subject.database).fetch_one(pool).await?
            }
            false => 0,
        };
        let commits = "select xact_commit from pg_stat_database where datname = $1";
        let commits = sqlx::query_scalar(commits).bind(&subject.database).fetch_one(pool).await?;
        let (transaction_ids, wal_bytes, backend): (i64, i64, i32) = sqlx::query_as(
            "select pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
                    (pg_current_wal_insert_lsn() - '0/0')::bigint, pg_backend_pid()",
        )
        .fetch_one(pool)
        .await?;
        let asked = subject.model_usage();
        Ok(Self {
            at: Instant::now(),
            nod_cpu: Process::read(nod)?.own_cpu,
            postgres_cpu: postgres_cpu(u32::try_from(backend)?)?,
            statements,
            commits,
            transaction_ids,
            wal_bytes,
            slack_calls: subject.slack.read(|w| w.calls.len()),
            google_calls: subject.google.calls().len(),
            model_calls: asked.requests,
            prompt_bytes: asked.bytes,
        })
    }

    /// Returns what was counted since `before`.
    pub(super) fn since(&self, before: &Self, idle: &Idle) -> Spent {
        let seconds = (self.at - before.at).as_secs_f64();
        let apart = |now: i64, then: i64| count(now - then);
        let cpu = |now: Duration, then: Duration, idle: f64| {
            ((now - then).as_secs_f64() * 1000.0 - idle * seconds).max(0.0)
        };
        Spent {
            nod_cpu_ms: cpu(self.nod_cpu, before.nod_cpu, idle.nod_cpu_ms),
            postgres_cpu_ms: cpu(self.postgres_cpu, before.postgres_cpu, idle.postgres_cpu_ms),
            statements: apart(self.statements, before.statements) - idle.statements * seconds,
            commits: apart(self.commits, before.commits) - idle.commits * seconds,
            writing_commits: apart(self.transaction_ids, before.transaction_ids),
            wal_kb: apart(self.wal_bytes, before.wal_bytes) / 1000.0,
            slack_calls: length(self.slack_calls - before.slack_calls),
            google_calls: length(self.google_calls - before.google_calls),
            model_calls: length(self.model_calls - before.model_calls),
            // Roughly four characters are a token.
            prompt_tokens: length(self.prompt_bytes - before.prompt_bytes) / 4.0,
        }
    }
}

impl Idle {
    pub(super) fn between(before: &Counters, after: &Counters) -> Self {
        let seconds = (after.at - before.at).as_secs_f64();
        let milliseconds = |now: Duration, then: Duration| (now - then).as_secs_f64() * 1000.0 / seconds;
        Self {
            statements: count(after.statements - before.statements) / seconds,
            commits: count(after.commits - before.commits) / seconds,
            nod_cpu_ms: milliseconds(after.nod_cpu, before.nod_cpu),
            postgres_cpu_ms: milliseconds(after.postgres_cpu, before.postgres_cpu),
        }
    }
}

/// Counts are far below the numbers that a float cannot hold.
#[expect(clippy::cast_precision_loss, reason = "see above")]
fn count(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "as for `count`")]
pub(super) fn length(number: usize) -> f64 {
    number as f64
}

/// What the kernel says about a process.
struct Process {
    parent: u32,
    own_cpu: Duration,
    /// Of its children that have ended.
    ended_cpu: Duration,
}

impl Process {
    fn read(id: u32) -> anyhow::Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).context("the process has ended")?;
        // The name can contain anything; it ends with the last bracket.
        let (_, fields) = stat.rsplit_once(')').context("an unknown /proc")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |at: usize| anyhow::Ok(fields.get(at).context("an unknown /proc")?.parse::<u32>()?);
        Ok(Self {
            parent: number(1)?,
            own_cpu: TICK * (number(11)? + number(12)?),
            ended_cpu: TICK * (number(13)? + number(14)?),
        })
    }
}

/// Returns the time of all processes of the server to which this backend belongs.
fn postgres_cpu(backend: u32) -> anyhow::Result<Duration> {
    let postmaster = Process::read(backend)?.parent;
    let server = Process::read(postmaster)?;
    let mut all = server.own_cpu + server.ended_cpu;
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // A process can end meanwhile.
        if let Some(child) = id.and_then(|id| Process::read(id).ok())
            && child.parent == postmaster
        {
            all += child.own_cpu;
        }
    }
    Ok(all)
}
