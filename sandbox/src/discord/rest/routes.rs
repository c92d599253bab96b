//! The operations that the fake supports, by the vendor's names.

use super::super::world::World;
use super::{Answer, Request, callbacks, channels, commands, guilds, messages, webhooks};

/// Who can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Auth {
    Bot,
    /// The bot, or a user who has consented.
    Either,
    /// The token in the path is sufficient.
    None,
}

/// An operation.
pub(super) struct Operation {
    pub id: &'static str,
    verb: &'static str,
    path: &'static str,
    pub query: &'static [&'static str],
    pub body: bool,
    pub auth: Auth,
    pub run: fn(&mut World, &Request) -> Answer,
}

/// Returns the operation for a path, and the values of its placeholders.
pub(super) fn find(verb: &str, path: &str) -> Option<(&'static Operation, Vec<String>)> {
    OPERATIONS.iter().filter(|o| o.verb == verb).find_map(|o| Some((o, holes(o.path, path)?)))
}

fn holes(pattern: &str, path: &str) -> Option<Vec<String>> {
    let (wanted, given) = (pattern.split('/'), path.split('/'));
    if wanted.clone().count() != given.clone().count() {
        return None;
    }
    let mut found = Vec::new();
    for (wanted, given) in wanted.zip(given) {
        if wanted == "{}" && !given.is_empty() {
            found.push(given.to_owned());
        } else if wanted != given {
            return None;
        }
    }
    Some(found)
}

type Run = fn(&mut World, &Request) -> Answer;

const fn get(id: &'static str, path: &'static str, query: &'static [&'static str], run: Run) -> Operation {
    Operation { id, verb: "GET", path, query, body: false, auth: Auth::Bot, run }
}

const fn with_body(id: &'static str, verb: &'static str, path: &'static str, run: Run) -> Operation {
    Operation { id, verb, path, query: &[], body: true, auth: Auth::Bot, run }
}

const fn without_body(id: &'static str, verb: &'static str, path: &'static str, run: Run) -> Operation {
    Operation { id, verb, path, query: &[], body: false, auth: Auth::Bot, run }
}

const fn open(mut operation: Operation, query: &'static [&'static str]) -> Operation {
    operation.auth = Auth::None;
    operation.query = query;
    operation
}

const ORIGINAL: &str = "/webhooks/{}/{}/messages/@original";
const FOLLOW_UP: &str = "/webhooks/{}/{}/messages/{}";

/// Paths without placeholders come before those with placeholders.
static OPERATIONS: [Operation; 41] = [
    open(get("get_gateway", "/gateway", &[], guilds::gateway), &[]),
    get("get_bot_gateway", "/gateway/bot", &[], guilds::gateway_bot),
    Operation { auth: Auth::Either, ..get("get_my_user", "/users/@me", &[], guilds::me) },
    get(
        "list_my_guilds",
        "/users/@me/guilds",
        &["before", "after", "limit", "with_counts"],
        guilds::list_own,
    ),
    without_body("leave_guild", "DELETE", "/users/@me/guilds/{}", guilds::leave),
    with_body("create_dm", "POST", "/users/@me/channels", channels::create_dm),
    get("get_user", "/users/{}", &[], guilds::user),
    get("get_my_oauth2_application", "/oauth2/applications/@me", &[], guilds::application),
    get("get_my_application", "/applications/@me", &[], guilds::application),
    get("list_application_commands", "/applications/{}/commands", &["with_localizations"], commands::list),
    with_body("bulk_set_application_commands", "PUT", "/applications/{}/commands", commands::set),
    get("get_guild", "/guilds/{}", &["with_counts"], guilds::guild),
    get("list_guild_channels", "/guilds/{}/channels", &[], guilds::channels),
    get("list_guild_roles", "/guilds/{}/roles", &[], guilds::roles),
    get("list_guild_members", "/guilds/{}/members", &["limit", "after"], guilds::members),
    get("search_guild_members", "/guilds/{}/members/search", &["limit", "query"], guilds::search),
    get("get_guild_member", "/guilds/{}/members/{}", &[], guilds::member),
    get("get_active_guild_threads", "/guilds/{}/threads/active", &[], guilds::threads),
    get("get_channel", "/channels/{}", &[], channels::get),
    get("list_messages", "/channels/{}/messages", &["around", "before", "after", "limit"], messages::list),
    with_body("create_message", "POST", "/channels/{}/messages", messages::create),
    get("get_message", "/channels/{}/messages/{}", &[], messages::get),
    with_body("update_message", "PATCH", "/channels/{}/messages/{}", messages::update),
    without_body("delete_message", "DELETE", "/channels/{}/messages/{}", messages::delete),
    with_body("create_thread_from_message", "POST", "/channels/{}/messages/{}/threads", channels::thread),
    without_body("trigger_typing_indicator", "POST", "/channels/{}/typing", channels::typing),
    without_body("join_thread", "PUT", "/channels/{}/thread-members/@me", channels::join),
    open(
        with_body("create_interaction_response", "POST", "/interactions/{}/{}/callback", callbacks::respond),
        &["with_response"],
    ),
    open(
        with_body("execute_webhook", "POST", "/webhooks/{}/{}", webhooks::follow_up),
        &["wait", "thread_id", "with_components"],
    ),
    open(get("get_original_webhook_message", ORIGINAL, &[], webhooks::get), &["thread_id"]),
    open(
        with_body("update_original_webhook_message", "PATCH", ORIGINAL, webhooks::update),
        &["thread_id", "with_components"],
    ),
    open(
        without_body("delete_original_webhook_message", "DELETE", ORIGINAL, webhooks::delete),
        &["thread_id"],
    ),
    open(get("get_webhook_message", FOLLOW_UP, &[], webhooks::get), &["thread_id"]),
    open(
        with_body("update_webhook_message", "PATCH", FOLLOW_UP, webhooks::update),
        &["thread_id", "with_components"],
    ),
    open(without_body("delete_webhook_message", "DELETE", FOLLOW_UP, webhooks::delete), &["thread_id"]),
    with_body("update_channel", "PATCH", "/channels/{}", channels::update),
    get(
        "list_thread_members",
        "/channels/{}/thread-members",
        &["with_member", "limit", "after"],
        channels::members,
    ),
    get("get_thread_member", "/channels/{}/thread-members/{}", &["with_member"], channels::member),
    with_body("create_application_command", "POST", "/applications/{}/commands", commands::create),
    without_body("delete_application_command", "DELETE", "/applications/{}/commands/{}", commands::delete),
    get(
        "list_guild_application_commands",
        "/applications/{}/guilds/{}/commands",
        &["with_localizations"],
        commands::of_guild,
    ),
];
