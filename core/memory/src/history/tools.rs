//! Tools that read a thread or a channel on demand: bounded, only if the requester is a member, and stored only in the
//! run's own record.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::{lines, load_names};
use nod_contract::chat::{Adapters, ChannelRef, ChatAdapter, ChatError, HistoryRange};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::tool::{
    FollowUp, Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec,
};
use nod_people::conversations::{self, ConversationLocation};
use nod_people::people;

const THREAD: &str = "chat_read_thread";
const CHANNEL: &str = "chat_read_channel";
/// The most messages that one call reads, and the most characters that it returns.
const MAX_MESSAGES: usize = 200;
const MAX_CHARS: usize = 20_000;
/// How far back a channel is read by default, in days.
const DEFAULT_DAYS: i64 = 7;

/// Whether a tool reads other people's messages.
pub fn is_chat_history_tool(tool: &str) -> bool {
    [THREAD, CHANNEL].contains(&tool)
}

/// Returns the two tools.
pub fn tools(pool: &PgPool, adapters: &Adapters) -> Vec<Tool> {
    let reader = HistoryReader { pool: pool.clone(), adapters: adapters.clone() };
    vec![
        Tool::Read(Arc::new(ReadThread { spec: thread_spec(), reader: reader.clone() })),
        Tool::Read(Arc::new(ReadChannel { spec: channel_spec(), reader })),
    ]
}

fn spec(name: &'static str, description: &'static str, parameters: Value, doing: &'static str) -> ToolSpec {
    ToolSpec { name, description, parameters, reach: Reach::Reads, provider: None, status_text: doing }
}

fn thread_spec() -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {}, "additionalProperties": false});
    spec(THREAD, include_str!("../../prompts/chat_read_thread.md"), parameters, "Reading the thread")
}

fn channel_spec() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {
            "channel": {
                "type": "string",
                "description": "The channel's name, such as launch, if it is not the one the person is in.",
            },
            "days": {
                "type": "integer", "minimum": 1, "maximum": 90,
                "description": "How many days back; 7 if left out.",
            },
        },
        "additionalProperties": false,
    });
    spec(CHANNEL, include_str!("../../prompts/chat_read_channel.md"), parameters, "Reading the channel")
}

struct ReadThread {
    spec: ToolSpec,
    reader: HistoryReader,
}

struct ReadChannel {
    spec: ToolSpec,
    reader: HistoryReader,
}

#[async_trait]
impl ReadTool for ReadThread {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, _args: &Value) -> ToolResult {
        let asked = self.reader.load_request(cx).await?;
        if asked.venue.channel_ref.thread.is_none() {
            let what = "a thread here. This isn't a thread, so read the channel instead";
            return Err(ToolError::NotFound { what: what.to_owned() });
        }
        let place = asked.venue.channel_ref.clone();
        let bound = HistoryRange { since: None, before: None, limit: MAX_MESSAGES };
        self.reader.read(cx, &asked, &place, &bound, "messages in this thread").await
    }
}

#[async_trait]
impl ReadTool for ReadChannel {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let asked = self.reader.load_request(cx).await?;
        let days = args["days"].as_i64().unwrap_or(DEFAULT_DAYS);
        let bound =
            HistoryRange { since: Some(cx.now - TimeDelta::days(days)), before: None, limit: MAX_MESSAGES };
        let (channel, source) =
            match args["channel"].as_str().map(strip_channel_markup).filter(|name| !name.is_empty()) {
                Some(name) => (self.reader.find_channel(&asked, name).await?, format!("messages in #{name}")),
                None => (asked.venue.channel_ref.channel.clone(), "messages in this channel".to_owned()),
            };
        let direct = asked.venue.channel_ref.is_dm && channel == asked.venue.channel_ref.channel;
        let place = ChannelRef { channel, is_dm: direct, thread: None };
        self.reader.read(cx, &asked, &place, &bound, &source).await
    }
}

/// Strips the marks of `#launch` and `<#C1>`.
fn strip_channel_markup(written: &str) -> &str {
    written.trim().trim_start_matches(['<', '#']).trim_end_matches('>')
}

