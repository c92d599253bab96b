//! Whom a name means: known people resolve, several are asked about, nobody is guessed.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
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
);

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
