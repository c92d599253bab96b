//! Two people must approve: the owner of the account, and then one of the co-approvers whom the rules name.

use chrono::TimeDelta;
use nod_contract::clock::Clock;
use nod_inbox::Settings;
use nod_requests::policy::TenantPolicyStore;
use nod_sandbox::google::IncomingMail;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    one_mail_goes_once_two_have_agreed,
    the_owner_is_not_the_second_person,
    a_no_of_the_second_ends_it,
    a_no_of_the_owner_ends_it_for_the_second_too,
    an_edit_asks_everybody_anew,
    an_edit_can_make_a_second_person_necessary,
    of_two_seconds_the_first_counts,
    it_expires_for_both_and_whoever_it_waits_for_is_reminded,
    nobody_is_asked_without_an_eligible_co_approver,
    whoever_has_left_is_no_second_person,
    what_the_owner_agreed_to_survives_a_restart,
    a_typed_yes_never_counts_where_two_must_decide,
    the_list_of_what_waits_shows_it_to_whom_it_waits_for,
    either_can_take_it_back,
    each_of_several_has_a_card_of_its_own,
    what_the_second_was_shown_is_not_in_their_prompts,
    a_stopped_turn_is_over_for_the_second_too,
    the_second_connects_nobody_elses_account,
    tenant_rules_apply_last_and_never_stays_final,
    who_disconnects_their_own_account_denies_nothing_of_anothers,
    the_second_is_warned_as_the_owner_is,
    a_second_person_who_is_wanted_by_the_time_of_the_press_is_asked,
    what_is_forbidden_by_the_time_of_the_press_is_not_done,
    what_another_person_let_happen_is_told,
);

const RULES: &str =
    "[approvers]\nlegal = [\"<stone>\", \"<cho>\"]\n[[rule]]\ndecider = \"owner and legal\"\n";

/// Ana has asked, and her card waits.
async fn with_pending_request(platform: Platform, answers: impl IntoIterator<Item = Answer>) -> World {
    request_approval_in(World::with_rules_on(platform, RULES).await, answers).await
}

async fn the_second_connects_nobody_elses_account(platform: Platform) {
    let mut world = with_owner_approval(platform, []).await;
    world.google.revoke_grants("ana@acme.test");
    world.click("cho", "dm:cho", "Approve & send").await;
    let all = read_all_channels(&mut world);
    let (owners, seconds) = all.split_once("---").unwrap();
    assert!(owners.contains("[Reconnect Google]") && !seconds.contains("Reconnect"), "{all}");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn request_approval_in(mut world: World, answers: impl IntoIterator<Item = Answer>) -> World {
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()].into_iter().chain(answers));
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world
}

/// The same, and Ana has approved it.
async fn with_owner_approval(platform: Platform, answers: impl IntoIterator<Item = Answer>) -> World {
    let world = with_pending_request(platform, answers).await;
    world.click("ana", "general", "Approve").await;
    world
}

/// Sets the tenant's own rules.
async fn set_tenant_policy(world: &World, text: &str) -> TenantPolicyStore {
    let own = TenantPolicyStore::new(world.pool.clone(), Settings::default().tenant);
    let rules = nod_bot::config::policy::read(text).unwrap();
    own.set(text, &rules, "ana", world.clock.now()).await.unwrap();
    own
}

/// Converts Cho's times: every reader sees their own time zone, and only Slack reports that Cho's differs from Ana's.
fn without_zone(text: &str) -> String {
    let hour = |text: String, hour: u8| {
        text.replace(&format!("{:02}:30 CET", hour + 1), &format!("{hour:02}:30 WET"))
    };
    hour(text.replace("10:40 CET", "09:40 WET"), 9)
}

fn read_all_channels(world: &mut World) -> String {
    ["general", "dm:stone", "dm:cho"].map(|channel| world.read_new(channel)).join("\n---\n")
}

fn received_count(world: &World) -> usize {
    world.google.inbox("bo@acme.test").len()
}

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

