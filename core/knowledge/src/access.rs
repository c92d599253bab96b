//! Whose documents may be used where. Rows say whose a document is; the platform says who is in a channel, and what it
//! said is kept for two minutes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::TimeDelta;
use futures::future::join_all;
use nod_contract::chat::{ChannelMembers, ChatAdapter, ChatError, Membership, Profile};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{PersonId, TenantId};
use nod_people::context::Chat;
use nod_people::conversations::{self, ConversationLocation};
use nod_people::people;
use nod_store::ability::Asker;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::document::Readers;
use crate::sql::{self, DocumentChannel};

/// How long it counts what a platform has said.
const KNOWN_FOR: TimeDelta = TimeDelta::minutes(2);
/// In how many channels a person is looked up for one question, and in how many at once.
const MAX_CHANNELS: usize = 64;
const PARALLEL: usize = 8;
/// Of how many users of a channel the profile is asked for.
const MAX_UNKNOWN_USERS: usize = 20;

/// What a platform was asked about a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fact {
    /// Whether a person is in it.
    HasPerson(PersonId),
    /// Whether nobody is in it who is not a member of the organisation.
    HasOnlyMembers,
}

/// What platforms have said about channels, and when.
type Facts = HashMap<(Uuid, Fact), (bool, Timestamp)>;

#[derive(Clone)]
pub(crate) struct Access {
    chat: Chat,
    facts: Arc<Mutex<Facts>>,
}

/// Whose documents one person may use.
pub(crate) struct PersonAccess {
    pub(crate) readers: Readers,
    /// The channels with documents of which nobody knows now whether the person is in them.
    pub(crate) unknown_channels: usize,
}

impl Access {
    pub(crate) fn new(chat: &Chat) -> Self {
        Self { chat: chat.clone(), facts: Arc::default() }
    }

    /// Returns whose documents may be told in a channel: its own, and everyone's if nobody else reads it.
    pub(crate) async fn find_channel_readers(
        &self,
        tenant: TenantId,
        location: &ConversationLocation,
    ) -> sqlx::Result<Readers> {
        let mut conn = self.chat.pool.acquire().await?;
        let matters = sql::has_documents_of_everyone(&mut conn, tenant).await?;
        drop(conn);
        let everyone = matters && self.has_only_members(tenant, location).await?;
        Ok(Readers { everyone, channels: vec![location.channel.0], person: None })
    }

    /// Returns whose documents a person may use where nobody else reads: their own, those of the channels that they are
    /// in, and everyone's if they are a member of the organisation.
    pub(crate) async fn find_person_readers(
        &self,
        tenant: TenantId,
        person: PersonId,
    ) -> sqlx::Result<PersonAccess> {
        let mut conn = self.chat.pool.acquire().await?;
        let everyone = is_member(&mut conn, tenant, person).await?;
        let mut channels = sql::list_channels(&mut conn, tenant, person).await?;
        drop(conn);
        let too_many = channels.split_off(MAX_CHANNELS.min(channels.len())).len();
        let mut answers = Vec::with_capacity(channels.len());
        for some in channels.chunks(PARALLEL) {
            let asked = some.iter().map(|channel| self.is_in_channel(channel, person));
            answers.extend(join_all(asked).await);
        }
        let unknown = answers.iter().filter(|answer| answer.is_none()).count();
        let is_in = |(channel, answer): (&DocumentChannel, &Option<bool>)| {
            answer.unwrap_or_default().then_some(channel.id)
        };
        Ok(PersonAccess {
            readers: Readers {
                everyone,
                channels: channels.iter().zip(&answers).filter_map(is_in).collect(),
                person: Some(person.0),
            },
            unknown_channels: too_many + unknown,
        })
    }

    /// Returns whose documents are shown to an asker who waits for the answer and alone sees it: no platform is asked, so
    /// those of other channels are missing if it was not asked before.
    pub(crate) async fn find_asker_readers(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
    ) -> sqlx::Result<Readers> {
        let Asker { tenant, person, now, .. } = *asker;
        let everyone = is_member(conn, tenant, person).await?;
        if let Some(channel) = find_channel(conn, asker).await? {
            return Ok(Readers { everyone, channels: vec![channel], person: None });
        }
        if !asker.place.is_dm && !asker.place.channel.is_empty() {
            return Ok(Readers { everyone, ..Readers::default() });
        }
        let facts = self.lock();
        let is_in = |((channel, fact), (answer, at)): (&(Uuid, Fact), &(bool, Timestamp))| {
            (*fact == Fact::HasPerson(person) && *answer && is_recent(*at, now)).then_some(*channel)
        };
        Ok(Readers { everyone, channels: facts.iter().filter_map(is_in).collect(), person: Some(person.0) })
    }

