//! Content of a person's mailbox and calendar appears in no other person's prompt, row, message or log line, whichever
//! tool returned it and wherever it was requested. A new tool without a case of its own fails this story.

use std::collections::BTreeSet;

use nod_sandbox::google::{Appointment, DraftEdit, Incoming};
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::{Value, json};

use crate::private::Log;
use crate::tidy::allows_tidying;

on_each_platform!(no_tool_lets_anything_out_wherever_it_is_called);

const ANA: &str = "ana@acme.test";

/// One word for each kind of content in Ana's mailbox and calendar; none appears anywhere else.
const SECRETS: [&str; 14] = [
    "Marmalade",   // a subject
    "Quicksilver", // a body
    "Zebrawood",   // a sender's name
    "halcyon",     // a sender's address
    "Obsidian",    // a file's name
    "Tamarind",    // a file's content
    "Periwinkle",  // a draft's subject
    "Saffron",     // an event's title
    "Juniper",     // its description
    "Cinnabar",    // its location
    "vermilion",   // a guest
    "Wintergreen", // an invitation's title
    "Marigold",    // a label
    "something else at that time",
];

/// Ana's data at the time of a tool call.
struct Mine {
    thread: String,
    message: String,
    draft: String,
    event: String,
    invitation: String,
}

/// What the model answers after the tool call.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    /// The model is not asked again: the result is the answer.
    Nothing,
    /// It confirms; none of Ana's content is in its view.
    Done,
    /// It repeats everything that it has seen.
    All,
}

/// How one tool is called.
struct Case {
    tool: &'static str,
    /// It works on an open draft that was edited by hand.
    draft: bool,
    args: fn(&Mine) -> Value,
    /// The buttons that Ana clicks, one after another, if she has to decide.
    presses: &'static [&'static str],
    /// It needs approval only if untrusted content is in view, as it is in the DM channel.
    seldom: bool,
    /// What the model answers once it has the result.
    then: Then,
}

const fn reads(tool: &'static str, args: fn(&Mine) -> Value) -> Case {
    acts(tool, &[], args)
}

const fn acts(tool: &'static str, presses: &'static [&'static str], args: fn(&Mine) -> Value) -> Case {
    Case { tool, draft: false, args, presses, seldom: false, then: Then::All }
}

const fn drafts(tool: &'static str, presses: &'static [&'static str], then: Then) -> Case {
    Case { draft: true, then, ..acts(tool, presses, |mine| json!({ "draft": mine.draft })) }
}

impl Case {
    /// Its result is already public in the chat, or comes from what was said there.
    const fn publicly(self) -> Self {
        self.then(Then::Done)
    }

    const fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }

    const fn on_a_draft(self) -> Self {
        Self { draft: true, ..self }
    }

    const fn seldom_asks(self) -> Self {
        Self { seldom: true, ..self }
    }
}

const CASES: [Case; 28] = [
    reads("gmail_list_recent", |_| json!({})),
    reads("gmail_search_messages", |_| json!({ "query": "in:inbox" })),
    reads("gmail_read_thread", |mine| json!({ "thread_id": mine.thread })),
    reads("gmail_read_attachment", |mine| json!({ "message_id": mine.message, "name": "Obsidian.csv" })),
    reads("gmail_list_labels", |_| json!({})),
    reads("gmail_list_drafts", |_| json!({})).on_a_draft(),
    reads("gmail_open_draft", |mine| json!({ "draft_id": mine.draft })).on_a_draft(),
    acts("gmail_organise", &["Approve"], |_| json!({ "search": "in:inbox", "actions": ["star"] }))
        .seldom_asks(),
    acts("gmail_create_label", &["Approve"], |mine| json!({ "name": mine.event })).seldom_asks(),
    acts(
        "gmail_reply",
        &["Approve & send"],
        |mine| json!({ "thread_id": mine.thread, "body": "Yes, gladly." }),
    ),
    acts(
        "gmail_forward",
        &["Approve & send"],
        |mine| json!({ "thread_id": mine.thread, "to": ["Bo"], "body": "See below." }),
    ),
    acts(
        "gmail_send_email",
        &["Approve & send"],
        |_| json!({ "to": ["Bo"], "subject": "Plan", "body": "See you." }),
    )
    .publicly(),
    // The name resolves only from her mail.
    acts(
        "gmail_send_email",
        &["Zebrawood Kim", "Approve & send"],
        |_| json!({ "to": ["Kim"], "subject": "Plan", "body": "See you." }),
    ),
    acts("gmail_draft_reply", &[], |mine| json!({ "thread_id": mine.thread, "body": "No, thanks." }))
        .then(Then::Nothing),
    acts("gmail_create_draft", &[], |_| json!({ "to": ["Bo"], "subject": "Plan", "body": "See you." }))
        .then(Then::Nothing),
    drafts("gmail_read_draft", &[], Then::All),
    drafts("gmail_update_draft", &[], Then::Nothing),
    drafts("gmail_send_draft", &["Approve & send"], Then::Nothing),
    // It was edited by hand, so the model is shown the current text.
    drafts("gmail_discard_draft", &[], Then::All),
    reads("calendar_list_upcoming", |_| json!({})),
    reads("calendar_get_agenda", |_| json!({ "when": "Monday" })),
    reads("calendar_find_free_slots", |_| json!({ "within": "Monday", "people": ["Bo"] })),
    acts(
        "calendar_create_event",
        &["Approve & invite"],
        |_| json!({ "title": "Lunch", "when": "Monday at 10", "minutes": 60, "guests": ["Bo"] }),
    )
    .publicly(),
    acts(
        "calendar_update_event",
        &["Approve & change"],
        |mine| json!({ "event": mine.event, "place": "Room 2" }),
    ),
    acts("calendar_cancel_event", &["Approve & cancel it"], |mine| json!({ "event": mine.event })),
    acts("calendar_respond", &["Answer No"], |mine| json!({ "event": mine.invitation, "answer": "no" })),
    reads("chat_read_channel", |_| json!({})).publicly(),
    reads("chat_read_thread", |_| json!({})).publicly(),
];

/// An answer with every secret, as from a model that keeps nothing private.
fn all_of_it() -> Answer {
    Answer::text(SECRETS.join(" "))
}

fn leaks(text: &str) -> Option<&'static str> {
    SECRETS.into_iter().find(|secret| text.contains(secret))
}

