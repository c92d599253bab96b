//! Votes on a time: the asker shares the times they could choose from, the others say which suit them, and the earliest
//! that suits everybody is taken. It remains the asker's request: nothing is booked without their approval.
//!
//! The rows are the truth. A click writes its row and enqueues a job in the vote's own lane, which updates the cards
//! and ends the vote. The lane serialises two last votes, so neither is overlooked.

mod card;
mod sql;
mod tally;

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

pub use card::VoteResult;
use tally::VoteStanding;

use super::sql::Question;
use crate::work::RequestJob;
use nod_contract::card::{Action, Block, Card, OnClick, Style};
use nod_contract::chat::{ChatError, DeliveryTarget, InteractionResponse};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, QuestionId, RunId, TenantId};
use nod_people::context::Chat;
use nod_people::conversations::{self, ConversationLocation};
use nod_people::delivery::{self, NewDelivery};
use nod_people::people;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs;
use nod_when::when;

/// The vote that a question can be put to: its title and the addresses of the others who can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteProposal {
    pub title: String,
    pub voters: Vec<String>,
    /// People whose calendars could not be read.
    #[serde(default)]
    #[serde(alias = "unseen")]
    pub unreadable_calendars: Vec<String>,
}

/// A person who can vote, and what suits them.
#[derive(Debug, Clone)]
pub struct Voter {
    person: PersonId,
    name: String,
    email: String,
    choices: Vec<usize>,
}

/// Returns who can vote, the asker included; empty if the question was asked in private, where no thread can be shared.
pub async fn load_eligible_voters(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &Question,
    venue: &ConversationLocation,
) -> sqlx::Result<Vec<Voter>> {
    match &question.vote_proposal {
        Some(vote) if !venue.is_private_location() => {
            let all = sql::list_eligible_voters(conn, tenant, question.person, venue, &vote.voters).await?;
            Ok(if all.len() > 1 { all } else { Vec::new() })
        }
        _ => Ok(Vec::new()),
    }
}

/// Stores the voters.
pub async fn insert_voters(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    voters: &[Voter],
) -> sqlx::Result<()> {
    if voters.is_empty() { Ok(()) } else { sql::insert_voters(conn, tenant, id, voters).await }
}

/// Returns the label of a choice on the asker's own card, with the number of voters it suits once the vote is open.
pub(super) fn label(question: &Question, voters: &[Voter], at: usize, label: &str) -> String {
    match tally::voters_for(voters, at).len() {
        0 => label.to_owned(),
        all if all == voters.len() => format!("{label} · works for all"),
        some if question.is_vote_open => format!("{label} · works for {some} of {}", voters.len()),
        _ => label.to_owned(),
    }
}

/// Adds the state of the vote, or the button that opens it, to the asker's own card.
pub(super) fn add_vote_invitation(question: &Question, voters: &[Voter], mut card: Card) -> Card {
    let Some(vote) = question.vote_proposal.as_ref().filter(|_| !voters.is_empty()) else { return card };
    let away: Vec<&str> = vote
        .voters
        .iter()
        .map(String::as_str)
        .filter(|guest| !voters.iter().any(|voter| voter.email.eq_ignore_ascii_case(guest)))
        .collect();
    if question.is_vote_open {
        let answered = voters.iter().filter(|voter| !voter.choices.is_empty()).count();
        let words = match tally::tally(voters, question.choices.len()) {
            VoteStanding::NoCommonTime => {
                "Everyone has answered, and no time works for all. Pick one, or another time."
            }
            VoteStanding::Open | VoteStanding::Agreed(_) => {
                "I asked in the thread. You can pick one at any time."
            }
        };
        card = card.with_block(Block::Note(format!("{answered} of {} have answered. {words}", voters.len())));
    } else {
        let ask = OnClick::Action(Action::new("open_vote", question.id));
        card = card.with_button("Ask the others", Style::Primary, ask);
    }
    if away.is_empty() {
        card
    } else {
        card.with_block(Block::Note(format!("Can't vote here: {}", away.join(", "))))
    }
}

