//! Google's rate limit: the user reads until when Nod has to wait, and Google gets no earlier request.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::json;

use crate::mail::late;

on_each_platform!(
    a_moment_is_waited_for,
    a_reading_that_has_to_wait_says_until_when,
    a_meeting_that_cannot_be_looked_up_says_until_when,
    an_approved_mail_waits_with_its_card_and_goes_once,
    a_mail_that_google_did_not_take_goes_once,
    what_is_used_up_for_the_day_is_asked_once,
    without_a_time_it_is_asked_ever_less_often,
    what_needs_no_nod_says_so_where_it_was_asked_for,
    a_stopped_turn_does_not_go_on_saying_that_it_waits,
);

const ANA: &str = "ana@acme.test";
const LIST: &str = "gmail.users.messages.list";
const CREATE: &str = "gmail.users.drafts.create";
const SEND: &str = "gmail.users.drafts.send";

async fn connected(platform: On) -> World {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world
}

fn busy(reason: &'static str, retry_after: Option<u64>) -> Fault {
    Fault::Reason { code: if reason == "rateLimitExceeded" { 429 } else { 403 }, reason, retry_after }
}

fn asked(world: &World, operation: &str) -> usize {
    world.google.calls().iter().filter(|call| call.operation == operation).count()
}

async fn a_moment_is_waited_for(platform: On) {
    let mut world = connected(platform).await;
    world.google.faults.next(LIST, busy("rateLimitExceeded", Some(1)));
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.model_will("tool", [recent, Answer::text("Nothing new.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.reads("dm:ana").ends_with("nod: Nothing new.\n"), "{}", world.reads("dm:ana"));
    world.ends().await;
}

async fn a_reading_that_has_to_wait_says_until_when(platform: On) {
    let mut world = connected(platform).await;
    world.google.faults.next(LIST, busy("userRateLimitExceeded", Some(300)));
    world.model_will("tool", [Answer::tool("gmail_list_recent", json!({}))]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.reads("dm:ana"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: what's new in my mail?
        nod: Google asks me to wait until 09:35 WET. Nothing was sent or changed. Ask me again then.
    "); }
    assert_eq!(asked(&world, LIST), 1);
    world.ends().await;
}

async fn a_meeting_that_cannot_be_looked_up_says_until_when(platform: On) {
    let mut world = connected(platform).await;
    world.google.faults.next("calendar.freebusy.query", busy("quotaExceeded", None));
    let lunch = json!({ "title": "Lunch", "when": "next week", "minutes": 45, "guests": ["Bo"] });
    world.model_will("tool", [Answer::tool("calendar_create_event", lunch)]);
    world.says("ana", "dm:ana", "find 45 minutes with Bo next week").await;
    let read = world.reads("dm:ana");
    assert!(
        read.contains("nod: Google asks me to wait until 10:30 WET. Nothing was sent or changed."),
        "{read}"
    );
    assert_eq!(asked(&world, "calendar.freebusy.query"), 1);
    world.ends().await;
}

/// Ana's mail to Bo waits for her approval.
async fn asks(platform: On) -> World {
    let world = connected(platform).await;
    world.model_will("tool", [late(), Answer::text("That is how it went.")]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    world
}

/// Returns the card's text from the approval on.
fn became(world: &mut World) -> String {
    let read = world.reads("general");
    let from = read.find("Approved by").unwrap_or_else(|| panic!("{read}"));
    read[from..].lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

async fn an_approved_mail_waits_with_its_card_and_goes_once(platform: On) {
    let mut world = asks(platform).await;
    world.google.faults.next(CREATE, busy("rateLimitExceeded", Some(300)));
    world.presses("ana", "general", "Approve & send").await;
    insta::allow_duplicates! { insta::assert_snapshot!(became(&mut world), @r"
        Approved by Ana Silva 09:30 WET → Sending…
        · Google asks me to wait until 09:35 WET. I go on by myself then.
    "); }
    world.later(TimeDelta::seconds(299)).await;
    assert_eq!((asked(&world, CREATE), world.google.sent(ANA).len()), (1, 0));
    world.later(TimeDelta::seconds(1)).await;
    let read = became(&mut world);
    assert!(read.contains("→ Sent 09:35 WET") && !read.contains("asks me to wait"), "{read}");
    assert_eq!((asked(&world, CREATE), world.google.sent(ANA).len()), (2, 1));
    world.ends().await;
}

async fn a_mail_that_google_did_not_take_goes_once(platform: On) {
    let mut world = asks(platform).await;
    world.google.faults.next(SEND, busy("userRateLimitExceeded", Some(120)));
    world.presses("ana", "general", "Approve & send").await;
    let read = became(&mut world);
    assert!(read.contains("Google asks me to wait until 09:32 WET. I go on by myself then."), "{read}");
    world.later(TimeDelta::seconds(119)).await;
    assert_eq!((asked(&world, SEND), world.google.sent(ANA).len()), (1, 0));
    world.later(TimeDelta::seconds(1)).await;
    assert!(became(&mut world).contains("→ Sent 09:32 WET"));
    assert_eq!((asked(&world, SEND), world.google.sent(ANA).len()), (2, 1));
    world.ends().await;
}

async fn what_is_used_up_for_the_day_is_asked_once(platform: On) {
    let mut world = asks(platform).await;
    world.google.faults.next(CREATE, busy("dailyLimitExceeded", None));
    world.presses("ana", "general", "Approve & send").await;
    insta::allow_duplicates! { insta::assert_snapshot!(became(&mut world), @r"
        Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
        · Google asks me to wait until 10:30 WET. Nothing was sent; ask again once that is mended.
        nod: That is how it went.
        · For the record: nothing was sent or changed in this turn.
    "); }
    world.later(TimeDelta::hours(2)).await;
    assert_eq!((asked(&world, CREATE), world.google.sent(ANA).len()), (1, 0));
    world.ends().await;
}

async fn without_a_time_it_is_asked_ever_less_often(platform: On) {
    let mut world = asks(platform).await;
    world.google.faults.next_times(CREATE, 3, &busy("rateLimitExceeded", None));
    world.presses("ana", "general", "Approve & send").await;
    assert!(!became(&mut world).contains("asks me to wait"), "a few seconds need not be said");
    for (pause, tries) in [(5, 2), (5, 2), (5, 3), (15, 3), (5, 4)] {
        world.later(TimeDelta::seconds(pause)).await;
        assert_eq!(asked(&world, CREATE), tries);
    }
    assert!(became(&mut world).contains("→ Sent"));
    assert_eq!(world.google.sent(ANA).len(), 1);
    world.ends().await;
}

async fn what_needs_no_nod_says_so_where_it_was_asked_for(platform: On) {
    let mut world = connected(platform).await;
    world.google.faults.next(CREATE, busy("rateLimitExceeded", Some(60)));
    let draft = json!({ "to": ["Bo"], "subject": "Plan", "body": "Hi Bo,\n\nhere it is.\n\nAna" });
    world.model_will("tool", [Answer::tool("gmail_create_draft", draft)]);
    world.says("ana", "general", "@nod draft a mail to Bo about the plan").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.reads("general"), @r"
        ana: @nod draft a mail to Bo about the plan
            nod: · Google asks me to wait until 09:31 WET.
              [Stop]
    "); }
    world.later(TimeDelta::seconds(60)).await;
    let read = world.reads("general");
    assert!(read.contains("It was not sent.") && !read.contains("asks me to wait"), "{read}");
    assert_eq!((asked(&world, CREATE), world.google.drafts(ANA).len()), (2, 1));
    world.ends().await;
}

async fn a_stopped_turn_does_not_go_on_saying_that_it_waits(platform: On) {
    let mut world = connected(platform).await;
    world.google.faults.next_times(CREATE, 2, &busy("rateLimitExceeded", Some(60)));
    let draft = json!({ "to": ["Bo"], "subject": "Plan", "body": "Hi Bo,\n\nhere it is.\n\nAna" });
    world.model_will("tool", [Answer::tool("gmail_create_draft", draft)]);
    world.says("ana", "general", "@nod draft a mail to Bo about the plan").await;
    world.presses("ana", "general", "Stop").await;
    world.later(TimeDelta::seconds(60)).await;
    let read = world.reads("general");
    assert!(read.contains("Stopped by Ana Silva.") && !read.contains("asks me to wait"), "{read}");
    world.later(TimeDelta::seconds(60)).await;
    assert_eq!(world.reads("general"), read);
    world.ends().await;
}
