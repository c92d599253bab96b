//! Events that are more than one time on one day: series, all-day events, rooms, and a concurrent change during a
//! write.

use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::google::{EventEdit, InvitationKind, NewEvent};
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::{Value, json};

on_each_platform!(
    what_changes_while_ours_is_on_its_way_is_not_overwritten,
    one_time_of_a_series_is_cancelled_alone,
    a_whole_series_is_cancelled_by_name_only,
    a_whole_day_becomes_an_hour,
    a_day_is_blocked_whole,
    a_taken_room_is_said_to_everybody_who_reads_the_card,
    two_requests_about_different_events_stand_side_by_side,
    a_whole_day_is_one_of_where_its_person_is,
    a_rule_that_fits_no_day_is_said_before_anybody_votes,
);

const ANA: &str = "ana@acme.test";
const BO: &str = "bo@acme.test";
const ROOM: &str = "c_1@resource.calendar.google.com";
const DM: &str = "dm:ana";

async fn with_calendars(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    connect_calendar(&mut world, platform).await;
    world
}

async fn connect_calendar(world: &mut World, platform: Platform) {
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    if platform == Platform::Discord {
        // Slack reports these time zones.
        world.set_time_zone("ana", "Europe/Lisbon").await;
        world.set_time_zone("bo", "Europe/Berlin").await;
    }
}

fn appointment(title: &str, start: &str, end: &str) -> NewEvent {
    NewEvent { title: title.into(), start: start.into(), end: end.into(), ..NewEvent::default() }
}

fn weekly_event() -> NewEvent {
    let recurrence = vec!["RRULE:FREQ=WEEKLY;COUNT=4".into()];
    let standup = appointment("Standup", "2026-03-09 10:00", "2026-03-09 10:30");
    NewEvent { guests: vec![BO.into()], recurrence, ..standup }
}

fn event_calls(tool: &str, args: Value) -> [Answer; 2] {
    [Answer::tool(tool, args), Answer::text("Very well.")]
}

/// Returns the card without what differs by platform: digests and empty lines.
fn card(shown: &str) -> String {
    let from = shown.rfind("nod: # ").unwrap_or_else(|| panic!("no card:\n{shown}"));
    shown[from..].lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(
        "
",
    )
}

async fn what_changes_while_ours_is_on_its_way_is_not_overwritten(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let once = NewEvent { recurrence: Vec::new(), ..weekly_event() };
    let id = world.google.add_event(ANA, &once).unwrap();
    world.script_model(
        "tool",
        event_calls("calendar_update_event", json!({ "event": id, "when": "Monday at 3pm" })),
    );
    world.say("ana", DM, "move Monday's standup to 3pm").await;
    let faults = world.google.faults.clone();
    faults.next("calendar.events.patch", Fault::DelayResponse(Duration::from_millis(300)));
    let google = world.google.clone();
    let time = Some(("2026-03-09 11:00".to_owned(), "2026-03-09 11:30".to_owned()));
    let by_hand = async {
        faults.wait_until_triggered("calendar.events.patch", 1).await;
        assert!(google.edit_event(ANA, &id, &EventEdit { time, ..EventEdit::default() }));
    };
    tokio::join!(world.click("ana", DM, "Approve & update"), by_hand);
    // Calendar rejects it, so the event is read again.
    world.wait_until_idle().await;
    for _ in 0..2 {
        world.advance(TimeDelta::seconds(15)).await;
    }
    let read = world.read_new(DM);
    assert!(read.contains("The event was changed in the meantime"), "{read}");
    assert!(world.google.event(ANA, &id).unwrap().describe_time().contains("11:00–11:30"));
    world.finish().await;
}

