//! What people read of a task.

use chrono::TimeDelta;

use crate::plan::{TaskResult, UNPLANNED};
use crate::{DELETED, NewTask, StepStatus, Task, TaskStep};
use nod_contract::card::{Action, Block, Button, Card, OnClick, Style, truncate};
use nod_contract::ids::{DeliveryId, RunId, named_lane_id};
use nod_contract::privacy::Audience;
use nod_contract::text::group_digits;
use nod_store::workflow::MAX_WISH_CHARS;

/// The kinds of the buttons of tasks.
pub(crate) const RUN_AGAIN: &str = "run_task_again";
pub(crate) const TRY_STEP_AGAIN: &str = "try_step_again";
pub(crate) const SKIP_STEP: &str = "skip_step";
pub(crate) const SHOW_DETAILS: &str = "show_task_details";
pub(crate) const SHOW_RAW: &str = "show_raw_result";
pub(crate) const AS_FILE: &str = "result_as_file";

/// The most that its card shows of what a step has looked at: one line on a phone.
const MAX_ACTIVITY: usize = 4;
/// How much of the title of a task names it, in characters.
const MAX_NAMED_CHARS: usize = 50;

/// Where a task's run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Queued,
    Planning,
    Working,
    WritingResult,
    Done,
    Failed,
    Stopped,
}

impl Phase {
    /// Whether it has not ended.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Queued | Self::Planning | Self::Working | Self::WritingResult)
    }
}

/// Returns how many there are of something.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn button(label: &str, style: Style, action: Action) -> Button {
    Button { label: label.to_owned(), style, on_click: OnClick::Action(action) }
}

/// Returns the button that stops a task.
pub(crate) fn stop_button(label: &str, run: RunId) -> Button {
    button(label, Style::Danger, Action::new("stop_run", run))
}

/// Returns the button that shows a message again, to whoever may read it.
pub(crate) fn show_button(label: &str, message: DeliveryId) -> Button {
    button(label, Style::Plain, Action::new("show_privately", message))
}

/// Says that a task was begun in the direct messages. Its title can be somebody else's words, so nothing in it is formatted.
/// `is_cut` if only the beginning of a long message was read.
pub(crate) fn begun_card(task: &NewTask, is_cut: bool) -> Card {
    let mut text = match task.is_queued {
        true => "I have queued a task: it begins once another one of yours has ended.",
        false => "I have begun a task.",
    }
    .to_owned();
    text.push_str(" See our direct messages.");
    if is_cut {
        text.push_str(&format!(
            " The message is long: I only read its first {} characters.",
            group_digits(MAX_WISH_CHARS)
        ));
    }
    Card::from_markdown(text).with_block(Block::Fields(vec![("Task".to_owned(), task.title.clone())]))
}

/// Draws the card that shows how far a task is. Where others read it too, what only its owner may read is left out.
pub(crate) fn progress(run: RunId, task: &Task, (owner, is_shared): (&str, bool), phase: Phase) -> Card {
    let mut body = vec![Block::Note(first_line(task, (owner, is_shared), phase))];
    let of_all = |step: &TaskStep| {
        let is_private = is_shared && step.audience != Audience::Channel;
        TaskStep { summary: step.summary.clone().filter(|_| !is_private), ..step.clone() }
    };
    if !task.steps.is_empty() {
        let steps: Vec<TaskStep> = task.steps.iter().map(of_all).collect();
        body.push(Block::Literal(plan_lines(&steps, None)));
    }
    if let Some(line) = phase.is_open().then(|| activity_line(task)).flatten() {
        body.push(Block::Note(line));
    }
    if task.steps.iter().any(|step| step.detail == UNPLANNED) {
        body.push(Block::Note("I could not make a plan, so all of it is one step.".to_owned()));
    }
    let mut buttons = match phase.is_open() {
        true => vec![stop_button("Stop", run)],
        false if task.note == DELETED => Vec::new(),
        false => vec![button("Run again", Style::Plain, Action::new(RUN_AGAIN, run))],
    };
    if task.note != DELETED && !task.steps.is_empty() {
        buttons.push(button("Show details", Style::Plain, Action::new(SHOW_DETAILS, run)));
    }
    Card {
        title: Some(task.title.clone()),
        body,
        buttons,
        notice: Some(format!("Task: {}", task.title)),
        ..Card::default()
    }
}

