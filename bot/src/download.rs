//! Downloads with a size limit.

use futures::StreamExt;
use nod_contract::chat::DownloadError;

/// Returns the body of a response, at most `most` bytes.
pub(crate) async fn read_limited(answer: reqwest::Response, most: usize) -> Result<Vec<u8>, DownloadError> {
    if answer.content_length().is_some_and(|length| length > most as u64) {
        return Err(DownloadError::TooLarge);
    }
    let mut bytes = Vec::new();
    let mut stream = answer.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| DownloadError::NoResponse("it broke off".to_owned()))?;
        if bytes.len() + chunk.len() > most {
            return Err(DownloadError::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
