//! The result, as a table for people and as JSON for a comparison.

use std::time::Duration;

use serde_json::{Value, json};

use super::counters::{Idle, Spent, length};
use super::driver::Taken;
use super::subject::Subject;
use super::turns::Kind;

/// What one round of one build gave.
pub(super) struct Measured {
    pub kinds: Vec<(Kind, Taken, Spent)>,
    pub tasks: Option<Tasks>,
    pub acknowledgements: Vec<Duration>,
    pub idle: Idle,
    /// In KiB.
    pub memory_idle: u64,
    pub memory_peak: u64,
    pub ready_after: Duration,
}

/// What tasks of ten steps gave.
pub(super) struct Tasks {
    pub taken: Taken,
    /// From the end of each step to its tick in the chat.
    pub ticks: Vec<Duration>,
    pub spent: Spent,
}

pub(super) struct Report {
    turns: usize,
    at_once: usize,
    builds: Vec<(String, Vec<Measured>)>,
}

/// One line of the table: what, and the value for each build.
type Line = (String, Vec<f64>);

impl Report {
    pub(super) fn new(subjects: &[Subject], turns: usize, at_once: usize) -> Self {
        let names = subjects.iter().map(|subject| (subject.binary.display().to_string(), Vec::new()));
        Self { turns, at_once, builds: names.collect() }
    }

    pub(super) fn add(&mut self, build: usize, measured: Measured) {
        if let Some((_, rounds)) = self.builds.get_mut(build) {
            rounds.push(measured);
        }
    }

