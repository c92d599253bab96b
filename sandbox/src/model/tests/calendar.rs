//! The same rules, for requests about a calendar.

use serde_json::{Value, json};

use super::fixture;
use super::rules::{call, message, message_after_tool, next, nod, user};

const TOOLS: [(&str, &[&str]); 7] = [
    ("calendar_get_agenda", &["when"]),
    ("calendar_list_upcoming", &["query"]),
    ("calendar_find_free_slots", &["within"]),
    ("calendar_create_event", &["title", "when"]),
    ("calendar_update_event", &["event", "when"]),
    ("calendar_cancel_event", &["event"]),
    ("calendar_respond", &["event", "answer", "note"]),
];

/// The tools that Nod offers, as far as the rules use them.
pub(super) fn tools() -> Vec<Value> {
    let people = json!({"type": "array", "items": {"type": "string"}});
    let one = |(name, words): &(&str, &[&str])| {
        let text = |word: &&str| ((*word).to_owned(), json!({"type": "string", "minLength": 1}));
        let mut properties: Value = words.iter().map(text).collect::<serde_json::Map<_, _>>().into();
        if name.contains("list") {
            properties["max"] = json!({"type": "integer"});
        }
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
    let world = fixture(true).await;
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
        ("what is on the calendar tomorrow?", agenda("tomorrow")),
        ("what's on my calendar on Friday", agenda("Friday")),
        ("what's on the agenda?", agenda("today")),
        ("what's on tomorrow?", agenda("tomorrow")),
        ("what is there tomorrow in my calendar?", agenda("tomorrow")),
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
        ("create an event on 31 March called Party", create("Party", "31 March", None, json!([]))),
        ("create an event named Demo tomorrow at 10", create("Demo", "tomorrow at 10", None, json!([]))),
        ("block Friday at 3 for an hour", create("Busy", "Friday at 3", Some(60), json!([]))),
        ("book an hour on Friday at 3", create("Meeting", "Friday at 3", Some(60), json!([]))),
        (
            "put focus time in my calendar tomorrow at 10",
            create("Focus time", "tomorrow at 10", None, json!([])),
        ),
        (
            "add lunch with Bo to my calendar on Friday at noon",
            create("Lunch", "Friday at noon", None, json!(["Bo"])),
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

/// Returns an event as the list tools show it.
fn event(id: &str, title: &str, when: &str, organizer: &str, guests: &[&str]) -> Value {
    let guests: Vec<Value> =
        guests.iter().map(|guest| json!({"address": guest, "answer": "accepted"})).collect();
    json!({"id": id, "title": title, "when": when, "organizer": organizer, "yours": true, "guests": guests,
        "exact": {"start": "2026-03-09T10:00:00+00:00[Europe/Lisbon]"}, "link": format!("https://cal.test/{id}")})
}

fn event_list_result(events: &[Value]) -> String {
    let list = json!({"events": events, "zone": "Europe/Lisbon", "asked_for": "Mon 9 Mar"});
    format!("outside 1f2e begins (a calendar event from eve@partner.example)\n{list}\noutside 1f2e ends")
}

#[tokio::test]
async fn what_is_changed_is_looked_up_first() {
    let world = fixture(true).await;
    let list = event_list_result(&[
        event("e1", "Stand-up", "Mon 9 Mar, 10:00–10:30 WET", "eve@partner.example", &[]),
        event("e2", "Lunch", "Tue 10 Mar, 12:00–13:00 WET", "ana@acme.test", &["bo@acme.test"]),
        event("e3", "Meeting", "Tue 10 Mar, 15:00–15:30 WET", "ana@acme.test", &["bob@acme.test"]),
        event("e4", "Meeting", "Wed 11 Mar, 09:00–09:30 WET", "ana@acme.test", &[]),
    ]);
    let (by_word, by_day) = ("calendar_list_upcoming", "calendar_get_agenda");
    let (moves, cancels, answers) = ("calendar_update_event", "calendar_cancel_event", "calendar_respond");
    for (text, looks, what, tool, wanted) in [
        (
            "move lunch with Bo to 1pm",
            by_word,
            json!({"query": "lunch"}),
            moves,
            json!({"event": "e2", "when": "Tue 10 Mar at 1pm"}),
        ),
        (
            "move the lunch with Bo to Wednesday at 15:00",
            by_word,
            json!({"query": "lunch"}),
            moves,
            json!({"event": "e2", "when": "Wednesday at 15:00"}),
        ),
        (
            "move Monday's standup to 3pm",
            by_day,
            json!({"when": "Monday"}),
            moves,
            json!({"event": "e1", "when": "Mon 9 Mar at 3pm"}),
        ),
        ("cancel lunch on Tuesday", by_day, json!({"when": "Tuesday"}), cancels, json!({"event": "e2"})),
        ("cancel my Meeting at 15:00", by_word, json!({"query": "Meeting"}), cancels, json!({"event": "e3"})),
        (
            "cancel the meeting tomorrow at 3 pm",
            by_day,
            json!({"when": "tomorrow"}),
            cancels,
            json!({"event": "e3"}),
        ),
        ("delete the meeting with Bo", by_word, json!({"query": "Bo"}), cancels, json!({"event": "e2"})),
        (
            "decline Eve's meeting, I'm on a plane",
            by_word,
            json!({"query": "Eve"}),
            answers,
            json!({"event": "e1", "answer": "no", "note": "I'm on a plane"}),
        ),
        (
            "accept the standup",
            by_word,
            json!({"query": "standup"}),
            answers,
            json!({"event": "e1", "answer": "yes"}),
        ),
    ] {
        assert_eq!(call(&world, text).await, (looks.to_owned(), what), "{text}");
        let (name, arguments) = next(&world, &[], text, &[(looks, &list)]).await;
        assert_eq!((name.as_str(), arguments), (tool, wanted), "{text}");
    }
    let failed = r#"{"error":"Google isn't connected"}"#;
    let told = message_after_tool(&world, "cancel lunch", "calendar_list_upcoming", &[failed]).await;
    assert_eq!(told["content"], "That did not work: Google isn't connected");
    let which = message(&world, &super::rules::request(vec![user("cancel the meeting")])).await;
    assert_eq!(which["content"], "Which event do you mean?");
}

#[tokio::test]
async fn no_other_event_is_taken_and_of_several_none() {
    let world = fixture(true).await;
    let (list, agenda) = ("calendar_list_upcoming", "calendar_get_agenda");
    let launch = event("e1", "Launch", "Fri 13 Mar, 14:30–15:30 WET", "ana@acme.test", &["bo@acme.test"]);
    let said = "move Meeting on Friday to 4pm";
    let told = next(&world, &[], said, &[(agenda, &event_list_result(std::slice::from_ref(&launch)))]).await;
    assert_eq!(told.1, "I found no “Meeting” in your calendar (Friday). Nothing changed.");
    // Calendar finds words in their exact spelling, so the whole list is searched before the answer that there is none.
    let (none, all) = (event_list_result(&[]), event_list_result(std::slice::from_ref(&launch)));
    let again = next(&world, &[], "cancel the stand up at 3", &[(list, &none)]).await;
    assert_eq!(again, (list.to_owned(), json!({"max": 50})));
    let told = next(&world, &[], "cancel the stand up at 3", &[(list, &none), (list, &all)]).await;
    assert_eq!(told.1, "I found no “stand up” in your calendar (3). Nothing changed.");
    let two = [launch, event("e2", "Launch", "Fri 20 Mar, 14:30–15:30 WET", "ana@acme.test", &[])];
    let (name, which) = next(&world, &[], "cancel the launch", &[(list, &event_list_result(&two))]).await;
    assert!(name.is_empty());
    assert_eq!(
        which,
        "Which of these do you mean? Nothing changed. Say “the second one”, for example.\n• Fri 13 Mar, \
         14:30–15:30 WET: Launch\n• Fri 20 Mar, 14:30–15:30 WET: Launch"
    );
    let before = [user("Ana Silva: cancel the launch"), nod(which.as_str().unwrap())];
    for said in ["cancel the second one", "the second one", "The last!"] {
        let looks = next(&world, &before, said, &[]).await;
        assert_eq!(looks, (agenda.to_owned(), json!({"when": "Fri 20 Mar"})), "{said}");
        let found = next(&world, &before, said, &[(agenda, &event_list_result(&two[1..]))]).await;
        assert_eq!(found, ("calendar_cancel_event".to_owned(), json!({"event": "e2"})), "{said}");
    }
}

#[tokio::test]
async fn it_is_the_event_that_was_spoken_of_last() {
    let world = fixture(true).await;
    let lunch =
        event_list_result(&[event("e2", "Lunch", "Tue 10 Mar, 12:00–13:00 WET", "ana@acme.test", &[])]);
    let asked = user("Ana Silva: <@UNOD> invite Bo to lunch on Tuesday at noon");
    let made = nod("“Lunch” is in your calendar: Tue 10 Mar, 12:00–13:00 WET. Invited: bo@acme.test.");
    let moved = nod("“Lunch” is changed: Tue 10 Mar, 12:00–13:00 WET.");
    let alone = nod("• Tue 10 Mar, 12:00–13:00 WET: Lunch");
    let thanks = [user("Ana Silva: thanks!"), nod("You're welcome.")];
    let others = user("Bo Lind: cancel the stand-up");
    let agenda = "calendar_get_agenda";
    for before in [
        vec![asked.clone(), made.clone()],
        vec![asked.clone(), moved],
        vec![alone],
        [vec![asked.clone(), made.clone()], thanks.to_vec(), vec![others]].concat(),
    ] {
        for (said, tool, wanted) in [
            ("move it to 5pm", "calendar_update_event", json!({"event": "e2", "when": "Tue 10 Mar at 5pm"})),
            ("cancel it", "calendar_cancel_event", json!({"event": "e2"})),
            ("cancel that", "calendar_cancel_event", json!({"event": "e2"})),
            ("delete the event I just made", "calendar_cancel_event", json!({"event": "e2"})),
        ] {
            let looks = next(&world, &before, said, &[]).await;
            assert_eq!(looks, (agenda.to_owned(), json!({"when": "Tue 10 Mar"})), "{said} {before:?}");
            let (name, arguments) = next(&world, &before, said, &[(agenda, &lunch)]).await;
            assert_eq!((name.as_str(), arguments), (tool, wanted), "{said}");
        }
    }
    let named = [user("Ana Silva: move lunch to 1pm"), nod("I did not do it: your calendar is as it was.")];
    let looks = next(&world, &named, "move it to 2pm", &[]).await;
    assert_eq!(looks, ("calendar_list_upcoming".to_owned(), json!({"query": "lunch"})));
    let two = nod("• Mon 9 Mar, 10:00–10:30 WET: Stand-up\n• Tue 10 Mar, 12:00–13:00 WET: Lunch");
    let mail = user("Ana Silva: tell Bo I'm late");
    for (before, told) in [
        (vec![two], "Which one do you mean? Say “the second one”, for example."),
        (vec![asked.clone()], "I did nothing: “Lunch” is not in your calendar."),
        (vec![asked, made, mail], "I did nothing: which event do you mean?"),
        (vec![], "I did nothing: which event do you mean?"),
    ] {
        assert_eq!(next(&world, &before, "cancel it", &[]).await, (String::new(), json!(told)));
    }
    let mut waits =
        super::rules::request(vec![user("Ana Silva: invite Bo to lunch at noon"), user("cancel it")]);
    let prompt = waits["messages"][0]["content"].as_str().unwrap();
    waits["messages"][0]["content"] =
        json!(format!("{prompt}\n- Waiting for approval: Send this invitation?"));
    assert_eq!(
        message(&world, &waits).await["content"],
        "I did nothing: “Lunch” is not in your calendar. Of what waits for your nod, the buttons on its card decide."
    );
}

#[tokio::test]
async fn a_calendar_is_told_as_it_is() {
    let world = fixture(true).await;
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
            r#"{"status":"not_done","why":"the event was changed in the meantime, so nothing was done","events":[]}"#,
            "I did not do it: the event was changed in the meantime, so nothing was done.",
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
            "Free times:\n• Mon 9 Mar, 09:00–09:30 WET\nI cannot see the calendar of bo@acme.test.",
        ),
    ] {
        assert_eq!(message_after_tool(&world, said, tool, &[result]).await["content"], told, "{result}");
    }
}
