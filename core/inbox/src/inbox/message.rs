//! Messages. A message begins a run if it is addressed to Nod or in a thread that Nod follows.

use sqlx::PgConnection;

use super::sql::PossibleAnswer;
use super::{InboundContext, Reached, sql};
use nod_agent::rows;
use nod_agent::rows::{NewMessage, NewRun};
use nod_agent::run::stop::{self, StopResult};
use nod_agent::state::{AgentState, Node};
use nod_contract::chat::{Addressing, Attachment, ChannelRef, Inbound, InteractionResponse};
use nod_contract::ids::{ConversationId, PersonId, QuestionId, RunId};
use nod_contract::model::Turn;
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::text::normalize_label;
use nod_contract::tool::Principal;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{ability, assistant_thread, attachment, conversations, people};
use nod_requests::question::Reply;
use nod_requests::{approval, question};
use nod_store::ability::AddressedMessage;
use nod_store::store;

/// A message as it arrived.
pub(super) struct MessageEvent<'a> {
    pub(super) place: &'a ChannelRef,
    pub(super) message: &'a str,
    pub(super) text: &'a str,
    pub(super) addressing: Addressing,
    pub(super) attachments: &'a [Attachment],
    /// The message that it replies to.
    pub(super) answers: Option<&'a str>,
}

impl MessageEvent<'_> {
    /// Returns the message to which it replies in a DM: platforms without such replies have threads.
    fn replied_to(&self) -> Option<&str> {
        let thread = self.place.thread.as_deref().filter(|thread| *thread != self.message);
        self.answers.or(thread).filter(|_| self.place.is_dm)
    }
}

pub(super) async fn accept(
    arrival: &InboundContext<'_>,
    words: &MessageEvent<'_>,
) -> sqlx::Result<InteractionResponse> {
    let (keys, Inbound { platform, dedup_key, .. }) = (&arrival.core.recent_keys, arrival.inbound);
    if keys.contains(platform, dedup_key) {
        return Ok(arrival.ignore());
    }
    let stored = accept_unknown(arrival, words).await?;
    if stored {
        keys.insert(platform, dedup_key);
    }
    Ok(if stored { InteractionResponse::Ack } else { arrival.ignore() })
}

