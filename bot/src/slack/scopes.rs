//! What Nod asks of Slack, in one table: each Web API method and event it uses, with the scopes it needs. The
//! manifest, the doctor and the adapter all read it.

use std::collections::BTreeSet;

/// A method of the Web API.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Method {
    pub name: &'static str,
    /// Bot scopes; none for what needs only a token.
    pub scopes: &'static [&'static str],
}

const HISTORY: &[&str] = &["channels:history", "groups:history", "im:history", "mpim:history"];

pub(super) const POST: Method = Method { name: "chat.postMessage", scopes: &["chat:write"] };
pub(super) const WHISPER: Method = Method { name: "chat.postEphemeral", scopes: &["chat:write"] };
pub(super) const UPDATE: Method = Method { name: "chat.update", scopes: &["chat:write"] };
pub(super) const OPEN: Method = Method { name: "conversations.open", scopes: &["im:write"] };
pub(super) const HISTORY_OF: Method = Method { name: "conversations.history", scopes: HISTORY };
pub(super) const REPLIES: Method = Method { name: "conversations.replies", scopes: HISTORY };
pub(super) const USER: Method = Method { name: "users.info", scopes: &["users:read", "users:read.email"] };
pub(super) const USERS: Method = Method { name: "users.list", scopes: &["users:read", "users:read.email"] };
pub(super) const AUTH: Method = Method { name: "auth.test", scopes: &[] };
/// With the app token, whose one scope is `connections:write`.
pub(super) const CONNECT: Method = Method { name: "apps.connections.open", scopes: &[] };

pub(super) const METHODS: [&Method; 10] =
    [&POST, &WHISPER, &UPDATE, &OPEN, &HISTORY_OF, &REPLIES, &USER, &USERS, &AUTH, &CONNECT];

/// Events, each with its scope.
pub(super) const EVENTS: [(&str, &str); 5] = [
    ("app_mention", "app_mentions:read"),
    ("message.channels", "channels:history"),
    ("message.groups", "groups:history"),
    ("message.im", "im:history"),
    ("message.mpim", "mpim:history"),
];

/// What the slash command needs.
const COMMANDS: &str = "commands";

/// Every bot scope that Nod needs, in order.
#[must_use]
pub fn needed() -> Vec<&'static str> {
    let methods = METHODS.iter().flat_map(|method| method.scopes.iter().copied());
    let events = EVENTS.iter().map(|(_, scope)| *scope);
    methods.chain(events).chain([COMMANDS]).collect::<BTreeSet<_>>().into_iter().collect()
}
