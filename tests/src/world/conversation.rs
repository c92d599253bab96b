//! What people write and click, and what they read.

use std::time::Duration;

use nod_sandbox::model::Answer;
use nod_sandbox::slack::NewMessage;
use serde_json::json;

use super::{World, max_wait};
use crate::chat::FakeChat;

impl World {
    /// Sends a message, waits until Nod has nothing left to do, and returns the message's timestamp.
    pub async fn say(&self, user: &str, channel: &str, text: &str) -> String {
        let ts = self.chat.say(user, channel, None, text);
        self.wait_until_idle().await;
        ts
    }

    /// The same in a thread.
    pub async fn reply(&self, user: &str, channel: &str, thread: &str, text: &str) -> String {
        let ts = self.chat.say(user, channel, Some(thread), text);
        self.wait_until_idle().await;
        ts
    }

    /// Sends a `/nod` command and returns its immediate response, as its author reads it.
    pub async fn run_command(&mut self, user: &str, channel: &str, text: &str) -> String {
        self.chat.run_command(user, channel, text).await;
        self.wait_until_idle().await;
        self.read_ephemerals(user)
    }

    /// Clicks the button with this label on the newest message that has it.
    pub async fn click(&self, user: &str, channel: &str, label: &str) {
        let ts = self.find_message_with_button(channel, label);
        self.chat.click(user, channel, &ts, label).await;
        self.wait_until_idle().await;
    }

    /// Clicks the button with this label on the user's newest ephemeral message that has it.
    pub async fn click_newest_ephemeral(&self, user: &str, label: &str) {
        self.chat.click_ephemeral(user, label).await;
        self.wait_until_idle().await;
    }

