//! What every platform guarantees: ten promises, each written once and played on every platform.
//!
//! To add a platform:
//! 1. write its adapter (`nod_contract::chat::ChatAdapter`), its ingest (what arrives becomes an `Inbound`) and, in
//!    `sandbox/`, a fake that is at least as strict as the vendor;
//! 2. give the fake to `nod_tests::chat::Chat`, and describe in `nod_tests::contract` what differs there;
//! 3. add a line to `kept_everywhere!`, and fix it until all ten hold. All stories of `on_each_platform!` come next.
//!
//! The promises are kept by a running Nod and checked through the eyes of a person: a terminal's adapter has nothing to
//! post, so below that level all three have nothing in common.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::contract::{ContractFixture, ContractPlatform};
use serde_json::json;

use crate::long_answers::long_answer;

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");

/// Plays each promise on every platform.
macro_rules! kept_everywhere {
    ($($promise:ident),* $(,)?) => { $(
        mod $promise {
            use nod_tests::chat::Platform;
            use nod_tests::contract::ContractPlatform;

            #[tokio::test]
            async fn on_slack() {
                super::$promise(ContractPlatform::Chat(Platform::Slack)).await;
            }

            #[tokio::test]
            async fn on_discord() {
                super::$promise(ContractPlatform::Chat(Platform::Discord)).await;
            }

            #[tokio::test]
            async fn in_the_terminal() {
                super::$promise(ContractPlatform::Terminal).await;
            }
        }
    )* };
}

kept_everywhere!(
    post_what_is_said_stands_where_it_was_asked_and_reads_as_it_was_meant,
    find_whatever_was_lost_on_the_way_it_stands_once,
    replace_a_card_gets_other_words_in_its_place,
    stream_an_answer_that_grows_ends_whole_and_once,
    profile_a_member_is_known_by_name_and_nobody_else_is_served,
    press_a_button_does_what_it_says_and_in_the_name_of_whoever_pressed,
    form_what_is_typed_arrives_and_what_is_not_touched_stays_however_long,
    file_it_arrives_once_with_its_words,
    splitting_a_long_answer_comes_whole_in_messages_that_are_each_whole,
    personal_delivery_reaches_one_person_alone,
);

/// Ana has asked for a mail, and its card waits for her.
async fn with_pending_mail(platform: ContractPlatform, mail: Answer) -> ContractFixture {
    let mut room = ContractFixture::new(platform, NOD, &[]).await;
    room.world.script_model("tool", [mail]);
    room.say("tell Bo I'm late").await;
    room.wait_for_text("Approve & send").await;
    room
}

fn mail_to_bo(body: &str) -> Answer {
    Answer::tool("gmail_send_email", json!({ "to": ["bo@acme.test"], "subject": "Late", "body": body }))
}

async fn post_what_is_said_stands_where_it_was_asked_and_reads_as_it_was_meant(platform: ContractPlatform) {
    let mut room = ContractFixture::new(platform, NOD, &[]).await;
    room.world
        .script_model("conversational", [Answer::text("**On Friday**, if 5 < 6 & 7 > 3; ask @everyone.")]);
    room.say("when is the launch?").await;
    room.wait_for_text("On Friday, if 5 < 6 & 7 > 3; ask").await;
    assert_eq!(room.channel_text().await.matches("On Friday, if 5 < 6 & 7 > 3; ask").count(), 1);
    room.finish().await;
}

async fn find_whatever_was_lost_on_the_way_it_stands_once(platform: ContractPlatform) {
    let mut room = ContractFixture::new(platform, NOD, &[]).await;
    // One is posted but its response was lost; the other never arrived.
    for (lost, words) in [(Fault::DropResponse, "On Friday."), (Fault::DropConnection, "At noon.")] {
        room.world.script_model("conversational", [Answer::text(words)]);
        room.fail_next_post(lost);
        room.say(&format!("what do you say beside “{words}”?")).await;
        room.replace_nod().await;
        room.wait_for_text(words).await;
    }
    let stands = room.channel_text().await;
    let said = |words: &str| stands.lines().filter(|line| line.trim_end().ends_with(words)).count();
    assert_eq!((said("On Friday."), said("At noon.")), (1, 1), "{stands}");
    room.finish().await;
}

async fn replace_a_card_gets_other_words_in_its_place(platform: ContractPlatform) {
    let mut room = with_pending_mail(platform, mail_to_bo("I'm late.")).await;
    let before = room.nod_messages().await.len();
    room.world.model.will(Answer::text("All right."));
    room.fill_form("Deny", &[("Reason", Some("too soon"))]).await;
    room.wait_for_text("Denied by Ana Silva").await;
    room.wait_for_text("All right.").await;
    let stands = room.channel_text().await;
    assert!(!stands.contains("Approve & send") && stands.contains("too soon"), "{stands}");
    assert_eq!(stands.matches("Subject").count(), 1, "{stands}");
    // The card, and the answer after it.
    assert!(room.nod_messages().await.len() <= before + 1);
    room.finish().await;
}

async fn stream_an_answer_that_grows_ends_whole_and_once(platform: ContractPlatform) {
    let mut room = ContractFixture::new(platform, NOD, &[("NOD_REPLIES__STREAM_AFTER", "0s")]).await;
    let poem = "Roses are red, violets are blue. Sugar is sweet, and so are you.";
    room.world.script_model("conversational", [Answer::text(poem).with_pause_after(5)]);
    room.say("a poem, please").await;
    room.wait_for_partial_text("violets").await;
    room.world.model.release();
    room.wait_for_text(poem).await;
    assert_eq!(room.channel_text().await.matches("Roses").count(), 1);
    room.finish().await;
}

