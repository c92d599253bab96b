//! A person's calendar: read only for them, and changed once after an approval.

use nod_sandbox::google::{CalendarEvent, EventEdit, InvitationKind, NewEvent};
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{World, hostile};
use serde_json::{Value, json};

on_each_platform!(
    an_invitation_waits_for_a_yes,
    a_day_is_told_to_its_owner_alone,
    a_meeting_is_moved_after_a_yes,
    a_meeting_is_cancelled_after_a_yes,
    an_invitation_is_answered_after_a_yes,
    what_somebody_changed_meanwhile_is_not_overwritten,
    a_guest_who_answers_meanwhile_changes_nothing,
    a_weekly_meeting_follows_its_zone,
    an_invitation_is_edited_before_the_yes,
    free_times_are_told_without_what_others_do,
    a_week_becomes_a_time_by_a_button,
    a_double_booking_is_said_to_its_person_alone,
    guests_elsewhere_read_their_own_time_on_the_card,
    a_description_that_kills_its_reader_is_told,
);

pub(crate) const ANA: &str = "ana@acme.test";
pub(crate) const BO: &str = "bo@acme.test";
const GENERAL: &str = "general";

pub(crate) async fn with_calendars(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    if platform == Platform::Discord {
        // Slack reports these time zones.
        world.set_time_zone("ana", "Europe/Lisbon").await;
        world.set_time_zone("bo", "Europe/Berlin").await;
    }
    world
}

/// Removes what differs: Slack's line between a card's text and its risks, and digests. They contain zones and counted
/// ids; Discord reports no zone and uses more ids.
pub(crate) fn compact(shown: String) -> String {
    let lines = shown.lines().filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(
        "
",
    )
}

/// Returns the time without the zone: in winter Lisbon's time is UTC.
pub(crate) fn event_time(event: &CalendarEvent) -> String {
    event.describe_time().trim_end_matches(" Europe/Lisbon").trim_end_matches(" UTC").to_owned()
}

pub(crate) fn create(args: Value) -> Answer {
    Answer::tool("calendar_create_event", args)
}

fn lunch() -> Value {
    json!({ "title": "Lunch", "when": "next Tuesday at noon", "minutes": 60, "guests": ["Bo"] })
}

pub(crate) fn appointment(title: &str, start: &str, end: &str) -> NewEvent {
    NewEvent { title: title.into(), start: start.into(), end: end.into(), ..NewEvent::default() }
}

fn standup() -> NewEvent {
    NewEvent { guests: vec![BO.into()], ..appointment("Standup", "2026-03-09 10:00", "2026-03-09 10:30") }
}

async fn an_invitation_waits_for_a_yes(platform: Platform) {
    let mut world = with_calendars(platform).await;
    world.script_model("tool", [create(lunch()), Answer::text("Bo is invited.")]);
    world.say("ana", GENERAL, "@nod lunch with Bo next Tuesday at noon, an hour").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new(GENERAL)), @r"
        ana: @nod lunch with Bo next Tuesday at noon, an hour
            nod: # Send this invitation?
              Calendar  ana@acme.test
              Title  Lunch
              When  Tue 10 Mar, 12:00–13:00 WET
              Guests  bo@acme.test
              For guests  Bo Lind 13:00–14:00 CET
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & invite] [Edit] [Deny]
    "); }
    assert!(world.google.events(ANA).is_empty());

    world.click("ana", GENERAL, "Approve & invite").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new(GENERAL)), @r"
        ana: @nod lunch with Bo next Tuesday at noon, an hour
            nod: # Invitation created
              Calendar  ana@acme.test
              Title  Lunch
              When  Tue 10 Mar, 12:00–13:00 WET
              Guests  bo@acme.test
              For guests  Bo Lind 13:00–14:00 CET
              Approved by Ana Silva 09:30 WET → Created 09:30 WET
              [Open in Calendar]
            nod: Bo is invited.
    "); }
    let events = world.google.events(BO);
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!((event.title.as_str(), event_time(event).as_str()), ("Lunch", "2026-03-10 12:00–13:00"));
    let told = world.google.invitations(BO);
    assert_eq!(told.iter().map(|one| &one.kind).collect::<Vec<_>>(), [&InvitationKind::Invited]);
    world.finish().await;
}

