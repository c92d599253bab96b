//! Questions with choices: "Which Bob?" The user picks from buttons; nothing is guessed.

pub mod remind;
pub mod sql;
pub mod vote;

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde_json::json;
use sqlx::PgConnection;

use nod_contract::card::{
    Action, Block, Card, Field, FieldError, Form, FormFallback, OnClick, Style, truncate,
};
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, QuestionId, RunId, TenantId};
use nod_contract::text::normalize_label;
use nod_contract::tool::ToolOutput;
use nod_people::delivery;
use nod_store::context::Base;
use nod_store::jobs::{Claim, WorkError, sql as jobs};
use nod_store::runs::{self, RunEvent};
pub use vote::VoteProposal;
use vote::{VoteResult, Voter};

/// The maximum number of choices with a button. One more button is for none of them ("Someone else").
pub const MAX_CHOICES: usize = 20;

/// The kind of the buttons of a question.
pub const CHOICE: &str = "answer_question";
/// The kind of the form in which a question is answered in words.
pub const ANSWER_FORM: &str = "answer_in_words";
/// The id of its field.
const ANSWER: &str = "answer";
/// The topic of a question that asks which of several drafts is meant.
const DRAFT: &str = "draft";
/// The longest answer in words, in characters.
const MAX_ANSWER_CHARS: usize = 1_000;
/// How much of it the closed question shows, in characters.
const MAX_SHOWN_CHARS: usize = 80;

/// How long a question of a turn waits. Work that goes on by itself can wait longer.
pub const LIFETIME: TimeDelta = TimeDelta::hours(24);

/// Renders the card that asks which person a name means, which of several times to take, or what work needs to know.
pub fn card(question: &sql::Question, voters: &[Voter]) -> Card {
    let (id, choices) = (question.id, &question.choices);
    let title = match &question.vote_proposal {
        None => question_text(question),
        Some(vote) => format!("{} Which time? · {}", availability_note(vote), vote.title),
    };
    let mut card = Card::default().with_title(title);
    if let Some(VoteProposal { unreadable_calendars: unseen, .. }) =
        question.vote_proposal.as_ref().filter(|vote| !vote.unreadable_calendars.is_empty())
    {
        let whose = match unseen.as_slice() {
            [one] => format!("{one}'s calendar"),
            many => format!("the calendars of {}", many.join(", ")),
        };
        let line = format!("I can't see {whose}, so they may be busy.");
        card = card.with_block(Block::Risks(vec![line]));
    }
    for (at, choice) in choices.iter().take(MAX_CHOICES).enumerate() {
        let label = vote::label(question, voters, at, &choice.label);
        card = card.with_button(label, Style::Plain, choice_button(id, at));
    }
    let card = card.with_button(
        none_label(question),
        Style::Plain,
        choice_button(id, choices.len().min(MAX_CHOICES)),
    );
    vote::add_vote_invitation(question, voters, card)
}

/// Says who is free at the times.
fn availability_note(vote: &VoteProposal) -> &'static str {
    match (vote.voters.is_empty(), vote.unreadable_calendars.is_empty()) {
        (true, _) => "You're free then.",
        (false, true) => "Everyone is free then.",
        (false, false) => "Everyone is free then, as far as I can see.",
    }
}

/// Returns the question's text. A name in quotes is a time.
fn question_text(question: &sql::Question) -> String {
    let topic = &question.topic;
    match question.takes_words {
        true => topic.clone(),
        false if is_time_question(topic) => format!("When is {topic}?"),
        // Nobody else was found, and the name alone does not say that it is they.
        false if question.choices.len() == 1 && topic != DRAFT => format!("Is this the right {topic}?"),
        false => format!("Which {topic}?"),
    }
}

/// The result of a call that lacks a time: the user is asked for one in these words and writes it where they asked,
/// because it is understood only there.
pub fn for_time(words: &str, shared: bool) -> ToolOutput {
    asking_output(format!("{words} Tell me {}, like “Friday at 3pm”.", place(shared)))
}

/// The same if a picked choice failed and more than its time might be wrong. `why` continues a sentence.
pub fn ask_for_alternative(why: &str, shared: bool) -> ToolOutput {
    let why = why.trim_end_matches('.');
    asking_output(format!("That didn't work: {why}. Tell me {} what you'd like instead.", place(shared)))
}

fn place(shared: bool) -> &'static str {
    if shared { "in the thread" } else { "here" }
}

fn asking_output(words: String) -> ToolOutput {
    let detail = "nothing was done; the person is asked this, and will say it";
    ToolOutput::trusted(json!({ "status": "not_done", "detail": detail, "asked": words }))
        .with_verbatim(words)
}

/// The result if none of the times was picked.
pub fn for_another_time(shared: bool) -> ToolOutput {
    for_time("Which other time would you like?", shared)
}

pub fn is_time_question(name: &str) -> bool {
    name.starts_with('“')
}

