//! What people do outside of channels: their Home tab, assistant threads, message shortcuts, files.

use serde_json::{Value, json};

use super::clicks::find_button;
use super::entities::{AssistantThread, ChannelKind, Message};
use super::envelopes::{Context, EnvelopeKind};
use super::events::EventDelivery;
use super::world::World;

impl World {
    /// Opens the app's Home tab.
    pub(super) fn open_home(&mut self, who: &str) -> Result<(), String> {
        let user = self.actor(who)?;
        let channel = self.open_dm(&user);
        let ts = self.next_ts();
        let mut event = json!({
            "type": "app_home_opened", "user": user, "channel": channel, "tab": "home", "event_ts": ts,
        });
        if let Some(view) = self.homes.get(&user) {
            event["view"] = view.clone();
        }
        self.event(&channel, event);
        Ok(())
    }

    /// Clicks a button of the Home tab, identified by its text.
    pub(super) fn click_in_home(&mut self, who: &str, button: &str) -> Result<u64, String> {
        let user = self.actor(who)?;
        let view = self.homes.get(&user).cloned().ok_or("That person's Home is empty.")?;
        let blocks = view["blocks"].as_array().cloned().unwrap_or_default();
        let mut action =
            find_button(&blocks, button).ok_or_else(|| format!("There is no button {button} on Home."))?;
        action["action_ts"] = json!(self.next_ts());
        let payload = json!({
            "type": "block_actions",
            "user": self.person_json(&user),
            "api_app_id": self.config.app.id,
            "token": "verification-token-unused",
            "container": {"type": "view", "view_id": view["id"]},
            "trigger_id": self.trigger(&user),
            "team": {"id": self.config.team.id, "domain": self.config.team.domain},
            "enterprise": null,
            "is_enterprise_install": false,
            "state": {"values": {}},
            "view": view,
            "actions": [action],
        });
        Ok(self.send(EnvelopeKind::Interactive, payload, Context::None))
    }

    /// Opens an assistant thread while viewing a channel; returns the thread.
    pub(super) fn open_assistant_thread(
        &mut self,
        who: &str,
        viewing: Option<&str>,
    ) -> Result<String, String> {
        let user = self.actor(who)?;
        let (channel, viewing) = (self.open_dm(&user), viewing.map(|c| self.channel_id(c)).transpose()?);
        let ts = self.next_ts();
        self.insert_message(Message {
            channel: channel.clone(),
            ts: ts.clone(),
            thread_ts: None,
            user: self.config.app.bot_user.clone(),
            is_from_bot: true,
            text: "New Assistant Thread".into(),
            blocks: vec![],
            attachments: vec![],
            files: vec![],
            metadata: None,
            subtype: Some("assistant_app_thread".into()),
            client_msg_id: None,
            edited: None,
            unfurl_links: None,
            unfurl_media: None,
            reply_broadcast: false,
        });
        let pane = AssistantThread { user, viewing, title: None, prompts: vec![] };
        self.panes.insert((channel.clone(), ts.clone()), pane);
        self.tell_pane("assistant_thread_started", &channel, &ts);
        Ok(ts)
    }

    /// Views another channel while the assistant thread is open.
    pub(super) fn switch_viewed_channel(
        &mut self,
        who: &str,
        thread: &str,
        viewing: &str,
    ) -> Result<(), String> {
        let (channel, viewing) = (format!("dm:{who}"), self.channel_id(viewing)?);
        let channel = self.channel_id(&channel)?;
        let pane =
            self.panes.get_mut(&(channel.clone(), thread.to_owned())).ok_or("There is no such pane.")?;
        pane.viewing = Some(viewing);
        self.tell_pane("assistant_thread_context_changed", &channel, thread);
        Ok(())
    }

    fn tell_pane(&mut self, event: &str, channel: &str, thread: &str) {
        let Some(pane) = self.panes.get(&(channel.to_owned(), thread.to_owned())) else { return };
        let context = match &pane.viewing {
            Some(viewing) => {
                json!({"channel_id": viewing, "team_id": self.config.team.id, "enterprise_id": null})
            }
            None => json!({}),
        };
        let body = json!({
            "type": event,
            "assistant_thread": {
                "user_id": pane.user, "context": context, "channel_id": channel, "thread_ts": thread,
            },
            "event_ts": self.next_ts(),
        });
        if self.config.app.scopes.contains("assistant:write") {
            self.event(channel, body);
        }
    }

