//! Forms as a person fills them in: what Slack's client lets them type and submit, and the response.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::entities::OpenView;
use super::envelopes::{Context, EnvelopeKind};
use super::render::merge;
use super::rules;
use super::world::World;

impl World {
    /// Types into the fields of an open form, identified by label or block id, and submits it.
    pub(super) fn send_form(
        &mut self,
        who: &str,
        view: &str,
        typed: &BTreeMap<String, String>,
    ) -> Result<u64, String> {
        let user = self.actor(who)?;
        let open = self.views.iter_mut().find(|v| v.id == view && v.user == user && v.open);
        let open = open.ok_or("That person has no such form open.")?;
        for (name, text) in typed {
            let input = open.input(name).ok_or_else(|| format!("There is no field {name}."))?;
            let block = input["block_id"].as_str().unwrap_or_default().to_owned();
            check_typed_text(name, &input["element"], text)?;
            open.values.insert(block, text.clone());
        }
        let values = open.values()?;
        self.submit(who, view, &values)
    }

    /// Closes a form without submitting it.
    pub(super) fn close_form(&mut self, who: &str, view: &str) -> Result<Option<u64>, String> {
        let user = self.actor(who)?;
        let open = self.views.iter_mut().find(|v| v.id == view && v.user == user && v.open);
        let open = open.ok_or("That person has no such form open.")?;
        open.open = false;
        let (told, shown) = (open.view["notify_on_close"] == true, open.clone());
        if !told {
            return Ok(None);
        }
        let mut payload = self.about_view(&user, &shown, "view_closed", &json!({}));
        payload["is_cleared"] = json!(false);
        Ok(Some(self.send(EnvelopeKind::Interactive, payload, Context::None)))
    }

    /// Submits an open modal with `values`, `{block_id: {action_id: {type, value}}}`, without a client's checks.
    pub(super) fn submit(&mut self, who: &str, view: &str, values: &Value) -> Result<u64, String> {
        let user = self.actor(who)?;
        let open = self.views.iter().find(|v| v.id == view && v.user == user && v.open);
        let open: OpenView = open.ok_or("That person has no such form open.")?.clone();
        let payload = self.submission(&user, &open, values);
        Ok(self.send(EnvelopeKind::Interactive, payload, Context::View { id: open.id }))
    }

    /// Submits a form as no client would: a closed one, another person's, or with different private metadata.
    pub(super) fn submit_forged_form(&mut self, forged: ForgedForm) -> Result<u64, String> {
        let user = self.user_id(&forged.user).unwrap_or(forged.user);
        let seen = self.views.iter().find(|v| v.id == forged.view).ok_or("There was never such a form.")?;
        let mut shown = seen.clone();
        if let Some(metadata) = forged.private_metadata {
            shown.view["private_metadata"] = metadata.into();
        }
        shown.values.extend(forged.values);
        let values = shown.values().unwrap_or_else(|_| shown.unchecked());
        let payload = self.submission(&user, &shown, &values);
        Ok(self.send(EnvelopeKind::Interactive, payload, Context::View { id: shown.id }))
    }

    fn submission(&mut self, user: &str, open: &OpenView, values: &Value) -> Value {
        let mut payload = self.about_view(user, open, "view_submission", values);
        payload["trigger_id"] = json!(self.trigger(user));
        payload["response_urls"] = json!([]);
        payload
    }

    fn about_view(&self, user: &str, open: &OpenView, kind: &str, values: &Value) -> Value {
        let mut shown = open.view.clone();
        merge(
            &mut shown,
            json!({
                "id": open.id, "team_id": self.config.team.id, "hash": open.hash,
                "app_id": self.config.app.id, "bot_id": self.config.app.bot_id,
                "root_view_id": open.id, "previous_view_id": null, "state": {"values": values},
            }),
        );
        json!({
            "type": kind,
            "team": {"id": self.config.team.id, "domain": self.config.team.domain},
            "user": self.person_json(user),
            "api_app_id": self.config.app.id,
            "token": "verification-token-unused",
            "view": shown,
            "is_enterprise_install": false,
            "enterprise": null,
        })
    }

    /// Applies the acknowledgement of a submitted form.
    pub(super) fn apply_view_response(&mut self, id: &str, answer: Option<Value>) {
        let answer = answer.unwrap_or_else(|| json!({}));
        let action = answer["response_action"].as_str().unwrap_or_default().to_owned();
        let Some(at) = self.views.iter().position(|v| v.id == id) else { return };
        let odd = match action.as_str() {
            "" if answer.as_object().is_some_and(Map::is_empty) => vec![],
            "clear" => vec![],
            "errors" => self.views[at].errors_broken(&answer["errors"]),
            "update" | "push" => find_modal_violations(&answer["view"]),
            _ => vec!["unknown response_action".to_owned()],
        };
        for odd in odd {
            self.violation(format!("acknowledgement of a form: {odd}: {answer}"));
        }
        let user = self.views[at].user.clone();
        if action == "clear" {
            self.views.iter_mut().filter(|v| v.user == user).for_each(|v| v.open = false);
        }
        let view = &mut self.views[at];
        view.open &= matches!(action.as_str(), "errors" | "update" | "push");
        if matches!(action.as_str(), "update" | "push") {
            view.view = answer["view"].clone();
            view.values.clear();
        }
        view.answer = Some(answer);
    }

