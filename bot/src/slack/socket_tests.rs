#![allow(clippy::unwrap_used)]

use nod_contract::card::{Action, Card, OnClick, Style};
use nod_contract::chat::{Addressing, ChannelRef, DeliveryTarget, Event};
use nod_contract::ids::DeliveryId;
use nod_sandbox::slack::Slack as Fake;
use uuid::Uuid;

use crate::ingest_status::IngestStatus;
use crate::slack::IncomingPayload;
use crate::slack::fixtures::*;

fn message_text(what: &Event) -> Option<(&str, Addressing)> {
    match what {
        Event::Message { text, addressing: addressed, .. } => Some((text, *addressed)),
        _ => None,
    }
}

#[tokio::test]
async fn messages_are_stored_and_then_acknowledged() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let listener = start_listener(&slack, &memory).await;
    fake.post_message("ana", "general", None, "@nod hello");
    let dm = fake.dm("ana");
    fake.post_message("ana", &dm, None, "and here");
    fake.post_message("bo", "general", None, "lunch?");
    let heard =
        wait_for("three messages", || Some(memory.list_events()).filter(|heard| heard.len() == 3)).await;
    let heard: Vec<_> = heard.iter().filter_map(message_text).collect();
    assert_eq!(
        heard,
        [
            ("hello", Addressing::Mention),
            ("and here", Addressing::DirectMessage),
            ("lunch?", Addressing::Unaddressed)
        ]
    );
    wait_for("acknowledgements", || fake.list_unacknowledged().is_empty().then_some(())).await;
    listener.shutdown().await;
    wait_for("the end of the connection", || (fake.connections() == 0).then_some(())).await;
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn what_takes_long_to_store_holds_up_its_own_channel_alone() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let listener = start_listener(&slack, &memory).await;
    fake.post_message("ana", "general", None, SLOW);
    fake.post_message("bo", "general", None, "after it");
    let dm = fake.dm("ana");
    fake.post_message("ana", &dm, None, "elsewhere");
    let texts = || {
        let events = memory.list_events();
        events.iter().filter_map(message_text).map(|(text, _)| text.to_owned()).collect::<Vec<_>>()
    };
    wait_for("what is said elsewhere", || (!texts().is_empty()).then_some(())).await;
    assert_eq!(texts(), ["elsewhere"]);
    memory.slow.add_permits(1);
    wait_for("the rest", || (texts().len() == 3).then_some(())).await;
    assert_eq!(texts(), ["elsewhere", SLOW, "after it"]);
    listener.shutdown().await;
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn what_was_read_is_stored_and_acknowledged_before_a_stop() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let listener = start_listener(&slack, &memory).await;
    send_slowly_stored(&fake, &memory).await;
    let mut status = listener.status();
    let stopping = tokio::spawn(listener.shutdown());
    status.wait_for(|now| *now == IngestStatus::Disconnected).await.unwrap();
    assert!(!stopping.is_finished());
    memory.slow.add_permits(1);
    stopping.await.unwrap();
    assert_eq!(memory.list_events().len(), 3);
    wait_for("acknowledgements", || fake.list_unacknowledged().is_empty().then_some(())).await;
}

#[tokio::test]
async fn what_was_read_is_stored_though_the_connection_is_lost_and_replaced() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let listener = start_listener(&slack, &memory).await;
    send_slowly_stored(&fake, &memory).await;
    fake.drop_sockets();
    wait_until_connected(&listener, false).await;
    wait_until_connected(&listener, true).await;
    memory.slow.add_permits(2);
    wait_for("all three", || (memory.list_events().len() == 3).then_some(())).await;
}

/// Three messages arrive, of which the first of a channel takes long to store, and so the second has to wait.
async fn send_slowly_stored(fake: &Fake, memory: &RecordingInbox) {
    fake.post_message("ana", "general", None, SLOW);
    fake.post_message("ana", "general", None, "after it");
    let dm = fake.dm("ana");
    fake.post_message("ana", &dm, None, "elsewhere");
    wait_for("what is said elsewhere", || (memory.list_events().len() == 1).then_some(())).await;
}

#[tokio::test]
async fn what_was_not_stored_is_delivered_again() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let _listener = start_listener(&slack, &memory).await;
    *memory.failures.lock().unwrap() = 1;
    let dm = fake.dm("ana");
    fake.post_message("ana", &dm, None, "keep this");
    wait_for("the second delivery", || (memory.list_events().len() == 1).then_some(())).await;
}