    /// Adds the app to a channel, as a member does with `/invite`. Slack posts a message about it.
    pub(super) fn invite_app(&mut self, who: &str, channel: &str) -> Result<(), String> {
        let (user, id, bot) = (self.actor(who)?, self.channel_id(channel)?, self.config.app.bot_user.clone());
        if !self.is_member(&id, &user) {
            return Err(format!("{who} is no member of {channel}."));
        }
        let team = self.config.team.id.clone();
        let found = self.channels.get_mut(&id).ok_or("There is no such channel.")?;
        match found.kind {
            _ if found.archived => return Err("Nobody can be added to an archived channel.".into()),
            _ if found.members.contains(&bot) => return Err("The app is already in this channel.".into()),
            ChannelKind::Public | ChannelKind::Private => found.members.push(bot.clone()),
            ChannelKind::Im | ChannelKind::Mpim => return Err("Nobody can be added to a DM.".into()),
        }
        let (private, ts) = (found.kind == ChannelKind::Private, self.next_ts());
        let (letter, scope) = if private { ("G", "groups:read") } else { ("C", "channels:read") };
        if self.config.app.scopes.contains(scope) {
            self.event(
                &id,
                json!({
                    "type": "member_joined_channel", "user": bot, "channel": id, "channel_type": letter,
                    "team": team, "inviter": user, "event_ts": ts,
                }),
            );
        }
        let message = Message {
            channel: id,
            ts,
            thread_ts: None,
            text: format!("<@{bot}> has joined the channel"),
            user: bot,
            is_from_bot: false,
            blocks: vec![],
            attachments: vec![],
            files: vec![],
            metadata: None,
            subtype: Some(if private { "group_join" } else { "channel_join" }.into()),
            client_msg_id: None,
            edited: None,
            unfurl_links: None,
            unfurl_media: None,
            reply_broadcast: false,
        };
        self.insert_message(message.clone());
        self.dispatch_message(&message, EventDelivery::Once, &json!({"inviter": user}));
        Ok(())
    }

    /// Removes the app from a channel. The app gets no event that it subscribed to.
    pub(super) fn remove_app(&mut self, channel: &str) -> Result<(), String> {
        let (id, bot) = (self.channel_id(channel)?, self.config.app.bot_user.clone());
        let found = self.channels.get_mut(&id).ok_or("There is no such channel.")?;
        if !found.members.contains(&bot) {
            return Err(format!("The app is not in {channel}."));
        }
        found.members.retain(|member| *member != bot);
        Ok(())
    }

    /// Chooses one of the app's message shortcuts.
    pub(super) fn use_shortcut(
        &mut self,
        who: &str,
        channel: &str,
        ts: &str,
        shortcut: &str,
    ) -> Result<u64, String> {
        let (user, channel) = (self.actor(who)?, self.find_or_open_channel(channel)?);
        if !self.is_member(&channel, &user) {
            return Err(format!("{who} is no member of {channel} and cannot see that."));
        }
        let message = self.message(&channel, ts).ok_or("There is no such message.")?;
        let message = self.message_json(message, false);
        let payload = json!({
            "type": "message_action",
            "token": "verification-token-unused",
            "action_ts": self.next_ts(),
            "team": {"id": self.config.team.id, "domain": self.config.team.domain},
            "user": self.person_json(&user),
            "channel": {"id": channel, "name": self.channel_display_name(&channel)},
            "is_enterprise_install": false,
            "enterprise": null,
            "callback_id": shortcut,
            "trigger_id": self.trigger(&user),
            "response_url": self.response_url(&user, &channel, Some(ts)),
            "message_ts": ts,
            "message": message,
        });
        Ok(self.send(EnvelopeKind::Interactive, payload, Context::None))
    }

    /// Stores a file, and returns its JSON for a message.
    pub(super) fn upload(&mut self, name: &str, kind: &str, bytes: Vec<u8>) -> Value {
        let id = format!("F{:09}", self.next_number());
        let address = format!("{}/files-pri/{}-{id}/{name}", self.base_url, self.config.team.id);
        let size = bytes.len();
        self.files.insert(id.clone(), bytes);
        let filetype = name.rsplit('.').next().unwrap_or_default();
        json!({
            "id": id, "name": name, "title": name, "mimetype": kind, "size": size, "mode": "hosted",
            "is_external": false, "external_type": "", "is_public": true, "public_url_shared": false,
            "url_private": address, "url_private_download": address, "permalink": address,
            "file_access": "visible", "created": self.now().timestamp(), "filetype": filetype,
            "pretty_type": filetype.to_uppercase(),
        })
    }
}
