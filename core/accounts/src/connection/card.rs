//! The texts and cards about accounts.

use uuid::Uuid;

use crate::connection::delegated_access::AccountSource;
use crate::connection::scopes::Scopes;
use crate::connection::{ConnectFailure, ConnectedAccount, DelegatedAccess, RequiredAccount};
use nod_contract::card::reconnect::with_reconnect;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{OfferId, PersonId};
use nod_contract::provider::Provider;

/// Returns the card with the private link to the person's own account. `why` is one sentence.
pub fn connect(provider: Provider, offer: OfferId, why: &str) -> Card {
    link(provider, offer, "Connect", why, OWN_ACCOUNT_ONLY)
}

/// Returns the reason shown to a person who asks for the link without saying what for.
pub fn why_connect(provider: Provider, lending: &DelegatedAccess, whose: &AccountSource) -> String {
    let title = provider.display_name();
    match whose {
        AccountSource::Delegated(loan) => {
            let lent = lending.describe(loan);
            format!("I'm using {lent} for now. Connect your own {title} account, and I'll use that instead.")
        }
        AccountSource::Connected | AccountSource::NoAccount => {
            format!("Connect your {title} account so I can help with your email and calendar.")
        }
    }
}

/// Returns the card with the private link to an account that an admin allowed.
pub(crate) fn connect_reviewed_card(provider: Provider, offer: OfferId, account: &str) -> Card {
    let why = format!("An admin approved {account} for you, so you can connect it now.");
    link(provider, offer, "Connect", &why, &sign_in_as(account))
}

const OWN_ACCOUNT_ONLY: &str = "It only works with your own account.";

fn sign_in_as(account: &str) -> String {
    format!("Sign in as {account}.")
}

fn link(provider: Provider, offer: OfferId, does: &str, why: &str, takes: &str) -> Card {
    let label = format!("{does} {}", provider.display_name());
    Card::from_markdown(why)
        .with_block(Block::Note(format!("This link is just for you. It works once, within an hour. {takes}")))
        .with_button(label, Style::Primary, OnClick::Connect { provider, offer })
}

/// Returns the card that asks for an account, or for more scopes, in the middle of a request.
pub fn account_needed_card(need: &RequiredAccount, offer: OfferId, now: Timestamp) -> Card {
    let (provider, asked) = (need.provider, need.scopes_to_request());
    if need.revoked {
        let title = provider.display_name();
        let week = need.connected.as_ref().is_some_and(|held| held.is_expired_seven_day_grant(now));
        let because = if week { format!(" {}", testing_mode_note(provider)) } else { String::new() };
        let why = format!(
            "I've lost access to your {title} account.{because} Reconnect it, and I'll pick up where I left \
             off."
        );
        return link(provider, offer, "Reconnect", &why, OWN_ACCOUNT_ONLY);
    }
    match need.connected_account() {
        Some(held) => {
            let why = format!(
                "{}, but I can't {} yet. Allow that too, and I'll pick up where I left off.",
                granted_scopes_phrase(need.scopes, &held.scopes),
                need.scopes.describe_any(&asked)
            );
            link(provider, offer, "Connect", &why, &sign_in_as(&held.account))
        }
        None => {
            let place = need.scopes.place(&need.needed_scopes());
            let it = if place.contains(" and ") { "them" } else { "it" };
            let all = need.scopes.place(&asked);
            let rest = if all == place {
                String::new()
            } else {
                format!(" I'll ask for {all} at once: untick what you don't want.")
            };
            let why = format!(
                "I need access to {place} for that. Connect {it}, and I'll pick up where I left off.{rest}"
            );
            link(provider, offer, "Connect", &why, OWN_ACCOUNT_ONLY)
        }
    }
}

/// "I may read your mail".
fn granted_scopes_phrase(scopes: &Scopes, granted: &[String]) -> String {
    match scopes.usable_scopes(granted) {
        none if none.is_empty() => "I can see your account's address".to_owned(),
        known => format!("I can {}", scopes.describe_all(&known)),
    }
}

