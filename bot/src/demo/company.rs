//! Acme: its people, its channels on Slack and on Discord, and the messages posted there before the demo starts.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use nod_sandbox::discord::{self, Discord, DiscordConfig};
use nod_sandbox::google::Account;
use nod_sandbox::slack::{Channel, Clock, EventDelivery, NewMessage, Slack, SlackConfig, User};

/// The user whom the visitor plays first.
pub(super) const VISITOR: &str = "ana";
/// The owner of the mailbox that receives the first mail.
pub(super) const RECIPIENT: &str = "bo@acme.test";
/// The channel where the visitor begins.
pub(super) const CHANNEL: &str = "launch";
/// The user with admin rights.
pub(super) const ADMIN: &str = "dana";
/// An external person whose mailbox the page can show.
pub(super) const OUTSIDER: (&str, &str) = ("kim@northwind.test", "Kim Vale");
/// Who sends the mail that tries to trick Nod.
pub(super) const SWINDLER: (&str, &str) = ("alerts@meridian-secure.test", "Meridian Security");
/// Where that mail wants another one to go: a mailbox that the page can show, and that stays empty.
pub(super) const LOOT: (&str, &str) = ("records@meridian-secure.test", "Meridian Records");
const DEFAULT_ZONE: &str = "Europe/Dublin";

/// Handle, full name, display name, zone. The email address is the handle at acme.test.
const PEOPLE: [(&str, &str, &str, &str); 6] = [
    ("ana", "Ana Silva", "Ana", "Europe/Lisbon"),
    ("bo", "Bo Lind", "Bo", "Europe/Stockholm"),
    ("cho", "Cho Park", "Cho", "America/New_York"),
    ("bob.stone", "Bob Stone", "Bob Stone (Sales)", "Europe/London"),
    ("bob.reyes", "Bob Reyes", "Bob Reyes (Legal)", "America/New_York"),
    ("dana", "Dana Ito", "Dana (admin)", "Europe/Lisbon"),
];

/// Channel, minutes ago, author, text; oldest first, because Slack's timestamps only grow.
const SLACK_MESSAGES: [(&str, i64, &str, &str); 7] = [
    (
        "general",
        1490,
        "dana",
        "Morning all. @nod is in the workspace now. Mention it, or send it a direct message.",
    ),
    ("general", 1460, "bob.stone", "Does it send email by itself?"),
    (
        "general",
        1455,
        "dana",
        "No. You see exactly what will be sent, and nothing goes out until you approve it.",
    ),
    ("launch", 240, "cho", "The landing page is ready for review: https://launch.acme.test"),
    ("launch", 232, "bo", "Looks great. Legal still has to see the pricing footnote, @bob.reyes."),
    ("general", 95, "cho", "The coffee machine is back. You're welcome."),
    (
        "launch",
        31,
        "bo",
        "The launch check is at three; the room is ours for half an hour only. Please be on time.",
    ),
];

/// The same on Discord, where half of the company chats between two meetings.
const DISCORD_MESSAGES: [(&str, i64, &str, &str); 5] = [
    (
        "general",
        1300,
        "cho",
        "New here: @nod. Same one as in Slack, and it asks before it does anything here too.",
    ),
    ("general", 1296, "bob.reyes", "Even Legal likes that."),
    ("launch", 180, "bo", "Who's bringing cake to the **launch party**? Friday, right after the release."),
    ("launch", 176, "cho", "I do. *Two* cakes, if somebody books the roof."),
    ("general", 60, "bob.stone", "Lunch at one? I found a place with proper noodles."),
];

/// Adds the people and channels to the workspace.
pub(super) fn slack_config(mut config: SlackConfig) -> SlackConfig {
    for (handle, name, display, zone) in PEOPLE {
        let mut user = User::new(handle, name);
        display.clone_into(&mut user.display_name);
        zone.clone_into(&mut user.tz);
        user.tz_offset = offset(zone);
        user.is_admin = handle == ADMIN;
        config = config.user(user);
    }
    let bot = config.app.bot_user.clone();
    let everybody: Vec<&str> = PEOPLE.iter().map(|(handle, ..)| *handle).chain([bot.as_str()]).collect();
    let few = ["ana", "bo", "cho", "bob.reyes", bot.as_str()];
    let (general, launch) = (Channel::new("general", &everybody), Channel::new(CHANNEL, &few));
    config.channel(general).channel(launch)
}

