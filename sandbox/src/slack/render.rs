//! The workspace's entities as JSON of the Web API and of events. Nothing is changed here.

use serde_json::{Map, Value, json};

use super::entities::{Channel, ChannelKind, Message, User};
use super::world::World;

impl World {
    /// Returns a user object of `users.info`; with the address only if the scope allows it.
    pub(super) fn user_json(&self, user: &User) -> Value {
        let team = user.team_id.as_ref().unwrap_or(&self.config.team.id);
        let mut profile = json!({
            "title": "", "phone": "", "skype": "",
            "real_name": user.real_name, "real_name_normalized": user.real_name,
            "display_name": user.display_name, "display_name_normalized": user.display_name,
            "status_text": "", "status_expiration": 0, "avatar_hash": "g0",
            "image_24": "https://avatars.test/24.png", "image_72": "https://avatars.test/72.png",
            "team": team,
        });
        let may = self.config.app.scopes.contains("users:read.email") && !user.is_external;
        if let Some(email) = user.email.as_ref().filter(|_| may) {
            profile["email"] = json!(email);
        }
        let mut shown = json!({
            "id": user.id, "team_id": team, "name": user.name, "real_name": user.real_name,
            "deleted": user.deleted, "profile": profile, "is_bot": user.is_bot, "is_app_user": false,
            "updated": 1_700_000_000,
        });
        if user.is_external {
            shown["is_stranger"] = json!(true);
        }
        if !user.deleted {
            merge(
                &mut shown,
                json!({
                    "color": "9f69e7", "tz": user.tz, "tz_label": user.tz, "tz_offset": user.tz_offset,
                    "is_admin": user.is_admin, "is_owner": false, "is_primary_owner": false,
                    "is_restricted": user.is_restricted,
                    "is_ultra_restricted": user.is_ultra_restricted,
                }),
            );
        }
        shown
    }

    /// Returns a channel object of `conversations.info`.
    pub(super) fn channel_json(&self, channel: &Channel) -> Value {
        let bot = &self.config.app.bot_user;
        let kind = channel.kind;
        let mut shown = json!({
            "id": channel.id, "created": channel.created, "updated": channel.created * 1000,
            "is_archived": channel.archived, "is_org_shared": false,
            "is_im": kind == ChannelKind::Im,
            "context_team_id": self.config.team.id,
        });
        if kind == ChannelKind::Im {
            let other = channel.members.iter().find(|m| *m != bot);
            merge(&mut shown, json!({"user": other, "priority": 0, "is_user_deleted": false}));
            return shown;
        }
        let private = kind != ChannelKind::Public;
        merge(
            &mut shown,
            json!({
                "name": channel.name, "name_normalized": channel.name, "is_channel": !private,
                "is_group": kind == ChannelKind::Private, "is_mpim": kind == ChannelKind::Mpim,
                "is_private": private, "is_general": channel.name == "general",
                "is_member": channel.members.contains(bot), "creator": channel.members.first(),
                "is_shared": self.is_shared(channel), "is_ext_shared": self.is_shared(channel),
                "unlinked": 0, "parent_conversation": null, "previous_names": [],
                "topic": {"value": "", "creator": "", "last_set": 0},
                "purpose": {"value": "", "creator": "", "last_set": 0},
            }),
        );
        shown
    }

    /// Returns whether people of another workspace are in the channel.
    pub(super) fn is_shared(&self, channel: &Channel) -> bool {
        channel.members.iter().filter_map(|m| self.users.get(m)).any(|u| u.is_external)
    }

    pub(super) fn bot_profile(&self) -> Value {
        let app = &self.config.app;
        json!({
            "id": app.bot_id, "app_id": app.id, "user_id": app.bot_user, "name": app.name,
            "deleted": false, "updated": 1_700_000_000, "team_id": self.config.team.id,
            "icons": {"image_36": "https://avatars.test/36.png"},
        })
    }

