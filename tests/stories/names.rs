//! Whom a name means: known people resolve, an ambiguous name is asked about, and no one is guessed.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::google::Incoming;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::{Chat, On};
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
    whoever_calls_himself_like_a_colleague_gets_nothing_between,
    nobody_else_sees_whom_somebody_writes_with,
    who_takes_no_direct_messages_picks_all_the_same,
    whoever_is_none_of_the_contacts_is_asked_for_in_words,
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

async fn asks_which_bob(platform: On) -> World {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("stone").await;
    world.can_be_written_to("reyes").await;
    world.model_will("tool", [mail_to("Bob")]);
    world.says("ana", "general", "@nod say hello to Bob").await;
    world
}

async fn several_bobs_become_buttons_and_the_pick_goes_on(platform: On) {
    let mut world = asks_which_bob(platform).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to Bob
                nod: # Which Bob?
                  [Bob Reyes (reyes@acme.test)] [Bob Stone (stone@acme.test)] [Someone else]
        ");
    }
    world.presses("bo", "general", "Someone else").await;
    let heard = world.hears("bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(bo only) nod: This question is for somebody else. Nothing was done.");
    }
    let label = world.labelled("general", "Bob Stone");
    let kept = world.keeps_press("ana", "general", &label);
    world.presses("ana", "general", &label).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to Bob
                nod: · Which Bob? → Bob Stone (stone@acme.test)
                nod: # Send this email? · rev 1 · f7029e
                  From  ana@acme.test
                  To  stone@acme.test
                  Cc  —
                  Bcc  —
                  Subject  Hello
                  Hello!
                  ⚠ Nod's first mail to stone@acme.test
                  · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
                  [Approve & send] [Edit] [Deny]
        ");
    }

    // The same button again, from a client that still shows it.
    world.sends_press(&kept).await;
    let heard = world.hears("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(heard, @"(ana only) nod: This was answered already. Nothing more was done.");
    }
    world.ends().await;
}

async fn someone_else_is_asked_for_in_words(platform: On) {
    let mut world = asks_which_bob(platform).await;
    world.model.will(Answer::text("Which Bob do you mean? Please give me an address."));
    world.presses("ana", "general", "Someone else").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to Bob
                nod: · Which Bob? → Someone else
                nod: Which Bob do you mean? Please give me an address.
                  · For the record: nothing was sent or changed in this turn.
        ");
    }
    world.ends().await;
}

async fn nobody_picks_in_time(platform: On) {
    let mut world = asks_which_bob(platform).await;
    world.model.will(Answer::text("Nobody told me which Bob, so I sent nothing."));
    world.later(TimeDelta::hours(25)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to Bob
                nod: · Which Bob? → nobody answered
                nod: Nobody told me which Bob, so I sent nothing.
                  · For the record: nothing was sent or changed in this turn.
        ");
    }
    world.ends().await;
}

async fn an_unknown_name_is_said_to_the_model_and_never_guessed(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.model_will("tool", [mail_to("Zoe"), Answer::text("I know no Zoe here. What is her address?")]);
    world.says("ana", "general", "@nod say hello to Zoe").await;
    assert!(world.model.requests().last().unwrap().to_string().contains("Zoe is nobody in this workspace"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to Zoe
                nod: I know no Zoe here. What is her address?
                  · For the record: nothing was sent or changed in this turn.
        ");
    }
    world.ends().await;
}

async fn an_address_is_taken_as_it_is(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.model_will("tool", [mail_to("zoe+x@far.example")]);
    world.says("ana", "general", "@nod say hello to zoe+x@far.example").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to zoe+x@far.example
                nod: # Send this email? · rev 1 · 588770
                  From  ana@acme.test
                  To  zoe+x@far.example
                  Cc  —
                  Bcc  —
                  Subject  Hello
                  Hello!
                  ⚠ zoe+x@far.example is outside acme.test
                  ⚠ Nod's first mail to zoe+x@far.example
                  · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.ends().await;
}

async fn what_is_no_address_is_said_so(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.model_will("tool", [mail_to("zoe@@far"), Answer::text("“zoe@@far” is no address.")]);
    world.says("ana", "general", "@nod say hello to zoe@@far").await;
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("is no email address"), "{heard}");
    world.reads("general");
    world.ends().await;
}

async fn a_mention_that_the_model_repeats_is_read_as_a_name(platform: On) {
    let mut world = World::on(platform).await;
    let stone = world.chat.mention("stone");
    world.model_will("conversational", [Answer::text(format!("{stone} works in sales."))]);
    world.says("ana", "general", "@nod who is @stone?").await;
    assert!(world.model.requests()[1].to_string().contains(&format!("{stone}: Bob Stone")));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod who is @stone?
                nod: Bob Stone works in sales.
        ");
    }
    world.ends().await;
}

