//! Lists, searches, busy times, calendars, and the week that a person sees.

use serde_json::{Value, json};

use super::{
    ANA, BO, CAT, EVE, Fixture, Method, ROOM, appointment, as_who, ask, assert_kept, company, delete, get,
    insert, lunch, patch, with_fields,
};
use crate::google::NewEvent;

async fn titles(world: &Fixture, query: &str) -> Vec<String> {
    let list = get(world, &format!("calendars/primary/events?{query}")).await;
    assert_eq!(list.status, 200, "{query}: {}", list.json);
    let items = list.json["items"].as_array().unwrap();
    items.iter().map(|one| one["summary"].as_str().unwrap_or("-").to_owned()).collect()
}

#[tokio::test]
async fn lists_find_what_they_say() {
    let world = company().await;
    let google = &world.google;
    let at = |title: &str, hours: (&str, &str)| {
        appointment(title, &format!("2026-11-24 {}", hours.0), &format!("2026-11-24 {}", hours.1))
    };
    google.add_event(ANA, &at("Second", ("15:00", "16:00"))).unwrap();
    google.add_event(ANA, &at("First", ("09:00", "10:00"))).unwrap();
    let day = appointment("Fair", "2026-11-24", "2026-11-25");
    google.add_event(ANA, &NewEvent { guests: vec![BO.into()], ..day }).unwrap();
    let tagged = with_fields(
        lunch(),
        json!({"extendedProperties": {"private": {"nod": "e-1"}}, "location": "Tasca do Zé"}),
    );
    let id = insert(&world, "", tagged).await.json["id"].as_str().unwrap().to_owned();
    let window = "timeMin=2026-11-24T10:00:00Z&timeMax=2026-11-24T15:00:00Z";
    for (query, found) in [
        ("singleEvents=true&orderBy=startTime", vec!["Fair", "First", "Lunch", "Second"]),
        ("orderBy=updated&maxResults=1", vec!["Second"]),
        (&format!("{window}&singleEvents=true&orderBy=startTime"), vec!["Fair", "Lunch"]),
        ("q=tasca", vec!["Lunch"]),
        ("q=bo%40acme.test", vec!["Fair"]),
        ("q=nothing", vec![]),
        ("privateExtendedProperty=nod%3De-1", vec!["Lunch"]),
        ("privateExtendedProperty=nod%3De-2", vec![]),
        (&format!("iCalUID={id}%40google.com"), vec!["Lunch"]),
    ] {
        assert_eq!(titles(&world, query).await, found, "{query}");
    }
    let page = get(&world, "calendars/primary/events?maxResults=3").await.json;
    let next = page["nextPageToken"].as_str().unwrap();
    assert_eq!(titles(&world, &format!("maxResults=3&pageToken={next}")).await, ["Lunch"]);
    assert_eq!(page["timeZone"], "Europe/Lisbon");
    let tokyo = get(&world, &format!("calendars/primary/events/{id}?timeZone=Asia/Tokyo")).await.json;
    assert_eq!(tokyo["start"]["dateTime"], "2026-11-24T21:00:00+09:00");
    delete(&world, &id).await;
    assert_eq!(titles(&world, "q=lunch").await, Vec::<String>::new());
    assert_eq!(titles(&world, "q=lunch&showDeleted=true").await, ["Lunch"]);
    assert_eq!(titles(&world, "q=lunch&updatedMin=2020-01-01T00:00:00Z").await, ["Lunch"]);
    assert_kept(&world);
    for refused in [
        "orderBy=startTime",
        "syncToken=x",
        "pageToken=x",
        "timeMin=2026-11-24",
        "timeZone=Mars/Base",
        "maxResults=2501",
        "timeMin=2026-11-24T10:00:00Z&timeMax=2026-11-24T10:00:00Z",
        "maxResults=0",
        "singleEvents=yes&colour=red",
    ] {
        assert_eq!(
            get(&world, &format!("calendars/primary/events?{refused}")).await.status,
            400,
            "{refused}"
        );
    }
}

async fn busy(world: &Fixture, ids: &[&str]) -> Value {
    let items: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
    let body = json!({"timeMin": "2026-11-24T00:00:00Z", "timeMax": "2026-11-25T00:00:00Z", "items": items});
    let answer = ask(world, Method::POST, "freeBusy", Some(body), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.json);
    answer.json["calendars"].clone()
}

