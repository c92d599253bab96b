//! Payloads that an earlier version previewed and that are approved now: each must be read completely, see
//! `tests/yesterday`. Their keys must stay, because an approval's digest covers them.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the payload as `T` and serialises it again; missing fields become empty or are left out.
pub(super) fn reserialize<T: Serialize + DeserializeOwned>(payload: &Value) -> Value {
    serde_json::to_value(T::deserialize(payload).unwrap_or_else(|e| panic!("{e}: {payload}"))).unwrap()
}

fn without_empty_values(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let said = fields.iter().filter(|(_, value)| !matches!(value, Value::Null | Value::Bool(false)));
            let said = said.map(|(key, value)| (key.clone(), without_empty_values(value)));
            Value::Object(said.filter(|(_, value)| *value != Value::Array(Vec::new())).collect())
        }
        Value::Array(list) => list.iter().map(without_empty_values).collect(),
        other => other.clone(),
    }
}

#[test]
fn payloads_of_an_earlier_version_are_read_whole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/yesterday/effects.payload.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut read = 0;
    for line in text.lines() {
        let payload: Value = serde_json::from_str(line).unwrap();
        let Some(tool) = payload["tool"].as_str() else { continue };
        let now = super::gmail::reserialize_payload(tool, &payload)
            .or_else(|| super::calendar::reserialize_payload(tool, &payload));
        let Some(now) = now else { continue };
        assert_eq!(without_empty_values(&now), without_empty_values(&payload), "{tool}");
        read += 1;
    }
    assert!(read > 15, "{read}");
}
