//! Parses one sentence: who it is for, what it is about, and what is wanted.

use super::calendar_plan::{CalendarPlan, EventReference};
use super::mails::{self, MailAction, MailReference};
use super::people::{NON_NAMES, recipients};
use super::references::Reference;

/// What the person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    Send(MailRequest),
    Draft(MailRequest),
    List,
    /// Gmail search words.
    Search(String),
    Read(MailReference),
    /// A change to the open draft.
    Open(DraftChange),
    Reply {
        to: MailReference,
        matter: MailContent,
        draft: bool,
    },
    Forward {
        mail: MailReference,
        to: Vec<String>,
        matter: MailContent,
    },
    Organise(MailReference, MailAction),
    Calendar(CalendarPlan),
    /// "summarise this channel"
    SumUpChannel,
    /// What Nod says for whoever picks one of its entries in a message's menu.
    ExplainPicked,
    AnswerPicked,
    /// Nothing to do, or nothing that the rules know.
    SmallTalk,
}

/// What to do with an open draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DraftChange {
    Shorter,
    Copy(Vec<String>),
    Subject(String),
    Send,
    Discard,
}

/// A mail as requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MailRequest {
    pub to: Vec<String>,
    pub cc: Vec<String>,
    /// A separate mail to each of them: "tell Bo and Cho each that …".
    pub sends_separately: bool,
    pub subject: Option<String>,
    pub content: MailContent,
}

/// How the content was phrased.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum MailContent {
    #[default]
    Nothing,
    /// "tell Bo I'm late", "saying that lunch is at one"
    Saying(String),
    /// "about the offsite"
    About(String),
    /// "ask Bo to bring the papers"
    Asking(String),
    /// "ask Bo whether lunch is on", "ask Bo what time lunch is"
    Question(String),
}

const POLITE: [&str; 20] = [
    "hey there",
    "hi there",
    "hello there",
    "hey",
    "hi",
    "hello",
    "good morning",
    "good afternoon",
    "good evening",
    "nod",
    "please",
    "can you",
    "could you",
    "would you",
    "will you",
    "go ahead and",
    "i want you to",
    "i need you to",
    "i'd like you to",
    "now",
];
const LETTERS: [&str; 10] = [
    "an email",
    "an e-mail",
    "a mail",
    "a note",
    "a message",
    "a reply",
    "a quick note",
    "a quick email",
    "an mail",
    "a quick message",
];
const FILLERS: [&str; 5] = ["email", "e-mail", "mail", "note", "to"];

const SENDING: [&str; 8] = ["tell", "let", "email", "e-mail", "mail", "write", "send", "message"];
const MAIL: [&str; 5] = ["mail", "inbox", "message", "thread", "conversation"];
const NEWS: [&str; 9] = ["new", "latest", "recent", "unread", "check", "show", "inbox", "list", "any"];
const SEARCHING: [&str; 5] = ["find", "search", "look for", "look up", "look through"];
/// Beginnings of requests to look at mail; "remind me to check my mail" is none.
const LOOKING: [&str; 34] = [
    "what",
    "what's",
    "what’s",
    "whats",
    "which",
    "any",
    "anything",
    "is there",
    "are there",
    "do i have",
    "have i",
    "did",
    "show",
    "check",
    "list",
    "get",
    "see",
    "give me",
    "tell me",
    "new",
    "latest",
    "newest",
    "recent",
    "unread",
    "mail from",
    "mails from",
    "email from",
    "emails from",
    "messages from",
    "mail about",
    "emails about",
    "messages about",
    "inbox",
    "my",
];

