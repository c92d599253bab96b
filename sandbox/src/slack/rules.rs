//! What Slack accepts in a message, written by hand: these rules apply with or without the vendor's specification.
//! Values are checked, and nothing is changed.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The longest `text` that is not truncated.
pub(super) const TEXT_MAX: usize = 40_000;
const MARKDOWN_MAX: usize = 12_000;
const METADATA_MAX: usize = 8_000;

/// The tokens of a date format: <https://docs.slack.dev/reference/block-kit/block-elements/date-element>.
const DATE_TOKENS: [&str; 13] = [
    "ago",
    "date",
    "date_long",
    "date_long_full",
    "date_long_pretty",
    "date_num",
    "date_pretty",
    "date_short",
    "date_short_pretty",
    "date_slash",
    "day_divider_pretty",
    "time",
    "time_secs",
];

const BLOCKS: [&str; 20] = [
    "actions",
    "alert",
    "card",
    "carousel",
    "container",
    "context",
    "context_actions",
    "data_table",
    "divider",
    "file",
    "header",
    "image",
    "input",
    "markdown",
    "plan",
    "rich_text",
    "section",
    "table",
    "task_card",
    "video",
];

/// The checked content of a message.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    pub text: Option<String>,
    pub blocks: Option<Vec<Value>>,
    pub attachments: Option<Vec<Value>>,
    pub metadata: Option<Value>,
}

/// Why a message is rejected: Slack's error code and sentences.
#[derive(Debug, Clone)]
pub(super) struct ContentError {
    pub error: &'static str,
    pub messages: Vec<String>,
}

impl ContentError {
    fn new(error: &'static str, message: impl Into<String>) -> Self {
        Self { error, messages: vec![message.into()] }
    }
}

/// Checks the content fields of `chat.*`, of acknowledgements and of response URLs.
pub(super) fn content(args: &Map<String, Value>) -> Result<Content, ContentError> {
    let text = text(args)?;
    let blocks = list(args, "blocks")?;
    if let Some(blocks) = &blocks {
        let broken = find_block_violations(blocks);
        if !broken.is_empty() {
            return Err(ContentError { error: "invalid_blocks", messages: broken });
        }
    }
    let metadata = args.get("metadata").filter(|m| !m.is_null()).cloned();
    if let Some(metadata) = &metadata {
        metadata_ok(metadata)?;
    }
    Ok(Content { text, blocks, attachments: list(args, "attachments")?, metadata })
}

impl Content {
    /// Returns whether there is nothing to show.
    pub(super) fn is_empty(&self) -> bool {
        let none = |list: &Option<Vec<Value>>| list.as_ref().is_none_or(Vec::is_empty);
        self.text.as_ref().is_none_or(String::is_empty) && none(&self.blocks) && none(&self.attachments)
    }
}

fn text(args: &Map<String, Value>) -> Result<Option<String>, ContentError> {
    let markdown = args.get("markdown_text").filter(|m| !m.is_null());
    let text = args.get("text").filter(|m| !m.is_null());
    let blocks = args.get("blocks").filter(|m| !m.is_null());
    let (found, max) = match (markdown, text) {
        (Some(_), Some(_)) => {
            return Err(ContentError::new("markdown_text_conflict", "markdown_text stands alone"));
        }
        (Some(_), None) if blocks.is_some() => {
            return Err(ContentError::new("markdown_text_conflict", "markdown_text stands alone"));
        }
        (Some(markdown), None) => (markdown, MARKDOWN_MAX),
        (None, Some(text)) => (text, TEXT_MAX),
        (None, None) => return Ok(None),
    };
    let Some(found) = found.as_str() else {
        return Err(ContentError::new("invalid_arguments", "[ERROR] text must be a string"));
    };
    if found.chars().count() > max {
        return Err(ContentError::new("msg_too_long", format!("text is longer than {max} characters")));
    }
    Ok(Some(found.to_owned()))
}