async fn a_day_is_told_to_its_owner_alone(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let google = &world.google;
    google.add_event(ANA, &standup()).unwrap();
    google.add_event(ANA, &appointment("Dentist", "2026-03-09 15:00", "2026-03-09 16:00")).unwrap();
    google.add_event(ANA, &appointment("Retreat", "2026-03-08", "2026-03-10")).unwrap();
    world.script_model(
        "tool",
        [
            Answer::tool("calendar_get_agenda", json!({ "when": "Monday" })),
            Answer::text("Standup with Bo at 10:00 and the dentist at 15:00."),
        ],
    );
    world.say("ana", GENERAL, "@nod what's on my calendar on Monday?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · You asked in a channel: “what's on my calendar on Monday?”
              Standup with Bo at 10:00 and the dentist at 15:00.
              [Share in the thread]
        ");
        insta::assert_snapshot!(compact(world.read_new(GENERAL)), @r"
            ana: @nod what's on my calendar on Monday?
                nod: · Answered Ana Silva privately.
        ");
    }
    world.finish().await;
}

async fn a_meeting_is_moved_after_a_yes(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let id = world.google.add_event(ANA, &standup()).unwrap();
    world.google.add_event(ANA, &appointment("Dentist", "2026-03-09 15:00", "2026-03-09 16:00")).unwrap();
    let change = json!({ "event": id, "when": "Monday at 3pm", "title": "Late standup" });
    world.script_model(
        "tool",
        [Answer::tool("calendar_update_event", change), Answer::text("It is at three now.")],
    );
    world.say("ana", "dm:ana", "move Monday's standup to 3pm").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: move Monday's standup to 3pm
        nod: # Update this event?
          Calendar  ana@acme.test
          Title  Standup → Late standup
          When  Mon 9 Mar, 10:00–10:30 WET → Mon 9 Mar, 15:00–15:30 WET
          Guests  bo@acme.test
          For guests  Bo Lind 16:00–16:30 CET
          ⚠ You have “Dentist” at that time (Mon 9 Mar, 15:00–16:00 WET)
          · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
          [Approve & update] [Deny]
    "); }
    world.click("ana", "dm:ana", "Approve & update").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: move Monday's standup to 3pm
        nod: # Event updated
          Calendar  ana@acme.test
          Title  Standup → Late standup
          When  Mon 9 Mar, 10:00–10:30 WET → Mon 9 Mar, 15:00–15:30 WET
          Guests  bo@acme.test
          For guests  Bo Lind 16:00–16:30 CET
          Approved by Ana Silva 09:30 WET → Updated 09:30 WET
          [Open in Calendar]
        nod: It is at three now.
    "); }
    let event = world.google.event(BO, &id).unwrap();
    assert_eq!(
        (event.title.as_str(), event_time(&event).as_str()),
        ("Late standup", "2026-03-09 15:00–15:30")
    );
    assert_eq!(world.google.invitations(BO).len(), 1);
    world.finish().await;
}

async fn a_meeting_is_cancelled_after_a_yes(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let id = world.google.add_event(ANA, &standup()).unwrap();
    world.script_model(
        "tool",
        [Answer::tool("calendar_cancel_event", json!({ "event": id })), Answer::text("It is off.")],
    );
    world.say("ana", "dm:ana", "cancel Monday's standup").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: cancel Monday's standup
        nod: # Cancel this event?
          Calendar  ana@acme.test
          Title  Standup
          When  Mon 9 Mar, 10:00–10:30 WET
          Guests  bo@acme.test
          · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
          [Approve & cancel event] [Deny]
    "); }
    world.click("ana", "dm:ana", "Approve & cancel event").await;
    world.read_new("dm:ana");
    assert!(world.google.events(ANA).is_empty() && world.google.events(BO).is_empty());
    let told = world.google.invitations(BO);
    assert_eq!(told.iter().map(|one| &one.kind).collect::<Vec<_>>(), [&InvitationKind::Cancelled]);
    world.finish().await;
}

async fn an_invitation_is_answered_after_a_yes(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let theirs = NewEvent { organizer: Some("eve@partner.example".into()), ..standup() };
    let id = world.google.add_event(ANA, &theirs).unwrap();
    let answer = json!({ "event": id, "answer": "no", "note": "On a plane then" });
    world.script_model("tool", [Answer::tool("calendar_respond", answer), Answer::text("Eve knows.")]);
    world.say("ana", "dm:ana", "decline Eve's meeting, I'm on a plane").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: decline Eve's meeting, I'm on a plane
        nod: # Answer this invitation?
          Calendar  ana@acme.test
          Title  Standup
          When  Mon 9 Mar, 10:00–10:30 WET
          From  eve@partner.example
          Answer  No
          Note  On a plane then
          ⚠ eve@partner.example came from something I read, not from you · 2 more
          · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
          [Approve & answer No] [Deny] [Show all]
    "); }
    world.click("ana", "dm:ana", "Approve & answer No").await;
    world.read_new("dm:ana");
    let event = world.google.event(ANA, &id).unwrap();
    assert_eq!(event.response(ANA), Some("declined"));
    assert_eq!(event.response(BO), Some("needsAction"));
    world.finish().await;
}

async fn what_somebody_changed_meanwhile_is_not_overwritten(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let id = world.google.add_event(ANA, &standup()).unwrap();
    let change = json!({ "event": id, "when": "Monday at 3pm" });
    world.script_model(
        "tool",
        [
            Answer::tool("calendar_update_event", change),
            Answer::text("It was moved meanwhile, so I left it."),
        ],
    );
    world.say("ana", "dm:ana", "move Monday's standup to 3pm").await;
    let time = Some(("2026-03-09 11:00".to_owned(), "2026-03-09 11:30".to_owned()));
    assert!(world.google.edit_event(ANA, &id, &EventEdit { time, ..EventEdit::default() }));
    world.read_new("dm:ana");
    world.click("ana", "dm:ana", "Approve & update").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: move Monday's standup to 3pm
        nod: # Event not updated
          Calendar  ana@acme.test
          Title  Standup
          When  Mon 9 Mar, 10:00–10:30 WET → Mon 9 Mar, 15:00–15:30 WET
          Guests  bo@acme.test
          For guests  Bo Lind 16:00–16:30 CET
          Approved by Ana Silva 09:30 WET → Not updated 09:30 WET
          · The event was changed in the meantime. Nothing was updated: ask me again if you still want it.
        nod: It was moved meanwhile, so I left it.
          · To be clear, nothing was sent or changed just now.
    "); }
    assert_eq!(event_time(&world.google.event(ANA, &id).unwrap()), "2026-03-09 11:00–11:30");
    world.finish().await;
}

async fn a_guest_who_answers_meanwhile_changes_nothing(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let id = world.google.add_event(ANA, &standup()).unwrap();
    let change = json!({ "event": id, "place": "Room 2", "add_guests": ["cy@partner.example"] });
    world.script_model("tool", [Answer::tool("calendar_update_event", change), Answer::text("Done.")]);
    world.say("ana", "dm:ana", "standup is in room 2, and Cy of the partners comes too").await;
    assert!(world.google.respond_as(BO, &id, "accepted"));
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: standup is in room 2, and Cy of the partners comes too
        nod: # Update this event?
          Calendar  ana@acme.test
          Title  Standup
          When  Mon 9 Mar, 10:00–10:30 WET
          Guests  bo@acme.test, + cy@partner.example
          For guests  Bo Lind 11:00–11:30 CET
          Place  — → Room 2
          ⚠ cy@partner.example is outside acme.test
          · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
          [Approve & update] [Deny]
    "); }
    world.click("ana", "dm:ana", "Approve & update").await;
    world.read_new("dm:ana");
    let event = world.google.event(ANA, &id).unwrap();
    assert_eq!((event.location.as_str(), event.response(BO)), ("Room 2", Some("accepted")));
    assert_eq!(event.response("cy@partner.example"), Some("needsAction"));
    world.finish().await;
}

async fn a_weekly_meeting_follows_its_zone(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let weekly = json!({
        "title": "One to one", "when": "Mon 9–9:30", "guests": ["Bo"], "meet": true, "reminders": [10],
        "repeats": { "every": "week", "times": 4 }, "text": "How is it going?",
    });
    world.script_model("tool", [create(weekly), Answer::text("It stands.")]);
    world.say("ana", "dm:ana", "a one to one with Bo every Monday at 9, four times").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: a one to one with Bo every Monday at 9, four times
        nod: # Send this invitation?
          Calendar  ana@acme.test
          Title  One to one
          When  Mon 9 Mar, 09:00–09:30 WET
          Repeats  every week, 4 times
          Guests  bo@acme.test
          For guests  Bo Lind 10:00–10:30 CET
          Meet  Google Meet link
          Reminders  10 min before
          Read as  “9” without am or pm: I took 09:00, within working hours
          How is it going?
          ⚠ I only checked who is free the first time
          · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
          [Approve & invite] [Edit] [Deny]
    "); }
    world.click("ana", "dm:ana", "Approve & invite").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: a one to one with Bo every Monday at 9, four times
        nod: # Invitation created
          Calendar  ana@acme.test
          Title  One to one
          When  Mon 9 Mar, 09:00–09:30 WET
          Repeats  every week, 4 times
          Guests  bo@acme.test
          For guests  Bo Lind 10:00–10:30 CET
          Meet  Google Meet link
          Reminders  10 min before
          Read as  “9” without am or pm: I took 09:00, within working hours
          How is it going?
          Approved by Ana Silva 09:30 WET → Created 09:30 WET
          [Open in Calendar]
        nod: It stands.
    "); }
    let (from, until) = ("2026-03-01T00:00:00Z".parse().unwrap(), "2026-06-01T00:00:00Z".parse().unwrap());
    let all = world.google.events_between(BO, from, until);
    let when: Vec<String> = all.iter().map(|one| one.start.format("%-d %b %H:%M UTC").to_string()).collect();
    // Lisbon is an hour ahead of UTC from 29 March on.
    assert_eq!(when, ["9 Mar 09:00 UTC", "16 Mar 09:00 UTC", "23 Mar 09:00 UTC", "30 Mar 08:00 UTC"]);
    world.finish().await;
}

async fn an_invitation_is_edited_before_the_yes(platform: Platform) {
    let mut world = with_calendars(platform).await;
    world.script_model("tool", [create(lunch()), Answer::text("Bo is invited.")]);
    world.say("ana", GENERAL, "@nod lunch with Bo next Tuesday at noon, an hour").await;
    world.read_new(GENERAL);
    world.edit_request("ana", GENERAL, &[("When", "Wed 11 Mar 2026 12:30"), ("Place", "Canteen")]).await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new(GENERAL)), @r"
        ana: @nod lunch with Bo next Tuesday at noon, an hour
            nod: # Send this invitation? · edited
              Calendar  ana@acme.test
              Title  Lunch
              When  Wed 11 Mar, 12:30–13:30 WET
              Guests  bo@acme.test
              For guests  Bo Lind 13:30–14:30 CET
              Place  Canteen
              ⚠ You edited this, so I haven't checked whether everyone is free then
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & invite] [Edit] [Deny]
    "); }
    world.click("ana", GENERAL, "Approve & invite").await;
    world.read_new(GENERAL);
    let events = world.google.events(BO);
    assert_eq!(
        (event_time(&events[0]).as_str(), events[0].location.as_str()),
        ("2026-03-11 12:30–13:30", "Canteen")
    );
    world.finish().await;
}

