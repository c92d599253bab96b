//! Whom a name means: known people resolve, an ambiguous name is asked about, and no one is guessed.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::google::IncomingMail;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{FakeChat, Platform};
use serde_json::json;

on_each_platform!(
    several_bobs_become_buttons_and_the_pick_goes_on,
    someone_else_is_asked_for_in_words,
    nobody_picks_in_time,
    an_unknown_name_is_said_to_the_model_and_never_guessed,
    an_address_is_taken_as_it_is,
    what_is_no_address_is_said_so,
    a_mention_that_the_model_repeats_is_read_as_a_name,
    a_mention_is_the_person_mentioned,
    somebody_known_from_sent_mail_is_picked_and_written_to,
    of_several_the_workspace_stands_first_and_then_whom_one_wrote_to,
    lookalike_contact_is_not_offered,
    nobody_else_sees_whom_somebody_writes_with,
    who_takes_no_direct_messages_picks_all_the_same,
    unknown_contact_is_asked_for_by_text,
    without_an_account_no_mail_is_looked_at,
    mail_that_cannot_be_looked_at_is_said_and_the_name_stays_unknown,
    who_joined_today_is_found,
    who_is_called_otherwise_today_is_found,
    who_left_today_is_nobody,
    a_second_bo_who_joined_is_asked_about,
    a_name_that_misses_reads_the_list_once_in_ten_minutes,
    a_name_that_fits_an_old_list_is_looked_up_in_a_new_one,
);

const ANA: &str = "ana@acme.test";
const LIST: &str = "gmail.users.messages.list";

fn mail_to(to: &str) -> Answer {
    Answer::tool("gmail_send_email", json!({ "to": [to], "subject": "Hello", "body": "Hello!" }))
}

async fn with_ambiguous_bob(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("stone").await;
    world.make_mail_address_known("reyes").await;
    world.script_model("tool", [mail_to("Bob")]);
    world.say("ana", "general", "@nod say hello to Bob").await;
    world
}

async fn several_bobs_become_buttons_and_the_pick_goes_on(platform: Platform) {
    let mut world = with_ambiguous_bob(platform).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to Bob
                nod: # Which Bob?
                  [Bob Reyes (reyes@acme.test)] [Bob Stone (stone@acme.test)] [Someone else]
        ");
    }
    world.click("bo", "general", "Someone else").await;
    let heard = world.wait_for_ephemeral("bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(bo only) nod: This question is for someone else.");
    }
    let label = world.find_label("general", "Bob Stone");
    let kept = world.prepare_click("ana", "general", &label);
    world.click("ana", "general", &label).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to Bob
                nod: · Which Bob? → Bob Stone (stone@acme.test)
                nod: # Send this email?
                  From  ana@acme.test
                  To  stone@acme.test
                  Subject  Hello
                  Hello!
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny]
        ");
    }

    // The same button again, from a client that still shows it.
    world.send_click(&kept).await;
    let heard = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(ana only) nod: This was already answered.");
    }
    world.finish().await;
}

async fn someone_else_is_asked_for_in_words(platform: Platform) {
    let mut world = with_ambiguous_bob(platform).await;
    world.model.will(Answer::text("Which Bob do you mean? Please give me an address."));
    world.click("ana", "general", "Someone else").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to Bob
                nod: · Which Bob? → Someone else
                nod: Which Bob do you mean? Please give me an address.
                  · To be clear, nothing was sent or changed just now.
        ");
    }
    world.finish().await;
}

async fn nobody_picks_in_time(platform: Platform) {
    let mut world = with_ambiguous_bob(platform).await;
    world.model.will(Answer::text("Nobody told me which Bob, so I sent nothing."));
    world.advance(TimeDelta::hours(25)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to Bob
                nod: · Which Bob? → expired without an answer
                nod: Nobody told me which Bob, so I sent nothing.
                  · To be clear, nothing was sent or changed just now.
        ");
    }
    world.finish().await;
}

