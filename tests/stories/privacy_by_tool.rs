//! Content of a person's mailbox and calendar appears in no other person's prompt, row, message or log line, whichever
//! tool returned it and wherever it was requested. A new tool without a case of its own fails this story.

use std::collections::BTreeSet;

use nod_sandbox::google::{DraftEdit, IncomingMail, NewEvent};
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{SharedFile, World};
use serde_json::{Value, json};

use crate::privacy::CapturedLog;
use crate::tasks::{finish, plan, result};

on_each_platform!(no_tool_lets_anything_out_wherever_it_is_called);

const ANA: &str = "ana@acme.test";

/// One word for each kind of content in Ana's mailbox and calendar; none appears anywhere else.
const SECRETS: [&str; 17] = [
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
    "Malachite",   // a document's name
    "Carnelian",   // its text
    "Heliodor",    // the result of a task
    "something else at that time",
];

/// Ana's data at the time of a tool call.
struct AnasData {
    thread: String,
    message: String,
    draft: String,
    event: String,
    invitation: String,
}

/// What the model answers after the tool call.
#[derive(Clone, Copy, PartialEq)]
enum FollowUpAnswer {
    /// The model is not asked again: the result is the answer.
    Nothing,
    /// It confirms; none of Ana's content is in its view.
    Done,
    /// It says that it does not know, as the check of an answer from documents allows.
    Unknown,
    /// It repeats everything that it has seen.
    Everything,
}

/// How one tool is called.
struct ToolCase {
    tool: &'static str,
    /// It works on an open draft that was edited by hand.
    draft: bool,
    args: fn(&AnasData) -> Value,
    /// The buttons that Ana clicks, one after another, if she has to decide.
    clicks: &'static [&'static str],
    /// It needs approval only if untrusted content is in view, as it is in the DM channel.
    seldom: bool,
    /// What the model answers once it has the result.
    then: FollowUpAnswer,
}

const fn read_case(tool: &'static str, args: fn(&AnasData) -> Value) -> ToolCase {
    act_case(tool, &[], args)
}

const fn act_case(
    tool: &'static str,
    presses: &'static [&'static str],
    args: fn(&AnasData) -> Value,
) -> ToolCase {
    ToolCase { tool, draft: false, args, clicks: presses, seldom: false, then: FollowUpAnswer::Everything }
}

