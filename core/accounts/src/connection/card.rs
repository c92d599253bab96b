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
            format!("I work with {lent}. Connect your {title} account, and I use that one instead.")
        }
        AccountSource::Connected | AccountSource::NoAccount => {
            format!("Connect your {title} account, so that I can work with your mail and your calendar.")
        }
    }
}

/// Returns the card with the private link to an account that an admin allowed.
pub(crate) fn connect_reviewed_card(provider: Provider, offer: OfferId, account: &str) -> Card {
    let why = format!("An admin allowed {account} for you. You can connect it now.");
    link(provider, offer, "Connect", &why, &sign_in_as(account))
}

const OWN_ACCOUNT_ONLY: &str = "It takes only your own account.";

fn sign_in_as(account: &str) -> String {
    format!("Sign in as {account}.")
}

fn link(provider: Provider, offer: OfferId, does: &str, why: &str, takes: &str) -> Card {
    let label = format!("{does} {}", provider.display_name());
    Card::from_markdown(why)
        .with_block(Block::Note(format!("The link is for you alone, works once and for an hour. {takes}")))
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
            "{title} no longer lets me into your account.{because} Connect it again, and your request goes on by \
             itself."
        );
        return link(provider, offer, "Reconnect", &why, OWN_ACCOUNT_ONLY);
    }
    match need.connected_account() {
        Some(held) => {
            let why = format!(
                "{}, but not {} yet. Allow that too, and your request goes on by itself.",
                granted_scopes_phrase(need.scopes, &held.scopes),
                need.scopes.describe_any(&asked)
            );
            link(provider, offer, "Connect", &why, &sign_in_as(&held.account))
        }
        None => {
            let place = need.scopes.place(&asked);
            let it = if place.contains(" and ") { "them" } else { "it" };
            let why = format!(
                "I need access to {place} to do that. Connect {it}, and your request goes on by itself."
            );
            link(provider, offer, "Connect", &why, OWN_ACCOUNT_ONLY)
        }
    }
}