/// The place of a tool call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    /// A thread of its own in the shared channel.
    Channel,
    /// A thread there that another user began.
    Thread,
    /// The DM channel.
    Direct,
}

struct House {
    world: World,
    /// The number of model requests checked so far, and the shared threads with a tool call.
    asked: usize,
    threads: Vec<String>,
}

impl House {
    async fn on(platform: On) -> Self {
        let mut world = World::on(platform).await;
        world.connects("ana").await;
        allows_tidying(&mut world).await;
        world.can_be_written_to("bo").await;
        let csv = ("Obsidian.csv".to_owned(), "text/csv".to_owned(), b"Tamarind,1".to_vec());
        let mail = Incoming {
            to: ANA.to_owned(),
            from: "halcyon@northwind.test".to_owned(),
            from_name: "Zebrawood Kim".to_owned(),
            subject: "Marmalade".to_owned(),
            body: "Quicksilver it is.".to_owned(),
            files: vec![csv],
            ..Incoming::default()
        };
        world.google.settings(ANA, |ana| drop(ana.signatures.insert(ANA.into(), "Quicksilver".into())));
        world.google.deliver_mail(&mail).unwrap();
        world.google.make_label(ANA, "Marigold");
        let asked = world.model.requests().len();
        Self { world, asked, threads: Vec::new() }
    }

    fn mine(&self, draft: String) -> Mine {
        let google = &self.world.google;
        let event = Appointment {
            title: "Saffron".to_owned(),
            start: "2026-03-09 10:00".to_owned(),
            end: "2026-03-09 11:00".to_owned(),
            description: "Juniper".to_owned(),
            location: "Cinnabar".to_owned(),
            guests: vec!["vermilion@partner.example".to_owned()],
            ..Appointment::default()
        };
        let theirs = Some("vermilion@partner.example".to_owned());
        let invitation =
            Appointment { title: "Wintergreen".into(), organizer: theirs, guests: vec![], ..event.clone() };
        let mail = google.inbox(ANA)[0].clone();
        Mine {
            thread: mail.thread_id,
            message: mail.id,
            draft,
            event: google.add_event(ANA, &event).unwrap(),
            invitation: google.add_event(ANA, &invitation).unwrap(),
        }
    }

    /// Sends a message there, and returns its thread.
    async fn says(&self, user: &str, from: From, thread: Option<&str>, text: &str) -> String {
        match (from, thread) {
            (From::Direct, _) => self.world.says(user, &format!("dm:{user}"), text).await,
            (_, Some(thread)) => {
                self.world.replies(user, "general", thread, text).await;
                thread.to_owned()
            }
            (_, None) => self.world.says(user, "general", &format!("@nod {text}")).await,
        }
    }

