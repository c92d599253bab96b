//! Forms, as the people of a story fill them in. Slack's say what is wrong at the field and stay open; Discord's
//! close whatever was typed, and what is wrong is whispered.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::TimeDelta;
use nod_sandbox::Fault;
use serde_json::Value;

use crate::World;
use crate::chat::Chat;
use crate::world::patience;

/// A form that was opened before somebody.
#[derive(Debug, Clone)]
pub struct Form {
    /// By which the fake knows it.
    pub id: String,
    /// Whether they still see it.
    pub open: bool,
    /// As they read it, without its buttons.
    pub shown: String,
    /// As the platform was given it.
    pub given: Value,
}

/// A form that no real client would send: one that is closed, somebody else's, or with another verb.
#[derive(Debug, Clone)]
pub struct ForgedForm {
    /// Who sends it.
    pub user: String,
    /// Which one, by [`Form::id`].
    pub form: String,
    /// What it is about, where that is not what it was opened for.
    pub verb: Option<String>,
    /// What stands in its fields, by the fields' ids.
    pub typed: BTreeMap<String, String>,
}

impl Chat {
    /// The forms that were opened before somebody, oldest first.
    #[must_use]
    pub fn forms(&self, user: &str) -> Vec<Form> {
        match self {
            Self::Slack(fake) => fake.read(|w| {
                let id = w.user_id(user).unwrap_or_default();
                let form = |f: &nod_sandbox::slack::OpenView| Form {
                    id: f.id.clone(),
                    open: f.open,
                    shown: without_buttons(&w.form_shown(f)),
                    given: f.view.clone(),
                };
                w.views.iter().filter(|f| f.user == id).map(form).collect()
            }),
            Self::Discord(fake) => fake.read(|w| {
                let id = w.user_id(user).unwrap_or_default();
                let form = |f: &nod_sandbox::discord::Form| Form {
                    id: f.id.clone(),
                    open: f.open,
                    shown: without_buttons(&w.form_shown(f)),
                    given: f.modal.clone(),
                };
                w.forms.iter().filter(|f| f.user == id).map(form).collect()
            }),
        }
    }

    /// The next form does not open.
    pub fn next_form_does_not_open(&self) {
        match self {
            Self::Slack(fake) => fake.change(|w| w.config.trigger_lives = TimeDelta::seconds(-1)),
            Self::Discord(fake) => {
                let fault = Fault::Status { code: 400, retry_after: None };
                fake.faults().next("create_interaction_response", fault);
            }
        }
    }

    /// The form that stands open before somebody.
    #[must_use]
    pub fn open_form(&self, user: &str) -> Option<Form> {
        self.forms(user).into_iter().rfind(|form| form.open)
    }

    /// Sends the form that stands open before somebody, after typing into its fields, named by their labels.
    pub async fn submit(&self, user: &str, typed: &BTreeMap<String, String>) {
        match self {
            Self::Slack(fake) => {
                let open = self.open_form(user);
                let open = open.unwrap_or_else(|| panic!("no form is open:\n{}", fake.everything()));
                let pending = fake.send_form(user, &open.id, typed).unwrap_or_else(|e| panic!("{e}"));
                pending.acknowledged(patience()).await;
            }
            Self::Discord(fake) => {
                let pending = fake.submit(user, typed).unwrap_or_else(|e| panic!("{e}"));
                pending.acknowledged(patience()).await;
            }
        }
    }
}

impl World {
    /// Presses a button that opens a form, and waits until it is open.
    pub async fn opens(&self, user: &str, channel: &str, label: &str) -> Form {
        let message = self.button(channel, label);
        self.opens_at(user, channel, &message, label).await
    }

    /// Presses a button under what was whispered last, which opens a form.
    pub async fn opens_whispered(&self, user: &str, label: &str) -> Form {
        let (channel, message) = self.chat.whispered_at(user).pop().unwrap_or_else(|| panic!("no whisper"));
        self.opens_at(user, &channel, &message, label).await
    }

