//! Explains the state of a request to a user whose click changed nothing.

use super::card::clock;
use super::co_approval::{Role, co_approvers_label};
use super::form::outdated_revision_text;
use super::revalidate::forbidden_text;
use super::{Approval, EffectState, Status};
use nod_contract::clock::Timestamp;
use nod_contract::ids::PersonId;
use nod_contract::tool::ToolError;
use nod_when::when::local_time;

/// Explains why a click on a decision changed nothing.
pub(super) fn rejection_text(approval: &Approval, by: PersonId, revision: i32, now: Timestamp) -> String {
    let approval = &approval.localized_for(by);
    let owner = &approval.decider_name;
    if let Some(why) = not_decider_text(approval, by) {
        return why;
    }
    let name = match approval.role(by) {
        Role::Owner if approval.decided_by.as_ref().is_none_or(|by| by == owner) => "You",
        _ => approval.decided_by.as_ref().unwrap_or(owner).as_str(),
    };
    let not_done = &approval.preview.labels.not_done;
    let at =
        approval.decided_at.map_or_else(String::new, |at| format!(" ({})", local_time(at, &approval.zone)));
    match approval.status {
        Status::Approved => {
            format!("{name} already approved this{at}: {}.", progress_phrase(approval))
        }
        Status::Denied => format!("{name} already denied this{at}."),
        Status::Undone => format!("{name} undid this{at}: {}.", lower(not_done)),
        Status::Superseded => "A newer request replaced this one. Please use that card.".to_owned(),
        Status::Withdrawn if approval.reason.is_some() => {
            forbidden_text(approval.reason.as_deref().unwrap_or_default())
        }
        Status::Withdrawn if approval.decided_by.is_some() => {
            format!("{name} stopped this{at}: {}.", lower(not_done))
        }
        Status::Withdrawn => {
            "The message that asked for this was edited or deleted, so it's off. Nothing was done.".to_owned()
        }
        Status::Pending if approval.expires_at > now && approval.revision != revision => {
            outdated_revision_text()
        }
        Status::Pending if approval.expires_at > now && approval.role(by) == Role::CoApprover => {
            match approval.owner_approved_at {
                None => format!("{owner} has to approve this first."),
                Some(_) => {
                    "You can decide this once I've shown it to you, and only as a member of this workspace."
                        .to_owned()
                }
            }
        }
        Status::Pending if approval.expires_at > now && approval.owner_approved_at.is_some() => format!(
            "You already approved this{}. Now it's waiting for {}.",
            approval
                .owner_approved_at
                .map_or_else(String::new, |at| format!(" ({})", local_time(at, &approval.zone))),
            co_approvers_label(approval)
        ),
        Status::Pending if approval.expires_at > now => {
            "That didn't go through. Please press again.".to_owned()
        }
        Status::Expired | Status::Pending => {
            "This expired without an answer. Nothing was done. Ask me again if you still want it.".to_owned()
        }
    }
}

/// Returns the message for a person who can never decide this request.
pub(super) fn not_decider_text(approval: &Approval, by: PersonId) -> Option<String> {
    let who = match approval.co_approver_list {
        None => approval.decider_name.clone(),
        Some(_) => format!("{}, and then {}", approval.decider_name, co_approvers_label(approval)),
    };
    (approval.role(by) == Role::Other).then(|| format!("Only {who} can decide this. Nothing was done."))
}

/// Explains why a click on [Undo] changed nothing.
pub(super) fn undo_too_late_text(approval: &Approval, by: PersonId) -> String {
    if approval.role(by) == Role::Other {
        return format!("Only {} can undo this. Nothing was done.", approval.decider_name);
    }
    match approval.status {
        Status::Approved => format!("Too late to undo: {}.", progress_phrase(approval)),
        Status::Undone => "You already undid this.".to_owned(),
        Status::Pending | Status::Denied | Status::Expired | Status::Superseded | Status::Withdrawn => {
            "There's nothing to undo: this wasn't approved.".to_owned()
        }
    }
}

/// Describes the progress of an approved request, to continue a sentence: "sent 09:31 WET".
fn progress_phrase(approval: &Approval) -> String {
    let words = &approval.preview.labels;
    let at = |at: &Timestamp| clock(*at, &approval.zone);
    match &approval.effect {
        Some(EffectState { at: ended, outcome: Some(outcome), .. }) => match outcome {
            Ok(_) => format!("{} {}", lower(&words.done), at(ended)),
            Err(ToolError::UnknownOutcome { .. }) => "I can't tell yet whether it went through".to_owned(),
            Err(_) => format!("{} {}", lower(&words.not_done), at(ended)),
        },
        Some(EffectState { released: false, .. }) => "it hasn't started, and Undo still works".to_owned(),
        Some(_) | None => format!("it's under way ({})", lower(words.in_progress_verb())),
    }
}

