//! Recall: what was said before, as far as this person may know it, and what already waits for their nod.

use super::{NodeContext, Step};
use crate::state::{AgentState, Earlier, Node};
use nod_contract::hidden_chars::show_hidden_chars;
use nod_contract::model::Turn;
use nod_contract::privacy::Provenance;
use nod_contract::text;
use nod_memory::memory::view::View;
use nod_people::file::File;
use nod_requests::draft::OpenDraft;

/// Characters of files that are brought into view.
const MOST_OF_FILES: usize = 24_000;

/// What the runner loaded for this node.
pub struct Memory {
    /// What was said before and what is known, within its bound.
    pub view: View,
    /// A line for each approval that waits.
    pub waiting: Vec<String>,
    /// Files of this message and of earlier ones, oldest first.
    pub files: Vec<File>,
    /// The channel that the person looks at, in the assistant's pane.
    pub viewing: Option<String>,
    /// Who is meant by each mention, by name.
    pub mentioned: Vec<(String, String)>,
    /// What stood in the thread before Nod was mentioned there.
    pub earlier: Option<String>,
    /// Drafts that are open for the person here, the newest first.
    pub drafts: Vec<OpenDraft>,
    /// The thread of mail that was read last here.
    pub thread: Option<String>,
}

/// Where that comes from, as a risk line names it.
const EARLIER: &str = "earlier messages in this thread";

pub(super) fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Step {
    if let Some(memory) = &cx.memory {
        let view = &memory.view;
        state.provenance = state.provenance.merge(view.provenance());
        // What was told to this person alone is in view again: so is whatever is said with it.
        state.audience = view.audience.map_or(state.audience, |audience| state.audience.narrow(audience));
        state.history.clone_from(&view.history);
        state.earlier = view.summary.clone().map(|(text, outside)| Earlier { text, outside });
        state.unfolded = view.unfolded;
        state.waiting.clone_from(&memory.waiting);
        files(&mut state, &memory.files, &cx.ids.next().simple().to_string()[24..]);
        state.working.current_goal.clone_from(&view.goal);
        state.working.facts.clone_from(&view.facts);
        if let Some(viewing) = &memory.viewing {
            state.working.extracted_info.insert("Channel in view".to_owned(), format!("<#{viewing}>"));
        }
        state.drafts.open.clone_from(&memory.drafts);
        state.thread.clone_from(&memory.thread);
        state.working.extracted_info.extend(memory.mentioned.iter().cloned());
        if let Some(earlier) = &memory.earlier {
            let marker = cx.scope().invocation.short();
            state.context = Some(text::fence_untrusted(earlier, &[EARLIER], &marker));
            state.provenance = state.provenance.merge(Provenance::untrusted(EARLIER));
            state.overheard = true;
        }
    }
    Step::go(state, Node::Route)
}

/// Files are outside text, whoever dropped them. The latest come first where there is not room for all.
fn files(state: &mut AgentState, files: &[File], marker: &str) {
    let mut room = MOST_OF_FILES;
    let mut turns = Vec::new();
    for file in files.iter().rev() {
        let name: String = file.name.chars().filter(|c| !c.is_control()).take(100).collect();
        let name = show_hidden_chars(&name);
        match &file.read {
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
                turns.push((file.now, Turn::System { text }));
            }
            Err(why) if file.now => {
                let text = format!("The file “{name}” could not be read: {why}. The person is told so.");
                turns.push((true, Turn::System { text }));
                state.note(&format!("I could not read {name}: {why}."));
            }
            Err(_) => {}
        }
    }
    for (now, turn) in turns.into_iter().rev() {
        if now { state.turns.push(turn) } else { state.history.push(turn) }
    }
}