const fn draft_case(tool: &'static str, presses: &'static [&'static str], then: FollowUpAnswer) -> ToolCase {
    ToolCase { draft: true, then, ..act_case(tool, presses, |mine| json!({ "draft": mine.draft })) }
}

impl ToolCase {
    /// Its result is already public in the chat, or comes from what was said there.
    const fn with_public_result(self) -> Self {
        self.with_follow_up(FollowUpAnswer::Done)
    }

    const fn with_follow_up(self, then: FollowUpAnswer) -> Self {
        Self { then, ..self }
    }

    const fn with_draft(self) -> Self {
        Self { draft: true, ..self }
    }

    const fn with_rare_approval(self) -> Self {
        Self { seldom: true, ..self }
    }
}

const CASES: [ToolCase; 37] = [
    // In a channel nothing of hers is found.
    read_case("retrieve_knowledge_base", |_| json!({ "query": "which stone" }))
        .with_follow_up(FollowUpAnswer::Unknown),
    read_case("find_in_document", |_| json!({ "document": "Mala", "words": "stone" }))
        .with_follow_up(FollowUpAnswer::Unknown),
    read_case("open_document", |_| json!({ "document": "Mala" })).with_follow_up(FollowUpAnswer::Unknown),
    read_case("list_documents", |_| json!({})).with_follow_up(FollowUpAnswer::Nothing),
    read_case("list_approvals", |_| json!({})).with_follow_up(FollowUpAnswer::Nothing),
    read_case("list_drafts", |_| json!({})).with_follow_up(FollowUpAnswer::Nothing),
    read_case("list_connections", |_| json!({})).with_follow_up(FollowUpAnswer::Nothing),
    read_case("list_tasks", |_| json!({})).with_follow_up(FollowUpAnswer::Nothing),
    read_case("get_task_result", |_| json!({ "task": "stone" })),
    read_case("gmail_list_recent", |_| json!({})),
    read_case("gmail_search_messages", |_| json!({ "query": "in:inbox" })),
    read_case("gmail_read_thread", |mine| json!({ "thread_id": mine.thread })),
    read_case("gmail_read_attachment", |mine| json!({ "message_id": mine.message, "name": "Obsidian.csv" })),
    read_case("gmail_list_labels", |_| json!({})),
    read_case("gmail_list_drafts", |_| json!({})).with_draft(),
    read_case("gmail_open_draft", |mine| json!({ "draft_id": mine.draft })).with_draft(),
    act_case("gmail_organise", &["Approve"], |_| json!({ "search": "in:inbox", "actions": ["star"] }))
        .with_rare_approval(),
    act_case("gmail_create_label", &["Approve"], |mine| json!({ "name": mine.event })).with_rare_approval(),
    act_case(
        "gmail_reply",
        &["Approve & send"],
        |mine| json!({ "thread_id": mine.thread, "body": "Yes, gladly." }),
    ),
    act_case(
        "gmail_forward",
        &["Approve & send"],
        |mine| json!({ "thread_id": mine.thread, "to": ["Bo"], "body": "See below." }),
    ),
    act_case(
        "gmail_send_email",
        &["Approve & send"],
        |_| json!({ "to": ["Bo"], "subject": "Plan", "body": "See you." }),
    )
    .with_public_result(),
    // The name resolves only from her mail.
    act_case(
        "gmail_send_email",
        &["Zebrawood Kim", "Approve & send"],
        |_| json!({ "to": ["Kim"], "subject": "Plan", "body": "See you." }),
    ),
    act_case("gmail_draft_reply", &[], |mine| json!({ "thread_id": mine.thread, "body": "No, thanks." }))
        .with_follow_up(FollowUpAnswer::Nothing),
    act_case("gmail_create_draft", &[], |_| json!({ "to": ["Bo"], "subject": "Plan", "body": "See you." }))
        .with_follow_up(FollowUpAnswer::Nothing),
    draft_case("gmail_read_draft", &[], FollowUpAnswer::Everything),
    draft_case("gmail_update_draft", &[], FollowUpAnswer::Nothing),
    draft_case("gmail_send_draft", &["Approve & send"], FollowUpAnswer::Nothing),
    // It was edited by hand, so the model is shown the current text.
    draft_case("gmail_discard_draft", &[], FollowUpAnswer::Everything),
    read_case("calendar_list_upcoming", |_| json!({})),
    read_case("calendar_get_agenda", |_| json!({ "when": "Monday" })),
    read_case("calendar_find_free_slots", |_| json!({ "within": "Monday", "people": ["Bo"] })),
    act_case(
        "calendar_create_event",
        &["Approve & invite"],
        |_| json!({ "title": "Lunch", "when": "Monday at 10", "minutes": 60, "guests": ["Bo"] }),
    )
    .with_public_result(),
    act_case(
        "calendar_update_event",
        &["Approve & update"],
        |mine| json!({ "event": mine.event, "place": "Room 2" }),
    ),
    act_case("calendar_cancel_event", &["Approve & cancel event"], |mine| json!({ "event": mine.event })),
    act_case(
        "calendar_respond",
        &["Approve & answer No"],
        |mine| json!({ "event": mine.invitation, "answer": "no" }),
    ),
    read_case("chat_read_channel", |_| json!({})).with_public_result(),
    read_case("chat_read_thread", |_| json!({})).with_public_result(),
];

/// An answer with every secret, as from a model that keeps nothing private.
fn all_secrets_answer() -> Answer {
    Answer::text(SECRETS.join(" "))
}

fn find_leak(text: &str) -> Option<&'static str> {
    SECRETS.into_iter().find(|secret| text.contains(secret))
}

/// The place of a tool call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CallSite {
    /// A thread of its own in the shared channel.
    Channel,
    /// A thread there that another user began.
    Thread,
    /// The DM channel.
    Direct,
}