async fn an_unknown_name_is_said_to_the_model_and_never_guessed(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.script_model("tool", [mail_to("Zoe"), Answer::text("I know no Zoe here. What is her address?")]);
    world.say("ana", "general", "@nod say hello to Zoe").await;
    assert!(world.model.requests().last().unwrap().to_string().contains("Zoe isn't in this workspace"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to Zoe
                nod: I know no Zoe here. What is her address?
                  · To be clear, nothing was sent or changed just now.
        ");
    }
    world.finish().await;
}

async fn an_address_is_taken_as_it_is(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.script_model("tool", [mail_to("zoe+x@far.example")]);
    world.say("ana", "general", "@nod say hello to zoe+x@far.example").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to zoe+x@far.example
                nod: # Send this email?
                  From  ana@acme.test
                  To  zoe+x@far.example
                  Subject  Hello
                  Hello!
                  ⚠ zoe+x@far.example is outside acme.test
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.finish().await;
}

async fn what_is_no_address_is_said_so(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.script_model("tool", [mail_to("zoe@@far"), Answer::text("“zoe@@far” is no address.")]);
    world.say("ana", "general", "@nod say hello to zoe@@far").await;
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("isn't an email address"), "{heard}");
    world.read_new("general");
    world.finish().await;
}

async fn a_mention_that_the_model_repeats_is_read_as_a_name(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let stone = world.chat.mention("stone");
    world.script_model("conversational", [Answer::text(format!("{stone} works in sales."))]);
    world.say("ana", "general", "@nod who is @stone?").await;
    assert!(world.model.requests()[1].to_string().contains(&format!("{stone}: Bob Stone")));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod who is @stone?
                nod: Bob Stone works in sales.
        ");
    }
    world.finish().await;
}

async fn a_mention_is_the_person_mentioned(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("stone").await;
    let stone = world.chat.mention("stone");
    world.script_model("tool", [mail_to(&stone)]);
    world.say("ana", "general", "@nod say hello to @stone").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to @stone
                nod: # Send this email?
                  From  ana@acme.test
                  To  stone@acme.test
                  Subject  Hello
                  Hello!
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.finish().await;
}

/// Ana has written to Zoe, who is otherwise unknown here.
async fn with_contact_zoe(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    assert!(world.google.writes(ANA, "Zoe Kim <zoe@partner.example>", "Hello"));
    world
}

/// Delivers a mail to Ana under any name.
fn receive_mail_from(world: &World, name: &str, address: &str) {
    let (from, from_name) = (address.to_owned(), name.to_owned());
    world
        .google
        .deliver_mail(&IncomingMail { to: ANA.into(), from, from_name, ..IncomingMail::default() })
        .unwrap();
}

async fn somebody_known_from_sent_mail_is_picked_and_written_to(platform: Platform) {
    let mut world = with_contact_zoe(platform).await;
    world.script_model("tool", [mail_to("Zoe"), Answer::text("Zoe has it.")]);
    world.say("ana", "general", "@nod say hello to Zoe").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Is this the right Zoe?
              [Zoe Kim (zoe@partner.example) · from your email] [Someone else]
        ");
    }
    let zoe = world.find_label("dm:ana", "Zoe Kim");
    world.click("ana", "dm:ana", &zoe).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · Is this the right Zoe? → Zoe Kim (zoe@partner.example) · from your email
            nod: # Send this email?
              From  ana@acme.test
              To  zoe@partner.example
              Subject  Hello
              Hello!
              ⚠ zoe@partner.example is outside acme.test
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & send] [Edit] [Deny] [Show all]
        ");
    }
    assert_eq!(world.google.list_sent(ANA).len(), 1);
    world.click("ana", "dm:ana", "Approve & send").await;
    let left = world.google.outbox().pop().unwrap();
    assert_eq!((left.recipient.as_str(), left.mail.subject.as_str()), ("zoe@partner.example", "Hello"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to Zoe
                nod: · Answered Ana Silva privately.
        ");
    }
    world.read_new("dm:ana");
    world.finish().await;
}

