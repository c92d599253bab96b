#![allow(clippy::unwrap_used)]

use super::*;

fn char_limit(most: usize) -> impl Fn(&Card) -> bool {
    move |card| {
        let letters = |block: &Block| match block {
            Block::Markdown(text) | Block::Literal(text) | Block::Note(text) | Block::Mention(text) => {
                text.chars().count()
            }
            Block::Fields(_)
            | Block::Risks(_)
            | Block::TimeOptions(_)
            | Block::Deadline(_)
            | Block::Row(_) => 0,
        };
        card.body.iter().map(letters).sum::<usize>() <= most
    }
}

fn split_at_limit(text: &str, most: usize) -> Vec<String> {
    let pages = split_into_messages(&Card::from_markdown(text), most, char_limit(most));
    let words = |card: Card| match card.body.into_iter().next() {
        Some(Block::Markdown(text)) => text,
        other => panic!("{other:?}"),
    };
    pages.into_iter().map(words).collect()
}

#[test]
fn short_card_stays_one_message() {
    assert_eq!(split_at_limit("one\n\ntwo", 100), ["one\n\ntwo"]);
}

#[test]
fn long_card_is_split_between_paragraphs() {
    let text = "First paragraph here.\n\nSecond one stands here.\n\nThird.";
    assert_eq!(split_at_limit(text, 50), ["First paragraph here.\n\nSecond one stands here.", "Third."]);
    assert_eq!(split_at_limit(text, 32), ["First paragraph here.", "Second one stands here.\n\nThird."]);
}

#[test]
fn long_paragraph_is_split_after_a_sentence() {
    let text = "One sentence of a few words. Another sentence of words. And a last one.";
    assert_eq!(
        split_at_limit(text, 60),
        ["One sentence of a few words. Another sentence of words.", "And a last one."]
    );
}

#[test]
fn short_code_block_is_not_split() {
    let text = "Before it all.\n\n```rust\nlet a = 1;\n\nlet b = 2;\n```\n\nAfter.";
    assert_eq!(
        split_at_limit(text, 46),
        ["Before it all.", "```rust\nlet a = 1;\n\nlet b = 2;\n```\n\nAfter."]
    );
}

#[test]
fn long_code_block_is_closed_and_reopened() {
    let text = "```sh\nfirst line of it\nsecond line of it\nthird line of it\n```";
    assert_eq!(
        split_at_limit(text, 50),
        ["```sh\nfirst line of it\nsecond line of it\n```", "```sh\nthird line of it\n```"]
    );
    let endless = format!("```\n{}\n```", "x".repeat(100));
    for page in split_at_limit(&endless, 60) {
        assert!(page.starts_with("```\n") && page.ends_with("\n```") && page.len() <= 60, "{page}");
    }
}

#[test]
fn numbered_list_continues_its_numbering() {
    for marks in [["1.", "2.", "3.", "4."], ["1.", "1.", "1.", "1."]] {
        let text = marks.map(|mark| format!("{mark} item of a list")).join("\n");
        let pages = split_at_limit(&text, 42);
        assert_eq!(pages.len(), 2);
        assert!(pages[1].starts_with("3. item of a list\n"), "{pages:?}");
    }
}

#[test]
fn table_header_repeats_in_every_message() {
    let rows: Vec<String> = (0..6).map(|n| format!("| row {n} | {n} |")).collect();
    let pages = split_at_limit(&format!("| name | n |\n|---|---|\n{}", rows.join("\n")), 75);
    assert!(pages.len() > 1, "{pages:?}");
    assert!(pages.iter().all(|page| page.starts_with("| name | n |\n|---|---|\n| row")), "{pages:?}");
}

#[test]
fn title_is_on_the_first_and_buttons_on_the_last_message() {
    use nod_contract::card::{OnClick, Style};
    let card = Card::from_markdown("One paragraph.\n\nAnother paragraph.").with_title("Title").with_button(
        "Open",
        Style::Plain,
        OnClick::Link("https://a.test".to_owned()),
    );
    let pages = split_into_messages(&card, 20, char_limit(20));
    assert_eq!(pages.len(), 2);
    assert_eq!((pages[0].title.as_deref(), pages[0].buttons.len()), (Some("Title"), 0));
    assert_eq!((pages[1].title.as_deref(), pages[1].buttons.len()), (None, 1));
}

