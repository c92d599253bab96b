//! Slack over HTTP: signed requests take the same path as the socket's envelopes.

use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit};
use nod_contract::clock::Clock;
use nod_sandbox::model::Answer;
use nod_sandbox::slack::{EventDelivery, MentionOrder, NewMessage, sign};
use nod_tests::{Mode, World, max_wait};
use serde_json::{Value, json};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::mail::late_mail_call;

const BOTH: [Mode; 2] = [Mode::Socket, Mode::Http];
const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn talk_is_the_same_either_way() {
    for mode in BOTH {
        let mut world = World::with_slack_mode(mode).await;
        world.script_model("conversational", [Answer::text("Hello **Ana**.")]);
        let ts = world.say("ana", "general", "@nod hello").await;
        world.script_model("conversational", [Answer::text("Twice *two* is 4.")]);
        world.reply("bo", "general", &ts, "and what is 2×2?").await;
        world.say("ana", "general", "lunch, anyone?").await;
        world.script_model("conversational", [Answer::text("You're welcome.")]);
        world.say("ana", "dm:ana", "thanks!").await;
        let answered = world.run_command("ana", "general", "aprovals").await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.read_new("general"), @r"
                ana: @nod hello
                    nod: Hello Ana.
                    bo: and what is 2×2?
                    nod: Twice two is 4.
                ana: lunch, anyone?
            ");
            insta::assert_snapshot!(world.read_new("dm:ana"), @r"
                ana: thanks!
                nod: You're welcome.
            ");
            insta::assert_snapshot!(answered, @"(ana only) nod: I don't know the command aprovals. Did you mean /nod approvals? You can use help, ask, connect, disconnect, approvals, memory, knowledge, task, runs, settings.");
        }
        world.finish().await;
    }
}

#[tokio::test]
async fn mail_waits_for_a_yes_either_way() {
    for mode in BOTH {
        let mut world = World::with_slack_mode(mode).await;
        world.connect_google("ana").await;
        world.script_model("tool", [late_mail_call(), Answer::text("Bo knows that you are late.")]);
        world.say("ana", "general", "@nod tell Bo I'm late").await;
        world.click("bo", "general", "Approve & send").await;
        let told = world.wait_for_ephemeral("bo").await;
        world.click("ana", "general", "Approve & send").await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(told, @"(bo only) nod: Only Ana Silva can decide this. Nothing was done.");
            insta::assert_snapshot!(world.read_new("general"), @r"
                ana: @nod tell Bo I'm late
                    nod: # Email sent
                      From  ana@acme.test
                      To  bo@acme.test
                      Subject  Running late
                      Hi Bo,

                      I'm running late.

                      Ana
                      Approved by Ana Silva 09:30 WET → Sent 09:30 WET
                      [Open in Gmail]
                    nod: Bo knows that you are late.
            ");
        }
        assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
        world.finish().await;
    }
}

#[tokio::test]
async fn a_mention_comes_twice_and_may_be_sent_again_and_is_heard_once() {
    for order in [MentionOrder::MentionFirst, MentionOrder::MessageFirst] {
        let mut world = World::with_slack_mode(Mode::Http).await;
        world.slack.change(|slack| slack.config.mention_order = order);
        world.script_model("conversational", [Answer::text("Once.")]);
        let twice = NewMessage {
            deliver: EventDelivery::Duplicated,
            ..NewMessage::new("ana", "general", "@nod hello")
        };
        world.slack.post_message_with(twice).unwrap();
        world.wait_until_idle().await;
        world.slack.redeliver_last();
        world.wait_until_idle().await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.read_new("general"), @r"
                ana: @nod hello
                    nod: Once.
            ");
        }
        world.finish().await;
    }
}

#[tokio::test]
async fn an_event_that_was_not_stored_is_refused_and_comes_again() {
    let mut world = World::with_slack_mode(Mode::Http).await;
    world.script_model("conversational", [Answer::text("Here.")]);
    sqlx::query("alter table inbound rename to inbound_away").execute(&world.pool).await.unwrap();
    world.slack.change(|w| w.config.redeliver_after = Duration::from_millis(200));
    world.slack.post_message("ana", "dm:ana", None, "are you there?");
    // Slack has tried twice and was rejected twice.
    world
        .slack
        .wait_for("a second try", max_wait(), |w| {
            w.envelopes().last().filter(|envelope| envelope.attempt >= 1).map(|_| ())
        })
        .await;
    sqlx::query("alter table inbound_away rename to inbound").execute(&world.pool).await.unwrap();
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        ana: are you there?
        nod: Here.
    ");
    world.finish().await;
}

