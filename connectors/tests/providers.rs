//! The responses of each provider, as in its public documentation, and what the client makes of them. The payloads are
//! given exactly as they are sent.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use nod_connectors::llm::{Dialect, OpenAi, TierSettings};
use nod_contract::clock::SystemClock;
use nod_contract::model::{
    Completion, CompletionRequest, Model as _, ModelError, Tier, TokenSender, ToolDefinition, Turn, Usage,
};
use nod_contract::scope::{CHAT, RunOrIngestion, Scope};
use nod_sandbox::serve::Server;
use serde_json::{Value, json};

/// A response: a status, and a body that is JSON or the lines of a stream.
type Recorded = (u16, &'static str);

/// Plays recorded responses one after another, and records the requests.
struct Tape {
    server: Server,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Tape {
    async fn start(recorded: &[Recorded]) -> Self {
        let left: Arc<Mutex<VecDeque<Recorded>>> = Arc::new(Mutex::new(recorded.iter().copied().collect()));
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let heard = asked.clone();
        let play = move |body: String| {
            heard.lock().unwrap().push(serde_json::from_str(&body).unwrap_or_default());
            let next = left.lock().unwrap().pop_front();
            async move {
                let (status, text) = next.unwrap_or((500, "{}"));
                let stream = text.starts_with("data:") || text.starts_with(':');
                let kind = if stream { "text/event-stream" } else { "application/json" };
                (StatusCode::from_u16(status).unwrap(), [(header::CONTENT_TYPE, kind)], text).into_response()
            }
        };
        Self { server: Server::start(Router::new().fallback(play)).await.unwrap(), asked }
    }

    fn settings(&self, dialect: Dialect) -> TierSettings {
        TierSettings {
            base_url: self.server.url(),
            api_key: "sk-recorded".to_owned().into(),
            model: "asked".into(),
            temperature: None,
            timeout: Duration::from_secs(10),
            max_tokens: Some(100),
            dialect,
            fallback: None,
        }
    }

    fn client(&self, dialect: Dialect) -> OpenAi {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let tier = self.settings(dialect);
        OpenAi::new(tier.clone(), tier.clone(), tier, Arc::new(SystemClock)).unwrap()
    }

    fn requests(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

fn ask() -> CompletionRequest {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    CompletionRequest {
        tier: Tier::Reasoner,
        system: "You are Nod.".into(),
        turns: vec![Turn::Human { text: "Hello".into() }],
        tools: vec![Arc::new(ToolDefinition::new("look", "Looks.", &parameters))],
        response_schema: None,
    }
}

fn scope() -> Scope {
    let id = uuid::Uuid::nil();
    Scope {
        tenant: id.into(),
        case: id.into(),
        workflow: CHAT,
        run: RunOrIngestion::RunId(id.into()),
        trace: id.into(),
        invocation: id.into(),
    }
}

/// Sends one request, and returns the answer, the streamed text and the requests.
async fn send_request(
    recorded: &[Recorded],
    dialect: Dialect,
) -> (Result<Completion, ModelError>, String, Vec<Value>) {
    let tape = Tape::start(recorded).await;
    let (words, ear) = TokenSender::channel();
    let answer = tape.client(dialect).complete(&scope(), &ask(), &words).await;
    let heard = ear.borrow().clone();
    (answer, heard, tape.requests())
}

fn calls(answer: &Completion) -> Vec<(&str, &str)> {
    answer.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect()
}

#[tokio::test]
async fn openai() {
    let streamed = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null,"obfuscation":"a"}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{"content":"One moment."},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"look","arguments":""}}]},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}}]},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":0}}}

data: [DONE]

"#;
    let unsupported = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#;
    let (answer, heard, asked) =
        send_request(&[(400, unsupported), (200, streamed)], Dialect::default()).await;
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), heard.as_str()), ("One moment.", "One moment."));
    assert_eq!(calls(&answer), [("look", r#"{"q":"a"}"#)]);
    assert_eq!(answer.usage, Some(Usage { prompt: 9, completion: 4 }));
    assert_eq!(
        (asked[0].get("max_completion_tokens"), &asked[1]["max_completion_tokens"]),
        (None, &json!(100))
    );

    let broke = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    let (answer, ..) = send_request(&[(429, broke)], Dialect::default()).await;
    assert!(matches!(answer, Err(ModelError::Rejected { status: 429, .. })), "{answer:?}");
}

#[tokio::test]
async fn anthropic() {
    let streamed = r#"data: {"id":"msg_01","choices":[{"index":0,"delta":{"role":"assistant","content":"Let me look."},"finish_reason":null}],"created":1,"model":"claude-sonnet-4-5","object":"chat.completion.chunk"}

data: {"id":"msg_01","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"toolu_01","type":"function","function":{"name":"look","arguments":""}}]},"finish_reason":null}],"model":"claude-sonnet-4-5","object":"chat.completion.chunk"}

data: {"id":"msg_01","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"q\": \"a\"}"}}]},"finish_reason":null}],"model":"claude-sonnet-4-5","object":"chat.completion.chunk"}