async fn profile_a_member_is_known_by_name_and_nobody_else_is_served(platform: ContractPlatform) {
    let mut room = ContractFixture::new(platform, NOD, &[]).await;
    room.say_as_outsider("what is in the mail?").await;
    assert!(room.world.model.requests().is_empty(), "a stranger's words reached the model");
    room.world.script_model("conversational", [Answer::text("You are Ana.")]);
    room.say("who am I?").await;
    room.wait_for_text("You are Ana.").await;
    let asked = json!(room.world.model.requests().last()).to_string();
    assert!(asked.contains("Ana Silva"), "{asked}");
    room.finish().await;
}

async fn press_a_button_does_what_it_says_and_in_the_name_of_whoever_pressed(platform: ContractPlatform) {
    let mut room = with_pending_mail(platform, mail_to_bo("I'm late.")).await;
    // The revision that is approved in the end is not the one that was shown first.
    room.fill_form("Edit", &mail_form(Some("Later"))).await;
    room.wait_for_text("edited").await;
    room.world.model.will(Answer::text("Bo knows."));
    room.click("Approve & send").await;
    room.wait_for_text("Approved by Ana Silva").await;
    room.wait_for_text("Bo knows.").await;
    let sent = room.world.google.list_sent("ana@acme.test");
    assert_eq!(sent.iter().map(|mail| mail.subject.as_str()).collect::<Vec<_>>(), ["Later"]);
    room.finish().await;
}

/// The fields of a mail's form, with another subject.
fn mail_form(subject: Option<&str>) -> [(&'static str, Option<&str>); 5] {
    [("To", None), ("Cc", None), ("Bcc", None), ("Subject", subject), ("Body", None)]
}

async fn form_what_is_typed_arrives_and_what_is_not_touched_stays_however_long(platform: ContractPlatform) {
    // Longer than one input of Slack, and as long as one of Discord.
    let body: String = (1..=160).map(|n| format!("Line {n} of the mail\n")).collect();
    let body = body.trim_end();
    let mut room = with_pending_mail(platform, mail_to_bo(body)).await;
    room.fill_form("Edit", &mail_form(Some("“Später” & <more>"))).await;
    room.wait_for_text("edited").await;
    room.world.model.will(Answer::text("Bo knows."));
    room.click("Approve & send").await;
    room.wait_for_text("Approved by Ana Silva").await;
    room.wait_for_text("Bo knows.").await;
    let [sent] = &room.world.google.list_sent("ana@acme.test")[..] else {
        panic!("not one mail:\n{}", room.channel_text().await)
    };
    assert_eq!(sent.subject, "“Später” & <more>");
    assert_eq!(sent.body.replace("\r\n", "\n").trim_end(), body);
    room.finish().await;
}

async fn file_it_arrives_once_with_its_words(platform: ContractPlatform) {
    let mut room = ContractFixture::new(platform, NOD, &[]).await;
    room.fail_next_upload(Fault::DropResponse);
    room.run_command("memory export").await;
    room.wait_for_ephemeral("I'm sending you the file in our direct messages.").await;
    room.replace_nod().await;
    let stands = room.private_text().await;
    assert_eq!(stands.matches("What I remember as of").count(), 1, "{stands}");
    let (count, text) = room.uploaded_files("nod-memory-");
    assert!(count == 1 && text.starts_with("# What Nod remembers"), "{count}: {text}");
    room.finish().await;
}

async fn splitting_a_long_answer_comes_whole_in_messages_that_are_each_whole(platform: ContractPlatform) {
    let mut room = ContractFixture::new(platform, NOD, &[]).await;
    room.world.script_model("conversational", [Answer::text(long_answer())]);
    room.say("explain it all").await;
    room.wait_for_text("point 200").await;
    let stands = room.channel_text().await;
    let numbers = |before: &str| -> Vec<usize> {
        let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        stands.split(before).skip(1).filter_map(|rest| digits(rest).parse().ok()).collect()
    };
    assert_eq!(numbers("Paragraph "), (1..=20).collect::<Vec<_>>());
    assert_eq!(numbers("let line_"), (1..=400).collect::<Vec<_>>());
    for n in 1..=200 {
        assert!(stands.contains(&format!("{n}. point {n} ")), "{n}");
    }
    for message in room.nod_messages().await {
        assert!(message.matches("```").count().is_multiple_of(2), "code that does not end:\n{message}");
    }
    room.finish().await;
}

async fn personal_delivery_reaches_one_person_alone(platform: ContractPlatform) {
    let mut room = ContractFixture::new(platform, NOD, &[]).await;
    room.world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "the merger").unwrap();
    let secret = "The merger is called Marmalade.";
    room.world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text(secret)]);
    room.say("what is new in my mail?").await;
    room.wait_for_private_text(secret).await;
    // An ephemeral message is gone after a reload, so it is in no channel.
    room.run_command("memory").await;
    room.wait_for_ephemeral("What I remember").await;
    let (hers, his) = (room.private_text().await, room.text_for_bo().await);
    assert_eq!((hers.matches(secret).count(), hers.matches("What I remember").count()), (1, 0), "{hers}");
    assert!(!his.contains("Marmalade") && !his.contains("What I remember"), "{his}");
    room.finish().await;
}
