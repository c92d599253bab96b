//! Votes on a time: the asker shares the times they could choose from, the others say which suit them, and the earliest
//! that suits everybody is taken. It remains the asker's request: nothing is booked without their approval.
//!
//! The rows are the truth. A click writes its row and enqueues a job in the vote's own lane, which updates the cards
//! and ends the vote. The lane serialises two last votes, so neither is overlooked.

mod card;
mod count;
mod sql;

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

pub use card::Ending;
use count::Stand;

use super::sql::Question;
use crate::work::RequestJob;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::chat::{ChatError, DeliveryTarget, InteractionResponse};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, QuestionId, RunId, TenantId};
use nod_people::context::Chat;
use nod_people::delivery::{self, NewDelivery, Venue};
use nod_people::people;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_when::when;

/// The vote that a question can be put to: its title and the addresses of the others who can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    pub title: String,
    pub voters: Vec<String>,
    /// People whose calendars could not be read.
    #[serde(default)]
    pub unseen: Vec<String>,
}

/// A person who can vote, and what suits them.
#[derive(Debug, Clone)]
pub struct Voter {
    person: PersonId,
    name: String,
    address: String,
    choices: Vec<usize>,
}

/// Returns who can vote, the asker included; empty if the question was asked in private, where no thread can be shared.
pub async fn electorate(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &Question,
    venue: &Venue,
) -> sqlx::Result<Vec<Voter>> {
    match &question.vote {
        Some(vote) if !venue.is_alone() => {
            let all = sql::electorate(conn, tenant, question.person, venue, &vote.voters).await?;
            Ok(if all.len() > 1 { all } else { Vec::new() })
        }
        _ => Ok(Vec::new()),
    }
}

/// Stores the voters.
pub async fn keep(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    voters: &[Voter],
) -> sqlx::Result<()> {
    if voters.is_empty() { Ok(()) } else { sql::keep(conn, tenant, id, voters).await }
}

/// Returns the label of a choice on the asker's own card, with the number of voters it suits once the vote is open.
pub(super) fn label(question: &Question, voters: &[Voter], at: usize, label: &str) -> String {
    match count::who(voters, at).len() {
        0 => label.to_owned(),
        all if all == voters.len() => format!("{label} · suits all"),
        some if question.opened => format!("{label} · suits {some} of {}", voters.len()),
        _ => label.to_owned(),
    }
}

/// Adds the state of the vote, or the button that opens it, to the asker's own card.
pub(super) fn invite(question: &Question, voters: &[Voter], mut card: Card) -> Card {
    let Some(vote) = question.vote.as_ref().filter(|_| !voters.is_empty()) else { return card };
    let away: Vec<&str> = vote
        .voters
        .iter()
        .map(String::as_str)
        .filter(|guest| !voters.iter().any(|voter| voter.address.eq_ignore_ascii_case(guest)))
        .collect();
    if question.opened {
        let answered = voters.iter().filter(|voter| !voter.choices.is_empty()).count();
        let words = match count::stand(voters, question.choices.len()) {
            Stand::NoneSuits => "Everybody has answered, and no time suits all. Pick one, or another time.",
            Stand::Open | Stand::Agreed(_) => "I asked in the thread. You can pick one at any time.",
        };
        card = card.with_block(Block::Note(format!("{answered} of {} have answered. {words}", voters.len())));
    } else {
        let ask = OnClick::Action(Action::new("ask_others", question.id));
        card = card.with_button("Ask the others", Style::Primary, ask);
    }
    if away.is_empty() {
        card
    } else {
        card.with_block(Block::Note(format!("Cannot vote here: {}", away.join(", "))))
    }
}

/// Handles the asker's click on [Ask the others], which counts once.
pub async fn ask(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let whisper = |words: &str| Ok(InteractionResponse::ephemeral(words));
    let Some(question) = super::sql::load(conn, tenant, id).await? else {
        return whisper("I know of no such question. Nothing was done.");
    };
    if question.person != by {
        return whisper("This question is for somebody else. Nothing was done.");
    }
    if sql::voters(conn, tenant, &question).await?.is_empty() {
        return whisper("There is nobody to ask. Nothing was done.");
    }
    // The lane is locked before the row, as in the job. The question's own lane waits for the expiry, for a day.
    jobs::enqueue(conn, tenant, question.delivery.0, &RequestJob::Tally { question: id }, now, now).await?;
    match sql::open(conn, tenant, id, now).await? {
        true => Ok(InteractionResponse::Ack),
        false => whisper("They were asked already, or this was answered. Nothing more was done."),
    }
}

