//! Everything Nod uses of Slack, in one table: each Web API method and event, with the scopes it needs. The manifest,
//! the doctor and the adapter all read it.

use std::collections::BTreeSet;

/// A method of the Web API.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Method {
    pub name: &'static str,
    /// Bot scopes; empty if a token is enough.
    pub scopes: &'static [&'static str],
}

const HISTORY: &[&str] = &["channels:history", "groups:history", "im:history", "mpim:history"];

const CHANNELS: &[&str] = &["channels:read", "groups:read", "im:read", "mpim:read"];

pub(super) const POST: Method = Method { name: "chat.postMessage", scopes: &["chat:write"] };
pub(super) const POST_EPHEMERAL: Method = Method { name: "chat.postEphemeral", scopes: &["chat:write"] };
pub(super) const UPDATE: Method = Method { name: "chat.update", scopes: &["chat:write"] };
pub(super) const DELETE: Method = Method { name: "chat.delete", scopes: &["chat:write"] };
pub(super) const STATUS: Method = Method { name: "assistant.threads.setStatus", scopes: &["chat:write"] };
pub(super) const TITLE: Method = Method { name: "assistant.threads.setTitle", scopes: &["assistant:write"] };
pub(super) const SET_SUGGESTED_PROMPTS: Method =
    Method { name: "assistant.threads.setSuggestedPrompts", scopes: &["assistant:write"] };
pub(super) const PUBLISH: Method = Method { name: "views.publish", scopes: &[] };
pub(super) const START_STREAM: Method = Method { name: "chat.startStream", scopes: &["chat:write"] };
pub(super) const APPEND_STREAM: Method = Method { name: "chat.appendStream", scopes: &["chat:write"] };
pub(super) const STOP_STREAM: Method = Method { name: "chat.stopStream", scopes: &["chat:write"] };
pub(super) const OPEN: Method = Method { name: "conversations.open", scopes: &["im:write"] };
pub(super) const CONVERSATION_HISTORY: Method = Method { name: "conversations.history", scopes: HISTORY };
pub(super) const REPLIES: Method = Method { name: "conversations.replies", scopes: HISTORY };
/// Needs the trigger of a click or a command, which expires after three seconds.
pub(super) const OPEN_VIEW: Method = Method { name: "views.open", scopes: &[] };
pub(super) const USER: Method = Method { name: "users.info", scopes: &["users:read", "users:read.email"] };
pub(super) const USERS: Method = Method { name: "users.list", scopes: &["users:read", "users:read.email"] };
pub(super) const MEMBERS: Method = Method { name: "conversations.members", scopes: CHANNELS };
/// The conversations of which the bot is a member.
pub(super) const USER_CONVERSATIONS: Method = Method { name: "users.conversations", scopes: CHANNELS };
/// A file upload has three steps: getting an upload URL, the upload itself (no method), and sharing it in a channel.
pub(super) const UPLOAD: Method = Method { name: "files.getUploadURLExternal", scopes: &["files:write"] };
pub(super) const COMPLETE_UPLOAD: Method =
    Method { name: "files.completeUploadExternal", scopes: &["files:write"] };
pub(super) const AUTH: Method = Method { name: "auth.test", scopes: &[] };
/// Called with the app token, whose one scope is `connections:write`.
pub(super) const OPEN_CONNECTION: Method = Method { name: "apps.connections.open", scopes: &[] };

pub(super) const METHODS: [&Method; 23] = [
    &POST,
    &POST_EPHEMERAL,
    &UPDATE,
    &DELETE,
    &STATUS,
    &TITLE,
    &SET_SUGGESTED_PROMPTS,
    &PUBLISH,
    &START_STREAM,
    &APPEND_STREAM,
    &STOP_STREAM,
    &OPEN,
    &CONVERSATION_HISTORY,
    &REPLIES,
    &OPEN_VIEW,
    &USER,
    &USERS,
    &MEMBERS,
    &USER_CONVERSATIONS,
    &UPLOAD,
    &COMPLETE_UPLOAD,
    &AUTH,
    &OPEN_CONNECTION,
];

/// Events, each with the first of its scopes, or an empty one. `member_left_channel` is requested before it is used, so
/// that an app has to be reinstalled only once.
pub(super) const EVENTS: [(&str, &str); 12] = [
    ("app_home_opened", ""),
    ("app_mention", "app_mentions:read"),
    ("assistant_thread_context_changed", "assistant:write"),
    ("assistant_thread_started", "assistant:write"),
    ("member_joined_channel", "channels:read"),
    ("member_left_channel", "channels:read"),
    ("message.channels", "channels:history"),
    ("message.groups", "groups:history"),
    ("message.im", "im:history"),
    ("message.mpim", "mpim:history"),
    ("team_join", "users:read"),
    ("user_change", "users:read"),
];

/// The scopes of the slash command and the message shortcuts, and of downloading the files of a message.
const EXTRA_SCOPES: [&str; 2] = ["commands", "files:read"];

/// Returns every bot scope that Nod needs, in order.
#[must_use]
pub fn required_scopes() -> Vec<&'static str> {
    let methods = METHODS.iter().flat_map(|method| method.scopes.iter().copied());
    let events = EVENTS.iter().map(|(_, scope)| *scope).filter(|scope| !scope.is_empty());
    methods.chain(events).chain(EXTRA_SCOPES).collect::<BTreeSet<_>>().into_iter().collect()
}
