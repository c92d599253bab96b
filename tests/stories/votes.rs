//! A meeting of several people: the asker proposes the times to the others, and the time that suits everybody waits for
//! the asker's approval.

use chrono::TimeDelta;
use nod_sandbox::google::{InvitationKind, NewEvent};
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

on_each_platform!(
    three_vote_and_what_suits_all_is_booked_after_a_yes,
    a_vote_is_taken_back_and_given_again,
    those_who_are_asked_are_called_once,
    what_became_of_the_time_stands_where_it_was_voted_on,
    a_turn_that_is_stopped_after_its_vote_says_so_there,
    a_stop_beside_the_last_vote_ends_it,
    a_time_that_the_asker_changed_is_told_to_those_who_voted,
    none_suits_all_and_the_asker_decides,
    who_is_not_asked_does_not_vote,
    nobody_decides_in_time,
    a_stopped_turn_ends_its_vote,
    the_times_are_shared_once_and_by_their_owner_alone,
    whoever_is_not_in_the_channel_votes_in_their_direct_line,
    the_vote_needs_one_connection,
    whoever_declines_later_has_it_moved,
    nobody_is_asked_to_come_at_night,
);

const GENERAL: &str = "general";
const ANA: &str = "ana@acme.test";
const BO: &str = "bo@acme.test";
const CHO: &str = "cho@acme.test";

async fn connect_everybody(mut world: World) -> World {
    // Each person who is asked is mentioned.
    world.expect_loose_end("a ping: bo");
    world.expect_loose_end("a ping: cho");
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    world
}

/// Ana was asked to choose one of the times.
async fn wait_for_time_choice(world: &World, place: &str) {
    let planning =
        json!({ "title": "Planning", "when": "next week", "minutes": 45, "guests": ["Bo", "Cho"] });
    world.script_model("tool", [Answer::tool("calendar_create_event", planning)]);
    world.say("ana", place, "@nod find 45 minutes with Bo and Cho next week for planning").await;
}

/// Ana has the others asked.
async fn with_open_vote(platform: Platform) -> World {
    let mut world = connect_everybody(World::new_on(platform).await).await;
    wait_for_time_choice(&world, GENERAL).await;
    world.click("ana", "dm:ana", "Ask the others").await;
    world.read_new("dm:ana");
    world
}

fn read_both_channels(world: &mut World) -> String {
    format!("{}---\n{}", compact(&world.read_new(GENERAL)), compact(&world.read_new("dm:ana")))
}

/// Removes what differs: Slack's lines between the parts of a card, and digests, which contain a zone that Discord does
/// not report.
fn compact(shown: &str) -> String {
    let lines = shown.lines().filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(
        "
",
    )
}

