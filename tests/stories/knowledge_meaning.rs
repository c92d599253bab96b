//! With an embedding model, documents are found by what they mean. What the model does not do, words do.

use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{SharedFile, World};
use serde_json::json;

on_each_platform!(
    a_question_in_other_words_finds_the_passage,
    what_is_about_something_else_is_not_found,
    a_question_is_looked_up_by_its_words_while_the_model_is_down,
    a_document_that_the_model_refuses_says_so,
    a_model_whose_dimension_changed_says_so,
    unchanged_passages_are_not_embedded_again,
    equal_files_of_one_message_are_kept_once,
    after_a_change_of_model_documents_are_found_by_words_and_then_by_meaning,
    what_a_new_model_refuses_is_not_sent_again_by_each_search,
);

const HANDBOOK: &str = "# Leave\nEverybody has 25 days of annual leave.\n# Travel\nWe go by train.";

fn handbook(text: &str) -> SharedFile {
    SharedFile::new("handbook.md", "text/markdown", text)
}

fn use_model(world: &mut World, name: &str) {
    let key = "sk-embeddings".to_owned();
    for (setting, value) in
        [("BASE_URL", world.model.base_url()), ("API_KEY", key), ("MODEL", name.to_owned())]
    {
        world.env.insert(format!("NOD_EMBEDDINGS__{setting}"), value);
    }
}

async fn world_with_model(platform: Platform) -> World {
    let mut world = World::without_nod_on(platform).await;
    use_model(&mut world, "meaning-1");
    world.start().await;
    world
}

/// Asks a question that is looked up with this query, and returns the search's result as the model reads it.
async fn look_up(world: &mut World, query: &str) -> String {
    let call = Answer::tool("retrieve_knowledge_base", json!({ "query": query }));
    world.script_model("retrieval", [call, Answer::text("I do not know.")]);
    world.say("ana", "general", "@nod what do the documents say?").await;
    world.read_new("general");
    world.model.list_reasoner_requests().pop().unwrap().to_string()
}

