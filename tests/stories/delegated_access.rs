//! Delegated access, set up by the operator: a person's own account through the organisation's service account, or a
//! shared account of the organisation.

use chrono::TimeDelta;
use nod_connectors::google::scopes::{ALL, COMPOSE, EVENTS};
use nod_sandbox::Fault;
use nod_sandbox::google::Account;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::account_linking::link_accounts;
use crate::disconnect::{disconnect_ana, request_count};
use crate::privacy::CapturedLog;

on_each_platform!(
    who_connected_nothing_reads_and_sends_as_themselves,
    who_is_outside_the_domain_gets_the_link,
    the_organisations_account_is_for_those_who_may_use_it,
    what_was_approved_for_one_account_does_not_leave_from_another,
    what_waits_for_a_nod_on_a_lent_account_ends_where_its_person_connects_their_own,
    scopes_denied_by_the_admin_are_reported_with_a_fix,
    an_organisations_account_that_may_read_no_mail_is_said_with_the_cure,
    whom_others_wrote_to_from_the_organisations_account_is_nobodys_contact,
    shared_organisation_grant_is_never_revoked,
    a_revoked_account_of_the_organisations_is_said_and_does_not_hang,
    neither_log_nor_rows_have_a_key,
);

const ASSISTANT: &str = "assistant@acme.test";

fn recent() -> Answer {
    Answer::tool("gmail_list_recent", json!({}))
}

/// The same by Bo's address, for when his name resolves to none.
fn late_mail_call() -> Answer {
    let mail = json!({ "to": ["bo@acme.test"], "subject": "Running late", "body": "I'm running late." });
    Answer::tool("gmail_send_email", mail)
}

fn all_scopes() -> Vec<&'static str> {
    ALL.to_vec()
}

/// Configures the organisation's delegation of its people's accounts.
fn set_up_delegation(world: &mut World, domain: &str, scopes: &[&str]) {
    let file = format!("{}/service-account.json", world.env["NOD_DATA__DIR"]);
    std::fs::write(&file, world.google.service_account(domain, scopes)).unwrap();
    world.env.insert("NOD_GOOGLE__DELEGATION__KEY_FILE".to_owned(), file);
    world.env.insert("NOD_GOOGLE__DELEGATION__DOMAINS".to_owned(), domain.to_owned());
}

/// Configures an account of the organisation that Ana can use.
fn set_up_organisation_account(world: &mut World, scopes: &[&str]) {
    world.google.add_account(Account::new(ASSISTANT, "Assistant"));
    let token = world.google.grant_as(ASSISTANT, scopes).refresh_token;
    world.env.insert("NOD_GOOGLE__SYSTEM__REFRESH_TOKEN".to_owned(), token);
    let ana = world.with_platform_ids("<ana>");
    world.env.insert("NOD_GOOGLE__SYSTEM__PEOPLE".to_owned(), ana);
}

/// Creates the world on this platform. Discord reveals no email addresses: there Ana is linked to her identity on
/// Slack.
async fn with_delegation(platform: Platform, domain: &str, scopes: &[&str]) -> World {
    let mut world = match platform {
        Platform::Slack => World::without_nod().await,
        Platform::Discord => World::without_nod_on_both_platforms().await,
    };
    set_up_delegation(&mut world, domain, scopes);
    world.start().await;
    if platform == Platform::Discord {
        link_accounts(&mut world).await;
        world.switch_platform();
    }
    world
}

async fn with_organisation_account(platform: Platform) -> World {
    let mut world = World::without_nod_on(platform).await;
    set_up_organisation_account(&mut world, &all_scopes());
    world.start().await;
    world
}

async fn count_connections(world: &World) -> i64 {
    sqlx::query_scalar("select count(*) from connections").fetch_one(&world.pool).await.unwrap()
}

