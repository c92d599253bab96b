//! Tasks that wait until another one of their person has ended, and what an organisation sets for tasks.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::tasks::{finish, plan, result};
use crate::tasks_said::route;

on_each_platform!(
    a_fourth_task_is_queued_and_begins_by_itself,
    a_task_that_is_stopped_makes_room,
    a_queued_task_can_be_stopped,
    a_queued_task_outlives_a_restart,
    a_limit_that_is_lowered_holds_for_what_is_queued,
    a_further_task_does_not_overtake_one_that_is_queued,
    a_task_is_run_again_once_there_is_room,
    a_ninth_task_is_refused,
    what_a_sentence_begins_is_queued_too,
    an_organisation_sets_how_tasks_wait,
);

/// Begins a task that asks for a date.
async fn begin(world: &mut World, at: i32) -> String {
    plan(world, &["Ask for the date"]);
    ask(world, at);
    queue(world, at).await
}

fn ask(world: &World, at: i32) {
    let options = [format!("March {at}")];
    world.model.will(Answer::tool(
        "ask_user",
        json!({ "question": format!("Which day for {at}?"), "options": options }),
    ));
}

/// Asks for a task of which no model hears yet.
async fn queue(world: &mut World, at: i32) -> String {
    world.run_command("ana", "dm:ana", &format!("task plan party {at}")).await
}

async fn with_three_tasks(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    for at in 1..=3 {
        begin(&mut world, at).await;
    }
    world.read_new("dm:ana");
    world
}

async fn a_fourth_task_is_queued_and_begins_by_itself(platform: Platform) {
    let mut world = with_three_tasks(platform).await;
    queue(&mut world, 4).await;
    let said = world.run_command("ana", "dm:ana", "task").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_rest("dm:ana"), @r"
            nod: # Plan party 4
              · Ana Silva's task · Queued until another one has ended
              [Stop]
        ");
        insta::assert_snapshot!(said.replace('`', ""), @r"
            (ana only) nod: # Your open tasks
            1. Plan party 1: step 1 of 1 waits for your answer
            [Show 1] [Stop 1]
            2. Plan party 2: step 1 of 1 waits for your answer
            [Show 2] [Stop 2]
            3. Plan party 3: step 1 of 1 waits for your answer
            [Show 3] [Stop 3]
            4. Plan party 4: queued
            [Stop 4]
            Tell me what you want done: /nod task …. It begins once one of these has ended.
        ");
    }
    world.model.will(finish("It is March 1.", "March 1."));
    result(&world, "It is March 1.", "March 1.");
    plan(&world, &["Ask for the date"]);
    ask(&world, 4);
    world.click("ana", "dm:ana", "March 1").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Which day for 4?") && said.contains("step 1 of 1"), "{said}");
    world.discard().await;
}

async fn a_task_that_is_stopped_makes_room(platform: Platform) {
    let mut world = with_three_tasks(platform).await;
    queue(&mut world, 4).await;
    queue(&mut world, 5).await;
    world.run_command("ana", "dm:ana", "task").await;
    plan(&world, &["Ask for the date"]);
    ask(&world, 4);
    world.click_newest_ephemeral("ana", "Stop 2").await;
    let said = world.run_command("ana", "dm:ana", "task").await;
    assert!(
        said.contains("Plan party 4: step 1 of 1 waits") && said.contains("Plan party 5: queued"),
        "{said}"
    );
    world.discard().await;
}

async fn a_queued_task_can_be_stopped(platform: Platform) {
    let mut world = with_three_tasks(platform).await;
    queue(&mut world, 4).await;
    world.read_new("dm:ana");
    queue(&mut world, 5).await;
    world.run_command("ana", "dm:ana", "task").await;
    world.click_newest_ephemeral("ana", "Stop 4").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_rest("dm:ana"), @r"
              · Ana Silva's task · Stopped · No plan was made
              [Run again]
            nod: # Plan party 5
              · Ana Silva's task · Queued until another one has ended
              [Stop]
            nod: · Stopped by Ana Silva: “Plan party 4”. Nothing was sent.
        ");
    }
    plan(&world, &["Ask for the date"]);
    ask(&world, 5);
    world.run_command("ana", "dm:ana", "task").await;
    world.click_newest_ephemeral("ana", "Stop 1").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Which day for 5?"), "{said}");
    world.discard().await;
}

async fn a_queued_task_outlives_a_restart(platform: Platform) {
    let mut world = with_three_tasks(platform).await;
    queue(&mut world, 4).await;
    world.read_new("dm:ana");
    world.stop().await;
    world.start().await;
    plan(&world, &["Ask for the date"]);
    ask(&world, 4);
    world.run_command("ana", "dm:ana", "task").await;
    world.click_newest_ephemeral("ana", "Stop 1").await;
    assert!(world.read_new("dm:ana").contains("Which day for 4?"));
    world.discard().await;
}

