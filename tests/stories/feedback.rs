//! 👍 and 👎 below an answer that a model wrote: what each reader thought of it.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{Click, ForgedForm, World};
use serde_json::json;

use crate::account_linking::link_accounts;
use crate::mail::late_mail_call;

on_each_platform!(
    an_answer_is_rated_and_the_mind_changed,
    each_reader_has_a_rating_of_their_own,
    only_what_a_model_wrote_is_rated,
    a_private_answer_is_rated_by_whom_it_was_given_to,
    a_shared_answer_is_rated_by_the_others_too,
    an_old_answer_is_rated_after_a_restart,
    a_form_that_does_not_open_loses_no_rating,
    too_many_words_are_cut,
    an_answer_that_is_not_there_is_not_rated,
    ratings_go_with_their_person,
    an_admin_gets_all_ratings_and_everybody_their_own,
);

const WHY: &str = "What was wrong?";

/// Ana has asked something in #general.
async fn with_answer(platform: Platform) -> World {
    let world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("It is Lisbon.")]);
    world.say("ana", "general", "@nod what is the capital of Portugal?").await;
    world
}

/// Returns who rated how, in the order in which they did.
async fn ratings(world: &World) -> Vec<String> {
    let rows: Vec<(String, bool, Option<String>)> = sqlx::query_as(
        "select coalesce(nullif(p.full_name, ''), p.name), f.is_up, f.why from feedback f join people p on p.id = f.person_id
         order by 1, f.rated_at",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    let row = |(name, is_up, why): (String, bool, Option<String>)| {
        format!(
            "{name} {}{}",
            if is_up { "👍" } else { "👎" },
            why.map_or(String::new(), |why| format!(" {why}"))
        )
    };
    rows.into_iter().map(row).collect()
}

/// Returns a click on a button of the newest run's answer that no client shows.
async fn forged_click(world: &World, user: &str, kind: &str) -> Click {
    let run: String = sqlx::query_scalar("select id::text from runs order by created_at desc limit 1")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    Click::forged(user, "general", format!("{kind}:{run}"))
}

