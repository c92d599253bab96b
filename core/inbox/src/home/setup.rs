//! What is left to set up once Nod is installed. Admins see it on their home page and with the help, until it is done.

use sqlx::PgConnection;

use super::sql;
use crate::context::App;
use nod_contract::card::{Block, Card};
use nod_contract::chat::CommandSyntax;
use nod_contract::ids::TenantId;

/// Returns the steps as a card, if this user is an admin and some are left.
pub(crate) async fn card_for_admin(
    core: &App,
    conn: &mut PgConnection,
    tenant: TenantId,
    (platform, workspace, user): (&str, &str, &str),
) -> sqlx::Result<Option<Card>> {
    if !core.admins_on(platform).any(|admin| admin == user) {
        return Ok(None);
    }
    let is_in_channel = sql::has_posted_in_channel(conn, tenant, platform, workspace).await?;
    let can_connect = !core.accounts.grantors.is_empty();
    Ok(card(can_connect, is_in_channel, core.adapters.command_syntax(platform)))
}

fn card(can_connect: bool, is_in_channel: bool, typing: CommandSyntax<'_>) -> Option<Card> {
    let left = [can_connect, is_in_channel].iter().filter(|done| !**done).count();
    let title = match left {
        0 => return None,
        1 => "One step is left",
        _ => "Two steps are left",
    };
    let connects = typing.format_command("connect");
    let step = |done: bool, what: &str| format!("{} {what}", if done { "✓" } else { "○" });
    let steps = [
        step(true, "Nod is installed."),
        match can_connect {
            true => step(true, &format!("People can connect their accounts with `{connects}`.")),
            false => step(
                false,
                "Let people connect their accounts: on the server, `nod doctor` says what is missing.",
            ),
        },
        step(is_in_channel, "Invite me to a channel, and mention me there."),
    ];
    Some(
        Card::default()
            .with_title(title)
            .with_block(Block::Markdown(steps.join("\n")))
            .with_block(Block::Note("Only admins see this.".to_owned())),
    )
}
