//! A draft stays open in the conversation and in Gmail, is edited in place, and is sent after an approval.

use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::google::{DraftEdit, MailMessage};
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{World, hostile};
use serde_json::{Value, json};

on_each_platform!(
    a_draft_is_shown_as_it_stands_and_no_model_rewrites_it,
    it_is_changed_in_its_place,
    one_look_suffices_because_the_hints_stand_beside_the_words,
    a_bare_send_goes_to_the_card_with_no_model,
    a_send_right_behind_a_change_shows_what_it_became,
    nobody_else_sends_it,
    what_was_written_by_hand_counts_and_goes_to_its_owner_alone,
    an_address_picked_by_hand_is_the_one_it_is_sent_from,
    an_edit_while_the_model_thinks_is_not_overwritten,
    a_card_that_shows_another_text_sends_nothing,
    a_change_makes_the_card_that_waits_old,
    a_no_leaves_the_draft_open,
    discard_throws_it_away_once,
    what_the_rules_never_allow_no_button_throws_away,
    what_left_by_hand_is_not_said_to_be_thrown_away,
    what_was_changed_by_hand_is_not_thrown_away_unseen,
    a_draft_that_is_gone_is_said_so,
    a_draft_to_nobody_is_not_sent,
    of_several_open_drafts_the_person_picks,
    what_was_changed_on_the_card_is_what_leaves,
    an_edit_outlives_undo_and_the_next_send_shows_it,
    an_edit_outlives_a_no_and_the_time_limit,
    an_edit_outlives_a_sending_that_gmail_refuses,
    an_edit_outlives_another_send_it,
    an_edit_does_not_overwrite_what_was_written_by_hand_after_it,
    an_edit_waits_for_gmail_and_the_next_send_waits_for_it,
    what_is_undone_leaves_the_draft_open,
    ask_again_asks_for_the_draft_as_it_is,
    a_no_with_a_reason_is_for_the_model_to_work_with,
    what_was_formatted_in_gmail_is_said_before_it_is_lost,
    a_draft_that_quotes_a_harmful_mail_is_still_a_draft,
);

const ANA: &str = "ana@acme.test";

/// Ana has asked for a draft, and it is posted in #general.
pub async fn with_open_draft(platform: Platform) -> (World, String) {
    open_draft_in(World::new_on(platform).await).await
}

async fn open_draft_in(mut world: World) -> (World, String) {
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.make_mail_address_known("cho").await;
    let draft =
        json!({ "to": ["Bo"], "subject": "Plan", "body": "Hi Bo,\n\nHere is the plan. It is long.\n\nAna" });
    world.script_model("tool", [Answer::tool("gmail_create_draft", draft)]);
    let thread = world.say("ana", "general", "@nod draft a mail to Bo about the plan").await;
    (world, thread)
}

/// The router classifies the message as a change of the draft, and the reasoner makes it.
fn change(world: &World, change: Value) {
    world.model.router_will(Answer::json(&json!({ "intent": "tool", "tool": "gmail_update_draft" })));
    world.model.will(Answer::tool("gmail_update_draft", change));
}

fn only_draft(world: &World) -> MailMessage {
    let drafts = world.google.drafts(ANA);
    assert_eq!(drafts.len(), 1, "{drafts:#?}");
    drafts[0].clone()
}

fn text_after<'a>(text: &'a str, mark: &str) -> &'a str {
    &text[text.rfind(mark).unwrap_or_else(|| panic!("no {mark} in:\n{text}"))..]
}

async fn a_draft_is_shown_as_it_stands_and_no_model_rewrites_it(platform: Platform) {
    let (mut world, _) = with_open_draft(platform).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod draft a mail to Bo about the plan
                nod: # Draft
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Plan
                  Hi Bo,

                  Here is the plan. It is long.

                  Ana
                  · Not sent yet. Tell me what to change, or say “send it”.
                  [Send…] [Discard] [Open in Gmail]
        ");
    }
    let draft = only_draft(&world);
    assert_eq!((draft.subject.as_str(), draft.to.as_slice()), ("Plan", &["bo@acme.test".to_owned()][..]));
    assert!(world.google.inbox("bo@acme.test").is_empty());
    assert_eq!(world.model.requests().len(), 2, "the router, and the reasoner once");
    world.finish().await;
}