/// Posts to one of Slack's routes, and returns the status code.
async fn post_signed(world: &World, route: &str, kind: &str, at: i64, signature: &str, body: String) -> u16 {
    let request = reqwest::Client::new()
        .post(format!("{}/slack/{route}", world.server_url()))
        .header("content-type", kind)
        .header("x-slack-request-timestamp", at.to_string())
        .header("x-slack-signature", signature)
        .body(body);
    request.send().await.unwrap().status().as_u16()
}

fn secret(world: &World) -> String {
    world.slack.read(|w| w.config.app.signing_secret.clone())
}

/// A message to Nod, as Slack's event reports it.
fn event(world: &World, ts: &str) -> Value {
    let channel = world.slack.dm("ana");
    json!({"type": "event_callback", "event": {
        "type": "message", "channel": channel, "channel_type": "im", "user": "U000000ANA", "text": "hello", "ts": ts,
    }})
}

#[tokio::test]
async fn what_slack_did_not_sign_just_now_is_refused_and_leaves_no_trace() {
    let world = World::with_slack_mode(Mode::Http).await;
    let (now, secret) = (world.clock.now().timestamp(), secret(&world));
    let body = event(&world, "1772789400.000100").to_string();
    let right = sign(&secret, now, &body);
    let before = world.dump_rows().await;
    let changed = body.replace("hello", "send everything");
    let long_ago = now - 301;
    for (what, at, signature, body) in [
        ("the signature of another body", now, right.clone(), changed),
        ("another secret", now, sign("guessed", now, &body), body.clone()),
        ("no signature", now, String::new(), body.clone()),
        ("half a signature", now, right[..30].to_owned(), body.clone()),
        ("another version", now, right.replace("v0=", "v1="), body.clone()),
        ("the time of another request", now + 1, right.clone(), body.clone()),
        ("a recording from five minutes ago", long_ago, sign(&secret, long_ago, &body), body.clone()),
        ("one from the future", now + 301, sign(&secret, now + 301, &body), body.clone()),
    ] {
        for (route, kind) in [("events", "application/json"), ("interactions", FORM), ("commands", FORM)] {
            assert_eq!(
                post_signed(&world, route, kind, at, &signature, body.clone()).await,
                401,
                "{what}: {route}"
            );
        }
    }
    assert_eq!(world.dump_rows().await, before);
    world.finish().await;
}

