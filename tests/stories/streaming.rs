//! Answers that are read while they are written: the text meanwhile, and the final text.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{Deed, On};
use serde_json::{Value, json};

on_each_platform!(
    an_answer_is_read_while_it_is_written,
    its_row_and_its_place_are_kept_before_the_first_word,
    outside_threads_the_message_is_edited,
    whatever_the_platform_refuses_the_whole_answer_stands_there_once,
    an_answer_that_breaks_off_begins_anew_in_its_place,
    stopped_in_mid_sentence_nothing_half_is_left,
    a_long_answer_goes_on_in_further_messages,
    where_no_answer_comes_the_same_message_says_so,
    what_is_said_before_a_tool_gives_way_to_the_answer,
    what_is_said_before_an_approval_stays_above_it,
    what_is_for_one_person_is_not_streamed_to_the_others,
    a_claim_without_a_receipt_is_not_shown_before_it_is_checked,
    a_short_answer_comes_whole,
);

const POEM: &str = "Roses are red, violets are blue. **Sugar** is sweet, and so are you.";

/// Creates a world that streams from the first word on.
async fn world(platform: On) -> World {
    let mut world = World::without_nod_on(platform).await;
    streams_at_once(&mut world);
    world.start().await;
    world
}

fn streams_at_once(world: &mut World) {
    world.env.insert("NOD_REPLIES__STREAM_AFTER".to_owned(), "0s".to_owned());
}

async fn an_answer_is_read_while_it_is_written(platform: On) {
    let mut world = world(platform).await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    let kept = world.stands("general", "violets").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(kept, @r"
            ana: @nod a poem, please
                nod: Roses are red, violets are
        ");
    }
    world.model.release();
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod a poem, please
                nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
        ");
    }
    let row: (Value, String) =
        sqlx::query_as("select card, streamed from deliveries").fetch_one(&world.pool).await.unwrap();
    assert!(row.0.to_string().contains("so are you") && row.1 == "closed", "{row:?}");
    world.ends().await;
}

#[tokio::test]
async fn in_threads_slack_shows_it_as_a_stream() {
    let mut world = world(On::Slack).await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.stands("general", "violets").await;
    world.model.release();
    world.settles().await;
    world.reads("general");
    let calls: Vec<String> =
        world.chat.calls().into_iter().filter(|call| call.starts_with("chat.")).collect();
    assert_eq!(calls.first().map(String::as_str), Some("chat.startStream"), "{calls:?}");
    assert_eq!(&calls[calls.len() - 2..], ["chat.stopStream", "chat.update"]);
    assert!(!calls.contains(&"chat.postMessage".to_owned()));
    world.ends().await;
}

async fn its_row_and_its_place_are_kept_before_the_first_word(platform: On) {
    let mut world = world(platform).await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    let grows = world.chat.operation(Deed::Grows);
    world.chat.faults().next(grows, Fault::Hang);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.chat.faults().met(grows, 1).await;
    let stands: Option<String> =
        sqlx::query_scalar("select posted->>'message' from deliveries").fetch_one(&world.pool).await.unwrap();
    assert_eq!(stands, world.chat.messages_of_nod("general").pop());
    assert!(!world.chat.spoken("general").contains("Roses"));
    world.model.release();
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod a poem, please
                nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
        ");
    }
    world.ends().await;
}

