//! Connecting a Google account through a private link, and the results.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{Browser, World, page_text};
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    a_link_works_once_and_for_an_hour,
    the_way_back_counts_once_and_only_in_the_browser_that_began,
    a_no_at_google_is_taken_as_a_no,
    a_consent_without_a_tick_connects_nothing,
    the_request_that_needed_it_goes_on_by_itself,
    a_mail_that_needed_it_is_asked_for_once_connected,
    an_older_link_that_ends_does_not_end_a_request_with_a_newer_one,
    saying_no_at_google_ends_the_request_honestly,
    no_row_holds_a_token_or_a_working_link,
    nobody_followed_the_link_and_the_request_says_so,
    two_calls_at_once_renew_the_token_once,
    a_grant_that_was_taken_back_is_noticed_and_the_request_goes_on,
);

fn recent() -> Answer {
    Answer::tool("gmail_list_recent", json!({}))
}

#[tokio::test]
async fn the_page_names_whose_account_it_will_be_and_looking_changes_nothing() {
    let mut world = World::new().await;
    insta::assert_snapshot!(world.run_command("ana", "general", "connect google").await, @r"
        (ana only) nod: Connect your Google account so I can help with your email and calendar.
        · This link is just for you. It works once, within an hour. It only works with your own account.
        [Connect Google]
    ");
    let link = world.request_link("ana").await;
    let browser = Browser::new();
    let page = browser.open_page(&link).await;
    insta::assert_snapshot!(page_text(&page), @r"
        Connect your Google account to Nod
        This link is just for you.
        Person
        Ana Silva
        Google account
        ana@acme.test
        Workspace
        Acme
        What Nod will be able to do
        Search, read, label and archive this account's email when you ask, and send an email once you've approved that exact email in chat.
        See and change this account's calendar. Anything that reaches other people waits until you've approved it in chat.
        See when you're busy, and when people who share that with you are.
        Only Ana Silva sees what Nod reads. You can end this any time in your Google account, under third-party access.
        Continue to Google
        The link works once, for another 60 minutes, until 10:30 UTC on 6 March. Not Ana Silva? Close this page.
    ");
    assert_eq!(page, Browser::new().open_page(&link).await);
    let page = world.consent_as("ana", &link, "ana@acme.test", None).await;
    insta::assert_snapshot!(page_text(&page), @r"
        Connected
        Nod can now use ana@acme.test for you.
        You can close this page. Nod is already carrying on in your chat.
    ");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @"nod: · ✓ Google is connected: ana@acme.test");
    world.finish().await;
}

async fn a_link_works_once_and_for_an_hour(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let link = world.request_link("ana").await;
    let first = Browser::new();
    first.submit_page(&link).await;
    let page = page_text(&Browser::new().try_submit_page(&link).await.unwrap_err());
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            This link was already used
            Links work once. Ask Nod in chat to connect if you need another.
        ");
    }
    assert!(page_text(&Browser::new().open_page(&link).await).contains("used"));

    let late = world.request_link("ana").await;
    world.advance(TimeDelta::minutes(61)).await;
    let page = page_text(&Browser::new().try_submit_page(&late).await.unwrap_err());
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            This link has expired
            Links work for an hour. Ask Nod in chat to connect, and use the new one.
        ");
    }
    let page = page_text(&Browser::new().open_page(&late).await);
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            This link has expired
            Links work for an hour. Ask Nod in chat to connect, and use the new one.
        ");
    }

    let forged = link.replace("t=", "t=0");
    let page = page_text(&Browser::new().try_submit_page(&forged).await.unwrap_err());
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            This isn't a Nod link
            This isn't one of Nod's links. Ask Nod in chat to connect, and use the link you get there.
        ");
    }
    let (start, _) = late.rsplit_once('.').unwrap();
    assert!(Browser::new().try_submit_page(&format!("{start}.{}", "0".repeat(64))).await.is_err());
    assert!(world.google.calls().is_empty());
    world.finish().await;
}

