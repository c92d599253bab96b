//! Whatever the page and the README suggest to say is understood by the demo's model, in one conversation, in the order
//! in which it stands there.

use serde_json::{Value, json};

use super::*;

const README: &str = include_str!("../../../../README.md");
/// Quoted there, and not said to Nod.
const NAMES: [&str; 2] = ["More to try", "Restart Nod while a card is waiting"];
/// What is said before, where a sentence is about an email that was just read.
const BEFORE: [(&str, &str); 1] = [("Reply that Wednesday works", "read the mail from Kim")];
/// What goes on with the mail of the sentence before.
const ABOUT_THE_LAST: [&str; 3] = ["make it shorter", "add Cho in copy", "send it"];
/// What no document says, which is what its suggestion shows.
const UNWRITTEN: &str = "where can I park?";
/// What is typed as a command and not said.
const COMMAND: &str = "/nod ";
/// Words of answers after which nothing is as it was suggested.
const DEAD_ENDS: [&str; 12] = [
    "I didn't get that",
    "I don't know",
    "I only know a few",
    "do you mean",
    "Who should",
    "found no",
    "There is no open draft",
    "did not work",
    "didn't work",
    "failed",
    "I would need a tool",
    "The answer was",
];

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
    let quoted = |text| [between(text, "\"@nod ", "\""), between(text, "“@nod ", "”")].concat();
    let page = page::files().flat_map(|(_, _, text)| quoted(text));
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

/// Returns when Slack says that something was said.
fn time(message: &Value) -> f64 {
    message["ts"].as_str().and_then(|ts| ts.parse().ok()).unwrap_or_default()
}

