//! Several requests of one turn on one card: each in full, ticked separately, with its own receipt. Each remains a
//! request of its own, with its digest, its effect and its outcome.

use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::card::{add_details, by_whom, deadline, escape, notice, receipt, title, with_show_all_button};
use super::co_approval::DecisionStep;
use super::decide::{DecisionResult, apply_decision, denial_verdict, notify_run, refresh_delivery};
use super::form::is_card_visible_to_all;
use super::rejection::rejection_text;
use super::revalidate::forbidden_text;
use super::{Approval, Decision, Status, display_limits, remind, sql};
use crate::context::Requests;
use nod_contract::card::{Action, Block, Button, Card, OnClick, Row, Style};
use nod_contract::chat::{ChannelRef, InteractionResponse};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ApprovalId, DeliveryId, PersonId, TenantId};
use nod_people::delivery::{self, NewDelivery};
use nod_store::runs::Verdict;

/// The longest receipt, in Discord's units of length, unless names consist of markup.
const RECEIPT: usize = 300;
/// The limit for a reason in it, in characters; most reasons are also reported in the conversation.
const REASON: usize = 75;

/// A decision about all pending requests on a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchDecision {
    /// Approve all.
    All,
    /// Approve the ticked ones, deny the others.
    Selected,
    /// Deny all.
    None,
}

/// Renders the card of several requests.
pub(super) fn card(all: &[Approval]) -> Card {
    let waiting: Vec<&Approval> = all.iter().filter(|a| a.status == Status::Pending).collect();
    let choose = if waiting.is_empty() { "" } else { " to approve" };
    let mut card = Card::default().with_title(format!("{}{choose}", count_label(all)));
    for (at, approval) in all.iter().enumerate() {
        card = item(card, approval, at + 1);
    }
    let Some(first) = waiting.first() else { return card };
    let denies =
        if waiting.iter().all(|approval| approval.selected) { "" } else { "What isn't ticked is denied. " };
    let card = card.with_notice(notice(&first.decider_name, waiting.iter().copied()));
    choices(card.with_block(deadline(&format!("{denies}{}", by_whom(first)), first)), all, &waiting)
}

/// Returns "3 emails", or "3 requests" if they are of several kinds.
fn count_label(all: &[Approval]) -> String {
    let thing = all.first().map_or("request", |first| &first.preview.labels.noun);
    let same = all.iter().all(|approval| approval.preview.labels.noun == thing);
    format!("{} {}s", all.len(), if same { thing } else { "request" })
}

fn item(card: Card, approval: &Approval, number: usize) -> Card {
    if approval.status == Status::Pending {
        return add_details(card.with_block(Block::Row(tickable(approval, number))), approval);
    }
    let heading = format!("**{number}. {}**", escape(&title(approval)));
    let before = card.buttons.len();
    let mut card = add_details(card.with_block(Block::Markdown(heading)), approval);
    card = receipt(with_show_all_button(card, approval), approval, REASON);
    for Button { label, .. } in &mut card.buttons[before..] {
        *label = format!("{label} ({number})");
    }
    card
}

/// Returns "☑ 1. Send this email?" with its button. That carries the wanted state, so a repeated click changes nothing.
fn tickable(approval: &Approval, number: usize) -> Row {
    let (mark, label, verb) =
        if approval.selected { ("☑", "Untick", "unselect") } else { ("☐", "Tick", "select") };
    let tick = Button {
        label: format!("{label} {number}"),
        style: Style::Plain,
        on_click: OnClick::Action(Action::new(verb, approval.id)),
    };
    Row::new(format!("{mark} {number}. {}", title(approval)), vec![tick])
}

