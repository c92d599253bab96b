//! Events that are more than one time on one day: series, all-day events, rooms, and a concurrent change during a
//! write.

use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::google::{Appointment, MeetingEdit, News};
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
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

async fn at_work(platform: On) -> World {
    let mut world = World::on(platform).await;
    connected(&mut world, platform).await;
    world
}

async fn connected(world: &mut World, platform: On) {
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    if platform == On::Discord {
        // Slack reports these time zones.
        world.works_in("ana", "Europe/Lisbon").await;
        world.works_in("bo", "Europe/Berlin").await;
    }
}

fn appointment(title: &str, start: &str, end: &str) -> Appointment {
    Appointment { title: title.into(), start: start.into(), end: end.into(), ..Appointment::default() }
}

fn weekly() -> Appointment {
    let recurrence = vec!["RRULE:FREQ=WEEKLY;COUNT=4".into()];
    let standup = appointment("Standup", "2026-03-09 10:00", "2026-03-09 10:30");
    Appointment { guests: vec![BO.into()], recurrence, ..standup }
}

fn asks(tool: &str, args: Value) -> [Answer; 2] {
    [Answer::tool(tool, args), Answer::text("Very well.")]
}

/// Returns the card without what differs by platform: digests and empty lines.
fn card(shown: &str) -> String {
    let from = shown.rfind("nod: # ").unwrap_or_else(|| panic!("no card:\n{shown}"));
    let lines = shown[from..].lines().filter(|line| !line.trim().is_empty());
    let masked = lines.map(|line| match line.rsplit_once(" · ") {
        Some((title, _)) if title.contains(" · rev ") => title.trim(),
        _ => line.trim(),
    });
    masked.collect::<Vec<_>>().join("\n")
}

async fn what_changes_while_ours_is_on_its_way_is_not_overwritten(platform: On) {
    let mut world = at_work(platform).await;
    let once = Appointment { recurrence: Vec::new(), ..weekly() };
    let id = world.google.add_event(ANA, &once).unwrap();
    world.model_will("tool", asks("calendar_update_event", json!({ "event": id, "when": "Monday at 3pm" })));
    world.says("ana", DM, "move Monday's standup to 3pm").await;
    let faults = world.google.faults.clone();
    faults.next("calendar.events.patch", Fault::Delay(Duration::from_millis(300)));
    let google = world.google.clone();
    let time = Some(("2026-03-09 11:00".to_owned(), "2026-03-09 11:30".to_owned()));
    let by_hand = async {
        faults.met("calendar.events.patch", 1).await;
        assert!(google.edit_event(ANA, &id, &MeetingEdit { time, ..MeetingEdit::default() }));
    };
    tokio::join!(world.presses("ana", DM, "Approve & change"), by_hand);
    // Calendar rejects it, so the event is read again.
    world.settles().await;
    for _ in 0..2 {
        world.later(TimeDelta::seconds(15)).await;
    }
    let read = world.reads(DM);
    assert!(read.contains("the event was changed meanwhile"), "{read}");
    assert!(world.google.event(ANA, &id).unwrap().when().contains("11:00–11:30"));
    world.ends().await;
}

