//! Forms, as the people of a story fill them in.

use std::collections::BTreeMap;

use nod_sandbox::slack::OpenView;

use crate::World;
use crate::chat::Chat;
use crate::world::patience;

impl World {
    /// Presses a button that opens a form, and waits until it is open.
    pub async fn opens(&self, user: &str, channel: &str, label: &str) -> OpenView {
        let before = self.forms_of(user).len();
        let ts = self.button(channel, label);
        let pending = self.slack.press(user, channel, &ts, label).unwrap_or_else(|e| panic!("{e}"));
        pending.acknowledged(patience()).await;
        self.slack
            .wait_for("a form", patience(), |w| {
                let user = w.user_id(user).ok()?;
                let own = w.views.iter().filter(|v| v.user == user);
                own.skip(before).last().cloned()
            })
            .await
    }

    /// The form that stands open before somebody, as they read it; empty where none does.
    #[must_use]
    pub fn reads_form(&self, user: &str) -> String {
        let open = self.forms_of(user).into_iter().rfind(|form| form.open);
        open.map_or_else(String::new, |form| self.slack.read(|w| w.form_shown(&form)))
    }

    /// Types into the form that stands open, field by field, and sends it. Gives what they read then: nothing,
    /// or the form with its errors.
    pub async fn submits(&self, user: &str, typed: &[(&str, &str)]) -> String {
        let open = self.forms_of(user).into_iter().rfind(|form| form.open);
        let open = open.unwrap_or_else(|| panic!("no form is open:\n{}", self.slack.everything()));
        let typed: BTreeMap<String, String> =
            typed.iter().map(|(field, text)| ((*field).to_owned(), (*text).to_owned())).collect();
        let pending = self.slack.send_form(user, &open.id, &typed).unwrap_or_else(|e| panic!("{e}"));
        pending.acknowledged(patience()).await;
        self.settles().await;
        self.reads_form(user)
    }

    /// Presses [Edit], changes these fields and saves.
    pub async fn edits(&self, user: &str, channel: &str, changes: &[(&str, &str)]) -> String {
        self.opens(user, channel, "Edit").await;
        self.submits(user, changes).await
    }

    /// Presses [Deny] and sends its form, with a reason or none.
    pub async fn denies(&self, user: &str, channel: &str, reason: &str) -> String {
        if matches!(self.chat, Chat::Discord(_)) {
            // The form is the answer to the press, and closes when it is sent.
            self.presses(user, channel, "Deny").await;
            self.chat.submit(user, &[("Reason".to_owned(), reason.to_owned())].into()).await;
            self.settles().await;
            return String::new();
        }
        self.opens(user, channel, "Deny").await;
        self.submits(user, &[("Reason", reason)]).await
    }

    /// Closes the form that stands open.
    pub fn closes_form(&self, user: &str) {
        let open = self.forms_of(user).into_iter().rfind(|form| form.open);
        let open = open.unwrap_or_else(|| panic!("no form is open:\n{}", self.slack.everything()));
        self.slack.close_form(user, &open.id).unwrap_or_else(|e| panic!("{e}"));
    }

    fn forms_of(&self, user: &str) -> Vec<OpenView> {
        let id = self.slack.read(|w| w.user_id(user)).unwrap_or_else(|e| panic!("{e}"));
        self.slack.views().into_iter().filter(|form| form.user == id).collect()
    }
}
