//! Recurrence: rules, instances, exceptions, daylight saving.

use serde_json::{Value, json};

use super::{ANA, BO, Fixture, as_who, assert_kept, company, delete, get, insert, patch, with_fields};

/// An event on a Monday at nine in Lisbon, a week before summer time begins.
fn standup(rule: &[&str]) -> Value {
    let at =
        |hour: &str| json!({"dateTime": format!("2026-03-23T{hour}:00:00Z"), "timeZone": "Europe/Lisbon"});
    json!({"summary": "Standup", "start": at("09"), "end": at("10"), "recurrence": rule})
}

async fn starts(world: &Fixture, path: &str) -> Vec<String> {
    let list = get(world, path).await;
    assert_eq!(list.status, 200, "{}", list.json);
    let start = |one: &Value| {
        one["start"]["dateTime"].as_str().or(one["start"]["date"].as_str()).unwrap_or("-").to_owned()
    };
    list.json["items"].as_array().unwrap().iter().map(start).collect()
}

#[tokio::test]
async fn a_series_keeps_its_hour_through_daylight_saving() {
    let world = company().await;
    let made = insert(&world, "", standup(&["RRULE:FREQ=WEEKLY;COUNT=3"])).await;
    assert_eq!(made.status, 200, "{}", made.json);
    let id = made.json["id"].as_str().unwrap();
    let expected = ["2026-03-23T09:00:00+00:00", "2026-03-30T09:00:00+01:00", "2026-04-06T09:00:00+01:00"];
    assert_eq!(starts(&world, &format!("calendars/primary/events/{id}/instances")).await, expected);
    let window = "timeMin=2026-03-01T00:00:00Z&timeMax=2026-05-01T00:00:00Z";
    let path = format!("calendars/primary/events?singleEvents=true&orderBy=startTime&{window}");
    assert_eq!(starts(&world, &path).await, expected);
    assert_eq!(starts(&world, "calendars/primary/events").await, expected[..1], "the series itself");
    let second = get(&world, &format!("calendars/primary/events/{id}_20260330T080000Z")).await.json;
    assert_eq!((&second["recurringEventId"], second.get("recurrence")), (&json!(id), None));
    assert_eq!(second["originalStartTime"]["dateTime"], expected[1]);
    assert_eq!(get(&world, &format!("calendars/primary/events/{id}_20260330T090000Z")).await.status, 404);
    assert_kept(&world);
}

#[tokio::test]
async fn rules_fall_where_they_say() {
    let world = company().await;
    for (rule, days) in [
        ("RRULE:FREQ=DAILY;INTERVAL=2;COUNT=3", "03-23 03-25 03-27"),
        ("RRULE:FREQ=DAILY;UNTIL=20260325T090000Z", "03-23 03-24 03-25"),
        ("RRULE:FREQ=DAILY;UNTIL=20260325T085959Z", "03-23 03-24"),
        ("RRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR;COUNT=4", "03-23 03-25 03-27 03-30"),
        ("RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;COUNT=4;WKST=MO", "03-23 03-29 04-06 04-12"),
        ("RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;COUNT=4;WKST=SU", "03-23 04-05 04-06 04-19"),
        ("RRULE:FREQ=MONTHLY;BYDAY=4MO;COUNT=3", "03-23 04-27 05-25"),
        ("RRULE:FREQ=MONTHLY;BYMONTHDAY=23;COUNT=3", "03-23 04-23 05-23"),
        ("RRULE:FREQ=YEARLY;COUNT=2", "03-23 03-23"),
    ] {
        let made = insert(&world, "", standup(&[rule])).await;
        assert_eq!(made.status, 200, "{rule}: {}", made.json);
        let id = made.json["id"].as_str().unwrap();
        let all =
            starts(&world, &format!("calendars/primary/events/{id}/instances?timeMax=2028-01-01T00:00:00Z"))
                .await;
        let all: Vec<&str> = all.iter().map(|one| &one[5..10]).collect();
        assert_eq!(all.join(" "), days, "{rule}");
    }
    let made = insert(
        &world,
        "",
        standup(&["RRULE:FREQ=DAILY;COUNT=4", "EXDATE;TZID=Europe/Lisbon:20260324T090000,20260325T090000"]),
    )
    .await;
    let id = made.json["id"].as_str().unwrap();
    assert_eq!(starts(&world, &format!("calendars/primary/events/{id}/instances")).await.len(), 2);
    let day = |day: &str| json!({"date": format!("2026-01-{day}")});
    let last = json!({"start": day("31"), "end": {"date": "2026-02-01"}, "recurrence": ["RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3"]});
    let made = insert(&world, "", last).await;
    let id = made.json["id"].as_str().unwrap();
    assert_eq!(
        starts(&world, &format!("calendars/primary/events/{id}/instances")).await,
        ["2026-01-31", "2026-02-28", "2026-03-31"]
    );
    assert_eq!(get(&world, &format!("calendars/primary/events/{id}_20260228")).await.status, 200);
    let endless = insert(&world, "", standup(&["RRULE:FREQ=DAILY"])).await.json;
    let path = format!("calendars/primary/events/{}/instances?maxResults=5", endless["id"].as_str().unwrap());
    assert!(get(&world, &path).await.json["nextPageToken"].is_string());
    assert_kept(&world);
}