data: {"id":"msg_01","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"model":"claude-sonnet-4-5","object":"chat.completion.chunk","usage":{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11}}

data: [DONE]

"#;
    let (answer, ..) =
        send_request(&[(200, streamed)], Dialect { lone_system: true, ..Dialect::default() }).await;
    let answer = answer.unwrap();
    assert_eq!((calls(&answer), answer.calls[0].id.as_str()), (vec![("look", r#"{"q": "a"}"#)], "toolu_01"));

    let poor = r#"{"error":{"code":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.","type":"invalid_request_error","param":null}}"#;
    let (answer, _, asked) = send_request(&[(400, poor)], Dialect::default()).await;
    assert!(matches!(answer, Err(ModelError::Rejected { status: 400, .. })), "{answer:?}");
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn openrouter() {
    let streamed = r#": OPENROUTER PROCESSING

data: {"id":"gen-1","provider":"Novita","model":"deepseek/deepseek-r1","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Hm, secret","reasoning_details":[{"type":"reasoning.text","text":"Hm, secret"}]},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}

: OPENROUTER PROCESSING

data: {"id":"gen-1","provider":"Novita","model":"deepseek/deepseek-r1","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello."},"finish_reason":null,"native_finish_reason":null}]}

data: {"id":"gen-1","provider":"Novita","model":"deepseek/deepseek-r1","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop","native_finish_reason":"eos"}],"usage":{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11,"cost":0.01}}

data: [DONE]

"#;
    let broken = r#"data: {"id":"gen-1","model":"deepseek/deepseek-r1","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}

data: {"id":"gen-1","object":"chat.completion.chunk","created":1,"model":"deepseek/deepseek-r1","provider":"Novita","error":{"code":502,"message":"Provider disconnected unexpectedly"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}

"#;
    let (answer, heard, asked) = send_request(&[(200, broken), (200, streamed)], Dialect::default()).await;
    assert_eq!((answer.unwrap().text.as_str(), heard.as_str(), asked.len()), ("Hello.", "Hello.", 2));

    let no_tools = r#"{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}"#;
    let (answer, ..) = send_request(&[(404, no_tools)], Dialect::default()).await;
    assert_eq!(answer, Err(ModelError::ToolsUnsupported { model: "asked".into() }));
    let poor = r#"{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits","code":402}}"#;
    let (answer, ..) = send_request(&[(402, poor)], Dialect::default()).await;
    assert!(matches!(answer, Err(ModelError::Rejected { status: 402, .. })), "{answer:?}");
}

#[tokio::test]
async fn google() {
    let streamed = r#"data: {"choices":[{"delta":{"role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"arguments":"{\"q\":\"a\"}","name":"look"},"id":"function-call-1","index":0,"type":"function"}]},"finish_reason":null,"index":0}],"created":1,"id":"x","model":"gemini-3-pro","object":"chat.completion.chunk","usage":{"completion_tokens":3,"prompt_tokens":7,"total_tokens":10}}

data: {"choices":[{"delta":{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"q\":\"b\"}","name":"look"},"id":"function-call-2","index":0,"type":"function"}]},"finish_reason":"STOP","index":0}],"created":1,"id":"x","model":"gemini-3-pro","object":"chat.completion.chunk","usage":{"completion_tokens":6,"prompt_tokens":7,"total_tokens":13}}

data: [DONE]

