#![allow(clippy::unwrap_used)]

use nod_contract::card::{Action, Button, Deadline, OnClick, Style, TimeOption};
use nod_contract::ids::RunId;
use nod_contract::tool::{ActionLabels, Preview};
use nod_requests::approval::{check_displayable, request};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn block_text(blocks: &[Value]) -> String {
    fn collect(value: &Value, out: &mut String) {
        match value {
            Value::Object(object) => {
                if let Some(text) = object.get("text").and_then(Value::as_str) {
                    out.push_str(text);
                } else if let Some(url) = object.get("url").and_then(Value::as_str) {
                    out.push_str(url);
                }
                object.values().for_each(|value| collect(value, out));
            }
            Value::Array(list) => list.iter().for_each(|value| collect(value, out)),
            _ => {}
        }
    }
    let mut out = String::new();
    blocks.iter().for_each(|block| collect(block, &mut out));
    out
}

/// Checks the rules of `limits` on the JSON.
fn assert_valid(blocks: &[Value]) {
    assert!(!blocks.is_empty() && blocks.len() <= limits::BLOCKS, "{} blocks", blocks.len());
    assert!(size(blocks) <= limits::BLOCKS_JSON, "{} of JSON", size(blocks));
    let mut ids = HashSet::new();
    for block in blocks {
        match block["type"].as_str().unwrap() {
            "header" => assert_plain_text(&block["text"], limits::HEADER),
            "section" => {
                assert_plain_text(&block["text"], limits::BLOCK_TEXT);
                if let Some(button) = block.get("accessory") {
                    assert_plain_text(&button["text"], limits::BUTTON_LABEL);
                    assert!(ids.insert(button["action_id"].as_str().unwrap().to_owned()));
                }
            }
            "context" => {
                for element in block["elements"].as_array().unwrap() {
                    match element["type"].as_str().unwrap() {
                        "mrkdwn" => assert!(is_date(element["text"].as_str().unwrap()), "{element}"),
                        _ => assert_plain_text(element, limits::BLOCK_TEXT),
                    }
                }
            }
            "actions" => {
                let elements = block["elements"].as_array().unwrap();
                assert!((1..=limits::ROW).contains(&elements.len()));
                for element in elements {
                    assert_plain_text(&element["text"], limits::BUTTON_LABEL);
                    assert!(ids.insert(element["action_id"].as_str().unwrap().to_owned()));
                    assert!(element["value"].as_str().is_none_or(|v| v.len() <= 2000));
                    assert!(element["url"].as_str().is_none_or(|v| char_count(v) <= limits::BUTTON_URL));
                }
            }
            "context_actions" => {
                let [element] = &block["elements"].as_array().unwrap()[..] else { panic!("{block}") };
                assert!(ids.insert(element["action_id"].as_str().unwrap().to_owned()));
                for name in ["positive_button", "negative_button"] {
                    assert_plain_text(&element[name]["text"], limits::BUTTON_LABEL);
                }
            }
            "rich_text" => rich(block),
            other => panic!("unexpected block {other}"),
        }
    }
    let json = serde_json::to_string(blocks).unwrap().replace("<!date^1700000000^", "");
    for loud in ["<!", "<@", "<#", "\"broadcast\"", "\"usergroup\""] {
        assert!(!json.contains(loud), "{loud} in {json}");
    }
}

/// Whether it is one date, as only Nod writes it.
fn is_date(text: &str) -> bool {
    let inside = text.strip_prefix("<!date^1700000000^{date_short_pretty} {time}|");
    let fallback = inside.and_then(|rest| rest.strip_suffix('>'));
    fallback.is_some_and(|fallback| !fallback.contains(['<', '>', '|']))
}

fn assert_plain_text(text: &Value, max: usize) {
    assert_eq!(text["type"], "plain_text");
    let size = char_count(text["text"].as_str().unwrap());
    assert!((1..=max).contains(&size), "{size} of {max}: {text}");
}

fn rich(block: &Value) {
    let elements = block["elements"].as_array().unwrap();
    assert!(!elements.is_empty());
    for element in elements {
        assert!(!element["elements"].as_array().unwrap().is_empty(), "{element}");
        let inner = element["elements"].as_array().unwrap().iter();
        let runs: Vec<&Value> = if element["type"] == "rich_text_list" {
            inner.flat_map(|item| item["elements"].as_array().unwrap()).collect()
        } else {
            inner.collect()
        };
        for run in runs {
            match run["type"].as_str().unwrap() {
                "user" => assert_eq!(element["elements"].as_array().unwrap().len(), 1, "{element}"),
                "text" => assert!(!run["text"].as_str().unwrap().is_empty()),
                "link" => {
                    let url = run["url"].as_str().unwrap();
                    assert!(["http://", "https://", "mailto:"].iter().any(|s| url.starts_with(s)), "{url}");
                    if let Some(text) = run["text"].as_str() {
                        assert_eq!(format!("mailto:{text}"), url);
                    }
                }
                "date" => assert!(!run["fallback"].as_str().unwrap().is_empty(), "{run}"),
                other => panic!("unexpected element {other}"),
            }
        }
    }
}

