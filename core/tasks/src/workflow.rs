//! The workflow: a plan, its steps one after another, and the result.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::context::{Room, TaskContext};
use crate::finish_step::{self, Handover};
use crate::plan::{self, Plan, TaskResult};
use crate::sql::{self, Rows};
use crate::{
    FINALISE, NewTask, PLAN, QUEUED, STEPS, StepAnswer, StepStatus, TASK, Task, TaskStep, ask_user, card,
    command, create_file, create_task, done_since, job, progress, queue,
};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{DeliveryId, RunId};
use nod_contract::model::{CompletionRequest, ModelError, Tier, Turn};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::prompt::{PromptText, SystemPrompt};
use nod_contract::text::fence_untrusted;
use nod_contract::tool::Tool;
use nod_store::audit;
use nod_store::jobs::WorkError;
use nod_store::workflow::{
    self, Acted, GaveUp, Goal, NewStep, Next, StepOutcome, StepResult, Transition, Want, WorkRequest,
    Workflow, WorkflowContext, WorkflowEvent, WorkflowRun,
};
use nod_when::when::local_time;

static PLAN_RULES: LazyLock<Arc<PromptText>> =
    LazyLock::new(|| PromptText::new(&[include_str!("../prompts/plan.md")]));
static RESULT_RULES: LazyLock<Arc<PromptText>> =
    LazyLock::new(|| PromptText::new(&[include_str!("../prompts/finalise.md")]));

/// How often the model may answer in a form that cannot be used.
const MAX_ANSWERS: usize = 2;
/// How much of an earlier step's output the next one is told, in characters: its beginning and its end.
const OUTPUT_HEAD: usize = 8_000;
const OUTPUT_TAIL: usize = 4_000;

/// The nodes, each with those that can follow; drawn in `docs/architecture.md`.
const EDGES: &[(&str, &[&str])] =
    &[(QUEUED, &[PLAN]), (PLAN, &[STEPS]), (STEPS, &[STEPS, FINALISE]), (FINALISE, &[])];

pub(crate) struct Tasks(pub(crate) TaskContext);

#[async_trait]
impl Workflow for Tasks {
    fn name(&self) -> &'static str {
        TASK
    }

    fn edges(&self) -> &'static [(&'static str, &'static [&'static str])] {
        EDGES
    }

    fn goal(&self) -> Goal {
        Goal {
            rules: include_str!("../prompts/step.md"),
            tools: vec![ask_user::tool(&self.0), create_file::tool()],
            ends_by: finish_step::tool(),
        }
    }

    fn begins_by(&self) -> Tool {
        create_task::tool(&self.0)
    }

    async fn begin(
        &self,
        conn: &mut PgConnection,
        request: &WorkRequest<'_>,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let WorkRequest { tenant, turn, conversation, person, words } = *request;
        let id = workflow::run_of_turn(turn);
        if sql::exists(conn, tenant, id).await? {
            return Ok(());
        }
        // Since the tool looked, another one may have begun or ended. That there can be one was said, so it is not refused.
        let (room, _) = queue::find_room(&self.0, conn, (tenant, person)).await?;
        let is_queued = room != Room::Now;
        let note = words.to_owned();
        let new = NewTask { id, title: command::title(words), note, about: None, is_queued };
        command::begin(&self.0, conn, (tenant, conversation, person), new, now).await
    }

    async fn title(&self, conn: &mut PgConnection, run: &WorkflowRun) -> sqlx::Result<String> {
        sql::load_title(conn, run.tenant, run.id).await
    }

    async fn load(&self, conn: &mut PgConnection, run: &WorkflowRun) -> sqlx::Result<Value> {
        let task = sql::load(conn, run.tenant, run.id).await?;
        serde_json::to_value(task).map_err(|error| sqlx::Error::Decode(Box::new(error)))
    }

    async fn step(
        &self,
        run: &WorkflowRun,
        loaded: Value,
        event: Option<&WorkflowEvent>,
        cx: &WorkflowContext<'_>,
    ) -> Result<Transition, WorkError> {
        let task = Task::deserialize(loaded)?;
        Ok(match (run.node.as_str(), event) {
            (QUEUED, _) => leave_queue(),
            (PLAN, _) => make_plan(run, &task, cx).await,
            (STEPS, Some(WorkflowEvent::StepEnded { step, outcome })) => {
                take_outcome(run, &task, (*step, outcome), self.0.limits.answer_within, cx)
            }
            (STEPS, Some(WorkflowEvent::RowsChanged) | None) => go_on(&task, cx),
            (FINALISE, _) => write_result(run, &task, cx).await,
            (node, _) => return Err(format!("a task has no node {node}").into()),
        })
    }

    fn give_up(&self, run: &WorkflowRun, loaded: Value, why: GaveUp) -> Result<Transition, WorkError> {
        let task = Task::deserialize(loaded)?;
        Ok(match (run.node.as_str(), why) {
            (FINALISE, GaveUp::Broken(reason)) if has_output(&task) => {
                finish(run, &task, handed_on_by_steps(&task, &card::sentence(reason)))
            }
            (_, GaveUp::Broken(reason) | GaveUp::Refused(reason)) => {
                fail(run, &task, Rows::GaveUp, reason.to_owned())
            }
        })
    }

    async fn write(
        &self,
        conn: &mut PgConnection,
        run: &WorkflowRun,
        rows: &Value,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        let rows = Rows::deserialize(rows).map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        let has_changed = sql::write(conn, run.tenant, run.id, &rows, now).await?;
        if let Rows::StepFailed { notice, .. } = rows {
            job::enqueue(conn, run.tenant, (notice, self.0.limits.answer_within), now).await?;
        }
        if has_changed {
            progress::show(conn, run.tenant, run.id, now).await?;
        }
        match rows {
            Rows::LeftQueue => {
                let by = Some(run.principal.person);
                audit::insert_entry(conn, run.tenant, by, command::BEGUN, run.id.0, None, &json!({}), now)
                    .await
            }
            Rows::Finished { .. } | Rows::GaveUp => {
                queue::enqueue_after(&self.0, conn, (run.tenant, run.id), now).await
            }
            _ => Ok(()),
        }
    }

    async fn write_acted(
        &self,
        conn: &mut PgConnection,
        run: &WorkflowRun,
        step: RunId,
        acted: Acted,
        now: Timestamp,
    ) -> sqlx::Result<()> {
        done_since::write(&self.0, conn, (run.tenant, run.id), (step, acted), now).await
    }
}

