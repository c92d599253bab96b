//! Clicks that arrive while the database is down: they are not delivered a second time.

use nod_sandbox::model::Answer;
use nod_tests::max_wait;

use super::with_pending_request;

#[tokio::test]
async fn a_press_waits_for_the_database() {
    let (mut world, discord) = with_pending_request().await;
    world.model.will(Answer::text("Bo knows that you are late."));
    sqlx::query("alter table inbound rename to inbound_away").execute(&world.pool).await.unwrap();
    let message = world.find_message_with_button("general", "Approve & send");
    let press = discord.click("ana", "general", &message, "Approve & send").unwrap();
    press.wait_for_acknowledgement(max_wait()).await;
    sqlx::query("alter table inbound_away rename to inbound").execute(&world.pool).await.unwrap();
    world.wait_for_nod_message("general", "Bo knows that you are late.").await;
    world.wait_until_idle().await;
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}
