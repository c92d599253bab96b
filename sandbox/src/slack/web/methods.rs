//! The table of methods: which token, which scope, which body, which arguments.

use super::{Answer, Args, Rejection, assistant, chat, conversations, people, read, streams, uploads, views};
use crate::slack::world::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Bot,
    App,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Scope {
    None,
    AnyOf(&'static [&'static str]),
    /// Depends on the kind of conversation, so the method checks it.
    ByConversation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Query or form; JSON bodies are not read.
    Form,
    /// Form or JSON by POST.
    Any,
}

/// Checks the arguments only.
type Check = fn(&Args) -> Result<(), Rejection>;

pub(super) struct Method {
    pub name: &'static str,
    pub token: Token,
    pub scope: Scope,
    pub body: Body,
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
    /// Checks whose violation has its own error code.
    pub check: Option<Check>,
    pub run: fn(&mut World, &Args) -> Answer,
}

impl Method {
    /// Returns whether GET is accepted.
    pub(super) fn readable(&self) -> bool {
        self.body == Body::Form || self.name == "auth.test"
    }
}

pub(super) fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|m| m.name == name)
}

const WRITE: Scope = Scope::AnyOf(&["chat:write"]);
const PEOPLE: Scope = Scope::AnyOf(&["users:read"]);
const FILES: Scope = Scope::AnyOf(&["files:write"]);
const PAGE: [&str; 2] = ["cursor", "limit"];
const PERIOD: &[&str] = &["cursor", "limit", "oldest", "latest", "inclusive", "include_all_metadata"];
const POST: &[&str] = &[
    "as_user",
    "attachments",
    "blocks",
    "icon_emoji",
    "icon_url",
    "link_names",
    "markdown_text",
    "metadata",
    "mrkdwn",
    "parse",
    "reply_broadcast",
    "text",
    "thread_ts",
    "unfurl_links",
    "unfurl_media",
    "username",
];
const UPDATE: &[&str] = &[
    "as_user",
    "attachments",
    "blocks",
    "file_ids",
    "link_names",
    "markdown_text",
    "metadata",
    "parse",
    "reply_broadcast",
    "text",
    "unfurled_attachments",
];
const EPHEMERAL: &[&str] = &[
    "as_user",
    "attachments",
    "blocks",
    "icon_emoji",
    "icon_url",
    "link_names",
    "markdown_text",
    "metadata",
    "parse",
    "text",
    "thread_ts",
    "username",
];

const fn method(
    name: &'static str,
    scope: Scope,
    body: Body,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    run: fn(&mut World, &Args) -> Answer,
) -> Method {
    Method { name, token: Token::Bot, scope, body, required, optional, check: None, run }
}

const fn checked(mut method: Method, check: Check) -> Method {
    method.check = Some(check);
    method
}

const fn by_app(mut method: Method) -> Method {
    method.token = Token::App;
    method
}

