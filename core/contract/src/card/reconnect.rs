//! [Reconnect]: the button that leads to a link to an account that no longer lets Nod in.

use crate::card::{Card, Press, Style, Verb};
use crate::ids::{PersonId, lane_of};
use crate::provider::Provider;

/// With the button that gives the link.
pub fn with_reconnect(card: Card, person: PersonId, provider: Provider) -> Card {
    card.button(format!("Reconnect {}", provider.title()), Style::Primary, reconnect(person, provider))
}

/// What the button carries.
pub const VERB: &str = "reconnect";

/// The button's press: it counts from this person alone.
pub fn reconnect(person: PersonId, provider: Provider) -> Press {
    Press::Verb(verb(VERB, person, provider))
}

/// Of this person's account; nobody else has a button with it.
pub fn verb(word: &str, person: PersonId, provider: Provider) -> Verb {
    Verb::new(word, lane_of(&["account", &person.to_string(), provider.as_str()]))
}
