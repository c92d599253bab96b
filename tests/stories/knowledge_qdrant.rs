//! The main stories of documents with Qdrant as the store of vectors. (With `NOD_STORIES_ON_QDRANT` set, all stories are
//! played on it.)

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{SharedFile, World};
use serde_json::json;

on_each_platform!(
    a_kept_file_answers_with_its_source_from_qdrant,
    a_new_version_takes_the_earlier_ones_points,
    a_removed_document_loses_its_points,
    one_persons_document_is_not_found_by_another,
    a_question_in_other_words_finds_the_passage_in_qdrant,
    a_qdrant_that_is_away_is_said_and_answers_later,
    a_removed_document_loses_its_points_of_an_earlier_model,
    the_points_of_an_earlier_model_go_when_all_are_there_of_the_new_one,
    a_number_of_a_version_is_not_used_again,
);

const HANDBOOK: &str = "# Leave\nEverybody has 25 days of annual leave.\n# Travel\nWe go by train.";
const LEAVE: &str = "how many days of annual leave do we have?";
const UNREACHABLE: &str = "I can't reach my index of documents right now. Nothing is lost.";
const KEPT: &str = "I've read this. Ask me about it.";

fn handbook(text: &str) -> SharedFile {
    SharedFile::new("handbook.md", "text/markdown", text)
}

async fn world_with_qdrant(platform: Platform) -> World {
    let mut world = World::without_nod_on(platform).await;
    world.use_qdrant().await;
    world.start().await;
    world
}

/// Asks in the channel, and returns what the model was shown. A question whose words are found is searched once.
async fn ask(world: &mut World, question: &str) -> String {
    world.script_model("retrieval", [Answer::text("I do not know.")]);
    world.say("ana", "general", &format!("@nod {question}")).await;
    world.read_new("general");
    world.model.list_reasoner_requests().pop().unwrap().to_string()
}

async fn keep(world: &mut World, user: &str, channel: &str, text: &str) {
    let mention = if channel.starts_with("dm:") { "" } else { "@nod " };
    world.share_file(user, channel, &format!("{mention}keep this"), &handbook(text)).await;
    let kept = world.read_new(channel);
    assert!(kept.contains(KEPT), "{kept}");
}

fn use_model(world: &mut World, name: &str) {
    let key = "sk-embeddings".to_owned();
    for (setting, value) in
        [("BASE_URL", world.model.base_url()), ("API_KEY", key), ("MODEL", name.to_owned())]
    {
        world.env.insert(format!("NOD_EMBEDDINGS__{setting}"), value);
    }
}

/// Keeps the handbook with one model, and then begins to use another.
async fn world_with_a_new_model(platform: Platform) -> World {
    let mut world = World::without_nod_on(platform).await;
    world.use_qdrant().await;
    use_model(&mut world, "meaning-1");
    world.start().await;
    keep(&mut world, "ana", "general", HANDBOOK).await;
    world.stop().await;
    use_model(&mut world, "meaning-2");
    world.start().await;
    assert_eq!(world.qdrant().point_count(), 2);
    world
}

/// Returns how many searches reached Qdrant.
fn search_count(world: &World) -> usize {
    world.qdrant().operations().iter().filter(|operation| *operation == "points.query_batch").count()
}

async fn a_kept_file_answers_with_its_source_from_qdrant(platform: Platform) {
    let mut world = world_with_qdrant(platform).await;
    keep(&mut world, "ana", "general", HANDBOOK).await;
    assert_eq!((world.model.requests().len(), world.qdrant().point_count()), (0, 2));
    let call = Answer::tool("retrieve_knowledge_base", json!({ "query": "days of annual leave" }));
    world.script_model("retrieval", [call, Answer::text("25 days.")]);
    world.say("bo", "general", "@nod how much leave do I have?").await;
    let said = world.read_new("general");
    assert!(said.contains("25 days [1].") && said.contains("[1] handbook.md · Leave"), "{said}");
    assert!(search_count(&world) > 0);
    world.finish().await;
}

async fn a_new_version_takes_the_earlier_ones_points(platform: Platform) {
    let mut world = world_with_qdrant(platform).await;
    keep(&mut world, "ana", "general", HANDBOOK).await;
    world.share_file("bo", "general", "@nod keep this", &handbook("# Leave\n28 days of annual leave.")).await;
    let said = world.read_new("general");
    assert!(said.contains("It replaces the earlier one."), "{said}");
    assert_eq!(world.qdrant().point_count(), 1);
    let asked = ask(&mut world, LEAVE).await;
    assert!(asked.contains("28 days of annual leave") && !asked.contains("25 days"), "{asked}");
    world.finish().await;
}