async fn three_vote_and_what_suits_all_is_booked_after_a_yes(platform: Platform) {
    let mut world = World::without_nod_on(platform).await;
    // Ana is in Lisbon and Bo in Berlin. Discord reports no time zones, so there everybody works in UTC.
    world.slack.change(|company| {
        let cho = company.users.values_mut().find(|user| user.name == "cho").unwrap();
        (cho.tz, cho.tz_offset) = ("America/New_York".to_owned(), -18_000);
    });
    world.start().await;
    let mut world = connect_everybody(world).await;
    wait_for_time_choice(&world, GENERAL).await;
    let mut seen = vec![read_both_channels(&mut world)];
    world.click("ana", "dm:ana", "Ask the others").await;
    seen.push(read_both_channels(&mut world));
    world.click("bo", GENERAL, "1").await;
    world.click("bo", GENERAL, "2").await;
    world.click("cho", GENERAL, "2").await;
    seen.push(read_both_channels(&mut world));
    let later = world.prepare_click("bo", GENERAL, "2");
    world.click("ana", GENERAL, "2").await;
    seen.push(read_both_channels(&mut world));
    world.send_click(&later).await;
    let told = world.read_ephemerals("bo");
    assert!(told.contains("to approve") && told.contains("tell Ana Silva"), "{told}");
    assert!(world.google.events(ANA).is_empty(), "booked without a yes");
    world.model.will(Answer::text("Bo and Cho are invited."));
    world.click("ana", "dm:ana", "Approve & invite").await;
    seen.push(read_both_channels(&mut world));
    let seen = seen.join("\n=====\n");
    match platform {
        Platform::Slack => insta::assert_snapshot!(seen, @r"
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Asked Ana Silva privately.---
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Everyone is free then. Which time? · Planning
              [Mon 9 Mar, 13:00–13:45 WET] [Mon 9 Mar, 14:00–14:45 WET] [Tue 10 Mar, 13:00–13:45 WET] [Tue 10 Mar, 14:00–14:45 WET] [Wed 11 Mar, 13:00–13:45 WET] [Wed 11 Mar, 14:00–14:45 WET] [Another time] [Ask the others]
            =====
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Asked Ana Silva privately.
                nod: # When works for you? · Planning
                  @bo
                  @cho
                  · Ana Silva is asking Bo Lind and Cho Park. Pick every time that works.
                  1  Mon 9 Mar, 13:00–13:45 WET
                  2  Mon 9 Mar, 14:00–14:45 WET
                  3  Tue 10 Mar, 13:00–13:45 WET
                  4  Tue 10 Mar, 14:00–14:45 WET
                  5  Wed 11 Mar, 13:00–13:45 WET
                  6  Wed 11 Mar, 14:00–14:45 WET
                  [1] [2] [3] [4] [5] [6] [None of these]---
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Everyone is free then. Which time? · Planning
              · 0 of 3 have answered. I asked in the thread. You can pick one at any time.
              [Mon 9 Mar, 13:00–13:45 WET] [Mon 9 Mar, 14:00–14:45 WET] [Tue 10 Mar, 13:00–13:45 WET] [Tue 10 Mar, 14:00–14:45 WET] [Wed 11 Mar, 13:00–13:45 WET] [Wed 11 Mar, 14:00–14:45 WET] [Another time]
            =====
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Asked Ana Silva privately.
                nod: # When works for you? · Planning
                  @bo
                  @cho
                  · Ana Silva is asking Bo Lind and Cho Park. Pick every time that works.
                  1  Mon 9 Mar, 13:00–13:45 WET
                       ✓ Bo Lind
                  2  Mon 9 Mar, 14:00–14:45 WET
                       ✓ Bo Lind, Cho Park
                  3  Tue 10 Mar, 13:00–13:45 WET
                  4  Tue 10 Mar, 14:00–14:45 WET
                  5  Wed 11 Mar, 13:00–13:45 WET
                  6  Wed 11 Mar, 14:00–14:45 WET
                  [1] [2] [3] [4] [5] [6] [None of these]---
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Everyone is free then. Which time? · Planning
              · 2 of 3 have answered. I asked in the thread. You can pick one at any time.
              [Mon 9 Mar, 13:00–13:45 WET · works for 1 of 3] [Mon 9 Mar, 14:00–14:45 WET · works for 2 of 3] [Tue 10 Mar, 13:00–13:45 WET] [Tue 10 Mar, 14:00–14:45 WET] [Wed 11 Mar, 13:00–13:45 WET] [Wed 11 Mar, 14:00–14:45 WET] [Another time]
            =====
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Asked Ana Silva privately.
                nod: # Time found · Planning
                  2  Mon 9 Mar, 14:00–14:45 WET
                       ✓ Ana Silva, Bo Lind, Cho Park
                  · This works for everyone. The invitations go out once Ana Silva approves them.---
            nod: · ✓ Google is connected: ana@acme.test
            nod: · When is “next week”? → Mon 9 Mar, 14:00–14:45 WET
            nod: # Send this invitation?
              Calendar  ana@acme.test
              Title  Planning
              When  Mon 9 Mar, 14:00–14:45 WET
              Guests  bo@acme.test, cho@acme.test
              For guests  Bo Lind 15:00–15:45 CET · Cho Park 10:00–10:45 EDT
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & invite] [Edit] [Deny]
            =====
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Answered Ana Silva privately.
                nod: # Booked · Planning
                  2  Mon 9 Mar, 14:00–14:45 WET
                       ✓ Ana Silva, Bo Lind, Cho Park
                  · This works for everyone. It's booked and the invitations are out.---
            nod: · ✓ Google is connected: ana@acme.test
            nod: · When is “next week”? → Mon 9 Mar, 14:00–14:45 WET
            nod: # Invitation created
              Calendar  ana@acme.test
              Title  Planning
              When  Mon 9 Mar, 14:00–14:45 WET
              Guests  bo@acme.test, cho@acme.test
              For guests  Bo Lind 15:00–15:45 CET · Cho Park 10:00–10:45 EDT
              Approved by Ana Silva 09:30 WET → Created 09:30 WET
              [Open in Calendar]
            nod: · You asked in a channel: “find 45 minutes with Bo and Cho next week for planning”
              Bo and Cho are invited.
              [Share in the thread]
        "),
        Platform::Discord => insta::assert_snapshot!(seen, @r"
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Asked Ana Silva privately.---
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Everyone is free then. Which time? · Planning
              [select Pick one]
              [Ask the others]
            =====
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Asked Ana Silva privately.
                nod: # When works for you? · Planning
                  @bo
                  @cho
                  · Ana Silva is asking Bo Lind and Cho Park. Pick every time that works.
                  1  Mon 9 Mar 2026, 09:00 WET–09:45 WET
                  2  Mon 9 Mar 2026, 10:00 WET–10:45 WET
                  3  Tue 10 Mar 2026, 09:00 WET–09:45 WET
                  4  Tue 10 Mar 2026, 10:00 WET–10:45 WET
                  5  Wed 11 Mar 2026, 09:00 WET–09:45 WET
                  6  Wed 11 Mar 2026, 10:00 WET–10:45 WET
                  [1] [2] [3] [4] [5]
                  [6] [None of these]---
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Everyone is free then. Which time? · Planning
              · 0 of 3 have answered. I asked in the thread. You can pick one at any time.
              [select Pick one]
            =====
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Asked Ana Silva privately.
                nod: # When works for you? · Planning
                  @bo
                  @cho
                  · Ana Silva is asking Bo Lind and Cho Park. Pick every time that works.
                  1  Mon 9 Mar 2026, 09:00 WET–09:45 WET
                  ✓ Bo Lind
                  2  Mon 9 Mar 2026, 10:00 WET–10:45 WET
                  ✓ Bo Lind, Cho Park
                  3  Tue 10 Mar 2026, 09:00 WET–09:45 WET
                  4  Tue 10 Mar 2026, 10:00 WET–10:45 WET
                  5  Wed 11 Mar 2026, 09:00 WET–09:45 WET
                  6  Wed 11 Mar 2026, 10:00 WET–10:45 WET
                  [1] [2] [3] [4] [5]
                  [6] [None of these]---
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Everyone is free then. Which time? · Planning
              · 2 of 3 have answered. I asked in the thread. You can pick one at any time.
              [select Pick one]
            =====
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Asked Ana Silva privately.
                nod: # Time found · Planning
                  2  Mon 9 Mar 2026, 10:00 WET–10:45 WET
                  ✓ Ana Silva, Bo Lind, Cho Park
                  · This works for everyone. The invitations go out once Ana Silva approves them.---
            nod: · ✓ Google is connected: ana@acme.test
            nod: · When is “next week”? → Mon 9 Mar, 10:00–10:45 WET
            nod: # Send this invitation?
              Calendar  ana@acme.test
              Title  Planning
              When  Mon 9 Mar, 10:00–10:45 WET
              Guests  bo@acme.test, cho@acme.test
              ⚠ I don't know the time zone of Ana Silva, so times are in WET. Set it in settings
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & invite] [Edit] [Deny]
            =====
            ana: @nod find 45 minutes with Bo and Cho next week for planning
                nod: · Answered Ana Silva privately.
                nod: # Booked · Planning
                  2  Mon 9 Mar 2026, 10:00 WET–10:45 WET
                  ✓ Ana Silva, Bo Lind, Cho Park
                  · This works for everyone. It's booked and the invitations are out.---
            nod: · ✓ Google is connected: ana@acme.test
            nod: · When is “next week”? → Mon 9 Mar, 10:00–10:45 WET
            nod: # Invitation created
              Calendar  ana@acme.test
              Title  Planning
              When  Mon 9 Mar, 10:00–10:45 WET
              Guests  bo@acme.test, cho@acme.test
              Approved by Ana Silva 09:30 WET → Created 09:30 WET
              [Open in Calendar]
            nod: · You asked in a channel: “find 45 minutes with Bo and Cho next week for planning”
              Bo and Cho are invited.
              [Share in the thread]
        "),
    }
    for guest in [BO, CHO] {
        assert_eq!(world.google.events(guest).len(), 1);
        let told = world.google.invitations(guest);
        assert_eq!(told.iter().map(|one| &one.kind).collect::<Vec<_>>(), [&InvitationKind::Invited]);
    }
    // Bo changes his mind.
    world.send_click(&later).await;
    let told = world.read_ephemerals("bo");
    assert!(told.contains("Ana Silva booked ") && told.contains("decline the invitation"), "{told}");
    world.finish().await;
}

