//! What Slack accepts in one message, in one place. Numbers count characters unless they say otherwise.

use chrono::TimeDelta;

/// The delay between two posts in one channel.
pub(super) const PAUSE: TimeDelta = TimeDelta::seconds(1);
/// Blocks in a view.
pub(super) const VIEW_BLOCKS: usize = 100;
/// A status line. Not documented; longer ones do not fit where it is shown.
pub(super) const STATUS: usize = 50;
/// A thread's title. Not documented; longer ones are cut where it is shown.
pub(super) const TITLE: usize = 60;
/// Suggested prompts of a thread.
pub(super) const PROMPTS: usize = 4;
/// Blocks in a message.
pub(super) const BLOCKS: usize = 50;
/// The blocks of a message together, as JSON. Undocumented: Slack answers `msg_blocks_too_long` from about 13,200 on
/// (<https://github.com/slackapi/bolt-js/issues/2509>, 2867), including containers.
pub(super) const BLOCKS_JSON: usize = 12_000;
/// The part of `BLOCKS_JSON` for a request's fields, risk lines and body; the rest is for its frame and the receipt.
pub(super) const REQUEST: usize = 9_000;
/// One block's text. Documented for sections and text objects; also used for rich text, which has no documented limit.
pub(super) const BLOCK_TEXT: usize = 3_000;
/// A header's text.
pub(super) const HEADER: usize = 150;
/// A button's label.
pub(super) const BUTTON_LABEL: usize = 75;
/// A button's URL.
pub(super) const BUTTON_URL: usize = 3_000;
/// A button's action id.
pub(super) const ACTION_ID: usize = 255;
/// Buttons in a row.
pub(super) const ROW: usize = 25;
/// All rows of buttons together as JSON, so that they leave room for the content.
pub(super) const BUTTONS_JSON: usize = 5_000;
/// How deep a list may be indented.
pub(super) const INDENT: usize = 8;
/// A URL that stays a link; a longer one is shown as text.
pub(super) const LINK: usize = 2_000;
/// The plain text next to the blocks, for notifications and screen readers. Slack cuts at 40,000 and recommends at most
/// 4,000.
pub(super) const FALLBACK: usize = 3_500;
/// What a stream shows before its end; Slack accepts 12,000 at once. The rest comes with the finished answer.
pub(super) const STREAM: usize = 10_000;
/// Small print. It grows when mentions are broken, and must still fit a text object then.
pub(super) const NOTE: usize = 2_000;
/// A modal's title and the labels of its two buttons.
pub(super) const VIEW_LABEL: usize = 24;
/// The value of one input.
pub(super) const INPUT: usize = 3_000;
/// An input's label.
pub(super) const FIELD_LABEL: usize = 2_000;
/// A validation error. Undocumented; a longer one would not be read.
pub(super) const ERROR: usize = 500;
/// A modal as JSON: 250,000 bytes, and a character can take several.
pub(super) const VIEW_JSON: usize = 150_000;
