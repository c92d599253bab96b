//! Times as people write them, up to the entry in their calendar: an ambiguous time is asked about, a past one is
//! reported, and no part of the request is lost.

use chrono::TimeDelta;
use nod_sandbox::google::{InvitationKind, NewEvent};
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::{Value, json};

use crate::calendar::{ANA, BO, appointment, compact, create, event_time, with_calendars};

on_each_platform!(
    an_hour_that_is_none_or_twice_is_asked,
    a_day_that_there_is_not_is_said,
    another_time_is_asked_for_where_it_is_understood,
    a_zone_that_does_not_exist_is_said,
    a_length_alone_finds_times_of_that_length,
    hours_buffers_and_notice_shape_the_times,
    what_was_taken_for_granted_stands_on_the_card,
    an_offset_becomes_the_asker_s_own_clocks,
    the_form_reads_back_what_it_shows,
    past_events_invite_nobody,
    a_yes_that_comes_late_invites_nobody,
    a_time_that_has_passed_when_it_is_picked_is_not_taken,
    a_pick_that_does_not_work_is_told_in_words_of_ours,
    what_was_is_still_told,
    a_series_keeps_the_clocks_that_it_follows,
    how_long_it_repeats_is_resolved_and_said,
);

const DM: &str = "dm:ana";

/// Ana asks for an event, and reads the response.
async fn request_event(world: &mut World, event: Value) -> String {
    world.read_new(DM);
    world.script_model("tool", [create(event)]);
    world.say("ana", DM, "put it in my calendar").await;
    compact(world.read_new(DM))
}

/// Ana denies the request.
async fn deny(world: &mut World) {
    world.model.will(Answer::text("As you like."));
    world.deny_request("ana", DM, "").await;
    world.read_new(DM);
}

/// Returns the line of the newest card that begins like this.
fn card_line<'a>(card: &'a str, name: &str) -> &'a str {
    let newest = card.rsplit("nod: # ").next().unwrap_or_default();
    let line = newest.lines().map(str::trim).find(|line| line.starts_with(name));
    line.unwrap_or_else(|| panic!("no {name} in {card}"))
}

async fn an_hour_that_is_none_or_twice_is_asked(platform: Platform) {
    let mut world = with_calendars(platform).await;
    for (said, picked) in [
        ("29 March at 01:30", "Sun 29 Mar, 02:30 WEST"),
        ("25 October at 01:30", "Sun 25 Oct, 01:30 WET"),
        ("6/4 at 15:00", "Thu 4 Jun, 15:00 WEST"),
        ("tomorrow, ten to twelve", "Sat 7 Mar, 10:00–12:00 WET"),
    ] {
        let asked = request_event(&mut world, json!({ "title": "Call", "when": said })).await;
        assert!(asked.contains(&format!("[{picked}]")), "{asked}");
        world.click("ana", DM, picked).await;
        let card = compact(world.read_new(DM));
        assert!(card_line(&card, "When").starts_with(&format!("When  {}", &picked[..16])), "{card}");
        deny(&mut world).await;
    }
    world.finish().await;
}

async fn a_day_that_there_is_not_is_said(platform: Platform) {
    let mut world = with_calendars(platform).await;
    // For a date that does not exist, the nearest one is past.
    for said in ["2026-02-31", "31 February 2026", "2026-02-31T15:00"] {
        let read =
            request_event(&mut world, json!({ "title": "Call", "when": said, "guests": ["Bo"] })).await;
        let none = "nod: There's no 31 February in 2026. Which time do you mean? Tell me here, like “Friday \
            at 3pm”.";
        assert!(read.ends_with(none), "{read}");
    }
    for (said, why, picked) in [
        ("31 February", "There's no 31 February in 2027.", "Mon 1 Mar 2027"),
        ("30.2.", "There's no 30 February in 2027.", "Sun 28 Feb 2027"),
        ("2026-04-31T15:00", "There's no 31 April in 2026.", "Fri 1 May, 15:00 WEST"),
    ] {
        let asked =
            request_event(&mut world, json!({ "title": "Call", "when": said, "guests": ["Bo"] })).await;
        assert!(asked.contains(&format!("nod: # When is “{said}”?\n  · {why}")), "{asked}");
        world.click("ana", DM, picked).await;
        let card = compact(world.read_new(DM));
        assert!(card_line(&card, "When").starts_with(&format!("When  {}", &picked[..12])), "{card}");
        deny(&mut world).await;
    }
    world.finish().await;
}

