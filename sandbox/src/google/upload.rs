//! The bodies of writes: plain JSON, bare mail, or both in one `multipart/related`.

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde_json::Value;

/// A request's body.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The JSON part; null if there was none.
    pub json: Value,
    /// The mail next to it.
    pub media: Option<Vec<u8>>,
}

impl Body {
    /// Parses a request's body. `upload` is the `uploadType`, if the request was sent to `/upload/…`.
    ///
    /// # Errors
    /// If Google would call it a bad request.
    pub fn read(headers: &HeaderMap, upload: Option<&str>, bytes: &[u8]) -> Result<Self, String> {
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match upload {
            None => Ok(Self { json: json(kind, bytes)?, media: None }),
            Some("media") => Ok(Self { json: Value::Null, media: Some(media(kind, bytes)?) }),
            Some("multipart") => related(kind, bytes),
            Some(other) => Err(format!("Invalid upload request: uploadType {other} is not known here")),
        }
    }
}

fn json(kind: &str, bytes: &[u8]) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if !essence(kind).eq_ignore_ascii_case("application/json") {
        return Err(format!("Invalid content type: {kind}"));
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|_| "Invalid JSON payload received.")?;
    if value.is_object() { Ok(value) } else { Err("Invalid JSON payload received: no object".to_owned()) }
}

fn media(kind: &str, bytes: &[u8]) -> Result<Vec<u8>, String> {
    if !essence(kind).to_ascii_lowercase().starts_with("message/") {
        return Err(format!(
            "Media type '{}' is not supported. Valid media types: [message/*]",
            essence(kind)
        ));
    }
    if bytes.is_empty() {
        return Err("The media part is empty".to_owned());
    }
    Ok(bytes.to_vec())
}

fn essence(kind: &str) -> &str {
    kind.split(';').next().unwrap_or_default().trim()
}

fn boundary(kind: &str) -> Option<&str> {
    let parameters = kind.split(';').skip(1).filter_map(|one| one.trim().split_once('='));
    let (_, value) = { parameters }.find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    Some(value.trim_matches('"')).filter(|value| !value.is_empty())
}

fn related(kind: &str, bytes: &[u8]) -> Result<Body, String> {
    if !essence(kind).eq_ignore_ascii_case("multipart/related") {
        return Err(format!("Invalid upload request: {kind} is not multipart/related"));
    }
    let boundary = boundary(kind).ok_or("Missing multipart boundary")?;
    let parts = parts(boundary, bytes)?;
    let [first, second] = parts.as_slice() else {
        return Err(format!("Invalid multipart request with {} mime parts.", parts.len()));
    };
    Ok(Body { json: json(&first.kind, first.content)?, media: Some(media(&second.kind, second.content)?) })
}

#[derive(Debug)]
struct Part<'a> {
    kind: String,
    content: &'a [u8],
}

fn parts<'a>(boundary: &str, bytes: &'a [u8]) -> Result<Vec<Part<'a>>, String> {
    let delimiter = format!("--{boundary}");
    let marks = marks(delimiter.as_bytes(), bytes);
    let mut all = Vec::new();
    for pair in marks.windows(2) {
        let [from, to] = pair else { continue };
        let inside = bytes.get(from + delimiter.len()..*to).unwrap_or_default();
        all.push(part(inside)?);
    }
    let end = marks.last().map(|at| &bytes[at + delimiter.len()..]);
    match end {
        Some(end) if end.starts_with(b"--") => Ok(all),
        _ => Err("Malformed multipart body: the last boundary is missing".to_owned()),
    }
}

// A delimiter counts only at the start of a line, because the mail inside may mention it.
fn marks(delimiter: &[u8], bytes: &[u8]) -> Vec<usize> {
    let at_line = |at: usize| at == 0 || bytes.get(at - 1) == Some(&b'\n');
    let all = bytes.windows(delimiter.len()).enumerate();
    all.filter(|(at, window)| *window == delimiter && at_line(*at)).map(|(at, _)| at).collect()
}

fn part(inside: &[u8]) -> Result<Part<'_>, String> {
    let inside = inside.strip_prefix(b"\r\n").or(inside.strip_prefix(b"\n")).unwrap_or(inside);
    let (head, content) = match find(inside, b"\r\n\r\n") {
        Some(at) => (&inside[..at], &inside[at + 4..]),
        None => {
            let at = find(inside, b"\n\n").ok_or("Malformed multipart body")?;
            (&inside[..at], &inside[at + 2..])
        }
    };
    let content = content.strip_suffix(b"\r\n").or(content.strip_suffix(b"\n")).unwrap_or(content);
    let head = String::from_utf8_lossy(head);
    let kind = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-type").then(|| value.trim().to_owned())
    });
    Ok(Part { kind: kind.ok_or("A part has no Content-Type")?, content })
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