/// Returns the label of the last button.
fn none_label(question: &sql::Question) -> &'static str {
    if question.takes_words {
        return if question.choices.is_empty() { "Answer" } else { "Something else" };
    }
    match question.topic.as_str() {
        DRAFT => "None of these",
        time if is_time_question(time) => "Another time",
        _ => "Someone else",
    }
}

fn choice_button(id: QuestionId, at: usize) -> OnClick {
    let choice = u16::try_from(at).unwrap_or(u16::MAX);
    OnClick::Action(Action { argument: Some(choice), ..Action::new(CHOICE, id) })
}

/// Renders the card after the answer, or without one.
fn closed_card(question: &sql::Question, answer: Option<&str>) -> Card {
    let end =
        answer.unwrap_or(if question.takes_words { "nobody answered" } else { "expired without an answer" });
    let line = format!("{} → {end}", question_text(question));
    Card { body: vec![Block::Note(line)], ..Card::default() }
}

/// Splits an answer into the name and the address picked for it, which is empty if none was picked.
pub fn parse_picked(answer: &str) -> Option<(String, String)> {
    // A topic can be a model's words; a value has no such character.
    let (name, value) = answer.rsplit_once('\u{1f}')?;
    Some((name.to_owned(), value.to_owned()))
}

/// Handles a click on one of the choices.
pub async fn handle_choice_click(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    choice: Option<u16>,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let whisper = |words: &str| Ok(InteractionResponse::ephemeral(words));
    let Some(question) = sql::load(conn, tenant, id).await? else {
        return whisper("I can't find that question any more.");
    };
    if question.person != by {
        return whisper("This question is for someone else.");
    }
    let shown = question.choices.len().min(MAX_CHOICES);
    let Some(choice) = choice.map(usize::from).filter(|c| *c <= shown) else {
        return whisper("That choice is no longer here. Please pick another.");
    };
    if question.takes_words && choice == shown && question.status == "pending" {
        let card = delivery::sql::load(conn, tenant, question.delivery).await?;
        let is_read_by_all =
            card.is_some_and(|(card, venue)| card.only_for.is_none() && !venue.is_private_location());
        return Ok(InteractionResponse::Form(Box::new(answer_form(&question, is_read_by_all))));
    }
    // The lane is locked before the row, in the same order as when a turn is stopped.
    runs::lock(conn, tenant, question.run).await?;
    if !resolve(conn, tenant, &question, choice, now).await? {
        return whisper(too_late(conn, tenant, id).await?);
    }
    let ending = if choice < shown { VoteResult::ChosenByAsker(choice) } else { VoteResult::Abandoned };
    vote::close(conn, tenant, &question, ending, now).await?;
    Ok(InteractionResponse::Ack)
}

/// Says why an answer is not taken.
async fn too_late(conn: &mut PgConnection, tenant: TenantId, id: QuestionId) -> sqlx::Result<&'static str> {
    let question = sql::load(conn, tenant, id).await?;
    Ok(match question.is_some_and(|question| question.status == "answered") {
        true => "This was already answered.",
        false => "Nobody waits for this answer any more, so I did nothing with it.",
    })
}

fn answer_form(question: &sql::Question, is_read_by_all: bool) -> Form {
    let who = is_read_by_all.then(|| Block::Note("Everybody here can read your answer.".to_owned()));
    Form {
        title: "Your answer".to_owned(),
        verb: Action::new(ANSWER_FORM, question.id),
        body: [Block::Note(question_text(question))].into_iter().chain(who).collect(),
        fields: vec![Field {
            id: ANSWER.to_owned(),
            label: "Your answer".to_owned(),
            value: String::new(),
            multiline: true,
            max_chars: MAX_ANSWER_CHARS,
            optional: false,
            accepts_recipients: false,
        }],
        submit: "Send".to_owned(),
        fallback: FormFallback::ShowText(
            "I couldn't open the form. Please press the button once more.".to_owned(),
        ),
    }
}

/// Handles an answer in words.
pub async fn handle_answer(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    values: &BTreeMap<String, String>,
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<InteractionResponse> {
    let Some(question) = sql::load(conn, tenant, id).await?.filter(|question| question.takes_words) else {
        return Ok(InteractionResponse::ephemeral("I can't find that question any more."));
    };
    if question.person != by {
        return Ok(InteractionResponse::ephemeral("This question is for someone else."));
    }
    Ok(
        match store_words(conn, tenant, &question, values.get(ANSWER).map_or("", String::as_str), now).await?
        {
            Reply::Taken => InteractionResponse::Ack,
            Reply::Refused(why) => InteractionResponse::FormErrors(vec![FieldError::new(ANSWER, why)]),
            Reply::TooLate => InteractionResponse::ephemeral(too_late(conn, tenant, id).await?),
        },
    )
}

/// What became of an answer in words.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    Taken,
    /// It cannot be an answer, for this reason.
    Refused(String),
    /// The question does not wait any more.
    TooLate,
}