/// If the request came from a channel, an answer in the DM would miss the conversation that it belongs to.
async fn another_time_is_asked_for_where_it_is_understood(platform: Platform) {
    let mut world = with_calendars(platform).await;
    for (place, there) in [(DM, "here"), ("general", "in the thread")] {
        let sync = json!({ "title": "Sync", "when": "next week", "guests": ["Bo"] });
        world.script_model("tool", [create(sync)]);
        world.say("ana", place, "@nod find a time with Bo next week").await;
        world.read_new(DM);
        world.click("ana", DM, "Another time").await;
        let asks = format!("Which other time would you like? Tell me {there}, like “Friday at 3pm”.\n");
        let read = world.read_new(DM);
        assert!(read.contains(&asks), "{read}");
    }
    world.read_new("general");
    world.finish().await;
}

async fn a_zone_that_does_not_exist_is_said(platform: Platform) {
    let mut world = with_calendars(platform).await;
    for (said, why) in [
        ("tomorrow 3pm Atlantis time", "I don't know the time zone or city “atlantis”"),
        ("Easter Monday at 10", "Give me the date"),
    ] {
        let call = create(json!({ "title": "Call", "when": said }));
        world.script_model("tool", [call, Answer::text("Which time is meant?")]);
        world.say("ana", DM, "put it in my calendar").await;
        assert!(world.read_new(DM).contains("Which time is meant?"));
        assert!(world.dump_rows().await.contains(why), "{said}");
    }
    world.finish().await;
}

async fn a_length_alone_finds_times_of_that_length(platform: Platform) {
    let mut world = with_calendars(platform).await;
    for (said, picked) in [
        ("an hour on Monday", "Mon 9 Mar, 09:00–10:00 WET"),
        ("Monday afternoon for an hour", "Mon 9 Mar, 12:00–13:00 WET"),
    ] {
        request_event(&mut world, json!({ "title": "Planning", "when": said, "guests": ["Bo"] })).await;
        world.click("ana", DM, picked).await;
        assert_eq!(card_line(&compact(world.read_new(DM)), "When"), format!("When  {picked}"));
        deny(&mut world).await;
    }
    world.finish().await;
}

/// Changes what a user has set under `settings`.
async fn save_settings(world: &mut World, platform: Platform, who: &str, set: &[(&str, &str)]) {
    world.run_command(who, "general", "settings").await;
    world.open_form_from_ephemeral(who, "Edit my hours").await;
    let said = world.submit_form(who, set).await;
    assert!(said.contains("Saved."), "{said}");
    if platform == Platform::Slack {
        world.close_form(who);
    }
}

async fn hours_buffers_and_notice_shape_the_times(platform: Platform) {
    let mut world = with_calendars(platform).await;
    // Directly before the range that is searched.
    world.google.add_event(BO, &appointment("Gym", "2026-03-09 10:30", "2026-03-09 11:00")).unwrap();
    let usual = [("Working hours", "09:00-17:00"), ("Free minutes before and after meetings", "0")];
    for (set, first) in [
        (vec![], "Mon 9 Mar, 11:00–11:30 WET"),
        (vec![("Free minutes before and after meetings", "20")], "Mon 9 Mar, 11:30–12:00 WET"),
        // One o'clock in Berlin is noon in Lisbon.
        (vec![("Working hours", "13:00-15:00")], "Mon 9 Mar, 12:00–12:30 WET"),
        // 73 hours and fifty minutes after Friday, half past nine.
        (vec![("Minutes of notice for a meeting", "4430")], "Mon 9 Mar, 11:30–12:00 WET"),
    ] {
        let set: Vec<(&str, &str)> = usual.iter().copied().chain(set).collect();
        save_settings(&mut world, platform, "bo", &set).await;
        let sync = json!({ "title": "Sync", "when": "Monday between 11:00 and 12:30", "guests": ["Bo"] });
        let asked = request_event(&mut world, sync).await;
        assert_eq!(world.find_label(DM, "Mon 9 Mar"), first, "{asked}");
        world.click("ana", DM, "Another time").await;
        world.read_new(DM);
    }
    world.finish().await;
}