/// Confirms the connection and names what the person left out. If the account was connected `before`, only what is new
/// is announced.
pub fn connected_card(
    provider: Provider,
    scopes: &Scopes,
    account: &str,
    before: Option<&ConnectedAccount>,
    granted: &[String],
    lacks: &[String],
) -> Card {
    let title = provider.display_name();
    let same = before.filter(|held| held.is_working && held.account.eq_ignore_ascii_case(account));
    let new = same.map(|held| scopes.missing_scopes(&held.scopes, &scopes.usable_scopes(granted)));
    let mut body = vec![Block::Note(match new {
        None => format!("✓ {title} is connected: {account}"),
        Some(none) if none.is_empty() => format!("✓ {title} is still connected: {account}"),
        Some(new) => format!("✓ Now I can also {}: {account}", scopes.describe_all(&new)),
    })];
    if !lacks.is_empty() {
        body.push(Block::Markdown(format!(
            "{}, but I can't {}: that box wasn't ticked on {}'s page. Ask me again and tick it if you want \
             me to.",
            granted_scopes_phrase(scopes, granted),
            scopes.describe_any(lacks),
            provider.display_name()
        )));
    }
    Card { body, ..Card::default() }
}

/// Warns one day before a grant expires at the provider.
pub fn grant_expiry_card(provider: Provider, held: &ConnectedAccount, person: PersonId, when: &str) -> Card {
    let (title, account) = (provider.display_name(), &held.account);
    let week = if held.is_seven_day_grant() {
        format!(", a week after you connected it. {}", testing_mode_note(provider))
    } else {
        ".".to_owned()
    };
    let why =
        format!("My access to {account} at {title} ends on {when}{week} Reconnect it now and nothing stops.");
    with_reconnect(Card::from_markdown(why), person, provider)
}

/// Explains why grants end after a week (<https://developers.google.com/identity/protocols/oauth2#expiration>).
fn testing_mode_note(provider: Provider) -> String {
    format!(
        "{} ends access after seven days because this Nod is still in “Testing” there. The person who runs \
         Nod can change that.",
        provider.display_name()
    )
}

/// Returns the card with the private link to an account that was connected before.
pub(crate) fn reconnect_link(provider: Provider, offer: OfferId, held: Option<&ConnectedAccount>) -> Card {
    let takes = held.map_or_else(|| OWN_ACCOUNT_ONLY.to_owned(), |held| sign_in_as(&held.account));
    let why = format!("Reconnect your {} account.", provider.display_name());
    link(provider, offer, "Reconnect", &why, &takes)
}

/// Adds one connected account to the card.
pub fn account(
    card: Card,
    provider: Provider,
    scopes: &Scopes,
    held: &ConnectedAccount,
    disconnect: Action,
) -> Card {
    let title = provider.display_name();
    let state = if held.is_working {
        format!("{}.", granted_scopes_phrase(scopes, &held.scopes))
    } else {
        format!("I've lost access to {title}. Reconnect it to carry on.")
    };
    card.with_block(Block::Fields(vec![(title.to_owned(), held.account.clone())]))
        .with_block(Block::Note(state))
        .with_button(format!("Disconnect {title}"), Style::Danger, OnClick::Action(disconnect))
}

/// Asks for confirmation before disconnecting.
pub fn confirm_disconnect_card(
    provider: Provider,
    held: &ConnectedAccount,
    lent: Option<&str>,
    yes: Action,
) -> Card {
    let title = provider.display_name();
    let then = lent.map_or_else(String::new, |lent| format!(" After that I'll use {lent}."));
    Card::from_markdown(format!(
        "Disconnect {}? I'll delete its keys and tell {title} I don't need them any more. Requests waiting \
         on it will be cancelled.{then} Nothing is disconnected yet.",
        held.account
    ))
    .with_button(format!("Disconnect {title}"), Style::Danger, OnClick::Action(yes))
}

pub(crate) fn nothing_connected_text(provider: Provider) -> String {
    format!("Your {} account isn't connected.", provider.display_name())
}

/// Tells a person who wants to disconnect that nothing is connected, and names what is lent to them.
pub fn not_connected_text(provider: Provider, lent: Option<&str>) -> String {
    let said = nothing_connected_text(provider);
    match lent {
        Some(lent) => format!("{said} I'm using {lent}, and only the person who runs Nod can stop that."),
        None => said,
    }
}

pub fn disconnected_text(provider: Provider) -> String {
    format!("{} is disconnected. Details are in our direct messages.", provider.display_name())
}

fn note_card(words: String) -> Card {
    Card { body: vec![Block::Note(words)], ..Card::default() }
}

