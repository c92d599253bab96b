//! Drafts and sending.

use reqwest::Method;
use serde_json::json;

use super::{ANA, BO, base64url, fixture, raw_mail};
use crate::Fault;
use crate::google::{DraftEdit, IncomingMail};

#[tokio::test]
async fn a_draft_is_sent_once_and_arrives_once() {
    let world = fixture().await;
    let id = world.draft(&raw_mail("Bo <bo@acme.test>", "Lunch", "At one?")).await;
    assert_eq!(world.google.drafts(ANA)[0].draft_id.as_deref(), Some(id.as_str()));

    let (status, sent) = world.post("drafts/send", json!({"id": id})).await;
    assert_eq!(status, 200, "{sent}");
    let (status, error) = world.post("drafts/send", json!({"id": id})).await;
    assert_eq!((status.as_u16(), error["error"]["status"].as_str()), (404, Some("NOT_FOUND")));

    let inbox = world.google.inbox(BO);
    assert_eq!(inbox.len(), 1);
    assert_eq!((inbox[0].subject.as_str(), inbox[0].body.as_str()), ("Lunch", "At one?"));
    assert_eq!(inbox[0].header("x-nod-effect"), Some("e-1"));
    assert!(inbox[0].message_id.ends_with("@mail.gmail.com>"), "Gmail puts its own id over ours");
    assert!(world.google.drafts(ANA).is_empty());
    assert_eq!(world.google.list_sent(ANA).len(), 1);
    assert!(world.google.violations().is_empty(), "{:?}", world.google.violations());
}

#[tokio::test]
async fn a_send_with_bytes_of_its_own_ignores_what_the_draft_became() {
    let world = fixture().await;
    let id = world.draft(&raw_mail(BO, "Lunch", "At one?")).await;
    let thread = world.google.drafts(ANA)[0].thread_id.clone();
    let edit = DraftEdit { body: Some("You are fired.".to_owned()), ..DraftEdit::default() };
    assert!(world.google.edit_draft(ANA, &id, &edit));
    assert_eq!(world.google.drafts(ANA)[0].body, "You are fired.");

    let body = json!({"id": id, "message": {"raw": base64url(&raw_mail(BO, "Lunch", "At one?"))}});
    assert_eq!(world.post("drafts/send", body).await.0, 200);
    assert_eq!(world.google.inbox(BO)[0].body, "At one?");
    assert_eq!(world.google.list_sent(ANA)[0].thread_id, thread);
}

#[tokio::test]
async fn blind_copies_stay_blind_and_strangers_go_to_the_outbox() {
    let world = fixture().await;
    let raw = format!("To: eve@elsewhere.test\r\nCc: {ANA}\r\nBcc: {BO}\r\nSubject: x\r\n\r\nhello");
    let (status, answer) = world.post("messages/send", json!({"raw": base64url(&raw)})).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(world.google.list_sent(ANA)[0].bcc, [BO]);
    assert_eq!(world.google.list_sent(ANA)[0].from, ANA);
    assert_eq!(world.google.inbox(ANA).len(), 1, "mail to oneself is one message with two labels");
    let bo = &world.google.inbox(BO)[0];
    assert!(bo.bcc.is_empty() && bo.header("Bcc").is_none());
    let outbox = world.google.outbox();
    assert_eq!(outbox.len(), 1);
    assert_eq!(outbox[0].recipient, "eve@elsewhere.test");
    assert!(outbox[0].mail.bcc.is_empty());
}

#[tokio::test]
async fn recipients_must_be_there_and_be_addresses() {
    let world = fixture().await;
    let id = world.draft("Subject: nobody yet\r\n\r\nx").await;
    let (status, error) = world.post("drafts/send", json!({"id": id})).await;
    assert_eq!((status.as_u16(), &error["error"]["message"]), (400, &json!("Recipient address required")));
    for wrong in ["Bo", "bo@nowhere", "bo at acme.test", "bo@acme.test, Cho", "\"Bo\" <>"] {
        let raw = base64url(&raw_mail(wrong, "x", "y"));
        let (status, error) = world.post("drafts", json!({"message": {"raw": raw}})).await;
        assert_eq!(
            (status.as_u16(), &error["error"]["message"]),
            (400, &json!("Invalid To header")),
            "{wrong}"
        );
    }
    let raw = base64url("Subject: J\u{f6}rg\r\nTo: bo@acme.test\r\n\r\nx");
    assert_eq!(
        world.post("messages/send", json!({"raw": raw})).await.0,
        400,
        "headers are encoded or refused"
    );
    assert!(world.google.inbox(BO).is_empty());
}

#[tokio::test]
async fn a_from_that_is_not_ones_own_is_overwritten() {
    let world = fixture().await;
    let raw = format!("From: Boss <boss@acme.test>\r\nTo: {BO}\r\n\r\nx");
    world.post("messages/send", json!({"raw": base64url(&raw)})).await;
    assert_eq!(world.google.inbox(BO)[0].header("From"), Some("Ana Silva <ana@acme.test>"));
}

