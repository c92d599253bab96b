//! The definition of an ability: what it adds to Nod, and the traits that it implements.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::hooks::Hook;
use crate::jobs::JobHandler;
use crate::workflow::Workflow;
use nod_contract::card::{Action, Button, Card};
use nod_contract::chat::{Attachment, ChannelRef, InteractionResponse};
use nod_contract::clock::Timestamp;
use nod_contract::command::{CommandSpec, MenuEntrySpec};
use nod_contract::ids::{ConversationId, PersonId, RunId, TenantId};
use nod_contract::privacy::Audience;
use nod_contract::tool::Tool;
use serde_json::Value;

/// Everything that an ability adds to Nod; lists that it does not need stay empty.
pub struct Ability {
    /// Its name in the logs.
    pub name: &'static str,
    /// Tools that the model can call.
    pub tools: Vec<Tool>,
    /// Handlers of its jobs.
    pub jobs: Vec<Arc<dyn JobHandler>>,
    /// Handlers of clicks on its buttons.
    pub buttons: Vec<Arc<dyn Buttons>>,
    /// Handlers of the forms that its buttons open.
    pub forms: Vec<Arc<dyn Forms>>,
    /// Commands that people can type.
    pub commands: Vec<Arc<dyn Command>>,
    /// Entries in the menu of every message.
    pub menu: Vec<Arc<dyn MenuEntry>>,
    /// What it shows on a person's home page.
    pub home: Vec<Arc<dyn HomeSection>>,
    /// Messages that it answers by itself.
    pub messages: Vec<Arc<dyn MessageHandler>>,
    /// Its checks of answers.
    pub checks: Vec<Arc<dyn AnswerCheck>>,
    /// Its reactions to events of other abilities.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Kinds of work that take several steps.
    pub workflows: Vec<Arc<dyn Workflow>>,
    /// What it prepares when Nod starts.
    pub warm_ups: Vec<Arc<dyn WarmUp>>,
}

impl Ability {
    /// Creates an ability that adds nothing yet.
    #[must_use]
    pub fn with_name(name: &'static str) -> Self {
        let (tools, jobs, buttons, forms) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (commands, menu, home, messages) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (checks, hooks, workflows, warm_ups) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            name,
            tools,
            jobs,
            buttons,
            forms,
            commands,
            menu,
            home,
            messages,
            checks,
            hooks,
            workflows,
            warm_ups,
        }
    }
}

/// Work that Nod does once when it starts, beside everything else, so that nobody waits for it later.
#[async_trait]
pub trait WarmUp: Send + Sync {
    /// Does the work. A failure is logged: whoever needs the result does the work again.
    async fn warm_up(&self);
}

/// The person who types a command, clicks a button or picks a menu entry, and where they do so.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    pub tenant: TenantId,
    pub platform: &'a str,
    pub workspace: &'a str,
    pub place: &'a ChannelRef,
    pub person: PersonId,
    /// The person's id on the platform.
    pub user: &'a str,
    pub now: Timestamp,
}

impl<'a> Asker<'a> {
    /// Returns the thread of the place; a DM is one conversation without threads, so it is always `Some("")`.
    #[must_use]
    pub fn thread(&self) -> Option<&'a str> {
        if self.place.is_dm { Some("") } else { self.place.thread.as_deref() }
    }
}

/// A command. It must be answered within three seconds, in the transaction that stores its arrival: longer work belongs
/// in a job.
#[async_trait]
pub trait Command: Send + Sync {
    /// Describes the command to `help` and to the platform.
    fn spec(&self) -> CommandSpec;

    /// Answers the command; `words` is the text that was typed after its name.
    ///
    /// # Errors
    /// If the database does not answer; nothing has changed then.
    async fn handle_command(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        words: &str,
    ) -> sqlx::Result<InteractionResponse>;

    /// Returns autocomplete choices for the text typed so far, each with its label and the text that it inserts. Writes
    /// nothing. Called if an option is [`Takes::Completed`](nod_contract::command::Takes::Completed).
    ///
    /// # Errors
    /// If the database does not answer.
    async fn choices(
        &self,
        _conn: &mut PgConnection,
        _asker: &Asker<'_>,
        _typed: &str,
    ) -> sqlx::Result<Vec<(String, String)>> {
        Ok(Vec::new())
    }
}

/// A message on which an entry of its menu was picked. Anybody may have written it.
#[derive(Debug, Clone, Copy)]
pub struct PickedMessage<'a> {
    /// The author's id on the platform, if the platform reports it.
    pub author: Option<&'a str>,
    pub text: &'a str,
    pub attachments: &'a [Attachment],
}

/// A section of a person's home page, which only they see.
#[async_trait]
pub trait HomeSection: Send + Sync {
    /// Writes it; `None` if there is nothing to show.
    ///
    /// # Errors
    /// If the database does not answer.
    async fn load(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        person: PersonId,
    ) -> sqlx::Result<Option<Card>>;
}

/// An entry in the menu of every message. It is answered as a [`Command`] is.
#[async_trait]
pub trait MenuEntry: Send + Sync {
    /// Describes the entry to the platform.
    fn spec(&self) -> MenuEntrySpec;