async fn one_time_of_a_series_is_cancelled_alone(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let series = world.google.add_event(ANA, &weekly_event()).unwrap();
    let second = format!("{series}_20260316T100000Z");
    world.script_model("tool", event_calls("calendar_cancel_event", json!({ "event": second })));
    world.say("ana", DM, "cancel the standup on the 16th").await;
    insta::allow_duplicates! { insta::assert_snapshot!(card(&world.read_new(DM)), @r"
        nod: # Cancel this event?
        Calendar  ana@acme.test
        Title  Standup
        When  Mon 16 Mar, 10:00–10:30 WET
        Series  just this one, the others stay as they are
        Guests  bo@acme.test
        · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
        [Approve & cancel event] [Deny]
    "); }
    world.click("ana", DM, "Approve & cancel event").await;
    world.read_new(DM);
    let left: Vec<String> = world.google.events(BO).iter().map(|event| event.describe_time()).collect();
    assert!(left.iter().all(|when| !when.contains("2026-03-16")), "{left:?}");
    assert!(world.google.event(BO, &series).is_some());
    assert_eq!(world.google.invitations(BO).len(), 1);
    world.finish().await;
}

async fn a_whole_series_is_cancelled_by_name_only(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let series = world.google.add_event(ANA, &weekly_event()).unwrap();
    let cancel = |all: bool| Answer::tool("calendar_cancel_event", json!({ "event": series, "series": all }));
    world.script_model("tool", [cancel(false), cancel(true), Answer::text("The series is off.")]);
    world.say("ana", DM, "cancel the weekly standup altogether").await;
    insta::allow_duplicates! { insta::assert_snapshot!(card(&world.read_new(DM)), @r"
        nod: # Cancel every time of this event?
        Calendar  ana@acme.test
        Title  Standup
        First  Mon 9 Mar, 10:00–10:30 WET
        Series  every time
        Guests  bo@acme.test
        · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
        [Approve & cancel event] [Deny]
    "); }
    world.click("ana", DM, "Approve & cancel event").await;
    world.read_new(DM);
    assert!(world.google.events(BO).is_empty());
    let told = world.google.invitations(BO);
    assert_eq!(told.iter().map(|one| &one.kind).collect::<Vec<_>>(), [&InvitationKind::Cancelled]);
    world.finish().await;
}

async fn a_whole_day_becomes_an_hour(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let id = world.google.add_event(ANA, &appointment("Offsite", "2026-03-12", "2026-03-13")).unwrap();
    let change = json!({ "event": id, "when": "13 March at 3pm", "minutes": 60 });
    world.script_model("tool", event_calls("calendar_update_event", change));
    world.say("ana", DM, "make the offsite 13 March at 3, an hour").await;
    world.click("ana", DM, "Approve & update").await;
    let read = world.read_new(DM);
    assert!(read.contains("→ Updated"), "{read}");
    let event = world.google.event(ANA, &id).unwrap();
    assert!(!event.all_day && event.describe_time().contains("15:00–16:00"), "{}", event.describe_time());
    world.finish().await;
}

async fn a_day_is_blocked_whole(platform: Platform) {
    let mut world = with_calendars(platform).await;
    world.script_model(
        "tool",
        event_calls("calendar_create_event", json!({ "title": "Leave", "when": "12 March" })),
    );
    world.say("ana", DM, "I'm on leave on 12 March").await;
    insta::allow_duplicates! { insta::assert_snapshot!(card(&world.read_new(DM)), @r"
        nod: # Create this event?
        Calendar  ana@acme.test
        Title  Leave
        When  Thu 12 Mar
        · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
        [Approve & create] [Edit] [Deny]
    "); }
    world.click("ana", DM, "Approve & create").await;
    world.read_new(DM);
    let events = world.google.events(ANA);
    assert!(
        events[0].all_day && events[0].describe_time().contains("2026-03-12"),
        "{}",
        events[0].describe_time()
    );
    world.finish().await;
}

async fn a_taken_room_is_said_to_everybody_who_reads_the_card(platform: Platform) {
    let mut world = World::without_nod_on(platform).await;
    world.env.insert("NOD_GOOGLE__ROOMS".to_owned(), format!("Ada <{ROOM}>"));
    world.start().await;
    world.google.add_room(ROOM, "Ada", "acme.test");
    connect_calendar(&mut world, platform).await;
    let theirs = NewEvent {
        guests: vec![ROOM.into()],
        ..appointment("Board", "2026-03-10 12:00", "2026-03-10 13:00")
    };
    world.google.add_event(BO, &theirs).unwrap();
    let lunch = json!({ "title": "Review", "when": "next Tuesday at noon", "guests": ["Bo"], "room": "ada" });
    world.script_model("tool", event_calls("calendar_create_event", lunch));
    world.say("ana", "general", "@nod review with Bo next Tuesday at noon in Ada").await;
    insta::allow_duplicates! { insta::assert_snapshot!(card(&world.read_new("general")), @r"
        nod: # Send this invitation?
        Calendar  ana@acme.test
        Title  Review
        When  Tue 10 Mar, 12:00–12:30 WET
        Guests  bo@acme.test
        For guests  Bo Lind 13:00–13:30 CET
        Room  Ada
        ⚠ The room Ada is taken then
        · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
        [Approve & invite] [Edit] [Deny]
    "); }
    world.edit_request("ana", "general", &[("Title", "Board review")]).await;
    let edited = card(&world.read_new("general"));
    assert!(
        edited.contains("edited") && edited.matches("The room Ada is taken then").count() == 1,
        "{edited}"
    );
    world.click("ana", "general", "Approve & invite").await;
    world.read_new("general");
    let event = &world.google.events(ANA)[0];
    assert_eq!(event.response(ROOM), Some("declined"));
    world.finish().await;
}

async fn two_requests_about_different_events_stand_side_by_side(platform: Platform) {
    let mut world = with_calendars(platform).await;
    for hour in ["9", "10"] {
        let focus = json!({ "title": "Focus", "when": format!("Monday at {hour}am") });
        world.script_model("tool", [Answer::tool("calendar_create_event", focus)]);
        world.say("ana", DM, &format!("block Monday at {hour}")).await;
    }
    let read = world.read_new(DM);
    assert_eq!(read.matches("[Approve & create]").count(), 2, "{read}");
    for _ in 0..2 {
        world.model.will(Answer::text("As you like."));
        world.deny_request("ana", DM, "").await;
        world.read_new(DM);
    }
    world.finish().await;
}

async fn a_whole_day_is_one_of_where_its_person_is(platform: Platform) {
    let mut world = with_calendars(platform).await;
    world.google.add_event(ANA, &appointment("Fair", "2026-03-08", "2026-03-09")).unwrap();
    world.google.add_event(ANA, &appointment("Audit", "2026-03-09", "2026-03-10")).unwrap();
    world.set_time_zone("ana", "Asia/Tokyo").await;
    world.script_model("tool", event_calls("calendar_get_agenda", json!({ "when": "Monday" })));
    world.say("ana", DM, "what is on Monday?").await;
    world.read_new(DM);
    let seen = world.dump_rows().await;
    assert!(seen.contains("Audit") && !seen.contains("Fair"));
    world.finish().await;
}

async fn a_rule_that_fits_no_day_is_said_before_anybody_votes(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let never = json!({
        "title": "Planning", "when": "next Tuesday", "minutes": 45, "guests": ["Bo"],
        "repeats": { "every": "week", "on": ["mo"] },
    });
    world.script_model("tool", event_calls("calendar_create_event", never));
    world.say("ana", DM, "plan with Bo every Monday, beginning some time next Tuesday").await;
    let read = world.read_new(DM);
    assert!(read.contains("Very well.") && !read.contains("Which time?"), "{read}");
    world.finish().await;
}