async fn a_mention_is_the_person_mentioned(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("stone").await;
    let stone = world.chat.mention("stone");
    world.model_will("tool", [mail_to(&stone)]);
    world.says("ana", "general", "@nod say hello to @stone").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to @stone
                nod: # Send this email? · rev 1 · f7029e
                  From  ana@acme.test
                  To  stone@acme.test
                  Cc  —
                  Bcc  —
                  Subject  Hello
                  Hello!
                  ⚠ Nod's first mail to stone@acme.test
                  · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.ends().await;
}

/// Ana has written to Zoe, who is otherwise unknown here.
async fn knows_zoe(platform: On) -> World {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    assert!(world.google.writes(ANA, "Zoe Kim <zoe@partner.example>", "Hello"));
    world
}

/// Delivers a mail to Ana under any name.
fn hears_from(world: &World, name: &str, address: &str) {
    let (from, from_name) = (address.to_owned(), name.to_owned());
    world.google.deliver_mail(&Incoming { to: ANA.into(), from, from_name, ..Incoming::default() }).unwrap();
}

async fn somebody_known_from_sent_mail_is_picked_and_written_to(platform: On) {
    let mut world = knows_zoe(platform).await;
    world.model_will("tool", [mail_to("Zoe"), Answer::text("Zoe has it.")]);
    world.says("ana", "general", "@nod say hello to Zoe").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Which Zoe?
              [Zoe Kim (zoe@partner.example) · from your mail] [Someone else]
        ");
    }
    let zoe = world.labelled("dm:ana", "Zoe Kim");
    world.presses("ana", "dm:ana", &zoe).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · Which Zoe? → Zoe Kim (zoe@partner.example) · from your mail
            nod: # Send this email? · rev 1 · c16f43
              From  ana@acme.test
              To  zoe@partner.example
              Cc  —
              Bcc  —
              Subject  Hello
              Hello!
              ⚠ zoe@partner.example is outside acme.test
              ⚠ Nod's first mail to zoe@partner.example
              ⚠ zoe@partner.example comes from outside text: nobody here named it
              ⚠ this run has read outside text: an address from your mail
              · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
              [Approve & send] [Edit] [Deny]
        ");
    }
    assert_eq!(world.google.sent(ANA).len(), 1);
    world.presses("ana", "dm:ana", "Approve & send").await;
    let left = world.google.outbox().pop().unwrap();
    assert_eq!((left.recipient.as_str(), left.mail.subject.as_str()), ("zoe@partner.example", "Hello"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to Zoe
                nod: · Asked Ana Silva privately.
                nod: · Asked Ana Silva privately.
                nod: · Answered Ana Silva privately.
                  [Share here]
        ");
    }
    world.reads("dm:ana");
    world.ends().await;
}

async fn of_several_the_workspace_stands_first_and_then_whom_one_wrote_to(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("stone").await;
    world.can_be_written_to("reyes").await;
    assert!(world.google.writes(ANA, "Bob Hart <hart@far.example>", "Hello"));
    hears_from(&world, "Bob Stone, Sales", "stone@acme.test.evil.example");
    hears_from(&world, "Bob Stone", "stone@acme.test");
    world.model_will("tool", [mail_to("Bob"), Answer::text("As you like.")]);
    world.says("ana", "general", "@nod say hello to Bob").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.button_labels("dm:ana").replace("] ", "]\n"), @r"
            [Bob Reyes (reyes@acme.test)]
            [Bob Stone (stone@acme.test)]
            [Bob Hart (hart@far.example) · from your mail]
            [Bob Stone, Sales (stone@acme.test.evil.example) · from your mail]
            [Someone else]
        ");
    }
    let stone = world.labelled("dm:ana", "Bob Stone (stone@acme.test)");
    world.presses("ana", "dm:ana", &stone).await;
    let asked = world.reads("dm:ana");
    assert!(asked.contains("To  stone@acme.test\n") && !asked.contains("outside text"), "{asked}");
    world.denies("ana", "dm:ana", "").await;
    world.reads("dm:ana");
    world.reads("general");
    world.ends().await;
}

async fn whoever_calls_himself_like_a_colleague_gets_nothing_between(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    hears_from(&world, "Bo Lind", "eve@evil.test");
    world.model_will("tool", [mail_to("Bo Lind")]);
    world.says("ana", "general", "@nod say hello to Bo Lind").await;
    let asked = world.reads("general");
    assert!(asked.contains("To  bo@acme.test\n"), "{asked}");
    assert!(world.google.calls().iter().all(|call| call.operation != LIST));
    world.ends().await;
}

