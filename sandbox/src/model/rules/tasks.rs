//! Tasks: the rules cut a wish into steps, end a step with what they would have said, and put together what the steps
//! handed on.

use serde_json::{Value, json};

use super::compare;
use super::phrasing::NOT_UNDERSTOOD;
use super::request_context::RequestContext;
use super::results::find_json;

use crate::model::script::{Answer, AnswerKind};

/// The tool by which a step ends.
const FINISH: &str = "finish_step";
/// The words with which a further step can begin.
const VERBS: [&str; 20] = [
    "ask",
    "book",
    "compare",
    "create",
    "draft",
    "find",
    "forward",
    "list",
    "look",
    "mail",
    "make",
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
/// What can stand between two of them.
const SEPARATORS: [&str; 6] = [", and then ", ", then ", " and then ", ", and ", " and ", ", "];
/// What only says that it is to be a task.
const BEGINNINGS: [&str; 4] = ["as a task:", "do this as a task:", "make a task:", "task:"];
/// The line before a step's title, in what the step is told.
const YOUR_STEP: &str = "Your step: ";
const MAX_SUMMARY_CHARS: usize = 140;
/// What a step hands on that the rules do not understand.
const CANNOT: &str = "The demo's rules do not understand this step.";

/// Returns a plan of a wish: a step for each part that begins with a verb.
pub(super) fn plan(wish: &str) -> Value {
    let parts = split_wish(without_as_a_task(wish));
    let steps = parts.iter().enumerate().map(|(at, part)| {
        // A file is of all that came before, and so is a letter to the best of them.
        let is_of_all = is_file(&capitalised(part)) || part.starts_with("write to the ");
        let first = if is_of_all { 0 } else { at.saturating_sub(1) };
        let after: Vec<usize> = (first..at).collect();
        json!({ "step": capitalised(part), "detail": "", "after": after })
    });
    json!({ "planSteps": steps.take(10).collect::<Vec<_>>() })
}

/// Cuts a wish where a further act begins: behind "then", and where a verb follows a comma or an "and".
fn split_wish(wish: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = wish;
    let mut part = String::new();
    while !rest.is_empty() {
        let found = SEPARATORS.iter().filter_map(|separator| Some((rest.find(separator)?, *separator)));
        // Of those that begin at one place, the longest.
        let Some((at, separator)) = found.min_by_key(|(at, separator)| (*at, usize::MAX - separator.len()))
        else {
            break;
        };
        let (before, after) = (&rest[..at], &rest[at + separator.len()..]);
        let first = after.split_whitespace().next().unwrap_or_default().to_lowercase();
        part.push_str(before);
        if separator.contains("then") || VERBS.contains(&first.as_str()) {
            parts.push(std::mem::take(&mut part).trim().to_owned());
        } else {
            part.push_str(separator);
        }
        rest = after;
    }
    part.push_str(rest);
    parts.push(part.trim().to_owned());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Leaves out the words that only say how it is to be done.
fn without_as_a_task(wish: &str) -> &str {
    let wish = wish.trim().trim_end_matches('.');
    let begins =
        |words: &&&str| wish.get(..words.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(words));
    let wish = BEGINNINGS.iter().find(begins).map_or(wish, |begin| &wish[begin.len()..]);
    wish.trim_end_matches(", as a task").trim_end_matches(" as a task").trim()
}

/// Returns whether it asks for several things, one after another, or for a task by that name.
pub(super) fn is_wish(text: &str) -> bool {
    if without_as_a_task(text) != text.trim().trim_end_matches('.') {
        return true;
    }
    let steps = split_wish(text).len();
    steps > 2 || text.contains(", then ") && steps > 1
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
            let why = match text.as_str() {
                NOT_UNDERSTOOD => Some(CANNOT),
                compare::NOT_READ => Some(compare::NOT_READ),
                _ => None,
            };
            if let Some(why) = why {
                return Answer::tool(
                    FINISH,
                    json!({ "stepSummary": why, "stepOutputMarkdown": why, "done": false }),
                );
            }
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
    let question = match question.strip_prefix("for the ") {
        Some(what) => format!("Which {what}?"),
        None => format!("{}?", capitalised(question)),
    };
    let Some((_, answer)) = asked.results.iter().find(|(tool, _)| tool == "ask_user") else {
        let mut options: Vec<&str> = options.split(" or ").filter(|option| !option.is_empty()).collect();
        if options.is_empty() {
            options = compare::free_days(&asked.prompts);
        }
        return asked.call("ask_user", &json!({ "question": question, "options": options }));
    };
    let answer = find_json(answer).and_then(|answer| answer["answer"].as_str().map(str::to_owned));
    Some(Answer::text(format!("{question} {}.", answer.as_deref().unwrap_or("Nobody answered"))))
}

/// Makes a file of what is known, in a step such as "put it into a file called comparison".
pub(super) fn make_file(asked: &RequestContext<'_>) -> Option<Answer> {
    let title = step_title(&asked.prompts)?;
    if !is_file(title) {
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

/// Whether a step makes a file.
fn is_file(title: &str) -> bool {
    let begins = ["Put ", "Save "].iter().any(|verb| title.starts_with(verb));
    let makes = ["Make ", "Create ", "Write "].iter().any(|verb| title.starts_with(verb));
    begins || makes && title.split([' ', ',']).any(|word| word == "file")
}

/// Returns what the person answered last, to an earlier step.
pub(super) fn person_answered(prompts: &[String]) -> Option<&str> {
    let lines = prompts.iter().flat_map(|prompt| prompt.lines());
    lines.rev().find_map(|line| line.strip_prefix("The person answered: "))
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
            "Step 1 asked: Which?\nThe person answered: That.\n\nStep 1 handed on:\noutside 1 begins\nOne mail.\noutside 1 ends\n\nStep 2 handed on:\nTwo."
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
        assert_eq!(
            titles("compare the three caterers in my mail, ask me for the date, and write to the best one"),
            ["Compare the three caterers in my mail", "Ask me for the date", "Write to the best one"]
        );
        assert_eq!(titles("look at it, then make tea, with milk"), ["Look at it", "Make tea, with milk"]);
        assert_eq!(titles("Make a task: look at it, then bake a cake."), ["Look at it", "Bake a cake"]);
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