async fn one_mail_goes_once_two_have_agreed(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Bo knows.")]).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
            Ana
            · Ana Silva approves first, then one of legal (Bob Stone, Cho Park). After that, each of them will see all of this. Expires Sat 7 Mar 2026, 09:30 WET
            [Approve] [Edit] [Deny]
        ");
    }
    // The co-approvers have not been shown anything yet.
    assert_eq!((world.read_new("dm:stone"), world.read_new("dm:cho")), (String::new(), String::new()));
    world.click("ana", "general", "Approve").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 3), @r"
            Approved by Ana Silva 09:30 WET · waiting for one of legal (Bob Stone, Cho Park)
            · Shown to Bob Stone, Cho Park. If you edit it, everyone is asked again. Expires Sat 7 Mar 2026, 09:30 WET
            [Edit] [Deny]
        ");
        insta::assert_snapshot!(without_zone(&world.read_new("dm:cho")), @r"
            nod: # Send this email?
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Approved by Ana Silva 09:30 WET · now it needs you (legal)
              · Two people have to approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & send] [Deny]
        ");
    }
    assert_eq!(received_count(&world), 0);
    world.advance(TimeDelta::minutes(10)).await;
    world.click("cho", "dm:cho", "Approve & send").await;
    assert_eq!(received_count(&world), 1);
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Ana
              Approved by Ana Silva 09:30 WET and Cho Park 09:40 WET → Sent 09:40 WET
              [Open in Gmail]
            nod: Bo knows.
        ");
        insta::assert_snapshot!(without_zone(&last_lines(&world.read_new("dm:cho"), 3)), @r"
            Ana
            Approved by Ana Silva 09:30 WET and Cho Park 09:40 WET → Sent 09:40 WET
        ");
    }
    assert!(world.read_new("dm:stone").contains("and Cho Park"));
    assert!(!world.read_new("dm:stone").contains("[Approve"), "{}", world.read_new("dm:stone"));
    let audit: Vec<String> =
        sqlx::query_scalar("select action from audit where action like 'approval.%' order by at")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    assert_eq!(audit, ["approval.requested", "approval.owner_approved", "approval.approved"]);
    world.finish().await;
}

async fn the_owner_is_not_the_second_person(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Not sent.")]).await;
    let first = world.prepare_click("ana", "general", "Approve");
    world.click("bo", "general", "Approve").await;
    world.click("cho", "general", "Approve").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("bo"), @"(bo only) nod: Only Ana Silva, and then one of legal (Bob Stone, Cho Park) can decide this. Nothing was done.");
        insta::assert_snapshot!(without_zone(&world.read_ephemerals("cho")), @"(cho only) nod: Ana Silva has to approve this first.");
    }
    world.send_click(&first).await;
    let second = world.prepare_click("cho", "dm:cho", "Approve & send");
    world.send_click(&first).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: You already approved this (Fri 6 Mar 2026, 09:30 WET). Now it's waiting for one of legal (Bob Stone, Cho Park).");
    }
    // Not on the co-approvers' card either, nor by anyone else there.
    for user in ["ana", "bo"] {
        let (user, channel) = (user.to_owned(), "general".to_owned());
        let forged = nod_tests::Click { user: user.clone(), channel, ..second.clone() };
        world.send_click(&forged).await;
        let said = world.read_ephemerals(&user);
        assert!(
            said.contains("Nothing was done") || said.contains("You already approved this"),
            "{user}: {said}"
        );
    }
    assert_eq!(received_count(&world), 0);
    world.deny_request("ana", "general", "").await;
    read_all_channels(&mut world);
    world.finish().await;
}

async fn a_no_of_the_second_ends_it(platform: Platform) {
    let mut world = with_owner_approval(platform, [Answer::text("Cho said no, so it was not sent.")]).await;
    world.deny_request("cho", "dm:cho", "not before the contract").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 3), @r"
              Approved by Ana Silva 09:30 WET → Denied by Cho Park 09:30 WET (not before the contract). Not sent.
            nod: Cho said no, so it was not sent.
              · To be clear, nothing was sent or changed just now.
        ");
        insta::assert_snapshot!(without_zone(&last_lines(&world.read_new("dm:stone"), 1)), @"  Approved by Ana Silva 09:30 WET → Denied by Cho Park 09:30 WET (not before the contract). Not sent.");
    }
    assert!(!read_all_channels(&mut world).contains("[Approve"));
    let prompt = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(prompt.contains("second person") && prompt.contains("not before the contract"), "{prompt}");
    assert_eq!(received_count(&world), 0);
    world.finish().await;
}

async fn a_no_of_the_owner_ends_it_for_the_second_too(platform: Platform) {
    let mut world = with_owner_approval(platform, [Answer::text("Not sent.")]).await;
    let kept = world.prepare_click("cho", "dm:cho", "Approve & send");
    world.deny_request("ana", "general", "I called him").await;
    world.send_click(&kept).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(without_zone(&world.read_ephemerals("cho")), @"(cho only) nod: Ana Silva already denied this (Fri 6 Mar 2026, 09:30 WET).");
        insta::assert_snapshot!(without_zone(&last_lines(&world.read_new("dm:cho"), 1)), @"  Approved by Ana Silva 09:30 WET → Denied by Ana Silva 09:30 WET (I called him). Not sent.");
    }
    assert_eq!(received_count(&world), 0);
    read_all_channels(&mut world);
    world.finish().await;
}