async fn it_is_changed_in_its_place(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    let first = only_draft(&world);
    change(&world, json!({ "body": "Hi Bo,\n\nHere is the plan.\n\nAna" }));
    world.reply("ana", "general", &thread, "make it shorter").await;
    change(&world, json!({ "cc": ["Cho"] }));
    world.reply("ana", "general", &thread, "add Cho in copy").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod draft a mail to Bo about the plan
                nod: · Older version of this draft.
                ana: make it shorter
                nod: · Older version of this draft.
                ana: add Cho in copy
                nod: # Draft
                  From  ana@acme.test
                  To  bo@acme.test
                  Cc  cho@acme.test
                  Subject  Plan
                  Hi Bo,

                  Here is the plan.

                  Ana
                  · Not sent yet. Tell me what to change, or say “send it”.
                  [Send…] [Discard] [Open in Gmail]
        ");
    }
    let last = only_draft(&world);
    assert_eq!(last.draft_id, first.draft_id);
    assert_eq!(
        (last.body.as_str(), last.cc.as_slice()),
        ("Hi Bo,\n\nHere is the plan.\n\nAna", &["cho@acme.test".to_owned()][..])
    );
    world.finish().await;
}

async fn one_look_suffices_because_the_hints_stand_beside_the_words(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    change(&world, json!({ "body": "Short." }));
    world.reply("ana", "general", &thread, "make it shorter").await;
    let requests = world.model.requests();
    let [_, _, router, reasoner] = &requests[..] else { panic!("{} requests", requests.len()) };
    let last = |request: &Value| request["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    insta::allow_duplicates! {
        insta::assert_snapshot!(last(router).as_str().unwrap(), @r"
            make it shorter

            Routing hints (from the assistant, not the person):
            - open draft: r-7000000000000000003, “Plan” to bo@acme.test
        ");
    }
    let tools: Vec<&str> = reasoner["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["function"]["name"].as_str().unwrap())
        .collect();
    insta::allow_duplicates! {
        insta::assert_snapshot!(tools.join(" "), @"gmail_update_draft calendar_find_free_slots calendar_get_agenda calendar_list_upcoming chat_read_channel chat_read_thread find_in_document get_task_result gmail_create_draft gmail_create_label gmail_discard_draft gmail_draft_reply gmail_list_drafts gmail_list_labels gmail_list_recent gmail_open_draft gmail_organise gmail_read_attachment gmail_read_draft gmail_read_thread gmail_search_messages list_approvals list_connections list_documents list_drafts list_tasks open_document retrieve_knowledge_base");
    }
    let messages = reasoner["messages"].as_array().unwrap();
    let said = messages.iter().rfind(|m| m["role"] == "user").unwrap();
    insta::allow_duplicates! {
        insta::assert_snapshot!(said["content"].as_str().unwrap(), @r"
            make it shorter

            Routing hints (from the assistant, not the person):
            - tool: gmail_update_draft
            - open draft: r-7000000000000000003, “Plan” to bo@acme.test
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(last(reasoner).as_str().unwrap(), @r#"{"bcc":[],"body":"Hi Bo,\n\nHere is the plan. It is long.\n\nAna","cc":[],"id":"r-7000000000000000003","subject":"Plan","to":["bo@acme.test"]}"#);
    }
    world.read_new("general");
    world.finish().await;
}

async fn a_bare_send_goes_to_the_card_with_no_model(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.reply("ana", "general", &thread, "send it").await;
    assert!(world.google.inbox("bo@acme.test").is_empty());
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.model.requests().len(), 2, "both were for the draft");
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("general"), "ana: send it"), @r"
            ana: send it
                nod: # Email sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Plan
                  Hi Bo,

                  Here is the plan. It is long.

                  Ana
                  Approved by Ana Silva 09:30 WET → Sent 09:30 WET
                  [Open in Gmail]
                nod: Sent “Plan” to bo@acme.test.
        ");
    }
    let sent = &world.google.list_sent(ANA)[..];
    assert_eq!((sent.len(), sent[0].subject.as_str()), (1, "Plan"));
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    assert!(world.google.drafts(ANA).is_empty());
    let routed: Vec<Option<String>> = sqlx::query_scalar("select routed_via from runs order by created_at")
        .fetch_all(&world.pool)
        .await
        .unwrap();
    assert_eq!(routed.last().unwrap().as_deref(), Some("rule:send_draft"));
    // The draft is closed: the same words are an ordinary message now.
    world.script_model("conversational", [Answer::text("Send what?")]);
    world.reply("ana", "general", &thread, "send it").await;
    assert!(world.read_new("general").contains("Send what?"));
    world.finish().await;
}

async fn a_send_right_behind_a_change_shows_what_it_became(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    change(&world, json!({ "body": "Short." }));
    world.google.faults.next("gmail.users.drafts.update", Fault::DelayResponse(Duration::from_millis(500)));
    world.chat.say("ana", "general", Some(&thread), "make it shorter");
    world.google.faults.wait_until_triggered("gmail.users.drafts.update", 1).await;
    world.chat.say("ana", "general", Some(&thread), "send it");
    world.script_model("conversational", [Answer::text("You are welcome.")]);
    world.reply("ana", "general", &thread, "and thanks, that is kind").await;
    world.advance(TimeDelta::seconds(1)).await;
    let read = world.read_new("general");
    let asked = text_after(&read, "# Send this email?");
    assert!(asked.contains("Short.") && asked.contains("You are welcome."), "{read}");
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body, "Short.");
    world.read_new("general");
    world.finish().await;
}

