//! `/nod runs`: lists a person's own recent requests and their outcome.

use sqlx::PgConnection;

use super::InboundContext;
use nod_agent::rows::{self, RunListItem, run_summary::run_summary};
use nod_contract::card::{Action, Block, Card, OnClick, Style, truncate};
use nod_contract::chat::InteractionResponse;
use nod_contract::ids::PersonId;
use nod_people::people;
use nod_when::when::local_time;

/// Limit of runs that are listed, and of characters shown of each request.
const MAX_RUNS: i64 = 10;
const MAX_QUESTION_CHARS: usize = 80;

pub(super) async fn list_runs(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let runs = rows::list_newest(conn, arrival.tenant, person, MAX_RUNS).await?;
    if runs.is_empty() {
        return Ok(InteractionResponse::ephemeral("You haven't asked me anything yet."));
    }
    let person = people::sql::load(conn, arrival.tenant, person).await?;
    let zone = person.and_then(|p| p.zone).unwrap_or_else(|| "UTC".to_owned());
    Ok(InteractionResponse::Ephemeral(card(&runs, &zone)))
}

fn card(runs: &[RunListItem], zone: &str) -> Card {
    let line = |(at, run): (usize, &RunListItem)| {
        let when = format!("{}. {}", at + 1, local_time(run.at, zone));
        (
            when,
            format!(
                "{} → {}",
                truncate(&run.question, MAX_QUESTION_CHARS),
                run_summary(&run.status, &run.requests)
            ),
        )
    };
    let card = Card::default().with_title("What you asked recently");
    let card = card.with_block(Block::Fields(runs.iter().enumerate().map(line).collect()));
    let failed = runs.iter().enumerate().filter(|(_, run)| run.status == "failed");
    failed.fold(card, |card, (at, run)| {
        let again = OnClick::Action(Action::new("retry_run", run.id));
        card.with_button(format!("Try again {}", at + 1), Style::Plain, again)
    })
}