struct Fixture {
    world: World,
    /// The number of model requests checked so far, and the shared threads with a tool call.
    asked: usize,
    threads: Vec<String>,
}

impl Fixture {
    async fn new_on(platform: Platform) -> Self {
        let mut world = World::new_on(platform).await;
        world.connect_google("ana").await;
        world.make_mail_address_known("bo").await;
        let csv = ("Obsidian.csv".to_owned(), "text/csv".to_owned(), b"Tamarind,1".to_vec());
        let mail = IncomingMail {
            to: ANA.to_owned(),
            from: "halcyon@northwind.test".to_owned(),
            from_name: "Zebrawood Kim".to_owned(),
            subject: "Marmalade".to_owned(),
            body: "Quicksilver it is.".to_owned(),
            files: vec![csv],
            ..IncomingMail::default()
        };
        world.google.settings(ANA, |ana| drop(ana.signatures.insert(ANA.into(), "Quicksilver".into())));
        world.google.deliver_mail(&mail).unwrap();
        world.google.create_label(ANA, "Marigold");
        let document = SharedFile::new("Malachite.txt", "text/plain", "The stone is Carnelian.");
        world.share_file("ana", "dm:ana", "keep this", &document).await;
        plan(&world, &["Look"]);
        world.model.will(Answer::tool("gmail_list_recent", json!({})));
        world.model.will(finish("Found.", "It is Heliodor."));
        result(&world, "It is found.", "It is Heliodor.");
        world.run_command("ana", "dm:ana", "task find the stone in my mail").await;
        let asked = world.model.requests().len();
        Self { world, asked, threads: Vec::new() }
    }

    fn anas_data(&self, draft: String) -> AnasData {
        let google = &self.world.google;
        let event = NewEvent {
            title: "Saffron".to_owned(),
            start: "2026-03-09 10:00".to_owned(),
            end: "2026-03-09 11:00".to_owned(),
            description: "Juniper".to_owned(),
            location: "Cinnabar".to_owned(),
            guests: vec!["vermilion@partner.example".to_owned()],
            ..NewEvent::default()
        };
        let theirs = Some("vermilion@partner.example".to_owned());
        let invitation =
            NewEvent { title: "Wintergreen".into(), organizer: theirs, guests: vec![], ..event.clone() };
        let mail = google.inbox(ANA)[0].clone();
        AnasData {
            thread: mail.thread_id,
            message: mail.id,
            draft,
            event: google.add_event(ANA, &event).unwrap(),
            invitation: google.add_event(ANA, &invitation).unwrap(),
        }
    }

    /// Sends a message there, and returns its thread.
    async fn say(&self, user: &str, from: CallSite, thread: Option<&str>, text: &str) -> String {
        match (from, thread) {
            (CallSite::Direct, _) => self.world.say(user, &format!("dm:{user}"), text).await,
            (_, Some(thread)) => {
                self.world.reply(user, "general", thread, text).await;
                thread.to_owned()
            }
            (_, None) => self.world.say(user, "general", &format!("@nod {text}")).await,
        }
    }