async fn nobody_else_sends_it(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.script_model("conversational", [Answer::text("I have no draft of yours.")]);
    world.reply("bo", "general", &thread, "send it").await;
    world.click("bo", "general", "Send…").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("bo"), @"(bo only) nod: This is someone else's draft.");
    }
    world.click("bo", "general", "Discard").await;
    assert!(world.read_ephemerals("bo").contains("someone else's draft"));
    only_draft(&world);
    world.read_new("general");
    world.finish().await;
}

async fn what_was_written_by_hand_counts_and_goes_to_its_owner_alone(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    let id = only_draft(&world).draft_id.unwrap();
    let edit =
        DraftEdit { body: Some("Bo, the plan is called Marmalade.".to_owned()), ..DraftEdit::default() };
    assert!(world.google.edit_draft(ANA, &id, &edit));
    change(&world, json!({ "cc": ["Cho"] }));
    world.reply("ana", "general", &thread, "add Cho in copy").await;
    assert_eq!(only_draft(&world).body, "Bo, the plan is called Marmalade.");
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod draft a mail to Bo about the plan
                nod: · Older version of this draft.
                ana: add Cho in copy
                nod: · Showed Ana Silva a draft privately.
        ");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_rest("dm:ana"), @r"
            nod: # Draft
              From  ana@acme.test
              To  bo@acme.test
              Cc  cho@acme.test
              Subject  Plan
              Bo, the plan is called Marmalade.
              · Not sent yet. Tell me what to change, or say “send it”.
              [Send…] [Discard] [Open in Gmail]
        ");
    }
    world.finish().await;
}

