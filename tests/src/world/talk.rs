//! What people write and click, and what they read.

use std::time::Duration;

use nod_sandbox::model::Answer;
use nod_sandbox::slack::Say;
use serde_json::json;

use super::{World, patience};
use crate::chat::Chat;

impl World {
    /// Sends a message, waits until Nod has nothing left to do, and returns the message's timestamp.
    pub async fn says(&self, user: &str, channel: &str, text: &str) -> String {
        let ts = self.chat.say(user, channel, None, text);
        self.settles().await;
        ts
    }

    /// The same in a thread.
    pub async fn replies(&self, user: &str, channel: &str, thread: &str, text: &str) -> String {
        let ts = self.chat.say(user, channel, Some(thread), text);
        self.settles().await;
        ts
    }

    /// Sends a `/nod` command and returns its immediate response, as its author reads it.
    pub async fn commands(&mut self, user: &str, channel: &str, text: &str) -> String {
        self.chat.command(user, channel, text).await;
        self.settles().await;
        self.whispers(user)
    }

    /// Clicks the button with this label on the newest message that has it.
    pub async fn presses(&self, user: &str, channel: &str, label: &str) {
        let ts = self.button(channel, label);
        self.chat.press(user, channel, &ts, label).await;
        self.settles().await;
    }

    /// Clicks the button with this label on the user's newest ephemeral message that has it.
    pub async fn presses_whispered(&self, user: &str, label: &str) {
        self.chat.press_whispered(user, label).await;
        self.settles().await;
    }

