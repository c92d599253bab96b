//! Modals as a user fills them in: what Discord's own client allows to type and submit.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::entities::Form;
use super::interactions::NewInteraction;
use super::world::World;

impl World {
    /// Fills in the fields of the open form, named by their labels or custom ids, and submits it.
    pub(super) fn submit(&mut self, who: &str, typed: &BTreeMap<String, String>) -> Result<String, String> {
        let user = self.actor(who)?;
        let open = self.forms.iter_mut().rev().find(|f| f.user == user && f.open);
        let form = open.ok_or("That person has no form open.")?;
        for (name, text) in typed {
            let field = form.field(name).ok_or_else(|| format!("There is no field {name}."))?;
            check_typed_text(name, &field, text)?;
            let id = field["custom_id"].as_str().unwrap_or_default().to_owned();
            form.values.insert(id, text.clone());
        }
        let form = form.clone();
        let components = form.values()?;
        Ok(self.send_form(&form, user, components))
    }

    /// Submits a form that was opened before, without validation and possibly as another user.
    pub(super) fn submit_forged_form(
        &mut self,
        who: &str,
        form: &str,
        typed: &BTreeMap<String, String>,
    ) -> Result<String, String> {
        let user = self.user_id(who)?;
        let form = self.forms.iter().rev().find(|f| f.id == form).ok_or("There was never such a form.")?;
        let mut form = form.clone();
        form.values.extend(typed.clone());
        let components = form.unchecked();
        Ok(self.send_form(&form, user, components))
    }

    fn send_form(&mut self, form: &Form, user: String, components: Vec<Value>) -> String {
        let data = json!({
            "custom_id": form.modal["custom_id"], "components": components, "resolved": {},
        });
        let (channel, message) = (form.channel.clone(), form.message.clone());
        self.dispatch_interaction(NewInteraction {
            kind: 5,
            user,
            channel,
            message,
            data,
            extra: Value::Null,
        })
    }

    /// Closes the open form; the app is not notified.
    pub(super) fn dismiss(&mut self, who: &str) -> Result<(), String> {
        let user = self.actor(who)?;
        let open = self.forms.iter_mut().rev().find(|f| f.user == user && f.open);
        open.ok_or("That person has no form open.")?.open = false;
        Ok(())
    }

    /// Returns a form as the user reads it.
    #[must_use]
    pub fn form_text(&self, form: &Form) -> String {
        let mut out = format!("# {}\n", form.modal["title"].as_str().unwrap_or_default());
        for component in form.modal["components"].as_array().into_iter().flatten() {
            if component["type"] == 10 {
                let _ = writeln!(out, "{}", self.read(component["content"].as_str().unwrap_or_default()));
                continue;
            }
            let field = inner(component);
            let label = component["label"].as_str().or(field["label"].as_str()).unwrap_or_default();
            let optional = if field["required"] == false { " (optional)" } else { "" };
            let _ = writeln!(out, "{label}{optional}: {}", form.current_value(field));
        }
        out + "[Submit] [Cancel]"
    }
}

/// Returns the field inside its label or row.
fn inner(component: &Value) -> &Value {
    match component["type"].as_u64() {
        Some(18) => &component["component"],
        _ => &component["components"][0],
    }
}

impl Form {
    fn fields(&self) -> impl Iterator<Item = (&Value, &Value)> {
        let all = self.modal["components"].as_array().into_iter().flatten();
        all.filter(|c| c["type"] != 10).map(|c| (c, inner(c)))
    }

    fn field(&self, name: &str) -> Option<Value> {
        let named =
            |(c, f): &(&Value, &Value)| c["label"] == name || f["label"] == name || f["custom_id"] == name;
        self.fields().find(named).map(|(_, f)| f.clone())
    }

    /// Returns the current value of a field.
    fn current_value(&self, field: &Value) -> String {
        let id = field["custom_id"].as_str().unwrap_or_default();
        let chosen = field["options"].as_array().into_iter().flatten().find(|o| o["default"] == true);
        let first = field["value"].as_str().or(chosen.and_then(|o| o["value"].as_str()));
        self.values.get(id).map_or(first.unwrap_or_default(), String::as_str).to_owned()
    }

    /// Returns the values to submit. As in Discord, required fields must be filled in.
    fn values(&self) -> Result<Vec<Value>, String> {
        for (component, field) in self.fields() {
            if field["required"] != false && self.current_value(field).is_empty() {
                return Err(format!("Please complete this required field: {}.", component["label"]));
            }
        }
        Ok(self.unchecked())
    }

    fn unchecked(&self) -> Vec<Value> {
        let all = self.modal["components"].as_array().into_iter().flatten();
        all.map(|component| {
            if component["type"] == 10 {
                return json!({"type": 10, "id": component["id"]});
            }
            let field = inner(component);
            let mut sent = json!({
                "type": field["type"], "id": field["id"], "custom_id": field["custom_id"],
            });
            let text = self.current_value(field);
            if field["type"] == 3 {
                sent["values"] = if text.is_empty() { json!([]) } else { json!([text]) };
            } else {
                sent["value"] = json!(text);
            }
            match component["type"].as_u64() {
                Some(18) => json!({"type": 18, "id": component["id"], "component": sent}),
                _ => json!({"type": 1, "id": component["id"], "components": [sent]}),
            }
        })
        .collect()
    }
}

/// Rejects text that Discord's client does not allow to type.
fn check_typed_text(name: &str, field: &Value, text: &str) -> Result<(), String> {
    if field["type"] == 3 {
        let known = field["options"].as_array().into_iter().flatten().any(|o| o["value"] == text);
        return if known { Ok(()) } else { Err(format!("{name} does not offer {text}.")) };
    }
    let letters = text.chars().count() as u64;
    let most = field["max_length"].as_u64().unwrap_or(4_000);
    let least = field["min_length"].as_u64().unwrap_or_default();
    if letters > most || (letters > 0 && letters < least) {
        return Err(format!("{name} takes {least} to {most} characters."));
    }
    if field["style"] == 1 && text.contains('\n') {
        return Err(format!("{name} has one line."));
    }
    Ok(())
}
