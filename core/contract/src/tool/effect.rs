//! What a tool needs to act: the key of its effect, and the permit.

use serde::{Deserialize, Serialize};

use crate::ids::EffectId;

/// The idempotency key of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectKey {
    /// The same for every attempt.
    pub id: EffectId,
    /// From 1. Above 1, an earlier attempt may have left something.
    pub attempt: u32,
}

/// Exists because a committed row says *started*.
#[derive(Debug)]
pub struct Permit {
    key: EffectKey,
}

impl Permit {
    /// For whoever has just committed *started*, and nobody else: see the list of disallowed methods.
    #[must_use]
    pub fn mint(key: EffectKey) -> Self {
        Self { key }
    }

    /// The effect that it permits.
    #[must_use]
    pub fn key(&self) -> EffectKey {
        self.key
    }
}
