//! What Discord takes, in one place.
//!
//! Discord does not say whether it counts characters or UTF-16 units, and its clients count units; so what is
//! measured with [`units`] is measured by the longer of the two.

/// The text of all text displays of a message together.
pub(super) const TEXT: usize = 4_000;
/// What of it the fields and the body of a request take; the rest is for its frame, the risks and the receipt.
pub(super) const REQUEST: usize = 3_000;
/// Components of a message, those inside others counted.
pub(super) const COMPONENTS: usize = 40;
/// Buttons in a row.
pub(super) const ROW: usize = 5;
/// Buttons in a message: six rows, which leave room for a container and three texts.
pub(super) const BUTTONS: usize = 30;
/// Options of a menu, and what one is called.
pub(super) const OPTIONS: usize = 25;
pub(super) const OPTION_LABEL: usize = 100;
/// A button's label.
pub(super) const BUTTON_LABEL: usize = 80;
/// A button's address.
pub(super) const BUTTON_URL: usize = 512;
/// What a component that can be pressed or filled in sends back.
pub(super) const CUSTOM_ID: usize = 100;
/// Lines about buttons that could not be buttons, together.
pub(super) const BESIDE: usize = 2_000;
/// A title that has to be cut.
pub(super) const TITLE: usize = 250;
/// An address that stays a link; a longer one is shown as text.
pub(super) const LINK: usize = 1_500;
/// How deep a list may be indented.
pub(super) const INDENT: usize = 8;
/// Components of a modal, not counting what stands inside a label.
pub(super) const MODAL: usize = 5;
/// A modal's title, and what an input is called.
pub(super) const MODAL_LABEL: usize = 45;
/// What stands in one input.
pub(super) const INPUT: usize = 4_000;

/// How long a text is at the most, however Discord counts.
pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// On one line, at most `max` long, the last character `…` where something is missing. For labels only.
pub(super) fn label(text: &str, max: usize) -> String {
    let text = crate::text::one_line(text);
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