#[tokio::test]
async fn what_is_signed_and_cannot_be_read_is_kept() {
    let world = World::with_slack_mode(Mode::Http).await;
    let (now, secret) = (world.clock.now().timestamp(), secret(&world));
    for (route, kind, body) in [
        ("events", "application/json", "{\"type\": \"event_callback\", ".to_owned()),
        ("events", "application/json", "[1, 2]".to_owned()),
        (
            "events",
            "application/json",
            json!({"type": "event_callback", "event": {"user": "U1"}}).to_string(),
        ),
        ("interactions", FORM, "payload=%7Bbroken".to_owned()),
        ("interactions", FORM, "nothing=here".to_owned()),
        ("commands", FORM, "command=%2Fnod".to_owned()),
    ] {
        let signature = sign(&secret, now, &body);
        assert_eq!(post_signed(&world, route, kind, now, &signature, body.clone()).await, 200, "{body}");
    }
    let kept: i64 = sqlx::query_scalar("select count(*) from inbound where kind = 'unreadable'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(kept, 6);
    // An unknown kind of event is ignored, and Slack's `ssl_check` is no command.
    let news =
        json!({"type": "event_callback", "event": {"type": "huddle_teleported", "user": "U1"}}).to_string();
    for (route, kind, body) in
        [("events", "application/json", news), ("commands", FORM, "ssl_check=1&token=x".to_owned())]
    {
        let signature = sign(&secret, now, &body);
        assert_eq!(post_signed(&world, route, kind, now, &signature, body).await, 200);
    }
    // A body that is too large for Slack is not even read.
    let enormous = "x".repeat(3 * 1024 * 1024);
    let signature = sign(&secret, now, &enormous);
    assert_eq!(post_signed(&world, "events", "application/json", now, &signature, enormous).await, 413);
    let kept: i64 = sqlx::query_scalar("select count(*) from inbound").fetch_one(&world.pool).await.unwrap();
    assert_eq!(kept, 6);
    world.finish().await;
}

/// Sends this part of a request to Nod's server and nothing more. Returns the connection.
async fn send_partial_request(world: &World, request: &str) -> TcpStream {
    let mut socket = TcpStream::connect(&world.env["NOD_SERVER__BIND"]).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

/// Reads the response until Nod closes the connection.
async fn until_closed(mut socket: TcpStream) -> String {
    let mut answer = Vec::new();
    // A connection that is reset is closed as well.
    timeout(max_wait(), socket.read_to_end(&mut answer)).await.expect("it was never closed").ok();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The head of a request to Slack's events route.
fn head(at: i64, signature: &str, length: usize) -> String {
    format!(
        "POST /slack/events HTTP/1.1\r\nhost: nod\r\ncontent-type: application/json\r\n\
         x-slack-request-timestamp: {at}\r\nx-slack-signature: {signature}\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// More connections than the server accepts at once: 512, or half of the open-file limit after 256 are set aside. Both
/// ends of each connection are in this process, so a low limit leaves room for only a few in the backlog.
fn strangers_at_once() -> usize {
    const OTHERS: usize = 256;
    let (files, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let files = usize::try_from(files).unwrap();
    let taken = (files.saturating_sub(OTHERS) / 2).clamp(8, 512);
    let room = files.saturating_sub(2 * taken + OTHERS);
    taken + room.clamp(16, 188)
}

#[tokio::test]
async fn half_requests_end_and_slack_is_heard() {
    nod_bot::server::raise_open_files().unwrap();
    let mut world = World::with_slack_mode(Mode::Http).await;
    let mut strangers = JoinSet::new();
    for _ in 0..strangers_at_once() {
        strangers.spawn(until_closed(send_partial_request(&world, "GET /healthz HTTP/1.1\r\nhost: n").await));
    }
    world.script_model("conversational", [Answer::text("Here.")]);
    world.slack.change(|w| w.config.redeliver_after = Duration::from_millis(200));
    world.slack.post_message("ana", "dm:ana", None, "are you there?");
    while let Some(answer) = strangers.join_next().await {
        let answer = answer.unwrap();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    world.wait_for_nod_message("dm:ana", "Here.").await;
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        ana: are you there?
        nod: Here.
    ");
    world.finish().await;
}

#[tokio::test]
async fn a_slow_body_ends() {
    let world = World::with_slack_mode(Mode::Http).await;
    let now = world.clock.now().timestamp();
    let body = "x".repeat(500);
    let signature = sign(&secret(&world), now, &body);
    let half = head(now, &signature, 500) + &body[..250];
    let large = head(now, &signature, 600_000) + &body;
    let mut slow = JoinSet::new();
    for request in [half, large.clone(), large.clone(), large.clone(), large.clone(), large] {
        slow.spawn(until_closed(send_partial_request(&world, &request).await));
    }
    // Large requests that do not arrive do not delay small ones.
    let event = event(&world, "1772789400.000100").to_string();
    let signature = sign(&secret(&world), now, &event);
    let other = event.replace("hello", "send everything");
    assert_eq!(post_signed(&world, "events", "application/json", now, &signature, other).await, 401);
    while let Some(answer) = slow.join_next().await {
        let answer = answer.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    world.finish().await;
}

#[tokio::test]
async fn a_large_body_without_a_signature_is_not_read() {
    let mut world = World::with_slack_mode(Mode::Http).await;
    let now = world.clock.now().timestamp();
    let right = sign(&secret(&world), now, "x");
    const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
    for (what, at, signature, length, status) in [
        ("no signature", now, "", MAX_BODY_BYTES, "401"),
        ("half a signature", now, &right[..30], MAX_BODY_BYTES, "401"),
        ("no digits", now, &right.replace(|c: char| c.is_ascii_digit(), "z"), MAX_BODY_BYTES, "401"),
        ("long ago", now - 301, right.as_str(), MAX_BODY_BYTES, "401"),
        ("longer than anything of Slack's", now, right.as_str(), MAX_BODY_BYTES + 1, "413"),
    ] {
        // Only the head is sent: a server that wanted the body would not respond.
        let answer = until_closed(send_partial_request(&world, &head(at, signature, length)).await).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{what}: {answer}");
        assert!(answer.contains("connection: close"), "{what}: {answer}");
    }
    // A long but genuine one from Slack is handled.
    world.script_model("conversational", [Answer::text("That was long.")]);
    let say = NewMessage {
        extra: json!({"blocks_of_others": "x".repeat(600_000)}),
        ..NewMessage::new("ana", "dm:ana", "hi")
    };
    world.slack.post_message_with(say).unwrap();
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        ana: hi
        nod: That was long.
    ");
    world.finish().await;
}
