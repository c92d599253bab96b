use std::sync::Arc;

use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use slack_morphism::prelude::*;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Raw, SOON, acme, general, id};

/// The real client over plain HTTP.
type Plain = SlackClient<SlackClientHyperConnector<HttpConnector>>;

/// What the callbacks received.
#[derive(Clone)]
struct Seen(UnboundedSender<String>);

async fn handle_push_event(
    event: SlackPushEventCallback,
    _: Arc<Plain>,
    states: SlackClientEventsUserState,
) -> UserCallbackResult<()> {
    let word = match &event.event {
        SlackEventCallbackBody::Message(m) => format!("message {:?}", m.subtype),
        SlackEventCallbackBody::AppMention(m) => format!("mention by {}", m.user),
        other => format!("{other:?}"),
    };
    note(&states, word).await;
    Ok(())
}

async fn handle_interaction(
    event: SlackInteractionEvent,
    _: Arc<Plain>,
    states: SlackClientEventsUserState,
) -> UserCallbackResult<SlackInteractionResponse> {
    if let SlackInteractionEvent::BlockActions(press) = event {
        let action = press.actions.unwrap().remove(0);
        note(&states, format!("{} {}", action.action_id, action.value.unwrap())).await;
    }
    Ok(SlackInteractionResponse::Empty)
}

async fn handle_command_event(
    event: SlackCommandEvent,
    _: Arc<Plain>,
    _: SlackClientEventsUserState,
) -> UserCallbackResult<SlackCommandEventResponse> {
    let text = format!("You said {}", event.text.unwrap_or_default());
    Ok(SlackCommandEventResponse::new(SlackMessageContent::new().with_text(text)))
}

async fn note(states: &SlackClientEventsUserState, word: String) {
    let states = states.read().await;
    states.get_user_state::<Seen>().unwrap().0.send(word).unwrap();
}

fn client(raw: &Raw) -> Arc<Plain> {
    let connector = SlackClientHyperConnector::with_connector(HttpConnector::new());
    Arc::new(SlackClient::new(connector.with_slack_api_url(&raw.slack.api_url())))
}

type Manager = SlackClientSocketModeListener<SlackClientHyperConnector<HttpConnector>>;

async fn listening(raw: &Raw, client: &Arc<Plain>, seen: Seen) -> Manager {
    let callbacks = SlackSocketModeListenerCallbacks::new()
        .with_push_events(handle_push_event)
        .with_interaction_events(handle_interaction)
        .with_command_events(handle_command_event);
    let environment =
        Arc::new(SlackClientEventsListenerEnvironment::new(client.clone()).with_user_state(seen));
    let config = SlackClientSocketModeConfig::new().with_max_connections_count(1);
    let listener = SlackClientSocketModeListener::new(&config, environment, callbacks);
    let token = SlackApiToken::new(raw.slack.read(|w| w.config.app.app_token.clone()).into());
    listener.listen_for(&token).await.unwrap();
    listener.start().await;
    raw.slack.wait_until_connected(SOON).await;
    listener
}

#[tokio::test]
async fn the_real_client_reads_every_answer() {
    let raw = Raw::start(acme()).await;
    let client = client(&raw);
    let token = SlackApiToken::new(raw.token.clone().into());
    let session = client.open_session(&token);
    assert_eq!(session.auth_test().await.unwrap().team_id.to_string(), "T0ACME0001");
    let people = session.users_list(&SlackApiUsersListRequest::new().with_limit(2)).await.unwrap();
    assert_eq!(people.members.len(), 2);
    assert!(people.response_metadata.unwrap().next_cursor.is_some());
    let ana = SlackApiUsersInfoRequest::new(id("ana").into());
    let ana = session.users_info(&ana).await.unwrap().user;
    assert_eq!(ana.profile.unwrap().email.unwrap().to_string(), "ana@acme.test");
    let dm = SlackApiConversationsOpenRequest::new().with_users(vec![id("ana").into()]);
    let dm = session.conversations_open_full(&dm).await.unwrap().channel;
    assert_eq!(dm.id.to_string(), raw.slack.dm("ana"));
    for channel in [general(), raw.slack.dm("ana")] {
        session.conversations_info(&SlackApiConversationsInfoRequest::new(channel.into())).await.unwrap();
    }
    raw.slack.post_message("ana", "general", None, "hello @bo, see https://x.test and *bold*");
    let history = SlackApiConversationsHistoryRequest::new().with_channel(general().into());
    let history = session.conversations_history(&history).await.unwrap();
    assert_eq!(history.messages.len(), 1);
    session.team_info(&SlackApiTeamInfoRequest::new()).await.unwrap();
    session.bots_info(&SlackApiBotsInfoRequest::new()).await.unwrap();
    let list = SlackApiConversationsListRequest::new();
    assert_eq!(session.conversations_list(&list).await.unwrap().channels.len(), 2);
    assert!(raw.slack.violations().is_empty(), "{:?}", raw.slack.violations());
}

