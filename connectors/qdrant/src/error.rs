//! Which errors a retry may mend.

use std::time::Duration;

use nod_contract::vector_store::VectorStoreError;
use qdrant_client::QdrantError;
use tonic::{Code, Status};

/// The most characters of a server's message that are repeated.
const MAX_MESSAGE_LENGTH: usize = 300;

pub fn rejected(reason: impl Into<String>) -> VectorStoreError {
    VectorStoreError::Rejected { reason: reason.into() }
}

pub fn unavailable(reason: impl Into<String>) -> VectorStoreError {
    VectorStoreError::Unavailable { reason: reason.into(), retry_after: None }
}

/// Returns whether the collection does not exist.
pub fn is_not_found(error: &QdrantError) -> bool {
    matches!(error, QdrantError::ResponseError { status } if status.code() == Code::NotFound)
}

/// Sorts an error by whether a retry may mend it. Of the client's own text nothing is kept: it prints all headers.
pub fn classify(error: &QdrantError) -> VectorStoreError {
    match error {
        QdrantError::ResourceExhaustedError { status, retry_after_seconds } => {
            let retry_after = Some(Duration::from_secs(*retry_after_seconds));
            VectorStoreError::Unavailable { reason: describe(status), retry_after }
        }
        QdrantError::ResponseError { status } if is_transient(status.code()) => unavailable(describe(status)),
        QdrantError::ResponseError { status } => rejected(describe(status)),
        QdrantError::Io(error) => unavailable(error.kind().to_string()),
        _ => rejected("the client did not accept the request"),
    }
}

fn is_transient(code: Code) -> bool {
    matches!(
        code,
        Code::Unavailable
            | Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Unknown
            | Code::Internal
            | Code::Aborted
            | Code::ResourceExhausted
    )
}

fn describe(status: &Status) -> String {
    let message: String = status.message().chars().take(MAX_MESSAGE_LENGTH).collect();
    format!("{:?}: {message}", status.code())
}
