//! The page as a visitor sees it: real Chromium, real presses.
//!
//! Without chromedriver nothing of this is checked, and the test says so on a line of its own.

use std::io::Write;

use serde_json::json;

use super::*;
use webdriver::Browser;

mod chromedriver;
mod webdriver;

/// Two windows have room side by side.
const WIDE: (u32, u32) = (1440, 900);

/// What finds the barriers on a page; npm brings it (`scripts/setup.sh`).
const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/node_modules/axe-core/axe.min.js");

/// Reports what is not checked here. `scripts/test` names a file and prints its lines at the end; the test runner
/// swallows what a passing test prints, but not what is written to the stream itself.
fn report_unchecked(what: &str) {
    let line = format!("NOT CHECKED: {what}\n");
    let file = std::env::var_os("NOD_NOT_CHECKED");
    let file = file.map(|path| std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap());
    match file {
        Some(mut file) => file.write_all(line.as_bytes()).unwrap(),
        None => std::io::stderr().write_all(line.as_bytes()).unwrap(),
    }
}

/// A visitor at a screen.
struct Visitor {
    demo: DemoFixture,
    browser: Browser,
}

impl Visitor {
    /// Opens the page of a fresh demo; `None` where there is no browser to open it with.
    async fn arrive((width, height): (u32, u32)) -> Option<Self> {
        let Some(browser) = Browser::open(width, height).await else {
            report_unchecked("the demo in a browser (no chromedriver)");
            return None;
        };
        let demo = DemoFixture::start().await;
        browser.go(demo.page.as_str()).await;
        Some(Self { demo, browser })
    }

    async fn press(&self, within: &str, words: &str) {
        self.browser.press(within, words).await;
    }

    /// Presses the guide's button.
    async fn follow_guide(&self, label: &str) {
        self.press("#guide .now button", label).await;
    }

    /// Waits until something that matches `within` is seen and has these words.
    async fn read(&self, within: &str, words: &str) {
        const SCRIPT: &str = "const [within, words] = arguments; \
            return [...document.querySelectorAll(within)].some((one) => one.getClientRects().length && one.innerText.includes(words))";
        self.browser.wait_for(&format!("“{words}” in {within}"), SCRIPT, json!([within, words])).await;
    }

    /// Gives consent in the tab that a connect link opened, and comes back.
    async fn give_consent(&self, continues: &[(&str, &str)]) {
        self.browser.go_to_new_tab().await;
        for (within, label) in continues {
            self.press(within, label).await;
        }
        self.press("form:has([name=account][value='ana@acme.test']) button", "Allow").await;
        self.read("h1", "Connected").await;
        self.browser.close_tab().await;
    }

    /// Checks that nothing on the page keeps somebody out: a keyboard, a screen reader, weak eyes.
    async fn check_barriers(&self) {
        const RUN: &str = "return axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations \
            .filter((one) => ['serious', 'critical'].includes(one.impact)) \
            .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target.join(' ')}`)))";
        let Ok(axe) = std::fs::read_to_string(AXE) else {
            return report_unchecked("barriers on the demo's page (no axe-core in target/tools)");
        };
        self.browser.run(&axe, json!([])).await;
        assert_eq!(self.browser.run(RUN, json!([])).await, json!([]));
    }

    /// Begins to write down what the guide says, and whether it is true in this window.
    async fn watch_guide(&self, window: &str) {
        self.browser.run(include_str!("browser/recorder.js"), json!([window])).await;
    }

    /// Returns what the guide said since, and checks that all of it was true.
    async fn told_truth(&self) -> String {
        let told = self.browser.run("return window.told", json!([])).await;
        assert_eq!(told["lies"], json!([]), "{told:#}");
        told["said"].to_string()
    }

    /// Comes to the guide's way with this name, as somebody who went those before it.
    async fn skip_to(&self, way: &str) {
        const SKIP: &str = "const [way] = arguments; return Promise.all([import('/reload.js'), import('/guide.js')]) \
            .then(([{keep}, {WAYS}]) => { \
                const gone = WAYS.slice(0, WAYS.findIndex(({name}) => name === way)); \
                const done = gone.flatMap(({name, steps}) => steps.map((_, at) => `${name}/${at}`)); \
                keep('nod-demo-guide', {done, tried: [], folded: true}); return true })";
        self.browser.run(SKIP, json!([way])).await;
        self.browser.go(self.demo.page.as_str()).await;
    }

    /// Leaves. A page that complained in its console was not in order, whatever it showed.
    async fn leave(self) {
        let mut complaints = self.browser.complaints().await;
        complaints.retain(|line| line.contains(self.demo.page.as_str()));
        assert_eq!(complaints, Vec::<String>::new());
        drop(self.browser);
        self.demo.shut_down().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn newcomer_follows_the_guide_to_the_first_mail_in_slack() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.watch_guide("slack").await;
    ana.follow_guide("Type it for me").await;
    ana.press(".slack .composer button", "Send").await;
    ana.follow_guide("Go to the message").await;
    ana.press(".slack .message a", "Connect Google").await;
    ana.give_consent(&[("button", "Continue to Google")]).await;

    ana.follow_guide("Go to the card").await;
    ana.read(".slack .message", "I'm running late").await;
    let sent = ana.demo.get("sandbox/google/mailbox?account=ana@acme.test").await;
    assert_eq!(sent["sent"], json!([]), "sent before it was approved");
    ana.check_barriers().await;
    ana.press(".slack .message button", "Approve & send").await;
    ana.read("#guide", "It goes out in").await;
    ana.press(".slack .message button", "Undo").await;
    ana.follow_guide("Ask again").await;
    ana.told_truth().await;

    // Another look at the page knows as much as the one before.
    ana.browser.go(ana.demo.page.as_str()).await;
    ana.read("#guide", "You took it back").await;
    ana.watch_guide("slack").await;
    ana.follow_guide("Ask again").await;
    ana.press(".slack .composer button", "Send").await;
    ana.follow_guide("Go to the card").await;
    ana.press(".slack .message button", "Approve & send").await;
    ana.follow_guide("Open the email").await;
    ana.read(".mail .reader", "Running late").await;
    ana.check_barriers().await;
    ana.demo.wait_for_mail("bo@acme.test", "Running late").await;
    let said = ana.told_truth().await;
    assert!(said.contains("It goes out in") && said.contains("It's sent."), "{said}");
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn newcomer_sends_the_first_mail_on_discord() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.read("#guide", "Type it for me").await;
    ana.skip_to("Discord").await;
    ana.read("#guide", "Ask on Discord").await;
    ana.watch_guide("discord").await;
    ana.follow_guide("Type it for me").await;
    ana.press(".discord .send", "").await;
    ana.follow_guide("Go to the question").await;
    ana.press(".discord .message button", "Bo Lind").await;
    ana.follow_guide("Go to the message").await;
    ana.press(".discord .message a", "Connect Google").await;
    ana.give_consent(&[("button", "Continue to Discord"), ("label", "Ana Silva"), ("button", "Authorize")])
        .await;

    ana.follow_guide("Go to the card").await;
    ana.read(".discord .message", "I'm running late").await;
    ana.check_barriers().await;
    ana.press(".discord .message button", "Approve & send").await;
    ana.read("#guide", "It goes out in").await;
    ana.demo.wait_for_mail("bo@acme.test", "Running late").await;
    ana.read("#guide", "Open the source").await;
    ana.told_truth().await;
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guide_says_what_the_facts_are() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    assert_eq!(ana.browser.run(include_str!("browser/way_table.js"), json!([])).await, json!([]));
    ana.leave().await;
}