/// Returns what Nod wrote to Ana in a span of time, as she reads it now.
fn said_between(state: &Value, since: f64, until: f64) -> Vec<String> {
    let news = nod_messages(state).filter(|message| time(message) > since && time(message) < until);
    news.map(|message| message["shown"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns whom the mails in these answers are for and nobody has named. What was stopped is nobody's request.
fn find_unnamed_recipients(answer: &str, said: &str) -> Vec<String> {
    let asked = answer.split("# Stopped").next().unwrap_or_default();
    let lines = asked.lines().filter_map(|line| line.strip_prefix("To  ").or(line.strip_prefix("Cc  ")));
    let all =
        lines.flat_map(|line| line.split(", ")).map(|one| one.rsplit('<').next().unwrap_or(one).to_owned());
    let is_named = |address: &String| {
        let name = address.split(['@', '.']).next().unwrap_or_default();
        said.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| word == name)
    };
    all.filter(|address| !is_named(address)).collect()
}

/// A sentence that was said.
#[derive(Debug)]
struct Spoken {
    sentence: String,
    /// The same, with what it goes on with.
    whole: String,
    at: f64,
    /// What was answered first: a draft is replaced by the next one.
    first_answer: String,
}

impl Spoken {
    /// Returns what is wrong with its answers; `None` if they are of use to whoever took the suggestion.
    fn find_fault(&self, answers: &str) -> Option<String> {
        let strangers = find_unnamed_recipients(&format!("{}\n{answers}", self.first_answer), &self.whole);
        let dead_ends =
            DEAD_ENDS.iter().filter(|words| answers.contains(**words)).filter(|_| self.sentence != UNWRITTEN);
        let all: Vec<String> = dead_ends.map(|words| (*words).to_owned()).chain(strangers).collect();
        (!all.is_empty()).then(|| format!("“{}” ends in {all:?}:\n{answers}\n", self.sentence))
    }
}

impl DemoFixture {
    /// Begins a task with a command or a sentence, and does what its steps ask for until it is done.
    async fn finish_task(&self, wish: &str) {
        let is_card = |message: &Value| message["shown"].as_str().unwrap_or_default().contains("'s task · ");
        let before = self.get("sandbox/slack/state?user=ana").await;
        let before = nod_messages(&before).filter(|message| is_card(message)).count();
        match wish.strip_prefix(COMMAND) {
            Some(command) => {
                let typed = json!({"user": "ana", "channel": "dm:ana", "command": "/nod", "text": command});
                self.post("slack/slash", typed).await
            }
            None => self.post("slack/say", json!({"user": "ana", "channel": "dm:ana", "text": wish})).await,
        };
        let asked_by_task = |message: &Value| {
            let shown = message["shown"].as_str().unwrap_or_default();
            shown.contains("Asked by your task") || shown.contains("Send this email?")
        };
        let mut pressed = Vec::new();
        loop {
            let next = |state: &Value| {
                let messages: Vec<&Value> = nod_messages(state).collect();
                let mut cards = messages.iter().filter(|message| is_card(message));
                let card = cards.nth(before)?["shown"].as_str()?.to_owned();
                if card.contains(" · Done · ") {
                    return Some(None);
                }
                assert!(!card.contains("not done") && !card.contains("did not work"), "{card}");
                let newest = messages.iter().rfind(|message| asked_by_task(message))?;
                let button = list(&newest["blocks"])
                    .flat_map(|block| list(&block["elements"]))
                    .find(|element| element["action_id"].is_string())?
                    .clone();
                (!pressed.contains(&newest["ts"])).then(|| Some(((*newest).clone(), button)))
            };
            let Some(button) = self.wait_in_slack(next).await else { return };
            self.press("ana", &button).await;
            pressed.push(button.0["ts"].clone());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_suggested_is_understood() {
    let visit = DemoFixture::start().await;
    let say = async |text: &str| {
        let said = visit.post("slack/say", json!({"user": "ana", "channel": "dm:ana", "text": text})).await;
        time(&said)
    };
    let answered = async |at: f64| {
        let answers = |state: &Value| Some(said_between(state, at, f64::MAX)).filter(|all| !all.is_empty());
        visit.wait_in_slack(answers).await.join("\n")
    };
    visit.wait_for_handbook().await;
    visit.drop_offer("slack").await;
    visit.wait_in_slack(|state| documents::message_with(state, &["I've read this. Ask me about it."])).await;
    say("what's new in my email?").await;
    let (_, connect) = visit.wait_for_button("link").await;
    visit.connect(connect["url"].as_str().unwrap()).await;
    visit.wait_for_button("quick_action").await;
    // A task goes on beside what else is said.
    let (tasks, sentences): (Vec<String>, Vec<String>) = suggested()
        .into_iter()
        .partition(|sentence| sentence.starts_with(COMMAND) || sentence.contains(", then "));
    let mut all: Vec<Spoken> = Vec::new();
    for sentence in sentences {
        let mut whole = sentence.clone();
        if let Some((_, first)) = BEFORE.iter().find(|(later, _)| *later == sentence) {
            answered(say(first).await).await;
            whole = format!("{first} {sentence}");
        } else if let Some(last) = all.last().filter(|_| ABOUT_THE_LAST.contains(&sentence.as_str())) {
            whole = format!("{} {sentence}", last.whole);
        }
        let at = say(&sentence).await;
        all.push(Spoken { first_answer: answered(at).await, sentence, whole, at });
    }
    assert!(all.len() > 20, "{all:?}");
    // They are answered one after the other, so everything before this is whole.
    answered(say("thanks").await).await;
    let state = visit.get("sandbox/slack/state?user=ana").await;
    let ends = all.iter().skip(1).map(|spoken| spoken.at).chain([f64::MAX]);
    let fault =
        |(spoken, end): (&Spoken, f64)| spoken.find_fault(&said_between(&state, spoken.at, end).join("\n"));
    let wrong: Vec<String> = all.iter().zip(ends).filter_map(fault).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(tasks.len(), 2, "{tasks:?}");
    for task in tasks {
        visit.finish_task(&task).await;
    }
    visit.shut_down().await;
}
