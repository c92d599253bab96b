//! `/nod settings`: how Nod behaves in a channel, and the buttons that change it, for its members; and below it their own
//! hours, for whoever asked.

use serde_json::json;
use sqlx::PgConnection;

use super::{Arrival, hours};
use nod_contract::card::{Block, Card, Press, Style, Verb};
use nod_contract::chat::{Immediate, Inbound, Place, Standing, What};
use nod_contract::ids::{ChannelId, PersonId};
use nod_people::delivery;
use nod_store::audit;

/// The two verbs of the buttons.
pub(super) const HEAR_ALL: &str = "hear_all";
pub(super) const HEAR_MENTIONS: &str = "hear_mentions";

/// How things are, with a button to have them otherwise.
pub(super) async fn show(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    place: &Place,
    person: PersonId,
) -> sqlx::Result<Immediate> {
    if place.direct {
        let card =
            Card::say("Between us no mention is ever needed; of a channel, ask me for its settings there.");
        let card = hours::under(arrival, conn, card.titled("Your settings"), person).await?;
        return Ok(Immediate::Whisper(card));
    }
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    let (user, fresh) = (&author.user, arrival.core.ids.next());
    let (tenant, now) = (arrival.tenant, arrival.now);
    let channel = delivery::sql::channel(conn, tenant, platform, workspace, place, user, fresh, now).await?;
    let mention_only =
        delivery::sql::habits(conn, tenant, channel).await?.is_some_and(|(_, mention_only)| mention_only);
    let card = card(channel, mention_only).titled("Settings of this channel");
    Ok(Immediate::Whisper(hours::under(arrival, conn, card, person).await?))
}

/// Changes it, for a member who is there.
pub(super) async fn change(
    arrival: &Arrival<'_>,
    conn: &mut PgConnection,
    channel: ChannelId,
    mention_only: bool,
    person: PersonId,
) -> sqlx::Result<Immediate> {
    let (tenant, now) = (arrival.tenant, arrival.now);
    if arrival.standing(conn, person).await? != Standing::Member {
        return Ok(Immediate::whisper(
            "Only members of this workspace can change that. Nothing was changed.",
        ));
    }
    // A button is shown in the channel that it is about, and counts nowhere else.
    let here = match &arrival.inbound.what {
        What::Pressed { place, .. } => place.channel.as_str(),
        _ => "",
    };
    match delivery::sql::habits(conn, tenant, channel).await? {
        Some((there, before)) if there == here => {
            delivery::sql::set_follow(conn, tenant, channel, mention_only).await?;
            let detail = json!({ "mention_only": mention_only, "before": before });
            audit::write(conn, tenant, Some(person), "channel.settings", channel.0, None, &detail, now)
                .await?;
            Ok(Immediate::Whisper(card(channel, mention_only).titled("Changed")))
        }
        _ => Ok(Immediate::whisper("I know of no such channel here. Nothing was changed.")),
    }
}

fn card(channel: ChannelId, mention_only: bool) -> Card {
    let (now, label, verb) = if mention_only {
        ("In my threads here I answer **only when I am mentioned**.", "Answer without a mention", HEAR_ALL)
    } else {
        (
            "In my threads here I answer follow-ups **without a mention**.",
            "Only when mentioned",
            HEAR_MENTIONS,
        )
    };
    Card::say(now)
        .with(Block::Note(
            "Every member of the workspace can change this; it counts for everybody here.".to_owned(),
        ))
        .button(label, Style::Plain, Press::Verb(Verb::new(verb, channel)))
}
