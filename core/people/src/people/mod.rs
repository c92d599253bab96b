//! Humans known to Nod: who they are on a platform, what it tells of them, and how a name becomes an address.

pub mod colleagues;
pub mod contacts;
pub mod directory;
pub mod heard;
pub mod hours;
pub mod names;
pub mod refresh;
pub mod sql;

use serde::{Deserialize, Serialize};

use sqlx::PgConnection;

use nod_contract::chat::Membership;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::tool::{Choice, Principal, ToolError};

/// To whoever is no member where only members may use Nod.
pub const NOT_FOR_STRANGERS: &str =
    "I work for members of this workspace only, so I did nothing. An admin can change that.";

/// To whoever the platform has not told of, and does not tell of now.
pub const NOT_KNOWN_YET: &str =
    "I could not find out yet who you are here, so I did nothing. Please try again in a moment.";

/// A person as the rows know them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Who.
    pub id: PersonId,
    /// As shown in chat.
    pub name: String,
    /// In full.
    pub full_name: String,
    /// "Sales".
    pub title: Option<String>,
    /// Their address on the platform.
    pub address: Option<String>,
    /// IANA zone name: what they set, or what their platform tells.
    pub zone: Option<String>,
    /// Whether they belong.
    pub standing: Membership,
    /// Whether the platform has been asked about them.
    pub known: bool,
}

impl Person {
    /// As the one on whose behalf things are done.
    #[must_use]
    pub fn principal(&self) -> Principal {
        Principal {
            person: self.id,
            name: self.display_name().to_owned(),
            email: self.address.clone(),
            zone: self.zone.clone().unwrap_or_else(|| "UTC".to_owned()),
        }
    }

    /// The full name where there is one.
    #[must_use]
    pub fn display_name(&self) -> &str {
        if self.full_name.is_empty() { &self.name } else { &self.full_name }
    }
}

/// Somebody who belongs everywhere they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Their address, where a platform tells it.
    pub address: Option<String>,
    /// What each platform calls them: the platform, and a user there.
    pub users: Vec<(String, String)>,
}

/// What a recipient comes to whom a model or a person wrote: an address, a mention, or a name that fits one
/// person.
pub async fn address(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    written: &str,
    me: &Principal,
) -> sqlx::Result<Result<String, ToolError>> {
    if let Some(user) = names::mentioned(written) {
        let person = sql::by_user(conn, tenant, platform, workspace, user).await?;
        return Ok(names::of_mentioned(person.as_ref()));
    }
    let people = match names::words(written) {
        Some(words) => sql::named(conn, tenant, platform, workspace, &words).await?,
        None => Vec::new(),
    };
    Ok(names::resolve(written, me, &people))
}

/// Whoever has this address, as one picks among people.
pub async fn choices(conn: &mut PgConnection, tenant: TenantId, address: &str) -> sqlx::Result<Vec<Choice>> {
    let people = sql::at_addresses(conn, tenant, &[address.to_owned()]).await?;
    let choice = |(_, _, name): (String, PersonId, String)| Choice {
        label: format!("{name} ({address})"),
        value: address.to_owned(),
    };
    Ok(people.into_iter().map(choice).collect())
}