#[tokio::test]
async fn a_conversation_with_the_real_client() {
    let raw = Raw::start(acme()).await;
    let client = client(&raw);
    let (sender, mut seen) = unbounded_channel();
    let listener = listening(&raw, &client, Seen(sender)).await;
    raw.slack.post_message("ana", "general", None, "@nod hi");
    assert_eq!(seen.recv().await.unwrap(), format!("mention by {}", id("ana")));
    assert_eq!(seen.recv().await.unwrap(), "message None");

    let token = SlackApiToken::new(raw.token.clone().into());
    let session = client.open_session(&token);
    let blocks: Vec<SlackBlock> = slack_blocks![
        some_into(SlackSectionBlock::new().with_text(md!("*Send?*"))),
        some_into(SlackActionsBlock::new(slack_blocks![some_into(
            SlackBlockButtonElement::new(pt!("Approve"))
                .with_action_id("approve".into())
                .with_value("7".into())
        )]))
    ];
    let content = SlackMessageContent::new().with_text("Send?".into()).with_blocks(blocks.clone());
    let posted = SlackApiChatPostMessageRequest::new(general().into(), content.clone());
    let posted = session.chat_post_message(&posted).await.unwrap();
    assert_eq!(seen.recv().await.unwrap(), "message None");
    let pending = raw.slack.click("bo", "general", posted.ts.as_ref(), "approve").unwrap();
    assert_eq!(seen.recv().await.unwrap(), "approve 7");
    pending.wait_for_acknowledgement(SOON).await;

    let update = SlackApiChatUpdateRequest::new(
        general().into(),
        SlackMessageContent::new().with_text("Sent".into()),
        posted.ts.clone(),
    );
    session.chat_update(&update).await.unwrap();
    assert_eq!(seen.recv().await.unwrap(), "message Some(MessageChanged)");
    let whisper = SlackApiChatPostEphemeralRequest::new(general().into(), id("ana").into(), content);
    session.chat_post_ephemeral(&whisper).await.unwrap();
    raw.slack.run_command("ana", "general", "/nod", "help").wait_for_acknowledgement(SOON).await;
    assert_eq!(raw.slack.ephemerals("ana")[1].text, "You said help");
    let status = json!({"channel_id": general(), "thread_ts": posted.ts.to_string(), "status": "thinks"});
    assert_eq!(raw.post("assistant.threads.setStatus", status).await["ok"], true);

    raw.slack.disconnect_sockets("refresh_requested");
    raw.slack
        .wait_for("a second ticket", SOON, |w| {
            (w.calls.iter().filter(|c| c.method == "apps.connections.open").count() == 2).then_some(())
        })
        .await;
    raw.slack.post_message("ana", "dm:ana", None, "still there?");
    assert_eq!(seen.recv().await.unwrap(), "message None");
    raw.slack
        .wait_for("quiet", SOON, |w| w.sockets.envelopes().iter().all(|e| e.took.is_some()).then_some(()))
        .await;
    assert!(raw.slack.violations().is_empty(), "{:?}", raw.slack.violations());
    listener.shutdown().await;
}