    /// Returns a form as the person reads it.
    #[must_use]
    pub fn form_text(&self, open: &OpenView) -> String {
        let view = &open.view;
        let label = |field: &str| view[field]["text"].as_str().unwrap_or_default().to_owned();
        let mut out = format!("# {}\n", label("title"));
        for block in view["blocks"].as_array().into_iter().flatten() {
            if block["type"] != "input" {
                let _ = writeln!(out, "{}", self.message_text("", std::slice::from_ref(block)));
                continue;
            }
            let id = block["block_id"].as_str().unwrap_or_default();
            let optional = if block["optional"] == true { " (optional)" } else { "" };
            let name = block["label"]["text"].as_str().unwrap_or_default();
            let _ = writeln!(out, "{name}{optional}: {}", open.text(block));
            if let Some(error) = open.answer.as_ref().and_then(|a| a["errors"][id].as_str()) {
                let _ = writeln!(out, "  ✗ {error}");
            }
        }
        let buttons = ["submit", "close"].map(label);
        let shown: Vec<String> =
            buttons.into_iter().filter(|b| !b.is_empty()).map(|b| format!("[{b}]")).collect();
        out + &shown.join(" ")
    }
}

/// A form submission that no real client would send.
#[derive(Debug, Clone, Default)]
pub struct ForgedForm {
    pub user: String,
    /// A view that was once opened, for any person.
    pub view: String,
    /// Replaces the original metadata.
    pub private_metadata: Option<String>,
    /// Keyed by block id, of any length.
    pub values: BTreeMap<String, String>,
}

impl OpenView {
    /// Returns the input with that label or block id.
    fn input(&self, name: &str) -> Option<Value> {
        let blocks = self.view["blocks"].as_array()?;
        let named = |b: &&Value| b["block_id"] == name || b["label"]["text"] == name;
        blocks.iter().filter(|b| b["type"] == "input").find(named).cloned()
    }

    /// Returns the current text of an input.
    fn text(&self, input: &Value) -> String {
        let id = input["block_id"].as_str().unwrap_or_default();
        let first = input["element"]["initial_value"].as_str().unwrap_or_default();
        self.values.get(id).map_or(first, String::as_str).to_owned()
    }

    /// Returns the state that is submitted. As in Slack, a required field must be filled in.
    fn values(&self) -> Result<Value, String> {
        for input in self.inputs() {
            if input["optional"] != true && self.text(input).is_empty() {
                return Err(format!("Please complete this required field: {}.", input["label"]["text"]));
            }
        }
        Ok(self.unchecked())
    }

    fn unchecked(&self) -> Value {
        let mut values = Map::new();
        for input in self.inputs() {
            let (block, action) = (&input["block_id"], &input["element"]["action_id"]);
            let text = Some(self.text(input)).filter(|text| !text.is_empty());
            let state = json!({"type": input["element"]["type"], "value": text});
            let action = action.as_str().unwrap_or_default().to_owned();
            values.insert(block.as_str().unwrap_or_default().to_owned(), json!({ action: state }));
        }
        values.into()
    }

    fn inputs(&self) -> impl Iterator<Item = &Value> {
        self.view["blocks"].as_array().into_iter().flatten().filter(|b| b["type"] == "input")
    }

    fn errors_broken(&self, errors: &Value) -> Vec<String> {
        let Some(errors) = errors.as_object().filter(|e| !e.is_empty()) else {
            return vec!["errors is an object that is not empty".to_owned()];
        };
        let known = |id: &String| self.inputs().any(|input| input["block_id"] == **id);
        let said = |why: &Value| why.as_str().is_some_and(|text| !text.is_empty());
        let odd = errors.iter().filter(|(id, why)| !known(id) || !said(why));
        odd.map(|(id, _)| format!("there is no input {id}, or its error is no sentence")).collect()
    }
}

/// Rejects what Slack's client does not let a person type.
fn check_typed_text(name: &str, element: &Value, text: &str) -> Result<(), String> {
    let most = element["max_length"].as_u64().unwrap_or(3_000);
    if text.chars().count() as u64 > most {
        return Err(format!("{name} takes at most {most} characters."));
    }
    if element["multiline"] != true && text.contains('\n') {
        return Err(format!("{name} has one line."));
    }
    Ok(())
}

/// Returns every rule that a modal breaks, as sentences.
pub(super) fn find_modal_violations(view: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    if view["type"] != "modal" {
        broken.push("[ERROR] only a modal can be opened".to_owned());
    }
    for (field, required) in [("title", true), ("submit", false), ("close", false)] {
        let text = &view[field];
        let fits = text["text"].as_str().is_some_and(|t| (1..=24).contains(&t.chars().count()));
        if (required || !text.is_null()) && !(fits && text["type"] == "plain_text") {
            broken.push(format!("[ERROR] {field} is plain_text of 1 to 24 characters"));
        }
    }
    let Some(blocks) = view["blocks"].as_array() else {
        broken.push("[ERROR] missing required field: blocks".to_owned());
        return broken;
    };
    if view["submit"].is_null() && blocks.iter().any(|b| b["type"] == "input") {
        broken.push("[ERROR] a modal with an input needs submit".to_owned());
    }
    for (field, most) in [("private_metadata", 3_000), ("callback_id", 255), ("external_id", 255)] {
        if view[field].as_str().is_some_and(|text| text.chars().count() > most) {
            broken.push(format!("[ERROR] {field} has at most {most} characters"));
        }
    }
    broken.extend(rules::find_modal_block_violations(blocks));
    broken
}
