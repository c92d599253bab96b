//! The Slack app's manifest: what to paste at <https://api.slack.com/apps> → "From a manifest".

use serde_json::{Value, json};
use url::Url;

use super::scopes::{EVENTS, needed};

/// The slash command.
pub const COMMAND: &str = "/nod";

/// The manifest of an app of that name, for Socket Mode. With a public address it also names the pages that HTTP
/// mode would use; Slack ignores them while Socket Mode is on.
#[must_use]
pub fn manifest(app_name: &str, public_url: Option<&Url>) -> Value {
    let page = |path: &str| public_url.and_then(|url| url.join(path).ok()).map(String::from);
    let mut command = json!({
        "command": COMMAND,
        "description": "Ask Nod, or see what waits for your nod",
        "usage_hint": "help | ask … | connect | approvals",
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
            "description": "An assistant that acts after your nod",
            "background_color": "#2c3e35",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": false,
                "messages_tab_enabled": true,
                "messages_tab_read_only_enabled": false,
            },
            "bot_user": {"display_name": app_name, "always_online": true},
            "slash_commands": [command],
        },
        "oauth_config": {"scopes": {"bot": needed()}},
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "org_deploy_enabled": false,
            "socket_mode_enabled": true,
            "token_rotation_enabled": false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_for_what_is_used_and_no_more() {
        let manifest = manifest("Nod", None);
        assert_eq!(
            manifest["oauth_config"]["scopes"]["bot"],
            json!([
                "app_mentions:read",
                "channels:history",
                "chat:write",
                "commands",
                "groups:history",
                "im:history",
                "im:write",
                "mpim:history",
                "users:read",
                "users:read.email",
            ])
        );
        assert_eq!(manifest["settings"]["socket_mode_enabled"], true);
        assert_eq!(manifest["settings"]["event_subscriptions"].get("request_url"), None);
    }

    #[test]
    fn a_public_address_is_named_everywhere() {
        let manifest = manifest("Nod", Some(&Url::parse("https://nod.acme.test/").expect("an address")));
        assert_eq!(manifest["features"]["slash_commands"][0]["url"], "https://nod.acme.test/slack/commands");
        assert_eq!(
            manifest["settings"]["event_subscriptions"]["request_url"],
            "https://nod.acme.test/slack/events"
        );
    }
}
