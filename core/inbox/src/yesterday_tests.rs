//! Rows written by an earlier version are read by this one. `tests/yesterday` has one file for each column, with one
//! value on each line, as the migrations leave it. A field or variant renamed without an alias would lose them or
//! silently leave a field empty.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::work::CatchUpJob;
use nod_accounts::work::AccountJob;
use nod_agent::state::AgentState;
use nod_agent::work::RecordJob;
use nod_contract::card::Card;
use nod_contract::chat::{DeliveryTarget, OutgoingFile, PostedMessage};
use nod_contract::model::Turn;
use nod_contract::tool::draft::Draft;
use nod_contract::tool::{Choice, Preview, ToolResult};
use nod_memory::work::MemoryJob;
use nod_people::open_pages::PageJob;
use nod_people::work::PeopleJob;
use nod_requests::policy::Rule;
use nod_requests::question::vote::VoteProposal;
use nod_requests::work::RequestJob;
use nod_store::runs::RunJob;

/// Names of variants that an earlier version wrote, each with the current one.
const RENAMED: &[(&str, &str)] = &[
    ("again", "send_again"),
    ("allow", "allow_account"),
    ("ask_others", "open_vote"),
    ("broken", "internal"),
    ("choose", "answer_question"),
    ("closed", "draft_closed"),
    ("direct", "direct_message"),
    ("gone", "deactivated"),
    ("gone", "deleted_externally"),
    ("invalid", "invalid_arguments"),
    ("late", "expired"),
    ("look", "recheck"),
    ("not_allowed", "denied_by_admin"),
    ("ours", "trusted"),
    ("outdated", "conflict"),
    ("outside", "untrusted"),
    ("place", "channel"),
    ("refuse", "deny_account"),
    ("retry", "retry_run"),
    ("share", "share_answer"),
    ("show", "show_privately"),
    ("stop", "stop_run"),
    ("tick", "select"),
    ("times", "time_options"),
    ("too_little", "insufficient_scopes"),
    ("unknown", "unknown_outcome"),
    ("untick", "unselect"),
    ("vote_none", "vote_none_of_these"),
    ("whisper", "ephemeral"),
    ("whole", "show_full_text"),
];

/// Fields that nothing reads any more: what a recipient gets ("mail") was only in a warning that is gone.
const RETIRED: [&str; 1] = ["brings"];
/// The same in the payload of a catch-up, which lists its channels again: nothing that was said is lost.
const RETIRED_OF_CATCH_UP: [&str; 2] = ["left", "from"];

/// Returns every string, number and boolean of a value, in order, but for 0 and `false`: what is not written is read so.
fn leaves(value: &Value) -> Vec<String> {
    let mut leaves = match value {
        Value::Object(fields) => {
            let is_catch_up = fields.get("work").is_some_and(|work| work == "catch_up");
            let is_retired =
                |name: &str| RETIRED.contains(&name) || is_catch_up && RETIRED_OF_CATCH_UP.contains(&name);
            let kept = fields.iter().filter(|(name, _)| !is_retired(name));
            kept.flat_map(|(_, value)| leaves(value)).collect()
        }
        Value::Array(list) => list.iter().flat_map(leaves).collect(),
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::Number(number) if number.as_i64() == Some(0) => Vec::new(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    };
    leaves.sort();
    leaves
}

type Kept = fn(&Value) -> Result<(), String>;

/// Checks that a value of `T` keeps everything that the row has.
fn check_round_trip<T: Serialize + DeserializeOwned>(row: &Value) -> Result<(), String> {
    let read: T = serde_json::from_value(row.clone()).map_err(|error| error.to_string())?;
    let mut now = leaves(&serde_json::to_value(read).unwrap());
    for leaf in leaves(row) {
        let is_it = |now: &String| *now == leaf || RENAMED.contains(&(leaf.as_str(), now.as_str()));
        let at = now.iter().position(is_it).ok_or_else(|| format!("{leaf} is lost"))?;
        now.swap_remove(at);
    }
    Ok(())
}

fn lines(column: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/yesterday/{column}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rows_of_an_earlier_version_are_read_whole() {
    let jobs: &[Kept] = &[
        check_round_trip::<RunJob>,
        check_round_trip::<RecordJob>,
        check_round_trip::<RequestJob>,
        check_round_trip::<CatchUpJob>,
        check_round_trip::<AccountJob>,
        check_round_trip::<MemoryJob>,
        check_round_trip::<PageJob>,
        check_round_trip::<PeopleJob>,
    ];
    let columns: [(&str, &[Kept]); 13] = [
        ("jobs.payload", jobs),
        ("runs.state", &[check_round_trip::<AgentState>]),
        ("messages.turn", &[check_round_trip::<Turn>]),
        ("deliveries.card", &[check_round_trip::<Card>]),
        ("deliveries.posted_message", &[check_round_trip::<PostedMessage>]),
        ("deliveries.target", &[check_round_trip::<DeliveryTarget>]),
        ("deliveries.file", &[check_round_trip::<OutgoingFile>]),
        ("approvals.preview", &[check_round_trip::<Preview>]),
        ("drafts.draft", &[check_round_trip::<Draft>]),
        ("effects.outcome", &[check_round_trip::<ToolResult>]),
        ("questions.choices", &[check_round_trip::<Vec<Choice>>]),
        ("questions.vote_proposal", &[check_round_trip::<VoteProposal>]),
        ("policies.rules", &[check_round_trip::<Vec<Rule>>]),
    ];
    for (column, types) in columns {
        let rows = lines(column);
        assert!(!rows.is_empty(), "{column}");
        for row in rows {
            let tried: Vec<_> = types.iter().map(|kept| kept(&row)).collect();
            assert!(tried.iter().any(Result::is_ok), "{column}: {tried:?}\n{row}");
        }
    }
}

#[test]
fn what_is_lost_is_found() {
    let row = serde_json::json!({"channel": "C1", "message": "1.1"});
    assert_eq!(check_round_trip::<PostedMessage>(&row), Ok(()));
    let vote = serde_json::json!({"title": "t", "voters": ["bo"], "not_seen": ["x"]});
    assert!(check_round_trip::<VoteProposal>(&vote).is_err_and(|error| error.contains("x")));
}