/// Only Slack reports an email address that the account can differ from.
#[tokio::test]
async fn one_s_own_hours_count_whatever_their_account_is_called() {
    let mut world = World::new().await;
    let private = "ana.private@mail.test";
    let link = world.request_link("ana").await;
    world.consent_as("ana", &link, private, None).await;
    world.wait_until_idle().await;
    world.read_new("dm:dana");
    world.click("dana", "dm:dana", "Allow").await;
    world.read_new("dm:dana");
    let link = world.find_newest_link("ana");
    world.consent_as("ana", &link, private, None).await;
    world.wait_until_idle().await;
    save_settings(&mut world, Platform::Slack, "ana", &[("Working hours", "11:00-17:00")]).await;
    request_event(&mut world, json!({ "title": "Focus", "when": "Monday between 10:00 and 12:00" })).await;
    let first = world.find_label(DM, "Mon 9 Mar");
    assert_eq!(first, "Mon 9 Mar, 11:00–11:30 WET");
    world.click("ana", DM, "Another time").await;
    world.read_new(DM);
    world.finish().await;
}

async fn what_was_taken_for_granted_stands_on_the_card(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let card = request_event(&mut world, json!({ "title": "Call", "when": "tomorrow at 3" })).await;
    assert_eq!(
        card_line(&card, "Read as"),
        "Read as  “3” without am or pm: I took 15:00, within working hours"
    );
    // The note stays as long as that time stays.
    world.edit_request("ana", DM, &[("Title", "A call")]).await;
    card_line(&world.read_new(DM), "Read as");
    world.edit_request("ana", DM, &[("When", "Mon 9 Mar, 17:00–17:30")]).await;
    let card = world.read_new(DM);
    assert!(card.contains("edited") && !card.contains("Read as"), "{card}");
    deny(&mut world).await;
    world.finish().await;
}

async fn an_offset_becomes_the_asker_s_own_clocks(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let weekly = json!({ "title": "Call", "when": "Monday 3pm UTC+2", "repeats": { "every": "week" } });
    world.script_model("tool", [create(weekly), Answer::text("By which city's clocks?")]);
    world.say("ana", DM, "every Monday at 3pm UTC+2").await;
    assert!(world.read_new(DM).contains("By which city's clocks?"));
    let card = request_event(&mut world, json!({ "title": "Call", "when": "Monday 3pm UTC+2" })).await;
    assert_eq!(card_line(&card, "When"), "When  Mon 9 Mar, 13:00–13:30 WET");
    world.model.will(Answer::text("It stands."));
    world.click("ana", DM, "Approve & create").await;
    world.read_new(DM);
    let event = &world.google.events(ANA)[0];
    assert_eq!(
        (event_time(event).as_str(), event.zone.as_str()),
        ("2026-03-09 13:00–13:30", "Europe/Lisbon")
    );
    world.finish().await;
}

