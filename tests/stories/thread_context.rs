//! Messages from before Nod was asked: the context of a mention in the middle of a thread, and reading a thread or a
//! channel on demand, for its members.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::{Value, json};

use crate::mail::late_mail_call;

on_each_platform!(
    a_mention_in_a_thread_brings_what_was_said_there,
    thread_context_is_kept_only_in_the_askers_record_and_purged,
    what_others_said_is_forgotten_where_the_turn_was_stopped_or_its_message_deleted,
    what_others_said_is_outside_text,
    a_platform_that_asks_to_wait_costs_a_moment,
    a_thread_is_summarised_where_it_stands,
    first_mention_has_no_thread_context,
    a_channel_is_read_for_whoever_is_in_it,
);

/// A thread in #general that Nod does not follow.
async fn unfollowed_thread(world: &World) -> String {
    let ts = world.say("bo", "general", "shall we launch on Friday?").await;
    world.reply("cho", "general", &ts, "Friday is a holiday, @bo. Monday!").await;
    ts
}

fn last_prompt(world: &World) -> Value {
    world.model.requests().pop().unwrap()
}

async fn a_mention_in_a_thread_brings_what_was_said_there(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let ts = unfollowed_thread(&world).await;
    world.script_model("conversational", [Answer::text("On Monday, says Cho.")]);
    world.reply("ana", "general", &ts, "@nod when do we launch?").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            bo: shall we launch on Friday?
                cho: Friday is a holiday, @bo. Monday!
                ana: @nod when do we launch?
                nod: On Monday, says Cho.
        ");
    }
    let prompt = last_prompt(&world)["messages"].to_string();
    for line in ["Bo Lind: shall we launch on Friday?", "Cho Park: Friday is a holiday, @Bo Lind. Monday!"] {
        assert!(
            prompt.contains(line) && prompt.contains("begins (earlier messages in this thread)"),
            "{prompt}"
        );
    }
    // The mention itself appears once, and later messages are received as they come.
    assert_eq!(prompt.matches("when do we launch?").count(), 1, "{prompt}");
    world.script_model("conversational", [Answer::text("Yes.")]);
    world.reply("bo", "general", &ts, "really?").await;
    assert!(!last_prompt(&world).to_string().contains("holiday"), "{}", last_prompt(&world));
    world.read_new("general");
    world.finish().await;
}

async fn thread_context_is_kept_only_in_the_askers_record_and_purged(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let ts = unfollowed_thread(&world).await;
    let read = Answer::tool("chat_read_thread", json!({}));
    world.script_model("tool", [read, Answer::text("On Monday, says Cho.")]);
    world.reply("ana", "general", &ts, "@nod when do we launch?").await;
    let ana: String = sqlx::query_scalar("select id::text from people where name = 'ana'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    let rows = world.dump_rows().await;
    let kept: Vec<&str> = rows.lines().filter(|row| row.contains("holiday")).collect();
    assert!(!kept.is_empty());
    for row in kept {
        let (table, row) = row.split_once(' ').unwrap();
        let row: Value = serde_json::from_str(row).unwrap();
        let hers = row["only_for"] == ana.as_str();
        assert!(["recalled_contexts", "step_records", "messages"].contains(&table) && hers, "{table}: {row}");
    }
    world.advance(TimeDelta::days(8)).await;
    assert!(!world.dump_rows().await.contains("holiday"));
    world.read_new("general");
    world.finish().await;
}

async fn what_others_said_is_forgotten_where_the_turn_was_stopped_or_its_message_deleted(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    for deleted in [false, true] {
        let ts = unfollowed_thread(&world).await;
        world.script_model("tool", [late_mail_call()]);
        let asked = world.reply("ana", "general", &ts, "@nod tell Bo I'm late").await;
        assert!(world.dump_rows().await.contains("holiday"));
        if deleted {
            world.chat.delete("ana", "general", &asked);
            world.wait_until_idle().await;
        } else {
            world.reply("ana", "general", &ts, "stop").await;
        }
        world.advance(TimeDelta::days(8)).await;
        assert!(!world.dump_rows().await.contains("holiday"), "deleted: {deleted}");
        world.read_new("general");
    }
    world.finish().await;
}

async fn what_others_said_is_outside_text(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let ts = unfollowed_thread(&world).await;
    world.script_model("tool", [late_mail_call()]);
    world.reply("ana", "general", &ts, "@nod tell Bo I'm late").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            bo: shall we launch on Friday?
                cho: Friday is a holiday, @bo. Monday!
                ana: @nod tell Bo I'm late
                nod: # Send this email?
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Running late
                  Hi Bo,

                  I'm running late.

                  Ana
                  ⚠ Prepared after reading earlier messages in this thread
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny] [Show all]
        ");
    }
    world.finish().await;
}

