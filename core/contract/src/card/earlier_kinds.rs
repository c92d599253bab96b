//! Kinds of action of an earlier version. Posted buttons and stored cards keep the kind they were given.

use serde::{Deserialize, Deserializer};

/// The earlier kinds, each with the current one.
const CURRENT_KINDS: [(&str, &str); 23] = [
    ("again", "send_again"),
    ("allow", "allow_account"),
    ("ask_others", "open_vote"),
    ("choose", "answer_question"),
    ("disconnect", "ask_disconnect"),
    ("disconnect_yes", "confirm_disconnect"),
    ("forget", "forget_fact"),
    ("forget_all", "ask_forget_all"),
    ("forget_yes", "confirm_forget_all"),
    ("hear_all", "follow_all"),
    ("hear_mentions", "follow_mentions"),
    ("hours", "edit_working_hours"),
    ("join", "merge_identities"),
    ("look", "recheck"),
    ("refuse", "deny_account"),
    ("retry", "retry_run"),
    ("share", "share_answer"),
    ("show", "show_privately"),
    ("stop", "stop_run"),
    ("tick", "select"),
    ("untick", "unselect"),
    ("vote_none", "vote_none_of_these"),
    ("whole", "show_full_text"),
];

/// Returns the current kind for an earlier one, and any other text as it is.
pub(super) fn current_kind(kind: &str) -> String {
    CURRENT_KINDS.iter().find(|(earlier, _)| *earlier == kind).map_or(kind, |(_, current)| current).to_owned()
}

pub(super) fn deserialize_kind<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|kind| current_kind(&kind))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::card::Action;

    #[test]
    fn buttons_of_an_earlier_version_do_what_todays_do() {
        for (earlier, current) in CURRENT_KINDS {
            let expected = Action { argument: Some(2), ..Action::new(current, Uuid::nil()) };
            let stored = serde_json::json!({"verb": earlier, "subject": Uuid::nil(), "choice": 2});
            assert_eq!(Action::parse(&format!("{earlier}:{}:2", Uuid::nil())), Some(expected.clone()));
            assert_eq!(Action::parse(&expected.to_string()), Some(expected.clone()));
            assert_eq!(serde_json::from_value::<Action>(stored).unwrap(), expected);
        }
    }
}
