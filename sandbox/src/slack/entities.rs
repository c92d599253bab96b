//! The entities of a workspace: people, channels, messages, ephemeral messages, forms. Plain values.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A person (or a foreign bot) of the workspace, or of another one (Slack Connect) if `is_external`.
#[derive(Debug, Clone, Serialize)]
pub struct User {
    pub id: String,
    /// The handle, without `@`.
    pub name: String,
    pub real_name: String,
    pub display_name: String,
    pub email: Option<String>,
    pub tz: String,
    /// Seconds east of UTC.
    pub tz_offset: i32,
    pub is_bot: bool,
    pub deleted: bool,
    pub is_restricted: bool,
    pub is_ultra_restricted: bool,
    pub is_admin: bool,
    #[serde(rename = "is_stranger")]
    pub is_external: bool,
    /// The id of a stranger's workspace; `None` for the app's own.
    pub team_id: Option<String>,
    /// `conversations.open` with this person fails.
    pub refuses_dms: bool,
}

impl User {
    /// Returns a full member: handle `ana` gives the id `U000000ANA` and the address `ana@acme.test`.
    #[must_use]
    pub fn new(name: &str, real_name: &str) -> Self {
        Self {
            id: format!("U0{:0>8}", id_part(name)),
            name: name.to_owned(),
            real_name: real_name.to_owned(),
            display_name: name.to_owned(),
            email: Some(format!("{name}@acme.test")),
            tz: "Europe/Berlin".to_owned(),
            tz_offset: 3600,
            is_bot: false,
            deleted: false,
            is_restricted: false,
            is_ultra_restricted: false,
            is_admin: false,
            is_external: false,
            team_id: None,
            refuses_dms: false,
        }
    }

    /// Makes the person a member of another workspace.
    #[must_use]
    pub fn external(mut self, team_id: &str) -> Self {
        self.is_external = true;
        self.team_id = Some(team_id.to_owned());
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    Public,
    Private,
    Im,
    Mpim,
}

impl ChannelKind {
    /// Returns the `channel_type` of events.
    #[must_use]
    pub fn as_channel_type(self) -> &'static str {
        match self {
            Self::Public => "channel",
            Self::Private => "group",
            Self::Im => "im",
            Self::Mpim => "mpim",
        }
    }

    /// Returns the scope family: `channels`, `groups`, `im`, `mpim`.
    #[must_use]
    pub fn as_scope_family(self) -> &'static str {
        match self {
            Self::Public => "channels",
            Self::Private => "groups",
            Self::Im => "im",
            Self::Mpim => "mpim",
        }
    }
}

/// A channel, a private channel, a DM or a group DM.
#[derive(Debug, Clone, Serialize)]
pub struct Channel {
    pub id: String,
    pub name: String,
    pub kind: ChannelKind,
    /// Ids; [`Channel::new`] also accepts handles, which are resolved at the start.
    pub members: Vec<String>,
    pub archived: bool,
    /// Seconds since 1970.
    pub created: i64,
}

impl Channel {
    /// Returns a public channel: `general` gives the id `C000GENERAL`. Members by handle or id.
    #[must_use]
    pub fn new(name: &str, members: &[&str]) -> Self {
        Self {
            id: format!("C0{:0>8}", id_part(name)),
            name: name.to_owned(),
            kind: ChannelKind::Public,
            members: members.iter().map(|m| (*m).to_owned()).collect(),
            archived: false,
            created: 1_700_000_000,
        }
    }

    /// Makes the channel private; its id then begins with `G`.
    #[must_use]
    pub fn private(mut self) -> Self {
        self.id.replace_range(0..1, "G");
        self.kind = ChannelKind::Private;
        self
    }
}

/// Who last edited a message, and when.
#[derive(Debug, Clone, Serialize)]
pub struct Edited {
    pub user: String,
    pub ts: String,
}

/// A message in its current form.
#[derive(Debug, Clone, Serialize)]
pub struct Message {
    pub channel: String,
    pub ts: String,
    /// Set on replies only.
    pub thread_ts: Option<String>,
    pub user: String,
    /// Posted by the app under test.
    #[serde(rename = "by_bot")]
    pub is_from_bot: bool,
    pub text: String,
    pub blocks: Vec<Value>,
    pub attachments: Vec<Value>,
    pub files: Vec<Value>,
    pub metadata: Option<Value>,
    pub subtype: Option<String>,
    pub client_msg_id: Option<String>,
    pub edited: Option<Edited>,
    pub unfurl_links: Option<bool>,
    pub unfurl_media: Option<bool>,
    pub reply_broadcast: bool,
}

/// An ephemeral message to one person.
#[derive(Debug, Clone, Serialize)]
pub struct Ephemeral {
    pub user: String,
    pub channel: String,
    pub ts: String,
    pub thread_ts: Option<String>,
    pub text: String,
    pub blocks: Vec<Value>,
    pub metadata: Option<Value>,
    /// `chat.postEphemeral`, `command` (an acknowledgement) or `response_url`.
    pub source: &'static str,
}

/// An opened modal.
#[derive(Debug, Clone, Serialize)]
pub struct OpenView {
    pub id: String,
    pub user: String,
    pub hash: String,
    pub view: Value,
    /// The current values of its inputs if they differ from the initial ones, by block id.
    #[serde(rename = "typed")]
    pub values: BTreeMap<String, String>,
    /// The payload of the last submission's acknowledgement (`response_action` …).
    pub answer: Option<Value>,
    pub open: bool,
}

/// An assistant thread.
#[derive(Debug, Clone, Serialize)]
pub struct AssistantThread {
    pub user: String,
    /// The channel that the person is viewing.
    pub viewing: Option<String>,
    pub title: Option<String>,
    /// The suggested prompts: title and message.
    pub prompts: Vec<(String, String)>,
}

fn id_part(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_uppercase()
}
