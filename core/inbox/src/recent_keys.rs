//! The keys of the messages that this process stored last. Slack tells of a mention twice, and of what was not
//! acknowledged in time again: what is known here needs no look into the database. Only a hint, since the row decides.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The most keys.
const MAX_KEYS: usize = 8_192;

#[derive(Debug, Default)]
pub(crate) struct RecentKeys(Mutex<Keys>);

#[derive(Debug, Default)]
struct Keys {
    known: HashSet<String>,
    /// The oldest first.
    order: VecDeque<String>,
}

impl RecentKeys {
    /// Returns whether a message with this key is stored, as far as this process knows.
    pub(crate) fn contains(&self, platform: &str, key: &str) -> bool {
        self.lock().known.contains(&full_key(platform, key))
    }

    /// Adds the key of a message that is stored: its transaction has been committed.
    pub(crate) fn insert(&self, platform: &str, key: &str) {
        let key = full_key(platform, key);
        let mut keys = self.lock();
        if !keys.known.insert(key.clone()) {
            return;
        }
        keys.order.push_back(key);
        if keys.order.len() > MAX_KEYS
            && let Some(oldest) = keys.order.pop_front()
        {
            keys.known.remove(&oldest);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Keys> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn full_key(platform: &str, key: &str) -> String {
    format!("{platform}:{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_key_is_forgotten() {
        let keys = RecentKeys::default();
        for number in 0..=MAX_KEYS {
            keys.insert("slack", &number.to_string());
            keys.insert("slack", &number.to_string());
        }
        assert!(!keys.contains("slack", "0") && keys.contains("slack", "1"));
        assert!(!keys.contains("discord", "1"));
        assert_eq!(keys.lock().known.len(), MAX_KEYS);
    }
}
