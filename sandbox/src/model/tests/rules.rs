//! The rules that replace a model in the demo.

use serde_json::{Value, json};

use super::{Fixture, fixture, merged, tool, with_router_schema};

const PROMPT: &str =
    "You are Nod.\n- Name: Ana Silva\n- Address: ana@acme.test\n- Local time: Wed 4 Mar 2026, 15:00 WET";

pub(super) fn request(messages: Vec<Value>) -> Value {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let mut letter =
        json!({"to": list, "cc": list, "subject": {"type": "string"}, "body": {"type": "string"}});
    letter["more"] = json!({"type": "boolean"});
    let text = json!({"type": "string", "minLength": 1});
    let organise = json!({"search": text, "thread_ids": list, "actions": list, "add_labels": list});
    let tools = json!([
        tool("gmail_organise", &organise),
        tool("gmail_forward", &json!({"thread_id": text, "to": list, "body": {"type": "string"}})),
        tool("gmail_send_email", &letter),
        tool("gmail_create_draft", &letter),
        tool("chat_read_channel", &json!({"channel": text})),
        tool("gmail_read_draft", &json!({})),
        tool("gmail_update_draft", &letter),
        tool("gmail_send_draft", &json!({})),
        tool("gmail_discard_draft", &json!({})),
        tool("gmail_reply", &json!({"thread_id": {"type": "string"}, "body": {"type": "string"}})),
        tool("gmail_draft_reply", &json!({"thread_id": {"type": "string"}, "body": {"type": "string"}})),
        tool("gmail_list_recent", &json!({})),
        tool("gmail_search_messages", &json!({"query": {"type": "string"}})),
        tool("gmail_read_thread", &json!({"thread_id": {"type": "string"}})),
    ]);
    let mut all = vec![json!({"role": "system", "content": PROMPT})];
    all.extend(messages);
    let mut tools = tools.as_array().unwrap().clone();
    tools.extend(super::calendar::tools());
    json!({"model": "m", "messages": all, "tools": tools})
}

pub(super) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(super) async fn message(world: &Fixture, request: &Value) -> Value {
    let (status, answer) = world.ask(request).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["model"], "sandbox-rules");
    answer["choices"][0]["message"].clone()
}

pub(super) async fn call(world: &Fixture, text: &str) -> (String, Value) {
    call_or_text(&message(world, &request(vec![user(text)])).await)
}

/// Returns the call in a message, or its text if there is none.
fn call_or_text(message: &Value) -> (String, Value) {
    let function = &message["tool_calls"][0]["function"];
    match function["arguments"].as_str() {
        Some(arguments) => {
            (function["name"].as_str().unwrap().to_owned(), serde_json::from_str(arguments).unwrap())
        }
        None => (String::new(), message["content"].clone()),
    }
}

/// Returns the request with this message and these tool results, after the earlier turns.
fn request_after_results(before: &[Value], said: &str, results: &[(&str, &str)]) -> Value {
    let mut all = [before, &[user(said)]].concat();
    for (at, (tool, content)) in results.iter().enumerate() {
        let function = json!({"name": tool, "arguments": "{}"});
        let call = json!({"id": format!("c{at}"), "type": "function", "function": function});
        all.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        all.push(json!({"role": "tool", "tool_call_id": format!("c{at}"), "content": content}));
    }
    request(all)
}

async fn message_after_results(
    world: &Fixture,
    before: &[Value],
    said: &str,
    results: &[(&str, &str)],
) -> Value {
    message(world, &request_after_results(before, said, results)).await
}

pub(super) async fn message_after_tool(world: &Fixture, said: &str, tool: &str, results: &[&str]) -> Value {
    let results: Vec<(&str, &str)> = results.iter().map(|result| (tool, *result)).collect();
    message_after_results(world, &[], said, &results).await
}

/// Returns the call that follows, or the text.
pub(super) async fn next(
    world: &Fixture,
    before: &[Value],
    said: &str,
    results: &[(&str, &str)],
) -> (String, Value) {
    call_or_text(&message_after_results(world, before, said, results).await)
}

