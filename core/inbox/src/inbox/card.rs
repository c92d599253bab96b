//! The text of the inbox's own cards.

use nod_contract::card::{Action, Card, OnClick, Style};
use nod_contract::clock::Timestamp;
use nod_contract::ids::DeliveryId;
use nod_when::when::local_time;

/// What the hello's buttons ask: their labels, and what whoever presses them is taken to say.
pub(super) const HELLO_PROMPTS: [(&str, &str); 3] = [
    ("What's new in my email?", "What's new in my email?"),
    ("Summarise this channel", "Summarise this channel."),
    ("Find a time", "Help me find a time to meet."),
];

/// Says in a channel what Nod does, once Nod is invited. A button carries the hello's id and the number of its prompt.
pub(super) fn hello_card(id: DeliveryId, verb: &str) -> Card {
    let card = Card::from_markdown(
        "**Hi, I'm Nod.** Mention me and I'll answer from your own email and calendar, just for you.\n\
         Anything that would reach someone else, you see first. It's sent once, and only after you approve it.",
    );
    (0..).zip(HELLO_PROMPTS).fold(card, |card, (number, (label, _))| {
        let ask = Action { argument: Some(number), ..Action::new(verb, id) };
        card.with_button(label, Style::Plain, OnClick::Action(ask))
    })
}

/// Says that Nod was away when the message was written, and that it is too late to act on it.
pub(super) fn missed_message_card(said_at: Timestamp, zone: &str) -> Card {
    Card::from_markdown(format!(
        "I was offline when you wrote this ({}), so I haven't done anything about it. Write again if it \
         still matters.",
        local_time(said_at, zone)
    ))
}
