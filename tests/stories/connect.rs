//! Connecting a Google account through a private link, and the results.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::On;
use nod_tests::{Browser, World, words_of};
use serde_json::json;

use crate::mail::late;

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
    insta::assert_snapshot!(world.commands("ana", "general", "connect google").await, @r"
        (ana only) nod: Connect your Google account, so that I can work with your mail and your calendar.
        · The link is for you alone, works once and for an hour. It takes only your own account.
        [Connect Google]
    ");
    let link = world.asks_for_link("ana").await;
    let browser = Browser::new();
    let page = browser.looks(&link).await;
    insta::assert_snapshot!(words_of(&page), @r"
        Connect your Google account to Nod
        This link is for one person. Go on only if that is you.
        Person
        Ana Silva
        Google account
        ana@acme.test
        Workspace
        Acme
        What Nod will be able to do
        Search and read the mail of this account, when you ask for it.
        Write drafts, and send a mail after you have approved that very mail in chat.
        See the events of this account's calendars, and change them; what reaches others only after you have approved it in chat.
        See when you, and people who share that with you, are busy.
        What Nod reads goes to Ana Silva alone. You can take this back at any time in your Google account, under
        third-party access.
        Continue to Google
        The link works once, for another 60 minutes, until 10:30 UTC on 6 March. If you are not Ana Silva, close this page.
    ");
    assert_eq!(page, Browser::new().looks(&link).await);
    let page = world.consents_as("ana", &link, "ana@acme.test", None).await;
    insta::assert_snapshot!(words_of(&page), @r"
        Connected
        Nod can now work with ana@acme.test for you.
        You can close this page. Whatever waited for this in chat goes on by itself.
    ");
    world.settles().await;
    insta::assert_snapshot!(world.reads("dm:ana"), @"nod: · ✓ Google is connected: ana@acme.test");
    world.ends().await;
}

async fn a_link_works_once_and_for_an_hour(platform: On) {
    let mut world = World::on(platform).await;
    let link = world.asks_for_link("ana").await;
    let first = Browser::new();
    first.begins(&link).await;
    let page = words_of(&Browser::new().tries(&link).await.unwrap_err());
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            This link was used already
            A link works once. Ask Nod in chat to connect if you need another.
        ");
    }
    assert!(words_of(&Browser::new().looks(&link).await).contains("used"));

    let late = world.asks_for_link("ana").await;
    world.later(TimeDelta::minutes(61)).await;
    let page = words_of(&Browser::new().tries(&late).await.unwrap_err());
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            This link has expired
            It worked for an hour. Ask Nod in chat to connect, and use the new link.
        ");
    }
    let page = words_of(&Browser::new().looks(&late).await);
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            This link has expired
            It worked for an hour. Ask Nod in chat to connect, and use the new link.
        ");
    }

    let forged = link.replace("t=", "t=0");
    let page = words_of(&Browser::new().tries(&forged).await.unwrap_err());
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            No such link
            This link is not one of mine. Ask Nod in chat to connect, and use the link it gives you.
        ");
    }
    let (start, _) = late.rsplit_once('.').unwrap();
    assert!(Browser::new().tries(&format!("{start}.{}", "0".repeat(64))).await.is_err());
    assert!(world.google.calls().is_empty());
    world.ends().await;
}

async fn the_way_back_counts_once_and_only_in_the_browser_that_began(platform: On) {
    let mut world = World::on(platform).await;
    let link = world.asks_for_link("ana").await;
    let browser = Browser::new();
    let to_google = world.leads_to_google("ana", &browser, &link).await;
    let back = world.google.consent(&to_google, "ana@acme.test", None).unwrap();
    let page = words_of(&Browser::new().returns(&back, &to_google).await);
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            Not connected
            This sign-in was begun in another browser, or too long ago. Nothing was connected.
            Ask Nod in chat for a new link if you want to connect.
        ");
    }
    let page = browser.returns(&back, &to_google).await;
    assert!(page.contains("Connected"), "{page}");
    let page = words_of(&browser.returns(&back, &to_google).await);
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            This link was used already
            A link works once. Ask Nod in chat to connect if you need another.
        ");
    }
    world.settles().await;
    world.reads("dm:ana");
    world.ends().await;
}

async fn a_no_at_google_is_taken_as_a_no(platform: On) {
    let mut world = World::on(platform).await;
    let link = world.asks_for_link("ana").await;
    let browser = Browser::new();
    let to_google = world.leads_to_google("ana", &browser, &link).await;
    let back = world.google.refuse_consent(&to_google).unwrap();
    let page = words_of(&browser.returns(&back, &to_google).await);
    insta::allow_duplicates! {
        insta::assert_snapshot!(page, @r"
            Not connected
            You did not give your consent, so nothing was connected.
            Ask Nod in chat for a new link if you want to connect.
        ");
    }
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @"nod: You did not agree to it. Nothing was connected. Ask again whenever you like.");
    }
    world.ends().await;
}

