//! Acme: its people, its channels on Slack and on Discord, and what they said there before the visitor came.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use nod_sandbox::discord::{self, Discord, DiscordConfig};
use nod_sandbox::google::Account;
use nod_sandbox::slack::{Channel, Clock, Deliver, Say, Slack, SlackConfig, User};

/// Whom the visitor plays first.
pub(super) const VISITOR: &str = "ana";
/// Whose mailbox the first mail arrives in.
pub(super) const RECIPIENT: &str = "bo@acme.test";
/// Where the visitor begins.
pub(super) const CHANNEL: &str = "launch";
/// Who may allow what others may not.
pub(super) const ADMIN: &str = "dana";
/// Somebody outside, who has a mailbox that can be looked into.
pub(super) const OUTSIDER: (&str, &str) = ("kim@northwind.test", "Kim Vale");
const THERE: &str = "Europe/Dublin";

/// Handle, full name, display name, zone. The address is the handle at acme.test.
const PEOPLE: [(&str, &str, &str, &str); 6] = [
    ("ana", "Ana Silva", "Ana", "Europe/Lisbon"),
    ("bo", "Bo Lind", "Bo", "Europe/Stockholm"),
    ("cho", "Cho Park", "Cho", "America/New_York"),
    ("bob.stone", "Bob Stone", "Bob Stone (Sales)", "Europe/London"),
    ("bob.reyes", "Bob Reyes", "Bob Reyes (Legal)", "America/New_York"),
    ("dana", "Dana Ito", "Dana (admin)", "Europe/Lisbon"),
];

/// Channel, minutes ago, who, what; oldest first, since Slack's times only go forward.
const TALK: [(&str, i64, &str, &str); 7] = [
    (
        "general",
        1490,
        "dana",
        "Morning all. @nod is in the workspace now: mention it, or write to it directly.",
    ),
    ("general", 1460, "bob.stone", "Does it send mail by itself?"),
    (
        "general",
        1455,
        "dana",
        "No. It shows you the exact mail first, and nothing leaves before you approve it.",
    ),
    ("launch", 240, "cho", "The landing page is ready for review: https://launch.acme.test"),
    ("launch", 232, "bo", "Looks great. Legal still has to see the pricing footnote, @bob.reyes?"),
    ("general", 95, "cho", "The coffee machine is back. You're welcome."),
    ("launch", 31, "bo", "Launch check at three. Please be on time, the room is ours for half an hour only."),
];

/// The same on Discord, where half of the company chats between two meetings.
const CHAT: [(&str, i64, &str, &str); 5] = [
    (
        "general",
        1300,
        "cho",
        "New here: @nod. The same one as in Slack, and it asks before it does anything here too.",
    ),
    ("general", 1296, "bob.reyes", "Even Legal likes that."),
    ("launch", 180, "bo", "Who brings cake to the **launch party**? Friday, right after the release."),
    ("launch", 176, "cho", "I do. *Two* cakes, if somebody books the roof."),
    ("general", 60, "bob.stone", "Lunch at one? I found a place with proper noodles."),
];

/// The workspace with its people and channels.
pub(super) fn fill(mut config: SlackConfig) -> SlackConfig {
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

/// Seconds east of UTC today.
fn offset(zone: &str) -> i32 {
    jiff::tz::TimeZone::get(zone).map_or(0, |zone| zone.to_offset(jiff::Timestamp::now()).seconds())
}

/// The server on Discord: the same people, of whom it tells no address.
pub(super) fn gather(mut config: DiscordConfig) -> DiscordConfig {
    // Ids tell their time and only grow: with a server as old as its talk, what was said then is not taken for said now.
    config.clock = at(Utc::now() - TimeDelta::days(30));
    for (handle, name, ..) in PEOPLE {
        config = config.user(discord::User::new(handle, name));
    }
    config.channel(discord::Channel::new("general", &[])).channel(discord::Channel::new(CHANNEL, &[]))
}

/// What was said on Discord before. Opens everybody's line to Nod there.
pub(super) fn chat(server: &Discord) {
    for (channel, minutes, who, text) in CHAT {
        server.change(|w| w.config.clock = at(Utc::now() - TimeDelta::minutes(minutes)));
        if let Err(error) = server.say_with(discord::Say::new(who, channel, text)) {
            tracing::warn!(%error, "something that was to be said before the demo was not");
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

/// What was said before: Nod was not there yet, so it is not told. Opens everybody's line to Nod.
pub(super) fn talk(slack: &Slack) {
    for (channel, minutes, who, text) in TALK {
        slack.change(|w| w.config.clock = at(Utc::now() - TimeDelta::minutes(minutes)));
        let said = slack.say_with(Say { deliver: Deliver::Never, ..Say::new(who, channel, text) });
        if let Err(error) = said {
            tracing::warn!(%error, "something that was to be said before the demo was not");
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

fn at(time: DateTime<Utc>) -> Clock {
    Arc::new(move || time)
}

pub(super) fn address(handle: &str) -> String {
    format!("{handle}@acme.test")
}

/// Where somebody's clocks are.
pub(super) fn zone(address: &str) -> &'static str {
    PEOPLE.iter().find(|(handle, ..)| self::address(handle) == address).map_or(THERE, |(.., zone)| zone)
}

/// Everybody's Google account, each in their own zone.
pub(super) fn accounts() -> Vec<Account> {
    let people = PEOPLE.iter().map(|(handle, name, ..)| (address(handle), *name));
    let all = people.chain([(OUTSIDER.0.to_owned(), OUTSIDER.1)]);
    all.map(|(address, name)| Account::new(&address, name).in_zone(zone(&address))).collect()
}