async fn an_address_picked_by_hand_is_the_one_it_is_sent_from(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.google.settings(ANA, |account| account.aliases = vec!["sales@acme.test".to_owned()]);
    let id = only_draft(&world).draft_id.unwrap();
    let edit = DraftEdit { from: Some("Sales <sales@acme.test>".to_owned()), ..DraftEdit::default() };
    assert!(world.google.edit_draft(ANA, &id, &edit));
    change(&world, json!({ "cc": ["Cho"] }));
    world.reply("ana", "general", &thread, "add Cho in copy").await;
    assert_eq!(only_draft(&world).from, "sales@acme.test");
    assert!(world.read_new("dm:ana").contains("From  sales@acme.test"), "{}", world.read_new("dm:ana"));
    world.say("ana", "dm:ana", "send it").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].from, "sales@acme.test");
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn an_edit_while_the_model_thinks_is_not_overwritten(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    let id = only_draft(&world).draft_id.unwrap();
    let google = world.google.clone();
    let edit = DraftEdit { body: Some("By hand.".to_owned()), ..DraftEdit::default() };
    world.model.router_will(Answer::json(&json!({ "intent": "tool", "tool": "gmail_update_draft" })));
    let first = nod_sandbox::model::ScriptedAnswer::from(Answer::tool(
        "gmail_update_draft",
        json!({ "body": "Short." }),
    ));
    world.model.script(first.with_condition(move |_| google.edit_draft(ANA, &id, &edit)));
    world.model.will(Answer::tool("gmail_update_draft", json!({ "body": "By hand, shorter." })));
    world.reply("ana", "general", &thread, "make it shorter").await;
    let heard = world.model.requests().last().unwrap()["messages"].to_string();
    assert!(heard.contains("By hand.") && heard.contains("changed in Gmail in the meantime"), "{heard}");
    assert_eq!(only_draft(&world).body, "By hand, shorter.");
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_card_that_shows_another_text_sends_nothing(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.reply("ana", "general", &thread, "send it").await;
    let id = only_draft(&world).draft_id.unwrap();
    let edit = DraftEdit { body: Some("By hand.".to_owned()), ..DraftEdit::default() };
    assert!(world.google.edit_draft(ANA, &id, &edit));
    world.click("ana", "general", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("general"), "Approved by"), @r"
            Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
                  · The draft was changed in Gmail after this card was shown. Say “send it” to see the new version. Nothing was sent: ask me again if you still want it.
                nod: Not sent: the draft was changed in Gmail after this card was shown. Say “send it” to see the new version. The draft is still open.
        ");
    }
    assert_eq!(only_draft(&world).body, "By hand.");
    assert!(world.google.inbox("bo@acme.test").is_empty());
    // Requested again, the card shows the current text, and only to Ana.
    world.reply("ana", "general", &thread, "send the draft").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body, "By hand.");
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_change_makes_the_card_that_waits_old(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.reply("ana", "general", &thread, "send it").await;
    change(&world, json!({ "body": "Shorter." }));
    world.reply("ana", "general", &thread, "make it shorter").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("general"), "ana: send it"), @r"
            ana: send it
                nod: # Replaced: email not sent
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Plan
                  Hi Bo,

                  Here is the plan. It is long.

                  Ana
                  Replaced by a newer card.
                ana: make it shorter
                nod: # Draft
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Plan
                  Shorter.
                  · Not sent yet. Tell me what to change, or say “send it”.
                  [Send…] [Discard] [Open in Gmail]
        ");
    }
    world.finish().await;
}

async fn a_no_leaves_the_draft_open(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.click("ana", "general", "Send…").await;
    world.deny_request("ana", "general", "").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("general"), "Denied by"), @r"
            Denied by Ana Silva 09:30 WET. Not sent.
                  [Ask again]
                nod: Not sent. The draft is still open: tell me what to change, or say “send it”.
        ");
    }
    only_draft(&world);
    world.reply("ana", "general", &thread, "send it").await;
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn discard_throws_it_away_once(platform: Platform) {
    let (mut world, _) = with_open_draft(platform).await;
    world.click_twice("ana", "general", "Discard").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: This draft is already sent or discarded.");
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod draft a mail to Bo about the plan
                nod: · Draft discarded.
        ");
    }
    assert!(world.google.drafts(ANA).is_empty());
    world.finish().await;
}

async fn what_the_rules_never_allow_no_button_throws_away(platform: Platform) {
    let (mut world, _) = with_open_draft(platform).await;
    world.stop().await;
    world.set_rules("[[rule]]\ntool = \"gmail_discard_draft\"\nnever = \"mail is kept\"");
    world.start().await;
    world.click("ana", "general", "Discard").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(
            world.read_ephemerals("ana"),
            @"(ana only) nod: The rules here don't allow this: mail is kept. Nothing was done."
        );
    }
    assert!(world.read_new("general").contains("[Send…] [Discard]"));
    only_draft(&world);
    world.finish().await;
}

async fn what_left_by_hand_is_not_said_to_be_thrown_away(platform: Platform) {
    let (mut world, _) = with_open_draft(platform).await;
    let id = only_draft(&world).draft_id.unwrap();
    assert!(world.google.delete_draft(ANA, &id));
    world.click("ana", "general", "Discard").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod draft a mail to Bo about the plan
                nod: · This draft isn't in Gmail any more: it was sent or discarded there.
        ");
    }
    world.finish().await;
}

