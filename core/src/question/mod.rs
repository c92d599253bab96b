//! Questions with choices: "Which Bob?" The person picks from buttons; nothing is guessed.

pub(crate) mod sql;

use serde_json::json;
use sqlx::PgConnection;

use crate::card::{Block, Card, Press, Style, Verb};
use crate::chat::Immediate;
use crate::clock::Timestamp;
use crate::delivery;
use crate::ids::{PersonId, QuestionId, RunId, TenantId};
use crate::jobs::{Claim, News, Work, WorkError, sql as jobs};
use crate::nod::Core;
use crate::tool::Choice;

/// More buttons than this are not shown; the last one is always "Someone else".
pub(crate) const MOST_CHOICES: usize = 20;

/// The card that asks whom a name means.
pub(crate) fn card(id: QuestionId, name: &str, choices: &[Choice]) -> Card {
    let mut card = Card::default().titled(format!("Which {name}?"));
    for (at, choice) in choices.iter().take(MOST_CHOICES).enumerate() {
        card = card.button(&choice.label, Style::Plain, choose(id, at));
    }
    card.button(none_of(name), Style::Plain, choose(id, choices.len().min(MOST_CHOICES)))
}

/// The last button.
fn none_of(name: &str) -> &'static str {
    if name == "draft" { "None of these" } else { "Someone else" }
}

fn choose(id: QuestionId, at: usize) -> Press {
    let choice = u16::try_from(at).unwrap_or(u16::MAX);
    Press::Verb(Verb { choice: Some(choice), ..Verb::new("choose", id) })
}

/// The card after it was answered, or was not.
fn closed(name: &str, answer: Option<&str>) -> Card {
    let line = match answer {
        Some(label) => format!("Which {name}? → {label}"),
        None => format!("Which {name}? → nobody answered"),
    };
    Card { body: vec![Block::Note(line)], ..Card::default() }
}

/// What an answer says of a name: the name and the address that was picked for it.
pub(crate) fn picked(answer: &str) -> Option<(String, String)> {
    let (name, value) = answer.split_once('\u{1f}')?;
    Some((name.to_owned(), value.to_owned()))
}

/// A press on one of the choices.
pub(crate) async fn press(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    choice: Option<u16>,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<Immediate> {
    let whisper = |words: &str| Ok(Immediate::whisper(words));
    let Some(question) = sql::load(conn, tenant, id).await? else {
        return whisper("I know of no such question. Nothing was done.");
    };
    if question.person != by {
        return whisper("This question is for somebody else. Nothing was done.");
    }
    let shown = question.choices.len().min(MOST_CHOICES);
    let Some(choice) = choice.map(usize::from).filter(|c| *c <= shown) else {
        return whisper("That is none of the choices. Nothing was done.");
    };
    let picked = question.choices.get(choice).filter(|_| choice < shown);
    let answer = match picked {
        Some(choice) => format!("{}\u{1f}{}", question.about, choice.value),
        None => String::new(),
    };
    let kept = json!({ "choice": choice });
    if !sql::settle(conn, tenant, id, "answered", Some(&kept), now).await? {
        return whisper("This was answered already. Nothing more was done.");
    }
    let news = News::Answer { question: id, answer: Some(answer) };
    let work = Work::Advance { run: question.run, news: Some(news) };
    jobs::enqueue(conn, tenant, question.conversation.0, &work, now, now).await?;
    let label = picked.map_or(none_of(&question.about), |c| c.label.as_str());
    delivery::show(conn, tenant, question.delivery, &closed(&question.about, Some(label)), now).await?;
    Ok(Immediate::Nothing)
}

/// The turn was stopped: its questions are not asked any more.
pub(crate) async fn withdraw(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    for id in sql::pending_of_run(conn, tenant, run).await? {
        if sql::settle(conn, tenant, id, "expired", None, now).await?
            && let Some(question) = sql::load(conn, tenant, id).await?
        {
            let card = Card {
                body: vec![Block::Note(format!("Which {}? → stopped", question.about))],
                ..Card::default()
            };
            delivery::show(conn, tenant, question.delivery, &card, now).await?;
        }
    }
    Ok(())
}

/// Nobody answered in time.
pub(crate) async fn expire(core: &Core, claim: &Claim, id: QuestionId) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.pool.begin().await?;
    jobs::hold(&mut tx, claim).await?;
    if sql::settle(&mut tx, tenant, id, "expired", None, now).await?
        && let Some(question) = sql::load(&mut tx, tenant, id).await?
    {
        let news = News::Answer { question: id, answer: None };
        let work = Work::Advance { run: question.run, news: Some(news) };
        jobs::enqueue(&mut tx, tenant, question.conversation.0, &work, now, now).await?;
        delivery::show(&mut tx, tenant, question.delivery, &closed(&question.about, None), now).await?;
    }
    jobs::finish(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}