/// Handles the asker's click on [Ask the others], which counts once.
pub async fn open_vote(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let whisper = |words: &str| Ok(InteractionResponse::ephemeral(words));
    let Some(question) = super::sql::load(conn, tenant, id).await? else {
        return whisper("I can't find that question any more.");
    };
    if question.person != by {
        return whisper("This question is for someone else.");
    }
    if sql::list_voters(conn, tenant, &question).await?.is_empty() {
        return whisper("There's no one else to ask.");
    }
    // The lane is locked before the row, as in the job. The question's own lane waits for the expiry, for a day.
    jobs::enqueue(conn, tenant, question.delivery.0, &RequestJob::RefreshVote { question: id }, now, now)
        .await?;
    match sql::mark_open(conn, tenant, id, now).await? {
        true => Ok(InteractionResponse::Ack),
        false => whisper("They've been asked already, or this was already answered."),
    }
}

/// Handles a vote; `None` is none of the times.
pub async fn handle_vote_click(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    choice: Option<u16>,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(question) = super::sql::load(conn, tenant, id).await?.filter(|question| question.is_vote_open)
    else {
        return Ok(InteractionResponse::ephemeral("I can't find that vote any more."));
    };
    let voters = sql::list_voters(conn, tenant, &question).await?;
    if !voters.iter().any(|voter| voter.person == by) {
        let words = not_a_voter_text(conn, tenant, &voters, by).await?;
        return Ok(InteractionResponse::ephemeral(words));
    }
    let none = question.choices.len();
    let choice = choice.map_or(none, usize::from);
    if choice > none {
        return Ok(InteractionResponse::ephemeral("That time is no longer here. Please pick another."));
    }
    jobs::enqueue(conn, tenant, question.delivery.0, &RequestJob::RefreshVote { question: id }, now, now)
        .await?;
    if !sql::lock_if_open(conn, tenant, id, now).await? {
        let words = closed_vote_text(conn, tenant, id, &voters, by, now).await?;
        return Ok(InteractionResponse::ephemeral(words));
    }
    sql::toggle_vote(conn, tenant, &question, by, choice).await?;
    Ok(InteractionResponse::Ack)
}

/// Explains to a non-voter why nothing is counted. If two people here are one human, the other might be a voter.
async fn not_a_voter_text(
    conn: &mut PgConnection,
    tenant: TenantId,
    voters: &[Voter],
    by: PersonId,
) -> sqlx::Result<String> {
    let person = people::sql::load(conn, tenant, by).await?;
    let name = person.as_ref().map_or("", people::Person::display_name);
    if voters.iter().any(|voter| voter.name == name) {
        return Ok(format!("I asked {name} in another chat. If that's you, please vote there."));
    }
    let names: Vec<&str> = voters.iter().map(|voter| voter.name.as_str()).collect();
    Ok(format!("Only {} can vote here.", card::join_names(&names)))
}

/// Describes the outcome of a vote to a person who clicks after its end.
async fn closed_vote_text(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    voters: &[Voter],
    reader: PersonId,
    now: Timestamp,
) -> sqlx::Result<String> {
    const NOTHING: &str = "This vote is closed, and nothing was booked.";
    let Some(question) = super::sql::load(conn, tenant, id).await? else { return Ok(NOTHING.to_owned()) };
    let asker = card::find_asker_name(&question, voters);
    let Some(chosen) = question.chosen().and_then(card::span) else {
        return Ok(match question.status.as_str() {
            "answered" => format!("{asker} is looking for another time. Nothing was booked."),
            _ => NOTHING.to_owned(),
        });
    };
    let zone = people::sql::load(conn, tenant, reader).await?.and_then(|person| person.zone);
    let zone = zone.and_then(|zone| jiff::tz::TimeZone::get(&zone).ok());
    let zone = zone.unwrap_or_else(|| chosen.0.time_zone().clone());
    let became = sql::load_booking_state(conn, tenant, &question).await?;
    let (from, to) = became.rescheduled_to(&chosen).unwrap_or(chosen);
    let time = when::format_span(&from, &to, &zone, now);
    Ok(match (became.booked, became.waits) {
        (true, _) => format!(
            "{asker} booked {time}. If that no longer works for you, tell {asker} or decline the invitation."
        ),
        (false, true) => format!(
            "This vote is closed, and {asker} still has to approve {time}. If that no longer works for you, \
             tell {asker}."
        ),
        (false, false) => format!("This vote is closed, and {time} wasn't booked. Ask {asker}."),
    })
}

