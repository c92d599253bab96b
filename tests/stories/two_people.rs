//! Two people must approve: the owner of the account, and then one of the co-approvers whom the rules name.

use chrono::TimeDelta;
use nod_contract::clock::Clock;
use nod_inbox::Settings;
use nod_requests::policy::TenantPolicyStore;
use nod_sandbox::google::Incoming;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;
use serde_json::json;

use crate::mail::late;

on_each_platform!(
    one_mail_goes_once_two_have_agreed,
    the_owner_is_not_the_second_person,
    a_no_of_the_second_ends_it,
    a_no_of_the_owner_ends_it_for_the_second_too,
    an_edit_asks_everybody_anew,
    an_edit_can_make_a_second_person_necessary,
    of_two_seconds_the_first_counts,
    it_expires_for_both_and_whoever_it_waits_for_is_reminded,
    nobody_is_asked_where_the_second_can_be_nobody,
    whoever_has_left_is_no_second_person,
    what_the_owner_agreed_to_survives_a_restart,
    a_typed_yes_never_counts_where_two_must_decide,
    the_list_of_what_waits_shows_it_to_whom_it_waits_for,
    either_can_take_it_back,
    each_of_several_has_a_card_of_its_own,
    what_the_second_was_shown_is_not_in_their_prompts,
    a_stopped_turn_is_over_for_the_second_too,
    the_second_connects_nobody_elses_account,
    rules_of_ones_own_come_after_and_a_never_stays,
    who_disconnects_their_own_account_denies_nothing_of_anothers,
    the_second_is_warned_as_the_owner_is,
    a_second_person_who_is_wanted_by_the_time_of_the_press_is_asked,
    what_is_forbidden_by_the_time_of_the_press_is_not_done,
);

const RULES: &str =
    "[approvers]\nlegal = [\"<stone>\", \"<cho>\"]\n[[rule]]\ndecider = \"owner and legal\"\n";

/// Ana has asked, and her card waits.
async fn asked(platform: On, answers: impl IntoIterator<Item = Answer>) -> World {
    asked_in(World::with_rules_on(platform, RULES).await, answers).await
}

async fn the_second_connects_nobody_elses_account(platform: On) {
    let mut world = approved(platform, []).await;
    world.google.revoke_grants("ana@acme.test");
    world.presses("cho", "dm:cho", "Approve & send").await;
    let all = reads_all(&mut world);
    let (owners, seconds) = all.split_once("---").unwrap();
    assert!(owners.contains("[Reconnect Google]") && !seconds.contains("Reconnect"), "{all}");
    world.reads("dm:ana");
    world.ends().await;
}

async fn asked_in(mut world: World, answers: impl IntoIterator<Item = Answer>) -> World {
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late()].into_iter().chain(answers));
    world.says("ana", "general", "@nod tell Bo I'm late").await;
    world
}

/// The same, and Ana has approved it.
async fn approved(platform: On, answers: impl IntoIterator<Item = Answer>) -> World {
    let world = asked(platform, answers).await;
    world.presses("ana", "general", "Approve").await;
    world
}

/// Sets the tenant's own rules.
async fn sets(world: &World, text: &str) -> TenantPolicyStore {
    let own = TenantPolicyStore::new(world.pool.clone(), Settings::default().tenant);
    let rules = nod_bot::config::policy::read(text).unwrap();
    own.set(text, &rules, "ana", world.clock.now()).await.unwrap();
    own
}

/// Converts Cho's times: every reader sees their own time zone, and only Slack reports that Cho's differs from Ana's.
fn in_lisbon(text: &str) -> String {
    let hour = |text: String, hour: u8| {
        text.replace(&format!("{:02}:30 CET", hour + 1), &format!("{hour:02}:30 WET"))
    };
    hour(text.replace("10:40 CET", "09:40 WET"), 9)
}

fn reads_all(world: &mut World) -> String {
    ["general", "dm:stone", "dm:cho"].map(|channel| world.reads(channel)).join("\n---\n")
}

fn arrived(world: &World) -> usize {
    world.google.inbox("bo@acme.test").len()
}

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

