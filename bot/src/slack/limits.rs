//! What Slack takes in one message, in one place. Every number counts characters unless it says otherwise.

/// Blocks in a message.
pub(super) const BLOCKS: usize = 50;
/// The blocks of a message together, as JSON. Undocumented: Slack answers `msg_blocks_too_long` from about
/// 13,200 on (<https://github.com/slackapi/bolt-js/issues/2509>, 2867), containers counted.
pub(super) const BLOCKS_JSON: usize = 12_000;
/// One block's text. Documented for sections and text objects; kept for rich text, where no limit is given.
pub(super) const BLOCK_TEXT: usize = 3_000;
/// A header's text.
pub(super) const HEADER: usize = 150;
/// A button's label.
pub(super) const BUTTON_LABEL: usize = 75;
/// A button's address.
pub(super) const BUTTON_URL: usize = 3_000;
/// A button's action id.
pub(super) const ACTION_ID: usize = 255;
/// Buttons in a row.
pub(super) const ROW: usize = 25;
/// All rows of buttons together as JSON, so that they leave room for what they are about.
pub(super) const BUTTONS_JSON: usize = 5_000;
/// How deep a list may be indented.
pub(super) const INDENT: usize = 8;
/// An address that stays a link; a longer one is shown as text.
pub(super) const LINK: usize = 2_000;
/// The plain text beside the blocks, for notifications and screen readers. Slack cuts at 40,000 and asks for
/// at most 4,000.
pub(super) const FALLBACK: usize = 3_500;
/// Small print, which grows by what breaks a mention and then still fits a text object.
pub(super) const NOTE: usize = 2_000;