/// Small pseudo-random numbers from a seed, the same in every run.
struct SeededRng(u64);

impl SeededRng {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn random_words(&mut self, at: &mut u64) -> String {
        let mut words = Vec::new();
        for _ in 0..=self.next(30) {
            *at += 1;
            words.push(format!("w{at}"));
        }
        words.join(" ")
    }

    fn unit(&mut self, at: &mut u64) -> String {
        let lines = 1 + self.next(12);
        let mut each = |dice: &mut Self, mark: fn(u64) -> String| {
            (1..=lines)
                .map(|n| format!("{}{}", mark(n), dice.random_words(at)))
                .collect::<Vec<_>>()
                .join("\n")
        };
        match self.next(5) {
            0 => format!("```\n{}\n```", each(self, |_| String::new())),
            1 => each(self, |n| format!("{n}. ")),
            2 => each(self, |_| "- ".to_owned()),
            3 => format!("> {}", each(self, |_| String::new()).replace('\n', "\n> ")),
            _ => each(self, |_| String::new()),
        }
    }
}

#[test]
fn splitting_keeps_all_text_in_order_and_closes_code() {
    for seed in 0..300 {
        let mut dice = SeededRng(seed);
        let mut at = 0;
        let text = (0..=dice.next(8)).map(|_| dice.unit(&mut at)).collect::<Vec<_>>().join("\n\n");
        let most = 60 + usize::try_from(dice.next(400)).unwrap();
        let pages = split_at_limit(&text, most);
        let words: Vec<u64> = pages
            .iter()
            .flat_map(|page| page.split(|c: char| !c.is_alphanumeric()))
            .filter_map(|word| word.strip_prefix('w').and_then(|n| n.parse().ok()))
            .collect();
        assert_eq!(words, (1..=at).collect::<Vec<_>>(), "seed {seed}: {pages:#?}");
        for page in &pages {
            assert!(page.chars().count() <= most, "seed {seed}: {} of {most}: {page}", page.chars().count());
            assert_eq!(
                page.lines().filter(|line| line.starts_with("```")).count() % 2,
                0,
                "seed {seed}: {page}"
            );
        }
    }
}

#[test]
fn mention_stays_with_the_first_text() {
    let card = Card::from_markdown("one two three four five six seven").with_mention(Some("U1"));
    let pages = split_into_messages(&card, 25, char_limit(25));
    assert!(pages.len() > 1 && pages[0].body.len() == 2, "{pages:?}");
    assert!(pages[1..].iter().all(|page| !page.body.contains(&Block::Mention("U1".to_owned()))));
}

/// Twice the text takes about twice the work, whatever the text.
#[test]
fn cutting_is_linear() {
    type Text = fn(usize) -> String;
    let texts: [(&str, Text); 5] = [
        ("words", |size| "a sentence of words. ".repeat(size / 21)),
        ("one line", |size| "x".repeat(size)),
        ("a list", |size| (1..size / 20).map(|n| format!("{n}. item of a list\n")).collect()),
        ("a table", |size| format!("| a | b |\n|---|---|\n{}", "| row | of it |\n".repeat(size / 16))),
        ("code", |size| format!("```rust\n{}```", "let a = 1; // line\n".repeat(size / 19))),
    ];
    for (name, text) in texts {
        let looked_at = |size: usize| {
            let looked = std::cell::Cell::new(0);
            let fits = |card: &Card| {
                looked.set(looked.get() + letters(card));
                char_limit(4_000)(card)
            };
            let card = Card::from_markdown(text(size));
            assert!(split_into_messages(&card, 4_000, fits).len() > size / 4_001, "{name}");
            looked.get()
        };
        let (once, twice) = (looked_at(500_000), looked_at(1_000_000));
        assert!(twice * 2 <= once * 5, "{name}: {once} and {twice}");
    }
}

#[test]
fn a_beginning_is_whole_in_itself() {
    assert_eq!(truncate_as_message("One.\n\nTwo.", 100), "One.\n\nTwo.");
    let code = format!("Before.\n\n```sh\n{}```", "line of it\n".repeat(100));
    let shown = truncate_as_message(&code, 200);
    assert!(shown.starts_with("Before.\n\n```sh\nline") && shown.ends_with("\n```"), "{shown}");
    assert!(shown.chars().count() <= 200, "{shown}");
    assert!(truncate_as_message(&"x".repeat(500), 200).len() >= 100);
}