async fn of_several_the_workspace_stands_first_and_then_whom_one_wrote_to(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("stone").await;
    world.make_mail_address_known("reyes").await;
    assert!(world.google.writes(ANA, "Bob Hart <hart@far.example>", "Hello"));
    receive_mail_from(&world, "Bob Stone, Sales", "stone@acme.test.evil.example");
    receive_mail_from(&world, "Bob Stone", "stone@acme.test");
    world.script_model("tool", [mail_to("Bob"), Answer::text("As you like.")]);
    world.say("ana", "general", "@nod say hello to Bob").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.button_labels("dm:ana").replace("] ", "]\n"), @r"
            [Bob Reyes (reyes@acme.test)]
            [Bob Stone (stone@acme.test)]
            [Bob Hart (hart@far.example) · from your email]
            [Bob Stone, Sales (stone@acme.test.evil.example) · from your email]
            [Someone else]
        ");
    }
    let stone = world.find_label("dm:ana", "Bob Stone (stone@acme.test)");
    world.click("ana", "dm:ana", &stone).await;
    let asked = world.read_new("dm:ana");
    assert!(asked.contains("To  stone@acme.test\n") && !asked.contains("outside text"), "{asked}");
    world.deny_request("ana", "dm:ana", "").await;
    world.read_new("dm:ana");
    world.read_new("general");
    world.finish().await;
}

async fn lookalike_contact_is_not_offered(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    receive_mail_from(&world, "Bo Lind", "eve@evil.test");
    world.script_model("tool", [mail_to("Bo Lind")]);
    world.say("ana", "general", "@nod say hello to Bo Lind").await;
    let asked = world.read_new("general");
    assert!(asked.contains("To  bo@acme.test\n"), "{asked}");
    assert!(world.google.calls().iter().all(|call| call.operation != LIST));
    world.finish().await;
}

async fn nobody_else_sees_whom_somebody_writes_with(platform: Platform) {
    let mut world = with_contact_zoe(platform).await;
    world.script_model("tool", [mail_to("Zoe"), Answer::text("Zoe has it.")]);
    let thread = world.say("ana", "general", "@nod say hello to Zoe").await;
    let zoe = world.find_label("dm:ana", "Zoe Kim");
    world.click("ana", "dm:ana", &zoe).await;
    world.click("ana", "dm:ana", "Approve & send").await;
    let asked = world.model.requests().len();
    world.script_model("conversational", [Answer::text("Ask Ana.")]);
    world.reply("bo", "general", &thread, "which Zoe?").await;
    for request in &world.model.requests()[asked..] {
        assert!(!request.to_string().contains("partner.example"), "{request}");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to Zoe
                nod: · Answered Ana Silva privately.
                bo: which Zoe?
                nod: Ask Ana.
        ");
    }
    world.read_new("dm:ana");
    world.finish().await;
}

async fn who_takes_no_direct_messages_picks_all_the_same(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("eli").await;
    assert!(world.google.writes("eli@acme.test", "Zoe Kim <zoe@partner.example>", "Hello"));
    world.script_model("tool", [mail_to("Zoe")]);
    world.say("eli", "general", "@nod say hello to Zoe").await;
    world.click("eli", "general", "Show me").await;
    assert!(world.wait_for_ephemeral("eli").await.contains("# Is this the right Zoe?"));
    let zoe = world.ephemeral_button_label("eli", "Zoe Kim");
    world.click_newest_ephemeral("eli", &zoe).await;
    world.click("eli", "general", "Show me").await;
    assert!(world.wait_for_ephemeral("eli").await.contains("To  zoe@partner.example\n"));
    let read = world.read_new("general");
    assert!(!read.contains("partner.example"), "{read}");
    world.finish().await;
}

