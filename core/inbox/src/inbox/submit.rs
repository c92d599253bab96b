//! A form that comes back, filled in. It carries what a press carries, and what was typed.

use std::collections::BTreeMap;

use super::{Arrival, echo, hours};
use nod_contract::card::Verb;
use nod_contract::chat::{Immediate, Inbound, Place};
use nod_contract::ids::PersonId;
use nod_requests::approval::{self, Editor};

pub(super) async fn accept(
    arrival: &Arrival<'_>,
    place: Option<&Place>,
    verb: Option<&Verb>,
    values: &BTreeMap<String, String>,
) -> sqlx::Result<Immediate> {
    let mut tx = arrival.begin().await?;
    if !arrival.first(&mut tx, "submitted").await? {
        tx.commit().await?;
        return Ok(Immediate::Nothing);
    }
    let person = arrival.person(&mut tx).await?;
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let Inbound { platform, workspace, .. } = arrival.inbound;
    if let Some(why) = arrival.refusal(&mut tx, person).await? {
        tx.commit().await?;
        return Ok(Immediate::whisper(why));
    }
    let immediate = match verb {
        Some(verb) if verb.verb == "edit" => {
            let by = Editor { person, platform, workspace };
            approval::save(core, &mut tx, tenant, verb, values, &by, now).await?
        }
        Some(verb) if verb.verb == "deny" => {
            approval::refuse(core, &mut tx, tenant, verb, values, person, now).await?
        }
        Some(verb) if verb.verb == hours::CHANGE => {
            hours::save(arrival, &mut tx, PersonId(verb.subject), values, person).await?
        }
        _ => Immediate::whisper("I do not know that form. Nothing was done."),
    };
    if let (Some(verb), Some(place)) = (verb, place) {
        echo::tell(arrival, &mut tx, verb, place, person, &immediate).await?;
    }
    tx.commit().await?;
    Ok(immediate)
}
