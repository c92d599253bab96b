//! Google's rate limit: the user reads until when Nod has to wait, and Google gets no earlier request.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    short_rate_limit_is_waited_out,
    rate_limited_read_names_the_retry_time,
    a_meeting_that_cannot_be_looked_up_says_until_when,
    an_approved_mail_waits_with_its_card_and_goes_once,
    a_mail_that_google_did_not_take_goes_once,
    exhausted_daily_quota_is_not_retried,
    without_a_time_it_is_asked_ever_less_often,
    what_needs_no_nod_says_so_where_it_was_asked_for,
    a_stopped_turn_does_not_go_on_saying_that_it_waits,
);

const ANA: &str = "ana@acme.test";
const LIST: &str = "gmail.users.messages.list";
const CREATE: &str = "gmail.users.drafts.create";
const SEND: &str = "gmail.users.drafts.send";

async fn with_connected_account(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world
}

fn busy(reason: &'static str, retry_after: Option<u64>) -> Fault {
    Fault::ErrorReason { code: if reason == "rateLimitExceeded" { 429 } else { 403 }, reason, retry_after }
}

fn request_count(world: &World, operation: &str) -> usize {
    world.google.calls().iter().filter(|call| call.operation == operation).count()
}

async fn short_rate_limit_is_waited_out(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.google.faults.next(LIST, busy("rateLimitExceeded", Some(1)));
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.script_model("tool", [recent, Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.read_new("dm:ana").ends_with("nod: Nothing new.\n"), "{}", world.read_new("dm:ana"));
    world.finish().await;
}

async fn rate_limited_read_names_the_retry_time(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.google.faults.next(LIST, busy("userRateLimitExceeded", Some(300)));
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({}))]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        ana: what's new in my mail?
        nod: Google has asked me to wait until 09:35 WET. Nothing was sent or changed. Ask me again then.
    "); }
    assert_eq!(request_count(&world, LIST), 1);
    world.finish().await;
}

async fn a_meeting_that_cannot_be_looked_up_says_until_when(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.google.faults.next("calendar.freebusy.query", busy("quotaExceeded", None));
    let lunch = json!({ "title": "Lunch", "when": "next week", "minutes": 45, "guests": ["Bo"] });
    world.script_model("tool", [Answer::tool("calendar_create_event", lunch)]);
    world.say("ana", "dm:ana", "find 45 minutes with Bo next week").await;
    let read = world.read_new("dm:ana");
    assert!(
        read.contains("nod: Google has asked me to wait until 10:30 WET. Nothing was sent or changed."),
        "{read}"
    );
    assert_eq!(request_count(&world, "calendar.freebusy.query"), 1);
    world.finish().await;
}

