//! The platforms where people are, and who is served there.

use std::ops::Deref;
use std::sync::Arc;

use sqlx::PgPool;

use super::Base;
use crate::chat::{Adapters, Standing};
use crate::links::Links;
use crate::reading::Reader;

/// What reaching people needs.
#[derive(Clone)]
pub(crate) struct Chat {
    pub(crate) base: Base,
    /// Connections that no worker takes: who stands at the door is answered within three seconds.
    pub(crate) door: PgPool,
    pub(crate) adapters: Adapters,
    pub(crate) links: Links,
    pub(crate) reading: Arc<dyn Reader>,
    pub(crate) welcome: Welcome,
    /// The first admins, as their platform knows them: the platform, and a user there.
    pub(crate) admins: Vec<(String, String)>,
}

impl Deref for Chat {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl Chat {
    /// The first admins on a platform.
    pub(crate) fn admins_on(&self, platform: &str) -> impl Iterator<Item = &str> {
        self.admins.iter().filter(move |(on, _)| on == platform).map(|(_, user)| user.as_str())
    }
}

/// Who may use Nod beside the members of a workspace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Welcome {
    pub(crate) guests: bool,
    /// People of other organisations.
    pub(crate) external: bool,
}

impl Welcome {
    /// Whether somebody of this standing may: strangers are refused by default.
    pub(crate) fn admits(self, standing: Standing) -> bool {
        match standing {
            Standing::Member => true,
            Standing::Guest => self.guests,
            Standing::External => self.external,
            Standing::Unknown | Standing::Bot | Standing::Gone => false,
        }
    }
}
