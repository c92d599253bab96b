use super::*;
use serde_json::json;

fn identity() -> Identity {
    Identity { application: "7".to_owned(), name: "Nod".to_owned(), user: "9".to_owned() }
}

fn channel_ref() -> ChannelRef {
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

fn into_inbound(heard: ParseOutcome) -> Option<Inbound> {
    match heard {
        ParseOutcome::Inbound(inbound) => Some(*inbound),
        ParseOutcome::Ignored(_) | ParseOutcome::Unreadable(_) => None,
    }
}

#[test]
fn a_mention_opens_the_thread_of_its_own_id() {
    let inbound = into_inbound(parse_message(&message(&json!({})), channel_ref(), &identity())).unwrap();
    assert_eq!(inbound.dedup_key, "message:1400000000000000000");
    assert_eq!((inbound.workspace.as_str(), inbound.author.user.as_str()), ("7", "3"));
    let Event::Message { place, text, addressing: addressed, .. } = inbound.event else { panic!("not said") };
    assert_eq!(place.thread.as_deref(), Some("1400000000000000000"));
    assert_eq!((text.as_str(), addressed), ("hi", Addressing::Mention));
}

#[test]
fn authors_and_addressing_are_parsed() {
    let thread = ChannelRef { thread: Some("5".to_owned()), ..channel_ref() };
    let direct = ChannelRef { is_dm: true, ..channel_ref() };
    let plain = json!({"content": "hi", "mentions": []});
    for (what, more, place, expected) in [
        ("a mention", json!({}), channel_ref(), Some(Addressing::Mention)),
        (
            "an answer that pings",
            json!({"content": "hi", "type": 19}),
            channel_ref(),
            Some(Addressing::Mention),
        ),
        ("talk", plain.clone(), channel_ref(), Some(Addressing::Unaddressed)),
        ("talk in a thread", plain.clone(), thread, Some(Addressing::Unaddressed)),
        ("a direct line", plain, direct, Some(Addressing::DirectMessage)),
        ("a bot", json!({"author": {"id": "4", "bot": true}}), channel_ref(), None),
        ("ourselves", json!({"author": {"id": "9"}}), channel_ref(), None),
        ("a webhook", json!({"webhook_id": "8"}), channel_ref(), None),
        ("somebody joined", json!({"type": 7}), channel_ref(), None),
        ("no author", json!({"author": null}), channel_ref(), None),
        ("no id", json!({"id": null}), channel_ref(), None),
    ] {
        let addressed = into_inbound(parse_message(&message(&more), place, &identity())).map(|inbound| {
            match inbound.event {
                Event::Message { addressing: addressed, .. } => addressed,
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(addressed, expected, "{what}");
    }
}

#[test]
fn edits_and_deletions_are_parsed() {
    let later = json!({"content": "later", "edited_timestamp": "2026-03-06T09:30:00.000000+00:00"});
    let inbound = into_inbound(parse_edit(&message(&later), channel_ref(), &identity())).unwrap();
    assert!(matches!(&inbound.event, Event::MessageEdited { text, .. } if text == "later"));
    // Discord resolved a link in it.
    assert_eq!(into_inbound(parse_edit(&message(&json!({})), channel_ref(), &identity())), None);
    let gone =
        parse_deletion(&json!({"id": "1", "channel_id": "2"}), &Value::Null, channel_ref(), &identity());
    assert!(
        matches!(into_inbound(gone).unwrap().event, Event::MessageDeleted { message, .. } if message == "1")
    );
}

#[test]
fn clicks_commands_and_message_commands_are_parsed() {
    let verb = "approve:00000000-0000-0000-0000-0000000000a1:1";
    let by = json!({"user": {"id": "3"}});
    let event = |kind: u64, data: Value| json!({"id": "1", "type": kind, "member": by, "data": data});
    let read = |event: &Value| into_inbound(interaction(event, channel_ref(), &identity())).map(|i| i.event);
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
    let at = id_time("175928847299117063").unwrap();
    assert_eq!(at.to_rfc3339(), "2016-04-30T11:18:25.796+00:00");
    assert_eq!(id_time(&first_id(at)), Some(at));
}

#[test]
fn a_server_is_read_as_its_system_channel() {
    let guild = json!({"id": "1", "system_channel_id": "2", "joined_at": "2026-03-06T09:30:00.123456+00:00"});
    let joined = parse_guild(&guild, &identity()).unwrap();
    assert_eq!(joined.event, Event::JoinedChannel { place: channel_ref() });
    assert_eq!((joined.author.user.as_str(), joined.at.timestamp_micros()), ("9", 1_772_789_400_123_456));
    for (what, guild) in [
        ("no system channel", json!({"id": "1", "system_channel_id": null, "joined_at": guild["joined_at"]})),
        ("unavailable", json!({"id": "1", "unavailable": true})),
        ("no time", json!({"id": "1", "system_channel_id": "2", "joined_at": "now"})),
    ] {
        assert_eq!(parse_guild(&guild, &identity()), None, "{what}");
    }
}
