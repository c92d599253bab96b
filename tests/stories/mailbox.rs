//! What Nod reads of a mailbox: the newest whole.

use nod_sandbox::google::Incoming;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::{Value, json};

use crate::attachments::given;

on_each_platform!(
    of_a_long_thread_the_newest_mails_are_read_and_the_rest_on_demand,
    a_table_with_many_quotes_is_read_on_where_it_was_cut,
);

const ANA: &str = "ana@acme.test";
const KIM: &str = "kim@northwind.test";

fn from_kim(subject: &str, body: &str) -> Incoming {
    let owned = str::to_owned;
    Incoming {
        to: owned(ANA),
        from: owned(KIM),
        subject: owned(subject),
        body: owned(body),
        ..Incoming::default()
    }
}

async fn connected(platform: On) -> World {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world
}

/// What a tool tells the model, whole.
async fn told(world: &mut World, tool: &str, asked: Value) -> Value {
    world.model_will("tool", [Answer::tool(tool, asked), Answer::text("There.")]);
    world.says("ana", "dm:ana", "look at my mail").await;
    world.reads("dm:ana");
    let (words, _) = given(world);
    serde_json::from_str(&words).unwrap_or_else(|error| panic!("{error}: …{}", &words[words.len() - 60..]))
}

async fn of_a_long_thread_the_newest_mails_are_read_and_the_rest_on_demand(platform: On) {
    let mut world = connected(platform).await;
    let mut answered = None;
    for number in 1..=5 {
        let body = format!("{}\nThis was number {number}.", "\"So\",\r\nhe said.\n".repeat(400));
        let mail = Incoming { in_reply_to: answered, ..from_kim("Plan", &body) };
        world.google.deliver_mail(&mail).unwrap();
        answered = Some(world.google.inbox(ANA).pop().unwrap().message_id);
    }
    let mails = world.google.inbox(ANA);
    let (thread, mut shown) = (&mails[0].thread_id, Vec::new());
    let mut asked = json!({ "thread_id": thread });
    loop {
        let told = told(&mut world, "gmail_read_thread", asked).await;
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
    world.ends().await;
}

async fn a_table_with_many_quotes_is_read_on_where_it_was_cut(platform: On) {
    let mut world = connected(platform).await;
    let table = "\"a\",\"b\"\n".repeat(3_000);
    let file = ("t.csv".to_owned(), "text/csv".to_owned(), table.clone().into_bytes());
    let id = world.google.deliver_mail(&Incoming { files: vec![file], ..from_kim("Plan", "See.") }).unwrap();
    let mut read = String::new();
    for _ in 0..2 {
        let asked = json!({ "message_id": id, "name": "t.csv", "from": read.len() });
        let told = told(&mut world, "gmail_read_attachment", asked).await;
        read.push_str(told["text"].as_str().unwrap());
        let (left, end) = (table.len() - read.len(), read.len());
        assert_eq!(told["cut"], json!(format!("{left} more characters follow, from {end} on")));
    }
    assert!(read.len() > 20_000 && table.starts_with(&read), "{}", read.len());
    world.ends().await;
}