async fn what_was_changed_by_hand_is_not_thrown_away_unseen(platform: Platform) {
    let (mut world, _) = with_open_draft(platform).await;
    let id = only_draft(&world).draft_id.unwrap();
    let edit = DraftEdit { body: Some("By hand.".to_owned()), ..DraftEdit::default() };
    assert!(world.google.edit_draft(ANA, &id, &edit));
    world.click("ana", "general", "Discard").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod draft a mail to Bo about the plan
                nod: # Draft
                  · You changed this in Gmail after I showed it here, so I haven't discarded it.
                  [Send…] [Discard anyway] [Open in Gmail]
        ");
    }
    assert_eq!(only_draft(&world).body, "By hand.");
    world.click("ana", "general", "Discard anyway").await;
    assert!(world.google.drafts(ANA).is_empty());
    world.read_new("general");
    world.finish().await;
}

async fn a_draft_that_is_gone_is_said_so(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    let id = only_draft(&world).draft_id.unwrap();
    assert!(world.google.delete_draft(ANA, &id));
    world.reply("ana", "general", &thread, "send it").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod draft a mail to Bo about the plan
                nod: · This draft isn't in Gmail any more: it was sent or discarded there.
                ana: send it
                nod: That draft isn't in Gmail any more: it was sent or discarded there.
        ");
    }
    world.finish().await;
}

async fn a_draft_to_nobody_is_not_sent(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.script_model(
        "tool",
        [Answer::tool("gmail_create_draft", json!({ "subject": "Plan", "body": "The plan." }))],
    );
    world.say("ana", "dm:ana", "draft a mail about the plan").await;
    world.say("ana", "dm:ana", "send it").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("dm:ana"), "ana: send it"), @r"
            ana: send it
            nod: Not sent: an email needs at least one recipient. The draft is still open.
        ");
    }
    world.finish().await;
}

async fn of_several_open_drafts_the_person_picks(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    for subject in ["One", "Two"] {
        let draft = json!({ "to": ["Bo"], "subject": subject, "body": subject });
        world.script_model("tool", [Answer::tool("gmail_create_draft", draft)]);
        world.say("ana", "dm:ana", "draft a mail to Bo").await;
        world.advance(TimeDelta::seconds(1)).await;
    }
    world.script_model("conversational", [Answer::text("You're welcome.")]);
    world.say("ana", "dm:ana", "thanks").await;
    world.say("ana", "dm:ana", "send it").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("dm:ana"), "ana: send it"), @r"
            ana: send it
            nod: # Which draft?
              [“Two” to bo@acme.test] [“One” to bo@acme.test] [None of these]
        ");
    }
    world.click("ana", "dm:ana", "“One” to bo@acme.test").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].subject, "One");
    assert_eq!(only_draft(&world).subject, "Two");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn what_was_changed_on_the_card_is_what_leaves(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.reply("ana", "general", &thread, "send it").await;
    world.edit_request("ana", "general", &[("Body", "Changed on the card.")]).await;
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body, "Changed on the card.");
    assert!(world.google.drafts(ANA).is_empty());
    assert_eq!(world.model.requests().len(), 2, "both were for the draft");
    world.read_new("general");
    world.finish().await;
}

/// A draft whose request to send it was edited on the card. An approval can be undone.
async fn with_edited_request(platform: Platform) -> (World, String) {
    let (mut world, thread) = open_draft_in(World::with_undo_window_on(platform).await).await;
    world.reply("ana", "general", &thread, "send it").await;
    world.edit_request("ana", "general", &[("Body", "Changed on the card.")]).await;
    (world, thread)
}

/// Ana says "send it"; the card shows what she had edited, and that is sent.
async fn send_edited(world: &mut World, thread: &str) {
    world.reply("ana", "general", thread, "send it").await;
    let read = world.read_new("general");
    let asked = text_after(&read, "# Send this email?");
    assert!(asked.contains("Changed on the card."), "{read}");
    world.click("ana", "general", "Approve & send").await;
    world.advance_past_undo_window().await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body, "Changed on the card.");
    assert!(world.google.drafts(ANA).is_empty());
    world.read_new("general");
}

async fn an_edit_outlives_undo_and_the_next_send_shows_it(platform: Platform) {
    let (mut world, thread) = with_edited_request(platform).await;
    world.click("ana", "general", "Approve & send").await;
    world.click("ana", "general", "Undo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("general"), "Approved by"), @r"
            Approved by Ana Silva → Undone by Ana Silva 09:30 WET. Not sent.
                  [Ask again]
                nod: # Draft
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Plan
                  Changed on the card.
                  · Not sent yet. Tell me what to change, or say “send it”.
                  [Send…] [Discard] [Open in Gmail]
                nod: Undone, so nothing was sent. The draft has your edit: tell me what else to change, or say “send it”.
        ");
    }
    assert_eq!(only_draft(&world).body, "Changed on the card.");
    send_edited(&mut world, &thread).await;
    assert_eq!(world.model.requests().len(), 2, "both were for the draft");
    world.finish().await;
}

