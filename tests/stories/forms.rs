//! The forms behind a card's buttons: edit it, deny it, show all of it.

use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{Click, ForgedForm, Form, World};
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    where_no_form_opens_edit_says_so_and_deny_denies,
    forms_that_should_not_come_say_so_and_do_nothing,
    of_two_windows_the_second_is_told,
    nobody_approves_what_they_cannot_see,
    a_mail_can_be_changed_before_the_nod,
    buttons_of_an_older_revision_do_nothing,
    saving_without_a_change_is_no_revision,
    a_no_can_say_why,
    closing_the_form_denies_nothing,
    a_long_mail_shows_its_beginning_and_all_of_it_on_demand,
    more_than_ten_pages_are_not_asked_about,
    a_form_that_comes_after_the_expiry_is_told,
    what_is_private_is_shown_to_nobody_else,
);

/// Ana has asked, and the card waits.
async fn with_pending_request(platform: Platform, answers: impl IntoIterator<Item = Answer>) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    world.script_model("tool", [late_mail_call()].into_iter().chain(answers));
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world
}

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

/// Returns the model's last input.
fn last_prompt(world: &World) -> String {
    let prompt = world.model.requests().pop().unwrap();
    prompt["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

async fn send_click(world: &mut World, press: &Click) -> String {
    world.send_click(press).await;
    world.wait_for_ephemeral(&press.user).await
}

async fn load_status(world: &World) -> (String, i32) {
    sqlx::query_as("select status, revision from approvals").fetch_one(&world.pool).await.unwrap()
}

async fn a_mail_can_be_changed_before_the_nod(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Bo and Cho know.")]).await;
    world.open_form("ana", "general", "Edit").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.form_text("ana"), @r"
            # Edit this email
            To: bo@acme.test
            Cc (optional): 
            Bcc (optional): 
            Subject (optional): Running late
            Body: Hi Bo,

            I'm running late.

            Ana
        ");
    }
    let left = world.submit_form(
        "ana",
        &[("To", "Bo, cho@acme.test"), ("Subject", "Very late"), ("Body", "Hi both,\n\nan hour.")],
    );
    assert_eq!(left.await, "");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Send this email? · edited
                  From  ana@acme.test
                  To  bo@acme.test, cho@acme.test
                  Subject  Very late
                  Hi both,

                  an hour.
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.click("ana", "general", "Approve & send").await;
    let mail = &world.google.inbox("cho@acme.test")[0];
    assert_eq!((mail.subject.as_str(), mail.body.trim_end()), ("Very late", "Hi both,\n\nan hour."));
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_prompt(&world), @r#"{"changed_by_the_person":{"detail":"the person changed this before deciding; these values took the place of yours","to":{"body":"Hi both,\n\nan hour.","subject":"Very late","to":["bo@acme.test","cho@acme.test"]}},"id":"019a400000000005","link":"https://mail.google.com/mail/?authuser=ana%40acme.test#all/019a400000000005","message_id":"<CAsandbox00000004@mail.gmail.com>","status":"sent","thread_id":"019a400000000002","to":["bo@acme.test","cho@acme.test"]}"#);
    }
    let told: Vec<(String, serde_json::Value)> =
        sqlx::query_as("select action, detail from audit where action like 'approval.%' order by at, action")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    insta::allow_duplicates! {
        insta::assert_snapshot!(told.iter().map(|(a, d)| format!("{a} {d}\n")).collect::<String>(), @r#"
            approval.approved {"revision":2,"tool":"gmail_send_email"}
            approval.edited {"changed":["body","subject","to"],"revision":2,"tool":"gmail_send_email","was":"db435dfbd27c2c84cfca6040c11045fece92f4f25185ae05ad3ba479bd4d1be1"}
            approval.requested {"revision":1,"tool":"gmail_send_email"}
        "#);
    }
    world.read_new("general");
    world.finish().await;
}

async fn buttons_of_an_older_revision_do_nothing(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Done.")]).await;
    let old = ["Approve & send", "Edit", "Deny"].map(|label| world.prepare_click("ana", "general", label));
    world.edit_request("ana", "general", &[("Subject", "Very late")]).await;
    let mut said = String::new();
    for press in old {
        said.push_str(&send_click(&mut world, &press).await);
        said.push('\n');
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: This was edited after you saw it. Please look at the card again before you decide.
            (ana only) nod: This was edited after you saw it. Please look at the card again before you decide.
            (ana only) nod: This was edited after you saw it. Please look at the card again before you decide.
        ");
    }
    assert_eq!(load_status(&world).await, ("pending".to_owned(), 2));
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].subject, "Very late");
    world.read_new("general");
    world.finish().await;
}

