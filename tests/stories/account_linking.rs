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
    world.click_newest_ephemeral("ana", "That is me").await;
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
        This link is for one person. Go on only if that is you.
        Person
        Ana Silva
        Google account
        any of yours: first you sign in with Discord, so that Nod knows that it is you
        Workspace
        nod
        What Nod will be able to do
        Search and read the mail of this account, when you ask for it.
        Write drafts, and send a mail after you have approved that very mail in chat.
        See the events of this account's calendars, and change them; what reaches others only after you have approved it in chat.
        See when you, and people who share that with you, are busy.
        What Nod reads goes to Ana Silva alone. You can take this back at any time in your Google account, under
        third-party access.
        Continue to Discord
        The link works once, for another 60 minutes, until 10:30 UTC on 6 March. If you are not Ana Silva, close this page.
    ");
    let page = world.consent_as("ana", &link, "ana.private@mail.test", None).await;
    insta::assert_snapshot!(page_text(&page), @r"
        Connected
        Nod can now work with ana.private@mail.test for you.
        You can close this page. Whatever waited for this in chat goes on by itself.
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
        You signed in as somebody else than the person whom this link was made for, so nothing was connected. If somebody sent you the link: it would have let them read your mail.
        Ask Nod in chat for a new link if you want to connect.
    ");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @"nod: Whoever followed the link signed in as somebody else than you. Nothing was connected. If that was you, ask again and sign in as yourself.");
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
        nod: · That was ana@acme.test, but your address is not known here. Nothing was connected. An admin has been asked to allow it; I will tell you.
        nod: · Google account ana@acme.test is not connected. Its keys are forgotten here and given back to Google.
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
    assert!(page.contains("You did not give your consent"), "{page}");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @"nod: You did not agree to it. Nothing was connected. Ask again whenever you like.");
    world.finish().await;
}

#[tokio::test]
async fn a_code_shown_in_one_place_and_entered_in_the_other_makes_one_person() {
    let mut world = World::on_both_platforms().await;
    world.connect_google("ana").await;
    let shown = world.run_command("ana", "general", "connect chat").await;
    let code = code(&shown);
    insta::assert_snapshot!(shown.replace(&code, "K7QM-4XPT"), @r"
        (ana only) nod: Your code is K7QM-4XPT. Enter it within ten minutes where you also talk to me, and I know that you are the same person.

        In Discord  /connect code:K7QM-4XPT
        · It is for you alone: whoever enters it shares your accounts with you.
    ");
    world.switch_platform();
    let asked = world.run_command("ana", "general", &format!("connect {}", code.to_lowercase())).await;
    insta::assert_snapshot!(asked, @r"
        (ana only) nod: # Are you both?
        There  Ana Silva in Slack
        Here  Ana Silva in Discord
        · Then your connected accounts, what waits for your nod and what I remember about you are the same in both. Go on only if you asked for this code yourself: anybody else who gave it to you would read your mail.
        [That is me]
    ");
    world.click_newest_ephemeral("ana", "That is me").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: You are one person for me now, in Slack and in Discord.");
    world.switch_platform();
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        nod: · ✓ Google is connected: ana@acme.test
        nod: You are one person for me now, here and in Discord.
          · If that was not you, tell whoever runs Nod at once.
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
    world.click_newest_ephemeral("ana", "Show 1").await;
    world.read_ephemerals("ana");
    world.click_newest_ephemeral("ana", "Approve & send").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: Approved. What becomes of it is told where it was asked.");
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.click_newest_ephemeral("ana", "Approve & send").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: Ana Silva approved this already (Fri 6 Mar 2026, 09:30 WET): sent 09:30 WET. Nothing more was done.");
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
    insta::assert_snapshot!(world.run_command("ana", "general", &format!("connect {code}")).await, @"(ana only) nod: That is your own code. Enter it where you also talk to me, not here. Nothing was done.");
    insta::assert_snapshot!(world.run_command("bo", "general", &format!("connect {code}")).await, @"(bo only) nod: Whoever asked for that code is known in this place as well, as somebody else. Nothing was done.");
    world.switch_platform();
    world.run_command("ana", "general", &format!("connect {code}")).await;
    insta::assert_snapshot!(world.run_command("cho", "general", &format!("connect {code}")).await, @"(cho only) nod: I know no such code, or it is over. Ask for a new one where you also talk to me. Nothing was done.");
    insta::assert_snapshot!(world.run_command("ana", "general", "connect K7QM-4XPT").await, @"(ana only) nod: I know no such code, or it is over. Ask for a new one where you also talk to me. Nothing was done.");
    world.advance(chrono::TimeDelta::minutes(11)).await;
    insta::assert_snapshot!(world.run_command("ana", "general", &format!("connect {code}")).await, @"(ana only) nod: I know no such code, or it is over. Ask for a new one where you also talk to me. Nothing was done.");
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
        read.contains("Your Google account is ana@acme.test. ana.private@mail.test is no longer connected."),
        "{read}"
    );
    let accounts: Vec<String> =
        sqlx::query_scalar("select account from connections").fetch_all(&world.pool).await.unwrap();
    assert_eq!(accounts, ["ana@acme.test"]);
    // The grant of the other account is revoked at Google as well.
    assert!(
        read.contains("ana.private@mail.test is not connected. Its keys are forgotten here and given back"),
        "{read}"
    );
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
    assert!(world.read_ephemerals("ana").contains("I work for members"));
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
    world.click_newest_ephemeral("ana", "Show 1").await;
    world.read_ephemerals("ana");
    let all = world.ephemeral_button_label("ana", "Approve all");
    world.click_newest_ephemeral("ana", &all).await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: Approved. What becomes of it is told where it was asked.");
    world.switch_platform();
    world.read_new("general");
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 2);
    world.finish().await;
}

#[tokio::test]
async fn a_code_is_only_shown_where_there_is_another_place_to_enter_it() {
    let mut world = World::new().await;
    insta::assert_snapshot!(world.run_command("ana", "general", "connect chat").await, @"(ana only) nod: You can talk to me in this chat alone, so there is nothing to join.");
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
    world.click_newest_ephemeral("ana", "That is me").await;
    assert!(world.read_ephemerals("ana").contains("Something is still under way"));
    world.model.will(Answer::text("All right."));
    world.click("ana", "general", "Deny").await;
    world.chat.submit_form("ana", &std::collections::BTreeMap::new()).await;
    world.wait_until_idle().await;
    world.click_newest_ephemeral("ana", "That is me").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: You are one person for me now, in Slack and in Discord.");
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
    world.click_newest_ephemeral("ana", "Show 1").await;
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
        ⚠ Nod's first mail to bo@acme.test
        · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET.
        [Approve & send] [Edit] [Deny]
    ");
    world.click_newest_ephemeral("ana", "Deny").await;
    world.chat.submit_form("ana", &std::collections::BTreeMap::new()).await;
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: Denied. What becomes of it is told where it was asked.");
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
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: That is too long to be shown here. It stands where you asked for it.");
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
              ⚠ Nod's first mail to clark@acme.test
              · Only Ana Silva can approve this. Expires Sun 8 Mar 2026, 10:30 WET.
              [Approve & send] [Edit] [Deny]
    ");
    world.finish().await;
}
