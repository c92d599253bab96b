//! The tour without a browser: everything goes through the page's own endpoints.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use nod_sandbox::google::Google;
use reqwest::header::{CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;

mod browser;
mod documents;
mod hostile;
mod meeting;
mod sentences;

/// Long, because a machine that builds at the same time is slow.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running demo, and a visitor who has its page open.
struct DemoFixture {
    page: Url,
    client: reqwest::Client,
    google: Google,
    stop: CancellationToken,
    running: JoinHandle<anyhow::Result<()>>,
    _folder: tempfile::TempDir,
}

impl DemoFixture {
    async fn start() -> Self {
        // Fails if another test was first, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        // Nod binds its port again after a stop: one assigned by the system could be in use by then.
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let port = 20_000 + u16::try_from(std::process::id() % 1_000).unwrap() * 10;
        let ports = [0, port + NEXT.fetch_add(1, Ordering::Relaxed)];
        let mut demo = Demo::prepare(&DemoEnvironment::default(), Some(folder.path().join("demo")), ports)
            .await
            .unwrap();
        demo.config.reading.program = Some(reading_program());
        let (google, stop) = (demo.sandbox.google.clone(), CancellationToken::new());
        let (told, ready) = tokio::sync::oneshot::channel();
        let playing = demo.run(stop.clone(), move |page| told.send(page.clone()).unwrap());
        let mut running = tokio::spawn(playing);
        let page = tokio::select! {
            page = ready => page.unwrap(),
            ended = &mut running => panic!("it ended: {ended:?}"),
        };
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { page, client, google, stop, running, _folder: folder }
    }

    async fn shut_down(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }

    async fn get(&self, door: &str) -> Value {
        let answer = self.client.get(self.page.join(door).unwrap()).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{door}");
        answer.json().await.unwrap()
    }

    async fn post(&self, door: &str, body: Value) -> Value {
        let door = self.page.join(&format!("sandbox/{door}")).unwrap();
        let answer = self.client.post(door).json(&body).send().await.unwrap();
        let status = answer.status();
        let body = answer.json().await.unwrap();
        assert_eq!(status, StatusCode::OK, "{body}");
        body
    }

    /// Waits until Ana sees a button whose action id begins with `action`; returns its message and the button.
    async fn wait_for_button(&self, action: &str) -> (Value, Value) {
        self.wait_in_slack(|state| find_button(state, action)).await
    }

    /// Waits until Ana sees in Slack what `look` finds.
    async fn wait_in_slack<T>(&self, look: impl Fn(&Value) -> Option<T>) -> T {
        let mut last = Value::Null;
        let seen = async {
            loop {
                let state = self.get("sandbox/slack/state?user=ana").await;
                if let Some(found) = look(&state) {
                    return found;
                }
                last = state;
                self.get(&format!("sandbox/slack/events?since={}", last["version"])).await;
            }
        };
        match tokio::time::timeout(TIMEOUT, seen).await {
            Ok(found) => found,
            Err(_) => panic!("it never came; Nod said: {:#?}", nod_messages(&last).collect::<Vec<_>>()),
        }
    }

    async fn press(&self, user: &str, (card, button): &(Value, Value)) {
        let at = json!({"user": user, "channel": card["channel"], "ts": card["ts"], "action_id": button["action_id"]});
        self.post("slack/press", at).await;
    }

    /// Waits until Ana sees in Discord what `look` finds.
    async fn wait_in_discord<T>(&self, look: impl Fn(&Value) -> Option<T>) -> T {
        let seen = async {
            loop {
                let state = self.get("sandbox/discord/state?user=ana").await;
                if let Some(found) = look(&state) {
                    return found;
                }
                self.get(&format!("sandbox/discord/events?since={}", state["version"])).await;
            }
        };
        tokio::time::timeout(TIMEOUT, seen).await.unwrap()
    }

    /// Follows Nod's page and Google's, and Discord's in between, as a browser would.
    async fn connect(&self, link: &str) {
        let page = self.client.get(link).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        let link = Url::parse(link).unwrap();
        let token = link.query_pairs().find(|(name, _)| name == "t").unwrap().1.into_owned();
        let begun = self.client.post(link.join("/oauth/google/start").unwrap()).form(&[("t", token)]);
        let begun = begun.send().await.unwrap();
        assert_eq!(begun.status(), StatusCode::SEE_OTHER);
        let header = |answer: &reqwest::Response, name| {
            answer.headers().get(name).unwrap().to_str().unwrap().to_owned()
        };
        let cookie =
            |answer: &reqwest::Response| header(answer, SET_COOKIE).split(';').next().unwrap().to_owned();
        let begun = match header(&begun, LOCATION) {
            to if to.contains("/oauth2/authorize?") => {
                let agreed = self.client.get(format!("{to}&as=ana")).send().await.unwrap();
                let back = self.client.get(header(&agreed, LOCATION)).header(COOKIE, cookie(&begun));
                back.send().await.unwrap()
            }
            _ => begun,
        };
        let cookie = cookie(&begun);
        let back = self.google.consent(&header(&begun, LOCATION), "ana@acme.test", None).unwrap();
        let done = self.client.get(back).header(COOKIE, cookie).send().await.unwrap();
        assert_eq!(done.status(), StatusCode::OK);
        assert!(done.text().await.unwrap().contains("ana@acme.test"));
    }

    /// Waits until a mail with this subject is in an inbox.
    async fn wait_for_mail(&self, account: &str, subject: &str) -> Value {
        let arrived = async {
            let mut news = String::new();
            loop {
                let mailbox = self.get(&format!("sandbox/google/mailbox?account={account}{news}")).await;
                if let Some(mail) = list(&mailbox["inbox"]).find(|mail| mail["subject"] == subject) {
                    return mail.clone();
                }
                news = format!("&since={}", mailbox["version"]);
            }
        };
        tokio::time::timeout(TIMEOUT, arrived).await.unwrap()
    }
}

/// Returns the example that reads documents: the program that runs the tests is no `nod`.
fn reading_program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().and_then(Path::parent).unwrap().join("examples/read_documents");
    assert!(program.exists(), "cargo builds {} unless it is told what to test", program.display());
    program
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn find_button(state: &Value, action: &str) -> Option<(Value, Value)> {
    let messages = list(&state["channels"]).flat_map(|channel| list(&channel["messages"]));
    messages
        .flat_map(|message| {
            let elements = list(&message["blocks"]).flat_map(|block| list(&block["elements"]));
            elements.map(move |element| (message.clone(), element.clone()))
        })
        .find(|(_, element)| element["action_id"].as_str().is_some_and(|id| id.starts_with(action)))
}

/// Returns Nod's messages in Slack that are visible to the viewer.
fn nod_messages(state: &Value) -> impl Iterator<Item = &Value> {
    let all = list(&state["channels"]).flat_map(|one| list(&one["messages"]));
    all.filter(|message| message["user"] == state["bot"]["user"])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_mail_of_a_newcomer_arrives() {
    let visit = DemoFixture::start().await;
    let said = json!({"user": "ana", "channel": "launch", "text": "@nod tell Bo I'm late"});
    visit.post("slack/say", said).await;
    let (_, connect) = visit.wait_for_button("link").await;
    assert_eq!(connect["text"]["text"], "Connect Google");
    visit.connect(connect["url"].as_str().unwrap()).await;

    let approve = visit.wait_for_button("approve").await;
    assert_eq!(visit.get("sandbox/google/mailbox?account=ana@acme.test").await["sent"], json!([]));
    visit.press("ana", &approve).await;

    let mail = visit.wait_for_mail("bo@acme.test", "Running late").await;
    assert_eq!((&mail["from"], &mail["to"]), (&json!("ana@acme.test"), &json!(["bo@acme.test"])));
    let sent = visit.get("sandbox/google/mailbox?account=ana@acme.test").await;
    assert_eq!(list(&sent["sent"]).count(), 1);
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_asked_for_in_a_channel_says_what_stands_there() {
    let visit = DemoFixture::start().await;
    let said =
        json!({"user": "ana", "channel": "launch", "text": "@nod draft a mail to Bo about the launch check"});
    visit.post("slack/say", said).await;
    let (_, connect) = visit.wait_for_button("link").await;
    visit.connect(connect["url"].as_str().unwrap()).await;
    let draft = |state: &Value| {
        let shown = nod_messages(state).map(|message| message["shown"].as_str().unwrap_or_default());
        shown.filter(|shown| shown.contains("Not sent yet")).map(str::to_owned).next()
    };
    let draft = visit.wait_in_slack(draft).await;
    let letter = "Hi Bo,\n\nThe launch check is at three; the room is ours for half an hour only.\n\nAna";
    assert!(draft.contains(letter), "{draft}");
    visit.shut_down().await;
}

/// Returns the text that a person reads in the messages of these places.
fn message_texts<'a>(state: &'a Value, kind: &str) -> Vec<&'a str> {
    let places = list(&state["channels"]).filter(|place| place["kind"] == kind);
    let by_bot = places.flat_map(|place| list(&place["messages"])).filter(|m| m["by_bot"] == true);
    by_bot.filter_map(|message| message["shown"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_windows_show_the_same_people_and_nod_answers_in_both() {
    let visit = DemoFixture::start().await;
    let names = async |door: &str, bot: &str| {
        let state = visit.get(door).await;
        let people = list(&state["users"]).filter(|user| user["is_bot"] == false);
        let mut names: Vec<String> = people.map(|user| user[bot].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let in_slack = names("sandbox/slack/state", "real_name").await;
    assert_eq!((in_slack.len(), &in_slack), (6, &names("sandbox/discord/state", "global_name").await));

    let fact = "remember that the launch is on Friday";
    let said = json!({"user": "ana", "channel": "launch", "text": format!("@nod {fact}")});
    visit.post("discord/say", said).await;
    let noted =
        |state: &Value| message_texts(state, "thread").iter().any(|m| m.contains("Friday")).then_some(());
    visit.wait_in_discord(noted).await;
    let memory = json!({"user": "ana", "channel": "launch", "command": "memory", "options": {"forget": ""}});
    let offered = visit.post("discord/complete", memory).await;
    assert!(offered["choices"].to_string().contains("Friday"), "{offered}");
    let help = json!({"user": "ana", "channel": "launch", "command": "help", "options": {}});
    assert_eq!(visit.post("discord/slash", help).await["state"], "acknowledged");
    visit
        .wait_in_discord(|state| {
            list(&state["ephemerals"]).any(|w| w["command"]["name"] == "help").then_some(())
        })
        .await;

    let said =
        json!({"user": "ana", "channel": "launch", "text": "@nod remember that the party is on Monday"});
    visit.post("slack/say", said).await;
    let noted =
        |state: &Value| nod_messages(state).any(|m| m["shown"].to_string().contains("Monday")).then_some(());
    visit.wait_in_slack(noted).await;
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discord_user_gets_a_personal_connect_link() {
    let visit = DemoFixture::start().await;
    let said = json!({"user": "ana", "channel": "launch", "text": "@nod what's new in my email?"});
    visit.post("discord/say", said).await;
    let link =
        |state: &Value| message_texts(state, "dm").iter().find(|m| m.contains("Connect Google")).map(|_| ());
    visit.wait_in_discord(link).await;
    let others = visit.get("sandbox/discord/state?user=bo").await;
    assert!(!others.to_string().contains("Connect Google"), "{others}");
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_approval_survives_a_restart() {
    let visit = DemoFixture::start().await;
    let said = json!({"user": "ana", "channel": "launch", "text": "@nod tell Bo I'm late"});
    visit.post("slack/say", said).await;
    let (_, connect) = visit.wait_for_button("link").await;
    visit.connect(connect["url"].as_str().unwrap()).await;
    let approve = visit.wait_for_button("approve").await;

    let pull = || visit.client.post(visit.page.join("demo/restart").unwrap()).json(&json!({})).send();
    assert_eq!(pull().await.unwrap().json::<Value>().await.unwrap()["up"], false);
    assert_eq!(pull().await.unwrap().status(), StatusCode::CONFLICT);
    let back = async {
        while visit.get("demo/state").await != json!({"up": true, "stops": 1, "kills": 0, "is_armed": false})
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, back).await.unwrap();
    assert_eq!(visit.wait_for_button("approve").await.0["ts"], approve.0["ts"]);
    visit.press("ana", &approve).await;
    visit.wait_for_mail("bo@acme.test", "Running late").await;
    let there = visit.get("sandbox/discord/state?user=ana").await;
    assert!(
        message_texts(&there, "thread").is_empty(),
        "somebody is answered who spoke before Nod was there: {there}"
    );
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_it_sends_it_says_that_it_was_sent_once() {
    let visit = DemoFixture::start().await;
    let said = json!({"user": "ana", "channel": "launch", "text": "@nod tell Bo I'm late"});
    visit.post("slack/say", said).await;
    let (_, connect) = visit.wait_for_button("link").await;
    visit.connect(connect["url"].as_str().unwrap()).await;
    let approve = visit.wait_for_button("approve").await;
    let arm = || visit.client.post(visit.page.join("demo/kill").unwrap()).json(&json!({})).send();
    assert_eq!(arm().await.unwrap().json::<Value>().await.unwrap()["is_armed"], true);
    assert_eq!(arm().await.unwrap().status(), StatusCode::CONFLICT);
    visit.press("ana", &approve).await;
    visit.wait_for_mail("bo@acme.test", "Running late").await;
    let receipt = |state: &Value| {
        nod_messages(state).any(|m| m["shown"].to_string().contains("Email sent")).then_some(())
    };
    visit.wait_in_slack(receipt).await;
    assert_eq!(visit.get("demo/state").await["kills"], 1);
    let sent = visit.get("sandbox/google/mailbox?account=ana@acme.test").await;
    assert_eq!(list(&sent["sent"]).count(), 1);
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_proxies_only_listed_routes() {
    let visit = DemoFixture::start().await;
    let page = visit.client.get(visit.page.clone()).send().await.unwrap();
    assert!(page.headers().contains_key("x-nod-demo"));
    let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
    let text = page.text().await.unwrap();
    for (file, ..) in page::files().filter(|(file, ..)| file.ends_with(".css") || *file == "/main.js") {
        assert!(text.contains(&format!("\"{file}\"")), "{file} is not loaded");
    }
    let ask = |method: Method, path: &str| visit.client.request(method, visit.page.join(path).unwrap());
    let status = async |request: reqwest::RequestBuilder| request.send().await.unwrap().status();
    for closed in ["sandbox/google/messages", "sandbox/slack/../../api/auth.test", "sandbox/slack/say"] {
        assert_eq!(status(ask(Method::GET, closed)).await, StatusCode::NOT_FOUND, "{closed}");
    }
    assert_eq!(
        status(ask(Method::POST, "sandbox/slack/state").json(&json!({}))).await,
        StatusCode::NOT_FOUND
    );
    let simple = ask(Method::POST, "sandbox/slack/say").header(ORIGIN, "http://evil.test").body("{}");
    assert_eq!(status(simple).await, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let simple = ask(Method::POST, "demo/restart").header(ORIGIN, "http://evil.test").body("{}");
    assert_eq!(status(simple).await, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let rebound = ask(Method::GET, "sandbox/slack/state").header(HOST, "evil.test");
    assert_eq!(status(rebound).await, StatusCode::MISDIRECTED_REQUEST);
    visit.shut_down().await;
}

#[test]
fn only_home_and_model_variables_are_used() {
    let given = |pairs: &[(&str, &str)]| {
        DemoEnvironment::from_environment(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    };
    assert!(given(&[("NOD_SLACK__BOT_TOKEN", "xoxb-real"), ("NOD_LLM__MODEL", "m")]).model().is_empty());
    let own =
        given(&[("NOD_LLM__BASE_URL", "https://llm.test/v1"), ("NOD_DATABASE__URL", "postgres://real")]);
    assert_eq!(own.model(), [("NOD_LLM__BASE_URL".to_owned(), "https://llm.test/v1".to_owned())]);
}
