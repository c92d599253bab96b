//! What is stored of every run: each step with its time and tokens, every text before and after, and the decider.

use chrono::TimeDelta;
use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use serde_json::{Value, json};

use crate::mail::late_mail_call;

on_each_platform!(
    every_node_tool_and_model_call_is_kept,
    a_prompt_in_the_record_is_what_the_model_got,
    an_output_in_the_record_is_what_came_back_and_stands_once,
    a_step_writes_the_same_however_many_came_before,
    what_prompts_have_in_common_is_stored_once,
    every_run_says_its_intent_and_its_way,
    what_was_said_is_kept_before_the_model_is_asked,
    the_whole_turn_is_kept_under_one_run,
    who_asked_and_who_decided_is_kept_for_good,
    a_denial_and_a_silence_are_kept_apart,
    an_error_is_in_the_record_with_the_run_that_people_were_told,
);

async fn column(world: &World, query: &'static str) -> Vec<String> {
    sqlx::query_scalar(query).fetch_all(&world.pool).await.unwrap()
}

async fn with_sent_mail(platform: Platform) -> World {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model(
        "tool",
        [Answer::tool("gmail_list_recent", json!({})), late_mail_call(), Answer::text("Bo knows.")],
    );
    world.say("ana", "dm:ana", "look at my mail and tell Bo I'm late").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    world.read_new("dm:ana");
    world
}

