//! A conversation at the terminal: lines become messages, commands, clicks and submitted forms, through the same inbox
//! as everywhere; Nod's messages appear above the line that is being typed.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nod_contract::card::{Card, Field, FieldError, Form};
use nod_contract::chat::{Addressing, Author, ChannelRef, Event, Inbound, InteractionResponse, Membership};
use nod_contract::clock::{Clock, Timestamp};
use nod_contract::ids::Ids;
use nod_inbox::Nod;
use nod_inbox::inbox::Inbox;
use tokio::sync::Notify;

use super::keyboard::{Input, Keyboard};
use super::screen::Screen;
use super::text::TextStyle;
use super::{PLATFORM, WORKSPACE};

/// How often the rows are read for changes by other replicas.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// The number of earlier messages shown at the start.
const HISTORY_LIMIT: usize = 10;
const PROMPT: &str = "› ";

/// The dependencies of the conversation.
pub struct SessionDependencies {
    /// The assistant.
    pub nod: Nod,
    /// The user: an email address, or a name.
    pub user: String,
    /// Notified when rows may have changed.
    pub changed: Arc<Notify>,
    /// The file with the history of typed lines.
    pub history: PathBuf,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The id generator.
    pub ids: Arc<dyn Ids>,
}

/// Chats until the user leaves.
///
/// # Errors
/// If there is no terminal, or the database does not answer.
pub async fn run_session(parts: SessionDependencies) -> anyhow::Result<()> {
    let look = if std::io::stdout().is_terminal() { TextStyle::Terminal } else { TextStyle::Plain };
    let keyboard = Keyboard::open(parts.history.clone())?;
    parts.nod.link_user_by_email(PLATFORM, WORKSPACE, &parts.user).await?;
    let place = ChannelRef { channel: parts.user.clone(), is_dm: true, thread: None };
    let inbox = parts.nod.inbox();
    let looked = parts.clock.now();
    let mut talk = ChatSession { parts, inbox, place, keyboard, screen: Screen::new(look), looked };
    talk.show_history().await?;
    talk.run().await
}

struct ChatSession {
    parts: SessionDependencies,
    inbox: Inbox,
    place: ChannelRef,
    keyboard: Keyboard,
    screen: Screen,
    /// When the rows on the screen were last read: a typed line can refer to those, and to nothing newer.
    looked: Timestamp,
}

impl ChatSession {
    async fn show_history(&mut self) -> anyhow::Result<()> {
        let read = self.parts.nod.load_transcript(PLATFORM, WORKSPACE, &self.place).await?;
        for line in self.screen.earlier(&read, HISTORY_LIMIT) {
            self.keyboard.print(&line);
        }
        let hint = format!(
            "You are {}. Type a button's number to press it (!3 for one further up), /help for the commands. \
             Alt-Enter starts a new line, Ctrl-C stops me, Ctrl-D leaves.",
            self.parts.user
        );
        let hint = self.screen.style().dim(&hint);
        self.keyboard.print(&hint);
        Ok(())
    }

    async fn run(&mut self) -> anyhow::Result<()> {
        let changed = Arc::clone(&self.parts.changed);
        let mut look = tokio::time::interval(POLL_INTERVAL);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.keyboard.prompt(PROMPT, None);
        loop {
            tokio::select! {
                typed = self.keyboard.next_input() => {
                    match typed {
                        Input::Line(line) => self.handle_line(&line).await,
                        Input::Interrupted => self.handle_interrupt().await?,
                        Input::Closed => return Ok(()),
                    }
                    self.keyboard.prompt(PROMPT, None);
                }
                () = changed.notified() => self.refresh().await,
                _ = look.tick() => self.refresh().await,
            }
        }
    }

    /// Shows what is new. If the database does not answer, the next call shows it.
    async fn refresh(&mut self) {
        let now = self.parts.clock.now();
        match self.parts.nod.load_transcript(PLATFORM, WORKSPACE, &self.place).await {
            Ok(read) => {
                self.looked = now;
                for line in self.screen.render_changes(&read) {
                    self.keyboard.print(&line);
                }
            }
            Err(error) => tracing::debug!(%error, "could not read new messages"),
        }
    }

