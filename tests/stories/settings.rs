//! `/nod settings` and `/nod runs`.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{Click, World};
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    a_channel_may_want_mentions_only,
    settings_are_changed_where_they_count,
    hours_are_set_by_their_person,
    runs_shows_what_became_of_what_one_asked,
    runs_say_what_became_of_each_mail,
);

/// Slack reports a user's time zone, Discord does not.
fn without_zone(said: &str) -> String {
    let masked = said.lines().map(|line| match line.split_once("17:00, ") {
        Some((hours, _)) => format!("{hours}17:00, ······"),
        None => line.to_owned(),
    });
    masked.collect::<Vec<_>>().join("\n")
}

async fn a_channel_may_want_mentions_only(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Hello.")]);
    let ts = world.say("ana", "general", "@nod hello").await;
    let said = world.run_command("ana", "general", "settings").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(without_zone(&said), @r"
            (ana only) nod: # Settings for this channel
            In my threads here I answer without a mention.
            · Any member can change this, and it applies to everyone here.
            Your hours: Mon–Fri 09:00–17:00, ······
            · Only you can see your hours. Others just see your local time, and “outside their working hours”.
            [Only answer when mentioned] [Edit my hours]
        ");
    }
    let said = world.click_ephemeral("ana", "Only answer when mentioned").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # Changed
            In my threads here I answer only when mentioned.
            · Any member can change this, and it applies to everyone here.
            [Answer without a mention]
        ");
    }
    world.reply("bo", "general", &ts, "I think so too").await;
    world.script_model("conversational", [Answer::text("Yes?")]);
    world.reply("bo", "general", &ts, "@nod and you?").await;
    let said = world.click_ephemeral("ana", "Answer without a mention").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # Changed
            In my threads here I answer without a mention.
            · Any member can change this, and it applies to everyone here.
            [Only answer when mentioned]
        ");
    }
    world.script_model("conversational", [Answer::text("Again.")]);
    world.reply("bo", "general", &ts, "once more").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod hello
                nod: Hello.
                bo: I think so too
                bo: @nod and you?
                nod: Yes?
                bo: once more
                nod: Again.
        ");
    }
    world.finish().await;
}

async fn settings_are_changed_where_they_count(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let said = world.run_command("ana", "dm:ana", "settings").await;
    assert!(said.contains("To change a channel's settings, ask me in that channel"), "{said}");
    world.run_command("ana", "general", "settings").await;
    let press = world.prepare_ephemeral_click("ana", "Only answer when mentioned");
    world.send_click(&Click { message: "1.1".to_owned(), channel: "dm:ana".to_owned(), ..press }).await;
    let said = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: I don't know this channel any more. Nothing changed.");
    }
    assert_eq!(load_follow_mode(&world).await, "all");
    world.finish().await;
}

const ZONE: &str = "Time zone (empty: as in your chat profile)";

