//! Parses the files on a message of Slack. Pure.

use nod_contract::chat::Attachment;
use serde_json::Value;

/// Further files on one message are ignored.
const MAX_FILES: usize = 10;

pub(super) fn files(message: &Value) -> Vec<Attachment> {
    message["files"].as_array().into_iter().flatten().take(MAX_FILES).map(file).collect()
}

fn file(file: &Value) -> Attachment {
    let told = |name: &str| file[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    // An external file (a link to some drive) is not stored at Slack, and a tombstone is not stored anywhere.
    let kept = file["is_external"] != true && file["mode"] != "external" && file["mode"] != "tombstone";
    Attachment {
        name: told("name").or_else(|| told("title")).unwrap_or_else(|| "a file".to_owned()),
        media_type: told("mimetype").unwrap_or_default(),
        size: file["size"].as_i64().unwrap_or_default(),
        url: told("url_private_download").or_else(|| told("url_private")).filter(|_| kept),
    }
}
