#![allow(clippy::unwrap_used)]

use chrono::{Duration, Utc};
use nod_contract::chat::Membership;
use nod_sandbox::Fault;
use nod_sandbox::slack::{Slack as Fake, User};
use secrecy::ExposeSecret;
use uuid::Uuid;

use super::*;
use crate::slack::fixtures::*;
use crate::slack::{Slack, Transport, connect, probe, probe_socket};

const KEY: DeliveryId = DeliveryId(Uuid::from_u128(42));

fn general(fake: &Fake, thread: Option<String>) -> DeliveryTarget {
    let channel = fake.read(|w| w.channel_id("general")).unwrap();
    DeliveryTarget::Channel {
        workspace: "T0ACME0001".into(),
        place: ChannelRef { channel, is_dm: false, thread },
    }
}

fn direct(fake: &Fake, who: &str) -> DeliveryTarget {
    let user = fake.read(|w| w.user_id(who)).unwrap();
    DeliveryTarget::DirectMessage { workspace: "T0ACME0001".into(), user }
}

async fn post(slack: &Slack, target: &DeliveryTarget, text: &str) -> Result<Shown, ChatError> {
    slack.adapter().post_message(target, &Card::from_markdown(text).with_title("Title"), KEY).await
}

#[tokio::test]
async fn a_card_is_posted_replaced_and_found() {
    let fake = fake_slack().await;
    let slack = connect_slack(&fake).await;
    let thread = fake.post_message("ana", "general", None, "@nod hello");
    let since = Utc::now() - Duration::seconds(1);
    for target in [general(&fake, None), general(&fake, Some(thread.clone())), direct(&fake, "ana")] {
        let find = || async { slack.adapter().find_message(&target, KEY, since, false).await.unwrap() };
        assert_eq!(find().await, MessageLookup::NotFound);
        let shown = post(&slack, &target, "**one** <!channel>").await.unwrap();
        assert_eq!(find().await, MessageLookup::Found(shown.clone()));
        assert_eq!(shown.since, instant(&shown.at.message));
        let posted = shown.at;
        let since = slack.adapter().update_message(&posted, &Card::from_markdown("two"), KEY).await.unwrap();
        assert!(since > shown.since, "the edit is told in whole seconds");
        let edited = Shown { at: posted.clone(), since };
        assert_eq!(find().await, MessageLookup::Found(edited), "still found after it was replaced");
        let message = fake.read(|w| w.message(&posted.channel, &posted.message).cloned()).unwrap();
        assert_eq!(message.text, "two");
        assert_eq!((message.unfurl_links, message.unfurl_media), (Some(false), Some(false)));
    }
    assert_eq!(fake.thread("general", &thread).len(), 2);
    assert_eq!(fake.list_calls_of("conversations.open").len(), 1, "the direct line is remembered");
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_card_is_found_behind_many_others() {
    let fake = fake_slack().await;
    let slack = connect_slack(&fake).await;
    let since = Utc::now() - Duration::seconds(1);
    let posted = post(&slack, &general(&fake, None), "needle").await.unwrap();
    for n in 0..450 {
        fake.post_message("bo", "general", None, &format!("hay {n}"));
    }
    let found = slack.adapter().find_message(&general(&fake, None), KEY, since, false).await.unwrap();
    assert_eq!(found, MessageLookup::Found(posted));
    for n in 0..1_000 {
        fake.post_message("bo", "general", None, &format!("more hay {n}"));
    }
    let other = DeliveryId(Uuid::from_u128(43));
    let lost = slack.adapter().find_message(&general(&fake, None), other, since, false).await.unwrap();
    assert_eq!(lost, MessageLookup::Unknown, "further than it looks");
}

#[tokio::test]
async fn lookup_without_history_access_is_unknown() {
    let fake = fake_slack().await;
    let slack = connect_slack(&fake).await;
    fake.change(|w| w.config.app.scopes.remove("channels:history"));
    let since = Utc::now();
    let find = |target: DeliveryTarget| {
        let adapter = slack.adapter();
        async move { adapter.find_message(&target, KEY, since, false).await }
    };
    assert_eq!(find(general(&fake, None)).await, Ok(MessageLookup::Unknown));
    let DeliveryTarget::Channel { workspace, place } = general(&fake, None) else { panic!("a place") };
    let whisper = DeliveryTarget::Ephemeral { workspace, place, user: "U1".into() };
    assert_eq!(find(whisper).await, Ok(MessageLookup::Unknown));
}

#[tokio::test]
async fn api_errors_are_classified() {
    let fake = fake_slack().await;
    let slack = connect_slack(&fake).await;
    let target = general(&fake, None);
    for (fault, expected) in [
        (Fault::Status { code: 429, retry_after: Some(7) }, "asked to wait 7 s"),
        (Fault::Status { code: 503, retry_after: None }, "no answer: HTTP 503"),
        (Fault::Status { code: 404, retry_after: None }, "refused: http_404"),
        (Fault::DropConnection, "no answer: the connection broke"),
        (Fault::DropResponse, "no answer: the connection broke"),
    ] {
        fake.faults().next("chat.postMessage", fault);
        let error = post(&slack, &target, "words nobody may see in an error").await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    fake.change(|w| w.users.get_mut("U0000000BO").unwrap().refuses_dms = true);
    let refused = post(&slack, &direct(&fake, "bo"), "hi").await;
    assert!(matches!(refused, Err(ChatError::ChannelClosed { .. })), "{refused:?}");
}

#[tokio::test]
async fn ephemeral_is_seen_by_one_person() {
    let fake = fake_slack().await;
    let slack = connect_slack(&fake).await;
    let DeliveryTarget::Channel { workspace, place } = general(&fake, None) else { panic!("a place") };
    let user = fake.read(|w| w.user_id("ana")).unwrap();
    post(&slack, &DeliveryTarget::Ephemeral { workspace, place, user }, "psst").await.unwrap();
    assert_eq!(fake.ephemerals("ana").len(), 1);
    assert_eq!(fake.ephemerals("bo").len(), 0);
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn memberships_are_parsed() {
    let fake = fake_slack().await;
    fake.add_user(User { is_restricted: true, ..User::new("gus", "Gus Guest") });
    fake.add_user(User::new("eve", "Eve Else").external("T0OTHER001"));
    let slack = connect_slack(&fake).await;
    let id = fake.read(|w| w.user_id("ana")).unwrap();
    let ana = slack.adapter().fetch_profile("T0ACME0001", &id).await.unwrap();
    assert_eq!((ana.full_name.as_str(), ana.email.as_deref()), ("Ana Ruiz", Some("ana@acme.test")));
    assert_eq!((ana.membership, ana.zone.as_deref()), (Membership::Member, Some("Europe/Berlin")));
    let eve = fake.read(|w| w.user_id("eve")).unwrap();
    assert_eq!(
        slack.adapter().fetch_profile("T0ACME0001", &eve).await.unwrap().membership,
        Membership::External
    );
    let (mut everybody, mut cursor) = (Vec::new(), None);
    loop {
        let (page, next) = slack.adapter().list_members("T0ACME0001", cursor).await.unwrap();
        everybody.extend(page);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    let standing = |name: &str| everybody.iter().find(|p| p.full_name == name).map(|p| p.membership);
    assert_eq!(standing("Gus Guest"), Some(Membership::Guest));
    assert_eq!(standing("nod"), Some(Membership::Bot));
    let nobody = slack.adapter().fetch_profile("T0ACME0001", "U0NOBODY00").await;
    assert_eq!(nobody, Err(ChatError::ChannelClosed { code: "user_not_found".into() }));
}

#[tokio::test]
async fn the_probe_names_missing_scopes_and_a_wrong_app_token() {
    let fake = fake_slack().await;
    let report = probe(&settings(&fake)).await.unwrap();
    assert!(report.missing.is_empty(), "{report:?}");
    let opens = async |app_token: &str| {
        let api_url = &settings(&fake).api_url;
        probe_socket(api_url, &app_token.to_owned().into()).await
    };
    let Transport::Socket { app_token } = settings(&fake).transport else { panic!("the fake has a socket") };
    assert_eq!(opens(app_token.expose_secret()).await, Ok(()));
    assert!(matches!(opens("xapp-wrong").await, Err(ChatError::Rejected { .. })));
    assert_eq!(report.identity, *connect_slack(&fake).await.identity());
    fake.change(|w| w.config.app.scopes.remove("users:read.email"));
    let mut settings = settings(&fake);
    let report = probe(&settings).await.unwrap();
    match report.granted_scopes {
        Some(_) => assert_eq!(report.missing, ["users:read.email"]),
        None => eprintln!("the fake does not tell its scopes yet"),
    }
    settings.bot_token = "xoxb-wrong".to_owned().into();
    let refused = probe(&settings).await.unwrap_err().to_string();
    assert_eq!(refused, "Slack (auth.test): refused: invalid_auth");
    assert!(connect(settings).await.is_err());
}

#[test]
fn since_when_a_message_reads_as_it_does_is_slacks_to_say() {
    let ts = serde_json::json!("1772789400.000100");
    let since = |message: &Value| parse_posted(Some("C1"), &ts, message).unwrap().since;
    let seconds = |text: &str| Some(text.parse::<Timestamp>().unwrap());
    let edited = |ts: &str| serde_json::json!({"edited": {"user": "UNOD", "ts": ts}});
    for (message, expected) in [
        (Value::Null, seconds("2026-03-06T09:30:00.000100Z")),
        (edited("1772789405.000200"), seconds("2026-03-06T09:30:05.000200Z")),
        // A whole second is the one in which it was edited.
        (edited("1772789405.000000"), seconds("2026-03-06T09:30:06Z")),
        (edited("1772789405"), seconds("2026-03-06T09:30:06Z")),
        (edited("soon"), None),
        (serde_json::json!({"edited": {}}), None),
    ] {
        assert_eq!(since(&message), expected, "{message}");
    }
}
