//! The owner edits a pending request: revision n+1 of the same approval, with its own digest and risk lines. Buttons
//! carry the revision that was seen, so those of an older one no longer work.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use super::batch::move_to_own_card;
use super::co_approval::{self, CoApprover, sql::AccountOwner};
use super::display_limits::{TooLong, check_displayable};
use super::form::{too_long, unknown_approval};
use super::rejection::rejection_text;
use super::{Approval, guests, retry_unknown, risks, sql};
use crate::context::Requests;
use crate::effect;
use crate::policy::{self, Ruling, Terms};
use nod_contract::card::{Action, Field, FieldError};
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::digest::digest;
use nod_contract::ids::{ApprovalId, PersonId, TenantId};
use nod_contract::tool::{ASSUMPTIONS_FIELD, Choice, FieldValue, Preview, Principal, Tool, ToolError};
use nod_people::people::{self, names};
use nod_store::audit;
use nod_store::runs::{self, RunEvent};

/// The person who submitted a form, and where they are known.
pub struct Editor<'a> {
    pub person: PersonId,
    pub platform: &'a str,
    pub workspace: &'a str,
}

/// Handles a submitted [Edit] form.
pub async fn save(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    verb: &Action,
    values: &BTreeMap<String, String>,
    by: &Editor<'_>,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(approval) = sql::load(conn, tenant, ApprovalId(verb.subject)).await? else {
        return Ok(unknown_approval());
    };
    if approval.decider != by.person || !approval.is_pending(verb.revision(), now) {
        return Ok(InteractionResponse::ephemeral(rejection_text(
            &approval,
            by.person,
            verb.revision(),
            now,
        )));
    }
    let Some(Tool::Act(tool)) = core.tools.get(&approval.tool) else {
        return Ok(InteractionResponse::ephemeral(
            "I can't do this kind of request any more. Nothing changed.",
        ));
    };
    let (filled, mut errors) = parse_fields(conn, tenant, &approval.preview.form, values, by).await?;
    let zone = TimeZone::get(&approval.zone).unwrap_or(TimeZone::UTC);
    let preview = match tool.revise(&approval.preview.payload, &filled, now, &zone) {
        Ok(preview) if errors.is_empty() => {
            // New recipients were named by the user in the form.
            let stays = |one: &&String| preview.recipients.iter().any(|r| r.eq_ignore_ascii_case(one));
            let unnamed: Vec<String> =
                approval.preview.unknown_recipients.iter().filter(stays).cloned().collect();
            let is_unknown = |one: &String| unnamed.iter().any(|r| r.eq_ignore_ascii_case(one));
            let was = &approval.preview;
            let first = was.never_written_to.iter().filter(stays).cloned().collect();
            let mut preview = Preview {
                never_written_to: first,
                are_recipients_named: was.are_recipients_named,
                display_limit: was.display_limit,
                asked_by: was.asked_by.clone().filter(|_| preview.recipients.iter().all(is_unknown)),
                task: was.task.clone(),
                unknown_recipients: unnamed,
                is_organisation_account: was.is_organisation_account,
                edited_from: was.edited_from.clone().or_else(|| Some(approval.digest.clone())),
                ..preview
            };
            carry_over_derived_fields(was, &mut preview);
            preview
        }
        revised => {
            // All errors are reported at once.
            errors.extend(revised.err().into_iter().flatten());
            return Ok(InteractionResponse::FormErrors(errors));
        }
    };
    if let Err(too_long) = check_displayable(&preview) {
        return Ok(InteractionResponse::FormErrors(vec![too_long_error(&preview, too_long)]));
    }
    if preview.payload == approval.preview.payload {
        return Ok(InteractionResponse::Ack);
    }
    let refused = |why: String| {
        let field = preview.form.iter().find(|field| field.accepts_recipients).map_or("", |field| &field.id);
        Ok(InteractionResponse::FormErrors(vec![FieldError::new(field, why)]))
    };
    let policy = policy::sql::load_effective(conn, tenant, &core.policy).await?;
    let terms = match policy::decide(&policy, &approval.call(&preview, tool.spec().reach)) {
        Ruling::Ask(terms) => terms,
        // A call that reached other people when it was requested still needs an approval.
        Ruling::Allow => policy.default_terms,
        Ruling::Forbid(why) => {
            return refused(format!("The rules here don't allow this: {why}. Nothing changed."));
        }
    };
    let owner = AccountOwner {
        person: by.person,
        account: &preview.account,
        platform: by.platform,
        workspace: by.workspace,
    };
    match co_approval::find_co_approvers(conn, &core.adapters, tenant, &terms, &owner).await? {
        Ok(others) => insert_revision(core, conn, tenant, &approval, preview, &terms, &others, now).await,
        Err(why) => refused(format!("{why} Nothing changed.")),
    }
}