/// The requester and where they asked.
struct ReadRequest {
    venue: ConversationLocation,
    user: String,
    adapter: Arc<dyn ChatAdapter>,
}

#[derive(Clone)]
struct HistoryReader {
    pool: PgPool,
    adapters: Adapters,
}

impl HistoryReader {
    async fn load_request(&self, cx: &ToolContext) -> Result<ReadRequest, ToolError> {
        let broken =
            |error: sqlx::Error| ToolError::internal(format!("I can't look that up right now: {error}"));
        let (tenant, person) = (cx.scope.tenant, cx.principal.person);
        let mut conn = self.pool.acquire().await.map_err(broken)?;
        let venue = conversations::load_location(&mut conn, tenant, cx.scope.case).await.map_err(broken)?;
        let user =
            people::sql::find_user_id(&mut conn, tenant, person, &venue.platform, &venue.workspace).await;
        let user = user.map_err(broken)?.ok_or_else(|| forbidden_error("I don't know who is asking"))?;
        let adapter = self.adapters.get(&venue.platform).cloned();
        Ok(ReadRequest {
            adapter: adapter.ok_or_else(|| ToolError::internal("no such platform here"))?,
            venue,
            user,
        })
    }

    /// Finds a channel by its name or id, among those that Nod is in.
    async fn find_channel(&self, asked: &ReadRequest, name: &str) -> Result<String, ToolError> {
        let channels = asked.adapter.list_channels(&asked.venue.workspace).await.map_err(into_tool_error)?;
        let fits = |(id, called): &&(String, String)| id == name || called.eq_ignore_ascii_case(name);
        channels.iter().find(fits).map(|(id, _)| id.clone()).ok_or_else(|| {
            forbidden_error(&format!("I'm not in #{name}. Someone there can add me with /invite"))
        })
    }

    /// Reads for a member of the channel. What comes from another channel is only for them.
    async fn read(
        &self,
        cx: &ToolContext,
        asked: &ReadRequest,
        place: &ChannelRef,
        bound: &HistoryRange,
        source: &str,
    ) -> ToolResult {
        let ReadRequest { venue, user, adapter } = asked;
        let here = place.channel == venue.channel_ref.channel;
        if !place.is_dm
            && !adapter
                .is_channel_member(&venue.workspace, &place.channel, user)
                .await
                .map_err(into_tool_error)?
        {
            return Err(forbidden_error("you're not in that channel, so I can't read it for you"));
        }
        let said = adapter.list_messages(&venue.workspace, place, bound).await.map_err(into_tool_error)?;
        let names = load_names(&self.pool, cx.scope.tenant, &venue.platform, &venue.workspace, &said).await;
        let names =
            names.map_err(|error| ToolError::internal(format!("I can't look that up right now: {error}")))?;
        let count = said.len();
        let text = lines(&said, &names, &cx.principal.zone, MAX_CHARS);
        Ok(ToolOutput {
            content: json!({"messages": count, "all": count < bound.limit, "said": text}),
            provenance: Provenance::untrusted(source),
            audience: if here { Audience::Channel } else { Audience::Person(cx.principal.person) },
            verbatim: None,
            follow_up: FollowUp::Nothing,
            note: None,
            items: Vec::new(),
        })
    }
}

fn forbidden_error(reason: &str) -> ToolError {
    ToolError::Forbidden { reason: reason.to_owned() }
}

fn into_tool_error(error: ChatError) -> ToolError {
    match error {
        ChatError::RateLimited { retry_after_secs: after_seconds } => {
            ToolError::RateLimited { retry_after_secs: after_seconds }
        }
        ChatError::ChannelClosed { code } if code == "thread_not_found" => {
            ToolError::NotFound { what: "the thread. It was deleted".to_owned() }
        }
        ChatError::ChannelClosed { .. } => {
            forbidden_error("I'm not in that channel. Someone there can add me with /invite")
        }
        ChatError::Rejected { code } => forbidden_error(&format!("the chat didn't allow it ({code})")),
        ChatError::Gone => ToolError::NotFound { what: "the message. It was deleted".to_owned() },
        ChatError::UnknownOutcome(reason) => ToolError::internal(format!("the chat didn't answer: {reason}")),
    }
}
