//! Answers that are read while they are written: the text meanwhile, and the final text.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{ChatOperation, Platform};
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
    what_is_said_before_a_question_stays_above_it,
    what_is_for_one_person_is_not_streamed_to_the_others,
    a_claim_without_a_receipt_is_not_shown_before_it_is_checked,
    a_short_answer_comes_whole,
);

const POEM: &str = "Roses are red, violets are blue. **Sugar** is sweet, and so are you.";

/// Creates a world that streams from the first word on.
async fn streaming_world(platform: Platform) -> World {
    let mut world = World::without_nod_on(platform).await;
    set_immediate_streaming(&mut world);
    world.start().await;
    world
}

fn set_immediate_streaming(world: &mut World) {
    world.env.insert("NOD_REPLIES__STREAM_AFTER".to_owned(), "0s".to_owned());
}

async fn an_answer_is_read_while_it_is_written(platform: Platform) {
    let mut world = streaming_world(platform).await;
    world.script_model("conversational", [Answer::text(POEM).with_pause_after(5)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    let kept = world.wait_for_text("general", "violets").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(kept, @r"
            ana: @nod a poem, please
                nod: Roses are red, violets are
        ");
    }
    world.model.release();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod a poem, please
                nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
        ");
    }
    let row: (Value, String) =
        sqlx::query_as("select card, stream_status from deliveries").fetch_one(&world.pool).await.unwrap();
    assert!(row.0.to_string().contains("so are you") && row.1 == "closed", "{row:?}");
    world.finish().await;
}

#[tokio::test]
async fn in_threads_slack_shows_it_as_a_stream() {
    let mut world = streaming_world(Platform::Slack).await;
    world.script_model("conversational", [Answer::text(POEM).with_pause_after(5)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.wait_for_text("general", "violets").await;
    world.model.release();
    world.wait_until_idle().await;
    world.read_new("general");
    let calls: Vec<String> =
        world.chat.api_calls().into_iter().filter(|call| call.starts_with("chat.")).collect();
    assert_eq!(calls.first().map(String::as_str), Some("chat.startStream"), "{calls:?}");
    assert_eq!(&calls[calls.len() - 2..], ["chat.stopStream", "chat.update"]);
    assert!(!calls.contains(&"chat.postMessage".to_owned()));
    world.finish().await;
}

async fn its_row_and_its_place_are_kept_before_the_first_word(platform: Platform) {
    let mut world = streaming_world(platform).await;
    world.script_model("conversational", [Answer::text(POEM).with_pause_after(5)]);
    let grows = world.chat.operation_name(ChatOperation::AppendStream);
    world.chat.faults().next(grows, Fault::HangBefore);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.chat.faults().wait_until_triggered(grows, 1).await;
    let stands: Option<String> = sqlx::query_scalar("select posted_message->>'message' from deliveries")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(stands, world.chat.nod_message_ids("general").pop());
    assert!(!world.chat.channel_text("general").contains("Roses"));
    world.model.release();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod a poem, please
                nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
        ");
    }
    world.finish().await;
}

#[tokio::test]
async fn a_stream_that_dies_goes_on_by_edits() {
    let mut world = streaming_world(Platform::Slack).await;
    world.script_model("conversational", [Answer::text(POEM).with_pause_after(5)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.wait_for_text("general", "violets").await;
    world.slack.change(|slack| slack.end_streams());
    world.model.release();
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
    ");
    world.finish().await;
}

#[tokio::test]
async fn where_slack_takes_no_stream_the_message_is_edited() {
    let mut world = streaming_world(Platform::Slack).await;
    world.slack.change(|slack| slack.config.streams = false);
    world.script_model("conversational", [Answer::text(POEM).with_pause_after(5)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    insta::assert_snapshot!(world.wait_for_text("general", "violets").await, @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are
    ");
    world.model.release();
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod a poem, please
            nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
    ");
    world.finish().await;
}

async fn outside_threads_the_message_is_edited(platform: Platform) {
    let mut world = streaming_world(platform).await;
    world.script_model("conversational", [Answer::text(POEM).with_pause_after(5)]);
    world.chat.say("ana", "dm:ana", None, "a poem, please");
    let kept = world.wait_for_text("dm:ana", "violets").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(kept, @r"
            ana: a poem, please
            nod: Roses are red, violets are
        ");
    }
    world.model.release();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: a poem, please
            nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
        ");
    }
    assert!(!world.chat.api_calls().contains(&"chat.startStream".to_owned()));
    world.finish().await;
}

async fn whatever_the_platform_refuses_the_whole_answer_stands_there_once(platform: Platform) {
    for (deed, fault) in [
        (ChatOperation::StartStream, Fault::Status { code: 500, retry_after: None }),
        (ChatOperation::StartStream, Fault::Status { code: 429, retry_after: Some(1) }),
        (ChatOperation::StartStream, Fault::DropResponse),
        (ChatOperation::AppendStream, Fault::Status { code: 500, retry_after: None }),
        (ChatOperation::AppendStream, Fault::Status { code: 429, retry_after: Some(1) }),
        (ChatOperation::AppendStream, Fault::DropResponse),
        (ChatOperation::StopStream, Fault::DropResponse),
        (ChatOperation::UpdateMessage, Fault::DropResponse),
    ] {
        let mut world = streaming_world(platform).await;
        let operation = world.chat.operation_name(deed);
        let ends = matches!(deed, ChatOperation::StopStream | ChatOperation::UpdateMessage);
        if !ends {
            world.chat.faults().next(operation, fault.clone());
        }
        world.script_model("conversational", [Answer::text(POEM).with_pause_after(5)]);
        world.chat.say("ana", "general", None, "@nod a poem, please");
        world.model.wait_until_paused().await;
        if ends {
            // Now there is something to finish.
            world.wait_for_text("general", "violets").await;
            world.chat.faults().next(operation, fault);
        } else {
            world.chat.faults().wait_until_triggered(operation, 1).await;
        }
        world.model.release();
        world.wait_until_idle().await;
        world.advance(chrono::TimeDelta::seconds(5)).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.read_new("general"), @r"
                ana: @nod a poem, please
                    nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
            ");
        }
        world.finish().await;
    }
}

async fn an_answer_that_breaks_off_begins_anew_in_its_place(platform: Platform) {
    let mut world = streaming_world(platform).await;
    let broken = Answer::text("Roses are green, violets are not").with_pause_after(4).with_cut_after(5);
    world.script_model("conversational", [broken, Answer::text(POEM)]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.wait_for_text("general", "green").await;
    world.model.release();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod a poem, please
                nod: Roses are red, violets are blue. Sugar is sweet, and so are you.
        ");
    }
    world.finish().await;
}

async fn stopped_in_mid_sentence_nothing_half_is_left(platform: Platform) {
    let mut world = streaming_world(platform).await;
    world.script_model("conversational", [Answer::text(POEM).with_pause_after(5)]);
    let ts = world.chat.say("ana", "general", None, "@nod a poem, please");
    world.wait_for_text("general", "violets").await;
    world.reply("ana", "general", &ts, "stop").await;
    world.model.release();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod a poem, please
                ana: stop
                nod: · Stopped by Ana Silva. Nothing was sent.
        ");
    }
    world.finish().await;
}

async fn a_long_answer_goes_on_in_further_messages(platform: Platform) {
    let mut world = streaming_world(platform).await;
    let verse = "Roses are red, violets are blue, sugar is sweet, and so are you. ".repeat(20);
    let poem = (1..=12).map(|n| format!("Verse {n}: {verse}")).collect::<Vec<_>>().join("\n\n");
    world.script_model("conversational", [Answer::text(&poem).with_pause_after(5)]);
    world.chat.say("ana", "general", None, "@nod a long poem, please");
    world.wait_for_text("general", "Roses").await;
    world.model.release();
    world.wait_until_idle().await;
    world.advance(chrono::TimeDelta::seconds(5)).await;
    let said = world.chat.nod_message_ids("general");
    let read = world.read_new("general");
    assert!(said.len() > 1, "{read}");
    let verses: Vec<usize> = (1..=12).map(|n| read.find(&format!("Verse {n}:")).unwrap()).collect();
    assert!(verses.is_sorted(), "{read}");
    assert_eq!(read.matches("Verse ").count(), 12, "each once:\n{read}");
    world.finish().await;
}

async fn where_no_answer_comes_the_same_message_says_so(platform: Platform) {
    let mut world = streaming_world(platform).await;
    let broken = || Answer::text("Roses are green, violets are not").with_cut_after(5);
    world.script_model("tool", [broken().with_pause_after(4), broken(), broken()]);
    world.chat.say("ana", "general", None, "@nod a poem, please");
    world.wait_for_text("general", "green").await;
    world.model.release();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general").replace(char::is_numeric, "#"), @r"
            ana: @nod a poem, please
                nod: The model didn't answer (# tries, # s). Nothing was sent or changed.
                  · run ········
                  [Try again]
        ");
    }
    world.finish().await;
}

async fn what_is_said_before_a_tool_gives_way_to_the_answer(platform: Platform) {
    let mut world = streaming_world(platform).await;
    world.connect_google("ana").await;
    let first = Answer::text("Let me look that up for you.").with_tool_call("gmail_list_recent", &json!({}));
    world.script_model(
        "tool",
        [first.with_pause_after(5), Answer::text("You have no mail at all.").with_pause_after(3)],
    );
    // Slack's rate limit is one message per second and channel.
    world.advance(chrono::TimeDelta::seconds(2)).await;
    world.chat.say("ana", "dm:ana", None, "any mail?");
    world.wait_for_text("dm:ana", "Let me look").await;
    world.model.release();
    world.wait_for_text("dm:ana", "You have").await;
    world.model.release();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: any mail?
            nod: You have no mail at all.
        ");
    }
    world.finish().await;
}

async fn what_is_said_before_an_approval_stays_above_it(platform: Platform) {
    let mut world = streaming_world(platform).await;
    world.connect_google("ana").await;
    let mail = json!({ "to": ["bo@acme.test"], "subject": "Late", "body": "I'm late." });
    let first = Answer::text("I'll write to Bo right away.").with_tool_call("gmail_send_email", &mail);
    world.script_model("tool", [first.with_pause_after(5)]);
    world.chat.say("ana", "general", None, "@nod tell Bo I'm late");
    world.wait_for_text("general", "write to").await;
    world.model.release();
    world.wait_until_idle().await;
    world.model.will(Answer::text("Nothing was sent then."));
    world.deny_request("ana", "general", "").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: I'll write to Bo right away.
                nod: # Email not sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Late
                  I'm late.
                  Denied by Ana Silva 09:30 WET. Not sent.
                  [Ask again]
                nod: Nothing was sent then.
                  · To be clear, nothing was sent or changed just now.
        ");
    }
    world.finish().await;
}

async fn what_is_said_before_a_question_stays_above_it(platform: Platform) {
    let mut world = streaming_world(platform).await;
    world.connect_google("ana").await;
    let look = json!({ "when": "6/3" });
    let first =
        Answer::text("I'll look into your calendar right away.").with_tool_call("calendar_get_agenda", &look);
    world.script_model("tool", [first.with_pause_after(5)]);
    world.chat.say("ana", "general", None, "@nod what have I got on 6/3?");
    world.wait_for_text("general", "look into").await;
    world.model.release();
    world.wait_until_idle().await;
    let shown = world.read_new("general");
    assert!(
        shown.contains("nod: I'll look into your calendar right away.\n") && shown.contains("When is “6/3”?"),
        "{shown}"
    );
    world.finish().await;
}

async fn what_is_for_one_person_is_not_streamed_to_the_others(platform: Platform) {
    let mut world = streaming_world(platform).await;
    world.connect_google("ana").await;
    world.google.deliver("ana@acme.test", "cho@acme.test", "Secret plans", "Psst.").unwrap();
    let first = Answer::text("Let me look at your mail.").with_tool_call("gmail_list_recent", &json!({}));
    let answer = Answer::text("Cho wrote to you about her secret plans, it seems.").with_pause_after(6);
    world.script_model("tool", [first.with_pause_after(5), answer]);
    world.chat.say("ana", "general", None, "@nod any mail?");
    world.wait_for_text("general", "Let me look").await;
    world.model.release();
    world.model.wait_until_paused().await;
    world.model.release();
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod any mail?
                nod: Let me look at your mail.
                nod: · Answered Ana Silva privately.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · You asked in a channel: “any mail?”
              Cho wrote to you about her secret plans, it seems.
              cho@acme.test · Secret plans · Fri 6 Mar, 09:30 WET
              [Reply] [Archive]
              [Share in the thread]
        ");
    }
    let streamed = world.chat.stream_updates();
    assert!(!streamed.iter().any(|shown| shown.contains("secret")), "{streamed:?}");
    world.finish().await;
}