/// Handles a vote; `None` is none of the times.
pub async fn press(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    choice: Option<u16>,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(question) = super::sql::load(conn, tenant, id).await?.filter(|question| question.opened) else {
        return Ok(InteractionResponse::ephemeral("I know of no such vote. Nothing was done."));
    };
    let voters = sql::voters(conn, tenant, &question).await?;
    if !voters.iter().any(|voter| voter.person == by) {
        let words = uncounted(conn, tenant, &voters, by).await?;
        return Ok(InteractionResponse::ephemeral(words));
    }
    let none = question.choices.len();
    let choice = choice.map_or(none, usize::from);
    if choice > none {
        return Ok(InteractionResponse::ephemeral("That is none of the times. Nothing was counted."));
    }
    jobs::enqueue(conn, tenant, question.delivery.0, &RequestJob::Tally { question: id }, now, now).await?;
    if !sql::is_open(conn, tenant, id, now).await? {
        let words = over(conn, tenant, id, &voters, by, now).await?;
        return Ok(InteractionResponse::ephemeral(words));
    }
    sql::turn(conn, tenant, &question, by, choice).await?;
    Ok(InteractionResponse::Ack)
}

/// Explains to a non-voter why nothing is counted. If two people here are one human, the other might be a voter.
async fn uncounted(
    conn: &mut PgConnection,
    tenant: TenantId,
    voters: &[Voter],
    by: PersonId,
) -> sqlx::Result<String> {
    let person = people::sql::load(conn, tenant, by).await?;
    let name = person.as_ref().map_or("", people::Person::display_name);
    if voters.iter().any(|voter| voter.name == name) {
        return Ok(format!(
            "I asked the {name} whom I know from another chat. If that is you, answer there: nothing was counted here."
        ));
    }
    let names: Vec<&str> = voters.iter().map(|voter| voter.name.as_str()).collect();
    Ok(format!("Only {} are asked here. Nothing was counted.", card::listed(&names)))
}

/// Describes the outcome of a vote to a person who clicks after its end.
async fn over(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    voters: &[Voter],
    reader: PersonId,
    now: Timestamp,
) -> sqlx::Result<String> {
    const NOTHING: &str = "This vote is over, and nothing was booked.";
    let Some(question) = super::sql::load(conn, tenant, id).await? else { return Ok(NOTHING.to_owned()) };
    let asker = card::name_of(&question, voters);
    let Some(chosen) = question.chosen().and_then(card::span) else {
        return Ok(match question.status.as_str() {
            "answered" => format!("{asker} looks for another time; nothing was booked."),
            _ => NOTHING.to_owned(),
        });
    };
    let zone = people::sql::load(conn, tenant, reader).await?.and_then(|person| person.zone);
    let zone = zone.and_then(|zone| jiff::tz::TimeZone::get(&zone).ok());
    let zone = zone.unwrap_or_else(|| chosen.0.time_zone().clone());
    let became = sql::became(conn, tenant, &question).await?;
    let (from, to) = became.instead_of(&chosen).unwrap_or(chosen);
    let time = when::format_span(&from, &to, &zone, now);
    Ok(match (became.booked, became.waits) {
        (true, _) => format!(
            "{asker} booked {time}. If that does not suit you any more, tell {asker}, or decline the invitation."
        ),
        (false, true) => format!(
            "The vote is over: {asker} has {time} to approve. If that does not suit you any more, tell {asker}."
        ),
        (false, false) => format!("The vote is over, and {time} was not booked. Ask {asker}."),
    })
}

/// Updates the cards of the vote and ends it if all voters agree.
pub(crate) async fn tally(core: &Chat, claim: &Claim, id: QuestionId) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut conn = core.pool.acquire().await?;
    let question = super::sql::load(&mut conn, tenant, id).await?.ok_or("no such question")?;
    let venue = delivery::sql::venue(&mut conn, tenant, question.conversation).await?;
    let asked = !sql::cards(&mut conn, tenant, id).await?.is_empty();
    let voters = sql::voters(&mut conn, tenant, &question).await?;
    drop(conn);
    let mut places = Vec::new();
    if question.opened && !asked {
        places = match apart(core, tenant, &question, &venue, &voters).await {
            Err(Apart::Busy(seconds)) => {
                let until = now + chrono::TimeDelta::seconds(seconds);
                let mut conn = core.pool.acquire().await?;
                return Ok(jobs::reschedule(&mut conn, claim, until, None, false).await?);
            }
            Err(Apart::Failed(error)) => return Err(error),
            Ok(places) => places,
        };
    }
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    // The lane is locked before the row, in the same order as when a turn is stopped.
    jobs::lock_lane(&mut tx, tenant, question.conversation.0).await?;
    if sql::is_open(&mut tx, tenant, id, now).await? {
        // Read again under the lock, because votes might have changed since.
        let voters = sql::voters(&mut tx, tenant, &question).await?;
        match count::stand(&voters, question.choices.len()) {
            Stand::Agreed(at) => {
                super::answer(&mut tx, tenant, &question, at, now).await?;
                end(&mut tx, tenant, &question, Ending::Agreed(at), now).await?;
            }
            Stand::Open | Stand::NoneSuits => {
                let own = super::card(&question, &voters);
                delivery::show(&mut tx, tenant, question.delivery, &own, now).await?;
                let cards = sql::cards(&mut tx, tenant, id).await?;
                let apart = cards.iter().map(|(_, only_for)| *only_for);
                let apart: Vec<PersonId> =
                    apart.chain(places.iter().map(|place| place.only_for)).flatten().collect();
                let called = sql::called(&mut tx, tenant, &question, &venue, &apart).await?;
                let open = card::open(&question, &voters, now);
                let calling = called
                    .iter()
                    .rev()
                    .fold(open.clone(), |card, user| card.with_mention(Some(user.as_str())));
                let card_for = |one: Option<PersonId>| if one.is_some() { &open } else { &calling };
                for (delivery, only_for) in cards {
                    delivery::show(&mut tx, tenant, delivery, card_for(only_for), now).await?;
                }
                for place in places {
                    let delivery = core.id();
                    let new = NewDelivery {
                        id: delivery,
                        conversation: question.conversation,
                        run: Some(question.run),
                        platform: &place.platform,
                        target: place.target.as_ref(),
                        opens_thread: false,
                        card: card_for(place.only_for),
                        only_for: place.only_for,
                    };
                    let there = Venue { platform: place.platform.clone(), ..venue.clone() };
                    delivery::send(&mut tx, tenant, &there, &new, now).await?;
                    sql::stands(&mut tx, tenant, id, delivery).await?;
                }
            }
        }
    }
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}