    /// Sends a message with a file.
    pub async fn share_file_json(
        &self,
        user: &str,
        channel: &str,
        text: &str,
        file: serde_json::Value,
    ) -> String {
        let said = match &self.chat {
            FakeChat::Slack(slack) => {
                let subtype = Some("file_share".to_owned());
                slack.post_message_with(NewMessage {
                    files: vec![file],
                    subtype,
                    ..NewMessage::new(user, channel, text)
                })
            }
            FakeChat::Discord(discord) => {
                let say = nod_sandbox::discord::NewMessage::new(user, channel, text);
                discord.post_message_with(nod_sandbox::discord::NewMessage { files: vec![file], ..say })
            }
        };
        self.wait_until_idle().await;
        said.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Opens the app's Home tab.
    pub async fn open_home(&self, user: &str) {
        self.slack.open_home(user);
        self.wait_until_idle().await;
    }

    /// Clicks a button on the Home tab.
    pub async fn click_in_home(&self, user: &str, label: &str) {
        let pending = self.slack.click_in_home(user, label).unwrap_or_else(|e| panic!("{e}"));
        pending.wait_for_acknowledgement(max_wait()).await;
        self.wait_until_idle().await;
    }

    /// Returns the newest message of a channel that has a button with this label.
    #[must_use]
    pub fn find_message_with_button(&self, channel: &str, label: &str) -> String {
        let found = self.chat.find_message_with_button(channel, label);
        found.unwrap_or_else(|| panic!("no button [{label}] in {channel}:\n{}", self.chat.dump()))
    }

    /// Returns the labels of the buttons of the newest message of a channel that has any, as one line.
    #[must_use]
    pub fn button_labels(&self, channel: &str) -> String {
        let buttons = self.chat.buttons(channel);
        buttons.iter().map(|button| format!("[{}]", button.label)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the full label of the button there that begins like this.
    #[must_use]
    pub fn find_label(&self, channel: &str, begins: &str) -> String {
        let mut labels = self.chat.buttons(channel).into_iter().map(|button| button.label);
        labels
            .find(|label| label.starts_with(begins))
            .unwrap_or_else(|| panic!("no button [{begins}…] in {channel}:\n{}", self.chat.dump()))
    }

    /// Returns the text of a channel, as people read it, and marks it as read.
    pub fn read_new(&mut self, channel: &str) -> String {
        let transcript = self.chat.channel_text(channel);
        self.read_texts.insert(self.resolve_channel_id(channel), transcript.clone());
        self.normalize(without_run_ids(&transcript))
    }

    /// Returns the part of it that was read so far.
    pub(crate) fn read_so_far(&self, channel: &str) -> String {
        let read = self.read_texts.get(&self.resolve_channel_id(channel));
        read.map_or_else(String::new, |read| self.normalize(without_run_ids(read)))
    }

    /// Makes the text equal on both platforms: Discord does not report that Ana is in Lisbon, whose time is the same as
    /// UTC, and has separate commands.
    pub(crate) fn normalize(&self, text: String) -> String {
        match self.chat {
            FakeChat::Slack(_) => text,
            FakeChat::Discord(_) => to_slack_commands(text.replace(" UTC", " WET")),
        }
    }

    /// Returns the ephemeral messages to a user that are new or have changed since the last call.
    pub fn read_ephemerals(&mut self, user: &str) -> String {
        let all = self.chat.ephemeral_texts(user);
        let read = self.read_ephemerals.insert(self.user_key(user), all.clone()).unwrap_or_default();
        let new = all.iter().enumerate().filter(|(at, text)| read.get(*at) != Some(text));
        self.normalize(new.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n"))
    }

    /// Returns the user's key on the current platform.
    fn user_key(&self, user: &str) -> String {
        match self.chat {
            FakeChat::Slack(_) => format!("slack:{user}"),
            FakeChat::Discord(_) => format!("discord:{user}"),
        }
    }

    /// Waits for an ephemeral message to a user, and returns it.
    pub async fn wait_for_ephemeral(&mut self, user: &str) -> String {
        let read = self.read_ephemerals.get(&self.user_key(user)).cloned().unwrap_or_default();
        self.wait_for("a whisper", || (self.chat.ephemeral_texts(user) != read).then_some(())).await;
        self.read_ephemerals(user)
    }

    /// Waits until a channel shows these words, and returns all of its text.
    pub async fn wait_for_text(&self, channel: &str, words: &str) -> String {
        let look = || Some(self.chat.channel_text(channel)).filter(|said| said.contains(words));
        self.wait_for(words, look).await
    }

    /// As [`wait_for_text`](Self::wait_for_text), of a channel with more messages than its rate limit lets out at once.
    pub async fn wait_for_paced_text(&self, channel: &str, words: &str) -> String {
        tokio::select! {
            said = self.wait_for_text(channel, words) => said,
            () = self.advance_past_rate_limits() => unreachable!("it waits for ever"),
        }
    }

    /// Waits until `look` returns something.
    async fn wait_for<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let until = tokio::time::Instant::now() + max_wait();
        loop {
            if let Some(found) = look() {
                return found;
            }
            let late = tokio::time::Instant::now() > until;
            assert!(!late, "“{what}” never came:\n{}", self.chat.dump());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until Nod has posted this text somewhere and has nothing left to do.
    pub async fn wait_for_nod_message(&self, channel: &str, text: &str) {
        let heard = async {
            let until = tokio::time::Instant::now() + max_wait();
            while !self.chat.has_nod_said(channel, text) {
                let late = tokio::time::Instant::now() > until;
                assert!(!late, "“{text}” was never said in {channel}:\n{}", self.chat.dump());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            () = heard => {}
            () = self.advance_past_rate_limits() => {}
        }
        self.wait_until_idle().await;
    }

    /// Waits until the model got this many requests.
    pub async fn wait_for_model_requests(&self, times: usize) {
        let until = tokio::time::Instant::now() + max_wait();
        while self.model.requests().len() < times {
            assert!(tokio::time::Instant::now() < until, "the model was never asked: {}", self.chat.dump());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns every row of every table as text.
    pub async fn dump_rows(&self) -> String {
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
    pub async fn list_person_ids(&self) -> Vec<String> {
        let all = sqlx::query_scalar("select id::text from people order by id");
        all.fetch_all(&self.pool).await.unwrap_or_else(|e| panic!("{e}"))
    }

    fn resolve_channel_id(&self, channel: &str) -> String {
        match (&self.chat, channel.strip_prefix("dm:")) {
            (FakeChat::Slack(slack), Some(user)) => slack.dm(user),
            (FakeChat::Discord(discord), Some(user)) => discord.dm(user),
            (chat, None) => chat.channel_id(channel),
        }
    }

    /// The router will classify the message as `intent`, and the reasoner will give these answers in order.
    pub fn script_model(&self, intent: &str, answers: impl IntoIterator<Item = Answer>) {
        self.model.router_will(Answer::json(&json!({ "intent": intent, "tool": null })));
        for answer in answers {
            self.model.will(answer);
        }
    }
}

/// Replaces Discord's commands by the text after `/nod`.
fn to_slack_commands(text: String) -> String {
    let commands = [
        "ask",
        "connect",
        "disconnect",
        "approvals",
        "memory",
        "task",
        "knowledge",
        "runs",
        "settings",
        "admin",
        "help",
    ];
    let options = [
        "/connect account:",
        "/ask question:",
        "/memory what:",
        "/task what:",
        "/knowledge remove:",
        "/knowledge again:",
        "/knowledge add:",
        "/admin what:",
    ];
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