async fn an_edit_asks_everybody_anew(platform: Platform) {
    let mut world = with_owner_approval(platform, [Answer::text("Bo knows.")]).await;
    let kept = world.prepare_click("cho", "dm:cho", "Approve & send");
    world.edit_request("ana", "general", &[("Subject", "Very late")]).await;
    world.send_click(&kept).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(without_zone(&world.read_ephemerals("cho")), @"(cho only) nod: This was edited after you saw it. Please look at the card again before you decide.");
        insta::assert_snapshot!(without_zone(&world.read_new("dm:cho")), @"nod: · Ana Silva edited this after you were asked. If it's approved again, I'll show you the new version.");
    }
    assert!(world.read_new("general").contains("[Approve] [Edit] [Deny]"));
    world.click("ana", "general", "Approve").await;
    world.send_click(&kept).await;
    assert!(world.read_ephemerals("cho").contains("This was edited after you saw it"));
    world.click("cho", "dm:cho", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].subject, "Very late");
    read_all_channels(&mut world);
    world.finish().await;
}

async fn an_edit_can_make_a_second_person_necessary(platform: Platform) {
    let rules = "[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\nwhen.outside_recipients = true\n\
                 decider = \"owner and legal\"\n";
    let mut world =
        request_approval_in(World::with_rules_on(platform, rules).await, [Answer::text("They know.")]).await;
    assert!(world.read_new("general").contains("Only Ana Silva can approve this."));
    let kept = world.prepare_click("ana", "general", "Approve & send");
    world.edit_request("ana", "general", &[("Cc", "eve@x.test")]).await;
    world.send_click(&kept).await;
    assert!(world.read_ephemerals("ana").contains("This was edited after you saw it"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 2), @r"
            · Ana Silva approves first, then Cho Park (legal). After that, Cho Park will see all of this. Expires Sat 7 Mar 2026, 09:30 WET
            [Approve] [Edit] [Deny]
        ");
    }
    world.click("ana", "general", "Approve").await;
    assert_eq!(received_count(&world), 0);
    // Changed back, it needs no co-approver.
    world.edit_request("ana", "general", &[("Cc", "")]).await;
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(received_count(&world), 1);
    assert!(world.read_new("dm:cho").contains("after you were asked"));
    world.read_new("general");
    world.finish().await;
}

async fn of_two_seconds_the_first_counts(platform: Platform) {
    let mut world = with_owner_approval(platform, [Answer::text("Bo knows.")]).await;
    let (cho, stone) = (
        world.prepare_click("cho", "dm:cho", "Approve & send"),
        world.prepare_click("stone", "dm:stone", "Approve & send"),
    );
    tokio::join!(world.chat.send_click(&cho), world.chat.send_click(&stone));
    world.wait_until_idle().await;
    let said = world.read_ephemerals("cho") + &world.read_ephemerals("stone");
    assert!(said.contains("already approved this"), "{said}");
    assert_eq!(received_count(&world), 1);
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    read_all_channels(&mut world);
    world.finish().await;
}