fn first_line(task: &Task, (owner, is_shared): (&str, bool), phase: Phase) -> String {
    let count = task.steps.len();
    let done = task.count_done();
    let steps = self::count(count, "step");
    let ended = if done < count { format!("{done} of {steps}") } else { steps.clone() };
    match phase {
        Phase::Queued => format!("{owner}'s task · Queued until another one has ended"),
        Phase::Planning => format!("{owner}'s task · Planning…"),
        Phase::WritingResult => format!("{owner}'s task · {ended} done · Writing the result…"),
        Phase::Done => {
            let minutes = task.finished_at.map(|at| (at - task.created_at).num_minutes()).unwrap_or_default();
            let took = match minutes {
                ..=0 => String::new(),
                1..120 => format!(", {minutes} min"),
                120..2_880 => format!(", {} h", minutes / 60),
                _ => format!(", {} days", minutes / 1_440),
            };
            format!("{owner}'s task · {} · {ended}{took}", how_far(task))
        }
        Phase::Failed | Phase::Stopped => {
            let how = if phase == Phase::Failed { "Failed" } else { "Stopped" };
            match count {
                0 => format!("{owner}'s task · {how} · No plan was made"),
                _ => format!("{owner}'s task · {how} · {done} of {steps} done"),
            }
        }
        Phase::Working => {
            let is_current =
                |step: &&TaskStep| matches!(step.status, StepStatus::Running | StepStatus::Failed);
            let current = task.steps.iter().find(is_current);
            let number = current.map_or(done.max(1), |step| usize::try_from(step.number).unwrap_or_default());
            let waits = match current.and_then(|step| step.waits_for.as_deref()) {
                Some(_) if is_shared => format!(" · Waits for {owner}."),
                Some("approval") => " · Waits for your nod, in the message below.".to_owned(),
                Some("answer") => " · Waits for your answer, in the message below.".to_owned(),
                Some("account") => " · Waits for your account, see the message below.".to_owned(),
                _ if task.failed_step().is_some() && is_shared => {
                    format!(" · It did not work, and {owner} decides how to go on.")
                }
                _ if task.failed_step().is_some() => " · It did not work: see the message below.".to_owned(),
                _ => String::new(),
            };
            let is_open = |step: &&TaskStep| {
                matches!(step.status, StepStatus::Planned | StepStatus::Running | StepStatus::Failed)
            };
            let past = count - task.steps.iter().filter(is_open).count();
            let percent = (past * 100).checked_div(count).unwrap_or_default();
            format!("{owner}'s task · step {number} of {count} · {} {percent} %{waits}", bar(past, count))
        }
    }
}

/// Returns the beginning of a task's title, where a card only names the task that asks.
pub(crate) fn short_title(task: &Task) -> String {
    truncate(&task.title, MAX_NAMED_CHARS)
}

/// Says how much of a task that has ended was done, by the marks of its steps.
fn how_far(task: &Task) -> &'static str {
    describe_end(task.count_done(), task.count_incomplete(), task.steps.len())
}

/// The same of its steps by number.
pub(crate) fn describe_end(done: usize, incomplete: usize, all: usize) -> &'static str {
    match done {
        0 if incomplete > 0 => "May not be complete",
        0 => "Not done",
        done if done < all => "Partly done",
        _ => "Done",
    }
}

/// Says that Nod died on the way.
pub(crate) fn interruption() -> Block {
    Block::Note("Went on after an interruption.".to_owned())
}

/// Says what the step that is being done has looked at, unless it waits: the latest of it, newest last.
fn activity_line(task: &Task) -> Option<String> {
    let step =
        task.steps.iter().find(|step| step.status == StepStatus::Running && step.waits_for.is_none())?;
    let latest = &step.activity[step.activity.len().saturating_sub(MAX_ACTIVITY)..];
    (!latest.is_empty()).then(|| latest.join(" · ") + "…")
}

fn bar(done: usize, count: usize) -> String {
    "▰".repeat(done) + &"▱".repeat(count.saturating_sub(done))
}