    /// Handles that the asker picked it on a message. The asker's place is the message's: they can see it, but Nod may not be
    /// there.
    ///
    /// # Errors
    /// If the database does not answer; nothing has changed then.
    async fn handle_pick(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        picked: &PickedMessage<'_>,
    ) -> sqlx::Result<InteractionResponse>;
}

/// Buttons of an ability's cards. A click can come from any user, late and twice: the rows decide what it can do.
#[async_trait]
pub trait Buttons: Send + Sync {
    /// The kinds of its [`Action`]s, which no other ability uses.
    fn action_kinds(&self) -> &'static [&'static str];

    /// Handles a click.
    ///
    /// # Errors
    /// If the database does not answer; nothing has changed then.
    async fn handle_click(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        verb: &Action,
    ) -> sqlx::Result<InteractionResponse>;
}

/// A submitted form, and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Submission<'a> {
    pub tenant: TenantId,
    pub person: PersonId,
    /// The action that the form carries.
    pub verb: &'a Action,
    /// What was typed, by field. It is as long as its author likes.
    pub values: &'a BTreeMap<String, String>,
    pub now: Timestamp,
}

/// Forms that an ability's buttons open ([`InteractionResponse::Form`]). One can be submitted late, and by anybody.
#[async_trait]
pub trait Forms: Send + Sync {
    /// The kinds of its forms' [`Action`]s, which no other ability uses, not even for a button.
    fn form_kinds(&self) -> &'static [&'static str];

    /// Handles a submission.
    ///
    /// # Errors
    /// If the database does not answer; nothing has changed then.
    async fn handle_submission(
        &self,
        conn: &mut PgConnection,
        submission: &Submission<'_>,
    ) -> sqlx::Result<InteractionResponse>;
}

/// What an ability keeps about a person and that no other command shows them: they get it with the file of their memory.
#[async_trait]
pub trait PersonalRecords: Send + Sync {
    /// Returns its section of the file, as Markdown with a heading; empty if there is nothing.
    ///
    /// # Errors
    /// If the database does not answer.
    async fn export(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        person: PersonId,
        zone: &str,
    ) -> sqlx::Result<String>;
}

/// A message to Nod.
#[derive(Debug, Clone, Copy)]
pub struct AddressedMessage<'a> {
    pub conversation: ConversationId,
    pub text: &'a str,
    pub attachments: &'a [Attachment],
}

/// Messages that an ability answers by itself, without a model.
#[async_trait]
pub trait MessageHandler: Send + Sync {
    /// Returns whether a message with this text might be one of them. It reads nothing, because every message is asked.
    fn accepts(&self, text: &str) -> bool;

    /// Answers the message of a person who is served, or not known yet: a job for them checks that before it acts. It runs
    /// in the transaction that stores its arrival. Returns false, and has written nothing, if it is
    /// not one of them after all.
    ///
    /// # Errors
    /// If the database does not answer; nothing has changed then.
    async fn handle_message(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        message: &AddressedMessage<'_>,
    ) -> sqlx::Result<bool>;
}

/// An answer of the model that nobody has read yet.
#[derive(Debug, Clone, Copy)]
pub struct CheckedAnswer<'a> {
    pub text: &'a str,
    /// The message that it answers.
    pub question: &'a str,
    /// The tools that were called for it.
    pub tools: &'a [&'a str],
    /// Who will read it.
    pub audience: Audience,
    /// Whether the model can be called once more.
    pub may_retry: bool,
}

/// What a check decides.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The answer is sent in this form, with these lines and buttons below it.
    Send {
        text: String,
        notes: Vec<String>,
        buttons: Vec<Button>,
        /// Written together with the answer.
        rows: Option<Value>,
    },
    /// The model is called once more; it reads the problems, which may repeat its own words, and the instruction.
    Retry { problems: Vec<String>, instruction: &'static str },
}

/// The run whose answer is sent.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredRun {
    pub tenant: TenantId,
    pub run: RunId,
    pub now: Timestamp,
}

/// Holds an answer against what the ability's tools have left during the run
/// ([`FollowUp::CheckPart`](nod_contract::tool::FollowUp::CheckPart)), before anybody reads it.
#[async_trait]
pub trait AnswerCheck: Send + Sync {
    /// The name under which its tools leave parts.
    fn name(&self) -> &'static str;

    /// Loads what [`check`](Self::check) needs, as it is now.
    ///
    /// # Errors
    /// If the database does not answer; the run's job is tried again.
    async fn load(&self, conn: &mut PgConnection, tenant: TenantId, parts: &[Value]) -> sqlx::Result<Value>;

    /// Checks an answer. Pure.
    fn check(&self, answer: &CheckedAnswer<'_>, loaded: &Value) -> Verdict;

    /// Writes the rows of an answer, in the commit that sends it.
    ///
    /// # Errors
    /// If the database does not answer; nothing is sent then.
    async fn write(&self, conn: &mut PgConnection, run: &AnsweredRun, rows: &Value) -> sqlx::Result<()>;
}
