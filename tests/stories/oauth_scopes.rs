//! The permissions that an account grants to Nod: step by step, when requests need them.

use nod_connectors::google::scopes::{COMPOSE, EVENTS, MODIFY, READONLY, USUAL};
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{Browser, World, page_text};
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    a_request_asks_for_what_it_needs_beyond_what_is_there,
    unticked_scope_is_reported_and_the_rest_is_used,
    missing_scope_is_reported_and_nothing_is_lost,
    a_link_for_one_request_does_not_end_what_waits_for_another,
);

fn recent() -> Answer {
    Answer::tool("gmail_list_recent", json!({}))
}

/// Returns the scopes that a consent page asks for, without those that only identify the account.
fn requested_scopes(consent: &str) -> Vec<String> {
    let address = url::Url::parse(consent).unwrap();
    let value = |wanted: &str| address.query_pairs().find(|(name, _)| name == wanted).unwrap().1.into_owned();
    assert_eq!(value("include_granted_scopes"), "true");
    let mut scopes: Vec<String> = value("scope").split(' ').map(str::to_owned).collect();
    scopes.retain(|scope| scope.contains("mail.") || scope.contains("calendar"));
    scopes
}

/// Ana unticks all but her calendar, is asked again only for what her question needs, and lets Nod read her mail.
async fn connect_with_read_scope(world: &mut World) {
    world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    let browser = Browser::new();
    let link = world.find_newest_link("ana");
    let to_google = world.follow_to_google("ana", &browser, &link).await;
    assert_eq!(requested_scopes(&to_google), USUAL);
    let calendar_only = world.google.consent(&to_google, "ana@acme.test", Some(&[EVENTS])).unwrap();
    browser.follow_callback(&calendar_only, &to_google).await;
    world.wait_until_idle().await;
    let link = world.find_newest_link("ana");
    let to_google = world.follow_to_google("ana", &browser, &link).await;
    assert_eq!(requested_scopes(&to_google), [READONLY]);
    browser
        .follow_callback(&world.google.consent(&to_google, "ana@acme.test", None).unwrap(), &to_google)
        .await;
    world.wait_until_idle().await;
    world.read_new("dm:ana");
}

async fn a_request_asks_for_what_it_needs_beyond_what_is_there(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.make_mail_address_known("bo").await;
    connect_with_read_scope(&mut world).await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in my mail?
            nod: · ✓ Google is connected: ana@acme.test
              I can work with your calendar, but I can't organise your email or see when people are busy: that box wasn't ticked on Google's page. Ask me again and tick it if you want me to.
            nod: · ✓ Now I can also read your email: ana@acme.test
            nod: Nothing new.
            ana: tell Bo I'm late
            nod: I can read your email and work with your calendar, but I can't write email for you yet. Allow that too, and I'll pick up where I left off.
              · This link is just for you. It works once, within an hour. Sign in as ana@acme.test.
              [Connect Google]
        ");
    }
    let browser = Browser::new();
    let link = world.find_newest_link("ana");
    let page = browser.open_page(&link).await;
    assert!(page.contains("Write drafts") && !page.contains("Search and read"), "{page}");
    let to_google = world.follow_to_google("ana", &browser, &link).await;
    assert_eq!(requested_scopes(&to_google), [COMPOSE]);
    browser
        .follow_callback(&world.google.consent(&to_google, "ana@acme.test", None).unwrap(), &to_google)
        .await;
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in my mail?
            nod: · ✓ Google is connected: ana@acme.test
              I can work with your calendar, but I can't organise your email or see when people are busy: that box wasn't ticked on Google's page. Ask me again and tick it if you want me to.
            nod: · ✓ Now I can also read your email: ana@acme.test
            nod: Nothing new.
            ana: tell Bo I'm late
            nod: · ✓ Now I can also write email for you: ana@acme.test
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
    // The earlier permission is still granted.
    world.script_model("tool", [recent(), Answer::text("Still nothing.")]);
    world.say("ana", "dm:ana", "and now?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in my mail?
            nod: · ✓ Google is connected: ana@acme.test
              I can work with your calendar, but I can't organise your email or see when people are busy: that box wasn't ticked on Google's page. Ask me again and tick it if you want me to.
            nod: · ✓ Now I can also read your email: ana@acme.test
            nod: Nothing new.
            ana: tell Bo I'm late
            nod: · ✓ Now I can also write email for you: ana@acme.test
            nod: # Send this email?
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & send] [Edit] [Deny]
            ana: and now?
            nod: Still nothing.
        ");
    }
    world.finish().await;
}

