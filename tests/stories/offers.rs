//! Whatever Nod offers can be used: each command as the platform lists it, each entry of a message's menu, each prompt of
//! the assistant thread, each button of the hello and each sentence of the help. The demo's model answers.

use nod_sandbox::google::IncomingMail;
use nod_tests::chat::{FakeChat, Platform};
use nod_tests::{SharedFile, World};

on_each_platform!(
    each_command_is_answered,
    each_menu_entry_is_answered,
    each_button_of_the_hello_is_answered,
    each_sentence_of_the_help_is_answered,
);

/// Words of answers that are of no use to whoever took what was offered.
const DEAD_ENDS: [&str; 9] = [
    "I don't know the command",
    "Ask me something, like",
    "connects your Google account",
    "shows the rules for approvals",
    "I don't know that account",
    "I can't do that yet",
    "I didn't get that",
    "That did not work",
    "I found no",
];

fn assert_answered(offered: &str, said: &str) {
    assert!(said.contains("nod: "), "{offered} is not answered:\n{said}");
    let dead_end = DEAD_ENDS.iter().find(|words| said.contains(**words));
    assert_eq!(dead_end, None, "{offered}:\n{said}");
}

fn handbook() -> SharedFile {
    SharedFile::new("handbook.md", "text/markdown", "# Leave\nEverybody has 25 days of annual leave.")
}

/// Returns a world in which Ana has one email.
async fn world_with_mail(platform: Platform) -> World {
    let mut world = World::with_demo_model_on(platform).await;
    world.connect_google("ana").await;
    let mail = IncomingMail {
        to: "ana@acme.test".to_owned(),
        from: "bo@acme.test".to_owned(),
        subject: "Lunch".to_owned(),
        ..IncomingMail::default()
    };
    world.google.deliver_mail(&mail).unwrap();
    world
}

/// Returns a world with a document and a fact to choose from. Dana is an admin.
async fn world_with_choices(platform: Platform) -> World {
    let mut world = World::with_demo_model_on(platform).await;
    world.share_file("dana", "general", "@nod keep this", &handbook()).await;
    world.say("dana", "general", "@nod remember that the launch is on Friday").await;
    world.read_answers("dana", "general");
    world
}

async fn each_command_is_answered(platform: Platform) {
    let mut world = world_with_choices(platform).await;
    let all = world.list_offered_commands("dana", "general").await;
    assert!(all.len() >= 9, "{all:?}");
    for command in all {
        let said = world.run_offered_command("dana", "general", &command).await;
        assert_answered(&format!("{command:?}"), &said);
    }
    world.expect_loose_end("a ping: dana");
    world.finish().await;
}

async fn each_menu_entry_is_answered(platform: Platform) {
    let mut world = world_with_choices(platform).await;
    world.connect_google("ana").await;
    let message = world.share_file("bo", "general", "can you come at 3?", &handbook()).await;
    world.read_answers("ana", "general");
    let entries = world.chat.list_menu_entries();
    assert!(entries.len() >= 3, "{entries:?}");
    for entry in entries {
        world.chat.use_menu_entry("ana", "general", &message, &entry).await;
        let whispered = world.wait_for_ephemeral("ana").await;
        world.wait_until_idle().await;
        assert_answered(&entry, &format!("{whispered}\n{}", world.read_answers("ana", "general")));
    }
    world.finish().await;
}

async fn each_button_of_the_hello_is_answered(platform: Platform) {
    let mut world = world_with_mail(platform).await;
    world.chat.remove_nod("general");
    world.chat.invite_nod("ana", "general");
    world.say("bo", "general", "the launch is on Friday").await;
    let buttons = world.chat.buttons("general");
    assert_eq!(buttons.len(), 3);
    for button in buttons {
        world.read_answers("ana", "general");
        world.click("ana", "general", &button.label).await;
        assert_answered(&button.label, &world.read_answers("ana", "general"));
    }
    world.expect_loose_end("a ping: ana");
    world.finish().await;
}

async fn each_sentence_of_the_help_is_answered(platform: Platform) {
    let mut world = world_with_mail(platform).await;
    world.make_mail_address_known("bo").await;
    let help = world.run_command("ana", "dm:ana", "help").await;
    let sentences: Vec<&str> = help.split('“').skip(1).filter_map(|rest| rest.split('”').next()).collect();
    assert!(sentences.len() >= 5, "{help}");
    for sentence in sentences {
        world.read_answers("ana", "general");
        world.say("ana", "dm:ana", sentence).await;
        assert_answered(sentence, &world.read_answers("ana", "general"));
    }
    world.finish().await;
}

/// Discord has no assistant thread.
#[tokio::test]
async fn each_prompt_of_the_assistant_thread_is_answered() {
    let mut world = world_with_mail(Platform::Slack).await;
    world.say("bo", "general", "the launch is on Friday").await;
    let thread = world.slack.open_assistant_thread("ana", Some("general"));
    world.wait_until_idle().await;
    let prompts = world.slack.find_assistant_thread("ana", &thread).unwrap().prompts;
    assert!(prompts.len() >= 3, "{prompts:?}");
    for (title, message) in prompts {
        world.read_answers("ana", "general");
        world.reply("ana", "dm:ana", &thread, &message).await;
        assert_answered(&title, &world.read_answers("ana", "general"));
    }
    world.finish().await;
}

/// Slack lets anybody type anything: the words above are what they read then.
#[tokio::test]
async fn what_nobody_offers_is_a_dead_end() {
    let mut world = world_with_mail(Platform::Slack).await;
    world.chat.add_channel_without_nod("attic", &["dana"]);
    let message = world.say("bo", "general", "can you come at 3?").await;
    let mut said = String::new();
    for typed in ["xyzzy", "ask", "connect nonsense", "admin", "disconnect nonsense", "ask hmm"] {
        said += &world.run_command("dana", "general", typed).await;
    }
    world.run_command("dana", "attic", "ask summarise this channel").await;
    world.run_command("ana", "general", "ask read the mail from Zoe").await;
    let FakeChat::Slack(slack) = &world.chat else { panic!("the story is played on Slack") };
    slack.use_shortcut("dana", "general", &message, "Never registered").unwrap();
    said += &world.wait_for_ephemeral("dana").await;
    said += &world.read_answers("dana", "general");
    said += &world.read_answers("ana", "general");
    let missing = DEAD_ENDS.iter().find(|words| !said.contains(**words));
    assert_eq!(missing, None, "{said}");
    world.expect_loose_end("a ping: dana");
    world.finish().await;
}
