//! Ana and Nod on any platform: what the contract has her do and see, and the only place where platforms differ in it.
//!
//! Slack and Discord are played as in every story. At the terminal Nod is a process with real keys and a real screen,
//! since there the row is the message: an adapter alone shows nobody anything. It has Slack configured beside it, so
//! what should stand at the terminal alone is seen to be unread in Slack where it went there too.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::Fault;

use crate::chat::{Chat, Deed, On};
use crate::{Terminal, World, patience};

/// What is lost is tried again within this.
const TRY: TimeDelta = TimeDelta::seconds(5);

/// Where the contract is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// A platform of messages, which keeps them.
    Chat(On),
    /// A screen, which keeps nothing.
    Terminal,
}

/// Where Ana and Nod talk; her mail is connected.
pub struct Room {
    /// Everything else there is.
    pub world: World,
    /// Where she sits, where that is not #general.
    terminal: Option<Terminal>,
    binary: &'static str,
}

impl Room {
    /// There; `binary` is the program, and `env` what it is configured with beside the usual.
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

    /// Ana says something to Nod, and Nod has taken it.
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

    /// She gives a command, as typed behind Slack's `/nod`.
    pub async fn commands(&mut self, text: &str) {
        match &mut self.terminal {
            None => self.world.chat.command("ana", "general", text).await,
            Some(terminal) => terminal.types(&format!("/{text}")).await,
        }
    }

    /// She presses the newest button with this label.
    pub async fn presses(&mut self, label: &str) {
        // A card that changed is shown again with other numbers, and a screen is a moment behind its rows: what is
        // pressed is what stands once nothing changes any more.
        self.stands().await;
        match &mut self.terminal {
            None => self.world.presses("ana", "general", label).await,
            Some(terminal) => terminal.presses(label).await,
        }
    }

    /// She presses it, a form opens with these fields, she types into some of them and sends it. A chat shows them
    /// at once, the terminal asks for one after the other.
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
            // Ctrl-U takes away what stands there.
            terminal.types(&typed.map_or_else(String::new, |typed| format!("\u{15}{typed}"))).await;
        }
    }

    /// She sees these words where she talks, once Nod has nothing left to do.
    pub async fn sees(&mut self, words: &str) {
        if let Some(terminal) = &mut self.terminal {
            terminal.reads(words).await;
        }
        self.world.settles().await;
        if self.terminal.is_none() {
            self.world.stands("general", words).await;
        }
    }

    /// She sees these words of an answer while the model still writes it. The terminal shows an answer when it is
    /// whole and nothing of it before, since that is when its row has it.
    pub async fn sees_growing(&mut self, words: &str) {
        match &self.terminal {
            None => drop(self.world.stands("general", words).await),
            Some(terminal) => {
                self.world.asked(2).await;
                assert!(!terminal.shown().contains(words), "half an answer:\n{}", terminal.shown());
            }
        }
    }

    /// She sees that she was answered privately: a neutral line in the channel, and the words elsewhere. At a terminal
    /// nobody reads along, so there are the words.
    pub async fn sees_privately(&mut self, words: &str) {
        let line = if self.terminal.is_some() { words } else { "Answered Ana Silva privately" };
        self.sees(line).await;
    }

    /// She is told this, and nobody else: a whisper, or what her own screen says.
    pub async fn is_told(&mut self, words: &str) {
        match &mut self.terminal {
            None => {
                let said = self.world.hears("ana").await;
                assert!(said.contains(words), "{said}");
            }
            Some(terminal) => terminal.reads(words).await,
        }
    }

    /// All that stands where she talks, now. A terminal shows that to whoever opens it.
    pub async fn stands(&mut self) -> String {
        self.world.settles().await;
        let Some(terminal) = self.terminal.take() else { return self.world.reads("general") };
        assert!(terminal.leaves().await.success());
        let terminal = sits_down(self.binary, "ana", &self.world.env).await;
        let shown = before_greeting(&terminal.shown());
        self.terminal = Some(terminal);
        shown
    }

    /// What Nod has said there, each message by itself and as the platform was given it.
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

    /// All that reached her and nobody else: her direct line. At a terminal that is where she talks.
    pub async fn stands_for_her(&mut self) -> String {
        self.world.settles().await;
        if self.terminal.is_some() { self.stands().await } else { self.world.reads("dm:ana") }
    }

    /// All that Bo sees: what stands where she talks, his direct line, what is whispered to him; his own terminal.
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

    /// The next message meets this on its way. There is no way between a row and a terminal's screen.
    pub fn next_post_meets(&self, fault: Fault) {
        if self.terminal.is_none() {
            self.world.chat.fails(Deed::Posts, fault);
        }
    }

    /// So does the next file; a terminal's is written, or it is not.
    pub fn next_file_meets(&self, fault: Fault) {
        if self.terminal.is_none() {
            self.world.chat.next_file_meets(fault);
        }
    }

    /// The files that reached her by this name: how many, and what stands in the newest. A terminal puts them where
    /// the person is.
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

    /// Nod dies or goes, and another one that knows nothing but the rows takes up what was lost.
    pub async fn another_nod_comes(&mut self) {
        self.world.settles().await;
        if let Some(terminal) = self.terminal.take() {
            terminal.kill().await;
            self.terminal = Some(sits_down(self.binary, "ana", &self.world.env).await);
            // Shown again from its beginning.
            return;
        }
        self.world.stop().await;
        self.world.start().await;
        self.world.later(TRY).await;
    }

    /// Somebody who is no member says this to Nod, as far as the platform has such a person: of another organisation
    /// in #general; of no server in a direct line that stayed open. Whoever opens a terminal holds the database and
    /// its keys, so nobody there is a stranger.
    pub async fn stranger_says(&mut self, text: &str) {
        let place = match &self.world.chat {
            _ if self.terminal.is_some() => return,
            Chat::Slack(_) => "general",
            Chat::Discord(_) => "dm:eve",
        };
        self.world.says("eve", place, &format!("@nod {text}")).await;
        self.world.reads(place);
    }

    /// Ends it, with everything read, as every story.
    pub async fn ends(mut self) {
        self.stands().await;
        if let Some(terminal) = self.terminal.take() {
            assert!(terminal.leaves().await.success());
        }
        self.world.ends().await;
    }
}

/// Whether Nod has a row of these words.
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

/// What was said before whoever opened the terminal is greeted.
fn before_greeting(shown: &str) -> String {
    shown.split("You are ").next().unwrap_or_default().to_owned()
}
