//! A mention becomes a mail, after an approval.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::json;

pub fn late() -> Answer {
    Answer::tool(
        "gmail_send_email",
        json!({ "to": ["Bo"], "subject": "Running late", "body": "Hi Bo,\n\nI'm running late.\n\nAna" }),
    )
}

on_each_platform!(mail_waits_for_a_yes);

async fn mail_waits_for_a_yes(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late(), Answer::text("Bo knows that you are late.")]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Send this email? · rev 1 · db435d
                  From  ana@acme.test
                  To  bo@acme.test
                  Cc  —
                  Bcc  —
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  ⚠ Nod's first mail to bo@acme.test
                  · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
                  [Approve & send] [Edit] [Deny]
        ");
    }
    assert!(world.google.sent("ana@acme.test").is_empty());

    world.presses("ana", "general", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Email sent · rev 1 · db435d
                  From  ana@acme.test
                  To  bo@acme.test
                  Cc  —
                  Bcc  —
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  Approved by Ana Silva 09:30 WET → Sent 09:30 WET
                  · Message-ID <CAsandbox00000004@mail.gmail.com> · id 019a400000000005
                  [Open in Gmail]
                nod: Bo knows that you are late.
        ");
    }
    let inbox = world.google.inbox("bo@acme.test");
    assert_eq!(inbox.len(), 1);
    assert_eq!(inbox[0].subject, "Running late");
    world.ends().await;
}
