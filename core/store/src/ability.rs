//! What an ability brings, and is plugged in with.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::hooks::Hook;
use crate::jobs::JobHandler;
use nod_contract::card::Action;
use nod_contract::chat::{ChannelRef, InteractionResponse};
use nod_contract::clock::Timestamp;
use nod_contract::command::CommandSpec;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::tool::Tool;

/// All that an ability adds to Nod; what it does not have stays empty.
pub struct Ability {
    /// Its name, for whoever reads logs.
    pub name: &'static str,
    /// What the model may call.
    pub tools: Vec<Tool>,
    /// What is done later.
    pub jobs: Vec<Arc<dyn JobHandler>>,
    /// What happens when somebody presses its buttons.
    pub buttons: Vec<Arc<dyn Buttons>>,
    /// What people can type.
    pub commands: Vec<Arc<dyn Command>>,
    /// What it does when something happens elsewhere.
    pub hooks: Vec<Arc<dyn Hook>>,
}

impl Ability {
    /// With nothing yet.
    #[must_use]
    pub fn named(name: &'static str) -> Self {
        let (tools, jobs, buttons) = (Vec::new(), Vec::new(), Vec::new());
        Self { name, tools, jobs, buttons, commands: Vec::new(), hooks: Vec::new() }
    }
}

/// Who asks, and where they are.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    pub tenant: TenantId,
    pub platform: &'a str,
    pub workspace: &'a str,
    pub place: &'a ChannelRef,
    pub person: PersonId,
    /// The platform's id.
    pub user: &'a str,
    pub now: Timestamp,
}

impl<'a> Asker<'a> {
    /// The thread in which they are; a direct line is one conversation, without a thread.
    #[must_use]
    pub fn thread(&self) -> Option<&'a str> {
        if self.place.is_dm { Some("") } else { self.place.thread.as_deref() }
    }
}

/// A command. It is answered within three seconds, in the transaction that stores that it arrived: what takes longer is a
/// job.
#[async_trait]
pub trait Command: Send + Sync {
    /// How it is told of.
    fn spec(&self) -> CommandSpec;

    /// Somebody typed it, with these words behind it.
    ///
    /// # Errors
    /// When the database does not answer; then nothing of it happened.
    async fn typed(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        words: &str,
    ) -> sqlx::Result<InteractionResponse>;

    /// What fits what somebody types just now: what they read, and the words that it stands for. Nothing is written. Asked
    /// where an option is [`Takes::Completed`](nod_contract::command::Takes::Completed).
    ///
    /// # Errors
    /// When the database does not answer.
    async fn choices(
        &self,
        _conn: &mut PgConnection,
        _asker: &Asker<'_>,
        _typed: &str,
    ) -> sqlx::Result<Vec<(String, String)>> {
        Ok(Vec::new())
    }
}

/// Buttons of its cards. A press can come from anybody, late, and twice: what it may do is decided by the rows.
#[async_trait]
pub trait Buttons: Send + Sync {
    /// Their verbs, which no other ability has.
    fn verbs(&self) -> &'static [&'static str];

    /// Somebody pressed one.
    ///
    /// # Errors
    /// When the database does not answer; then nothing of it happened.
    async fn pressed(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        verb: &Action,
    ) -> sqlx::Result<InteractionResponse>;
}
