//! How large the page is, in which colours, and a picture of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::webdriver::Browser;

impl Browser {
    /// The page itself gets this size; the window is larger by its frame.
    pub(super) async fn resize(&self, width: u32, height: u32) {
        let script =
            "return [window.outerWidth - window.innerWidth, window.outerHeight - window.innerHeight]";
        let frame = self.run(script, json!([])).await;
        let outer = |inner: u32, frame: &Value| u64::from(inner) + frame.as_u64().unwrap_or_default();
        let size = json!({"width": outer(width, &frame[0]), "height": outer(height, &frame[1])});
        self.command(Method::POST, "/window/rect", size).await;
    }

    /// Shows the page as to somebody who wants `scheme`: light or dark.
    pub(super) async fn prefer(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features})).await;
    }

    /// Returns a picture (PNG) of what matches `within` and has these words, the last of several; as sharp as on a phone.
    pub(super) async fn picture(&self, within: &str, words: &str) -> Vec<u8> {
        const FIND: &str = "const [within, words] = arguments; \
            return [...document.querySelectorAll(within)].filter((one) => one.innerText.includes(words)).at(-1)";
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": 0, "height": 0, "deviceScaleFactor": 2, "mobile": false}),
        )
        .await;
        let found = self.run(FIND, json!([within, words])).await;
        let node = found.as_object().and_then(|one| one.values().next()).and_then(Value::as_str).unwrap();
        let picture = self.command(Method::GET, &format!("/element/{node}/screenshot"), Value::Null).await;
        self.devtools("Emulation.clearDeviceMetricsOverride", json!({})).await;
        STANDARD.decode(picture.as_str().unwrap()).unwrap()
    }

    async fn devtools(&self, command: &str, params: Value) {
        let call = json!({"cmd": command, "params": params});
        self.command(Method::POST, "/goog/cdp/execute", call).await;
    }
}