/// Updates the cards of the vote and ends it if all voters agree.
pub(crate) async fn update_cards(core: &Chat, claim: &Claim, id: QuestionId) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut conn = core.pool.acquire().await?;
    let question = super::sql::load(&mut conn, tenant, id).await?.ok_or("no such question")?;
    let venue = conversations::load_location(&mut conn, tenant, question.conversation).await?;
    let asked = !sql::list_cards(&mut conn, tenant, id).await?.is_empty();
    let voters = sql::list_voters(&mut conn, tenant, &question).await?;
    drop(conn);
    let mut places = Vec::new();
    if question.is_vote_open && !asked {
        places = match list_card_targets(core, tenant, &question, &venue, &voters).await {
            Err(VoteCardError::RateLimited(seconds)) => {
                let until = now + chrono::TimeDelta::seconds(seconds);
                let mut conn = core.pool.acquire().await?;
                return Ok(jobs::reschedule(&mut conn, claim, until, None, false).await?);
            }
            Err(VoteCardError::Failed(error)) => return Err(error),
            Ok(places) => places,
        };
    }
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    // The lane is locked before the row, in the same order as when a turn is stopped.
    runs::lock(&mut tx, tenant, question.run).await?;
    if sql::lock_if_open(&mut tx, tenant, id, now).await? {
        // Read again under the lock, because votes might have changed since.
        let voters = sql::list_voters(&mut tx, tenant, &question).await?;
        match tally::tally(&voters, question.choices.len()) {
            VoteStanding::Agreed(at) => {
                super::resolve(&mut tx, tenant, &question, at, now).await?;
                close(&mut tx, tenant, &question, VoteResult::Agreed(at), now).await?;
            }
            VoteStanding::Open | VoteStanding::NoCommonTime => {
                let own = super::card(&question, &voters);
                delivery::update_card(&mut tx, tenant, question.delivery, &own, now).await?;
                let cards = sql::list_cards(&mut tx, tenant, id).await?;
                let apart = cards.iter().map(|(_, only_for)| *only_for);
                let apart: Vec<PersonId> =
                    apart.chain(places.iter().map(|place| place.only_for)).flatten().collect();
                let called = sql::list_users_to_mention(&mut tx, tenant, &question, &venue, &apart).await?;
                let open = card::open(&question, &voters, now);
                let calling = called
                    .iter()
                    .rev()
                    .fold(open.clone(), |card, user| card.with_mention(Some(user.as_str())));
                let card_for = |one: Option<PersonId>| if one.is_some() { &open } else { &calling };
                for (delivery, only_for) in cards {
                    delivery::update_card(&mut tx, tenant, delivery, card_for(only_for), now).await?;
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
                    let there = ConversationLocation { platform: place.platform.clone(), ..venue.clone() };
                    delivery::enqueue(&mut tx, tenant, &there, &new, now).await?;
                    sql::insert_card(&mut tx, tenant, id, delivery).await?;
                }
            }
        }
    }
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}

/// A place where a voting card is to be posted.
struct VoteCardTarget {
    platform: String,
    target: Option<DeliveryTarget>,
    only_for: Option<PersonId>,
}

