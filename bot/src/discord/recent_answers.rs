//! What Discord said a moment ago of servers and their members, so that a question about many channels asks once. Nothing
//! of a channel is kept here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::TimeDelta;
use nod_contract::clock::Timestamp;
use serde_json::Value;
use tokio::sync::OnceCell;

/// How long an answer counts: as long as one question takes, because who lost a role must not read on.
const KNOWN_FOR: TimeDelta = TimeDelta::seconds(10);

/// An answer, `None` if there is no such thing. It is empty until Discord has answered, and who asks meanwhile waits for
/// the same call.
pub(super) type RecentAnswer = Arc<OnceCell<Option<Value>>>;

/// The answers by their paths, and when they were asked for.
#[derive(Default)]
pub(super) struct RecentAnswers(Mutex<HashMap<String, (RecentAnswer, Timestamp)>>);

impl RecentAnswers {
    pub(super) fn find(&self, path: &str, now: Timestamp) -> RecentAnswer {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, (_, at)| now - *at < KNOWN_FOR);
        all.entry(path.to_owned()).or_insert_with(|| (RecentAnswer::default(), now)).0.clone()
    }

    /// Forgets what an event says has changed.
    pub(super) fn apply_event(&self, kind: &str, event: &Value) {
        let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let path = match kind {
            "GUILD_UPDATE" => guild_path(&id(&event["id"])),
            "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE" | "GUILD_ROLE_DELETE" => {
                guild_path(&id(&event["guild_id"]))
            }
            "GUILD_MEMBER_ADD" | "GUILD_MEMBER_UPDATE" | "GUILD_MEMBER_REMOVE" => {
                member_path(&id(&event["guild_id"]), &id(&event["user"]["id"]))
            }
            _ => return,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&path);
    }
}

pub(super) fn guild_path(guild: &str) -> String {
    format!("guilds/{guild}")
}

pub(super) fn member_path(guild: &str, user: &str) -> String {
    format!("guilds/{guild}/members/{user}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_counts_until_it_is_old_or_something_changed() {
        let now = Timestamp::UNIX_EPOCH;
        let (guild, member) = (guild_path("1"), member_path("1", "2"));
        let changed_role = json!({"guild_id": "1", "role": {"id": "5"}});
        let changed_member = json!({"guild_id": "1", "user": {"id": "2"}});
        for (what, seconds, event, counts) in [
            ("soon", 9, None, [true, true]),
            ("later", 10, None, [false, false]),
            ("a role", 1, Some(("GUILD_ROLE_UPDATE", &changed_role)), [false, true]),
            ("a member", 1, Some(("GUILD_MEMBER_REMOVE", &changed_member)), [true, false]),
            ("a message", 1, Some(("MESSAGE_CREATE", &changed_member)), [true, true]),
        ] {
            let answers = RecentAnswers::default();
            for path in [&guild, &member] {
                answers.find(path, now).set(Some(json!("known"))).unwrap();
            }
            if let Some((kind, event)) = event {
                answers.apply_event(kind, event);
            }
            let then = now + TimeDelta::seconds(seconds);
            let known = [&guild, &member].map(|path| answers.find(path, then).initialized());
            assert_eq!(known, counts, "{what}");
        }
    }
}