async fn one_mail_goes_once_two_have_agreed(platform: On) {
    let mut world = asked(platform, [Answer::text("Bo knows.")]).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 4), @r"
            Ana
            ⚠ Nod's first mail to bo@acme.test
            · Ana Silva decides first, then one of legal (Bob Stone, Cho Park). Once approved, all of this is shown to each of them. Expires Sat 7 Mar 2026, 09:30 WET.
            [Approve] [Edit] [Deny]
        ");
    }
    // The co-approvers have not been shown anything yet.
    assert_eq!((world.reads("dm:stone"), world.reads("dm:cho")), (String::new(), String::new()));
    world.presses("ana", "general", "Approve").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 3), @r"
            Approved by Ana Silva 09:30 WET · waits for one of legal (Bob Stone, Cho Park)
            · Shown to Bob Stone, Cho Park. Editing asks everybody anew. Expires Sat 7 Mar 2026, 09:30 WET.
            [Edit] [Deny]
        ");
        insta::assert_snapshot!(in_lisbon(&world.reads("dm:cho")), @r"
            nod: # Send this email? · rev 1 · db435d
              From  ana@acme.test
              To  bo@acme.test
              Cc  —
              Bcc  —
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Approved by Ana Silva 09:30 WET · needs one more: you, for legal
              · The rules here ask for two people. Expires Sat 7 Mar 2026, 09:30 WET.
              [Approve & send] [Deny]
        ");
    }
    assert_eq!(arrived(&world), 0);
    world.later(TimeDelta::minutes(10)).await;
    world.presses("cho", "dm:cho", "Approve & send").await;
    assert_eq!(arrived(&world), 1);
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 5), @r"
              Ana
              Approved by Ana Silva 09:30 WET and by Cho Park 09:40 WET → Sent 09:40 WET
              · Message-ID <CAsandbox00000004@mail.gmail.com> · id 019a400000000005
              [Open in Gmail]
            nod: Bo knows.
        ");
        insta::assert_snapshot!(in_lisbon(&last_lines(&world.reads("dm:cho"), 3)), @r"
            Ana
            Approved by Ana Silva 09:30 WET and by Cho Park 09:40 WET → Sent 09:40 WET
            · Message-ID <CAsandbox00000004@mail.gmail.com> · id 019a400000000005
        ");
    }
    assert!(world.reads("dm:stone").contains("and by Cho Park"));
    assert!(!world.reads("dm:stone").contains("[Approve"), "{}", world.reads("dm:stone"));
    let audit: Vec<String> =
        sqlx::query_scalar("select action from audit where action like 'approval.%' order by at")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    assert_eq!(audit, ["approval.asked", "approval.first_approved", "approval.approved"]);
    world.ends().await;
}

async fn the_owner_is_not_the_second_person(platform: On) {
    let mut world = asked(platform, [Answer::text("Not sent.")]).await;
    let first = world.keeps_press("ana", "general", "Approve");
    world.presses("bo", "general", "Approve").await;
    world.presses("cho", "general", "Approve").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.whispers("bo"), @"(bo only) nod: Only Ana Silva, and then one of legal (Bob Stone, Cho Park), can decide this. Nothing was done.");
        insta::assert_snapshot!(in_lisbon(&world.whispers("cho")), @"(cho only) nod: Ana Silva has to approve this first. Nothing was done.");
    }
    world.sends_press(&first).await;
    let second = world.keeps_press("cho", "dm:cho", "Approve & send");
    world.sends_press(&first).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.whispers("ana"), @"(ana only) nod: You approved this already (Fri 6 Mar 2026, 09:30 WET). It needs somebody else now: one of legal (Bob Stone, Cho Park). Nothing more was done.");
    }
    // Not on the co-approvers' card either, nor by anyone else there.
    for user in ["ana", "bo"] {
        let (user, channel) = (user.to_owned(), "general".to_owned());
        let forged = nod_tests::Press { user: user.clone(), channel, ..second.clone() };
        world.sends_press(&forged).await;
        let said = world.whispers(&user);
        assert!(
            said.contains("Nothing was done") || said.contains("Nothing more was done"),
            "{user}: {said}"
        );
    }
    assert_eq!(arrived(&world), 0);
    world.denies("ana", "general", "").await;
    reads_all(&mut world);
    world.ends().await;
}

async fn a_no_of_the_second_ends_it(platform: On) {
    let mut world = approved(platform, [Answer::text("Cho said no, so it was not sent.")]).await;
    world.denies("cho", "dm:cho", "not before the contract").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 3), @r"
              Approved by Ana Silva 09:30 WET → Denied by Cho Park 09:30 WET (not before the contract). Not sent.
            nod: Cho said no, so it was not sent.
              · For the record: nothing was sent or changed in this turn.
        ");
        insta::assert_snapshot!(in_lisbon(&last_lines(&world.reads("dm:stone"), 1)), @"  Approved by Ana Silva 09:30 WET → Denied by Cho Park 09:30 WET (not before the contract). Not sent.");
    }
    assert!(!reads_all(&mut world).contains("[Approve"));
    let prompt = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(prompt.contains("second person") && prompt.contains("not before the contract"), "{prompt}");
    assert_eq!(arrived(&world), 0);
    world.ends().await;
}

