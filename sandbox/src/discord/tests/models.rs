//! The client library that the app uses must be able to parse every event.

use serde_json::{Value, json};
use serenity::model::application::CurrentApplicationInfo;
use serenity::model::channel::Message;
use serenity::model::event::{Event, GatewayEvent};

use super::{INTENTS, Raw, Socket, acme, button, text, v2};

/// Returns the next frame, which the library must parse too.
async fn read(socket: &mut Socket) -> Value {
    let frame = socket.next().await;
    let read: Result<GatewayEvent, _> = serde_json::from_value(frame.clone());
    let event = read.unwrap_or_else(|error| panic!("{error}\n{frame:#}"));
    assert!(!matches!(event, GatewayEvent::Dispatch(_, Event::Unknown(_))), "{frame:#}");
    frame
}

async fn expect(socket: &mut Socket, names: &[&str]) -> Value {
    let mut last = Value::Null;
    for name in names {
        last = read(socket).await;
        assert_eq!(last["t"], *name, "{last:#}");
    }
    last
}

#[tokio::test]
async fn the_library_reads_every_event() {
    let raw = Raw::start(acme()).await;
    raw.registers().await;
    let mut socket = Socket::connect(&raw).await;
    socket.identify(&raw, INTENTS).await;
    expect(&mut socket, &["READY", "GUILD_CREATE"]).await;
    let ts = raw.discord.post_message("ana", "general", None, "@nod hi @bo");
    raw.discord.edit("ana", "general", &ts, "@nod hello");
    raw.discord.post_message("ana", "general", Some(&ts), "below");
    raw.discord.post_message("ana", "dm:ana", None, "direct");
    let names = [
        "MESSAGE_CREATE",
        "MESSAGE_UPDATE",
        "THREAD_CREATE",
        "MESSAGE_UPDATE",
        "MESSAGE_CREATE",
        "MESSAGE_CREATE",
        "MESSAGE_CREATE",
    ];
    expect(&mut socket, &names).await;
    let late = raw.discord.add_channel(crate::discord::Channel::new("late", &["ana"]));
    raw.discord.remove_channel(&late);
    raw.discord.join("sam");
    raw.discord.leave("sam");
    let extra = raw.discord.post_message("bo", "general", None, "gone soon");
    raw.discord.delete("bo", "general", &extra);
    let names = [
        "CHANNEL_CREATE",
        "CHANNEL_DELETE",
        "GUILD_MEMBER_ADD",
        "GUILD_MEMBER_REMOVE",
        "MESSAGE_CREATE",
        "MESSAGE_DELETE",
    ];
    expect(&mut socket, &names).await;
    raw.discord.remove_bot();
    raw.discord.post_message("ana", "general", None, "@nod are you there?");
    assert_eq!(raw.get("/users/@me/guilds").await, json!([]));
    raw.discord.add_bot();
    expect(&mut socket, &["GUILD_DELETE", "GUILD_CREATE"]).await;
    raw.clean();
}

#[tokio::test]
async fn the_library_reads_every_interaction() {
    let raw = Raw::start(acme()).await;
    raw.registers().await;
    let mut socket = Socket::connect(&raw).await;
    socket.identify(&raw, INTENTS).await;
    expect(&mut socket, &["READY", "GUILD_CREATE"]).await;
    let row = json!({"type": 1, "components": [button("yes", "Approve")]});
    let card = raw.says(v2(json!([{"type": 17, "components": [text("### Send?"), row]}]))).await;
    expect(&mut socket, &["MESSAGE_CREATE"]).await;
    let id = card["id"].as_str().unwrap();
    raw.discord.use_message_command("ana", "general", id, "Ask Nod").unwrap();
    raw.discord.run_command("ana", "dm:ana", "nod", &json!({"send": {"to": "bo"}}));
    raw.discord.run_command("ana", "general", "nod", &json!({"send": {"to": "bo"}}));
    let told = expect(&mut socket, &["INTERACTION_CREATE"; 3]).await["d"].clone();
    let callback = |told: &Value| {
        format!("/interactions/{}/{}/callback", told["id"].as_str().unwrap(), told["token"].as_str().unwrap())
    };
    let say = json!({"type": 4, "data": {"content": "Sent."}});
    let path = format!("{}?with_response=true", callback(&told));
    let (status, answer) = raw.call("POST", &path, say).await;
    assert_eq!(status, 200, "{answer}");
    expect(&mut socket, &["MESSAGE_CREATE"]).await;
    raw.discord.click("ana", "general", id, "Approve").unwrap();
    let pressed = expect(&mut socket, &["INTERACTION_CREATE"]).await["d"].clone();
    let input = json!({"type": 4, "custom_id": "subject", "style": 2});
    let label = json!({"type": 18, "label": "Subject", "component": input});
    let modal = json!({"custom_id": "edit", "title": "Edit", "components": [label]});
    let (status, answer) = raw.call("POST", &callback(&pressed), json!({"type": 9, "data": modal})).await;
    assert_eq!(status, 204, "{answer}");
    raw.discord.submit("ana", &[("Subject".to_owned(), "Hi".to_owned())].into()).unwrap();
    let sent = expect(&mut socket, &["INTERACTION_CREATE"]).await["d"].clone();
    let say = json!({"type": 4, "data": {"content": "Edited."}});
    assert_eq!(raw.call("POST", &callback(&sent), say).await.0, 204);
    expect(&mut socket, &["MESSAGE_CREATE"]).await;
    let history = raw.get(&format!("/channels/{}/messages", raw.channel("general"))).await;
    let _: Vec<Message> = serde_json::from_value(history).unwrap();
    let app = raw.get("/oauth2/applications/@me").await;
    let _: CurrentApplicationInfo = serde_json::from_value(app).unwrap();
    raw.clean();
}
