//! What Nod says about accounts.

use uuid::Uuid;

use crate::card::{Block, Card, Press, Style, Verb};
use crate::connection::Setback;
use crate::ids::OfferId;
use crate::tool::Provider;

/// The private link to the person's own account. `why` is one sentence.
pub(crate) fn connect(provider: Provider, offer: OfferId, why: &str) -> Card {
    link(provider, offer, why, "It takes only your own account.")
}

/// The private link to an account that an admin allowed.
pub(crate) fn connect_allowed(provider: Provider, offer: OfferId, account: &str) -> Card {
    let why = format!("An admin allowed {account} for you. You can connect it now.");
    link(provider, offer, &why, &format!("Sign in as {account}."))
}

fn link(provider: Provider, offer: OfferId, why: &str, takes: &str) -> Card {
    let label = format!("Connect {}", provider.title());
    Card::say(why)
        .with(Block::Note(format!("The link is for you alone, works once and for an hour. {takes}")))
        .button(label, Style::Primary, Press::Connect { provider, offer })
}

/// Why an account is asked for in the middle of a request.
pub(crate) fn needed(provider: Provider, revoked: bool) -> String {
    let title = provider.title();
    if revoked {
        format!(
            "{title} no longer lets me into your account. Connect it again, and your request goes on by itself."
        )
    } else {
        "I need access to your Gmail to do that. Connect it, and your request goes on by itself.".to_owned()
    }
}

/// The moment it happened.
pub(crate) fn connected(provider: Provider, account: &str) -> Card {
    Card {
        body: vec![Block::Note(format!("✓ {} is connected: {account}", provider.title()))],
        ..Card::default()
    }
}

/// The link was used and led nowhere.
pub(crate) fn failed(provider: Provider, why: Setback) -> Card {
    let title = provider.title();
    Card::say(match why {
        Setback::Declined => {
            "You did not agree to it. Nothing was connected. Ask again whenever you like.".to_owned()
        }
        Setback::TooLittle => format!(
            "Nothing was connected: on {title}'s page at least one box was left empty, and I need all of them. \
             Ask again, and tick every box."
        ),
        Setback::SomebodyElse => {
            "Whoever followed the link signed in as somebody else than you. Nothing was \
                                  connected. If that was you, ask again and sign in as yourself."
                .to_owned()
        }
        Setback::Broken => {
            "The sign-in was not completed. Nothing was connected; please ask again.".to_owned()
        }
    })
}

/// Nobody followed the link.
pub(crate) fn expired(provider: Provider) -> Card {
    Card::say(format!(
        "The link to connect {} was not used in time. Nothing was connected; ask again for a new one.",
        provider.title()
    ))
}

/// Another account than the person's own.
pub(crate) fn other_account(account: &str, expected: Option<&str>, admin_asked: bool) -> Card {
    let own =
        expected.map_or("your address is not known here".to_owned(), |e| format!("your address here is {e}"));
    let next = if admin_asked {
        "An admin has been asked to allow it; I will tell you."
    } else {
        "Use your own account, or ask whoever runs Nod to name an admin who can allow another."
    };
    Card {
        body: vec![Block::Note(format!("That was {account}, but {own}. Nothing was connected. {next}"))],
        ..Card::default()
    }
}

/// To an admin: may this person connect that account?
pub(crate) fn may_they(id: Uuid, name: &str, account: &str, expected: Option<&str>) -> Card {
    let own = expected.unwrap_or("unknown");
    Card::default()
        .titled("Allow another account?")
        .with(Block::Fields(vec![
            ("Person".to_owned(), name.to_owned()),
            ("Their address here".to_owned(), own.to_owned()),
            ("Account".to_owned(), account.to_owned()),
        ]))
        .with(Block::Note("Nod would read and send mail of that account on this person's behalf.".to_owned()))
        .button("Allow", Style::Primary, Press::Verb(Verb::new("allow", id)))
        .button("Refuse", Style::Danger, Press::Verb(Verb::new("refuse", id)))
}

/// The admin's card after the decision.
pub(crate) fn decided(name: &str, account: &str, allowed: bool, by: &str) -> Card {
    let verdict = if allowed { "allowed" } else { "refused" };
    Card { body: vec![Block::Note(format!("{account} for {name}: {verdict} by {by}"))], ..Card::default() }
}