    async fn opens_at(&self, user: &str, channel: &str, message: &str, label: &str) -> Form {
        let before = self.chat.forms(user).len();
        self.chat.press(user, channel, message, label).await;
        let until = tokio::time::Instant::now() + patience();
        loop {
            if let Some(form) = self.chat.forms(user).into_iter().skip(before).last() {
                return form;
            }
            let late = tokio::time::Instant::now() > until;
            assert!(!late, "[{label}] opened no form:\n{}", self.chat.everything());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The form that stands open before somebody, as they read it; empty where none does.
    #[must_use]
    pub fn reads_form(&self, user: &str) -> String {
        let open = self.chat.open_form(user);
        open.map_or_else(String::new, |form| self.as_told(form.shown))
    }

    /// Types into the form that stands open, field by field, and sends it. Gives what they read then: nothing,
    /// or what is wrong.
    pub async fn submits(&mut self, user: &str, typed: &[(&str, &str)]) -> String {
        let typed: BTreeMap<String, String> =
            typed.iter().map(|(field, text)| ((*field).to_owned(), (*text).to_owned())).collect();
        self.chat.submit(user, &typed).await;
        self.settles().await;
        match self.chat {
            Chat::Slack(_) => self.reads_form(user),
            Chat::Discord(_) => self.whispers(user),
        }
    }

    /// Presses [Edit], changes these fields and saves.
    pub async fn edits(&mut self, user: &str, channel: &str, changes: &[(&str, &str)]) -> String {
        self.opens(user, channel, "Edit").await;
        self.submits(user, changes).await
    }

    /// Says in `/nod settings` in which zone they work.
    pub async fn works_in(&mut self, user: &str, zone: &str) {
        self.commands(user, "general", "settings").await;
        self.opens_whispered(user, "Change my hours").await;
        let said = self.submits(user, &[("Time zone (empty: as the chat tells)", zone)]).await;
        assert!(said.contains("Saved."), "{said}");
        if let Chat::Slack(_) = self.chat {
            self.closes_form(user);
        }
    }

    /// Presses [Deny] and sends its form, with a reason or none.
    pub async fn denies(&mut self, user: &str, channel: &str, reason: &str) -> String {
        self.opens(user, channel, "Deny").await;
        self.submits(user, &[("Reason", reason)]).await
    }

    /// Closes the form that stands open.
    pub fn closes_form(&self, user: &str) {
        let open = self.chat.open_form(user);
        let open = open.unwrap_or_else(|| panic!("no form is open:\n{}", self.chat.everything()));
        match &self.chat {
            Chat::Slack(fake) => drop(fake.close_form(user, &open.id).unwrap_or_else(|e| panic!("{e}"))),
            Chat::Discord(fake) => fake.dismiss(user).unwrap_or_else(|e| panic!("{e}")),
        }
    }
}

impl World {
    /// Sends a form that should not come. Gives what is said of it; nothing where it was taken.
    pub async fn forges_form(&mut self, forged: ForgedForm) -> String {
        let ForgedForm { user, form, verb, typed } = forged;
        match self.chat.clone() {
            Chat::Slack(fake) => {
                let forged =
                    nod_sandbox::slack::ForgedForm { user, view: form, private_metadata: verb, typed };
                let pending = fake.submit_raw(forged).unwrap_or_else(|e| panic!("{e}"));
                let answer = pending.acknowledged(patience()).await.payload.unwrap_or_default();
                self.settles().await;
                let errors = answer["errors"].as_object().into_iter().flatten();
                errors.filter_map(|(_, error)| error.as_str()).collect::<Vec<_>>().join(" ")
            }
            Chat::Discord(fake) => {
                let before = verb.map(|verb| fake.change(|w| carry(w, &form, verb.into())));
                let pending = fake.submit_raw(&user, &form, &typed).unwrap_or_else(|e| panic!("{e}"));
                pending.acknowledged(patience()).await;
                if let Some(verb) = before {
                    fake.change(|w| carry(w, &form, verb));
                }
                self.settles().await;
                let said = self.whispers(&user);
                let wrong = said.lines().find_map(|line| line.trim().strip_prefix("⚠ "));
                let plain = said.split_once("nod: ").map(|(_, said)| said);
                wrong.or(plain).unwrap_or_default().to_owned()
            }
        }
    }

    /// Closes the form of which was said what is wrong; on Discord it is gone already.
    pub fn gives_up_form(&self, user: &str) {
        if self.chat.open_form(user).is_some() {
            self.closes_form(user);
        }
    }

    /// Presses [Show all], and gives all that is shown then up to these words, without the space between words.
    pub async fn shows_all(&mut self, user: &str, channel: &str, end: &str) -> String {
        let shown = match self.chat.clone() {
            Chat::Slack(_) => {
                let form = self.opens(user, channel, "Show all").await;
                self.closes_form(user);
                words(&form.given["blocks"])
            }
            Chat::Discord(fake) => {
                let before = fake.ephemerals(user).len();
                self.presses(user, channel, "Show all").await;
                // The first page answers the press, and the others follow.
                let pages = |w: &nod_sandbox::discord::World| {
                    let id = w.user_id(user).ok()?;
                    let pages = w.whispers.iter().filter(|m| m.only.as_ref() == Some(&id)).skip(before);
                    let page = |page: &nod_sandbox::discord::Message| {
                        words(&serde_json::json!(page.components)).replace("```", "")
                    };
                    Some(pages.map(page).collect::<String>()).filter(|all| all.contains(end))
                };
                let all = fake.wait_for("all of it", patience(), pages).await;
                self.whispers(user);
                all
            }
        };
        shown.split_whitespace().collect()
    }
}

/// Gives an open modal another verb, and tells the one that it had.
fn carry(world: &mut nod_sandbox::discord::World, form: &str, verb: Value) -> Value {
    let found = world.forms.iter_mut().find(|one| one.id == form);
    found.map_or(Value::Null, |form| std::mem::replace(&mut form.modal["custom_id"], verb))
}

/// The words of a form or a message, letter by letter.
fn words(given: &Value) -> String {
    match given {
        Value::Object(all)
            if all.get("type").is_some_and(|kind| kind == "text" || kind == "plain_text" || *kind == 10) =>
        {
            let text = all.get("text").or(all.get("content"));
            text.and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        Value::Object(all) => all.values().map(words).collect(),
        Value::Array(all) => all.iter().map(words).collect(),
        _ => String::new(),
    }
}

fn without_buttons(shown: &str) -> String {
    let shown = shown.trim_end();
    shown.rsplit_once('\n').map_or_else(|| shown.to_owned(), |(fields, _)| fields.to_owned())
}