/// Discord closes every submitted form; it has its own stories.
#[tokio::test]
async fn what_is_wrong_stands_at_its_field_and_nothing_typed_is_lost() {
    let mut world = with_pending_request(Platform::Slack, [Answer::text("Done.")]).await;
    let wrong = [("To", "Bob, zoe, bo@"), ("Cc", "bo@localhost"), ("Body", "  "), ("Subject", "Hello there")];
    let said = world.edit_request("ana", "general", &wrong).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r#"
            # Edit this email
            To: Bob, zoe, bo@
              ✗ “Bob” could be Bob Reyes (reyes@acme.test) or Bob Stone (stone@acme.test). Please type the address. zoe isn't in this workspace, so I need an address. “bo@” isn't an email address.
            Cc (optional): bo@localhost
              ✗ "bo@localhost" isn't an address I can send to: Too few parts in the domain.
            Bcc (optional): 
            Subject (optional): Hello there
            Body:   
              ✗ Write something in the email.
        "#);
    }
    assert_eq!(load_status(&world).await, ("pending".to_owned(), 1));
    // Clients do not check this: only a comma means no recipient.
    let said = world.submit_form("ana", &[("To", " , "), ("Cc", ""), ("Body", "Hi")]).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            # Edit this email
            To:  , 
              ✗ Add at least one recipient.
            Cc (optional): 
            Bcc (optional): 
            Subject (optional): Hello there
            Body: Hi
        ");
    }
    assert_eq!(world.submit_form("ana", &[("To", "Bob Stone")]).await, "");
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.list_sent("ana@acme.test")[0].subject, "Hello there");
    world.read_new("general");
    world.finish().await;
}

async fn saving_without_a_change_is_no_revision(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Done.")]).await;
    let press = world.prepare_click("ana", "general", "Approve & send");
    assert_eq!(world.edit_request("ana", "general", &[]).await, "");
    assert_eq!(load_status(&world).await, ("pending".to_owned(), 1));
    world.send_click(&press).await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn a_no_can_say_why(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("All right, on Monday.")]).await;
    world.open_form("ana", "general", "Deny").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.form_text("ana"), @r"
            # Deny this email
            · email to bo@acme.test “Running late”, expires Sat 7 Mar 2026, 09:30 WET.
            · I'll read your reason, and the card will show it.
            Reason (optional): 
        ");
    }
    world.submit_form("ana", &[("Reason", "not before *Monday* <!channel>")]).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4).replace('\u{200b}', ""), @r"
              Denied by Ana Silva 09:30 WET (not before *Monday* <!channel>). Not sent.
              [Ask again]
            nod: All right, on Monday.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_prompt(&world), @r#"{"about":"email to bo@acme.test “Running late”","detail":"the person said no, for the reason in their own words; nothing was done","reason":"not before *Monday* <!channel>","status":"denied"}"#);
    }
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.finish().await;
}

async fn closing_the_form_denies_nothing(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Done.")]).await;
    world.open_form("ana", "general", "Deny").await;
    world.close_form("ana");
    assert_eq!(load_status(&world).await, ("pending".to_owned(), 1));
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn where_no_form_opens_edit_says_so_and_deny_denies(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("All right.")]).await;
    world.chat.fail_next_form();
    world.click("ana", "general", "Edit").await;
    let said = world.wait_for_ephemeral("ana").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: The form didn't open. Please press Edit again.");
    }
    world.chat.fail_next_form();
    world.click("ana", "general", "Deny").await;
    world.wait_for_nod_message("general", "All right.").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Denied by Ana Silva 09:30 WET. Not sent.
              [Ask again]
            nod: All right.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    world.finish().await;
}

fn long_body() -> String {
    let paragraph = "All work and no play makes a long mail.\n  It goes on.\t\n\n".repeat(150);
    format!("Hi Bo,\n\n{paragraph}{}\n\nAna", "x".repeat(3_001))
}