/// Returns " · bo@acme.test", short enough for a button.
fn to_whom(recipients: &[String]) -> String {
    const MAX_RECIPIENT_CHARS: usize = 20;
    let Some(first) = recipients.first() else { return String::new() };
    let short = match first.char_indices().nth(MAX_RECIPIENT_CHARS) {
        Some((end, _)) => format!("{}…", &first[..end]),
        None => first.clone(),
    };
    let others = recipients.len() - 1;
    if others == 0 { format!(" · {short}") } else { format!(" · {short} +{others}") }
}

/// Adds the decisions: one approve button, which says what it approves and carries the stamp of what was shown.
fn choices(mut card: Card, all: &[Approval], waiting: &[&Approval]) -> Card {
    let (subject, seen) = (waiting[0].delivery, card_fingerprint(all));
    let yes = |verb| OnClick::Action(Action { argument: Some(seen), ..Action::new(verb, subject) });
    let ticked = waiting.iter().filter(|approval| approval.selected).count();
    if ticked == waiting.len() {
        card = card.with_button("Approve all", Style::Primary, yes("approve_all"));
    } else if ticked > 0 {
        let label = format!("Approve {ticked} of {}", waiting.len());
        card = card.with_button(label, Style::Primary, yes("approve_selected"));
    }
    if waiting.iter().any(|approval| !approval.preview.form.is_empty()) {
        card = card.with_button("Edit…", Style::Plain, OnClick::Action(Action::new("pick_edit", subject)));
    }
    card = card.with_button("Deny all", Style::Danger, OnClick::Action(Action::new("deny_all", subject)));
    let hides = |one: &&Approval| display_limits::has_hidden_text(&one.preview, &one.risks, &one.sources);
    if waiting.iter().any(hides) {
        card = card.with_button(
            "Show all…",
            Style::Plain,
            OnClick::Action(Action::new("pick_full_text", subject)),
        );
    }
    card
}

/// Handles a click on [Edit…] or [Show all…]: offers each request that has something to edit or to show, to this user
/// alone. What they pick then checks who clicks, as on a card of one request.
pub async fn pick_one(
    conn: &mut PgConnection,
    tenant: TenantId,
    verb: &Action,
    by: PersonId,
    place: &ChannelRef,
) -> sqlx::Result<InteractionResponse> {
    let all = sql::list_on_card(conn, tenant, DeliveryId(verb.subject)).await?;
    let Some(first) = all.first() else {
        return Ok(InteractionResponse::ephemeral("I can't find those requests any more. Nothing was done."));
    };
    if first.decider != by && !is_card_visible_to_all(conn, tenant, first, by, place).await? {
        return Ok(InteractionResponse::ephemeral("That's for someone else, or it's gone."));
    }
    let edits = verb.kind == "pick_edit";
    let verb = if edits { "edit" } else { "show_full_text" };
    let mut menu = Card::from_markdown(if edits { "Which one?" } else { "Which one in full?" });
    for (at, one) in all.iter().enumerate().filter(|(_, one)| one.status == Status::Pending) {
        let offered = match edits {
            true => !one.preview.form.is_empty(),
            false => display_limits::has_hidden_text(&one.preview, &one.risks, &one.sources),
        };
        if offered {
            let label = format!("{}{}", at + 1, to_whom(&one.preview.recipients));
            let action = OnClick::Action(Action::on_revision(verb, one.id, one.revision));
            menu = menu.with_button(label, Style::Plain, action);
        }
    }
    if menu.buttons.is_empty() {
        return Ok(InteractionResponse::ephemeral("Everything here is already decided."));
    }
    Ok(InteractionResponse::Ephemeral(menu))
}

/// Returns a short digest of what was shown: which requests, in which revision, ticked or not. A click with another
/// stamp was on an older card.
fn card_fingerprint(all: &[Approval]) -> u16 {
    let mut digest = Sha256::new();
    for approval in all {
        digest.update(approval.id.0.as_bytes());
        digest.update(approval.revision.to_be_bytes());
        digest.update([u8::from(approval.selected)]);
    }
    let digest = digest.finalize();
    u16::from_be_bytes([digest[0], digest[1]])
}

