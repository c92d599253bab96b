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

pub(super) async fn check_discord(config: Arc<Config>) -> Vec<Finding> {
    let Some(settings) = discord_settings(&config) else { return Vec::new() };
    let signs_in = settings.client_secret.is_some();
    match discord::probe(settings).await {
        Ok(report) => report_findings(&report).into_iter().chain([sign_in_finding(signs_in)]).collect(),
        Err(error) => {
            let cure = format!("copy the token (Developer Portal, Bot) into {}", env_name("discord.token"));
            vec![Finding::failed(TOKEN, error.to_string(), cure)]
        }
    }
}

fn sign_in_finding(possible: bool) -> Finding {
    if possible {
        return Finding::ok(SIGN_IN, "people prove who they are before they connect Google");
    }
    Finding::failed(
        SIGN_IN,
        "not set: Discord shows no addresses, so an admin has to allow every Google account",
        format!(
            "set {} and add {{server.public_url}}/oauth/discord/callback as a redirect (Developer Portal, OAuth2)",
            env_name("discord.client_secret")
        ),
    )
}

fn report_findings(report: &Report) -> Vec<Finding> {
    let portal =
        |intent: &str| format!("turn on \"{intent}\" (Developer Portal, Bot, Privileged Gateway Intents)");
    let identity = &report.identity;
    vec![
        Finding::ok(TOKEN, format!("bot {} of application {}", identity.name, identity.application)),
        match report.message_content {
            true => Finding::ok(CONTENT, "Nod can read whole messages"),
            false => Finding::failed(
                CONTENT,
                "off: Nod can't read follow-ups without a mention, or what it missed",
                portal("Message Content Intent"),
            ),
        },
        match report.members {
            true => Finding::ok(MEMBERS, "Nod knows members before they write"),
            false => Finding::failed(
                MEMBERS,
                "off: Nod can't find people by name until they've written to it",
                portal("Server Members Intent"),
            ),
        },
        match (report.public, report.listed) {
            (false, _) => Finding::ok(ADDED, "only by its owner"),
            (true, true) => Finding::ok(ADDED, "by anyone, and Nod leaves the servers that aren't listed"),
            (true, false) => Finding::failed(
                ADDED,
                "by anyone: people who add Nod to their own server would be members there, so Nod doesn't start",
                format!(
                    "list the servers that it serves in {}, or turn off \"Public Bot\" (Developer Portal, \
                     Bot; first Installation: Install Link: None)",
                    env_name("discord.servers")
                ),
            ),
        },
        match report.guilds {
            0 => Finding::failed(
                SERVERS,
                "on no server",
                "run nod invite discord for the link that adds Nod to one",
            ),
            _ if !report.absent.is_empty() => Finding::failed(
                SERVERS,
                format!("listed, and Nod is not in them: {}", report.absent.join(", ")),
                "run nod invite discord for the link that adds Nod to one, or take them off the list",
            ),
            servers => Finding::ok(SERVERS, format!("on {servers}")),
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
        let found = report_findings(&report);
        let wrong: Vec<&str> =
            found.iter().filter(|f| f.verdict == Verdict::Failed).map(|f| f.subject.as_str()).collect();
        assert_eq!(wrong, [CONTENT, ADDED, SERVERS]);
        assert!(found.iter().all(|f| (f.verdict == Verdict::Failed) == f.fix.is_some()));
        let listed = Report { guilds: 1, listed: true, absent: vec!["5".to_owned()], ..report };
        let found = report_findings(&listed);
        assert_eq!(found[3].verdict, Verdict::Ok);
        assert_eq!(found[4].detail, "listed, and Nod is not in them: 5");
    }
}
