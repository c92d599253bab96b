//! The Slack app's manifest: what to paste at <https://api.slack.com/apps> → "From a manifest".

use nod_contract::command::MenuEntrySpec;
use serde_json::{Value, json};
use url::Url;

use super::scopes::{EVENTS, required_scopes};
use crate::config::SlackMode;

/// The slash command.
pub const COMMAND: &str = "/nod";

/// The built-in entries in the menu of every message: id, name, description. An ability's entry has its name as its id.
const SHORTCUTS: [(&str, &str, &str); 2] = [
    ("ask", "Ask Nod about this", "Nod reads this message and answers you privately"),
    ("draft", "Draft a reply", "Nod drafts a reply just for you"),
];

/// Returns the callback ids and names of the entries in a message's menu, with those of the abilities.
#[cfg(feature = "demo")]
pub(crate) fn message_shortcuts(entries: &[MenuEntrySpec]) -> Vec<(&'static str, &'static str)> {
    let brought = entries.iter().map(|entry| (entry.name, entry.name));
    SHORTCUTS.into_iter().map(|(id, name, _)| (id, name)).chain(brought).collect()
}

/// Returns the manifest of an app with that name. With a public URL it contains the routes of HTTP mode, which Slack
/// ignores while Socket Mode is on. `entries` are the menu entries of the abilities.
#[must_use]
pub fn manifest(
    app_name: &str,
    mode: SlackMode,
    public_url: Option<&Url>,
    entries: &[MenuEntrySpec],
) -> Value {
    let shortcut = |(id, name, description): (&str, &str, &str)| json!({"type": "message", "callback_id": id, "name": name, "description": description});
    let brought = entries.iter().map(|entry| (entry.name, entry.name, entry.about));
    let shortcuts: Vec<Value> = SHORTCUTS.into_iter().chain(brought).map(shortcut).collect();
    let page = |path: &str| public_url.and_then(|url| url.join(path).ok()).map(String::from);
    let mut command = json!({
        "command": COMMAND,
        "description": "Ask Nod, or see what's waiting for you",
        "usage_hint": "help | ask … | task … | connect | disconnect | approvals | memory | knowledge | runs | settings",
        "should_escape": true,
    });
    let mut events = json!({"bot_events": EVENTS.map(|(event, _)| event)});
    let mut interactivity = json!({"is_enabled": true});
    if let Some(url) = page("slack/commands") {
        command["url"] = url.into();
    }
    if let Some(url) = page("slack/events") {
        events["request_url"] = url.into();
    }
    if let Some(url) = page("slack/interactions") {
        interactivity["request_url"] = url.into();
    }
    json!({
        "display_information": {
            "name": app_name,
            "description": "An assistant that only acts once you approve",
            "background_color": "#2c3e35",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": true,
                "messages_tab_enabled": true,
                "messages_tab_read_only_enabled": false,
            },
            "assistant_view": {
                "assistant_description": "Reads your email and calendar when you ask, and sends only what \
                    you approve",
                "suggested_prompts": [],
            },
            "shortcuts": shortcuts,
            "bot_user": {"display_name": app_name, "always_online": true},
            "slash_commands": [command],
        },
        "oauth_config": {"scopes": {"bot": required_scopes()}},
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "org_deploy_enabled": false,
            "socket_mode_enabled": mode == SlackMode::Socket,
            "token_rotation_enabled": false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_for_what_is_used_and_no_more() {
        let manifest = manifest("Nod", SlackMode::Socket, None, &[]);
        assert_eq!(
            manifest["oauth_config"]["scopes"]["bot"],
            json!([
                "app_mentions:read",
                "assistant:write",
                "channels:history",
                "channels:read",
                "chat:write",
                "commands",
                "files:read",
                "files:write",
                "groups:history",
                "groups:read",
                "im:history",
                "im:read",
                "im:write",
                "mpim:history",
                "mpim:read",
                "users:read",
                "users:read.email",
            ])
        );
        assert_eq!(manifest["settings"]["socket_mode_enabled"], true);
        assert_eq!(manifest["settings"]["event_subscriptions"].get("request_url"), None);
    }

    #[test]
    fn a_public_address_is_named_everywhere() {
        let address = Url::parse("https://nod.acme.test/").expect("an address");
        let entry = MenuEntrySpec { name: "Roll a die", about: "Nod rolls a die" };
        let manifest = manifest("Nod", SlackMode::Http, Some(&address), &[entry]);
        assert_eq!(manifest["settings"]["socket_mode_enabled"], false);
        assert_eq!(manifest["features"]["slash_commands"][0]["url"], "https://nod.acme.test/slack/commands");
        assert_eq!(
            manifest["settings"]["event_subscriptions"]["request_url"],
            "https://nod.acme.test/slack/events"
        );
        let brought = json!({
            "type": "message", "callback_id": "Roll a die", "name": "Roll a die", "description": "Nod rolls a die",
        });
        assert_eq!(manifest["features"]["shortcuts"][SHORTCUTS.len()], brought);
    }
}
