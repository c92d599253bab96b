//! The handbook is asked, and a file is dropped in the page, kept, asked about and removed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;

const QUESTION: &str = "@nod how many days of annual leave do I have?";
const ABOUT_OFFER: &str = "@nod what do the brochures cost in the offer?";
const UNKNOWN: &str = "I don't know";

/// "Everybody has 25 days of annual leave a year.\n" in Base64.
const NOTE: &str = "RXZlcnlib2R5IGhhcyAyNSBkYXlzIG9mIGFubnVhbCBsZWF2ZSBhIHllYXIuCg==";

pub(super) fn message_with(state: &Value, words: &[&str]) -> Option<Value> {
    nod_messages(state).find(|message| has_all(message, words)).cloned()
}

fn has_all(message: &Value, words: &[&str]) -> bool {
    let shown = message.to_string();
    words.iter().all(|words| shown.contains(words))
}

/// Returns a button below what Nod said to Ana alone in Slack.
fn whispered_button(state: &Value, action: &str) -> Option<(Value, Value)> {
    find_button(&json!({"channels": [{"messages": state["ephemerals"]}]}), action)
}

/// Returns a button of a message in Discord, wherever it is in its parts.
pub(super) fn discord_button(parts: &Value, action: &str) -> Option<String> {
    list(parts).find_map(|part| {
        let id = part["custom_id"].as_str().filter(|id| id.starts_with(action)).map(str::to_owned);
        id.or_else(|| discord_button(&part["components"], action))
    })
}

/// Returns Nod's messages in Discord that Ana sees, and what it said to her alone.
pub(super) fn discord_messages(state: &Value) -> impl Iterator<Item = &Value> {
    let messages = list(&state["channels"]).flat_map(|place| list(&place["messages"]));
    messages.filter(|message| message["by_bot"] == true).chain(list(&state["ephemerals"]))
}

impl DemoFixture {
    async fn ask_on(&self, door: &str, text: &str) {
        self.post(&format!("{door}/say"), json!({"user": "ana", "channel": "launch", "text": text})).await;
    }

    /// Drops the offer as the page does, with the bytes that the page gets.
    pub(super) async fn drop_offer(&self, door: &str) {
        let facts = self.get("facts").await;
        let name = facts["offer"].as_str().unwrap();
        let bytes = self.client.get(self.page.join(name).unwrap()).send().await.unwrap();
        assert_eq!(bytes.headers()["content-type"], "application/pdf");
        let base64 = STANDARD.encode(bytes.bytes().await.unwrap());
        let file = json!({"name": name, "media_type": "application/pdf", "base64": base64});
        let said = json!({"user": "ana", "channel": "launch", "text": "@nod keep this", "file": file});
        self.post(&format!("{door}/say"), said).await;
    }

    async fn command_in_slack(&self, text: &str) {
        let command = json!({"user": "ana", "channel": "launch", "command": "/nod", "text": text});
        self.post("slack/slash", command).await;
    }

    pub(super) async fn press_in_discord(&self, (message, button): &(Value, String)) {
        let at = json!({
            "user": "ana", "channel": message["channel"], "ts": message["id"], "custom_id": button,
        });
        assert_eq!(self.post("discord/press", at).await["state"], "acknowledged");
    }

    /// Waits for a message of Nod's in Discord that has all of these words.
    async fn wait_for_discord_message(&self, words: &[&str]) -> Value {
        self.wait_in_discord(|state| discord_messages(state).find(|one| has_all(one, words)).cloned()).await
    }

    async fn wait_for_discord_button(&self, action: &str, words: &str) -> (Value, String) {
        let find = |message: &Value| {
            let button = discord_button(&message["components"], action)?;
            message.to_string().contains(words).then(|| (message.clone(), button))
        };
        self.wait_in_discord(|state| discord_messages(state).find_map(find)).await
    }