async fn it_expires_for_both_and_whoever_it_waits_for_is_reminded(platform: Platform) {
    let mut world = with_owner_approval(platform, [Answer::text("Nobody of legal answered.")]).await;
    world.advance(TimeDelta::hours(23)).await;
    assert!(!world.read_new("general").contains("is still waiting for you"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(without_zone(&last_lines(&world.read_new("dm:cho"), 2)), @r"
            nod: · Cho Park, this is still waiting for you after Ana Silva approved it: email to bo@acme.test “Running late”, expires Sat 7 Mar 2026, 09:30 WET. Without an answer: not sent.
              [Go to the card]
        ");
    }
    world.advance(TimeDelta::hours(1)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Approved by Ana Silva 09:30 WET. Expired: no answer from legal. Not sent.
              [Ask again]
            nod: Nobody of legal answered.
              · To be clear, nothing was sent or changed just now.
        ");
        insta::assert_snapshot!(without_zone(&last_lines(&world.read_new("dm:cho"), 3)), @r"
              Ana
              Approved by Ana Silva 09:30 WET. Expired: no answer from legal. Not sent.
            nod: · I reminded Cho Park about a request. Its card shows how it ended.
        ");
    }
    assert!(world.read_new("dm:stone").contains("Expired: no answer from legal. Not sent."));
    assert_eq!(received_count(&world), 0);
    world.finish().await;
}

async fn nobody_is_asked_without_an_eligible_co_approver(platform: Platform) {
    // A guest, a non-member, and the owner herself.
    let rules = match platform {
        Platform::Slack => {
            "[approvers]\nlegal = [\"<gus>\", \"<ana>\"]\n[[rule]]\ndecider = \"owner and legal\"\n"
        }
        Platform::Discord => {
            "[approvers]\nlegal = [\"<eve>\", \"<ana>\"]\n[[rule]]\ndecider = \"owner and legal\"\n"
        }
    };
    let said = Answer::text("The rules ask for somebody of legal, and there is nobody.");
    let mut world = request_approval_in(World::with_rules_on(platform, rules).await, [said]).await;
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("second person from legal"), "{heard}");
    let asked: i64 =
        sqlx::query_scalar("select count(*) from approvals").fetch_one(&world.pool).await.unwrap();
    assert_eq!((asked, received_count(&world)), (0, 0));
    assert!(!world.read_new("general").contains("[Approve"));
    world.finish().await;
}

async fn whoever_has_left_is_no_second_person(platform: Platform) {
    let mut world = with_owner_approval(platform, [Answer::text("Not sent.")]).await;
    let kept = world.prepare_click("cho", "dm:cho", "Approve & send");
    sqlx::query("update identities set membership = 'guest' where person_id in (select id from people where full_name = 'Cho Park')")
        .execute(&world.pool)
        .await
        .unwrap();
    world.send_click(&kept).await;
    let said = world.read_ephemerals("cho");
    assert!(said.contains("I only work for members"), "{said}");
    assert_eq!(received_count(&world), 0);
    // If no co-approver is left, the owner is notified when she approves.
    world.edit_request("ana", "general", &[("Subject", "Very late")]).await;
    sqlx::query("update identities set membership = 'deactivated' where person_id in (select id from people where full_name = 'Bob Stone')")
        .execute(&world.pool)
        .await
        .unwrap();
    world.click("ana", "general", "Approve").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: This needs a second person from legal, and I can't reach any of them. Nothing was done. An admin can change the rules.");
    }
    world.deny_request("ana", "general", "").await;
    read_all_channels(&mut world);
    world.finish().await;
}

async fn what_the_owner_agreed_to_survives_a_restart(platform: Platform) {
    let mut world = with_owner_approval(platform, [Answer::text("Bo knows.")]).await;
    world.stop().await;
    world.start().await;
    assert!(world.read_new("general").contains("waiting for one of legal"));
    world.click("stone", "dm:stone", "Approve & send").await;
    assert_eq!(received_count(&world), 1);
    read_all_channels(&mut world);
    world.finish().await;
}

async fn a_typed_yes_never_counts_where_two_must_decide(platform: Platform) {
    let mut world = with_pending_request(platform, []).await;
    let thread = world.chat.first_message("general");
    world.reply("ana", "general", &thread, "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 1), @"    nod: Two people have to approve this, so please use the button on the card.");
    }
    world.click("ana", "general", "Approve").await;
    // The card is posted again, and Slack reports its time in whole seconds.
    world.clock.advance(TimeDelta::seconds(1));
    world.reply("ana", "general", &thread, "yes").await;
    world.say("cho", "dm:cho", "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(without_zone(&last_lines(&world.read_new("dm:cho"), 2)), @r"
            cho: yes
            nod: Two people have to approve this, so please use the button on the card.
        ");
    }
    assert_eq!(received_count(&world), 0);
    world.model.will(Answer::text("Not sent."));
    world.deny_request("ana", "general", "").await;
    read_all_channels(&mut world);
    world.finish().await;
}

async fn the_list_of_what_waits_shows_it_to_whom_it_waits_for(platform: Platform) {
    let mut world = with_pending_request(platform, [Answer::text("Bo knows.")]).await;
    assert!(world.run_command("cho", "general", "approvals").await.contains("Nothing is waiting for you."));
    world.click("ana", "general", "Approve").await;
    let listed = world.run_command("ana", "general", "approvals").await;
    assert!(listed.contains("waiting for one of legal"), "{listed}");
    let listed = world.run_command("cho", "general", "approvals").await;
    assert!(listed.contains("now it needs you (legal)"), "{listed}");
    world.click_newest_ephemeral("cho", "Approve & send").await;
    assert!(world.read_ephemerals("cho").contains("Approved by Ana Silva"));
    assert_eq!(received_count(&world), 1);
    read_all_channels(&mut world);
    world.finish().await;
}

async fn either_can_take_it_back(platform: Platform) {
    let mut world = World::without_nod_on(platform).await;
    world.env.remove("NOD_APPROVALS__UNDO");
    world.set_rules(RULES);
    world.start().await;
    let mut world = request_approval_in(world, [Answer::text("Not sent.")]).await;
    world.click("ana", "general", "Approve").await;
    // Nothing is scheduled yet, so there is no undo.
    assert!(!world.read_new("general").contains("[Undo]"));
    world.click("cho", "dm:cho", "Approve & send").await;
    assert!(world.read_new("general").contains("[Undo]") && world.read_new("dm:cho").contains("[Undo]"));
    world.click("stone", "dm:stone", "Undo").await;
    world.advance_past_undo_window().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 4), @r"
              Approved by Ana Silva 09:30 WET and Cho Park 09:30 WET → Undone by Bob Stone 09:30 WET. Not sent.
              [Ask again]
            nod: Not sent.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    assert_eq!(received_count(&world), 0);
    read_all_channels(&mut world);
    world.finish().await;
}

