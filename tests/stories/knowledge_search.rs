//! What a search of documents takes into account: their language, and which of them are meant.

use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{SharedFile, World};
use serde_json::{Value, json};

on_each_platform!(
    a_german_document_is_found_by_another_form_of_its_words,
    documents_of_two_languages_are_found_each_by_its_own,
    only_the_documents_that_are_meant_are_searched,
);

const CONTRACT: &str =
    "# Kündigung\nDie Kündigungsfristen für alle Verträge sind drei Monate, und sie beginnen im Mai.";
const HANDBOOK: &str = "# Leave\nEverybody has 25 days of annual leave, and it ends in March.";

async fn keep(world: &mut World, name: &str, text: &str) {
    let file = SharedFile::new(name, "text/markdown", text);
    world.share_file("ana", "general", "@nod keep this", &file).await;
    let said = world.read_new("general");
    assert!(said.contains("I have read this. Ask me about it."), "{said}");
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