/// Returns the plan with its marks, one step a line. `current` is marked as the one that is being done.
pub(crate) fn plan_lines(steps: &[TaskStep], current: Option<i16>) -> String {
    let line = |step: &TaskStep| {
        let mark = match step.status {
            StepStatus::Done => '✓',
            StepStatus::Incomplete => '◐',
            StepStatus::Failed => '✗',
            StepStatus::Skipped | StepStatus::NotDone => '–',
            StepStatus::Stopped => '■',
            StepStatus::Running => '▸',
            StepStatus::Planned if current == Some(step.number) => '▸',
            StepStatus::Planned => '○',
        };
        let said = step.summary.as_deref().filter(|summary| !summary.is_empty());
        let summary = match (step.status, said) {
            (StepStatus::Failed, _) => " — did not work".to_owned(),
            (StepStatus::Skipped, _) => " — skipped".to_owned(),
            (StepStatus::Stopped, _) => " — stopped".to_owned(),
            (StepStatus::Incomplete | StepStatus::NotDone, said) => {
                let how_far = match step.status {
                    StepStatus::Incomplete => "may not be complete",
                    _ => "not done",
                };
                format!(" — {how_far}. {}", said.unwrap_or_default()).trim_end().to_owned()
            }
            (_, said) => said.map(|said| format!(" — {said}")).unwrap_or_default(),
        };
        format!("{mark} {} {}{summary}", step.number, step.title)
    };
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Writes the message that asks how to go on with a step that failed.
pub(crate) fn failed_step(
    run: RunId,
    task: &Task,
    step: &TaskStep,
    (notice, within): (DeliveryId, TimeDelta),
    reason: &str,
) -> Card {
    Card {
        title: Some(format!("Step {} did not work: {}", step.number, step.title)),
        body: vec![
            Block::Markdown(sentence(reason)),
            Block::Note(format!(
                "If nobody decides within {}, the rest of the task is skipped.",
                in_words(within)
            )),
            Block::Note(format!("Asked by your task “{}” · run {}", short_title(task), run.short())),
        ],
        buttons: vec![
            button("Try this step again", Style::Primary, Action::new(TRY_STEP_AGAIN, notice)),
            button("Skip it", Style::Plain, Action::new(SKIP_STEP, notice)),
            stop_button("Stop", run),
        ],
        ..Card::default()
    }
}

fn in_words(time: TimeDelta) -> String {
    let (number, unit) = match time.num_minutes() {
        minutes if minutes >= 5_760 && minutes % 1_440 == 0 => (minutes / 1_440, "day"),
        minutes if minutes % 60 == 0 => (minutes / 60, "hour"),
        minutes => (minutes, "minute"),
    };
    count(usize::try_from(number).unwrap_or_default(), unit)
}

/// Writes the line that reminds of that message.
pub(crate) fn reminder(number: i16, person: &str, until: &str) -> String {
    format!(
        "{person}, step {number} of your task did not work, and waits for your decision. Without one, the rest of your task is \
         skipped at {until}."
    )
}

/// Writes what becomes of that message.
pub(crate) fn decided_step(number: i16, decision: &str) -> Card {
    Card { body: vec![Block::Note(format!("Step {number} did not work → {decision}"))], ..Card::default() }
}

/// Writes the message that brings the result. Its title says no more than the marks of the steps.
pub(crate) fn result(run: RunId, task: &Task, result: &TaskResult) -> Card {
    let TaskResult { summary, result_markdown: text } = result;
    let text = match text.trim_start().starts_with(summary.trim()) {
        true => text.clone(),
        false => format!("{summary}\n\n{text}"),
    };
    Card {
        title: Some(format!("{}: {}", how_far(task), task.title)),
        body: vec![Block::Markdown(text)],
        buttons: vec![
            button("Raw", Style::Plain, Action::new(SHOW_RAW, run)),
            button("As a file", Style::Plain, Action::new(AS_FILE, run)),
        ],
        ..Card::default()
    }
}

/// Writes the message that says why a task ended without a result.
pub(crate) fn failure(task: &Task, run: RunId, reason: &str) -> Card {
    let done = task.count_done();
    let kept = match done {
        _ if task.count_incomplete() > 0 => "What its steps did before that stands.".to_owned(),
        0 => "No step was done before that.".to_owned(),
        1 => "One step was done before that; what it did stands.".to_owned(),
        n => format!("{n} steps were done before that; what they did stands."),
    };
    let how_far = if done + task.count_incomplete() > 0 { "Not finished" } else { "Not done" };
    Card {
        title: Some(format!("{how_far}: {}", task.title)),
        body: vec![
            Block::Markdown(format!("{} {kept}", sentence(reason))),
            Block::Note(format!("run {}", run.short())),
        ],
        ..Card::default()
    }
}

pub(crate) fn sentence(reason: &str) -> String {
    let mut letters = reason.trim().chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let rest = letters.as_str();
    let end = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{end}")
}

/// Returns the id of the message that ends a task: the same if its end is decided again.
pub(crate) fn end_id(run: RunId) -> DeliveryId {
    DeliveryId(named_lane_id(&["end of a task", &run.to_string()]))
}