async fn each_of_several_has_a_card_of_its_own(platform: Platform) {
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    let rules = "[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\nwhen.outside_recipients = true\n\
                 decider = \"owner and legal\"\n";
    let mut world = World::with_rules_on(platform, rules).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let both = Answer::tools(vec![mail("Bo"), mail("eve@x.test")]);
    world.script_model("tool", [both, Answer::text("Both know.")]);
    world.say("ana", "general", "@nod tell Bo and Eve I'm late").await;
    let read = world.read_new("general");
    assert_eq!(read.matches("# Send this email?").count(), 2, "{read}");
    world.click("ana", "general", "Approve & send").await;
    world.click("ana", "general", "Approve").await;
    assert_eq!((received_count(&world), world.google.list_sent("ana@acme.test").len()), (1, 1));
    let shown = world.read_new("dm:cho");
    assert!(shown.contains("eve@x.test") && !shown.contains("bo@acme.test"), "{shown}");
    world.click("cho", "dm:cho", "Approve & send").await;
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 2);
    world.read_new("general");
    world.read_new("dm:cho");
    world.finish().await;
}

async fn what_the_second_was_shown_is_not_in_their_prompts(platform: Platform) {
    let mut world = World::with_rules_on(platform, RULES).await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "Marmalade").unwrap();
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.script_model("tool", [recent, late_mail_call(), Answer::text("Bo knows.")]);
    world.say("ana", "dm:ana", "look into my mail and tell Bo I'm late").await;
    world.click("ana", "dm:ana", "Approve").await;
    let shown = world.read_new("dm:cho");
    // What Ana has read is private: the co-approver only learns that there was something.
    assert!(shown.contains("after reading text from outside") && !shown.contains("cfo@bank.test"), "{shown}");
    world.read_new("dm:ana");
    assert!(world.show_all("ana", "dm:ana", "SHA-256").await.contains("cfo@bank.test"));
    world.click("cho", "dm:cho", "Approve & send").await;
    let before = world.model.requests().len();
    world.script_model("conversational", [Answer::text("I do not know.")]);
    world.say("cho", "dm:cho", "what was that about?").await;
    let prompts = world.model.requests().split_off(before);
    assert!(!prompts.is_empty());
    for prompt in prompts {
        let prompt = prompt.to_string();
        assert!(!prompt.contains("running late") && !prompt.contains("Running late"), "{prompt}");
    }
    world.read_new("dm:ana");
    read_all_channels(&mut world);
    world.finish().await;
}

async fn a_stopped_turn_is_over_for_the_second_too(platform: Platform) {
    let mut world = with_owner_approval(platform, []).await;
    let thread = world.chat.first_message("general");
    world.reply("ana", "general", &thread, "stop").await;
    let read = read_all_channels(&mut world);
    assert!(!read.contains("[Approve"), "{read}");
    assert_eq!(received_count(&world), 0);
    world.finish().await;
}

