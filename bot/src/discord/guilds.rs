//! The servers of which Nod is a member, and their people. For the core they are one workspace: a user is the same
//! human on all.

use std::sync::Arc;
use std::time::Duration;

use nod_contract::chat::{ChatError, Membership, Profile};
use serde_json::Value;

use super::adapter::strange;
use super::recent_answers::{RecentAnswers, guild_path, member_path};
use super::web::ApiClient;

/// The page size for members.
const PAGE: &str = "1000";
/// The page size for servers.
const GUILDS_PAGE: &str = "200";
/// The longest wait between two pages, in seconds.
const MAX_PAGE_WAIT: u64 = 5;
/// No such user, no such member.
const UNKNOWN: [&str; 2] = ["10013", "10007"];

pub(super) struct Guilds {
    web: Arc<ApiClient>,
    /// The ids of the servers to serve; all if empty.
    served: Vec<String>,
    recent: RecentAnswers,
}

impl Guilds {
    pub(super) fn new(web: Arc<ApiClient>, served: Vec<String>) -> Self {
        Self { web, served, recent: RecentAnswers::default() }
    }

    /// Returns whether a server is served.
    pub(super) fn is_served(&self, guild: &str) -> bool {
        self.served.is_empty() || self.served.iter().any(|served| served == guild)
    }

    /// Leaves a server.
    pub(super) async fn leave(&self, guild: &str) -> Result<(), ChatError> {
        self.web.delete(&format!("users/@me/guilds/{guild}")).await.map(|_| ())
    }

    /// Returns the ids of the served servers of which it is a member.
    pub(super) async fn list_guilds(&self) -> Result<Vec<String>, ChatError> {
        Ok(self.list_names().await?.into_iter().map(|(id, _)| id).collect())
    }

    /// Returns the ids and names of the served servers of which it is a member.
    pub(super) async fn list_names(&self) -> Result<Vec<(String, String)>, ChatError> {
        let mut all: Vec<(String, String)> = Vec::new();
        loop {
            let mut query = vec![("limit", GUILDS_PAGE)];
            query.extend(all.last().map(|(last, _)| ("after", last.as_str())));
            let page = match self.web.get("users/@me/guilds", &query).await {
                // This call has a low limit per second; the pages already read are kept.
                Err(ChatError::RateLimited { retry_after_secs: wait @ ..=MAX_PAGE_WAIT }) => {
                    tokio::time::sleep(Duration::from_secs(wait)).await;
                    continue;
                }
                page => page?,
            };
            let page = page.as_array().ok_or_else(strange)?;
            let told = |guild: &Value| {
                let name = guild["name"].as_str().unwrap_or_default();
                Some((guild["id"].as_str()?.to_owned(), name.to_owned()))
            };
            let read: Vec<(String, String)> = page.iter().filter_map(told).collect();
            let full = page.len().to_string() == GUILDS_PAGE && read.last() != all.last();
            all.extend(read);
            if !full {
                all.retain(|(guild, _)| self.is_served(guild));
                return Ok(all);
            }
        }
    }