async fn a_question_in_other_words_finds_the_passage(platform: Platform) {
    let mut world = world_with_model(platform).await;
    world.share_file("ana", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    let kept = world.read_new("general");
    assert!(kept.contains("I've read this. Ask me about it."), "{kept}");
    let asked = look_up(&mut world, "vacation days").await;
    assert!(asked.contains("25 days of annual leave"), "{asked}");
    // The title and the headings are embedded with the text.
    assert_eq!(
        world.model.embedded_texts()[0],
        ["handbook.md. Leave. Everybody has 25 days of annual leave."]
    );
    world.finish().await;
}

async fn what_is_about_something_else_is_not_found(platform: Platform) {
    let mut world = world_with_model(platform).await;
    world.share_file("ana", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    world.read_new("general");
    let asked = look_up(&mut world, "parking in the basement").await;
    assert!(asked.contains("nothing in these documents is about it"), "{asked}");
    world.finish().await;
}

async fn equal_files_of_one_message_are_kept_once(platform: Platform) {
    let mut world = world_with_model(platform).await;
    let copy = SharedFile::new("copy.md", "text/markdown", HANDBOOK);
    world.share_files("ana", "general", "@nod keep these", &[&handbook(HANDBOOK), &copy]).await;
    let said = world.read_new("general");
    assert!(said.contains("I've read this. Ask me about it."), "{said}");
    assert!(said.contains("I already have exactly this"), "{said}");
    assert_eq!(count(&world, "select count(*) from documents").await, 1);
    assert_eq!(world.model.embedded_texts().len(), 2, "the two passages of one of them");
    world.finish().await;
}

async fn a_question_is_looked_up_by_its_words_while_the_model_is_down(platform: Platform) {
    let mut world = world_with_model(platform).await;
    world.share_file("ana", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    world.read_new("general");
    world.model.embeddings_will(Answer::status(503, None));
    let asked = look_up(&mut world, "annual leave").await;
    assert!(asked.contains("25 days of annual leave"), "{asked}");
    world.finish().await;
}

async fn a_document_that_the_model_refuses_says_so(platform: Platform) {
    let mut world = world_with_model(platform).await;
    world.model.embeddings_will(Answer::status(404, None));
    world.share_file("ana", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    let said = world.read_new("general");
    assert!(said.contains("I couldn't read this: the embedding model refused it"), "{said}");
    assert_eq!(count(&world, "select count(*) from document_chunks").await, 0);
    world.click("ana", "general", "Try again").await;
    assert!(world.read_ephemerals("ana").contains("I'm reading this again."));
    let said = world.read_new("general");
    assert!(said.contains("Ask me about it."), "{said}");
    assert!(look_up(&mut world, "vacation days").await.contains("25 days of annual leave"));
    world.finish().await;
}

async fn a_model_whose_dimension_changed_says_so(platform: Platform) {
    let mut world = world_with_model(platform).await;
    world.share_file("ana", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    world.read_new("general");
    world.model.set_embedding_dimension(128);
    let prices = SharedFile::new("prices.md", "text/markdown", "A cake costs 30 euros.");
    world.share_file("ana", "general", "@nod keep this", &prices).await;
    let said = world.read_new("general");
    assert!(said.contains("the embedding model gives 128 numbers, and my index has 256"), "{said}");
    // What is there is still found, by its words.
    assert!(look_up(&mut world, "annual leave").await.contains("25 days of annual leave"));
    world.finish().await;
}

async fn unchanged_passages_are_not_embedded_again(platform: Platform) {
    let mut world = world_with_model(platform).await;
    world.share_file("ana", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    let before = world.model.embedded_texts().len();
    let newer = handbook(&HANDBOOK.replace("train", "bicycle"));
    world.share_file("ana", "general", "@nod keep this", &newer).await;
    world.read_new("general");
    let texts = world.model.embedded_texts().split_off(before);
    assert_eq!(texts, [["handbook.md. Travel. We go by bicycle."]]);
    assert!(look_up(&mut world, "bicycle").await.contains("We go by bicycle"));
    let strays = "select count(*) from chunk_vectors v where not exists (
        select 1 from document_chunks c join documents d on d.id = c.document_id and d.generation = c.generation
        where c.id = v.chunk_id)";
    assert_eq!(count(&world, strays).await, 0);
    world.finish().await;
}

async fn after_a_change_of_model_documents_are_found_by_words_and_then_by_meaning(platform: Platform) {
    let mut world = world_with_model(platform).await;
    world.share_file("ana", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    world.read_new("general");
    world.stop().await;
    use_model(&mut world, "meaning-2");
    world.model.set_embedding_dimension(128);
    world.start().await;
    let asked = look_up(&mut world, "annual leave").await;
    assert!(asked.contains("25 days of annual leave"), "{asked}");
    // The first look has had the missing vectors computed.
    let asked = look_up(&mut world, "vacation days").await;
    assert!(asked.contains("25 days of annual leave"), "{asked}");
    assert_eq!(count(&world, "select count(distinct model) from chunk_vectors").await, 1);
    world.finish().await;
}

async fn what_a_new_model_refuses_is_not_sent_again_by_each_search(platform: Platform) {
    let mut world = world_with_model(platform).await;
    world.share_file("ana", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    world.read_new("general");
    world.stop().await;
    use_model(&mut world, "meaning-2");
    world.start().await;
    world.model.embeddings_will(Answer::status(400, None));
    look_up(&mut world, "annual leave").await;
    let passages = |world: &World| {
        world.model.embedded_texts().iter().filter(|texts| texts[0].starts_with("handbook.md")).count()
    };
    let before = passages(&world);
    look_up(&mut world, "annual leave").await;
    assert_eq!(passages(&world), before);
    world.finish().await;
}

async fn count(world: &World, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(&world.pool).await.unwrap()
}
