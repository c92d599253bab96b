//! Times in the graph: code, not the model, resolves the words of a call to exact times, in the person's zone and as of
//! when they wrote. If there are several readings, a question asks which one is meant.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use nod_contract::clock::Timestamp;
use nod_contract::tool::{Reach, ToolError, ToolSpec};
use nod_when::when::{self, ExactTime, TimeError};

/// The arguments of a call with all times resolved.
pub(super) struct ResolvedArguments {
    pub(super) args: Value,
    /// What was assumed, a sentence each, for the person who decides.
    pub(super) assumed: Vec<String>,
}

/// What the words of a call are resolved against.
struct TimeContext<'a> {
    picked: &'a BTreeMap<String, String>,
    zone: TimeZone,
    message_time: Timestamp,
    now: Timestamp,
    /// Whether the tool only reads; it can then ask for the past.
    may_be_past: bool,
    /// Whether other people are invited, which is refused for a time that is over.
    reaches_others: bool,
}

/// Replaces every field of format `when`, also in nested objects, by an [`ExactTime`].
///
/// # Errors
/// [`ToolError::Ambiguous`] if there are several readings; [`ToolError::NoSuchTime`] if the calendar has no such day or
/// the person picked an impossible time; [`ToolError::InvalidArguments`] if it is no time, or is over and the call
/// invites others.
pub(super) fn resolve_times(
    spec: &ToolSpec,
    mut args: Value,
    picked: &BTreeMap<String, String>,
    zone: &str,
    (said_at, now): (Timestamp, Timestamp),
) -> Result<ResolvedArguments, ToolError> {
    let moment = TimeContext {
        picked,
        zone: TimeZone::get(zone).unwrap_or(TimeZone::UTC),
        message_time: said_at,
        now,
        may_be_past: spec.reach == Reach::Reads,
        reaches_others: spec.reach == Reach::Others && has_recipient(spec, &args),
    };
    let mut assumed = Vec::new();
    moment.resolve_fields(&spec.parameters, &mut args, &mut assumed)?;
    Ok(ResolvedArguments { args, assumed })
}

/// Whether a field of format `recipient` is filled in.
fn has_recipient(spec: &ToolSpec, args: &Value) -> bool {
    let takes = |schema: &Value| schema["format"] == "recipient" || schema["items"]["format"] == "recipient";
    let filled = |value: &Value| value.as_array().map_or(value.is_string(), |all| !all.is_empty());
    let fields = spec.parameters["properties"].as_object();
    fields.into_iter().flatten().any(|(field, schema)| takes(schema) && filled(&args[field.as_str()]))
}