async fn one_time_of_a_series_is_cancelled_alone(platform: On) {
    let mut world = at_work(platform).await;
    let series = world.google.add_event(ANA, &weekly()).unwrap();
    let second = format!("{series}_20260316T100000Z");
    world.model_will("tool", asks("calendar_cancel_event", json!({ "event": second })));
    world.says("ana", DM, "cancel the standup on the 16th").await;
    insta::allow_duplicates! { insta::assert_snapshot!(card(&world.reads(DM)), @r"
        nod: # Cancel this event? · rev 1
        Calendar  ana@acme.test
        Title  Standup
        When  Mon 16 Mar, 10:00–10:30 WET
        Series  only this time, the others stay
        Guests  bo@acme.test
        ⚠ Nod's first cancellation to bo@acme.test
        · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
        [Approve & cancel it] [Deny]
    "); }
    world.presses("ana", DM, "Approve & cancel it").await;
    world.reads(DM);
    let left: Vec<String> = world.google.events(BO).iter().map(|event| event.when()).collect();
    assert!(left.iter().all(|when| !when.contains("2026-03-16")), "{left:?}");
    assert!(world.google.event(BO, &series).is_some());
    assert_eq!(world.google.invitations(BO).len(), 1);
    world.ends().await;
}

async fn a_whole_series_is_cancelled_by_name_only(platform: On) {
    let mut world = at_work(platform).await;
    let series = world.google.add_event(ANA, &weekly()).unwrap();
    let cancel = |all: bool| Answer::tool("calendar_cancel_event", json!({ "event": series, "series": all }));
    world.model_will("tool", [cancel(false), cancel(true), Answer::text("The series is off.")]);
    world.says("ana", DM, "cancel the weekly standup altogether").await;
    insta::allow_duplicates! { insta::assert_snapshot!(card(&world.reads(DM)), @r"
        nod: # Cancel all times of this event? · rev 1
        Calendar  ana@acme.test
        Title  Standup
        First  Mon 9 Mar, 10:00–10:30 WET
        Series  all of its times
        Guests  bo@acme.test
        ⚠ Nod's first cancellation to bo@acme.test
        · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
        [Approve & cancel it] [Deny]
    "); }
    world.presses("ana", DM, "Approve & cancel it").await;
    world.reads(DM);
    assert!(world.google.events(BO).is_empty());
    let told = world.google.invitations(BO);
    assert_eq!(told.iter().map(|one| &one.news).collect::<Vec<_>>(), [&News::Cancelled]);
    world.ends().await;
}

async fn a_whole_day_becomes_an_hour(platform: On) {
    let mut world = at_work(platform).await;
    let id = world.google.add_event(ANA, &appointment("Offsite", "2026-03-12", "2026-03-13")).unwrap();
    let change = json!({ "event": id, "when": "13 March at 3pm", "minutes": 60 });
    world.model_will("tool", asks("calendar_update_event", change));
    world.says("ana", DM, "make the offsite 13 March at 3, an hour").await;
    world.presses("ana", DM, "Approve & change").await;
    let read = world.reads(DM);
    assert!(read.contains("→ Changed"), "{read}");
    let event = world.google.event(ANA, &id).unwrap();
    assert!(!event.all_day && event.when().contains("15:00–16:00"), "{}", event.when());
    world.ends().await;
}

async fn a_day_is_blocked_whole(platform: On) {
    let mut world = at_work(platform).await;
    world.model_will("tool", asks("calendar_create_event", json!({ "title": "Leave", "when": "12 March" })));
    world.says("ana", DM, "I'm on leave on 12 March").await;
    insta::allow_duplicates! { insta::assert_snapshot!(card(&world.reads(DM)), @r"
        nod: # Create this event? · rev 1
        Calendar  ana@acme.test
        Title  Leave
        When  Thu 12 Mar
        Guests  —
        · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
        [Approve & create] [Edit] [Deny]
    "); }
    world.presses("ana", DM, "Approve & create").await;
    world.reads(DM);
    let events = world.google.events(ANA);
    assert!(events[0].all_day && events[0].when().contains("2026-03-12"), "{}", events[0].when());
    world.ends().await;
}

async fn a_taken_room_is_said_to_everybody_who_reads_the_card(platform: On) {
    let mut world = World::without_nod_on(platform).await;
    world.env.insert("NOD_GOOGLE__ROOMS".to_owned(), format!("Ada <{ROOM}>"));
    world.start().await;
    world.google.add_room(ROOM, "Ada", "acme.test");
    connected(&mut world, platform).await;
    let theirs = Appointment {
        guests: vec![ROOM.into()],
        ..appointment("Board", "2026-03-10 12:00", "2026-03-10 13:00")
    };
    world.google.add_event(BO, &theirs).unwrap();
    let lunch = json!({ "title": "Review", "when": "next Tuesday at noon", "guests": ["Bo"], "room": "ada" });
    world.model_will("tool", asks("calendar_create_event", lunch));
    world.says("ana", "general", "@nod review with Bo next Tuesday at noon in Ada").await;
    insta::allow_duplicates! { insta::assert_snapshot!(card(&world.reads("general")), @r"
        nod: # Send this invitation? · rev 1
        Calendar  ana@acme.test
        Title  Review
        When  Tue 10 Mar, 12:00–12:30 WET
        Guests  bo@acme.test
        For guests  Bo Lind 13:00–13:30 CET
        Room  Ada
        ⚠ Nod's first invitation to bo@acme.test
        ⚠ the room Ada is taken then
        · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
        [Approve & invite] [Edit] [Deny]
    "); }
    world.edits("ana", "general", &[("Title", "Board review")]).await;
    let edited = card(&world.reads("general"));
    assert!(
        edited.contains("rev 2") && edited.matches("the room Ada is taken then").count() == 1,
        "{edited}"
    );
    world.presses("ana", "general", "Approve & invite").await;
    world.reads("general");
    let event = &world.google.events(ANA)[0];
    assert_eq!(event.response(ROOM), Some("declined"));
    world.ends().await;
}

async fn two_requests_about_different_events_stand_side_by_side(platform: On) {
    let mut world = at_work(platform).await;
    for hour in ["9", "10"] {
        let focus = json!({ "title": "Focus", "when": format!("Monday at {hour}am") });
        world.model_will("tool", [Answer::tool("calendar_create_event", focus)]);
        world.says("ana", DM, &format!("block Monday at {hour}")).await;
    }
    let read = world.reads(DM);
    assert_eq!(read.matches("[Approve & create]").count(), 2, "{read}");
    for _ in 0..2 {
        world.model.will(Answer::text("As you like."));
        world.denies("ana", DM, "").await;
        world.reads(DM);
    }
    world.ends().await;
}

async fn a_whole_day_is_one_of_where_its_person_is(platform: On) {
    let mut world = at_work(platform).await;
    world.google.add_event(ANA, &appointment("Fair", "2026-03-08", "2026-03-09")).unwrap();
    world.google.add_event(ANA, &appointment("Audit", "2026-03-09", "2026-03-10")).unwrap();
    world.works_in("ana", "Asia/Tokyo").await;
    world.model_will("tool", asks("calendar_get_agenda", json!({ "when": "Monday" })));
    world.says("ana", DM, "what is on Monday?").await;
    world.reads(DM);
    let seen = world.rows().await;
    assert!(seen.contains("Audit") && !seen.contains("Fair"));
    world.ends().await;
}

async fn a_rule_that_fits_no_day_is_said_before_anybody_votes(platform: On) {
    let mut world = at_work(platform).await;
    let never = json!({
        "title": "Planning", "when": "next Tuesday", "minutes": 45, "guests": ["Bo"],
        "repeats": { "every": "week", "on": ["mo"] },
    });
    world.model_will("tool", asks("calendar_create_event", never));
    world.says("ana", DM, "plan with Bo every Monday, beginning some time next Tuesday").await;
    let read = world.reads(DM);
    assert!(read.contains("Very well.") && !read.contains("Which time?"), "{read}");
    world.ends().await;
}
