//! Whatever the page and the README suggest to say is understood by the demo's model, in one conversation, in the order
//! in which it stands there.

use serde_json::{Value, json};

use super::*;

const README: &str = include_str!("../../../../README.md");
/// Quoted there, and not said to Nod.
const NAMES: [&str; 2] = ["More to try", "Restart Nod while a card is waiting"];
/// What is said before, where a sentence is about an email that was just read.
const BEFORE: [(&str, &str); 1] = [("Reply that Wednesday works", "read the mail from Kim")];
/// How the demo's model says that it did not understand.
const REFUSALS: [&str; 3] = ["I didn't get that", "I only know a few", "Which mail do you mean?"];

/// Returns what stands between these marks, in order, each once.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for part in text.split(open).skip(1) {
        let quoted = part.split(close).next().unwrap_or_default();
        if !all.contains(&quoted) {
            all.push(quoted);
        }
    }
    all
}

fn suggested() -> Vec<String> {
    let readme = between(README, "“", "”").into_iter().filter(|quoted| !NAMES.contains(quoted));
    let page = page::files().flat_map(|(_, _, text)| between(text, "\"@nod ", "\""));
    let mut all: Vec<String> = Vec::new();
    for sentence in readme.chain(page.filter(|sentence| !sentence.trim().is_empty())) {
        // Line breaks of the README are spaces, and in the direct line nobody is mentioned.
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = sentence.trim_start_matches("@Nod ").to_owned();
        if !all.contains(&sentence) && sentence != "keep this" {
            all.push(sentence);
        }
    }
    all
}

/// Returns what Nod wrote to Ana after this time.
fn said_since(state: &Value, since: f64) -> Vec<String> {
    let time =
        |message: &Value| message["ts"].as_str().and_then(|ts| ts.parse::<f64>().ok()).unwrap_or_default();
    let news = nod_messages(state).filter(|message| time(message) > since);
    news.map(|message| message["shown"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_suggested_is_understood() {
    let visit = DemoFixture::start().await;
    let say = async |text: &str| {
        let said = visit.post("slack/say", json!({"user": "ana", "channel": "dm:ana", "text": text})).await;
        said["ts"].as_str().unwrap().parse::<f64>().unwrap()
    };
    say("what's new in my email?").await;
    let (_, connect) = visit.wait_for_button("link").await;
    visit.connect(connect["url"].as_str().unwrap()).await;
    visit.wait_for_button("quick_action").await;
    let mut not_understood = Vec::new();
    let all = suggested();
    assert!(all.len() > 20, "{all:?}");
    for sentence in all {
        if let Some((_, first)) = BEFORE.iter().find(|(later, _)| *later == sentence) {
            let at = say(first).await;
            visit.wait_in_slack(|state| (!said_since(state, at).is_empty()).then_some(())).await;
        }
        let at = say(&sentence).await;
        let answers =
            visit.wait_in_slack(|state| Some(said_since(state, at)).filter(|said| !said.is_empty())).await;
        let said = answers.join(" / ");
        if REFUSALS.iter().any(|words| said.contains(words)) {
            not_understood.push(format!("“{sentence}”: {said}"));
        }
    }
    assert!(not_understood.is_empty(), "{}", not_understood.join("\n"));
    visit.shut_down().await;
}