async fn nobody_else_sees_whom_somebody_writes_with(platform: On) {
    let mut world = knows_zoe(platform).await;
    world.model_will("tool", [mail_to("Zoe"), Answer::text("Zoe has it.")]);
    let thread = world.says("ana", "general", "@nod say hello to Zoe").await;
    let zoe = world.labelled("dm:ana", "Zoe Kim");
    world.presses("ana", "dm:ana", &zoe).await;
    world.presses("ana", "dm:ana", "Approve & send").await;
    let asked = world.model.requests().len();
    world.model_will("conversational", [Answer::text("Ask Ana.")]);
    world.replies("bo", "general", &thread, "which Zoe?").await;
    for request in &world.model.requests()[asked..] {
        assert!(!request.to_string().contains("partner.example"), "{request}");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to Zoe
                nod: · Asked Ana Silva privately.
                nod: · Asked Ana Silva privately.
                nod: · Answered Ana Silva privately.
                  [Share here]
                bo: which Zoe?
                nod: Ask Ana.
        ");
    }
    world.reads("dm:ana");
    world.ends().await;
}

async fn who_takes_no_direct_messages_picks_all_the_same(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("eli").await;
    assert!(world.google.writes("eli@acme.test", "Zoe Kim <zoe@partner.example>", "Hello"));
    world.model_will("tool", [mail_to("Zoe")]);
    world.says("eli", "general", "@nod say hello to Zoe").await;
    world.presses("eli", "general", "Show me").await;
    assert!(world.hears("eli").await.contains("# Which Zoe?"));
    let zoe = world.whispered_label("eli", "Zoe Kim");
    world.presses_whispered("eli", &zoe).await;
    world.presses("eli", "general", "Show me").await;
    assert!(world.hears("eli").await.contains("To  zoe@partner.example\n"));
    let read = world.reads("general");
    assert!(!read.contains("partner.example"), "{read}");
    world.ends().await;
}

async fn whoever_is_none_of_the_contacts_is_asked_for_in_words(platform: On) {
    let mut world = knows_zoe(platform).await;
    world.model_will("tool", [mail_to("Zoe"), Answer::text("What is her address?")]);
    world.says("ana", "dm:ana", "say hello to Zoe").await;
    world.presses("ana", "dm:ana", "Someone else").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: say hello to Zoe
            nod: · Which Zoe? → Someone else
            nod: What is her address?
              · For the record: nothing was sent or changed in this turn.
        ");
    }
    assert!(!world.model.requests().last().unwrap().to_string().contains("partner.example"));
    world.ends().await;
}

async fn without_an_account_no_mail_is_looked_at(platform: On) {
    let mut world = World::on(platform).await;
    hears_from(&world, "Zoe Kim", "zoe@partner.example");
    world.model_will("tool", [mail_to("Zoe"), Answer::text("I know no Zoe here. What is her address?")]);
    world.says("ana", "general", "@nod say hello to Zoe").await;
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("Zoe is nobody in this workspace; an address is needed\\\""), "{heard}");
    world.reads("general");
    world.ends().await;
}

async fn mail_that_cannot_be_looked_at_is_said_and_the_name_stays_unknown(platform: On) {
    let mut world = knows_zoe(platform).await;
    world.google.faults.next(LIST, Fault::Status { code: 400, retry_after: None });
    world.model_will("tool", [mail_to("Zoe"), Answer::text("What is her address?")]);
    world.says("ana", "general", "@nod say hello to Zoe").await;
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("Zoe is nobody in this workspace"), "{heard}");
    assert!(heard.contains("the person's own mail could not be looked at for that name"), "{heard}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod say hello to Zoe
                nod: What is her address?
                  · For the record: nothing was sent or changed in this turn.
        ");
    }
    world.ends().await;
}

/// Returns the model's input after a request to write to someone without a known email address.
async fn cannot_write_to(world: &mut World, name: &str) -> String {
    world.model_will("tool", [mail_to(name), Answer::text("I cannot write to them.")]);
    world.says("ana", "general", &format!("@nod say hello to {name}")).await;
    world.reads("general");
    world.model.requests().pop().unwrap().to_string()
}

/// Asks for a mail to this user. Discord reveals no email addresses: there the tool says that the user has none.
async fn is_found(world: &mut World, name: &str, address: &str) {
    if matches!(world.chat, Chat::Discord(_)) {
        let told = cannot_write_to(world, name).await;
        assert!(told.contains("shows no address here"), "{told}");
        return;
    }
    world.model_will("tool", [mail_to(name), Answer::text("As you like.")]);
    world.says("ana", "general", &format!("@nod say hello to {name}")).await;
    let asked = world.reads("general");
    assert!(asked.contains(&format!("To  {address}\n")), "{asked}");
    world.denies("ana", "general", "").await;
    world.reads("general");
}

async fn who_joined_today_is_found(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    let lists = world.chat.lists_of_people();
    world.chat.joins("dee", "Dee Moss");
    world.settles().await;
    is_found(&mut world, "Dee", "dee@acme.test").await;
    assert_eq!(world.chat.lists_of_people(), lists);
    world.ends().await;
}