/// Carries over what was assumed about a time while the time is unchanged, and what was looked up for it while the
/// guests are unchanged too.
fn carry_over_derived_fields(was: &Preview, preview: &mut Preview) {
    let stands = |preview: &Preview, name: &str| preview.fields.iter().find(|(of, _)| of == name).cloned();
    let same = |preview: &Preview, name: &str| stands(was, name) == stands(preview, name);
    if !same(preview, "When") {
        return;
    }
    preview.fields.extend(was.fields.iter().filter(|(name, _)| name == ASSUMPTIONS_FIELD).cloned());
    // Whole-day events have no event details, but they can have guests.
    let event = stands(was, "When").is_some();
    if event && was.event_details == preview.event_details && same(preview, "Guests") {
        let new = std::mem::take(&mut preview.risks).into_iter().filter(|risk| !was.risks.contains(risk));
        preview.risks = was.risks.iter().cloned().chain(new).collect();
        preview.private_risks.clone_from(&was.private_risks);
    }
}

/// Returns the risk lines of what is requested in place of `old`, and adds the guests' times; `None` if the run of `old`
/// is gone.
pub(super) async fn compute_risks(
    conn: &mut PgConnection,
    tenant: TenantId,
    old: &Approval,
    preview: &mut Preview,
) -> sqlx::Result<Option<Vec<String>>> {
    let Some(provenance) = sql::provenance(conn, tenant, old.run).await? else { return Ok(None) };
    let by = old.decider;
    let known = effect::sql::find_known_recipients(conn, tenant, by, &preview.recipients).await?;
    let guests = guests::add_guest_times(conn, tenant, preview, by, &old.decider_name).await?;
    // The owner's private risk lines stay only if the card had them: then no other person reads it.
    let private = preview.private_risks.iter().filter(|risk| old.risks.contains(risk)).cloned();
    let minor = guests.into_iter().chain(private).collect();
    Ok(Some(risks(preview, &known, minor, &provenance)))
}

#[expect(clippy::too_many_arguments, reason = "what becomes of what, by whom and when")]
async fn insert_revision(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    old: &Approval,
    mut preview: Preview,
    terms: &Terms,
    others: &[CoApprover],
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let by = old.decider;
    let digest = digest(&preview.payload).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
    let Some(mut risks) = compute_risks(conn, tenant, old, &mut preview).await? else {
        return Ok(unknown_approval());
    };
    // It might still happen twice, whatever its new content.
    risks.splice(0..0, retry_unknown::duplicate_risk(old).cloned());
    let second = terms.co_approvers().map(|list| list.name.as_str());
    let revision = sql::Revision {
        number: old.revision + 1,
        preview: &preview,
        digest: &digest,
        risks: &risks,
        undo_window: terms.undo_window,
        co_approver_list: second,
    };
    if !sql::update_revision(conn, tenant, old.id, by, &revision, now).await? {
        // Another decision or edit was first; the current row explains which.
        let now_there = sql::load(conn, tenant, old.id).await?;
        return Ok(now_there.map_or_else(unknown_approval, |it| {
            InteractionResponse::ephemeral(rejection_text(&it, by, old.revision, now))
        }));
    }
    co_approval::invalidate_requests(conn, tenant, old, now).await?;
    co_approval::sql::replace_co_approvers(conn, tenant, old.id, others).await?;
    let changes = changes(&old.preview.payload, &preview.payload);
    let detail = json!({
        "tool": old.tool, "revision": revision.number, "was": old.digest,
        "changed": changes.keys().collect::<Vec<_>>(),
    });
    audit::insert_entry(conn, tenant, Some(by), "approval.edited", old.id.0, Some(&digest), &detail, now)
        .await?;
    notify_run(conn, tenant, old, changes, now).await?;
    move_to_own_card(core, conn, tenant, old.id, now).await?;
    Ok(InteractionResponse::Ack)
}