/// Begins a task that was queued.
fn leave_queue() -> Transition {
    Transition {
        wants: Vec::new(),
        rows: to_value(&Rows::LeftQueue),
        next: Next::Go(PLAN),
        audience: Audience::Channel,
    }
}

/// Has a model plan. What it writes is used only if it is a plan; else the wish itself is the one step.
async fn make_plan(run: &WorkflowRun, task: &Task, cx: &WorkflowContext<'_>) -> Transition {
    let wish = Turn::Human { text: task.note.clone() };
    let ask = CompletionRequest {
        tier: Tier::Reasoner,
        system: SystemPrompt::new(Arc::clone(&PLAN_RULES), person_lines(run, cx)),
        turns: [wish].into_iter().chain(task.about_turn(&run.id.short())).collect(),
        tools: Vec::new(),
        response_schema: Some(plan::plan_schema()),
    };
    let planned = match ask_for(ask, plan::parse_plan, cx).await {
        Ok(planned) => planned.unwrap_or_else(|| plan::one_step(&command::title(&task.note))),
        Err(error) => return fail(run, task, Rows::GaveUp, error.to_sentence()),
    };
    let steps = steps_of(planned);
    let begun = RunId(cx.ids.next());
    let wants = steps.first().map(|first| Want::Step(begin_step(task, &steps, first, begun)));
    Transition {
        wants: wants.into_iter().collect(),
        rows: to_value(&Rows::Planned { steps, begun }),
        next: Next::Wait(STEPS),
        audience: Audience::Channel,
    }
}

