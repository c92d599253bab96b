//! [Reconnect]: the button that leads to a link to an account that no longer lets Nod in.

use crate::card::{Action, Card, OnClick, Style};
use crate::ids::{PersonId, named_lane_id};
use crate::provider::Provider;

/// With the button that gives the link.
pub fn with_reconnect(card: Card, person: PersonId, provider: Provider) -> Card {
    card.with_button(
        format!("Reconnect {}", provider.display_name()),
        Style::Primary,
        reconnect(person, provider),
    )
}

/// What the button carries.
pub const VERB: &str = "reconnect";

/// The button's press: it counts from this person alone.
pub fn reconnect(person: PersonId, provider: Provider) -> OnClick {
    OnClick::Action(account_action(VERB, person, provider))
}

/// Of this person's account; nobody else has a button with it.
pub fn account_action(word: &str, person: PersonId, provider: Provider) -> Action {
    Action::new(word, named_lane_id(&["account", &person.to_string(), provider.as_str()]))
}
