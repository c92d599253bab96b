//! The abilities that are plugged in, and the lookup of their commands, buttons and menu entries.

use std::collections::BTreeSet;
use std::sync::Arc;

use nod_contract::command::{CommandSpec, MenuEntrySpec};
use nod_contract::tool::Tool;
use nod_store::ability::{
    Ability, AnswerCheck, Buttons, Command, Forms, HomeSection, MenuEntry, MessageHandler, WarmUp,
};
use nod_store::hooks::Hook;
use nod_store::jobs::JobHandler;
use nod_store::workflow::Workflow;

/// All abilities.
pub(crate) struct Abilities(Vec<Ability>);

/// Two abilities use the same name, or one uses a name of the core.
#[derive(Debug, thiserror::Error)]
#[error("the ability {ability} registers {what} {name:?}, which already exists")]
pub struct Clash {
    ability: &'static str,
    what: &'static str,
    name: &'static str,
}

impl Abilities {
    /// # Errors
    /// If two abilities have a command, a button, a menu entry or a tool of the same name, or one uses a command or button name of
    /// the core.
    pub(crate) fn new(
        all: Vec<Ability>,
        commands: impl Iterator<Item = &'static str>,
        verbs: impl Iterator<Item = &'static str>,
    ) -> Result<Self, Clash> {
        let commands = commands.map(|name| ("the command", name));
        let buttons = verbs.map(|verb| ("the button", verb));
        let mut seen: BTreeSet<(&str, &str)> = commands.chain(buttons).collect();
        for ability in &all {
            let commands = ability.commands.iter().map(|command| ("the command", command.spec().name));
            let verbs = ability.buttons.iter().flat_map(|buttons| buttons.action_kinds());
            let buttons = verbs.map(|verb| ("the button", *verb));
            let entries = ability.menu.iter().map(|entry| ("the menu entry", entry.spec().name));
            let tools = ability.tools.iter().map(|tool| ("the tool", tool.spec().name));
            let kinds = ability.forms.iter().flat_map(|forms| forms.form_kinds());
            let forms = kinds.map(|kind| ("the button", *kind));
            for (what, name) in commands.chain(buttons).chain(forms).chain(entries).chain(tools) {
                if !seen.insert((what, name)) {
                    return Err(Clash { ability: ability.name, what, name });
                }
            }
        }
        Ok(Self(all))
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = Tool> {
        self.0.iter().flat_map(|ability| ability.tools.iter().cloned())
    }

    pub(crate) fn hooks(&self) -> impl Iterator<Item = Arc<dyn Hook>> {
        self.0.iter().flat_map(|ability| ability.hooks.iter().cloned())
    }

    pub(crate) fn workflows(&self) -> impl Iterator<Item = Arc<dyn Workflow>> {
        self.0.iter().flat_map(|ability| ability.workflows.iter().cloned())
    }

    pub(crate) fn checks(&self) -> impl Iterator<Item = Arc<dyn AnswerCheck>> {
        self.0.iter().flat_map(|ability| ability.checks.iter().cloned())
    }

    pub(crate) fn warm_ups(&self) -> impl Iterator<Item = &dyn WarmUp> {
        self.0.iter().flat_map(|ability| &ability.warm_ups).map(AsRef::as_ref)
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = Arc<dyn JobHandler>> {
        self.0.iter().flat_map(|ability| ability.jobs.iter().cloned())
    }

    pub(crate) fn commands(&self) -> impl Iterator<Item = CommandSpec> {
        self.0.iter().flat_map(|ability| &ability.commands).map(|command| command.spec())
    }

    pub(crate) fn command(&self, name: &str) -> Option<&dyn Command> {
        let mut all = self.0.iter().flat_map(|ability| &ability.commands);
        all.find(|command| command.spec().name == name).map(AsRef::as_ref)
    }

    pub(crate) fn menu_entries(&self) -> impl Iterator<Item = MenuEntrySpec> {
        self.0.iter().flat_map(|ability| &ability.menu).map(|entry| entry.spec())
    }

    pub(crate) fn home_sections(&self) -> impl Iterator<Item = &dyn HomeSection> {
        self.0.iter().flat_map(|ability| &ability.home).map(AsRef::as_ref)
    }

    pub(crate) fn menu_entry(&self, name: &str) -> Option<&dyn MenuEntry> {
        let mut all = self.0.iter().flat_map(|ability| &ability.menu);
        all.find(|entry| entry.spec().name == name).map(AsRef::as_ref)
    }

    /// Returns the ability that might answer a message with this text by itself.
    pub(crate) fn message_handler(&self, text: &str) -> Option<&dyn MessageHandler> {
        let mut all = self.0.iter().flat_map(|ability| &ability.messages);
        all.find(|handler| handler.accepts(text)).map(AsRef::as_ref)
    }

    pub(crate) fn buttons(&self, verb: &str) -> Option<&dyn Buttons> {
        let mut all = self.0.iter().flat_map(|ability| &ability.buttons);
        all.find(|buttons| buttons.action_kinds().contains(&verb)).map(AsRef::as_ref)
    }

    pub(crate) fn forms(&self, kind: &str) -> Option<&dyn Forms> {
        let mut all = self.0.iter().flat_map(|ability| &ability.forms);
        all.find(|forms| forms.form_kinds().contains(&kind)).map(AsRef::as_ref)
    }
}
