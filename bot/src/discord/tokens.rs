//! With an interaction comes the right to say something to its author alone, for a quarter of an hour.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nod_contract::chat::ChannelRef;

/// Discord's fifteen minutes, less what a call may take.
const LIVES: Duration = Duration::from_secs(14 * 60);
/// So many people are remembered.
const MOST: usize = 10_000;

/// The newest token of each person in each channel. Those of another replica are not known here; what they would
/// have carried goes to the direct line.
#[derive(Default)]
pub(super) struct Tokens(Mutex<HashMap<(String, String), (String, Instant)>>);

impl Tokens {
    pub(super) fn keep(&self, user: &str, place: &ChannelRef, token: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.retain(|_, (_, since)| since.elapsed() < LIVES);
        }
        all.insert(name(user, place), (token.to_owned(), Instant::now()));
    }

    pub(super) fn of(&self, user: &str, place: &ChannelRef) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (token, since) = all.get(&name(user, place))?;
        (since.elapsed() < LIVES).then(|| token.clone())
    }
}

fn name(user: &str, place: &ChannelRef) -> (String, String) {
    (user.to_owned(), place.thread.as_ref().unwrap_or(&place.channel).clone())
}