async fn free_times_are_told_without_what_others_do(platform: Platform) {
    let mut world = with_calendars(platform).await;
    world
        .google
        .add_event(BO, &appointment("Secret merger", "2026-03-09 09:00", "2026-03-09 12:00"))
        .unwrap();
    let within = json!({ "within": "Monday", "people": ["Bo"], "minutes": 60, "max": 3 });
    world.script_model(
        "tool",
        [
            Answer::tool("calendar_find_free_slots", within),
            Answer::text("You both can at noon, at one, or at two."),
        ],
    );
    world.say("ana", "dm:ana", "when do Bo and I have an hour on Monday?").await;
    world.read_new("dm:ana");
    let seen = world.dump_rows().await;
    assert!(!seen.contains("merger"));
    let found = "select output::text from run_steps where name = 'calendar_find_free_slots'";
    let found: String = sqlx::query_scalar(found).fetch_one(&world.pool).await.unwrap();
    let slots: Vec<&str> =
        found.split("\"when\": \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(slots.iter().any(|slot| slot.starts_with("Mon 9 Mar, 12:00–13:00")), "{slots:?}");
    assert!(slots.iter().all(|slot| !slot.contains("09:00–10:00")), "{slots:?}");
    world.finish().await;
}

async fn a_week_becomes_a_time_by_a_button(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let planning = json!({ "title": "Planning", "when": "next week", "minutes": 45, "guests": ["Bo"] });
    world.script_model("tool", [create(planning), Answer::text("Bo is invited.")]);
    world.say("ana", GENERAL, "@nod find 45 minutes with Bo next week for planning").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(compact(world.read_new(GENERAL)), @r"
        ana: @nod find 45 minutes with Bo next week for planning
            nod: · Asked Ana Silva privately.
    ");
    }
    let asked = world.read_new("dm:ana");
    assert!(asked.contains("nod: # Everyone is free then. Which time?"), "{asked}");
    world.click("ana", "dm:ana", "Mon 9 Mar, 09:00–09:45 WET").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new("dm:ana")), @r"
        nod: · ✓ Google is connected: ana@acme.test
        nod: · When is “next week”? → Mon 9 Mar, 09:00–09:45 WET
        nod: # Send this invitation?
          Calendar  ana@acme.test
          Title  Planning
          When  Mon 9 Mar, 09:00–09:45 WET
          Guests  bo@acme.test
          For guests  Bo Lind 10:00–10:45 CET
          · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
          [Approve & invite] [Edit] [Deny]
    "); }
    world.click("ana", "dm:ana", "Approve & invite").await;
    world.read_new("dm:ana");
    world.read_new(GENERAL);
    assert_eq!(event_time(&world.google.events(BO)[0]), "2026-03-09 09:00–09:45");
    world.finish().await;
}