"#;
    let refused = r#"[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.","status":"INVALID_ARGUMENT"}}]"#;
    let (answer, _, asked) = send_request(&[(400, refused), (200, streamed)], Dialect::default()).await;
    let answer = answer.unwrap();
    assert_eq!(calls(&answer), [("look", r#"{"q":"a"}"#), ("look", r#"{"q":"b"}"#)]);
    assert_eq!((answer.usage, asked.len()), (Some(Usage { prompt: 7, completion: 6 }), 2));
    let cut = r#"data: {"choices":[{"delta":{"role":"assistant","content":"Hello"},"finish_reason":"MAX_TOKENS","index":0}],"model":"gemini-3-pro"}

data: [DONE]

"#;
    let answer = send_request(&[(200, cut)], Dialect::default()).await.0.unwrap();
    assert!(answer.truncated && answer.usage.is_none());
}

#[tokio::test]
async fn groq() {
    let clumsy = r#"{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=look{\"q\"}"}}"#;
    let streamed = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen/qwen3-32b","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning":"secret"},"logprobs":null,"finish_reason":null}],"x_groq":{"id":"req_1"}}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen/qwen3-32b","choices":[{"index":0,"delta":{"content":"Hello."},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen/qwen3-32b","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"queue_time":0.1,"prompt_tokens":5,"completion_tokens":6,"total_tokens":11}}}

data: [DONE]

"#;
    let (answer, heard, _) = send_request(&[(400, clumsy), (200, streamed)], Dialect::default()).await;
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), heard.as_str()), ("Hello.", "Hello."));
    assert_eq!(answer.usage, Some(Usage { prompt: 5, completion: 6 }));
}

#[tokio::test]
async fn ollama() {
    let streamed = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"<think>\nsec"},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"ret</thi"},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"nk>\n\nHello."},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_x","index":0,"type":"function","function":{"name":"look","arguments":"{\"q\":\"a\"}"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}

data: [DONE]

"#;
    let (answer, heard, _) = send_request(&[(200, streamed)], Dialect::default()).await;
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), heard.as_str()), ("Hello.", "Hello."));
    assert_eq!((calls(&answer), answer.usage), (vec![("look", r#"{"q":"a"}"#)], None));
    let no_tools = r#"{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error","param":null,"code":null}}"#;
    let (answer, _, asked) = send_request(&[(400, no_tools)], Dialect::default()).await;
    assert_eq!((answer, asked.len()), (Err(ModelError::ToolsUnsupported { model: "asked".into() }), 1));
}

#[tokio::test]
async fn vllm() {
    let aloud = r#"data: {"id":"chat-1","object":"chat.completion.chunk","created":1,"model":"r1","choices":[{"index":0,"delta":{"content":"secret\n</think>\n\nHello."},"logprobs":null,"finish_reason":null}]}

data: {"id":"chat-1","object":"chat.completion.chunk","created":1,"model":"r1","choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}

data: [DONE]

"#;
    let tape = Tape::start(&[(200, aloud), (200, aloud)]).await;
    let client = tape.client(Dialect::default());
    // The first time this is unknown; from then on it is known, and the reasoning is not even streamed.
    for heard in [None, Some("Hello.")] {
        let (words, ear) = TokenSender::channel();
        assert_eq!(client.complete(&scope(), &ask(), &words).await.unwrap().text, "Hello.");
        assert!(heard.is_none_or(|heard| *ear.borrow() == heard), "{:?}", ear.borrow());
    }
    let strict = r#"{"object":"error","message":"System message must be at the beginning.","type":"BadRequestError","param":null,"code":400}"#;
    let parsed = r#"data: {"id":"chat-1","object":"chat.completion.chunk","created":1,"model":"r1","choices":[{"index":0,"delta":{"reasoning_content":"secret"},"finish_reason":null}]}

data: {"id":"chat-1","object":"chat.completion.chunk","created":1,"model":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"id":"chatcmpl-tool-1","type":"function","index":0,"function":{"name":"look"}}]},"finish_reason":null}]}

data: {"id":"chat-1","object":"chat.completion.chunk","created":1,"model":"r1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\": \"a\"}"}}]},"finish_reason":"tool_calls","stop_reason":null}]}

data: [DONE]

"#;
    let (answer, ..) = send_request(&[(400, strict), (200, parsed)], Dialect::default()).await;
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), calls(&answer)), ("", vec![("look", r#"{"q": "a"}"#)]));
    let no_tools = r#"{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}}"#;
    let (answer, ..) = send_request(&[(400, no_tools)], Dialect::default()).await;
    assert_eq!(answer, Err(ModelError::ToolsUnsupported { model: "asked".into() }));
}