/// Takes what came out of a step, and begins the next one. An outcome that was taken before changes nothing.
fn take_outcome(
    run: &WorkflowRun,
    task: &Task,
    (ended, outcome): (RunId, &StepOutcome),
    answer_within: TimeDelta,
    cx: &WorkflowContext<'_>,
) -> Transition {
    let is_ended = |step: &&TaskStep| step.run == Some(ended.0) && step.status == StepStatus::Running;
    let Some(step) = task.steps.iter().find(is_ended) else { return wait(task) };
    let number = step.number;
    let handover = match &outcome.result {
        StepResult::Finished(arguments) => {
            Handover::deserialize(arguments).unwrap_or_else(|_| Handover::from_words(""))
        }
        StepResult::Said(words) => Handover::from_words(words),
        StepResult::Failed(reason) => {
            let notice = DeliveryId(cx.ids.next());
            let card = card::failed_step(run.id, task, step, (notice, answer_within), reason);
            return Transition {
                wants: vec![Want::Ask { id: notice, card, audience: outcome.audience }],
                rows: to_value(&Rows::StepFailed {
                    number,
                    reason: reason.clone(),
                    notice,
                    audience: outcome.audience,
                    provenance: outcome.provenance.clone(),
                }),
                next: Next::Wait(STEPS),
                audience: outcome.audience,
            };
        }
    };
    let ended = TaskStep {
        status: match outcome.acted {
            Acted::NoneAsked if !handover.done => StepStatus::NotDone,
            // A mail that went out is something done, whatever the step could not do besides.
            Acted::Fully if !handover.done => StepStatus::Incomplete,
            Acted::NoneAsked | Acted::Fully => StepStatus::Done,
            Acted::Partly => StepStatus::Incomplete,
            Acted::NotAtAll => StepStatus::NotDone,
        },
        waits_for: None,
        summary: Some(handover.step_summary),
        output: Some(handover.step_output_markdown),
        audience: outcome.audience,
        provenance: outcome.provenance.clone(),
        ..step.clone()
    };
    let mut steps = task.steps.clone();
    if let Some(own) = steps.iter_mut().find(|step| step.number == number) {
        own.clone_from(&ended);
    }
    let (begun, wants, next) = begin_next(task, &steps, cx);
    Transition {
        wants: wants.into_iter().collect(),
        rows: to_value(&Rows::StepEnded { number, step: Box::new(ended), begun }),
        next,
        audience: outcome.audience,
    }
}

/// Has a model write the result. If it writes none that can be used, what the last step handed on is the result.
async fn write_result(run: &WorkflowRun, task: &Task, cx: &WorkflowContext<'_>) -> Transition {
    if !has_output(task) {
        return fail(run, task, Rows::GaveUp, "every step was skipped".to_owned());
    }
    let marker = RunId(cx.ids.next()).short();
    let answered =
        task.steps.iter().filter_map(|step| Some(fence(answered(step)?, &step.provenance, &marker)));
    let told: Vec<String> =
        answered.chain(task.steps.iter().filter_map(|step| handed_on(step, None, &marker))).collect();
    let ask = CompletionRequest {
        tier: Tier::Reasoner,
        system: SystemPrompt::new(Arc::clone(&RESULT_RULES), person_lines(run, cx)),
        turns: [Turn::Human { text: task.note.clone() }]
            .into_iter()
            .chain(task.about_turn(&marker))
            .chain([Turn::System { text: told.join("\n\n") }])
            .collect(),
        tools: Vec::new(),
        response_schema: Some(plan::result_schema()),
    };
    let result = match ask_for(ask, plan::parse_result, cx).await {
        Ok(result) => result.unwrap_or_else(|| last_output(task)),
        // What was done is not lost with the one call that would put it together.
        Err(error) => handed_on_by_steps(task, &error.to_sentence()),
    };
    finish(run, task, result)
}

/// Ends the task with its result.
fn finish(run: &WorkflowRun, task: &Task, result: TaskResult) -> Transition {
    let audience = task.audience();
    let provenance =
        task.steps.iter().fold(task.provenance(), |all, step| all.merge(step.provenance.clone()));
    let message = Want::Tell {
        id: card::end_id(run.id),
        card: card::result(run.id, task, &result),
        audience,
        provenance: provenance.clone(),
    };
    let TaskResult { summary, result_markdown: result } = result;
    Transition {
        wants: vec![message],
        rows: to_value(&Rows::Finished { summary, result, audience, provenance }),
        next: Next::Done,
        audience,
    }
}

fn has_output(task: &Task) -> bool {
    task.steps.iter().any(|step| step.output.is_some())
}

/// Returns all that the steps handed on as the result, which no model writes, for this reason.
fn handed_on_by_steps(task: &Task, reason: &str) -> TaskResult {
    TaskResult { summary: format!("{reason} This is what the steps handed on."), ..all_outputs(task) }
}

fn all_outputs(task: &Task) -> TaskResult {
    let outputs = task.steps.iter().filter_map(|step| Some((&step.title, step.output.as_ref()?)));
    let texts: Vec<String> = outputs.map(|(title, output)| format!("**{title}**\n\n{output}")).collect();
    TaskResult { summary: String::new(), result_markdown: texts.join("\n\n") }
}

fn last_output(task: &Task) -> TaskResult {
    let last = task.steps.iter().rev().find(|step| step.output.is_some());
    let summary = last.and_then(|step| step.summary.clone()).unwrap_or_else(|| "It is done.".to_owned());
    let result_markdown = last.and_then(|step| step.output.clone()).unwrap_or_default();
    TaskResult { summary, result_markdown }
}