    /// Calls the tool there for Ana, and approves everything that it asks.
    async fn calls(&mut self, case: &Case, from: From) {
        let mut thread = None;
        if from == From::Thread {
            self.world.model_will("conversational", [Answer::text("Hello.")]);
            thread = Some(self.says("bo", from, None, "hello").await);
        }
        let mut draft = String::new();
        if case.draft {
            let args = json!({ "to": ["Bo"], "subject": "Plan", "body": "See you." });
            self.world.model_will("tool", [Answer::tool("gmail_create_draft", args)]);
            let there = self.says("ana", from, thread.as_deref(), "draft a mail to Bo").await;
            thread = thread.or(Some(there));
            draft = self.world.google.drafts(ANA).pop().and_then(|draft| draft.draft_id).unwrap();
            let edit = DraftEdit { subject: Some("Periwinkle".to_owned()), ..DraftEdit::default() };
            assert!(self.world.google.edit_draft(ANA, &draft, &edit));
        }
        let mine = self.mine(draft);
        let mut answers = Vec::new();
        if case.tool == "gmail_update_draft" {
            answers.push(Answer::tool("gmail_read_draft", json!({ "draft": mine.draft })));
        }
        if case.tool == "gmail_read_attachment" {
            // The model needs this call to know the file's name.
            answers.push(Answer::tool("gmail_read_thread", json!({ "thread_id": mine.thread })));
        }
        let mut args = (case.args)(&mine);
        if case.tool == "gmail_update_draft" {
            args["body"] = json!("Shorter.");
        }
        answers.push(Answer::tool(case.tool, args));
        answers.extend(match case.then {
            Then::Nothing => None,
            Then::Done => Some(Answer::text("Done.")),
            Then::All => Some(all_of_it()),
        });
        self.world.model_will("tool", answers);
        let there = self.says("ana", from, thread.as_deref(), "do as I asked").await;
        let asks = !case.seldom || from == From::Direct;
        for begins in case.presses.iter().filter(|_| asks) {
            self.presses(begins, from).await;
        }
        self.seen_by_ana(case, from);
        if from != From::Direct {
            let thread = thread.unwrap_or(there);
            self.is_not_told_to_bo(&thread, case.tool).await;
            self.threads.push(thread);
        }
    }

    /// Ana clicks the button that begins like this, in the place where she was asked: the channel or her DM.
    async fn presses(&self, begins: &str, from: From) {
        let chat = &self.world.chat;
        let of = |place: &str| {
            let labels = chat.buttons(place).into_iter().map(|button| button.label);
            labels.rev().find(|label| label.starts_with(begins))
        };
        let places = [Some("general").filter(|_| from != From::Direct), Some("dm:ana")];
        let asked = places.into_iter().flatten().find_map(|place| Some((place, of(place)?)));
        let (place, label) = asked.unwrap_or_else(|| panic!("no [{begins}…]: {}", chat.everything()));
        self.world.presses("ana", place, &label).await;
    }