fn list(args: &Map<String, Value>, name: &str) -> Result<Option<Vec<Value>>, ContentError> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(_) if name == "blocks" => {
            Err(ContentError::new("invalid_blocks_format", "blocks must be a JSON array"))
        }
        Some(_) => Err(ContentError::new("invalid_arguments", format!("[ERROR] {name} must be an array"))),
    }
}

fn metadata_ok(metadata: &Value) -> Result<(), ContentError> {
    let shaped = metadata.as_object().is_some_and(|m| {
        m.get("event_type").and_then(Value::as_str).is_some_and(|t| !t.is_empty())
            && m.get("event_payload").is_some_and(Value::is_object)
            && m.keys().all(|k| k == "event_type" || k == "event_payload")
    });
    if !shaped {
        return Err(ContentError::new("invalid_metadata_format", "metadata is {event_type, event_payload}"));
    }
    if metadata.to_string().len() > METADATA_MAX {
        return Err(ContentError::new(
            "metadata_too_large",
            format!("metadata exceeds {METADATA_MAX} bytes"),
        ));
    }
    Ok(())
}

/// Returns every rule that these blocks break, as sentences.
pub(super) fn find_block_violations(blocks: &[Value]) -> Vec<String> {
    collect_block_violations(blocks, 50, false)
}

/// Returns the same for a modal, which allows more blocks and needs at least one.
pub(super) fn find_modal_block_violations(blocks: &[Value]) -> Vec<String> {
    let mut broken = collect_block_violations(blocks, 100, true);
    if blocks.is_empty() {
        broken.push("[ERROR] a view has 1 to 100 blocks".to_owned());
    }
    broken
}

fn collect_block_violations(blocks: &[Value], most: usize, in_view: bool) -> Vec<String> {
    let mut judge = Judge { in_view, ..Judge::default() };
    if blocks.len() > most {
        judge.say("", &format!("no more than {most} items allowed"));
    }
    for (at, block) in blocks.iter().enumerate() {
        judge.block(&format!("/blocks/{at}"), block);
    }
    judge.broken
}

/// Returns the errors in the blocks of a view, except their number.
pub(super) fn find_view_violations(blocks: &[Value]) -> Vec<String> {
    let mut judge = Judge { in_view: true, ..Judge::default() };
    for (at, block) in blocks.iter().enumerate() {
        judge.block(&format!("/view/blocks/{at}"), block);
    }
    judge.broken
}

#[derive(Default)]
struct Judge {
    /// Whether they are of a view, and not of a message.
    in_view: bool,
    broken: Vec<String>,
    block_ids: HashSet<String>,
    action_ids: HashSet<String>,
}

impl Judge {
    fn say(&mut self, at: &str, what: &str) {
        self.broken.push(format!("[ERROR] {what} [json-pointer:{at}]"));
    }

    fn block(&mut self, at: &str, block: &Value) {
        let kind = block["type"].as_str().unwrap_or_default();
        if !BLOCKS.contains(&kind) {
            return self.say(at, &format!("unsupported type: {kind}"));
        }
        self.id(at, block, "block_id");
        match kind {
            "section" => self.section(at, block),
            "header" => self.plain(at, &block["text"], 150),
            "context" => self.context(at, block),
            "actions" => {
                self.count(at, &block["elements"], 1, 25);
                self.elements(at, &block["elements"]);
            }
            "context_actions" if self.in_view => self.say(at, "context_actions belong to messages"),
            "context_actions" => self.context_actions(at, block),
            "markdown" => self.length(at, &block["text"], 1, MARKDOWN_MAX),
            "rich_text" => self.dates(at, block),
            "image" => {
                self.length(at, &block["alt_text"], 1, 2000);
                if block.get("image_url").is_none() && block.get("slack_file").is_none() {
                    self.say(at, "missing required field: image_url or slack_file");
                }
            }
            "input" => {
                self.plain(at, &block["label"], 2000);
                self.element(&format!("{at}/element"), &block["element"]);
                self.typing(&format!("{at}/element"), &block["element"]);
            }
            _ => {}
        }
    }