    pub(super) fn to_json(&self) -> String {
        let builds = self.builds.iter().enumerate().map(|(number, (name, _))| {
            let values = self.lines().into_iter().map(|(what, values)| (what, json!(values[number])));
            json!({ "binary": name, "measured": values.collect::<serde_json::Map<String, Value>>() })
        });
        let report =
            json!({ "turns": self.turns, "at_once": self.at_once, "builds": builds.collect::<Vec<_>>() });
        format!("{report:#}")
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!("{} turns of each kind, {} at once\n", self.turns, self.at_once);
        for (number, (name, _)) in self.builds.iter().enumerate() {
            text += &format!("build {}: {name}\n", number + 1);
        }
        for (what, values) in self.lines() {
            let each: Vec<String> = values.iter().map(|value| format!("{value:>10.2}")).collect();
            text += &format!("{what:<46}{}", each.join(""));
            if let [first, .., last] = values.as_slice()
                && *first > 0.0
            {
                text += &format!("{:>10.2} ×", last / first);
            }
            text += "\n";
        }
        text
    }

    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            let of = |value: &dyn Fn(&Taken, &Spent) -> f64| {
                self.each(|measured| {
                    measured.kinds.get(number).map_or(0.0, |(_, taken, spent)| value(taken, spent))
                })
            };
            let a_turn = |value: &dyn Fn(&Spent) -> f64| {
                of(&|taken: &Taken, spent: &Spent| value(spent) / length(taken.walls.len()).max(1.0))
            };
            let mut line =
                |what: &str, values: Vec<f64>| lines.push((format!("{}: {what}", kind.name()), values));
            line("CPU of Nod, ms", a_turn(&|spent| spent.nod_cpu_ms));
            line("CPU of Postgres, ms", a_turn(&|spent| spent.postgres_cpu_ms));
            line("statements", a_turn(&|spent| spent.statements));
            line("commits", a_turn(&|spent| spent.commits));
            line("commits that write", a_turn(&|spent| spent.writing_commits));
            line("WAL, kB", a_turn(&|spent| spent.wal_kb));
            line("calls to Slack", a_turn(&|spent| spent.slack_calls));
            line("calls to Google", a_turn(&|spent| spent.google_calls));
            line("calls to the model", a_turn(&|spent| spent.model_calls));
            line("tokens of prompts", a_turn(&|spent| spent.prompt_tokens));
            line("median, ms", of(&|taken, _| milliseconds(quantile(&taken.walls, 0.5))));
            line("p95, ms", of(&|taken, _| milliseconds(quantile(&taken.walls, 0.95))));
            // The parts of a turn that run at once are counted one after another, so it can be too little.
            let own = |taken: &Taken| quantile(&taken.walls, 0.5).saturating_sub(taken.fakes);
            line("median without the fakes, ms", of(&|taken, _| milliseconds(own(taken))));
            line("turns a second", of(&|taken, _| length(taken.walls.len()) / taken.all.as_secs_f64()));
        }
        lines.extend(self.task_lines());
        let acknowledged =
            |part| self.each(|measured| milliseconds(quantile(&measured.acknowledgements, part)));
        lines.push(("acknowledgement, median, ms".to_owned(), acknowledged(0.5)));
        lines.push(("acknowledgement, p99, ms".to_owned(), acknowledged(0.99)));
        lines.push(("idle: statements a second".to_owned(), self.each(|measured| measured.idle.statements)));
        lines.push(("idle: commits a second".to_owned(), self.each(|measured| measured.idle.commits)));
        lines
            .push(("memory when idle, MB".to_owned(), self.each(|measured| megabytes(measured.memory_idle))));
        lines.push(("memory at most, MB".to_owned(), self.each(|measured| megabytes(measured.memory_peak))));
        lines.push(("ready after, ms".to_owned(), self.each(|measured| milliseconds(measured.ready_after))));
        lines
    }

    fn task_lines(&self) -> Vec<Line> {
        let has_tasks = self.builds.iter().flat_map(|(_, rounds)| rounds).any(|one| one.tasks.is_some());
        if !has_tasks {
            return Vec::new();
        }
        let of =
            |value: &dyn Fn(&Tasks) -> f64| self.each(|measured| measured.tasks.as_ref().map_or(0.0, value));
        let a_step = |value: &dyn Fn(&Spent) -> f64| {
            of(&|tasks: &Tasks| value(&tasks.spent) / length(tasks.ticks.len()).max(1.0))
        };
        let lines = [
            ("CPU of Nod, ms", a_step(&|spent| spent.nod_cpu_ms)),
            ("CPU of Postgres, ms", a_step(&|spent| spent.postgres_cpu_ms)),
            ("statements", a_step(&|spent| spent.statements)),
            ("commits", a_step(&|spent| spent.commits)),
            ("commits that write", a_step(&|spent| spent.writing_commits)),
            ("WAL, kB", a_step(&|spent| spent.wal_kb)),
            ("calls to Slack", a_step(&|spent| spent.slack_calls)),
            ("calls to the model", a_step(&|spent| spent.model_calls)),
            ("tokens of prompts", a_step(&|spent| spent.prompt_tokens)),
            ("end to tick in the chat, median, ms", of(&|tasks| milliseconds(quantile(&tasks.ticks, 0.5)))),
            ("end to tick in the chat, p95, ms", of(&|tasks| milliseconds(quantile(&tasks.ticks, 0.95)))),
            ("ten steps, median, ms", of(&|tasks| milliseconds(quantile(&tasks.taken.walls, 0.5)))),
        ];
        lines.into_iter().map(|(what, values)| (format!("step of a task: {what}"), values)).collect()
    }

    /// Returns the median of a value over the rounds, for each build.
    fn each(&self, value: impl Fn(&Measured) -> f64) -> Vec<f64> {
        let median = |(_, rounds): &(String, Vec<Measured>)| {
            let mut values: Vec<f64> = rounds.iter().map(&value).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        self.builds.iter().map(median).collect()
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn megabytes(kib: u64) -> f64 {
    usize::try_from(kib).map_or(f64::MAX, length) * 1024.0 / 1_000_000.0
}

/// Returns the quantile of the durations (0.5: the median).
fn quantile(times: &[Duration], part: f64) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
    let at = ((length(sorted.len()) * part).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).copied().unwrap_or_default()
}
