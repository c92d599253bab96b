//! Submitted forms. A form carries what a click carries, and the typed values.

use std::collections::BTreeMap;

use super::{ByHand, InboundContext, copied_card, quick_action, working_hours};
use nod_contract::card::Action;
use nod_contract::card::quick_action::QUICK_ACTION;
use nod_contract::chat::{ChannelRef, Inbound, InteractionResponse};
use nod_contract::ids::{PersonId, QuestionId};
use nod_requests::approval::{self, Editor};
use nod_requests::question;
use nod_store::ability::Submission;

pub(super) async fn accept(
    arrival: &InboundContext<'_>,
    place: Option<&ChannelRef>,
    verb: Option<&Action>,
    values: &BTreeMap<String, String>,
) -> sqlx::Result<InteractionResponse> {
    let (mut tx, person) = match arrival.begin_by_hand("form_submission").await? {
        ByHand::Served(tx, person) => (tx, person),
        ByHand::Over(answer) => return Ok(answer),
    };
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let Inbound { platform, workspace, .. } = arrival.inbound;
    let immediate = match verb {
        Some(verb) if verb.kind == "edit" => {
            let by = Editor { person, platform, workspace };
            approval::save(core, &mut tx, tenant, verb, values, &by, now).await?
        }
        Some(verb) if verb.kind == "deny" => {
            approval::deny_with_reason(core, &mut tx, tenant, verb, values, person, now).await?
        }
        Some(verb) if verb.kind == working_hours::EDIT_HOURS_ACTION => {
            working_hours::save(arrival, &mut tx, PersonId(verb.subject), values, person).await?
        }
        Some(verb) if verb.kind == question::ANSWER_FORM => {
            question::handle_answer(&mut tx, tenant, QuestionId(verb.subject), values, person, now).await?
        }
        Some(verb) if verb.kind == QUICK_ACTION => {
            quick_action::submit(arrival, &mut tx, verb, place, values, person).await?
        }
        Some(verb) => match core.abilities.forms(&verb.kind) {
            Some(forms) => {
                forms.handle_submission(&mut tx, &Submission { tenant, person, verb, values, now }).await?
            }
            None => unknown_form(),
        },
        None => unknown_form(),
    };
    if let (Some(verb), Some(place)) = (verb, place) {
        copied_card::notify_author(arrival, &mut tx, verb, place, person, &immediate).await?;
    }
    tx.commit().await?;
    Ok(immediate)
}

fn unknown_form() -> InteractionResponse {
    InteractionResponse::ephemeral("That form no longer works. Nothing was done.")
}