/// Returns whether one card shows all of it completely in one message, also after each has its receipt.
pub fn fits_on_one_card(all: &[Approval], shows: impl Fn(&Card) -> bool) -> bool {
    let receipt = || Block::Note("…".repeat(RECEIPT));
    let mut later = card(all);
    later.body.extend(std::iter::repeat_with(receipt).take(all.len()));
    all.iter().all(|approval| display_limits::excerpt(&approval.preview, &approval.risks).is_none())
        && shows(&later)
}

/// Handles a click on [Approve all], [Approve 2 of 3] or [Deny all]: each pending request is decided as by its own
/// button. An approval counts only for what was shown: `seen` is the clicked card's stamp.
#[expect(clippy::too_many_arguments, reason = "who says what of which card, and when")]
pub async fn handle_batch_click(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    card: DeliveryId,
    which: BatchDecision,
    seen: Option<u16>,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    sql::lock_card(conn, tenant, card).await?;
    let all = sql::list_on_card(conn, tenant, card).await?;
    let Some(first) = all.first() else {
        return Ok(InteractionResponse::ephemeral("I can't find those requests any more. Nothing was done."));
    };
    if first.decider != by {
        return Ok(InteractionResponse::ephemeral(rejection_text(first, by, first.revision, now)));
    }
    if which != BatchDecision::None && seen != Some(card_fingerprint(&all)) {
        return Ok(InteractionResponse::ephemeral(
            "This card changed while you were reading. Please look again before you approve.",
        ));
    }
    let (mut verdicts, mut seconds, mut said) = (Vec::new(), Vec::new(), Vec::new());
    let mut any = false;
    for approval in all.iter().filter(|approval| approval.status == Status::Pending) {
        let yes = which == BatchDecision::All || (which == BatchDecision::Selected && approval.selected);
        let decision =
            Decision { id: approval.id, revision: approval.revision, by, approve: yes, reason: None };
        let decided = apply_decision(core, conn, tenant, approval, &decision, now).await?;
        any |= decided != DecisionResult::Rejected;
        match decided {
            DecisionResult::Accepted(DecisionStep::OwnerApproved) => seconds.push(approval.id),
            DecisionResult::Accepted(_) => {
                verdicts.extend((!yes).then(|| (approval, denial_verdict(approval, by, None))))
            }
            DecisionResult::NoCoApprover(why) => said.push(why),
            DecisionResult::Forbidden(why) => {
                said.push(forbidden_text(&why));
                verdicts.push((approval, Verdict::ForbiddenByPolicy(why)));
            }
            DecisionResult::Rejected => {}
        }
    }
    if !any {
        return Ok(InteractionResponse::ephemeral(
            "Everything on this card is already decided. Each one says how it ended.",
        ));
    }
    for (approval, verdict) in verdicts {
        notify_run(core, conn, tenant, approval, verdict, now).await?;
    }
    refresh_delivery(conn, tenant, card, now).await?;
    for id in seconds {
        move_to_own_card(core, conn, tenant, id, now).await?;
    }
    // Those that moved are on it no more.
    let left = sql::list_on_card(conn, tenant, card).await?;
    remind::close_reminder(conn, tenant, &left, now).await?;
    said.dedup();
    Ok(if said.is_empty() {
        InteractionResponse::Ack
    } else {
        InteractionResponse::ephemeral(said.join(" "))
    })
}