impl TimeContext<'_> {
    fn resolve_fields(
        &self,
        schema: &Value,
        args: &mut Value,
        assumed: &mut Vec<String>,
    ) -> Result<(), ToolError> {
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let Some(value) = args.get_mut(field) else { continue };
            match value.as_str() {
                Some(written) if schema["format"] == "when" || schema["format"] == "when-or-hour" => {
                    // "until the end of June" in a field that is called `until`.
                    let led = written.trim().strip_prefix(field.as_str());
                    let words = led.filter(|rest| rest.starts_with(' ')).unwrap_or(written).trim().to_owned();
                    *value = match schema["format"] == "when-or-hour" && self.is_hour_only(&words) {
                        true => json!({ "hour": words }),
                        false => json!(self.resolve_phrase(&words, assumed)?),
                    };
                }
                Some(_) => {}
                None => self.resolve_fields(schema, value, assumed)?,
            }
        }
        Ok(())
    }

    /// Whether the words are an hour without a day. A picked time has its day.
    fn is_hour_only(&self, words: &str) -> bool {
        !self.picked.contains_key(&when::quoted_phrase(words))
            && when::is_hour_only(words, self.message_time, &self.zone)
    }

    fn resolve_phrase(&self, words: &str, assumed: &mut Vec<String>) -> Result<ExactTime, ToolError> {
        let about = when::quoted_phrase(words);
        let picked = self.picked.get(&about);
        let meant = picked.map_or(words, String::as_str);
        let said = match when::resolve(meant, self.message_time, &self.zone) {
            Ok(said) => said,
            Err(TimeError::Past { resolved: was, .. }) if self.may_be_past => *was,
            Err(unclear) if !unclear.choices().is_empty() => {
                let (choices, why) = (unclear.choices().to_vec(), Some(unclear.message()));
                return Err(ToolError::Ambiguous { name: about, choices, message: why });
            }
            // A model cannot find another reading of it.
            Err(unclear) if picked.is_some() || matches!(unclear, TimeError::NoSuchDay { .. }) => {
                return Err(ToolError::NoSuchTime { message: unclear.message() });
            }
            Err(unclear) => return Err(ToolError::invalid(unclear.message())),
        };
        assumed.extend(said.assumption.clone());
        let read = said.format(&self.zone, self.now);
        let exact = ExactTime::from_resolved(said, words, &self.zone);
        if self.reaches_others && exact.has_begun(&self.zone, self.now) {
            if picked.is_some() {
                let why = format!("{read} has already passed, so I can't invite anyone to it.");
                return Err(ToolError::NoSuchTime { message: why });
            }
            return Err(ToolError::invalid(format!(
                "{read} is over by now, and nobody is invited to what is over: ask the person for another time"
            )));
        }
        Ok(exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Friday.
    const MESSAGE_TIME: &str = "2026-03-06T09:30:00Z";

    fn spec(reach: Reach) -> ToolSpec {
        let when = json!({"type": "string", "format": "when"});
        let parameters = json!({"properties": {
            "when": when, "title": {}, "repeats": {"properties": {"until": when}},
            "guests": {"items": {"format": "recipient"}},
        }});
        ToolSpec { name: "t", description: "", parameters, reach, provider: None, status_text: "" }
    }

    fn resolve(
        reach: Reach,
        args: Value,
        picked: &[(&str, &str)],
        now: &str,
    ) -> Result<ResolvedArguments, ToolError> {
        let (said_at, now) = (MESSAGE_TIME.parse().unwrap(), now.parse().unwrap());
        let picked = picked.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        resolve_times(&spec(reach), args, &picked, "Europe/Berlin", (said_at, now))
    }

    #[test]
    fn time_phrases_are_resolved_and_other_fields_kept() {
        let others = |written: &str, picked: &[(&str, &str)]| {
            let args = json!({"when": written, "title": "next Monday"});
            resolve(Reach::Others, args, picked, MESSAGE_TIME).map(|resolved| resolved.args)
        };
        let at = "2026-03-07T15:00:00+01:00[Europe/Berlin]";
        let said = others("tomorrow at 15:00", &[]).unwrap();
        assert_eq!(said, json!({"when": {"at": at}, "title": "next Monday"}));
        let Err(ToolError::Ambiguous { name, choices, .. }) = others("6/3", &[]) else { panic!("not asked") };
        let picked = others("6/3", &[(&name, &choices[1].value)]).unwrap();
        assert_eq!(picked["when"], json!({"day": "2026-06-03"}), "{choices:?}");
        assert!(matches!(others("whenever", &[]), Err(ToolError::InvalidArguments { .. })));
        let none = others("2026-02-31", &[]).unwrap_err();
        assert_eq!(none, ToolError::NoSuchTime { message: "There's no 31 February in 2026.".into() });
    }

    #[test]
    fn length_is_kept_and_assumptions_are_reported() {
        let args = json!({"when": "an hour on Monday", "repeats": {"every": "week", "until": "until the end of June"}});
        let ResolvedArguments { args, assumed } = resolve(Reach::Others, args, &[], MESSAGE_TIME).unwrap();
        let (from, to) =
            ("2026-03-09T00:00:00+01:00[Europe/Berlin]", "2026-03-10T00:00:00+01:00[Europe/Berlin]");
        let monday = json!({"earliest": from, "latest": to, "said": "an hour on Monday", "minutes": 60});
        assert_eq!(args["when"], monday);
        assert_eq!(args["repeats"], json!({"every": "week", "until": {"day": "2026-06-30"}}));
        assert!(assumed.is_empty());
        let ResolvedArguments { assumed, .. } =
            resolve(Reach::Others, json!({"when": "tomorrow at 3"}), &[], MESSAGE_TIME).unwrap();
        assert!(assumed[0].starts_with("“3” without am or pm: I took 15:00"), "{assumed:?}");
    }

    #[test]
    fn past_events_invite_nobody() {
        let with_guests = |written: &str, now: &str| {
            resolve(Reach::Others, json!({"when": written, "guests": ["bo@acme.test"]}), &[], now)
        };
        for over in ["2025-03-06T15:00", "yesterday at noon", "6 March 2025", "last week"] {
            assert!(
                matches!(with_guests(over, MESSAGE_TIME), Err(ToolError::InvalidArguments { .. })),
                "{over}"
            );
            assert!(resolve(Reach::Others, json!({"when": over}), &[], MESSAGE_TIME).is_ok(), "{over}");
            assert!(resolve(Reach::Reads, json!({"when": over}), &[], MESSAGE_TIME).is_ok(), "{over}");
        }
        for ahead in ["now", "in 10 minutes", "today", "this week"] {
            assert!(with_guests(ahead, MESSAGE_TIME).is_ok(), "{ahead}");
        }
        assert!(matches!(
            with_guests("in 10 minutes", "2026-03-06T12:30:00Z"),
            Err(ToolError::InvalidArguments { .. })
        ));
        let args = json!({"when": "soon", "guests": ["bo@acme.test"]});
        let picked = [("“soon”", "2026-03-06T11:00:00+01:00[Europe/Berlin]")];
        let late = resolve(Reach::Others, args, &picked, "2026-03-06T12:30:00Z");
        assert!(matches!(late, Err(ToolError::NoSuchTime { .. })), "whoever picked it is told by us");
    }
}
