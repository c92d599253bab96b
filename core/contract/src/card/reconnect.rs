//! [Reconnect]: the button that leads to a link for an account to which Nod no longer has access.

use crate::card::{Action, Card, OnClick, Style};
use crate::ids::{PersonId, named_lane_id};
use crate::provider::Provider;

/// Adds the button that returns the link.
pub fn with_reconnect(card: Card, person: PersonId, provider: Provider) -> Card {
    card.with_button(
        format!("Reconnect {}", provider.display_name()),
        Style::Primary,
        reconnect(person, provider),
    )
}

/// The kind of the button's action.
pub const VERB: &str = "reconnect";

/// Returns the button's click action. It is valid only for this person.
pub fn reconnect(person: PersonId, provider: Provider) -> OnClick {
    OnClick::Action(account_action(VERB, person, provider))
}

/// Returns an action on this person's account. No other user has a button with it.
pub fn account_action(word: &str, person: PersonId, provider: Provider) -> Action {
    Action::new(word, named_lane_id(&["account", &person.to_string(), provider.as_str()]))
}