    /// Returns a user's profile. Members of one of the servers belong; other users can write to a bot too, but are
    /// external.
    pub(super) async fn fetch_profile(&self, user: &str) -> Result<Profile, ChatError> {
        for guild in self.list_guilds().await? {
            if let Some(member) = self.fetch_member(&guild, user).await? {
                return parse_profile(&member["user"], Some(&member)).ok_or_else(strange);
            }
        }
        match self.web.get(&format!("users/{user}"), &[]).await {
            Ok(user) => parse_profile(&user, None).ok_or_else(strange),
            Err(error) if is_unknown_user_error(&error) => Ok(unknown_profile(user)),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn fetch_member(&self, guild: &str, user: &str) -> Result<Option<Value>, ChatError> {
        self.fetch(&member_path(guild, user)).await
    }

    /// Returns a member, as Discord said within the last ten seconds.
    pub(super) async fn find_member(&self, guild: &str, user: &str) -> Result<Option<Value>, ChatError> {
        self.find(&member_path(guild, user)).await
    }

    /// Returns a server with its roles, as Discord said within the last ten seconds.
    pub(super) async fn find_guild(&self, guild: &str) -> Result<Option<Value>, ChatError> {
        self.find(&guild_path(guild)).await
    }

    async fn find(&self, path: &str) -> Result<Option<Value>, ChatError> {
        let answer = self.recent.find(path, self.web.now());
        answer.get_or_try_init(|| self.fetch(path)).await.cloned()
    }

    /// Forgets what an event says has changed.
    pub(super) fn apply_event(&self, kind: &str, event: &Value) {
        self.recent.apply_event(kind, event);
    }

    async fn fetch(&self, path: &str) -> Result<Option<Value>, ChatError> {
        match self.web.get(path, &[]).await {
            Ok(told) => Ok(Some(told)),
            Err(error) if is_unknown_user_error(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns a page of members; the cursor names the server and the last user.
    pub(super) async fn list_members(
        &self,
        cursor: Option<String>,
    ) -> Result<(Vec<Profile>, Option<String>), ChatError> {
        let guilds = self.list_guilds().await?;
        let (guild, after) = match cursor.as_deref().and_then(|cursor| cursor.split_once(':')) {
            Some((guild, after)) => (guild.to_owned(), after.to_owned()),
            None => match guilds.first() {
                Some(first) => (first.clone(), "0".to_owned()),
                None => return Ok((Vec::new(), None)),
            },
        };
        let query = [("limit", PAGE), ("after", after.as_str())];
        let page = match self.web.get(&format!("guilds/{guild}/members"), &query).await {
            Ok(page) => page.as_array().cloned().ok_or_else(strange)?,
            // Without the members intent, people become known when they write.
            Err(ChatError::ChannelClosed { code } | ChatError::Rejected { code }) => {
                tracing::warn!(code, "could not list the members of a server (Server Members Intent)");
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let last = page.last().and_then(|member| member["user"]["id"].as_str());
        let full = page.len().to_string() == PAGE;
        let next = match last.filter(|_| full) {
            Some(last) => Some(format!("{guild}:{last}")),
            None => guilds.iter().skip_while(|g| **g != guild).nth(1).map(|next| format!("{next}:0")),
        };
        Ok((page.iter().filter_map(|member| parse_profile(&member["user"], Some(member))).collect(), next))
    }
}

/// Returns the profile of a user who left a server. They can be a member of another, which is looked up when they next
/// write.
pub(super) fn parse_member_removal(event: &Value) -> Option<Profile> {
    let seen = parse_profile(&event["user"], None)?;
    Some(Profile { membership: Membership::Unknown, ..seen })
}

/// Returns the profile in a member event.
pub(super) fn parse_member_event(event: &Value) -> Option<Profile> {
    parse_profile(&event["user"], Some(event))
}

fn is_unknown_user_error(error: &ChatError) -> bool {
    matches!(error, ChatError::ChannelClosed { code } | ChatError::Rejected { code } if UNKNOWN.contains(&code.as_str()))
}

fn parse_profile(user: &Value, member: Option<&Value>) -> Option<Profile> {
    let text = |value: &Value| value.as_str().filter(|t| !t.is_empty()).map(str::to_owned);
    let name = text(&user["username"])?;
    let shown = member.and_then(|m| text(&m["nick"])).or_else(|| text(&user["global_name"]));
    let standing = match (user["bot"] == true, member) {
        (true, _) => Membership::Bot,
        (false, Some(_)) => Membership::Member,
        (false, None) => Membership::External,
    };
    Some(Profile {
        user: text(&user["id"])?,
        full_name: shown.unwrap_or_else(|| name.clone()),
        name,
        title: None,
        email: None,
        zone: None,
        membership: standing,
    })
}

fn unknown_profile(user: &str) -> Profile {
    Profile {
        user: user.to_owned(),
        name: user.to_owned(),
        full_name: String::new(),
        title: None,
        email: None,
        zone: None,
        membership: Membership::Deactivated,
    }
}
