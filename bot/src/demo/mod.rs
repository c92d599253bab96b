//! The demo: all of Nod on this machine, without any account, and one page to try it on.
//!
//! Slack, Discord, Google and, if no model is configured, the model are the sandbox's; everything between them is what
//! `nod run` runs, with another configuration. No other module uses this one.

mod calendar;
mod company;
mod data_dir;
mod handbook;
mod linked_chats;
mod mail;
mod page;
mod page_facts;
mod restart;
mod sandbox;
mod settings;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::config::Config;
use data_dir::DemoDataDir;
use page_facts::PageFacts;
use restart::RestartControl;
use sandbox::DemoSandbox;
use settings::DemoEnvironment;

/// The preferred ports of the page and of Nod's own server, so that the URL stays the same.
const PAGE_PORT: u16 = 8099;
const NOD_PORT: u16 = 8787;

/// Runs the demo until `stop`, and prints the URL of its page when everything is up.
///
/// # Errors
/// If something cannot start; with advice.
pub async fn run(stop: CancellationToken) -> anyhow::Result<()> {
    let given = DemoEnvironment::from_environment(std::env::vars_os());
    let demo = Demo::prepare(&given, None, [PAGE_PORT, NOD_PORT]).await?;
    let announce = |address: &Url| {
        crate::cli::print(&format!("The demo is ready: {address}  (Ctrl-C stops it)"));
        crate::cli::print(
            "Every start begins fresh, so what you did last time is gone. A real Nod keeps everything.",
        );
    };
    Box::pin(demo.run(stop, announce)).await
}

/// Everything except Nod itself, which starts with [`Demo::run`].
struct Demo {
    sandbox: DemoSandbox,
    config: Config,
    /// The URL at which a browser reaches Nod's own server.
    nod: Url,
    listener: TcpListener,
    facts: PageFacts,
}

impl Demo {
    /// Clears the folder and starts the stage. Tests choose `folder` and the ports; port 0 is any.
    async fn prepare(
        given: &DemoEnvironment,
        folder: Option<PathBuf>,
        ports: [u16; 2],
    ) -> anyhow::Result<Self> {
        let listener = bind_port(ports[0]).await.context("the demo's page")?;
        // Released immediately: Nod binds it itself, as always.
        let bind = bind_port(ports[1]).await.context("Nod's server")?.local_addr()?;
        let nod = Url::parse(&format!("http://{bind}/"))?;
        let stage = DemoSandbox::start(given.model().is_empty(), &nod).await?;
        let config = settings::config(given, &stage, bind, &nod, folder)?;
        DemoDataDir::new(&config.data.dir).clear()?;
        let facts = PageFacts::from_config(&config, given.model().is_empty());
        Ok(Self { sandbox: stage, config, nod, listener, facts })
    }

    fn address(&self) -> anyhow::Result<Url> {
        Ok(Url::parse(&format!("http://{}/", self.listener.local_addr()?))?)
    }

    /// Runs Nod and the page; calls `announce` when both are ready for the first time.
    async fn run(self, stop: CancellationToken, announce: impl FnOnce(&Url)) -> anyhow::Result<()> {
        let address = self.address()?;
        let client = reqwest::Client::builder().build()?;
        let switch = RestartControl::new();
        let page = page::router(&self.sandbox, self.facts, switch.clone(), client.clone());
        let announce = Mutex::new(Some(announce));
        let ready = || async {
            ready(&client, &self.nod).await;
            let first = announce.lock().ok().and_then(|mut announce| announce.take());
            if let Some(announce) = first {
                linked_chats::link_colleagues(&self.sandbox).await;
                announce(&address);
            }
        };
        // The page's long polls would delay a graceful shutdown; it has no state to lose.
        tokio::select! {
            ended = switch.run(self.config, stop, ready) => ended,
            failed = axum::serve(self.listener, page).into_future() => failed.context("the demo's page"),
        }
    }
}

/// Listens on the wanted port, or on any other if it is in use.
async fn bind_port(wished: u16) -> std::io::Result<TcpListener> {
    let at = |port| TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port)));
    match at(wished).await {
        Ok(listener) => Ok(listener),
        Err(_) => at(0).await,
    }
}

/// Resolves when Nod reports that it is ready.
fn ready(client: &reqwest::Client, nod: &Url) -> impl Future<Output = ()> {
    let asked = nod.join("readyz").map(|url| client.get(url));
    async move {
        let Ok(asked) = asked else { return };
        loop {
            let answer = asked.try_clone().map(reqwest::RequestBuilder::send);
            let Some(answer) = answer else { return };
            if answer.await.is_ok_and(|answer| answer.status().is_success()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
