#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use nod_contract::card::{Action, Button, Deadline, OnClick, Row, Style, TimeOption};
use nod_contract::ids::RunId;
use nod_contract::tool::{ActionLabels, Preview};
use nod_requests::approval::{check_displayable, request};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

/// Loads one of the vendor's schemas, if the specs folder is set.
pub(crate) fn schema(name: &str) -> Option<impl Fn(&Value) -> Vec<String>> {
    let Some(dir) = std::env::var_os("NOD_SPECS_DIR").map(std::path::PathBuf::from) else {
        eprintln!("skipped: NOD_SPECS_DIR is not set");
        return None;
    };
    let spec =
        nod_sandbox::spec::Spec::read(&dir.join("discord"), "discord.requests.strict.schema.json").unwrap();
    let validator = spec.validator(&format!("#/$defs/{name}")).unwrap();
    Some(move |value: &Value| nod_sandbox::spec::violations(&validator, value))
}

/// Returns every component, from the outside in.
fn all_components(components: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    for component in components.as_array().into_iter().flatten() {
        found.push(component);
        found.extend(all_components(&component["components"]));
    }
    found
}

fn message_text(message: &Value) -> String {
    let texts = all_components(&message["components"]).into_iter().filter_map(|c| c["content"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Removes the times that Discord shows in each reader's zone, in the format that only Nod writes.
fn without_times(shown: &str) -> String {
    let mut parts = shown.split("<t:");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let written = part.split_once('>').filter(|(token, _)| {
            token.len() == 12
                && token[..10].bytes().all(|b| b.is_ascii_digit())
                && [":f", ":t", ":R", ":r"].contains(&&token[10..])
        });
        match written {
            Some((_, after)) => rest.push_str(after),
            None => rest.extend(["<t:", part]),
        }
    }
    rest
}

/// Counts the times that a message shows.
fn times(message: &Value) -> usize {
    let shown = message_text(message).to_lowercase();
    (shown.len() - without_times(&shown).len()) / "<t:1700000000:f>".len()
}

/// Checks the rules that the schema cannot express.
fn assert_valid(message: &Value) {
    let components = all_components(&message["components"]);
    assert!(!components.is_empty() && components.len() <= limits::COMPONENTS, "{}", components.len());
    assert_eq!(message["flags"].as_u64().unwrap() & (1 << 15), 1 << 15);
    assert_eq!(message["allowed_mentions"]["parse"], json!([]));
    let called = message["allowed_mentions"]["users"].as_array().cloned().unwrap_or_default();
    for name in ["custom_id", "id"] {
        let mut seen = HashSet::new();
        let values = components.iter().filter_map(|c| c.get(name));
        values.for_each(|value| assert!(seen.insert(value.to_string()), "{value} twice"));
    }
    let texts: Vec<&str> = components.iter().filter_map(|c| c["content"].as_str()).collect();
    assert!(texts.iter().all(|text| !text.trim().is_empty()));
    assert!(texts.iter().map(|text| units(text)).sum::<usize>() <= limits::TEXT);
    assert!(components.iter().all(|c| c["label"].as_str().is_none_or(|l| (1..=80).contains(&units(l)))));
    let mentions = called.iter().map(|user| format!("<@{}>", user.as_str().unwrap()));
    let shown = mentions.fold(texts.join("\n").to_lowercase(), |shown, one| shown.replace(&one, ""));
    for loud in ["@everyone", "@here", "<@"] {
        assert!(!shown.contains(loud), "{loud} in {shown}");
    }
    let shown = without_times(&shown);
    // Nothing else is resolved in code, where the text stays unchanged for copying.
    for token in ["<#", "<a:", "<t:", "<id:", "</"] {
        assert!(shown.contains('`') || !shown.contains(token), "{token} in {shown}");
    }
}

fn text() -> BoxedStrategy<String> {
    let chars =
        proptest::collection::vec(any::<char>(), 0..60).prop_map(|c| c.into_iter().collect::<String>());
    const TEXT_SAMPLES: [&str; 31] = [
        "**",
        "_",
        "~~",
        "`",
        "```\n",
        "\n\n",
        "\n- ",
        "\n3. ",
        "\n> ",
        "\n# ",
        "    ",
        "| a | b |\n",
        "|---|---|\n",
        "[x](javascript:alert(1))",
        "[bank.test](https://evil.test/<@1>)",
        "<@123>",
        "<#1>",
        "@everyone",
        "@here",
        "</ask:1>",
        "<t:1>",
        "<a:b:1>",
        "||",
        "\n-# ",
        "https://a.test/b?c=d&e",
        "](",
        "[",
        "\\",
        "![y](https://a.test/@here)",
        "word ",
        "zäß€🙂 ",
    ];
    let markdown = proptest::collection::vec(proptest::sample::select(&TEXT_SAMPLES[..]), 0..40)
        .prop_map(|pieces| pieces.concat());
    let long = (any::<char>(), 1usize..20_000).prop_map(|(c, n)| c.to_string().repeat(n));
    let lines = (1usize..400).prop_map(|n| "A line of *words* and a_name.\n".repeat(n));
    prop_oneof![4 => chars, 6 => markdown, 1 => long, 1 => lines].boxed()
}

fn time() -> impl Strategy<Value = TimeOption> {
    (text(), 1_700_000_000..1_900_000_000_i64, -10..90_000_i64, text(), text()).prop_map(
        |(label, from, lasts, said, below)| TimeOption {
            label,
            from,
            to: from + lasts,
            text: format!("{said}–{below}"),
            note: below,
        },
    )
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        4 => text().prop_map(Block::Markdown),
        2 => text().prop_map(Block::Literal),
        1 => proptest::collection::vec((text(), text()), 0..6).prop_map(Block::Fields),
        1 => proptest::collection::vec(("[a-z]{0,9}", ".{0,30}"), 0..200).prop_map(Block::Fields),
        1 => proptest::collection::vec(".{0,20}", 0..200).prop_map(Block::Risks),
        1 => (text(), proptest::collection::vec(button(), 0..4)).prop_map(|(text, buttons)| Block::Row(Row::new(text, buttons))),
        1 => text().prop_map(Block::Note),
        1 => (text(), ".{0,30}").prop_map(|(words, text)| Block::Deadline(Deadline { words, at: 1_700_000_000, text })),
        1 => proptest::collection::vec(time(), 0..40).prop_map(Block::TimeOptions),
        1 => "[1-9][0-9]{16,18}".prop_map(Block::Mention),
    ]
}

fn button() -> impl Strategy<Value = Button> {
    let does = prop_oneof![
        ("[a-z]{1,20}", 0..40_u128, any::<Option<u16>>()).prop_map(|(verb, id, choice)| OnClick::Action(
            Action { kind: verb, subject: Uuid::from_u128(id), argument: choice }
        )),
        text().prop_map(OnClick::Link),
        "https://[a-z]{1,9}\\.test/[a-z\\[\\]|^%#']{0,900}".prop_map(OnClick::Link),
        Just(OnClick::Action(Action::new("same", Uuid::nil()))),
    ];
    let style = prop_oneof![Just(Style::Primary), Just(Style::Plain), Just(Style::Danger)];
    (text(), style, does).prop_map(|(label, style, does)| Button { label, style, on_click: does })
}

fn card() -> impl Strategy<Value = Card> {
    let notes = proptest::collection::vec(".{0,9}".prop_map(Block::Note), 0..120);
    let blocks = prop_oneof![3 => proptest::collection::vec(block(), 0..6), 1 => notes];
    let buttons = prop_oneof![
        2 => Just(Vec::new()),
        3 => proptest::collection::vec(button(), 0..5),
        1 => proptest::collection::vec(button(), 0..60)
    ];
    let feedback = proptest::option::of((0..9_u128).prop_map(|run| RunId(Uuid::from_u128(run))));
    (proptest::option::of(text()), blocks, buttons, proptest::option::of(text()), feedback)
        .prop_map(|(title, body, buttons, notice, feedback)| Card { title, body, buttons, notice, feedback })
}

#[test]
fn any_card_gives_a_valid_message() {
    let schema = schema("MessageCreateRequest");
    let config =
        ProptestConfig { cases: 150, failure_persistence: None, max_shrink_iters: 200, ..Default::default() };
    let key = DeliveryId(Uuid::from_u128(9));
    let whole = |card: Card| {
        let message = message(&card, Some(key));
        assert_valid(&message);
        let told = message["allowed_mentions"]["users"].as_array().cloned().unwrap_or_default();
        prop_assert_eq!(told.len(), mentioned_users(&card).len());
        prop_assert!(mentioned_users(&card).iter().all(|user| told.contains(&json!(user))));
        let blocks = card.body.iter().filter(|block| matches!(block, Block::Mention(_))).count();
        prop_assert!(message_text(&message).matches("<@").count() <= blocks);
        let given = card.body.iter().map(|block| match block {
            Block::TimeOptions(times) => times.len(),
            Block::Deadline(_) => 1,
            _ => 0,
        });
        prop_assert!(times(&message) <= 2 * given.sum::<usize>());
        prop_assert!(has_delivery_tags(&message, key));
        prop_assert!(!fits_in_one_message(&card) || !message_text(&message).contains(" more characters)"));
        let sent: HashSet<String> = all_components(&message["components"])
            .iter()
            .filter_map(|c| c["custom_id"].as_str().map(str::to_owned))
            .collect();
        let verbs = card.buttons.iter().filter_map(|b| match &b.on_click {
            OnClick::Action(verb) => Some(verb.to_string()),
            _ => None,
        });
        let lost = verbs.filter(|verb| !sent.contains(verb)).count();
        let rating = card.feedback.map_or(0, |_| limits::ROW);
        prop_assert!(lost == 0 || card.buttons.len() > limits::BUTTONS - rating);
        let rated = sent.iter().filter(|id| id.starts_with("feedback_")).count();
        prop_assert_eq!(rated, card.feedback.map_or(0, |_| 2), "whatever does not fit, it can be rated");
        if let Some(schema) = &schema {
            prop_assert_eq!(schema(&message), Vec::<String>::new());
        }
        Ok(())
    };
    proptest::test_runner::TestRunner::new(config).run(&card(), whole).unwrap();
}

fn approval() -> Card {
    let verb = |verb| OnClick::Action(Action::new(verb, Uuid::from_u128(7)));
    Card::default()
        .with_title("Send this email?")
        .with_block(Block::Fields(vec![
            ("From".into(), "ana@acme.test".into()),
            ("To".into(), "*bo@example.com* <@1>".into()),
            ("Cc".into(), String::new()),
        ]))
        .with_block(Block::Literal("Hi Bo,\n```\nnot *code*\n```\nAna".into()))
        .with_block(Block::Risks(vec!["bo@example.com is outside acme.test".into()]))
        .with_block(Block::Note("expires tomorrow 17:00".into()))
        .with_button("Approve & send", Style::Primary, verb("approve"))
        .with_button("Deny", Style::Danger, verb("deny"))
}

#[test]
fn approval_card_shows_everything_and_its_buttons_carry_actions() {
    let message = message(&approval(), None);
    assert_valid(&message);
    // The dot replaces the invisible character.
    let shown = message_text(&message).replace(super::super::escape::BREAK, "·");
    insta::assert_snapshot!(shown, @r"
    ### Send this email?
    **From**  ana@acme.test
    **To**  \*bo@example.com\* <·@1>
    **Cc**  —
    ```
    Hi Bo,
    ``·`
    not *code*
    ``·`
    Ana
    ```
    ⚠ bo@example.com is outside acme.test
    -# expires tomorrow 17:00
    ");
    insta::assert_snapshot!(message["components"][0]["components"][5].to_string(), @r#"{"components":[{"custom_id":"approve:00000000-0000-0000-0000-000000000007","label":"Approve & send","style":1,"type":2},{"custom_id":"deny:00000000-0000-0000-0000-000000000007","label":"Deny","style":4,"type":2}],"type":1}"#);
}

#[test]
fn an_answer_is_text_alone() {
    assert_eq!(
        message(&Card::from_markdown("Hello **Ana**"), None),
        json!({"flags": 32772, "components": [{"type": 10, "content": "Hello **Ana**"}], "allowed_mentions": {"parse": []}})
    );
    assert_eq!(ephemeral(&Card::default())["flags"], 32772 | 64);
    assert_eq!(message_text(&ephemeral(&Card::default())), "—");
}

#[test]
fn message_is_found_by_its_delivery_tags() {
    let (key, other) = (DeliveryId(Uuid::from_u128(1)), DeliveryId(Uuid::from_u128(2)));
    for card in [
        approval(),
        Card::from_markdown("one"),
        Card::from_markdown("one").with_block(Block::Markdown("two".into())),
    ] {
        let posted = message(&card, Some(key));
        assert_valid(&posted);
        assert!(
            has_delivery_tags(&posted, key)
                && !has_delivery_tags(&posted, other)
                && !has_delivery_tags(&message(&card, None), key)
        );
    }
    assert!(!has_delivery_tags(&json!({}), key));
    let (first, second) = component_ids_for_delivery(key);
    assert!(first > 40 && second > 40 && first != second);
}

#[test]
fn truncated_content_is_counted() {
    let body = "One line of a very long mail.\n".repeat(2_000);
    let mut card = approval();
    card.body[1] = Block::Literal(body.clone());
    assert!(!fits_in_one_message(&card) && fits_in_one_message(&approval()));
    let message = message(&card, None);
    assert_valid(&message);
    let shown = message_text(&message);
    assert!(shown.contains("⚠ bo@example.com") && message.to_string().contains("Approve & send"));
    let (_, tail) = shown.split_once("… (").unwrap();
    let missing: usize = tail.split_once(" more characters)").unwrap().0.parse().unwrap();
    let there = shown.matches("One line of a very long mail.").count() * 30;
    assert!(body.len().abs_diff(missing + there) <= 60, "{missing} + {there} of {}", body.len());
    assert!(there > 3_000, "more of it should fit: {there}");
}

#[test]
fn a_link_too_long_for_a_button_is_a_line() {
    let long = format!("https://x.test/{}", "a".repeat(600));
    let card = Card::from_markdown("Look")
        .with_button("Open", Style::Plain, OnClick::Link(long.clone()))
        .with_button("Short", Style::Plain, OnClick::Link("https://x.test/b".into()));
    let message = message(&card, None);
    assert_valid(&message);
    assert!(message_text(&message).contains(&format!("Open: <{long}>")));
    assert!(message.to_string().contains(r#""url":"https://x.test/b""#));
}

#[test]
fn only_explicit_mentions_notify() {
    let card = Card::from_markdown("Ask <@2>, or @everyone.").with_mention(Some("1"));
    let message = message(&card, None);
    assert_eq!(message["allowed_mentions"], json!({"parse": [], "users": ["1"]}));
    assert_eq!(message["components"][0], json!({"type": 10, "content": "<@1>"}));
    assert_valid(&message);
}

/// Any request that can be asked for, on a card with its frame.
fn any_request() -> impl Strategy<Value = (Preview, Card)> {
    let long = || prop_oneof![3 => text(), 1 => "[ -~]{0,2000}".boxed(), 1 => "(é|\"|_|\n){0,900}".boxed()];
    let fields = proptest::collection::vec(("[A-Z][a-z]{0,11}", long()), 0..6);
    let risks = proptest::collection::vec(long(), 0..12);
    (fields, proptest::option::of(long()), risks).prop_filter_map(
        "asked about by nobody",
        |(fields, body, risks)| {
            let words =
                serde_json::json!({"approve": "", "doing": "", "done": "", "not_done": "", "thing": ""});
            let words: ActionLabels = serde_json::from_value(words).ok()?;
            let room = limits::REQUEST_TEXT;
            let preview =
                Preview { fields, body, display_limit: room, ..Preview::new(Value::Null, "", words) };
            check_displayable(&preview).ok()?;
            let by = Block::Deadline(Deadline {
                words: "Only Ana Silva can approve this. Expires".to_owned(),
                at: 1_772_875_800,
                text: "Sat 7 Mar 2026, 09:30 WET".to_owned(),
            });
            let card = request(&preview, &risks).with_title("Send this email?").with_block(by);
            let press = |verb| OnClick::Action(Action::new(verb, Uuid::nil()));
            let card = card
                .with_button("Approve & send", Style::Primary, press("approve"))
                .with_button("Edit", Style::Plain, press("edit"))
                .with_button("Deny", Style::Danger, press("deny"))
                .with_button("Show all", Style::Plain, press("show_full_text"));
            Some((preview, card))
        },
    )
}

#[test]
fn what_somebody_is_asked_about_has_room_on_its_card() {
    let config =
        ProptestConfig { cases: 300, failure_persistence: None, max_shrink_iters: 200, ..Default::default() };
    proptest!(config, |((preview, card) in any_request())| {
        prop_assert!(fits_in_one_message(&card), "{:?}", preview);
    });
}
