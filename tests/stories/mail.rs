//! A mention becomes a mail, after an approval.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

pub fn late_mail_call() -> Answer {
    Answer::tool(
        "gmail_send_email",
        json!({ "to": ["Bo"], "subject": "Running late", "body": "Hi Bo,\n\nI'm running late.\n\nAna" }),
    )
}

on_each_platform!(mail_waits_for_a_yes);

async fn mail_waits_for_a_yes(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Bo knows that you are late.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Send this email?
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny]
        ");
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());

    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Email sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Approved by Ana Silva 09:30 WET → Sent 09:30 WET
                  [Open in Gmail]
                nod: Bo knows that you are late.
        ");
    }
    let inbox = world.google.inbox("bo@acme.test");
    assert_eq!(inbox.len(), 1);
    assert_eq!(inbox[0].subject, "Running late");
    world.finish().await;
}
