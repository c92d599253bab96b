//! Nod is killed around a mail with a file: while the file is fetched for the card, fetched again when the mail is
//! sent, or while it is sent. One mail, with that file, once.

use nod_sandbox::Fault;
use nod_sandbox::google::IncomingMail;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use super::invariants::{ExpectedReceipt, count, wait_for_count};
use super::{CREATE, CrashPoint, NOD, SEND, UserAction, killed_case, run_until_crash};

on_each_platform!(
    killed_before_the_file_is_looked_at_it_is_asked_once,
    killed_before_the_file_is_fetched_again_one_mail_goes,
    killed_after_the_file_was_fetched_again_one_mail_goes,
    killed_before_the_mail_with_the_file_is_ready_one_goes,
    killed_after_the_mail_with_the_file_is_ready_one_goes,
    killed_before_the_mail_with_the_file_went_one_goes,
    killed_after_the_mail_with_the_file_went_one_goes,
    a_file_that_is_gone_meanwhile_does_not_go,
);

const ANA: &str = "ana@acme.test";
const FILE: &str = "gmail.users.messages.attachments.get";

async fn killed_before_the_file_is_looked_at_it_is_asked_once(platform: Platform) {
    crash_with_attachment(
        platform,
        UserAction::Ask,
        CrashPoint::Google(FILE, Fault::HangBefore),
        |_| {},
        ExpectedReceipt::Sent,
    )
    .await;
}

async fn killed_before_the_file_is_fetched_again_one_mail_goes(platform: Platform) {
    crash_with_attachment(
        platform,
        UserAction::Click,
        CrashPoint::Google(FILE, Fault::HangBefore),
        |_| {},
        ExpectedReceipt::Sent,
    )
    .await;
}

async fn killed_after_the_file_was_fetched_again_one_mail_goes(platform: Platform) {
    crash_with_attachment(
        platform,
        UserAction::Click,
        CrashPoint::Google(FILE, Fault::HangAfter),
        |_| {},
        ExpectedReceipt::Sent,
    )
    .await;
}

async fn killed_before_the_mail_with_the_file_is_ready_one_goes(platform: Platform) {
    crash_with_attachment(
        platform,
        UserAction::Click,
        CrashPoint::Google(CREATE, Fault::HangBefore),
        |_| {},
        ExpectedReceipt::Sent,
    )
    .await;
}

async fn killed_after_the_mail_with_the_file_is_ready_one_goes(platform: Platform) {
    crash_with_attachment(
        platform,
        UserAction::Click,
        CrashPoint::Google(CREATE, Fault::HangAfter),
        |_| {},
        ExpectedReceipt::Sent,
    )
    .await;
}

async fn killed_before_the_mail_with_the_file_went_one_goes(platform: Platform) {
    crash_with_attachment(
        platform,
        UserAction::Click,
        CrashPoint::Google(SEND, Fault::HangBefore),
        |_| {},
        ExpectedReceipt::Sent,
    )
    .await;
}

async fn killed_after_the_mail_with_the_file_went_one_goes(platform: Platform) {
    crash_with_attachment(
        platform,
        UserAction::Click,
        CrashPoint::Google(SEND, Fault::HangAfter),
        |_| {},
        ExpectedReceipt::Sent,
    )
    .await;
}

async fn a_file_that_is_gone_meanwhile_does_not_go(platform: Platform) {
    let gone: fn(&World) = |world| {
        for mail in world.google.inbox(ANA) {
            assert!(world.google.delete_mail(ANA, &mail.id));
        }
    };
    crash_with_attachment(
        platform,
        UserAction::Click,
        CrashPoint::Google(FILE, Fault::HangBefore),
        gone,
        ExpectedReceipt::NotSent,
    )
    .await;
}

async fn crash_with_attachment(
    platform: Platform,
    person: UserAction,
    at: CrashPoint,
    meanwhile: fn(&World),
    receipt: ExpectedReceipt,
) {
    let mut world = World::with_real_clock_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let mail = IncomingMail {
        to: ANA.to_owned(),
        from: "kim@northwind.test".to_owned(),
        subject: "Terms".to_owned(),
        body: "See the file.".to_owned(),
        files: vec![("terms.pdf".to_owned(), "application/pdf".to_owned(), b"net 30, really".to_vec())],
        ..IncomingMail::default()
    };
    let id = world.google.deliver_mail(&mail).unwrap();
    let attach = json!([{ "message_id": id, "name": "terms.pdf" }]);
    let mail = json!({ "to": ["Bo"], "subject": "Terms", "body": "See the file.", "attach": attach });
    // If Nod is killed before the card is posted, the model is asked again unless its answer was committed.
    world
        .script_model("tool", [Answer::tool("gmail_send_email", mail), Answer::text("That is how it went.")]);
    let death = super::CrashCase { meanwhile, ..killed_case("a mail with a file", person, at) };
    let asks = || drop(world.chat.say("ana", "dm:ana", None, "send Kim's terms to Bo"));
    if person == UserAction::Ask {
        nod = run_until_crash(&world, nod, &death, asks).await;
    } else {
        asks();
    }
    wait_for_text(&world, "[Approve & send]").await;
    world.wait_until_idle().await;
    let card = world.find_message_with_button("dm:ana", "Approve & send");
    let presses = || world.chat.click_without_waiting("ana", "dm:ana", &card, "Approve & send");
    if person == UserAction::Click {
        nod = run_until_crash(&world, nod, &death, presses).await;
    } else {
        presses();
    }
    wait_for_text(&world, if receipt == ExpectedReceipt::Sent { "→ Sent" } else { "→ Not sent" }).await;
    wait_for_count(&world, "select count(*) from runs where status = 'done'", 1).await;
    world.wait_until_idle().await;
    assert_eq!(count(&world, "select count(*) from approvals").await, 1);
    assert_eq!(count(&world, "select count(*) from effects").await, 1);
    let got = world.google.inbox("bo@acme.test");
    let files: Vec<_> = got.iter().flat_map(|mail| mail.files.clone()).collect();
    match receipt {
        ExpectedReceipt::Sent => assert_eq!((got.len(), files), (1, vec![("terms.pdf".to_owned(), 14)])),
        _ => assert!(got.is_empty(), "{got:#?}"),
    }
    assert!(world.google.drafts(ANA).is_empty());
    world.read_new("dm:ana");
    world.kill_program(nod).await;
    world.finish().await;
}

async fn wait_for_text(world: &World, words: &str) {
    world.wait_for_text("dm:ana", words).await;
}
