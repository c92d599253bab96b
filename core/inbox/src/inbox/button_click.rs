//! Button clicks. A click is an inbound like any other: it carries an id and an action, and has an effect only if the
//! row with that id allows this user.

use sqlx::PgConnection;

use super::{
    ByHand, InboundContext, copied_card, draft, hello, message, quick_action, settings, working_hours,
};
use crate::identity_link;
use nod_accounts::connection::account_review::{self, Reviewer};
use nod_accounts::connection::{self, disconnect};
use nod_agent::rows;
use nod_agent::run::share;
use nod_agent::run::stop::{self, StopResult};
use nod_contract::card::quick_action::QUICK_ACTION;
use nod_contract::card::{Action, reconnect};
use nod_contract::chat::{ChannelRef, Inbound, InteractionResponse};
use nod_contract::ids::{ApprovalId, ChannelId, DeliveryId, DraftId, PersonId, QuestionId, RunId};
use nod_people::delivery;
use nod_requests::approval::{self, BatchDecision, Decision};
use nod_requests::question;
use nod_store::runs::{self, RunEvent};

/// What a button of the core does.
#[derive(Clone, Copy)]
enum Does {
    Approve,
    OpenForm,
    ShowFullText,
    Select(bool),
    Decide(BatchDecision),
    PickOne,
    Recheck,
    SendAgain,
    Undo,
    AnswerQuestion,
    OpenVote,
    Vote,
    ShareAnswer,
    ShowPrivately,
    SendDraft,
    DiscardDraft,
    RetryRun,
    StopRun,
    FollowMentions(bool),
    EditWorkingHours,
    AskDisconnect,
    ConfirmDisconnect,
    Reconnect,
    MergeIdentities,
    AllowAccount(bool),
    QuickAction,
    AskFromHello,
}

/// The action name of each.
const OWN: &[(&str, Does)] = &[
    ("approve", Does::Approve),
    ("edit", Does::OpenForm),
    ("deny", Does::OpenForm),
    ("show_full_text", Does::ShowFullText),
    ("select", Does::Select(true)),
    ("unselect", Does::Select(false)),
    ("approve_all", Does::Decide(BatchDecision::All)),
    ("approve_selected", Does::Decide(BatchDecision::Selected)),
    ("deny_all", Does::Decide(BatchDecision::None)),
    ("pick_edit", Does::PickOne),
    ("pick_full_text", Does::PickOne),
    ("recheck", Does::Recheck),
    ("send_again", Does::SendAgain),
    ("undo", Does::Undo),
    (question::CHOICE, Does::AnswerQuestion),
    ("open_vote", Does::OpenVote),
    ("vote", Does::Vote),
    ("vote_none_of_these", Does::Vote),
    (share::SHARE_ACTION, Does::ShareAnswer),
    ("show_privately", Does::ShowPrivately),
    ("send_draft", Does::SendDraft),
    ("discard_draft", Does::DiscardDraft),
    ("retry_run", Does::RetryRun),
    ("stop_run", Does::StopRun),
    (settings::FOLLOW_ALL_ACTION, Does::FollowMentions(false)),
    (settings::FOLLOW_MENTIONS_ACTION, Does::FollowMentions(true)),
    (working_hours::EDIT_HOURS_ACTION, Does::EditWorkingHours),
    ("ask_disconnect", Does::AskDisconnect),
    ("confirm_disconnect", Does::ConfirmDisconnect),
    (reconnect::VERB, Does::Reconnect),
    ("merge_identities", Does::MergeIdentities),
    ("allow_account", Does::AllowAccount(true)),
    ("deny_account", Does::AllowAccount(false)),
    (QUICK_ACTION, Does::QuickAction),
    (hello::ASK_ACTION, Does::AskFromHello),
];

/// Returns the names that no ability's button can have.
pub(crate) fn own_verbs() -> impl Iterator<Item = &'static str> {
    OWN.iter().map(|(verb, _)| *verb)
}

pub(super) async fn accept(
    arrival: &InboundContext<'_>,
    place: &ChannelRef,
    verb: Option<&Action>,
    is_ephemeral: bool,
) -> sqlx::Result<InteractionResponse> {
    let (mut tx, person) = match arrival.begin_by_hand("button_click").await? {
        ByHand::Served(tx, person) => (tx, person),
        ByHand::Over(answer) => return Ok(answer),
    };
    let immediate = match verb {
        Some(verb) => {
            let immediate = dispatch_click(arrival, &mut tx, place, verb, person).await?;
            let click = copied_card::Click { verb, place, person, is_ephemeral };
            let copy = copied_card::load_clicked_copy(arrival, &mut tx, &click, &immediate).await?;
            copy.map_or(immediate, InteractionResponse::Replacement)
        }
        None => unknown_button(),
    };
    arrival.commit_and_begin(tx).await?;
    Ok(immediate)
}

fn unknown_button() -> InteractionResponse {
    InteractionResponse::ephemeral("That button no longer works. Nothing was done.")
}

