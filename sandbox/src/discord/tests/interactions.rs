use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{INTENTS, Raw, SOON, Socket, acme, button, text, v2};

/// Returns the next interaction: the path of its callback and the path of its token.
async fn next(raw: &Raw, socket: &mut Socket) -> (String, String, Value) {
    let event = socket.next().await;
    assert_eq!(event["t"], "INTERACTION_CREATE", "{event}");
    let (id, token) = (event["d"]["id"].as_str().unwrap(), event["d"]["token"].as_str().unwrap());
    let callback = format!("/interactions/{id}/{token}/callback");
    (callback, format!("/webhooks/{}/{token}", raw.app()), event["d"].clone())
}

async fn card(raw: &Raw, socket: &mut Socket) -> String {
    let row = json!({"type": 1, "components": [button("yes", "Approve"), button("no", "Deny")]});
    let posted = raw.says(v2(json!([{"type": 17, "components": [text("### Send?"), row]}]))).await;
    assert_eq!(socket.next().await["t"], "MESSAGE_CREATE");
    posted["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn one_callback_in_time_and_no_other() {
    let raw = Raw::start(acme()).await;
    let (mut socket, _) = Socket::open(&raw, INTENTS).await;
    let id = card(&raw, &mut socket).await;
    let pending = raw.discord.click("ana", "general", &id, "Approve").unwrap();
    let (callback, hook, told) = next(&raw, &mut socket).await;
    assert_eq!((&told["data"]["custom_id"], &told["member"]["nick"]), (&json!("yes"), &json!("Ana")));
    assert_eq!(raw.call("POST", &callback, json!({"type": 6})).await.0, 204);
    pending.wait_for_acknowledgement(SOON).await;
    raw.clean();
    let (status, again) = raw.call("POST", &callback, json!({"type": 6})).await;
    assert_eq!((status, again["code"].as_u64()), (400, Some(40060)));
    assert_eq!(raw.discord.violations().len(), 1);
    let whisper = json!({"content": "Only you.", "flags": 64});
    assert_eq!(raw.call("POST", &hook, whisper.clone()).await.0, 200);
    assert_eq!(raw.discord.ephemeral_texts("ana"), ["(ana only) nod: Only you."]);
    assert_eq!(
        raw.call("PATCH", &format!("{hook}/messages/@original"), v2(json!([text("Done.")]))).await.0,
        200
    );
    raw.later(TimeDelta::minutes(16));
    assert_eq!(raw.call("POST", &hook, whisper).await.1["code"], 50027);
    raw.discord.click("ana", "general", &id, "Deny").err().unwrap();
}

#[tokio::test]
async fn a_late_callback_finds_nothing() {
    let raw = Raw::start(acme()).await;
    let (mut socket, _) = Socket::open(&raw, INTENTS).await;
    let id = card(&raw, &mut socket).await;
    raw.discord.click("bo", "general", &id, "Deny").unwrap();
    let (callback, ..) = next(&raw, &mut socket).await;
    raw.later(TimeDelta::milliseconds(3_001));
    let (status, late) = raw.call("POST", &callback, json!({"type": 6})).await;
    assert_eq!((status, late["code"].as_u64()), (404, Some(10062)));
    assert_eq!((raw.discord.list_unacknowledged().len(), raw.discord.list_failed().len()), (0, 1));
    raw.discord.click("sam", "general", &id, "Deny").err().unwrap();
}

#[tokio::test]
async fn a_deferral_decides_who_sees_the_answer() {
    let raw = Raw::start(acme()).await;
    raw.registers().await;
    let (mut socket, _) = Socket::open(&raw, INTENTS).await;
    raw.discord.run_command("ana", "general", "/nod", &json!({"send": {"to": "bo"}}));
    let (callback, hook, told) = next(&raw, &mut socket).await;
    assert_eq!(told["data"]["options"][0]["options"][0]["value"], "bo");
    assert_eq!(raw.call("POST", &callback, json!({"type": 5, "data": {"flags": 64}})).await.0, 204);
    assert!(raw.discord.ephemeral_texts("ana").is_empty());
    assert_eq!(
        raw.call("PATCH", &format!("{hook}/messages/@original"), json!({"content": "Sent."})).await.0,
        200
    );
    assert_eq!(raw.discord.ephemeral_texts("ana"), ["(ana only) nod: Sent."]);
    assert_eq!(raw.discord.channel_text("general"), "");
    assert_eq!(raw.discord.transcript("general"), "(ana only) nod: Sent.\n");
    raw.clean();
    raw.discord.try_run_command("ana", "general", "nod", &json!({"send": {}})).err().unwrap();
    raw.discord.try_run_command("ana", "general", "other", &json!({})).err().unwrap();
}

#[tokio::test]
async fn a_form_is_opened_filled_in_and_sent() {
    let raw = Raw::start(acme()).await;
    let (mut socket, _) = Socket::open(&raw, INTENTS).await;
    let id = card(&raw, &mut socket).await;
    raw.discord.click("ana", "general", &id, "Approve").unwrap();
    let (callback, ..) = next(&raw, &mut socket).await;
    let input = json!({"type": 4, "custom_id": "subject", "style": 1, "value": "Hi", "max_length": 9});
    let label = json!({"type": 18, "label": "Subject", "component": input});
    let modal = json!({"custom_id": "edit", "title": "Edit", "components": [label]});
    let (status, body) = raw.call("POST", &callback, json!({"type": 9, "data": modal.clone()})).await;
    assert_eq!(status, 204, "{body}");
    let form = raw.discord.forms("ana").remove(0);
    assert_eq!(raw.discord.read(|w| w.form_text(&form)), "# Edit\nSubject: Hi\n[Submit] [Cancel]");
    let typed = |text: &str| [("Subject".to_owned(), text.to_owned())].into();
    raw.discord.submit("ana", &typed("far too long")).err().unwrap();
    let pending = raw.discord.submit("ana", &typed("Hello")).unwrap();
    let (callback, _, told) = next(&raw, &mut socket).await;
    assert_eq!(told["data"]["components"][0]["component"]["value"], "Hello");
    assert_eq!(told["message"]["id"], json!(id));
    raw.clean();
    assert_eq!(raw.call("POST", &callback, json!({"type": 9, "data": modal})).await.0, 400);
    assert_eq!(
        raw.call("POST", &callback, json!({"type": 7, "data": v2(json!([text("Edited.")]))})).await.0,
        204
    );
    pending.wait_for_acknowledgement(SOON).await;
    assert!(raw.discord.forms("ana").is_empty());
    assert_eq!(raw.discord.channel_text("general"), "nod: Edited.\n");
}

#[tokio::test]
async fn broken_commands_and_modals_are_refused() {
    let raw = Raw::start(acme()).await;
    let path = format!("/applications/{}/commands", raw.app());
    let option = |name: &str, required: bool| json!({"type": 3, "name": name, "description": "d", "required": required});
    let broken = [
        json!([{"name": "Nod", "description": "d"}]),
        json!([{"name": "nod", "description": ""}]),
        json!([{"name": "nod", "description": "d", "options": [option("a", false), option("b", true)]}]),
        json!([{"name": "nod", "description": "d"}, {"name": "nod", "description": "e"}]),
    ];
    for (n, body) in broken.into_iter().enumerate() {
        assert_eq!(raw.call("PUT", &path, body.clone()).await.0, 400, "{body}");
        assert_eq!(raw.discord.violations().len(), n + 1);
    }
    assert_eq!(raw.get(&path).await, json!([]));
}
