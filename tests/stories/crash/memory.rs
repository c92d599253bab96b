//! Nod is killed while it summarises the conversation: each fact is stored once.

use nod_sandbox::model::{Answer, ModelRole};
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use super::invariants::{count, wait_for_count};
use super::{CrashCase, CrashPoint, NOD, UserAction, killed_case, run_until_crash};

on_each_platform!(killed_in_mid_reading_it_notes_a_fact_once);

async fn killed_in_mid_reading_it_notes_a_fact_once(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    let death = CrashCase {
        // The dead process's lane is taken over before any process receives events again.
        meanwhile: |world| {
            let facts = json!([{"name": "Launch", "value": "Friday", "about": "channel", "message": 1}]);
            let noted = json!({"summary": "", "goal": null, "facts": facts, "forget": []});
            world.model.summariser_will(Answer::json(&noted));
        },
        ..killed_case("while it reads", UserAction::Ask, CrashPoint::Model(ModelRole::Summariser))
    };
    world.script_model("conversational", [Answer::text("Noted.")]);
    let asks = || {
        world.chat.say("ana", "general", None, "@nod remember that the launch is on Friday");
    };
    let nod = run_until_crash(&world, nod, &death, asks).await;
    wait_for_count(&world, "select count(*) from facts where name = 'Launch' and value = 'Friday'", 1).await;
    world.wait_until_idle().await;
    assert_eq!(count(&world, "select count(*) from facts").await, 1);
    let read = world.read_new("general");
    assert_eq!(read.matches("Noted.").count(), 1, "{read}");
    world.kill_program(nod).await;
    world.finish().await;
}
