//! The plan of a task, and what a model answers to its two questions.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::MAX_TITLE_CHARS;
use nod_contract::card::truncate;

/// The most steps of a plan.
const MAX_STEPS: usize = 10;
/// The detail of the one step where no plan could be made.
pub(crate) const UNPLANNED: &str = "No plan could be made, so this step is the whole wish.";
const MAX_DETAIL_CHARS: usize = 400;
const MAX_SUMMARY_CHARS: usize = 300;
const MAX_RESULT_CHARS: usize = 20_000;

/// A plan as a model writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Plan {
    pub(crate) plan_steps: Vec<PlannedStep>,
}

/// A step of a plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedStep {
    pub(crate) step: String,
    #[serde(default)]
    pub(crate) detail: String,
    /// Indexes of earlier steps, from 0.
    #[serde(default)]
    pub(crate) after: Vec<usize>,
}

/// A result as a model writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TaskResult {
    pub(crate) summary: String,
    pub(crate) result_markdown: String,
}

/// Returns the schema of a plan.
pub(crate) fn plan_schema() -> (String, Value) {
    let step = json!({
        "type": "object",
        "properties": {
            "step": { "type": "string", "minLength": 1, "maxLength": MAX_TITLE_CHARS },
            "detail": { "type": "string", "maxLength": MAX_DETAIL_CHARS },
            "after": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
        },
        "required": ["step", "detail", "after"],
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "properties": { "planSteps": { "type": "array", "minItems": 1, "maxItems": MAX_STEPS, "items": step } },
        "required": ["planSteps"],
        "additionalProperties": false,
    });
    ("task_plan".to_owned(), schema)
}

/// Returns the schema of a result.
pub(crate) fn result_schema() -> (String, Value) {
    let schema = json!({
        "type": "object",
        "properties": {
            "summary": { "type": "string", "minLength": 1, "maxLength": MAX_SUMMARY_CHARS },
            "resultMarkdown": { "type": "string", "minLength": 1, "maxLength": MAX_RESULT_CHARS },
        },
        "required": ["summary", "resultMarkdown"],
        "additionalProperties": false,
    });
    ("task_result".to_owned(), schema)
}

/// Reads a plan; the error is for the model.
pub(crate) fn parse_plan(text: &str) -> Result<Plan, String> {
    let mut plan: Plan = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
    let count = plan.plan_steps.len();
    if !(1..=MAX_STEPS).contains(&count) {
        return Err(format!("a plan has 1 to {MAX_STEPS} steps, and this one has {count}"));
    }
    for (at, step) in plan.plan_steps.iter_mut().enumerate() {
        step.step = truncate(&step.step, MAX_TITLE_CHARS);
        step.detail = step.detail.trim().chars().take(MAX_DETAIL_CHARS).collect();
        if step.step.is_empty() {
            return Err(format!("step {at} says nothing"));
        }
        if let Some(other) = step.after.iter().find(|other| **other >= at) {
            return Err(format!("step {at} cannot come after step {other}: name earlier steps only"));
        }
        step.after.sort_unstable();
        step.after.dedup();
    }
    Ok(plan)
}

/// Makes the wish itself the only step.
pub(crate) fn one_step(title: &str) -> Plan {
    let detail = UNPLANNED.to_owned();
    Plan { plan_steps: vec![PlannedStep { step: title.to_owned(), detail, after: Vec::new() }] }
}

/// Reads a result; the error is for the model.
pub(crate) fn parse_result(text: &str) -> Result<TaskResult, String> {
    let mut result: TaskResult = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
    result.summary = truncate(&result.summary, MAX_SUMMARY_CHARS);
    result.result_markdown = result.result_markdown.trim().chars().take(MAX_RESULT_CHARS).collect();
    match result.summary.is_empty() || result.result_markdown.is_empty() {
        true => Err("a result has a summary and a text".to_owned()),
        false => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_cannot_be_followed_is_refused() {
        let plan = |steps: Value| {
            parse_plan(&json!({ "planSteps": steps }).to_string()).map(|plan| plan.plan_steps.len())
        };
        let step = |after: &[usize]| json!({ "step": "Look", "detail": "", "after": after });
        assert_eq!(plan(json!([step(&[]), step(&[0]), step(&[1, 0, 1])])), Ok(3));
        for (steps, why) in [
            (json!([]), "a plan has 1 to 10 steps, and this one has 0"),
            (Value::Array(vec![step(&[]); 50]), "a plan has 1 to 10 steps, and this one has 50"),
            (json!([step(&[1]), step(&[0])]), "step 0 cannot come after step 1: name earlier steps only"),
            (json!([step(&[0])]), "step 0 cannot come after step 0: name earlier steps only"),
            (json!([{ "step": " \n", "detail": "", "after": [] }]), "step 0 says nothing"),
        ] {
            assert_eq!(plan(steps), Err(why.to_owned()));
        }
        assert!(parse_plan("1. Look").is_err());
        assert!(parse_plan(r#"{"planSteps":[{"step":"Look","do":"it"}]}"#).is_err());
    }
}
