//! What a tool needs to act: the key of its effect, and the permit.

use serde::{Deserialize, Serialize};

use crate::ids::EffectId;

/// The idempotency key of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectKey {
    /// The same for every attempt of the effect.
    pub id: EffectId,
    /// Starts at 1. Above 1, an earlier attempt might have left something.
    pub attempt: u32,
}

/// Proof that a committed row says *started*.
#[derive(Debug)]
pub struct Permit {
    key: EffectKey,
}

impl Permit {
    /// Creates a permit. Only the code that has just committed *started* is allowed to call it: see `clippy.toml`.
    #[must_use]
    pub fn mint(key: EffectKey) -> Self {
        Self { key }
    }

    /// Returns the effect that it permits.
    #[must_use]
    pub fn key(&self) -> EffectKey {
        self.key
    }
}
