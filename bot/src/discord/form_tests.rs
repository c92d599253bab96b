#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use uuid::Uuid;

use nod_contract::card::FormFallback;

use super::super::render::tests::schema;
use super::*;

fn field(id: &str, value: &str) -> Field {
    Field {
        id: id.into(),
        label: "Body".into(),
        value: value.into(),
        multiline: true,
        max_chars: 30_000,
        optional: false,
        accepts_recipients: false,
    }
}

fn form(fields: Vec<Field>) -> Form {
    Form {
        title: "Change this email, which has a name that is too long".into(),
        verb: Action::on_revision("edit", Uuid::from_u128(7), 2),
        body: vec![Block::Note("A note".into())],
        fields,
        submit: "Save".into(),
        fallback: FormFallback::Submit,
    }
}

/// The modal as it returns if the user typed nothing.
fn submitted_unchanged(modal: &Value) -> Value {
    let row = |row: &Value| {
        let input = &row["components"][0];
        let value = input["value"].as_str().unwrap_or_default();
        json!({"type": 1, "components": [{"type": 4, "custom_id": input["custom_id"], "value": value}]})
    };
    let all = modal["components"].as_array().unwrap();
    let components: Vec<Value> =
        all.iter().map(|c| if c["type"] == 1 { row(c) } else { c.clone() }).collect();
    json!({"custom_id": modal["custom_id"], "components": components})
}

#[test]
fn modal_carries_its_action_and_body() {
    let modal = modal(&form(vec![field("body", "Hi")]));
    insta::assert_snapshot!(serde_json::to_string_pretty(&modal).unwrap(), @r#"
    {
      "components": [
        {
          "content": "-# A note",
          "type": 10
        },
        {
          "components": [
            {
              "custom_id": "body",
              "label": "Body",
              "max_length": 4000,
              "required": true,
              "style": 2,
              "type": 4,
              "value": "Hi"
            }
          ],
          "type": 1
        }
      ],
      "custom_id": "edit:00000000-0000-0000-0000-000000000007:2",
      "title": "Change this email, which has a name that is …"
    }
    "#);
    assert_eq!(verb(&modal), Some(form(vec![]).verb));
    assert_eq!(verb(&json!({"custom_id": "x"})), None);
}

#[test]
fn long_value_is_split_over_inputs() {
    let text = format!("{}\n\n{}\n{}", "a".repeat(3_000), "b".repeat(3_000), "c".repeat(3_900));
    let long = form(vec![field("subject", "S"), field("body", &text)]);
    let opened = modal(&long);
    let ids: Vec<&Value> = opened["components"].as_array().unwrap()[1..]
        .iter()
        .map(|row| &row["components"][0]["custom_id"])
        .collect();
    assert_eq!(ids, ["subject", "body", "body~1p", "body~2n"]);
    assert_eq!(opened["components"][2]["components"][0]["label"], "Body (1 of 3)");
    assert_eq!(values(&submitted_unchanged(&opened))["body"], text);
    assert!(fits_in_modal(&long));
    let too_long = form(vec![field("subject", "S"), field("body", &text.repeat(2))]);
    assert!(!fits_in_modal(&too_long));
}

#[test]
fn body_without_room_is_omitted() {
    let fields = ["a", "b", "c", "d", "e"].map(|id| field(id, "x"));
    let modal = modal(&form(fields.to_vec()));
    assert_eq!(modal["components"].as_array().unwrap().len(), 5);
    assert!(!modal.to_string().contains("A note"));
}

#[test]
fn a_form_without_fields_shows_its_body() {
    let mut form = form(vec![]);
    form.body = vec![Block::Literal("x\n".repeat(1_000)), Block::Literal("y\n".repeat(500))];
    assert!(fits_in_modal(&form));
    form.body.push(Block::Literal("z\n".repeat(900)));
    assert!(!fits_in_modal(&form));
}

#[test]
fn legacy_action_rows_are_parsed() {
    let row = json!({"type": 1, "components": [{"type": 4, "custom_id": "why", "value": "No."}]});
    assert_eq!(values(&json!({"components": [row]}))["why"], "No.");
}

#[test]
fn errors_are_a_card() {
    let card = errors(&[FieldError::new("to", "No such address."), FieldError::new("body", "Too long.")]);
    assert_eq!(card.body, [Block::Risks(vec!["No such address.".into(), "Too long.".into()])]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_cut_is_joined_without_a_change(text in "([a-z]{1,900}|é| |\n|\t|\r\n|🚀|  |\n\n\n){0,60}", label in ".{0,60}") {
        let mut form = form(vec![Field { label, ..field("body", &text) }]);
        form.title.clone_from(&form.fields[0].label);
        let modal = modal(&form);
        if let Some(schema) = schema("ModalInteractionCallbackRequestData") {
            prop_assert_eq!(schema(&modal), Vec::<String>::new());
        }
        prop_assert!(modal["components"].as_array().unwrap().len() <= 5);
        prop_assert!(!fits_in_modal(&form) || values(&submitted_unchanged(&modal))["body"] == text);
    }
}