async fn a_platform_that_asks_to_wait_costs_a_moment(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let ts = unfollowed_thread(&world).await;
    world.chat.fail_next_thread_history(Fault::Status { code: 429, retry_after: Some(2) });
    world.script_model("conversational", [Answer::text("On Monday.")]);
    world.reply("ana", "general", &ts, "@nod when do we launch?").await;
    world.advance(TimeDelta::seconds(10)).await;
    assert!(world.read_new("general").contains("On Monday."));
    assert!(last_prompt(&world).to_string().contains("holiday"));
    world.finish().await;
}

/// On Discord there is no thread yet.
async fn first_mention_has_no_thread_context(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let read = Answer::tool("chat_read_thread", json!({}));
    world.script_model("tool", [read, Answer::text("There is only your question.")]);
    world.say("ana", "general", "@nod summarise this thread").await;
    let result = last_prompt(&world)["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(result.contains("Ana Silva: summarise this thread"), "{result}");
    assert!(world.read_new("general").ends_with("nod: There is only your question.\n"));
    world.finish().await;
}

async fn a_thread_is_summarised_where_it_stands(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let ts = unfollowed_thread(&world).await;
    let read = Answer::tool("chat_read_thread", json!({}));
    world.script_model("tool", [read, Answer::text("Bo wants Friday, Cho Monday.")]);
    world.reply("ana", "general", &ts, "@nod summarise this thread").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            bo: shall we launch on Friday?
                cho: Friday is a holiday, @bo. Monday!
                ana: @nod summarise this thread
                nod: Bo wants Friday, Cho Monday.
        ");
    }
    let result = last_prompt(&world)["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    let lines = ["(messages in this thread)", "Bo Lind: shall we launch", "Ana Silva: summarise this thread"];
    assert!(lines.iter().all(|line| result.contains(line)), "{result}");
    world.finish().await;
}

async fn a_channel_is_read_for_whoever_is_in_it(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.chat.add_channel("launch", &["ana", "cho"]);
    world.chat.add_channel("board", &["bo"]);
    world.chat.add_channel_without_nod("attic", &["ana", "bo"]);
    world.say("cho", "launch", "decided: Monday").await;
    world.say("bo", "board", "we sell the company").await;
    world.say("bo", "general", "decided: cake").await;

    let read = |channel: Option<&str>| {
        Answer::tool("chat_read_channel", channel.map_or(json!({}), |name| json!({ "channel": name })))
    };
    let result = |world: &World| {
        last_prompt(world)["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
    };
    world.script_model("tool", [read(None), Answer::text("Cake.")]);
    world.say("ana", "general", "@nod what did we decide?").await;
    assert!(result(&world).contains("Bo Lind: decided: cake"), "{}", result(&world));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            bo: decided: cake
            ana: @nod what did we decide?
                nod: Cake.
        ");
    }

    // From another channel: only for the asker.
    world.script_model("tool", [read(Some("#launch")), Answer::text("Monday.")]);
    world.say("ana", "general", "@nod what did we decide about the launch?").await;
    assert!(result(&world).contains("Cho Park: decided: Monday"), "{}", result(&world));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · You asked in a channel: “what did we decide about the launch?”
              Monday.
              [Share in the thread]
        ");
    }

    // A channel without the asker, and one without Nod.
    for (channel, why) in [("board", "you're not in that channel"), ("attic", "I'm not in #")] {
        world.script_model("tool", [read(Some(channel)), Answer::text("I may not read that.")]);
        world.say("ana", "dm:ana", "what is said there?").await;
        let heard = result(&world);
        assert!(heard.contains(why) && !heard.contains("sell"), "{channel}: {heard}");
    }
    assert!(!world.dump_rows().await.contains("sell the company"));
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}
