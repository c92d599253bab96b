//! Stories against the fake itself: raw requests, a raw gateway, and the real client's models.
#![allow(clippy::unwrap_used)]
