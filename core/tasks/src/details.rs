//! What the buttons of a task's cards show: what its steps did and handed on, and its result as it was written.

use sqlx::PgConnection;

use crate::{StepAnswer, Task, TaskStep, card, sql};
use nod_contract::card::{Action, Block, Card, Form, FormFallback};
use nod_contract::chat::{InteractionResponse, OutgoingFile};
use nod_contract::ids::{DeliveryId, RunId, named_lane_id};
use nod_people::delivery::{self, NewDelivery};
use nod_store::ability::Asker;

/// Shows what each step did and handed on.
pub(crate) fn steps(run: RunId, task: &Task) -> InteractionResponse {
    let blocks = task.steps.iter().flat_map(step_blocks).collect();
    read_only(("Details", card::SHOW_DETAILS, "Show details"), run, blocks)
}

fn step_blocks(step: &TaskStep) -> Vec<Block> {
    let mut blocks = vec![Block::Literal(card::plan_lines(std::slice::from_ref(step), None))];
    if !step.activity.is_empty() {
        blocks.push(Block::Note(step.activity.join(" · ")));
    }
    let answered = |answer: &StepAnswer| Block::Note(format!("{} → {}", answer.question, answer.answer));
    blocks.extend(step.answers.iter().map(answered));
    blocks.extend(step.output.clone().map(Block::Markdown));
    blocks
}

/// Shows a result as it was written, before a platform renders it.
pub(crate) fn raw(run: RunId, result: &str) -> InteractionResponse {
    read_only(("Raw", card::SHOW_RAW, "Raw"), run, vec![Block::Literal(result.to_owned())])
}

fn read_only((title, kind, button): (&str, &str, &str), run: RunId, body: Vec<Block>) -> InteractionResponse {
    InteractionResponse::Form(Box::new(Form {
        title: title.to_owned(),
        verb: Action::new(kind, run),
        body,
        fields: Vec::new(),
        submit: String::new(),
        fallback: FormFallback::ShowText(format!("That didn't open. Please press {button} again.")),
    }))
}

/// Posts a result as a file where it stands, once.
pub(crate) async fn post_file(
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    run: RunId,
    result: String,
) -> sqlx::Result<InteractionResponse> {
    let whisper = |text: &str| Ok(InteractionResponse::ephemeral(text));
    let id = DeliveryId(named_lane_id(&["result as a file", &run.to_string()]));
    // Two presses come one after the other.
    nod_store::runs::lock(conn, asker.tenant, run).await?;
    if delivery::sql::load(conn, asker.tenant, id).await?.is_some() {
        return whisper("The file is there already, below the result.");
    }
    let Some((stands, venue)) = delivery::sql::load(conn, asker.tenant, card::end_id(run)).await? else {
        return whisper("I can't find that any more.");
    };
    let Some(owner) = sql::find_owner(conn, asker.tenant, run).await? else {
        return whisper("I can't find that any more.");
    };
    let name = format!("result-{}.md", id.short());
    let words = Card::from_markdown("Here is the result as a file.");
    let new = NewDelivery {
        id,
        conversation: owner.conversation,
        run: Some(run),
        platform: &stands.platform,
        target: stands.target.as_ref(),
        opens_thread: false,
        card: &words,
        only_for: stands.only_for,
    };
    delivery::enqueue(conn, asker.tenant, &venue, &new, asker.now).await?;
    delivery::sql::set_file(conn, asker.tenant, id, &OutgoingFile { name, text: result }).await?;
    Ok(InteractionResponse::Ack)
}