#[tokio::test]
async fn drafts_are_listed_read_changed_and_thrown_away() {
    let world = fixture().await;
    let id = world.draft(&raw_mail(BO, "One", "x")).await;
    let before = world.google.drafts(ANA)[0].clone();
    let body = json!({"message": {"raw": base64url(&raw_mail(BO, "Two", "x"))}});
    let (status, draft) = world.call(Method::PUT, &format!("drafts/{id}"), Some(body)).await;
    assert_eq!((status.as_u16(), draft["id"].as_str()), (200, Some(id.as_str())));
    assert_ne!(draft["message"]["id"], before.id.as_str());
    assert_eq!(draft["message"]["threadId"], before.thread_id.as_str());
    let (_, list) = world.get("drafts?q=subject:two").await;
    assert_eq!(list["drafts"][0]["id"], id.as_str());
    let (_, read) = world.get(&format!("drafts/{id}?format=metadata")).await;
    assert_eq!(read["message"]["payload"]["headers"][2]["value"], "Two", "{read}");
    assert_eq!(world.call(Method::DELETE, &format!("drafts/{id}"), None).await.0, 204);
    assert_eq!(world.call(Method::DELETE, &format!("drafts/{id}"), None).await.0, 404);
    assert!(world.google.violations().is_empty(), "{:?}", world.google.violations());
}

#[tokio::test]
async fn uploads_carry_the_mail_beside_the_json() {
    let world = fixture().await;
    let url = format!("{}/upload/gmail/v1/users/me/drafts", world.google.url());
    let upload = |kind: &str, query: &str, body: String| {
        let request = world.http.post(format!("{url}{query}")).bearer_auth(&world.token);
        request.header("content-type", kind).body(body).send()
    };
    let mail = raw_mail(BO, "Up", "with a --b inside");
    let both = format!(
        "--b\r\nContent-Type: application/json\r\n\r\n{{\"message\":{{}}}}\r\n--b\r\n\
         Content-Type: message/rfc822\r\n\r\n{mail}\r\n--b--\r\n"
    );
    let related = "multipart/related; boundary=b";
    assert_eq!(upload(related, "?uploadType=multipart", both.clone()).await.unwrap().status(), 200);
    assert_eq!(upload("message/rfc822", "?uploadType=media", mail.clone()).await.unwrap().status(), 200);
    assert_eq!(world.google.drafts(ANA).len(), 2);
    assert_eq!(world.google.drafts(ANA)[0].body, "with a --b inside");
    for (kind, query) in
        [(related, ""), ("text/plain", "?uploadType=media"), (related, "?uploadType=resumable")]
    {
        assert_eq!(upload(kind, query, both.clone()).await.unwrap().status(), 400);
    }
    let cut = both.trim_end().trim_end_matches("--").to_owned();
    assert_eq!(upload(related, "?uploadType=multipart", cut).await.unwrap().status(), 400);
}

#[tokio::test]
async fn a_lost_answer_is_a_mail_that_was_sent() {
    let world = fixture().await;
    let id = world.draft(&raw_mail(BO, "Lunch", "x")).await;
    world.google.faults.next("gmail.users.drafts.send", Fault::DropResponse);
    let url = format!("{}/gmail/v1/users/me/drafts/send", world.google.url());
    let lost = world.http.post(url).bearer_auth(&world.token).json(&json!({"id": id})).send().await;
    assert!(lost.is_err());
    assert_eq!(world.google.inbox(BO).len(), 1);

    world.google.faults.next("gmail.users.drafts.create", Fault::Status { code: 503, retry_after: Some(7) });
    let (status, error) = world.post("drafts", json!({"message": {"raw": ""}})).await;
    assert_eq!((status.as_u16(), &error["error"]["status"]), (503, &json!("UNAVAILABLE")));
    assert!(world.google.faults.unused().is_empty());
    let calls = world.google.calls();
    assert_eq!(calls[1].operation, "gmail.users.drafts.send");
    assert_eq!((calls[1].account.as_deref(), &calls[1].body["id"]), (Some(ANA), &json!(id)));
}

#[tokio::test]
async fn an_answer_joins_its_thread_only_with_the_right_headers() {
    let world = fixture().await;
    let asked = IncomingMail {
        to: ANA.to_owned(),
        from: "kim@x.test".to_owned(),
        subject: "Lunch?".to_owned(),
        body: "At one?".to_owned(),
        ..IncomingMail::default()
    };
    world.google.deliver_mail(&asked).unwrap();
    let mail = world.google.inbox(ANA)[0].clone();
    let answer = |subject: &str, headers: &str| {
        let raw = format!("To: kim@x.test\r\nSubject: {subject}\r\n{headers}\r\nYes.");
        json!({"message": {"raw": base64url(&raw), "threadId": mail.thread_id}})
    };
    let reply = format!("In-Reply-To: {0}\r\nReferences: {0}\r\n", mail.message_id);
    for (subject, headers) in [("Re: Lunch?", ""), ("Dinner?", reply.as_str())] {
        assert_eq!(world.post("drafts", answer(subject, headers)).await.0, 400, "{subject} {headers}");
    }
    let (status, draft) = world.post("drafts", answer("Re: Lunch?", &reply)).await;
    assert_eq!((status.as_u16(), &draft["message"]["threadId"]), (200, &json!(mail.thread_id)));
    let id = draft["id"].as_str().unwrap();
    let bare = json!({"message": {"raw": base64url("To: kim@x.test\r\nSubject: Re: Lunch?\r\n\r\nNo.")}});
    let (_, moved) = world.call(Method::PUT, &format!("drafts/{id}"), Some(bare)).await;
    assert_ne!(moved["message"]["threadId"], json!(mail.thread_id), "a thread that is not named is lost");
}
