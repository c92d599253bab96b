//! Forms, as the people of a story fill them in. Slack shows an error at its field and keeps the form open. Discord
//! closes every submitted form, and the error is an ephemeral message.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::Fault;
use serde_json::Value;

use crate::World;
use crate::chat::FakeChat;
use crate::world::max_wait;

/// A form that was opened for a user.
#[derive(Debug, Clone)]
pub struct Form {
    /// The fake's id of it.
    pub id: String,
    /// Whether the user still sees it.
    pub open: bool,
    /// The text of the form without its buttons.
    pub text: String,
    /// The form as the platform received it.
    pub payload: Value,
}

/// A submission that no real client would send: of a closed form, of another user's form, or with another verb.
#[derive(Debug, Clone)]
pub struct ForgedForm {
    /// The user who sends it.
    pub user: String,
    /// The form's [`Form::id`].
    pub form: String,
    /// The verb, if it is not the one that the form was opened with.
    pub verb: Option<String>,
    /// The values by the fields' ids.
    pub values: BTreeMap<String, String>,
}

impl FakeChat {
    /// Returns the forms that were opened for a user, oldest first.
    #[must_use]
    pub fn list_forms(&self, user: &str) -> Vec<Form> {
        match self {
            Self::Slack(fake) => fake.read(|w| {
                let id = w.user_id(user).unwrap_or_default();
                let form = |f: &nod_sandbox::slack::OpenView| Form {
                    id: f.id.clone(),
                    open: f.open,
                    text: without_buttons(&w.form_text(f)),
                    payload: f.view.clone(),
                };
                w.views.iter().filter(|f| f.user == id).map(form).collect()
            }),
            Self::Discord(fake) => fake.read(|w| {
                let id = w.user_id(user).unwrap_or_default();
                let form = |f: &nod_sandbox::discord::Form| Form {
                    id: f.id.clone(),
                    open: f.open,
                    text: without_buttons(&w.form_text(f)),
                    payload: f.modal.clone(),
                };
                w.forms.iter().filter(|f| f.user == id).map(form).collect()
            }),
        }
    }

    /// Makes opening the next form fail.
    pub fn fail_next_form(&self) {
        match self {
            Self::Slack(fake) => fake.change(|w| w.config.trigger_lifetime = TimeDelta::seconds(-1)),
            Self::Discord(fake) => {
                let fault = Fault::Status { code: 400, retry_after: None };
                fake.faults().next("create_interaction_response", fault);
            }
        }
    }

    /// Returns the form that the user has open.
    #[must_use]
    pub fn find_open_form(&self, user: &str) -> Option<Form> {
        self.list_forms(user).into_iter().rfind(|form| form.open)
    }

    /// Fills in the user's open form, whose fields are named by their labels, and submits it.
    pub async fn submit_form(&self, user: &str, typed: &BTreeMap<String, String>) {
        match self {
            Self::Slack(fake) => {
                let open = self.find_open_form(user);
                let open = open.unwrap_or_else(|| panic!("no form is open:\n{}", fake.dump()));
                let pending = fake.send_form(user, &open.id, typed).unwrap_or_else(|e| panic!("{e}"));
                pending.wait_for_acknowledgement(max_wait()).await;
            }
            Self::Discord(fake) => {
                let pending = fake.submit(user, typed).unwrap_or_else(|e| panic!("{e}"));
                pending.wait_for_acknowledgement(max_wait()).await;
            }
        }
    }
}

impl World {
    /// Clicks a button that opens a form, and waits until it is open.
    pub async fn open_form(&self, user: &str, channel: &str, label: &str) -> Form {
        let message = self.find_message_with_button(channel, label);
        self.open_form_at(user, channel, &message, label).await
    }

    /// Clicks a button of the newest ephemeral message, which opens a form.
    pub async fn open_form_from_ephemeral(&self, user: &str, label: &str) -> Form {
        let (channel, message) =
            self.chat.list_ephemerals(user).pop().unwrap_or_else(|| panic!("no whisper"));
        self.open_form_at(user, &channel, &message, label).await
    }

