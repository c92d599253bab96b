//! `/nod admin`: lets admins look up settings in the chat.

use sqlx::PgConnection;

use super::InboundContext;
use nod_contract::card::{Block, Card};
use nod_contract::chat::{Inbound, InteractionResponse};
use nod_people::people;
use nod_requests::policy;
use nod_when::when::local_time;

/// Limit of rules shown in one card.
const MAX_RULES: usize = 20;

pub(super) async fn handle_command(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    text: &str,
) -> sqlx::Result<InteractionResponse> {
    let Inbound { platform, author, .. } = arrival.inbound;
    if !arrival.core.admins_on(platform).any(|admin| admin == author.user) {
        return Ok(InteractionResponse::ephemeral("That is for admins. Nothing was done."));
    }
    match text {
        "policy" => rules(arrival, conn).await,
        _ => {
            let policy = arrival.command_syntax().format_with_option("admin", "what", "policy");
            Ok(InteractionResponse::ephemeral(format!("`{policy}` shows the rules about asking for a nod.")))
        }
    }
}

/// Shows the effective rules, in the order in which they apply.
async fn rules(arrival: &InboundContext<'_>, conn: &mut PgConnection) -> sqlx::Result<InteractionResponse> {
    let (core, tenant) = (arrival.core, arrival.tenant);
    let policy = policy::sql::load_effective(conn, tenant, &core.policy).await?;
    let own = policy::sql::load_tenant_policy(conn, tenant).await?;
    let lines = policy::describe(&policy);
    let mut shown: Vec<String> =
        lines.iter().take(MAX_RULES).enumerate().map(|(at, line)| format!("{}. {line}", at + 1)).collect();
    if lines.len() > MAX_RULES {
        shown.push(format!("… and {} more; `nod policy show` has all of them", lines.len() - MAX_RULES));
    }
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    let reader = people::sql::find_by_user(conn, tenant, platform, workspace, &author.user).await?;
    let zone = reader.map_or_else(|| "UTC".to_owned(), |reader| reader.principal().zone);
    let whose = match own {
        None => "All of them are the installation's.".to_owned(),
        Some(own) => format!(
            "The last {} your own, set by {} on {}, digest {}.",
            match policy.rules.len() - core.policy.rules.len() {
                1 => "one is".to_owned(),
                many => format!("{many} are"),
            },
            own.set_by,
            local_time(own.set_at, &zone),
            own.digest.get(..6).unwrap_or_default()
        ),
    };
    let card = Card::default()
        .with_title("Rules about asking for a nod")
        .with_block(Block::Literal(shown.join("\n")))
        .with_block(Block::Note(format!(
            "A later rule that fits outweighs an earlier one; a never is final. {whose}"
        )));
    Ok(InteractionResponse::Ephemeral(card))
}
