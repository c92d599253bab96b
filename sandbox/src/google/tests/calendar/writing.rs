//! Events created, changed and cancelled.

use serde_json::{Value, json};

use super::{
    ANA, Answer, Method, as_who, ask, assert_kept, at, company, delete, get, insert, lunch, patch,
    with_fields,
};
use crate::Fault;
use crate::google::EventEdit;

#[tokio::test]
async fn an_event_is_made_once_under_its_own_id() {
    let world = company().await;
    let event =
        with_fields(lunch(), json!({"id": "nod0123456789abcdefghijklmnopqrstuv", "location": "Tasca"}));
    let made = insert(&world, "sendUpdates=all", event.clone()).await;
    assert_eq!(made.status, 200, "{}", made.json);
    assert_eq!(made.json["status"], "confirmed");
    assert_eq!(
        made.json["start"],
        json!({"dateTime": "2026-11-24T12:00:00+00:00", "timeZone": "Europe/Lisbon"})
    );
    assert_eq!(made.json["organizer"]["self"], true);
    assert_eq!(made.etag.as_deref(), made.json["etag"].as_str());
    assert_eq!(insert(&world, "", event.clone()).await.reason(), (409, "duplicate"));
    let id = made.json["id"].as_str().unwrap();
    assert_eq!(delete(&world, id).await.status, 204);
    assert_eq!(delete(&world, id).await.reason(), (410, "deleted"));
    assert_eq!(patch(&world, id, json!({"summary": "x"})).await.reason(), (410, "deleted"));
    assert_eq!(insert(&world, "", event).await.reason(), (409, "duplicate"), "the id is burned");
    let gone = get(&world, &format!("calendars/{ANA}/events/{id}")).await;
    assert_eq!((&gone.json["status"], &gone.json["summary"]), (&json!("cancelled"), &json!("Lunch")));
    assert!(world.google.events(ANA).is_empty());
    assert_eq!(world.google.event(ANA, id).unwrap().status, "cancelled");
    assert!(world.google.list_all_invitations().is_empty(), "nobody was asked");
    assert_kept(&world);
}

#[tokio::test]
async fn what_is_not_an_event_is_refused() {
    let world = company().await;
    let long = "x".repeat(1025);
    let crowd: Vec<Value> = (0..201).map(|n| json!({"email": format!("g{n}@else.test")})).collect();
    for (more, reason) in [
        (json!({"end": at("12:00")}), "timeRangeEmpty"),
        (json!({"end": at("11:00")}), "timeRangeEmpty"),
        (json!({"end": {"date": "2026-11-25"}}), "invalid"),
        (json!({"end": {}}), "required"),
        (json!({"start": {"dateTime": "2026-11-24T12:00:00Z", "timeZone": "Europe/Nowhere"}}), "invalid"),
        (json!({"start": {"dateTime": "2026-11-24T12:00:00Z", "timeZone": "europe/lisbon"}}), "invalid"),
        (json!({"start": {"dateTime": "2026-11-24T12:00:00Z", "date": "2026-11-24"}}), "invalid"),
        (json!({"start": {"dateTime": "2026-11-31T12:00:00Z"}}), "invalid"),
        (json!({"id": "Nod-1"}), "invalid"),
        (json!({"id": "abc"}), "invalid"),
        (json!({"summary": long}), "invalid"),
        (json!({"attendees": [{"email": "not an address"}]}), "invalid"),
        (json!({"attendees": [{"displayName": "Bo"}]}), "required"),
        (json!({"attendees": [{"email": "a@b.test"}, {"email": "A@b.test"}]}), "invalid"),
        (json!({"attendees": [{"email": "a@b.test", "responseStatus": "accepted"}]}), "invalid"),
        (json!({"attendees": crowd}), "invalid"),
        (
            json!({"reminders": {"useDefault": true, "overrides": [{"method": "popup", "minutes": 5}]}}),
            "cannotUseDefaultRemindersAndSpecifyOverride",
        ),
        (
            json!({"reminders": {"useDefault": false, "overrides": [{"method": "popup", "minutes": 40321}]}}),
            "invalid",
        ),
        (
            json!({"reminders": {"useDefault": false, "overrides": [{"method": "sms", "minutes": 5}]}}),
            "invalid",
        ),
        (json!({"visibility": "secret"}), "invalid"),
        (json!({"colorId": "12"}), "invalid"),
        (json!({"status": "cancelled"}), "invalid"),
        (json!({"organizer": {"email": "eve@else.test"}}), "invalid"),
        (json!({"attachments": []}), "invalid"),
        (json!({"extendedProperties": {"private": {"x": "y".repeat(1025)}}}), "invalid"),
    ] {
        let refused = insert(&world, "", with_fields(lunch(), more.clone())).await;
        assert_eq!(refused.reason(), (400, reason), "{more}: {}", refused.json);
    }
    for query in ["sendUpdates=some", "sendNotifications=true", "conferenceDataVersion=2", "color=1"] {
        assert_eq!(insert(&world, query, lunch()).await.status, 400, "{query}");
    }
    let missing = insert(&world, "", json!({"summary": "Lunch", "start": at("12:00")})).await;
    assert_eq!(missing.status, 400);
    assert!(world.google.events(ANA).is_empty());
}

