//! Reads a body: JSON, or a multipart form with `payload_json` and `files[n]`.

use axum::http::header;
use serde_json::{Value, json};

use super::super::rejection::Rejection;
use super::Request;

/// Ten, as in Discord.
const FILES: usize = 10;
const FILE_MAX: usize = 10 << 20;

/// A file sent with a message.
pub(in crate::discord) struct File {
    pub number: usize,
    pub name: String,
    pub kind: String,
    pub bytes: Vec<u8>,
}

/// Parses the body into the request.
pub(super) fn read(request: &mut Request, body: &[u8]) -> Result<(), Rejection> {
    let kind = request.header(header::CONTENT_TYPE).to_owned();
    if body.is_empty() {
        return Ok(());
    }
    if kind.starts_with("application/json") {
        request.body = serde_json::from_slice(body).map_err(|_| invalid())?;
        return Ok(());
    }
    let Some((_, boundary)) =
        kind.split_once("boundary=").filter(|_| kind.starts_with("multipart/form-data"))
    else {
        return Err(Rejection::violation(400, 50035, "Unsupported Content-Type"));
    };
    request.body = json!({});
    for part in parts(body, boundary.trim_matches('"')) {
        take(request, part)?;
    }
    if request.files.len() > FILES {
        return Err(Rejection::field("files", "Must be 10 or fewer in length."));
    }
    // Discord's own examples number new files with numbers; its schema allows only strings and is checked before.
    let known = |f: &File, listed: &[Value]| {
        listed.iter().any(|a| a["id"].as_str().and_then(|id| id.parse().ok()) == Some(f.number))
    };
    if let Some(listed) = request.body["attachments"].as_array()
        && !request.files.iter().all(|f| known(f, listed))
    {
        return Err(Rejection::field("attachments", "A file is missing among them."));
    }
    Ok(())
}

fn invalid() -> Rejection {
    Rejection::violation(400, 50109, "The request body contains invalid JSON.")
}

fn take(request: &mut Request, part: &[u8]) -> Result<(), Rejection> {
    let at = find(part, b"\r\n\r\n").ok_or_else(invalid)?;
    let head = String::from_utf8_lossy(&part[..at]).into_owned();
    let bytes = &part[at + 4..];
    let name = attribute(&head, "name").unwrap_or_default();
    if name == "payload_json" {
        request.body = serde_json::from_slice(bytes).map_err(|_| invalid())?;
        return Ok(());
    }
    let number = name.strip_prefix("files[").and_then(|n| n.strip_suffix(']')).and_then(|n| n.parse().ok());
    let (Some(number), Some(filename)) = (number, attribute(&head, "filename")) else {
        return Err(Rejection::field(&name, "Is neither payload_json nor files[n] with a filename."));
    };
    if bytes.len() > FILE_MAX {
        return Err(Rejection::violation(413, 40005, "Request entity too large"));
    }
    let typed =
        head.lines().find_map(|l| l.to_ascii_lowercase().strip_prefix("content-type:").map(str::to_owned));
    let kind = typed.map_or_else(|| "application/octet-stream".to_owned(), |t| t.trim().to_owned());
    request.files.push(File { number, name: filename, kind, bytes: bytes.to_vec() });
    Ok(())
}

fn attribute(head: &str, name: &str) -> Option<String> {
    let line = head.lines().find(|l| l.to_ascii_lowercase().starts_with("content-disposition:"))?;
    let wanted = format!("{name}=");
    let found = line.split(';').find_map(|p| p.trim().strip_prefix(wanted.as_str()))?;
    Some(found.trim_matches('"').to_owned())
}

fn find(within: &[u8], wanted: &[u8]) -> Option<usize> {
    within.windows(wanted.len()).position(|w| w == wanted)
}

/// Returns the parts between the boundaries, without their line breaks.
fn parts<'a>(body: &'a [u8], boundary: &str) -> Vec<&'a [u8]> {
    let line = format!("--{boundary}");
    let (mut parts, mut rest) = (Vec::new(), body);
    while let Some(at) = find(rest, line.as_bytes()) {
        if at > 0 {
            let part = &rest[..at];
            parts.push(part.strip_suffix(b"\r\n").unwrap_or(part));
        }
        rest = &rest[at + line.len()..];
        if rest.starts_with(b"--") {
            break;
        }
        rest = rest.strip_prefix(b"\r\n").unwrap_or(rest);
    }
    parts
}
