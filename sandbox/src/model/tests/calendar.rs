//! The same rules, asked about a calendar.

use serde_json::{Value, json};

use super::rules::{after, call, message, user};
use super::world;

const TOOLS: [(&str, &[&str]); 7] = [
    ("calendar_get_agenda", &["when"]),
    ("calendar_list_upcoming", &["query"]),
    ("calendar_find_free_slots", &["within"]),
    ("calendar_create_event", &["title", "when"]),
    ("calendar_update_event", &["event", "when"]),
    ("calendar_cancel_event", &["event"]),
    ("calendar_respond", &["event", "answer", "note"]),
];

/// As Nod offers them, as far as the rules use them.
pub(super) fn tools() -> Vec<Value> {
    let people = json!({"type": "array", "items": {"type": "string"}});
    let one = |(name, words): &(&str, &[&str])| {
        let text = |word: &&str| ((*word).to_owned(), json!({"type": "string", "minLength": 1}));
        let mut properties: Value = words.iter().map(text).collect::<serde_json::Map<_, _>>().into();
        if name.contains("slots") || name.contains("create") {
            properties["minutes"] = json!({"type": "integer"});
            properties[if name.contains("slots") { "people" } else { "guests" }] = people.clone();
        }
        super::tool(name, &properties)
    };
    TOOLS.iter().map(one).collect()
}

#[tokio::test]
async fn times_are_handed_on_as_they_were_said() {
    let world = world(true).await;
    let agenda = |when: &str| ("calendar_get_agenda", json!({"when": when}));
    let create = |title: &str, when: &str, minutes: Option<u64>, guests: Value| {
        let mut all = json!({"title": title, "when": when, "guests": guests});
        if let Some(minutes) = minutes {
            all["minutes"] = json!(minutes);
        }
        ("calendar_create_event", all)
    };
    for (text, wanted) in [
        ("@nod what's on my calendar tomorrow?", agenda("tomorrow")),
        ("what’s on my calendar on Monday", agenda("Monday")),
        ("what is on my calendar next week?", agenda("next week")),
        ("show my calendar", agenda("today")),
        ("What do I have on Friday afternoon?", agenda("Friday afternoon")),
        ("what's next?", ("calendar_list_upcoming", json!({}))),
        (
            "when are Bo and I free next week?",
            ("calendar_find_free_slots", json!({"within": "next week", "people": ["Bo"]})),
        ),
        (
            "when do Bo, Cho and I have an hour on Monday?",
            ("calendar_find_free_slots", json!({"within": "Monday", "people": ["Bo", "Cho"], "minutes": 60})),
        ),
        (
            "when am I free tomorrow",
            ("calendar_find_free_slots", json!({"within": "tomorrow", "people": []})),
        ),
        (
            "invite Bo to lunch next Tuesday at noon for an hour",
            create("Lunch", "next Tuesday at noon", Some(60), json!(["Bo"])),
        ),
        ("invite Bo Lind to lunch tomorrow", create("Lunch", "tomorrow", None, json!(["Bo Lind"]))),
        (
            "please book a meeting with Bo and Cho on Friday at 15:00 about planning",
            create("Planning", "Friday at 15:00", None, json!(["Bo", "Cho"])),
        ),
        ("schedule a call with Bo Friday at 3pm", create("Call", "Friday at 3pm", None, json!(["Bo"]))),
        (
            "set up a call about the launch with Bo in two weeks",
            create("The launch", "in two weeks", None, json!(["Bo"])),
        ),
        (
            "find 45 minutes with Bo and Cho next week for planning",
            create("Planning", "next week", Some(45), json!(["Bo", "Cho"])),
        ),
        (
            "find half an hour next week with bo@acme.test",
            create("Meeting", "next week", Some(30), json!(["bo@acme.test"])),
        ),
    ] {
        let (name, arguments) = call(&world, text).await;
        assert_eq!((name.as_str(), arguments), wanted, "{text}");
    }
    for text in ["when is the launch?", "what's new?", "hello", "remember that lunch is at one"] {
        assert!(call(&world, text).await.0.is_empty(), "{text}");
    }
    assert_eq!(call(&world, "find mail from Bo").await.0, "gmail_search_messages");
    assert_eq!(call(&world, "tell Bo that lunch is tomorrow at noon").await.0, "gmail_send_email");
}