#[tokio::test]
async fn a_stream_that_dies_goes_on_by_edits() {
    let mut world = world(On::Slack).await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.stands("general", "violets").await;
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
    let mut world = world(On::Slack).await;
    world.slack.change(|slack| slack.config.streams = false);
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    insta::assert_snapshot!(world.stands("general", "violets").await, @r"
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

async fn outside_threads_the_message_is_edited(platform: On) {
    let mut world = world(platform).await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    world.chat.say("ana", "dm:ana", None, "a poem, please");
    let kept = world.stands("dm:ana", "violets").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(kept, @r"
            ana: a poem, please
            nod: Roses are red, violets are
        ");
    }
    world.model.release();
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            ana: a poem, please
            nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
        ");
    }
    assert!(!world.chat.calls().contains(&"chat.startStream".to_owned()));
    world.ends().await;
}

async fn whatever_the_platform_refuses_the_whole_answer_stands_there_once(platform: On) {
    for (deed, fault) in [
        (Deed::Begins, Fault::Status { code: 500, retry_after: None }),
        (Deed::Begins, Fault::Status { code: 429, retry_after: Some(1) }),
        (Deed::Begins, Fault::LoseAnswer),
        (Deed::Grows, Fault::Status { code: 500, retry_after: None }),
        (Deed::Grows, Fault::Status { code: 429, retry_after: Some(1) }),
        (Deed::Grows, Fault::LoseAnswer),
        (Deed::Ends, Fault::LoseAnswer),
        (Deed::Replaces, Fault::LoseAnswer),
    ] {
        let mut world = world(platform).await;
        let operation = world.chat.operation(deed);
        let ends = matches!(deed, Deed::Ends | Deed::Replaces);
        if !ends {
            world.chat.faults().next(operation, fault.clone());
        }
        world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
        world.chat.say("ana", "general", None, "@nod a poem, please");
        world.model.rests().await;
        if ends {
            // Now there is something to finish.
            world.stands("general", "violets").await;
            world.chat.faults().next(operation, fault);
        } else {
            world.chat.faults().met(operation, 1).await;
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

async fn an_answer_that_breaks_off_begins_anew_in_its_place(platform: On) {
    let mut world = world(platform).await;
    let broken = Answer::text("Roses are green, violets are not").held_after(4).cut_after(5);
    world.model_will("conversational", [broken, Answer::text(POEM)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.stands("general", "green").await;
    world.model.release();
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod a poem, please
                nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
        ");
    }
    world.ends().await;
}

async fn stopped_in_mid_sentence_nothing_half_is_left(platform: On) {
    let mut world = world(platform).await;
    world.model_will("conversational", [Answer::text(POEM).held_after(5)]);
    let ts = world.chat.say("ana", "general", None, "@nod a poem, please");
    world.stands("general", "violets").await;
    world.replies("ana", "general", &ts, "stop").await;
    world.model.release();
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod a poem, please
                ana: stop
                nod: · Stopped by Ana Silva. Nothing was sent.
        ");
    }
    world.ends().await;
}

async fn a_long_answer_goes_on_in_further_messages(platform: On) {
    let mut world = world(platform).await;
    let verse = "Roses are red, violets are blue, sugar is sweet, and so are you. ".repeat(20);
    let poem = (1..=12).map(|n| format!("Verse {n}: {verse}")).collect::<Vec<_>>().join("\n\n");
    world.model_will("conversational", [Answer::text(&poem).held_after(5)]);
    world.chat.say("ana", "general", None, "@nod a long poem, please");
    world.stands("general", "Roses").await;
    world.model.release();
    world.settles().await;
    world.later(chrono::TimeDelta::seconds(5)).await;
    let said = world.chat.messages_of_nod("general");
    let read = world.reads("general");
    assert!(said.len() > 1, "{read}");
    let verses: Vec<usize> = (1..=12).map(|n| read.find(&format!("Verse {n}:")).unwrap()).collect();
    assert!(verses.is_sorted(), "{read}");
    assert_eq!(read.matches("Verse ").count(), 12, "each once:\n{read}");
    world.ends().await;
}

async fn where_no_answer_comes_the_same_message_says_so(platform: On) {
    let mut world = world(platform).await;
    let broken = || Answer::text("Roses are green, violets are not").cut_after(5);
    world.model_will("tool", [broken().held_after(4), broken(), broken()]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.stands("general", "green").await;
    world.model.release();
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general").replace(char::is_numeric, "#"), @r"
            ana: @nod a poem, please
                nod: The model did not answer (# tries, # s). Nothing was sent or changed.
                  · run ········
                  [Try again]
        ");
    }
    world.ends().await;
}

async fn what_is_said_before_a_tool_gives_way_to_the_answer(platform: On) {
    let mut world = world(platform).await;
    world.connects("ana").await;
    let first = Answer::text("Let me look that up for you.").then_tool("gmail_list_recent", &json!({}));
    world.model_will("tool", [first.held_after(5), Answer::text("You have no mail at all.").held_after(3)]);
    // Slack's rate limit is one message per second and channel.
    world.later(chrono::TimeDelta::seconds(2)).await;
    world.chat.say("ana", "dm:ana", None, "any mail?");
    world.stands("dm:ana", "Let me look").await;
    world.model.release();
    world.stands("dm:ana", "You have").await;
    world.model.release();
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: any mail?
            nod: You have no mail at all.
        ");
    }
    world.ends().await;
}

async fn what_is_said_before_an_approval_stays_above_it(platform: On) {
    let mut world = world(platform).await;
    world.connects("ana").await;
    let mail = json!({ "to": ["bo@acme.test"], "subject": "Late", "body": "I'm late." });
    let first = Answer::text("I'll write to Bo right away.").then_tool("gmail_send_email", &mail);
    world.model_will("tool", [first.held_after(5)]);
    world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    world.stands("general", "write to").await;
    world.model.release();
    world.settles().await;
    world.model.will(Answer::text("Nothing was sent then."));
    world.denies("ana", "general", "").await;
    insta::allow_duplicates! {
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
                  · For the record: nothing was sent or changed in this turn.
        ");
    }
    world.ends().await;
}

async fn what_is_for_one_person_is_not_streamed_to_the_others(platform: On) {
    let mut world = world(platform).await;
    world.connects("ana").await;
    world.google.deliver("ana@acme.test", "cho@acme.test", "Secret plans", "Psst.").unwrap();
    let first = Answer::text("Let me look at your mail.").then_tool("gmail_list_recent", &json!({}));
    let answer = Answer::text("Cho wrote to you about her secret plans, it seems.").held_after(6);
    world.model_will("tool", [first.held_after(5), answer]);
    world.chat.say("ana", "general", None, "@nod any mail?");
    world.stands("general", "Let me look").await;
    world.model.release();
    world.model.rests().await;
    world.model.release();
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod any mail?
                nod: Let me look at your mail.
                nod: · Answered Ana Silva privately.
                  [Share here]
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Cho wrote to you about her secret plans, it seems.
        ");
    }
    let streamed = world.chat.grown();
    assert!(!streamed.iter().any(|shown| shown.contains("secret")), "{streamed:?}");
    world.ends().await;
}

async fn a_claim_without_a_receipt_is_not_shown_before_it_is_checked(platform: On) {
    let mut world = world(platform).await;
    let claim = "All is well. I have sent the mail to Bo, and he will be glad to read it.";
    world.model_will("conversational", [Answer::text(claim).held_after(10)]);
    world.chat.say("ana", "general", None, "@nod is all well?");
    world.stands("general", "All is well").await;
    world.model.release();
    world.settles().await;
    let grown = world.chat.grown();
    assert!(!grown.is_empty() && !grown.iter().any(|shown| shown.contains("sent")), "{grown:?}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod is all well?
                nod: All is well. I have sent the mail to Bo, and he will be glad to read it.
                  · For the record: nothing was sent or changed in this turn.
        ");
    }
    world.ends().await;
}

/// Returns the text in mid-stream, and the final text.
async fn dangerous(platform: On) -> (String, String) {
    let mut world = world(platform).await;
    let text =
        "<!channel> @here <@U0000ANA>: see [your bank](https://evil.test/login) and https://acme.test/x now";
    world.model_will("conversational", [Answer::text(text).held_after(14)]);
    world.chat.say("ana", "general", None, "@nod what now?");
    let shown = world.stands("general", "evil.test").await.replace('\u{200b}', "(nothing)");
    world.model.release();
    world.settles().await;
    let read = world.reads("general").replace('\u{200b}', "(nothing)");
    world.ends().await;
    (shown, read)
}

#[tokio::test]
async fn nothing_in_mid_stream_pings_on_slack_or_hides_where_it_leads() {
    let (shown, read) = dangerous(On::Slack).await;
    insta::assert_snapshot!(shown, @r"
        ana: @nod what now?
            nod: (nothing)!channel @(nothing)here (nothing)@U0000ANA: see [your bank](nothing)(https://evil.test/login) and
    ");
    insta::assert_snapshot!(read, @r"
        ana: @nod what now?
            nod: <(nothing)!channel> @(nothing)here <(nothing)@U0000ANA>: see [your bank](https://evil.test/login) and https://acme.test/x now
    ");
}

#[tokio::test]
async fn nothing_in_mid_stream_pings_on_discord_or_hides_where_it_leads() {
    let (shown, read) = dangerous(On::Discord).await;
    insta::assert_snapshot!(shown, @r"
        ana: @nod what now?
            nod: <!channel> @(nothing)here <(nothing)@U0000ANA>: see [your bank](https://evil.test/login) and
    ");
    insta::assert_snapshot!(read, @r"
        ana: @nod what now?
            nod: <!channel> @(nothing)here <(nothing)@U0000ANA>: see [your bank](https://evil.test/login) and https://acme.test/x now
    ");
}

async fn a_short_answer_comes_whole(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will("conversational", [Answer::text("Hello.")]);
    world.says("ana", "general", "@nod hello").await;
    world.reads("general");
    assert_eq!(world.chat.grown(), Vec::<String>::new());
    world.ends().await;
}