    /// Returns whether a person is in a channel; `None` if the platform does not say.
    async fn is_in_channel(&self, channel: &DocumentChannel, person: PersonId) -> Option<bool> {
        let key = (channel.id, Fact::HasPerson(person));
        if let Some(known) = self.find_fact(key) {
            return Some(known);
        }
        let adapter = self.chat.adapters.get(&channel.platform)?;
        let DocumentChannel { workspace, channel_ref, user_ref, .. } = channel;
        let answer = match adapter.is_channel_member(workspace, channel_ref, user_ref).await {
            Ok(answer) => answer,
            // Nothing shows that they read the channel.
            Err(ChatError::ChannelClosed { .. } | ChatError::Rejected { .. } | ChatError::Gone) => false,
            Err(error) => {
                tracing::warn!(%error, "could not ask who is in a channel");
                return None;
            }
        };
        self.store_fact(key, answer);
        Some(answer)
    }

    async fn has_only_members(
        &self,
        tenant: TenantId,
        location: &ConversationLocation,
    ) -> sqlx::Result<bool> {
        let key = (location.channel.0, Fact::HasOnlyMembers);
        if let Some(known) = self.find_fact(key) {
            return Ok(known);
        }
        let Some(adapter) = self.chat.adapters.get(&location.platform) else { return Ok(false) };
        let ConversationLocation { platform, workspace, channel_ref, .. } = location;
        let answer = match adapter.list_channel_members(workspace, &channel_ref.channel).await {
            Ok(ChannelMembers::OnlyMembers) => true,
            Ok(ChannelMembers::TooMany) => false,
            Ok(ChannelMembers::Users(users)) => {
                let mut conn = self.chat.pool.acquire().await?;
                let known = sql::list_memberships(&mut conn, tenant, platform, workspace, &users).await?;
                drop(conn);
                are_members(adapter.as_ref(), workspace, &users, &known).await
            }
            Err(error) => {
                tracing::warn!(%error, "could not ask who is in a channel");
                return Ok(false);
            }
        };
        self.store_fact(key, answer);
        Ok(answer)
    }

    fn find_fact(&self, key: (Uuid, Fact)) -> Option<bool> {
        let now = self.chat.now();
        self.lock().get(&key).filter(|(_, at)| is_recent(*at, now)).map(|(answer, _)| *answer)
    }

    fn store_fact(&self, key: (Uuid, Fact), answer: bool) {
        let now = self.chat.now();
        let mut facts = self.lock();
        facts.retain(|_, (_, at)| is_recent(*at, now));
        facts.insert(key, (answer, now));
    }

    fn lock(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    now - at < KNOWN_FOR
}

/// Returns whether a person belongs to the organisation, in any of its workspaces.
pub(crate) async fn is_member(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
) -> sqlx::Result<bool> {
    let person = people::sql::load(conn, tenant, person).await?;
    Ok(person.is_some_and(|person| person.membership == Membership::Member))
}

/// Returns the channel where the asker is; `None` in a DM, and where nothing was ever said to Nod.
pub(crate) async fn find_channel(conn: &mut PgConnection, asker: &Asker<'_>) -> sqlx::Result<Option<Uuid>> {
    let Asker { tenant, platform, workspace, place, .. } = *asker;
    if place.is_dm || place.channel.is_empty() {
        return Ok(None);
    }
    let channel = conversations::find_channel(conn, tenant, platform, workspace, &place.channel).await?;
    Ok(channel.map(|channel| channel.0))
}

/// Returns whether all of these users are members of the organisation, or bots. Of those who are not known the platform is
/// asked.
async fn are_members(
    adapter: &dyn ChatAdapter,
    workspace: &str,
    users: &[String],
    known: &HashMap<String, Membership>,
) -> bool {
    let mut unknown = Vec::new();
    for user in users {
        match known.get(user) {
            Some(Membership::Member | Membership::Bot) => {}
            // Whoever was deactivated may have come back as something else.
            Some(Membership::Unknown | Membership::Deactivated) | None => unknown.push(user),
            Some(Membership::Guest | Membership::External) => return false,
        }
    }
    if unknown.len() > MAX_UNKNOWN_USERS {
        return false;
    }
    for some in unknown.chunks(PARALLEL) {
        let profiles = join_all(some.iter().map(|user| adapter.fetch_profile(workspace, user))).await;
        let is_fine = |profile: Profile| {
            matches!(profile.membership, Membership::Member | Membership::Bot | Membership::Deactivated)
        };
        if !profiles.into_iter().all(|profile| profile.is_ok_and(is_fine)) {
            return false;
        }
    }
    true
}