    /// Calls the tool there for Ana, and approves everything that it asks.
    async fn call_tool(&mut self, case: &ToolCase, from: CallSite) {
        let mut thread = None;
        if from == CallSite::Thread {
            self.world.script_model("conversational", [Answer::text("Hello.")]);
            thread = Some(self.say("bo", from, None, "hello").await);
        }
        let mut draft = String::new();
        if case.draft {
            let args = json!({ "to": ["Bo"], "subject": "Plan", "body": "See you." });
            self.world.script_model("tool", [Answer::tool("gmail_create_draft", args)]);
            let there = self.say("ana", from, thread.as_deref(), "draft a mail to Bo").await;
            thread = thread.or(Some(there));
            draft = self.world.google.drafts(ANA).pop().and_then(|draft| draft.draft_id).unwrap();
            let edit = DraftEdit { subject: Some("Periwinkle".to_owned()), ..DraftEdit::default() };
            assert!(self.world.google.edit_draft(ANA, &draft, &edit));
        }
        let mine = self.anas_data(draft);
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
            FollowUpAnswer::Nothing => None,
            FollowUpAnswer::Done => Some(Answer::text("Done.")),
            FollowUpAnswer::Unknown => Some(Answer::text("I do not know.")),
            FollowUpAnswer::Everything => Some(all_secrets_answer()),
        });
        self.world.script_model("tool", answers);
        let there = self.say("ana", from, thread.as_deref(), "do as I asked").await;
        let asks = !case.seldom || from == CallSite::Direct;
        for begins in case.clicks.iter().filter(|_| asks) {
            self.click(begins, from).await;
        }
        self.check_prompts(case, from);
        if from != CallSite::Direct {
            let thread = thread.unwrap_or(there);
            self.assert_hidden_from_bo(&thread, case.tool).await;
            self.threads.push(thread);
        }
    }

    /// Ana clicks the button that begins like this, in the place where she was asked: the channel or her DM.
    async fn click(&self, begins: &str, from: CallSite) {
        let chat = &self.world.chat;
        let of = |place: &str| {
            let labels = chat.buttons(place).into_iter().map(|button| button.label);
            labels.rev().find(|label| label.starts_with(begins))
        };
        let places = [Some("general").filter(|_| from != CallSite::Direct), Some("dm:ana")];
        let asked = places.into_iter().flatten().find_map(|place| Some((place, of(place)?)));
        let (place, label) = asked.unwrap_or_else(|| panic!("no [{begins}…]: {}", chat.dump()));
        self.world.click("ana", place, &label).await;
    }

    /// Checks that every request with Ana's content was made for Ana.
    fn check_prompts(&mut self, case: &ToolCase, from: CallSite) {
        let requests = self.world.model.requests();
        for request in &requests[self.asked..] {
            let (said, shared) = (request.to_string(), from != CallSite::Direct);
            let idle = case.tool == "chat_read_thread" && from != CallSite::Thread;
            let failed = said.contains(r#""{\"error\":"#) && !idle;
            assert!(!failed, "{} {from:?} found nothing to work on: {said}", case.tool);
            let of_memory = request["response_format"]["json_schema"]["name"] == "memory";
            let leak = find_leak(&said).filter(|_| of_memory && shared);
            assert!(leak.is_none(), "{} {from:?}: {leak:?} in the memory of a thread: {said}", case.tool);
            let of_bo = said.contains("- Name: Bo Lind");
            assert!(!of_bo || find_leak(&said).is_none(), "{} {from:?}: {said}", case.tool);
        }
        self.asked = requests.len();
    }

    async fn assert_hidden_from_bo(&mut self, thread: &str, tool: &str) {
        for said in ["what does it say?", "and what did Ana get?"] {
            self.world.script_model("conversational", [Answer::text("I cannot tell you that.")]);
            self.world.reply("bo", "general", thread, said).await;
        }
        self.assert_prompts_clean(tool);
    }

    fn assert_prompts_clean(&mut self, after: &str) {
        let requests = self.world.model.requests();
        for request in &requests[self.asked..] {
            let said = request.to_string();
            assert_eq!(find_leak(&said), None, "in somebody else's prompt, after {after}: {said}");
        }
        self.asked = requests.len();
    }
}