/// Returns the offset in seconds east of UTC today.
fn offset(zone: &str) -> i32 {
    jiff::tz::TimeZone::get(zone).map_or(0, |zone| zone.to_offset(jiff::Timestamp::now()).seconds())
}

/// Builds the Discord server with the same people; Discord reveals no email addresses.
pub(super) fn discord_config(mut config: DiscordConfig) -> DiscordConfig {
    // Ids contain their time and only grow. If the server is as old as its messages, these do not count as new.
    config.clock = fixed_clock(Utc::now() - TimeDelta::days(30));
    for (handle, name, ..) in PEOPLE {
        config = config.user(discord::User::new(handle, name));
    }
    config.channel(discord::Channel::new("general", &[])).channel(discord::Channel::new(CHANNEL, &[]))
}

/// Posts the earlier messages on Discord and opens everyone's DM channel with Nod.
pub(super) fn seed_discord(server: &Discord) {
    for (channel, minutes, who, text) in DISCORD_MESSAGES {
        server.change(|w| w.config.clock = fixed_clock(Utc::now() - TimeDelta::minutes(minutes)));
        if let Err(error) = server.post_message_with(discord::NewMessage::new(who, channel, text)) {
            tracing::warn!(%error, "could not post a seed message of the demo");
        }
    }
    server.change(|w| {
        w.config.clock = Arc::new(Utc::now);
        let bot = w.bot().to_owned();
        if let Some(bot) = w.users.get_mut(&bot) {
            bot.global_name = Some("Nod".to_owned());
        }
        for id in w.users.values().filter(|u| !u.is_bot).map(|u| u.id.clone()).collect::<Vec<_>>() {
            w.open_dm(&id);
        }
    });
}

/// Posts the earlier messages. They are not delivered, because Nod was not installed yet. Opens everyone's DM with Nod.
pub(super) fn seed_slack(slack: &Slack) {
    for (channel, minutes, who, text) in SLACK_MESSAGES {
        slack.change(|w| w.config.clock = fixed_clock(Utc::now() - TimeDelta::minutes(minutes)));
        let said = slack.post_message_with(NewMessage {
            deliver: EventDelivery::Never,
            ..NewMessage::new(who, channel, text)
        });
        if let Err(error) = said {
            tracing::warn!(%error, "could not post a seed message of the demo");
        }
    }
    slack.change(|w| {
        w.config.clock = Arc::new(Utc::now);
        let bot = w.config.app.bot_user.clone();
        if let Some(bot) = w.users.get_mut(&bot) {
            "Nod".clone_into(&mut bot.display_name);
        }
        for id in w.users.values().filter(|u| !u.is_bot).map(|u| u.id.clone()).collect::<Vec<_>>() {
            w.open_dm(&id);
        }
    });
}

fn fixed_clock(time: DateTime<Utc>) -> Clock {
    Arc::new(move || time)
}

pub(super) fn address(handle: &str) -> String {
    format!("{handle}@acme.test")
}

/// Returns a person's time zone.
pub(super) fn zone(address: &str) -> &'static str {
    PEOPLE
        .iter()
        .find(|(handle, ..)| self::address(handle) == address)
        .map_or(DEFAULT_ZONE, |(.., zone)| zone)
}

/// Returns everyone's Google account, each in their own zone.
pub(super) fn accounts() -> Vec<Account> {
    let people = PEOPLE.iter().map(|(handle, name, ..)| (address(handle), *name));
    let all = people.chain([OUTSIDER, LOOT].map(|(address, name)| (address.to_owned(), name)));
    all.map(|(address, name)| Account::new(&address, name).with_time_zone(zone(&address))).collect()
}
