//! The command, and the button of its answer.

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::job::DiceJob;
use crate::{MAX_SIDES, Roll, USUAL_SIDES, rolled, sql};
use nod_contract::card::{Action, Card, OnClick, Style};
use nod_contract::chat::InteractionResponse;
use nod_contract::command::{CommandOption, CommandSpec, Takes};
use nod_people::ability;
use nod_people::context::Chat;
use nod_store::ability::{Asker, Buttons, Command};
use nod_store::jobs::sql as jobs;

const AGAIN: &str = "dice_again";

/// The command `dice 20`.
pub(crate) struct Rolling(pub(crate) Chat);

#[async_trait]
impl Command for Rolling {
    fn spec(&self) -> CommandSpec {
        CommandSpec {
            name: "dice",
            does: "rolls a die",
            about: "Roll a die for everybody here",
            options: &[CommandOption { name: "sides", about: "How many it has", takes: Takes::Words }],
        }
    }

    async fn handle_command(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        words: &str,
    ) -> sqlx::Result<InteractionResponse> {
        let sides = if words.is_empty() { Some(USUAL_SIDES) } else { words.parse().ok() };
        match sides.filter(|sides| (2..=MAX_SIDES).contains(sides)) {
            Some(sides) => roll(&self.0, conn, asker, sides).await,
            None => Ok(InteractionResponse::ephemeral(format!(
                "A die has 2 to {MAX_SIDES} sides: `{}`. Nothing was rolled.",
                self.0.adapters.command_syntax(asker.platform).format_with_option("dice", "sides", "20")
            ))),
        }
    }
}

/// The button [Roll again].
pub(crate) struct Again(pub(crate) Chat);

#[async_trait]
impl Buttons for Again {
    fn action_kinds(&self) -> &'static [&'static str] {
        &[AGAIN]
    }

    async fn handle_click(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        verb: &Action,
    ) -> sqlx::Result<InteractionResponse> {
        // A click only carries the id of the roll; its row has the owner and the sides.
        match sql::load(conn, asker.tenant, verb.subject).await? {
            Some(before) if before.person == asker.person => roll(&self.0, conn, asker, before.sides).await,
            Some(_) => Ok(InteractionResponse::ephemeral("That is somebody else's die. Nothing was rolled.")),
            None => Ok(InteractionResponse::ephemeral("I know of no such die. Nothing was rolled.")),
        }
    }
}

/// Rolls, answers the asker at once, and enqueues a job that posts the roll in the conversation. All of it is in the
/// transaction of the inbound.
async fn roll(
    core: &Chat,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    sides: i32,
) -> sqlx::Result<InteractionResponse> {
    let Asker { tenant, person, now, .. } = *asker;
    let conversation = ability::find_or_create_conversation(core, conn, asker, asker.thread()).await?;
    let rolled = rolled(core.ids.as_ref(), sides);
    let roll = Roll { tenant, id: core.id(), person, conversation, sides, rolled, at: now };
    sql::insert(conn, &roll).await?;
    jobs::enqueue(conn, tenant, roll.id, &DiceJob::TellRoll { roll: roll.id }, now, now).await?;
    let card = Card::from_markdown(format!("You rolled {rolled} of {sides}."));
    Ok(InteractionResponse::Ephemeral(card.with_button(
        "Roll again",
        Style::Plain,
        OnClick::Action(Action::new(AGAIN, roll.id)),
    )))
}
