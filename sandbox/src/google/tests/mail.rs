//! Reading, searching, labels, scopes.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::json;

use super::{ANA, BO, Fixture, READONLY, base64url, fixture, raw_mail};
use crate::google::IncomingMail;

async fn count_matches(world: &Fixture, query: &str) -> usize {
    let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
    let (status, list) = world.get(&format!("messages?q={query}")).await;
    assert_eq!(status, 200, "{query}: {list}");
    list["messages"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn mail_is_read_as_gmail_shows_it() {
    let world = fixture().await;
    let raw = "From: =?utf-8?Q?J=C3=B6rg?= <j@else.test>\nTo: ana@acme.test\nSubject: =?utf-8?B?w5xiZXI=?=\n\
               Message-ID: <1@else.test>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=q\n\n\
               --q\nContent-Type: multipart/alternative; boundary=r\n\n\
               --r\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n\
               It=E2=80=99s <here> & \"now\"\n--r\nContent-Type: text/html\n\n<p>It is</p>\n--r--\n\
               --q\nContent-Type: text/plain; name=a.txt\nContent-Disposition: attachment; filename=a.txt\n\nfile\n--q--\n";
    let id = world.google.deliver_raw(ANA, raw.as_bytes()).unwrap();
    let (status, message) = world.get(&format!("messages/{id}")).await;
    assert_eq!(status, 200, "{message}");
    assert_eq!(message["labelIds"], json!(["INBOX", "UNREAD"]));
    assert_eq!(message["snippet"], "It’s &lt;here&gt; &amp; &quot;now&quot;");
    assert!(message["internalDate"].is_string() && message["historyId"].is_string());
    let payload = &message["payload"];
    assert_eq!(payload["mimeType"], "multipart/mixed");
    assert_eq!(payload["headers"][0]["value"], "Jörg <j@else.test>");
    assert_eq!(payload["headers"][2]["value"], "Über");
    let plain = &payload["parts"][0]["parts"][0];
    assert_eq!((&plain["partId"], &plain["mimeType"]), (&json!("0.0"), &json!("text/plain")));
    let text = URL_SAFE.decode(plain["body"]["data"].as_str().unwrap()).unwrap();
    assert_eq!(String::from_utf8(text).unwrap().trim_end(), "It’s <here> & \"now\"");
    let file = &payload["parts"][1];
    assert_eq!(file["filename"], "a.txt");
    let path = format!("messages/{id}/attachments/{}", file["body"]["attachmentId"].as_str().unwrap());
    assert_eq!(world.get(&path).await.0, 200);
    let (_, some) = world.get(&format!("messages/{id}?format=metadata&metadataHeaders=subject")).await;
    assert_eq!(some["payload"]["headers"], json!([{"name": "Subject", "value": "Über"}]));
    let (_, raw) = world.get(&format!("messages/{id}?format=raw")).await;
    assert!(URL_SAFE.decode(raw["raw"].as_str().unwrap()).is_ok());
    assert_eq!(world.get("messages/none").await.0, 404);
    assert!(world.google.violations().is_empty(), "{:?}", world.google.violations());
}

#[tokio::test]
async fn searches_find_what_they_say() {
    let world = fixture().await;
    world.google.deliver(ANA, BO, "Budget for Q3", "The numbers are ready.").unwrap();
    world.google.deliver(ANA, "eve@else.test", "Hello", "Numbers? No.").unwrap();
    let old = chrono::Utc::now() - chrono::Duration::days(10);
    let mail = IncomingMail {
        to: ANA.into(),
        from: BO.into(),
        subject: "Old".into(),
        received_at: Some(old),
        ..IncomingMail::default()
    };
    world.google.deliver_mail(&mail).unwrap();
    world.draft(&raw_mail(BO, "Draft", "x")).await;
    let id = world.google.inbox(ANA)[0].message_id.clone();
    for (query, count) in [
        ("from:bo@acme.test", 2),
        ("from:bo subject:budget", 1),
        ("numbers", 2),
        ("\"numbers are\"", 1),
        ("-from:bo in:inbox", 1),
        ("newer_than:2d in:inbox", 2),
        ("older_than:2d", 1),
        ("after:2020/01/01 is:unread", 3),
        ("before:2020/01/01", 0),
        ("in:drafts", 1),
        ("in:sent", 0),
        (&format!("rfc822msgid:{id}"), 1),
        ("subject:\"budget for\"", 1),
        ("budge", 0),
        ("{from:nobody to:ana} in:inbox", 3),
        ("in:inbox {from:nobody to:an}", 0),
        ("-{from:bo from:ana} in:inbox", 1),
    ] {
        assert_eq!(count_matches(&world, query).await, count, "{query}");
    }
    for refused in ["larger:5M", "a OR b", "(a b)", "{a b", "from:{a b}", "in:nowhere", "newer_than:soon"] {
        let query: String = url::form_urlencoded::byte_serialize(refused.as_bytes()).collect();
        assert_eq!(world.get(&format!("messages?q={query}")).await.0, 400, "{refused}");
    }
}

#[tokio::test]
async fn the_search_index_lags_and_threads_do_not() {
    let world = fixture().await;
    world.google.lag_search(2);
    let id = world.google.deliver(ANA, BO, "Late", "x").unwrap();
    assert_eq!(count_matches(&world, "late").await, 0);
    assert_eq!(world.get(&format!("threads/{id}")).await.0, 200);
    assert_eq!(world.get("messages?labelIds=INBOX").await.1["messages"][0]["id"], id.as_str());
    assert_eq!(count_matches(&world, "late").await, 0);
    assert_eq!(count_matches(&world, "late").await, 1);
}

#[tokio::test]
async fn answers_join_their_thread_and_lists_have_pages() {
    let world = fixture().await;
    let first = world.google.deliver(ANA, BO, "Lunch", "At one?").unwrap();
    let answered = world.google.inbox(ANA)[0].message_id.clone();
    let raw = format!("To: {BO}\r\nSubject: Re: Lunch\r\nIn-Reply-To: {answered}\r\n\r\nYes");
    let (_, sent) = world.post("messages/send", json!({"raw": base64url(&raw)})).await;
    assert_eq!(sent["threadId"], first.as_str());
    let (_, thread) = world.get(&format!("threads/{first}?format=minimal")).await;
    assert_eq!(thread["messages"].as_array().unwrap().len(), 2);

    let (_, page) = world.get("messages?maxResults=1").await;
    let next = page["nextPageToken"].as_str().unwrap();
    let (_, page) = world.get(&format!("messages?maxResults=1&pageToken={next}")).await;
    assert_eq!(page["messages"][0]["id"], first.as_str());
    assert!(page["nextPageToken"].is_null());
    let (_, profile) = world.get("profile").await;
    assert_eq!((&profile["emailAddress"], &profile["threadsTotal"]), (&json!(ANA), &json!(1)));
    let unknown = json!({"raw": base64url(&raw), "threadId": "nope"});
    assert_eq!(world.post("messages/send", unknown).await.0, 404);
}

#[tokio::test]
async fn labels_change_and_own_ones_are_fixed() {
    let world = fixture().await;
    let id = world.google.deliver(ANA, BO, "x", "y").unwrap();
    let path = format!("messages/{id}/modify");
    let (_, message) = world.post(&path, json!({"removeLabelIds": ["UNREAD"]})).await;
    assert_eq!(message["labelIds"], json!(["INBOX"]));
    for label in ["SENT", "Nonsense"] {
        assert_eq!(world.post(&path, json!({"addLabelIds": [label]})).await.0, 400);
    }
    assert_eq!(world.get("labels").await.0, 200);
    assert_eq!(world.get("labels/INBOX").await.1["messagesTotal"], 1);
    assert_eq!(world.get("settings/sendAs").await.1["sendAs"][0]["sendAsEmail"], ANA);
    assert!(world.google.violations().is_empty(), "{:?}", world.google.violations());
}

#[tokio::test]
async fn labels_are_made_once_and_put_on_many() {
    let world = fixture().await;
    let shown = json!({"labelListVisibility": "labelShow", "messageListVisibility": "show"});
    let named = |name: &str| {
        let mut label = shown.clone();
        label["name"] = json!(name);
        label
    };
    let (status, label) = world.post("labels", named("Work/Invoices")).await;
    assert_eq!((status.as_u16(), &label["type"]), (200, &json!("user")), "{label}");
    for (name, code) in [("work/invoices", 409), ("Inbox", 400), (" x", 400), ("", 400)] {
        assert_eq!(world.post("labels", named(name)).await.0, code, "{name}");
    }
    let ids = ["One", "Two"].map(|subject| world.google.deliver(ANA, BO, subject, "x").unwrap());
    let change =
        json!({"ids": [ids[0], ids[1], "gone"], "addLabelIds": [label["id"]], "removeLabelIds": ["INBOX"]});
    assert_eq!(world.post("messages/batchModify", change).await.0, 204);
    assert_eq!(
        (world.google.list_by_label(ANA, "Work/Invoices").len(), world.google.inbox(ANA).len()),
        (2, 0)
    );
    let (_, found) = world.get("messages?q=label:work-invoices").await;
    assert_eq!(found["messages"].as_array().map(Vec::len), Some(2), "{found}");
    for wrong in [
        json!({"ids": [], "addLabelIds": ["STARRED"]}),
        json!({"ids": [ids[0]]}),
        json!({"ids": [ids[0]], "addLabelIds": ["SENT"]}),
        json!({"ids": [ids[0]], "addLabelIds": ["Label_unknown"]}),
        json!({"ids": [ids[0]], "addLabelIds": ["STARRED"], "removeLabelIds": ["STARRED"]}),
    ] {
        assert_eq!(world.post("messages/batchModify", wrong.clone()).await.0, 400, "{wrong}");
    }
    assert!(world.google.violations().is_empty(), "{:?}", world.google.violations());
}

#[tokio::test]
async fn tokens_and_scopes_are_looked_at() {
    let mut world = fixture().await;
    let (status, _) = world.get("messages?colour=red").await;
    assert_eq!(status, 400);
    assert_eq!(world.google.violations().len(), 1);
    let url = format!("{}/gmail/v1/users/{BO}/profile", world.google.url());
    let other = world.http.get(url).bearer_auth(&world.token).send().await.unwrap();
    assert_eq!(other.status(), 403, "somebody else's mailbox");

    world.google.expire_tokens(ANA);
    let (status, error) = world.get("profile").await;
    assert_eq!((status.as_u16(), &error["error"]["status"]), (401, &json!("UNAUTHENTICATED")));

    world.token = world.google.grant_as(ANA, &[READONLY]).access_token;
    let (status, error) =
        world.post("drafts", json!({"message": {"raw": base64url("To: a@b.test\r\n\r\n")}})).await;
    assert_eq!(status, 403);
    assert_eq!(error["error"]["errors"][0]["reason"], "insufficientPermissions");
    world.token =
        world.google.grant_as(ANA, &["https://www.googleapis.com/auth/gmail.metadata"]).access_token;
    let id = world.google.deliver(ANA, BO, "x", "y").unwrap();
    assert_eq!(world.get("messages?q=x").await.0, 403);
    assert_eq!(world.get(&format!("messages/{id}")).await.0, 403);
    assert_eq!(world.get(&format!("messages/{id}?format=metadata")).await.0, 200);
}

#[tokio::test]
async fn a_page_waits_for_mail() {
    let world = fixture().await;
    let url = format!("{}/_sandbox/mailbox?account={ANA}", world.google.url());
    let read = async |url: String| {
        world.http.get(url).send().await.unwrap().json::<serde_json::Value>().await.unwrap()
    };
    let first = read(url.clone()).await;
    let waiting = read(format!("{url}&since={}", first["version"]));
    let deliver = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        world.google.deliver(ANA, BO, "News", "x").unwrap();
    };
    let (second, ()) = tokio::join!(waiting, deliver);
    assert_eq!(second["inbox"][0]["subject"], "News");
    assert!(world.google.wait_for(|google| google.inbox(ANA).len() == 1, Duration::from_secs(1)).await);
    assert!(!world.google.wait_for(|google| google.inbox(ANA).len() == 2, Duration::from_millis(20)).await);
}