async fn tenant_rules_apply_last_and_never_stays_final(platform: Platform) {
    let installation =
        "[[rule]]\nwhen.recipients_at = [\"rival.test\"]\nnever = \"not to them\"\n[[rule]]\nundo = \"5s\"";
    let mut world = World::with_rules_on(platform, installation).await;
    let text = world.with_platform_ids(&format!("{RULES}when.outside_recipients = true\nundo = \"0s\""));
    let own = set_tenant_policy(&world, &text).await;
    let digest = own.load().await.unwrap().unwrap().digest;
    let (admin, other) = (
        world.run_command("dana", "general", "admin policy").await,
        world.run_command("ana", "general", "admin policy").await,
    );
    insta::allow_duplicates! {
        insta::assert_snapshot!(without_zone(&admin).replace(&digest[..6], "······"), @r"
            (dana only) nod: # Approval rules
            1. anything that reaches other people: the account's owner approves, waits 24h, a reminder 1h before, no time to undo
            2. everything, to someone at rival.test: never (not to them)
            3. anything that reaches other people: 5s to undo
            4. anything that reaches other people, to somebody outside: the owner approves, then one of legal, no time to undo
            · When two rules fit, the later one counts. A “never” always counts. The last one is your own, set by ana on Fri 6 Mar 2026, 09:30 WET.
        ");
        insta::assert_snapshot!(other, @"(ana only) nod: That's for admins only.");
    }
    world.connect_google("ana").await;
    let to = |whom: &str| {
        Answer::tool("gmail_send_email", json!({ "to": [whom], "subject": "Hi", "body": "Hi." }))
    };
    world.script_model("tool", [to("eve@rival.test"), Answer::text("The rules here never allow that.")]);
    world.say("ana", "general", "@nod say hi to eve@rival.test").await;
    assert!(!world.read_new("general").contains("[Approve"));
    world.script_model("tool", [to("eve@x.test"), Answer::text("Done.")]);
    world.say("ana", "general", "@nod say hi to eve@x.test").await;
    world.click("ana", "general", "Approve").await;
    world.click("cho", "dm:cho", "Approve & send").await;
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    // Without rules of the tenant, only the installation's rules apply.
    own.set("", &[], "ana", world.clock.now()).await.unwrap();
    assert_eq!(own.load().await.unwrap(), None);
    let set: i64 = sqlx::query_scalar("select count(*) from audit where action = 'policy.updated'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(set, 2);
    read_all_channels(&mut world);
    world.finish().await;
}

async fn disconnect(world: &mut World, user: &str) {
    world.run_command(user, "general", "connect").await;
    world.click_ephemeral(user, "Disconnect Google").await;
    world.click_ephemeral(user, "Disconnect Google").await;
    world.read_new(&format!("dm:{user}"));
}

async fn who_disconnects_their_own_account_denies_nothing_of_anothers(platform: Platform) {
    let mut world = with_owner_approval(platform, [Answer::text("Bo knows.")]).await;
    world.connect_google("cho").await;
    disconnect(&mut world, "cho").await;
    assert!(world.read_new("general").contains("waiting for one of legal"));
    world.click("cho", "dm:cho", "Approve & send").await;
    assert_eq!(received_count(&world), 1);
    read_all_channels(&mut world);
    world.finish().await;
}

async fn the_second_is_warned_as_the_owner_is(platform: Platform) {
    let mut world = World::with_rules_on(platform, RULES).await;
    world.connect_google("ana").await;
    let mail = IncomingMail {
        to: "ana@acme.test".into(),
        from: "eve@evil.test".into(),
        subject: "Terms".into(),
        body: "Answer me.".into(),
        headers: vec![("Reply-To".into(), "mallory@other.test".into())],
        ..IncomingMail::default()
    };
    world.google.deliver_mail(&mail).unwrap();
    let thread = world.google.inbox("ana@acme.test")[0].thread_id.clone();
    let answer = Answer::tool("gmail_reply", json!({ "thread_id": thread, "body": "Yes." }));
    world.script_model("tool", [answer, Answer::text("Not sent.")]);
    world.say("ana", "dm:ana", "answer Eve with a yes").await;
    world.click("ana", "dm:ana", "Approve").await;
    let shown = world.read_new("dm:cho");
    let warnings: Vec<&str> = shown.lines().filter(|line| line.contains('⚠')).map(str::trim).collect();
    insta::allow_duplicates! {
        insta::assert_snapshot!(warnings.join("\n"), @r"⚠ mallory@other.test came from something I read, not from you · 3 more");
    }
    world.deny_request("cho", "dm:cho", "").await;
    world.read_new("dm:ana");
    read_all_channels(&mut world);
    world.finish().await;
}

async fn a_second_person_who_is_wanted_by_the_time_of_the_press_is_asked(platform: Platform) {
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model(
        "tool",
        [Answer::tools(vec![mail("Bo"), mail("eve@x.test")]), Answer::text("Both know.")],
    );
    world.say("ana", "general", "@nod tell Bo and Eve I'm late").await;
    let thread = world.chat.first_message("general");
    let rules = world.with_platform_ids("[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\nwhen.outside_recipients = true\ndecider = \"owner and legal\"\n");
    set_tenant_policy(&world, &rules).await;
    world.reply("ana", "general", &thread, "yes").await;
    assert_eq!(received_count(&world), 0);
    world.click("ana", "general", "Approve all").await;
    assert_eq!((received_count(&world), world.google.list_sent("ana@acme.test").len()), (1, 1));
    assert!(world.read_new("general").contains("waiting for Cho Park (legal)"));
    let shown = world.read_new("dm:cho");
    assert!(shown.contains("eve@x.test") && !shown.contains("bo@acme.test"), "{shown}");
    world.click("cho", "dm:cho", "Approve & send").await;
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 2);
    world.read_new("general");
    world.read_new("dm:cho");
    world.finish().await;
}

async fn what_is_forbidden_by_the_time_of_the_press_is_not_done(platform: Platform) {
    let said = Answer::text("The rules here do not allow that any more.");
    let mut world = with_owner_approval(platform, [said]).await;
    set_tenant_policy(&world, "[[rule]]\ntool = \"gmail_send_email\"\nnever = \"we are closed\"").await;
    world.click("cho", "dm:cho", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("cho"), @"(cho only) nod: The rules here don't allow this: we are closed. Nothing was done.");
        insta::assert_snapshot!(last_lines(&world.read_new("general"), 3), @r"
              Approved by Ana Silva 09:30 WET → The rules here don't allow this: we are closed. Not sent.
            nod: The rules here do not allow that any more.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("never allow this") && heard.contains("we are closed"), "{heard}");
    assert_eq!(received_count(&world), 0);
    read_all_channels(&mut world);
    world.finish().await;
}

/// More approvals than any list of pending ones shows.
#[tokio::test]
async fn all_that_waits_on_an_account_is_called_off_with_it() {
    let mut world = World::new_on(Platform::Slack).await;
    world.connect_google("ana").await;
    for channel in 0..2 {
        let mail = |at: i32| {
            let to = format!("eve{channel}{at}@x.test");
            ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }))
        };
        world.script_model("tool", [Answer::tools((0..11).map(mail).collect())]);
        world.say("ana", "general", "@nod tell all of them").await;
    }
    world.model.will(Answer::text("None was told."));
    world.model.will(Answer::text("None was told."));
    disconnect(&mut world, "ana").await;
    let statuses: Vec<(String, i64)> = sqlx::query_as("select status, count(*) from approvals group by 1")
        .fetch_all(&world.pool)
        .await
        .unwrap();
    assert_eq!(statuses, [("denied".to_owned(), 22)]);
    world.read_new("general");
    world.finish().await;
}