#[tokio::test]
async fn rules_that_are_none_are_refused() {
    let world = company().await;
    for rule in [
        "RRULE:FREQ=HOURLY",
        "RRULE:FREQ=WEEKLY;COUNT=3;UNTIL=20260401T000000Z",
        "RRULE:FREQ=WEEKLY;UNTIL=20260401",
        "RRULE:FREQ=WEEKLY;UNTIL=20260401T000000",
        "RRULE:FREQ=WEEKLY;INTERVAL=0",
        "RRULE:FREQ=WEEKLY;BYDAY=TU",
        "RRULE:FREQ=WEEKLY;BYDAY=1MO",
        "RRULE:FREQ=WEEKLY;BYDAY=XX",
        "RRULE:FREQ=MONTHLY;BYSETPOS=1;BYDAY=MO",
        "RRULE:FREQ=WEEKLY;FREQ=DAILY",
        "FREQ=WEEKLY",
        "DTSTART:20260323T090000Z",
        "EXDATE:20260323T090000Z",
        "RRULE:",
    ] {
        let refused = insert(&world, "", standup(&[rule])).await;
        assert_eq!(refused.reason(), (400, "invalid"), "{rule}: {}", refused.json);
    }
    let zoneless =
        with_fields(standup(&["RRULE:FREQ=DAILY"]), json!({"start": {"dateTime": "2026-03-23T09:00:00Z"}}));
    assert_eq!(insert(&world, "", zoneless).await.reason(), (400, "required"));
}

#[tokio::test]
async fn one_of_a_series_is_moved_cancelled_and_declined_alone() {
    let world = company().await;
    let event = with_fields(standup(&["RRULE:FREQ=DAILY;COUNT=4"]), json!({"attendees": [{"email": BO}]}));
    let id = insert(&world, "", event).await.json["id"].as_str().unwrap().to_owned();
    let one = |day: &str| format!("{id}_202603{day}T090000Z");
    let at =
        |hour: &str| json!({"dateTime": format!("2026-03-24T{hour}:00:00Z"), "timeZone": "Europe/Lisbon"});
    let moved = patch(&world, &one("24"), json!({"start": at("15"), "end": at("16")})).await;
    assert_eq!((moved.status.as_u16(), &moved.json["id"]), (200, &json!(one("24"))));
    assert_eq!(moved.json["originalStartTime"]["dateTime"], "2026-03-24T09:00:00+00:00");
    assert_eq!(delete(&world, &one("25")).await.status, 204);
    assert_eq!(delete(&world, &one("25")).await.reason(), (410, "deleted"));
    let no = json!({"attendees": [{"email": BO, "responseStatus": "declined"}], "attendeesOmitted": true});
    assert_eq!(patch(&as_who(&world, BO), &one("26"), no).await.status, 200);
    let instances = format!("calendars/primary/events/{id}/instances");
    let expected = ["2026-03-23T09:00:00+00:00", "2026-03-24T15:00:00+00:00", "2026-03-26T09:00:00+00:00"];
    assert_eq!(starts(&world, &instances).await, expected);
    assert_eq!(world.google.event(ANA, &one("26")).unwrap().response(BO), Some("declined"));
    assert_eq!(world.google.event(ANA, &id).unwrap().response(BO), Some("needsAction"));
    let list = get(&world, "calendars/primary/events").await.json;
    let gone = list["items"].as_array().unwrap().iter().find(|item| item["id"] == one("25")).unwrap().clone();
    assert!(gone["status"] == "cancelled" && gone.get("summary").is_none(), "{gone}");
    assert_eq!(delete(&world, &id).await.status, 204);
    let window = "singleEvents=true&timeMin=2026-03-01T00:00:00Z&timeMax=2026-05-01T00:00:00Z";
    assert!(starts(&world, &format!("calendars/primary/events?{window}")).await.is_empty());
    assert!(world.google.events(BO).is_empty());
    assert_kept(&world);
}