/// Ana's mail to Bo waits for her approval.
async fn with_pending_mail(platform: Platform) -> World {
    let world = with_connected_account(platform).await;
    world.script_model("tool", [late_mail_call(), Answer::text("That is how it went.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world
}

/// Returns the card's text from the approval on.
fn read_approval_outcome(world: &mut World) -> String {
    let read = world.read_new("general");
    let from = read.find("Approved by").unwrap_or_else(|| panic!("{read}"));
    read[from..].lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

async fn an_approved_mail_waits_with_its_card_and_goes_once(platform: Platform) {
    let mut world = with_pending_mail(platform).await;
    world.google.faults.next(CREATE, busy("rateLimitExceeded", Some(300)));
    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! { insta::assert_snapshot!(read_approval_outcome(&mut world), @r"
        Approved by Ana Silva 09:30 WET → Sending…
        · Google has asked me to wait until 09:35 WET. I'll try again then.
    "); }
    world.advance(TimeDelta::seconds(299)).await;
    assert_eq!((request_count(&world, CREATE), world.google.list_sent(ANA).len()), (1, 0));
    world.advance(TimeDelta::seconds(1)).await;
    let read = read_approval_outcome(&mut world);
    assert!(read.contains("→ Sent 09:35 WET") && !read.contains("asked me to wait"), "{read}");
    assert_eq!((request_count(&world, CREATE), world.google.list_sent(ANA).len()), (2, 1));
    world.finish().await;
}

async fn a_mail_that_google_did_not_take_goes_once(platform: Platform) {
    let mut world = with_pending_mail(platform).await;
    world.google.faults.next(SEND, busy("userRateLimitExceeded", Some(120)));
    world.click("ana", "general", "Approve & send").await;
    let read = read_approval_outcome(&mut world);
    assert!(read.contains("Google has asked me to wait until 09:32 WET. I'll try again then."), "{read}");
    world.advance(TimeDelta::seconds(119)).await;
    assert_eq!((request_count(&world, SEND), world.google.list_sent(ANA).len()), (1, 0));
    world.advance(TimeDelta::seconds(1)).await;
    assert!(read_approval_outcome(&mut world).contains("→ Sent 09:32 WET"));
    assert_eq!((request_count(&world, SEND), world.google.list_sent(ANA).len()), (2, 1));
    world.finish().await;
}

async fn exhausted_daily_quota_is_not_retried(platform: Platform) {
    let mut world = with_pending_mail(platform).await;
    world.google.faults.next(CREATE, busy("dailyLimitExceeded", None));
    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! { insta::assert_snapshot!(read_approval_outcome(&mut world), @r"
        Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
        · Google has asked me to wait until 10:30 WET. Nothing was sent: ask me again if you still want it.
        nod: That is how it went.
        · To be clear, nothing was sent or changed just now.
    "); }
    world.advance(TimeDelta::hours(2)).await;
    assert_eq!((request_count(&world, CREATE), world.google.list_sent(ANA).len()), (1, 0));
    world.finish().await;
}

async fn without_a_time_it_is_asked_ever_less_often(platform: Platform) {
    let mut world = with_pending_mail(platform).await;
    world.google.faults.next_times(CREATE, 3, &busy("rateLimitExceeded", None));
    world.click("ana", "general", "Approve & send").await;
    assert!(
        !read_approval_outcome(&mut world).contains("asked me to wait"),
        "a few seconds need not be said"
    );
    for (pause, tries) in [(5, 2), (5, 2), (5, 3), (15, 3), (5, 4)] {
        world.advance(TimeDelta::seconds(pause)).await;
        assert_eq!(request_count(&world, CREATE), tries);
    }
    assert!(read_approval_outcome(&mut world).contains("→ Sent"));
    assert_eq!(world.google.list_sent(ANA).len(), 1);
    world.finish().await;
}

async fn what_needs_no_nod_says_so_where_it_was_asked_for(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.google.faults.next(CREATE, busy("rateLimitExceeded", Some(60)));
    let draft = json!({ "to": ["Bo"], "subject": "Plan", "body": "Hi Bo,\n\nhere it is.\n\nAna" });
    world.script_model("tool", [Answer::tool("gmail_create_draft", draft)]);
    world.say("ana", "general", "@nod draft a mail to Bo about the plan").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod draft a mail to Bo about the plan
            nod: · Google has asked me to wait until 09:31 WET.
              [Stop]
    "); }
    world.advance(TimeDelta::seconds(60)).await;
    let read = world.read_new("general");
    assert!(read.contains("Not sent yet.") && !read.contains("asked me to wait"), "{read}");
    assert_eq!((request_count(&world, CREATE), world.google.drafts(ANA).len()), (2, 1));
    world.finish().await;
}

async fn a_stopped_turn_does_not_go_on_saying_that_it_waits(platform: Platform) {
    let mut world = with_connected_account(platform).await;
    world.google.faults.next_times(CREATE, 2, &busy("rateLimitExceeded", Some(60)));
    let draft = json!({ "to": ["Bo"], "subject": "Plan", "body": "Hi Bo,\n\nhere it is.\n\nAna" });
    world.script_model("tool", [Answer::tool("gmail_create_draft", draft)]);
    world.say("ana", "general", "@nod draft a mail to Bo about the plan").await;
    world.click("ana", "general", "Stop").await;
    world.advance(TimeDelta::seconds(60)).await;
    let read = world.read_new("general");
    assert!(read.contains("Stopped by Ana Silva.") && !read.contains("asked me to wait"), "{read}");
    world.advance(TimeDelta::seconds(60)).await;
    assert_eq!(world.read_new("general"), read);
    world.finish().await;
}