#[tokio::test]
async fn whole_days_end_before_their_last_one() {
    let world = company().await;
    let days = json!({"summary": "Away", "start": {"date": "2026-12-24"}, "end": {"date": "2026-12-27"}});
    let made = insert(&world, "", days).await;
    assert_eq!(made.json["end"], json!({"date": "2026-12-27"}));
    assert_eq!(world.google.events(ANA)[0].describe_time(), "2026-12-24 to 2026-12-26");
    let none = json!({"start": {"date": "2026-12-24"}, "end": {"date": "2026-12-24"}});
    assert_eq!(insert(&world, "", none).await.reason(), (400, "timeRangeEmpty"));
    let id = made.json["id"].as_str().unwrap();
    let both = json!({"start": at("12:00"), "end": at("13:00")});
    assert_eq!(patch(&world, id, both.clone()).await.status, 400, "a patch lays a time over the day");
    let path = format!("calendars/primary/events/{id}");
    assert_eq!(ask(&world, Method::PUT, &path, Some(both), &[]).await.status, 200);
    assert_eq!(world.google.events(ANA)[0].describe_time(), "2026-11-24 12:00–13:00 Europe/Lisbon");
    assert_kept(&world);
}

async fn guarded(world: &super::Fixture, method: Method, id: &str, etag: &str) -> Answer {
    let body = (method != Method::DELETE).then(|| json!({"summary": "Late lunch"}));
    ask(world, method, &format!("calendars/primary/events/{id}"), body, &[("If-Match", etag)]).await
}

#[tokio::test]
async fn a_stale_etag_changes_nothing() {
    let world = company().await;
    let made = insert(&world, "", lunch()).await;
    let (id, stale) = (made.json["id"].as_str().unwrap(), made.etag.clone().unwrap());
    let edit = EventEdit { title: Some("Brunch".into()), ..EventEdit::default() };
    assert!(world.google.edit_event(ANA, id, &edit));
    for method in [Method::PATCH, Method::DELETE] {
        let refused = guarded(&world, method, id, &stale).await;
        assert_eq!(refused.reason(), (412, "conditionNotMet"));
        assert_eq!(refused.json["error"]["errors"][0]["location"], "If-Match");
    }
    assert_eq!(world.google.events(ANA)[0].title, "Brunch");
    let fresh = get(&world, &format!("calendars/primary/events/{id}")).await.etag.unwrap();
    let known = &[("If-None-Match", fresh.as_str())];
    let same = ask(&world, Method::GET, &format!("calendars/primary/events/{id}"), None, known).await;
    assert_eq!(same.status, 304);
    let changed = guarded(&world, Method::PATCH, id, &fresh).await;
    assert_eq!((changed.status.as_u16(), &changed.json["sequence"]), (200, &json!(2)));
    assert_ne!(changed.etag.unwrap(), fresh);
    assert_eq!(guarded(&world, Method::PATCH, id, "*").await.status, 200);
    assert_kept(&world);
}

#[tokio::test]
async fn an_update_leaves_only_what_it_says() {
    let world = company().await;
    let made = insert(
        &world,
        "",
        with_fields(lunch(), json!({"description": "Soup", "attendees": [{"email": "bo@acme.test"}]})),
    )
    .await;
    let id = made.json["id"].as_str().unwrap();
    let patched = patch(&world, id, json!({"location": "Tasca", "sequence": 0})).await;
    assert_eq!((&patched.json["description"], &patched.json["sequence"]), (&json!("Soup"), &json!(1)));
    assert_eq!(patch(&world, id, json!({"sequence": 0})).await.status, 400, "sequences grow");
    let path = format!("calendars/primary/events/{id}");
    let updated = ask(&world, Method::PUT, &path, Some(lunch()), &[]).await;
    assert_eq!(updated.status, 200, "{}", updated.json);
    assert!(updated.json.get("description").is_none() && updated.json.get("attendees").is_none());
    let whole = updated.json.clone();
    let same = ask(&world, Method::PUT, &path, Some(whole), &[]).await;
    assert_eq!(same.json["etag"], updated.json["etag"], "what was read may be written back");
    assert_kept(&world);
}