/// Returns whether the message is stored now.
async fn accept_unknown(arrival: &InboundContext<'_>, words: &MessageEvent<'_>) -> sqlx::Result<bool> {
    let MessageEvent { place, message, text, addressing: addressed, attachments: files, answers } = *words;
    let mut conn = arrival.core.door.acquire().await?;
    let (mut tx, known, is_new) = if addressed == Addressing::Unaddressed {
        // Most messages are not for Nod: acknowledged and not stored. Their keys stay unused, because a second event for
        // the same message may be addressed.
        let answer = PossibleAnswer::default();
        let known =
            sql::record_or_find(&mut conn, arrival.tenant, arrival.inbound, place, answer, None).await?;
        let unheard = known.followed_conversation.is_none() || known.mention_only;
        if known.is_duplicate || unheard {
            return Ok(known.is_duplicate);
        }
        let mut tx = store::begin_on(conn).await?;
        let is_new = arrival.record_once(&mut tx, "message").await?;
        (tx, known, is_new)
    } else {
        let mut tx = store::begin_on(conn).await?;
        let answer = PossibleAnswer { replied_to: words.replied_to(), label: likely_answer(words) };
        let stores = Some(arrival.now);
        let known =
            sql::record_or_find(&mut tx, arrival.tenant, arrival.inbound, place, answer, stores).await?;
        let is_new = !known.is_duplicate;
        (tx, known, is_new)
    };
    if is_new {
        let person = match known.person {
            Some(person) => person,
            None => arrival.find_or_create_person(&mut tx).await?,
        };
        let conversation = match known.followed_conversation {
            Some(conversation) => conversation,
            None => {
                let thread = place.thread.clone().unwrap_or_default();
                find_or_create_conversation(arrival, &mut tx, place, Some(&thread), person).await?
            }
        };
        // Earlier messages of the thread were not addressed to Nod, but this message is about them.
        let thread = place.thread.as_deref().filter(|_| !place.is_dm);
        let joins = known.followed_conversation.is_none() && thread.is_some_and(|thread| thread != message);
        if arrival.reached == (Reached::LookedUp { late: true }) {
            notify_missed_message(arrival, &mut tx, conversation, person).await?;
            tx.commit().await?;
            return Ok(true);
        }
        if is_stop_phrase(text)
            && (stop_asker(arrival, &mut tx, known.question, person).await?
                || stop::all(arrival.core, &mut tx, arrival.tenant, conversation, person, arrival.now)
                    .await?)
        {
            arrival.mark_run_stopped();
            tx.commit().await?;
            return Ok(true);
        }
        let mut refusal = None;
        if let Some(question) = known.question
            && arrival.may_be_served(&mut tx, person).await?
        {
            let reply = (text, !files.is_empty());
            match question::handle_reply(&mut tx, arrival.tenant, question, reply, person, arrival.now)
                .await?
            {
                Reply::Taken => {
                    tx.commit().await?;
                    return Ok(true);
                }
                Reply::Refused(why) => refusal = Some(why),
                Reply::TooLate => {}
            }
        }
        // A person who is known and not served is told so by a run.
        if let Some(handler) = arrival.core.abilities.message_handler(text)
            && arrival.may_be_served(&mut tx, person).await?
        {
            let asker = arrival.asker(person, place);
            let addressed = AddressedMessage { conversation, text, attachments: files };
            if handler.handle_message(&mut tx, &asker, &addressed).await? {
                tx.commit().await?;
                return Ok(true);
            }
        }
        // A file without text is the whole message.
        let bare = text.trim().is_empty() && !files.is_empty();
        let text = if bare { "Here's a file." } else { text };
        let shared = !place.is_dm;
        let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
        let at = arrival.inbound.at;
        let named = addressed == Addressing::Mention;
        let all_known = arrival.reached == (Reached::Brought { all_known: true });
        let word = approval::Word { by: person, conversation, shared, named, answers, text, at, all_known };
        let yes = approval::yes(core, &mut tx, tenant, &word, now).await?;
        let said = RunRequest {
            person,
            conversation,
            text,
            message: Some(message),
            is_shared: shared,
            quoted_message: None,
            is_first_in_thread: joins,
            prepared_answer: refusal.as_deref().or(yes.reply.as_deref()),
        };
        let run = start_run(arrival, &mut tx, &said).await?;
        approval::refresh_approved_card(&mut tx, tenant, &yes, now).await?;
        attachment::insert_all(arrival.core, &mut tx, arrival.tenant, conversation, run, files, arrival.now)
            .await?;
        let sets_title = place.is_dm && place.thread.is_some() && !text.trim().is_empty();
        if sets_title {
            set_thread_title(arrival, &mut tx, conversation, text).await?;
        }
        if yes.reply.is_none() && !sets_title {
            arrival.mark_only_run();
        }
        arrival.load_leased(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(true)
}

/// Stops the task whose question a "stop" replies to; returns false if it replies to none.
async fn stop_asker(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    question: Option<QuestionId>,
    person: PersonId,
) -> sqlx::Result<bool> {
    let Some(question) = question else { return Ok(false) };
    let Some(asked) = question::sql::load(conn, arrival.tenant, question).await? else { return Ok(false) };
    let stopped = stop::stop_run(arrival.core, conn, arrival.tenant, asked.run, person, arrival.now).await?;
    Ok(stopped == StopResult::Stopped)
}

/// Says that Nod was away when this was written, once a day for each conversation.
async fn notify_missed_message(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    conversation: ConversationId,
    person: PersonId,
) -> sqlx::Result<()> {
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let key = format!("away:{conversation}:{}", now.date_naive());
    if !sql::insert_once(conn, tenant, &arrival.inbound.platform, &key, "away", None, now).await? {
        return Ok(());
    }
    let person = people::sql::load(conn, tenant, person).await?;
    let zone = person.and_then(|p| p.zone).unwrap_or_else(|| "UTC".to_owned());
    let card = super::card::missed_message_card(arrival.inbound.at, &zone);
    let venue = conversations::load_location(conn, tenant, conversation).await?;
    let new = NewDelivery {
        id: core.id(),
        conversation,
        run: None,
        platform: &venue.platform,
        target: None,
        opens_thread: false,
        card: &card,
        only_for: None,
    };
    delivery::enqueue(conn, tenant, &venue, &new, now).await
}

/// Gives an assistant thread the title of its first question.
async fn set_thread_title(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    conversation: ConversationId,
    text: &str,
) -> sqlx::Result<()> {
    if !assistant_thread::sql::mark_titled(conn, arrival.tenant, conversation).await? {
        return Ok(());
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assistant_thread::enqueue_update(conn, arrival.tenant, conversation, Some(line), arrival.now).await
}

/// Returns what is said to Nod alone as the label of a button that answers a question, if it can be one. A "yes", a "no" and
/// a "stop" can mean anything that waits, and a reply or a file something else.
fn likely_answer(words: &MessageEvent<'_>) -> Option<String> {
    let said = normalize_label(words.text);
    let is_for_anything = is_stop_phrase(words.text) || approval::is_yes(words.text) || said == "no";
    let is_plain = words.place.is_dm && words.answers.is_none() && words.attachments.is_empty();
    (is_plain && !is_for_anything && !said.is_empty()).then_some(said)
}

/// Returns whether the text is the word "stop", as on the button.
fn is_stop_phrase(text: &str) -> bool {
    text.trim().trim_end_matches(['!', '.']).eq_ignore_ascii_case("stop")
}

/// Returns the conversation of a place for this person, created if new. If the existing one is private to another
/// person, or in a DM channel of two others, this person gets a separate one that only they can read.
pub(super) async fn find_or_create_conversation(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    place: &ChannelRef,
    thread: Option<&str>,
    person: PersonId,
) -> sqlx::Result<ConversationId> {
    ability::find_or_create_conversation(arrival.core, conn, &arrival.asker(person, place), thread).await
}

/// A message to Nod.
pub(super) struct RunRequest<'a> {
    pub(super) person: PersonId,
    pub(super) conversation: ConversationId,
    pub(super) text: &'a str,
    pub(super) message: Option<&'a str>,
    pub(super) is_shared: bool,
    /// Untrusted content that came with the message.
    pub(super) quoted_message: Option<(Turn, Provenance)>,
    /// The message is in a thread that Nod did not follow before.
    pub(super) is_first_in_thread: bool,
    /// Nod's answer, if a rule of the inbox has determined it already.
    pub(super) prepared_answer: Option<&'a str>,
}

/// Stores the message and begins the run that answers it.
pub(super) async fn start_run(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    said: &RunRequest<'_>,
) -> sqlx::Result<RunId> {
    start_run_with(arrival, conn, said, |_| {}).await
}

/// Does the same as `start_run`, with state that the text does not express.
pub(super) async fn start_run_with(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    said: &RunRequest<'_>,
    known: impl FnOnce(&mut AgentState),
) -> sqlx::Result<RunId> {
    let (core, tenant, now) = (arrival.core, arrival.tenant, arrival.now);
    let run: RunId = core.id();
    // The recall step loads the rest once the platform has sent the profile.
    let principal =
        Principal { person: said.person, name: String::new(), email: None, zone: "UTC".to_owned() };
    let mut state = AgentState::new(principal, said.is_shared, said.text);
    if let Some((turn, provenance)) = &said.quoted_message {
        state.turns.push(turn.clone());
        state.provenance = provenance.clone();
    }
    state.joined_thread_at = said.is_first_in_thread.then(|| said.message.unwrap_or_default().to_owned());
    if let Some(answer) = said.prepared_answer {
        state.set_answer_without_model(answer);
    }
    known(&mut state);
    let new = NewRun {
        id: run,
        parent: None,
        node: Node::Recall,
        conversation: said.conversation,
        lane: said.conversation.lane(),
        person: said.person,
        trace: core.id(),
        state: &state,
    };
    let message = NewMessage {
        id: core.id(),
        turn_number: 0,
        person: Some(said.person),
        message_ref: said.message,
        turn: &Turn::Human { text: said.text.to_owned() },
        audience: Audience::Channel,
        provenance: &Provenance::Trusted,
    };
    let leased =
        rows::begin(conn, core.jobs.reserve_one(), tenant, &new, &message, arrival.inbound.at, now).await?;
    arrival.set_leased(leased);
    Ok(run)
}