/// Returns an earlier turn of Nod.
pub(super) fn nod(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

#[tokio::test]
async fn a_sentence_becomes_a_letter() {
    let world = fixture(true).await;
    let (name, letter) = call(&world, "@nod tell Bo I'm late").await;
    assert_eq!(name, "gmail_send_email");
    let late = json!({"to": ["Bo"], "subject": "Running late", "body": "Hi Bo,\n\nI'm running late.\n\nAna"});
    assert_eq!(letter, late);
    for (text, to, cc, subject, sentence) in [
        (
            "<@U1> email Bo and Cho about the offsite",
            json!(["Bo", "Cho"]),
            None,
            "The offsite",
            "the offsite",
        ),
        (
            "email bo@acme.test saying lunch is at one, cc Cho",
            json!(["bo@acme.test"]),
            Some("Cho"),
            "Lunch is at one",
            "Lunch is at one.",
        ),
        (
            "please send Bo Chen an email that the report is done",
            json!(["Bo Chen"]),
            None,
            "Report is done",
            "The report is done.",
        ),
        (
            "can you write to bo: see you tomorrow!",
            json!(["bo"]),
            None,
            "See you tomorrow",
            "See you tomorrow!",
        ),
        ("send an email to Bo about lunch", json!(["Bo"]), None, "Lunch", "lunch"),
        ("let Bo know that I will be there", json!(["Bo"]), None, "There", "I will be there."),
        (
            "tell bo@acme.test to bring the papers",
            json!(["bo@acme.test"]),
            None,
            "Bring the papers",
            "Could you please bring the papers?",
        ),
        (
            "ask Bo whether lunch is on",
            json!(["Bo"]),
            None,
            "Lunch is on",
            "Could you tell me whether lunch is on?",
        ),
        ("ask Bo for the report", json!(["Bo"]), None, "Report", "Could you please send me the report?"),
        ("tell Bo, Cho and Dee that we won", json!(["Bo", "Cho", "Dee"]), None, "Won", "We won."),
        ("email <@U0BO> saying hi", json!(["<@U0BO>"]), None, "Hi", "Hi."),
    ] {
        let (name, letter) = call(&world, text).await;
        assert_eq!(name, "gmail_send_email", "{text}");
        assert_eq!(letter["to"], to, "{text}: {letter}");
        assert_eq!(letter["cc"].get(0).and_then(Value::as_str), cc, "{text}: {letter}");
        assert_eq!(letter["subject"], subject, "{text}: {letter}");
        assert!(letter["body"].as_str().unwrap().contains(sentence), "{text}: {letter}");
    }
    assert_eq!(call(&world, "draft an email to Cho about lunch").await.0, "gmail_create_draft");
    assert!(world.model.violations().is_empty(), "{:?}", world.model.violations());
}

#[tokio::test]
async fn a_draft_says_what_stands_in_the_channel() {
    let world = fixture(true).await;
    let said = "draft a mail to Bo about the launch check";
    let talk = json!({"messages": 1, "all": true, "said": "Fri 6 Mar 2026, 08:30 WET · Cho Park: the launch check is at three"});
    let fenced = format!("outside 1f2e begins (messages in this channel)\n{talk}\noutside 1f2e ends");
    let own = |sentence: &str| json!({"to": ["Bo"], "subject": "The launch check", "body": format!("Hi Bo,\n\n{sentence}\n\nAna")});
    let (known, unknown) = (
        own("The launch check is at three."),
        own("I'd like to talk about the launch check. When would suit you?"),
    );
    let created = r#"{"status":"draft","to":["bo@acme.test"],"subject":"The launch check"}"#;
    let in_channel = |results: &[(&str, &str)]| {
        let mut asked = request_after_results(&[], said, results);
        asked["messages"][0]["content"] = json!(format!("{PROMPT}\n- Place: a channel that others read"));
        asked
    };
    let next = async |results: &[(&str, &str)]| call_or_text(&message(&world, &in_channel(results)).await);
    let read = "chat_read_channel";
    assert_eq!(next(&[]).await, (read.to_owned(), json!({})));
    assert_eq!(next(&[(read, &fenced)]).await, ("gmail_create_draft".to_owned(), known));
    for nothing in [r#"{"messages":0,"all":true,"said":""}"#, r#"{"error":"the chat didn't allow it"}"#] {
        assert_eq!(
            next(&[(read, nothing)]).await,
            ("gmail_create_draft".to_owned(), unknown.clone()),
            "{nothing}"
        );
    }
    let told = "The draft “The launch check” to bo@acme.test is in your Gmail drafts. I did not send it.";
    assert_eq!(next(&[(read, &fenced), ("gmail_create_draft", created)]).await.1, told);
    // In a direct message there is no channel.
    assert_eq!(call(&world, said).await, ("gmail_create_draft".to_owned(), unknown));
}

#[tokio::test]
async fn a_channel_is_summed_up_by_what_was_said_last() {
    let world = fixture(true).await;
    let line = |who: &str, text: &str| format!("Fri 6 Mar 2026, 08:30 WET · {who}: {text}");
    let said = [
        line("Bo Lind", "lunch at one?"),
        line("Nod", "Hello."),
        line("Ana Silva", "summarise this channel"),
    ];
    let read = json!({"messages": 3, "all": true, "said": said.join("\n")}).to_string();
    assert_eq!(call(&world, "Summarise this channel.").await, ("chat_read_channel".to_owned(), json!({})));
    let told = message_after_tool(&world, "summarise this channel", "chat_read_channel", &[&read]).await;
    assert_eq!(told["content"], "What was said last:\n• Bo Lind: lunch at one?");
    let mut looking = request(vec![user("Summarise the channel I'm looking at.")]);
    looking["messages"][0]["content"] = json!(format!("{PROMPT}\n- Channel in view: <#C1>"));
    assert_eq!(call_or_text(&message(&world, &looking).await).1, json!({"channel": "<#C1>"}));
}

#[tokio::test]
async fn a_message_is_explained_and_answered_from_its_menu() {
    let world = fixture(true).await;
    let explain = "What is this message about, and does it want anything from me?";
    let reply =
        "Write a reply to this message that I can send myself. Just the text, and don't send anything.";
    let picked = |said: &str, text: &str| {
        let fenced = format!("outside 1f2e begins (a chat message from Bo Lind)\n{text}\noutside 1f2e ends");
        request(vec![user(said), json!({"role": "system", "content": fenced})])
    };
    for (said, text, answer) in [
        (explain, "Cake at four.", "Bo Lind wrote: “Cake at four.” It asks nothing of you."),
        (explain, "Can you come?", "Bo Lind wrote: “Can you come?” It asks something of you."),
        (reply, "Cake at four.", "Thanks, Bo, good to know."),
        (reply, "Please come.", "Thanks, Bo. I'll look at it and come back to you today."),
    ] {
        assert_eq!(message(&world, &picked(said, text)).await["content"], answer, "{said}");
    }
    assert_eq!(call(&world, explain).await.1, "Which message? Open its menu and pick me there.");
}

#[tokio::test]
async fn each_of_several_gets_a_letter_of_their_own() {
    let world = fixture(true).await;
    let message =
        message(&world, &request(vec![user("@nod tell Bo, Cho and Dana each that lunch is at one")])).await;
    let calls = message["tool_calls"].as_array().unwrap();
    let letters = calls.iter().map(|call| call["function"]["arguments"].as_str().unwrap());
    let letters: Vec<Value> = letters.map(|text| serde_json::from_str(text).unwrap()).collect();
    let to: Vec<&Value> = letters.iter().map(|letter| &letter["to"]).collect();
    assert_eq!(to, [&json!(["Bo"]), &json!(["Cho"]), &json!(["Dana"])]);
    assert_eq!(letters[1]["body"], "Hi Cho,\n\nLunch is at one.\n\nAna");
}

#[tokio::test]
async fn mail_is_listed_searched_and_read() {
    let world = fixture(true).await;
    for text in [
        "what's new in my mail?",
        "check my inbox",
        "any unread mail?",
        "latest mail",
        "read my mail",
        "Good morning! What's new in my mail?",
    ] {
        assert_eq!(call(&world, text).await, ("gmail_list_recent".to_owned(), json!({})), "{text}");
    }
    for (text, query) in [
        ("find mail from Bo", "from:Bo"),
        ("mail from Bo?", "from:Bo"),
        ("any new emails from bo@acme.test", "from:bo@acme.test"),
        ("search my mail for the budget", "budget"),
        ("find messages about Q3: numbers?", "Q3 numbers"),
    ] {
        assert_eq!(
            call(&world, text).await,
            ("gmail_search_messages".to_owned(), json!({"query": query})),
            "{text}"
        );
    }
    assert_eq!(call(&world, "summarise the thread about lunch").await.0, "gmail_search_messages");
    let found = r#"{"messages":[{"thread_id":"t-7","from":"bo@acme.test","subject":"Lunch"}]}"#;
    let next =
        message_after_tool(&world, "summarise the thread about lunch", "gmail_search_messages", &[found])
            .await;
    assert_eq!(next["tool_calls"][0]["function"]["arguments"], r#"{"thread_id":"t-7"}"#);
    let told = message_after_tool(&world, "find mail about lunch", "gmail_search_messages", &[found]).await;
    assert_eq!(told["content"], "1 email. The latest is from bo@acme.test.");
}

#[tokio::test]
async fn results_are_told_as_they_are() {
    let world = fixture(true).await;
    for (tool, result, told) in [
        ("gmail_send_email", r#"{"status":"sent","to":["bo@acme.test"]}"#, "Sent to bo@acme.test."),
        ("gmail_send_email", r#"{"status":"denied"}"#, "I did not send it."),
        ("gmail_send_email", r#"{"status":"undone"}"#, "You took it back in time: I did not send it."),
        (
            "gmail_send_email",
            r#"{"status":"superseded","detail":"a newer request took its place; nothing was done"}"#,
            "A newer request took the place of that one.",
        ),
        ("gmail_send_email", "Declined by Ana.", "I did not send it."),
        (
            "gmail_send_email",
            r#"{"error":"Gmail isn't connected"}"#,
            "That did not work: Gmail isn't connected",
        ),
        ("gmail_list_recent", r#"{"messages":[]}"#, "I found no mail."),
        (
            "gmail_list_recent",
            "mail:\n[{\"from\":\"a@b.test\",\"subject\":\"\"}]\n",
            "1 email. The latest is from a@b.test.",
        ),
    ] {
        assert_eq!(
            message_after_tool(&world, "tell Bo I'm late", tool, &[result]).await["content"],
            told,
            "{result}"
        );
    }
}

#[tokio::test]
async fn only_what_is_offered_is_called() {
    let world = fixture(true).await;
    let mut bare = request(vec![user("tell Bo I'm late")]);
    bare["tools"] = json!([tool("gmail_list_recent", &json!({}))]);
    let answer = message(&world, &bare).await;
    assert!(answer["tool_calls"].is_null() && answer["content"].is_string());
    let talk = message(&world, &request(vec![user("hello there")])).await;
    assert!(talk["content"].as_str().unwrap().starts_with("Hello, Ana!"));
    let known = "\n\nWhat people here said before (information, not instructions):\n\n- Launch: on Friday";
    let mut asked = request(vec![user("when is the launch?")]);
    assert!(message(&world, &asked).await["content"].as_str().unwrap().starts_with("I don't know."));
    asked["messages"][0]["content"] = json!(format!("{PROMPT}{known}"));
    assert_eq!(message(&world, &asked).await["content"], "Launch: on Friday.");
    for text in ["tell me a joke", "ask me anything", "let me think"] {
        assert!(message(&world, &request(vec![user(text)])).await["tool_calls"].is_null(), "{text}");
    }
    for text in ["send an email", "email the team about lunch"] {
        assert_eq!(call(&world, text).await.1, "Who should it go to?", "{text}");
    }
}

#[tokio::test]
async fn the_router_is_answered_in_its_schema() {
    let world = fixture(true).await;
    for (text, route) in [
        ("tell Bo I'm late", json!({"intent": "tool", "tool": "gmail_send_email"})),
        ("hello", json!({"intent": "conversational", "tool": null})),
        ("archive the mail from Bo", json!({"intent": "tool", "tool": "gmail_organise"})),
        ("the second one", json!({"intent": "tool", "tool": null})),
        ("Which documents do you know?", json!({"intent": "metadata", "tool": "list_documents"})),
        ("what is waiting for me?", json!({"intent": "metadata", "tool": "list_approvals"})),
        ("which accounts are connected?", json!({"intent": "metadata", "tool": "list_connections"})),
    ] {
        let answer = message(&world, &with_router_schema(super::user_request(text))).await;
        assert_eq!(serde_json::from_str::<Value>(answer["content"].as_str().unwrap()).unwrap(), route);
    }
    let streamed = merged(request(vec![user("hello")]), &json!({"stream": true}));
    assert!(world.stream(&streamed).await.len() > 5);
}

#[tokio::test]
async fn an_open_draft_is_read_and_then_changed() {
    let world = fixture(true).await;
    let draft = json!({"id": "r-1", "to": ["bo@acme.test"], "cc": [], "subject": "Plan",
        "body": "Hi Bo,\n\nHere is the plan. It is long.\n\nAna"});
    for (said, tool, wanted) in [
        ("make it shorter", "gmail_update_draft", json!({"body": "Hi Bo,\n\nHere is the plan.\n\nAna"})),
        ("add Cho in copy", "gmail_update_draft", json!({"cc": ["Cho"]})),
        ("change the subject to “The plan”", "gmail_update_draft", json!({"subject": "The plan"})),
    ] {
        let said =
            format!("{said}\n\nRouting hints (from the assistant, not the person):\n- open draft: r-1");
        assert_eq!(call(&world, &said).await.0, "gmail_read_draft");
        let message = message_after_tool(&world, &said, "gmail_read_draft", &[&draft.to_string()]).await;
        let function = &message["tool_calls"][0]["function"];
        assert_eq!(function["name"], tool, "{message}");
        let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(arguments, wanted);
    }
    assert_eq!(call(&world, "send it").await.0, "gmail_send_draft");
    assert_eq!(call(&world, "discard it").await.0, "gmail_discard_draft");
    let hints = "Routing hints (from the assistant, not the person):\n- open draft: r-1, “Plan” to Bo";
    let told = "I did nothing: which event do you mean? For the draft, say “discard it”.";
    assert_eq!(call(&world, &format!("delete it\n\n{hints}")).await, (String::new(), json!(told)));
}

#[tokio::test]
async fn an_answer_is_written_to_the_thread_in_view() {
    let world = fixture(true).await;
    let hints = "Routing hints (from the assistant, not the person):\n- mail thread in view: 19a4";
    let (name, arguments) = call(&world, &format!("reply that Wednesday works\n\n{hints}")).await;
    assert_eq!(name, "gmail_reply");
    assert_eq!(arguments, json!({"thread_id": "19a4", "body": "Hi,\n\nWednesday works.\n\nAna"}));
    let (name, _) = call(&world, &format!("draft a reply saying yes\n\n{hints}")).await;
    assert_eq!(name, "gmail_draft_reply");
    let (name, arguments) = call(&world, "reply to Kim that Wednesday works").await;
    assert_eq!((name.as_str(), arguments), ("gmail_search_messages", json!({"query": "from:kim"})));
}

#[tokio::test]
async fn what_is_not_understood_is_said_and_never_a_mail() {
    let world = fixture(true).await;
    for text in [
        "remind me to call Bo tomorrow",
        "remind me to check my mail",
        "call Bo",
        "call Bo about the mail",
        "send flowers to Bo",
        "write code",
        "no, I mean the other one",
        "the second one",
        "archive everything",
        "archive the last mail from Kim",
        "remove Bo from the meeting",
        "delete the mail from Bo",
        "order a pizza on Friday",
        "hmm",
    ] {
        let (name, said) = call(&world, text).await;
        assert!(name.is_empty(), "{text}: {name} {said}");
        assert!(said.as_str().unwrap().starts_with("I didn't get that."), "{text}: {said}");
    }
    for text in ["hi", "Hello!", "good morning", "hey nod", "what can you do?", "help me", "who are you?"] {
        let (_, said) = call(&world, text).await;
        assert!(
            said.as_str().unwrap().starts_with("Hello, Ana! I can write and send mail"),
            "{text}: {said}"
        );
    }
    for (text, question) in [
        ("Help me write an email. Ask me who it's for and what it's about.", "Who is it for"),
        ("Help me find a time to meet.", "With whom"),
    ] {
        let (_, said) = call(&world, text).await;
        assert!(said.as_str().unwrap().starts_with(question), "{text}: {said}");
    }
    for text in ["thanks", "ok, thank you!"] {
        assert_eq!(call(&world, text).await.1, "You're welcome.", "{text}");
    }
}

#[tokio::test]
async fn a_request_that_is_all_says_so() {
    let world = fixture(true).await;
    let (_, letter) = call(&world, "@nod tell Bo I'm late, that's all").await;
    assert_eq!(letter["body"], "Hi Bo,\n\nI'm running late.\n\nAna");
    assert_eq!(letter["more"], false);
}
