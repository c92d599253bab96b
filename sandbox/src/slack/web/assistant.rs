//! `assistant.threads.*`: status, title and prompts of an assistant thread.

use serde_json::json;

use super::{Answer, Args, Rejection};
use crate::slack::world::World;

/// The number of prompts that Slack shows at most.
const MAX_PROMPTS: usize = 4;

type Thread = (String, String);

fn thread(w: &World, args: &Args) -> Result<Thread, Rejection> {
    let (channel, ts) = (args.text("channel_id").to_owned(), args.text("thread_ts").to_owned());
    if !w.is_member(&channel, &w.config.app.bot_user) {
        return Err(Rejection::expected("channel_not_found"));
    }
    match w.message(&channel, &ts) {
        Some(message) if message.thread_ts.is_none() => Ok((channel, ts)),
        _ => Err(Rejection::expected("invalid_thread_ts")),
    }
}

/// Returns an assistant thread.
fn pane(w: &World, args: &Args) -> Result<Thread, Rejection> {
    let thread = thread(w, args)?;
    if w.panes.contains_key(&thread) { Ok(thread) } else { Err(Rejection::expected("invalid_thread_ts")) }
}

pub(super) fn set_status(w: &mut World, args: &Args) -> Answer {
    let thread = thread(w, args)?;
    match args.text("status") {
        "" => w.statuses.remove(&thread),
        status => w.statuses.insert(thread, status.to_owned()),
    };
    Ok(json!({}))
}

pub(super) fn set_title(w: &mut World, args: &Args) -> Answer {
    let thread = pane(w, args)?;
    if let Some(pane) = w.panes.get_mut(&thread) {
        pane.title = Some(args.text("title").to_owned());
    }
    Ok(json!({}))
}

pub(super) fn set_prompts(w: &mut World, args: &Args) -> Answer {
    let thread = pane(w, args)?;
    let given = args.get("prompts").and_then(|p| p.as_array()).cloned().unwrap_or_default();
    let text =
        |prompt: &serde_json::Value, field: &str| prompt[field].as_str().unwrap_or_default().to_owned();
    let prompts: Vec<(String, String)> =
        given.iter().map(|p| (text(p, "title"), text(p, "message"))).collect();
    let empty = prompts.iter().any(|(title, message)| title.is_empty() || message.is_empty());
    if prompts.is_empty() || prompts.len() > MAX_PROMPTS || empty {
        return Err(Rejection::argument(format!("prompts are 1 to {MAX_PROMPTS}, with title and message")));
    }
    if let Some(pane) = w.panes.get_mut(&thread) {
        pane.prompts = prompts;
    }
    Ok(json!({}))
}