async fn a_vote_is_taken_back_and_given_again(platform: Platform) {
    let mut world = with_open_vote(platform).await;
    world.click("bo", GENERAL, "1").await;
    world.click("bo", GENERAL, "1").await;
    let taken_back = world.read_new(GENERAL);
    assert!(!taken_back.contains('✓'), "{taken_back}");
    world.click("bo", GENERAL, "3").await;
    world.click("bo", GENERAL, "None of these").await;
    let none = world.read_new(GENERAL);
    assert!(none.contains("None of these work: Bo Lind") && !none.contains('✓'), "{none}");
    world.click("bo", GENERAL, "2").await;
    let again = world.read_new(GENERAL);
    assert!(again.contains("✓ Bo Lind") && !again.contains("None of these work: "), "{again}");
    // Two simultaneous clicks cancel each other.
    world.click_twice("cho", GENERAL, "4").await;
    assert!(!world.read_new(GENERAL).contains("Cho Park\n"), "{}", world.read_new(GENERAL));
    assert_stop_ends_vote(world).await;
}

async fn those_who_are_asked_are_called_once(platform: Platform) {
    let mut world = connect_everybody(World::new_on(platform).await).await;
    world.chat.add_channel("launch", &["ana", "bo"]);
    wait_for_time_choice(&world, "launch").await;
    assert!(world.chat.mentioned_users().is_empty());
    world.click("ana", "dm:ana", "Ask the others").await;
    // Cho is not a member there and gets it in a DM, which notifies without a mention.
    assert_eq!(world.chat.mentioned_users(), ["bo"]);
    world.click("bo", "launch", "1").await;
    world.click("cho", "dm:cho", "1").await;
    world.click("ana", "launch", "2").await;
    assert_eq!(world.chat.mentioned_users(), ["bo"], "it is said once");
    world.reply("ana", "launch", &world.chat.first_message("launch"), "stop").await;
    for place in ["launch", "dm:ana", "dm:cho"] {
        world.read_new(place);
    }
    world.finish().await;
}

