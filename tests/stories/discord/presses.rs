//! Clicks that arrive while the database is down: they are not delivered a second time.

use nod_sandbox::model::Answer;
use nod_tests::patience;

use super::asked;

#[tokio::test]
async fn a_press_waits_for_the_database() {
    let (mut world, discord) = asked().await;
    world.model.will(Answer::text("Bo knows that you are late."));
    sqlx::query("alter table inbound rename to inbound_away").execute(&world.pool).await.unwrap();
    let message = world.button("general", "Approve & send");
    let press = discord.press("ana", "general", &message, "Approve & send").unwrap();
    press.acknowledged(patience()).await;
    sqlx::query("alter table inbound_away rename to inbound").execute(&world.pool).await.unwrap();
    world.hears_nod("general", "Bo knows that you are late.").await;
    world.settles().await;
    assert_eq!(world.google.sent("ana@acme.test").len(), 1);
    world.reads("general");
    world.ends().await;
}
