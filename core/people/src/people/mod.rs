//! People known to Nod: who they are on a platform, what it reports about them, and how a name becomes an address.

pub mod colleagues;
pub mod contacts;
pub mod directory;
pub mod heard;
pub mod names;
pub mod refresh;
pub mod sql;
pub mod working_hours;

use serde::{Deserialize, Serialize};

use sqlx::PgConnection;

use nod_contract::chat::Membership;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::tool::{Choice, Principal, ToolError};

/// The answer to a non-member if only members can use Nod.
pub const MEMBERS_ONLY: &str = "Sorry, I only work for members of this workspace. An admin can change that.";

/// The answer to a user whose membership is unknown while the platform does not answer.
pub const NOT_KNOWN_YET: &str =
    "I couldn't find out yet who you are here, so I did nothing. Please try again in a moment.";

/// A person as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The person's id.
    pub id: PersonId,
    /// As shown in chat.
    pub name: String,
    /// The full name; can be empty.
    pub full_name: String,
    /// The job title: "Sales".
    pub title: Option<String>,
    /// Their address on the platform.
    #[serde(alias = "address")]
    pub email: Option<String>,
    /// IANA zone name: what they set, or what their platform reports.
    pub zone: Option<String>,
    /// Whether they are a member.
    #[serde(alias = "standing")]
    pub membership: Membership,
    /// Whether the platform has been asked about them.
    #[serde(alias = "known")]
    pub has_profile: bool,
}

impl Person {
    /// Returns the person as the one on whose behalf Nod acts.
    #[must_use]
    pub fn principal(&self) -> Principal {
        Principal {
            person: self.id,
            name: self.display_name().to_owned(),
            email: self.email.clone(),
            zone: self.zone.clone().unwrap_or_else(|| "UTC".to_owned()),
        }
    }

    /// Returns the full name if there is one, else the name in chat.
    #[must_use]
    pub fn display_name(&self) -> &str {
        if self.full_name.is_empty() { &self.name } else { &self.full_name }
    }
}

/// A person who is a member everywhere they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Their address, if a platform reports one.
    pub email: Option<String>,
    /// Their accounts, each as a platform and a user id there.
    pub users: Vec<(String, String)>,
}

/// Resolves a recipient that a model or a person wrote: an address, a mention, or a name that fits one person.
pub async fn resolve_recipient(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    written: &str,
    me: &Principal,
) -> sqlx::Result<Result<String, ToolError>> {
    Ok(resolve_with_lists(conn, tenant, platform, workspace, written, me, &[]).await?.0)
}

/// The same, and how old the lists of people of `platforms` are, if it searched people by name.
async fn resolve_with_lists(
    conn: &mut PgConnection,
    tenant: TenantId,
    platform: &str,
    workspace: &str,
    written: &str,
    me: &Principal,
    platforms: &[String],
) -> sqlx::Result<(Result<String, ToolError>, Vec<sql::Reading>)> {
    if let Some(user) = names::parse_mention(written) {
        let person = sql::find_by_user(conn, tenant, platform, workspace, user).await?;
        return Ok((names::email_of_mentioned(person.as_ref()), Vec::new()));
    }
    let (people, lists) = match names::search_words(written) {
        Some(words) => sql::find_by_name(conn, tenant, platform, workspace, &words, platforms).await?,
        None => (Vec::new(), Vec::new()),
    };
    Ok((names::resolve(written, me, &people), lists))
}

/// Returns the people who have this address, as choices.
pub async fn find_choices_by_address(
    conn: &mut PgConnection,
    tenant: TenantId,
    address: &str,
) -> sqlx::Result<Vec<Choice>> {
    let people = sql::find_by_emails(conn, tenant, &[address.to_owned()]).await?;
    let choice = |(_, _, name): (String, PersonId, String)| Choice {
        label: format!("{name} ({address})"),
        value: address.to_owned(),
    };
    Ok(people.into_iter().map(choice).collect())
}

/// The most people whose mentions are replaced at once.
const MAX_MENTIONS: usize = 20;

/// Replaces mentions by names, where a platform's id says nothing. Of whom no name is known the mention stays, and so it does
/// where the name holds an address: people choose their names, and what is written here counts as its writer's words.
pub async fn replace_mentions(
    conn: &mut PgConnection,
    tenant: TenantId,
    (platform, workspace): (&str, &str),
    mut texts: Vec<&mut String>,
) -> sqlx::Result<()> {
    let mut users: Vec<String> =
        texts.iter().flat_map(|text| names::mentions(text)).map(str::to_owned).collect();
    users.sort_unstable();
    users.dedup();
    for user in users.iter().take(MAX_MENTIONS) {
        let Some(person) = sql::find_by_user(conn, tenant, platform, workspace, user).await? else {
            continue;
        };
        let name = person.display_name();
        if name == user || name.contains(|c: char| c == '@' || c.is_control()) {
            continue;
        }
        for text in &mut texts {
            **text = text.replace(&format!("<@{user}>"), name);
        }
    }
    Ok(())
}
