//! One human on several platforms: who a user is on Discord, which reveals no email addresses, and how two accounts
//! become one person.

use nod_sandbox::discord::Discord;
use nod_sandbox::model::Answer;
use nod_sandbox::slack::User;
use nod_tests::chat::{FakeChat, Platform};
use nod_tests::{Browser, World, page_text};
use serde_json::{Value, json};

use crate::mail::late_mail_call;

fn server(world: &World) -> Discord {
    match &world.chat {
        FakeChat::Discord(discord) => discord.clone(),
        FakeChat::Slack(_) => panic!("the story is played on Discord"),
    }
}

/// Returns the code in an ephemeral message.
fn code(whisper: &str) -> String {
    let code = whisper.split("code is ").nth(1).and_then(|rest| rest.split('.').next());
    code.unwrap_or_else(|| panic!("no code in {whisper}")).trim_matches('`').to_owned()
}

pub async fn link_accounts(world: &mut World) {
    let code = code(&world.run_command("ana", "general", "connect chat").await);
    world.switch_platform();
    world.run_command("ana", "general", &format!("connect {code}")).await;
    world.click_newest_ephemeral("ana", "Yes, both are me").await;
    world.read_ephemerals("ana");
    world.switch_platform();
    world.read_new("dm:ana");
}

#[tokio::test]
async fn whoever_connects_from_discord_signs_in_there_first() {
    let mut world = World::new_on(Platform::Discord).await;
    let link = world.request_link("ana").await;
    insta::assert_snapshot!(page_text(&Browser::new().open_page(&link).await), @r"
        Connect your Google account to Nod
        This link is just for you.
        Person
        Ana Silva
        Google account
        any of yours. You'll sign in with Discord first, so Nod knows it's you
        Discord
        Acme
        What Nod will be able to do
        Search, read, label and archive this account's email when you ask, and send an email once you've approved that exact email in chat.
        See and change this account's calendar. Anything that reaches other people waits until you've approved it in chat.
        See when you're busy, and when people who share that with you are.
        Only Ana Silva sees what Nod reads. You can end this any time in your Google account, under third-party access.
        Continue to Discord
        The link works once, for another 60 minutes, until 10:30 UTC on 6 March. Not Ana Silva? Close this page.
    ");
    let page = world.consent_as("ana", &link, "ana.private@mail.test", None).await;
    insta::assert_snapshot!(page_text(&page), @r"
        Connected
        Nod can now use ana.private@mail.test for you.
        You can close this page. Nod is already carrying on in your chat.
    ");
    world.read_ephemerals("ana");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @"nod: · ✓ Google is connected: ana.private@mail.test");
    world.finish().await;
}

#[tokio::test]
async fn forwarded_link_exposes_no_mail() {
    let mut world = World::new_on(Platform::Discord).await;
    let link = world.request_link("ana").await;
    let page = world.consent_as("bo", &link, "bo@acme.test", None).await;
    insta::assert_snapshot!(page_text(&page), @r"
        Not connected
        You signed in as someone else, so nothing was connected. If someone sent you this link, it would have let them read your email.
        Ask Nod in chat if you need a new link.
    ");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @"nod: Someone else signed in with your link, so nothing was connected. If that was you, ask me again and sign in as yourself.");
    assert!(!world.dump_rows().await.contains("bo@acme.test"));
    world.read_ephemerals("ana");
    world.finish().await;
}

#[tokio::test]
async fn without_a_sign_in_an_admin_says_whose_account_it_is() {
    let mut world = World::without_nod().await;
    world.use_platform(Platform::Discord).await;
    world.env.remove("NOD_DISCORD__CLIENT_SECRET");
    world.start().await;
    let link = world.request_link("ana").await;
    world.consent_as("ana", &link, "ana@acme.test", None).await;
    world.wait_until_idle().await;
    world.click("dana", "dm:dana", "Allow").await;
    world.read_new("dm:dana");
    let another = world.chat.find_newest_link("dm:ana").unwrap();
    let page = world.consent_as("ana", &another, "ana@acme.test", None).await;
    assert!(page.contains("Connected"), "{page}");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        nod: · You signed in as ana@acme.test, but I don't know your address here. Nothing was connected. I've asked an admin to allow it and I'll let you know.
        nod: · Google account ana@acme.test is disconnected. I've deleted its keys, and Google has cancelled them.
        nod: · ✓ Google is connected: ana@acme.test
    ");
    world.finish().await;
}

#[tokio::test]
async fn somebody_who_does_not_agree_at_discord_connects_nothing() {
    let mut world = World::new_on(Platform::Discord).await;
    let link = world.request_link("ana").await;
    let browser = Browser::new();
    let to = browser.submit_page(&link).await;
    let back = server(&world).refuse_consent(&to).unwrap();
    let page = browser.follow_callback(&back, &to).await;
    assert!(page.contains("You said no, so nothing was connected."), "{page}");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @"nod: No problem, nothing was connected. Ask me again any time.");
    world.finish().await;
}

#[tokio::test]
async fn a_code_shown_in_one_place_and_entered_in_the_other_makes_one_person() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    let shown = world.run_command("ana", "general", "connect chat").await;
    let code = code(&shown);
    insta::assert_snapshot!(shown.replace(&code, "K7QM-4XPT"), @r"
        (ana only) nod: Your code is K7QM-4XPT. Enter it on your other chat within ten minutes, and I'll know it's you.

        In Discord  /connect code:K7QM-4XPT
        · Keep it to yourself: anyone who enters it gets your accounts.
    ");
    world.switch_platform();
    let asked = world.run_command("ana", "general", &format!("connect {}", code.to_lowercase())).await;
    insta::assert_snapshot!(asked, @r"
        (ana only) nod: # Are both of these you?
        There  Ana Silva in Slack
        Here  Ana Silva in Discord
        · I'll share your connected accounts, requests and memory between the two. Only go on if you asked for this code yourself: otherwise someone else could read your email.
        [Yes, both are me]
    ");
    world.click_newest_ephemeral("ana", "Yes, both are me").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: You're linked: I know you as one person in Slack and Discord.");
    world.switch_platform();
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        nod: You're linked: I know you as one person here and in Discord.
          · Wasn't you? Tell the person who runs Nod right away.
    ");
    world.finish().await;
}

/// After a merge, every row of the deleted person belongs to the remaining one. Only the audit, and the model turns of
/// finished runs, are unchanged.
#[tokio::test]
async fn no_row_references_the_merged_person() {
    let mut world = World::on_both_platforms().await;
    world.switch_platform();
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Sent.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.click("ana", "general", "Approve & send").await;
    world.script_model("conversational", [Answer::text("Hello!")]);
    world.say("ana", "dm:ana", "hello").await;
    world.read_new("general");
    world.read_new("dm:ana");
    world.switch_platform();
    let before = world.list_person_ids().await;
    link_accounts(&mut world).await;
    let after = world.list_person_ids().await;
    let gone: Vec<&String> = before.iter().filter(|id| !after.contains(id)).collect();
    assert_eq!(gone.len(), 1);
    let rows = world.dump_rows().await;
    let naming: Vec<String> = rows
        .lines()
        .filter(|row| !row.starts_with("audit "))
        .map(|row| row.split_once(' ').unwrap())
        .map(|(table, row)| (table, serde_json::from_str::<Value>(row).unwrap()))
        .map(|(table, mut row)| {
            if table == "runs" && row["status"] == "done" {
                row["state"] = Value::Null;
            }
            format!("{table} {row}")
        })
        .filter(|row| row.contains(gone[0].as_str()))
        .collect();
    assert!(naming.is_empty(), "{naming:#?}");
    world.finish().await;
}

#[tokio::test]
async fn what_was_asked_in_one_place_can_be_decided_in_the_other_and_only_once() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    link_accounts(&mut world).await;
    world.script_model("tool", [late_mail_call(), Answer::text("Sent.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.switch_platform();
    world.run_command("ana", "general", "approvals").await;
    world.read_ephemerals("ana");
    let late = world.newest_ephemeral_click("ana", "Approve & send");
    world.click_newest_ephemeral("ana", "Approve & send").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @r"
        (ana only) nod: # Sending this email
        From  ana@acme.test
        To  bo@acme.test
        Subject  Running late
        Hi Bo,

        I'm running late.

        Ana
        Approved by Ana Silva 09:30 WET → Sending…
        · You'll see how it goes where you asked.
    ");
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.send_click(&late).await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: You already approved this (Fri 6 Mar 2026, 09:30 WET): sent 09:30 WET.");
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.switch_platform();
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod tell Bo I'm late
            nod: # Email sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              [Open in Gmail]
            nod: Sent.
    ");
    world.finish().await;
}

#[tokio::test]
async fn wrong_expired_or_foreign_code_links_nobody() {
    let mut world = World::on_both_platforms().await;
    let code = code(&world.run_command("ana", "general", "connect chat").await);
    insta::assert_snapshot!(world.run_command("ana", "general", &format!("connect {code}")).await, @"(ana only) nod: That's your own code. Enter it on your other chat, not here.");
    insta::assert_snapshot!(world.run_command("bo", "general", &format!("connect {code}")).await, @"(bo only) nod: The person who asked for that code is already known here as someone else.");
    world.switch_platform();
    world.run_command("ana", "general", &format!("connect {code}")).await;
    insta::assert_snapshot!(world.run_command("cho", "general", &format!("connect {code}")).await, @"(cho only) nod: That code is wrong or has expired. Get a new one on your other chat.");
    insta::assert_snapshot!(world.run_command("ana", "general", "connect K7QM-4XPT").await, @"(ana only) nod: That code is wrong or has expired. Get a new one on your other chat.");
    world.advance(chrono::TimeDelta::minutes(11)).await;
    insta::assert_snapshot!(world.run_command("ana", "general", &format!("connect {code}")).await, @"(ana only) nod: That code is wrong or has expired. Get a new one on your other chat.");
    world.finish().await;
}

#[tokio::test]
async fn a_request_that_waited_for_an_account_goes_on_with_that_of_the_other_place() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    world.switch_platform();
    world.script_model("tool", [Answer::tool("gmail_list_recent", json!({})), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    world.switch_platform();
    link_accounts(&mut world).await;
    world.switch_platform();
    let read = world.read_new("dm:ana");
    assert!(read.contains("Nothing new."), "{read}");
    world.advance(chrono::TimeDelta::minutes(61)).await;
    world.read_new("dm:ana");
    world.finish().await;
}

#[tokio::test]
async fn of_two_accounts_with_one_provider_one_is_kept() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    world.switch_platform();
    let link = world.request_link("ana").await;
    world.consent_as("ana", &link, "ana.private@mail.test", None).await;
    world.wait_until_idle().await;
    world.read_ephemerals("ana");
    world.read_new("dm:ana");
    world.switch_platform();
    link_accounts(&mut world).await;
    let read = world.read_new("dm:ana");
    assert!(
        read.contains("Your Google account is now ana@acme.test. ana.private@mail.test is disconnected."),
        "{read}"
    );
    let accounts: Vec<String> =
        sqlx::query_scalar("select account from connections").fetch_all(&world.pool).await.unwrap();
    assert_eq!(accounts, ["ana@acme.test"]);
    // The grant of the other account is revoked at Google as well.
    assert!(read.contains("ana.private@mail.test is disconnected. I've deleted its keys, and"), "{read}");
    assert_eq!(world.google.calls().iter().filter(|call| call.operation == "oauth.revoke").count(), 1);
    world.finish().await;
}

/// The user is a guest on Slack and a member on Discord.
#[tokio::test]
async fn belonging_in_one_place_gives_no_rights_in_the_other() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    link_accounts(&mut world).await;
    world.script_model("tool", [late_mail_call()]);
    let thread = world.say("ana", "general", "@nod tell Bo I'm late").await;
    sqlx::query(
        "update identities set membership = 'guest' where platform = 'slack' and person_id = (
            select person_id from identities where platform = 'slack' and user_ref = $1)",
    )
    .bind(world.slack.read(|w| w.user_id("ana").unwrap()))
    .execute(&world.pool)
    .await
    .unwrap();
    world.reply("ana", "general", &thread, "yes").await;
    world.click("ana", "general", "Approve & send").await;
    assert!(world.google.list_sent("ana@acme.test").is_empty());
    assert!(world.read_ephemerals("ana").contains("I only work for members"));
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn several_approved_on_a_copy_are_told_there() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    link_accounts(&mut world).await;
    let mail = |to: &str| ("gmail_send_email", json!({"to": [to], "subject": "Lunch", "body": "At one."}));
    world.script_model("tool", [Answer::tools(vec![mail("Bo"), mail("Cho")]), Answer::text("Both sent.")]);
    world.say("ana", "general", "@nod tell Bo and Cho that lunch is at one").await;
    world.switch_platform();
    world.run_command("ana", "general", "approvals").await;
    world.read_ephemerals("ana");
    let all = world.ephemeral_button_label("ana", "Approve all");
    world.click_newest_ephemeral("ana", &all).await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @r"
        (ana only) nod: # 2 emails
        1. Sending this email
        From  ana@acme.test
        To  bo@acme.test
        Subject  Lunch
        At one.
        Approved by Ana Silva 09:30 WET → Sending…
        2. Sending this email
        From  ana@acme.test
        To  cho@acme.test
        Subject  Lunch
        At one.
        Approved by Ana Silva 09:30 WET → Sending…
        · You'll see how it goes where you asked.
    ");
    world.switch_platform();
    world.read_new("general");
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 2);
    world.finish().await;
}

#[tokio::test]
async fn a_code_is_only_shown_where_there_is_another_place_to_enter_it() {
    let mut world = World::new().await;
    insta::assert_snapshot!(world.run_command("ana", "general", "connect chat").await, @"(ana only) nod: This is the only chat I'm in, so there's nothing to link.");
    world.finish().await;
}

#[tokio::test]
async fn accounts_with_running_work_are_not_linked() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let code = code(&world.run_command("ana", "general", "connect chat").await);
    world.switch_platform();
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.run_command("ana", "general", &format!("connect {code}")).await;
    world.click_newest_ephemeral("ana", "Yes, both are me").await;
    assert!(world.read_ephemerals("ana").contains("Something is still open for you"));
    world.model.will(Answer::text("All right."));
    world.click("ana", "general", "Deny").await;
    world.chat.submit_form("ana", &std::collections::BTreeMap::new()).await;
    world.wait_until_idle().await;
    world.click_newest_ephemeral("ana", "Yes, both are me").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: You're linked: I know you as one person in Slack and Discord.");
    world.read_new("general");
    world.switch_platform();
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

#[tokio::test]
async fn a_change_made_on_a_copy_is_shown_there() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    link_accounts(&mut world).await;
    world.script_model("tool", [late_mail_call(), Answer::text("All right.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.switch_platform();
    world.run_command("ana", "general", "approvals").await;
    world.read_ephemerals("ana");
    world.click_newest_ephemeral("ana", "Edit").await;
    let typed = [("Subject".to_owned(), "Very late".to_owned())].into();
    world.chat.submit_form("ana", &typed).await;
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @r"
        (ana only) nod: # Send this email? · edited
        From  ana@acme.test
        To  bo@acme.test
        Subject  Very late
        Hi Bo,

        I'm running late.

        Ana
        · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
        [Approve & send] [Edit] [Deny]
    ");
    world.click_newest_ephemeral("ana", "Deny").await;
    world.chat.submit_form("ana", &std::collections::BTreeMap::new()).await;
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: Denied. You'll see how it goes where you asked.");
    world.switch_platform();
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn what_the_other_place_cannot_show_whole_is_not_decided_there() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    link_accounts(&mut world).await;
    let long = json!({"to": ["Bo"], "subject": "Long", "body": "All of this is meant. ".repeat(250)});
    world.script_model("tool", [Answer::tool("gmail_send_email", long), Answer::text("All right.")]);
    world.say("ana", "general", "@nod send Bo the long version").await;
    world.switch_platform();
    world.run_command("ana", "general", "approvals").await;
    world.read_ephemerals("ana");
    world.click_newest_ephemeral("ana", "Show 1").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: That's too long to show here. You'll find it where you asked.");
    world.switch_platform();
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn of_many_who_could_be_meant_one_is_chosen_from_a_menu() {
    let mut world = World::on_both_platforms().await;
    world.switch_platform();
    world.connect_google("ana").await;
    let slack = world.slack.clone();
    for name in ["Adams", "Baker", "Clark", "Davis"] {
        slack.add_user(User::new(&name.to_lowercase(), &format!("Bob {name}")));
    }
    world.advance(chrono::TimeDelta::hours(25)).await;
    let mail = json!({"to": ["Bob"], "subject": "Hello", "body": "Hello!"});
    world.script_model("tool", [Answer::tool("gmail_send_email", mail)]);
    world.say("ana", "general", "@nod say hello to Bob").await;
    let choice = "Bob Clark (clark@acme.test)";
    let menu = server(&world).messages("general").pop().unwrap();
    server(&world)
        .click("ana", "general", &menu.id, choice)
        .unwrap()
        .wait_for_acknowledgement(nod_tests::max_wait())
        .await;
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("general"), @r"
        ana: @nod say hello to Bob
            nod: · Which Bob? → Bob Clark (clark@acme.test)
            nod: # Send this email?
              From  ana@acme.test
              To  clark@acme.test
              Subject  Hello
              Hello!
              · Only Ana Silva can approve this. Expires Sun 8 Mar 2026, 10:30 WET
              [Approve & send] [Edit] [Deny]
    ");
    world.finish().await;
}