async fn a_no_of_the_owner_ends_it_for_the_second_too(platform: On) {
    let mut world = approved(platform, [Answer::text("Not sent.")]).await;
    let kept = world.keeps_press("cho", "dm:cho", "Approve & send");
    world.denies("ana", "general", "I called him").await;
    world.sends_press(&kept).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(in_lisbon(&world.whispers("cho")), @"(cho only) nod: Ana Silva denied this already (Fri 6 Mar 2026, 09:30 WET). Nothing was done.");
        insta::assert_snapshot!(in_lisbon(&last_lines(&world.reads("dm:cho"), 1)), @"  Approved by Ana Silva 09:30 WET → Denied by Ana Silva 09:30 WET (I called him). Not sent.");
    }
    assert_eq!(arrived(&world), 0);
    reads_all(&mut world);
    world.ends().await;
}

async fn an_edit_asks_everybody_anew(platform: On) {
    let mut world = approved(platform, [Answer::text("Bo knows.")]).await;
    let kept = world.keeps_press("cho", "dm:cho", "Approve & send");
    world.edits("ana", "general", &[("Subject", "Very late")]).await;
    world.sends_press(&kept).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(in_lisbon(&world.whispers("cho")), @"(cho only) nod: This was changed meanwhile: revision 2 is what counts now. Nothing was done; look at the card again.");
        insta::assert_snapshot!(in_lisbon(&world.reads("dm:cho")), @"nod: · Ana Silva changed this after you were asked, so nothing is asked of you now. If it is approved again, I show you what it has become.");
    }
    assert!(world.reads("general").contains("[Approve] [Edit] [Deny]"));
    world.presses("ana", "general", "Approve").await;
    world.sends_press(&kept).await;
    assert!(world.whispers("cho").contains("revision 2 is what counts now"));
    world.presses("cho", "dm:cho", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].subject, "Very late");
    reads_all(&mut world);
    world.ends().await;
}

async fn an_edit_can_make_a_second_person_necessary(platform: On) {
    let rules = "[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\nwhen.outside_recipients = true\n\
                 decider = \"owner and legal\"\n";
    let mut world = asked_in(World::with_rules_on(platform, rules).await, [Answer::text("They know.")]).await;
    assert!(world.reads("general").contains("Only Ana Silva can decide."));
    let kept = world.keeps_press("ana", "general", "Approve & send");
    world.edits("ana", "general", &[("Cc", "eve@x.test")]).await;
    world.sends_press(&kept).await;
    assert!(world.whispers("ana").contains("revision 2"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 2), @r"
            · Ana Silva decides first, then Cho Park (legal). Once approved, all of this is shown to Cho Park. Expires Sat 7 Mar 2026, 09:30 WET.
            [Approve] [Edit] [Deny]
        ");
    }
    world.presses("ana", "general", "Approve").await;
    assert_eq!(arrived(&world), 0);
    // Changed back, it needs no co-approver.
    world.edits("ana", "general", &[("Cc", "")]).await;
    world.presses("ana", "general", "Approve & send").await;
    assert_eq!(arrived(&world), 1);
    assert!(world.reads("dm:cho").contains("nothing is asked of you now"));
    world.reads("general");
    world.ends().await;
}

async fn of_two_seconds_the_first_counts(platform: On) {
    let mut world = approved(platform, [Answer::text("Bo knows.")]).await;
    let (cho, stone) = (
        world.keeps_press("cho", "dm:cho", "Approve & send"),
        world.keeps_press("stone", "dm:stone", "Approve & send"),
    );
    tokio::join!(world.chat.send_press(&cho), world.chat.send_press(&stone));
    world.settles().await;
    let said = world.whispers("cho") + &world.whispers("stone");
    assert!(said.contains("approved this already") && said.contains("Nothing more was done."), "{said}");
    assert_eq!(arrived(&world), 1);
    assert_eq!(world.google.sent("ana@acme.test").len(), 1);
    reads_all(&mut world);
    world.ends().await;
}