async fn a_removed_document_loses_its_points(platform: Platform) {
    let mut world = world_with_qdrant(platform).await;
    keep(&mut world, "ana", "general", HANDBOOK).await;
    world.run_command("ana", "general", "knowledge remove handbook.md").await;
    // Qdrant is away when it is removed: nothing is found any more, whatever it still has.
    let away = Fault::Status { code: 504, retry_after: None };
    world.qdrant().faults().next("points.delete", away);
    world.click_newest_ephemeral("ana", "Yes, remove it").await;
    world.read_new("general");
    world.read_ephemerals("ana");
    assert_eq!(world.qdrant().point_count(), 2);
    assert!(!ask(&mut world, LEAVE).await.contains("25 days"));
    world.advance(TimeDelta::minutes(5)).await;
    assert_eq!(world.qdrant().point_count(), 0);
    // Once more an hour later.
    let delete_count =
        |world: &World| world.qdrant().operations().iter().filter(|name| *name == "points.delete").count();
    let before = delete_count(&world);
    world.advance(TimeDelta::minutes(61)).await;
    assert!(delete_count(&world) > before);
    world.finish().await;
}

async fn one_persons_document_is_not_found_by_another(platform: Platform) {
    let mut world = world_with_qdrant(platform).await;
    keep(&mut world, "ana", "dm:ana", HANDBOOK).await;
    for (user, finds) in [("ana", true), ("bo", false)] {
        let channel = format!("dm:{user}");
        world.script_model("retrieval", [Answer::text("I do not know.")]);
        world.say(user, &channel, "how many days of annual leave are there?").await;
        let shown = world.model.requests().pop().unwrap().to_string();
        assert_eq!(shown.contains("25 days"), finds, "{user}: {shown}");
        world.read_new(&channel);
    }
    world.finish().await;
}

async fn a_question_in_other_words_finds_the_passage_in_qdrant(platform: Platform) {
    let mut world = World::without_nod_on(platform).await;
    world.use_qdrant().await;
    use_model(&mut world, "meaning-1");
    world.start().await;
    keep(&mut world, "ana", "general", HANDBOOK).await;
    let asked = ask(&mut world, "how many vacation days do we have?").await;
    assert!(asked.contains("25 days of annual leave"), "{asked}");
    assert_eq!(search_count(&world), 1);
    let asked = ask(&mut world, "is there parking in the basement?").await;
    assert!(asked.contains("nothing in these documents is about it"), "{asked}");
    world.finish().await;
}

async fn a_qdrant_that_is_away_is_said_and_answers_later(platform: Platform) {
    let mut world = world_with_qdrant(platform).await;
    keep(&mut world, "ana", "general", HANDBOOK).await;
    for fault in [Fault::Status { code: 504, retry_after: None }, Fault::HangBefore] {
        world.qdrant().faults().next("points.query_batch", fault);
        // No model is asked for an answer.
        world.script_model("retrieval", []);
        world.say("ana", "general", "@nod how many days of annual leave do I have?").await;
        let said = world.read_new("general");
        assert!(said.contains(UNREACHABLE) && !said.contains("25"), "{said}");
    }
    assert!(ask(&mut world, LEAVE).await.contains("25 days of annual leave"));
    world.finish().await;
}