async fn unknown_contact_is_asked_for_by_text(platform: Platform) {
    let mut world = with_contact_zoe(platform).await;
    world.script_model("tool", [mail_to("Zoe"), Answer::text("What is her address?")]);
    world.say("ana", "dm:ana", "say hello to Zoe").await;
    world.click("ana", "dm:ana", "Someone else").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: say hello to Zoe
            nod: · Is this the right Zoe? → Someone else
            nod: What is her address?
              · To be clear, nothing was sent or changed just now.
        ");
    }
    assert!(!world.model.requests().last().unwrap().to_string().contains("partner.example"));
    world.finish().await;
}

async fn without_an_account_no_mail_is_looked_at(platform: Platform) {
    let mut world = World::new_on(platform).await;
    receive_mail_from(&world, "Zoe Kim", "zoe@partner.example");
    world.script_model("tool", [mail_to("Zoe"), Answer::text("I know no Zoe here. What is her address?")]);
    world.say("ana", "general", "@nod say hello to Zoe").await;
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("Zoe isn't in this workspace, so I need an address\\\""), "{heard}");
    world.read_new("general");
    world.finish().await;
}

async fn mail_that_cannot_be_looked_at_is_said_and_the_name_stays_unknown(platform: Platform) {
    let mut world = with_contact_zoe(platform).await;
    world.google.faults.next(LIST, Fault::Status { code: 400, retry_after: None });
    world.script_model("tool", [mail_to("Zoe"), Answer::text("What is her address?")]);
    world.say("ana", "general", "@nod say hello to Zoe").await;
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("Zoe isn't in this workspace"), "{heard}");
    assert!(heard.contains("the person's own mail could not be looked at for that name"), "{heard}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod say hello to Zoe
                nod: What is her address?
                  · To be clear, nothing was sent or changed just now.
        ");
    }
    world.finish().await;
}

/// Returns the model's input after a request to write to someone without a known email address.
async fn cannot_write_to(world: &mut World, name: &str) -> String {
    world.script_model("tool", [mail_to(name), Answer::text("I cannot write to them.")]);
    world.say("ana", "general", &format!("@nod say hello to {name}")).await;
    world.read_new("general");
    world.model.requests().pop().unwrap().to_string()
}

/// Asks for a mail to this user. Discord reveals no email addresses: there the tool says that the user has none.
async fn is_found(world: &mut World, name: &str, address: &str) {
    if matches!(world.chat, FakeChat::Discord(_)) {
        let told = cannot_write_to(world, name).await;
        assert!(told.contains("has no email address I can see"), "{told}");
        return;
    }
    world.script_model("tool", [mail_to(name), Answer::text("As you like.")]);
    world.say("ana", "general", &format!("@nod say hello to {name}")).await;
    let asked = world.read_new("general");
    assert!(asked.contains(&format!("To  {address}\n")), "{asked}");
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
}

async fn who_joined_today_is_found(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    let lists = world.chat.count_member_list_calls();
    world.chat.joins("dee", "Dee Moss");
    world.wait_until_idle().await;
    is_found(&mut world, "Dee", "dee@acme.test").await;
    assert_eq!(world.chat.count_member_list_calls(), lists);
    world.finish().await;
}

async fn who_is_called_otherwise_today_is_found(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.chat.renames("cho", "Cho Winter");
    world.wait_until_idle().await;
    is_found(&mut world, "Cho Winter", "cho@acme.test").await;
    world.finish().await;
}

async fn who_left_today_is_nobody(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.chat.remove_user("bo");
    world.wait_until_idle().await;
    let told = cannot_write_to(&mut world, "Bo Lind").await;
    assert!(told.contains("Bo Lind isn't in this workspace"), "{told}");
    world.finish().await;
}

