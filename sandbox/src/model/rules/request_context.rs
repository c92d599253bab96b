//! What the rules read from a request: the person's last message, the tools, and their results.

use chrono::NaiveDate;
use serde_json::{Map, Value, json};

use super::references::{PriorTurn, Reference, Referent, last_listed, last_referents, parse_selection};
use super::results;
use super::sentence::Intent;
use super::tasks;
use crate::model::script::Answer;

/// A request, parsed for the rules.
#[derive(Debug)]
pub(super) struct RequestContext<'a> {
    /// The last user message without a leading mention.
    pub text: String,
    /// What the person wants.
    pub intent: Intent,
    /// The person wants nothing else: the message ends with "that's all".
    is_all: bool,
    /// The first name of the person, from the line `- Name: …` of the system prompt.
    pub signer: Option<String>,
    /// Facts from the system prompt that people stated before: name and value.
    pub facts: Vec<(String, String)>,
    /// The mail thread that the hints next to the message name.
    pub thread: Option<String>,
    /// What was mentioned last, and what was listed last.
    things: [Vec<Referent>; 2],
    /// The hints name an open draft.
    pub draft_open: bool,
    /// A request of the person waits for approval.
    pub has_pending_request: bool,
    /// Author and text of the message in whose menu the person picked Nod.
    pub picked_message: Option<(String, String)>,
    /// The channel that the person looks at from the assistant thread, from the line `- Channel in view: <#C1>`.
    pub channel_in_view: Option<String>,
    /// Others read along, from the line `- Place: a channel that others read`.
    pub is_in_channel: bool,
    /// The person's day today, from the line `- Local time: Fri 6 Mar 2026, 15:00 WET`.
    pub today: Option<NaiveDate>,
    /// Tool results since that message: tool name and content.
    pub results: Vec<(String, String)>,
    /// The recipients of each of those calls.
    pub recipients: Vec<Option<String>>,
    /// The system texts.
    pub prompts: Vec<String>,
    tools: &'a [Value],
}

impl<'a> RequestContext<'a> {
    pub fn read(request: &'a Value) -> Self {
        let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let last = messages.iter().rposition(|message| message["role"] == "user");
        let said = last.and_then(|at| messages.get(at)).map(|message| text(&message["content"]));
        let after = last.map_or(messages, |at| messages.get(at + 1..).unwrap_or_default());
        let systems = messages.iter().filter(|m| m["role"] == "system" || m["role"] == "developer");
        let prompts: Vec<String> = systems.map(|message| text(&message["content"])).collect();
        let line = |name: &str| prompts.iter().find_map(|prompt| line(prompt, name));
        let name = line("- Name:").unwrap_or_default();
        let before = prior_turns(messages.get(..last.unwrap_or_default()).unwrap_or_default(), name);
        let asked = tasks::step_title(&prompts).or(said.as_deref()).unwrap_or_default();
        let text = without_mention(without_hints(asked));
        let (text, is_all) = match text.strip_suffix(", that's all") {
            Some(before) => (before.to_owned(), true),
            None => (text, false),
        };
        Self {
            is_all,
            intent: parse_selection(&text, &before).unwrap_or_else(|| Intent::read(&text)),
            text,
            things: [last_referents(&before), last_listed(&before)],
            draft_open: said.as_deref().and_then(|said| hinted(said, "open draft")).is_some(),
            has_pending_request: line("- Waiting for approval:").is_some(),
            picked_message: prompts.iter().find_map(|prompt| picked_message(prompt)),
            channel_in_view: line("- Channel in view:").map(str::to_owned),
            is_in_channel: line("- Place:").is_some_and(|place| place.starts_with("a channel")),
            today: line("- Local time:").and_then(day),
            thread: said.as_deref().and_then(|said| hinted(said, "mail thread in view")),
            signer: name.split_whitespace().next().map(str::to_owned),
            facts: prompts.iter().flat_map(|prompt| parse_facts(prompt)).collect(),
            results: results_of(after),
            recipients: recipients_of(after),
            prompts: prompts.clone(),
            tools: request["tools"].as_array().map(Vec::as_slice).unwrap_or_default(),
        }
    }

    /// Whether a tool is offered.
    pub fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool["function"]["name"] == name)
    }

    /// Returns a call of this tool with arguments fitted to its declared parameters; `None` if it is not offered.
    pub fn call(&self, name: &str, arguments: &Value) -> Option<Answer> {
        self.calls(name, std::slice::from_ref(arguments))
    }

    /// Same, once for each of these arguments.
    pub fn calls(&self, name: &str, all: &[Value]) -> Option<Answer> {
        let tool = self.tools.iter().find(|tool| tool["function"]["name"] == name)?;
        let parameters = &tool["function"]["parameters"];
        let whole = |arguments: &Value| {
            let mut arguments = arguments.clone();
            if self.is_all {
                arguments["more"] = json!(false);
            }
            fitted(parameters, &arguments)
        };
        Some(Answer::tools(all.iter().map(|arguments| (name, whole(arguments))).collect()))
    }

    /// Returns the draft, if reading it was the last call of this turn.
    pub fn draft(&self) -> Option<Value> {
        let (tool, content) = self.results.last()?;
        (tool == "gmail_read_draft").then(|| results::find_json(content)).flatten()
    }

    /// Returns what a reference such as "it" refers to.
    pub fn resolve_reference(&self, back: Reference) -> &[Referent] {
        let [spoken, listed] = &self.things;
        back.resolve(spoken, listed)
    }

    /// Returns the thread that a search in this turn found.
    pub fn found_thread(&self) -> Option<String> {
        self.results.iter().rev().find_map(|(_, content)| results::first_thread(content))
    }
}

