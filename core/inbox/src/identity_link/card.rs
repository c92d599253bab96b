//! The text of the cards for linking two identities.

use uuid::Uuid;

use nod_contract::card::{Action, Block, Card, OnClick, Style};

/// Shows the code, and how to enter it on each of the other platforms.
pub(super) fn code(code: &str, ways: Vec<(String, String)>) -> Card {
    Card::from_markdown(format!(
        "Your code is `{code}`. Enter it within ten minutes where you also talk to me, and I know that you are the \
         same person."
    ))
    .with_block(Block::Fields(ways))
    .with_block(Block::Note("It is for you alone: whoever enters it shares your accounts with you.".to_owned()))
}

/// Asks the person who entered the code whether both identities are theirs.
pub(super) fn confirm_card(id: Uuid, there: &str, here: &str) -> Card {
    Card::default()
        .with_title("Are you both?")
        .with_block(Block::Fields(vec![
            ("There".to_owned(), there.to_owned()),
            ("Here".to_owned(), here.to_owned()),
        ]))
        .with_block(Block::Note(
            "Then your connected accounts, what waits for your nod and what I remember about you are the same in \
             both. Go on only if you asked for this code yourself: anybody else who gave it to you would read your \
             mail."
                .to_owned(),
        ))
        .with_button("That is me", Style::Primary, OnClick::Action(Action::new("merge_identities", id)))
}

/// Confirms the link to the person who entered the code.
pub(super) fn merged_card(there: &str, here: &str, kept: &[(String, String, String)]) -> Card {
    add_account_conflicts(
        Card::from_markdown(format!("You are one person for me now, in {there} and in {here}.")),
        kept,
    )
}

/// Confirms the link to the person who showed the code.
pub(super) fn merged_notice_card(other: &str, kept: &[(String, String, String)]) -> Card {
    add_account_conflicts(
        Card::from_markdown(format!("You are one person for me now, here and in {other}.")),
        kept,
    )
    .with_block(Block::Note("If that was not you, tell whoever runs Nod at once.".to_owned()))
}

/// Adds, for each provider with which both had an account, the one that is kept and the other.
fn add_account_conflicts(card: Card, kept: &[(String, String, String)]) -> Card {
    kept.iter().fold(card, |card, (provider, stays, gone)| {
        card.with_block(Block::Note(format!(
            "Your {provider} account is {stays}. {gone} is no longer connected."
        )))
    })
}

pub(super) const CODE_NOT_FOUND: &str =
    "I know no such code, or it is over. Ask for a new one where you also talk to me. Nothing was done.";
pub(super) const OWN_CODE: &str =
    "That is your own code. Enter it where you also talk to me, not here. Nothing was done.";
pub(super) const ALREADY_KNOWN_HERE: &str =
    "Whoever asked for that code is known in this place as well, as somebody else. Nothing was done.";
pub(super) const NO_OTHER_PLATFORM: &str =
    "You can talk to me in this chat alone, so there is nothing to join.";
pub(super) const WORK_IN_PROGRESS: &str = "Something is still under way for you in both places: the command “approvals” shows what \
                               waits for your nod. Let it end in one of them, and press again, or ask for a new code \
                               after ten minutes. Nothing was done yet.";
