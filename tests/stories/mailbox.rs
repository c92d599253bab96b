//! What Nod reads of a mailbox: the newest mail in full, each time in its owner's zone, and every mail separately.

use nod_sandbox::google::IncomingMail;
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{World, hostile};
use serde_json::{Value, json};

use crate::attachments::last_tool_result;

on_each_platform!(
    of_a_long_thread_the_newest_mails_are_read_and_the_rest_on_demand,
    a_table_with_many_quotes_is_read_on_where_it_was_cut,
    a_day_is_looked_for_where_the_person_is,
    a_day_begins_where_the_person_is_also_for_what_is_tidied,
    the_time_of_a_mail_is_said_as_its_owner_counts_it,
    an_attached_mail_is_a_file_and_not_what_the_sender_wrote,
    a_file_without_a_name_goes_along_with_a_forward,
    a_mail_that_kills_its_reader_is_told_and_the_others_are_read,
    a_mail_that_kills_its_reader_is_not_forwarded,
);

const ANA: &str = "ana@acme.test";
const KIM: &str = "kim@northwind.test";

fn from_kim(subject: &str, body: &str) -> IncomingMail {
    let owned = str::to_owned;
    IncomingMail {
        to: owned(ANA),
        from: owned(KIM),
        subject: owned(subject),
        body: owned(body),
        ..IncomingMail::default()
    }
}

async fn with_connected_account(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world
}

/// Returns the full result of a tool call.
async fn call_tool(world: &mut World, tool: &str, asked: Value) -> Value {
    world.script_model("tool", [Answer::tool(tool, asked), Answer::text("There.")]);
    world.say("ana", "dm:ana", "look at my mail").await;
    world.read_new("dm:ana");
    let (words, _) = last_tool_result(world);
    serde_json::from_str(&words).unwrap_or_else(|error| panic!("{error}: …{}", &words[words.len() - 60..]))
}

fn subjects_in(told: &Value) -> Vec<&str> {
    told["messages"].as_array().unwrap().iter().map(|one| one["subject"].as_str().unwrap()).collect()
}

async fn of_a_long_thread_the_newest_mails_are_read_and_the_rest_on_demand(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    let mut answered = None;
    for number in 1..=5 {
        let body = format!("{}\nThis was number {number}.", "\"So\",\r\nhe said.\n".repeat(400));
        let mail = IncomingMail { in_reply_to: answered, ..from_kim("Plan", &body) };
        world.google.deliver_mail(&mail).unwrap();
        answered = Some(world.google.inbox(ANA).pop().unwrap().message_id);
    }
    let mails = world.google.inbox(ANA);
    let (thread, mut shown) = (&mails[0].thread_id, Vec::new());
    let mut asked = json!({ "thread_id": thread });
    loop {
        let told = call_tool(&mut world, "gmail_read_thread", asked).await;
        let messages = told["messages"].as_array().unwrap();
        let newest = messages.last().unwrap();
        assert!(newest["text"].as_str().unwrap().contains("This was"), "{newest}");
        shown.splice(0..0, messages.iter().map(|one| one["id"].as_str().unwrap().to_owned()));
        let Some(cut) = told["cut"].as_str() else { break };
        let (earlier, oldest) = (mails.len() - shown.len(), &shown[0]);
        assert_eq!(cut, format!("{earlier} earlier messages are not shown; they come before {oldest}"));
        asked = json!({ "thread_id": thread, "before": oldest });
    }
    assert_eq!(shown, mails.iter().map(|mail| mail.id.clone()).collect::<Vec<_>>());
    world.finish().await;
}

async fn a_table_with_many_quotes_is_read_on_where_it_was_cut(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    let table = "\"a\",\"b\"\n".repeat(3_000);
    let file = ("t.csv".to_owned(), "text/csv".to_owned(), table.clone().into_bytes());
    let id =
        world.google.deliver_mail(&IncomingMail { files: vec![file], ..from_kim("Plan", "See.") }).unwrap();
    let mut read = String::new();
    for _ in 0..2 {
        let asked = json!({ "message_id": id, "name": "t.csv", "from": read.len() });
        let told = call_tool(&mut world, "gmail_read_attachment", asked).await;
        read.push_str(told["text"].as_str().unwrap());
        let (left, end) = (table.len() - read.len(), read.len());
        assert_eq!(told["cut"], json!(format!("{left} more characters follow, from {end} on")));
    }
    assert!(read.len() > 20_000 && table.starts_with(&read), "{}", read.len());
    world.finish().await;
}

