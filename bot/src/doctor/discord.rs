//! What can be checked of Discord: the token, the privileged intents, and whether Nod is in a server at all.

use std::sync::Arc;

use super::Finding;
use crate::config::{Config, env_name};
use crate::discord::{self, DiscordSettings, Report};

const TOKEN: &str = "Discord token";
const CONTENT: &str = "Discord message content";
const MEMBERS: &str = "Discord members";
const SERVERS: &str = "Discord servers";

pub(super) async fn discord(config: Arc<Config>) -> Vec<Finding> {
    let Some(token) = config.discord.token.clone() else { return Vec::new() };
    let settings = DiscordSettings {
        api_url: config.discord.api_url.clone(),
        token,
        application_id: config.discord.application_id.clone(),
    };
    match discord::probe(settings).await {
        Ok(report) => told(&report),
        Err(error) => {
            let cure = format!("copy the token (Developer Portal, Bot) into {}", env_name("discord.token"));
            vec![Finding::wrong(TOKEN, error.to_string(), cure)]
        }
    }
}

fn told(report: &Report) -> Vec<Finding> {
    let portal =
        |intent: &str| format!("switch on \"{intent}\" (Developer Portal, Bot, Privileged Gateway Intents)");
    let identity = &report.identity;
    vec![
        Finding::good(TOKEN, format!("bot {} of application {}", identity.name, identity.application)),
        match report.message_content {
            true => Finding::good(CONTENT, "messages are read whole"),
            false => Finding::wrong(
                CONTENT,
                "off: follow-ups without a mention and what was missed cannot be read",
                portal("Message Content Intent"),
            ),
        },
        match report.members {
            true => Finding::good(MEMBERS, "people are known before they speak"),
            false => Finding::wrong(
                MEMBERS,
                "off: nobody is found by name before they have spoken to Nod",
                portal("Server Members Intent"),
            ),
        },
        match report.guilds {
            0 => Finding::wrong(
                SERVERS,
                "in none",
                "nod invite discord prints the address that adds Nod to one",
            ),
            servers => Finding::good(SERVERS, format!("in {servers}")),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::Identity;
    use crate::doctor::Verdict;

    #[test]
    fn what_is_switched_off_comes_with_its_cure() {
        let identity = Identity { application: "7".to_owned(), name: "Nod".to_owned(), user: "9".to_owned() };
        let report = Report { identity, message_content: false, members: true, guilds: 0 };
        let found = told(&report);
        let wrong: Vec<&str> =
            found.iter().filter(|f| f.verdict == Verdict::Wrong).map(|f| f.what.as_str()).collect();
        assert_eq!(wrong, [CONTENT, SERVERS]);
        assert!(found.iter().all(|f| (f.verdict == Verdict::Wrong) == f.cure.is_some()));
    }
}