async fn hours_are_set_by_their_person(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let said = world.run_command("ana", "dm:ana", "settings").await;
    // Discord reports no time zones.
    match platform {
        Platform::Slack => insta::assert_snapshot!(said, @r"
            (ana only) nod: # Your settings
            Here I always answer, no mention needed. To change a channel's settings, ask me in that channel.

            Your hours: Mon–Fri 09:00–17:00, Europe/Lisbon (from your chat profile).
            · Only you can see your hours. Others just see your local time, and “outside their working hours”.
            [Edit my hours]
        "),
        Platform::Discord => insta::assert_snapshot!(said, @r"
            (ana only) nod: # Your settings
            Here I always answer, no mention needed. To change a channel's settings, ask me in that channel.
            Your hours: Mon–Fri 09:00–17:00, in WET: I don't know your time zone yet. Please set it.
            · Only you can see your hours. Others just see your local time, and “outside their working hours”.
            [Edit my hours]
        "),
    }
    let form = world.open_form_from_ephemeral("ana", "Edit my hours").await;
    insta::allow_duplicates! { insta::assert_snapshot!(form.text, @r"
        # Your hours
        Time zone (empty: as in your chat profile) (optional): 
        Working days: Mon-Fri
        Working hours: 09:00-17:00
        Free minutes before and after meetings (optional): 0
        Minutes of notice for a meeting (optional): 0
    "); }
    let wrong = world.submit_form("ana", &[(ZONE, "Europe/Berln"), ("Working hours", "9-9")]).await;
    match platform {
        Platform::Slack => insta::assert_snapshot!(wrong, @r"
            # Your hours
            Time zone (empty: as in your chat profile) (optional): Europe/Berln
              ✗ I don't know the time zone or city “Europe/Berln”. Did you mean Europe/Berlin, Europe/Dublin, Europe/Belgrade?
            Working days: Mon-Fri
            Working hours: 9-9
              ✗ Use hours like “09:00-17:00”.
            Free minutes before and after meetings (optional): 0
            Minutes of notice for a meeting (optional): 0
        "),
        Platform::Discord => insta::assert_snapshot!(wrong, @r"
            (ana only) nod: # That wasn't saved.
            ⚠ I don't know the time zone or city “Europe/Berln”. Did you mean Europe/Berlin, Europe/Dublin, Europe/Belgrade?
            ⚠ Use hours like “09:00-17:00”.
            Zone  Europe/Berln
            Days  Mon-Fri
            Hours  9-9
            Buffer  0
            Notice  0
        "),
    }
    if platform == Platform::Discord {
        world.run_command("ana", "dm:ana", "settings").await;
        world.open_form_from_ephemeral("ana", "Edit my hours").await;
    }
    let right =
        [(ZONE, "tokyo"), ("Working hours", "10-18"), ("Free minutes before and after meetings", "10")];
    let saved = world.submit_form("ana", &right).await;
    match platform {
        Platform::Slack => insta::assert_snapshot!(saved, @r"
            # Your hours
            Saved. Your hours: Mon–Fri 10:00–18:00, Asia/Tokyo. 10 minutes free before and after meetings.
        "),
        Platform::Discord => insta::assert_snapshot!(saved, @r"
            (ana only) nod: # Your hours
            Saved. Your hours: Mon–Fri 10:00–18:00, Asia/Tokyo. 10 minutes free before and after meetings.
        "),
    }
    if platform == Platform::Slack {
        world.close_form("ana");
    }
    let said = world.run_command("ana", "general", "settings").await;
    assert!(
        said.contains("Mon–Fri 10:00–18:00, Asia/Tokyo. 10 minutes free before and after meetings."),
        "{said}"
    );
    // No other user can use that button.
    let press = world.prepare_ephemeral_click("ana", "Edit my hours");
    world.send_click(&Click { user: "bo".to_owned(), ..press }).await;
    let said = world.wait_for_ephemeral("bo").await;
    insta::allow_duplicates! { insta::assert_snapshot!(said, @"(bo only) nod: Those are someone else's hours."); }
    // The zone applies to every time that Nod writes.
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "dm:ana", "hello").await;
    let said = world.run_command("ana", "general", "runs").await;
    assert!(said.contains("Fri 6 Mar 2026, 18:30 JST  hello"), "{said}");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn load_follow_mode(world: &World) -> String {
    sqlx::query_scalar("select follow_mode from channels where channel_ref = $1")
        .bind(world.chat.channel_id("general"))
        .fetch_one(&world.pool)
        .await
        .unwrap()
}

/// Only Slack has guests.
#[tokio::test]
async fn settings_are_changed_by_members() {
    let mut world = World::new().await;
    world.run_command("ana", "general", "settings").await;
    let press = world.prepare_ephemeral_click("ana", "Only answer when mentioned");
    world.send_click(&Click { user: "gus".to_owned(), ..press }).await;
    insta::assert_snapshot!(world.wait_for_ephemeral("gus").await, @"(gus only) nod: Sorry, I only work for members of this workspace. An admin can change that.");
    assert_eq!(load_follow_mode(&world).await, "all");
    world.finish().await;
}

async fn runs_shows_what_became_of_what_one_asked(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let said = world.run_command("ana", "general", "runs").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: You haven't asked me anything yet.");
    }
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "dm:ana", "hello").await;
    world.script_model("tool", std::iter::repeat_with(Answer::empty).take(3));
    world.say("ana", "general", "@nod what is the answer?").await;
    let said = world.run_command("ana", "general", "runs").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # What you asked recently
            1. Fri 6 Mar 2026, 09:30 WET  what is the answer? → failed
            2. Fri 6 Mar 2026, 09:30 WET  hello → answered
            [Try again 1]
        ");
    }
    let said = world.run_command("bo", "general", "runs").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(bo only) nod: You haven't asked me anything yet.");
    }
    world.model.will(Answer::text("42."));
    let again = world.prepare_ephemeral_click("ana", "Try again 1");
    world.send_click(&again).await;
    assert!(world.read_new("general").contains("42."));
    let said = world.run_command("ana", "general", "runs").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # What you asked recently
            1. Fri 6 Mar 2026, 09:30 WET  what is the answer? → answered
            2. Fri 6 Mar 2026, 09:30 WET  hello → answered
        ");
    }
    world.read_new("dm:ana");
    world.finish().await;
}

/// Sends mails with every outcome.
async fn with_finished_mails(mut world: World) -> World {
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    for end in ["sent", "denied", "undone"] {
        world.script_model("tool", [late_mail_call(), Answer::text("I see.")]);
        world.say("ana", "general", &format!("@nod tell Bo I'm late, it will be {end}")).await;
        match end {
            "denied" => drop(world.deny_request("ana", "general", "").await),
            _ => world.click("ana", "general", "Approve & send").await,
        }
        match end {
            "undone" => world.click("ana", "general", "Undo").await,
            _ => world.advance_past_undo_window().await,
        }
    }
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    let three = Answer::tools(vec![mail("Bo"), mail("Cho"), mail("eve@x.test")]);
    world.script_model("tool", [three, Answer::text("Two know.")]);
    world.say("ana", "general", "@nod tell all three").await;
    world.click("ana", "general", "Untick 2").await;
    world.click("ana", "general", "Approve 2 of 3").await;
    world.advance_past_undo_window().await;
    world.script_model("tool", [late_mail_call(), Answer::text("Nobody answered.")]);
    world.say("ana", "general", "@nod tell Bo once more").await;
    world
}

async fn runs_say_what_became_of_each_mail(platform: Platform) {
    let mut world = with_finished_mails(World::with_undo_window_on(platform).await).await;
    let said = world.run_command("ana", "general", "runs").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # What you asked recently
            1. Fri 6 Mar 2026, 09:30 WET  tell Bo once more → waiting for you
            2. Fri 6 Mar 2026, 09:30 WET  tell all three → 2 sent, 1 denied
            3. Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be undone → undone
            4. Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be denied → denied
            5. Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be sent → sent
        ");
    }
    world.advance(TimeDelta::hours(24)).await;
    let runs = world.run_command("ana", "general", "runs").await;
    assert!(runs.contains("tell Bo once more → expired"), "{runs}");
    world.read_new("general");
    world.finish().await;
}

/// Only Slack has a Home tab.
#[tokio::test]
async fn home_says_what_became_of_each_mail() {
    let world = World::with_undo_window().await;
    world.open_home("ana").await;
    let mut world = with_finished_mails(world).await;
    let lately = world.slack.home("ana");
    insta::assert_snapshot!(lately.rsplit("---").next().unwrap().trim(), @r"
        # What you asked recently
        Fri 6 Mar 2026, 09:30 WET  tell Bo once more → waiting for you
        Fri 6 Mar 2026, 09:30 WET  tell all three → 2 sent, 1 denied
        Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be undone → undone
        Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be denied → denied
        Fri 6 Mar 2026, 09:30 WET  tell Bo I'm late, it will be sent → sent
    ");
    world.advance(TimeDelta::hours(24)).await;
    world.read_new("general");
    world.finish().await;
}