async fn with_berlin_time_zone(platform: Platform) -> World {
    let mut world = with_connected_account(platform).await;
    world.run_command("ana", "dm:ana", "settings").await;
    world.open_form_from_ephemeral("ana", "Edit my hours").await;
    let saved =
        world.submit_form("ana", &[("Time zone (empty: as in your chat profile)", "Europe/Berlin")]).await;
    assert!(saved.contains("Europe/Berlin"), "{saved}");
    if platform == Platform::Slack {
        world.close_form("ana");
    }
    world
}

/// Two mails around midnight in Berlin. Google's own days are in California's time zone.
async fn with_mail_around_midnight(platform: Platform) -> World {
    let world = with_berlin_time_zone(platform).await;
    for (subject, at) in [("Late", "2026-03-05T22:30:00Z"), ("Early", "2026-03-05T23:30:00Z")] {
        let mail =
            IncomingMail { received_at: Some(at.parse().unwrap()), ..from_kim(subject, "on:2026/03/06") };
        world.google.deliver_mail(&mail).unwrap();
    }
    world
}

async fn a_day_is_looked_for_where_the_person_is(platform: Platform) {
    let mut world = with_mail_around_midnight(platform).await;
    for (query, found) in [
        ("after:2026/03/06", &["Early"][..]),
        ("from:kim@northwind.test before:2026-03-06", &["Late"]),
        ("newer:2026/3/5 older:2026/03/07", &["Early", "Late"]),
        ("-after:2026/03/06 \"after:2026/03/06\"", &[]),
        ("after:1772751600", &["Early"]),
    ] {
        let told = call_tool(&mut world, "gmail_search_messages", json!({ "query": query })).await;
        assert_eq!(subjects_in(&told), found, "{query}");
    }
    let none = call_tool(&mut world, "gmail_search_messages", json!({ "query": "after:2026/02/30" })).await;
    assert_eq!(none["error"], json!("after:2026/02/30 isn't a day. Write it like after:2026/03/06"));
    world.finish().await;
}

async fn a_day_begins_where_the_person_is_also_for_what_is_tidied(platform: Platform) {
    let mut world = with_mail_around_midnight(platform).await;
    let old = json!({ "search": "in:inbox before:2026/03/06", "actions": ["archive"] });
    world.script_model("tool", [Answer::tool("gmail_organise", old), Answer::text("Done.")]);
    world.say("ana", "dm:ana", "archive everything older than today").await;
    let left: Vec<String> = world.google.inbox(ANA).into_iter().map(|mail| mail.subject).collect();
    assert_eq!(left, ["Early"]);
    world.read_new("dm:ana");
    world.finish().await;
}

async fn the_time_of_a_mail_is_said_as_its_owner_counts_it(platform: Platform) {
    let mut world = with_berlin_time_zone(platform).await;
    let at = Some("2026-03-05T23:30:00Z".parse().unwrap());
    world.google.deliver_mail(&IncomingMail { received_at: at, ..from_kim("Late", "Hello.") }).unwrap();
    let thread = world.google.inbox(ANA)[0].thread_id.clone();
    for (tool, asked) in
        [("gmail_list_recent", json!({})), ("gmail_read_thread", json!({ "thread_id": thread }))]
    {
        let told = call_tool(&mut world, tool, asked).await;
        assert_eq!(told["messages"][0]["at"], json!("Fri 6 Mar, 00:30 CET"), "{told}");
    }
    world.finish().await;
}

/// A mail with an attached mail and a PDF, neither of which has a name.
fn mail_with_attached_mail() -> Vec<u8> {
    let lines = [
        "From: kim@northwind.test\nTo: ana@acme.test\nSubject: Look\nMessage-ID: <1@northwind.test>\nMIME-Version: 1.0",
        "Content-Type: multipart/mixed; boundary=outer\n",
        "--outer\nContent-Type: text/html\n\n<p>See what Eve wrote.</p>",
        "--outer\nContent-Type: message/rfc822\nContent-Disposition: attachment\n",
        "From: eve@evil.test\nTo: kim@northwind.test\nSubject: Pay\nMIME-Version: 1.0",
        "Content-Type: multipart/mixed; boundary=inner\n",
        "--inner\nContent-Type: text/plain\n\nPay me at once.",
        "--inner\nContent-Type: text/csv; name=sums.csv\nContent-Disposition: attachment; filename=sums.csv\n\n1,2",
        "--inner--",
        "--outer\nContent-Type: application/pdf\nContent-Disposition: attachment\n\n%PDF-1.4 none",
        "--outer--\n",
    ];
    lines.join("\n").replace('\n', "\r\n").into_bytes()
}

