//! The page as a visitor sees it: real Chromium, real presses.
//!
//! Without chromedriver nothing of this is checked, and the test says so on a line of its own.

use std::sync::atomic::Ordering;

use serde_json::json;

use visitor::Visitor;

mod chromedriver;
mod looks;
mod visitor;
mod webdriver;

/// Two windows have room side by side.
const WIDE: (u32, u32) = (1440, 900);
const PHONE: (u32, u32) = (390, 844);
/// For the picture of a card: a thread in its channel's place.
const CARD: (u32, u32) = (720, 650);
/// Whether the last button of Nod's last card is where one reads: in the thread that opened by itself.
const IN_VIEW: &str = "const thread = document.querySelector('.slack .thread .messages'); \
    const list = thread.getBoundingClientRect(); \
    const last = [...thread.querySelectorAll('.message .actions button')].at(-1)?.getBoundingClientRect(); \
    return Boolean(last) && last.top >= list.top && last.bottom <= list.bottom";
const ESCAPE: char = '\u{e00c}';

#[tokio::test(flavor = "multi_thread")]
async fn newcomer_follows_the_guide_to_the_first_mail_in_slack() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.watch_guide("slack").await;
    ana.follow_guide("Type it for me").await;
    ana.press(".slack .composer button", "Send").await;
    ana.follow_guide("Connect Google").await;
    ana.give_consent(&[("button", "Continue to Google")]).await;

    ana.read(".slack .message", "I'm running late").await;
    ana.wait_until("the card's buttons are in view", IN_VIEW).await;
    // With the one that approves.
    assert_eq!(ana.presses.load(Ordering::Relaxed) + 1, 6, "presses from the first look to the first mail");
    let sent = ana.demo.get("sandbox/google/mailbox?account=ana@acme.test").await;
    assert_eq!(sent["sent"], json!([]), "sent before it was approved");
    ana.check_barriers().await;
    ana.press(".slack .message button", "Edit").await;
    ana.read("dialog", "Edit this email").await;
    ana.browser.key(ESCAPE).await;
    ana.wait_until("the form is closed", "return !document.querySelector('dialog')").await;
    ana.check_focus("a form that was closed").await;
    ana.press(".slack .message button", "Approve & send").await;
    ana.read("#guide", "It goes out in").await;
    ana.check_focus("Approve").await;
    ana.press(".slack .message button", "Undo").await;
    ana.read("#guide", "You took it back").await;
    ana.check_focus("Undo").await;
    ana.follow_guide("Ask again").await;
    ana.told_truth().await;

    // Another look at the page knows as much as the one before.
    ana.browser.go(ana.demo.page.as_str()).await;
    ana.read("#guide", "You took it back").await;
    ana.watch_guide("slack").await;
    ana.follow_guide("Ask again").await;
    ana.press(".slack .composer button", "Send").await;
    ana.follow_guide("Go to the card").await;
    ana.browser.resize(CARD.0, CARD.1).await;
    ana.draw("card", ".slack .thread .messages", "Send this email?").await;
    ana.browser.resize(WIDE.0, WIDE.1).await;
    ana.press(".slack .message button", "Approve & send").await;
    ana.follow_guide("Open the email").await;
    ana.read(".mail .reader", "Running late").await;
    ana.check_barriers().await;
    ana.demo.wait_for_mail("bo@acme.test", "Running late").await;
    let said = ana.told_truth().await;
    assert!(said.contains("It goes out in") && said.contains("It's sent."), "{said}");
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn newcomer_sends_the_first_mail_on_discord() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.read("#guide", "Type it for me").await;
    ana.skip_to("Discord").await;
    ana.read("#guide", "Ask on Discord").await;
    ana.watch_guide("discord").await;
    ana.follow_guide("Type it for me").await;
    ana.press(".discord .send", "").await;
    ana.follow_guide("Connect Google").await;
    ana.give_consent(&[("button", "Continue to Google")]).await;

    ana.read(".discord .message", "I'm running late").await;
    // With the one that approves.
    assert_eq!(ana.presses.load(Ordering::Relaxed) + 1, 6, "presses from the first look to the first mail");
    ana.check_barriers().await;
    ana.press(".discord .message button", "Edit").await;
    ana.read("dialog", "Submit").await;
    ana.browser.key(ESCAPE).await;
    ana.wait_until("the form is closed", "return !document.querySelector('dialog')").await;
    ana.check_focus("a form that was closed").await;
    ana.press(".discord .message button", "Approve & send").await;
    ana.read("#guide", "It goes out in").await;
    ana.check_focus("Approve").await;
    ana.demo.wait_for_mail("bo@acme.test", "Running late").await;
    ana.read("#guide", "Open the source").await;
    // A bare command that is sent asks for its options.
    ana.press(".discord .chip", "/help").await;
    ana.press(".discord .send", "").await;
    ana.read(".discord .command", "/help").await;
    ana.told_truth().await;
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guide_shows_a_trick_being_stopped() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.read("#guide", "Type it for me").await;
    ana.skip_to("A trick").await;
    ana.read("#guide", "Read an email").await;
    ana.watch_guide("slack").await;
    ana.follow_guide("Type it for me").await;
    ana.press(".slack .composer button", "Send").await;
    ana.follow_guide("Connect Google").await;
    ana.give_consent(&[("button", "Continue to Google")]).await;
    ana.read(".slack .message", "Stopped: an email asked for this, not you").await;
    ana.read("#guide", "Press Deny").await;
    ana.check_barriers().await;
    ana.press(".slack .message button", "Deny").await;
    ana.press("dialog button", "Deny").await;
    ana.follow_guide("Look into that mailbox").await;
    ana.read(".mail", "Nothing here").await;
    ana.read("#guide", "Ask the handbook").await;
    let sent = ana.demo.get("sandbox/google/mailbox?account=ana@acme.test").await;
    assert_eq!(sent["sent"], json!([]), "it was sent all the same");
    ana.told_truth().await;

    ana.skip_to("the end").await;
    ana.follow_guide("What you saw").await;
    ana.read("#end", "a trick stopped").await;
    ana.read("#end", "nod doctor").await;
    ana.check_barriers().await;
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guide_leads_three_people_to_a_time() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.read("#guide", "Type it for me").await;
    ana.skip_to("A meeting").await;
    ana.read("#guide", "Find a time").await;
    ana.watch_guide("slack").await;
    ana.follow_guide("Type it for me").await;
    ana.press(".slack .composer button", "Send").await;
    ana.follow_guide("Connect Google").await;
    ana.give_consent(&[("button", "Continue to Google")]).await;
    ana.follow_guide("Go to the times").await;
    ana.press(".slack .message button", "Ask the others").await;
    for (who, next) in [("Ana", "Switch to Bo"), ("Bo", "Switch to Cho"), ("Cho", "Switch to Ana")] {
        ana.read("#guide", &format!("As {who}, press the number")).await;
        ana.follow_guide("Go to the vote").await;
        ana.press(".slack .message button", "2").await;
        ana.follow_guide(next).await;
    }
    ana.follow_guide("Go to the card").await;
    ana.press(".slack .message button", "Approve & invite").await;
    ana.follow_guide("Open a guest's calendar").await;
    ana.read(".mail .event", "Planning").await;
    ana.read("#guide", "Give a task").await;
    ana.told_truth().await;
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guide_leads_through_a_task() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.read("#guide", "Type it for me").await;
    ana.skip_to("A task").await;
    ana.read("#guide", "Give a task").await;
    ana.watch_guide("slack").await;
    ana.follow_guide("Type it for me").await;
    ana.press(".slack .composer button", "Send").await;
    ana.follow_guide("Connect Google").await;
    ana.give_consent(&[("button", "Continue to Google")]).await;
    ana.follow_guide("Go to the question").await;
    ana.press(".slack .message button", "21 May").await;
    ana.follow_guide("Go to the card").await;
    ana.read(".slack .message", "Here is the file").await;
    ana.check_barriers().await;
    ana.press(".slack .message button", "Approve & send").await;
    ana.read(".slack .message", "Done: Compare the three caterers").await;
    ana.read(".slack .message", "Olive Grove is the cheapest: 21 euros a head.").await;
    ana.read(".slack .message", "we take your offer of 21 euros a head for 21 May").await;
    ana.read("#guide", "Ask on Discord").await;
    ana.told_truth().await;
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slack_has_nods_home_a_chat_and_its_entries_in_a_messages_menu() {
    const OPEN_MENU: &str = "document.querySelector('.slack .message-menu').open = true; return true";
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.press(".slack .channel[title='Direct message']", "").await;
    ana.press(".slack .tabs button", "Home").await;
    ana.read(".slack .home-tab", "What you asked recently").await;
    ana.check_barriers().await;
    ana.press(".slack .tabs button", "New chat").await;
    ana.read(".slack .thread .message", "What can I do for you?").await;
    ana.press(".slack .thread .chip", "What can you do?").await;
    ana.read(".slack .thread .room-head", "help").await;
    ana.wait_until("Nod answers", "return document.querySelectorAll('.slack .thread .message').length > 2")
        .await;
    ana.check_focus("a suggestion that was pressed").await;
    ana.check_barriers().await;
    ana.press(".slack .channel", "#").await;
    ana.read(".slack .message", "launch check is at three").await;
    ana.browser.run(OPEN_MENU, json!([])).await;
    ana.check_barriers().await;
    ana.press(".slack .message-menu button", "Draft a reply").await;
    ana.press(".slack .channel[title='Direct message']", "").await;
    ana.press(".slack .tabs button", "Messages").await;
    ana.read(".slack .message", "The answer will come to you in our direct messages").await;
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thread_is_opened_answered_and_closed() {
    const HAS_FOCUS: &str = "const [selector] = arguments; return document.activeElement.matches(selector)";
    const IS_CLOSED: &str = "return document.getElementById('thread').hidden";
    const FIND: &str =
        "const {ts} = [...document.querySelectorAll('#messages .message')].at(-1).dataset; return ts";
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.read(".slack .message", "launch check is at three").await;
    let root = ana.browser.run(FIND, json!([])).await;
    let say = async |who: &str, text: &str| {
        let reply = json!({"user": who, "channel": "launch", "thread": root, "text": text});
        ana.demo.post("slack/say", reply).await;
    };
    ana.press("#messages .message .tool", "Reply").await;
    ana.read(".slack .thread .message", "launch check is at three").await;
    assert_eq!(ana.browser.run(HAS_FOCUS, json!(["#thread-text"])).await, json!(true));
    ana.browser.run("document.activeElement.value = 'I bring coffee'", json!([])).await;
    ana.press(".slack .thread .composer button", "Send").await;
    ana.read(".slack .thread .message", "I bring coffee").await;
    ana.read("#messages .replies", "1 reply").await;
    ana.check_barriers().await;

    ana.browser.key(ESCAPE).await;
    ana.wait_until("the thread is closed", IS_CLOSED).await;
    ana.check_focus("a thread that was closed").await;
    for nth in 0..40 {
        say("bo", &format!("cake {nth}")).await;
    }
    ana.read("#messages .replies", "41 replies").await;
    ana.read("#messages .replies", "40 new").await;
    ana.press("#messages .replies", "").await;
    ana.wait_until(
        "the end of the thread is read",
        "const list = document.querySelector('.slack .thread .messages'); \
        return list.innerText.includes('cake 39') && list.scrollHeight - list.scrollTop - list.clientHeight < 40",
    )
    .await;
    ana.press(".slack .thread .close", "").await;
    assert_eq!(ana.browser.run(HAS_FOCUS, json!(["#messages .replies"])).await, json!(true));

    ana.press("#messages .replies", "").await;
    ana.browser.resize(PHONE.0, PHONE.1).await;
    ana.read(".slack .thread .back", "# launch").await;
    for scheme in ["light", "dark"] {
        ana.browser.prefer(scheme).await;
        ana.check_barriers().await;
    }
    assert_eq!(ana.browser.run(HAS_FOCUS, json!(["#thread-text"])).await, json!(true));
    ana.press(".slack .thread .back", "").await;
    assert_eq!(ana.browser.run(HAS_FOCUS, json!(["#messages .replies"])).await, json!(true));
    ana.read("#messages .message", "launch check is at three").await;
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guide_says_what_the_facts_are() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    assert_eq!(ana.browser.run(include_str!("browser/way_table.js"), json!([])).await, json!([]));
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn phone_shows_what_is_said_and_does_not_move_who_reads() {
    const TOP: &str = "return document.getElementById('messages').getBoundingClientRect().top";
    const SCROLLED: &str = "return document.getElementById('messages').scrollTop";
    let Some(ana) = Visitor::arrive(PHONE).await else { return };
    ana.follow_guide("Type it for me").await;
    ana.press(".slack .composer button", "Send").await;
    ana.read("#guide", "Connect Google").await;
    let top = ana.browser.run(TOP, json!([])).await;
    assert!(top.as_f64().unwrap() < 160.0, "the messages begin at {top}");
    // The answer stands in its thread, in the channel's place.
    ana.check_focus("a thread that opened by itself").await;
    ana.press(".slack .thread .back", "").await;

    let say =
        |text: String| ana.demo.post("slack/say", json!({"user": "bo", "channel": "launch", "text": text}));
    let lines = vec!["word"; 60].join("\n");
    say(format!("{lines}\nthe last line")).await;
    ana.read(".slack .message", "the last line").await;
    ana.wait_until(
        "the end is in view",
        "const list = document.getElementById('messages'); \
        return list.scrollHeight - list.scrollTop - list.clientHeight < 40",
    )
    .await;
    ana.browser.run("document.getElementById('messages').scrollTop = 0", json!([])).await;
    say("are you there?".to_owned()).await;
    ana.read(".slack .newer", "1 new").await;
    assert_eq!(ana.browser.run(SCROLLED, json!([])).await, json!(0));
    ana.press(".slack .newer", "1 new").await;
    ana.wait_until("nothing new is hidden", "return document.querySelector('.newer').hidden").await;
    ana.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_kept_out_of_any_window() {
    let Some(ana) = Visitor::arrive(WIDE).await else { return };
    ana.read("#guide", "Type it for me").await;
    for (width, height) in [WIDE, PHONE, (1920, 1080)] {
        ana.browser.resize(width, height).await;
        for scheme in ["light", "dark"] {
            ana.browser.prefer(scheme).await;
            for view in ["Slack", "Discord", "Google"].into_iter().filter(|_| width < 1900) {
                ana.press(".views button", view).await;
                ana.check_barriers().await;
            }
            ana.check_barriers().await;
        }
    }
    ana.leave().await;
}