pub(crate) fn disconnected_and_revoking_card(provider: Provider, account: &str) -> Card {
    let title = provider.display_name();
    note_card(format!(
        "{title} account {account} is disconnected. I've deleted its keys and I'm telling {title}…"
    ))
}

pub(crate) fn disconnected_and_revoked_card(provider: Provider, account: &str) -> Card {
    let title = provider.display_name();
    note_card(format!(
        "{title} account {account} is disconnected. I've deleted its keys, and {title} has cancelled them."
    ))
}

/// The grant could not be revoked, or another person still uses the account.
pub(crate) fn disconnected_but_not_revoked_card(provider: Provider, account: &str) -> Card {
    let title = provider.display_name();
    note_card(format!(
        "{title} account {account} is disconnected and I've deleted its keys, but I couldn't cancel them at \
         {title}. To finish, remove Nod under third-party access in your {title} account."
    ))
}

/// The account was disconnected, and connected again before it was revoked at the provider.
pub(crate) fn reconnected_card(provider: Provider, account: &str) -> Card {
    note_card(format!("{} was disconnected, and it's connected again: {account}.", provider.display_name()))
}

/// More scopes were requested for one account, and the person signed in to another.
pub fn account_mismatch_card(account: &str, connected: &str) -> Card {
    Card {
        body: vec![Block::Note(format!(
            "You signed in as {account}, but {connected} is the one that's connected. Nothing changed. Ask \
             me again and sign in as {connected}."
        ))],
        ..Card::default()
    }
}

/// The link was used, but no account was connected.
pub fn failed_card(provider: Provider, why: ConnectFailure) -> Card {
    let title = provider.display_name();
    Card::from_markdown(match why {
        ConnectFailure::Declined => "No problem, nothing was connected. Ask me again any time.".to_owned(),
        ConnectFailure::NoScopesGranted => format!(
            "Nothing was connected: no box was ticked on {title}'s page. Ask me again and tick what I may do."
        ),
        ConnectFailure::WrongPerson => {
            "Someone else signed in with your link, so nothing was connected. If that was you, ask me again \
             and sign in as yourself."
                .to_owned()
        }
        ConnectFailure::ProviderError => {
            "The sign-in didn't finish, so nothing was connected. Please ask me again.".to_owned()
        }
    })
}

/// The link was not used, because what it asked for was granted through another link.
pub(crate) fn not_needed_card(account: &str) -> Card {
    note_card(format!("You don't need this link any more: {account} is already connected for that."))
}

/// The link was not used.
pub fn expired_card(provider: Provider) -> Card {
    Card::from_markdown(format!(
        "The link to connect {} expired, so nothing was connected. Ask me again for a new one.",
        provider.display_name()
    ))
}

/// The account is not the person's own.
pub fn other_account(account: &str, expected: Option<&str>, admin_asked: bool) -> Card {
    let own =
        expected.map_or("I don't know your address here".to_owned(), |e| format!("your address here is {e}"));
    let next = if admin_asked {
        "I've asked an admin to allow it and I'll let you know."
    } else {
        "Use your own account, or ask the person who runs Nod to name an admin who can allow another."
    };
    Card {
        body: vec![Block::Note(format!(
            "You signed in as {account}, but {own}. Nothing was connected. {next}"
        ))],
        ..Card::default()
    }
}

/// Asks an admin whether this person may connect that account.
pub(crate) fn account_review_request_card(
    id: Uuid,
    name: &str,
    account: &str,
    expected: Option<&str>,
) -> Card {
    let own = expected.unwrap_or("unknown");
    Card::default()
        .with_title("Allow this account?")
        .with_block(Block::Fields(vec![
            ("Person".to_owned(), name.to_owned()),
            ("Address here".to_owned(), own.to_owned()),
            ("Account".to_owned(), account.to_owned()),
        ]))
        .with_block(Block::Note("I would read and send email from this account for them.".to_owned()))
        .with_button("Allow", Style::Primary, OnClick::Action(Action::new("allow_account", id)))
        .with_button("Don't allow", Style::Danger, OnClick::Action(Action::new("deny_account", id)))
}

/// The admin's card after the decision.
pub fn account_review_decided_card(name: &str, account: &str, allowed: bool, by: &str) -> Card {
    let verdict = if allowed { "allowed" } else { "refused" };
    Card { body: vec![Block::Note(format!("{account} for {name}: {verdict} by {by}"))], ..Card::default() }
}