async fn an_answer_is_rated_and_the_mind_changed(platform: Platform) {
    let mut world = with_answer(platform).await;
    world.click("ana", "general", "👍").await;
    let said = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! { insta::assert_snapshot!(said, @"(ana only) nod: Thank you."); }
    assert_eq!(ratings(&world).await, ["Ana Silva 👍"]);

    world.open_form("ana", "general", "👎").await;
    let form = world.form_text("ana");
    insta::allow_duplicates! { insta::assert_snapshot!(form, @r"
        # Your feedback
        · The people who run Nod here can read this.
        What was wrong? (optional):
    "); }
    assert_eq!(ratings(&world).await, ["Ana Silva 👎"], "closing the form keeps that");
    let closed = world.submit_form("ana", &[(WHY, "It is a city,\nnot an answer.")]).await;
    let said = if platform == Platform::Slack { world.wait_for_ephemeral("ana").await } else { closed };
    insta::allow_duplicates! { insta::assert_snapshot!(said, @"(ana only) nod: Thank you."); }
    assert_eq!(ratings(&world).await, ["Ana Silva 👎 It is a city,\nnot an answer."]);

    let form = world.open_form("ana", "general", "👎").await;
    assert!(form.payload.to_string().contains("not an answer."), "what was said before is there: {form:?}");
    world.close_form("ana");
    world.click_twice("ana", "general", "👍").await;
    assert_eq!(ratings(&world).await, ["Ana Silva 👍"]);
    world.read_ephemerals("ana");
    world.read_new("general");
    world.finish().await;
}

async fn each_reader_has_a_rating_of_their_own(platform: Platform) {
    let mut world = with_answer(platform).await;
    world.click("ana", "general", "👍").await;
    world.open_form("bo", "general", "👎").await;
    world.submit_form("bo", &[(WHY, "")]).await;
    assert_eq!(ratings(&world).await, ["Ana Silva 👍", "Bo Lind 👎"]);
    if platform == Platform::Slack {
        world.click("gus", "general", "👍").await;
        let said = world.wait_for_ephemeral("gus").await;
        insta::assert_snapshot!(said, @"(gus only) nod: Sorry, I only work for members of this workspace. An admin can change that.");
        world.send_click(&forged_click(&world, "eve", "feedback_up").await).await;
        assert_eq!(ratings(&world).await.len(), 2, "no guest rates");
    }
    for user in ["ana", "bo", "eve"] {
        world.read_ephemerals(user);
    }
    world.read_new("general");
    world.finish().await;
}

async fn only_what_a_model_wrote_is_rated(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let is_rated =
        |world: &World, channel: &str| world.chat.find_message_with_button(channel, "👍").is_some();
    // A rule answers, a tool's answer is shown as it is, a card asks, and the model fails.
    world.say("ana", "general", "@nod help").await;
    world.script_model("tool", [Answer::tool("list_connections", json!({}))]);
    world.say("ana", "general", "@nod which accounts have I connected?").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.model.router_will(Answer::status(400, None));
    world.model.will(Answer::status(400, None));
    world.say("bo", "dm:bo", "tell me a joke").await;
    for channel in ["general", "dm:ana", "dm:bo"] {
        assert!(!is_rated(&world, channel), "{}", world.chat.dump());
    }
    world.model.will(Answer::text("Bo knows."));
    world.click("ana", "general", "Approve & send").await;
    assert!(is_rated(&world, "general"));
    world.read_ephemerals("ana");
    for channel in ["general", "dm:ana", "dm:bo"] {
        world.read_new(channel);
    }
    world.finish().await;
}

/// Ana has asked in #general about her mail, and was answered in her direct messages.
async fn with_private_answer(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "the merger").unwrap();
    world.script_model(
        "tool",
        [Answer::tool("gmail_list_recent", json!({})), Answer::text("The bank writes of a merger.")],
    );
    world.say("ana", "general", "@nod what's new in my mail?").await;
    world
}

async fn a_private_answer_is_rated_by_whom_it_was_given_to(platform: Platform) {
    let mut world = with_private_answer(platform).await;
    assert_eq!(world.chat.find_message_with_button("general", "👍"), None, "the line there is no answer");
    world.click("ana", "dm:ana", "👍").await;
    world.send_click(&forged_click(&world, "bo", "feedback_down").await).await;
    let said = world.wait_for_ephemeral("bo").await;
    insta::allow_duplicates! { insta::assert_snapshot!(said, @"(bo only) nod: I can't find that answer any more."); }
    assert_eq!(ratings(&world).await, ["Ana Silva 👍"]);
    world.read_ephemerals("ana");
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_shared_answer_is_rated_by_the_others_too(platform: Platform) {
    let mut world = with_private_answer(platform).await;
    world.click("ana", "dm:ana", "Share in the thread").await;
    world.click("bo", "general", "👍").await;
    world.click("ana", "dm:ana", "👍").await;
    assert_eq!(ratings(&world).await, ["Ana Silva 👍", "Bo Lind 👍"]);
    for user in ["ana", "bo"] {
        world.read_ephemerals(user);
    }
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn an_old_answer_is_rated_after_a_restart(platform: Platform) {
    let mut world = with_answer(platform).await;
    let first = world.find_message_with_button("general", "👍");
    world.script_model("conversational", [Answer::text("Madrid.")]);
    world.say("ana", "general", "@nod and of Spain?").await;
    world.stop().await;
    world.start().await;
    world.advance(TimeDelta::days(400)).await;
    world.chat.click("bo", "general", &first, "👍").await;
    world.wait_until_idle().await;
    assert_eq!(ratings(&world).await, ["Bo Lind 👍"]);
    world.click("bo", "general", "👍").await;
    assert_eq!(ratings(&world).await, ["Bo Lind 👍", "Bo Lind 👍"]);
    world.read_ephemerals("bo");
    world.read_new("general");
    world.finish().await;
}

async fn a_form_that_does_not_open_loses_no_rating(platform: Platform) {
    let mut world = with_answer(platform).await;
    world.chat.fail_next_form();
    world.click("ana", "general", "👎").await;
    let said = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! { insta::assert_snapshot!(said, @"(ana only) nod: Thank you."); }
    assert_eq!(ratings(&world).await, ["Ana Silva 👎"]);
    world.read_new("general");
    world.finish().await;
}

async fn too_many_words_are_cut(platform: Platform) {
    let mut world = with_answer(platform).await;
    let form = world.open_form("ana", "general", "👎").await;
    let values = BTreeMap::from([("why".to_owned(), "ü\0".repeat(5_000))]);
    let forged = ForgedForm { user: "ana".to_owned(), form: form.id, verb: None, values };
    world.submit_forged_form(forged).await;
    assert_eq!(ratings(&world).await, [format!("Ana Silva 👎 {}", "ü".repeat(1_000))]);
    world.abandon_form("ana");
    world.read_ephemerals("ana");
    world.read_new("general");
    world.finish().await;
}

async fn an_answer_that_is_not_there_is_not_rated(platform: Platform) {
    let mut world = with_answer(platform).await;
    let unknown = "01950000-0000-7000-8000-000000000000";
    for kind in ["feedback_up", "feedback_down"] {
        world.send_click(&Click::forged("ana", "general", format!("{kind}:{unknown}"))).await;
        let said = world.wait_for_ephemeral("ana").await;
        insta::allow_duplicates! { insta::assert_snapshot!(said, @"(ana only) nod: I can't find that answer any more."); }
    }
    let form = world.open_form("ana", "general", "👎").await;
    let values = BTreeMap::from([("why".to_owned(), "No.".to_owned())]);
    let verb = Some(format!("feedback_why:{unknown}"));
    let said =
        world.submit_forged_form(ForgedForm { user: "ana".to_owned(), form: form.id, verb, values }).await;
    assert!(said.contains("can't find that answer"), "{said}");
    assert_eq!(ratings(&world).await, ["Ana Silva 👎"]);
    world.abandon_form("ana");
    world.read_ephemerals("ana");
    world.read_new("general");
    world.finish().await;
}

async fn ratings_go_with_their_person(platform: Platform) {
    let mut world = with_answer(platform).await;
    world.click("bo", "general", "👍").await;
    world.click("ana", "general", "👍").await;
    assert_eq!(ratings(&world).await.len(), 2);
    for erased in [
        "delete from identities i using people p where p.id = i.person_id and p.full_name = 'Bo Lind'",
        "delete from people where full_name = 'Bo Lind'",
    ] {
        sqlx::query(erased).execute(&world.pool).await.unwrap();
    }
    assert_eq!(ratings(&world).await, ["Ana Silva 👍"]);
    // Whoever comes back is somebody new.
    world.click("bo", "general", "👍").await;
    assert_eq!(ratings(&world).await, ["Ana Silva 👍", "Bo Lind 👍"]);
    for user in ["ana", "bo"] {
        world.read_ephemerals(user);
    }
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn of_two_who_become_one_the_newer_rating_stays() {
    let mut world = World::on_both_platforms().await;
    world.script_model("conversational", [Answer::text("It is Lisbon.")]);
    world.say("ana", "general", "@nod what is the capital of Portugal?").await;
    world.click("ana", "general", "👍").await;
    let up = forged_click(&world, "ana", "feedback_down").await;
    world.clock.advance(TimeDelta::seconds(1));
    world.switch_platform();
    world.send_click(&up).await;
    world.submit_form("ana", &[(WHY, "No.")]).await;
    world.switch_platform();
    assert_eq!(ratings(&world).await, ["Ana Silva 👍", "Ana Silva 👎 No."]);
    link_accounts(&mut world).await;
    assert_eq!(ratings(&world).await, ["Ana Silva 👎 No."]);
    world.read_ephemerals("ana");
    world.read_new("general");
    world.finish().await;
}

/// Discord asks for the word before it sends the command.
#[tokio::test]
async fn an_admin_who_says_no_more_is_told_what_there_is() {
    let mut world = World::new().await;
    let said = world.run_command("dana", "general", "admin").await.replace('`', "");
    insta::assert_snapshot!(said, @"(dana only) nod: /nod admin policy shows the rules for approvals. /nod admin feedback sends you what people thought of my answers, as a file.");
    world.finish().await;
}

async fn an_admin_gets_all_ratings_and_everybody_their_own(platform: Platform) {
    let mut world = with_answer(platform).await;
    let said = world.run_command("dana", "general", "admin feedback").await;
    insta::allow_duplicates! { insta::assert_snapshot!(said, @"(dana only) nod: Nobody has rated an answer yet."); }
    world.open_form("ana", "general", "👎").await;
    world.submit_form("ana", &[(WHY, "=1+1, \"late\"")]).await;
    world.advance(TimeDelta::minutes(1)).await;
    world.click("bo", "general", "👍").await;
    for user in ["ana", "bo"] {
        world.read_ephemerals(user);
    }
    let said = world.run_command("bo", "general", "admin feedback").await;
    insta::allow_duplicates! { insta::assert_snapshot!(said, @"(bo only) nod: That's for admins only."); }
    let said = world.run_command("dana", "general", "admin feedback").await;
    insta::allow_duplicates! { insta::assert_snapshot!(said, @"(dana only) nod: I'm sending you the file in our direct messages."); }
    assert!(world.read_new("dm:dana").contains("What people thought of my answers: 1 👍 and 1 👎."));
    let file = without_runs(&world.chat.uploaded_file_text("nod-feedback").unwrap());
    insta::allow_duplicates! { insta::assert_snapshot!(file, @r#"
        at,person,rating,what was wrong,run
        2026-03-06T09:31:00Z,"Bo Lind",up,"" ······
        2026-03-06T09:30:00Z,"Ana Silva",down,"'=1+1, ""late""" ······
    "#); }

    world.run_command("ana", "general", "memory export").await;
    let file = without_runs(&world.chat.uploaded_file_text("nod-memory").unwrap()).replace(" UTC", " WET");
    insta::allow_duplicates! { insta::assert_snapshot!(file, @r#"
        # What Nod remembers
        Fri 6 Mar 2026, 09:31 WET
        ## About this channel
        Nothing.
        ## About you
        Nothing.
        ## What you thought of answers
        - 👎 Fri 6 Mar 2026, 09:30 WET  ······
          > =1+1, "late"
    "#); }
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

/// Masks ids of runs.
fn without_runs(file: &str) -> String {
    let line = |line: &str| match line.rsplit_once(['(', ',']) {
        Some((head, tail)) if tail.len() == 36 || tail.starts_with("run ") => format!("{head} ······"),
        _ => line.to_owned(),
    };
    file.lines().filter(|line| !line.is_empty()).map(line).collect::<Vec<_>>().join("\n")
}