async fn it_expires_for_both_and_whoever_it_waits_for_is_reminded(platform: On) {
    let mut world = approved(platform, [Answer::text("Nobody of legal answered.")]).await;
    world.later(TimeDelta::hours(23)).await;
    assert!(!world.reads("general").contains("still waits for your nod"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(in_lisbon(&last_lines(&world.reads("dm:cho"), 2)), @r"
            nod: · Cho Park, this still waits for your nod, the second after Ana Silva: email to bo@acme.test “Running late”, digest db435d, expires Sat 7 Mar 2026, 09:30 WET. If nobody answers: not sent.
              [Go to the card]
        ");
    }
    world.later(TimeDelta::hours(1)).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 4), @r"
              Approved by Ana Silva 09:30 WET. Nobody of legal answered in time. Not sent.
              [Ask again]
            nod: Nobody of legal answered.
              · For the record: nothing was sent or changed in this turn.
        ");
        insta::assert_snapshot!(in_lisbon(&last_lines(&world.reads("dm:cho"), 3)), @r"
              Ana
              Approved by Ana Silva 09:30 WET. Nobody of legal answered in time. Not sent.
            nod: · I reminded Cho Park of a request; its card says what became of it.
        ");
    }
    assert!(world.reads("dm:stone").contains("Nobody of legal answered in time. Not sent."));
    assert_eq!(arrived(&world), 0);
    world.ends().await;
}

async fn nobody_is_asked_where_the_second_can_be_nobody(platform: On) {
    // A guest, a non-member, and the owner herself.
    let rules = match platform {
        On::Slack => "[approvers]\nlegal = [\"<gus>\", \"<ana>\"]\n[[rule]]\ndecider = \"owner and legal\"\n",
        On::Discord => {
            "[approvers]\nlegal = [\"<eve>\", \"<ana>\"]\n[[rule]]\ndecider = \"owner and legal\"\n"
        }
    };
    let said = Answer::text("The rules ask for somebody of legal, and there is nobody.");
    let mut world = asked_in(World::with_rules_on(platform, rules).await, [said]).await;
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("somebody of legal, and I know no member"), "{heard}");
    let asked: i64 =
        sqlx::query_scalar("select count(*) from approvals").fetch_one(&world.pool).await.unwrap();
    assert_eq!((asked, arrived(&world)), (0, 0));
    assert!(!world.reads("general").contains("[Approve"));
    world.ends().await;
}

async fn whoever_has_left_is_no_second_person(platform: On) {
    let mut world = approved(platform, [Answer::text("Not sent.")]).await;
    let kept = world.keeps_press("cho", "dm:cho", "Approve & send");
    sqlx::query("update identities set standing = 'guest' where person_id in (select id from people where full_name = 'Cho Park')")
        .execute(&world.pool)
        .await
        .unwrap();
    world.sends_press(&kept).await;
    let said = world.whispers("cho");
    assert!(said.contains("I did nothing"), "{said}");
    assert_eq!(arrived(&world), 0);
    // If no co-approver is left, the owner is notified when she approves.
    world.edits("ana", "general", &[("Subject", "Very late")]).await;
    sqlx::query("update identities set standing = 'gone' where person_id in (select id from people where full_name = 'Bob Stone')")
        .execute(&world.pool)
        .await
        .unwrap();
    world.presses("ana", "general", "Approve").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.whispers("ana"), @"(ana only) nod: The rules here ask for a second person, and nobody of legal can be asked any more. Nothing was done; an admin can change the rules.");
    }
    world.denies("ana", "general", "").await;
    reads_all(&mut world);
    world.ends().await;
}

async fn what_the_owner_agreed_to_survives_a_restart(platform: On) {
    let mut world = approved(platform, [Answer::text("Bo knows.")]).await;
    world.stop().await;
    world.start().await;
    assert!(world.reads("general").contains("waits for one of legal"));
    world.presses("stone", "dm:stone", "Approve & send").await;
    assert_eq!(arrived(&world), 1);
    reads_all(&mut world);
    world.ends().await;
}

async fn a_typed_yes_never_counts_where_two_must_decide(platform: On) {
    let mut world = asked(platform, []).await;
    let thread = world.chat.first("general");
    world.replies("ana", "general", &thread, "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 1), @"    nod: A typed yes does not count where two people must decide. Nothing was done: please press the button on the card.");
    }
    world.presses("ana", "general", "Approve").await;
    // The card is posted again, and Slack reports its time in whole seconds.
    world.clock.pass(TimeDelta::seconds(1));
    world.replies("ana", "general", &thread, "yes").await;
    world.says("cho", "dm:cho", "yes").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(in_lisbon(&last_lines(&world.reads("dm:cho"), 2)), @r"
            cho: yes
            nod: A typed yes does not count where two people must decide. Nothing was done: please press the button on the card.
        ");
    }
    assert_eq!(arrived(&world), 0);
    world.model.will(Answer::text("Not sent."));
    world.denies("ana", "general", "").await;
    reads_all(&mut world);
    world.ends().await;
}

