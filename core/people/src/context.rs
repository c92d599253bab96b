//! The platforms where people are, and who may use Nod there.

use std::ops::Deref;
use std::sync::Arc;

use sqlx::PgPool;

use crate::links::Links;
use crate::reading::Reader;
use nod_contract::chat::{Adapters, Membership};
use nod_store::context::Base;

/// What reaching people needs.
#[derive(Clone)]
pub struct Chat {
    pub base: Base,
    /// Connections that no worker takes, because a platform's request must be answered within three seconds.
    pub door: PgPool,
    pub adapters: Adapters,
    pub links: Links,
    pub reading: Arc<dyn Reader>,
    pub welcome: Welcome,
    /// The first admins, each as a platform and a user id there.
    pub admins: Vec<(String, String)>,
}

impl Deref for Chat {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl Chat {
    /// Returns the first admins on a platform.
    pub fn admins_on(&self, platform: &str) -> impl Iterator<Item = &str> {
        self.admins.iter().filter(move |(on, _)| on == platform).map(|(_, user)| user.as_str())
    }
}

/// Who can use Nod in addition to the members of a workspace.
#[derive(Debug, Clone, Copy)]
pub struct Welcome {
    pub guests: bool,
    /// People of other organisations.
    pub external: bool,
}

impl Welcome {
    /// Returns whether a user with this membership can use Nod: non-members are refused by default.
    pub fn admits(self, standing: Membership) -> bool {
        match standing {
            Membership::Member => true,
            Membership::Guest => self.guests,
            Membership::External => self.external,
            Membership::Unknown | Membership::Bot | Membership::Deactivated => false,
        }
    }
}
