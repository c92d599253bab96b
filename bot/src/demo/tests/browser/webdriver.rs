//! A browser that a test drives: the few commands of W3C WebDriver (<https://www.w3.org/TR/webdriver2/>) that the walks
//! need. It knows nothing of the demo. Where a walk fails, it says what stood on the page.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Child;

use super::chromedriver;

/// Between two looks at the page.
const PAUSE: Duration = Duration::from_millis(50);
/// A page, or what is awaited on it, comes within this, also on a machine that builds at the same time.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A session with one Chromium; it ends when this is dropped.
pub(super) struct Browser {
    client: reqwest::Client,
    driver: SocketAddr,
    session: String,
    _process: Child,
}

impl Browser {
    /// Opens a window of this size in CSS pixels; the error says why there is no browser: no chromedriver, or one without
    /// its Chromium.
    pub(super) async fn open(width: u32, height: u32) -> Result<Self, String> {
        let (process, driver) = chromedriver::start(chromedriver::find().ok_or("no chromedriver")?).await;
        // Fails if another test was first, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(TIMEOUT).build().unwrap();
        let mut browser = Self { client, driver, session: String::new(), _process: process };
        let wanted = json!({
            "goog:chromeOptions": {"args": chromedriver::CHROMIUM},
            "goog:loggingPrefs": {"browser": "ALL"},
            // What a step needs is awaited here, so that a failure says what was missing.
            "timeouts": {"implicit": 0, "pageLoad": 60_000, "script": 60_000},
        });
        let asked = json!({"capabilities": {"alwaysMatch": wanted}});
        let began = browser.call(Method::POST, "", asked).await;
        let began =
            began.map_err(|why| format!("no Chromium: {}", why.lines().next().unwrap_or_default()))?;
        browser.session = format!("/{}", began["sessionId"].as_str().unwrap());
        browser.resize(width, height).await;
        Ok(browser)
    }

    /// Calls a command of the session; the error is the driver's, as `code: message`.
    pub(super) async fn call(&self, method: Method, command: &str, body: Value) -> Result<Value, String> {
        let address = format!("http://{}/session{}{command}", self.driver, self.session);
        let mut request = self.client.request(method.clone(), address);
        if method == Method::POST {
            request = request.json(&body);
        }
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let is_ok = answer.status().is_success();
        let value = answer.json::<Value>().await.map_err(|error| error.to_string())?["value"].take();
        let said = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        if is_ok { Ok(value) } else { Err(format!("{}: {}", said("error"), said("message"))) }
    }

    pub(super) async fn command(&self, method: Method, command: &str, body: Value) -> Value {
        match self.call(method, command, body).await {
            Ok(value) => value,
            Err(why) => self.fail(&format!("{command}: {why}")).await,
        }
    }

    pub(super) async fn go(&self, url: &str) {
        self.command(Method::POST, "/url", json!({"url": url})).await;
    }

    /// Returns what the function body `script` returns for these arguments.
    pub(super) async fn run(&self, script: &str, args: Value) -> Value {
        self.command(Method::POST, "/execute/sync", json!({"script": script, "args": args})).await
    }

    /// Waits until the script returns something else than nothing, no or an empty list, and returns that.
    pub(super) async fn wait_for(&self, what: &str, script: &str, args: Value) -> Value {
        let call = json!({"script": script, "args": args});
        self.poll(what, async || {
            let found = self.call(Method::POST, "/execute/sync", call.clone()).await?;
            let is_there = !found.is_null() && found != json!(false) && found != json!([]);
            is_there.then_some(found).ok_or_else(|| "it is not there".to_owned())
        })
        .await
    }

