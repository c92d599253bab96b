//! Tasks as an ability: the workflow, the tools, the command, the menu entry and what shows how far they are.

use std::sync::Arc;

use crate::buttons::TaskButtons;
use crate::command::Begin;
use crate::context::{TaskContext, TaskLimits};
use crate::home::OnHome;
use crate::lookup;
use crate::menu::FromMessage;
use crate::worker::{ShowsSteps, TaskJobs};
use crate::workflow::Tasks;
use nod_people::ability::Plug;
use nod_store::ability::Ability;

/// Plugs in tasks.
#[must_use]
pub fn plug(limits: TaskLimits) -> Plug {
    Box::new(move |chat| {
        let core = TaskContext { chat: chat.clone(), limits };
        Ability {
            tools: lookup::tools(&chat.pool),
            jobs: vec![Arc::new(TaskJobs(core.clone()))],
            buttons: vec![Arc::new(TaskButtons(core.clone()))],
            commands: vec![Arc::new(Begin(core.clone()))],
            menu: vec![Arc::new(FromMessage(core.clone()))],
            home: vec![Arc::new(OnHome)],
            hooks: vec![Arc::new(ShowsSteps(core.clone()))],
            workflows: vec![Arc::new(Tasks(core))],
            ..Ability::with_name("tasks")
        }
    })
}