/// Singapore's time zone has no letters, so Nod writes "UTC+8".
async fn the_form_reads_back_what_it_shows(platform: Platform) {
    let mut world = with_calendars(platform).await;
    world.set_time_zone("ana", "Asia/Singapore").await;
    let weekly =
        json!({ "title": "Call", "when": "Monday 16:00", "repeats": { "every": "week", "times": 3 } });
    let card = request_event(&mut world, weekly).await;
    // The line's end is left out: on Discord the harness reads WET for UTC.
    assert!(card_line(&card, "When").starts_with("When  Mon 9 Mar, 16:00–16:30"), "{card}");
    world.edit_request("ana", DM, &[("When", "Mon 9 Mar, 17:00–17:30 UTC+8")]).await;
    assert!(card_line(&compact(world.read_new(DM)), "When").starts_with("When  Mon 9 Mar, 17:00–17:30"));
    world.model.will(Answer::text("It stands."));
    world.click("ana", DM, "Approve & create").await;
    world.read_new(DM);
    assert_eq!(world.google.events(ANA)[0].describe_time(), "2026-03-09 17:00–17:30 Asia/Singapore");
    world.finish().await;
}

async fn past_events_invite_nobody(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let last_year = json!({ "title": "Lunch", "when": "2025-03-06T12:00", "guests": ["Bo"] });
    world.script_model("tool", [create(last_year), Answer::text("That is over. When shall it be?")]);
    world.say("ana", DM, "lunch with Bo").await;
    assert!(world.read_new(DM).ends_with(
        "nod: That is over. When shall it be?\n  · To be clear, nothing was sent or changed just now.\n"
    ));
    // Without guests, a past event can be recorded.
    let card = request_event(&mut world, json!({ "title": "Lunch", "when": "yesterday at noon" })).await;
    assert_eq!(card_line(&card, "⚠"), "⚠ That time has already passed");
    world.model.will(Answer::text("It stands."));
    world.click("ana", DM, "Approve & create").await;
    world.read_new(DM);
    assert_eq!(event_time(&world.google.events(ANA)[0]), "2026-03-05 12:00–12:30");
    world.finish().await;
}

async fn a_yes_that_comes_late_invites_nobody(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let id = world.google.add_event(
        ANA,
        &NewEvent {
            guests: vec![BO.into()],
            ..appointment("Standup", "2026-03-06 17:00", "2026-03-06 17:30")
        },
    );
    let moved = json!({ "event": id.unwrap(), "when": "in 20 minutes" });
    for (call, yes) in [
        (create(json!({ "title": "Call", "when": "in 10 minutes", "guests": ["Bo"] })), "Approve & invite"),
        (Answer::tool("calendar_update_event", moved), "Approve & update"),
    ] {
        world.script_model("tool", [call]);
        world.say("ana", DM, "right away").await;
        world.read_new(DM);
        world.advance(TimeDelta::hours(3)).await;
        world.model.will(Answer::text("It was too late."));
        world.click("ana", DM, yes).await;
        let card = world.read_new(DM);
        assert!(card.contains("that has already started"), "{card}");
    }
    let events: Vec<String> = world.google.events(BO).iter().map(event_time).collect();
    assert_eq!(events, ["2026-03-06 17:00–17:30"]);
    assert!(world.google.invitations(BO).iter().all(|one| one.kind != InvitationKind::Updated));
    world.finish().await;
}

async fn a_time_that_has_passed_when_it_is_picked_is_not_taken(platform: Platform) {
    let mut world = with_calendars(platform).await;
    request_event(&mut world, json!({ "title": "Sync", "when": "half an hour today", "guests": ["Bo"] }))
        .await;
    world.advance(TimeDelta::hours(3)).await;
    world.click("ana", DM, "Fri 6 Mar, 10:00–10:30 WET").await;
    let read = world.read_new(DM);
    let over = "nod: Fri 6 Mar, 10:00–10:30 WET has already passed, so I can't invite anyone to it. Which \
        time do you mean? Tell me here, like “Friday at 3pm”.\n";
    assert!(read.ends_with(over), "{read}");
    world.finish().await;
}

async fn a_pick_that_does_not_work_is_told_in_words_of_ours(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let call = json!({ "title": "Call", "when": "6/4", "minutes": 45 });
    request_event(&mut world, call).await;
    world.click("ana", DM, "Thu 4 Jun").await;
    let read = world.read_new(DM);
    let told = "nod: That didn't work: at what time? A day and a length don't say when it starts. Tell me here what you'd like instead.\n";
    assert!(read.ends_with(told), "{read}");
    world.finish().await;
}