async fn an_edit_outlives_a_no_and_the_time_limit(platform: Platform) {
    let (mut world, thread) = with_edited_request(platform).await;
    world.deny_request("ana", "general", "").await;
    assert!(world.read_new("general").contains("Not sent. The draft has your edit"));
    world.reply("ana", "general", &thread, "send it").await;
    world.edit_request("ana", "general", &[("Subject", "The plan")]).await;
    world.advance(TimeDelta::hours(25)).await;
    let read = world.read_new("general");
    assert!(read.contains("The request expired, so nothing was sent. The draft has your edit"), "{read}");
    assert_eq!(only_draft(&world).subject, "The plan");
    send_edited(&mut world, &thread).await;
    world.finish().await;
}

async fn an_edit_outlives_a_sending_that_gmail_refuses(platform: Platform) {
    let (mut world, thread) = with_edited_request(platform).await;
    let refused = Fault::Status { code: 400, retry_after: None };
    world.google.faults.next("gmail.users.drafts.send", refused);
    world.click("ana", "general", "Approve & send").await;
    world.advance_past_undo_window().await;
    let read = world.read_new("general");
    assert!(read.contains("The draft has your edit"), "{read}");
    assert_eq!(only_draft(&world).body, "Changed on the card.");
    send_edited(&mut world, &thread).await;
    world.finish().await;
}

async fn an_edit_outlives_another_send_it(platform: Platform) {
    let (mut world, thread) = with_edited_request(platform).await;
    world.reply("ana", "general", &thread, "send it").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("general"), "ana: send it"), @r"
            ana: send it
                nod: # Send this email? · edited
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Plan
                  Changed on the card.
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny]
        ");
    }
    world.deny_request("ana", "general", "").await;
    assert_eq!(only_draft(&world).body, "Changed on the card.");
    send_edited(&mut world, &thread).await;
    world.finish().await;
}

async fn an_edit_does_not_overwrite_what_was_written_by_hand_after_it(platform: Platform) {
    let (mut world, thread) = with_edited_request(platform).await;
    let id = only_draft(&world).draft_id.unwrap();
    let edit = DraftEdit { body: Some("By hand.".to_owned()), ..DraftEdit::default() };
    assert!(world.google.edit_draft(ANA, &id, &edit));
    world.deny_request("ana", "general", "").await;
    let read = world.read_new("general");
    assert!(
        read.contains("Not sent. You changed the draft itself in the meantime, so that text stays."),
        "{read}"
    );
    assert_eq!(only_draft(&world).body, "By hand.");
    world.reply("ana", "general", &thread, "send it").await;
    assert!(world.read_new("dm:ana").contains("By hand."));
    world.deny_request("ana", "dm:ana", "").await;
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn an_edit_waits_for_gmail_and_the_next_send_waits_for_it(platform: Platform) {
    let (mut world, thread) = with_edited_request(platform).await;
    world.click("ana", "general", "Approve & send").await;
    world.google.faults.next("gmail.users.drafts.update", Fault::DropResponse);
    world.click("ana", "general", "Undo").await;
    world.stop().await;
    world.start().await;
    world.chat.say("ana", "general", Some(&thread), "send it");
    world.wait_until_idle().await;
    for _ in 0..4 {
        world.advance(TimeDelta::seconds(2)).await;
    }
    let read = world.read_new("general");
    assert!(text_after(&read, "# Send this email?").contains("Changed on the card."), "{read}");
    world.deny_request("ana", "general", "").await;
    world.read_new("general");
    world.finish().await;
}

async fn what_is_undone_leaves_the_draft_open(platform: Platform) {
    let (mut world, thread) = open_draft_in(World::with_undo_window_on(platform).await).await;
    world.reply("ana", "general", &thread, "send it").await;
    world.click("ana", "general", "Approve & send").await;
    world.click("ana", "general", "Undo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("general"), "Approved by"), @r"
            Approved by Ana Silva → Undone by Ana Silva 09:30 WET. Not sent.
                  [Ask again]
                nod: Undone, so nothing was sent. The draft is still open: tell me what to change, or say “send it”.
        ");
    }
    only_draft(&world);
    world.finish().await;
}

async fn ask_again_asks_for_the_draft_as_it_is(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.reply("ana", "general", &thread, "send it").await;
    world.deny_request("ana", "general", "").await;
    change(&world, json!({ "body": "Short." }));
    world.reply("ana", "general", &thread, "make it shorter").await;
    world.click("ana", "general", "Ask again").await;
    let read = world.read_new("general");
    assert!(text_after(&read, "# Send this email?").contains("Short."), "{read}");
    world.click("ana", "general", "Ask again").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_ephemerals("ana"), @"(ana only) nod: I've already asked you again. Look for the newer card.");
    }
    world.click("bo", "general", "Ask again").await;
    assert!(world.read_ephemerals("bo").contains("Only Ana Silva can decide this"));
    world.click("ana", "general", "Approve & send").await;
    world.click("ana", "general", "Ask again").await;
    assert!(world.read_ephemerals("ana").contains("This draft is already sent or discarded."));
    assert_eq!(world.google.inbox("bo@acme.test").len(), 1);
    world.read_new("general");
    world.finish().await;
}