/// A place where a voting card is to be posted.
struct There {
    platform: String,
    target: Option<DeliveryTarget>,
    only_for: Option<PersonId>,
}

enum Apart {
    Busy(i64),
    Failed(WorkError),
}

impl<E: Into<WorkError>> From<E> for Apart {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Returns the thread, and the DM of each voter who does not read the thread.
async fn apart(
    core: &Chat,
    tenant: TenantId,
    question: &Question,
    venue: &Venue,
    voters: &[Voter],
) -> Result<Vec<There>, Apart> {
    let mut places = vec![There { platform: venue.platform.clone(), target: None, only_for: None }];
    for voter in voters.iter().filter(|voter| voter.person != question.person) {
        let mut conn = core.pool.acquire().await?;
        let here =
            people::sql::user_of(&mut conn, tenant, voter.person, &venue.platform, &venue.workspace).await?;
        let line = match &here {
            Some(_) => None,
            None => sql::elsewhere(&mut conn, tenant, voter.person).await?,
        };
        // The connection is released before the platform is called.
        drop(conn);
        let (platform, workspace, user) = match (here, line) {
            (Some(user), _) if reads(core, venue, &user).await? => continue,
            (Some(user), _) => (venue.platform.clone(), venue.workspace.clone(), user),
            (None, Some(line)) if core.adapters.get(&line.0).is_some() => line,
            (None, _) => continue,
        };
        let target = Some(DeliveryTarget::DirectMessage { workspace, user });
        places.push(There { platform, target, only_for: Some(voter.person) });
    }
    Ok(places)
}

/// Returns whether a user is a member of the channel where the question was asked.
async fn reads(core: &Chat, venue: &Venue, user: &str) -> Result<bool, Apart> {
    let adapter = core.adapters.get(&venue.platform).ok_or("no such platform here")?;
    match adapter.is_channel_member(&venue.workspace, &venue.place.channel, user).await {
        Ok(member) => Ok(member),
        Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
            Err(Apart::Busy(i64::try_from(after_seconds.clamp(1, 3600)).unwrap_or(60)))
        }
        Err(ChatError::UnknownOutcome(reason)) => Err(Apart::Failed(reason.into())),
        // Nothing shows that they read the channel.
        Err(ChatError::Rejected { .. } | ChatError::ChannelClosed { .. } | ChatError::Gone) => Ok(false),
    }
}

/// Ends the vote and shows on its cards how.
pub(super) async fn end(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &Question,
    ending: Ending,
    now: Timestamp,
) -> sqlx::Result<()> {
    let cards = sql::cards(conn, tenant, question.id).await?;
    if cards.is_empty() {
        return Ok(());
    }
    let voters = sql::voters(conn, tenant, question).await?;
    let became = sql::became(conn, tenant, question).await?;
    let closed = card::closed(question, &voters, ending, &became, now);
    for (delivery, _) in cards {
        delivery::show(conn, tenant, delivery, &closed, now).await?;
    }
    Ok(())
}

/// Updates the cards of a run's decided votes with the outcome of the request that followed.
pub async fn told(conn: &mut PgConnection, tenant: TenantId, run: RunId, now: Timestamp) -> sqlx::Result<()> {
    for id in sql::decided(conn, tenant, run).await? {
        let Some(question) = super::sql::load(conn, tenant, id).await? else { continue };
        let Some(at) = question.chosen_at() else { continue };
        let voters = sql::voters(conn, tenant, &question).await?;
        let ending = match count::stand(&voters, question.choices.len()) {
            Stand::Agreed(agreed) if agreed == at => Ending::Agreed(at),
            _ => Ending::Chose(at),
        };
        end(conn, tenant, &question, ending, now).await?;
    }
    Ok(())
}