async fn a_claim_without_a_receipt_is_not_shown_before_it_is_checked(platform: Platform) {
    let mut world = streaming_world(platform).await;
    let claim = "All is well. I have sent the mail to Bo, and he will be glad to read it.";
    world.script_model("conversational", [Answer::text(claim).with_pause_after(10)]);
    world.chat.say("ana", "general", None, "@nod is all well?");
    world.wait_for_text("general", "All is well").await;
    world.model.release();
    world.wait_until_idle().await;
    let grown = world.chat.stream_updates();
    assert!(!grown.is_empty() && !grown.iter().any(|shown| shown.contains("sent")), "{grown:?}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod is all well?
                nod: All is well. I have sent the mail to Bo, and he will be glad to read it.
                  · To be clear, nothing was sent or changed just now.
        ");
    }
    world.finish().await;
}

/// Returns the text in mid-stream, and the final text.
async fn stream_unsafe_answer(platform: Platform) -> (String, String) {
    let mut world = streaming_world(platform).await;
    let text =
        "<!channel> @here <@U0000ANA>: see [your bank](https://evil.test/login) and https://acme.test/x now";
    world.script_model("conversational", [Answer::text(text).with_pause_after(14)]);
    world.chat.say("ana", "general", None, "@nod what now?");
    let shown = world.wait_for_text("general", "evil.test").await.replace('\u{200b}', "(nothing)");
    world.model.release();
    world.wait_until_idle().await;
    let read = world.read_new("general").replace('\u{200b}', "(nothing)");
    world.finish().await;
    (shown, read)
}

#[tokio::test]
async fn nothing_in_mid_stream_pings_on_slack_or_hides_where_it_leads() {
    let (shown, read) = stream_unsafe_answer(Platform::Slack).await;
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
    let (shown, read) = stream_unsafe_answer(Platform::Discord).await;
    insta::assert_snapshot!(shown, @r"
        ana: @nod what now?
            nod: <!channel> @(nothing)here <(nothing)@U0000ANA>: see [your bank](https://evil.test/login) and
    ");
    insta::assert_snapshot!(read, @r"
        ana: @nod what now?
            nod: <!channel> @(nothing)here <(nothing)@U0000ANA>: see [your bank](https://evil.test/login) and https://acme.test/x now
    ");
}

async fn a_short_answer_comes_whole(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "general", "@nod hello").await;
    world.read_new("general");
    assert_eq!(world.chat.stream_updates(), Vec::<String>::new());
    world.finish().await;
}
