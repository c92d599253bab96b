//! The real client.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use futures::StreamExt;
use serde_json::{Value, json};

use super::{fixture, merged, tool, user_request};
use crate::model::Answer;

#[tokio::test]
async fn the_real_client_streams_a_tool_call() {
    let world = fixture(false).await;
    let arguments = json!({"to": ["bo@acme.test"]});
    world.model.will(Answer::tool("gmail_send_email", arguments.clone()));
    let config = OpenAIConfig::new().with_api_base(world.model.base_url()).with_api_key("sk-test");
    let client = Client::with_config(config);
    let tools =
        json!({"tools": [tool("gmail_send_email", &json!({"to": {"type": "array"}}))], "stream": true});
    let request: async_openai::types::chat::CreateChatCompletionRequest =
        serde_json::from_value(merged(user_request("write to Bo"), &tools)).unwrap();
    let mut stream = client.chat().create_stream(request).await.unwrap();
    let (mut text, mut finish) = (String::new(), None);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.unwrap();
        for choice in chunk.choices {
            finish = finish.or(choice.finish_reason);
            for call in choice.delta.tool_calls.into_iter().flatten() {
                text.push_str(&call.function.and_then(|function| function.arguments).unwrap_or_default());
            }
        }
    }
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), arguments);
    assert_eq!(finish, Some(async_openai::types::chat::FinishReason::ToolCalls));
    assert!(world.model.violations().is_empty(), "{:?}", world.model.violations());
}
