//! The open tasks of a person: listed by `task` without words, on their home page, and where no more can be begun.

use uuid::Uuid;

use crate::card::{count, show_button, stop_button};
use crate::context::{Room, TaskLimits};
use crate::{FINALISE, PLAN, QUEUED};
use nod_contract::card::{Block, Card, Row};
use nod_contract::ids::{DeliveryId, RunId};

/// The most tasks of a person that are open or queued: a list of them with their buttons is one message on each platform.
const MAX_LISTED: usize = 8;

/// A task that has not ended.
pub(crate) struct OpenTask {
    pub(crate) id: Uuid,
    pub(crate) title: String,
    /// Where the title is from, if it is not what its person said.
    pub(crate) about_sources: Vec<String>,
    /// The node of its run.
    pub(crate) node: String,
    /// How many steps its plan has.
    pub(crate) steps: i64,
    /// The step that is being done or did not work.
    pub(crate) step: Option<i16>,
    pub(crate) has_failed: bool,
    pub(crate) waits_for: Option<String>,
    /// The message in which it asks something of its person.
    pub(crate) asks: Option<Uuid>,
}

/// Lists open tasks, one a line. `typed` begins one.
pub(crate) fn card(open: &[OpenTask], typed: &str, limits: TaskLimits) -> Card {
    let begin = format!("Tell me what you want done: `{typed}`.");
    if open.is_empty() {
        return Card::from_markdown(format!("You have no open tasks. {begin}"));
    }
    let begin = match room_beside(open, limits) {
        Room::Now => begin,
        Room::Later => format!("{begin} It begins once one of these has ended."),
        Room::Never => "There can be another once one of these has ended.".to_owned(),
    };
    open_tasks_card(open).with_block(Block::Markdown(begin))
}

/// Lists open tasks under a title.
pub(crate) fn open_tasks_card(open: &[OpenTask]) -> Card {
    Card { title: Some("Your open tasks".to_owned()), body: lines(open).collect(), ..Card::default() }
}

/// Returns what becomes of a further task beside these. It overtakes none that is queued.
pub(crate) fn room_beside(open: &[OpenTask], limits: TaskLimits) -> Room {
    let most = usize::try_from(limits.open).unwrap_or(usize::MAX);
    match open.len() {
        MAX_LISTED.. => Room::Never,
        count if count < most && open.iter().all(|task| task.node != QUEUED) => Room::Now,
        _ => Room::Later,
    }
}

/// Says why no further task can be begun.
pub(crate) fn too_many(open: &[OpenTask]) -> String {
    format!("You have {} open or queued already. Nothing was begun.", count(open.len(), "task"))
}

/// Says so, with the tasks.
pub(crate) fn refusal(open: &[OpenTask]) -> Card {
    lines(open).fold(Card::from_markdown(too_many(open)), Card::with_block)
}

/// A title can be the words of somebody else's message, so nothing in it is formatted.
fn lines(open: &[OpenTask]) -> impl Iterator<Item = Block> + '_ {
    open.iter().zip(1..).map(|(task, number)| {
        let line = format!("{number}. {}: {}", task.title, describe_progress(task));
        let show = task.asks.map(|asks| show_button(&format!("Show {number}"), DeliveryId(asks)));
        let stop = stop_button(&format!("Stop {number}"), RunId(task.id));
        Block::Row(Row::new(line, show.into_iter().chain([stop]).collect()))
    })
}

pub(crate) fn describe_progress(task: &OpenTask) -> String {
    let step = task.step.map(|step| format!("step {step} of {}", task.steps));
    match (task.node.as_str(), step) {
        (QUEUED, _) => "queued".to_owned(),
        (PLAN, _) => "planning".to_owned(),
        (FINALISE, _) => "writing the result".to_owned(),
        (_, None) => "between two steps".to_owned(),
        (_, Some(step)) if task.has_failed => format!("{step} did not work and waits for your decision"),
        (_, Some(step)) => match task.waits_for.as_deref() {
            Some("approval") => format!("{step} waits for your nod"),
            Some("answer") => format!("{step} waits for your answer"),
            Some("account") => format!("{step} waits for your account"),
            _ => step,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_words() {
        let at = |node: &str, step: Option<i16>, waits_for: Option<&str>| {
            let waits_for = waits_for.map(str::to_owned);
            let (title, node) = ("Look".to_owned(), node.to_owned());
            let id = Uuid::nil();
            let (has_failed, asks, about_sources) = (false, None, Vec::new());
            describe_progress(&OpenTask {
                id,
                title,
                about_sources,
                node,
                steps: 4,
                step,
                has_failed,
                waits_for,
                asks,
            })
        };
        assert_eq!(at("queued", None, None), "queued");
        assert_eq!(at("plan", None, None), "planning");
        assert_eq!(at("steps", Some(2), None), "step 2 of 4");
        assert_eq!(at("steps", Some(2), Some("approval")), "step 2 of 4 waits for your nod");
        assert_eq!(at("finalise", None, None), "writing the result");
    }
}
