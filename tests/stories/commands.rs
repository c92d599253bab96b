//! `/nod` and its subcommands.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::json;

use crate::mail::late_mail_call;

on_each_platform!(
    help_says_what_nod_can_do,
    ask_posts_the_question_and_answers_in_its_thread,
    ask_names_whoever_asked_and_nobody_whom_the_model_names,
    ask_names_them_on_the_card_that_asks_too,
    ask_where_nod_is_no_member_answers_the_asker_alone,
    approvals_shows_the_one_card_that_waits_and_decides_there,
    approvals_lists_what_waits_on_several_cards,
);

async fn help_says_what_nod_can_do(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let plain = |said: String| said.replace(['`', '*'], "");
    let bare = plain(world.run_command("ana", "general", "").await);
    assert_eq!(bare, plain(world.run_command("ana", "general", "help").await));
    insta::allow_duplicates! {
        insta::assert_snapshot!(bare, @r"
            (ana only) nod: I read your email and calendar when you ask, answer questions, and write emails and invitations for you. You see exactly what will be sent, and it only goes once you press Approve.

            • Mention me in a channel and I'll answer in a thread. You don't need to mention me again there.
            • In direct messages, just write.
            • Try “tell Bo I'm late”, “what's new in my email?”, “draft an email to Bo about the plan”, “what's on my calendar tomorrow?” or “find half an hour with Bo next week”.
            • Say “stop” and I'll stop. Press Undo to take back something that's about to go out.

            /nod ask … ask me anything · /nod connect google connect your account · /nod disconnect disconnect your account · /nod connect chat link your other chat · /nod approvals see what's waiting for you · /nod memory see what I remember · /nod knowledge lists the documents I know here; add URL, remove NAME and again NAME change them · /nod task hand me work that takes several steps · /nod runs see how your requests went · /nod settings change how I work in this channel, and your working hours · /nod help show this.
        ");
    }
    world.finish().await;
}

/// Discord does not let users type an unknown command.
#[tokio::test]
async fn the_nearest_right_word_is_named() {
    let mut world = World::new().await;
    insta::assert_snapshot!(world.run_command("ana", "general", "aprovals now").await, @"(ana only) nod: I don't know the command aprovals. Did you mean /nod approvals? You can use help, ask, connect, disconnect, approvals, memory, knowledge, task, runs, settings.");
    insta::assert_snapshot!(world.run_command("ana", "general", "xyzzy").await, @"(ana only) nod: I don't know the command xyzzy. You can use help, ask, connect, disconnect, approvals, memory, knowledge, task, runs, settings.");
    insta::assert_snapshot!(world.run_command("ana", "general", "ask").await, @"(ana only) nod: Ask me something, like /nod ask what's new in my email?");
    world.finish().await;
}

async fn ask_posts_the_question_and_answers_in_its_thread(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("42.")]);
    world.run_command("ana", "general", "ask what is the answer?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            nod: # Ana Silva asked
              what is the answer?
                nod: @ana
                  42.
        ");
    }
    world.expect_loose_end("a ping: ana");
    world.finish().await;
}

/// The asker has posted nothing in the thread, so the platform would not notify them of messages there.
async fn ask_names_whoever_asked_and_nobody_whom_the_model_names(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Ask <!channel> or @everyone.")]);
    world.run_command("ana", "general", "ask who knows?").await;
    world.read_new("general");
    assert_eq!(world.chat.mentioned_users(), ["ana"]);
    world.expect_loose_end("a ping: ana");
    let thread = world.chat.nod_message_ids("general")[0].clone();
    world.script_model("conversational", [Answer::text("Bo does.")]);
    world.reply("ana", "general", &thread, "really?").await;
    world.read_new("general");
    assert_eq!(world.chat.mentioned_users(), ["ana"], "whoever writes there is told by the platform");
    world.finish().await;
}

async fn ask_names_them_on_the_card_that_asks_too(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Bo knows.")]);
    world.run_command("ana", "general", "ask tell Bo I'm late").await;
    assert!(world.read_new("general").contains("@ana\n"));
    assert_eq!(world.chat.mentioned_users(), ["ana"]);
    world.click("ana", "general", "Approve & send").await;
    world.read_new("general");
    assert_eq!(world.chat.mentioned_users(), ["ana", "ana"], "of the answer too, which may come much later");
    world.expect_loose_end("a ping: ana");
    world.finish().await;
}

async fn ask_where_nod_is_no_member_answers_the_asker_alone(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.chat.add_channel_without_nod("attic", &["ana", "bo"]);
    world.script_model("conversational", [Answer::text("42.")]);
    world.run_command("ana", "attic", "ask what is the answer?").await;
    assert_eq!(world.read_new("attic"), "");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: # Ana Silva asked
              what is the answer?
              · I can't post where you asked, so here it is.
            nod: 42.
        ");
    }
    world.finish().await;
}

async fn approvals_shows_the_one_card_that_waits_and_decides_there(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let said = world.run_command("ana", "general", "approvals").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: Nothing is waiting for you.");
    }
    world.script_model("tool", [late_mail_call(), Answer::text("Done.")]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    let said = world.run_command("ana", "general", "approvals").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # Send this email?
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
    let said = world.run_command("bo", "general", "approvals").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(bo only) nod: Nothing is waiting for you.");
    }
    world.click_newest_ephemeral("ana", "Approve & send").await;
    assert!(world.read_ephemerals("ana").contains("Approved by Ana Silva"));
    world.read_new("dm:ana");
    world.finish().await;
}

async fn approvals_lists_what_waits_on_several_cards(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call()]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    let lunch = json!({ "to": ["Bo"], "subject": "Lunch", "body": "At one." });
    world.script_model("tool", [Answer::tool("gmail_send_email", lunch)]);
    world.say("ana", "general", "@nod tell Bo when lunch is").await;
    let said = world.run_command("ana", "general", "approvals").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # Waiting for you
            1. email to bo@acme.test “Running late”, expires Sat 7 Mar 2026, 09:30 WET
            [Show 1]
            2. email to bo@acme.test “Lunch”, expires Sat 7 Mar 2026, 09:30 WET
            [Show 2]
        ");
    }
    let shown = world.click_ephemeral("ana", "Show 2").await;
    assert!(shown.contains("At one."), "{shown}");
    world.model.will(Answer::text("Lunch is at one."));
    world.click_newest_ephemeral("ana", "Approve & send").await;
    // The card is in the same channel; what was pressed is another message.
    assert!(world.read_ephemerals("ana").contains("Approved by Ana Silva"));
    world.model.will(Answer::text("Not sent."));
    world.deny_request("ana", "dm:ana", "").await;
    world.read_ephemerals("ana");
    world.read_new("dm:ana");
    world.read_new("general");
    world.finish().await;
}
