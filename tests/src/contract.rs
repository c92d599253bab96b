//! Ana and Nod on any platform: what the contract requires, and the only place where platforms differ in it.
//!
//! Slack and Discord are played as in every story. At the terminal Nod is a process with real keys and a real screen,
//! because there the row is the message: an adapter shows nothing by itself. Slack is configured as well, so text that
//! should only be at the terminal is reported as unread in Slack if it was posted there too.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::Fault;

use crate::chat::{ChatOperation, FakeChat, Platform};
use crate::{Terminal, World, max_wait};

/// A delivery that was lost is retried within this time.
const RETRY_WINDOW: TimeDelta = TimeDelta::seconds(5);

/// The platforms on which the contract must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContractPlatform {
    /// A chat platform, which stores messages.
    Chat(Platform),
    /// A screen, which stores nothing.
    Terminal,
}

/// The place where Ana and Nod talk; her mail is connected.
pub struct ContractFixture {
    /// The rest of the story's world.
    pub world: World,
    /// Ana's terminal, if she does not write in #general.
    terminal: Option<Terminal>,
    binary: &'static str,
}

impl ContractFixture {
    /// Creates the room on a platform. `binary` is the program, and `env` is added to its usual configuration.
    pub async fn new(platform: ContractPlatform, binary: &'static str, env: &[(&str, &str)]) -> Self {
        let mut world = match platform {
            ContractPlatform::Chat(on) => World::without_nod_on(on).await,
            ContractPlatform::Terminal => World::with_real_clock().await,
        };
        world.env.extend(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        if let ContractPlatform::Chat(_) = platform {
            world.start().await;
            world.connect_google("ana").await;
            return Self { world, terminal: None, binary };
        }
        let nod = world.start_program(binary).await;
        world.connect_google("ana").await;
        // The terminal's Nod has no connection to Slack, and an event might be on its way to this one.
        world.chat.drop_undelivered_events();
        world.kill_program(nod).await;
        let terminal = open_terminal(binary, "ana", &world.env).await;
        Self { world, terminal: Some(terminal), binary }
    }

    /// Sends a message of Ana to Nod, and waits until Nod has stored it.
    pub async fn say(&mut self, text: &str) {
        let Some(terminal) = &mut self.terminal else {
            self.world.chat.say("ana", "general", None, &format!("@nod {text}"));
            return;
        };
        terminal.type_line(text).await;
        let until = tokio::time::Instant::now() + max_wait();
        while !is_stored(&self.world, text).await {
            assert!(tokio::time::Instant::now() < until, "not taken: {text}\n{}", terminal.screen_text());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sends a command, as typed after Slack's `/nod`.
    pub async fn run_command(&mut self, text: &str) {
        match &mut self.terminal {
            None => self.world.chat.run_command("ana", "general", text).await,
            Some(terminal) => terminal.type_line(&format!("/{text}")).await,
        }
    }

    /// Clicks the newest button with this label.
    pub async fn click(&mut self, label: &str) {
        // A changed card is shown again with other numbers, and the screen is slightly behind its rows. Wait until
        // nothing changes before choosing a button.
        self.channel_text().await;
        match &mut self.terminal {
            None => self.world.click("ana", "general", label).await,
            Some(terminal) => terminal.click(label).await,
        }
    }

    /// Clicks the button, checks the fields of the form that opens, fills in some of them and submits it. A chat shows
    /// all fields at once, the terminal asks for one after another.
    pub async fn fill_form(&mut self, label: &str, fields: &[(&str, Option<&str>)]) {
        self.world.wait_until_idle().await;
        if self.terminal.is_none() {
            let form = self.world.open_form("ana", "general", label).await;
            for (field, _) in fields {
                assert!(form.text.contains(field), "no {field}:\n{}", form.text);
            }
            let typed: Vec<(&str, &str)> =
                fields.iter().filter_map(|(field, typed)| Some((*field, (*typed)?))).collect();
            let wrong = self.world.submit_form("ana", &typed).await;
            assert_eq!(wrong, "", "what was typed is not taken");
            return;
        }
        self.click(label).await;
        for (field, typed) in fields {
            let Some(terminal) = &mut self.terminal else { return };
            terminal.wait_for_text(&format!("{field}: ")).await;
            // Ctrl-U deletes the current text.
            terminal.type_line(&typed.map_or_else(String::new, |typed| format!("\u{15}{typed}"))).await;
        }
    }

    /// Checks that Ana sees these words in the conversation, once Nod has nothing left to do.
    pub async fn wait_for_text(&mut self, words: &str) {
        if let Some(terminal) = &mut self.terminal {
            terminal.wait_for_text(words).await;
        }
        self.world.wait_until_idle().await;
        if self.terminal.is_none() {
            self.world.wait_for_text("general", words).await;
        }
    }

    /// Checks that Ana sees these words while the model still writes the answer. The terminal shows an answer only when
    /// it is finished, because only then it has a row.
    pub async fn wait_for_partial_text(&mut self, words: &str) {
        match &self.terminal {
            None => drop(self.world.wait_for_text("general", words).await),
            Some(terminal) => {
                self.world.wait_for_model_requests(2).await;
                assert!(
                    !terminal.screen_text().contains(words),
                    "half an answer:\n{}",
                    terminal.screen_text()
                );
            }
        }
    }

    /// Checks that Ana was answered privately: a neutral line in the channel, and the text elsewhere. At a terminal no
    /// other user can read along, so the text is shown there.
    pub async fn wait_for_private_text(&mut self, words: &str) {
        let line = if self.terminal.is_some() { words } else { "Answered Ana Silva privately" };
        self.wait_for_text(line).await;
    }

    /// Checks that only Ana reads this: an ephemeral message, or her own screen.
    pub async fn wait_for_ephemeral(&mut self, words: &str) {
        match &mut self.terminal {
            None => {
                let said = self.world.wait_for_ephemeral("ana").await;
                assert!(said.contains(words), "{said}");
            }
            Some(terminal) => terminal.wait_for_text(words).await,
        }
    }

    /// Returns everything that is shown in the conversation now. A terminal shows it when it is opened.
    pub async fn channel_text(&mut self) -> String {
        self.world.wait_until_idle().await;
        let Some(terminal) = self.terminal.take() else { return self.world.read_new("general") };
        assert!(terminal.close().await.success());
        let terminal = open_terminal(self.binary, "ana", &self.world.env).await;
        let shown = text_before_greeting(&terminal.screen_text());
        self.terminal = Some(terminal);
        shown
    }

    /// Returns each message of Nod in the conversation, as the platform received it.
    pub async fn nod_messages(&mut self) -> Vec<String> {
        match &self.world.chat {
            _ if self.terminal.is_some() => vec![self.channel_text().await],
            FakeChat::Slack(fake) => {
                let all = fake.messages("general").into_iter().filter(|m| m.is_from_bot);
                all.map(|m| serde_json::json!(m.blocks).to_string()).collect()
            }
            FakeChat::Discord(fake) => {
                let all = fake.messages("general").into_iter().filter(|m| m.is_from_bot);
                all.map(|m| serde_json::json!(m.components).to_string()).collect()
            }
        }
    }

    /// Returns everything that only Ana received: her DM channel. At a terminal this is the conversation itself.
    pub async fn private_text(&mut self) -> String {
        self.world.wait_until_idle().await;
        if self.terminal.is_some() { self.channel_text().await } else { self.world.read_new("dm:ana") }
    }

    /// Returns everything that Bo sees: the conversation, his DM channel, ephemeral messages to him, and his own
    /// terminal.
    pub async fn text_for_bo(&self) -> String {
        self.world.wait_until_idle().await;
        if self.terminal.is_some() {
            let his = open_terminal(self.binary, "bo", &self.world.env).await;
            let shown = his.screen_text();
            assert!(his.close().await.success());
            return shown;
        }
        let chat = &self.world.chat;
        [chat.channel_text("general"), chat.channel_text("dm:bo"), chat.ephemeral_texts("bo").join("\n")]
            .join("\n")
    }

    /// Makes the next post fail. A terminal has no network between a row and its screen.
    pub fn fail_next_post(&self, fault: Fault) {
        if self.terminal.is_none() {
            self.world.chat.inject_fault(ChatOperation::PostMessage, fault);
        }
    }

    /// Makes the next file upload fail. A terminal writes the file directly.
    pub fn fail_next_upload(&self, fault: Fault) {
        if self.terminal.is_none() {
            self.world.chat.fail_next_upload(fault);
        }
    }

    /// Returns how many files with this name reached Ana, and the content of the newest. A terminal writes them to the
    /// current directory.
    #[must_use]
    pub fn uploaded_files(&self, name: &str) -> (usize, String) {
        if self.terminal.is_some() {
            let folder = std::fs::read_dir(Path::new(&self.world.env["NOD_DATA__DIR"]));
            let all = folder.unwrap_or_else(|e| panic!("{e}")).filter_map(Result::ok);
            let named: Vec<_> =
                all.filter(|entry| entry.file_name().to_string_lossy().starts_with(name)).collect();
            let newest = named.last().and_then(|entry| std::fs::read_to_string(entry.path()).ok());
            return (named.len(), newest.unwrap_or_default());
        }
        let shown = self.world.chat.channel_text("dm:ana");
        (
            shown.matches(&format!("[file {name}")).count(),
            self.world.chat.uploaded_file_text(name).unwrap_or_default(),
        )
    }

    /// Replaces Nod by another process that knows only the rows and recovers what was lost.
    pub async fn replace_nod(&mut self) {
        self.world.wait_until_idle().await;
        if let Some(terminal) = self.terminal.take() {
            terminal.kill().await;
            self.terminal = Some(open_terminal(self.binary, "ana", &self.world.env).await);
            // It shows the conversation from the beginning.
            return;
        }
        self.world.stop().await;
        self.world.start().await;
        self.world.advance(RETRY_WINDOW).await;
    }

    /// Sends a message to Nod as a non-member, if the platform has one: a user of another organisation in #general, or
    /// a user without a common server in a DM that stayed open. A terminal's user holds the database and its keys, so
    /// no user there is a non-member.
    pub async fn say_as_outsider(&mut self, text: &str) {
        let place = match &self.world.chat {
            _ if self.terminal.is_some() => return,
            FakeChat::Slack(_) => "general",
            FakeChat::Discord(_) => "dm:eve",
        };
        self.world.say("eve", place, &format!("@nod {text}")).await;
        self.world.read_new(place);
    }

    /// Ends the room with everything read, as in every story.
    pub async fn finish(mut self) {
        self.channel_text().await;
        if let Some(terminal) = self.terminal.take() {
            assert!(terminal.close().await.success());
        }
        self.world.finish().await;
    }
}

/// Returns whether Nod has stored a message with this text.
async fn is_stored(world: &World, text: &str) -> bool {
    let rows = "select exists (select from messages where role = 'human' and turn->>'text' = $1)";
    let found = sqlx::query_scalar(rows).bind(text).fetch_one(&world.pool).await;
    found.unwrap_or_else(|e: sqlx::Error| panic!("{e}"))
}

async fn open_terminal(binary: &str, user: &str, env: &BTreeMap<String, String>) -> Terminal {
    let terminal = Terminal::open(binary, &format!("{user}@acme.test"), env);
    terminal.find_text("Ctrl-D leaves").await;
    terminal
}

/// Returns the text before the terminal's greeting.
fn text_before_greeting(shown: &str) -> String {
    shown.split("You are ").next().unwrap_or_default().to_owned()
}
