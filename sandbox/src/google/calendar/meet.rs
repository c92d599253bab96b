//! Meet links: their request, their creation, and their format in the API.

use serde_json::{Value, json};

use super::middleware::ApiRequest;
use super::rejection;
use super::store::Calendars;
use crate::google::response::Rejection;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meet {
    pub request: String,
    pub code: String,
}

impl Meet {
    pub fn link(&self) -> String {
        format!("https://meet.google.com/{}", self.code)
    }

    pub fn show(&self) -> Value {
        json!({
            "createRequest": {
                "requestId": self.request,
                "conferenceSolutionKey": {"type": "hangoutsMeet"},
                "status": {"statusCode": "success"},
            },
            "conferenceId": self.code,
            "conferenceSolution": {"key": {"type": "hangoutsMeet"}, "name": "Google Meet"},
            "entryPoints": [{
                "entryPointType": "video",
                "uri": self.link(),
                "label": self.link().trim_start_matches("https://"),
            }],
        })
    }
}

/// Returns the Meet link of an event after a write. Without version 1 Google ignores a request for a link; that mistake
/// would never be noticed, so it is rejected here.
pub(super) fn link_after_write(
    all: &mut Calendars,
    ask: &ApiRequest<'_>,
    old: Option<&Meet>,
    said: Option<&Value>,
) -> Result<Option<Meet>, Rejection> {
    if ask.param("conferenceDataVersion").is_some_and(|version| !["0", "1"].contains(&version)) {
        return Err(rejection::invalid("Invalid value for: conferenceDataVersion"));
    }
    let wanted = said.map(|said| &said["createRequest"]).filter(|wanted| wanted.is_object());
    let known = |wanted: &Value| old.filter(|old| wanted["requestId"] == json!(old.request));
    if !ask.supports_conferences() {
        return match wanted.filter(|wanted| known(wanted).is_none()) {
            Some(_) => Err(rejection::invalid("conferenceData is ignored without conferenceDataVersion=1")),
            None => Ok(old.cloned()),
        };
    }
    let Some(said) = said else { return Ok(None) };
    let Some(wanted) = wanted else {
        let same = old.filter(|old| said["conferenceId"] == json!(old.code));
        return same.cloned().map(Some).ok_or_else(|| rejection::invalid("Invalid conference data"));
    };
    if let Some(old) = known(wanted) {
        return Ok(Some(old.clone()));
    }
    let request = wanted["requestId"].as_str().filter(|request| !request.is_empty());
    let request = request.ok_or_else(|| rejection::required("Missing conference request id."))?.to_owned();
    if wanted["conferenceSolutionKey"]["type"] != "hangoutsMeet" {
        return Err(rejection::invalid("Invalid conference type value."));
    }
    let letters: Vec<char> =
        format!("{:010}", all.next()).bytes().map(|b| char::from(b - b'0' + b'a')).collect();
    let part = |range: std::ops::Range<usize>| letters[range].iter().collect::<String>();
    Ok(Some(Meet { request, code: format!("{}-{}-{}", part(0..3), part(3..7), part(7..10)) }))
}