async fn the_list_of_what_waits_shows_it_to_whom_it_waits_for(platform: On) {
    let mut world = asked(platform, [Answer::text("Bo knows.")]).await;
    assert!(world.commands("cho", "general", "approvals").await.contains("Nothing waits for your nod."));
    world.presses("ana", "general", "Approve").await;
    let listed = world.commands("ana", "general", "approvals").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(listed, @r"
            (ana only) nod: # Waits for your nod
            · 1. email to bo@acme.test “Running late”, digest db435d, approved by Ana Silva, waits for one of legal (Bob Stone, Cho Park), expires Sat 7 Mar 2026, 09:30 WET
            [Show 1]
        ");
    }
    let listed = world.commands("cho", "general", "approvals").await;
    assert!(listed.contains("approved by Ana Silva, waits for one of legal"), "{listed}");
    let shown = world.presses_whisper("cho", "Show 1").await;
    assert!(shown.contains("needs one more: you, for legal"), "{shown}");
    world.presses_whispered("cho", "Approve & send").await;
    assert!(world.whispers("cho").contains("Approved."));
    assert_eq!(arrived(&world), 1);
    reads_all(&mut world);
    world.ends().await;
}

async fn either_can_take_it_back(platform: On) {
    let mut world = World::without_nod_on(platform).await;
    world.env.remove("NOD_APPROVALS__UNDO");
    world.lays_down(RULES);
    world.start().await;
    let mut world = asked_in(world, [Answer::text("Not sent.")]).await;
    world.presses("ana", "general", "Approve").await;
    // Nothing is scheduled yet, so there is no undo.
    assert!(!world.reads("general").contains("[Undo]"));
    world.presses("cho", "dm:cho", "Approve & send").await;
    assert!(world.reads("general").contains("[Undo]") && world.reads("dm:cho").contains("[Undo]"));
    world.presses("stone", "dm:stone", "Undo").await;
    world.the_window_passes().await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_lines(&world.reads("general"), 3), @r"
              Approved by Ana Silva 09:30 WET and by Cho Park 09:30 WET → Undone by Bob Stone 09:30 WET. Not sent.
            nod: Not sent.
              · For the record: nothing was sent or changed in this turn.
        ");
    }
    assert_eq!(arrived(&world), 0);
    reads_all(&mut world);
    world.ends().await;
}

async fn each_of_several_has_a_card_of_its_own(platform: On) {
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    let rules = "[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\nwhen.outside_recipients = true\n\
                 decider = \"owner and legal\"\n";
    let mut world = World::with_rules_on(platform, rules).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    let both = Answer::tools(vec![mail("Bo"), mail("eve@x.test")]);
    world.model_will("tool", [both, Answer::text("Both know.")]);
    world.says("ana", "general", "@nod tell Bo and Eve I'm late").await;
    let read = world.reads("general");
    assert_eq!(read.matches("# Send this email?").count(), 2, "{read}");
    world.presses("ana", "general", "Approve & send").await;
    world.presses("ana", "general", "Approve").await;
    assert_eq!((arrived(&world), world.google.sent("ana@acme.test").len()), (1, 1));
    let shown = world.reads("dm:cho");
    assert!(shown.contains("eve@x.test") && !shown.contains("bo@acme.test"), "{shown}");
    world.presses("cho", "dm:cho", "Approve & send").await;
    assert_eq!(world.google.sent("ana@acme.test").len(), 2);
    world.reads("general");
    world.reads("dm:cho");
    world.ends().await;
}

async fn what_the_second_was_shown_is_not_in_their_prompts(platform: On) {
    let mut world = World::with_rules_on(platform, RULES).await;
    world.google.deliver("ana@acme.test", "cfo@bank.test", "Plans", "Marmalade").unwrap();
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    let recent = Answer::tool("gmail_list_recent", json!({}));
    world.model_will("tool", [recent, late(), Answer::text("Bo knows.")]);
    world.says("ana", "dm:ana", "look into my mail and tell Bo I'm late").await;
    world.presses("ana", "dm:ana", "Approve").await;
    let shown = world.reads("dm:cho");
    // What Ana has read is private: the co-approver only learns that there was something.
    assert!(shown.contains("text from outside was in view") && !shown.contains("cfo@bank.test"), "{shown}");
    assert!(world.reads("dm:ana").contains("cfo@bank.test"));
    world.presses("cho", "dm:cho", "Approve & send").await;
    let before = world.model.requests().len();
    world.model_will("conversational", [Answer::text("I do not know.")]);
    world.says("cho", "dm:cho", "what was that about?").await;
    let prompts = world.model.requests().split_off(before);
    assert!(!prompts.is_empty());
    for prompt in prompts {
        let prompt = prompt.to_string();
        assert!(!prompt.contains("running late") && !prompt.contains("Running late"), "{prompt}");
    }
    world.reads("dm:ana");
    reads_all(&mut world);
    world.ends().await;
}

async fn a_stopped_turn_is_over_for_the_second_too(platform: On) {
    let mut world = approved(platform, []).await;
    let thread = world.chat.first("general");
    world.replies("ana", "general", &thread, "stop").await;
    let read = reads_all(&mut world);
    assert!(!read.contains("[Approve"), "{read}");
    assert_eq!(arrived(&world), 0);
    world.ends().await;
}

