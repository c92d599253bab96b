//! Calls the calendar's tools for a request, and puts their answers into sentences.

use serde_json::{Value, json};

use super::calendar_plan::{CalendarPlan, EventChange, EventReference, MeetingRequest};
use super::describe_results;
use super::references::{CLARIFICATION_HINT, Referent};
use super::request_context::RequestContext;
use super::results::{self, list_people};
use super::time_spans::{hours, names_day};
use crate::model::script::Answer;

const LIST: &str = "calendar_list_upcoming";
const AGENDA: &str = "calendar_get_agenda";
/// The maximum of the list tool.
const MAX_LISTED_EVENTS: usize = 50;
/// How many events a question lists.
const MAX_SHOWN_EVENTS: usize = 6;

/// Returns the tool that finally carries out the plan.
pub(super) fn tool(plan: &CalendarPlan) -> &'static str {
    match plan {
        CalendarPlan::Agenda(_) => AGENDA,
        CalendarPlan::Next => LIST,
        CalendarPlan::FindFreeTime(_) => "calendar_find_free_slots",
        CalendarPlan::CreateEvent(_) => "calendar_create_event",
        CalendarPlan::ChangeEvent(_, EventChange::Move(_)) => "calendar_update_event",
        CalendarPlan::ChangeEvent(_, EventChange::Cancel) => "calendar_cancel_event",
        CalendarPlan::ChangeEvent(_, EventChange::Answer(..)) => "calendar_respond",
    }
}

/// Returns the next call, or the final text.
pub(super) fn answer(asked: &RequestContext<'_>, plan: &CalendarPlan) -> Answer {
    let call = match (plan, &asked.results[..]) {
        (CalendarPlan::ChangeEvent(event, change), _) => return changing(asked, plan, event, change),
        (_, [_, ..]) => return describe_results(asked),
        (CalendarPlan::Agenda(when), []) => asked.call(AGENDA, &json!({"when": when})),
        (CalendarPlan::Next, []) => asked.call(LIST, &json!({})),
        (CalendarPlan::FindFreeTime(meeting), []) => asked.call(tool(plan), &free_time_arguments(meeting)),
        (CalendarPlan::CreateEvent(meeting), []) if meeting.when.is_empty() => {
            return Answer::text("When should it be? Say it again with a day, or with “next week”.");
        }
        (CalendarPlan::CreateEvent(meeting), []) => asked.call(tool(plan), &create_event_arguments(meeting)),
    };
    call.unwrap_or_else(no_tool)
}

/// Looks up the event first, and changes it if exactly one matches.
fn changing(
    asked: &RequestContext<'_>,
    plan: &CalendarPlan,
    event: &EventReference,
    change: &EventChange,
) -> Answer {
    let event = match resolve_event(asked, event) {
        Ok(event) => event,
        Err(question) => return Answer::text(question),
    };
    let call = match &asked.results[..] {
        [] => request_events(asked, &event),
        [.., (last, content)] if [LIST, AGENDA].contains(&last.as_str()) => {
            let Some(list) = results::find_json(content).filter(|list| list["events"].is_array()) else {
                return describe_results(asked);
            };
            match fitting(&list, &event)[..] {
                [one] => asked.call(tool(plan), &change_arguments(one, change)),
                // Calendar finds words only in their exact spelling.
                [] if last == LIST && asked.results.len() == 1 => {
                    asked.call(LIST, &json!({"max": MAX_LISTED_EVENTS}))
                }
                [] => return Answer::text(not_there(&event)),
                ref several => return Answer::text(clarification_question(several)),
            }
        }
        // The lists that were searched before do not say what the outcome was.
        [.., (last, content)] => return Answer::text(results::describe_result(last, content)),
    };
    call.unwrap_or_else(no_tool)
}

/// Returns what is known of the event that the sentence refers to, or a question to ask.
fn resolve_event(asked: &RequestContext<'_>, event: &EventReference) -> Result<EventReference, String> {
    let nod = match (asked.draft_open, asked.has_pending_request) {
        (true, _) => " For the draft, say “discard it”.",
        (false, true) => " Of what waits for your nod, the buttons on its card decide.",
        (false, false) => "",
    };
    let Some(back) = event.back else {
        let is_named = *event != EventReference::default();
        return if is_named { Ok(event.clone()) } else { Err(format!("Which event do you mean?{nod}")) };
    };
    match asked.resolve_reference(back) {
        [Referent::Event(event)] => Ok(event.clone()),
        [Referent::RequestedEvent(title)] => {
            Err(format!("I did nothing: “{title}” is not in your calendar.{nod}"))
        }
        [Referent::Event(_), ..] => Err(format!("Which one do you mean? {CLARIFICATION_HINT}")),
        _ => Err(format!("I did nothing: which event do you mean?{nod}")),
    }
}

fn request_events(asked: &RequestContext<'_>, event: &EventReference) -> Option<Answer> {
    match (&event.day, &event.person) {
        (Some(day), _) => asked.call(AGENDA, &json!({"when": day})),
        (None, _) if !event.title.is_empty() => asked.call(LIST, &json!({"query": event.title})),
        (None, Some(who)) => asked.call(LIST, &json!({"query": who})),
        (None, None) => asked.call(LIST, &json!({"max": MAX_LISTED_EVENTS})),
    }
}

