//! Where the messages of a run go: into its conversation, or, if others read there too, what is private into its person's
//! direct messages, with a line in the conversation that says so.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::PgConnection;

use super::long::Whole;
use crate::context::Agent;
use nod_contract::card::{Block, Card};
use nod_contract::chat::{DeliveryTarget, OutgoingFile};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, RunId, TenantId};
use nod_contract::privacy::Audience;
use nod_people::conversations::ConversationLocation;
use nod_people::delivery::{self, NewDelivery, OutgoingMessage};
use nod_people::people;
use nod_store::jobs::WorkError;

pub(super) struct Outbox<'a> {
    pub(super) core: &'a Agent,
    pub(super) tenant: TenantId,
    pub(super) venue: &'a ConversationLocation,
    pub(super) run: RunId,
    pub(super) conversation: ConversationId,
    pub(super) person: PersonId,
    /// The person's name, as others read it.
    pub(super) name: &'a str,
    /// Whether others read the conversation too.
    pub(super) is_shared: bool,
    /// What goes out with the end of the job.
    pub(super) unsent: &'a Mutex<Unsent>,
}

/// What a commit has to say and has not stored yet.
#[derive(Default)]
pub(super) struct Unsent {
    pub(super) messages: Vec<OutgoingMessage>,
    /// Some are stored already, and nobody has begun to post them.
    pub(super) has_stored: bool,
}

impl Outbox<'_> {
    /// Posts an answer to its audience, as several messages if it is too long for one.
    pub(super) async fn post_answer(
        &self,
        conn: &mut PgConnection,
        first: DeliveryId,
        (card, whole): (&Card, Option<&Whole>),
        audience: Audience,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let adapter = self.core.adapters.get(&self.venue.platform);
        let fits = |card: &Card| adapter.is_none_or(|adapter| adapter.fits_in_one_message(card));
        let most = adapter.map_or(usize::MAX, |adapter| adapter.max_message_chars());
        for (at, page) in delivery::split_into_messages(card, most, fits).into_iter().enumerate() {
            let id = delivery::page_id(first, at);
            let page = &page.with_numbered_actions(id);
            match audience {
                Audience::Channel => self.enqueue(id, page, None, audience, now),
                Audience::Person(_) if at == 0 => {
                    let line = placeholder_card(format!("Answered {} privately.", self.name));
                    self.enqueue_private_with_placeholder(conn, id, page, line, now).await?;
                }
                Audience::Person(_) => self.enqueue_private(conn, id, page, now).await?,
            }
        }
        self.send_whole(conn, whole, audience, now).await
    }

    /// Posts a message that waits for its person's decision. Where others read it too, it mentions the person: they may have
    /// been away for hours.
    pub(super) async fn post_request(
        &self,
        conn: &mut PgConnection,
        id: DeliveryId,
        card: &Card,
        audience: Audience,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        match audience {
            Audience::Channel => {
                let ConversationLocation { platform, workspace, .. } = self.venue;
                let mentioned = match self.is_shared {
                    true => {
                        people::sql::find_user_id(conn, self.tenant, self.person, platform, workspace).await?
                    }
                    false => None,
                };
                let card = card.clone().with_mention(mentioned.as_deref());
                self.enqueue(id, &card, None, audience, now);
                Ok(())
            }
            Audience::Person(_) => {
                let line = placeholder_card(format!("Asked {} privately.", self.name));
                self.enqueue_private_with_placeholder(conn, id, card, line, now).await
            }
        }
    }

    /// Posts a file to its audience, with words beside it.
    pub(super) async fn post_file(
        &self,
        conn: &mut PgConnection,
        id: DeliveryId,
        (words, file): (&Card, &OutgoingFile),
        audience: Audience,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        match audience {
            Audience::Channel => self.enqueue(id, words, None, audience, now),
            Audience::Person(_) => self.enqueue_private(conn, id, words, now).await?,
        }
        self.store_unsent(conn, now).await?;
        Ok(delivery::sql::set_file(conn, self.tenant, id, file).await?)
    }

    /// Sends a card only to the person; in a shared place, the run's line in the thread says so.
    pub(super) async fn enqueue_private_with_placeholder(
        &self,
        conn: &mut PgConnection,
        id: DeliveryId,
        card: &Card,
        line: Card,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        self.enqueue_private(conn, id, card, now).await?;
        if !self.is_shared {
            return Ok(());
        }
        let id = delivery::line_id(self.run);
        if let Some(unsent) = self.unsent().messages.iter_mut().find(|message| message.id() == id) {
            unsent.set_card(line);
            return Ok(());
        }
        if delivery::sql::load(conn, self.tenant, id).await?.is_some() {
            // The person's lane is locked before the channel's, as everywhere.
            self.store_unsent(conn, now).await?;
            delivery::update_line(conn, self.tenant, id, line, now).await?;
        } else {
            self.enqueue(id, &line, None, Audience::Channel, now);
        }
        Ok(())
    }

    /// Sends a card only to the person, and posts nothing elsewhere.
    pub(super) async fn enqueue_private(
        &self,
        conn: &mut PgConnection,
        id: DeliveryId,
        card: &Card,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let audience = Audience::Person(self.person);
        if !self.is_shared {
            self.enqueue(id, card, None, audience, now);
            return Ok(());
        }
        let target = delivery::dm_target(conn, self.tenant, self.venue, self.person).await?;
        let target = target.ok_or("nobody to write to")?;
        self.enqueue(id, card, Some(&target), audience, now);
        Ok(())
    }

    /// Sends a message with the end of the job, or when [`store_unsent`](Self::store_unsent) is called.
    pub(super) fn enqueue(
        &self,
        id: DeliveryId,
        card: &Card,
        target: Option<&DeliveryTarget>,
        audience: Audience,
        now: Timestamp,
    ) {
        let new = NewDelivery {
            id,
            conversation: self.conversation,
            run: Some(self.run),
            platform: &self.venue.platform,
            target,
            opens_thread: false,
            card,
            only_for: match audience {
                Audience::Person(person) => Some(person),
                Audience::Channel => None,
            },
        };
        self.unsent().messages.push(OutgoingMessage::new(self.venue, &new, now));
    }

    /// Stores what is not sent yet: rows that refer to it follow, or messages that come after it.
    pub(super) async fn store_unsent(&self, conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
        let messages = {
            let mut unsent = self.unsent();
            unsent.has_stored |= !unsent.messages.is_empty();
            std::mem::take(&mut unsent.messages)
        };
        for message in messages {
            message.enqueue(conn, self.tenant, now).await?;
        }
        Ok(())
    }

    fn unsent(&self) -> MutexGuard<'_, Unsent> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a line that reveals nothing of the private message.
pub(super) fn placeholder_card(words: String) -> Card {
    Card { body: vec![Block::Note(words)], ..Card::default() }
}