fn text() -> BoxedStrategy<String> {
    let chars =
        proptest::collection::vec(any::<char>(), 0..60).prop_map(|c| c.into_iter().collect::<String>());
    let markdown = proptest::collection::vec(
        prop_oneof![
            Just("**".to_owned()),
            Just("_".to_owned()),
            Just("~~".to_owned()),
            Just("`".to_owned()),
            Just("```\n".to_owned()),
            Just("\n\n".to_owned()),
            Just("\n- ".to_owned()),
            Just("\n3. ".to_owned()),
            Just("\n> ".to_owned()),
            Just("\n# ".to_owned()),
            Just("    ".to_owned()),
            Just("| a | b |\n".to_owned()),
            Just("|---|---|\n".to_owned()),
            Just("[x](javascript:alert(1))".to_owned()),
            Just("[bank](https://evil.test/<!here>)".to_owned()),
            Just("<!channel>".to_owned()),
            Just("@everyone".to_owned()),
            Just("<@U123>".to_owned()),
            Just("https://a.test/b?c=d&e".to_owned()),
            "[a-zäß€🙂 ]{1,12}",
        ],
        0..40,
    )
    .prop_map(|pieces| pieces.concat());
    let long = (any::<char>(), 1usize..100_000).prop_map(|(c, n)| c.to_string().repeat(n));
    prop_oneof![4 => chars, 6 => markdown, 1 => long].boxed()
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
        1 => proptest::collection::vec(("[a-z]{0,9}", ".{0,30}"), 0..400).prop_map(Block::Fields),
        1 => proptest::collection::vec(".{0,20}", 0..400).prop_map(Block::Risks),
        1 => text().prop_map(Block::Note),
        1 => (text(), ".{0,30}").prop_map(|(words, text)| Block::Deadline(Deadline { words, at: 1_700_000_000, text })),
        1 => proptest::collection::vec(time(), 0..40).prop_map(Block::TimeOptions),
        1 => (text(), proptest::collection::vec(button(), 0..4)).prop_map(|(text, buttons)| Block::Row(Row::new(text, buttons))),
        1 => "U[0-9A-Z]{8,10}".prop_map(Block::Mention),
    ]
}

fn button() -> impl Strategy<Value = Button> {
    let does = prop_oneof![
        ("[a-z]{1,20}", any::<u128>(), any::<Option<u16>>()).prop_map(|(verb, id, choice)| OnClick::Action(
            Action { kind: verb, subject: Uuid::from_u128(id), argument: choice }
        )),
        text().prop_map(OnClick::Link),
        "https://[a-z]{1,9}\\.test/[a-z]{0,2000}".prop_map(OnClick::Link),
    ];
    let style = prop_oneof![Just(Style::Primary), Just(Style::Plain), Just(Style::Danger)];
    (text(), style, does).prop_map(|(label, style, does)| Button { label, style, on_click: does })
}

fn card() -> impl Strategy<Value = Card> {
    let blocks = prop_oneof![3 => proptest::collection::vec(block(), 0..6), 1 => proptest::collection::vec(".{0,9}".prop_map(Block::Note), 0..200)];
    let buttons = prop_oneof![3 => proptest::collection::vec(button(), 0..5), 1 => proptest::collection::vec(button(), 0..120)];
    let feedback = proptest::option::of((0..9_u128).prop_map(|run| RunId(Uuid::from_u128(run))));
    (proptest::option::of(text()), blocks, buttons, proptest::option::of(text()), feedback)
        .prop_map(|(title, body, buttons, notice, feedback)| Card { title, body, buttons, notice, feedback })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_card_gives_valid_blocks(card in card()) {
        let blocks = blocks(&card);
        assert_valid(&blocks);
        let called = card.body.iter().filter(|block| matches!(block, Block::Mention(_))).count();
        let json = serde_json::to_string(&blocks).unwrap();
        prop_assert!(json.matches("\"type\":\"user\"").count() <= called, "whom the words name is called");
        let fallback = fallback(&card);
        prop_assert!(!fallback.is_empty() && char_count(&fallback) <= 40_000);
        prop_assert!(!fallback.contains("<"));
        let rated = blocks.iter().filter(|block| block["type"] == "context_actions").count();
        prop_assert_eq!(rated, usize::from(card.feedback.is_some()), "whatever does not fit, it can be rated");
    }
}

#[test]
fn any_card_passes_the_vendors_schema() {
    let Some(dir) = std::env::var_os("NOD_SPECS_DIR").map(std::path::PathBuf::from) else {
        eprintln!("skipped: NOD_SPECS_DIR is not set");
        return;
    };
    let dir = if dir.join("slack").is_dir() { dir.join("slack") } else { dir };
    let spec = nod_sandbox::spec::Spec::read(&dir, "slack.requests.schema.json").unwrap();
    let validator = spec.validator("#/$defs/Blocks").unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..Default::default()
    });
    runner
        .run(&card(), |card| {
            let blocks = Value::from(blocks(&card));
            prop_assert_eq!(nod_sandbox::spec::violations(&validator, &blocks), Vec::<String>::new());
            Ok(())
        })
        .unwrap();
}