async fn a_long_mail_shows_its_beginning_and_all_of_it_on_demand(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let mail = json!({ "to": ["Bo"], "subject": "Long", "body": long_body() });
    world.script_model("tool", [Answer::tool("gmail_send_email", mail), Answer::text("Bo has it.")]);
    world.say("ana", "general", "@nod send Bo the long mail").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 8), @r"
            All work and no play makes a long mail.
              It goes on.

            All work and no play makes a long mail.
              It goes on.
            · First 1,463 of 11,414 characters. Press Show all to read the rest.
            · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
            [Approve & send] [Edit] [Deny] [Show all]
        ");
    }
    let whole: String = long_body().split_whitespace().collect();
    for reader in ["ana", "bo"] {
        let shown = world.show_all(reader, "general", "x\n\nAna").await;
        assert!(shown.contains(&whole), "{shown}");
    }
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body.trim_end(), long_body());
    assert!(world.read_new("general").contains("[Show all]"));
    world.finish().await;
}

/// Too long for one message of Discord, but not of Slack: on both, the rest is at most a click away.
async fn nobody_approves_what_they_cannot_see(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let body = format!("Hi Bo,\n\n{}\n\nAna", "All work and no play makes a long mail.\n".repeat(125));
    let mail = json!({ "to": ["Bo"], "subject": "Long", "body": body });
    world.script_model("tool", [Answer::tool("gmail_send_email", mail)]);
    world.say("ana", "general", "@nod send Bo the long mail").await;
    let read = world.read_new("general");
    let whole = read.matches("All work").count() == 125 && read.contains("Ana\n");
    let offered = read.contains("[Show all]") && !read.contains("more characters");
    assert!(whole || offered, "{read}");
    world.finish().await;
}

/// Discord's forms cannot hold so much text.
#[tokio::test]
async fn a_long_mail_is_changed_in_one_place_and_every_other_letter_stays() {
    let mut world = World::new().await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let mail = json!({ "to": ["Bo"], "subject": "Long", "body": long_body() });
    world.script_model("tool", [Answer::tool("gmail_send_email", mail), Answer::text("Bo has it.")]);
    world.say("ana", "general", "@nod send Bo the long mail").await;
    world.open_form("bo", "general", "Show all").await;
    let shown: String = world.chat.find_open_form("bo").unwrap().payload["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(block_text)
        .collect();
    assert!(shown.contains(&long_body()), "{shown}");
    world.close_form("bo");
    // After a change in one place, every other character stays the same.
    let changed = long_body().replace("Hi Bo,", "Dear Bo,");
    let form = world.open_form("ana", "general", "Edit").await;
    let first = form.payload["blocks"].as_array().unwrap().iter().find(|b| b["block_id"] == "body").unwrap();
    let first = first["element"]["initial_value"].as_str().unwrap().replace("Hi Bo,", "Dear Bo,");
    assert_eq!(world.submit_form("ana", &[("body", &first)]).await, "");
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body.trim_end(), changed);
    assert!(world.read_new("general").contains("[Show all]"));
    world.finish().await;
}

/// Returns the text of a block without changing whitespace.
fn block_text(block: &serde_json::Value) -> String {
    match block {
        serde_json::Value::Object(all) if all.get("type").is_some_and(|t| t == "text") => {
            all["text"].as_str().unwrap_or_default().to_owned()
        }
        serde_json::Value::Object(all) => all.values().map(block_text).collect(),
        serde_json::Value::Array(all) => all.iter().map(block_text).collect(),
        _ => String::new(),
    }
}

async fn more_than_ten_pages_are_not_asked_about(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let mail = json!({ "to": ["Bo"], "subject": "Long", "body": "x".repeat(30_001) });
    world.script_model("tool", [Answer::tool("gmail_send_email", mail), Answer::text("That is too long.")]);
    world.say("ana", "general", "@nod send Bo the book").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_prompt(&world), @r#"{"error":"the body is 30001 characters long, and the limit is 30000: more than can be shown for approval; nothing was asked. Offer a shorter one, or several mails."}"#);
    }
    world.read_new("general");
    world.finish().await;
}