/// Ends the task with a message that says why.
fn fail(run: &WorkflowRun, task: &Task, rows: Rows, reason: String) -> Transition {
    let audience = task.audience();
    let message = Want::Tell {
        id: card::end_id(run.id),
        card: card::failure(task, run.id, &reason),
        audience,
        provenance: task.provenance(),
    };
    Transition { wants: vec![message], rows: to_value(&rows), next: Next::Failed(reason), audience }
}

/// Begins the next step that is planned, if none is being done or waits for a decision; after the last one, the result.
fn go_on(task: &Task, cx: &WorkflowContext<'_>) -> Transition {
    let steps = &task.steps;
    if steps.iter().any(|step| matches!(step.status, StepStatus::Running | StepStatus::Failed)) {
        return wait(task);
    }
    let (begun, wants, next) = begin_next(task, steps, cx);
    let skipped = steps.iter().filter(|step| step.status == StepStatus::Skipped);
    let withdrawn = skipped.filter_map(|step| step.run).map(|step| Want::Withdraw { step: RunId(step) });
    let rows = begun.map_or(Rows::Nothing, |(number, run)| Rows::StepBegun { number, run });
    Transition {
        wants: withdrawn.chain(wants).collect(),
        rows: to_value(&rows),
        next,
        audience: task.audience(),
    }
}

/// Begins the first step that is planned: its number and run, the wish for it, and where the task continues.
fn begin_next(
    task: &Task,
    steps: &[TaskStep],
    cx: &WorkflowContext<'_>,
) -> (Option<(i16, RunId)>, Option<Want>, Next) {
    let Some(step) = steps.iter().find(|step| step.status == StepStatus::Planned) else {
        return (None, None, Next::Go(FINALISE));
    };
    let run = RunId(cx.ids.next());
    let want = Want::Step(begin_step(task, steps, step, run));
    (Some((step.number, run)), Some(want), Next::Wait(STEPS))
}

fn wait(task: &Task) -> Transition {
    Transition {
        wants: Vec::new(),
        rows: to_value(&Rows::Nothing),
        next: Next::Wait(STEPS),
        audience: task.audience(),
    }
}

/// Asks the model until its answer can be read, which it is told if it cannot; `None` if it never can.
async fn ask_for<T>(
    mut ask: CompletionRequest,
    parse: fn(&str) -> Result<T, String>,
    cx: &WorkflowContext<'_>,
) -> Result<Option<T>, ModelError> {
    for _ in 0..MAX_ANSWERS {
        let answer = cx.complete(&ask).await?;
        match parse(&answer.text) {
            Ok(parsed) => return Ok(Some(parsed)),
            Err(why) => {
                ask.turns.push(Turn::Ai { text: answer.text, calls: Vec::new() });
                ask.turns
                    .push(Turn::System { text: format!("That cannot be used: {why}. Answer once more.") });
            }
        }
    }
    Ok(None)
}

fn person_lines(run: &WorkflowRun, cx: &WorkflowContext<'_>) -> String {
    let principal = &run.principal;
    format!("- Name: {}\n- Local time: {}", principal.name, local_time(cx.clock.now(), &principal.zone))
}

fn steps_of(plan: Plan) -> Vec<TaskStep> {
    let numbered = (1..).zip(plan.plan_steps);
    let number = |at: usize| i16::try_from(at + 1).ok();
    let step = |(number_of_step, planned): (i16, plan::PlannedStep)| TaskStep {
        number: number_of_step,
        title: planned.step,
        detail: planned.detail,
        after: planned.after.into_iter().filter_map(number).collect(),
        status: StepStatus::Planned,
        run: None,
        waits_for: None,
        notice: None,
        activity: Vec::new(),
        answers: Vec::new(),
        summary: None,
        output: None,
        audience: Audience::Channel,
        provenance: Provenance::Trusted,
    };
    numbered.map(step).collect()
}