/// Each attempt asks twice.
#[tokio::test]
async fn a_document_waits_for_qdrant_and_says_so_after_a_while() {
    let mut world = world_with_qdrant(Platform::Slack).await;
    let away = Fault::Status { code: 503, retry_after: None };
    world.qdrant().faults().next_times("points.upsert", 2, &away);
    world.share_file("ana", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    let said = world.read_new("general");
    assert!(said.contains("now I'm indexing it") && !said.contains(KEPT), "{said}");
    world.advance(TimeDelta::minutes(5)).await;
    assert!(world.read_new("general").contains(KEPT));
    world.qdrant().faults().next_times("points.upsert", 24, &away);
    let newer = handbook("# Leave\nEverybody has 28 days of annual leave.");
    world.share_file("ana", "general", "@nod keep this", &newer).await;
    for _ in 0..12 {
        world.advance(TimeDelta::minutes(5)).await;
    }
    let said = world.read_new("general");
    assert!(said.contains("I couldn't read this: my index of documents did not answer"), "{said}");
    // I still have the earlier version.
    assert!(ask(&mut world, LEAVE).await.contains("25 days of annual leave"));
    assert_eq!(world.qdrant().point_count(), 2);
    world.finish().await;
}

#[tokio::test]
async fn a_lost_qdrant_is_filled_again_and_nothing_is_missed_meanwhile() {
    let mut world = world_with_qdrant(Platform::Slack).await;
    keep(&mut world, "ana", "general", HANDBOOK).await;
    world.qdrant().clear();
    let before = search_count(&world);
    assert!(ask(&mut world, LEAVE).await.contains("25 days of annual leave"));
    assert_eq!((search_count(&world), world.qdrant().point_count()), (before, 2));
    assert!(ask(&mut world, LEAVE).await.contains("25 days of annual leave"));
    assert_eq!(search_count(&world), before + 1);
    world.finish().await;
}

/// Rows that went without a sweep, as those of a person who turned out to be another.
#[tokio::test]
async fn points_without_rows_are_deleted_once_a_day() {
    let mut world = world_with_qdrant(Platform::Slack).await;
    keep(&mut world, "ana", "general", HANDBOOK).await;
    let prices = SharedFile::new("prices.md", "text/markdown", "A cake costs 30 euros.");
    world.share_file("ana", "general", "@nod keep this", &prices).await;
    ask(&mut world, LEAVE).await;
    // Until it was swept for the second time.
    world.advance(TimeDelta::hours(2)).await;
    change_rows(&world, "delete from documents where title = 'prices.md'").await;
    for (hours, expected) in [(20, 3), (3, 2)] {
        world.advance(TimeDelta::hours(hours)).await;
        ask(&mut world, LEAVE).await;
        assert_eq!(world.qdrant().point_count(), expected);
    }
    world.finish().await;
}

#[tokio::test]
async fn a_document_of_another_reader_is_found_at_once() {
    let mut world = world_with_qdrant(Platform::Slack).await;
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "general", "@nod hello").await;
    world.read_new("general");
    keep(&mut world, "ana", "dm:ana", HANDBOOK).await;
    let general =
        "update documents set only_for = null, channel_id = (select id from channels where not is_dm)";
    change_rows(&world, general).await;
    for searched in [0, 1] {
        assert!(ask(&mut world, LEAVE).await.contains("25 days of annual leave"));
        // In memory, until its points are put again.
        assert_eq!(search_count(&world), searched);
    }
    world.finish().await;
}

/// Changes rows as no feature does, but as the text that can be found.
async fn change_rows(world: &World, change: &'static str) {
    for statement in [change, "update knowledge_revisions set revision = revision + 1"] {
        sqlx::query(statement).execute(&world.pool).await.unwrap();
    }
}

async fn a_removed_document_loses_its_points_of_an_earlier_model(platform: Platform) {
    let mut world = world_with_a_new_model(platform).await;
    world.run_command("ana", "general", "knowledge remove handbook.md").await;
    world.click_newest_ephemeral("ana", "Yes, remove it").await;
    world.read_new("general");
    world.read_ephemerals("ana");
    assert_eq!(world.qdrant().point_count(), 0);
    world.advance(TimeDelta::minutes(61)).await;
    world.finish().await;
}

async fn the_points_of_an_earlier_model_go_when_all_are_there_of_the_new_one(platform: Platform) {
    let mut world = world_with_a_new_model(platform).await;
    ask(&mut world, LEAVE).await;
    assert_eq!(world.qdrant().point_count(), 2, "those of the new model alone");
    let asked = ask(&mut world, "how many vacation days do we have?").await;
    assert!(asked.contains("25 days of annual leave"), "{asked}");
    world.advance(TimeDelta::minutes(61)).await;
    world.finish().await;
}

async fn a_number_of_a_version_is_not_used_again(platform: Platform) {
    let mut world = world_with_qdrant(platform).await;
    keep(&mut world, "ana", "general", HANDBOOK).await;
    // Qdrant has half of the second version when the first file is dropped again.
    let away = Fault::Status { code: 504, retry_after: None };
    world.qdrant().faults().next_times("points.upsert", 2, &away);
    world.share_file("bo", "general", "@nod keep this", &handbook("# Leave\n28 days of annual leave.")).await;
    world.share_file("bo", "general", "@nod keep this", &handbook(HANDBOOK)).await;
    world.advance(TimeDelta::minutes(10)).await;
    world.share_file("bo", "general", "@nod keep this", &handbook("# Leave\n30 days of annual leave.")).await;
    world.advance(TimeDelta::minutes(61)).await;
    world.read_new("general");
    let versions: Vec<i32> =
        sqlx::query_scalar("select generation from documents").fetch_all(&world.pool).await.unwrap();
    assert_eq!((versions, world.qdrant().point_count()), (vec![4], 1));
    world.finish().await;
}