async fn forms_that_should_not_come_say_so_and_do_nothing(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Done.")]).await;
    let form = world.open_form("ana", "general", "Edit").await;
    let form = |user: &str| ForgedForm {
        user: user.to_owned(),
        form: form.id.clone(),
        verb: None,
        values: [("subject".to_owned(), "Forged".to_owned())].into(),
    };
    let carrying = |verb: &str| ForgedForm { verb: Some(verb.to_owned()), ..form("ana") };
    let typing =
        |field: &str, text: String| ForgedForm { values: [(field.to_owned(), text)].into(), ..form("ana") };
    let id: uuid::Uuid = sqlx::query_scalar("select id from approvals").fetch_one(&world.pool).await.unwrap();
    let mut said = Vec::new();
    for forged in [
        form("bo"),
        carrying(""),
        carrying("edit:7"),
        carrying(&format!("edit:{}:1", uuid::Uuid::from_u128(7))),
        carrying(&format!("approve:{id}:1")),
        carrying(&format!("edit:{id}:2")),
        carrying(&format!("edit:{id}:65535")),
        typing("body", "x".repeat(100_000)),
        typing("to", "a\u{0}b".to_owned()),
        typing("subject", "a\u{0}b".to_owned()),
    ] {
        said.push(world.submit_forged_form(forged).await);
    }
    assert_eq!(load_status(&world).await, ("pending".to_owned(), 1));
    // The form is submitted twice, then approved, and submitted again.
    assert_eq!(world.submit_forged_form(form("ana")).await, "");
    said.push(world.submit_forged_form(form("ana")).await);
    world.click("ana", "general", "Approve & send").await;
    said.push(world.submit_forged_form(carrying(&format!("edit:{id}:2"))).await);
    said.push(world.submit_forged_form(carrying(&format!("deny:{id}:2"))).await);
    insta::allow_duplicates! {
        insta::assert_snapshot!(said.join("\n"), @r"
            Only Ana Silva can decide this. Nothing was done.
            That form no longer works. Nothing was done.
            That form no longer works. Nothing was done.
            I can't find that request any more. Nothing was done.
            That form no longer works. Nothing was done.
            This was edited after you saw it. Please look at the card again before you decide.
            This was edited after you saw it. Please look at the card again before you decide.
            That's 100,000 characters, and the limit is 30,000.
            One address contains characters that can't be used.
            A subject has to fit on one line.
            This was edited after you saw it. Please look at the card again before you decide.
            You already approved this (Fri 6 Mar 2026, 09:30 WET): sent 09:30 WET.
            You already approved this (Fri 6 Mar 2026, 09:30 WET): sent 09:30 WET.
        ");
    }
    assert_eq!(world.google.inbox("bo@acme.test")[0].subject, "Forged");
    world.abandon_form("ana");
    world.read_new("general");
    world.finish().await;
}

async fn a_form_that_comes_after_the_expiry_is_told(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Nobody answered.")]).await;
    world.open_form("ana", "general", "Edit").await;
    world.advance(chrono::TimeDelta::hours(25)).await;
    let said = world.submit_form("ana", &[("Subject", "Late to the party")]).await;
    assert!(
        said.contains("This expired without an answer. Nothing was done. Ask me again if you still want it."),
        "{said}"
    );
    world.abandon_form("ana");
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    world.read_new("general");
    world.finish().await;
}

async fn of_two_windows_the_second_is_told(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Done.")]).await;
    let first = world.open_form("ana", "general", "Edit").await;
    let second = world.open_form("ana", "general", "Edit").await;
    let sent = |form: &Form, subject: &str| ForgedForm {
        user: "ana".to_owned(),
        form: form.id.clone(),
        verb: None,
        values: [("subject".to_owned(), subject.to_owned())].into(),
    };
    assert_eq!(world.submit_forged_form(sent(&first, "First")).await, "");
    let said = world.submit_forged_form(sent(&second, "Second")).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"This was edited after you saw it. Please look at the card again before you decide.");
    }
    world.abandon_form("ana");
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].subject, "First");
    world.read_new("general");
    world.finish().await;
}

async fn what_is_private_is_shown_to_nobody_else(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let mail = json!({ "to": ["Bo"], "subject": "Long", "body": long_body() });
    world.script_model(
        "tool",
        [Answer::tool("gmail_list_recent", json!({})), Answer::tool("gmail_send_email", mail)],
    );
    world.say("ana", "dm:ana", "read my mail and send Bo the long mail").await;
    let id: uuid::Uuid = sqlx::query_scalar("select id from approvals").fetch_one(&world.pool).await.unwrap();
    let mut said = String::new();
    for verb in ["show_full_text", "edit", "deny"] {
        let value = format!("{verb}:{id}:1");
        let press = Click::forged("bo", "general", value);
        said.push_str(&send_click(&mut world, &press).await);
        said.push('\n');
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (bo only) nod: That's for someone else, or it's gone.
            (bo only) nod: Only Ana Silva can decide this. Nothing was done.
            (bo only) nod: Only Ana Silva can decide this. Nothing was done.
        ");
    }
    world.read_new("dm:ana");
    world.finish().await;
}