/// Returns the world with the vote's card once everybody has agreed on the first time.
async fn with_agreed_vote(platform: Platform) -> World {
    let world = with_open_vote(platform).await;
    for voter in ["bo", "cho", "ana"] {
        world.click(voter, GENERAL, "1").await;
    }
    world
}

async fn what_became_of_the_time_stands_where_it_was_voted_on(platform: Platform) {
    let mut world = with_agreed_vote(platform).await;
    let read = world.read_new(GENERAL);
    assert!(read.contains("The invitations go out once Ana Silva approves them."), "{read}");
    world.model.will(Answer::text("As you like."));
    world.deny_request("ana", "dm:ana", "").await;
    let read = world.read_new(GENERAL);
    assert!(read.contains("This works for everyone. It wasn't booked."), "{read}");
    world.read_new("dm:ana");
    world.finish().await;

    let mut world = with_agreed_vote(platform).await;
    world.model.will(Answer::text("They are invited."));
    world.click("ana", "dm:ana", "Approve & invite").await;
    let read = world.read_new(GENERAL);
    assert!(read.contains("This works for everyone. It's booked and the invitations are out."), "{read}");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_turn_that_is_stopped_after_its_vote_says_so_there(platform: Platform) {
    let mut world = with_agreed_vote(platform).await;
    world.reply("ana", GENERAL, &world.chat.first_message(GENERAL), "stop").await;
    let read = world.read_new(GENERAL);
    assert!(read.contains("It wasn't booked.") && !read.contains("once Ana Silva approves"), "{read}");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_time_that_the_asker_changed_is_told_to_those_who_voted(platform: Platform) {
    let mut world = with_agreed_vote(platform).await;
    world.edit_request("ana", "dm:ana", &[("When", "16:00")]).await;
    world.model.will(Answer::text("They are invited."));
    world.click("ana", "dm:ana", "Approve & invite").await;
    let read = world.read_new(GENERAL);
    assert!(read.contains("Ana Silva changed the time. It's booked and the invitations are out."), "{read}");
    assert!(
        read.contains("16:00") && !read.contains("✓ Ana Silva, Bo Lind") && !read.contains("suits everybody"),
        "{read}"
    );
    world.read_new("dm:ana");
    world.finish().await;
}

/// Either of the two can come first.
async fn a_stop_beside_the_last_vote_ends_it(platform: Platform) {
    let mut world = with_open_vote(platform).await;
    world.click("bo", GENERAL, "1").await;
    world.click("cho", GENERAL, "1").await;
    world.chat.click_without_waiting("ana", GENERAL, &world.find_message_with_button(GENERAL, "1"), "1");
    world.reply("ana", GENERAL, &world.chat.first_message(GENERAL), "stop").await;
    let read = world.read_new(GENERAL);
    assert!(read.contains("Stopped by Ana Silva. Nothing was sent."), "{read}");
    assert!(read.contains("Nothing was booked.") || read.contains("It wasn't booked."), "{read}");
    assert!(!world.read_new("dm:ana").contains("[Approve"), "{}", world.chat.dump());
    world.read_ephemerals("ana");
    world.finish().await;
}

async fn assert_stop_ends_vote(mut world: World) {
    world.reply("ana", GENERAL, &world.chat.first_message(GENERAL), "stop").await;
    world.read_new("dm:ana");
    world.read_new(GENERAL);
    world.finish().await;
}

async fn nobody_is_asked_to_come_at_night(platform: Platform) {
    let mut world = connect_everybody(World::new_on(platform).await).await;
    // Only Thursday is free in Bo's working hours, and every night.
    for day in ["09", "10", "11", "13"] {
        let at = |hour| format!("2026-03-{day} {hour}:00");
        let busy = NewEvent { start: at("06"), end: at("20"), ..NewEvent::default() };
        world.google.add_event(BO, &busy).unwrap();
    }
    wait_for_time_choice(&world, GENERAL).await;
    world.click("ana", "dm:ana", "Ask the others").await;
    let seen = world.read_new(GENERAL);
    let times: Vec<&str> = seen.lines().filter(|line| line.contains(" Mar")).collect();
    assert!(times.len() > 1 && times.iter().all(|time| time.contains("Thu 12 Mar")), "{seen}");
    assert_stop_ends_vote(world).await;
}

async fn none_suits_all_and_the_asker_decides(platform: Platform) {
    let mut world = with_open_vote(platform).await;
    world.click("ana", GENERAL, "1").await;
    world.click("bo", GENERAL, "2").await;
    world.click("cho", GENERAL, "None of these").await;
    world.read_new(GENERAL);
    let own = world.read_new("dm:ana");
    assert!(
        own.contains("Everyone has answered, and no time works for all. Pick one, or another time."),
        "{own}"
    );
    let zone = if platform == Platform::Slack { "WET" } else { "UTC" };
    world.model.will(Answer::text("As you like."));
    world.click("ana", "dm:ana", &format!("Mon 9 Mar, 10:00–10:45 {zone} · works for 1 of 3")).await;
    let seen = read_both_channels(&mut world);
    assert!(
        seen.contains("Ana Silva picked this one. The invitations go out once Ana Silva approves them."),
        "{seen}"
    );
    assert!(seen.contains("When  Mon 9 Mar, 10:00–10:45 WET"), "{seen}");
    let late = world.button_labels(GENERAL);
    assert!(!late.contains("None of these"), "{late}");
    world.deny_request("ana", "dm:ana", "").await;
    read_both_channels(&mut world);
    assert!(world.google.events(ANA).is_empty());
    world.finish().await;
}

async fn who_is_not_asked_does_not_vote(platform: Platform) {
    let mut world = with_open_vote(platform).await;
    let before = world.read_new(GENERAL);
    world.click("dana", GENERAL, "1").await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.read_ephemerals("dana"), @"(dana only) nod: Only Ana Silva, Bo Lind and Cho Park can vote here."); }
    assert_eq!(world.read_new(GENERAL), before);
    assert_stop_ends_vote(world).await;
}

