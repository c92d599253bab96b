//! The text of the cards for linking two identities.

use uuid::Uuid;

use nod_contract::card::{Action, Block, Card, OnClick, Style};

/// Shows the code, and how to enter it on each of the other platforms.
pub(super) fn code(code: &str, ways: Vec<(String, String)>) -> Card {
    Card::from_markdown(format!(
        "Your code is `{code}`. Enter it on your other chat within ten minutes, and I'll know it's you."
    ))
    .with_block(Block::Fields(ways))
    .with_block(Block::Note("Keep it to yourself: anyone who enters it gets your accounts.".to_owned()))
}

/// Asks the person who entered the code whether both identities are theirs.
pub(super) fn confirm_card(id: Uuid, there: &str, here: &str) -> Card {
    Card::default()
        .with_title("Are both of these you?")
        .with_block(Block::Fields(vec![
            ("There".to_owned(), there.to_owned()),
            ("Here".to_owned(), here.to_owned()),
        ]))
        .with_block(Block::Note(
            "I'll share your connected accounts, requests and memory between the two. Only go on if you \
             asked for this code yourself: otherwise someone else could read your email."
                .to_owned(),
        ))
        .with_button("Yes, both are me", Style::Primary, OnClick::Action(Action::new("merge_identities", id)))
}

/// Confirms the link to the person who entered the code.
pub(super) fn merged_card(there: &str, here: &str, kept: &[(String, String, String)]) -> Card {
    add_account_conflicts(
        Card::from_markdown(format!("You're linked: I know you as one person in {there} and {here}.")),
        kept,
    )
}

/// Confirms the link to the person who showed the code.
pub(super) fn merged_notice_card(other: &str, kept: &[(String, String, String)]) -> Card {
    add_account_conflicts(
        Card::from_markdown(format!("You're linked: I know you as one person here and in {other}.")),
        kept,
    )
    .with_block(Block::Note("Wasn't you? Tell the person who runs Nod right away.".to_owned()))
}

/// Adds, for each provider with which both had an account, the one that is kept and the other.
fn add_account_conflicts(card: Card, kept: &[(String, String, String)]) -> Card {
    kept.iter().fold(card, |card, (provider, stays, gone)| {
        card.with_block(Block::Note(format!(
            "Your {provider} account is now {stays}. {gone} is disconnected."
        )))
    })
}

pub(super) const CODE_NOT_FOUND: &str =
    "That code is wrong or has expired. Get a new one on your other chat.";
pub(super) const OWN_CODE: &str = "That's your own code. Enter it on your other chat, not here.";
pub(super) const ALREADY_KNOWN_HERE: &str =
    "The person who asked for that code is already known here as someone else.";
pub(super) const NO_OTHER_PLATFORM: &str = "This is the only chat I'm in, so there's nothing to link.";
pub(super) const WORK_IN_PROGRESS: &str = "Something is still open for you in both places. Decide it in one \
    of them (see “approvals”), then press again, or get a new code after ten minutes.";
