//! A stateful loopback Slack: Web API, Socket Mode, HTTP delivery and response URLs over the real protocol.
//!
//! It owns one workspace with one installed app. Tests act as its people and read what they see; the app under test
//! reaches it only through the network.

mod clicks;
mod config;
mod control;
mod entities;
mod envelopes;
mod events;
mod files;
mod forms;
mod handle;
mod http;
mod inspection;
mod notifications;
mod people;
mod render;
mod responses;
mod rules;
mod schema_check;
mod socket;
#[cfg(test)]
mod tests;
mod transcript;
mod user_actions;
mod web;
mod world;

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::routing::{any, get, post};
use tokio::sync::watch;

pub use clicks::ForgedClick;
pub use config::{ALL_SCOPES, App, Clock, MentionOrder, SlackConfig, Team};
pub use entities::{AssistantThread, Channel, ChannelKind, Edited, Ephemeral, Message, OpenView, User};
pub use envelopes::{Delivery, Envelope, EnvelopeKind};
pub use events::EventDelivery;
pub use forms::ForgedForm;
pub use handle::{InteractionResult, PendingInteraction};
pub use http::sign;
pub use people::NewMessage;
pub use world::{ApiCall, World};

use crate::Faults;
use crate::serve::Server;
use schema_check::SchemaValidator;

/// The state shared by the server's handlers and the test's handle.
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

/// The server; dropping it closes its connections.
struct Running {
    server: Server,
    state: Arc<State>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.state.change(World::drop_all);
    }
}

/// A handle to the fake; clones share one workspace, which ends with the last handle.
#[derive(Clone)]
pub struct Slack {
    running: Arc<Running>,
}

impl Slack {
    /// Starts the fake on a free loopback port. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If no port can be bound or the specification cannot be read.
    pub async fn start(config: SlackConfig) -> std::io::Result<Self> {
        let judge = config.specs_dir.as_deref().map(SchemaValidator::read).transpose()?;
        let state = Arc::new_cyclic(|this| State {
            world: Mutex::new(World::new(config, this.clone())),
            version: watch::channel(0).0,
            faults: Faults::default(),
            judge,
        });
        let router = Router::new()
            .route("/api/{method}", any(web::api))
            .route("/link/", get(socket::websocket_endpoint))
            .route("/files-pri/{file}/{name}", get(files::serve_file))
            .route("/upload/v1/{key}", post(web::upload))
            .route("/response/{team}/{key}", post(responses::response_url))
            .nest("/_sandbox", control::router())
            .with_state(state.clone());
        let server = Server::start(router).await?;
        state.change(|w| w.base_url = server.url());
        Ok(Self { running: Arc::new(Running { server, state }) })
    }
}