#[tokio::test]
async fn a_command_is_answered_on_its_acknowledgement() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let _listener = start_listener(&slack, &memory).await;
    let answer =
        fake.run_command("ana", "general", "/nod", "Help me").wait_for_acknowledgement(TIMEOUT).await;
    let payload = answer.payload.unwrap();
    assert_eq!((&payload["response_type"], &payload["text"]), (&"ephemeral".into(), &"Noted.".into()));
    assert!(
        matches!(&memory.list_events()[..], [Event::Command { name, text, .. }] if name == "help" && text == "me")
    );
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn button_click_carries_its_action_and_gets_an_ephemeral() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let _listener = start_listener(&slack, &memory).await;
    let verb = Action::new("approve", Uuid::from_u128(9));
    let card =
        Card::from_markdown("Shall I?").with_button("Approve", Style::Primary, OnClick::Action(verb.clone()));
    let channel = fake.read(|w| w.channel_id("general")).unwrap();
    let place = ChannelRef { channel: channel.clone(), is_dm: false, thread: None };
    let target = DeliveryTarget::Channel { workspace: slack.identity().team.clone(), place };
    let posted = slack.adapter().post_message(&target, &card, DeliveryId(Uuid::from_u128(1))).await.unwrap();
    fake.click("ana", "general", &posted.at.message, "Approve")
        .unwrap()
        .wait_for_acknowledgement(TIMEOUT)
        .await;
    assert!(matches!(&memory.list_events()[..], [Event::ButtonClicked { verb: Some(v), .. }] if *v == verb));
    let whisper = wait_for("the whisper", || fake.ephemerals("ana").pop()).await;
    assert_eq!((whisper.text.as_str(), whisper.channel), ("Noted.", channel));
}

#[tokio::test]
async fn nothing_is_lost_when_connections_end() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let listener = start_listener(&slack, &memory).await;
    let dm = fake.dm("ana");
    for (n, end) in ["warning", "refresh_requested", "cut", "refresh_requested"].into_iter().enumerate() {
        fake.post_message("ana", &dm, None, &format!("before {n}"));
        match end {
            "cut" => fake.drop_sockets(),
            reason => fake.disconnect_sockets(reason),
        }
        fake.post_message("ana", &dm, None, &format!("after {n}"));
        wait_for("both messages", || (memory.list_events().len() == 2 * (n + 1)).then_some(())).await;
        wait_until_connected(&listener, true).await;
    }
    wait_for("acknowledgements", || fake.list_unacknowledged().is_empty().then_some(())).await;
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn next_connection_opens_before_the_last_closes() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let listener = start_listener(&slack, &memory).await;
    fake.disconnect_sockets("warning");
    wait_for("a second connection", || (fake.connections() == 2).then_some(())).await;
    assert_ne!(*listener.status().borrow(), IngestStatus::Disconnected);
}

#[tokio::test]
async fn a_dial_under_way_is_closed_too() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let listener = start_listener(&slack, &memory).await;
    fake.disconnect_sockets("warning");
    // Immediately: Nod must not have received the hello.
    while fake.connections() < 2 {
        tokio::task::yield_now().await;
    }
    listener.shutdown().await;
    wait_for("the end of both connections", || (fake.connections() == 0).then_some(())).await;
}

#[tokio::test]
async fn unavailable_slack_is_retried() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let refused = nod_sandbox::Fault::Status { code: 503, retry_after: None };
    fake.faults().next_times("apps.connections.open", 2, &refused);
    let _listener = start_listener(&slack, &memory).await;
}

#[tokio::test]
async fn unreadable_frames_are_kept_and_acknowledged() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let _listener = start_listener(&slack, &memory).await;
    fake.deliver_raw("no json").unwrap();
    fake.deliver_raw(r#"{"type":"tea","envelope_id":"e-1","payload":{"x":1}}"#).unwrap();
    fake.deliver_event(serde_json::json!({"event": {"type": "message", "user": "U1", "ts": "1.2"}}));
    let all =
        wait_for("three kept payloads", || Some(memory.list_payloads()).filter(|all| all.len() == 3)).await;
    assert!(all.iter().all(|arrival| matches!(arrival, IncomingPayload::Unreadable { .. })));
    wait_for("acknowledgements", || fake.list_unacknowledged().is_empty().then_some(())).await;
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn each_message_of_a_burst_is_acknowledged() {
    let (fake, memory) = (fake_slack().await, RecordingInbox::default());
    let slack = connect_slack(&fake).await;
    let _listener = start_listener(&slack, &memory).await;
    let dm = fake.dm("ana");
    for n in 0..200 {
        fake.post_message("ana", &dm, None, &format!("message {n}"));
    }
    wait_for("200 messages", || (memory.list_events().len() == 200).then_some(())).await;
    wait_for("acknowledgements", || fake.list_unacknowledged().is_empty().then_some(())).await;
    let slowest = fake.ack_times().into_iter().max().unwrap();
    eprintln!("200 envelopes in a burst: slowest acknowledgement {slowest:?}");
}