fn lower(words: &str) -> String {
    words.to_lowercase()
}

#[cfg(test)]
pub(super) mod tests {
    use chrono::TimeDelta;
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;
    use nod_contract::privacy::{Audience, Provenance};
    use nod_contract::tool::{ActionLabels, FollowUp, Preview, ToolOutput};

    fn at(minute: i64) -> Timestamp {
        "2026-03-06T09:30:00Z".parse::<Timestamp>().unwrap() + TimeDelta::minutes(minute)
    }

    pub(in crate::approval) fn approval(status: Status, effect: Option<EffectState>) -> Approval {
        let words = ActionLabels {
            approve: "Approve & send".into(),
            in_progress: "Sending…".into(),
            done: "Sent".into(),
            not_done: "Not sent".into(),
            noun: "email".into(),
        };
        let preview = Preview::new(Value::Null, "", words);
        let id = Uuid::from_u128(1);
        Approval {
            id: id.into(),
            conversation: id.into(),
            run: id.into(),
            call_id: String::new(),
            tool: String::new(),
            revision: 1,
            preview,
            digest: "a91f3c".into(),
            risks: vec![],
            sources: vec![],
            decider: id.into(),
            decider_name: "Ana".into(),
            zone: "UTC".into(),
            status,
            decided_at: Some(at(0)),
            decided_by: Some("Ana".into()),
            co_approver_list: None,
            co_approvers: vec![],
            owner_approved_at: None,
            reason: None,
            expires_at: at(60),
            delivery: id.into(),
            undo_window: TimeDelta::seconds(10),
            untrusted_in_view: false,
            reminder: None,
            selected: true,
            retry_of: None,
            original_done: false,
            was_retried: false,
            effect,
        }
    }

    #[test]
    fn ineffective_click_is_answered_with_the_current_state() {
        let end = |released, outcome| {
            let waits = None;
            let id = Uuid::from_u128(3).into();
            Some(EffectState {
                id,
                at: at(1),
                starts_at: at(1),
                released,
                outcome,
                rate_limited_until: waits,
            })
        };
        let output = ToolOutput {
            content: json!({}),
            provenance: Provenance::Trusted,
            audience: Audience::Channel,
            verbatim: None,
            follow_up: FollowUp::default(),
            note: None,
            items: Vec::new(),
        };
        let unknown = ToolError::UnknownOutcome { reason: String::new() };
        let yes = "You already approved this (Fri 6 Mar 2026, 09:30 UTC): ";
        let table = [
            (Status::Approved, end(false, None), format!("{yes}it hasn't started, and Undo still works.")),
            (Status::Approved, end(true, None), format!("{yes}it's under way (sending).")),
            (Status::Approved, end(true, Some(Ok(output))), format!("{yes}sent 09:31 UTC.")),
            (
                Status::Approved,
                end(true, Some(Err(ToolError::internal("x")))),
                format!("{yes}not sent 09:31 UTC."),
            ),
            (
                Status::Approved,
                end(true, Some(Err(unknown))),
                format!("{yes}I can't tell yet whether it went through."),
            ),
            (Status::Denied, None, "You already denied this (Fri 6 Mar 2026, 09:30 UTC).".into()),
            (
                Status::Undone,
                end(false, None),
                "You undid this (Fri 6 Mar 2026, 09:30 UTC): not sent.".into(),
            ),
            (Status::Superseded, None, "A newer request replaced this one. Please use that card.".into()),
            (
                Status::Expired,
                None,
                "This expired without an answer. Nothing was done. Ask me again if you still want it.".into(),
            ),
            (Status::Pending, None, "That didn't go through. Please press again.".into()),
        ];
        let by = Uuid::from_u128(1).into();
        for (status, effect, wanted) in table {
            assert_eq!(rejection_text(&approval(status, effect), by, 1, at(2)), wanted);
        }
        let stranger = Uuid::from_u128(2).into();
        let said = rejection_text(&approval(Status::Pending, None), stranger, 1, at(2));
        assert_eq!(said, "Only Ana can decide this. Nothing was done.");
        let said = undo_too_late_text(&approval(Status::Approved, None), stranger);
        assert_eq!(said, "Only Ana can undo this. Nothing was done.");
    }
}
