#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use uuid::Uuid;

use nod_contract::card::{Block, FormFallback};

use crate::text::char_count;

use super::*;

fn field(value: &str) -> Field {
    Field {
        id: "body".into(),
        label: "Body".into(),
        value: value.into(),
        multiline: true,
        max_chars: 30_000,
        optional: false,
        accepts_recipients: false,
    }
}

fn form(value: &str) -> Form {
    Form {
        title: "Change this email, which has a long name".into(),
        verb: Action::on_revision("edit", Uuid::from_u128(7), 2),
        body: vec![Block::Note("A note".into())],
        fields: vec![field(value)],
        submit: "Save".into(),
        fallback: FormFallback::Submit,
    }
}

fn place() -> ChannelRef {
    ChannelRef { channel: "C1".into(), is_dm: false, thread: Some("1.2".into()) }
}

/// The view as it returns if the user typed nothing.
fn submitted_unchanged(view: &Value) -> Value {
    let mut view = view.clone();
    let mut typed = Map::new();
    for block in view["blocks"].as_array().unwrap() {
        if block["type"] == "input" {
            let id = block["block_id"].as_str().unwrap();
            let value = block["element"]["initial_value"].clone();
            typed.insert(id.into(), json!({ id: {"type": "plain_text_input", "value": value} }));
        }
    }
    view["state"] = json!({ "values": typed });
    view
}

#[test]
fn view_carries_action_id_and_revision() {
    let view = view(&form("Hi"), &place());
    assert_eq!(view["private_metadata"], "edit:00000000-0000-0000-0000-000000000007:2");
    assert_eq!(view["title"]["text"], "Change this email, whic…");
    let (verb, opened) = parse_private_metadata(&view);
    assert_eq!((verb, opened), (Some(form("").verb), Some(place())));
    assert_eq!(parse_private_metadata(&json!({"private_metadata": "x", "callback_id": "y"})), (None, None));
}

#[test]
fn long_value_is_split_over_inputs() {
    let text = format!(
        "{}\n\n{}\n{} {}",
        "a".repeat(2_000),
        "b".repeat(2_000),
        "c".repeat(2_300),
        "d".repeat(3_001)
    );
    let view = view(&form(&text), &place());
    let ids: Vec<&str> =
        view["blocks"].as_array().unwrap()[1..].iter().map(|b| b["block_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["body", "body~1p", "body~2n", "body~3s", "body~4x"]);
    assert_eq!(values(&submitted_unchanged(&view))["body"], text);
}

#[test]
fn emptied_chunk_leaves_no_gap() {
    let typed = |value: Value| json!({ "x": {"type": "plain_text_input", "value": value} });
    let state = json!({ "body": typed("one".into()), "body~1p": typed(Value::Null), "body~2n": typed("three".into()) });
    let values = values(&json!({ "state": { "values": state } }));
    assert_eq!(values["body"], "one\nthree");
}

#[test]
fn errors_point_at_inputs_of_the_view() {
    let view = view(&form("Hi"), &place());
    let errors = [FieldError::new("body", "Too\nlong."), FieldError::new("gone", "And more.")];
    assert_eq!(
        errors_response(&view, &errors),
        json!({"response_action": "errors", "errors": {"body": "Too long. And more."}})
    );
    assert_eq!(errors_response(&json!({"blocks": []}), &errors)["response_action"], "update");
}

proptest! {
    #[test]
    fn what_is_cut_is_joined_without_a_change(text in "([a-z]{1,900}|é| |\n|\t|\r\n|🚀|  |\n\n\n){0,60}") {
        let view = view(&form(&text), &place());
        for block in view["blocks"].as_array().unwrap() {
            let value = block["element"]["initial_value"].as_str().unwrap_or_default();
            prop_assert!(char_count(value) <= limits::INPUT);
        }
        prop_assert_eq!(&values(&submitted_unchanged(&view))["body"], &text);
    }
}
