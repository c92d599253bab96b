use super::*;
use serde_json::json;

fn identity() -> Identity {
    Identity { application: "7".to_owned(), name: "Nod".to_owned(), user: "9".to_owned() }
}

fn in_channel() -> ChannelRef {
    ChannelRef { channel: "2".to_owned(), is_dm: false, thread: None }
}

fn message(more: &Value) -> Value {
    let mut message = json!({
        "id": "1400000000000000000", "type": 0, "channel_id": "2", "content": "<@9> hi",
        "author": {"id": "3", "username": "ana"}, "mentions": [{"id": "9"}], "attachments": [],
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        message[name] = value.clone();
    }
    message
}

fn taken(heard: Heard) -> Option<Inbound> {
    match heard {
        Heard::Inbound(inbound) => Some(*inbound),
        Heard::Ignored(_) | Heard::Unreadable(_) => None,
    }
}

#[test]
fn a_mention_opens_the_thread_of_its_own_id() {
    let inbound = taken(said(&message(&json!({})), in_channel(), &identity())).unwrap();
    assert_eq!(inbound.dedup_key, "message:1400000000000000000");
    assert_eq!((inbound.workspace.as_str(), inbound.author.user.as_str()), ("7", "3"));
    let Event::Message { place, text, addressing: addressed, .. } = inbound.event else { panic!("not said") };
    assert_eq!(place.thread.as_deref(), Some("1400000000000000000"));
    assert_eq!((text.as_str(), addressed), ("hi", Addressing::Mention));
}

#[test]
fn authors_and_addressing_are_parsed() {
    let thread = ChannelRef { thread: Some("5".to_owned()), ..in_channel() };
    let direct = ChannelRef { is_dm: true, ..in_channel() };
    let plain = json!({"content": "hi", "mentions": []});
    for (what, more, place, expected) in [
        ("a mention", json!({}), in_channel(), Some(Addressing::Mention)),
        (
            "an answer that pings",
            json!({"content": "hi", "type": 19}),
            in_channel(),
            Some(Addressing::Mention),
        ),
        ("talk", plain.clone(), in_channel(), Some(Addressing::Unaddressed)),
        ("talk in a thread", plain.clone(), thread, Some(Addressing::Unaddressed)),
        ("a direct line", plain, direct, Some(Addressing::DirectMessage)),
        ("a bot", json!({"author": {"id": "4", "bot": true}}), in_channel(), None),
        ("ourselves", json!({"author": {"id": "9"}}), in_channel(), None),
        ("a webhook", json!({"webhook_id": "8"}), in_channel(), None),
        ("somebody joined", json!({"type": 7}), in_channel(), None),
        ("no author", json!({"author": null}), in_channel(), None),
        ("no id", json!({"id": null}), in_channel(), None),
    ] {
        let addressed = taken(said(&message(&more), place, &identity())).map(|inbound| match inbound.event {
            Event::Message { addressing: addressed, .. } => addressed,
            other => panic!("{other:?}"),
        });
        assert_eq!(addressed, expected, "{what}");
    }
}

#[test]
fn edits_and_deletions_are_parsed() {
    let later = json!({"content": "later", "edited_timestamp": "2026-03-06T09:30:00.000000+00:00"});
    let inbound = taken(edited(&message(&later), in_channel(), &identity())).unwrap();
    assert!(matches!(&inbound.event, Event::MessageEdited { text, .. } if text == "later"));
    // Discord resolved a link in it.
    assert_eq!(taken(edited(&message(&json!({})), in_channel(), &identity())), None);
    let gone = deleted(&json!({"id": "1", "channel_id": "2"}), &Value::Null, in_channel(), &identity());
    assert!(matches!(taken(gone).unwrap().event, Event::MessageDeleted { message, .. } if message == "1"));
}

#[test]
fn clicks_commands_and_message_commands_are_parsed() {
    let verb = "approve:00000000-0000-0000-0000-0000000000a1:1";
    let by = json!({"user": {"id": "3"}});
    let event = |kind: u64, data: Value| json!({"id": "1", "type": kind, "member": by, "data": data});
    let read = |event: &Value| taken(interaction(event, in_channel(), &identity())).map(|i| i.event);
    let pressed = read(&event(3, json!({"component_type": 2, "custom_id": verb})));
    assert!(matches!(pressed, Some(Event::ButtonClicked { verb: Some(v), .. }) if v.to_string() == verb));
    let others = read(&event(3, json!({"component_type": 2, "custom_id": "somebody else's"})));
    assert!(matches!(others, Some(Event::ButtonClicked { verb: None, .. })));
    let options = json!([{"name": "question", "type": 3, "value": "what is new?"}]);
    let asked = read(&event(2, json!({"type": 1, "name": "ask", "options": options})));
    assert!(
        matches!(asked, Some(Event::Command { name, text, .. }) if name == "ask" && text == "what is new?")
    );
    let there = json!({"5": {"id": "5", "content": "see this", "author": {"id": "4"}}});
    let entry = json!({"type": 3, "name": "Ask Nod", "target_id": "5", "resolved": {"messages": there}});
    let Some(Event::MessageAction { place, text, author, .. }) = read(&event(2, entry)) else {
        panic!("not picked")
    };
    assert_eq!((place.thread.as_deref(), text.as_str()), (Some("5"), "see this"));
    assert_eq!(author.as_deref(), Some("4"));
    assert_eq!(read(&json!({"id": "1", "type": 3, "data": {}})), None);
}

#[test]
fn id_encodes_its_time() {
    // The example in Discord's documentation.
    let at = time_of("175928847299117063").unwrap();
    assert_eq!(at.to_rfc3339(), "2016-04-30T11:18:25.796+00:00");
    assert_eq!(time_of(&first_id(at)), Some(at));
}
