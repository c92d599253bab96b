//! What Discord accepts, in one place.
//!
//! Discord does not say whether it counts characters or UTF-16 units, and its clients count units. Lengths are
//! therefore measured in units with [`units`], the larger of the two.

/// The text of all text displays of a message together.
pub(super) const TEXT: usize = 4_000;
/// The part of `TEXT` for a request's fields, risk lines and body; the rest is for its frame and the receipt.
pub(super) const REQUEST_TEXT: usize = 3_000;
/// Components of a message, including nested ones.
pub(super) const COMPONENTS: usize = 40;
/// Buttons in a row.
pub(super) const ROW: usize = 5;
/// Buttons in a message: six rows, which leave room for a container and three texts.
pub(super) const BUTTONS: usize = 30;
/// Options of a menu, and the length of an option's label.
pub(super) const OPTIONS: usize = 25;
pub(super) const OPTION_LABEL: usize = 100;
/// A button's label.
pub(super) const BUTTON_LABEL: usize = 80;
/// A button's URL.
pub(super) const BUTTON_URL: usize = 512;
/// The custom id of a component that can be clicked or filled in.
pub(super) const CUSTOM_ID: usize = 100;
/// The lines for buttons that could not be rendered as buttons, together.
pub(super) const LINK_LINES: usize = 2_000;
/// A title that has to be cut.
pub(super) const TITLE: usize = 250;
/// A URL that stays a link; a longer one is shown as text.
pub(super) const LINK: usize = 1_500;
/// How deep a list may be indented.
pub(super) const INDENT: usize = 8;
/// Components of a modal, not counting those inside a label.
pub(super) const MODAL: usize = 5;
/// A modal's title, and an input's label.
pub(super) const MODAL_LABEL: usize = 45;
/// The value of one input.
pub(super) const INPUT: usize = 4_000;

/// Returns the maximum length of a text, whichever way Discord counts.
pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Formats as one line of at most `max` units, ending in `…` if it was cut. For labels only.
pub(super) fn truncate_label(text: &str, max: usize) -> String {
    let text = crate::text::to_one_line(text);
    if text.is_empty() {
        return "—".to_owned();
    }
    if units(&text) <= max {
        return text;
    }
    let mut room = max.saturating_sub(1);
    let fits = |c: &char| {
        let fits = c.len_utf16() <= room;
        room = if fits { room - c.len_utf16() } else { 0 };
        fits
    };
    text.chars().take_while(fits).chain(['…']).collect()
}
