#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

const TEAM: &str = "T0ACME0001";
const MENTION: &str = "message:T0ACME0001:C0GENERAL1:1764842400.000100";

fn identity() -> Identity {
    Identity {
        team: TEAM.into(),
        team_name: "Acme".into(),
        bot_user: "U0NOD00001".into(),
        bot_id: "B0NOD00001".into(),
    }
}

fn now() -> Timestamp {
    Timestamp::from_timestamp(1_800_000_000, 0).unwrap()
}

/// A recorded payload.
macro_rules! payload {
    ($name:literal) => {
        serde_json::from_str::<Value>(include_str!(concat!("payloads/", $name, ".json"))).unwrap()
    };
}

/// Summarises the result in one line.
fn outcome_line(kind: PayloadKind, payload: &Value) -> String {
    let inbound = match parse_payload(kind, payload, &identity(), now()) {
        ParseOutcome::Inbound(inbound) => inbound,
        ParseOutcome::Person(profile) => {
            return format!("{} is {} ({:?})", profile.user, profile.full_name, profile.membership);
        }
        ParseOutcome::Ignored(why) => return format!("ignored: {why}"),
        ParseOutcome::Unreadable(why) => return format!("unreadable: {why}"),
    };
    assert_eq!((inbound.platform.as_str(), inbound.workspace.as_str()), ("slack", TEAM));
    let place = |place: &ChannelRef| {
        let thread = place.thread.as_deref().unwrap_or("-");
        format!("{}{} {thread}", place.channel, if place.is_dm { " direct" } else { "" })
    };
    let by = format!("{} {:?}", inbound.author.user, inbound.author.membership);
    match &inbound.event {
        Event::Message { place: at, message, text, addressing: addressed, .. } => {
            assert_eq!(inbound.dedup_key, format!("message:{TEAM}:{}:{message}", at.channel));
            format!("{by} | {} | {addressed:?} | {text}", place(at))
        }
        Event::AssistantThreadOpened { place: at, viewing } => {
            format!("{by} | {} | looks at {viewing:?}", place(at))
        }
        Event::MessageAction { place: at, wish, author, text, .. } => {
            format!("{by} | {} | {wish:?} {author:?} | {text}", place(at))
        }
        Event::Autocomplete { .. } => panic!("Slack completes nothing"),
        Event::HomeOpened => format!("{by} | Home"),
        Event::JoinedChannel { place: at } => format!("{by} | {} | joined", place(at)),
        Event::MessageEdited { place: at, message, text } => {
            format!("{by} | {} | {message} now says | {text}", place(at))
        }
        Event::MessageDeleted { place: at, message } => format!("{by} | {} | {message} is gone", place(at)),
        Event::Command { place: at, name, text } => format!("{by} | {} | {name} | {text}", place(at)),
        Event::FormSubmitted { place: at, verb, values } => {
            let at = at.as_ref().map_or("-".into(), place);
            format!("{by} | {at} | {} | {values:?}", verb.as_ref().map_or("-".into(), Action::to_string))
        }
        Event::ButtonClicked { place: at, verb, .. } => {
            format!("{by} | {} | {}", place(at), verb.as_ref().map_or("-".into(), Action::to_string))
        }
    }
}

/// The event that Slack sends after it resolved the links of a message.
fn unfurl_event() -> Value {
    let mut payload = payload!("message_changed");
    payload["event"]["message"]["text"] = payload["event"]["previous_message"]["text"].clone();
    payload
}

#[test]
fn forms_are_read() {
    let input = |value: Value| json!({"type": "plain_text_input", "value": value});
    let view = json!({
        "id": "V1", "private_metadata": "edit:00000000-0000-0000-0000-000000000007:2", "callback_id": "C1:1.2",
        "state": {"values": {"subject": {"subject": input("Late".into())}, "cc": {"cc": input(Value::Null)}}},
    });
    let payload = json!({"type": "view_submission", "user": {"id": "U1"}, "trigger_id": "t", "view": view});
    assert_eq!(
        outcome_line(PayloadKind::Interaction, &payload),
        r#"U1 Unknown | C1 1.2 | edit:00000000-0000-0000-0000-000000000007:2 | {"cc": "", "subject": "Late"}"#
    );
    let nobody = json!({"type": "view_submission", "view": {"id": "V1"}});
    assert_eq!(outcome_line(PayloadKind::Interaction, &nobody), "unreadable: form without user");
    let closed = json!({"type": "view_closed", "user": {"id": "U1"}, "view": {"id": "V1"}});
    assert_eq!(outcome_line(PayloadKind::Interaction, &closed), "ignored: interaction type");
}

