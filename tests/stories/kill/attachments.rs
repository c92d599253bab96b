//! Nod is killed around a mail with a file: while the file is fetched for the card, fetched again when the mail is
//! sent, or while it is sent. One mail, with that file, once.

use nod_sandbox::Fault;
use nod_sandbox::google::Incoming;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::json;

use super::holds::{Receipt, count, until};
use super::{At, CREATE, NOD, Person, SEND, killed, suffers};

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

async fn killed_before_the_file_is_looked_at_it_is_asked_once(platform: On) {
    dies(platform, Person::Asks, At::Google(FILE, Fault::Hang), |_| {}, Receipt::Sent).await;
}

async fn killed_before_the_file_is_fetched_again_one_mail_goes(platform: On) {
    dies(platform, Person::Presses, At::Google(FILE, Fault::Hang), |_| {}, Receipt::Sent).await;
}

async fn killed_after_the_file_was_fetched_again_one_mail_goes(platform: On) {
    dies(platform, Person::Presses, At::Google(FILE, Fault::HangAfter), |_| {}, Receipt::Sent).await;
}

async fn killed_before_the_mail_with_the_file_is_ready_one_goes(platform: On) {
    dies(platform, Person::Presses, At::Google(CREATE, Fault::Hang), |_| {}, Receipt::Sent).await;
}

async fn killed_after_the_mail_with_the_file_is_ready_one_goes(platform: On) {
    dies(platform, Person::Presses, At::Google(CREATE, Fault::HangAfter), |_| {}, Receipt::Sent).await;
}

async fn killed_before_the_mail_with_the_file_went_one_goes(platform: On) {
    dies(platform, Person::Presses, At::Google(SEND, Fault::Hang), |_| {}, Receipt::Sent).await;
}

async fn killed_after_the_mail_with_the_file_went_one_goes(platform: On) {
    dies(platform, Person::Presses, At::Google(SEND, Fault::HangAfter), |_| {}, Receipt::Sent).await;
}

async fn a_file_that_is_gone_meanwhile_does_not_go(platform: On) {
    let gone: fn(&World) = |world| {
        for mail in world.google.inbox(ANA) {
            assert!(world.google.delete_mail(ANA, &mail.id));
        }
    };
    dies(platform, Person::Presses, At::Google(FILE, Fault::Hang), gone, Receipt::NotSent).await;
}

async fn dies(platform: On, person: Person, at: At, meanwhile: fn(&World), receipt: Receipt) {
    let mut world = World::in_real_time_on(platform).await;
    let mut nod = world.start_program(NOD).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    let mail = Incoming {
        to: ANA.to_owned(),
        from: "kim@northwind.test".to_owned(),
        subject: "Terms".to_owned(),
        body: "See the file.".to_owned(),
        files: vec![("terms.pdf".to_owned(), "application/pdf".to_owned(), b"net 30, really".to_vec())],
        ..Incoming::default()
    };
    let id = world.google.deliver_mail(&mail).unwrap();
    let attach = json!([{ "message_id": id, "name": "terms.pdf" }]);
    let mail = json!({ "to": ["Bo"], "subject": "Terms", "body": "See the file.", "attach": attach });
    // If Nod is killed before the card is posted, the model is asked again unless its answer was committed.
    world.model_will("tool", [Answer::tool("gmail_send_email", mail), Answer::text("That is how it went.")]);
    let death = super::Death { meanwhile, ..killed("a mail with a file", person, at) };
    let asks = || drop(world.chat.say("ana", "dm:ana", None, "send Kim's terms to Bo"));
    if person == Person::Asks {
        nod = suffers(&world, nod, &death, asks).await;
    } else {
        asks();
    }
    stands(&world, "[Approve & send]").await;
    world.settles().await;
    let card = world.button("dm:ana", "Approve & send");
    let presses = || world.chat.pushes("ana", "dm:ana", &card, "Approve & send");
    if person == Person::Presses {
        nod = suffers(&world, nod, &death, presses).await;
    } else {
        presses();
    }
    stands(&world, if receipt == Receipt::Sent { "→ Sent" } else { "→ Not sent" }).await;
    until(&world, "select count(*) from runs where status = 'done'", 1).await;
    world.settles().await;
    assert_eq!(count(&world, "select count(*) from approvals").await, 1);
    assert_eq!(count(&world, "select count(*) from effects").await, 1);
    let got = world.google.inbox("bo@acme.test");
    let files: Vec<_> = got.iter().flat_map(|mail| mail.files.clone()).collect();
    match receipt {
        Receipt::Sent => assert_eq!((got.len(), files), (1, vec![("terms.pdf".to_owned(), 14)])),
        _ => assert!(got.is_empty(), "{got:#?}"),
    }
    assert!(world.google.drafts(ANA).is_empty());
    world.reads("dm:ana");
    world.kills(nod).await;
    world.ends().await;
}

async fn stands(world: &World, words: &str) {
    world.stands("dm:ana", words).await;
}