async fn the_way_back_counts_once_and_only_in_the_browser_that_began(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let link = world.request_link("ana").await;
    let browser = Browser::new();
    let to_google = world.follow_to_google("ana", &browser, &link).await;
    let back = world.google.consent(&to_google, "ana@acme.test", None).unwrap();
    let page = page_text(&Browser::new().follow_callback(&back, &to_google).await);
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            Not connected
            This sign-in started in another browser, or too long ago. Nothing was connected.
            Ask Nod in chat if you need a new link.
        ");
    }
    let page = browser.follow_callback(&back, &to_google).await;
    assert!(page.contains("Connected"), "{page}");
    let page = page_text(&browser.follow_callback(&back, &to_google).await);
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            This link was already used
            Links work once. Ask Nod in chat to connect if you need another.
        ");
    }
    world.wait_until_idle().await;
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_no_at_google_is_taken_as_a_no(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let link = world.request_link("ana").await;
    let browser = Browser::new();
    let to_google = world.follow_to_google("ana", &browser, &link).await;
    let back = world.google.refuse_consent(&to_google).unwrap();
    let page = page_text(&browser.follow_callback(&back, &to_google).await);
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            Not connected
            You said no, so nothing was connected.
            Ask Nod in chat if you need a new link.
        ");
    }
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @"nod: No problem, nothing was connected. Ask me again any time.");
    }
    world.finish().await;
}

async fn a_consent_without_a_tick_connects_nothing(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let link = world.request_link("ana").await;
    let page = world.consent_as("ana", &link, "ana@acme.test", Some(&[])).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(page_text(&page), @r"
            Not connected
            No permission was ticked at Google, so nothing was connected.
            Ask Nod in chat if you need a new link.
        ");
    }
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @"nod: Nothing was connected: no box was ticked on Google's page. Ask me again and tick what I may do.");
    }
    let kept: i64 =
        sqlx::query_scalar("select count(*) from connections").fetch_one(&world.pool).await.unwrap();
    assert_eq!(kept, 0);
    world.finish().await;
}

