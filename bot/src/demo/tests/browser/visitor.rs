//! A visitor of the demo's page, and what they look at.

use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::super::{DemoFixture, list};
use super::webdriver::Browser;

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

/// Not more at once: each would be too slow to press Undo in time.
static SCREENS: Semaphore = Semaphore::const_new(2);

/// A visitor at a screen.
pub(super) struct Visitor {
    pub(super) demo: DemoFixture,
    pub(super) browser: Browser,
    /// How often something was pressed.
    pub(super) presses: AtomicU32,
    _screen: SemaphorePermit<'static>,
}

impl Visitor {
    /// Opens the page of a fresh demo; `None` where there is no browser to open it with.
    pub(super) async fn arrive((width, height): (u32, u32)) -> Option<Self> {
        let screen = SCREENS.acquire().await.unwrap();
        let browser = match Browser::open(width, height).await {
            Ok(browser) => browser,
            Err(why) => {
                report_unchecked(&format!("the demo in a browser ({why})"));
                return None;
            }
        };
        let demo = DemoFixture::start().await;
        browser.go(demo.page.as_str()).await;
        Some(Self { demo, browser, presses: AtomicU32::new(0), _screen: screen })
    }

    pub(super) async fn press(&self, within: &str, words: &str) {
        self.presses.fetch_add(1, Ordering::Relaxed);
        self.browser.press(within, words).await;
    }

    /// Presses the guide's button.
    pub(super) async fn follow_guide(&self, label: &str) {
        self.press("#guide .now button", label).await;
    }

    /// Waits until something that matches `within` is seen and has these words.
    pub(super) async fn read(&self, within: &str, words: &str) {
        const SCRIPT: &str = "const [within, words] = arguments; \
            return [...document.querySelectorAll(within)].some((one) => one.getClientRects().length && one.innerText.includes(words))";
        self.browser.wait_for(&format!("“{words}” in {within}"), SCRIPT, json!([within, words])).await;
    }

    pub(super) async fn wait_until(&self, what: &str, script: &str) {
        self.browser.wait_for(what, script, json!([])).await;
    }

    /// Gives consent in the window that a connect link opened. It closes by itself.
    pub(super) async fn give_consent(&self, continues: &[(&str, &str)]) {
        let page = self.browser.go_to_new_window().await;
        for (within, label) in continues {
            self.press(within, label).await;
        }
        self.press("form:has([name=account][value='ana@acme.test']) button", "Allow").await;
        self.browser.go_back(page).await;
    }

    /// Keeps a picture of this in `docs/pictures`, if `NOD_PICTURES` is set.
    pub(super) async fn draw(&self, name: &str, within: &str, words: &str) {
        if std::env::var_os("NOD_PICTURES").is_none() {
            return;
        }
        self.wait_until("nothing is marked", "return !document.querySelector('.pointed')").await;
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/pictures");
        std::fs::create_dir_all(folder).unwrap();
        let picture = self.browser.picture(within, words).await;
        std::fs::write(format!("{folder}/{name}.png"), picture).unwrap();
    }

    /// Checks that nothing on the page keeps somebody out: a keyboard, a screen reader, weak eyes.
    pub(super) async fn check_barriers(&self) {
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
    pub(super) async fn watch_guide(&self, window: &str) {
        self.browser.run(include_str!("recorder.js"), json!([window])).await;
    }

    /// Returns what the guide said since, and checks that all of it was true and moved nothing below it.
    pub(super) async fn told_truth(&self) -> String {
        let told = self.browser.run("return window.told", json!([])).await;
        assert_eq!(told["lies"], json!([]), "{told:#}");
        assert_eq!(list(&told["heights"]).count(), 1, "the header changed its height: {told:#}");
        told["said"].to_string()
    }

    /// Checks that the keyboard did not lose its place.
    pub(super) async fn check_focus(&self, after: &str) {
        let lost = self.browser.run("return document.activeElement === document.body", json!([])).await;
        assert_eq!(lost, json!(false), "the focus is lost after {after}");
    }

    /// Comes to the guide's way with this name, or to its end, as somebody who went those before it.
    pub(super) async fn skip_to(&self, way: &str) {
        const SKIP: &str = "const [way] = arguments; return Promise.all([import('/reload.js'), import('/guide.js')]) \
            .then(([{keep}, {WAYS, recallGuide, renderGuide}]) => { \
                const at = WAYS.findIndex(({name}) => name === way); \
                const gone = at < 0 ? WAYS : WAYS.slice(0, at); \
                const done = gone.flatMap(({name, steps}) => steps.map((_, at) => `${name}/${at}`)); \
                keep('nod-demo-guide', {done, tried: []}); recallGuide(); renderGuide() })";
        self.browser.run(SKIP, json!([way])).await;
    }

    /// Leaves. A page that complained in its console was not in order, whatever it showed.
    pub(super) async fn leave(self) {
        let mut complaints = self.browser.complaints().await;
        complaints.retain(|line| line.contains(self.demo.page.as_str()));
        assert_eq!(complaints, Vec::<String>::new());
        drop(self.browser);
        self.demo.shut_down().await;
    }
}