#[tokio::test]
async fn busy_times_say_when_and_nothing_else() {
    let world = company().await;
    let google = &world.google;
    let bo = |title: &str, from: &str, to: &str| NewEvent {
        zone: Some("UTC".into()),
        ..appointment(title, &format!("2026-11-24 {from}"), &format!("2026-11-24 {to}"))
    };
    google.add_event(BO, &bo("Secret", "09:00", "10:00")).unwrap();
    google.add_event(BO, &bo("Touching", "10:00", "10:30")).unwrap();
    google.add_event(BO, &NewEvent { free: true, ..bo("Free", "12:00", "13:00") }).unwrap();
    let asked = NewEvent { organizer: Some(EVE.into()), ..bo("Asked", "14:00", "15:00") };
    let declined = google.add_event(BO, &asked).unwrap();
    assert_eq!(
        busy(&world, &[BO]).await[BO]["busy"].as_array().unwrap().len(),
        2,
        "an open invitation blocks"
    );
    assert!(google.respond_as(BO, &declined, "declined"));
    let told = busy(&world, &["primary", BO, CAT, "dan@other.test", "x@acme.test", ROOM]).await;
    assert_eq!(told[BO], json!({"busy": [{"start": "2026-11-24T09:00:00Z", "end": "2026-11-24T10:30:00Z"}]}));
    assert_eq!(told["primary"], json!({"busy": []}));
    assert_eq!(told[ROOM], json!({"busy": []}));
    for unseen in ["dan@other.test", "x@acme.test"] {
        assert_eq!(told[unseen]["errors"], json!([{"domain": "global", "reason": "notFound"}]));
    }
    google.add_event(CAT, &appointment("Off", "2026-11-24", "2026-11-25")).unwrap();
    let cat = busy(&world, &[CAT]).await;
    assert_eq!(
        cat[CAT]["busy"],
        json!([{"start": "2026-11-24T00:00:00Z", "end": "2026-11-24T15:00:00Z"}]),
        "a day in Tokyo"
    );
    let long =
        json!({"timeMin": "2026-01-01T00:00:00Z", "timeMax": "2026-11-25T00:00:00Z", "items": [{"id": BO}]});
    assert_eq!(
        ask(&world, Method::POST, "freeBusy", Some(long), &[]).await.reason(),
        (400, "timeRangeTooLong")
    );
    assert_kept(&world);
}

#[tokio::test]
async fn other_calendars_are_closed_until_they_are_shared() {
    let world = company().await;
    let dentist =
        NewEvent { private: true, ..appointment("Dentist", "2026-11-24 09:00", "2026-11-24 10:00") };
    let id = world.google.add_event(BO, &dentist).unwrap();
    let path = format!("calendars/{BO}/events");
    for closed in [
        path.clone(),
        format!("{path}/{id}"),
        format!("calendars/{BO}"),
        format!("users/me/calendarList/{BO}"),
    ] {
        let mut world = as_who(&world, ANA);
        world.token = world.google.grant_as(ANA, &["https://www.googleapis.com/auth/calendar"]).access_token;
        assert_eq!(get(&world, &closed).await.reason(), (404, "notFound"), "{closed}");
    }
    world.google.share_calendar(BO, ANA);
    let seen = get(&world, &format!("{path}/{id}")).await.json;
    assert!(seen.get("summary").is_none(), "{seen}");
    assert_eq!(
        ask(&world, Method::POST, &path, Some(lunch()), &[]).await.reason(),
        (403, "requiredAccessLevel")
    );
    let mut all = as_who(&world, ANA);
    all.token =
        world.google.grant_as(ANA, &["https://www.googleapis.com/auth/calendar.events.owned"]).access_token;
    assert_eq!(get(&all, &path).await.status, 404, "a scope for one's own");
    all.token = world.google.grant_as(ANA, &["https://www.googleapis.com/auth/calendar"]).access_token;
    let list = get(&all, "users/me/calendarList").await.json;
    assert_eq!(
        (&list["items"][0]["primary"], &list["items"][1]["accessRole"]),
        (&json!(true), &json!("reader"))
    );
    assert_eq!(get(&all, "users/me/calendarList/primary").await.json["timeZone"], "Europe/Lisbon");
    assert_eq!(get(&all, "calendars/primary").await.json["summary"], "Ana Silva");
    assert_eq!(get(&all, "users/me/settings/timezone").await.json["value"], "Europe/Lisbon");
    assert_eq!(get(&all, "users/me/settings/locale").await.status, 404);
    assert_kept(&world);
}

#[tokio::test]
async fn a_week_is_shown_plainly() {
    let world = company().await;
    let talk = NewEvent {
        guests: vec![BO.into()],
        ..appointment("Talk <b>", "2026-11-24 15:00", "2026-11-24 16:00")
    };
    let id = world.google.add_event(ANA, &talk).unwrap();
    let url = |door: &str, account: &str| {
        format!("{}/_sandbox/{door}?account={account}&day=2026-11-27", world.google.url())
    };
    let page = world.http.get(url("week", BO)).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("Tuesday, 24 November") && page.contains("10:00–11:00"), "{page}");
    assert!(page.contains("Talk &lt;b&gt;") && page.contains("from ana@acme.test"));
    let week: Value = world.http.get(url("calendar", BO)).send().await.unwrap().json().await.unwrap();
    assert_eq!(week["days"][1]["events"][0]["id"], id.as_str());
    assert_eq!(week["zone"], "America/New_York");
    assert_eq!(world.http.get(url("week", "nobody@acme.test")).send().await.unwrap().status(), 404);
    patch(&world, &format!("{id}?sendUpdates=all"), json!({"summary": "Talk"})).await;
    let week: Value = world.http.get(url("calendar", BO)).send().await.unwrap().json().await.unwrap();
    assert_eq!(week["invitations"][0]["news"], "updated");
}
