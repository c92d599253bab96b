//! Recall: loads the earlier messages that this person is allowed to read, and the approvals that wait for them.

use std::sync::Arc;

use super::{NodeContext, Step, prompt};
use crate::state::{AgentState, Node, Recalled};
use nod_contract::hidden_chars::show_hidden_chars;
use nod_contract::model::Turn;
use nod_contract::privacy::Provenance;
use nod_contract::text;
use nod_memory::memory::prompt_context::MemoryContext;
use nod_people::attachment::AttachmentText;
use nod_requests::draft::OpenDraft;

/// The limit for attached files in view, in characters.
const MAX_ATTACHMENT_CHARS: usize = 24_000;

/// What the runner loaded for this node.
pub struct RecalledContext {
    /// Earlier messages and known facts, within their token limit.
    pub view: MemoryContext,
    /// One line for each pending approval.
    pub pending_approvals: Vec<String>,
    /// Whether a task of the person waits for an answer.
    pub has_open_question: bool,
    /// Files of this message and of earlier ones, oldest first.
    pub attachments: Vec<AttachmentText>,
    /// The channel that the person is viewing next to the assistant thread.
    pub viewed_channel: Option<String>,
    /// The person behind each mention, by name.
    pub mentioned_names: Vec<(String, String)>,
    /// The messages in the thread before Nod was mentioned there.
    pub thread_context: Option<String>,
    /// The person's open drafts here, newest first.
    pub drafts: Vec<OpenDraft>,
    /// The mail thread that was read last here.
    pub mail_thread: Option<String>,
}

/// What is told of a question that waits, without its words: a model wrote them, perhaps after reading something from outside.
const OPEN_QUESTION: (&str, &str) = (
    "Waiting for an answer",
    "a task of theirs asked something. They answer with the buttons of that message, in direct messages also by replying to \
     it: say so if this message may be the answer",
);

/// The source of earlier messages, as a risk line names it.
const EARLIER_SOURCE: &str = "earlier messages in this thread";

pub(super) fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Step {
    if let Some(memory) = &cx.memory {
        let view = &memory.view;
        state.provenance = state.provenance.merge(view.provenance());
        // An earlier private answer in view makes the new answer private too.
        state.audience = view.audience.map_or(state.audience, |audience| state.audience.narrow(audience));
        let mut recalled = Recalled {
            remembered: prompt::memory_text(view, &cx.run.short()),
            pending_approvals: memory.pending_approvals.clone(),
            unsummarised: view.unsummarised,
            ..Recalled::default()
        };
        recalled.add_history(view.history.iter().cloned());
        let marker = cx.ids.next().simple().to_string();
        add_attachments(&mut state, &mut recalled, &memory.attachments, &marker[24..]);
        if let Some(viewing) = &memory.viewed_channel {
            recalled.platform_info.insert("Channel in view".to_owned(), format!("<#{viewing}>"));
        }
        recalled.platform_info.extend(memory.mentioned_names.iter().cloned());
        if memory.has_open_question {
            let (name, words) = OPEN_QUESTION;
            recalled.platform_info.insert(name.to_owned(), words.to_owned());
        }
        state.drafts.open.clone_from(&memory.drafts);
        state.mail_thread.clone_from(&memory.mail_thread);
        if let Some(earlier) = &memory.thread_context {
            let marker = cx.scope().invocation.short();
            recalled.set_thread_context(text::fence_untrusted(earlier, &[EARLIER_SOURCE], &marker));
            state.provenance = state.provenance.merge(Provenance::untrusted(EARLIER_SOURCE));
            state.has_read_untrusted = true;
            state.has_channel_history = true;
        }
        state.recalled = Arc::new(recalled);
    }
    Step::go(state, Node::Route)
}

/// Adds the files, as untrusted content whoever attached them. If there is not room for all, the newest win.
fn add_attachments(state: &mut AgentState, recalled: &mut Recalled, files: &[AttachmentText], marker: &str) {
    let mut room = MAX_ATTACHMENT_CHARS;
    let mut turns = Vec::new();
    for file in files.iter().rev() {
        let name: String = file.name.chars().filter(|c| !c.is_control()).take(100).collect();
        let name = show_hidden_chars(&name);
        match &file.text {
            Ok(words) => {
                let shown: String = words.chars().take(room).collect();
                let cut = if shown.len() < words.len() { "… (cut)" } else { "" };
                room -= shown.chars().count();
                if shown.is_empty() {
                    continue;
                }
                let source = format!("the file {name}");
                let text =
                    text::fence_untrusted(&format!("{shown}{cut}"), std::slice::from_ref(&source), marker);
                state.provenance = state.provenance.clone().merge(Provenance::untrusted(source));
                state.has_read_untrusted |= file.is_from_this_run;
                turns.push((file.is_from_this_run, Turn::System { text }));
            }
            Err(why) if file.is_from_this_run => {
                let text = format!("The file “{name}” could not be read: {why}. The person is told so.");
                turns.push((true, Turn::System { text }));
                state.add_note(&format!("I couldn't read {name}: {why}."));
            }
            Err(_) => {}
        }
    }
    for (now, turn) in turns.into_iter().rev() {
        if now { state.turns.push(turn) } else { recalled.add_history([turn]) }
    }
}
