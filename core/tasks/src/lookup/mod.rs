//! The tools `list_tasks` and `get_task_result`: which tasks a person has, and what one of them came to.

mod sql;

use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::card::{count, describe_end};
use crate::list::describe_progress;
use crate::sql as tasks;
use nod_contract::ids::RunId;
use nod_contract::privacy::Provenance;
use nod_contract::tool::{Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec};
use nod_people::listing::{self, Listing, MAX_ROWS};
use nod_when::when::local_time;

/// How long a task is listed after its end, in days.
const LISTED_DAYS: i64 = 7;
const MAX_NAME_CHARS: usize = 200;

/// Returns the two tools.
pub(crate) fn tools(pool: &PgPool) -> Vec<Tool> {
    let spec = ToolSpec {
        name: "get_task_result",
        description: include_str!("../../prompts/get_task_result.md"),
        parameters: json!({
            "type": "object",
            "properties": {
                "task": {
                    "type": "string", "maxLength": MAX_NAME_CHARS,
                    "description": "Its id from list_tasks, or words of its title; the one that ended last if left out",
                },
            },
            "additionalProperties": false,
        }),
        reach: Reach::Reads,
        provider: None,
        status_text: "Looking at tasks",
    };
    vec![listing::tool(ListTasks(pool.clone())), Tool::Read(Arc::new(GetResult { spec, pool: pool.clone() }))]
}

struct ListTasks(PgPool);

#[async_trait]
impl Listing for ListTasks {
    fn name(&self) -> &'static str {
        "list_tasks"
    }

    fn description(&self) -> &'static str {
        "Lists the person's tasks, open and lately ended (\"how far is my task?\", \"which tasks are open?\")."
    }

    fn status_text(&self) -> &'static str {
        "Looking at tasks"
    }

    async fn list(&self, cx: &ToolContext) -> sqlx::Result<ToolOutput> {
        let (tenant, person) = (cx.scope.tenant, cx.principal.person);
        let mut conn = self.0.acquire().await?;
        let open = tasks::list_open(&mut conn, tenant, person).await?;
        let ended = sql::list_ended(&mut conn, tenant, person, cx.now - TimeDelta::days(LISTED_DAYS)).await?;
        drop(conn);
        let open_lines = open.iter().map(|task| line(&task.title, &describe_progress(task)));
        let ended_lines = ended.iter().map(|task| {
            let at = local_time(task.finished_at, &cx.principal.zone);
            line(&task.title, &format!("{}, {at}", outcome(task)))
        });
        let words = describe(&open_lines.collect::<Vec<_>>(), &ended_lines.collect::<Vec<_>>());
        let of_open = open.iter().map(
            |task| json!({ "id": RunId(task.id).short(), "title": task.title, "is": describe_progress(task) }),
        );
        let of_ended = ended.iter().map(|task| {
            json!({ "id": RunId(task.id).short(), "title": task.title, "is": outcome(task), "summary": task.summary })
        });
        let listed: Vec<Value> = of_open.chain(of_ended).collect();
        let of_titles = open.iter().flat_map(|task| task.about_sources.iter().cloned());
        let of_results = ended.iter().flat_map(|task| task.sources.iter().cloned());
        let output = ToolOutput::trusted(json!({ "tasks": listed }))
            .with_provenance(Provenance::from_sources(of_titles.chain(of_results)))
            .with_verbatim(words);
        Ok(output.private_to(person))
    }
}

/// Returns a line of the list. A title can be the words of somebody else's message, so nothing in it is formatted.
fn line(title: &str, how_far: &str) -> String {
    let plain = title.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c]));
    format!("- {}: {how_far}", plain.collect::<String>())
}

/// Writes the list: what is open, and then what has ended.
fn describe(open: &[String], ended: &[String]) -> String {
    let has = match open.len() {
        0 if ended.is_empty() => {
            return "You have no open tasks, and none ended in the last week.".to_owned();
        }
        0 => "You have no open tasks.".to_owned(),
        number => format!("You have {}:\n\n{}", count(number, "open task"), open.join("\n")),
    };
    let more = match ended.len().saturating_sub(MAX_ROWS) {
        0 => String::new(),
        more => format!("\n\nand {more} more"),
    };
    match ended {
        [] => has,
        ended => {
            let shown = ended[..ended.len().min(MAX_ROWS)].join("\n");
            format!("{has}\n\nEnded in the last week:\n\n{shown}{more}")
        }
    }
}

fn outcome(task: &sql::EndedTask) -> &'static str {
    match task.status.as_str() {
        "done" => {
            let count = |steps: i64| usize::try_from(steps).unwrap_or_default();
            describe_end(count(task.done), count(task.incomplete), count(task.steps))
        }
        "stopped" => "Stopped",
        _ => "Failed",
    }
}

struct GetResult {
    spec: ToolSpec,
    pool: PgPool,
}

#[async_trait]
impl ReadTool for GetResult {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, cx: &ToolContext, args: &Value) -> ToolResult {
        let (tenant, person) = (cx.scope.tenant, cx.principal.person);
        let name = args["task"].as_str().map(str::trim).unwrap_or_default();
        let found = async {
            let mut conn = self.pool.acquire().await?;
            sql::find_result(&mut conn, tenant, person, name).await
        };
        let found = found.await.map_err(|error: sqlx::Error| ToolError::internal(error.to_string()))?;
        let Some(task) = found else {
            let what = match name {
                "" => "a task of yours that has a result".to_owned(),
                name => format!("a task “{name}” of yours that has a result"),
            };
            return Err(ToolError::NotFound { what });
        };
        // What was done since the result was written is said by its step alone.
        let content = json!({
            "title": task.title, "steps": task.steps, "summary": task.summary, "result": task.result,
        });
        let output = ToolOutput::trusted(content).with_provenance(Provenance::from_sources(task.sources));
        // Where it was posted for all, all may hear of it again.
        let is_public_here = task.only_for.is_none() && task.conversation_id == cx.scope.case.0;
        Ok(if is_public_here { output } else { output.private_to(person) })
    }
}