/// Slack redelivers what was not acknowledged, also after newer events.
#[tokio::test]
async fn what_is_told_late_gives_nobody_their_standing_back() {
    let mut world = World::new().await;
    world.connect_google("ana").await;
    world.chat.renames("bo", "Bo Lind");
    let late = world.slack.last_event();
    world.chat.remove_user("bo");
    world.wait_until_idle().await;
    for _ in 0..2 {
        world.slack.deliver_event(late.clone());
        world.wait_until_idle().await;
    }
    let told = cannot_write_to(&mut world, "Bo Lind").await;
    assert!(told.contains("Bo Lind isn't in this workspace"), "{told}");
    // A user who came back is looked up when they are active.
    world.chat.renames("bo", "Bo Lind");
    world.script_model("conversational", [Answer::text("Hello Bo.")]);
    world.say("bo", "general", "@nod hello").await;
    assert!(world.read_new("general").contains("Hello Bo."));
    world.finish().await;
}

async fn a_second_bo_who_joined_is_asked_about(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.chat.joins("marsh", "Bo Marsh");
    world.wait_until_idle().await;
    world.script_model("tool", [mail_to("Bo")]);
    world.say("ana", "general", "@nod say hello to Bo").await;
    let asked = world.read_new("general");
    assert!(asked.contains(" Bo?") && asked.contains("[Bo Lind (bo@acme.test)]"), "{asked}");
    world.finish().await;
}

async fn a_name_that_misses_reads_the_list_once_in_ten_minutes(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    let lists = world.chat.count_member_list_calls();
    world.chat.joins_untold("dee", "Dee Moss");
    let told = cannot_write_to(&mut world, "Dee").await;
    assert!(told.contains("Dee isn't in this workspace"), "{told}");
    assert_eq!(world.chat.count_member_list_calls(), lists);

    world.advance(TimeDelta::minutes(11)).await;
    is_found(&mut world, "Dee", "dee@acme.test").await;
    assert_eq!(world.chat.count_member_list_calls(), lists + 1);
    cannot_write_to(&mut world, "Zoe").await;
    assert_eq!(world.chat.count_member_list_calls(), lists + 1);

    world.advance(TimeDelta::minutes(11)).await;
    cannot_write_to(&mut world, "Zoe").await;
    assert_eq!(world.chat.count_member_list_calls(), lists + 2);
    // The daily reading continues, once a day.
    world.advance(TimeDelta::hours(25)).await;
    assert_eq!(world.chat.count_member_list_calls(), lists + 3);
    world.read_new("general");
    world.finish().await;
}

async fn a_name_that_fits_an_old_list_is_looked_up_in_a_new_one(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.chat.joins_untold("marsh", "Bo Marsh");
    world.advance(TimeDelta::minutes(11)).await;
    world.script_model("tool", [mail_to("Bo")]);
    world.say("ana", "general", "@nod say hello to Bo").await;
    let asked = world.read_new("general");
    assert!(asked.contains(" Bo?") && asked.contains("[Bo Lind (bo@acme.test)]"), "{asked}");
    world.finish().await;
}

/// Slack takes long to list the users of a large workspace.
#[tokio::test]
async fn while_the_list_is_being_read_nobody_is_taken_for_granted() {
    let mut world = World::new().await;
    world.connect_google("ana").await;
    world.advance(TimeDelta::minutes(11)).await;
    world.slack.faults().next("users.list", Fault::Status { code: 429, retry_after: Some(30) });
    let told = cannot_write_to(&mut world, "Zoe").await;
    assert!(told.contains("Zoe isn't in this workspace"), "{told}");
    assert!(told.contains("I'm reading the list of people again, so ask me once more in a minute"), "{told}");
    world.advance(TimeDelta::seconds(10)).await;
    world.script_model("tool", [mail_to("Bo")]);
    world.say("ana", "general", "@nod say hello to Bo").await;
    let asked = world.read_new("general");
    let asked = &asked[asked.find("# Is this the right Bo?").unwrap_or_else(|| panic!("{asked}"))..];
    insta::assert_snapshot!(asked, @r"
        # Is this the right Bo?
              · I'm reading the list of people again, so there may be another one.
              [Bo Lind (bo@acme.test)] [Someone else]
    ");
    world.advance(TimeDelta::seconds(30)).await;
    is_found(&mut world, "Cho", "cho@acme.test").await;
    world.finish().await;
}
