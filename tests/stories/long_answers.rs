//! Long answers: several messages, in order, a second apart, each complete by itself.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;

on_each_platform!(
    a_long_answer_comes_whole_in_several_messages,
    a_long_private_answer_has_one_line_in_the_thread,
    an_answer_without_end_is_its_beginning_and_a_file,
);

pub fn long_answer() -> String {
    let paragraph = |n: usize| format!("Paragraph {n} begins. {}", "It goes on and on. ".repeat(20).trim());
    let mut text: Vec<String> = (1..=20).map(paragraph).collect();
    let lines: Vec<String> = (1..=400).map(|n| format!("let line_{n} = {n}; // of the code")).collect();
    text.push(format!("```rust\n{}\n```", lines.join("\n")));
    let points: Vec<String> =
        (1..=200).map(|n| format!("{n}. point {n} of a plan still to be made")).collect();
    text.push(points.join("\n"));
    text.join("\n\n")
}

async fn a_long_answer_comes_whole_in_several_messages(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text(long_answer())]);
    world.say("ana", "general", "@nod explain it all").await;
    let said = world.read_new("general");
    for wanted in (1..=20).map(|n| format!("Paragraph {n} begins")) {
        assert!(said.contains(&wanted), "{wanted}");
    }
    let lines: Vec<usize> = said
        .split("let line_")
        .skip(1)
        .filter_map(|rest| rest.split(' ').next().and_then(|n| n.parse().ok()))
        .collect();
    assert_eq!(lines, (1..=400).collect::<Vec<_>>());
    assert!(!said.contains("more characters"), "nothing is left out");
    assert!(world.chat.nod_message_ids("general").len() > 2, "{said}");
    assert_eq!(world.chat.rate_limited_calls(), Vec::<String>::new());
    world.finish().await;
}

/// Slack's rate limit is one message per second and channel; Discord reports its limit itself.
#[tokio::test]
async fn the_messages_of_a_long_answer_are_a_second_apart() {
    let mut world = World::new().await;
    world.script_model("conversational", [Answer::text(long_answer())]);
    let ts = world.say("ana", "general", "@nod explain it all").await;
    world.read_new("general");
    let posts: Vec<f64> =
        world.slack.thread("general", &ts).iter().skip(1).map(|m| m.ts.parse().unwrap()).collect();
    assert!(posts.len() > 2, "{} messages", posts.len());
    // Slack's timestamps of two messages in the same moment differ by a microsecond.
    assert!(posts.windows(2).all(|two| two[1] - two[0] > 0.999), "{posts:?}");
    world.finish().await;
}

async fn a_long_private_answer_has_one_line_in_the_thread(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.script_model(
        "tool",
        [Answer::tool("gmail_list_recent", serde_json::json!({})), Answer::text(long_answer())],
    );
    world.say("ana", "general", "@nod what is new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what is new in my mail?
                nod: · Answered Ana Silva privately.
        ");
    }
    assert!(world.read_new("dm:ana").contains("Paragraph 20 begins"));
    world.finish().await;
}

async fn an_answer_without_end_is_its_beginning_and_a_file(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let text = (1..).map(|n| format!("Sentence {n} of it. ")).take(6_000).collect::<String>();
    world.script_model("conversational", [Answer::text(text.trim())]);
    world.say("ana", "general", "@nod explain it all").await;
    let said = world.read_new("general");
    assert!(said.contains("Sentence 1 of it.") && !said.contains("Sentence 6000 of it."), "{said}");
    assert!(
        said.contains("This is the beginning: the whole answer (124,892 characters) is in the file."),
        "{said}"
    );
    assert!(
        world.chat.nod_message_ids("general").len() <= 16,
        "{}",
        world.chat.nod_message_ids("general").len()
    );
    let file = world.chat.uploaded_file_text("answer").unwrap();
    assert!(file.ends_with("Sentence 6000 of it."));
    world.finish().await;
}