async fn a_consent_without_a_tick_connects_nothing(platform: On) {
    let mut world = World::on(platform).await;
    let link = world.asks_for_link("ana").await;
    let page = world.consents_as("ana", &link, "ana@acme.test", Some(&[])).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(words_of(&page), @r"
            Not connected
            Google shows a box for each permission, and every one was left empty, so nothing was kept.
            Ask Nod in chat for a new link if you want to connect.
        ");
    }
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @"nod: Nothing was connected: on Google's page every box was left empty. Ask again, and tick what I may do.");
    }
    let kept: i64 =
        sqlx::query_scalar("select count(*) from connections").fetch_one(&world.pool).await.unwrap();
    assert_eq!(kept, 0);
    world.ends().await;
}

#[tokio::test]
async fn another_account_needs_an_admin_who_allows_it() {
    let mut world = World::new().await;
    let link = world.asks_for_link("ana").await;
    let page = world.consents_as("ana", &link, "ana.private@mail.test", None).await;
    insta::assert_snapshot!(words_of(&page), @r"
        Not connected
        You signed in as ana.private@mail.test, and this link is for ana@acme.test.
        An admin of your workspace has been asked whether this account may be used. You will hear in chat.
    ");
    world.settles().await;
    insta::assert_snapshot!(world.reads("dm:ana"), @r"
        nod: · That was ana.private@mail.test, but your address here is ana@acme.test. Nothing was connected. An admin has been asked to allow it; I will tell you.
        nod: · Google account ana.private@mail.test is not connected. Its keys are forgotten here and given back to Google.
    ");
    insta::assert_snapshot!(world.reads("dm:dana"), @r"
        nod: # Allow another account?
          Person  Ana Silva
          Their address here  ana@acme.test
          Account  ana.private@mail.test
          · Nod would read and send mail of that account on this person's behalf.
          [Allow] [Refuse]
    ");

    world.presses("dana", "dm:dana", "Allow").await;
    insta::assert_snapshot!(world.reads("dm:dana"), @"nod: · ana.private@mail.test for Ana Silva: allowed by Dana Admin");
    let again = world.newest_link_for("ana");
    let page = world.consents_as("ana", &again, "ana.private@mail.test", None).await;
    assert!(page.contains("Connected"), "{page}");
    world.settles().await;
    insta::assert_snapshot!(world.reads("dm:ana"), @r"
        nod: · That was ana.private@mail.test, but your address here is ana@acme.test. Nothing was connected. An admin has been asked to allow it; I will tell you.
        nod: · Google account ana.private@mail.test is not connected. Its keys are forgotten here and given back to Google.
        nod: · ✓ Google is connected: ana.private@mail.test
    ");
    world.ends().await;
}

#[tokio::test]
async fn an_admin_may_refuse_another_account() {
    let mut world = World::new().await;
    world.model_will("tool", [recent(), Answer::text("I could not read your mail.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    let link = world.newest_link_for("ana");
    world.consents_as("ana", &link, "ana.private@mail.test", None).await;
    world.settles().await;
    world.presses("dana", "dm:dana", "Refuse").await;
    insta::assert_snapshot!(world.reads("dm:dana"), @"nod: · ana.private@mail.test for Ana Silva: refused by Dana Admin");
    insta::assert_snapshot!(world.reads("dm:ana"), @r"
        ana: what's new in my mail?
        nod: · That was ana.private@mail.test, but your address here is ana@acme.test. Nothing was connected. An admin has been asked to allow it; I will tell you.
        nod: · Google account ana.private@mail.test is not connected. Its keys are forgotten here and given back to Google.
        nod: An admin did not allow ana.private@mail.test. Nothing was connected.
        nod: I could not read your mail.
    ");
    world.ends().await;
}

#[tokio::test]
async fn who_connects_before_the_directory_was_read_is_asked_for() {
    let mut world = World::without_nod().await;
    world.slack.faults().next("users.list", Fault::Status { code: 503, retry_after: None });
    world.start().await;
    world.connects("ana").await;
    let accounts: Vec<String> =
        sqlx::query_scalar("select account from connections").fetch_all(&world.pool).await.unwrap();
    assert_eq!(accounts, ["ana@acme.test"]);
    world.later(TimeDelta::seconds(5)).await;
    world.reads("dm:ana");
    world.ends().await;
}

/// The link of a guest who was not known to be one when it was created.
#[tokio::test]
async fn the_link_of_somebody_who_does_not_belong_connects_nothing() {
    let mut world = World::new().await;
    let link = world.asks_for_link("ana").await;
    let standing = "update identities set standing = 'unknown' where user_ref = $1";
    sqlx::query(standing).bind("U000000ANA").execute(&world.pool).await.unwrap();
    world.slack.faults().next("users.info", Fault::Status { code: 503, retry_after: None });
    let browser = Browser::new();
    let page = words_of(&browser.looks(&link).await);
    insta::assert_snapshot!(page, @r"
        Not now
        I could not find out yet whose link this is. Nothing was connected; please try again in a moment.
    ");
    world
        .slack
        .change(|w| w.users.values_mut().filter(|u| u.name == "ana").for_each(|u| u.is_restricted = true));
    let page = words_of(&browser.looks(&link).await);
    insta::assert_snapshot!(page, @r"
        This is for members
        I work for members of this workspace only. Nothing was connected. An admin can change that.
    ");
    let accounts: i64 =
        sqlx::query_scalar("select count(*) from connections").fetch_one(&world.pool).await.unwrap();
    assert_eq!(accounts, 0);
    world.ends().await;
}

#[tokio::test]
async fn only_an_admin_allows_another_account() {
    let mut world = World::new().await;
    let link = world.asks_for_link("ana").await;
    world.consents_as("ana", &link, "ana.private@mail.test", None).await;
    world.settles().await;
    let id: uuid::Uuid =
        sqlx::query_scalar("select id from other_accounts").fetch_one(&world.pool).await.unwrap();
    let forged = nod_sandbox::slack::Forged {
        user: "ana".to_owned(),
        channel: world.slack.dm("ana"),
        ts: "1.1".to_owned(),
        action_id: "allow".to_owned(),
        value: format!("allow:{id}"),
        ..Default::default()
    };
    world.slack.press_raw(forged).unwrap().acknowledged(nod_tests::patience()).await;
    world.settles().await;
    insta::assert_snapshot!(world.hears("ana").await, @"(ana only) nod: Only an admin of Nod can decide this. Nothing was done.");
    let status: String =
        sqlx::query_scalar("select status from other_accounts").fetch_one(&world.pool).await.unwrap();
    assert_eq!(status, "pending");
    world.reads("dm:ana");
    world.reads("dm:dana");
    world.ends().await;
}

#[tokio::test]
async fn without_an_admin_another_account_is_refused_with_a_way_out() {
    let mut world = World::without_nod().await;
    world.env.remove("NOD_ADMIN__SLACK");
    world.start().await;
    let link = world.asks_for_link("ana").await;
    let page = world.consents_as("ana", &link, "ana.private@mail.test", None).await;
    insta::assert_snapshot!(words_of(&page), @r"
        Not connected
        You signed in as ana.private@mail.test, and this link is for ana@acme.test.
        Ask Nod in chat for a new link, and sign in with that address.
    ");
    world.settles().await;
    insta::assert_snapshot!(world.reads("dm:ana"), @r"
        nod: · That was ana.private@mail.test, but your address here is ana@acme.test. Nothing was connected. Use your own account, or ask whoever runs Nod to name an admin who can allow another.
        nod: · Google account ana.private@mail.test is not connected. Its keys are forgotten here and given back to Google.
    ");
    world.ends().await;
}

async fn the_request_that_needed_it_goes_on_by_itself(platform: On) {
    let mut world = World::on(platform).await;
    world.google.deliver("ana@acme.test", "bo@acme.test", "Lunch?", "At noon?").unwrap();
    world.model_will("tool", [recent(), Answer::text("Bo asks about lunch at noon.")]);
    world.says("ana", "general", "@nod what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod what's new in my mail?
                nod: · Ana Silva, first I need access to your account. I have written to you directly.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: I need access to your Gmail to do that. Connect it, and your request goes on by itself.
              · The link is for you alone, works once and for an hour. It takes only your own account.
              [Connect Google]
        ");
    }
    let page = world.consents_as("ana", &world.newest_link_for("ana"), "ana@acme.test", None).await;
    assert!(page.contains("goes on by itself"), "{page}");
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod what's new in my mail?
                nod: · Ana Silva, first I need access to your account. I have written to you directly.
                nod: · Answered Ana Silva privately.
                  [Share here]
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Bo asks about lunch at noon.
        ");
    }
    world.ends().await;
}

async fn a_mail_that_needed_it_is_asked_for_once_connected(platform: On) {
    let mut world = World::on(platform).await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late()]);
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    world.consents_as("ana", &world.newest_link_for("ana"), "ana@acme.test", None).await;
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
            ana: @nod tell Bo I'm late
                nod: · Ana Silva, first I need access to your account. I have written to you directly.
                nod: # Send this email? · rev 1 · db435d
                  From  ana@acme.test
                  To  bo@acme.test
                  Cc  —
                  Bcc  —
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  ⚠ Nod's first mail to bo@acme.test
                  · Only Ana Silva can decide. Expires Sat 7 Mar 2026, 09:30 WET.
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.reads("dm:ana");
    world.ends().await;
}

async fn nobody_followed_the_link_and_the_request_says_so(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will(
        "tool",
        [recent(), Answer::text("Your Google account was not connected, so I read nothing.")],
    );
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    world.later(TimeDelta::minutes(61)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            ana: what's new in my mail?
            nod: The link to connect Google was not used in time. Nothing was connected; ask again for a new one.
            nod: Your Google account was not connected, so I read nothing.
        ");
    }
    world.ends().await;
}

async fn an_older_link_that_ends_does_not_end_a_request_with_a_newer_one(platform: On) {
    let mut world = World::on(platform).await;
    world.asks_for_link("ana").await;
    world.later(TimeDelta::minutes(30)).await;
    world.model_will("tool", [recent(), Answer::text("Nothing new.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    world.later(TimeDelta::minutes(40)).await;
    let page = world.consents_as("ana", &world.newest_link_for("ana"), "ana@acme.test", None).await;
    assert!(page.contains("Connected"), "{page}");
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            ana: what's new in my mail?
            nod: · ✓ Google is connected: ana@acme.test
            nod: Nothing new.
        ");
    }
    assert!(world.google.calls().iter().any(|call| call.operation == "gmail.users.messages.list"));
    world.ends().await;
}

async fn saying_no_at_google_ends_the_request_honestly(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will("tool", [recent(), Answer::text("You did not connect Google, so I read nothing.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    let browser = Browser::new();
    let to_google = world.leads_to_google("ana", &browser, &world.newest_link_for("ana")).await;
    browser.returns(&world.google.refuse_consent(&to_google).unwrap(), &to_google).await;
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            ana: what's new in my mail?
            nod: You did not agree to it. Nothing was connected. Ask again whenever you like.
            nod: You did not connect Google, so I read nothing.
        ");
    }
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("not_connected") && !heard.contains("in time"), "{heard}");
    world.ends().await;
}

async fn no_row_holds_a_token_or_a_working_link(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will("tool", [recent(), Answer::text("Nothing new.")]);
    world.says("ana", "general", "@nod what's new in my mail?").await;
    let link = world.newest_link_for("ana");
    let token = link.split_once("t=").unwrap().1.to_owned();
    world.consents_as("ana", &link, "ana@acme.test", None).await;
    world.settles().await;
    let rows = world.rows().await;
    for secret in world.google.secrets() {
        assert!(!rows.contains(&secret), "a token of Google's is in a row");
    }
    let (_, code) = token.split_once('.').unwrap();
    assert!(!rows.contains(code), "a link is in a row");
    world.reads("general");
    world.reads("dm:ana");
    world.ends().await;
}

async fn two_calls_at_once_renew_the_token_once(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    let before = tokens_asked(&world);
    world.later(TimeDelta::minutes(60)).await;
    let both = Answer::tools(vec![
        ("gmail_list_recent", json!({})),
        ("gmail_search_messages", json!({ "query": "lunch" })),
    ]);
    world.model_will("tool", [both, Answer::text("Nothing new.")]);
    world.model_will("tool", [recent(), Answer::text("Still nothing.")]);
    world.chat.say("ana", "general", None, "@nod my mail?");
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    assert_eq!(tokens_asked(&world) - before, 1);
    world.reads("general");
    world.reads("dm:ana");
    world.ends().await;
}

fn tokens_asked(world: &World) -> usize {
    world.google.calls().iter().filter(|call| call.operation == "oauth.token").count()
}

async fn a_grant_that_was_taken_back_is_noticed_and_the_request_goes_on(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.google.revoke_grants("ana@acme.test");
    world.model_will("tool", [recent(), Answer::text("Nothing new.")]);
    world.says("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads_on("dm:ana"), @r"
            ana: what's new in my mail?
            nod: Google no longer lets me into your account. Connect it again, and your request goes on by itself.
              · The link is for you alone, works once and for an hour. It takes only your own account.
              [Reconnect Google]
        ");
    }
    world.consents_as("ana", &world.chat.newest_link("dm:ana").unwrap(), "ana@acme.test", None).await;
    world.settles().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads_on("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: Nothing new.
        ");
    }
    world.ends().await;
}