enum VoteCardError {
    RateLimited(i64),
    Failed(WorkError),
}

impl<E: Into<WorkError>> From<E> for VoteCardError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Returns the thread, and the DM of each voter who does not read the thread.
async fn list_card_targets(
    core: &Chat,
    tenant: TenantId,
    question: &Question,
    venue: &ConversationLocation,
    voters: &[Voter],
) -> Result<Vec<VoteCardTarget>, VoteCardError> {
    let mut places = vec![VoteCardTarget { platform: venue.platform.clone(), target: None, only_for: None }];
    for voter in voters.iter().filter(|voter| voter.person != question.person) {
        let mut conn = core.pool.acquire().await?;
        let here =
            people::sql::find_user_id(&mut conn, tenant, voter.person, &venue.platform, &venue.workspace)
                .await?;
        let line = match &here {
            Some(_) => None,
            None => sql::find_other_identity(&mut conn, tenant, voter.person).await?,
        };
        // The connection is released before the platform is called.
        drop(conn);
        let (platform, workspace, user) = match (here, line) {
            (Some(user), _) if is_channel_reader(core, venue, &user).await? => continue,
            (Some(user), _) => (venue.platform.clone(), venue.workspace.clone(), user),
            (None, Some(line)) if core.adapters.get(&line.0).is_some() => line,
            (None, _) => continue,
        };
        let target = Some(DeliveryTarget::DirectMessage { workspace, user });
        places.push(VoteCardTarget { platform, target, only_for: Some(voter.person) });
    }
    Ok(places)
}

/// Returns whether a user is a member of the channel where the question was asked.
async fn is_channel_reader(
    core: &Chat,
    venue: &ConversationLocation,
    user: &str,
) -> Result<bool, VoteCardError> {
    let adapter = core.adapters.get(&venue.platform).ok_or("no such platform here")?;
    match adapter.is_channel_member(&venue.workspace, &venue.channel_ref.channel, user).await {
        Ok(member) => Ok(member),
        Err(ChatError::RateLimited { retry_after_secs: after_seconds }) => {
            Err(VoteCardError::RateLimited(i64::try_from(after_seconds.clamp(1, 3600)).unwrap_or(60)))
        }
        Err(ChatError::UnknownOutcome(reason)) => Err(VoteCardError::Failed(reason.into())),
        // Nothing shows that they read the channel.
        Err(ChatError::Rejected { .. } | ChatError::ChannelClosed { .. } | ChatError::Gone) => Ok(false),
    }
}

/// Ends the vote and shows on its cards how.
pub(super) async fn close(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &Question,
    ending: VoteResult,
    now: Timestamp,
) -> sqlx::Result<()> {
    let cards = sql::list_cards(conn, tenant, question.id).await?;
    if cards.is_empty() {
        return Ok(());
    }
    let voters = sql::list_voters(conn, tenant, question).await?;
    let became = sql::load_booking_state(conn, tenant, question).await?;
    let closed = card::closed_vote_card(question, &voters, ending, &became, now);
    for (delivery, _) in cards {
        delivery::update_card(conn, tenant, delivery, &closed, now).await?;
    }
    Ok(())
}

/// Updates the cards of a run's decided votes with the outcome of the request that followed.
pub async fn notify_voters(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    for id in sql::list_decided_votes(conn, tenant, run).await? {
        let Some(question) = super::sql::load(conn, tenant, id).await? else { continue };
        let Some(at) = question.chosen_index() else { continue };
        let voters = sql::list_voters(conn, tenant, &question).await?;
        let ending = match tally::tally(&voters, question.choices.len()) {
            VoteStanding::Agreed(agreed) if agreed == at => VoteResult::Agreed(at),
            _ => VoteResult::ChosenByAsker(at),
        };
        close(conn, tenant, &question, ending, now).await?;
    }
    Ok(())
}
