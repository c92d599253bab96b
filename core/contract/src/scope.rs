//! The scope that every call of a tool or a model carries: tenant → case → workflow → run, and this call.

use serde::Serialize;

use crate::ids::{ConversationId, InvocationId, RunId, TenantId, TraceId};

/// On whose books a call stands.
#[derive(Debug, Clone, Serialize)]
pub struct Scope {
    /// The organisation.
    pub tenant: TenantId,
    /// The conversation it serves.
    pub case: ConversationId,
    /// The kind of graph.
    pub workflow: &'static str,
    /// Exactly one of the two.
    pub run: RunOrIngestion,
    /// What one inbound caused.
    pub trace: TraceId,
    /// This call.
    pub invocation: InvocationId,
}

/// A call serves a run of the graph or the ingestion of a document, never both, never neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOrIngestion {
    /// A run of the graph.
    RunId(RunId),
    /// A run of the ingestion.
    IngestionRunId(RunId),
}

/// The workflow of a conversation.
pub const CHAT: &str = "chat";
