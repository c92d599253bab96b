//! The Home tab: a person's pending approvals, accounts and requests, shown only to them.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::World;
use serde_json::json;

use crate::mail::late_mail_call;
use crate::tasks::plan;

#[tokio::test]
async fn an_admin_sees_what_is_left_to_set_up_until_it_is_done() {
    let mut world = World::new().await;
    world.open_home("ana").await;
    assert!(!world.slack.home("ana").contains("One step is left"));
    world.open_home("dana").await;
    let home = world.slack.home("dana");
    insta::assert_snapshot!(home.split("---").next().unwrap_or_default(), @r"
        # One step is left
        ✓ Nod is installed.
        ✓ People can connect their accounts with /nod connect.
        ○ Invite me to a channel, and mention me there.
        · Only admins see this.
    ");
    assert!(world.run_command("dana", "general", "help").await.contains("One step is left"));
    world.script_model("tool", [Answer::text("Hello.")]);
    world.say("ana", "general", "@nod hello").await;
    world.open_home("dana").await;
    assert!(!world.slack.home("dana").contains("One step is left"));
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn home_shows_what_waits_and_a_press_there_gives_the_receipt() {
    let mut world = World::new().await;
    world.open_home("ana").await;
    insta::assert_snapshot!(world.slack.home("ana"), @r"
        Nothing is waiting for your nod.
        ---
        # Connected accounts
        · None yet. Type /nod connect google to connect yours.
        ---
        # What you asked recently
        · Nothing yet. Mention me in a channel, or send me a direct message.
    ");
    world.connect_google("ana").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    insta::assert_snapshot!(world.slack.home("ana"), @r"
        # Waiting for your nod
        ---
        # Send this email?
        From  ana@acme.test
        To  bo@acme.test
        Subject  Running late
        Hi Bo,

        I'm running late.

        Ana
        · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
        [Approve & send] [Edit] [Deny]
        ---
        # Connected accounts
        Google  ana@acme.test
        ---
        # What you asked recently
        Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late → waiting for you
    ");
    world.click_in_home("ana", "Approve & send").await;
    insta::assert_snapshot!(world.slack.home("ana"), @r"
        Nothing is waiting for your nod.
        ---
        # Recently decided
        ---
        # Email sent
        From  ana@acme.test
        To  bo@acme.test
        Subject  Running late
        Hi Bo,

        I'm running late.

        Ana
        Approved by Ana Silva 09:30 WET → Sent 09:30 WET
        [Open in Gmail]
        ---
        # Connected accounts
        Google  ana@acme.test
        ---
        # What you asked recently
        Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late → sent
    ");
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    assert!(world.read_new("general").contains("Approved by Ana Silva"));
    world.finish().await;
}

#[tokio::test]
async fn nobody_sees_anything_of_others_on_their_home() {
    let mut world = World::new().await;
    world.connect_google("ana").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Not sent.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.open_home("bo").await;
    insta::assert_snapshot!(world.slack.home("bo"), @r"
        Nothing is waiting for your nod.
        ---
        # Connected accounts
        · None yet. Type /nod connect google to connect yours.
        ---
        # What you asked recently
        · Nothing yet. Mention me in a channel, or send me a direct message.
    ");
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn a_home_that_nobody_looks_at_is_left_alone() {
    let mut world = World::new().await;
    world.open_home("ana").await;
    world.open_home("gus").await;
    assert!(
        world.slack.home("gus").contains("only work for members of this workspace"),
        "{}",
        world.slack.home("gus")
    );
    let shown = world.slack.list_calls_of("views.publish").len();
    world.advance(TimeDelta::hours(2)).await;
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "general", "@nod hello").await;
    assert_eq!(world.slack.list_calls_of("views.publish").len(), shown);
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn a_home_that_slack_does_not_take_harms_nothing() {
    let mut world = World::new().await;
    world.slack.change(|slack| slack.config.home_tab = false);
    world.open_home("ana").await;
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "general", "@nod hello").await;
    assert!(world.read_new("general").contains("nod: Hello."));
    world.finish().await;
}

#[tokio::test]
async fn open_tasks_stand_on_the_home_of_their_person_and_are_stopped_there() {
    let mut world = World::new().await;
    world.open_home("ana").await;
    world.open_home("bo").await;
    plan(&world, &["Ask for the date"]);
    world.model.will(Answer::tool("ask_user", json!({ "question": "Which date?", "options": ["12 March"] })));
    world.run_command("ana", "dm:ana", "task plan the *summer* party").await;
    insta::assert_snapshot!(world.slack.home("ana"), @r"
        # Your open tasks
        1. Plan the *summer* party: step 1 of 1 waits for your answer
        [Show 1] [Stop 1]
        ---
        # Connected accounts
        · None yet. Type /nod connect google to connect yours.
        ---
        # What you asked recently
        · Nothing yet. Mention me in a channel, or send me a direct message.
    ");
    world.open_home("bo").await;
    assert!(!world.slack.home("bo").contains("party"));
    world.click_in_home("ana", "Stop 1").await;
    assert!(!world.slack.home("ana").contains("party"), "{}", world.slack.home("ana"));
    assert!(world.read_new("dm:ana").contains("Stopped by Ana Silva: “Plan the *summer* party”."));
    world.finish().await;
}