/// Handles a message that replies to a question. Files are not handed on, so none are taken for an answer.
pub async fn handle_reply(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    (words, has_files): (&str, bool),
    by: PersonId,
    now: Timestamp,
) -> sqlx::Result<Reply> {
    match sql::load(conn, tenant, id).await?.filter(|question| question.takes_words && question.person == by)
    {
        Some(question) if has_files && question.status == "pending" => {
            let why = "I can't take a file for an answer to that. Please answer in words, without one.";
            Ok(Reply::Refused(why.to_owned()))
        }
        Some(question) => store_words(conn, tenant, &question, words, now).await,
        None => Ok(Reply::TooLate),
    }
}

async fn store_words(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &sql::Question,
    words: &str,
    now: Timestamp,
) -> sqlx::Result<Reply> {
    let visible = words.chars().filter(|c| *c != '\u{1f}');
    let words: String = visible.map(|c| if c != '\n' && c.is_control() { ' ' } else { c }).collect();
    let words = words.trim();
    let length = words.chars().count();
    if words.is_empty() {
        return Ok(Reply::Refused("Please write your answer.".to_owned()));
    }
    if length > MAX_ANSWER_CHARS {
        let why = format!("That is {length} characters long; the limit is {MAX_ANSWER_CHARS}.");
        return Ok(Reply::Refused(why));
    }
    // The lane is locked before the row, in the same order as when a turn is stopped.
    runs::lock(conn, tenant, question.run).await?;
    let label = normalize_label(words);
    let is_taken = match question.choices.iter().position(|choice| normalize_label(&choice.label) == label) {
        // The words of a model, as if their button had been pressed.
        Some(choice) => resolve(conn, tenant, question, choice, now).await?,
        None => {
            let kept = json!({ "words": words });
            let shown = truncate(words, MAX_SHOWN_CHARS);
            store_answer(conn, tenant, question, (&kept, words, &shown), now).await?
        }
    };
    Ok(if is_taken { Reply::Taken } else { Reply::TooLate })
}

/// Stores the choice, sends it to the run and updates the card. A choice beyond the last means none of them.
async fn resolve(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &sql::Question,
    choice: usize,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let picked = question.choices.iter().take(MAX_CHOICES).nth(choice);
    let (value, label) = picked.map_or(("", none_label(question)), |choice| (&choice.value, &choice.label));
    store_answer(conn, tenant, question, (&json!({ "choice": choice }), value, label), now).await
}

/// Stores an answer, with its value for the run and how the card says it.
async fn store_answer(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &sql::Question,
    (kept, value, label): (&serde_json::Value, &str, &str),
    now: Timestamp,
) -> sqlx::Result<bool> {
    let answer = format!("{}\u{1f}{value}", question.topic);
    if !sql::resolve(conn, tenant, question.id, "answered", Some(kept), now).await? {
        return Ok(false);
    }
    let is_typed = kept.get("words").is_some();
    let event = RunEvent::QuestionClosed { question: question.id, answer: Some(answer), is_typed };
    runs::notify(conn, tenant, question.run, event, now).await?;
    delivery::update_card(conn, tenant, question.delivery, &closed_card(question, Some(label)), now).await?;
    remind::close(conn, tenant, question, now).await?;
    Ok(true)
}

/// Withdraws the open questions of a stopped turn.
pub async fn withdraw_for_run(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
    now: Timestamp,
) -> sqlx::Result<()> {
    for id in sql::list_pending_of_run(conn, tenant, run).await? {
        if sql::resolve(conn, tenant, id, "expired", None, now).await?
            && let Some(question) = sql::load(conn, tenant, id).await?
        {
            let card = Card {
                body: vec![Block::Note(format!("{} → stopped", question_text(&question)))],
                ..Card::default()
            };
            delivery::update_card(conn, tenant, question.delivery, &card, now).await?;
            remind::close(conn, tenant, &question, now).await?;
            vote::close(conn, tenant, &question, VoteResult::Stopped, now).await?;
        }
    }
    Ok(())
}

/// Expires a question that was not answered in time.
pub async fn expire(core: &Base, claim: &Claim, id: QuestionId) -> Result<(), WorkError> {
    let (tenant, now) = (claim.tenant, core.now());
    let mut tx = core.begin().await?;
    jobs::assert_lease(&mut tx, claim).await?;
    let question = sql::load(&mut tx, tenant, id).await?;
    if let Some(question) = &question {
        // The lane is locked before the row, in the same order as when a turn is stopped.
        runs::lock(&mut tx, tenant, question.run).await?;
    }
    if let Some(question) = question
        && sql::resolve(&mut tx, tenant, id, "expired", None, now).await?
    {
        let event = RunEvent::QuestionClosed { question: id, answer: None, is_typed: false };
        runs::notify(&mut tx, tenant, question.run, event, now).await?;
        delivery::update_card(&mut tx, tenant, question.delivery, &closed_card(&question, None), now).await?;
        remind::close(&mut tx, tenant, &question, now).await?;
        vote::close(&mut tx, tenant, &question, VoteResult::Late, now).await?;
    }
    jobs::complete(&mut tx, claim).await?;
    Ok(tx.commit().await?)
}
