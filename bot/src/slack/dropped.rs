//! What Slack tells of the files on a message. Pure.

use nod_contract::chat::Attached;
use serde_json::Value;

/// More files than this on one message are not looked at.
const MOST: usize = 10;

pub(super) fn files(message: &Value) -> Vec<Attached> {
    message["files"].as_array().into_iter().flatten().take(MOST).map(file).collect()
}

fn file(file: &Value) -> Attached {
    let told = |name: &str| file[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    // An external file (a link to some drive) does not lie with Slack, and a tombstone lies nowhere.
    let kept = file["is_external"] != true && file["mode"] != "external" && file["mode"] != "tombstone";
    Attached {
        name: told("name").or_else(|| told("title")).unwrap_or_else(|| "a file".to_owned()),
        kind: told("mimetype").unwrap_or_default(),
        size: file["size"].as_i64().unwrap_or_default(),
        address: told("url_private_download").or_else(|| told("url_private")).filter(|_| kept),
    }
}
