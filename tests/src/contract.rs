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

use crate::chat::{Chat, Deed, On};
use crate::{Terminal, World, patience};

/// A delivery that was lost is retried within this time.
const TRY: TimeDelta = TimeDelta::seconds(5);

/// The platforms on which the contract must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// A chat platform, which stores messages.
    Chat(On),
    /// A screen, which stores nothing.
    Terminal,
}

/// The place where Ana and Nod talk; her mail is connected.
pub struct Room {
    /// The rest of the story's world.
    pub world: World,
    /// Ana's terminal, if she does not write in #general.
    terminal: Option<Terminal>,
    binary: &'static str,
}

impl Room {
    /// Creates the room on a platform. `binary` is the program, and `env` is added to its usual configuration.
    pub async fn on(platform: Platform, binary: &'static str, env: &[(&str, &str)]) -> Self {
        let mut world = match platform {
            Platform::Chat(on) => World::without_nod_on(on).await,
            Platform::Terminal => World::in_real_time().await,
        };
        world.env.extend(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        if let Platform::Chat(_) = platform {
            world.start().await;
            world.connects("ana").await;
            return Self { world, terminal: None, binary };
        }
        let nod = world.start_program(binary).await;
        world.connects("ana").await;
        world.kills(nod).await;
        let terminal = sits_down(binary, "ana", &world.env).await;
        Self { world, terminal: Some(terminal), binary }
    }

    /// Sends a message of Ana to Nod, and waits until Nod has stored it.
    pub async fn says(&mut self, text: &str) {
        let Some(terminal) = &mut self.terminal else {
            self.world.chat.say("ana", "general", None, &format!("@nod {text}"));
            return;
        };
        terminal.types(text).await;
        let until = tokio::time::Instant::now() + patience();
        while !taken(&self.world, text).await {
            assert!(tokio::time::Instant::now() < until, "not taken: {text}\n{}", terminal.shown());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sends a command, as typed after Slack's `/nod`.
    pub async fn commands(&mut self, text: &str) {
        match &mut self.terminal {
            None => self.world.chat.command("ana", "general", text).await,
            Some(terminal) => terminal.types(&format!("/{text}")).await,
        }
    }

    /// Clicks the newest button with this label.
    pub async fn presses(&mut self, label: &str) {
        // A changed card is shown again with other numbers, and the screen is slightly behind its rows. Wait until
        // nothing changes before choosing a button.
        self.stands().await;
        match &mut self.terminal {
            None => self.world.presses("ana", "general", label).await,
            Some(terminal) => terminal.presses(label).await,
        }
    }

    /// Clicks the button, checks the fields of the form that opens, fills in some of them and submits it. A chat shows
    /// all fields at once, the terminal asks for one after another.
    pub async fn fills(&mut self, label: &str, fields: &[(&str, Option<&str>)]) {
        self.world.settles().await;
        if self.terminal.is_none() {
            let form = self.world.opens("ana", "general", label).await;
            for (field, _) in fields {
                assert!(form.shown.contains(field), "no {field}:\n{}", form.shown);
            }
            let typed: Vec<(&str, &str)> =
                fields.iter().filter_map(|(field, typed)| Some((*field, (*typed)?))).collect();
            let wrong = self.world.submits("ana", &typed).await;
            assert_eq!(wrong, "", "what was typed is not taken");
            return;
        }
        self.presses(label).await;
        for (field, typed) in fields {
            let Some(terminal) = &mut self.terminal else { return };
            terminal.reads(&format!("{field}: ")).await;
            // Ctrl-U deletes the current text.
            terminal.types(&typed.map_or_else(String::new, |typed| format!("\u{15}{typed}"))).await;
        }
    }

    /// Checks that Ana sees these words in the conversation, once Nod has nothing left to do.
    pub async fn sees(&mut self, words: &str) {
        if let Some(terminal) = &mut self.terminal {
            terminal.reads(words).await;
        }
        self.world.settles().await;
        if self.terminal.is_none() {
            self.world.stands("general", words).await;
        }
    }

    /// Checks that Ana sees these words while the model still writes the answer. The terminal shows an answer only when
    /// it is finished, because only then it has a row.
    pub async fn sees_growing(&mut self, words: &str) {
        match &self.terminal {
            None => drop(self.world.stands("general", words).await),
            Some(terminal) => {
                self.world.asked(2).await;
                assert!(!terminal.shown().contains(words), "half an answer:\n{}", terminal.shown());
            }
        }
    }

    /// Checks that Ana was answered privately: a neutral line in the channel, and the text elsewhere. At a terminal no
    /// other user can read along, so the text is shown there.
    pub async fn sees_privately(&mut self, words: &str) {
        let line = if self.terminal.is_some() { words } else { "Answered Ana Silva privately" };
        self.sees(line).await;
    }

    /// Checks that only Ana reads this: an ephemeral message, or her own screen.
    pub async fn is_told(&mut self, words: &str) {
        match &mut self.terminal {
            None => {
                let said = self.world.hears("ana").await;
                assert!(said.contains(words), "{said}");
            }
            Some(terminal) => terminal.reads(words).await,
        }
    }

    /// Returns everything that is shown in the conversation now. A terminal shows it when it is opened.
    pub async fn stands(&mut self) -> String {
        self.world.settles().await;
        let Some(terminal) = self.terminal.take() else { return self.world.reads("general") };
        assert!(terminal.leaves().await.success());
        let terminal = sits_down(self.binary, "ana", &self.world.env).await;
        let shown = before_greeting(&terminal.shown());
        self.terminal = Some(terminal);
        shown
    }

    /// Returns each message of Nod in the conversation, as the platform received it.
    pub async fn messages(&mut self) -> Vec<String> {
        match &self.world.chat {
            _ if self.terminal.is_some() => vec![self.stands().await],
            Chat::Slack(fake) => {
                let all = fake.messages("general").into_iter().filter(|m| m.by_bot);
                all.map(|m| serde_json::json!(m.blocks).to_string()).collect()
            }
            Chat::Discord(fake) => {
                let all = fake.messages("general").into_iter().filter(|m| m.by_bot);
                all.map(|m| serde_json::json!(m.components).to_string()).collect()
            }
        }
    }

    /// Returns everything that only Ana received: her DM channel. At a terminal this is the conversation itself.
    pub async fn stands_for_her(&mut self) -> String {
        self.world.settles().await;
        if self.terminal.is_some() { self.stands().await } else { self.world.reads("dm:ana") }
    }

    /// Returns everything that Bo sees: the conversation, his DM channel, ephemeral messages to him, and his own
    /// terminal.
    pub async fn stands_for_bo(&self) -> String {
        self.world.settles().await;
        if self.terminal.is_some() {
            let his = sits_down(self.binary, "bo", &self.world.env).await;
            let shown = his.shown();
            assert!(his.leaves().await.success());
            return shown;
        }
        let chat = &self.world.chat;
        [chat.spoken("general"), chat.spoken("dm:bo"), chat.whispers("bo").join("\n")].join("\n")
    }

    /// Makes the next post fail. A terminal has no network between a row and its screen.
    pub fn next_post_meets(&self, fault: Fault) {
        if self.terminal.is_none() {
            self.world.chat.fails(Deed::Posts, fault);
        }
    }

    /// Makes the next file upload fail. A terminal writes the file directly.
    pub fn next_file_meets(&self, fault: Fault) {
        if self.terminal.is_none() {
            self.world.chat.next_file_meets(fault);
        }
    }

    /// Returns how many files with this name reached Ana, and the content of the newest. A terminal writes them to the
    /// current directory.
    #[must_use]
    pub fn files(&self, name: &str) -> (usize, String) {
        if self.terminal.is_some() {
            let folder = std::fs::read_dir(Path::new(&self.world.env["NOD_DATA__DIR"]));
            let all = folder.unwrap_or_else(|e| panic!("{e}")).filter_map(Result::ok);
            let named: Vec<_> =
                all.filter(|entry| entry.file_name().to_string_lossy().starts_with(name)).collect();
            let newest = named.last().and_then(|entry| std::fs::read_to_string(entry.path()).ok());
            return (named.len(), newest.unwrap_or_default());
        }
        let shown = self.world.chat.spoken("dm:ana");
        (shown.matches(&format!("[file {name}")).count(), self.world.chat.file(name).unwrap_or_default())
    }

    /// Replaces Nod by another process that knows only the rows and recovers what was lost.
    pub async fn another_nod_comes(&mut self) {
        self.world.settles().await;
        if let Some(terminal) = self.terminal.take() {
            terminal.kill().await;
            self.terminal = Some(sits_down(self.binary, "ana", &self.world.env).await);
            // It shows the conversation from the beginning.
            return;
        }
        self.world.stop().await;
        self.world.start().await;
        self.world.later(TRY).await;
    }

    /// Sends a message to Nod as a non-member, if the platform has one: a user of another organisation in #general, or
    /// a user without a common server in a DM that stayed open. A terminal's user holds the database and its keys, so
    /// no user there is a non-member.
    pub async fn stranger_says(&mut self, text: &str) {
        let place = match &self.world.chat {
            _ if self.terminal.is_some() => return,
            Chat::Slack(_) => "general",
            Chat::Discord(_) => "dm:eve",
        };
        self.world.says("eve", place, &format!("@nod {text}")).await;
        self.world.reads(place);
    }

    /// Ends the room with everything read, as in every story.
    pub async fn ends(mut self) {
        self.stands().await;
        if let Some(terminal) = self.terminal.take() {
            assert!(terminal.leaves().await.success());
        }
        self.world.ends().await;
    }
}

/// Returns whether Nod has stored a message with this text.
async fn taken(world: &World, text: &str) -> bool {
    let rows = "select exists (select from messages where role = 'human' and turn->>'text' = $1)";
    let found = sqlx::query_scalar(rows).bind(text).fetch_one(&world.pool).await;
    found.unwrap_or_else(|e: sqlx::Error| panic!("{e}"))
}

async fn sits_down(binary: &str, user: &str, env: &BTreeMap<String, String>) -> Terminal {
    let terminal = Terminal::open(binary, &format!("{user}@acme.test"), env);
    terminal.sees("Ctrl-D leaves").await;
    terminal
}

/// Returns the text before the terminal's greeting.
fn before_greeting(shown: &str) -> String {
    shown.split("You are ").next().unwrap_or_default().to_owned()
}