/// Bo's email address is known only from Slack, so he is asked there; on Discord he is another person of the same name.
#[tokio::test]
async fn whoever_was_asked_in_another_chat_is_told_so() {
    let mut world = World::on_both_platforms().await;
    world.switch_platform();
    world.connect_google("ana").await;
    let planning = json!({
        "title": "Planning", "when": "next week", "minutes": 45, "guests": [BO],
    });
    world.script_model("tool", [Answer::tool("calendar_create_event", planning)]);
    world.say("ana", GENERAL, "@nod find 45 minutes with Bo next week for planning").await;
    world.click("ana", "dm:ana", "Ask the others").await;
    world.click("bo", GENERAL, "1").await;
    insta::assert_snapshot!(world.read_ephemerals("bo"), @"(bo only) nod: I asked Bo Lind in another chat. If that's you, please vote there.");
    world.click("cho", GENERAL, "1").await;
    insta::assert_snapshot!(world.read_ephemerals("cho"), @"(cho only) nod: Only Ana Silva and Bo Lind can vote here.");
    world.switch_platform();
    world.click("bo", "dm:bo", "1").await;
    assert!(world.read_new("dm:bo").contains("✓ Bo Lind"));
    world.switch_platform();
    world.reply("ana", GENERAL, &world.chat.first_message(GENERAL), "stop").await;
    world.read_new("dm:ana");
    world.read_new(GENERAL);
    world.switch_platform();
    world.read_new("dm:bo");
    world.finish().await;
}

