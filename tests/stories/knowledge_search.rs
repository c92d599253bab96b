//! What a search of documents takes into account: their language, and which of them are meant.

use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{SharedFile, World};
use serde_json::{Value, json};

on_each_platform!(
    a_german_document_is_found_by_another_form_of_its_words,
    documents_of_two_languages_are_found_each_by_its_own,
    only_the_documents_that_are_meant_are_searched,
    a_model_may_order_the_passages,
    scores_that_fail_change_nothing,
);

const CONTRACT: &str =
    "# Kündigung\nDie Kündigungsfristen für alle Verträge sind drei Monate, und sie beginnen im Mai.";
const HANDBOOK: &str = "# Leave\nEverybody has 25 days of annual leave, and it ends in March.";

async fn keep(world: &mut World, name: &str, text: &str) {
    let file = SharedFile::new(name, "text/markdown", text);
    world.share_file("ana", "general", "@nod keep this", &file).await;
    let said = world.read_new("general");
    assert!(said.contains("I've read this. Ask me about it."), "{said}");
}

/// Has the model search, and returns what it reads.
async fn search(world: &mut World, arguments: Value) -> String {
    let call = Answer::tool("retrieve_knowledge_base", arguments);
    world.script_model("retrieval", [call, Answer::text("I do not know.")]);
    world.say("ana", "general", "@nod what do the documents say?").await;
    world.read_new("general");
    world.model.list_reasoner_requests().pop().unwrap().to_string()
}

async fn a_german_document_is_found_by_another_form_of_its_words(platform: Platform) {
    let mut world = World::new_on(platform).await;
    keep(&mut world, "vertrag.md", CONTRACT).await;
    let read = search(&mut world, json!({ "query": "Wie lang ist die Kündigungsfrist des Vertrags?" })).await;
    assert!(read.contains("drei Monate"), "{read}");
    world.finish().await;
}

async fn documents_of_two_languages_are_found_each_by_its_own(platform: Platform) {
    let mut world = World::new_on(platform).await;
    keep(&mut world, "vertrag.md", CONTRACT).await;
    keep(&mut world, "handbook.md", HANDBOOK).await;
    let read = search(&mut world, json!({ "query": "Kündigungsfrist" })).await;
    assert!(read.contains("drei Monate") && !read.contains("25 days"), "{read}");
    let read = search(&mut world, json!({ "query": "when do the leaves end?" })).await;
    assert!(read.contains("25 days") && !read.contains("drei Monate"), "{read}");
    world.finish().await;
}

async fn only_the_documents_that_are_meant_are_searched(platform: Platform) {
    let mut world = World::new_on(platform).await;
    keep(&mut world, "handbook.md", HANDBOOK).await;
    keep(&mut world, "old handbook.txt", "Everybody has 20 days of annual leave.").await;
    let mut search = async |filter: Value| {
        let mut arguments = json!({ "query": "annual leave" });
        arguments.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        search(&mut world, arguments).await
    };
    let read = search(json!({ "document": "old handbook" })).await;
    assert!(read.contains("20 days") && !read.contains("25 days"), "{read}");
    let read = search(json!({ "kind": "markdown" })).await;
    assert!(read.contains("25 days") && !read.contains("20 days"), "{read}");
    let read = search(json!({ "changed_until": "2020-01-01" })).await;
    assert!(read.contains("none with this title, of this kind or of this time"), "{read}");
    let read = search(json!({ "changed_since": "last March" })).await;
    assert!(read.contains("a day is written as 2026-03-01"), "{read}");
    world.finish().await;
}

/// Keeps two notes of which the search takes the first for the better one.
async fn world_with_scoring(platform: Platform) -> World {
    let mut world = World::without_nod_on(platform).await;
    world.env.insert("NOD_KNOWLEDGE__SCORING".to_owned(), "true".to_owned());
    world.start().await;
    keep(&mut world, "first.md", "Annual leave, annual leave: ask Bo.").await;
    keep(&mut world, "second.md", "Of annual leave everybody has 25 days, which end in March.").await;
    world
}

/// Asks with these scores, and returns the titles of the passages in the order in which the model reads them.
async fn ask_scored(world: &mut World, scores: Answer) -> Vec<&'static str> {
    world.script_model("retrieval", [Answer::text("I do not know.")]);
    world.model.router_will(scores);
    world.say("ana", "general", "@nod annual leave?").await;
    world.read_new("general");
    let read = world.model.list_reasoner_requests().pop().unwrap().to_string();
    let mut titles = ["first.md", "second.md"];
    titles.sort_by_key(|title| read.rfind(&format!("document\\\":\\\"{title}")));
    titles.to_vec()
}

async fn a_model_may_order_the_passages(platform: Platform) {
    let mut world = world_with_scoring(platform).await;
    let score =
        |passage: u8, score: u8| json!({ "passage": passage, "score": score, "reason": "it says how many" });
    let scores = Answer::json(&json!({ "scores": [score(1, 1), score(2, 3)] }));
    assert_eq!(ask_scored(&mut world, scores).await, ["second.md", "first.md"]);
    let asked =
        world.model.requests().iter().find(|r| r.to_string().contains("Passage 1:")).unwrap().to_string();
    assert!(asked.contains("Question: ") && asked.contains("begins (the document first.md"), "{asked}");
    let steps: i64 =
        sqlx::query_scalar("select count(*) from run_steps where input::text like '%Passage 1:%'")
            .fetch_one(&world.pool)
            .await
            .unwrap();
    assert_eq!(steps, 1);
    world.finish().await;
}

async fn scores_that_fail_change_nothing(platform: Platform) {
    let mut world = world_with_scoring(platform).await;
    for scores in [Answer::text("I like both."), Answer::status(400, None)] {
        assert_eq!(ask_scored(&mut world, scores).await, ["first.md", "second.md"]);
    }
    world.finish().await;
}
