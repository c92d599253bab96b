//! `/nod` and its subcommands.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::On;

use crate::mail::late;

on_each_platform!(
    help_says_what_nod_can_do,
    ask_posts_the_question_and_answers_in_its_thread,
    ask_names_whoever_asked_and_nobody_whom_the_model_names,
    ask_names_them_on_the_card_that_asks_too,
    ask_where_nod_is_no_member_answers_the_asker_alone,
    approvals_lists_what_waits_and_shows_it,
);

async fn help_says_what_nod_can_do(platform: On) {
    let mut world = World::on(platform).await;
    let plain = |said: String| said.replace(['`', '*'], "");
    let bare = plain(world.commands("ana", "general", "").await);
    assert_eq!(bare, plain(world.commands("ana", "general", "help").await));
    insta::allow_duplicates! {
        insta::assert_snapshot!(bare, @r"
        (ana only) nod: I read your mail and your calendar when you ask, answer questions, and send mail and invitations for you — only after you press Approve.

        • Mention me in a channel and I answer in the thread; follow-ups there need no mention.
        • Write to me directly and no mention is needed.
        • Try: “tell Bo I'm late”, “what is new in my mail?”, “draft a mail to Bo about the plan”, “what is in my calendar tomorrow?”, “find half an hour with Bo next week”
        • “stop” stops what I am doing; [Undo] takes back what is about to leave.

        /nod ask … asks me anything · /nod connect google connects your account · /nod disconnect takes your account back · /nod connect chat tells me who you are where you also talk to me · /nod approvals shows what waits for your nod · /nod memory shows what I remember · /nod runs shows what became of what you asked · /nod settings shows how I behave in this channel, and your hours · /nod help shows this.
        ");
    }
    world.ends().await;
}

/// Discord does not let users type an unknown command.
#[tokio::test]
async fn the_nearest_right_word_is_named() {
    let mut world = World::new().await;
    insta::assert_snapshot!(world.commands("ana", "general", "aprovals now").await, @"(ana only) nod: I know no command aprovals. Did you mean /nod approvals? I know help, ask, connect, disconnect, approvals, memory, runs, settings.");
    insta::assert_snapshot!(world.commands("ana", "general", "xyzzy").await, @"(ana only) nod: I know no command xyzzy. I know help, ask, connect, disconnect, approvals, memory, runs, settings.");
    insta::assert_snapshot!(world.commands("ana", "general", "ask").await, @"(ana only) nod: Ask me something: /nod ask what is new in my mail?");
    world.ends().await;
}

async fn ask_posts_the_question_and_answers_in_its_thread(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will("conversational", [Answer::text("42.")]);
    world.commands("ana", "general", "ask what is the answer?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("general"), @r"
        nod: # Ana Silva asks
          what is the answer?
            nod: @ana
              42.
    ");
    }
    world.expects("a ping: ana");
    world.ends().await;
}

/// The asker has posted nothing in the thread, so the platform would not notify them of messages there.
async fn ask_names_whoever_asked_and_nobody_whom_the_model_names(platform: On) {
    let mut world = World::on(platform).await;
    world.model_will("conversational", [Answer::text("Ask <!channel> or @everyone.")]);
    world.commands("ana", "general", "ask who knows?").await;
    world.reads("general");
    assert_eq!(world.chat.pings(), ["ana"]);
    world.expects("a ping: ana");
    let thread = world.chat.messages_of_nod("general")[0].clone();
    world.model_will("conversational", [Answer::text("Bo does.")]);
    world.replies("ana", "general", &thread, "really?").await;
    world.reads("general");
    assert_eq!(world.chat.pings(), ["ana"], "whoever writes there is told by the platform");
    world.ends().await;
}

async fn ask_names_them_on_the_card_that_asks_too(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    world.model_will("tool", [late(), Answer::text("Bo knows.")]);
    world.commands("ana", "general", "ask tell Bo I'm late").await;
    assert!(world.reads("general").contains("@ana\n"));
    assert_eq!(world.chat.pings(), ["ana"]);
    world.presses("ana", "general", "Approve & send").await;
    world.reads("general");
    assert_eq!(world.chat.pings(), ["ana", "ana"], "of the answer too, which may come much later");
    world.expects("a ping: ana");
    world.ends().await;
}

async fn ask_where_nod_is_no_member_answers_the_asker_alone(platform: On) {
    let mut world = World::on(platform).await;
    world.chat.add_channel_without_nod("attic", &["ana", "bo"]);
    world.model_will("conversational", [Answer::text("42.")]);
    world.commands("ana", "attic", "ask what is the answer?").await;
    assert_eq!(world.reads("attic"), "");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.reads("dm:ana"), @r"
            nod: # Ana Silva asks
              what is the answer?
              · I may not write where you asked, so this comes to you here.
            nod: 42.
        ");
    }
    world.ends().await;
}

async fn approvals_lists_what_waits_and_shows_it(platform: On) {
    let mut world = World::on(platform).await;
    world.connects("ana").await;
    world.can_be_written_to("bo").await;
    let said = world.commands("ana", "general", "approvals").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(ana only) nod: Nothing waits for your nod.");
    }
    world.model_will("tool", [late(), Answer::text("Done.")]);
    world.says("ana", "dm:ana", "tell Bo I'm late").await;
    let said = world.commands("ana", "general", "approvals").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @r"
            (ana only) nod: # Waits for your nod
            · 1. email to bo@acme.test “Running late”, digest db435d, expires Sat 7 Mar 2026, 09:30 WET
            [Show 1]
        ");
    }
    let said = world.commands("bo", "general", "approvals").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(said, @"(bo only) nod: Nothing waits for your nod.");
    }
    world.presses("ana", "dm:ana", "Approve & send").await;
    world.reads("dm:ana");
    world.ends().await;
}
