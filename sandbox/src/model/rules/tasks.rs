//! Tasks: the rules cut a wish into steps, end a step with what they would have said, and put together what the steps
//! handed on.

use serde_json::{Value, json};

use crate::model::script::{Answer, AnswerKind};

/// The tool by which a step ends.
const FINISH: &str = "finish_step";
/// The words with which a further step can begin.
const VERBS: [&str; 16] = [
    "ask",
    "book",
    "compare",
    "draft",
    "find",
    "forward",
    "list",
    "look",
    "mail",
    "read",
    "remind",
    "search",
    "send",
    "summarise",
    "tell",
    "write",
];
/// The line before a step's title, in what the step is told.
const YOUR_STEP: &str = "Your step: ";
const MAX_SUMMARY_CHARS: usize = 140;

/// Returns a plan of a wish: a step for each part that begins with a verb.
pub(super) fn plan(wish: &str) -> Value {
    let mut parts: Vec<String> = Vec::new();
    for part in
        wish.split(", then ").flat_map(|part| part.split(" and then ")).flat_map(|part| part.split(" and "))
    {
        let first = part.split_whitespace().next().unwrap_or_default().to_lowercase();
        match parts.last_mut() {
            Some(last) if !VERBS.contains(&first.as_str()) => *last = format!("{last} and {part}"),
            _ => parts.push(part.trim().to_owned()),
        }
    }
    let steps = parts.iter().enumerate().map(|(at, part)| {
        let after: Vec<usize> = at.checked_sub(1).into_iter().collect();
        json!({ "step": capitalised(part), "detail": "", "after": after })
    });
    json!({ "planSteps": steps.take(10).collect::<Vec<_>>() })
}

fn capitalised(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// Returns the title of the step that a request is about, if it is about one.
pub(super) fn step_title(prompts: &[String]) -> Option<&str> {
    let told =
        prompts.iter().find_map(|prompt| prompt.lines().find_map(|line| line.strip_prefix(YOUR_STEP)))?;
    told.split_once(". ").map(|(_, title)| title)
}

/// Ends a step with a text that nobody would read otherwise.
pub(super) fn finish(answer: Answer, offers: impl Fn(&str) -> bool) -> Answer {
    match &answer.kind {
        AnswerKind::Message { text: Some(text), calls } if calls.is_empty() && offers(FINISH) => {
            let first = text.lines().next().unwrap_or_default();
            let summary: String = first.chars().take(MAX_SUMMARY_CHARS).collect();
            let summary = if summary.is_empty() { "Done.".to_owned() } else { summary };
            Answer::tool(FINISH, json!({ "stepSummary": summary, "stepOutputMarkdown": text }))
        }
        _ => answer,
    }
}

/// Puts together what the steps handed on.
pub(super) fn result(prompts: &[String]) -> Value {
    let handed_on = prompts.iter().find(|prompt| prompt.contains(" handed on:\n"));
    let lines = handed_on.map(String::as_str).unwrap_or_default().lines();
    let own = |line: &&str| !line.starts_with("outside ") && !line.ends_with(" handed on:");
    let text = lines.filter(own).collect::<Vec<_>>().join("\n").trim().to_owned();
    let first: String = text.lines().next().unwrap_or_default().chars().take(300).collect();
    let text = if text.is_empty() { "Nothing came out.".to_owned() } else { text };
    json!({ "summary": if first.is_empty() { text.clone() } else { first }, "resultMarkdown": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_cut_where_a_further_act_begins() {
        let titles = |wish: &str| -> Vec<String> {
            let plan = plan(wish);
            let steps = plan["planSteps"].as_array().unwrap();
            steps.iter().map(|step| step["step"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(
            titles("search my mail for salt and pepper and tell Bo it is there."),
            ["Search my mail for salt and pepper", "Tell Bo it is there"]
        );
        assert_eq!(titles("look at it"), ["Look at it"]);
    }
}