    /// Presses what matches `within`, is seen and begins with these words; the last of several. Waits for it, and until
    /// nothing lies over it.
    pub(super) async fn press(&self, within: &str, words: &str) {
        const FIND: &str = "const [within, words] = arguments; \
            const is = (one) => one.getClientRects().length && !one.disabled && one.innerText.trim().startsWith(words); \
            return [...document.querySelectorAll(within)].filter(is).at(-1) ?? null";
        let find = json!({"script": FIND, "args": [within, words]});
        self.poll(&format!("“{words}” ({within})"), async || {
            let found = self.call(Method::POST, "/execute/sync", find.clone()).await?;
            let node = found.as_object().and_then(|one| one.values().next()).and_then(Value::as_str);
            let node = node.ok_or("it is not there")?;
            self.call(Method::POST, &format!("/element/{node}/click"), json!({})).await
        })
        .await;
    }

    /// Presses a key (<https://www.w3.org/TR/webdriver2/#keyboard-actions>) where the focus is.
    pub(super) async fn key(&self, key: char) {
        let presses = ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key}));
        let keys = json!({"type": "key", "id": "keyboard", "actions": presses});
        self.command(Method::POST, "/actions", json!({"actions": [keys]})).await;
    }

    /// Goes to the other window, once there is one; returns the one before.
    pub(super) async fn go_to_new_window(&self) -> Value {
        let here = self.command(Method::GET, "/window", Value::Null).await;
        let other = self.poll("another window", async || {
            let all = self.call(Method::GET, "/window/handles", Value::Null).await?;
            let other = all.as_array().into_iter().flatten().find(|one| **one != here);
            other.cloned().ok_or_else(|| "there is one window".to_owned())
        });
        let other = other.await;
        self.command(Method::POST, "/window", json!({"handle": other})).await;
        here
    }

    /// Goes back to a window, once it is the only one that is left.
    pub(super) async fn go_back(&self, window: Value) {
        let left = self.poll("the other window's end", async || {
            let all = self.call(Method::GET, "/window/handles", Value::Null).await?;
            if all == json!([window]) { Ok(()) } else { Err("it is open".to_owned()) }
        });
        left.await;
        self.command(Method::POST, "/window", json!({"handle": window})).await;
    }

    /// Returns what the page complained of since it was asked last.
    pub(super) async fn complaints(&self) -> Vec<String> {
        let log = self.call(Method::POST, "/se/log", json!({"type": "browser"})).await.unwrap_or_default();
        let lines = log.as_array().cloned().unwrap_or_default();
        let severe = lines.iter().filter(|line| line["level"] == "SEVERE");
        severe.map(|line| line["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Looks again and again until `look` succeeds.
    async fn poll<T>(&self, what: &str, look: impl AsyncFn() -> Result<T, String>) -> T {
        let start = Instant::now();
        loop {
            // A page that draws itself anew may replace a node between two commands: that is no failure yet.
            match look().await {
                Ok(found) => return found,
                Err(why) if start.elapsed() > TIMEOUT => {
                    self.fail(&format!("{what} never came: {why}")).await
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Fails the test with what stood on the page.
    pub(super) async fn fail(&self, what: &str) -> ! {
        let script = json!({"script": "return `${location.href}\\n${document.body.innerText}`", "args": []});
        let text = self.call(Method::POST, "/execute/sync", script).await;
        let text = text.map_or_else(|why| why, |text| text.as_str().unwrap_or_default().to_owned());
        let picture = self.call(Method::GET, "/screenshot", Value::Null).await.unwrap_or_default();
        let file =
            std::env::temp_dir().join(format!("nod-browser-{}.png", self.session.trim_start_matches('/')));
        let picture = STANDARD.decode(picture.as_str().unwrap_or_default()).unwrap_or_default();
        let kept = std::fs::write(&file, picture)
            .map_or_else(|why| why.to_string(), |()| file.display().to_string());
        let complaints = self.complaints().await.join("\n");
        panic!("{what}\n── the page\n{text}\n── its console\n{complaints}\n── a picture: {kept}")
    }
}

impl Drop for Browser {
    /// Ends the session, also after a failure: the driver's end alone would leave Chromium running.
    fn drop(&mut self) {
        let Ok(mut stream) = TcpStream::connect(self.driver) else { return };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
        let request = format!(
            "DELETE /session{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.session, self.driver
        );
        let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_end(&mut Vec::new()));
    }
}
