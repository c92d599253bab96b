//! `/nod settings`: how Nod behaves in a channel, with the buttons that change it for its members. Below are the
//! working hours of the user who asked.

use serde_json::json;
use sqlx::PgConnection;

use super::{InboundContext, working_hours};
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::chat::{ChannelRef, Event, Inbound, InteractionResponse, Membership};
use nod_contract::ids::{ChannelId, PersonId};
use nod_people::conversations;
use nod_store::audit;

/// The actions of the two buttons.
pub(super) const FOLLOW_ALL_ACTION: &str = "follow_all";
pub(super) const FOLLOW_MENTIONS_ACTION: &str = "follow_mentions";

/// Shows the current settings, with a button that changes them.
pub(super) async fn show(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    place: &ChannelRef,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    if place.is_dm {
        let card = Card::from_markdown(
            "Here I always answer, no mention needed. To change a channel's settings, ask me in that \
             channel.",
        );
        let card =
            working_hours::add_working_hours(arrival, conn, card.with_title("Your settings"), person).await?;
        return Ok(InteractionResponse::Ephemeral(card));
    }
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    let (user, fresh) = (&author.user, arrival.core.ids.next());
    let (tenant, now) = (arrival.tenant, arrival.now);
    let channel =
        conversations::find_or_create_channel(conn, tenant, platform, workspace, place, user, fresh, now)
            .await?;
    let mention_only = conversations::load_channel_settings(conn, tenant, channel)
        .await?
        .is_some_and(|(_, mention_only)| mention_only);
    let card = card(channel, mention_only).with_title("Settings for this channel");
    Ok(InteractionResponse::Ephemeral(working_hours::add_working_hours(arrival, conn, card, person).await?))
}

/// Changes the setting, if the person is a full member and clicked in that channel.
pub(super) async fn set_follow_mode(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    channel: ChannelId,
    mention_only: bool,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let (tenant, now) = (arrival.tenant, arrival.now);
    if arrival.load_membership(conn, person).await? != Membership::Member {
        return Ok(InteractionResponse::ephemeral("Only members of this workspace can change that."));
    }
    // A button is shown in the channel that it changes, and has no effect elsewhere.
    let here = match &arrival.inbound.event {
        Event::ButtonClicked { place, .. } => place.channel.as_str(),
        _ => "",
    };
    match conversations::load_channel_settings(conn, tenant, channel).await? {
        Some((there, before)) if there == here => {
            conversations::set_follow_mode(conn, tenant, channel, mention_only).await?;
            let detail = json!({ "mention_only": mention_only, "before": before });
            audit::insert_entry(
                conn,
                tenant,
                Some(person),
                "channel.settings_changed",
                channel.0,
                None,
                &detail,
                now,
            )
            .await?;
            Ok(InteractionResponse::Ephemeral(card(channel, mention_only).with_title("Changed")))
        }
        _ => Ok(InteractionResponse::ephemeral("I don't know this channel any more. Nothing changed.")),
    }
}

fn card(channel: ChannelId, mention_only: bool) -> Card {
    let (now, label, verb) = if mention_only {
        (
            "In my threads here I answer **only when mentioned**.",
            "Answer without a mention",
            FOLLOW_ALL_ACTION,
        )
    } else {
        (
            "In my threads here I answer **without a mention**.",
            "Only answer when mentioned",
            FOLLOW_MENTIONS_ACTION,
        )
    };
    Card::from_markdown(now)
        .with_block(Block::Note("Any member can change this, and it applies to everyone here.".to_owned()))
        .with_button(label, Style::Plain, OnClick::Action(Action::new(verb, channel)))
}
