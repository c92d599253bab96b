//! An ability is plugged in at one place: the example in `examples/dice`, with a tool, a command, a button, a job and a
//! table.

use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{Click, World};

use serde_json::json;

on_each_platform!(
    a_command_is_answered_and_its_job_tells_everybody,
    a_button_counts_from_whom_its_row_names,
    the_model_calls_its_tool,
    a_wrong_word_is_told_with_how_it_is_typed,
    an_old_button_works_after_a_restart,
);

/// Starts Nod with dice; the example's table is in no migration.
async fn with_dice(platform: Platform) -> World {
    let mut world = World::without_nod_on(platform).await;
    sqlx::raw_sql(nod_dice::TABLE).execute(&world.pool).await.unwrap();
    world.plug_in(nod_dice::plug);
    world.start().await;
    world
}

/// Returns the rolls, oldest first.
async fn rolls(world: &World) -> Vec<(i32, i32)> {
    let all = "select sides, rolled from dice_rolls order by rolled_at, id";
    sqlx::query_as(all).fetch_all(&world.pool).await.unwrap()
}

async fn a_command_is_answered_and_its_job_tells_everybody(platform: Platform) {
    let mut world = with_dice(platform).await;
    let said = world.run_command("ana", "general", "dice 20").await;
    let (sides, rolled) = rolls(&world).await[0];
    assert_eq!(sides, 20);
    assert_eq!(said, format!("(ana only) nod: You rolled {rolled} of 20.\n[Roll again]"));
    assert_eq!(world.read_new("general"), format!("nod: Ana Silva rolled {rolled} of 20.\n"));
    let help = world.run_command("ana", "general", "help").await;
    assert!(help.contains("rolls a die"), "{help}");
    world.finish().await;
}

async fn a_button_counts_from_whom_its_row_names(platform: Platform) {
    let mut world = with_dice(platform).await;
    world.run_command("ana", "general", "dice").await;
    world.click_newest_ephemeral("ana", "Roll again").await;
    let all = rolls(&world).await;
    assert_eq!(all.iter().map(|(sides, _)| *sides).collect::<Vec<_>>(), [6, 6]);
    let anas: uuid::Uuid =
        sqlx::query_scalar("select id from dice_rolls limit 1").fetch_one(&world.pool).await.unwrap();
    let bos = Click::forged("bo", "general", format!("dice_again:{anas}"));
    world.send_click(&bos).await;
    let said = world.read_ephemerals("bo");
    assert_eq!(said, "(bo only) nod: That is somebody else's die. Nothing was rolled.");
    assert_eq!(rolls(&world).await.len(), 2);
    world.read_ephemerals("ana");
    world.read_new("general");
    world.finish().await;
}

async fn the_model_calls_its_tool(platform: Platform) {
    let mut world = with_dice(platform).await;
    let answers = [Answer::tool("dice_roll", json!({"sides": 6})), Answer::text("You got one.")];
    world.script_model("tool", answers);
    world.say("ana", "general", "@nod roll a die for me").await;
    let told = world.model.requests().pop().unwrap().to_string();
    assert!(told.contains(r#"\"rolled\":"#), "{told}");
    world.read_new("general");
    world.finish().await;
}

async fn a_wrong_word_is_told_with_how_it_is_typed(platform: Platform) {
    let mut world = with_dice(platform).await;
    let said = world.run_command("ana", "general", "dice one").await;
    let typed = if platform == Platform::Slack { "/nod dice 20" } else { "`/dice sides:20`" };
    assert_eq!(said, format!("(ana only) nod: A die has 2 to 1000 sides: {typed}. Nothing was rolled."));
    assert!(rolls(&world).await.is_empty());
    world.finish().await;
}

async fn an_old_button_works_after_a_restart(platform: Platform) {
    let mut world = with_dice(platform).await;
    world.run_command("ana", "general", "dice").await;
    world.stop().await;
    world.start().await;
    world.click_newest_ephemeral("ana", "Roll again").await;
    assert_eq!(rolls(&world).await.len(), 2);
    world.read_ephemerals("ana");
    world.read_new("general");
    world.finish().await;
}
