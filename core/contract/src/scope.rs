//! The scope that every call of a tool or a model carries: tenant → case → workflow → run, and this call.

use serde::Serialize;

use crate::ids::{ConversationId, InvocationId, RunId, TenantId, TraceId};

/// What a call belongs to.
#[derive(Debug, Clone, Serialize)]
pub struct Scope {
    /// The organisation.
    pub tenant: TenantId,
    /// The conversation it serves.
    pub case: ConversationId,
    /// The kind of the graph.
    pub workflow: &'static str,
    /// Exactly one of the two kinds.
    pub run: RunOrIngestion,
    /// Ties together everything that one inbound caused.
    pub trace: TraceId,
    /// This call.
    pub invocation: InvocationId,
}

/// A call serves either a run of the graph or the ingestion of a document, never both and never neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOrIngestion {
    /// A run of the graph.
    RunId(RunId),
    /// A run of the document ingestion.
    IngestionRunId(RunId),
}

/// The workflow of chat conversations.
pub const CHAT: &str = "chat";