async fn a_no_with_a_reason_is_for_the_model_to_work_with(platform: Platform) {
    let (mut world, thread) = with_open_draft(platform).await;
    world.reply("ana", "general", &thread, "send it").await;
    world.model.will(Answer::tool("gmail_read_draft", json!({})));
    world.model.will(Answer::tool("gmail_update_draft", json!({ "body": "Friendly." })));
    world.deny_request("ana", "general", "make it friendlier").await;
    let heard = world.model.requests()[2]["messages"].to_string();
    assert!(heard.contains("make it friendlier"), "{heard}");
    assert_eq!(only_draft(&world).body, "Friendly.");
    world.read_new("general");
    world.finish().await;
}

async fn a_draft_that_quotes_a_harmful_mail_is_still_a_draft(platform: Platform) {
    let (mut world, _) = with_open_draft(platform).await;
    let id = only_draft(&world).draft_id.unwrap();
    let bomb = hostile::html_that_eats_memory(3_000, 5_000);
    let edit = DraftEdit { html: Some(format!("<div>Ready.</div>{bomb}")), ..DraftEdit::default() };
    assert!(world.google.edit_draft(ANA, &id, &edit));
    let open = Answer::tool("gmail_open_draft", json!({ "draft_id": id }));
    world.script_model("tool", [open, Answer::text("Here it is.")]);
    world.say("ana", "dm:ana", "open my draft to Bo").await;
    let said = world.read_new("dm:ana");
    assert!(said.contains("Ready.") && said.contains("Formatting  made in Gmail"), "{said}");
    world.read_new("general");
    world.finish().await;
}

async fn what_was_formatted_in_gmail_is_said_before_it_is_lost(platform: Platform) {
    let lost = "Formatting from Gmail will be lost. Send it there to keep it";
    for (html, formatted) in [("The plan is <b>ready</b>.", true), ("The plan<br>is ready.", false)] {
        let (mut world, _) = with_open_draft(platform).await;
        let id = only_draft(&world).draft_id.unwrap();
        let html = format!("<div dir=\"ltr\">{html}<div><br></div></div>");
        let edit = DraftEdit { html: Some(html), ..DraftEdit::default() };
        assert!(world.google.edit_draft(ANA, &id, &edit));
        let open = Answer::tool("gmail_open_draft", json!({ "draft_id": id }));
        world.script_model("tool", [open, Answer::text("Here it is.")]);
        world.say("ana", "dm:ana", "open my draft to Bo").await;
        assert_eq!(world.read_new("dm:ana").contains("Formatting  made in Gmail"), formatted);
        world.say("ana", "dm:ana", "send it").await;
        let card = world.read_new("dm:ana");
        assert_eq!(card.contains(lost), formatted, "{card}");
        world.click("ana", "dm:ana", "Approve & send").await;
        assert!(world.google.inbox("bo@acme.test")[0].body.contains("ready"));
        world.read_new("general");
        world.read_new("dm:ana");
        world.finish().await;
    }
}
