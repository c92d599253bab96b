//! `/nod settings` and `/nod runs`.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_sandbox::slack::Forged;
use nod_tests::{World, patience};
use serde_json::json;

use crate::mail::late;

/// Presses a button of the newest thing that was whispered to somebody.
async fn presses_whisper(world: &mut World, user: &str, label: &str) -> String {
    let whisper = world.slack.ephemerals(user).pop().unwrap();
    let pending = world.slack.press(user, &whisper.channel, &whisper.ts, label).unwrap();
    pending.acknowledged(patience()).await;
    world.hears(user).await
}

#[tokio::test]
async fn a_channel_may_want_mentions_only() {
    let mut world = World::new().await;
    world.model_will("conversational", [Answer::text("Hello.")]);
    let ts = world.says("ana", "general", "@nod hello").await;
    insta::assert_snapshot!(world.commands("ana", "general", "settings").await, @r"
        (ana only) nod: # Settings of this channel
        In my threads here I answer follow-ups without a mention.
        · Every member of the workspace can change this; it counts for everybody here.
        [Only when mentioned]
    ");
    insta::assert_snapshot!(presses_whisper(&mut world, "ana", "Only when mentioned").await, @r"
        (ana only) nod: # Changed
        In my threads here I answer only when I am mentioned.
        · Every member of the workspace can change this; it counts for everybody here.
        [Answer without a mention]
    ");
    world.replies("bo", "general", &ts, "I think so too").await;
    world.model_will("conversational", [Answer::text("Yes?")]);
    world.replies("bo", "general", &ts, "@nod and you?").await;
    insta::assert_snapshot!(presses_whisper(&mut world, "ana", "Answer without a mention").await, @r"
        (ana only) nod: # Changed
        In my threads here I answer follow-ups without a mention.
        · Every member of the workspace can change this; it counts for everybody here.
        [Only when mentioned]
    ");
    world.model_will("conversational", [Answer::text("Again.")]);
    world.replies("bo", "general", &ts, "once more").await;
    insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod hello
            nod: Hello.
            bo: I think so too
            bo: @nod and you?
            nod: Yes?
            bo: once more
            nod: Again.
    ");
    world.ends().await;
}

#[tokio::test]
async fn settings_are_changed_by_members_who_are_there() {
    let mut world = World::new().await;
    insta::assert_snapshot!(world.commands("ana", "dm:ana", "settings").await, @"(ana only) nod: Between us no mention is ever needed. Settings are a channel's: ask me there.");
    world.commands("ana", "general", "settings").await;
    let channel: uuid::Uuid = sqlx::query_scalar("select id from channels where channel_ref = 'C00GENERAL'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    let press = |user: &str, place: &str| Forged {
        user: user.to_owned(),
        channel: place.to_owned(),
        ts: "1.1".to_owned(),
        action_id: "hear_mentions".to_owned(),
        value: format!("hear_mentions:{channel}"),
        ..Default::default()
    };
    world.slack.press_raw(press("gus", "general")).unwrap().acknowledged(patience()).await;
    insta::assert_snapshot!(world.hears("gus").await, @"(gus only) nod: I work for members of this workspace only, so I did nothing. An admin can change that.");
    world.slack.press_raw(press("ana", "dm:ana")).unwrap().acknowledged(patience()).await;
    insta::assert_snapshot!(world.hears("ana").await, @"(ana only) nod: I know of no such channel here. Nothing was changed.");
    let follow: String = sqlx::query_scalar("select follow from channels where channel_ref = 'C00GENERAL'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(follow, "thread");
    world.ends().await;
}

#[tokio::test]
async fn runs_shows_what_became_of_what_one_asked() {
    let mut world = World::new().await;
    insta::assert_snapshot!(world.commands("ana", "general", "runs").await, @"(ana only) nod: You have not asked me anything yet.");
    world.model_will("conversational", [Answer::text("Hello.")]);
    world.says("ana", "dm:ana", "hello").await;
    world.model_will("tool", std::iter::repeat_with(Answer::empty).take(3));
    world.says("ana", "general", "@nod what is the answer?").await;
    insta::assert_snapshot!(world.commands("ana", "general", "runs").await, @r"
        (ana only) nod: # Your latest runs
        1. Fri 6 Mar 2026, 09:30 WET  what is the answer? → failed
        2. Fri 6 Mar 2026, 09:30 WET  hello → answered
        [Try again 1]
    ");
    insta::assert_snapshot!(world.commands("bo", "general", "runs").await, @"(bo only) nod: You have not asked me anything yet.");
    world.model.will(Answer::text("42."));
    let whisper = world.slack.ephemerals("ana").pop().unwrap();
    let pending = world.slack.press("ana", "general", &whisper.ts, "Try again 1").unwrap();
    pending.acknowledged(patience()).await;
    world.settles().await;
    assert!(world.reads("general").contains("42."));
    insta::assert_snapshot!(world.commands("ana", "general", "runs").await, @r"
        (ana only) nod: # Your latest runs
        1. Fri 6 Mar 2026, 09:30 WET  what is the answer? → answered
        2. Fri 6 Mar 2026, 09:30 WET  hello → answered
    ");
    world.reads("dm:ana");
    world.ends().await;
}

#[tokio::test]
async fn runs_and_home_say_what_became_of_each_mail() {
    let mut world = World::with_undo().await;
    world.connects("ana").await;
    world.opens_home("ana").await;
    for end in ["sent", "denied", "undone"] {
        world.model_will("tool", [late(), Answer::text("I see.")]);
        world.says("ana", "general", &format!("@nod tell Bo I'm late, it will be {end}")).await;
        match end {
            "denied" => drop(world.denies("ana", "general", "").await),
            _ => world.presses("ana", "general", "Approve & send").await,
        }
        match end {
            "undone" => world.presses("ana", "general", "Undo").await,
            _ => world.the_window_passes().await,
        }
    }
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    let three = Answer::tools(vec![mail("Bo"), mail("Cho"), mail("eve@x.test")]);
    world.model_will("tool", [three, Answer::text("Two know.")]);
    world.says("ana", "general", "@nod tell all three").await;
    let untick = world.labelled("general", "☑ 2");
    world.presses("ana", "general", &untick).await;
    world.presses("ana", "general", "Approve selected (2)").await;
    world.the_window_passes().await;
    world.model_will("tool", [late(), Answer::text("Nobody answered.")]);
    world.says("ana", "general", "@nod tell Bo once more").await;
    insta::assert_snapshot!(world.commands("ana", "general", "runs").await, @r"
        (ana only) nod: # Your latest runs
        1. Fri 6 Mar 2026, 09:30 WET  tell Bo once more → waits for your nod
        2. Fri 6 Mar 2026, 09:30 WET  tell all three → 2 sent, 1 denied
        3. Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be undone → undone
        4. Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be denied → denied
        5. Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be sent → sent
    ");
    let lately = world.slack.home("ana");
    insta::assert_snapshot!(lately.rsplit("---").next().unwrap(), @r"
        # What you asked lately
        Fri 6 Mar 2026, 09:30 WET  tell Bo once more → waits for your nod
        Fri 6 Mar 2026, 09:30 WET  tell all three → 2 sent, 1 denied
        Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be undone → undone
        Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be denied → denied
        Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be sent → sent
    ");
    world.later(TimeDelta::hours(24)).await;
    let runs = world.commands("ana", "general", "runs").await;
    assert!(runs.contains("tell Bo once more → nobody answered"), "{runs}");
    world.reads("general");
    world.ends().await;
}
