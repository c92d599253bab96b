//! The outcome of a run in a few words for a list: what it requested approval for, and the results.

use serde::Deserialize;

use nod_contract::tool::ActionLabels;
use nod_requests::approval::Status;

/// One approval request of a run, and the state of its effect.
#[derive(Debug, Clone, Deserialize)]
pub struct RequestSummary {
    pub status: Status,
    /// The effect's stored status; `None` if nothing was approved.
    pub effect: Option<String>,
    #[serde(rename = "words")]
    pub labels: ActionLabels,
}

impl RequestSummary {
    /// Returns the outcome, such as "sent": worded to be the whole line, or to follow a number.
    fn outcome_text(&self, alone: bool) -> String {
        let pick = |one: &str, more: &str| if alone { one.to_owned() } else { more.to_owned() };
        match self.status {
            Status::Pending => pick("waiting for you", "waiting for you"),
            Status::Denied => "denied".to_owned(),
            Status::Expired => pick("expired", "expired"),
            Status::Superseded => "replaced".to_owned(),
            Status::Withdrawn => "withdrawn".to_owned(),
            Status::Undone => "undone".to_owned(),
            Status::Approved => match self.effect.as_deref() {
                Some("done") => self.labels.done.to_lowercase(),
                Some("unknown") => format!("not sure it was {}", self.labels.done.to_lowercase()),
                Some("failed" | "cancelled") => self.labels.not_done.to_lowercase(),
                _ => self.labels.in_progress_verb().to_lowercase(),
            },
        }
    }

    /// Whether the run still waits for its outcome.
    fn is_open(&self) -> bool {
        let ended = matches!(self.effect.as_deref(), Some("done" | "unknown" | "failed" | "cancelled"));
        self.status == Status::Pending || (self.status == Status::Approved && !ended)
    }

    /// Whether its effect happened, might have happened or will still happen.
    fn has_effect(&self) -> bool {
        matches!(self.effect.as_deref(), Some("planned" | "started" | "done" | "unknown"))
    }
}

/// Describes the outcome of a run with this status and these requests.
pub fn run_summary(status: &str, asked: &[RequestSummary]) -> String {
    match status {
        // What the run wrote or looked up is in the answer; the outcome of its requests matters more here.
        "done" => count_outcomes(asked).unwrap_or_else(|| "answered".to_owned()),
        "stopped" => with_early_end(asked, "stopped"),
        "failed" => with_early_end(asked, "failed"),
        "waiting" if asked.iter().any(RequestSummary::is_open) => count_outcomes(asked).unwrap_or_default(),
        // It waits for the person's answer or for an account, whatever else has been done.
        "waiting" => match count_outcomes(asked) {
            Some(counted) => format!("{counted}, waiting for an answer"),
            None => "waiting for an answer".to_owned(),
        },
        _ => "under way".to_owned(),
    }
}

/// Describes a run that ended early, without hiding what had already happened.
fn with_early_end(asked: &[RequestSummary], how: &str) -> String {
    let left: Vec<RequestSummary> = asked.iter().filter(|one| one.has_effect()).cloned().collect();
    count_outcomes(&left).map_or_else(|| how.to_owned(), |left| format!("{left}, then {how}"))
}

/// Returns "sent", or "2 sent, 1 denied" in the order of the requests; `None` if there were none.
fn count_outcomes(asked: &[RequestSummary]) -> Option<String> {
    if let [one] = asked {
        return Some(one.outcome_text(true));
    }
    let mut all: Vec<(String, usize)> = Vec::new();
    for word in asked.iter().map(|one| one.outcome_text(false)) {
        match all.iter_mut().find(|(known, _)| *known == word) {
            Some((_, times)) => *times += 1,
            None => all.push((word, 1)),
        }
    }
    let line: Vec<String> = all.into_iter().map(|(word, times)| format!("{times} {word}")).collect();
    (!line.is_empty()).then(|| line.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request_summary(status: Status, effect: Option<&str>) -> RequestSummary {
        let words = ActionLabels {
            approve: "Approve & send".into(),
            in_progress: "Sending…".into(),
            done: "Sent".into(),
            not_done: "Not sent".into(),
            noun: "email".into(),
        };
        RequestSummary { status, effect: effect.map(str::to_owned), labels: words }
    }

    #[test]
    fn run_summary_names_the_outcome_of_each_request() {
        let sent = || request_summary(Status::Approved, Some("done"));
        let unknown = || request_summary(Status::Approved, Some("unknown"));
        let denied = || request_summary(Status::Denied, None);
        let table = [
            ("done", vec![], "answered"),
            ("done", vec![sent()], "sent"),
            ("done", vec![denied()], "denied"),
            ("done", vec![request_summary(Status::Undone, Some("cancelled"))], "undone"),
            ("done", vec![request_summary(Status::Expired, None)], "expired"),
            ("done", vec![request_summary(Status::Superseded, None)], "replaced"),
            ("done", vec![request_summary(Status::Approved, Some("failed"))], "not sent"),
            ("done", vec![unknown()], "not sure it was sent"),
            ("done", vec![sent(), denied(), sent()], "2 sent, 1 denied"),
            (
                "done",
                vec![request_summary(Status::Expired, None), request_summary(Status::Expired, None)],
                "2 expired",
            ),
            ("waiting", vec![], "waiting for an answer"),
            ("waiting", vec![request_summary(Status::Pending, None)], "waiting for you"),
            ("waiting", vec![sent(), request_summary(Status::Pending, None)], "1 sent, 1 waiting for you"),
            ("waiting", vec![request_summary(Status::Approved, Some("planned"))], "sending"),
            ("waiting", vec![sent()], "sent, waiting for an answer"),
            ("failed", vec![request_summary(Status::Approved, Some("planned"))], "sending, then failed"),
            ("stopped", vec![denied()], "stopped"),
            ("stopped", vec![sent(), denied()], "sent, then stopped"),
            ("failed", vec![unknown()], "not sure it was sent, then failed"),
            ("failed", vec![], "failed"),
            ("queued", vec![], "under way"),
        ];
        for (status, asked, wanted) in table {
            assert_eq!(run_summary(status, &asked), wanted, "{status}");
        }
    }
}