async fn rules_of_ones_own_come_after_and_a_never_stays(platform: On) {
    let installation =
        "[[rule]]\nwhen.recipients_at = [\"rival.test\"]\nnever = \"not to them\"\n[[rule]]\nundo = \"5s\"";
    let mut world = World::with_rules_on(platform, installation).await;
    let text = world.naming(&format!("{RULES}when.outside_recipients = true\nundo = \"0s\""));
    let own = sets(&world, &text).await;
    let digest = own.load().await.unwrap().unwrap().digest;
    let (admin, other) = (
        world.commands("dana", "general", "admin policy").await,
        world.commands("ana", "general", "admin policy").await,
    );
    insta::allow_duplicates! {
        insta::assert_snapshot!(in_lisbon(&admin).replace(&digest[..6], "······"), @r"
            (dana only) nod: # Rules about asking for a nod
            1. everything that reaches others: the owner of the account decides, waits 24h, a reminder 1h before, no time to take it back
            2. everything, to somebody at rival.test: never (not to them)
            3. everything that reaches others: 5s to take it back
            4. everything that reaches others, to somebody outside: the owner decides, and then one of legal, no time to take it back
            · A later rule that fits outweighs an earlier one; a never is final. The last one is your own, set by ana on Fri 6 Mar 2026, 09:30 WET, digest ······.
        ");
        insta::assert_snapshot!(other, @"(ana only) nod: That is for admins. Nothing was done.");
    }
    world.connects("ana").await;
    let to = |whom: &str| {
        Answer::tool("gmail_send_email", json!({ "to": [whom], "subject": "Hi", "body": "Hi." }))
    };
    world.model_will("tool", [to("eve@rival.test"), Answer::text("The rules here never allow that.")]);
    world.says("ana", "general", "@nod say hi to eve@rival.test").await;
    assert!(!world.reads("general").contains("[Approve"));
    world.model_will("tool", [to("eve@x.test"), Answer::text("Done.")]);
    world.says("ana", "general", "@nod say hi to eve@x.test").await;
    world.presses("ana", "general", "Approve").await;
    world.presses("cho", "dm:cho", "Approve & send").await;
    assert_eq!(world.google.sent("ana@acme.test").len(), 1);
    // Without rules of the tenant, only the installation's rules apply.
    own.set("", &[], "ana", world.clock.now()).await.unwrap();
    assert_eq!(own.load().await.unwrap(), None);
    let set: i64 = sqlx::query_scalar("select count(*) from audit where action = 'policy.set'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(set, 2);
    reads_all(&mut world);
    world.ends().await;
}

async fn disconnects(world: &mut World, user: &str) {
    world.commands(user, "general", "connect").await;
    world.presses_whisper(user, "Disconnect Google").await;
    world.presses_whisper(user, "Yes, disconnect Google").await;
    world.reads(&format!("dm:{user}"));
}

async fn who_disconnects_their_own_account_denies_nothing_of_anothers(platform: On) {
    let mut world = approved(platform, [Answer::text("Bo knows.")]).await;
    world.connects("cho").await;
    disconnects(&mut world, "cho").await;
    assert!(world.reads("general").contains("waits for one of legal"));
    world.presses("cho", "dm:cho", "Approve & send").await;
    assert_eq!(arrived(&world), 1);
    reads_all(&mut world);
    world.ends().await;
}

async fn the_second_is_warned_as_the_owner_is(platform: On) {
    let mut world = World::with_rules_on(platform, RULES).await;
    world.connects("ana").await;
    let mail = Incoming {
        to: "ana@acme.test".into(),
        from: "eve@evil.test".into(),
        subject: "Terms".into(),
        body: "Answer me.".into(),
        headers: vec![("Reply-To".into(), "mallory@other.test".into())],
        ..Incoming::default()
    };
    world.google.deliver_mail(&mail).unwrap();
    let thread = world.google.inbox("ana@acme.test")[0].thread_id.clone();
    let answer = Answer::tool("gmail_reply", json!({ "thread_id": thread, "body": "Yes." }));
    world.model_will("tool", [answer, Answer::text("Not sent.")]);
    world.says("ana", "dm:ana", "answer Eve with a yes").await;
    world.presses("ana", "dm:ana", "Approve").await;
    let shown = world.reads("dm:cho");
    let warnings: Vec<&str> = shown.lines().filter(|line| line.contains('⚠')).map(str::trim).collect();
    insta::allow_duplicates! {
        insta::assert_snapshot!(warnings.join("\n"), @r"
        ⚠ mallory@other.test is outside acme.test
        ⚠ mallory@other.test comes from outside text: nobody here named it
        ⚠ the mail asks for answers to mallory@other.test, not to its sender
        ⚠ text from outside was in view when this was prepared
        ");
    }
    world.denies("cho", "dm:cho", "").await;
    world.reads("dm:ana");
    reads_all(&mut world);
    world.ends().await;
}

async fn a_second_person_who_is_wanted_by_the_time_of_the_press_is_asked(platform: On) {
    let mail = |to: &str| ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }));
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will(
        "tool",
        [Answer::tools(vec![mail("Bo"), mail("eve@x.test")]), Answer::text("Both know.")],
    );
    world.says("ana", "general", "@nod tell Bo and Eve I'm late").await;
    let thread = world.chat.first("general");
    let rules = world.naming("[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\nwhen.outside_recipients = true\ndecider = \"owner and legal\"\n");
    sets(&world, &rules).await;
    world.replies("ana", "general", &thread, "yes").await;
    assert_eq!(arrived(&world), 0);
    world.presses("ana", "general", "Approve all").await;
    assert_eq!((arrived(&world), world.google.sent("ana@acme.test").len()), (1, 1));
    assert!(world.reads("general").contains("waits for Cho Park (legal)"));
    let shown = world.reads("dm:cho");
    assert!(shown.contains("eve@x.test") && !shown.contains("bo@acme.test"), "{shown}");
    world.presses("cho", "dm:cho", "Approve & send").await;
    assert_eq!(world.google.sent("ana@acme.test").len(), 2);
    world.reads("general");
    world.reads("dm:cho");
    world.ends().await;
}

