//! Bad input gets a clear sentence and loses nothing.

use nod_sandbox::model::Answer;
use nod_sandbox::slack::{ForgedClick, NewMessage};
use nod_tests::{World, max_wait};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::mail::late_mail_call;

async fn with_connected_account() -> World {
    let mut world = World::new().await;
    world.connect_google("ana").await;
    world
}

fn mail(subject: &str, body: &str) -> Answer {
    Answer::tool("gmail_send_email", json!({ "to": ["Bo"], "subject": subject, "body": body }))
}

async fn load_unreadable(world: &World) -> Vec<Value> {
    let query = "select raw from inbound where kind = 'unreadable' order by key";
    sqlx::query_scalar(query).fetch_all(&world.pool).await.unwrap()
}

#[tokio::test]
async fn what_cannot_be_read_is_kept_and_acknowledged() {
    let mut world = World::new().await;
    world.slack.deliver_event(json!({ "type": "event_callback", "event": { "nothing": true } }));
    world
        .slack
        .deliver_event(json!({ "type": "event_callback", "event": { "type": "message", "user": "U1" } }));
    world.slack.deliver_event(json!({ "type": "event_callback", "event": "\u{0}" }));
    world.slack.deliver_event(json!([1, 2, "three"]));
    world.slack.deliver_raw("no JSON at all").unwrap();
    world
        .slack
        .deliver_raw(r#"{"type":"events_api","payload":{"event":{"type":"message","text":"\ud800"}}}"#)
        .unwrap();
    world.wait_until_idle().await;
    assert!(world.slack.list_unacknowledged().is_empty());
    let kept = load_unreadable(&world).await;
    assert!(kept.len() >= 4, "{kept:#?}");
    world.script_model("conversational", [Answer::text("Still here.")]);
    world.say("ana", "dm:ana", "are you there?").await;
    assert!(world.read_new("dm:ana").contains("Still here."));
    world.finish().await;
}

#[tokio::test]
async fn forged_buttons_do_nothing_but_say_so() {
    let mut world = with_connected_account().await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let id: Uuid = sqlx::query_scalar("select id from approvals").fetch_one(&world.pool).await.unwrap();
    let wrong = Uuid::from_u128(7);
    let presses = [
        ("bo", format!("approve:{id}")),
        ("ana", format!("approve:{wrong}")),
        ("ana", "approve:not-a-uuid".to_owned()),
        ("ana", format!("answer_question:{id}:0")),
        ("ana", format!("show_privately:{wrong}")),
        ("ana", format!("retry_run:{wrong}")),
        ("ana", format!("allow_account:{wrong}")),
        ("ana", format!("explode:{id}")),
        ("ana", String::new()),
        ("ana", "\u{0}".to_owned()),
        ("ana", "x".repeat(1999)),
    ];
    let mut heard = String::new();
    for (user, value) in presses {
        let forged = ForgedClick {
            user: user.to_owned(),
            channel: "general".to_owned(),
            ts: "1.1".to_owned(),
            action_id: "approve".to_owned(),
            value: value.clone(),
            ..Default::default()
        };
        world.slack.click_forged(forged).unwrap().wait_for_acknowledgement(max_wait()).await;
        let value =
            value.replace(&id.to_string(), "ID").replace(&wrong.to_string(), "WRONG").replace('\0', "NUL");
        heard.push_str(&format!("{value:.20} → {}\n", world.wait_for_ephemeral(user).await));
    }
    insta::assert_snapshot!(heard, @r"
        approve:ID → (bo only) nod: Only Ana Silva can decide this. Nothing was done.
        approve:WRONG → (ana only) nod: I can't find that request any more. Nothing was done.
        approve:not-a-uuid → (ana only) nod: That button no longer works. Nothing was done.
        answer_question:ID:0 → (ana only) nod: I can't find that question any more.
        show_privately:WRONG → (ana only) nod: That's for someone else, or it's gone.
        retry_run:WRONG → (ana only) nod: I can't find that any more.
        allow_account:WRONG → (ana only) nod: Only a Nod admin can decide this.
        explode:ID → (ana only) nod: That button no longer works. Nothing was done.
         → (ana only) nod: That button no longer works. Nothing was done.
        NUL → (ana only) nod: That button no longer works. Nothing was done.
        xxxxxxxxxxxxxxxxxxxx → (ana only) nod: That button no longer works. Nothing was done.
    ");
    let status: String =
        sqlx::query_scalar("select status from approvals").fetch_one(&world.pool).await.unwrap();
    assert_eq!(status, "pending");
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn a_message_of_a_hundred_thousand_characters_is_said_to_be_too_long() {
    let mut world = World::new().await;
    world.say("ana", "dm:ana", &"lorem ipsum ".repeat(8_334)).await;
    let read = world.read_new("dm:ana");
    insta::assert_snapshot!(read.lines().last().unwrap(), @"nod: Your message is 100,007 characters long, and I can read 40,000 at once. Please send the part that matters.");
    assert!(world.model.requests().is_empty());
    world.finish().await;
}

#[tokio::test]
async fn an_empty_mention_gets_help() {
    let mut world = World::new().await;
    world.say("ana", "general", "@nod").await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod
            nod: I read your email and calendar when you ask, answer questions, and write emails and invitations for you. You see exactly what will be sent, and it only goes once you press Approve.

              • Mention me in a channel and I'll answer in a thread. You don't need to mention me again there.
              • In direct messages, just write.
              • Try “tell Bo I'm late”, “what's new in my email?”, “draft an email to Bo about the plan”, “what's on my calendar tomorrow?” or “find half an hour with Bo next week”.
              • Say “stop” and I'll stop. Press Undo to take back something that's about to go out.

              /nod ask … ask me anything · /nod connect google connect your account · /nod disconnect disconnect your account · /nod connect chat link your other chat · /nod approvals see what's waiting for you · /nod memory see what I remember · /nod knowledge lists the documents I know here; add URL, remove NAME and again NAME change them · /nod task hand me work that takes several steps · /nod runs see how your requests went · /nod settings change how I work in this channel, and your working hours · /nod help show this.
    ");
    insta::assert_snapshot!(world.run_command("ana", "general", "").await, @r"
        (ana only) nod: I read your email and calendar when you ask, answer questions, and write emails and invitations for you. You see exactly what will be sent, and it only goes once you press Approve.

        • Mention me in a channel and I'll answer in a thread. You don't need to mention me again there.
        • In direct messages, just write.
        • Try “tell Bo I'm late”, “what's new in my email?”, “draft an email to Bo about the plan”, “what's on my calendar tomorrow?” or “find half an hour with Bo next week”.
        • Say “stop” and I'll stop. Press Undo to take back something that's about to go out.

        /nod ask … ask me anything · /nod connect google connect your account · /nod disconnect disconnect your account · /nod connect chat link your other chat · /nod approvals see what's waiting for you · /nod memory see what I remember · /nod knowledge lists the documents I know here; add URL, remove NAME and again NAME change them · /nod task hand me work that takes several steps · /nod runs see how your requests went · /nod settings change how I work in this channel, and your working hours · /nod help show this.
    ");
    insta::assert_snapshot!(world.run_command("ana", "general", "aproval").await, @"(ana only) nod: I don't know the command aproval. Did you mean /nod approvals? You can use help, ask, connect, disconnect, approvals, memory, knowledge, task, runs, settings.");
    insta::assert_snapshot!(world.run_command("ana", "general", "`<!channel>` \u{202e}x").await.replace('\u{200b}', "|"), @"(ana only) nod: I don't know the command @|channel. You can use help, ask, connect, disconnect, approvals, memory, knowledge, task, runs, settings.");
    insta::assert_snapshot!(world.run_command("ana", "general", "connect myspace").await, @"(ana only) nod: /nod connect google connects your Google account. /nod connect chat links your other chat.");
    insta::assert_snapshot!(world.run_command("ana", "general", "ask").await, @"(ana only) nod: Ask me something, like /nod ask what's new in my email?");
    world.finish().await;
}

#[tokio::test]
async fn every_script_arrives_as_it_was_written() {
    let mut world = with_connected_account().await;
    let (subject, body) = ("Grüße 👩‍👩‍👧 שלום", "Жди меня 🚀\n\nمرحبا\ttab\n``` and *stars*");
    world.script_model("tool", [mail(subject, body), Answer::text("👍 שלום")]);
    world.say("ana", "general", "@nod 你好 👋 tell Bo").await;
    world.click("ana", "general", "Approve & send").await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod 你好 👋 tell Bo
            nod: # Email sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  Grüße 👩‍👩‍👧 שלום
              Жди меня 🚀

              مرحبا	tab
              ``` and *stars*
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              [Open in Gmail]
            nod: 👍 שלום
    ");
    let inbox = world.google.inbox("bo@acme.test");
    assert_eq!((inbox[0].subject.as_str(), inbox[0].body.trim_end()), (subject, body));
    world.finish().await;
}

#[tokio::test]
async fn a_subject_cannot_smuggle_a_header_in() {
    let mut world = with_connected_account().await;
    let smuggled = mail("Hello\r\nBcc: evil@x.test", "Hi");
    let named = Answer::tool(
        "gmail_send_email",
        json!({ "to": ["Bo <bo@acme.test>\r\nBcc: evil@x.test"], "subject": "Hi", "body": "Hi" }),
    );
    world.script_model(
        "tool",
        [smuggled, named, mail("Hello", "Bcc: evil@x.test\r\n.\r\nQUIT"), Answer::text("Done.")],
    );
    world.say("ana", "dm:ana", "say hello to Bo").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    let inbox = world.google.inbox("bo@acme.test");
    assert_eq!(inbox.len(), 1);
    assert_eq!(inbox[0].header("Bcc"), None);
    assert_eq!(world.google.outbox().len(), 0);
    let heard = world.model.requests()[2]["messages"].to_string();
    assert!(heard.contains("a subject has to fit on one line"), "{heard}");
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: say hello to Bo
        nod: # Email sent
          From  ana@acme.test
          To  bo@acme.test
          Subject  Hello
          Bcc: evil@x.test
          .
          QUIT
          Approved by Ana Silva 09:30 WET → Sent 09:30 WET
          [Open in Gmail]
        nod: Done.
    ");
    world.finish().await;
}

#[tokio::test]
async fn addresses_that_are_none_are_said_so() {
    let mut world = with_connected_account().await;
    for address in ["bo@", "@@", "a b@c.test", "bo@acme.test, eve@x.test", "bo@acme.test\u{0}"] {
        let call = Answer::tool("gmail_send_email", json!({ "to": [address], "subject": "s", "body": "b" }));
        world.script_model("tool", [call, Answer::text("That is no address.")]);
        world.say("ana", "dm:ana", "send it").await;
        let heard = world.model.list_reasoner_requests().pop().unwrap()["messages"].to_string();
        assert!(
            heard.contains("isn't an email address")
                || heard.contains("an empty recipient")
                || heard.contains("is nobody")
                || heard.contains("invalid"),
            "{address}: {heard}"
        );
    }
    let asked: i64 =
        sqlx::query_scalar("select count(*) from approvals").fetch_one(&world.pool).await.unwrap();
    assert_eq!(asked, 0);
    world.read_new("dm:ana");
    world.finish().await;
}

#[tokio::test]
async fn a_models_words_do_not_ping_and_do_not_lie() {
    let mut world = World::new().await;
    let words = "Hi <!channel> @here <@U0000BO> [your bank](https://evil.test/login) \
                 [https://bank.test](https://evil.test) ![](https://evil.test/p.png?q=secret)";
    world.script_model("conversational", [Answer::text(words)]);
    world.say("ana", "general", "@nod hello").await;
    insta::assert_snapshot!(world.read_new("general").replace('\u{200b}', "|"), @r"
        ana: @nod hello
            nod: Hi <|!channel> @|here <|@U0000BO> your bank (https://evil.test/login) https://bank.test/ (https://evil.test/) https://evil.test/p.png?q=secret
    ");
    let posted = world.slack.messages("general").pop().unwrap();
    let blocks = json!(posted.blocks).to_string();
    assert!(!blocks.contains("\"type\":\"broadcast\"") && !blocks.contains("\"type\":\"user\""), "{blocks}");
    assert!(!blocks.contains("\"type\":\"image\""), "{blocks}");
    assert!(!posted.text.contains("<!channel>") && !posted.text.contains("<@U"), "{}", posted.text);
    world.finish().await;
}

#[tokio::test]
async fn a_null_byte_is_survived_wherever_it_comes_from() {
    let mut world = with_connected_account().await;
    world.google.deliver("ana@acme.test", "bo@acme.test", "nul", "a\u{0}b").unwrap();
    let nul = Answer::malformed_arguments("gmail_search_messages", r#"{"query":"a\u0000b"}"#);
    let thread = world.google.inbox("ana@acme.test")[0].thread_id.clone();
    let read = Answer::tool("gmail_read_thread", json!({ "thread_id": thread }));
    world.script_model("tool", [nul, read, Answer::text("a\u{0}b")]);
    let say = NewMessage { raw: true, ..NewMessage::new("ana", "dm:ana", "what\u{0} is new?") };
    world.slack.post_message_with(say).unwrap();
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana").replace('\0', "NUL"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: whatNUL is new?
        nod: a�b
    ");
    world.finish().await;
}

#[tokio::test]
async fn markup_in_a_name_stays_a_name() {
    let mut world = World::without_nod().await;
    world.slack.change(|w| {
        let id = w.user_id("ana").unwrap();
        let user = w.users.get_mut(&id).unwrap();
        user.real_name = "*Ana* <!channel> [x](https://evil.test)".to_owned();
        user.display_name = user.real_name.clone();
    });
    world.start().await;
    world.connect_google("ana").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Done.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.click("ana", "general", "Approve & send").await;
    insta::assert_snapshot!(world.read_new("general").replace('\u{200b}', "|"), @r"
        ana: @nod tell Bo I'm late
            nod: # Email sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Approved by *Ana* <|!channel> [x](https://evil.test/) 09:30 WET → Sent 09:30 WET
              [Open in Gmail]
            nod: Done.
    ");
    let blocks = json!(world.slack.messages("general")).to_string();
    assert!(!blocks.contains("\"broadcast\"") && !blocks.contains("<!channel>"), "{blocks}");
    world.finish().await;
}

#[tokio::test]
async fn the_same_message_told_many_times_is_one_message() {
    let mut world = World::new().await;
    world.script_model("conversational", [Answer::text("Once.")]);
    let say = NewMessage {
        deliver: nod_sandbox::slack::EventDelivery::Duplicated,
        ..NewMessage::new("ana", "general", "@nod hello")
    };
    world.slack.post_message_with(say).unwrap();
    world.slack.redeliver_last();
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod hello
            nod: Once.
    ");
    world.finish().await;
}