static METHODS: [Method; 30] = [
    method("auth.test", Scope::None, Body::Any, &[], &[], people::auth_test),
    by_app(method("apps.connections.open", Scope::None, Body::Any, &[], &[], people::connections_open)),
    checked(
        method("chat.postMessage", WRITE, Body::Any, &["channel"], POST, chat::post_message),
        chat::check_content,
    ),
    checked(
        method("chat.update", WRITE, Body::Any, &["channel", "ts"], UPDATE, chat::update),
        chat::check_content,
    ),
    checked(
        method("chat.postEphemeral", WRITE, Body::Any, &["channel", "user"], EPHEMERAL, chat::post_ephemeral),
        chat::check_content,
    ),
    checked(
        method(
            "chat.startStream",
            WRITE,
            Body::Any,
            &["channel", "thread_ts"],
            &[
                "chunks",
                "icon_emoji",
                "icon_url",
                "markdown_text",
                "recipient_team_id",
                "recipient_user_id",
                "task_display_mode",
                "username",
            ],
            streams::start,
        ),
        streams::check_stream_args,
    ),
    checked(
        method(
            "chat.appendStream",
            WRITE,
            Body::Any,
            &["channel", "ts"],
            &["chunks", "markdown_text"],
            streams::append,
        ),
        streams::check_stream_args,
    ),
    checked(
        method(
            "chat.stopStream",
            WRITE,
            Body::Any,
            &["channel", "ts"],
            &["blocks", "chunks", "markdown_text", "metadata", "session_status"],
            streams::stop,
        ),
        streams::check_stream_args,
    ),
    method("chat.delete", WRITE, Body::Any, &["channel", "ts"], &["as_user"], chat::delete),
    method("chat.getPermalink", Scope::None, Body::Form, &["channel", "message_ts"], &[], chat::permalink),
    method(
        "conversations.open",
        Scope::ByConversation,
        Body::Any,
        &[],
        &["channel", "users", "return_im", "prevent_creation"],
        conversations::open,
    ),
    method(
        "conversations.info",
        Scope::ByConversation,
        Body::Form,
        &["channel"],
        &["include_locale", "include_num_members"],
        conversations::info,
    ),
    method(
        "conversations.replies",
        Scope::ByConversation,
        Body::Form,
        &["channel", "ts"],
        PERIOD,
        read::replies,
    ),
    method("conversations.history", Scope::ByConversation, Body::Form, &["channel"], PERIOD, read::history),
    method(
        "conversations.members",
        Scope::ByConversation,
        Body::Form,
        &["channel"],
        &PAGE,
        conversations::members,
    ),
    method(
        "conversations.list",
        Scope::ByConversation,
        Body::Form,
        &[],
        &["cursor", "limit", "exclude_archived", "types", "team_id"],
        conversations::list,
    ),
    method(
        "users.conversations",
        Scope::ByConversation,
        Body::Form,
        &[],
        &["cursor", "limit", "exclude_archived", "types", "team_id"],
        conversations::list_own,
    ),
    method("users.info", PEOPLE, Body::Form, &["user"], &["include_locale"], people::user_info),
    method(
        "users.list",
        PEOPLE,
        Body::Form,
        &[],
        &["cursor", "limit", "include_locale", "team_id"],
        people::user_list,
    ),
    method(
        "users.lookupByEmail",
        Scope::AnyOf(&["users:read.email"]),
        Body::Form,
        &["email"],
        &[],
        people::lookup_by_email,
    ),
    method(
        "team.info",
        Scope::AnyOf(&["team:read"]),
        Body::Form,
        &[],
        &["team", "domain"],
        people::team_info,
    ),
    method(
        "files.getUploadURLExternal",
        FILES,
        Body::Form,
        &["filename", "length"],
        &["alt_txt", "snippet_type"],
        uploads::address,
    ),
    method(
        "files.completeUploadExternal",
        FILES,
        Body::Any,
        &["files"],
        &["channel_id", "initial_comment", "thread_ts"],
        uploads::complete,
    ),
    method("bots.info", PEOPLE, Body::Form, &[], &["bot", "team_id"], people::bot_info),
    method("views.update", Scope::None, Body::Any, &["view_id", "view"], &["hash"], views::update),
    method("views.open", Scope::None, Body::Any, &["trigger_id", "view"], &[], views::open),
    method(
        "assistant.threads.setStatus",
        Scope::AnyOf(&["assistant:write", "chat:write"]),
        Body::Any,
        &["channel_id", "thread_ts", "status"],
        &["loading_messages", "icon_emoji", "icon_url", "username"],
        assistant::set_status,
    ),
    method(
        "assistant.threads.setTitle",
        Scope::AnyOf(&["assistant:write"]),
        Body::Any,
        &["channel_id", "thread_ts", "title"],
        &[],
        assistant::set_title,
    ),
    method(
        "assistant.threads.setSuggestedPrompts",
        Scope::AnyOf(&["assistant:write"]),
        Body::Any,
        &["channel_id", "prompts"],
        &["thread_ts", "title"],
        assistant::set_prompts,
    ),
    method(
        "views.publish",
        Scope::None,
        Body::Any,
        &["user_id", "view"],
        &["hash", "interactivity_pointer"],
        views::publish,
    ),
];
