//! Interaction tokens: each allows ephemeral messages to its author for a quarter of an hour.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nod_contract::chat::ChannelRef;

/// Discord's fifteen minutes, minus the time for a call.
const TOKEN_LIFETIME: Duration = Duration::from_secs(14 * 60);
/// Above this many tokens, expired ones are removed.
const MAX_TOKENS: usize = 10_000;

/// The newest token of each user in each channel. Those of another replica are unknown here; messages that would need
/// one go to the DM.
#[derive(Default)]
pub(super) struct InteractionTokens(Mutex<HashMap<(String, String), (String, Instant)>>);

impl InteractionTokens {
    pub(super) fn insert(&self, user: &str, place: &ChannelRef, token: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_TOKENS {
            all.retain(|_, (_, since)| since.elapsed() < TOKEN_LIFETIME);
        }
        all.insert(name(user, place), (token.to_owned(), Instant::now()));
    }

    pub(super) fn find(&self, user: &str, place: &ChannelRef) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, since) = all.get(&name(user, place))?;
        (since.elapsed() < TOKEN_LIFETIME).then(|| token.clone())
    }
}

fn name(user: &str, place: &ChannelRef) -> (String, String) {
    (user.to_owned(), place.thread.as_ref().unwrap_or(&place.channel).clone())
}
