//! Three people in three zones agree on a time, and it appears in their calendars.

use chrono::{DateTime, Utc};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::*;

const PEOPLE: [&str; 3] = ["ana", "bo", "cho"];

/// Returns a person's calendar from this week on, and the mail that Calendar sent them.
async fn calendar(visit: &DemoFixture, who: &str) -> Value {
    visit.get(&format!("sandbox/google/calendar?account={who}@acme.test&weeks=3")).await
}

fn events(calendar: &Value) -> Vec<Value> {
    list(&calendar["days"]).flat_map(|day| list(&day["events"])).cloned().collect()
}

fn event_time(event: &Value, end: &str) -> DateTime<Utc> {
    event[end].as_str().unwrap().parse().unwrap()
}

/// Returns the voting card and its button with this label.
fn vote(state: &Value, label: &str) -> Option<(Value, Value)> {
    let (card, _) = find_button(state, "vote")?;
    let button = list(&card["blocks"])
        .flat_map(|block| list(&block["elements"]))
        .find(|one| one["text"]["text"] == label)?
        .clone();
    Some((card, button))
}

fn shows(state: &Value, words: &str) -> bool {
    nod_messages(state).any(|message| message["shown"].as_str().is_some_and(|shown| shown.contains(words)))
}

#[tokio::test(flavor = "multi_thread")]
async fn three_people_in_three_zones_find_a_time_and_are_booked() {
    let visit = DemoFixture::start().await;
    let text = "@nod find 45 minutes with Bo and Cho next week for planning";
    visit.post("slack/say", json!({"user": "ana", "channel": "launch", "text": text})).await;
    let (_, connect) = visit.wait_for_button("link").await;
    visit.connect(connect["url"].as_str().unwrap()).await;
    let ask = visit.wait_for_button("open_vote").await;
    visit.press("ana", &ask).await;

    for (who, label) in [("bo", "1"), ("cho", "2"), ("bo", "1"), ("bo", "2"), ("ana", "2")] {
        let button = visit.wait_in_slack(|state| vote(state, label)).await;
        visit.press(who, &button).await;
    }
    visit.wait_in_slack(|state| shows(state, "This works for everyone").then_some(())).await;
    let approve = visit.wait_for_button("approve").await;
    let card = approve.0["shown"].as_str().unwrap();
    assert!(
        card.contains("For guests") && card.contains("Bo Lind 1") && card.contains("Cho Park "),
        "{card}"
    );
    let before = events(&calendar(&visit, "ana").await);
    assert!(before.iter().all(|event| event["title"] != "Planning"), "booked without a yes");
    visit.press("ana", &approve).await;
    visit.wait_in_slack(|state| shows(state, "Invitation created").then_some(())).await;

    let mut instants = Vec::new();
    for who in PEOPLE {
        let own = calendar(&visit, who).await;
        let (booked, others): (Vec<Value>, Vec<Value>) =
            events(&own).into_iter().partition(|event| event["title"] == "Planning");
        let [booked] = &booked[..] else { panic!("{who}: {booked:?}") };
        let (from, to) = (event_time(booked, "start"), event_time(booked, "end"));
        let is_busy = |one: &Value| {
            one["free"] == false && event_time(one, "start") < to && event_time(one, "end") > from
        };
        assert!(!others.iter().any(is_busy), "{who} had something else");
        let zone = TimeZone::get(own["zone"].as_str().unwrap()).unwrap();
        let clock = |at: DateTime<Utc>| zone.to_datetime(at.to_rfc3339().parse().unwrap()).time();
        assert!(
            clock(from) >= Time::constant(9, 0, 0, 0) && clock(to) <= Time::constant(17, 0, 0, 0),
            "{who}"
        );
        let invited = list(&own["invitations"]).filter(|one| one["news"] == "invited").count();
        assert_eq!(invited, usize::from(who != "ana"), "{who}");
        instants.push((from, own["zone"].clone()));
    }
    instants.sort_by_key(|(_, zone)| zone.to_string());
    instants.dedup_by_key(|(_, zone)| zone.to_string());
    assert_eq!(instants.len(), 3, "three zones");
    assert!(instants.windows(2).all(|two| two[0].0 == two[1].0), "one time: {instants:?}");
    visit.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_meeting_is_moved_once_its_days_are_clear() {
    let visit = DemoFixture::start().await;
    let say = |text| visit.post("slack/say", json!({"user": "ana", "channel": "launch", "text": text}));
    say("@nod what's on my calendar tomorrow?").await;
    let (_, connect) = visit.wait_for_button("link").await;
    visit.connect(connect["url"].as_str().unwrap()).await;
    say("@nod move Friday's review to next Thursday at 15:00").await;
    let mut picked = Vec::new();
    let approve = loop {
        let next = |state: &Value| {
            let question =
                find_button(state, "answer_question").filter(|(card, _)| !picked.contains(&card["shown"]));
            find_button(state, "approve").or(question)
        };
        let (card, button) = visit.wait_in_slack(next).await;
        if button["action_id"].as_str().unwrap().starts_with("approve") {
            break (card, button);
        }
        picked.push(card["shown"].clone());
        visit.press("ana", &(card, button)).await;
    };
    visit.press("ana", &approve).await;
    visit.wait_in_slack(|state| shows(state, "Event updated").then_some(())).await;
    visit.shut_down().await;
}