#[tokio::test]
async fn another_account_needs_an_admin_who_allows_it() {
    let mut world = World::new().await;
    let link = world.request_link("ana").await;
    let page = world.consent_as("ana", &link, "ana.private@mail.test", None).await;
    insta::assert_snapshot!(page_text(&page), @r"
        Not connected
        You signed in as ana.private@mail.test, but this link is for ana@acme.test.
        An admin has been asked to allow this account. Nod will let you know in chat.
    ");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        nod: · You signed in as ana.private@mail.test, but your address here is ana@acme.test. Nothing was connected. I've asked an admin to allow it and I'll let you know.
        nod: · Google account ana.private@mail.test is disconnected. I've deleted its keys, and Google has cancelled them.
    ");
    insta::assert_snapshot!(world.read_new("dm:dana"), @r"
        nod: # Allow this account?
          Person  Ana Silva
          Address here  ana@acme.test
          Account  ana.private@mail.test
          · I would read and send email from this account for them.
          [Allow] [Don't allow]
    ");

    world.click("dana", "dm:dana", "Allow").await;
    insta::assert_snapshot!(world.read_new("dm:dana"), @"nod: · ana.private@mail.test for Ana Silva: allowed by Dana Admin");
    let again = world.find_newest_link("ana");
    let page = world.consent_as("ana", &again, "ana.private@mail.test", None).await;
    assert!(page.contains("Connected"), "{page}");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        nod: · You signed in as ana.private@mail.test, but your address here is ana@acme.test. Nothing was connected. I've asked an admin to allow it and I'll let you know.
        nod: · Google account ana.private@mail.test is disconnected. I've deleted its keys, and Google has cancelled them.
        nod: · ✓ Google is connected: ana.private@mail.test
    ");
    world.finish().await;
}

#[tokio::test]
async fn an_admin_may_refuse_another_account() {
    let mut world = World::new().await;
    world.script_model("tool", [recent(), Answer::text("I could not read your mail.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    let link = world.find_newest_link("ana");
    world.consent_as("ana", &link, "ana.private@mail.test", None).await;
    world.wait_until_idle().await;
    world.click("dana", "dm:dana", "Don't allow").await;
    insta::assert_snapshot!(world.read_new("dm:dana"), @"nod: · ana.private@mail.test for Ana Silva: refused by Dana Admin");
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        ana: what's new in my mail?
        nod: · You signed in as ana.private@mail.test, but your address here is ana@acme.test. Nothing was connected. I've asked an admin to allow it and I'll let you know.
        nod: · Google account ana.private@mail.test is disconnected. I've deleted its keys, and Google has cancelled them.
        nod: An admin didn't allow ana.private@mail.test, so nothing was connected.
        nod: I could not read your mail.
    ");
    world.finish().await;
}

#[tokio::test]
async fn who_connects_before_the_directory_was_read_is_asked_for() {
    let mut world = World::without_nod().await;
    world.slack.faults().next("users.list", Fault::Status { code: 503, retry_after: None });
    world.start().await;
    world.connect_google("ana").await;
    let accounts: Vec<String> =
        sqlx::query_scalar("select account from connections").fetch_all(&world.pool).await.unwrap();
    assert_eq!(accounts, ["ana@acme.test"]);
    world.advance(TimeDelta::seconds(5)).await;
    world.read_new("dm:ana");
    world.finish().await;
}

/// The link of a guest who was not known to be one when it was created.
#[tokio::test]
async fn the_link_of_somebody_who_does_not_belong_connects_nothing() {
    let mut world = World::new().await;
    let link = world.request_link("ana").await;
    let standing = "update identities set membership = 'unknown' where user_ref = $1";
    sqlx::query(standing).bind("U000000ANA").execute(&world.pool).await.unwrap();
    world.slack.faults().next("users.info", Fault::Status { code: 503, retry_after: None });
    let browser = Browser::new();
    let page = page_text(&browser.open_page(&link).await);
    insta::assert_snapshot!(page, @r"
        Please try again in a minute
        I couldn't find out yet whose link this is. Nothing was connected. Please try again in a moment.
    ");
    world
        .slack
        .change(|w| w.users.values_mut().filter(|u| u.name == "ana").for_each(|u| u.is_restricted = true));
    let page = page_text(&browser.open_page(&link).await);
    insta::assert_snapshot!(page, @r"
        This is for members
        I work for members of this workspace only. Nothing was connected. An admin can change that.
    ");
    let accounts: i64 =
        sqlx::query_scalar("select count(*) from connections").fetch_one(&world.pool).await.unwrap();
    assert_eq!(accounts, 0);
    world.finish().await;
}

#[tokio::test]
async fn only_an_admin_allows_another_account() {
    let mut world = World::new().await;
    let link = world.request_link("ana").await;
    world.consent_as("ana", &link, "ana.private@mail.test", None).await;
    world.wait_until_idle().await;
    let id: uuid::Uuid =
        sqlx::query_scalar("select id from account_reviews").fetch_one(&world.pool).await.unwrap();
    let forged = nod_sandbox::slack::ForgedClick {
        user: "ana".to_owned(),
        channel: world.slack.dm("ana"),
        ts: "1.1".to_owned(),
        action_id: "allow_account".to_owned(),
        value: format!("allow_account:{id}"),
        ..Default::default()
    };
    world.slack.click_forged(forged).unwrap().wait_for_acknowledgement(nod_tests::max_wait()).await;
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.wait_for_ephemeral("ana").await, @"(ana only) nod: Only a Nod admin can decide this.");
    let status: String =
        sqlx::query_scalar("select status from account_reviews").fetch_one(&world.pool).await.unwrap();
    assert_eq!(status, "pending");
    world.read_new("dm:ana");
    world.read_new("dm:dana");
    world.finish().await;
}

#[tokio::test]
async fn without_an_admin_another_account_is_refused_with_a_way_out() {
    let mut world = World::without_nod().await;
    world.env.remove("NOD_ADMIN__SLACK");
    world.start().await;
    let link = world.request_link("ana").await;
    let page = world.consent_as("ana", &link, "ana.private@mail.test", None).await;
    insta::assert_snapshot!(page_text(&page), @r"
        Not connected
        You signed in as ana.private@mail.test, but this link is for ana@acme.test.
        Ask Nod in chat for a new link, and sign in with that address.
    ");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        nod: · You signed in as ana.private@mail.test, but your address here is ana@acme.test. Nothing was connected. Use your own account, or ask the person who runs Nod to name an admin who can allow another.
        nod: · Google account ana.private@mail.test is disconnected. I've deleted its keys, and Google has cancelled them.
    ");
    world.finish().await;
}

async fn the_request_that_needed_it_goes_on_by_itself(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.google.deliver("ana@acme.test", "bo@acme.test", "Lunch?", "At noon?").unwrap();
    world.script_model("tool", [recent(), Answer::text("Bo asks about lunch at noon.")]);
    world.say("ana", "general", "@nod what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what's new in my mail?
                nod: · Ana Silva, I need access to your account first. Check our direct messages.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: I need access to your Gmail for that. Connect it, and I'll pick up where I left off. I'll ask for your Gmail and your calendar at once: untick what you don't want.
              · This link is just for you. It works once, within an hour. It only works with your own account.
              [Connect Google]
        ");
    }
    let page = world.consent_as("ana", &world.find_newest_link("ana"), "ana@acme.test", None).await;
    assert!(page.contains("already carrying on in your chat"), "{page}");
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod what's new in my mail?
                nod: · Answered Ana Silva privately.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: · You asked in a channel: “what's new in my mail?”
              Bo asks about lunch at noon.
              bo@acme.test · Lunch? · Fri 6 Mar, 09:30 WET
              [Reply] [Archive]
              [Share in the thread]
        ");
    }
    world.finish().await;
}

async fn a_mail_that_needed_it_is_asked_for_once_connected(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.consent_as("ana", &world.find_newest_link("ana"), "ana@acme.test", None).await;
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: · Ana Silva, I need access to your account first. Check our direct messages.
                nod: # Send this email?
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.read_new("dm:ana");
    world.finish().await;
}

async fn nobody_followed_the_link_and_the_request_says_so(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model(
        "tool",
        [recent(), Answer::text("Your Google account was not connected, so I read nothing.")],
    );
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    world.advance(TimeDelta::minutes(61)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in my mail?
            nod: The link to connect Google expired, so nothing was connected. Ask me again for a new one.
            nod: Your Google account was not connected, so I read nothing.
        ");
    }
    world.finish().await;
}

async fn an_older_link_that_ends_does_not_end_a_request_with_a_newer_one(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.request_link("ana").await;
    world.advance(TimeDelta::minutes(30)).await;
    world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    world.advance(TimeDelta::minutes(40)).await;
    let page = world.consent_as("ana", &world.find_newest_link("ana"), "ana@acme.test", None).await;
    assert!(page.contains("Connected"), "{page}");
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in my mail?
            nod: · ✓ Google is connected: ana@acme.test
            nod: Nothing new.
        ");
    }
    assert!(world.google.calls().iter().any(|call| call.operation == "gmail.users.messages.list"));
    world.finish().await;
}

async fn saying_no_at_google_ends_the_request_honestly(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("tool", [recent(), Answer::text("You did not connect Google, so I read nothing.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    let browser = Browser::new();
    let to_google = world.follow_to_google("ana", &browser, &world.find_newest_link("ana")).await;
    browser.follow_callback(&world.google.refuse_consent(&to_google).unwrap(), &to_google).await;
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in my mail?
            nod: No problem, nothing was connected. Ask me again any time.
            nod: You did not connect Google, so I read nothing.
        ");
    }
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("not_connected") && !heard.contains("in time"), "{heard}");
    world.finish().await;
}

async fn no_row_holds_a_token_or_a_working_link(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
    world.say("ana", "general", "@nod what's new in my mail?").await;
    let link = world.find_newest_link("ana");
    let token = link.split_once("t=").unwrap().1.to_owned();
    world.consent_as("ana", &link, "ana@acme.test", None).await;
    world.wait_until_idle().await;
    let rows = world.dump_rows().await;
    for secret in world.google.secrets() {
        assert!(!rows.contains(&secret), "a token of Google's is in a row");
    }
    let (_, code) = token.split_once('.').unwrap();
    assert!(!rows.contains(code), "a link is in a row");
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn two_calls_at_once_renew_the_token_once(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    let before = token_request_count(&world);
    world.advance(TimeDelta::minutes(60)).await;
    let both = Answer::tools(vec![
        ("gmail_list_recent", json!({})),
        ("gmail_search_messages", json!({ "query": "lunch" })),
    ]);
    world.script_model("tool", [both, Answer::text("Nothing new.")]);
    world.script_model("tool", [recent(), Answer::text("Still nothing.")]);
    world.chat.say("ana", "general", None, "@nod my mail?");
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    assert_eq!(token_request_count(&world) - before, 1);
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

fn token_request_count(world: &World) -> usize {
    world.google.calls().iter().filter(|call| call.operation == "oauth.token").count()
}

async fn a_grant_that_was_taken_back_is_noticed_and_the_request_goes_on(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.google.revoke_grants("ana@acme.test");
    world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_rest("dm:ana"), @r"
            ana: what's new in my mail?
            nod: I've lost access to your Google account. Reconnect it, and I'll pick up where I left off.
              · This link is just for you. It works once, within an hour. It only works with your own account.
              [Reconnect Google]
        ");
    }
    world.consent_as("ana", &world.chat.find_newest_link("dm:ana").unwrap(), "ana@acme.test", None).await;
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_rest("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Nothing new.
        ");
    }
    world.finish().await;
}