/// Tells the waiting run what the person changed.
pub(super) async fn notify_run(
    conn: &mut PgConnection,
    tenant: TenantId,
    approval: &Approval,
    changes: Map<String, Value>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let event = RunEvent::ApprovalEdited { approval: approval.id, changes: Value::Object(changes) };
    runs::notify(conn, tenant, approval.run, event, now).await
}

/// Returns the fields that differ, with their new values.
pub(super) fn changes(old: &Value, new: &Value) -> Map<String, Value> {
    let all = new.as_object().into_iter().flatten();
    all.filter(|(name, value)| old[name.as_str()] != **value)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns the submitted values, with names resolved to addresses, and the errors. A field that was not submitted keeps
/// its value.
async fn parse_fields(
    conn: &mut PgConnection,
    tenant: TenantId,
    form: &[Field],
    values: &BTreeMap<String, String>,
    by: &Editor<'_>,
) -> sqlx::Result<(BTreeMap<String, FieldValue>, Vec<FieldError>)> {
    let mut filled = BTreeMap::new();
    let mut errors = Vec::new();
    for field in form {
        let typed = values.get(&field.id).unwrap_or(&field.value);
        let length = typed.chars().count();
        if length > field.max_chars {
            errors.push(FieldError::new(&field.id, too_long(length, field.max_chars)));
        } else if field.accepts_recipients && typed.trim() == field.value.trim() {
            // The current recipients were resolved already; their names are not looked up again.
        } else if field.accepts_recipients {
            match resolve_recipients(conn, tenant, typed, by).await? {
                Ok(people) => drop(filled.insert(field.id.clone(), FieldValue::Recipients(people))),
                Err(why) => errors.push(FieldError::new(&field.id, why)),
            }
        } else {
            filled.insert(field.id.clone(), FieldValue::Text(typed.clone()));
        }
    }
    Ok((filled, errors))
}

/// Resolves all people named in a line to addresses; on failure, returns a sentence about those not found.
async fn resolve_recipients(
    conn: &mut PgConnection,
    tenant: TenantId,
    typed: &str,
    by: &Editor<'_>,
) -> sqlx::Result<Result<Vec<String>, String>> {
    let Some(me) = people::sql::load(conn, tenant, by.person).await? else {
        return Ok(Err("I don't know you yet. Send me a direct message once, then try again.".to_owned()));
    };
    let (me, mut found, mut wrong): (Principal, _, Vec<String>) = (me.principal(), Vec::new(), Vec::new());
    for written in names::split_recipients(typed) {
        if written.chars().any(char::is_control) {
            wrong.push("One address contains characters that can't be used.".to_owned());
            continue;
        }
        match people::resolve_recipient(conn, tenant, by.platform, by.workspace, &written, &me).await? {
            Ok(address) => found.push(address),
            Err(fault) => wrong.push(unresolved_recipient_text(fault)),
        }
    }
    Ok(if wrong.is_empty() { Ok(found) } else { Err(wrong.join(" ")) })
}

fn unresolved_recipient_text(fault: ToolError) -> String {
    let why = match fault {
        ToolError::Ambiguous { name, choices, .. } => {
            let whole = |c: Choice| match c.label.contains(&c.value) {
                true => c.label,
                false => format!("{} ({})", c.label, c.value),
            };
            let all: Vec<String> = choices.into_iter().map(whole).collect();
            format!("“{name}” could be {}. Please type the address", all.join(" or "))
        }
        ToolError::NoAddress { reason } | ToolError::InvalidArguments { reason } => reason,
        other => other.to_string(),
    };
    format!("{}.", why.trim_end_matches('.'))
}

fn too_long_error(preview: &Preview, long: TooLong) -> FieldError {
    let of = |people: bool| {
        preview.form.iter().rev().find(|f| f.accepts_recipients == people).map_or("", |f| &f.id)
    };
    match long {
        TooLong::Body(length) => {
            FieldError::new(of(false), too_long(length, nod_contract::tool::MAX_BODY_CHARS))
        }
        TooLong::Fields(people) => {
            let why = format!("{people} recipients don't fit on one card. Nothing changed.");
            FieldError::new(of(true), why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_values_lists_only_differences() {
        let old = json!({ "to": ["bo@x.test"], "subject": "Late", "body": "Hi" });
        let new = json!({ "to": ["bo@x.test"], "subject": "Late", "body": "Hi Bo" });
        assert_eq!(Value::Object(changes(&old, &new)), json!({ "body": "Hi Bo" }));
        assert_eq!(changes(&old, &old).len(), 0);
    }
}