#[tokio::test]
async fn home_shows_the_second_what_waits_for_them() {
    let mut world = with_pending_request(Platform::Slack, [Answer::text("Bo knows.")]).await;
    world.open_home("cho").await;
    assert!(world.slack.home("cho").contains("Nothing is waiting for your nod."));
    world.click("ana", "general", "Approve").await;
    let home = world.slack.home("cho");
    assert!(home.contains("now it needs you (legal)") && !home.contains("[Edit]"), "{home}");
    world.click_in_home("cho", "Approve & send").await;
    assert_eq!(received_count(&world), 1);
    assert!(world.slack.home("cho").contains("and Cho Park"), "{}", world.slack.home("cho"));
    read_all_channels(&mut world);
    world.finish().await;
}

#[tokio::test]
async fn the_second_is_asked_where_they_are() {
    let mut world = World::on_both_platforms().await;
    world.switch_platform();
    let rules = world
        .with_platform_ids("[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\ndecider = \"owner and legal\"\n");
    world.switch_platform();
    set_tenant_policy(&world, &rules).await;
    let mut world = request_approval_in(world, [Answer::text("Bo knows.")]).await;
    world.click("ana", "general", "Approve").await;
    world.switch_platform();
    assert!(world.read_new("dm:cho").contains("now it needs"));
    world.click("cho", "dm:cho", "Approve & send").await;
    assert!(world.read_new("dm:cho").contains("and Cho Park"));
    world.switch_platform();
    assert_eq!(received_count(&world), 1);
    assert!(world.read_new("general").contains("→ Sent"));
    world.finish().await;
}