    /// Checks the dates in a rich text at any depth.
    fn dates(&mut self, at: &str, holder: &Value) {
        for (n, element) in holder["elements"].as_array().into_iter().flatten().enumerate() {
            let at = format!("{at}/elements/{n}");
            if element["type"] != "date" {
                self.dates(&at, element);
                continue;
            }
            if !matches!(holder["type"].as_str(), Some("rich_text_section" | "rich_text_quote")) {
                self.say(&at, "a date stands in a section, a quote or a list's item");
            }
            if element["timestamp"].as_i64().is_none_or(|at| at <= 0) {
                self.say(&at, "timestamp is a whole number of seconds");
            }
            let format = element["format"].as_str().unwrap_or_default();
            let tokens: Vec<&str> =
                format.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or_default()).collect();
            if tokens.is_empty() || !tokens.iter().all(|token| DATE_TOKENS.contains(token)) {
                self.say(&at, &format!("\"{format}\" is no format of a date"));
            }
            if !element["fallback"].is_null() {
                self.length(&at, &element["fallback"], 1, 3000);
            }
            let known = ["type", "timestamp", "format", "timezone", "url", "fallback", "style"];
            self.known_fields(&at, element, &known);
        }
    }

    fn section(&mut self, at: &str, block: &Value) {
        let fields = block.get("fields").filter(|f| !f.is_null());
        match block.get("text").filter(|t| !t.is_null()) {
            Some(text) => self.text(&format!("{at}/text"), text, 3000),
            None if fields.is_none() => self.say(at, "missing required field: text or fields"),
            None => {}
        }
        if let Some(fields) = fields {
            self.count(at, fields, 1, 10);
            for (n, field) in fields.as_array().into_iter().flatten().enumerate() {
                self.text(&format!("{at}/fields/{n}"), field, 2000);
            }
        }
        if let Some(accessory) = block.get("accessory").filter(|a| !a.is_null()) {
            self.element(&format!("{at}/accessory"), accessory);
        }
    }

    fn context(&mut self, at: &str, block: &Value) {
        self.count(at, &block["elements"], 1, 10);
        for (n, element) in block["elements"].as_array().into_iter().flatten().enumerate() {
            let at = format!("{at}/elements/{n}");
            if element["type"] == "image" {
                self.length(&at, &element["alt_text"], 1, 2000);
            } else {
                self.text(&at, element, 3000);
            }
        }
    }

    /// Checks buttons in small print (<https://docs.slack.dev/reference/block-kit/blocks/context-actions-block>).
    fn context_actions(&mut self, at: &str, block: &Value) {
        self.known_fields(at, block, &["type", "block_id", "elements"]);
        self.count(at, &block["elements"], 1, 5);
        for (n, element) in block["elements"].as_array().into_iter().flatten().enumerate() {
            let at = format!("{at}/elements/{n}");
            self.id(&at, element, "action_id");
            match element["type"].as_str() {
                Some("feedback_buttons") => self.feedback_buttons(&at, element),
                Some("icon_button") => {
                    self.plain(&format!("{at}/text"), &element["text"], 75);
                    self.length(&format!("{at}/icon"), &element["icon"], 1, 75);
                    self.optional(&at, &element["value"], 2000);
                }
                _ => self.say(&at, "must be feedback_buttons or icon_button"),
            }
        }
    }

    /// <https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element>
    fn feedback_buttons(&mut self, at: &str, element: &Value) {
        self.known_fields(at, element, &["type", "action_id", "positive_button", "negative_button"]);
        for name in ["positive_button", "negative_button"] {
            let (at, button) = (format!("{at}/{name}"), &element[name]);
            self.known_fields(&at, button, &["text", "value", "accessibility_label"]);
            self.plain(&format!("{at}/text"), &button["text"], 75);
            self.length(&format!("{at}/value"), &button["value"], 1, 2000);
            if !button["accessibility_label"].is_null() {
                self.length(&format!("{at}/accessibility_label"), &button["accessibility_label"], 1, 75);
            }
        }
    }

    fn known_fields(&mut self, at: &str, holder: &Value, known: &[&str]) {
        for name in holder.as_object().into_iter().flat_map(Map::keys) {
            if !known.contains(&name.as_str()) {
                self.say(at, &format!("unknown field: {name}"));
            }
        }
    }

    fn elements(&mut self, at: &str, elements: &Value) {
        for (n, element) in elements.as_array().into_iter().flatten().enumerate() {
            self.element(&format!("{at}/elements/{n}"), element);
        }
    }

    fn element(&mut self, at: &str, element: &Value) {
        let Some(kind) = element["type"].as_str() else {
            return self.say(at, "missing required field: type");
        };
        if kind == "image" {
            return;
        }
        if matches!(kind, "feedback_buttons" | "icon_button") {
            return self.say(at, &format!("{kind} belongs to context_actions"));
        }
        self.id(at, element, "action_id");
        if kind == "button" {
            self.plain(&format!("{at}/text"), &element["text"], 75);
            self.optional(at, &element["value"], 2000);
            self.optional(at, &element["url"], 3000);
            if !matches!(element["style"].as_str(), None | Some("primary" | "danger")) {
                self.say(at, "style is primary or danger");
            }
        }
        for option in element["options"].as_array().into_iter().flatten() {
            self.length(at, &option["text"]["text"], 1, 75);
            self.length(at, &option["value"], 1, 150);
        }
    }

    /// Checks the limits of an input's text, and its initial value.
    fn typing(&mut self, at: &str, element: &Value) {
        let most = element["max_length"].as_u64().unwrap_or(3_000);
        let least = element["min_length"].as_u64().unwrap_or_default();
        if !(1..=3_000).contains(&most) || least > most {
            self.say(at, "max_length is 1 to 3000 and not below min_length");
        }
        let first = element["initial_value"].as_str();
        if first.is_some_and(|text| text.is_empty() || text.chars().count() as u64 > most) {
            self.say(at, "initial_value has 1 to max_length characters");
        }
        if first.is_some_and(|text| text.contains('\n')) && element["multiline"] != true {
            self.say(at, "initial_value has one line where multiline is not set");
        }
    }

    fn id(&mut self, at: &str, holder: &Value, field: &str) {
        let Some(id) = holder.get(field).filter(|i| !i.is_null()) else { return };
        let Some(id) = id.as_str().filter(|i| (1..=255).contains(&i.chars().count())) else {
            return self.say(at, &format!("{field} has 1 to 255 characters"));
        };
        let ids = if field == "block_id" { &mut self.block_ids } else { &mut self.action_ids };
        if !ids.insert(id.to_owned()) {
            self.say(at, &format!("{field} \"{id}\" already exists"));
        }
    }

    fn plain(&mut self, at: &str, text: &Value, max: usize) {
        if text["type"] != "plain_text" {
            self.say(at, "must be plain_text");
        }
        self.length(at, &text["text"], 1, max);
    }

    fn text(&mut self, at: &str, text: &Value, max: usize) {
        if !matches!(text["type"].as_str(), Some("mrkdwn" | "plain_text")) {
            self.say(at, "must be mrkdwn or plain_text");
        }
        if text["type"] == "mrkdwn" && text.get("emoji").is_some_and(|e| !e.is_null()) {
            self.say(at, "emoji belongs to plain_text");
        }
        self.length(at, &text["text"], 1, max);
    }

    fn length(&mut self, at: &str, text: &Value, min: usize, max: usize) {
        match text.as_str().map(|t| t.chars().count()) {
            None => self.say(at, "missing required text"),
            Some(n) if n < min => self.say(at, &format!("must be more than {} characters", min - 1)),
            Some(n) if n > max => self.say(at, &format!("must be less than {} characters", max + 1)),
            Some(_) => {}
        }
    }

    fn optional(&mut self, at: &str, text: &Value, max: usize) {
        if !text.is_null() {
            self.length(at, text, 0, max);
        }
    }

    fn count(&mut self, at: &str, items: &Value, min: usize, max: usize) {
        let n = items.as_array().map_or(0, Vec::len);
        if n < min || n > max {
            self.say(at, &format!("has {n} items where {min} to {max} are allowed"));
        }
    }
}