    async fn open_form_at(&self, user: &str, channel: &str, message: &str, label: &str) -> Form {
        let before = self.chat.list_forms(user).len();
        self.chat.click(user, channel, message, label).await;
        let until = tokio::time::Instant::now() + max_wait();
        loop {
            if let Some(form) = self.chat.list_forms(user).into_iter().skip(before).last() {
                return form;
            }
            let late = tokio::time::Instant::now() > until;
            assert!(!late, "[{label}] opened no form:\n{}", self.chat.dump());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns the text of the user's open form, or an empty string.
    #[must_use]
    pub fn form_text(&self, user: &str) -> String {
        let open = self.chat.find_open_form(user);
        open.map_or_else(String::new, |form| self.normalize(form.text))
    }

    /// Fills in the open form, field by field, and submits it. Returns the errors that the user reads, if any.
    pub async fn submit_form(&mut self, user: &str, typed: &[(&str, &str)]) -> String {
        let typed: BTreeMap<String, String> =
            typed.iter().map(|(field, text)| ((*field).to_owned(), (*text).to_owned())).collect();
        self.chat.submit_form(user, &typed).await;
        self.wait_until_idle().await;
        match self.chat {
            FakeChat::Slack(_) => self.form_text(user),
            FakeChat::Discord(_) => self.read_ephemerals(user),
        }
    }

    /// Clicks [Edit], changes these fields and saves.
    pub async fn edit_request(&mut self, user: &str, channel: &str, changes: &[(&str, &str)]) -> String {
        self.open_form(user, channel, "Edit").await;
        self.submit_form(user, changes).await
    }

    /// Sets the user's time zone in `/nod settings`.
    pub async fn set_time_zone(&mut self, user: &str, zone: &str) {
        self.run_command(user, "general", "settings").await;
        self.open_form_from_ephemeral(user, "Edit my hours").await;
        let said = self.submit_form(user, &[("Time zone (empty: as in your chat profile)", zone)]).await;
        assert!(said.contains("Saved."), "{said}");
        if let FakeChat::Slack(_) = self.chat {
            self.close_form(user);
        }
    }

    /// Clicks [Deny] and submits its form, with or without a reason.
    pub async fn deny_request(&mut self, user: &str, channel: &str, reason: &str) -> String {
        self.open_form(user, channel, "Deny").await;
        self.submit_form(user, &[("Reason", reason)]).await
    }

    /// Closes the open form.
    pub fn close_form(&self, user: &str) {
        let open = self.chat.find_open_form(user);
        let open = open.unwrap_or_else(|| panic!("no form is open:\n{}", self.chat.dump()));
        match &self.chat {
            FakeChat::Slack(fake) => drop(fake.close_form(user, &open.id).unwrap_or_else(|e| panic!("{e}"))),
            FakeChat::Discord(fake) => fake.dismiss(user).unwrap_or_else(|e| panic!("{e}")),
        }
    }
}

impl World {
    /// Sends a forged submission. Returns the error, or an empty string if it was accepted.
    pub async fn submit_forged_form(&mut self, forged: ForgedForm) -> String {
        let ForgedForm { user, form, verb, values: typed } = forged;
        match self.chat.clone() {
            FakeChat::Slack(fake) => {
                let forged = nod_sandbox::slack::ForgedForm {
                    user,
                    view: form,
                    private_metadata: verb,
                    values: typed,
                };
                let pending = fake.submit_raw(forged).unwrap_or_else(|e| panic!("{e}"));
                let answer = pending.wait_for_acknowledgement(max_wait()).await.payload.unwrap_or_default();
                self.wait_until_idle().await;
                let errors = answer["errors"].as_object().into_iter().flatten();
                errors.filter_map(|(_, error)| error.as_str()).collect::<Vec<_>>().join(" ")
            }
            FakeChat::Discord(fake) => {
                let before = verb.map(|verb| fake.change(|w| replace_modal_action(w, &form, verb.into())));
                let pending = fake.submit_raw(&user, &form, &typed).unwrap_or_else(|e| panic!("{e}"));
                pending.wait_for_acknowledgement(max_wait()).await;
                if let Some(verb) = before {
                    fake.change(|w| replace_modal_action(w, &form, verb));
                }
                self.wait_until_idle().await;
                let said = self.read_ephemerals(&user);
                let wrong = said.lines().find_map(|line| line.trim().strip_prefix("⚠ "));
                let plain = said.split_once("nod: ").map(|(_, said)| said);
                wrong.or(plain).unwrap_or_default().to_owned()
            }
        }
    }

    /// Closes the form that shows an error; Discord has closed it already.
    pub fn abandon_form(&self, user: &str) {
        if self.chat.find_open_form(user).is_some() {
            self.close_form(user);
        }
    }

    /// Returns a request's card with all that is behind [Show all], without whitespace.
    pub async fn read_in_full(&mut self, user: &str, channel: &str, card: &str) -> String {
        let more = match card.contains("[Show all]") {
            true => self.show_all(user, channel, "SHA-256").await,
            false => String::new(),
        };
        card.split_whitespace().collect::<String>() + &more
    }

    /// Clicks [Show all], and returns all the text shown then up to these words, without whitespace.
    pub async fn show_all(&mut self, user: &str, channel: &str, end: &str) -> String {
        let shown = match self.chat.clone() {
            FakeChat::Slack(_) => {
                let form = self.open_form(user, channel, "Show all").await;
                self.close_form(user);
                payload_text(&form.payload["blocks"])
            }
            FakeChat::Discord(fake) => {
                let before = fake.ephemerals(user).len();
                self.click(user, channel, "Show all").await;
                // The first page is the response to the click, and the others follow.
                let pages = |w: &nod_sandbox::discord::World| {
                    let id = w.user_id(user).ok()?;
                    let pages = w.ephemerals.iter().filter(|m| m.only.as_ref() == Some(&id)).skip(before);
                    let page = |page: &nod_sandbox::discord::Message| {
                        payload_text(&serde_json::json!(page.components)).replace("```", "")
                    };
                    Some(pages.map(page).collect::<String>()).filter(|all| all.contains(end))
                };
                let all = fake.wait_for("all of it", max_wait(), pages).await;
                self.read_ephemerals(user);
                all
            }
        };
        shown.split_whitespace().collect()
    }
}

/// Replaces the verb of an open modal, and returns the previous one.
fn replace_modal_action(world: &mut nod_sandbox::discord::World, form: &str, verb: Value) -> Value {
    let found = world.forms.iter_mut().find(|one| one.id == form);
    found.map_or(Value::Null, |form| std::mem::replace(&mut form.modal["custom_id"], verb))
}

/// Returns the text of a form or message without changing whitespace.
fn payload_text(given: &Value) -> String {
    match given {
        Value::Object(all)
            if all.get("type").is_some_and(|kind| kind == "text" || kind == "plain_text" || *kind == 10) =>
        {
            let text = all.get("text").or(all.get("content"));
            text.and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        Value::Object(all) => all.values().map(payload_text).collect(),
        Value::Array(all) => all.iter().map(payload_text).collect(),
        _ => String::new(),
    }
}

fn without_buttons(shown: &str) -> String {
    let shown = shown.trim_end();
    shown.rsplit_once('\n').map_or_else(|| shown.to_owned(), |(fields, _)| fields.to_owned())
}