    /// Checks that every request with Ana's content was made for Ana.
    fn seen_by_ana(&mut self, case: &Case, from: From) {
        let requests = self.world.model.requests();
        for request in &requests[self.asked..] {
            let (said, shared) = (request.to_string(), from != From::Direct);
            let idle = case.tool == "chat_read_thread" && from != From::Thread;
            let failed = said.contains(r#""{\"error\":"#) && !idle;
            assert!(!failed, "{} {from:?} found nothing to work on: {said}", case.tool);
            let of_memory = request["response_format"]["json_schema"]["name"] == "memory";
            let leak = leaks(&said).filter(|_| of_memory && shared);
            assert!(leak.is_none(), "{} {from:?}: {leak:?} in the memory of a thread: {said}", case.tool);
            let of_bo = said.contains("- Name: Bo Lind");
            assert!(!of_bo || leaks(&said).is_none(), "{} {from:?}: {said}", case.tool);
        }
        self.asked = requests.len();
    }

    async fn is_not_told_to_bo(&mut self, thread: &str, tool: &str) {
        for said in ["what does it say?", "and what did Ana get?"] {
            self.world.model_will("conversational", [Answer::text("I cannot tell you that.")]);
            self.world.replies("bo", "general", thread, said).await;
        }
        self.nothing_was_asked_with_it(tool);
    }

    fn nothing_was_asked_with_it(&mut self, after: &str) {
        let requests = self.world.model.requests();
        for request in &requests[self.asked..] {
            let said = request.to_string();
            assert_eq!(leaks(&said), None, "in somebody else's prompt, after {after}: {said}");
        }
        self.asked = requests.len();
    }
}

async fn no_tool_lets_anything_out_wherever_it_is_called(platform: On) {
    let log = Log::default();
    let into = log.clone();
    let subscriber =
        nod_bot::logging::lines(Some("trace,sqlx=trace,hyper=trace"), move || into.clone(), false);
    let _here = tracing::subscriber::set_default(subscriber);
    let _second = tracing::Dispatch::new(nod_bot::logging::lines(None, std::io::sink, false));
    let mut house = House::on(platform).await;
    for case in &CASES {
        for from in [From::Channel, From::Thread, From::Direct] {
            house.calls(case, from).await;
        }
    }
    every_tool_has_a_case(&house.world);

    // The summary and the facts of a thread with a private answer.
    let thread = house.threads[0].clone();
    for said in ["one", "two", "please remember that the launch is on Monday", "three"] {
        house.world.model_will("conversational", [Answer::text("ok")]);
        house.world.replies("bo", "general", &thread, said).await;
    }
    house.world.model_will("conversational", [Answer::text("Nothing that I may tell.")]);
    house.world.says("bo", "dm:bo", "what is in Ana's mail?").await;
    house.nothing_was_asked_with_it("all");

    let mut world = house.world;
    let mut shown = world.reads("general") + &world.reads("dm:bo");
    for command in ["memory", "runs", "approvals"] {
        shown += &world.commands("bo", "general", command).await;
    }
    if platform == On::Slack {
        world.opens_home("bo").await;
        shown += &world.slack.home("bo");
    }
    assert_eq!(leaks(&shown), None, "{shown}");
    world.reads("dm:ana");
    let (rows, ana) = (world.rows().await, anas_id(&world).await);
    world.ends().await;
    // Not earlier: checking all rows takes seconds, in which nothing else of this test can run.
    every_row_is_anas(&rows, &ana);
    let said = log.said();
    assert!(said.contains("effect finished"), "nothing was logged");
    assert_eq!(leaks(&said), None, "{:?}", said.lines().find(|line| leaks(line).is_some()));
}

fn every_tool_has_a_case(world: &World) {
    let requests = world.model.requests();
    let offers = requests.iter().filter_map(|request| request["tools"].as_array()).flatten();
    let offered: BTreeSet<&str> = offers.filter_map(|offer| offer["function"]["name"].as_str()).collect();
    let cases: BTreeSet<&str> = CASES.iter().map(|case| case.tool).collect();
    assert_eq!(offered, cases, "a tool without a case, or a case without a tool");
}

/// The tables and columns that can contain Ana's content, and the column that makes a row hers.
const HERS: [(&str, &str, &[&str]); 9] = [
    ("messages", "only_for", &["turn", "outside"]),
    ("run_steps", "only_for", &["input", "output", "error"]),
    ("deliveries", "only_for", &["card"]),
    ("drafts", "only_for", &["draft", "outside"]),
    ("summaries", "only_for", &["text", "outside"]),
    ("runs", "person_id", &["state"]),
    ("approvals", "decider_id", &["preview", "risks", "sources"]),
    ("questions", "person_id", &["choices"]),
    ("effects", "person_id", &["payload", "recipients", "handle", "outcome"]),
];

async fn anas_id(world: &World) -> String {
    let id = sqlx::query_scalar("select id::text from people where full_name = 'Ana Silva'");
    id.fetch_one(&world.pool).await.unwrap()
}

fn every_row_is_anas(rows: &str, ana: &str) {
    let mut found = 0;
    for row in rows.lines() {
        let (table, row) = row.split_once(' ').unwrap();
        let row: Value = serde_json::from_str(row).unwrap();
        for (column, value) in row.as_object().unwrap() {
            let Some(secret) = leaks(&value.to_string()) else { continue };
            let of =
                HERS.iter().find(|(name, _, columns)| *name == table && columns.contains(&column.as_str()));
            let hers = of.is_some_and(|(_, whose, _)| row[*whose] == ana);
            assert!(hers, "{secret} in {table}.{column}: {row}");
            found += 1;
        }
    }
    assert!(found > 100, "the secrets were never in view: {found}");
}