/// Ana can approve a mail that is too long to be shown to Cho on the other platform.
#[tokio::test]
async fn what_the_second_cannot_be_shown_is_not_asked_and_not_lost() {
    let mut world = World::on_both_platforms().await;
    world.switch_platform();
    let rules = world
        .with_platform_ids("[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\ndecider = \"owner and legal\"\n");
    world.switch_platform();
    set_tenant_policy(&world, &rules).await;
    world.connect_google("ana").await;
    let many = |name: &str| -> Vec<String> {
        (0..45).map(|at| format!("{name}.with.a.long.name.{at:02}@department.example.test")).collect()
    };
    let (to, cc) = (many("somebody"), many("another"));
    let mail = json!({ "to": to, "cc": cc, "subject": "Late", "body": "Late." });
    let mail = Answer::tool("gmail_send_email", mail);
    world.script_model("tool", [mail, Answer::text("All know.")]);
    world.say("ana", "general", "@nod tell all of them").await;
    world.click("ana", "general", "Approve").await;
    insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: This needs a second person, and it's too long to show Cho Park on a card. It's still waiting for you: edit it down, or deny it and ask for something shorter.");
    assert!(world.read_new("general").contains("[Approve] [Edit] [Deny]"));
    world.edit_request("ana", "general", &[("To", "eve@x.test"), ("Cc", "")]).await;
    world.click("ana", "general", "Approve").await;
    world.switch_platform();
    world.click("cho", "dm:cho", "Approve & send").await;
    world.read_new("dm:cho");
    world.switch_platform();
    assert_eq!(world.google.list_sent("ana@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

/// If the list names the owner, a user who is known on another platform only by an id might be the owner.
#[tokio::test]
async fn who_cannot_be_told_from_the_owner_is_no_second_person() {
    let mut world = World::on_both_platforms().await;
    world.switch_platform();
    let theirs = world.with_platform_ids("\"<ana>\", \"<cho>\"");
    world.switch_platform();
    let rules = world.with_platform_ids(&format!(
        "[approvers]\nlegal = [\"<ana>\", {theirs}]\n[[rule]]\ndecider = \"owner and legal\"\n"
    ));
    set_tenant_policy(&world, &rules).await;
    let mut world = request_approval_in(world, [Answer::text("There is nobody of legal.")]).await;
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("any of them as a member of this workspace other than"), "{heard}");
    assert!(!world.read_new("general").contains("[Approve"));
    // With an account of their own they are known to be another person.
    world.switch_platform();
    world.connect_google("cho").await;
    world.switch_platform();
    let mut world = request_approval_in(world, [Answer::text("Bo knows.")]).await;
    world.click("ana", "general", "Approve").await;
    world.switch_platform();
    assert!(!world.read_new("dm:ana").contains("now it needs"));
    world.click("cho", "dm:cho", "Approve & send").await;
    world.read_new("dm:cho");
    world.switch_platform();
    assert_eq!(received_count(&world), 1);
    world.read_new("general");
    world.finish().await;
}

/// Two linked identities are one person, and one person does not count as two.
#[tokio::test]
async fn the_owner_elsewhere_is_still_the_owner() {
    let mut world = World::on_both_platforms().await;
    world.switch_platform();
    let list = world.with_platform_ids("[approvers]\nlegal = [\"<ana>\", \"<cho>\"]\n");
    world.switch_platform();
    set_tenant_policy(&world, &format!("{list}[[rule]]\ndecider = \"owner and legal\"\n")).await;
    let mut world = request_approval_in(world, [Answer::text("Not sent.")]).await;
    world.click("ana", "general", "Approve").await;
    world.switch_platform();
    assert!(world.read_new("dm:ana").contains("now it needs"));
    let card = world.prepare_click("ana", "dm:ana", "Approve & send");
    world.switch_platform();
    crate::account_linking::link_accounts(&mut world).await;
    world.switch_platform();
    world.send_click(&card).await;
    let said = world.read_ephemerals("ana");
    assert!(said.contains("Now it's waiting for Cho Park (legal)."), "{said}");
    assert_eq!(received_count(&world), 0);
    world.read_new("dm:ana");
    world.read_new("dm:cho");
    world.switch_platform();
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.switch_platform();
    world.read_new("dm:ana");
    world.read_new("dm:cho");
    world.switch_platform();
    world.finish().await;
}

/// Though the model had nothing left to say: nobody is notified of a card that changes.
async fn what_another_person_let_happen_is_told(platform: Platform) {
    let mut world = World::with_rules_on(platform, RULES).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let mail = json!({ "to": ["Bo"], "subject": "Late", "body": "I'm late.", "more": false });
    world.script_model("tool", [Answer::tool("gmail_send_email", mail), Answer::text("Bo knows.")]);
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    world.click("ana", "general", "Approve").await;
    world.click("cho", "dm:cho", "Approve & send").await;
    let all = read_all_channels(&mut world);
    assert!(all.contains("nod: Bo knows."), "{all}");
    assert_eq!(received_count(&world), 1);
    world.finish().await;
}