async fn what_is_forbidden_by_the_time_of_the_press_is_not_done(platform: On) {
    let said = Answer::text("The rules here do not allow that any more.");
    let mut world = approved(platform, [said]).await;
    sets(&world, "[[rule]]\ntool = \"gmail_send_email\"\nnever = \"we are closed\"").await;
    world.presses("cho", "dm:cho", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.whispers("cho"), @"(cho only) nod: The rules here never allow this: we are closed. Nothing was done.");
        insta::assert_snapshot!(last_lines(&world.reads("general"), 3), @r"
              Approved by Ana Silva 09:30 WET → The rules here never allow this: we are closed. Not sent.
            nod: The rules here do not allow that any more.
              · For the record: nothing was sent or changed in this turn.
        ");
    }
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("never allow this") && heard.contains("we are closed"), "{heard}");
    assert_eq!(arrived(&world), 0);
    reads_all(&mut world);
    world.ends().await;
}

/// More approvals than any list of pending ones shows.
#[tokio::test]
async fn all_that_waits_on_an_account_is_called_off_with_it() {
    let mut world = World::on(On::Slack).await;
    world.connects("ana").await;
    for channel in 0..2 {
        let mail = |at: i32| {
            let to = format!("eve{channel}{at}@x.test");
            ("gmail_send_email", json!({ "to": [to], "subject": "Late", "body": "Late." }))
        };
        world.model_will("tool", [Answer::tools((0..11).map(mail).collect())]);
        world.says("ana", "general", "@nod tell all of them").await;
    }
    world.model.will(Answer::text("None was told."));
    world.model.will(Answer::text("None was told."));
    disconnects(&mut world, "ana").await;
    let statuses: Vec<(String, i64)> = sqlx::query_as("select status, count(*) from approvals group by 1")
        .fetch_all(&world.pool)
        .await
        .unwrap();
    assert_eq!(statuses, [("denied".to_owned(), 22)]);
    world.reads("general");
    world.ends().await;
}

#[tokio::test]
async fn home_shows_the_second_what_waits_for_them() {
    let mut world = asked(On::Slack, [Answer::text("Bo knows.")]).await;
    world.opens_home("cho").await;
    assert!(world.slack.home("cho").contains("Nothing waits for your nod."));
    world.presses("ana", "general", "Approve").await;
    let home = world.slack.home("cho");
    assert!(home.contains("needs one more: you, for legal") && !home.contains("[Edit]"), "{home}");
    world.presses_home("cho", "Approve & send").await;
    assert_eq!(arrived(&world), 1);
    assert!(world.slack.home("cho").contains("and by Cho Park"), "{}", world.slack.home("cho"));
    reads_all(&mut world);
    world.ends().await;
}

#[tokio::test]
async fn the_second_is_asked_where_they_are() {
    let mut world = World::on_both().await;
    world.changes_over();
    let rules = world.naming("[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\ndecider = \"owner and legal\"\n");
    world.changes_over();
    sets(&world, &rules).await;
    let mut world = asked_in(world, [Answer::text("Bo knows.")]).await;
    world.presses("ana", "general", "Approve").await;
    world.changes_over();
    assert!(world.reads("dm:cho").contains("needs one more"));
    world.presses("cho", "dm:cho", "Approve & send").await;
    assert!(world.reads("dm:cho").contains("and by Cho Park"));
    world.changes_over();
    assert_eq!(arrived(&world), 1);
    assert!(world.reads("general").contains("→ Sent"));
    world.ends().await;
}