/// Returns a message's text, given as one string or in parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Removes the hints that Nod appends to the person's message.
fn without_hints(said: &str) -> &str {
    said.split("\n\nRouting hints").next().unwrap_or_default()
}

fn hinted(said: &str, name: &str) -> Option<String> {
    let hints = said.split("\n\nRouting hints").nth(1)?;
    let line = hints.lines().find_map(|line| line.strip_prefix("- ")?.strip_prefix(name)?.strip_prefix(": "));
    line.map(|value| value.split(',').next().unwrap_or_default().to_owned())
}

fn without_mention(text: &str) -> String {
    let text = text.trim();
    let rest = match text.strip_prefix("<@").and_then(|rest| rest.split_once('>')) {
        Some((_, rest)) => rest,
        None => match text.get(..4) {
            Some(start) if start.eq_ignore_ascii_case("@nod") => text.get(4..).unwrap_or_default(),
            _ => text,
        },
    };
    rest.trim_start_matches([',', ':', ' ']).to_owned()
}

fn line<'a>(prompt: &'a str, name: &str) -> Option<&'a str> {
    prompt.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim)
}

fn day(time: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(time.split(',').next()?, "%a %d %b %Y").ok()
}

/// Returns the earlier turns of Nod and of this person. Nod prefixes each message with its author; others mean other
/// things by "it".
fn prior_turns(messages: &[Value], name: &str) -> Vec<PriorTurn> {
    let said = |message: &Value| {
        let text = text(&message["content"]);
        match message["role"].as_str()? {
            "assistant" => Some(PriorTurn::Nod(text)),
            "user" => {
                let own = text.strip_prefix(name)?.strip_prefix(": ")?;
                Some(PriorTurn::Person(without_mention(own)))
            }
            _ => None,
        }
    };
    messages.iter().filter_map(said).collect()
}

/// Parses a chat message between the markers of outside text.
fn picked_message(text: &str) -> Option<(String, String)> {
    let (begin, rest) = text.strip_prefix("outside ")?.split_once('\n')?;
    let author = begin.split_once(" begins (a chat message from ")?.1.strip_suffix(')')?;
    let (text, _) = rest.rsplit_once('\n')?;
    Some((author.to_owned(), text.to_owned()))
}

/// Parses the lines `- Launch: on Friday` below their heading.
fn parse_facts(prompt: &str) -> Vec<(String, String)> {
    let below = prompt.split("\n\nWhat people here said before").nth(1).unwrap_or_default();
    let lines = below.lines().skip(2).take_while(|line| !line.trim().is_empty());
    let pairs = lines.filter_map(|line| line.strip_prefix("- ")?.split_once(": "));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn results_of(after: &[Value]) -> Vec<(String, String)> {
    let name = |answer: &Value| call_of(after, answer)?["name"].as_str().map(str::to_owned);
    answers(after).map(|m| (name(m).unwrap_or_default(), text(&m["content"]))).collect()
}

fn recipients_of(after: &[Value]) -> Vec<Option<String>> {
    let to = |answer: &Value| {
        let arguments: Value = serde_json::from_str(call_of(after, answer)?["arguments"].as_str()?).ok()?;
        results::list_people(&arguments["to"])
    };
    answers(after).map(to).collect()
}

fn answers(after: &[Value]) -> impl Iterator<Item = &Value> {
    after.iter().filter(|message| message["role"] == "tool")
}

/// Returns the call that a tool result belongs to.
fn call_of<'a>(after: &'a [Value], answer: &Value) -> Option<&'a Value> {
    let mut calls = after.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    calls.find(|call| call["id"] == answer["tool_call_id"]).map(|call| &call["function"])
}

/// Keeps the arguments that the parameters declare, and adds required ones.
fn fitted(parameters: &Value, arguments: &Value) -> Value {
    let Some(properties) = parameters["properties"].as_object() else { return arguments.clone() };
    let mut fitted = Map::new();
    let required = parameters["required"].as_array();
    for (name, schema) in properties {
        let given = arguments.get(name).or_else(|| find_by_alias(name, arguments));
        let needed = required.is_some_and(|all| all.iter().any(|one| one == name));
        if given.is_some() || needed {
            fitted.insert(name.clone(), fit_to_schema(schema, given));
        }
    }
    Value::Object(fitted)
}

// The tool's schema can have another name for the same argument.
fn find_by_alias<'a>(name: &str, arguments: &'a Value) -> Option<&'a Value> {
    let other = match name {
        "id" | "threadId" | "thread" => "thread_id",
        "q" => "query",
        "text" | "content" => "body",
        _ => return None,
    };
    arguments.get(other)
}

/// Returns a value that the schema allows: the wanted one, the wanted one in another form, or an empty one.
pub(super) fn fit_to_schema(schema: &Value, wished: Option<&Value>) -> Value {
    let is_valid = |value: &Value| jsonschema::validator_for(schema).is_ok_and(|v| v.is_valid(value));
    if let Some(properties) = schema["properties"].as_object() {
        let inside = |(name, property): (&String, &Value)| {
            (name.clone(), fit_to_schema(property, wished.and_then(|wished| wished.get(name))))
        };
        return Value::Object(properties.iter().map(inside).collect());
    }
    let joined = wished
        .and_then(Value::as_array)
        .map(|all| json!(all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")));
    let alone = wished.map(|one| json!([one]));
    let first = schema["enum"].as_array().and_then(|all| all.first().cloned());
    let candidates =
        [wished.cloned(), joined, alone, Some(Value::Null), Some(json!([])), Some(json!("")), first];
    let rest = [json!(false), json!(0), json!({})];
    let mut all = candidates.into_iter().flatten().chain(rest);
    all.find(is_valid).unwrap_or(Value::Null)
}