async fn unticked_scope_is_reported_and_the_rest_is_used(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let link = world.request_link("ana").await;
    let page = world.consent_as("ana", &link, "ana@acme.test", Some(&[MODIFY])).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(page_text(&page), @r"
            Connected
            Nod can now use ana@acme.test for you.
            Nod can't work with your calendar or see when people are busy: that box wasn't ticked. If you want it, ask Nod again in chat and tick it.
            You can close this page. Nod is already carrying on in your chat.
        ");
    }
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
              I can read your email, write email for you and organise your email, but I can't work with your calendar or see when people are busy: that box wasn't ticked on Google's page. Ask me again and tick it if you want me to.
        ");
    }
    world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
              I can read your email, write email for you and organise your email, but I can't work with your calendar or see when people are busy: that box wasn't ticked on Google's page. Ask me again and tick it if you want me to.
            ana: what's new in my mail?
            nod: Nothing new.
        ");
    }
    world.finish().await;
}

async fn missing_scope_is_reported_and_nothing_is_lost(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.make_mail_address_known("bo").await;
    connect_with_read_scope(&mut world).await;
    world.script_model(
        "tool",
        [late_mail_call(), Answer::text("I may not write email for you, so Bo was not told.")],
    );
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    world.read_new("dm:ana");
    let link = world.find_newest_link("ana");
    let page = world.consent_as("ana", &link, "ana@acme.test", Some(&[])).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(page_text(&page), @r"
            Connected
            Nod can now use ana@acme.test for you.
            Nod can't write email for you: that box wasn't ticked. If you want it, ask Nod again in chat and tick it.
            You can close this page. Nod is already carrying on in your chat.
        ");
    }
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in my mail?
            nod: · ✓ Google is connected: ana@acme.test
              I can work with your calendar, but I can't organise your email or see when people are busy: that box wasn't ticked on Google's page. Ask me again and tick it if you want me to.
            nod: · ✓ Now I can also read your email: ana@acme.test
            nod: Nothing new.
            ana: tell Bo I'm late
            nod: · ✓ Google is still connected: ana@acme.test
              I can read your email and work with your calendar, but I can't write email for you: that box wasn't ticked on Google's page. Ask me again and tick it if you want me to.
            nod: I may not write email for you, so Bo was not told.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    let heard = world.model.requests().pop().unwrap().to_string();
    assert!(heard.contains("did not tick every permission"), "{heard}");
    world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.read_new("dm:ana").contains("Nothing new."));
    world.finish().await;
}

async fn a_link_for_one_request_does_not_end_what_waits_for_another(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [recent()]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    let to_read = world.find_newest_link("ana");
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    assert_ne!(world.find_newest_link("ana"), to_read);
    world.model.will(Answer::text("Nothing new."));
    world.consent_as("ana", &to_read, "ana@acme.test", None).await;
    world.wait_until_idle().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in my mail?
            nod: · ✓ Google is connected: ana@acme.test
            nod: I need access to your Gmail for that. Connect it, and I'll pick up where I left off. I'll ask for your Gmail and your calendar at once: untick what you don't want.
              · This link is just for you. It works once, within an hour. It only works with your own account.
              [Connect Google]
            nod: Nothing new.
        ");
    }
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

#[tokio::test]
async fn a_request_for_more_takes_the_connected_account_alone() {
    let mut world = World::new_on(Platform::Discord).await;
    world.make_mail_address_known("bo").await;
    connect_with_read_scope(&mut world).await;
    world.script_model("tool", [late_mail_call(), Answer::text("Bo was not told.")]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    let link = world.find_newest_link("ana");
    let page = world.consent_as("ana", &link, "ana.private@mail.test", None).await;
    insta::assert_snapshot!(page_text(&page), @r"
        Not connected
        You signed in as ana.private@mail.test, but ana@acme.test is the one that's connected. Nothing changed.
        Ask Nod in chat if you need a new link.
    ");
    world.wait_until_idle().await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        ana: what's new in my mail?
        nod: · ✓ Google is connected: ana@acme.test
          I can work with your calendar, but I can't organise your email or see when people are busy: that box wasn't ticked on Google's page. Ask me again and tick it if you want me to.
        nod: · ✓ Now I can also read your email: ana@acme.test
        nod: Nothing new.
        ana: tell Bo I'm late
        nod: · You signed in as ana.private@mail.test, but ana@acme.test is the one that's connected. Nothing changed. Ask me again and sign in as ana@acme.test.
        nod: · Google account ana.private@mail.test is disconnected. I've deleted its keys, and Google has cancelled them.
        nod: Bo was not told.
          · To be clear, nothing was sent or changed just now.
    ");
    let accounts: Vec<String> =
        sqlx::query_scalar("select account from connections where account like 'ana%'")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    assert_eq!(accounts, ["ana@acme.test"]);
    world.finish().await;
}