fn person(event: &str, user: Value) -> Value {
    json!({"event": {"type": event, "user": user}})
}

/// The event that Slack sends when somebody joined a channel.
fn join_event(more: Value) -> Value {
    let mut event = json!({
        "type": "member_joined_channel", "channel": "C0GENERAL1", "channel_type": "C", "team": TEAM,
        "inviter": "U0ANA00001", "event_ts": "1764842400.000100",
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        event[name] = value.clone();
    }
    json!({"event": event})
}

#[test]
fn events_are_read() {
    for (payload, expected) in [
        (
            payload!("app_mention"),
            "U0ANA00001 Unknown | C0GENERAL1 1764842400.000100 | Mention | move my 3 o'clock",
        ),
        (
            payload!("app_mention_as_message"),
            "U0ANA00001 Unknown | C0GENERAL1 1764842400.000100 | Mention | move my 3 o'clock",
        ),
        (
            payload!("mention_in_thread"),
            "U0ANA00001 Unknown | C0GENERAL1 1764842400.000100 | Mention | move my 3 o'clock",
        ),
        (payload!("direct"), "U0ANA00001 Unknown | D0ANA00001 direct - | DirectMessage | hello"),
        (
            payload!("direct_in_thread"),
            "U0ANA00001 Unknown | D0ANA00001 direct 1764842000.000100 | DirectMessage | and then?",
        ),
        (payload!("unaddressed"), "U0ANA00001 Unknown | C0GENERAL1 - | Unaddressed | lunch?"),
        (
            payload!("unaddressed_in_thread"),
            "U0ANA00001 Unknown | C0GENERAL1 1764842000.000100 | Unaddressed | yes, the second",
        ),
        (payload!("group_direct"), "U0ANA00001 Unknown | C0MPIM0001 1764842400.000100 | Mention | hi"),
        (payload!("file_share"), "U0ANA00001 Unknown | C0GENERAL1 1764842400.000100 | Mention | read this"),
        (
            payload!("thread_broadcast"),
            "U0ANA00001 Unknown | C0GENERAL1 1764842000.000100 | Unaddressed | done",
        ),
        (payload!("me_message"), "U0ANA00001 Unknown | C0GENERAL1 1764842400.000100 | Mention | waves at"),
        (
            payload!("blocks_only"),
            "U0ANA00001 Unknown | C0GENERAL1 1764842400.000100 | Mention | see this & that (https://x.test/a):wave:",
        ),
        (payload!("text_missing"), "U0ANA00001 Unknown | C0GENERAL1 1764842400.000100 | Mention | "),
        (
            payload!("external_user"),
            "U0EVE00001 External | C0GENERAL1 1764842400.000100 | Mention | move my 3 o'clock",
        ),
        (payload!("guest"), "U0GUS00001 Guest | C0GENERAL1 1764842400.000100 | Mention | move my 3 o'clock"),
        (payload!("user_null"), "ignored: no author"),
        (payload!("own_message"), "ignored: bot"),
        (payload!("bot_message"), "ignored: message subtype"),
        (payload!("workflow_mention"), "ignored: bot"),
        (
            payload!("message_changed"),
            "U0ANA00001 Unknown | C0GENERAL1 - | 1764842400.000100 now says | move my 4 o'clock",
        ),
        (unfurl_event(), "ignored: no new words"),
        (payload!("message_deleted"), "U0ANA00001 Unknown | C0GENERAL1 - | 1764842400.000100 is gone"),
        (payload!("channel_join"), "ignored: message subtype"),
        (join_event(json!({"user": "U0NOD00001"})), "U0NOD00001 Unknown | C0GENERAL1 - | joined"),
        (join_event(json!({"user": "U0ANA00001"})), "ignored: another member"),
        (join_event(json!({"user": "U0NOD00001", "channel": null})), "unreadable: join without channel"),
        (join_event(json!({"user": "U0NOD00001", "event_ts": null})), "unreadable: join without event_ts"),
        (payload!("unknown_event"), "ignored: event type"),
        (
            person("team_join", json!({"id": "U2", "profile": {"real_name": "Dee Moss"}})),
            "U2 is Dee Moss (Member)",
        ),
        (
            person("user_change", json!({"id": "U2", "name": "dee", "deleted": true})),
            "U2 is dee (Deactivated)",
        ),
        (person("user_change", json!({"name": "dee"})), "unreadable: person without id"),
        (payload!("event_null"), "unreadable: event without type"),
        (payload!("channel_missing"), "unreadable: message without channel"),
        (Value::Null, "unreadable: event without type"),
    ] {
        assert_eq!(outcome_line(PayloadKind::Event, &payload), expected);
    }
}

#[test]
fn app_mention_and_message_event_have_the_same_key() {
    let both = [payload!("app_mention"), payload!("app_mention_as_message")].map(|payload| {
        let ParseOutcome::Inbound(inbound) = parse_payload(PayloadKind::Event, &payload, &identity(), now())
        else {
            panic!("heard")
        };
        inbound
    });
    assert_eq!(both[0], both[1]);
    assert_eq!(both[0].dedup_key, MENTION);
    assert_eq!(both[0].at.timestamp_micros(), 1_764_842_400_000_100);
}

#[test]
fn button_clicks_are_parsed() {
    let verb = "018f5c2e-7b1a-7c3d-8e4f-0123456789ab";
    for (payload, expected) in [
        (payload!("button_click"), format!("U0ANA00001 Unknown | D0ANA00001 direct - | approve:{verb}")),
        (
            payload!("button_click_in_thread"),
            format!("U0ANA00001 External | C0GENERAL1 1764842400.000100 | answer_question:{verb}:2"),
        ),
        (payload!("button_click_of_other_app"), "U0ANA00001 Unknown | D0ANA00001 direct - | -".into()),
        (payload!("button_click_link"), "ignored: link button".into()),
        (payload!("button_click_user_null"), "unreadable: press without user".into()),
        (payload!("button_click_in_view"), format!("U0ANA00001 Unknown |  direct - | approve:{verb}")),
        (payload!("view_submission"), "U0ANA00001 Unknown | - | - | {}".into()),
    ] {
        assert_eq!(outcome_line(PayloadKind::Interaction, &payload), expected);
    }
    let key = |payload| match parse_payload(PayloadKind::Interaction, &payload, &identity(), now()) {
        ParseOutcome::Inbound(inbound) => inbound.dedup_key,
        other => panic!("{other:?}"),
    };
    assert_eq!(key(payload!("button_click")), "press:12466734323.1395872398.a1b2c3");
    assert_eq!(key(payload!("button_click_in_thread")), "press:1764842420.123456:U0ANA00001:choose:2");
}

#[test]
fn commands_are_read() {
    for (payload, expected) in [
        (payload!("command"), "U0ANA00001 Unknown | C0GENERAL1 - | ask | what did bo@x.test say & when?"),
        (payload!("command_bare"), "U0ANA00001 Unknown | D0ANA00001 direct - |  | "),
        (payload!("command_text_missing"), "U0ANA00001 Unknown | C0GENERAL1 - |  | "),
        (payload!("command_trigger_missing"), "unreadable: command without trigger_id"),
    ] {
        assert_eq!(outcome_line(PayloadKind::Command, &payload), expected);
    }
}

#[test]
fn a_very_long_message_arrives_whole() {
    let mut payload = payload!("app_mention");
    payload["event"]["text"] = format!("<@U0NOD00001> {}", "ä".repeat(100_000)).into();
    let ParseOutcome::Inbound(inbound) = parse_payload(PayloadKind::Event, &payload, &identity(), now())
    else {
        panic!("heard")
    };
    let Event::Message { text, .. } = inbound.event else { panic!("said") };
    assert_eq!(text.chars().count(), 100_000);
}

#[test]
fn any_field_may_be_missing_or_odd() {
    for (kind, payload) in [
        (PayloadKind::Event, payload!("app_mention")),
        (PayloadKind::Interaction, payload!("button_click")),
        (PayloadKind::Command, payload!("command")),
    ] {
        for odd in [Value::Null, 7.into(), "".into(), serde_json::json!([]), serde_json::json!({})] {
            with_each_value_replaced(&payload, &odd, &mut |spoiled| {
                let _ = parse_payload(kind, spoiled, &identity(), now());
            });
        }
    }
}

/// Calls `look` with the payload, with each of its values in turn replaced.
fn with_each_value_replaced(payload: &Value, odd: &Value, look: &mut impl FnMut(&Value)) {
    let mut pointers = vec![String::new()];
    while let Some(pointer) = pointers.pop() {
        let mut copy = payload.clone();
        *copy.pointer_mut(&pointer).unwrap() = odd.clone();
        look(&copy);
        match payload.pointer(&pointer).unwrap() {
            Value::Object(object) => pointers.extend(object.keys().map(|key| format!("{pointer}/{key}"))),
            Value::Array(list) => pointers.extend((0..list.len()).map(|n| format!("{pointer}/{n}"))),
            _ => {}
        }
    }
}