async fn a_double_booking_is_said_to_its_person_alone(platform: Platform) {
    let mut world = with_calendars(platform).await;
    world.google.add_event(BO, &appointment("Gym", "2026-03-10 12:00", "2026-03-10 13:00")).unwrap();
    world.google.add_event(ANA, &appointment("Dentist", "2026-03-10 11:00", "2026-03-10 12:30")).unwrap();
    for place in [GENERAL, "dm:ana"] {
        world.script_model("tool", [create(lunch())]);
        world.say("ana", place, "@nod lunch with Bo next Tuesday at noon, an hour").await;
        let card = world.read_new(place);
        let whole = world.read_in_full("ana", place, &card).await;
        assert_eq!(whole.contains("bo@acme.testisbusythen"), place == "dm:ana", "{whole}");
        let booked = "You have “Dentist” at that time (Tue 10 Mar, 11:00–12:30 WET)";
        assert_eq!(card.contains(booked), place == "dm:ana", "{card}");
        assert!(place == "dm:ana" || !card.contains("your calendar"), "{card}");
        // A new title does not change the time.
        world.edit_request("ana", place, &[("Title", "Long lunch")]).await;
        let card = world.read_new(place);
        assert!(card.contains("edited"), "{card}");
        let whole = world.read_in_full("ana", place, &card).await;
        let times = whole.matches("bo@acme.testisbusythen").count();
        assert_eq!(times, usize::from(place == "dm:ana"), "{whole}");
        assert_eq!(card.contains(booked), place == "dm:ana", "{card}");
        world.model.will(Answer::text("As you like."));
        world.deny_request("ana", place, "").await;
        world.read_new(place);
    }
    world.finish().await;
}