async fn no_tool_lets_anything_out_wherever_it_is_called(platform: Platform) {
    let log = CapturedLog::default();
    let into = log.clone();
    let subscriber =
        nod_bot::logging::subscriber_for(Some("trace,sqlx=trace,hyper=trace"), move || into.clone(), false);
    let _here = tracing::subscriber::set_default(subscriber);
    let _second = tracing::Dispatch::new(nod_bot::logging::subscriber_for(None, std::io::sink, false));
    let mut house = Fixture::new_on(platform).await;
    for case in &CASES {
        for from in [CallSite::Channel, CallSite::Thread, CallSite::Direct] {
            house.call_tool(case, from).await;
        }
    }
    every_tool_has_a_case(&house.world);

    // The summary and the facts of a thread with a private answer.
    let thread = house.threads[0].clone();
    for said in ["one", "two", "please remember that the launch is on Monday", "three"] {
        house.world.script_model("conversational", [Answer::text("ok")]);
        house.world.reply("bo", "general", &thread, said).await;
    }
    house.world.script_model("conversational", [Answer::text("Nothing that I may tell.")]);
    house.world.say("bo", "dm:bo", "what is in Ana's mail?").await;
    house.assert_prompts_clean("all");

    let mut world = house.world;
    let mut shown = world.read_new("general") + &world.read_new("dm:bo");
    for command in ["memory", "runs", "approvals"] {
        shown += &world.run_command("bo", "general", command).await;
    }
    if platform == Platform::Slack {
        world.open_home("bo").await;
        shown += &world.slack.home("bo");
    }
    assert_eq!(find_leak(&shown), None, "{shown}");
    world.read_new("dm:ana");
    let (rows, ana) = (world.dump_rows().await, load_ana_id(&world).await);
    world.finish().await;
    // Not earlier: checking all rows takes seconds, in which nothing else of this test can run.
    assert_rows_owned_by_ana(&rows, &ana);
    let said = log.text();
    assert!(said.contains("effect finished"), "nothing was logged");
    assert_eq!(find_leak(&said), None, "{:?}", said.lines().find(|line| find_leak(line).is_some()));
}

fn every_tool_has_a_case(world: &World) {
    let requests = world.model.requests();
    let offers = requests.iter().filter_map(|request| request["tools"].as_array()).flatten();
    let names = offers.filter_map(|offer| offer["function"]["name"].as_str());
    // A task's step has some more, which only hand on what it knows.
    let of_steps = ["ask_user", "create_file", "finish_step"];
    let offered: BTreeSet<&str> = names.filter(|name| !of_steps.contains(name)).collect();
    let cases: BTreeSet<&str> = CASES.iter().map(|case| case.tool).collect();
    assert_eq!(offered, cases, "a tool without a case, or a case without a tool");
}

/// The tables and columns that can contain Ana's content, and the column that makes a row hers.
const OWNED_ROWS: [(&str, &str, &[&str]); 15] = [
    ("tasks", "only_for", &["summary", "result", "untrusted_sources"]),
    ("task_steps", "only_for", &["summary", "output", "untrusted_sources"]),
    ("messages", "only_for", &["turn", "untrusted_sources"]),
    ("step_records", "only_for", &["steps"]),
    ("recalled_contexts", "only_for", &["body"]),
    ("deliveries", "only_for", &["card"]),
    ("documents", "only_for", &["title", "url"]),
    ("document_chunks", "only_for", &["text"]),
    ("rag_context", "only_for", &["title", "place", "quote"]),
    ("drafts", "only_for", &["draft", "untrusted_sources"]),
    ("summaries", "only_for", &["text", "untrusted_sources"]),
    ("runs", "person_id", &["state"]),
    ("approvals", "decider_id", &["preview", "risks", "sources"]),
    ("questions", "person_id", &["choices"]),
    ("effects", "person_id", &["payload", "recipients", "handle", "outcome"]),
];

async fn load_ana_id(world: &World) -> String {
    let id = sqlx::query_scalar("select id::text from people where full_name = 'Ana Silva'");
    id.fetch_one(&world.pool).await.unwrap()
}

fn assert_rows_owned_by_ana(rows: &str, ana: &str) {
    let mut found = 0;
    for row in rows.lines() {
        let (table, row) = row.split_once(' ').unwrap();
        let row: Value = serde_json::from_str(row).unwrap();
        for (column, value) in row.as_object().unwrap() {
            let Some(secret) = find_leak(&value.to_string()) else { continue };
            let of = OWNED_ROWS
                .iter()
                .find(|(name, _, columns)| *name == table && columns.contains(&column.as_str()));
            let hers = of.is_some_and(|(_, whose, _)| row[*whose] == ana);
            assert!(hers, "{secret} in {table}.{column}: {row}");
            found += 1;
        }
    }
    assert!(found > 100, "the secrets were never in view: {found}");
}
