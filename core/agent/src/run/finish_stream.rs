//! Ends a message that was opened for streaming: the answer replaces its text, or what was said before the tools stays
//! in it. No commit that ends a job leaves one open.

use sqlx::PgConnection;

use super::commit::Commit;
use super::long::{self, TruncatedAnswer};
use crate::graph::{NodeOutput, text_before_tool_calls};
use nod_contract::card::Card;
use nod_contract::privacy::Audience;
use nod_people::delivery::{self, open};
use nod_people::work::PeopleJob;
use nod_store::jobs::{WorkError, sql as jobs};

/// Closes or keeps the open message within a commit. Returns the index of the emit that went into it.
pub(super) async fn finish_streaming_message(
    work: &Commit<'_>,
    conn: &mut PgConnection,
) -> Result<Option<usize>, WorkError> {
    let Some(open) = &work.run.streaming_message else { return Ok(None) };
    let said = work.outputs.iter().enumerate().find_map(|(at, emit)| match emit {
        NodeOutput::Message { card, audience } => Some((at, card, *audience)),
        _ => None,
    });
    match said {
        Some((at, card, audience)) if is_visible_here(work, audience) => {
            let adapter = work.core.adapters.get(&work.venue.platform);
            let fits = |card: &Card| adapter.is_none_or(|adapter| adapter.fits_in_one_message(card));
            let most = adapter.map_or(usize::MAX, |adapter| adapter.max_message_chars());
            let TruncatedAnswer { card, whole } = long::truncate_answer(card);
            let pages = delivery::split_into_messages(&card, most, fits);
            let mut pages = pages.into_iter();
            let first = pages.next().map(|page| page.with_numbered_actions(open.id));
            close(work, conn, first.as_ref(), audience).await?;
            for page in pages {
                let id = work.core.id();
                let page = page.with_numbered_actions(id);
                work.outbox().enqueue(id, &page, None, audience, work.core.now());
            }
            work.outbox().send_whole(conn, whole.as_ref(), audience, work.core.now()).await?;
            Ok(Some(at))
        }
        None if work.run.status == "running" => {
            // The audience is still that of the step that produced the text; only tool results narrow it.
            if let Some(card) = text_before_tool_calls(&work.run.state)
                .filter(|_| is_visible_here(work, work.run.state.audience))
            {
                open::update_open_card(conn, work.claim.tenant, open.id, &card).await?;
            }
            Ok(None)
        }
        Some(_) | None => {
            let audience = if work.run.state.is_shared { Audience::Channel } else { work.run.state.audience };
            close(work, conn, None, audience).await?;
            Ok(None)
        }
    }
}

/// Whether the audience can read the conversation. In a shared place, a private answer is sent to its reader instead.
fn is_visible_here(work: &Commit<'_>, audience: Audience) -> bool {
    audience == Audience::Channel || !work.run.state.is_shared
}

async fn close(
    work: &Commit<'_>,
    conn: &mut PgConnection,
    card: Option<&Card>,
    audience: Audience,
) -> Result<(), WorkError> {
    let Some(open) = &work.run.streaming_message else { return Ok(()) };
    let (tenant, now) = (work.claim.tenant, work.core.now());
    let only_for = match audience {
        Audience::Person(person) => Some(person),
        Audience::Channel => None,
    };
    let deliver = PeopleJob::DeliverMessage { delivery: open.id };
    // The lane is locked before the row, as everywhere.
    jobs::enqueue(conn, tenant, delivery::lane(work.venue, None), &deliver, now, now).await?;
    Ok(open::mark_closed(conn, tenant, open.id, card, only_for).await?)
}