async fn guests_elsewhere_read_their_own_time_on_the_card(platform: Platform) {
    let mut world = with_calendars(platform).await;
    world.make_mail_address_known("cho").await;
    world.set_time_zone("cho", "Asia/Tokyo").await;
    let review = json!({ "title": "Review", "when": "today at 3pm", "guests": ["Bo", "Cho"] });
    world.script_model("tool", [create(review), Answer::text("Both are invited.")]);
    world.say("ana", GENERAL, "@nod a review with Bo and Cho today at 3").await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new(GENERAL)), @r"
        ana: @nod a review with Bo and Cho today at 3
            nod: # Send this invitation?
              Calendar  ana@acme.test
              Title  Review
              When  Fri 6 Mar, 15:00–15:30 WET
              Guests  bo@acme.test, cho@acme.test
              For guests  Bo Lind 16:00–16:30 CET · Cho Park Sat 00:00–00:30 JST
              ⚠ Cho Park: outside their working hours (Sat 00:00 there)
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & invite] [Edit] [Deny]
    "); }
    world.edit_request("ana", GENERAL, &[("When", "Mon 9 Mar 2026 09:00")]).await;
    insta::allow_duplicates! { insta::assert_snapshot!(compact(world.read_new(GENERAL)), @r"
        ana: @nod a review with Bo and Cho today at 3
            nod: # Send this invitation? · edited
              Calendar  ana@acme.test
              Title  Review
              When  Mon 9 Mar, 09:00–09:30 WET
              Guests  bo@acme.test, cho@acme.test
              For guests  Bo Lind 10:00–10:30 CET · Cho Park 18:00–18:30 JST
              ⚠ You edited this, so I haven't checked whether everyone is free then · 1 more
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & invite] [Edit] [Deny] [Show all]
    "); }
    world.click("ana", GENERAL, "Approve & invite").await;
    world.read_new(GENERAL);
    assert_eq!(event_time(&world.google.events(BO)[0]), "2026-03-09 09:00–09:30");
    world.finish().await;
}