impl Intent {
    pub fn read(text: &str) -> Self {
        let text = strip_politeness(text.trim());
        let lower = text.to_lowercase();
        // Checked first: whatever the topic, "remember …" asks for no action.
        if starts(&lower, &["remember", "forget"]) {
            return Self::SmallTalk;
        }
        if after_verb(text, &["what is this message about"]).is_some() {
            return Self::ExplainPicked;
        }
        if after_verb(text, &["write a reply to this message"]).is_some() {
            return Self::AnswerPicked;
        }
        let summed_up = after_verb(&lower, &["summarise", "summarize", "sum up"]);
        if summed_up
            .is_some_and(|rest| starts(rest.trim_end_matches(['.', '!']), &["this channel", "the channel"]))
        {
            return Self::SumUpChannel;
        }
        if let Some(wish) = DraftChange::read(text).map(Self::Open) {
            return wish;
        }
        if let Some((to, matter, draft)) = mails::reply(text) {
            return Self::Reply { to, matter, draft };
        }
        if let Some((deed, mail)) = MailAction::read(text) {
            return Self::Organise(mail, deed);
        }
        if let Some((mail, to, matter)) = mails::forward(text) {
            return Self::Forward { mail, to, matter };
        }
        if let Some(plan) = CalendarPlan::read(text) {
            return Self::Calendar(plan);
        }
        if let Some(rest) = after_verb(text, &["draft", "write a draft", "prepare a draft", "prepare"]) {
            return Self::Draft(MailRequest::read(rest, false));
        }
        let asked = after_verb(text, &["ask"]).map(|rest| MailRequest::read(rest, true));
        let told = || {
            let rest = after_verb(text, &SENDING).filter(|_| !sends_a_thing(text))?;
            Some(MailRequest::read(rest, false))
        };
        let letter = asked.or_else(told);
        match letter {
            // "tell me what is new" is not a mail to send.
            Some(letter) if !letter.to.is_empty() => return Self::Send(letter),
            _ => {}
        }
        let about_mail = MAIL.iter().any(|word| lower.contains(word));
        if let Some(rest) =
            after_verb(text, &["read me", "read", "summarise", "summarize", "open", "show me"])
        {
            let which = MailReference::read(rest.trim_end_matches(['.', '!', '?']));
            let searched =
                || search_words(text).filter(|_| about_mail).map(|query| MailReference::Search(query, None));
            if let Some(mail) = which.or_else(searched) {
                return Self::Read(mail);
            }
            if about_mail {
                return Self::List;
            }
        }
        if let Some(name) = who_wrote(text) {
            return Self::Read(MailReference::Search(format!("from:{name}"), None));
        }
        let looks = about_mail && starts(&lower, &LOOKING);
        let searches = starts(&lower, &SEARCHING);
        if let Some(query) = search_words(text).filter(|_| searches || looks) {
            return Self::Search(query);
        }
        if looks && NEWS.iter().any(|word| lower.contains(word)) {
            return Self::List;
        }
        match letter {
            Some(letter) if about_mail => Self::Send(letter),
            _ => Self::SmallTalk,
        }
    }
}

impl Intent {
    /// Returns the same request for another mail or event.
    pub fn for_reference(self, back: Reference) -> Option<Self> {
        let mail = MailReference::Reference(back);
        Some(match self {
            Self::Calendar(CalendarPlan::ChangeEvent(_, change)) => {
                Self::Calendar(CalendarPlan::ChangeEvent(
                    EventReference { back: Some(back), ..EventReference::default() },
                    change,
                ))
            }
            Self::Read(_) => Self::Read(mail),
            Self::Organise(_, deed) => Self::Organise(mail, deed),
            Self::Reply { matter, draft, .. } => Self::Reply { to: mail, matter, draft },
            Self::Forward { to, matter, .. } => Self::Forward { mail, to, matter },
            _ => return None,
        })
    }
}

impl DraftChange {
    fn read(text: &str) -> Option<Self> {
        let bare = text.trim_end_matches(['.', '!']).to_lowercase();
        match bare.as_str() {
            "send" | "send it" | "send this" | "send the draft" => return Some(Self::Send),
            "discard it" | "discard" | "discard the draft" | "throw it away" => return Some(Self::Discard),
            "make it shorter" | "shorter" | "shorten it" | "make the draft shorter" => {
                return Some(Self::Shorter);
            }
            _ => {}
        }
        let subject = ["change the subject to", "set the subject to", "make the subject"];
        if let Some(rest) = after_verb(text, &subject) {
            return Some(Self::Subject(rest.trim_matches(['"', '“', '”']).to_owned()));
        }
        let (names, rest) = recipients(after_verb(text, &["add", "put", "cc", "copy"])?);
        let rest = rest.trim().trim_end_matches('.').to_lowercase();
        let copied =
            ["", "in copy", "in cc", "as cc", "to cc", "to the copy", "too"].contains(&rest.as_str());
        (copied && !names.is_empty()).then_some(Self::Copy(names))
    }
}

/// Returns the name in "what did Kim write?" and "what does Kim want?".
fn who_wrote(text: &str) -> Option<&str> {
    const WROTE: [&str; 6] = ["write", "say", "want", "send", "ask", "answer"];
    let rest = after_verb(text, &["what did", "what does", "what has"])?;
    let mut words = rest.trim_end_matches(['?', '.', '!']).split_whitespace();
    let (name, verb) = (words.next()?, words.next()?.to_lowercase());
    let is_name = name.starts_with(char::is_uppercase) && !NON_NAMES.contains(&name.to_lowercase().as_str());
    (is_name && words.next().is_none() && WROTE.iter().any(|wrote| verb.starts_with(wrote))).then_some(name)
}

/// "send flowers to Bo", "write code": not a mail, and "flowers" is not a name.
fn sends_a_thing(text: &str) -> bool {
    let Some(rest) = after_verb(text, &["send", "write"]) else { return false };
    let (first, after) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_letter = letters_off(rest) != rest || FILLERS.contains(&first) || letters_off(after) != after;
    first.chars().all(char::is_lowercase) && !is_letter
}

