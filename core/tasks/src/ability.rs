//! Tasks as an ability: the workflow, the tools, the command, the menu entry and what shows how far they are.

use std::sync::Arc;

use crate::buttons::TaskButtons;
use crate::command::Begin;
use crate::home::OnHome;
use crate::lookup;
use crate::menu::FromMessage;
use crate::worker::{ShowsSteps, TaskJobs};
use crate::workflow::Tasks;
use nod_people::ability::Plug;
use nod_store::ability::Ability;

/// Plugs in tasks.
#[must_use]
pub fn plug() -> Plug {
    Box::new(|chat| Ability {
        tools: lookup::tools(&chat.pool),
        jobs: vec![Arc::new(TaskJobs(chat.clone()))],
        buttons: vec![Arc::new(TaskButtons(chat.clone()))],
        commands: vec![Arc::new(Begin(chat.clone()))],
        menu: vec![Arc::new(FromMessage(chat.clone()))],
        home: vec![Arc::new(OnHome)],
        hooks: vec![Arc::new(ShowsSteps)],
        workflows: vec![Arc::new(Tasks(chat.clone()))],
        ..Ability::with_name("tasks")
    })
}