    /// Waits until the handbook can be asked.
    pub(super) async fn wait_for_handbook(&self) {
        let known = async {
            loop {
                self.command_in_slack("knowledge").await;
                let state = self.get("sandbox/slack/state?user=ana").await;
                if list(&state["ephemerals"]).any(|one| has_all(one, &["handbook.pdf", "12 passages"])) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, known).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_is_walked_in_slack() {
    let visit = DemoFixture::start().await;
    visit.wait_for_handbook().await;

    visit.ask_on("slack", QUESTION).await;
    visit
        .wait_in_slack(|state| {
            message_with(state, &["25 days of annual leave a year", "[1] handbook.pdf · p. 3"])
        })
        .await;
    let source = visit.wait_for_button("knowledge_passage").await;
    visit.press("ana", &source).await;
    let opened = |state: &Value| {
        list(&state["ephemerals"]).any(|one| has_all(one, &["Cited", "handbook.pdf"])).then_some(())
    };
    visit.wait_in_slack(opened).await;

    visit.drop_offer("slack").await;
    let read = ["I've read this. Ask me about it.", "offer.pdf", "1 page"];
    visit.wait_in_slack(|state| message_with(state, &read)).await;
    visit.ask_on("slack", ABOUT_OFFER).await;
    visit.wait_in_slack(|state| message_with(state, &["1,840 euros", "[1] offer.pdf · p. 1"])).await;

    visit.command_in_slack("knowledge remove offer.pdf").await;
    let sure = visit.wait_in_slack(|state| whispered_button(state, "knowledge_remove")).await;
    visit.press("ana", &sure).await;
    visit.wait_in_slack(|state| message_with(state, &["I've forgotten what it said", "offer.pdf"])).await;
    visit.ask_on("slack", ABOUT_OFFER).await;
    visit.wait_in_slack(|state| message_with(state, &[UNKNOWN])).await;
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_is_walked_in_discord() {
    let visit = DemoFixture::start().await;
    visit.wait_for_handbook().await;

    visit.ask_on("discord", QUESTION).await;
    visit.wait_for_discord_message(&["25 days of annual leave a year", "handbook.pdf · p. 3"]).await;
    let source = visit.wait_for_discord_button("knowledge_passage", "handbook.pdf").await;
    visit.press_in_discord(&source).await;
    visit.wait_for_discord_message(&["Cited", "handbook.pdf"]).await;

    visit.drop_offer("discord").await;
    visit.wait_for_discord_message(&["I've read this. Ask me about it.", "offer.pdf", "1 page"]).await;
    visit.ask_on("discord", ABOUT_OFFER).await;
    visit.wait_for_discord_message(&["1,840 euros", "offer.pdf · p. 1"]).await;

    let remove = json!({
        "user": "ana", "channel": "launch", "command": "knowledge", "options": {"remove": "offer.pdf"},
    });
    assert_eq!(visit.post("discord/slash", remove).await["state"], "acknowledged");
    let sure = visit.wait_for_discord_button("knowledge_remove", "offer.pdf").await;
    visit.press_in_discord(&sure).await;
    visit.wait_for_discord_message(&["I've forgotten what it said", "offer.pdf"]).await;
    visit.ask_on("discord", ABOUT_OFFER).await;
    visit.wait_for_discord_message(&[UNKNOWN]).await;
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_handbook_answers_what_it_says_and_nothing_else() {
    let visit = DemoFixture::start().await;
    visit.wait_for_handbook().await;
    for (question, answer) in [
        ("what does the handbook say about holidays?", ["public holidays of its own country. [1]", "p. 12"]),
        ("may I work from home?", ["home up to three days a week. [1]", "p. 7"]),
        ("my laptop is broken, what do I do?", ["a spare one on the same day. [1]", "p. 8"]),
        (
            "how much is the training budget?",
            ["600 euros a year, for courses, books and conferences. [1]", "p. 10"],
        ),
        ("how much may a hotel be a night?", ["140 euros a night", "p. 5"]),
        ("how many weeks of parental leave do I get?", ["16 weeks of parental leave", "p. 11"]),
        ("can I bring my dog?", [UNKNOWN, "The answer quotes none of it."]),
        ("where can I park?", [UNKNOWN, "for “where can I park?” and found nothing"]),
    ] {
        visit.ask_on("slack", &format!("@nod {question}")).await;
        visit.wait_in_slack(|state| message_with(state, &answer)).await;
    }
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_text_is_kept_and_asked_about() {
    let visit = DemoFixture::start().await;
    let file = json!({"name": "note.txt", "media_type": "text/plain", "base64": NOTE});
    let dropped = json!({"user": "ana", "channel": "launch", "text": "@nod keep this", "file": file});
    visit.post("slack/say", dropped).await;
    visit.wait_in_slack(|state| message_with(state, &["I've read this. Ask me about it.", "note.txt"])).await;

    let question = "@nod how much annual leave do I have?";
    visit.post("slack/say", json!({"user": "bo", "channel": "launch", "text": question})).await;
    visit.wait_in_slack(|state| message_with(state, &["25 days of annual leave a year"])).await;
    let source = visit.wait_for_button("knowledge_passage").await;
    visit.press("bo", &source).await;
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_none_is_refused() {
    let visit = DemoFixture::start().await;
    for file in [json!({"name": "", "base64": NOTE}), json!({"name": "a.txt", "base64": "%%"})] {
        let dropped = json!({"user": "ana", "channel": "launch", "text": "keep this", "file": file});
        for place in ["slack", "discord"] {
            let door = visit.page.join(&format!("sandbox/{place}/say")).unwrap();
            let said = visit.client.post(door).json(&dropped).send().await;
            assert_eq!(said.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
        }
    }
    visit.shut_down().await;
}
