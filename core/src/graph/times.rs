//! Times on their way through the graph: what a call says in a person's words becomes exact, by code, in the zone of
//! whoever said it and as of when they said it. What has several readings is asked.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::clock::Timestamp;
use crate::tool::{Fault, Reach, ToolSpec};
use crate::when::{self, Exact, Said, Unclear};

/// Puts an [`Exact`] in the place of every field of format `when`.
pub(super) fn resolved(
    spec: &ToolSpec,
    mut args: Value,
    picked: &BTreeMap<String, String>,
    zone: &str,
    said_at: Timestamp,
) -> Result<Value, Fault> {
    let Some(properties) = spec.parameters["properties"].as_object() else { return Ok(args) };
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    for (field, _) in properties.iter().filter(|(_, schema)| schema["format"] == "when") {
        let Some(written) = args[field.as_str()].as_str() else { continue };
        let meant = picked.get(&about(written)).map_or(written, String::as_str);
        // Whoever only looks may look back.
        let said = match when::resolve(meant, said_at, &zone) {
            Err(Unclear::Past { was, .. }) if spec.reach == Reach::Reads => Ok(*was),
            said => said,
        };
        let words = written.to_owned();
        args[field.as_str()] = exact(said, &words)?;
    }
    Ok(args)
}

fn exact(said: Result<Said, Unclear>, words: &str) -> Result<Value, Fault> {
    match said {
        Ok(said) => Ok(json!(Exact::of(said, words))),
        Err(unclear) if unclear.choices().is_empty() => Err(Fault::invalid(unclear.why())),
        Err(unclear) => Err(Fault::Ambiguous { name: about(words), choices: unclear.choices().to_vec() }),
    }
}

/// What a question about a time is about: the words, in the quotes by which it is told from one about a name.
pub(super) fn about(written: &str) -> String {
    format!("“{}”", written.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(reach: Reach) -> ToolSpec {
        let parameters = json!({"properties": {"when": {"type": "string", "format": "when"}, "title": {}}});
        ToolSpec { name: "t", description: "", parameters, reach, provider: None, doing: "" }
    }

    fn resolve(reach: Reach, written: &str, picked: &[(&str, &str)]) -> Result<Value, Fault> {
        // A Friday.
        let said_at = "2026-03-06T09:30:00Z".parse().unwrap();
        let picked = picked.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        resolved(
            &spec(reach),
            json!({"when": written, "title": "next Monday"}),
            &picked,
            "Europe/Berlin",
            said_at,
        )
    }

    #[test]
    fn what_is_said_becomes_exact_and_the_rest_stays() {
        let said = resolve(Reach::Others, "tomorrow at 15:00", &[]).unwrap();
        let at = "2026-03-07T15:00:00+01:00[Europe/Berlin]";
        assert_eq!(said, json!({"when": {"at": at}, "title": "next Monday"}));
        let fault = resolve(Reach::Others, "6/3", &[]).unwrap_err();
        let Fault::Ambiguous { name, choices } = fault else { panic!("{fault}") };
        let picked = resolve(Reach::Others, "6/3", &[(&name, &choices[1].value)]).unwrap();
        assert_eq!(picked["when"], json!({"day": "2026-06-03"}), "{choices:?}");
        assert!(matches!(resolve(Reach::Others, "whenever", &[]), Err(Fault::Invalid { .. })));
    }

    #[test]
    fn whoever_only_looks_may_look_back() {
        assert_eq!(resolve(Reach::Reads, "yesterday", &[]).unwrap()["when"], json!({"day": "2026-03-05"}));
    }
}