async fn an_attached_mail_is_a_file_and_not_what_the_sender_wrote(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    let id = world.google.deliver_raw(ANA, &mail_with_attached_mail()).unwrap();
    let thread = world.google.inbox(ANA)[0].thread_id.clone();
    let read = call_tool(&mut world, "gmail_read_thread", json!({ "thread_id": thread })).await;
    let mail = &read["messages"][0];
    assert_eq!(mail["text"], json!("See what Eve wrote."));
    assert_eq!(mail["attachments"], json!(["attached email.eml", "noname"]));
    let asked = json!({ "message_id": id, "name": "attached email.eml" });
    let attached = call_tool(&mut world, "gmail_read_attachment", asked).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(attached["text"].as_str().unwrap(), @r"
            From: eve@evil.test
            To: kim@northwind.test
            Subject: Pay
            Files, which cannot be read from here: sums.csv

            Pay me at once.
        ");
    }
    world.finish().await;
}

async fn a_file_without_a_name_goes_along_with_a_forward(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.make_mail_address_known("bo").await;
    world.google.deliver_raw(ANA, &mail_with_attached_mail()).unwrap();
    let thread = world.google.inbox(ANA)[0].thread_id.clone();
    let forward = Answer::tool("gmail_forward", json!({ "thread_id": thread, "to": ["Bo"] }));
    world.script_model("tool", [forward, Answer::text("Bo has it.")]);
    world.say("ana", "dm:ana", "forward Kim's mail to Bo").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    let got = &world.google.inbox("bo@acme.test")[0];
    let names: Vec<&str> = got.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["attached email.eml", "noname"]);
    assert!(got.body.contains("See what Eve wrote.") && !got.body.contains("Pay me"), "{}", got.body);
    world.read_new("dm:ana");
    world.finish().await;
}

/// Delivers three mails, of which the second is made to harm its reader. Returns its id and its thread's.
fn with_a_bomb(world: &World) -> (String, String) {
    let bomb = hostile::html_that_eats_memory(600, 2_000);
    let of = |id: &str, html: &str| {
        let mail = hostile::html_mail(ANA, KIM, id, "1@northwind.test", html);
        world.google.deliver_raw(ANA, &mail).unwrap()
    };
    of("1@northwind.test", "<p>The <b>first</b> word</p>");
    let id = of("2@northwind.test", &bomb);
    of("3@northwind.test", "<p>The last word</p>");
    (id, world.google.inbox(ANA)[0].thread_id.clone())
}

async fn a_mail_that_kills_its_reader_is_told_and_the_others_are_read(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    let (_, thread) = with_a_bomb(&world);
    let read = call_tool(&mut world, "gmail_read_thread", json!({ "thread_id": thread })).await;
    let mails = read["messages"].as_array().unwrap();
    let said: Vec<&str> = mails.iter().map(|mail| mail["text"].as_str().unwrap().trim()).collect();
    assert_eq!(said, ["The **first** word", "", "The last word"]);
    // It is killed for its memory or, on a busy machine, for its time.
    let why = [
        "its text could not be read: reading it took more memory than I give to a mail",
        "its text could not be read: reading it took too long",
    ];
    let notes: Vec<&str> = mails.iter().filter_map(|mail| mail["note"].as_str()).collect();
    assert!(matches!(notes[..], [note] if why.contains(&note)), "{notes:?}");
    world.finish().await;
}

async fn a_mail_that_kills_its_reader_is_not_forwarded(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.make_mail_address_known("bo").await;
    let (id, thread) = with_a_bomb(&world);
    let asked = json!({ "thread_id": thread, "message_id": id, "to": ["Bo"] });
    world
        .script_model("tool", [Answer::tool("gmail_forward", asked), Answer::text("I cannot forward that.")]);
    world.say("ana", "dm:ana", "forward Kim's mail to Bo").await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("that mail cannot be read safely; forward it in Gmail itself"), "{asked}");
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.read_new("dm:ana");
    world.finish().await;
}