/// "I may read your mail".
fn granted_scopes_phrase(scopes: &Scopes, granted: &[String]) -> String {
    match scopes.usable_scopes(granted) {
        none if none.is_empty() => "I may look at your account's address".to_owned(),
        known => format!("I may {}", scopes.describe_all(&known)),
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
        Some(none) if none.is_empty() => format!("✓ {title} stays connected: {account}"),
        Some(new) => format!("✓ Now I may also {}: {account}", scopes.describe_all(&new)),
    })];
    if !lacks.is_empty() {
        body.push(Block::Markdown(format!(
            "{}, but not {}: that was left unticked on {}'s page. Ask again, and tick it, if you want me to.",
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
        format!(", a week after you gave it. {}", testing_mode_note(provider))
    } else {
        ".".to_owned()
    };
    let why =
        format!("{title} ends my access to {account} on {when}{week} Connect again, and nothing stops.");
    with_reconnect(Card::from_markdown(why), person, provider)
}

/// Explains why grants end after a week (<https://developers.google.com/identity/protocols/oauth2#expiration>).
fn testing_mode_note(provider: Provider) -> String {
    format!(
        "{}'s consent screen for this Nod is in “Testing”, which ends every access after seven days; whoever runs Nod \
         can publish it.",
        provider.display_name()
    )
}

/// Returns the card with the private link to an account that was connected before.
pub(crate) fn reconnect_link(provider: Provider, offer: OfferId, held: Option<&ConnectedAccount>) -> Card {
    let takes = held.map_or_else(|| OWN_ACCOUNT_ONLY.to_owned(), |held| sign_in_as(&held.account));
    let why = format!("Connect your {} account again.", provider.display_name());
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
        format!("{title} no longer lets me in: connect it again to go on.")
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
    let then = lent.map_or_else(String::new, |lent| format!(" From then on I work with {lent}."));
    Card::from_markdown(format!(
        "Disconnect {}? I forget its keys and give them back to {title}. What waits for your nod there is called \
         off.{then} Nothing was disconnected yet.",
        held.account
    ))
    .with_button(format!("Yes, disconnect {title}"), Style::Danger, OnClick::Action(yes))
}

pub(crate) fn nothing_connected_text(provider: Provider) -> String {
    format!("Your {} account is not connected. Nothing was done.", provider.display_name())
}

/// Tells a person who wants to disconnect that nothing is connected, and names what is lent to them.
pub fn not_connected_text(provider: Provider, lent: Option<&str>) -> String {
    let said = nothing_connected_text(provider);
    match lent {
        Some(lent) => format!("{said} I work with {lent}: only whoever runs Nod can end that."),
        None => said,
    }
}

pub fn disconnected_text(provider: Provider) -> String {
    format!("{} is disconnected. I wrote to you directly how it goes on.", provider.display_name())
}

fn note_card(words: String) -> Card {
    Card { body: vec![Block::Note(words)], ..Card::default() }
}

pub(crate) fn disconnected_and_revoking_card(provider: Provider, account: &str) -> Card {
    let title = provider.display_name();
    note_card(format!(
        "{title} account {account} is not connected. Its keys are forgotten here; I am giving them back to {title}…"
    ))
}

pub(crate) fn disconnected_and_revoked_card(provider: Provider, account: &str) -> Card {
    let title = provider.display_name();
    note_card(format!(
        "{title} account {account} is not connected. Its keys are forgotten here and given back to {title}."
    ))
}

/// The grant could not be revoked, or another person still uses the account.
pub(crate) fn disconnected_but_not_revoked_card(provider: Provider, account: &str) -> Card {
    let title = provider.display_name();
    note_card(format!(
        "{title} account {account} is not connected. Its keys are forgotten here, but not given back to {title}: to end what \
         {title} allowed, remove Nod in that account, under third-party access."
    ))
}

/// The account was disconnected, and connected again before it was revoked at the provider.
pub(crate) fn reconnected_card(provider: Provider, account: &str) -> Card {
    note_card(format!("{} was disconnected, and is connected again: {account}.", provider.display_name()))
}

/// More scopes were requested for one account, and the person signed in to another.
pub fn account_mismatch_card(account: &str, connected: &str) -> Card {
    Card {
        body: vec![Block::Note(format!(
            "That was {account}, but {connected} is connected. Nothing was changed. Ask again, and sign in as \
             {connected}."
        ))],
        ..Card::default()
    }
}

/// The link was used, but no account was connected.
pub fn failed_card(provider: Provider, why: ConnectFailure) -> Card {
    let title = provider.display_name();
    Card::from_markdown(match why {
        ConnectFailure::Declined => {
            "You did not agree to it. Nothing was connected. Ask again whenever you like.".to_owned()
        }
        ConnectFailure::NoScopesGranted => format!(
            "Nothing was connected: on {title}'s page every box was left empty. Ask again, and tick what I may do."
        ),
        ConnectFailure::WrongPerson => {
            "Whoever followed the link signed in as somebody else than you. Nothing was \
                                  connected. If that was you, ask again and sign in as yourself."
                .to_owned()
        }
        ConnectFailure::ProviderError => {
            "The sign-in was not completed. Nothing was connected; please ask again.".to_owned()
        }
    })
}

/// The link was not used, because what it asked for was granted through another link.
pub(crate) fn not_needed_card(account: &str) -> Card {
    note_card(format!("This link is not needed any more: {account} allows it by now."))
}

/// The link was not used.
pub fn expired_card(provider: Provider) -> Card {
    Card::from_markdown(format!(
        "The link to connect {} was not used in time. Nothing was connected; ask again for a new one.",
        provider.display_name()
    ))
}

/// The account is not the person's own.
pub fn other_account(account: &str, expected: Option<&str>, admin_asked: bool) -> Card {
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

/// Asks an admin whether this person may connect that account.
pub(crate) fn account_review_request_card(
    id: Uuid,
    name: &str,
    account: &str,
    expected: Option<&str>,
) -> Card {
    let own = expected.unwrap_or("unknown");
    Card::default()
        .with_title("Allow another account?")
        .with_block(Block::Fields(vec![
            ("Person".to_owned(), name.to_owned()),
            ("Their address here".to_owned(), own.to_owned()),
            ("Account".to_owned(), account.to_owned()),
        ]))
        .with_block(Block::Note(
            "Nod would read and send mail of that account on this person's behalf.".to_owned(),
        ))
        .with_button("Allow", Style::Primary, OnClick::Action(Action::new("allow_account", id)))
        .with_button("Refuse", Style::Danger, OnClick::Action(Action::new("deny_account", id)))
}

/// The admin's card after the decision.
pub fn account_review_decided_card(name: &str, account: &str, allowed: bool, by: &str) -> Card {
    let verdict = if allowed { "allowed" } else { "refused" };
    Card { body: vec![Block::Note(format!("{account} for {name}: {verdict} by {by}"))], ..Card::default() }
}
