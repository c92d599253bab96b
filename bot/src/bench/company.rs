//! The people and channels of the measurement: many of each, since Nod works in order within a conversation and each
//! vendor limits what one person and one channel may do.

use nod_sandbox::google::{Account, Google, GoogleConfig};
use nod_sandbox::slack::{Channel, SlackConfig, User};

use super::subject::BOT;

/// The number of people and of channels.
pub(super) const PEOPLE: usize = FIRST.len() * SECOND.len();
pub(super) const CHANNELS: usize = 1_000;
/// The people of one channel.
const MEMBERS: usize = 10;

const FIRST: [&str; 10] = ["Ba", "De", "Fi", "Go", "Ju", "Ka", "Lo", "Mi", "Na", "Po"];
const SECOND: [&str; 20] = [
    "bin", "dor", "fal", "gat", "kel", "lan", "mon", "nis", "ros", "ton", "ven", "zar", "mur", "pel", "sim",
    "tib", "ver", "wen", "yor", "zeb",
];

/// Returns a person's first name, which nobody else has.
pub(super) fn first_name(person: usize) -> String {
    format!("{}{}", FIRST[person % FIRST.len()], SECOND[person / FIRST.len() % SECOND.len()])
}

/// Returns a person's handle in Slack.
pub(super) fn handle(person: usize) -> String {
    first_name(person).to_lowercase()
}

pub(super) fn address(person: usize) -> String {
    format!("{}@acme.test", handle(person))
}

/// Returns a channel's name.
pub(super) fn channel_name(channel: usize) -> String {
    format!("team{channel:04}")
}

/// Returns the `turn`-th person who speaks in a channel, a member.
pub(super) fn member(channel: usize, turn: usize) -> usize {
    (channel * 7 + turn % MEMBERS) % PEOPLE
}

pub(super) fn slack_config() -> SlackConfig {
    let mut config = SlackConfig::new(BOT);
    config.users.extend((0..PEOPLE).map(|person| {
        let name = first_name(person);
        User::new(&handle(person), &format!("{name} Test"))
    }));
    config.channels.extend((0..CHANNELS).map(|channel| {
        let members: Vec<String> =
            (0..MEMBERS).map(|turn| handle(member(channel, turn))).chain([BOT.to_owned()]).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        Channel::new(&channel_name(channel), &members)
    }));
    config
}

pub(super) fn google_config(callback: &str) -> GoogleConfig {
    let account = |person| Account::new(&address(person), &format!("{} Test", first_name(person)));
    GoogleConfig {
        accounts: (0..PEOPLE).map(account).collect(),
        redirect_uris: vec![callback.to_owned()],
        ..GoogleConfig::default()
    }
}

/// Puts a few emails into every mailbox.
pub(super) fn deliver_mail(google: &Google) -> anyhow::Result<()> {
    for person in 0..PEOPLE {
        for (number, subject) in ["Launch check", "Lunch on Friday", "The contract"].iter().enumerate() {
            let from = address((person + number + 1) % PEOPLE);
            let body = "Hello,\n\nthe room is booked, and I will be there at three.\n\nBest";
            google.deliver(&address(person), &from, subject, body).map_err(anyhow::Error::msg)?;
        }
    }
    Ok(())
}
