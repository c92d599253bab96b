//! Answers that are read while they are written: what stands there meanwhile, and what stands there in the end.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::{World, patience};
use serde_json::{Value, json};

const POEM: &str = "Roses are red, violets are blue. **Sugar** is sweet, and so are you.";

/// A world that streams from the first word on.
async fn world() -> World {
    let mut world = World::without_nod().await;
    streams_at_once(&mut world);
    world.start().await;
    world
}

fn streams_at_once(world: &mut World) {
    world.env.insert("NOD_REPLIES__STREAM_AFTER".to_owned(), "0s".to_owned());
}

/// Waits until this stands in a channel.
async fn stands(world: &World, channel: &str, words: &str) -> String {
    let wanted = channel.to_owned();
    world
        .slack
        .wait_for(words, patience(), |slack| {
            let shown = slack.spoken(&slack.channel_id(&wanted).ok()?);
            shown.contains(words).then_some(shown)
        })
        .await
}

/// What Nod asked Slack to show, in order.
fn calls(world: &World) -> Vec<String> {
    let calls = world.slack.calls().into_iter().filter(|call| call.method.starts_with("chat."));
    calls.map(|call| call.method).collect()
}

#[tokio::test]
async fn an_answer_is_read_while_it_is_written() {
    let mut world = world().await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.slack.say("ana", "general", None, "@nod a poem, please");
    insta::assert_snapshot!(stands(&world, "general", "violets").await, @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are
    ");
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
    ");
    let calls = calls(&world);
    assert_eq!(calls.first().map(String::as_str), Some("chat.startStream"), "{calls:?}");
    assert_eq!(&calls[calls.len() - 2..], ["chat.stopStream", "chat.update"]);
    assert!(!calls.contains(&"chat.postMessage".to_owned()));
    let row: (Value, String) =
        sqlx::query_as("select card, streamed from deliveries").fetch_one(&world.pool).await.unwrap();
    assert!(row.0.to_string().contains("so are you") && row.1 == "closed", "{row:?}");
    world.ends().await;
}

#[tokio::test]
async fn its_row_and_its_place_are_kept_before_the_first_word() {
    let mut world = world().await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.slack.faults().next("chat.appendStream", Fault::Hang);
    world.slack.say("ana", "general", None, "@nod a poem, please");
    world.slack.faults().met("chat.appendStream", 1).await;
    let stands: Option<String> =
        sqlx::query_scalar("select posted->>'message' from deliveries").fetch_one(&world.pool).await.unwrap();
    assert_eq!(stands, world.slack.messages("general").pop().map(|message| message.ts));
    assert_eq!(world.slack.messages("general").pop().map(|message| message.text), Some(String::new()));
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
    ");
    world.ends().await;
}

#[tokio::test]
async fn a_stream_that_dies_goes_on_by_edits() {
    let mut world = world().await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.slack.say("ana", "general", None, "@nod a poem, please");
    stands(&world, "general", "violets").await;
    world.slack.change(|slack| slack.end_streams());
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
    ");
    world.ends().await;
}

#[tokio::test]
async fn where_slack_takes_no_stream_the_message_is_edited() {
    let mut world = world().await;
    world.slack.change(|slack| slack.config.streams = false);
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.slack.say("ana", "general", None, "@nod a poem, please");
    insta::assert_snapshot!(stands(&world, "general", "violets").await, @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are
    ");
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
    ");
    world.ends().await;
}

#[tokio::test]
async fn outside_threads_the_message_is_edited() {
    let mut world = world().await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.slack.say("ana", "dm:ana", None, "a poem, please");
    insta::assert_snapshot!(stands(&world, "dm:ana", "violets").await, @r"
        ana: a poem, please
        nod: Roses are red, violets are
    ");
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("dm:ana"), @r"
        ana: a poem, please
        nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
    ");
    assert_eq!(world.slack.calls_of("chat.startStream").len(), 0);
    world.ends().await;
}

#[tokio::test]
async fn whatever_slack_refuses_the_whole_answer_stands_there_once() {
    for (method, fault) in [
        ("chat.startStream", Fault::Status { code: 500, retry_after: None }),
        ("chat.startStream", Fault::Status { code: 429, retry_after: Some(1) }),
        ("chat.startStream", Fault::LoseAnswer),
        ("chat.appendStream", Fault::Status { code: 500, retry_after: None }),
        ("chat.appendStream", Fault::Status { code: 429, retry_after: Some(1) }),
        ("chat.appendStream", Fault::LoseAnswer),
        ("chat.stopStream", Fault::LoseAnswer),
        ("chat.update", Fault::LoseAnswer),
    ] {
        let mut world = world().await;
        world.slack.faults().next(method, fault);
        world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
        world.slack.say("ana", "general", None, "@nod a poem, please");
        world.model.rests().await;
        if ["chat.stopStream", "chat.update"].contains(&method) {
            // There is something to end.
            stands(&world, "general", "violets").await;
        } else {
            world.slack.faults().met(method, 1).await;
        }
        world.model.release();
        world.settles().await;
        world.later(chrono::TimeDelta::seconds(5)).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.reads("general"), @r"
                ana: @nod a poem, please
                    nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
            ");
        }
        world.ends().await;
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_begins_anew_in_its_place() {
    let mut world = world().await;
    let broken = Answer::text("Roses are green, violets are not").held_after(4).cut_after(5);
    world.model_will("conversational", [broken, Answer::text(POEM)]);
    world.slack.say("ana", "general", None, "@nod a poem, please");
    stands(&world, "general", "green").await;
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
    ");
    world.ends().await;
}

#[tokio::test]
async fn stopped_in_mid_sentence_nothing_half_is_left() {
    let mut world = world().await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    let ts = world.slack.say("ana", "general", None, "@nod a poem, please");
    stands(&world, "general", "violets").await;
    world.replies("ana", "general", &ts, "stop").await;
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod a poem, please
            ana: stop
            nod: · Stopped by Ana Silva. Nothing was sent.
    ");
    world.ends().await;
}

#[tokio::test]
async fn a_long_answer_goes_on_in_further_messages() {
    let mut world = world().await;
    let verse = "Roses are red, violets are blue, sugar is sweet, and so are you. ".repeat(20);
    let poem = (1..=12).map(|n| format!("Verse {n}: {verse}")).collect::<Vec<_>>().join("\n\n");
    world.model_will("conversational", [Answer::text(&poem).held_after(5)]);
    world.slack.say("ana", "general", None, "@nod a long poem, please");
    stands(&world, "general", "Roses").await;
    world.model.release();
    world.settles().await;
    world.later(chrono::TimeDelta::seconds(5)).await;
    let said: Vec<_> = world.slack.messages("general").into_iter().filter(|m| m.by_bot).collect();
    let read = world.reads("general");
    assert!(said.len() > 1, "{read}");
    let verses: Vec<usize> = (1..=12).map(|n| read.find(&format!("Verse {n}:")).unwrap()).collect();
    assert!(verses.is_sorted(), "{read}");
    assert_eq!(read.matches("Verse ").count(), 12, "each once:\n{read}");
    world.ends().await;
}

#[tokio::test]
async fn where_no_answer_comes_the_same_message_says_so() {
    let mut world = world().await;
    let broken = || Answer::text("Roses are green, violets are not").cut_after(5);
    world.model_will("tool", [broken().held_after(4), broken(), broken()]);
    world.slack.say("ana", "general", None, "@nod a poem, please");
    stands(&world, "general", "green").await;
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("general").replace(char::is_numeric, "#"), @r"
        ana: @nod a poem, please
            nod: The model did not answer (# tries, # s). Nothing was sent or changed.
              · run ········
              [Try again]
    ");
    world.ends().await;
}

#[tokio::test]
async fn what_is_said_before_a_tool_gives_way_to_the_answer() {
    let mut world = world().await;
    world.connects("ana").await;
    let first = Answer::text("Let me look that up for you.").then_tool("gmail_list_recent", &json!({}));
    world.model_will("tool", [first.held_after(5), Answer::text("You have no mail at all.").held_after(3)]);
    // Slack takes one message a second in a place.
    world.later(chrono::TimeDelta::seconds(2)).await;
    world.slack.say("ana", "dm:ana", None, "any mail?");
    stands(&world, "dm:ana", "Let me look").await;
    world.model.release();
    stands(&world, "dm:ana", "You have").await;
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("dm:ana"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: any mail?
        nod: You have no mail at all.
    ");
    world.ends().await;
}

#[tokio::test]
async fn what_is_said_before_an_approval_stays_above_it() {
    let mut world = world().await;
    world.connects("ana").await;
    let mail = json!({ "to": ["bo@acme.test"], "subject": "Late", "body": "I'm late." });
    let first = Answer::text("I'll write to Bo right away.").then_tool("gmail_send_email", &mail);
    world.model_will("tool", [first.held_after(5)]);
    world.slack.say("ana", "general", None, "@nod tell Bo I'm late");
    stands(&world, "general", "write to").await;
    world.model.release();
    world.settles().await;
    world.model.will(Answer::text("Nothing was sent then."));
    world.denies("ana", "general", "").await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod tell Bo I'm late
            nod: I'll write to Bo right away.
            nod: # Email not sent · rev 1 · 8779a1
              From  ana@acme.test
              To  bo@acme.test
              Cc  —
              Bcc  —
              Subject  Late
              I'm late.
              Denied by Ana Silva 09:30 WET. Not sent.
            nod: Nothing was sent then.
    ");
    world.ends().await;
}

#[tokio::test]
async fn what_is_for_one_person_is_not_streamed_to_the_others() {
    let mut world = world().await;
    world.connects("ana").await;
    world.google.deliver("ana@acme.test", "cho@acme.test", "Secret plans", "Psst.").unwrap();
    let first = Answer::text("Let me look at your mail.").then_tool("gmail_list_recent", &json!({}));
    let answer = Answer::text("Cho wrote to you about her secret plans, it seems.").held_after(6);
    world.model_will("tool", [first.held_after(5), answer]);
    world.slack.say("ana", "general", None, "@nod any mail?");
    stands(&world, "general", "Let me look").await;
    world.model.release();
    world.model.rests().await;
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod any mail?
            nod: Let me look at your mail.
            nod: · Answered Ana Silva privately.
    ");
    insta::assert_snapshot!(world.reads("dm:ana"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        nod: Cho wrote to you about her secret plans, it seems.
    ");
    let streamed = world.slack.calls_of("chat.appendStream");
    assert!(!streamed.iter().any(|call| call.args.to_string().contains("secret")), "{streamed:?}");
    world.ends().await;
}

#[tokio::test]
async fn a_claim_without_a_receipt_is_not_shown_before_it_is_checked() {
    let mut world = world().await;
    let claim = "All is well. I have sent the mail to Bo, and he will be glad to read it.";
    world.model_will("conversational", [Answer::text(claim).held_after(10)]);
    world.slack.say("ana", "general", None, "@nod is all well?");
    stands(&world, "general", "All is well").await;
    world.model.release();
    world.settles().await;
    let shown = world.slack.calls_of("chat.appendStream");
    assert!(!shown.iter().any(|call| call.args.to_string().contains("sent")), "{shown:?}");
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod is all well?
            nod: All is well. I have sent the mail to Bo, and he will be glad to read it.
              · For the record: nothing was sent or changed in this turn.
    ");
    world.ends().await;
}

#[tokio::test]
async fn nothing_in_mid_stream_pings_or_hides_where_it_leads() {
    let mut world = world().await;
    let text =
        "<!channel> @here <@U0000ANA>: see [your bank](https://evil.test/login) and https://acme.test/x now";
    world.model_will("conversational", [Answer::text(text).held_after(14)]);
    world.slack.say("ana", "general", None, "@nod what now?");
    let shown = stands(&world, "general", "evil.test").await;
    insta::assert_snapshot!(shown.replace('\u{200b}', "(nothing)"), @r"
        ana: @nod what now?
            nod: (nothing)!channel @(nothing)here (nothing)@U0000ANA: see [your bank](nothing)(https://evil.test/login) and
    ");
    world.model.release();
    world.settles().await;
    insta::assert_snapshot!(world.reads("general").replace('\u{200b}', "(nothing)"), @r"
        ana: @nod what now?
            nod: <(nothing)!channel> @(nothing)here <(nothing)@U0000ANA>: see [your bank](https://evil.test/login) and https://acme.test/x now
    ");
    world.ends().await;
}

#[tokio::test]
async fn a_short_answer_comes_whole() {
    let mut world = World::new().await;
    world.model_will("conversational", [Answer::text("Hello.")]);
    world.says("ana", "general", "@nod hello").await;
    world.reads("general");
    assert_eq!(calls(&world), ["chat.postMessage"]);
    world.ends().await;
}