async fn nobody_decides_in_time(platform: Platform) {
    let mut world = with_open_vote(platform).await;
    world.click("bo", GENERAL, "1").await;
    let vote = world.prepare_click("cho", GENERAL, "1");
    world.model.will(Answer::text("Nobody decided, so nothing is booked."));
    world.advance(TimeDelta::hours(24)).await;
    insta::allow_duplicates! { insta::assert_snapshot!(read_both_channels(&mut world), @r"
        ana: @nod find 45 minutes with Bo and Cho next week for planning
            nod: · Answered Ana Silva privately.
            nod: # Vote closed · Planning
              · This expired without a decision. Nothing was booked.---
        nod: · ✓ Google is connected: ana@acme.test
        nod: · When is “next week”? → expired without an answer
        nod: · You asked in a channel: “find 45 minutes with Bo and Cho next week for planning”
          Nobody decided, so nothing is booked.
          · To be clear, nothing was sent or changed just now.
          [Share in the thread]
    "); }
    world.send_click(&vote).await;
    insta::allow_duplicates! { insta::assert_snapshot!(world.read_ephemerals("cho"), @"(cho only) nod: This vote is closed, and nothing was booked."); }
    world.finish().await;
}

async fn a_stopped_turn_ends_its_vote(platform: Platform) {
    let mut world = with_open_vote(platform).await;
    world.reply("ana", GENERAL, &world.chat.first_message(GENERAL), "stop").await;
    insta::allow_duplicates! { insta::assert_snapshot!(read_both_channels(&mut world), @r"
        ana: @nod find 45 minutes with Bo and Cho next week for planning
            nod: · Asked Ana Silva privately.
            nod: # Vote closed · Planning
              · Ana Silva stopped this. Nothing was booked.
            ana: stop
            nod: · Stopped by Ana Silva. Nothing was sent.---
        nod: · ✓ Google is connected: ana@acme.test
        nod: · When is “next week”? → stopped
    "); }
    world.finish().await;
}

async fn the_times_are_shared_once_and_by_their_owner_alone(platform: Platform) {
    let mut world = connect_everybody(World::new_on(platform).await).await;
    wait_for_time_choice(&world, GENERAL).await;
    // Until then nothing of it is in the shared channel.
    assert!(!world.read_new(GENERAL).contains("9 Mar"), "{}", world.read_new(GENERAL));
    world.click_twice("ana", "dm:ana", "Ask the others").await;
    assert!(world.read_ephemerals("ana").contains("They've been asked already"));
    assert_eq!(world.read_new(GENERAL).matches("When works for you?").count(), 1);
    // A private request is not proposed to others, and it is in no other person's prompt.
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("bo", GENERAL, "@nod hello").await;
    let prompts = format!("{:?}", world.model.requests().last());
    assert!(!prompts.contains("Planning"), "{prompts}");
    wait_for_time_choice(&world, "dm:ana").await;
    assert!(!world.button_labels("dm:ana").contains("Ask the others"));
    world.say("ana", "dm:ana", "stop").await;
    assert_stop_ends_vote(world).await;
}

async fn whoever_is_not_in_the_channel_votes_in_their_direct_line(platform: Platform) {
    let mut world = connect_everybody(World::new_on(platform).await).await;
    world.chat.add_channel("launch", &["ana", "bo"]);
    wait_for_time_choice(&world, "launch").await;
    world.click("ana", "dm:ana", "Ask the others").await;
    world.click("cho", "dm:cho", "1").await;
    world.click("bo", "launch", "1").await;
    assert!(world.read_new("launch").contains("✓ Bo Lind, Cho Park"), "{}", world.read_new("launch"));
    world.click("ana", "launch", "1").await;
    let shown = world.read_new("dm:cho");
    assert!(shown.contains("This works for everyone"), "{shown}");
    world.model.will(Answer::text("As you like."));
    world.deny_request("ana", "dm:ana", "").await;
    let shown = world.read_new("dm:cho");
    assert!(shown.contains("It wasn't booked."), "{shown}");
    world.read_new("dm:ana");
    world.read_new("launch");
    world.finish().await;
}

async fn the_vote_needs_one_connection(platform: Platform) {
    let mut world = World::without_nod_on(platform).await;
    world.set_max_connections(1);
    world.start().await;
    let mut world = connect_everybody(world).await;
    wait_for_time_choice(&world, GENERAL).await;
    world.click("ana", "dm:ana", "Ask the others").await;
    for voter in ["bo", "cho", "ana"] {
        world.click(voter, GENERAL, "1").await;
    }
    world.model.will(Answer::text("They are invited."));
    world.click("ana", "dm:ana", "Approve & invite").await;
    assert_eq!(world.google.events(BO).len(), 1);
    read_both_channels(&mut world);
    world.finish().await;
}

async fn whoever_declines_later_has_it_moved(platform: Platform) {
    let mut world = with_open_vote(platform).await;
    for voter in ["bo", "cho", "ana"] {
        world.click(voter, GENERAL, "1").await;
    }
    world.model.will(Answer::text("They are invited."));
    world.click("ana", "dm:ana", "Approve & invite").await;
    let id = world.google.events(BO)[0].id.clone();
    assert!(world.google.respond_as(BO, &id, "declined"));
    let change = json!({ "event": id, "when": "Thursday 12 March at 11:00" });
    world.script_model("tool", [Answer::tool("calendar_update_event", change), Answer::text("It is moved.")]);
    world.say("ana", "dm:ana", "Bo declined the planning: move it to Thursday at 11").await;
    world.click("ana", "dm:ana", "Approve & update").await;
    read_both_channels(&mut world);
    let moved = world.google.event(BO, &id).unwrap();
    assert!(moved.describe_time().starts_with("2026-03-12 11:00–11:45"), "{}", moved.describe_time());
    assert_eq!(world.google.events(CHO).len(), 1);
    world.finish().await;
}