    /// Returns a message as in history, events and clicks. `metadata` only on request.
    pub(super) fn message_json(&self, message: &Message, metadata: bool) -> Value {
        let mut shown = json!({
            "type": "message", "user": message.user, "text": message.text, "ts": message.ts,
            "team": self.team_of(&message.user),
        });
        if message.is_from_bot {
            merge(
                &mut shown,
                json!({
                    "bot_id": self.config.app.bot_id, "app_id": self.config.app.id,
                    "bot_profile": self.bot_profile(),
                }),
            );
        } else if message.subtype.as_deref() == Some("bot_message") {
            merge(&mut shown, json!({"bot_id": message.user, "username": "workflow"}));
            remove(&mut shown, &["user", "team"]);
        }
        self.optional_parts(&mut shown, message, metadata);
        self.thread_parts(&mut shown, message);
        shown
    }

    fn optional_parts(&self, shown: &mut Value, message: &Message, metadata: bool) {
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                shown[name] = value;
            }
        };
        put("client_msg_id", message.client_msg_id.clone().map(Value::from));
        put("subtype", message.subtype.clone().map(Value::from));
        put("blocks", non_empty_array(&message.blocks));
        put("attachments", non_empty_array(&message.attachments));
        put("files", non_empty_array(&message.files));
        put("metadata", message.metadata.clone().filter(|_| metadata));
        put("edited", message.edited.as_ref().map(|e| json!({"user": e.user, "ts": e.ts})));
    }

    fn thread_parts(&self, shown: &mut Value, message: &Message) {
        if let Some(parent) = &message.thread_ts {
            shown["thread_ts"] = json!(parent);
            if let Some(parent) = self.message(&message.channel, parent) {
                shown["parent_user_id"] = json!(parent.user);
            }
            return;
        }
        let replies: Vec<&Message> = self
            .messages(&message.channel)
            .iter()
            .filter(|m| m.thread_ts.as_deref() == Some(&message.ts))
            .collect();
        let Some(latest) = replies.last() else { return };
        let mut users: Vec<&str> = replies.iter().map(|m| m.user.as_str()).collect();
        users.sort_unstable();
        users.dedup();
        merge(
            shown,
            json!({
                "thread_ts": message.ts, "reply_count": replies.len(), "reply_users_count": users.len(),
                "latest_reply": latest.ts, "reply_users": users, "is_locked": false, "subscribed": false,
            }),
        );
    }

    pub(super) fn team_of(&self, user: &str) -> &str {
        let other = self.users.get(user).and_then(|u| u.team_id.as_deref());
        other.unwrap_or(&self.config.team.id)
    }
}

fn non_empty_array(list: &[Value]) -> Option<Value> {
    (!list.is_empty()).then(|| Value::Array(list.to_vec()))
}

/// Copies the fields of `more` into `base`.
pub(super) fn merge(base: &mut Value, more: Value) {
    if let (Value::Object(base), Value::Object(more)) = (base, more) {
        base.extend(more);
    }
}

fn remove(from: &mut Value, names: &[&str]) {
    if let Some(object) = from.as_object_mut() {
        object.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// Gives ids to blocks and elements that have none.
pub(super) fn fill_ids(blocks: &mut [Value], mut next: impl FnMut() -> u64) {
    for block in blocks {
        fill(block, "block_id", &mut next);
        let elements = block.get_mut("elements").and_then(Value::as_array_mut);
        for element in elements.into_iter().flatten() {
            if is_interactive(element) {
                fill(element, "action_id", &mut next);
            }
        }
        if let Some(accessory) = block.get_mut("accessory").filter(|a| is_interactive(a)) {
            fill(accessory, "action_id", &mut next);
        }
    }
}

fn is_interactive(element: &Value) -> bool {
    !matches!(element["type"].as_str(), None | Some("image" | "mrkdwn" | "plain_text"))
        && !element["type"].as_str().is_some_and(|t| t.starts_with("rich_text"))
}

fn fill(holder: &mut Value, field: &str, next: &mut impl FnMut() -> u64) {
    let Some(object): Option<&mut Map<String, Value>> = holder.as_object_mut() else { return };
    if !object.contains_key(field) {
        object.insert(field.to_owned(), format!("auto{}", next()).into());
    }
}