async fn what_was_is_still_told(platform: Platform) {
    let mut world = with_calendars(platform).await;
    world.google.add_event(ANA, &appointment("Dentist", "2026-03-05 15:00", "2026-03-05 16:00")).unwrap();
    let look = Answer::tool("calendar_get_agenda", json!({ "when": "yesterday" }));
    world.script_model("tool", [look, Answer::text("The dentist, at three.")]);
    world.say("ana", DM, "what did I have yesterday?").await;
    world.read_new(DM);
    assert!(world.dump_rows().await.contains("Thu 5 Mar, 15:00–16:00"));
    world.finish().await;
}

async fn a_series_keeps_the_clocks_that_it_follows(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let weekly = NewEvent {
        zone: Some("America/New_York".into()),
        recurrence: vec!["RRULE:FREQ=WEEKLY;COUNT=4".into()],
        ..appointment("Sync", "2026-03-09 10:00", "2026-03-09 10:30")
    };
    world.google.add_event(ANA, &weekly).unwrap();
    let spring = ("2026-03-01T00:00:00Z".parse().unwrap(), "2026-06-01T00:00:00Z".parse().unwrap());
    let first = world.google.events_between(ANA, spring.0, spring.1)[0].id.clone();
    // A time without a day means a day of the series, and not today.
    for said in ["at 4pm", "Monday at 4pm"] {
        let change = json!({ "event": first, "series": true, "when": said });
        world.script_model("tool", [Answer::tool("calendar_update_event", change)]);
        world.say("ana", DM, "all of the syncs at 4pm").await;
        let card = compact(world.read_new(DM));
        assert_eq!(
            card_line(&card, "First"),
            "First  Mon 9 Mar, 14:00–14:30 WET → Mon 9 Mar, 16:00–16:30 WET"
        );
        assert_eq!(card_line(&card, "Series"), "Series  every time, New York time");
        if said == "at 4pm" {
            deny(&mut world).await;
        }
    }
    world.model.will(Answer::text("All of them."));
    world.click("ana", DM, "Approve & update").await;
    world.read_new(DM);
    let all = world.google.events_between(ANA, spring.0, spring.1);
    let starts: Vec<String> = all.iter().map(|one| one.start.format("%-d %b %H:%M").to_string()).collect();
    assert_eq!(starts, ["9 Mar 16:00", "16 Mar 16:00", "23 Mar 16:00", "30 Mar 16:00"]);
    world.finish().await;
}

async fn how_long_it_repeats_is_resolved_and_said(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let weekly = |repeats: Value| json!({ "title": "Run", "when": "Mon 9:00–9:30", "repeats": repeats });
    let card =
        request_event(&mut world, weekly(json!({ "every": "week", "until": "the end of June" }))).await;
    assert_eq!(card_line(&card, "Repeats"), "Repeats  every week, until Tue 30 Jun 2026");
    deny(&mut world).await;
    for (repeats, risk) in [
        (json!({ "every": "week" }), "⚠ It repeats with no end date"),
        (json!({ "every": "year", "times": 700 }), "⚠ It repeats for more than 5 years"),
    ] {
        let card = request_event(&mut world, weekly(repeats)).await;
        assert!(card_line(&card, "⚠").starts_with(risk), "{card}");
        deny(&mut world).await;
    }
    for absurd in
        [json!({ "every": "week", "until": "31 December 9999" }), json!({ "every": "day", "times": 100_000 })]
    {
        world.script_model("tool", [create(weekly(absurd)), Answer::text("Until when?")]);
        world.say("ana", DM, "for ever and ever").await;
        assert!(
            world
                .read_new(DM)
                .ends_with("nod: Until when?\n  · To be clear, nothing was sent or changed just now.\n")
        );
    }
    world.finish().await;
}
