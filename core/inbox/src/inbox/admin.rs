//! `/nod admin`: lets admins look up settings in the chat.

use sqlx::PgConnection;

use super::InboundContext;
use nod_contract::card::{Block, Card};
use nod_contract::chat::{Inbound, InteractionResponse};
use nod_people::people;
use nod_requests::policy;
use nod_store::ability::Asker;
use nod_when::when::local_time;

/// Limit of rules shown in one card.
const MAX_RULES: usize = 20;

pub(super) async fn handle_command(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    text: &str,
) -> sqlx::Result<InteractionResponse> {
    let Inbound { platform, author, .. } = arrival.inbound;
    if !arrival.core.admins_on(platform).any(|admin| admin == author.user) {
        return Ok(InteractionResponse::ephemeral("That's for admins only."));
    }
    match text {
        "policy" => rules(arrival, conn).await,
        "feedback" => nod_feedback::send_export(arrival.core, conn, asker).await,
        _ => {
            let typed = |what| arrival.command_syntax().format_with_option("admin", "what", what);
            Ok(InteractionResponse::ephemeral(format!(
                "`{}` shows the rules for approvals. `{}` sends you what people thought of my answers, as a file.",
                typed("policy"),
                typed("feedback")
            )))
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
        shown.push(format!("… and {} more. Run `nod policy show` to see them all", lines.len() - MAX_RULES));
    }
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    let reader = people::sql::find_by_user(conn, tenant, platform, workspace, &author.user).await?;
    let zone = reader.map_or_else(|| "UTC".to_owned(), |reader| reader.principal().zone);
    let whose = match own {
        None => "They all come from the installation.".to_owned(),
        Some(own) => format!(
            "The last {} your own, set by {} on {}.",
            match policy.rules.len() - core.policy.rules.len() {
                1 => "one is".to_owned(),
                many => format!("{many} are"),
            },
            own.set_by,
            local_time(own.set_at, &zone)
        ),
    };
    let card = Card::default()
        .with_title("Approval rules")
        .with_block(Block::Literal(shown.join("\n")))
        .with_block(Block::Note(format!(
            "When two rules fit, the later one counts. A “never” always counts. {whose}"
        )));
    Ok(InteractionResponse::Ephemeral(card))
}