async fn who_is_called_otherwise_today_is_found(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.chat.renames("cho", "Cho Winter");
    world.settles().await;
    is_found(&mut world, "Cho Winter", "cho@acme.test").await;
    world.ends().await;
}

async fn who_left_today_is_nobody(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.chat.leaves("bo");
    world.settles().await;
    let told = cannot_write_to(&mut world, "Bo Lind").await;
    assert!(told.contains("Bo Lind is nobody in this workspace"), "{told}");
    world.ends().await;
}

/// Slack redelivers what was not acknowledged, also after newer events.
#[tokio::test]
async fn what_is_told_late_gives_nobody_their_standing_back() {
    let mut world = World::new().await;
    world.connects("ana").await;
    world.chat.renames("bo", "Bo Lind");
    let late = world.slack.last_event();
    world.chat.leaves("bo");
    world.settles().await;
    for _ in 0..2 {
        world.slack.deliver_event(late.clone());
        world.settles().await;
    }
    let told = cannot_write_to(&mut world, "Bo Lind").await;
    assert!(told.contains("Bo Lind is nobody in this workspace"), "{told}");
    // A user who came back is looked up when they are active.
    world.chat.renames("bo", "Bo Lind");
    world.model_will("conversational", [Answer::text("Hello Bo.")]);
    world.says("bo", "general", "@nod hello").await;
    assert!(world.reads("general").contains("Hello Bo."));
    world.ends().await;
}

async fn a_second_bo_who_joined_is_asked_about(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.chat.joins("marsh", "Bo Marsh");
    world.settles().await;
    world.model_will("tool", [mail_to("Bo")]);
    world.says("ana", "general", "@nod say hello to Bo").await;
    let asked = world.reads("general");
    assert!(asked.contains("# Which Bo?") && asked.contains("[Bo Lind (bo@acme.test)]"), "{asked}");
    world.ends().await;
}

async fn a_name_that_misses_reads_the_list_once_in_ten_minutes(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    let lists = world.chat.lists_of_people();
    world.chat.joins_untold("dee", "Dee Moss");
    let told = cannot_write_to(&mut world, "Dee").await;
    assert!(told.contains("Dee is nobody in this workspace"), "{told}");
    assert_eq!(world.chat.lists_of_people(), lists);

    world.later(TimeDelta::minutes(11)).await;
    is_found(&mut world, "Dee", "dee@acme.test").await;
    assert_eq!(world.chat.lists_of_people(), lists + 1);
    cannot_write_to(&mut world, "Zoe").await;
    assert_eq!(world.chat.lists_of_people(), lists + 1);

    world.later(TimeDelta::minutes(11)).await;
    cannot_write_to(&mut world, "Zoe").await;
    assert_eq!(world.chat.lists_of_people(), lists + 2);
    // The daily reading continues, once a day.
    world.later(TimeDelta::hours(25)).await;
    assert_eq!(world.chat.lists_of_people(), lists + 3);
    world.reads("general");
    world.ends().await;
}

async fn a_name_that_fits_an_old_list_is_looked_up_in_a_new_one(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.chat.joins_untold("marsh", "Bo Marsh");
    world.later(TimeDelta::minutes(11)).await;
    world.model_will("tool", [mail_to("Bo")]);
    world.says("ana", "general", "@nod say hello to Bo").await;
    let asked = world.reads("general");
    assert!(asked.contains("# Which Bo?") && asked.contains("[Bo Lind (bo@acme.test)]"), "{asked}");
    world.ends().await;
}

/// Slack takes long to list the users of a large workspace.
#[tokio::test]
async fn while_the_list_is_being_read_nobody_is_taken_for_granted() {
    let mut world = World::new().await;
    world.connects("ana").await;
    world.later(TimeDelta::minutes(11)).await;
    world.slack.faults().next("users.list", Fault::Status { code: 429, retry_after: Some(30) });
    let told = cannot_write_to(&mut world, "Zoe").await;
    assert!(told.contains("Zoe is nobody in this workspace"), "{told}");
    assert!(told.contains("I am reading the list of people again, ask me once more in a minute"), "{told}");
    world.later(TimeDelta::seconds(10)).await;
    world.model_will("tool", [mail_to("Bo")]);
    world.says("ana", "general", "@nod say hello to Bo").await;
    let asked = world.reads("general");
    let asked = &asked[asked.find("# Which Bo?").unwrap_or_else(|| panic!("{asked}"))..];
    insta::assert_snapshot!(asked, @r"
        # Which Bo?
              · I am reading the list of people again: there may be another one by now.
              [Bo Lind (bo@acme.test)] [Someone else]
    ");
    world.later(TimeDelta::seconds(30)).await;
    is_found(&mut world, "Cho", "cho@acme.test").await;
    world.ends().await;
}