/// Slack reports time zones; Discord does not, so its users learn how to set theirs.
#[tokio::test]
async fn who_never_said_their_zone_is_told_that_times_are_utc() {
    let mut world = World::new_on(Platform::Discord).await;
    world.connect_google("ana").await;
    for known in [false, true] {
        world.script_model("tool", [create(json!({ "title": "Focus", "when": "today at 3pm" }))]);
        world.say("ana", GENERAL, "@nod block 3pm for me").await;
        let card = world.read_new(GENERAL);
        let told = "I don't know the time zone of Ana Silva, so times are in";
        assert_eq!(card.contains(told), !known, "{card}");
        world.model.will(Answer::text("As you like."));
        world.deny_request("ana", GENERAL, "").await;
        world.read_new(GENERAL);
        world.set_time_zone("ana", "Europe/Lisbon").await;
    }
    world.finish().await;
}

async fn a_description_that_kills_its_reader_is_told(platform: Platform) {
    let mut world = with_calendars(platform).await;
    let bomb = hostile::html_that_eats_memory(450, 500);
    assert!(bomb.len() < 8_192, "Calendar takes as much");
    for event in [
        NewEvent { description: bomb, ..standup() },
        NewEvent {
            description: "Bring <b>the plan</b>".into(),
            ..appointment("Review", "2026-03-09 11:00", "2026-03-09 11:30")
        },
    ] {
        world.google.add_event(ANA, &event).unwrap();
    }
    let look = Answer::tool("calendar_get_agenda", json!({ "when": "Monday" }));
    world.script_model("tool", [look, Answer::text("Two.")]);
    world.say("ana", "dm:ana", "what is on Monday?").await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("(not read: reading it took more memory than I give to a text)"), "{asked}");
    assert!(asked.contains("Bring the plan"), "{asked}");
    world.read_new("dm:ana");
    world.finish().await;
}