pub(super) fn starts(lower: &str, verbs: &[&str]) -> bool {
    verbs
        .iter()
        .any(|verb| lower.strip_prefix(verb).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}

pub(super) fn strip_politeness(mut text: &str) -> &str {
    'again: loop {
        for word in POLITE {
            if let Some(rest) = after_verb(text, &[word]) {
                text = rest;
                continue 'again;
            }
        }
        return text;
    }
}

/// Characters that can follow a word.
const AFTER: [char; 4] = [' ', ',', ':', '!'];

/// Returns what follows one of these words, if the text begins with it as a whole word.
pub(super) fn after_verb<'a>(text: &'a str, verbs: &[&str]) -> Option<&'a str> {
    verbs.iter().find_map(|verb| {
        let start = text.get(..verb.len())?;
        let rest = text.get(verb.len()..)?;
        let ends = rest.is_empty() || rest.starts_with(AFTER);
        (start.eq_ignore_ascii_case(verb) && ends).then(|| rest.trim_start_matches(AFTER))
    })
}

fn search_words(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    for (mark, operator) in
        [(" from ", "from:"), (" about ", ""), (" regarding ", ""), (" for ", ""), (" with ", "")]
    {
        // Lower-casing can shift bytes in rare scripts; then there is no match instead of a panic.
        if let Some(words) = lower.find(mark).and_then(|at| text.get(at + mark.len()..)) {
            let clean: String = words.chars().filter(|c| !":?!\"(){}".contains(*c)).collect();
            let clean = clean.trim().trim_end_matches('.').trim_start_matches("the ").to_owned();
            let clean = if operator.is_empty() { clean } else { clean.split_whitespace().next()?.to_owned() };
            let nobody = NON_NAMES.contains(&clean.to_lowercase().as_str());
            return (!clean.is_empty() && !nobody).then(|| format!("{operator}{clean}"));
        }
    }
    None
}

impl MailRequest {
    fn read(text: &str, asks: bool) -> Self {
        let mut letter = Self::default();
        let text = letter.take_subject(text);
        let text = letter.take_cc(&text);
        let (to, after) = recipients(fillers_off(&text));
        letter.to = to;
        // "let Bo know that …", "send Bo an email saying …"
        let after = after.trim_start_matches([',', ' ']);
        letter.sends_separately = after_verb(after, &["each"]).is_some();
        let rest = letters_off(after_verb(after, &["each"]).unwrap_or(after));
        let rest = after_verb(rest, &["know"]).unwrap_or(rest);
        letter.content = parse_content(rest, asks);
        letter
    }

    fn take_subject(&mut self, text: &str) -> String {
        for mark in ["with the subject ", "with subject ", "subject: "] {
            let Some(at) = text.find(mark) else { continue };
            let Some(quoted) = text[at + mark.len()..].strip_prefix(['"', '“']) else { continue };
            let Some((subject, after)) = quoted.split_once(['"', '”']) else { continue };
            self.subject = Some(subject.to_owned());
            return format!("{} {}", text[..at].trim_end(), after.trim_start());
        }
        text.to_owned()
    }

    fn take_cc(&mut self, text: &str) -> String {
        let mark = ["(cc ", ", cc ", " and cc ", " cc ", " cc: "]
            .iter()
            .find_map(|mark| Some((text.find(mark)?, mark)));
        let Some((at, mark)) = mark else { return text.to_owned() };
        let (cc, after) = recipients(&text[at + mark.len()..]);
        if cc.is_empty() {
            return text.to_owned();
        }
        self.cc = cc;
        format!("{} {}", text[..at].trim_end(), after.trim_start_matches([')', ',', ' '])).trim().to_owned()
    }
}

fn letters_off(text: &str) -> &str {
    after_verb(text, &LETTERS).unwrap_or(text)
}

fn fillers_off(text: &str) -> &str {
    let mut text = letters_off(text);
    while let Some(rest) = after_verb(text, &FILLERS) {
        text = rest;
    }
    text
}

pub(super) fn parse_content(text: &str, asks: bool) -> MailContent {
    let text = text.trim().trim_start_matches([':', ',', '-', ' ']);
    let owned = |text: &str| text.trim().trim_matches(['"', '“', '”']).to_owned();
    if text.is_empty() {
        return MailContent::Nothing;
    }
    if let Some(rest) = after_verb(text, &["whether", "if"]) {
        return MailContent::Question(format!("whether {}", owned(rest)));
    }
    if let Some(rest) = after_verb(text, &["about", "regarding", "on", "re"]) {
        return MailContent::About(owned(rest));
    }
    if let Some(rest) = after_verb(text, &["to say that", "to say", "saying that", "saying", "says", "that"])
    {
        return MailContent::Saying(owned(rest));
    }
    if let Some(rest) = after_verb(text, &["to"]) {
        return MailContent::Asking(owned(rest));
    }
    if let Some(rest) = after_verb(text, &["for"]).filter(|_| asks) {
        return MailContent::Asking(format!("send me {}", owned(rest)));
    }
    if asks { MailContent::Question(owned(text)) } else { MailContent::Saying(owned(text)) }
}