async fn dispatch_click(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    place: &ChannelRef,
    verb: &Action,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let subject = verb.subject;
    let Some((_, does)) = OWN.iter().find(|(own, _)| *own == verb.kind) else {
        return match core.abilities.buttons(&verb.kind) {
            Some(buttons) => buttons.handle_click(conn, &arrival.asker(person, place), verb).await,
            None => Ok(unknown_button()),
        };
    };
    match *does {
        Does::Approve => {
            let (id, revision) = (ApprovalId(subject), verb.revision());
            let yes = Decision { id, revision, by: person, approve: true, reason: None };
            approval::handle_decision_click(core, conn, tenant, &yes, now).await
        }
        Does::OpenForm => approval::open(conn, tenant, verb, person, now).await,
        Does::ShowFullText => approval::show(conn, tenant, verb, person, place).await,
        Does::Select(ticked) => {
            approval::set_selected(conn, tenant, ApprovalId(subject), ticked, person, now).await
        }
        Does::Decide(which) => {
            let handle = approval::handle_batch_click;
            handle(core, conn, tenant, DeliveryId(subject), which, verb.argument, person, now).await
        }
        Does::PickOne => approval::pick_one(conn, tenant, verb, person, place).await,
        Does::Recheck => approval::request_recheck(conn, tenant, ApprovalId(subject), person, now).await,
        Does::SendAgain => {
            let id = ApprovalId(subject);
            match approval::find_draft_to_send(conn, tenant, id, person).await? {
                Some(Ok(draft)) => draft::handle_send_click(arrival, conn, draft, person).await,
                Some(Err(why)) => Ok(why),
                None => approval::request_retry(core, conn, tenant, id, person, now).await,
            }
        }
        Does::Undo => approval::handle_undo_click(core, conn, tenant, ApprovalId(subject), person, now).await,
        Does::AnswerQuestion => {
            question::handle_choice_click(conn, tenant, QuestionId(subject), verb.argument, person, now).await
        }
        Does::OpenVote => question::vote::open_vote(conn, tenant, QuestionId(subject), person, now).await,
        Does::Vote => {
            let handle = question::vote::handle_vote_click;
            handle(conn, tenant, QuestionId(subject), verb.argument, person, now).await
        }
        Does::ShareAnswer => share::handle_share_click(conn, tenant, DeliveryId(subject), person, now).await,
        Does::ShowPrivately => handle_show_click(arrival, conn, DeliveryId(subject), person).await,
        Does::SendDraft => draft::handle_send_click(arrival, conn, DraftId(subject), person).await,
        Does::DiscardDraft => draft::handle_discard_click(arrival, conn, DraftId(subject), person).await,
        Does::RetryRun => handle_retry_click(arrival, conn, RunId(subject), person).await,
        Does::StopRun => handle_stop_click(arrival, conn, RunId(subject), person).await,
        Does::FollowMentions(mentions) => {
            settings::set_follow_mode(arrival, conn, ChannelId(subject), mentions, person).await
        }
        Does::EditWorkingHours => working_hours::open(arrival, conn, PersonId(subject), person).await,
        Does::AskDisconnect => {
            disconnect::handle_click(conn, &core.accounts.lending, tenant, verb, person).await
        }
        Does::ConfirmDisconnect => {
            let conversation =
                message::find_or_create_conversation(arrival, conn, place, place.is_dm.then_some(""), person)
                    .await?;
            disconnect::disconnect(&core.accounts, conn, tenant, verb, person, conversation, now).await
        }
        Does::Reconnect => {
            let conversation =
                message::find_or_create_conversation(arrival, conn, place, place.is_dm.then_some(""), person)
                    .await?;
            connection::reconnect::handle_click(&core.accounts, conn, tenant, verb, person, conversation, now)
                .await
        }
        Does::MergeIdentities => {
            identity_link::confirm_merge(&arrival.identity_link_requester(person), conn, subject).await
        }
        Does::QuickAction => quick_action::handle_click(arrival, conn, verb, place, person).await,
        Does::AllowAccount(allows) => {
            let Inbound { platform, author, .. } = arrival.inbound;
            let by = Reviewer { person, user: &author.user, platform };
            account_review::handle_click(&core.accounts, conn, tenant, subject, allows, &by, now).await
        }
        Does::AskFromHello => {
            let asked = hello::handle_click(arrival, conn, place, verb, person).await?;
            Ok(if asked { InteractionResponse::Ack } else { unknown_button() })
        }
    }
}

/// Shows a card to this person: if their DM channel is closed, or from the list of pending approvals.
async fn handle_show_click(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    delivery: DeliveryId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let Some(card) = delivery::sql::load_card_for_reader(conn, arrival.tenant, delivery, person).await?
    else {
        return Ok(InteractionResponse::ephemeral("That's for someone else, or it's gone."));
    };
    if !copied_card::fits_here(arrival, &card) {
        return Ok(InteractionResponse::ephemeral(
            "That's too long to show here. You'll find it where you asked.",
        ));
    }
    Ok(InteractionResponse::Ephemeral(copied_card::copy_of(card)))
}

/// Stops a run, if this person began it.
async fn handle_stop_click(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    run: RunId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let stopped = stop::stop_run(arrival.core, conn, arrival.tenant, run, person, arrival.now).await?;
    let whisper = |words: &str| Ok(InteractionResponse::ephemeral(words));
    match stopped {
        StopResult::Stopped => {
            arrival.mark_run_stopped();
            Ok(InteractionResponse::Ack)
        }
        StopResult::AlreadyEnded => whisper("That has ended already."),
        StopResult::NotOwner => whisper("Only the person who asked can stop this."),
    }
}

/// Retries a failed run, if this person began it.
async fn handle_retry_click(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    run: RunId,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let whisper = |words: &str| Ok(InteractionResponse::ephemeral(words));
    match rows::load(conn, arrival.tenant, run).await?.map(|loaded| loaded.run) {
        // The message that says why it failed has the button for it.
        Some(run) if run.parent.is_some() => whisper("I can't find that any more."),
        Some(run) if run.person != person => whisper("Only the person who asked can try this again."),
        Some(run) if run.status == "failed" => {
            runs::notify(conn, arrival.tenant, run.id, RunEvent::RetryRequested, arrival.now).await?;
            Ok(InteractionResponse::Ack)
        }
        Some(_) => whisper("This isn't waiting for another try."),
        None => whisper("I can't find that any more."),
    }
}
