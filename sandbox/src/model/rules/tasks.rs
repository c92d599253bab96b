//! Tasks: the rules cut a wish into steps, end a step with what they would have said, and put together what the steps
//! handed on.

use serde_json::{Value, json};

use super::request_context::RequestContext;
use super::results::find_json;

use crate::model::script::{Answer, AnswerKind};

/// The tool by which a step ends.
const FINISH: &str = "finish_step";
/// The words with which a further step can begin.
const VERBS: [&str; 18] = [
    "ask",
    "book",
    "compare",
    "draft",
    "find",
    "forward",
    "list",
    "look",
    "mail",
    "put",
    "read",
    "remind",
    "save",
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
    let wish = without_as_a_task(wish);
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
        // A file is of all that came before.
        let first =
            if part.starts_with("put ") || part.starts_with("save ") { 0 } else { at.saturating_sub(1) };
        let after: Vec<usize> = (first..at).collect();
        json!({ "step": capitalised(part), "detail": "", "after": after })
    });
    json!({ "planSteps": steps.take(10).collect::<Vec<_>>() })
}

/// Leaves out the words that only say how it is to be done.
fn without_as_a_task(wish: &str) -> &str {
    let wish = wish.trim().trim_end_matches('.');
    let begun = wish.get(..10).filter(|begin| begin.eq_ignore_ascii_case("as a task:"));
    let wish = begun.map_or(wish, |begin| &wish[begin.len()..]);
    wish.trim_end_matches(", as a task").trim_end_matches(" as a task").trim()
}

/// Returns whether it asks for several things, one after another, or for a task by that name.
pub(super) fn is_wish(text: &str) -> bool {
    if without_as_a_task(text) != text.trim().trim_end_matches('.') {
        return true;
    }
    text.contains(", then ") && plan(text)["planSteps"].as_array().is_some_and(|steps| steps.len() > 1)
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

/// Asks the person, in a step such as "ask me which date: 12 March or 19 March".
pub(super) fn ask(asked: &RequestContext<'_>) -> Option<Answer> {
    let title = step_title(&asked.prompts)?;
    let rest = title.strip_prefix("Ask me ")?;
    let (question, options) = rest.split_once(": ").unwrap_or((rest, ""));
    let question = format!("{}?", capitalised(question));
    let Some((_, answer)) = asked.results.iter().find(|(tool, _)| tool == "ask_user") else {
        let options: Vec<&str> = options.split(" or ").filter(|option| !option.is_empty()).collect();
        return asked.call("ask_user", &json!({ "question": question, "options": options }));
    };
    let answer = find_json(answer).and_then(|answer| answer["answer"].as_str().map(str::to_owned));
    Some(Answer::text(format!("{question} {}.", answer.as_deref().unwrap_or("Nobody answered"))))
}

/// Makes a file of what is known, in a step such as "put it into a file called comparison".
pub(super) fn make_file(asked: &RequestContext<'_>) -> Option<Answer> {
    let title = step_title(&asked.prompts)?;
    if !title.starts_with("Put ") && !title.starts_with("Save ") {
        return None;
    }
    let Some((_, made)) = asked.results.iter().find(|(tool, _)| tool == "create_file") else {
        let name = title.split_once(" called ").map_or("notes", |(_, name)| name);
        let content = handed_on(&asked.prompts);
        return asked.call("create_file", &json!({ "name": name, "kind": "markdown", "content": content }));
    };
    let name = find_json(made).and_then(|made| made["name"].as_str().map(str::to_owned));
    Some(Answer::text(match name {
        Some(name) => format!("It is in {name}."),
        None => "I could not make the file.".to_owned(),
    }))
}

/// Returns what the steps handed on.
fn handed_on(prompts: &[String]) -> String {
    let begins = |line: &str| line.starts_with("Step ") && line.ends_with(" handed on:");
    let told = prompts.iter().find(|prompt| prompt.lines().any(begins)).map(String::as_str);
    let lines = told.unwrap_or_default().lines().skip_while(|line| !begins(line));
    let own = |line: &&str| !line.starts_with("outside ") && !begins(line);
    let text = lines.filter(own).collect::<Vec<_>>().join("\n").trim().to_owned();
    if text.is_empty() { "Nothing came out.".to_owned() } else { text }
}

/// Puts together what the steps handed on.
pub(super) fn result(prompts: &[String]) -> Value {
    let text = handed_on(prompts);
    let first: String = text.lines().next().unwrap_or_default().chars().take(300).collect();
    json!({ "summary": if first.is_empty() { text.clone() } else { first }, "resultMarkdown": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_what_the_steps_handed_on() {
        let rules = "The person, their wish and what the steps handed on:\n- Name: Ana Silva".to_owned();
        let told =
            "Step 1 handed on:\noutside 1 begins\nOne mail.\noutside 1 ends\n\nStep 2 handed on:\nTwo."
                .to_owned();
        assert_eq!(result(&[rules, told])["resultMarkdown"], "One mail.\n\nTwo.");
    }

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
        assert_eq!(titles("As a task: look at it, then tell Bo."), ["Look at it", "Tell Bo"]);
        assert_eq!(titles("look at it, then tell Bo, as a task"), ["Look at it", "Tell Bo"]);
        assert_eq!(
            titles(
                "list my mail, then ask me which date: 12 March or 19 March, then put it into a file called plan"
            ),
            ["List my mail", "Ask me which date: 12 March or 19 March", "Put it into a file called plan"]
        );
    }
}
