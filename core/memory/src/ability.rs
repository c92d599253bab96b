//! Memory as an ability: it reads new messages after each reply, shows what it stores, and forgets it on request.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::context::Memory;
use crate::work::MemoryJob;
use crate::{history, memory};
use nod_contract::card::Action;
use nod_contract::chat::InteractionResponse;
use nod_contract::command::{CommandOption, CommandSpec, Takes};
use nod_contract::model::Model;
use nod_people::ability::Plug;
use nod_people::context::Chat;
use nod_store::ability::{Ability, Asker, Buttons, Command, PersonalRecords};
use nod_store::jobs::{Claim, Job, JobHandler, WorkError};

/// Plugs in summaries and facts, written by `model`, and the tools that read a channel's history. `records` is what the
/// file of a person's memory holds besides.
pub fn plug(model: Arc<dyn Model>, records: Vec<Arc<dyn PersonalRecords>>) -> Plug {
    Box::new(move |chat| Ability {
        tools: history::tools(&chat.pool, &chat.adapters),
        jobs: vec![Arc::new(Memory { chat: chat.clone(), model })],
        buttons: vec![Arc::new(Forgetting(chat.clone()))],
        commands: vec![Arc::new(Showing { chat: chat.clone(), records })],
        ..Ability::with_name("memory")
    })
}

#[async_trait]
impl JobHandler for Memory {
    fn kinds(&self) -> &'static [&'static str] {
        MemoryJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            MemoryJob::UpdateMemory { run } => memory::update_memory(self, claim, run).await,
        }
    }
}

/// The `memory` command.
struct Showing {
    chat: Chat,
    records: Vec<Arc<dyn PersonalRecords>>,
}

#[async_trait]
impl Command for Showing {
    fn spec(&self) -> CommandSpec {
        CommandSpec {
            name: "memory",
            does: "see what I remember",
            about: "See what Nod remembers here and about you",
            options: &[
                CommandOption {
                    name: "what",
                    about: "See it, or get it as a file",
                    takes: Takes::OneOf(&["show", "export"]),
                },
                CommandOption { name: "forget", about: "What should be forgotten?", takes: Takes::Completed },
            ],
        }
    }

    async fn handle_command(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        words: &str,
    ) -> sqlx::Result<InteractionResponse> {
        memory::handle_command(&self.chat, &self.records, asker, conn, words).await
    }

    async fn choices(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        typed: &str,
    ) -> sqlx::Result<Vec<(String, String)>> {
        memory::choices(asker, conn, typed).await
    }
}

/// The buttons of the `memory` list, and [Undo].
struct Forgetting(Chat);

#[async_trait]
impl Buttons for Forgetting {
    fn action_kinds(&self) -> &'static [&'static str] {
        &["forget_fact", "undo_fact", "ask_forget_all", "confirm_forget_all"]
    }

    async fn handle_click(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        verb: &Action,
    ) -> sqlx::Result<InteractionResponse> {
        memory::handle_click(&self.0, asker, conn, verb).await
    }
}