async fn who_connected_nothing_reads_and_sends_as_themselves(platform: Platform) {
    let mut world = with_delegation(platform, "acme.test", &all_scopes()).await;
    world.google.deliver("ana@acme.test", "bo@acme.test", "Lunch?", "At noon?").unwrap();
    world.script_model("tool", [recent(), Answer::text("Bo asks about lunch at noon.")]);
    world.say("ana", "general", "@nod what's new in my mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · You asked in a channel: “what's new in my mail?”
              Bo asks about lunch at noon.
              bo@acme.test · Lunch? · Fri 6 Mar, 09:30 WET
              [Reply] [Archive]
              [Share in the thread]
        ");
    }
    world.script_model("tool", [late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.click("ana", "general", "Approve & send").await;
    let said = world.read_new("general");
    assert!(said.contains("From  ana@acme.test") && said.contains("Email sent"), "{said}");
    assert!(!said.contains("organisation"), "{said}");
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    assert_eq!(world.google.inbox("bo@acme.test")[0].from, "ana@acme.test");
    assert_eq!(count_connections(&world).await, 0);
    let said = world.run_command("ana", "general", "connect").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: I'm using ana@acme.test, through your organisation for now. Connect your own Google account, and I'll use that instead.
            · This link is just for you. It works once, within an hour. It only works with your own account.
            [Connect Google]
        ");
    }
    world.finish().await;
}

async fn who_is_outside_the_domain_gets_the_link(platform: Platform) {
    let mut world = with_delegation(platform, "other.test", &all_scopes()).await;
    world.script_model("tool", [recent()]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    assert!(world.read_new("dm:ana").contains("[Connect Google]"));
    assert!(world.google.calls().is_empty());
    world.finish().await;
}

/// A guest's email address can be anything, so it grants no access.
#[tokio::test]
async fn guests_get_no_delegated_access() {
    let mut world = World::without_nod().await;
    set_up_delegation(&mut world, "acme.test", &all_scopes());
    set_up_organisation_account(&mut world, &all_scopes());
    world.env.insert("NOD_GOOGLE__SYSTEM__PEOPLE".to_owned(), "*".to_owned());
    world.env.insert("NOD_SLACK__ALLOW_GUESTS".to_owned(), "true".to_owned());
    world.start().await;
    world.script_model("tool", [recent()]);
    world.say("gus", "dm:gus", "what's new in my mail?").await;
    assert!(world.read_new("dm:gus").contains("[Connect Google]"));
    assert!(world.google.calls().is_empty());
    world.finish().await;
}

async fn the_organisations_account_is_for_those_who_may_use_it(platform: Platform) {
    let mut world = with_organisation_account(platform).await;
    world.google.deliver(ASSISTANT, "cho@acme.test", "Invoice", "Attached.").unwrap();
    let said = world.run_command("ana", "general", "connect").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: I'm using your organisation's account for now. Connect your own Google account, and I'll use that instead.
            · This link is just for you. It works once, within an hour. It only works with your own account.
            [Connect Google]
        ");
    }
    world.script_model("tool", [recent(), Answer::text("Cho sent an invoice.")]);
    world.say("ana", "general", "@nod what's new in the mail?").await;
    assert!(world.read_new("general").contains("Answered Ana Silva privately."));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · You asked in a channel: “what's new in the mail?”
              Cho sent an invoice.
              · I used assistant@acme.test, your organisation's account, not your own.
              cho@acme.test · Invoice · Fri 6 Mar, 09:30 WET
              [Reply] [Archive]
              [Share in the thread]
        ");
    }
    world.script_model("tool", [late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    let said = world.read_new("general");
    let whose = format!("· {ASSISTANT} belongs to your organisation, not to Ana Silva.");
    assert!(said.contains(&format!("From  {ASSISTANT}")) && said.contains(&whose), "{said}");
    world.edit_request("ana", "general", &[("subject", "Late")]).await;
    let said = world.read_new("general");
    assert!(said.contains("edited") && said.contains(&whose), "an edit does not hide it: {said}");
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.list_sent(ASSISTANT).len(), 1);
    let said = world.read_new("general");
    assert!(said.contains("Email sent") && said.contains(&whose), "{said}");
    assert!(
        said.contains(&format!("· I used {ASSISTANT}, your organisation's account, not your own.")),
        "{said}"
    );
    let asked = world.google.calls().len();
    world.script_model("tool", [recent()]);
    world.say("bo", "dm:bo", "what's new in the mail?").await;
    assert!(world.read_new("dm:bo").contains("[Connect Google]"));
    assert_eq!(world.google.calls().len(), asked);
    world.finish().await;
}

async fn what_was_approved_for_one_account_does_not_leave_from_another(platform: Platform) {
    let mut world = World::without_nod_on(platform).await;
    set_up_organisation_account(&mut world, &all_scopes());
    world.env.remove("NOD_APPROVALS__UNDO");
    world.start().await;
    world.script_model("tool", [late_mail_call(), Answer::text("It was not sent.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.click("ana", "general", "Approve & send").await;
    world.connect_google("ana").await;
    world.advance_past_undo_window().await;
    let said = world.read_new("general");
    // Which of her own accounts it is must not be shown to others.
    let why = format!("This was approved for {ASSISTANT}, but you've connected another account since");
    assert!(said.contains(&why) && !said.contains("ana@acme.test"), "{said}");
    assert!(world.google.inbox("bo@acme.test").is_empty());
    // From now on it is her own account.
    world.script_model("tool", [late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod tell Bo once more").await;
    world.click("ana", "general", "Approve & send").await;
    world.advance_past_undo_window().await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].from, "ana@acme.test");
    world.run_command("ana", "general", "connect").await;
    let said = world.click_ephemeral("ana", "Disconnect Google").await;
    assert!(
        said.contains(&format!("After that I'll use {ASSISTANT}, your organisation's account.")),
        "{said}"
    );
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn what_waits_for_a_nod_on_a_lent_account_ends_where_its_person_connects_their_own(platform: Platform) {
    let mut world = with_organisation_account(platform).await;
    world.script_model("tool", [late_mail_call(), Answer::text("It was not sent.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.connect_google("ana").await;
    let said = world.read_new("general");
    assert!(said.contains("you connected another account") && !said.contains("[Approve"), "{said}");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn scopes_denied_by_the_admin_are_reported_with_a_fix(platform: Platform) {
    let mut world = with_delegation(platform, "acme.test", &[COMPOSE]).await;
    world.script_model("tool", [recent(), Answer::text("I could not look into it.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    let said = world.read_new("dm:ana");
    for words in [
        "unauthorized_client",
        "client 104729104729104729104 needs the scopes",
        "gmail.readonly",
        "Nothing was sent or changed.",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("[Connect Google]"), "{said}");
    world.google.delegates("acme.test", &all_scopes());
    world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "and now?").await;
    let said = world.read_new("dm:ana");
    assert!(said.trim_end().ends_with("nod: Nothing new."), "{said}");
    world.finish().await;
}

async fn an_organisations_account_that_may_read_no_mail_is_said_with_the_cure(platform: Platform) {
    let mut world = World::without_nod_on(platform).await;
    set_up_organisation_account(&mut world, &[EVENTS]);
    world.start().await;
    world.script_model("tool", [recent(), Answer::text("I could not look into it.")]);
    world.say("ana", "dm:ana", "what's new in the mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in the mail?
            nod: I could not look into it.
              · Your organisation's account doesn't allow me to read email. The person who runs Nod has to sign in with it again for that and set google.system.refresh_token. Nothing was sent or changed.
        ");
    }
    world.finish().await;
}

async fn whom_others_wrote_to_from_the_organisations_account_is_nobodys_contact(platform: Platform) {
    let mut world = with_organisation_account(platform).await;
    assert!(world.google.writes(ASSISTANT, "Zoe Kim <zoe@partner.example>", "Hello"));
    let hello = json!({ "to": ["Zoe"], "subject": "Hello", "body": "Hello." });
    world.script_model(
        "tool",
        [Answer::tool("gmail_send_email", hello), Answer::text("What is her address?")],
    );
    world.say("ana", "dm:ana", "say hello to Zoe").await;
    assert!(
        world
            .read_new("dm:ana")
            .ends_with("nod: What is her address?\n  · To be clear, nothing was sent or changed just now.\n")
    );
    assert!(!world.model.requests().iter().any(|asked| asked.to_string().contains("partner.example")));
    world.finish().await;
}

/// Revoking one grant at Google ends every grant of that account to this Nod.
async fn shared_organisation_grant_is_never_revoked(platform: Platform) {
    let mut world = with_organisation_account(platform).await;
    world.connect_google("ana").await;
    disconnect_ana(&mut world).await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("I couldn't cancel them at Google"), "{said}");
    assert_eq!(request_count(&world, "oauth.revoke"), 0);
    // After its first use Nod knows that it is a different account.
    world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
    world.say("ana", "dm:ana", "what's new in the mail?").await;
    world.connect_google("ana").await;
    disconnect_ana(&mut world).await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("I've deleted its keys, and Google has cancelled them"), "{said}");
    assert_eq!(request_count(&world, "oauth.revoke"), 1);
    world.finish().await;
}

async fn a_revoked_account_of_the_organisations_is_said_and_does_not_hang(platform: Platform) {
    let mut world = with_organisation_account(platform).await;
    world.google.revoke_grants(ASSISTANT);
    world.script_model("tool", [recent(), Answer::text("I could not look into it.")]);
    world.say("ana", "dm:ana", "what's new in the mail?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: what's new in the mail?
            nod: I could not look into it.
              · I've lost access to your organisation's account (invalid_grant). The person who runs Nod has to sign in with it again and set google.system.refresh_token. Nothing was sent or changed.
        ");
    }
    world.finish().await;
}

/// If Google rejects a token, a new one is requested; a person is never sent to a link for it.
#[tokio::test]
async fn a_token_that_ends_is_renewed_and_one_that_is_rejected_sends_nobody_to_a_link() {
    let mut world = with_delegation(Platform::Slack, "acme.test", &all_scopes()).await;
    for end in ["by itself", "at Google", "not at all"] {
        match end {
            "by itself" => world.advance(TimeDelta::hours(2)).await,
            "at Google" => world.google.expire_tokens("ana@acme.test"),
            _ => {}
        }
        world.script_model("tool", [recent(), Answer::text("Nothing new.")]);
        world.say("ana", "dm:ana", "what's new in my mail?").await;
    }
    let tokens = world.google.calls().iter().filter(|call| call.operation == "oauth.token").count();
    assert_eq!(tokens, 2);
    let refused = Fault::Status { code: 401, retry_after: None };
    world.google.faults.next_times("gmail.users.messages.list", 2, &refused);
    world.script_model("tool", [recent(), Answer::text("I could not look into it.")]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Google doesn't let me do that in ana@acme.test."), "{said}");
    assert!(!said.contains("[Connect Google]") && !said.contains("[Reconnect Google]"), "{said}");
    world.finish().await;
}

#[tokio::test]
async fn a_google_that_is_silent_is_not_waited_for() {
    let mut world = with_delegation(Platform::Slack, "acme.test", &all_scopes()).await;
    world.google.faults.next("oauth.token", Fault::HangBefore);
    world.script_model("tool", [recent()]);
    world.say("ana", "dm:ana", "what's new in my mail?").await;
    insta::assert_snapshot!(world.read_new("dm:ana"), @r"
        ana: what's new in my mail?
        nod: Google is busy right now. Nothing was sent or changed. Try me again in a minute.
    ");
    world.finish().await;
}

async fn neither_log_nor_rows_have_a_key(platform: Platform) {
    let log = CapturedLog::default();
    let into = log.clone();
    let filter = Some("trace,yup_oauth2=trace,hyper=trace");
    let _here = tracing::subscriber::set_default(nod_bot::logging::subscriber_for(
        filter,
        move || into.clone(),
        false,
    ));
    // With only one subscriber in the process, a thread without one can disable a log line's callsite for all threads.
    let _second = tracing::Dispatch::new(nod_bot::logging::subscriber_for(None, std::io::sink, false));
    let mut world = World::without_nod_on(platform).await;
    if platform == Platform::Slack {
        set_up_delegation(&mut world, "acme.test", &all_scopes());
    }
    set_up_organisation_account(&mut world, &all_scopes());
    world.start().await;
    world.script_model("tool", [recent(), late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "dm:ana", "look into the mail and tell Bo about the pineapple").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    world.google.revoke_grants(ASSISTANT);
    world.google.revoke_grants("ana@acme.test");
    world.google.delegates("acme.test", &[]);
    world.script_model("tool", [recent(), Answer::text("I could not look into it.")]);
    world.say("ana", "dm:ana", "what's new?").await;
    let (said, rows) = (log.text(), world.dump_rows().await);
    assert!(said.contains("effect finished") && said.contains("cannot use a lent account"));
    let mut secrets = world.google.secrets();
    if let Some(file) = world.env.get("NOD_GOOGLE__DELEGATION__KEY_FILE") {
        let key: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        secrets.extend(key["private_key"].as_str().unwrap().lines().map(str::to_owned));
    }
    assert!(secrets.len() > 2);
    for secret in secrets.iter().map(String::as_str).chain(["pineapple", "running late"]) {
        assert!(!said.contains(secret), "logged: {secret}");
    }
    assert!(secrets.iter().all(|secret| !rows.contains(secret)));
    world.read_new("dm:ana");
    world.finish().await;
}

#[tokio::test]
async fn home_shows_delegated_accounts() {
    let world = with_delegation(Platform::Slack, "acme.test", &all_scopes()).await;
    world.open_home("ana").await;
    let said = world.slack.home("ana");
    assert!(said.contains("I'm using ana@acme.test, through your organisation"), "{said}");
    world.finish().await;
}
