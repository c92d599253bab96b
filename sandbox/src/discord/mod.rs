//! A stateful loopback Discord: REST v10, the gateway and interactions over the real protocol.
//!
//! It owns one guild with one installed app. Tests act as its users and read what they see; the app under test talks to
//! it only through the network.

mod clicks;
mod config;
mod consent;
mod control;
mod entities;
mod forms;
mod gateway;
mod handle;
mod inspection;
mod interactions;
mod limits;
mod markdown;
mod notifications;
mod oauth;
mod people;
mod rejection;
mod render;
mod rest;
mod rules;
mod schema_check;
mod slash_commands;
#[cfg(test)]
mod tests;
mod transcript;
mod world;

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get};
use tokio::sync::watch;

pub use clicks::ForgedClick;
pub use config::{App, Clock, DiscordConfig, Guild};
pub use entities::{Channel, ChannelKind, Form, Message, Notification, Unfurl, User};
pub use handle::{InteractionResult, PendingInteraction};
pub use interactions::{Delivery, Interaction};
pub use people::NewMessage;
pub use world::{ApiCall, World};

use crate::Faults;
use crate::serve::Server;
use schema_check::SchemaValidator;

/// Discord accepts files of 10 MiB from apps.
const BODY_MAX: usize = 11 << 20;

/// What the server's handlers and the test's handle share.
pub(crate) struct State {
    world: Mutex<World>,
    version: watch::Sender<u64>,
    faults: Faults,
    judge: Option<Arc<SchemaValidator>>,
}

impl State {
    fn read<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the world and wakes the tasks that wait for a change.
    fn change<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let done = act(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner));
        self.version.send_modify(|version| *version += 1);
        done
    }
}

/// The running server; dropping it closes its connections.
struct Running {
    server: Server,
    state: Arc<State>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.state.change(World::drop_all);
    }
}

/// A handle on the fake; clones share one guild. The fake stops when the last handle is dropped.
#[derive(Clone)]
pub struct Discord {
    running: Arc<Running>,
}

impl Discord {
    /// Starts the fake on a free loopback port. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If no port can be bound or the specification cannot be read.
    pub async fn start(config: DiscordConfig) -> std::io::Result<Self> {
        let judge = config.specs_dir.as_deref().map(SchemaValidator::read).transpose()?;
        let state = Arc::new(State {
            world: Mutex::new(World::new(config)),
            version: watch::channel(0).0,
            faults: Faults::default(),
            judge,
        });
        let router = Router::new()
            .route("/api/v10/{*path}", any(rest::api))
            .route("/gateway", get(gateway::websocket_endpoint))
            .route("/gateway/", get(gateway::websocket_endpoint))
            .route("/attachments/{channel}/{id}/{name}", get(rest::file))
            .merge(oauth::router())
            .nest("/_sandbox", control::router())
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .with_state(state.clone());
        let server = Server::start(router).await?;
        state.change(|w| w.base_url = server.url());
        Ok(Self { running: Arc::new(Running { server, state }) })
    }
}