/// Tells a step the plan with its marks, and what the steps that it comes after have handed on; if it names none, the one
/// before it. Of the others it knows the summaries, so what a step is told does not grow with the plan.
fn begin_step(task: &Task, steps: &[TaskStep], step: &TaskStep, id: RunId) -> NewStep {
    let marker = id.short();
    let is_before = |other: &&TaskStep| other.number < step.number && other.output.is_some();
    let previous: Vec<i16> = steps.iter().rfind(is_before).map(|other| other.number).into_iter().collect();
    let after = if step.after.is_empty() { &previous[..] } else { &step.after[..] };
    let needed: Vec<&TaskStep> = steps.iter().filter(|other| after.contains(&other.number)).collect();
    // What a step that failed was answered is known as well.
    let known = steps.iter().filter(|other| other.output.is_some() || !other.answers.is_empty());
    let provenance = known.clone().fold(task.provenance(), |all, step| all.merge(step.provenance.clone()));
    let audience = known.clone().fold(Audience::Channel, |audience, step| audience.narrow(step.audience));
    let share = Some(needed.len().max(1));
    let mut text = format!("The plan:\n\n{}", card::plan_lines(steps, Some(step.number)));
    for answered in known.clone().filter_map(answered) {
        text.push_str(&format!("\n\n{answered}"));
    }
    let mut own = format!("\n\nYour step: {}. {}", step.number, step.title);
    if !step.detail.is_empty() {
        own.push_str(&format!("\n{}", step.detail));
    }
    // Where a message from outside was planned from, the plan's words may be its words.
    let is_planned_from_outside = task.provenance().is_untrusted();
    if is_planned_from_outside {
        text.push_str(&own);
        own = format!("\n\nDo step {} of the plan.", step.number);
    }
    text = fence(text, &provenance, &marker);
    text.push_str(&own);
    for other in needed {
        if let Some(output) = handed_on(other, share, &marker) {
            text.push_str(&format!("\n\n{output}"));
        }
    }
    let told = task.about_turn(&marker).into_iter().chain([Turn::System { text }]).collect();
    // The title of a task made of a message is somebody else's words, which belong on no card that asks for a nod.
    let label = match &task.about {
        None => format!("your task “{}”, step {}", card::short_title(task), step.number),
        Some(_) => format!("the task that you made of a message, step {}", step.number),
    };
    let typed = known.flat_map(|step| &step.answers).filter(|one| one.is_typed);
    let typed_answers = typed.map(|one| one.answer.clone()).collect();
    NewStep { id, label, words: task.note.clone(), typed_answers, told, audience, provenance }
}

/// Returns what a step asked its person and what they answered, for a model.
fn answered(step: &TaskStep) -> Option<String> {
    let line = |StepAnswer { question, answer, .. }: &StepAnswer| {
        format!("Step {} asked: {question}\nThe person answered: {answer}", step.number)
    };
    let lines: Vec<String> = step.answers.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n\n"))
}

/// Returns what a step handed on, for a model: all of it, or where so many steps are told, its part of the room.
fn handed_on(step: &TaskStep, share: Option<usize>, marker: &str) -> Option<String> {
    let output = step.output.as_deref().filter(|output| !output.trim().is_empty())?;
    let output = match share {
        None => output.to_owned(),
        Some(share) => cut_middle(output, OUTPUT_HEAD / share, OUTPUT_TAIL / share),
    };
    let output = fence(output, &step.provenance, marker);
    let mark = match step.status {
        StepStatus::Incomplete => ", which may not be complete,",
        StepStatus::NotDone => ", which was not done,",
        _ => "",
    };
    Some(format!("Step {}{mark} handed on:\n{output}", step.number))
}

/// Marks a text as one that is not to be followed, if other people's words may be in it.
fn fence(text: String, provenance: &Provenance, marker: &str) -> String {
    match provenance {
        Provenance::Trusted => text,
        Provenance::Untrusted(_) => fence_untrusted(&text, &provenance.sources(), marker),
    }
}

fn cut_middle(text: &str, head: usize, tail: usize) -> String {
    let count = text.chars().count();
    if count <= head + tail {
        return text.to_owned();
    }
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{begin}\n(… {} characters left out …)\n{end}", count - head - tail)
}

fn to_value(rows: &Rows) -> Value {
    // It has no key that is no text, so it can be written as JSON.
    serde_json::to_value(rows).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diagram_in_the_docs_has_these_edges() {
        let docs = include_str!("../../../docs/architecture.md");
        let after = docs.split("<!-- workflow begins -->").nth(1);
        let shown = after.and_then(|rest| rest.split("<!-- workflow ends -->").next());
        let lines =
            EDGES.iter().flat_map(|(from, to)| to.iter().map(move |to| format!("    {from} --> {to}\n")));
        let drawn = format!("```mermaid\nflowchart LR\n{}```", lines.collect::<String>());
        assert_eq!(shown.unwrap_or_default().trim(), drawn);
    }

    #[test]
    fn the_middle_of_a_long_output_is_left_out() {
        assert_eq!(cut_middle("abc", 2, 1), "abc");
        assert_eq!(cut_middle("äbcdefgé", 2, 1), "äb\n(… 5 characters left out …)\né");
    }
}