/// Returns the events that match everything that was said.
fn fitting<'a>(list: &'a Value, event: &EventReference) -> Vec<&'a Value> {
    let letters = |text: &str| text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    let words = |text: &str| {
        let all = text.split(|c: char| !c.is_alphanumeric()).map(letters);
        all.filter(|word| !word.is_empty()).collect::<Vec<_>>()
    };
    let fits = |one: &&Value| {
        let title = one["title"].as_str().unwrap_or_default();
        let people = words(&format!("{title} {} {}", one["guests"], one["organizer"]));
        let when = one["when"].as_str().unwrap_or_default();
        // "stand up" matches "Stand-up".
        words(&event.title).iter().all(|word| letters(title).contains(word))
            && event
                .person
                .as_ref()
                .is_none_or(|who| words(who).first().is_some_and(|who| people.contains(who)))
            && event
                .hour
                .as_ref()
                .is_none_or(|hour| hours(hour).iter().any(|hour| when.contains(&format!(", {hour}"))))
    };
    list["events"].as_array().into_iter().flatten().filter(fits).collect()
}

fn not_there(event: &EventReference) -> String {
    let title =
        if event.title.is_empty() { "such event".to_owned() } else { format!("“{}”", event.title) };
    let when: Vec<&str> = [&event.day, &event.hour].into_iter().flatten().map(String::as_str).collect();
    let when = if when.is_empty() { String::new() } else { format!(" ({})", when.join(", ")) };
    format!("I found no {title} in your calendar{when}. Nothing changed.")
}

fn clarification_question(several: &[&Value]) -> String {
    let lines: Vec<String> = several.iter().take(MAX_SHOWN_EVENTS).map(|one| line(one)).collect();
    let more = several.len().saturating_sub(MAX_SHOWN_EVENTS);
    let more = if more > 0 { format!("\nThere are {more} more.") } else { String::new() };
    format!("Which of these do you mean? Nothing changed. {CLARIFICATION_HINT}\n{}{more}", lines.join("\n"))
}

/// Answers when a tool is not offered.
pub(super) fn no_tool() -> Answer {
    Answer::text("I would need a tool for that which I do not have here.")
}

fn free_time_arguments(meeting: &MeetingRequest) -> Value {
    with_minutes(json!({"within": meeting.when, "people": meeting.people}), meeting)
}

fn create_event_arguments(meeting: &MeetingRequest) -> Value {
    let arguments = json!({"title": meeting.title, "when": meeting.when, "guests": meeting.people});
    with_minutes(arguments, meeting)
}

fn with_minutes(mut arguments: Value, meeting: &MeetingRequest) -> Value {
    if let Some(minutes) = meeting.minutes {
        arguments["minutes"] = json!(minutes);
    }
    arguments
}

fn change_arguments(found: &Value, change: &EventChange) -> Value {
    let event = &found["id"];
    match change {
        // A time without a day is on the event's own day, which the list contains.
        EventChange::Move(hour) if !names_day(hour) => {
            let day = found["when"].as_str().and_then(|when| when.split(',').next()).unwrap_or_default();
            let hour = hour.strip_prefix("at ").unwrap_or(hour);
            json!({"event": event, "when": format!("{day} at {hour}")})
        }
        EventChange::Move(when) => json!({"event": event, "when": when}),
        EventChange::Cancel => json!({"event": event}),
        EventChange::Answer(answer, None) => json!({"event": event, "answer": answer}),
        EventChange::Answer(answer, Some(note)) => json!({"event": event, "answer": answer, "note": note}),
    }
}

/// Returns the sentence for a calendar tool's answer.
pub(super) fn describe_result(status: &str, result: &Value) -> String {
    let title = result["title"].as_str().unwrap_or("It");
    let when = result["when"].as_str().map(|when| format!(": {when}")).unwrap_or_default();
    match status {
        "created" => match list_people(&result["guests"]) {
            Some(guests) => format!("“{title}” is in your calendar{when}. Invited: {guests}."),
            None => format!("“{title}” is in your calendar{when}."),
        },
        "created, and cancelled since" => format!("“{title}” was in your calendar, and is cancelled since."),
        "changed" => format!("“{title}” is changed{when}."),
        "cancelled" => format!("“{title}” is cancelled."),
        "answered" => {
            format!("I answered “{}” to “{title}”.", result["answer"].as_str().unwrap_or("something"))
        }
        "superseded" => "A newer request took the place of that one.".to_owned(),
        "denied" | "withdrawn" => "I did not do it: your calendar is as it was.".to_owned(),
        "expired" => "I did not do it: nobody answered in time.".to_owned(),
        "undone" => "You took it back in time: your calendar is as it was.".to_owned(),
        "unknown" => "I do not know whether it was done. Please look in your calendar.".to_owned(),
        "not_done" => match result["why"].as_str() {
            Some(why) => format!("I did not do it: {why}."),
            None => "I did not do it.".to_owned(),
        },
        _ => describe_list(result)
            .unwrap_or_else(|| format!("The answer was: {}", results::shorten(&result.to_string()))),
    }
}

fn describe_list(result: &Value) -> Option<String> {
    if let Some(slots) = result["slots"].as_array() {
        let unseen =
            list_people(&result["cannot_see"]).map(|who| format!("\nI cannot see the calendar of {who}."));
        let unseen = unseen.unwrap_or_default();
        if slots.is_empty() {
            return Some(format!("I found no free time.{unseen}"));
        }
        let lines = slots.iter().filter_map(|slot| Some(format!("• {}", slot["when"].as_str()?)));
        return Some(format!("Free times:\n{}{unseen}", lines.collect::<Vec<_>>().join("\n")));
    }
    let events = result["events"].as_array()?;
    if events.is_empty() {
        let asked = result["asked_for"].as_str().map(|when| format!(" ({when})")).unwrap_or_default();
        return Some(format!("There is nothing in your calendar{asked}."));
    }
    Some(events.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn line(event: &Value) -> String {
    let when = event["when"].as_str().unwrap_or("some time");
    format!("• {when}: {}", event["title"].as_str().unwrap_or("(no title)"))
}