fn approval() -> Card {
    let verb = |verb| OnClick::Action(Action::new(verb, Uuid::from_u128(7)));
    Card::default()
        .with_title("Send this email?")
        .with_block(Block::Fields(vec![
            ("From".into(), "ana@acme.test".into()),
            ("To".into(), "*bo@example.com* <!channel>".into()),
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
    let blocks = blocks(&approval());
    assert_valid(&blocks);
    let shown = block_text(&blocks);
    for piece in
        ["Send this email?", "From  ana@acme.test", "Cc  —", "```\nnot *code*\n```", "⚠ bo@", "17:00"]
    {
        assert!(shown.contains(piece), "{piece} in {shown}");
    }
    let actions = blocks.last().unwrap();
    assert_eq!(actions["elements"][0]["action_id"], "approve");
    assert_eq!(actions["elements"][0]["value"], "approve:00000000-0000-0000-0000-000000000007");
    assert_eq!(actions["elements"][0]["style"], "primary");
    assert_eq!(blocks[0]["type"], "header");
    assert_eq!(blocks[2]["type"], "context");
}

#[test]
fn buttons_of_one_action_have_unique_ids() {
    let choice = |n| {
        OnClick::Action(Action { kind: "answer_question".into(), subject: Uuid::nil(), argument: Some(n) })
    };
    let card = Card::from_markdown("Which Bob?").with_button("A", Style::Plain, choice(0)).with_button(
        "B",
        Style::Plain,
        choice(1),
    );
    let blocks = blocks(&card);
    let elements = blocks[1]["elements"].as_array().unwrap();
    assert_eq!(elements[0]["action_id"], "answer_question");
    assert_eq!(elements[1]["action_id"], "answer_question:1");
    assert_eq!(elements[1]["value"], "answer_question:00000000-0000-0000-0000-000000000000:1");
}

#[test]
fn truncated_content_is_counted() {
    let body = "One line of a very long mail.\n".repeat(2_000);
    let mut card = approval();
    card.body[1] = Block::Literal(body.clone());
    let blocks = blocks(&card);
    assert_valid(&blocks);
    let shown = block_text(&blocks);
    assert!(shown.contains("⚠ bo@example.com") && shown.contains("Approve & send"));
    let (_, tail) = shown.split_once("… (").unwrap();
    let missing: usize = tail.split_once(" more characters)").unwrap().0.parse().unwrap();
    let there = shown.matches("One line of a very long mail.").count() * 30;
    assert!(body.len().abs_diff(missing + there) <= 60, "{missing} + {there} of {}", body.len());
    assert!(missing < body.len() - 8_000, "more of it should fit");
}

#[test]
fn code_block_is_closed_in_every_chunk() {
    let code = format!("before\n\n```\n{}```\n\nafter", "let x = 1;\n".repeat(600));
    let blocks = blocks(&Card::from_markdown(code));
    assert_valid(&blocks);
    let pieces = blocks
        .iter()
        .flat_map(|b| b["elements"].as_array().unwrap())
        .filter(|e| e["type"] == "rich_text_preformatted");
    let pieces: Vec<&str> = pieces.map(|e| e["elements"][0]["text"].as_str().unwrap()).collect();
    assert!(pieces.len() > 1);
    assert!(pieces.iter().all(|p| p.lines().all(|line| line == "let x = 1;")));
}

#[test]
fn an_empty_card_is_a_dash() {
    assert_valid(&blocks(&Card::default()));
    assert_eq!(fallback(&Card::from_markdown("  ")), "—");
}

#[test]
fn the_fallback_is_escaped_and_pings_nobody() {
    let card =
        Card::from_markdown("a & b <!channel> @here **bold** [docs](https://x.test/a)").with_title("T <3");
    assert_eq!(
        fallback(&card),
        "T &lt;3\n\na &amp; b &lt;\u{200B}!channel&gt; @\u{200B}here bold docs (https://x.test/a)"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_fits_is_shown_whole(text in text(), times in 1_usize..150) {
        let card = Card::from_markdown(vec![text; times].join("\n\n"));
        let shown = block_text(&blocks(&card));
        prop_assert!(!fits_in_one_message(&card) || !shown.contains(" more characters)"), "{shown}");
    }
}

#[test]
fn only_explicit_mentions_notify() {
    let card = Card::from_markdown("Ask <@U2>.").with_mention(Some("U1"));
    let blocks = blocks(&card);
    assert_valid(&blocks);
    let sections = blocks[0]["elements"].as_array().unwrap();
    assert_eq!(sections[0]["elements"], json!([{"type": "user", "user_id": "U1"}]));
    assert_eq!(sections[1]["elements"][0]["type"], "text");
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
            let room = limits::REQUEST;
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