/// Updates the card after a revision. If the request no longer fits next to the others, or now needs a co-approver, it
/// gets its own card.
pub(super) async fn move_to_own_card(
    core: &Requests,
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    now: Timestamp,
) -> sqlx::Result<()> {
    let Some(approval) = sql::load(conn, tenant, id).await? else { return Ok(()) };
    let all = sql::list_on_card(conn, tenant, approval.delivery).await?;
    let stands = delivery::sql::load(conn, tenant, approval.delivery).await?;
    let adapter = stands.and_then(|(_, venue)| core.adapters.get(&venue.platform));
    let alone = all.len() == 1;
    if alone
        || approval.co_approver_list.is_none()
            && fits_on_one_card(&all, |card| adapter.is_none_or(|adapter| adapter.fits_in_one_message(card)))
    {
        return refresh_delivery(conn, tenant, approval.delivery, now).await;
    }
    let own = Approval { delivery: core.id(), ..approval.clone() };
    enqueue_next_to(conn, tenant, &approval, &own, now).await?;
    sql::set_delivery(conn, tenant, id, own.delivery).await?;
    refresh_delivery(conn, tenant, approval.delivery, now).await
}

/// Posts the card of `new` where the card of `old` is.
pub(super) async fn enqueue_next_to(
    conn: &mut PgConnection,
    tenant: TenantId,
    old: &Approval,
    new: &Approval,
    now: Timestamp,
) -> sqlx::Result<()> {
    let stands = delivery::sql::load(conn, tenant, old.delivery).await?;
    let (stands, venue) = stands.ok_or(sqlx::Error::RowNotFound)?;
    let message = NewDelivery {
        id: new.delivery,
        conversation: new.conversation,
        run: Some(new.run),
        platform: &venue.platform,
        target: stands.target.as_ref(),
        opens_thread: false,
        card: &super::card(std::slice::from_ref(new)),
        only_for: stands.only_for,
    };
    delivery::enqueue(conn, tenant, &venue, &message, now).await
}

/// Handles a click on a tick. It carries the wanted state, so a repeated click changes nothing.
pub async fn set_selected(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: ApprovalId,
    ticked: bool,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(approval) = sql::load(conn, tenant, id).await? else {
        return Ok(InteractionResponse::ephemeral("I can't find those requests any more. Nothing was done."));
    };
    if !sql::set_selected(conn, tenant, id, by, ticked).await? {
        return Ok(InteractionResponse::ephemeral(rejection_text(&approval, by, approval.revision, now)));
    }
    refresh_delivery(conn, tenant, approval.delivery, now).await?;
    Ok(InteractionResponse::Ack)
}

#[cfg(test)]
mod tests {
    use super::super::EffectState;
    use super::super::rejection::tests::approval;
    use super::*;
    use nod_contract::tool::ToolError;

    fn length(card: &Card) -> usize {
        let texts = card.body.iter().map(|block| match block {
            Block::Markdown(text) | Block::Note(text) => text.encode_utf16().count() + 1,
            block => panic!("no receipt has {block:?}"),
        });
        texts.sum()
    }

    #[test]
    fn a_receipt_has_the_room_that_was_kept_for_it() {
        let long = "*_".repeat(200);
        let failed = |fault| {
            let approval = approval(Status::Approved, None);
            let (id, at) = (uuid::Uuid::nil().into(), approval.expires_at);
            let outcome = Some(Err(fault));
            Approval {
                effect: Some(EffectState {
                    id,
                    at,
                    starts_at: at,
                    released: true,
                    outcome,
                    rate_limited_until: None,
                }),
                ..approval
            }
        };
        for settled in [
            Approval { reason: Some(long.clone()), ..approval(Status::Denied, None) },
            Approval { reason: Some(long.clone()), ..approval(Status::Withdrawn, None) },
            failed(ToolError::UnknownOutcome { reason: long.clone() }),
            failed(ToolError::Internal { reason: long }),
        ] {
            let name = "Maximiliane ".repeat(8);
            let settled = Approval {
                co_approver_list: Some(name.clone()),
                owner_approved_at: settled.decided_at,
                decided_by: Some(name.clone()),
                decider_name: name,
                ..settled
            };
            let receipt = receipt(Card::default(), &settled, REASON);
            assert!(length(&receipt) <= RECEIPT, "{} {receipt:?}", length(&receipt));
        }
    }
}