async fn a_limit_that_is_lowered_holds_for_what_is_queued(platform: Platform) {
    let mut world = with_three_tasks(platform).await;
    queue(&mut world, 4).await;
    world.read_new("dm:ana");
    restart_with_limit(&mut world, "2").await;
    world.run_command("ana", "dm:ana", "task").await;
    world.click_newest_ephemeral("ana", "Stop 1").await;
    assert!(!world.read_new("dm:ana").contains("Which day for 4?"));
    plan(&world, &["Ask for the date"]);
    ask(&world, 4);
    world.run_command("ana", "dm:ana", "task").await;
    world.click_newest_ephemeral("ana", "Stop 1").await;
    assert!(world.read_new("dm:ana").contains("Which day for 4?"));
    world.discard().await;
}

async fn a_further_task_does_not_overtake_one_that_is_queued(platform: Platform) {
    let mut world = with_three_tasks(platform).await;
    queue(&mut world, 4).await;
    world.read_new("dm:ana");
    restart_with_limit(&mut world, "4").await;
    plan(&world, &["Ask for the date"]);
    ask(&world, 4);
    queue(&mut world, 5).await;
    let said = world.run_command("ana", "dm:ana", "task").await;
    assert!(
        said.contains("Plan party 4: step 1 of 1 waits") && said.contains("Plan party 5: queued"),
        "{said}"
    );
    world.discard().await;
}

async fn restart_with_limit(world: &mut World, limit: &str) {
    world.stop().await;
    world.env.insert("NOD_TASKS__OPEN".to_owned(), limit.to_owned());
    world.start().await;
}

async fn a_task_is_run_again_once_there_is_room(platform: Platform) {
    let mut world = with_three_tasks(platform).await;
    world.run_command("ana", "dm:ana", "task").await;
    world.click_newest_ephemeral("ana", "Stop 3").await;
    begin(&mut world, 4).await;
    world.read_new("dm:ana");
    world.click("ana", "dm:ana", "Run again").await;
    let said = world.run_command("ana", "dm:ana", "task").await;
    assert!(said.contains("4. Plan party 3: queued"), "{said}");
    world.say("ana", "dm:ana", "stop").await;
    let said = world.run_command("ana", "dm:ana", "task").await;
    assert!(said.contains("You have no open tasks."), "{said}");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_ninth_task_is_refused(platform: Platform) {
    let mut world = with_three_tasks(platform).await;
    for at in 4..=8 {
        queue(&mut world, at).await;
    }
    world.read_new("dm:ana");
    let said = queue(&mut world, 9).await;
    assert!(
        said.contains("You have 8 tasks open or queued already. Nothing was begun.")
            && said.contains("Plan party 3: step 1 of 1 waits for your answer")
            && said.contains("Plan party 8: queued")
            && said.contains("Stop 8"),
        "{said}"
    );
    let said = world.run_command("ana", "dm:ana", "task").await;
    assert!(said.contains("There can be another once one of these has ended."), "{said}");
    route(&world);
    world.say("ana", "dm:ana", "plan a ninth party, then tell me").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("You have 8 tasks open or queued already. Nothing was begun."), "{said}");
    world.discard().await;
}

async fn what_a_sentence_begins_is_queued_too(platform: Platform) {
    let mut world = with_three_tasks(platform).await;
    route(&world);
    world.say("ana", "dm:ana", "plan a fourth party, then tell me").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_rest("dm:ana"), @r"
            ana: plan a fourth party, then tell me
            nod: # Plan a fourth party, then tell me
              · Ana Silva's task · Queued until another one has ended
              [Stop]
            nod: I have queued a task. It begins by itself once another one of yours has ended.
        ");
    }
    world.discard().await;
}

async fn an_organisation_sets_how_tasks_wait(platform: Platform) {
    let mut world = World::without_nod_on(platform).await;
    for (name, value) in [("OPEN", "1"), ("QUESTIONS", "1"), ("ANSWER_WITHIN", "90m")] {
        world.env.insert(format!("NOD_TASKS__{name}"), value.to_owned());
    }
    world.start().await;
    begin(&mut world, 1).await;
    queue(&mut world, 2).await;
    world.read_new("dm:ana");
    // The first one asks no more, and fails.
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which place?" })));
    world.model.will(Answer::status(400, None));
    world.click("ana", "dm:ana", "March 1").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("If nobody decides within 90 minutes, the rest"), "{said}");
    let heard = world.model.list_reasoner_requests().last().unwrap().to_string();
    assert!(heard.contains("this task has asked 1 question, which is the most"), "{heard}");
    plan(&world, &["Ask for the date"]);
    ask(&world, 2);
    world.advance(TimeDelta::minutes(91)).await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Which day for 2?") && !said.contains("I reminded you"), "{said}");
    world.model.will(finish("The day is open.", "Nobody said one."));
    result(&world, "The day is open.", "Nobody said one.");
    world.advance(TimeDelta::minutes(91)).await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Which day for 2? → nobody answered"), "{said}");
    world.finish().await;
}
