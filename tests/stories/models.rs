//! Models that are down, broken or made for another purpose; and prompts that a provider can cache.

use nod_sandbox::model::{Answer, Model, ModelConfig};
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::{Value, json};

on_each_platform!(
    where_the_model_is_down_another_answers_and_nobody_is_told_but_the_record,
    where_both_are_down_both_are_told,
    a_model_that_cannot_call_tools_is_told_in_one_sentence,
    a_prompt_begins_the_same_for_everybody_at_any_time,
    a_cut_answer_says_so_in_talk_too,
    what_a_provider_holds_back_is_told_once,
);

/// Creates a world with a fallback model for the reasoner.
async fn with_fallback_model(platform: Platform) -> (World, Model) {
    let mut world = World::without_nod_on(platform).await;
    let other = Model::start(ModelConfig::default()).await.unwrap();
    let prefix = "NOD_LLM__REASONER__FALLBACK__";
    for (name, value) in
        [("BASE_URL", other.base_url()), ("API_KEY", "sk-other".to_owned()), ("MODEL", "other".to_owned())]
    {
        world.env.insert(format!("{prefix}{name}"), value);
    }
    world.start().await;
    (world, other)
}

async fn where_the_model_is_down_another_answers_and_nobody_is_told_but_the_record(platform: Platform) {
    let (mut world, other) = with_fallback_model(platform).await;
    world.script_model("tool", (0..3).map(|_| Answer::status(503, None)));
    other.will(Answer::text("Hello from elsewhere."));
    world.say("ana", "general", "@nod hello").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod hello
                nod: Hello from elsewhere.
        ");
    }
    let step: Value = sqlx::query_scalar(
        "select jsonb_build_array(output->'model', output->'from_fallback') from run_steps where name = 'reasoner'",
    )
    .fetch_one(&world.pool)
    .await
    .unwrap();
    assert_eq!(step, json!(["other", true]));
    assert_eq!((other.list_unused(), other.violations()), (vec![], vec![]));
    world.finish().await;
}

async fn where_both_are_down_both_are_told(platform: Platform) {
    let (mut world, other) = with_fallback_model(platform).await;
    world.script_model("tool", (0..3).map(|_| Answer::status(503, None)));
    other.will(Answer::status(402, None));
    world.say("ana", "general", "@nod hello").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general").replace(char::is_numeric, "#"), @r"
            ana: @nod hello
                nod: The model didn't answer (# tries, # s). The backup model refused the request (status ###). The person who runs Nod needs to look at it. Nothing was sent or changed.
                  · run ········
                  [Try again]
        ");
    }
    world.finish().await;
}

async fn a_model_that_cannot_call_tools_is_told_in_one_sentence(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.script_model("tool", [Answer::integer_code(400, "scripted does not support tools")]);
    world.say("ana", "general", "@nod any mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod any mail?
                nod: The model (scripted) can't use tools, and I need one that can. The person who runs Nod needs to choose another. Nothing was sent or changed.
                  · run ········
                  [Try again]
        ");
    }
    world.finish().await;
}

/// Returns the part of a prompt that is the same for every user at any time.
fn prefix(request: &Value) -> (String, String) {
    let system = request["messages"][0]["content"].as_str().unwrap_or_default();
    let fixed = system.split("The person you work for now").next().unwrap_or_default();
    (request["tools"].to_string(), fixed.to_owned())
}

async fn a_prompt_begins_the_same_for_everybody_at_any_time(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    for (user, channel) in [("ana", "dm:ana"), ("bo", "general"), ("ana", "general")] {
        world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("None.")]);
        if user == "bo" {
            // Bo has no account connected: the run waits for one.
            world.model.clear();
            world.script_model("tool", [Answer::text("None.")]);
        }
        world.say(user, channel, "@nod any mail today?").await;
        world.advance(chrono::TimeDelta::minutes(61)).await;
    }
    world.read_new("general");
    world.read_new("dm:ana");
    let (routed, thought): (Vec<Value>, Vec<Value>) =
        world.model.requests().into_iter().partition(|request| request["response_format"].is_object());
    let prefixes: Vec<_> = thought.iter().map(prefix).collect();
    assert!(
        prefixes.len() == 5 && prefixes[0].1.len() > 500 && prefixes[0].0.contains("gmail"),
        "{prefixes:?}"
    );
    assert!(prefixes.iter().all(|one| *one == prefixes[0]), "{prefixes:#?}");
    // Variable parts come after it: the constant part contains no name and no time.
    assert!(!prefixes[0].1.contains("Ana") && !prefixes[0].1.contains("2026"));
    let first = &routed[0]["messages"][0];
    assert!(routed.iter().all(|request| request["messages"][0] == *first), "{routed:#?}");
    world.finish().await;
}

async fn a_cut_answer_says_so_in_talk_too(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("It all began in").finish_reason("length")]);
    world.say("ana", "dm:ana", "tell me a story").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: tell me a story
            nod: It all began in

              … (the answer was cut off at its length limit)
        ");
    }
    world.finish().await;
}

async fn what_a_provider_holds_back_is_told_once(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Well, ").finish_reason("content_filter")]);
    world.say("ana", "dm:ana", "tell me a story").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: tell me a story
            nod: The model's provider held its answer back (content filter). Please ask in other words. Nothing was sent or changed.
              · run ········
              [Try again]
        ");
    }
    world.finish().await;
}