#[tokio::test]
async fn a_meet_link_is_made_once_and_only_for_those_who_speak_of_it() {
    let world = company().await;
    let wish = json!({"conferenceData": {"createRequest":
        {"requestId": "r-1", "conferenceSolutionKey": {"type": "hangoutsMeet"}}}});
    assert_eq!(insert(&world, "", with_fields(lunch(), wish.clone())).await.status, 400);
    let made = insert(&world, "conferenceDataVersion=1", with_fields(lunch(), wish.clone())).await;
    let link = made.json["hangoutLink"].as_str().unwrap();
    assert!(link.starts_with("https://meet.google.com/"));
    assert_eq!(world.google.events(ANA)[0].link.as_deref(), Some(link));
    let id = made.json["id"].as_str().unwrap();
    let again = patch(&world, &format!("{id}?conferenceDataVersion=1"), wish).await;
    assert_eq!((&again.json["hangoutLink"], &again.json["sequence"]), (&json!(link), &json!(0)));
    let path = format!("calendars/primary/events/{id}");
    let kept = ask(&world, Method::PUT, &path, Some(lunch()), &[]).await;
    assert_eq!(kept.json["hangoutLink"], link, "without version 1 it stays");
    let zoom = json!({"conferenceData": {"createRequest":
        {"requestId": "r-2", "conferenceSolutionKey": {"type": "zoom"}}}});
    assert_eq!(insert(&world, "conferenceDataVersion=1", with_fields(lunch(), zoom)).await.status, 400);
}

#[tokio::test]
async fn faults_speak_calendars_words() {
    let world = company().await;
    let faults = &world.google.faults;
    faults.next(
        "calendar.events.insert",
        Fault::ErrorReason { code: 403, reason: "rateLimitExceeded", retry_after: None },
    );
    faults.next("calendar.events.insert", Fault::Status { code: 429, retry_after: Some(7) });
    faults.next(
        "calendar.events.insert",
        Fault::ErrorReason { code: 403, reason: "quotaExceeded", retry_after: None },
    );
    let limited = insert(&world, "", lunch()).await;
    assert_eq!(limited.reason(), (403, "rateLimitExceeded"));
    assert_eq!(limited.json["error"]["errors"][0]["domain"], "usageLimits");
    assert_eq!(insert(&world, "", lunch()).await.reason(), (429, "rateLimitExceeded"));
    assert_eq!(insert(&world, "", lunch()).await.reason(), (403, "quotaExceeded"));
    faults.next("calendar.events.insert", Fault::DropResponse);
    let url = format!("{}/calendar/v3/calendars/primary/events", world.google.url());
    assert!(world.http.post(url).bearer_auth(&world.token).json(&lunch()).send().await.is_err());
    assert_eq!(world.google.events(ANA).len(), 1, "it was done all the same");
    let calls = world.google.calls();
    assert_eq!(calls.last().unwrap().operation, "calendar.events.insert");
    assert_eq!(calls.last().unwrap().body["summary"], "Lunch");
}

#[tokio::test]
async fn scopes_and_tokens_are_looked_at() {
    let mut world = company().await;
    let scope = |name: &str| format!("https://www.googleapis.com/auth/{name}");
    world.token = world.google.grant_as(ANA, &[&scope("calendar.events.readonly")]).access_token;
    assert_eq!(insert(&world, "", lunch()).await.reason(), (403, "insufficientPermissions"));
    assert_eq!(get(&world, "calendars/primary/events").await.status, 200);
    assert_eq!(get(&world, "users/me/settings/timezone").await.status, 403);
    world.token = world.google.grant_as(ANA, &["https://mail.google.com/"]).access_token;
    assert_eq!(get(&world, "calendars/primary/events").await.status, 403, "mail is not the calendar");
    world.google.revoke_grants(ANA);
    let dead = get(&world, "calendars/primary/events").await;
    assert_eq!(dead.reason(), (401, "authError"));
    let bo = as_who(&world, super::BO);
    assert_eq!(
        ask(&bo, Method::POST, "calendars/primary/events/quickAdd?text=x", None, &[]).await.status,
        404
    );
    assert_eq!(world.google.violations().len(), 1);
}

/// The table of operations contains nothing that Google's own description does not.
#[test]
fn every_operation_and_its_scopes_are_googles() {
    let Some(dir) = std::env::var_os("NOD_SPECS_DIR") else { return };
    let dir = std::path::PathBuf::from(dir).join("google");
    let spec = crate::spec::Spec::read(&dir, "calendar.v3.schema.json").unwrap();
    for operation in &crate::google::calendar::OPERATIONS {
        let method = &spec.document()["x-methods"][operation.id];
        assert_eq!(method["method"], operation.method.as_str(), "{}", operation.id);
        for scope in operation.scopes {
            let scope = json!(format!("https://www.googleapis.com/auth/{scope}"));
            assert!(method["scopes"].as_array().unwrap().contains(&scope), "{}: {scope}", operation.id);
        }
        for name in operation.query {
            assert!(method["query"].get(*name).is_some(), "{}: {name}", operation.id);
        }
    }
}
