//! Checks of Discord: the token, the privileged intents, and whether Nod is in a server at all.

use std::sync::Arc;

use super::Finding;
use crate::app::discord_settings;
use crate::config::{Config, env_name};
use crate::discord::{self, Report};

const TOKEN: &str = "Discord token";
const CONTENT: &str = "Discord message content";
const MEMBERS: &str = "Discord members";
const ADDED: &str = "Discord installation";
const SERVERS: &str = "Discord servers";
const SIGN_IN: &str = "Discord sign-in";

pub(super) async fn discord(config: Arc<Config>) -> Vec<Finding> {
    let Some(settings) = discord_settings(&config) else { return Vec::new() };
    let signs_in = settings.client_secret.is_some();
    match discord::probe(settings).await {
        Ok(report) => told(&report).into_iter().chain([sign_in(signs_in)]).collect(),
        Err(error) => {
            let cure = format!("copy the token (Developer Portal, Bot) into {}", env_name("discord.token"));
            vec![Finding::wrong(TOKEN, error.to_string(), cure)]
        }
    }
}

fn sign_in(possible: bool) -> Finding {
    if possible {
        return Finding::good(SIGN_IN, "people show on the page that connects Google who they are");
    }
    Finding::wrong(
        SIGN_IN,
        "not set: Discord tells no addresses, so an admin has to allow every Google account",
        format!(
            "set {} and add {{server.public_url}}/oauth/discord/callback as a redirect (Developer Portal, OAuth2)",
            env_name("discord.client_secret")
        ),
    )
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
        match (report.public, report.listed) {
            (false, _) => Finding::good(ADDED, "by its owner alone"),
            (true, true) => {
                Finding::good(ADDED, "by anybody, and Nod leaves the servers that are not listed")
            }
            (true, false) => Finding::wrong(
                ADDED,
                "by anybody: whoever adds Nod to a server of their own would be a member there, so Nod does not start",
                format!(
                    "list the servers that it serves in {}, or switch off \"Public Bot\" (Developer Portal, Bot; before \
                     that, Installation: Install Link: None)",
                    env_name("discord.servers")
                ),
            ),
        },
        match report.guilds {
            0 => Finding::wrong(
                SERVERS,
                "in none",
                "nod invite discord prints the address that adds Nod to one",
            ),
            _ if !report.absent.is_empty() => Finding::wrong(
                SERVERS,
                format!("listed, and Nod is not in them: {}", report.absent.join(", ")),
                "nod invite discord prints the address that adds Nod to one; or take them off the list",
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
    fn disabled_intents_come_with_a_fix() {
        let identity = Identity { application: "7".to_owned(), name: "Nod".to_owned(), user: "9".to_owned() };
        let report = Report {
            identity,
            message_content: false,
            members: true,
            public: true,
            guilds: 0,
            listed: false,
            absent: Vec::new(),
        };
        let found = told(&report);
        let wrong: Vec<&str> =
            found.iter().filter(|f| f.verdict == Verdict::Wrong).map(|f| f.what.as_str()).collect();
        assert_eq!(wrong, [CONTENT, ADDED, SERVERS]);
        assert!(found.iter().all(|f| (f.verdict == Verdict::Wrong) == f.cure.is_some()));
        let listed = Report { guilds: 1, listed: true, absent: vec!["5".to_owned()], ..report };
        let found = told(&listed);
        assert_eq!(found[3].verdict, Verdict::Good);
        assert_eq!(found[4].said, "listed, and Nod is not in them: 5");
    }
}
