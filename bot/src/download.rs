//! Reading what somebody else sends, up to a length.

use futures::StreamExt;
use nod_contract::chat::FetchError;

/// The body of an answer, at most so many bytes.
pub(crate) async fn bounded(answer: reqwest::Response, most: usize) -> Result<Vec<u8>, FetchError> {
    if answer.content_length().is_some_and(|length| length > most as u64) {
        return Err(FetchError::TooLarge);
    }
    let mut bytes = Vec::new();
    let mut stream = answer.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| FetchError::Lost("it broke off".to_owned()))?;
        if bytes.len() + chunk.len() > most {
            return Err(FetchError::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
