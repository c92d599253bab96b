//! Calls the calendar's tools for what a person wants, and says what they answered.

use serde_json::{Value, json};

use super::plan::{Change, Event, Meeting, Plan};
use super::request::Asked;
use super::results::{self, people};
use super::spans::{is_time, names_day};
use super::told;
use crate::model::script::Answer;

const LIST: &str = "calendar_list_upcoming";

/// Which tool it comes to in the end.
pub(super) fn tool(plan: &Plan) -> &'static str {
    match plan {
        Plan::Agenda(_) => "calendar_get_agenda",
        Plan::Next => LIST,
        Plan::Free(_) => "calendar_find_free_slots",
        Plan::Arrange(_) => "calendar_create_event",
        Plan::Change(_, Change::Move(_)) => "calendar_update_event",
        Plan::Change(_, Change::Cancel) => "calendar_cancel_event",
        Plan::Change(_, Change::Answer(..)) => "calendar_respond",
    }
}

/// The next call, or what is to be said.
pub(super) fn answer(asked: &Asked<'_>, plan: &Plan) -> Answer {
    let call = match (plan, asked.results.last()) {
        (Plan::Change(event, change), Some((last, content))) if last == LIST => {
            match results::json_in(content).as_ref().and_then(|list| list["events"].as_array()) {
                Some(all) => match meant(all, event) {
                    Some(found) => asked.call(tool(plan), &changed(found, change)),
                    None => return Answer::text("I found no such event in your calendar."),
                },
                None => return told(asked),
            }
        }
        // The list that was looked through before says nothing of what became of it.
        (Plan::Change(..), Some((last, content))) => return Answer::text(results::tell(last, content)),
        (_, Some(_)) => return told(asked),
        (Plan::Agenda(when), None) => asked.call(tool(plan), &json!({"when": when})),
        (Plan::Next, None) => asked.call(LIST, &json!({})),
        (Plan::Free(meeting), None) => asked.call(tool(plan), &within(meeting)),
        (Plan::Arrange(meeting), None) if meeting.when.is_empty() => {
            return Answer::text("When should it be? Say it again with a day, or with “next week”.");
        }
        (Plan::Arrange(meeting), None) => asked.call(tool(plan), &arranged(meeting)),
        (Plan::Change(Event { words, hint: None }, _), None) if words.is_empty() => {
            return Answer::text("Which event do you mean?");
        }
        (Plan::Change(event, _), None) => asked.call(LIST, &query(event)),
    };
    call.unwrap_or_else(|| Answer::text("I would need a tool for that which I do not have here."))
}

fn within(meeting: &Meeting) -> Value {
    with_minutes(json!({"within": meeting.when, "people": meeting.people}), meeting)
}

fn arranged(meeting: &Meeting) -> Value {
    let arguments = json!({"title": meeting.title, "when": meeting.when, "guests": meeting.people});
    with_minutes(arguments, meeting)
}

fn with_minutes(mut arguments: Value, meeting: &Meeting) -> Value {
    if let Some(minutes) = meeting.minutes {
        arguments["minutes"] = json!(minutes);
    }
    arguments
}

fn query(event: &Event) -> Value {
    if event.words.is_empty() { json!({}) } else { json!({"query": event.words}) }
}

/// The event that somebody speaks of; none where what they say of it is true of none.
fn meant<'a>(all: &'a [Value], event: &Event) -> Option<&'a Value> {
    let Some(hint) = &event.hint else { return all.first() };
    let hint = hint.to_lowercase();
    let tells = |one: &Value| match is_time(&hint) {
        // "Mon 9 Mar, 10:00"; what is "tomorrow" is not worked out here.
        true => {
            let day = hint.get(..3).unwrap_or_default();
            ["tom", "tod"].contains(&day) || one["when"].to_string().to_lowercase().contains(day)
        }
        false => [&one["guests"], &one["organizer"]]
            .iter()
            .any(|who| who.to_string().to_lowercase().contains(&hint)),
    };
    all.iter().find(|one| tells(one))
}

fn changed(found: &Value, change: &Change) -> Value {
    let event = &found["id"];
    match change {
        // An hour alone is one of the event's own day, which the list says.
        Change::Move(hour) if !names_day(hour) => {
            let day = found["when"].as_str().and_then(|when| when.split(',').next()).unwrap_or_default();
            let hour = hour.strip_prefix("at ").unwrap_or(hour);
            json!({"event": event, "when": format!("{day} at {hour}")})
        }
        Change::Move(when) => json!({"event": event, "when": when}),
        Change::Cancel => json!({"event": event}),
        Change::Answer(answer, None) => json!({"event": event, "answer": answer}),
        Change::Answer(answer, Some(note)) => json!({"event": event, "answer": answer, "note": note}),
    }
}

/// The sentence for what a tool of the calendar answered.
pub(super) fn tell(status: &str, result: &Value) -> String {
    let title = result["title"].as_str().unwrap_or("It");
    let when = result["when"].as_str().map(|when| format!(": {when}")).unwrap_or_default();
    match status {
        "created" => match people(&result["guests"]) {
            Some(guests) => format!("“{title}” is in your calendar{when}. Invited: {guests}."),
            None => format!("“{title}” is in your calendar{when}."),
        },
        "created, and cancelled since" => format!("“{title}” was in your calendar, and is cancelled since."),
        "changed" => format!("“{title}” is changed{when}."),
        "cancelled" => format!("“{title}” is cancelled."),
        "answered" => {
            format!("I answered “{}” to “{title}”.", result["answer"].as_str().unwrap_or("something"))
        }
        "denied" | "superseded" | "withdrawn" => "I did not do it: your calendar is as it was.".to_owned(),
        "expired" => "I did not do it: nobody answered in time.".to_owned(),
        "undone" => "You took it back in time: your calendar is as it was.".to_owned(),
        "unknown" => "I do not know whether it was done. Please look in your calendar.".to_owned(),
        "not_done" => match result["why"].as_str() {
            Some(why) => format!("I did not do it: {why}."),
            None => "I did not do it.".to_owned(),
        },
        _ => listed(result)
            .unwrap_or_else(|| format!("The answer was: {}", results::short(&result.to_string()))),
    }
}

fn listed(result: &Value) -> Option<String> {
    if let Some(slots) = result["slots"].as_array() {
        let unseen =
            people(&result["cannot_see"]).map(|who| format!("\nI cannot see the calendar of {who}."));
        let unseen = unseen.unwrap_or_default();
        if slots.is_empty() {
            return Some(format!("I found no time at which everybody is free.{unseen}"));
        }
        let lines = slots.iter().filter_map(|slot| Some(format!("• {}", slot["when"].as_str()?)));
        return Some(format!("Everybody is free then:\n{}{unseen}", lines.collect::<Vec<_>>().join("\n")));
    }
    let events = result["events"].as_array()?;
    if events.is_empty() {
        let asked = result["asked_for"].as_str().map(|when| format!(" ({when})")).unwrap_or_default();
        return Some(format!("There is nothing in your calendar{asked}."));
    }
    let line = |event: &Value| {
        let when = event["when"].as_str().unwrap_or("some time");
        format!("• {when}: {}", event["title"].as_str().unwrap_or("(no title)"))
    };
    Some(events.iter().map(line).collect::<Vec<_>>().join("\n"))
}