async fn every_node_tool_and_model_call_is_kept(platform: Platform) {
    let world = with_sent_mail(platform).await;
    let steps = "select kind || ' ' || name || case when prompt_tokens > 0 and completion_tokens > 0
                     then ' (tokens)' else '' end || case when duration_us >= 0 then '' else ' (no time)' end
                 from run_steps order by seq";
    let kept = column(&world, steps).await.join("\n");
    insta::allow_duplicates! {
        insta::assert_snapshot!(kept, @r"
            node recall
            model router (tokens)
            node route
            model reasoner (tokens)
            node think
            node gate
            tool gmail_list_recent
            node act
            model reasoner (tokens)
            node think
            tool gmail_send_email.preview
            node gate
            tool gmail_send_email
            node gate
            model reasoner (tokens)
            node think
            node reply
            node remember
        ");
    }
    let inputs: Vec<Value> =
        sqlx::query_scalar("select input from run_steps where kind = 'model' order by seq")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    assert!(inputs.iter().all(|input| input["system"].is_string()), "{inputs:?}");
    let outputs: i64 =
        sqlx::query_scalar("select count(*) from run_steps where kind <> 'node' and output is null")
            .fetch_one(&world.pool)
            .await
            .unwrap();
    assert_eq!(outputs, 0);
    world.finish().await;
}

async fn a_prompt_in_the_record_is_what_the_model_got(platform: Platform) {
    let world = with_sent_mail(platform).await;
    let kept: Vec<Value> =
        sqlx::query_scalar("select input from run_steps where kind = 'model' order by seq")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    let shown = |input: &Value| {
        let (schema, tools) = (&input["response_schema"], input["tools"].as_array().unwrap());
        json!([input["system"], schema[0], schema[1], tools])
    };
    let sent = |request: &Value| {
        let schema = &request["response_format"]["json_schema"];
        let tools = request["tools"].as_array().into_iter().flatten();
        let tools: Vec<&Value> = tools.map(|tool| &tool["function"]).collect();
        json!([request["messages"][0]["content"], schema["name"], schema["schema"], tools])
    };
    let kept: Vec<Value> = kept.iter().map(shown).collect();
    assert_eq!(kept, world.model.requests().iter().map(sent).collect::<Vec<_>>());
    assert!(
        kept.iter().any(|prompt| !prompt[1].is_null()) && kept.iter().any(|prompt| prompt[3] != json!([]))
    );
    world.finish().await;
}

async fn an_output_in_the_record_is_what_came_back_and_stands_once(platform: Platform) {
    let world = with_sent_mail(platform).await;
    let answers: Vec<Value> = sqlx::query_scalar(
        "select jsonb_build_array(output->'text', coalesce(output->'calls'->0->'name', 'null'), output->'usage'->'prompt' = to_jsonb(prompt_tokens))
         from run_steps where name = 'reasoner' order by seq",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    let expected = [
        json!(["", "gmail_list_recent", true]),
        json!(["", "gmail_send_email", true]),
        json!(["Bo knows.", null, true]),
    ];
    assert_eq!(answers, expected);
    let listed: Vec<Value> =
        sqlx::query_scalar("select output from run_steps where name = 'gmail_list_recent'")
            .fetch_all(&world.pool)
            .await
            .unwrap();
    let content =
        column(&world, "select turn->>'content' from messages where turn->>'name' = 'gmail_list_recent'")
            .await;
    let in_turn = content[0].lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
    assert!(in_turn.is_some(), "{content:?}");
    assert_eq!(listed.first(), in_turn.as_ref());
    let twice = "select s.step::text from step_records r, jsonb_array_elements(r.steps) as s (step)
                 where s.step ? 'model' and s.step->>'model' = 'reasoner' and not s.step->'output' ? 'turn'
                    or s.step->>'tool' = 'gmail_list_recent' and s.step ? 'output'";
    assert_eq!(column(&world, twice).await, [""; 0]);
    world.finish().await;
}

async fn a_step_writes_the_same_however_many_came_before(platform: Platform) {
    let (mut states, mut records) = (Vec::new(), Vec::new());
    for reads in [1, 10] {
        let mut world = World::new_on(platform).await;
        world.connect_google("ana").await;
        world.make_mail_address_known("bo").await;
        let recent = std::iter::repeat_with(|| Answer::tool("gmail_list_recent", json!({}))).take(reads);
        world.script_model("tool", recent.chain([late_mail_call()]));
        world.say("ana", "dm:ana", "look at my mail and tell Bo I'm late").await;
        let state = "select octet_length(state::text)::text from runs where status = 'waiting'";
        states.extend(column(&world, state).await);
        let read = "select octet_length(steps::text)::text from step_records
                    where steps @> '[{\"tool\": \"gmail_list_recent\"}]' order by seq";
        records.extend(column(&world, read).await);
        world.read_new("dm:ana");
        world.finish().await;
    }
    let bytes = |of: &str| of.parse::<f64>().unwrap();
    assert!(bytes(&states[1]) < 1.1 * bytes(&states[0]), "{states:?}");
    assert_eq!(records.len(), 11);
    assert!(bytes(&records[10]) < 1.1 * bytes(&records[1]), "{records:?}");
}

async fn what_prompts_have_in_common_is_stored_once(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let texts = "select digest::text from prompt_texts order by digest";
    let mut stored = Vec::new();
    for said in ["hello", "hello again", "still there?"] {
        if said == "still there?" {
            // A process that has just started does not know what is stored.
            world.stop().await;
            world.start().await;
        }
        world.script_model("conversational", [Answer::text("Hello.")]);
        world.say("ana", "dm:ana", said).await;
        stored.push(column(&world, texts).await);
    }
    assert!(!stored[0].is_empty() && stored.iter().all(|later| *later == stored[0]), "{stored:?}");
    let wrong = "select body from prompt_texts
                 where digest <> left(encode(sha256(convert_to(body, 'UTF8')), 'hex'), 32)::uuid";
    assert_eq!(column(&world, wrong).await, [""; 0]);
    world.read_new("dm:ana");
    world.finish().await;
}

async fn every_run_says_its_intent_and_its_way(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("conversational", [Answer::text("Hello.")]);
    world.say("ana", "dm:ana", "hello").await;
    world.say("ana", "dm:ana", "help").await;
    world.script_model("tool", [Answer::text("Which one?")]);
    world.say("ana", "dm:ana", "send it").await;
    world.model.router_will(Answer::text("neither JSON nor sense"));
    world.model.will(Answer::text("What?"));
    world.say("ana", "dm:ana", "brrr").await;
    let ways = "select status || ' ' || coalesce(intent, '—') || ' ' || coalesce(routed_via, '—') from runs order by id";
    let kept = column(&world, ways).await.join("\n");
    insta::allow_duplicates! {
        insta::assert_snapshot!(kept, @r"
            done conversational router
            done conversational rule:help
            done tool router
            done tool fallback
        ");
    }
    world.read_new("dm:ana");
    world.finish().await;
}

async fn what_was_said_is_kept_before_the_model_is_asked(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model(
        "conversational",
        [Answer::text("Hello.").with_delay(std::time::Duration::from_millis(700))],
    );
    world.chat.say("ana", "dm:ana", None, "remember this");
    assert!(world.model.wait_for(|model| !model.requests().is_empty(), nod_tests::max_wait()).await);
    assert_eq!(column(&world, "select turn->>'text' from messages").await, ["remember this"]);
    world.wait_until_idle().await;
    assert_eq!(
        column(&world, "select turn->>'text' from messages order by seq").await,
        ["remember this", "Hello."]
    );
    world.read_new("dm:ana");
    world.finish().await;
}

async fn the_whole_turn_is_kept_under_one_run(platform: Platform) {
    let world = with_sent_mail(platform).await;
    let roles =
        "select role || case when jsonb_array_length(coalesce(nullif(turn->'calls', 'null'), '[]')) > 0
                     then ' calls' else '' end from messages order by seq";
    let kept = column(&world, roles).await.join("\n");
    insta::allow_duplicates! {
        insta::assert_snapshot!(kept, @r"
            human
            ai calls
            tool
            ai calls
            tool
            ai
        ");
    }
    let runs = column(&world, "select distinct run_id::text from messages").await;
    assert_eq!(runs.len(), 1);
    world.finish().await;
}

async fn who_asked_and_who_decided_is_kept_for_good(platform: Platform) {
    let world = with_sent_mail(platform).await;
    let lines = "select a.action || ' by ' || coalesce(p.full_name, 'nobody') || case when a.digest is null
                     then '' else ' ' || left(a.digest, 6) end
                 from audit a left join people p on p.tenant_id = a.tenant_id and p.id = a.person_id
                 where coalesce(p.name, 'ana') = 'ana'
                 order by a.seq";
    let kept = column(&world, lines).await.join("\n");
    insta::allow_duplicates! {
        insta::assert_snapshot!(kept, @r"
            connection.created by Ana Silva
            approval.requested by Ana Silva db435d
            approval.approved by Ana Silva db435d
            effect.done by Ana Silva db435d
        ");
    }
    let words = column(&world, "select detail::text from audit").await.join("\n");
    assert!(!words.contains("late") && !words.contains("bo@acme.test"), "{words}");
    for statement in ["update audit set action = 'x'", "delete from audit", "truncate audit"] {
        let refused = sqlx::query(statement).execute(&world.pool).await;
        assert!(refused.is_err(), "{statement}");
    }
    world.finish().await;
}

async fn a_denial_and_a_silence_are_kept_apart(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.script_model("tool", [late_mail_call(), Answer::text("All right, not sent.")]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    world.deny_request("ana", "dm:ana", "").await;
    world.script_model("tool", [late_mail_call(), Answer::text("Nobody answered.")]);
    world.say("ana", "dm:ana", "tell Bo I'm late").await;
    world.advance(TimeDelta::hours(25)).await;
    let lines = "select action from audit where action like 'approval%' order by seq";
    let kept = column(&world, lines).await.join("\n");
    insta::allow_duplicates! {
        insta::assert_snapshot!(kept, @r"
            approval.requested
            approval.denied
            approval.requested
            approval.expired
        ");
    }
    let heard: Vec<String> = world.model.requests().iter().map(|r| r["messages"].to_string()).collect();
    assert!(heard.iter().any(|m| m.contains("the person said no")));
    assert!(heard.last().unwrap().contains("nobody answered in time"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            ana: tell Bo I'm late
            nod: # Email not sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Denied by Ana Silva 09:30 WET. Not sent.
              [Ask again]
            nod: All right, not sent.
              · To be clear, nothing was sent or changed just now.
            ana: tell Bo I'm late
            nod: # Email not sent
              From  ana@acme.test
              To  bo@acme.test
              Subject  Running late
              Hi Bo,

              I'm running late.

              Ana
              Expired without an answer. Not sent.
              [Ask again]
            nod: Nobody answered.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    world.finish().await;
}

async fn an_error_is_in_the_record_with_the_run_that_people_were_told(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.script_model("tool", [Answer::status(401, None)]);
    world.say("ana", "dm:ana", "hello").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            ana: hello
            nod: The model refused the request (status 401). The person who runs Nod needs to look at it. Nothing was sent or changed.
              · run ········
              [Try again]
        ");
    }
    let run: String =
        column(&world, "select id::text from runs where status = 'failed' and error <> ''").await.remove(0);
    let told = world.chat.channel_text("dm:ana");
    let short = told.split("run ").nth(1).unwrap().split_whitespace().next().unwrap();
    assert!(run.replace('-', "").contains(short), "{run} {short}");
    let errors =
        column(&world, "select kind || ' ' || name from run_steps where error <> '' order by seq").await;
    assert_eq!(errors, ["model reasoner", "node think"]);
    world.finish().await;
}