    /// Sends a message with a file.
    pub async fn drops(&self, user: &str, channel: &str, text: &str, file: serde_json::Value) -> String {
        let said = match &self.chat {
            Chat::Slack(slack) => {
                let subtype = Some("file_share".to_owned());
                slack.say_with(Say { files: vec![file], subtype, ..Say::new(user, channel, text) })
            }
            Chat::Discord(discord) => {
                let say = nod_sandbox::discord::Say::new(user, channel, text);
                discord.say_with(nod_sandbox::discord::Say { files: vec![file], ..say })
            }
        };
        self.settles().await;
        said.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Opens the app's Home tab.
    pub async fn opens_home(&self, user: &str) {
        self.slack.open_home(user);
        self.settles().await;
    }

    /// Clicks a button on the Home tab.
    pub async fn presses_home(&self, user: &str, label: &str) {
        let pending = self.slack.press_home(user, label).unwrap_or_else(|e| panic!("{e}"));
        pending.acknowledged(patience()).await;
        self.settles().await;
    }

    /// Returns the newest message of a channel that has a button with this label.
    #[must_use]
    pub fn button(&self, channel: &str, label: &str) -> String {
        let found = self.chat.with_button(channel, label);
        found.unwrap_or_else(|| panic!("no button [{label}] in {channel}:\n{}", self.chat.everything()))
    }

    /// Returns the labels of the buttons of the newest message of a channel that has any, as one line.
    #[must_use]
    pub fn button_labels(&self, channel: &str) -> String {
        let buttons = self.chat.buttons(channel);
        buttons.iter().map(|button| format!("[{}]", button.label)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the full label of the button there that begins like this.
    #[must_use]
    pub fn labelled(&self, channel: &str, begins: &str) -> String {
        let mut labels = self.chat.buttons(channel).into_iter().map(|button| button.label);
        labels
            .find(|label| label.starts_with(begins))
            .unwrap_or_else(|| panic!("no button [{begins}…] in {channel}:\n{}", self.chat.everything()))
    }

    /// Returns the text of a channel, as people read it, and marks it as read.
    pub fn reads(&mut self, channel: &str) -> String {
        let transcript = self.chat.spoken(channel);
        self.read.insert(self.named(channel), transcript.clone());
        self.as_told(without_run_ids(&transcript))
    }

    /// Returns the part of it that was read so far.
    pub(crate) fn was_read(&self, channel: &str) -> String {
        let read = self.read.get(&self.named(channel));
        read.map_or_else(String::new, |read| self.as_told(without_run_ids(read)))
    }

    /// Makes the text equal on both platforms: Discord does not report that Ana is in Lisbon, whose time is the same as
    /// UTC, and has separate commands.
    pub(crate) fn as_told(&self, text: String) -> String {
        match self.chat {
            Chat::Slack(_) => text,
            Chat::Discord(_) => as_typed_on_slack(text.replace(" UTC", " WET")),
        }
    }

    /// Returns the ephemeral messages to a user since the last call.
    pub fn whispers(&mut self, user: &str) -> String {
        let all = self.chat.whispers(user);
        let from = self.heard.insert(self.ear(user), all.len()).unwrap_or_default();
        self.as_told(all[from.min(all.len())..].join("\n"))
    }

    /// Returns the user's key on the current platform.
    fn ear(&self, user: &str) -> String {
        match self.chat {
            Chat::Slack(_) => format!("slack:{user}"),
            Chat::Discord(_) => format!("discord:{user}"),
        }
    }

    /// Waits for an ephemeral message to a user, and returns it.
    pub async fn hears(&mut self, user: &str) -> String {
        let from = self.heard.get(&self.ear(user)).copied().unwrap_or_default();
        self.comes("a whisper", || (self.chat.whispers(user).len() > from).then_some(())).await;
        self.whispers(user)
    }

    /// Waits until a channel shows these words, and returns all of its text.
    pub async fn stands(&self, channel: &str, words: &str) -> String {
        let look = || Some(self.chat.spoken(channel)).filter(|said| said.contains(words));
        self.comes(words, look).await
    }

    /// Waits until `look` returns something.
    async fn comes<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let until = tokio::time::Instant::now() + patience();
        loop {
            if let Some(found) = look() {
                return found;
            }
            let late = tokio::time::Instant::now() > until;
            assert!(!late, "“{what}” never came:\n{}", self.chat.everything());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until Nod has posted this text somewhere and has nothing left to do.
    pub async fn hears_nod(&self, channel: &str, text: &str) {
        let heard = async {
            let until = tokio::time::Instant::now() + patience();
            while !self.chat.nod_said(channel, text) {
                let late = tokio::time::Instant::now() > until;
                assert!(!late, "“{text}” was never said in {channel}:\n{}", self.chat.everything());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            () = heard => {}
            () = self.pauses_pass() => {}
        }
        self.settles().await;
    }

    /// Waits until the model got this many requests.
    pub async fn asked(&self, times: usize) {
        let until = tokio::time::Instant::now() + patience();
        while self.model.requests().len() < times {
            assert!(
                tokio::time::Instant::now() < until,
                "the model was never asked: {}",
                self.chat.everything()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns every row of every table as text.
    pub async fn rows(&self) -> String {
        let tables: Vec<String> =
            sqlx::query_scalar("select tablename::text from pg_tables where schemaname = 'public'")
                .fetch_all(&self.pool)
                .await
                .unwrap_or_else(|e| panic!("{e}"));
        let mut all = String::new();
        for table in tables {
            let statement = sqlx::AssertSqlSafe(format!("select to_jsonb(t)::text from {table} t"));
            let rows: Vec<String> =
                sqlx::query_scalar(statement).fetch_all(&self.pool).await.unwrap_or_else(|e| panic!("{e}"));
            for row in rows {
                all.push_str(&format!("{table} {row}\n"));
            }
        }
        all
    }

    /// Returns the ids of all people that Nod knows.
    pub async fn persons(&self) -> Vec<String> {
        let all = sqlx::query_scalar("select id::text from people order by id");
        all.fetch_all(&self.pool).await.unwrap_or_else(|e| panic!("{e}"))
    }

    fn named(&self, channel: &str) -> String {
        match (&self.chat, channel.strip_prefix("dm:")) {
            (Chat::Slack(slack), Some(user)) => slack.dm(user),
            (Chat::Discord(discord), Some(user)) => discord.dm(user),
            (chat, None) => chat.channel_id(channel),
        }
    }

    /// The router will classify the message as `intent`, and the reasoner will give these answers in order.
    pub fn model_will(&self, intent: &str, answers: impl IntoIterator<Item = Answer>) {
        self.model.router_will(Answer::json(&json!({ "intent": intent, "tool": null })));
        for answer in answers {
            self.model.will(answer);
        }
    }
}

/// Replaces Discord's commands by the text after `/nod`.
fn as_typed_on_slack(text: String) -> String {
    let commands =
        ["ask", "connect", "disconnect", "approvals", "memory", "runs", "settings", "admin", "help"];
    let options = ["/connect account:", "/ask question:", "/memory what:", "/admin what:"];
    let bare = |option: &str| option.split_inclusive(' ').next().unwrap_or_default().to_owned();
    let text = options.iter().fold(text, |text, option| text.replace(option, &bare(option)));
    commands.iter().fold(text, |text, name| {
        let typed = |text: String, before: &str| {
            text.replace(&format!("{before}/{name}"), &format!("{before}/nod {name}"))
        };
        [" ", "\n", "`"].into_iter().fold(text, typed)
    })
}

/// Removes run ids: an id shows how many were created before it, which is not part of a story.
fn without_run_ids(text: &str) -> String {
    let mut parts = text.split("run ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |said, rest| {
        let id = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
        if id == 8 { said + "run ········" + &rest[id..] } else { said + "run " + rest }
    })
}