#[tokio::test]
async fn what_is_changed_is_looked_up_first() {
    let world = world(true).await;
    let list = json!({"events": [
        {"id": "e1", "title": "Standup", "when": "Mon 9 Mar, 10:00–10:30 WET", "organizer": "eve@partner.example"},
        {"id": "e2", "title": "Lunch", "when": "Tue 10 Mar, 12:00–13:00 WET", "organizer": "ana@acme.test",
            "guests": [{"address": "bo@acme.test"}]},
    ]})
    .to_string();
    for (text, query, tool, wanted) in [
        (
            "move lunch with Bo to 1pm",
            json!({"query": "lunch"}),
            "calendar_update_event",
            json!({"event": "e2", "when": "Tue 10 Mar at 1pm"}),
        ),
        (
            "move the lunch with Bo to Wednesday at 15:00",
            json!({"query": "lunch"}),
            "calendar_update_event",
            json!({"event": "e2", "when": "Wednesday at 15:00"}),
        ),
        (
            "move Monday's standup to 3pm",
            json!({"query": "standup"}),
            "calendar_update_event",
            json!({"event": "e1", "when": "Mon 9 Mar at 3pm"}),
        ),
        (
            "cancel lunch on Tuesday",
            json!({"query": "lunch"}),
            "calendar_cancel_event",
            json!({"event": "e2"}),
        ),
        (
            "decline Eve's meeting, I'm on a plane",
            json!({"query": "Eve"}),
            "calendar_respond",
            json!({"event": "e1", "answer": "no", "note": "I'm on a plane"}),
        ),
        (
            "accept the standup",
            json!({"query": "standup"}),
            "calendar_respond",
            json!({"event": "e1", "answer": "yes"}),
        ),
    ] {
        assert_eq!(call(&world, text).await, ("calendar_list_upcoming".to_owned(), query), "{text}");
        let next = after(&world, text, "calendar_list_upcoming", &[&list]).await;
        let function = &next["tool_calls"][0]["function"];
        assert_eq!(function["name"], tool, "{text}: {next}");
        let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
        // `accept the standup` means the first that is found.
        assert_eq!(arguments, wanted, "{text}");
    }
    for (said, told) in [
        (r#"{"events":[]}"#, "I found no such event in your calendar."),
        (r#"{"error":"Google is not connected"}"#, "That did not work: Google is not connected"),
    ] {
        assert_eq!(after(&world, "cancel lunch", "calendar_list_upcoming", &[said]).await["content"], told);
    }
    let which = message(&world, &super::rules::request(vec![user("cancel the meeting")])).await;
    assert_eq!(which["content"], "Which event do you mean?");
}

#[tokio::test]
async fn a_calendar_is_told_as_it_is() {
    let world = world(true).await;
    for (said, tool, result, told) in [
        (
            "invite Bo to lunch tomorrow at noon",
            "calendar_create_event",
            r#"{"status":"created","title":"Lunch","when":"Tue 10 Mar, 12:00–13:00 WET","guests":["bo@acme.test"]}"#,
            "“Lunch” is in your calendar: Tue 10 Mar, 12:00–13:00 WET. Invited: bo@acme.test.",
        ),
        (
            "invite Bo to lunch tomorrow at noon",
            "calendar_create_event",
            r#"{"status":"denied","detail":"the person said no; nothing was done"}"#,
            "I did not do it: your calendar is as it was.",
        ),
        (
            "move lunch to 1pm",
            "calendar_update_event",
            r#"{"status":"changed","title":"Lunch","when":"Tue 10 Mar, 13:00–14:00 WET"}"#,
            "“Lunch” is changed: Tue 10 Mar, 13:00–14:00 WET.",
        ),
        (
            "cancel lunch",
            "calendar_cancel_event",
            r#"{"status":"cancelled","title":"Lunch"}"#,
            "“Lunch” is cancelled.",
        ),
        (
            "cancel lunch",
            "calendar_cancel_event",
            r#"{"status":"not_done","why":"the event was changed meanwhile, so nothing was done","events":[]}"#,
            "I did not do it: the event was changed meanwhile, so nothing was done.",
        ),
        (
            "accept Eve's meeting",
            "calendar_respond",
            r#"{"status":"answered","title":"Standup","answer":"yes"}"#,
            "I answered “yes” to “Standup”.",
        ),
        (
            "accept Eve's meeting",
            "calendar_respond",
            r#"{"status":"unknown"}"#,
            "I do not know whether it was done. Please look in your calendar.",
        ),
        (
            "what's on my calendar on Monday",
            "calendar_get_agenda",
            r#"{"events":[{"title":"Standup","when":"Mon 9 Mar, 10:00–10:30 WET"}]}"#,
            "• Mon 9 Mar, 10:00–10:30 WET: Standup",
        ),
        (
            "what's on my calendar on Monday",
            "calendar_get_agenda",
            r#"{"events":[],"asked_for":"Mon 9 Mar"}"#,
            "There is nothing in your calendar (Mon 9 Mar).",
        ),
        (
            "when are Bo and I free next week",
            "calendar_find_free_slots",
            r#"{"slots":[{"when":"Mon 9 Mar, 09:00–09:30 WET","exact":"x"}],"cannot_see":["bo@acme.test"]}"#,
            "Everybody is free then:\n• Mon 9 Mar, 09:00–09:30 WET\nI cannot see the calendar of bo@acme.test.",
        ),
    ] {
        assert_eq!(after(&world, said, tool, &[result]).await["content"], told, "{result}");
    }
}
