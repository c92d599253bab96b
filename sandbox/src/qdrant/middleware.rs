//! What each request passes first: the key, and the faults.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::state::Shared;
use crate::Fault;
use crate::serve::respond_with_fault;

/// Answered without a key, as by the real server.
const OPEN: &str = "qdrant.health_check";

pub(super) async fn pass(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let operation = operation(request.uri().path());
    shared.state().operations.push(operation.clone());
    let given = request.headers().get("api-key").and_then(|key| key.to_str().ok());
    if operation != OPEN && shared.api_key.is_some() && given != shared.api_key.as_deref() {
        return Status::unauthenticated("Must provide an API key or an Authorization bearer token")
            .into_http::<Body>();
    }
    match shared.faults.take(&operation) {
        Some(Fault::Status { code, retry_after } | Fault::ErrorReason { code, retry_after, .. }) => {
            failure(code, retry_after).into_http::<Body>()
        }
        fault => respond_with_fault(fault, next.run(request)).await,
    }
}

/// Returns `points.query_batch` for `/qdrant.Points/QueryBatch`.
fn operation(path: &str) -> String {
    let path = path.trim_start_matches("/qdrant.");
    let mut operation = String::new();
    for c in path.chars() {
        match c {
            '/' => operation.push('.'),
            c if c.is_ascii_uppercase() => {
                if !operation.is_empty() && !operation.ends_with('.') {
                    operation.push('_');
                }
                operation.push(c.to_ascii_lowercase());
            }
            c => operation.push(c),
        }
    }
    operation
}

fn failure(code: u16, retry_after: Option<u64>) -> Status {
    let code = match code {
        400 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        409 => Code::AlreadyExists,
        412 => Code::FailedPrecondition,
        429 => Code::ResourceExhausted,
        500 => Code::Internal,
        503 => Code::Unavailable,
        504 => Code::DeadlineExceeded,
        _ => Code::Unknown,
    };
    let mut metadata = MetadataMap::new();
    if let Some(seconds) = retry_after {
        metadata.insert("retry-after", seconds.into());
    }
    Status::with_metadata(code, "a planned fault", metadata)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_operation_is_named_after_service_and_method() {
        assert_eq!(super::operation("/qdrant.Points/QueryBatch"), "points.query_batch");
        assert_eq!(super::operation("/qdrant.Qdrant/HealthCheck"), super::OPEN);
    }
}
