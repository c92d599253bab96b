//! Nod is killed while it summarises the conversation: each fact is stored once.

use nod_sandbox::model::{Answer, Lane};
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::json;

use super::holds::{count, until};
use super::{At, Death, NOD, Person, killed, suffers};

on_each_platform!(killed_in_mid_reading_it_notes_a_fact_once);

async fn killed_in_mid_reading_it_notes_a_fact_once(platform: On) {
    let mut world = World::in_real_time_on(platform).await;
    let nod = world.start_program(NOD).await;
    let death = Death {
        // The dead process's lane is taken over before any process receives events again.
        meanwhile: |world| {
            let facts = json!([{"name": "Launch", "value": "Friday", "about": "channel", "message": 1}]);
            let noted = json!({"summary": "", "goal": null, "facts": facts, "forget": []});
            world.model.summariser_will(Answer::json(&noted));
        },
        ..killed("while it reads", Person::Asks, At::Model(Lane::Summariser))
    };
    world.model_will("conversational", [Answer::text("Noted.")]);
    let asks = || {
        world.chat.say("ana", "general", None, "@nod remember that the launch is on Friday");
    };
    let nod = suffers(&world, nod, &death, asks).await;
    until(&world, "select count(*) from facts where name = 'Launch' and value = 'Friday'", 1).await;
    world.settles().await;
    assert_eq!(count(&world, "select count(*) from facts").await, 1);
    let read = world.reads("general");
    assert_eq!(read.matches("Noted.").count(), 1, "{read}");
    world.kills(nod).await;
    world.ends().await;
}
