// The test prints its measurements.
#![allow(clippy::print_stdout)]

use uuid::Uuid;

use super::*;
use nod_contract::ids::{FactId, MessageId, PersonId};

fn message(text: &str, by: Option<&str>) -> AttributedTurn {
    let turn = match by {
        Some(_) => Turn::Human { text: text.to_owned() },
        None => Turn::Ai { text: text.to_owned(), calls: Vec::new() },
    };
    AttributedTurn { turn, speaker: by.map(str::to_owned), outside: Vec::new(), audience: Audience::Channel }
}

fn fact(name: &str, value: &str) -> Fact {
    Fact {
        id: FactId(Uuid::from_u128(1)),
        owner: Uuid::from_u128(2),
        person: None,
        kind: FactKind::Fact,
        name: name.to_owned(),
        value: value.to_owned(),
        message: MessageId(Uuid::from_u128(3)),
        untrusted_sources: Vec::new(),
    }
}

fn tokens_of(view: &MemoryContext) -> usize {
    let history: usize = view
        .history
        .iter()
        .map(|turn| match turn {
            Turn::Human { text } | Turn::Ai { text, .. } => tokens::bound(text),
            Turn::System { .. } | Turn::Tool { .. } => 0,
        })
        .sum();
    let lines = fact_lines(view.facts.iter().map(|(n, v)| (n.as_str(), v.as_str())));
    let facts = lines.iter().map(|line| tokens::bound(line)).sum::<usize>();
    let summary = view.summary.as_ref().map_or(0, |(text, _)| tokens::bound(text));
    history + facts + summary + view.goal.as_deref().map_or(0, tokens::bound)
}

#[test]
fn memory_context_is_bounded_and_keeps_the_newest() {
    let texts = [
        "We could meet on Friday at three, or else on Monday morning before the stand-up. ".repeat(40),
        "金曜日の三時に会いましょう。".repeat(120),
        "🎉🎊🥳".repeat(400),
        "fn main() { println!(\"{:?}\", vec![1, 2, 3]); }\n".repeat(60),
        "qzxvkjwpfyg".repeat(300),
        "x".repeat(30_000),
    ];
    for text in &texts {
        let talk: Vec<AttributedTurn> =
            (0..30).map(|at| message(&format!("{at} {text}"), Some("Ana Silva"))).collect();
        let facts: Vec<Fact> = (0..80)
            .map(|at| fact(&format!("Fact {at}"), &text.chars().take(100).collect::<String>()))
            .collect();
        let text = text.repeat(3);
        let summary = ConversationSummary { text, ..ConversationSummary::default() };
        let view = MemoryContext::build(Some(&summary), &facts, &talk, false);
        let all = tokens_of(&view);
        println!(
            "{all} of {MAX_TOKENS} tokens, {} messages of 30, {} facts of 80",
            view.history.len(),
            view.facts.len()
        );
        assert!(all <= MAX_TOKENS, "{all}");
        let Some(Turn::Human { text }) = view.history.last() else { panic!("nothing is in view") };
        assert!(text.starts_with("Ana Silva: 29 "), "{text}");
        assert!(view.summary.is_some() && !view.facts.is_empty());
    }
}

#[test]
fn short_conversation_is_kept_in_full() {
    let talk = [message("hello", Some("Ana Silva")), message("Hello **Ana**.", None)];
    let view = MemoryContext::build(None, &[], &talk, false);
    let texts: Vec<Turn> = vec![
        Turn::Human { text: "Ana Silva: hello".to_owned() },
        Turn::Ai { text: "Hello **Ana**.".to_owned(), calls: Vec::new() },
    ];
    assert_eq!(view.history, texts);
    assert_eq!(view.unsummarised, 2);
}

#[test]
fn private_messages_make_the_context_private() {
    let ana = PersonId(Uuid::from_u128(9));
    let private = AttributedTurn {
        audience: Audience::Person(ana),
        outside: vec!["mail".to_owned()],
        ..message("x", None)
    };
    let view = MemoryContext::build(None, &[], &[message("hello", Some("Ana")), private], false);
    assert_eq!(view.audience, Some(Audience::Person(ana)));
    assert_eq!((view.untrusted_sources, view.unsummarised), (vec!["mail".to_owned()], 1));
}