    async fn handle_line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let place = self.place.clone();
        let what = if let Some(verb) = self.screen.find_action(line) {
            Event::ButtonClicked { place, verb: Some(verb), is_ephemeral: false }
        } else if self.screen.is_stale_number(line) {
            self.keyboard.print(&format!("[{line}] no longer works because the card has changed."));
            return;
        } else if let Some(command) = line.strip_prefix('/') {
            // As it is typed in the chat.
            let command = command.strip_prefix("nod ").unwrap_or(command).trim_start();
            let (name, text) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
            Event::Command { place, name: name.to_owned(), text: text.trim().to_owned() }
        } else {
            self.to_message(line)
        };
        self.handle_event(what).await;
    }

    fn to_message(&self, text: &str) -> Event {
        Event::Message {
            place: self.place.clone(),
            message: self.parts.ids.next().to_string(),
            text: text.to_owned(),
            addressing: Addressing::DirectMessage,
            attachments: Vec::new(),
            answers: None,
        }
    }

    /// Ctrl-C stops the turn in progress, and nothing else.
    async fn handle_interrupt(&mut self) -> anyhow::Result<()> {
        let read = self.parts.nod.load_transcript(PLATFORM, WORKSPACE, &self.place).await?;
        if read.is_run_active {
            let stop = self.to_message("stop");
            self.handle_event(stop).await;
        } else {
            self.keyboard.print("I'm not working on anything. Ctrl-D leaves.");
        }
        Ok(())
    }

    /// Stores an event, and shows the immediate response.
    async fn handle_event(&mut self, what: Event) {
        match self.store(what).await {
            None | Some(InteractionResponse::Ack | InteractionResponse::Autocomplete(_)) => {}
            Some(
                InteractionResponse::Ephemeral(card)
                | InteractionResponse::FormAccepted(card)
                | InteractionResponse::Replacement(card),
            ) => {
                self.show(&card);
            }
            Some(InteractionResponse::FormErrors(errors)) => self.show_errors(&errors),
            Some(InteractionResponse::Form(form)) => self.fill_form(*form).await,
        }
    }

    /// Stores it; prints an error if that fails.
    async fn store(&mut self, what: Event) -> Option<InteractionResponse> {
        let inbound = Inbound {
            platform: PLATFORM.to_owned(),
            workspace: WORKSPACE.to_owned(),
            dedup_key: self.parts.ids.next().to_string(),
            author: Author { user: self.parts.user.clone(), membership: Membership::Member },
            at: self.looked,
            event: what,
        };
        // No message can be typed here while the process does not run, so none is missed.
        match self.inbox.accept(inbound, true).await {
            Ok(immediate) => Some(immediate),
            Err(error) => {
                tracing::error!(%error, "could not store the input");
                self.keyboard
                    .print("That didn't reach me because the database doesn't answer. Please say it again.");
                None
            }
        }
    }

    fn show(&mut self, card: &Card) {
        let text = self.screen.card(None, card);
        self.keyboard.print(&text);
    }

    fn show_errors(&mut self, errors: &[FieldError]) {
        for error in errors {
            self.keyboard.print(&format!("⚠ {}", error.message));
        }
    }

    /// Reads field after field until all are valid, or the user cancels.
    async fn fill_form(&mut self, mut form: Form) {
        self.show(&form_header(&form));
        while !form.fields.is_empty() {
            for field in &mut form.fields {
                let Some(typed) = self.ask_field(field).await else {
                    self.keyboard.print("Nothing changed.");
                    return;
                };
                field.value = typed;
            }
            let values = form.fields.iter().map(|field| (field.id.clone(), field.value.clone())).collect();
            let place = Some(self.place.clone());
            match self.store(Event::FormSubmitted { place, verb: Some(form.verb.clone()), values }).await {
                // The typed values stay, so that they can be corrected.
                Some(InteractionResponse::FormErrors(errors)) => self.show_errors(&errors),
                Some(InteractionResponse::Form(next)) => {
                    form = *next;
                    self.show(&form_header(&form));
                }
                Some(
                    InteractionResponse::Ephemeral(card)
                    | InteractionResponse::FormAccepted(card)
                    | InteractionResponse::Replacement(card),
                ) => {
                    return self.show(&card);
                }
                Some(InteractionResponse::Ack | InteractionResponse::Autocomplete(_)) | None => return,
            }
        }
    }

    async fn ask_field(&mut self, field: &Field) -> Option<String> {
        loop {
            self.keyboard.prompt(&format!("{}: ", field.label), Some(&field.value));
            let Input::Line(line) = self.keyboard.next_input().await else { return None };
            if line.chars().count() <= field.max_chars {
                return Some(line);
            }
            self.keyboard.print(&format!("⚠ {} characters at most.", field.max_chars));
        }
    }
}

/// Returns what is shown above a form's fields.
fn form_header(form: &Form) -> Card {
    Card { title: Some(form.title.clone()), body: form.body.clone(), ..Card::default() }
}
