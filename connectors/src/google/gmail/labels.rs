//! Labels by the names that people give them.

use google_gmail1::api::Label;
use nod_contract::tool::ToolError;

/// The maximum number of similar names in the error for an unknown label.
const MAX_SIMILAR: usize = 5;

/// A label that a person created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserLabel {
    pub id: String,
    pub name: String,
}

/// Returns a person's own labels, by name. Gmail's own (inbox, unread, …) are not labels to people: the actions of
/// `LabelAction` cover them.
pub(super) fn list_user_labels(all: Vec<Label>) -> Vec<UserLabel> {
    let user = |label: &Label| label.type_.as_deref() == Some("user");
    let own = |label: Label| Some(UserLabel { id: label.id?, name: label.name? });
    let mut all: Vec<UserLabel> = all.into_iter().filter(user).filter_map(own).collect();
    all.sort_by_key(|label| label.name.to_lowercase());
    all
}

/// Returns the label of that name, ignoring case and outer spaces.
///
/// # Errors
/// [`ToolError::InvalidArguments`] with similar names.
pub(super) fn find_label<'a>(all: &'a [UserLabel], name: &str) -> Result<&'a UserLabel, ToolError> {
    let wanted = normalize_name(name);
    all.iter()
        .find(|label| normalize_name(&label.name) == wanted)
        .ok_or_else(|| unknown_label_error(all, name))
}

/// Returns the form of a name that is compared.
pub(super) fn normalize_name(name: &str) -> String {
    name.trim().to_lowercase()
}

fn unknown_label_error(all: &[UserLabel], name: &str) -> ToolError {
    let mut close: Vec<(usize, &str)> = all
        .iter()
        .filter_map(|label| {
            Some((distance(&normalize_name(name), &normalize_name(&label.name))?, &*label.name))
        })
        .collect();
    close.sort_unstable();
    let close: Vec<String> = close.iter().take(MAX_SIMILAR).map(|(_, name)| format!("“{name}”")).collect();
    let similar = match close.is_empty() {
        true => "and none like it. Shall I create it?".to_owned(),
        false => format!("did you mean {}?", close.join(", ")),
    };
    ToolError::invalid(format!("you have no label “{}”, {similar}", name.trim()))
}

/// Returns how far two names are apart; `None` if they have nothing in common.
fn distance(a: &str, b: &str) -> Option<usize> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    if a.contains(b) || b.contains(a) {
        return Some(0);
    }
    let edits = edits(a, b);
    (edits * 3 <= a.chars().count().max(b.chars().count())).then_some(edits)
}

/// Returns the Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let here = (before + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            before = std::mem::replace(&mut row[j + 1], here);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str) -> UserLabel {
        UserLabel { id: format!("Label_{name}"), name: name.to_owned() }
    }

    #[test]
    fn a_label_is_found_however_its_name_is_written_and_similar_ones_are_told() {
        let all = [label("Invoices"), label("Work/Invoices 2026"), label("Travel")];
        assert_eq!(find_label(&all, " invoices ").map(|found| found.name.as_str()), Ok("Invoices"));
        for (name, wanted) in [
            ("Invocies", "you have no label “Invocies”, did you mean “Invoices”?"),
            ("invoice", "you have no label “invoice”, did you mean “Invoices”, “Work/Invoices 2026”?"),
            ("Zebra", "you have no label “Zebra”, and none like it."),
        ] {
            let said = find_label(&all, name).err().map(|fault| fault.to_string()).unwrap_or_default();
            assert!(said.contains(wanted), "{said}");
        }
    }

    #[test]
    fn gmails_own_are_left_out() {
        let made = |name: &str, kind: &str| Label {
            id: Some(name.to_owned()),
            name: Some(name.to_owned()),
            type_: Some(kind.to_owned()),
            ..Label::default()
        };
        let all = list_user_labels(vec![made("INBOX", "system"), made("zoo", "user"), made("Apes", "user")]);
        assert_eq!(all.iter().map(|label| label.name.as_str()).collect::<Vec<_>>(), ["Apes", "zoo"]);
    }
}