/// Ana can approve a mail that is too long to be shown to Cho on the other platform.
#[tokio::test]
async fn what_the_second_cannot_be_shown_is_not_asked_and_not_lost() {
    let mut world = World::on_both().await;
    world.changes_over();
    let rules = world.naming("[approvers]\nlegal = [\"<cho>\"]\n[[rule]]\ndecider = \"owner and legal\"\n");
    world.changes_over();
    sets(&world, &rules).await;
    world.connects("ana").await;
    let many = |name: &str| -> Vec<String> {
        (0..45).map(|at| format!("{name}.with.a.long.name.{at:02}@department.example.test")).collect()
    };
    let (to, cc) = (many("somebody"), many("another"));
    let mail = json!({ "to": to, "cc": cc, "subject": "Late", "body": "Late." });
    let mail = Answer::tool("gmail_send_email", mail);
    world.model_will("tool", [mail, Answer::text("All know.")]);
    world.says("ana", "general", "@nod tell all of them").await;
    world.presses("ana", "general", "Approve").await;
    insta::assert_snapshot!(world.whispers("ana"), @"(ana only) nod: The rules here ask for a second person, and this is more than a card can show to Cho Park. Nothing was done, and it still waits for you: make it smaller by Edit, or deny it and ask for less.");
    assert!(world.reads("general").contains("[Approve] [Edit] [Deny]"));
    world.edits("ana", "general", &[("To", "eve@x.test"), ("Cc", "")]).await;
    world.presses("ana", "general", "Approve").await;
    world.changes_over();
    world.presses("cho", "dm:cho", "Approve & send").await;
    world.reads("dm:cho");
    world.changes_over();
    assert_eq!(world.google.sent("ana@acme.test").len(), 1);
    world.reads("general");
    world.ends().await;
}

/// If the list names the owner, a user who is known on another platform only by an id might be the owner.
#[tokio::test]
async fn who_cannot_be_told_from_the_owner_is_no_second_person() {
    let mut world = World::on_both().await;
    world.changes_over();
    let theirs = world.naming("\"<ana>\", \"<cho>\"");
    world.changes_over();
    let rules = world.naming(&format!(
        "[approvers]\nlegal = [\"<ana>\", {theirs}]\n[[rule]]\ndecider = \"owner and legal\"\n"
    ));
    sets(&world, &rules).await;
    let mut world = asked_in(world, [Answer::text("There is nobody of legal.")]).await;
    let heard = world.model.requests().pop().unwrap()["messages"].to_string();
    assert!(heard.contains("surely somebody else than the owner"), "{heard}");
    assert!(!world.reads("general").contains("[Approve"));
    // With an account of their own they are known to be another person.
    world.changes_over();
    world.connects("cho").await;
    world.changes_over();
    let mut world = asked_in(world, [Answer::text("Bo knows.")]).await;
    world.presses("ana", "general", "Approve").await;
    world.changes_over();
    assert!(!world.reads("dm:ana").contains("needs one more"));
    world.presses("cho", "dm:cho", "Approve & send").await;
    world.reads("dm:cho");
    world.changes_over();
    assert_eq!(arrived(&world), 1);
    world.reads("general");
    world.ends().await;
}

/// Two linked identities are one person, and one person does not count as two.
#[tokio::test]
async fn the_owner_elsewhere_is_still_the_owner() {
    let mut world = World::on_both().await;
    world.changes_over();
    let list = world.naming("[approvers]\nlegal = [\"<ana>\", \"<cho>\"]\n");
    world.changes_over();
    sets(&world, &format!("{list}[[rule]]\ndecider = \"owner and legal\"\n")).await;
    let mut world = asked_in(world, [Answer::text("Not sent.")]).await;
    world.presses("ana", "general", "Approve").await;
    world.changes_over();
    assert!(world.reads("dm:ana").contains("needs one more"));
    let card = world.keeps_press("ana", "dm:ana", "Approve & send");
    world.changes_over();
    crate::people::joined(&mut world).await;
    world.changes_over();
    world.sends_press(&card).await;
    let said = world.whispers("ana");
    assert!(said.contains("It needs somebody else now: Cho Park (legal)."), "{said}");
    assert_eq!(arrived(&world), 0);
    world.reads("dm:ana");
    world.reads("dm:cho");
    world.changes_over();
    world.denies("ana", "general", "").await;
    world.reads("general");
    world.changes_over();
    world.reads("dm:ana");
    world.reads("dm:cho");
    world.changes_over();
    world.ends().await;
}
