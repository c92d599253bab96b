//! Gate: checks each call of the model's turn: does the tool exist, are the arguments valid, whom do the names mean, is
//! it allowed? Read calls go on to Act; a call that reaches others becomes an approval request.

use serde_json::{Value, json};

use super::{Emit, Next, NodeContext, NodeError, Step, act, drafts, recipients, think, times};
use crate::state::{AgentState, Node, Parked, PendingCall};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::provider::Provider;
use nod_contract::tool::{
    ASSUMPTIONS_FIELD, ActTool, MAX_BODY_CHARS, Preview, Reach, Tool, ToolError, ToolSpec,
};
use nod_requests::approval::{TooLong, askable};
use nod_requests::policy::{self, Ruling, Terms};
use nod_requests::question::{self, Vote};
use nod_store::steps::StepRecord;
use nod_when::when;

/// The longest reason why a call is invalid, in bytes.
const LONGEST_WHY: usize = 300;

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
    let mut emits = Vec::new();
    let open: Vec<PendingCall> = state.pending.iter().filter(|p| p.parked.is_none()).cloned().collect();
    let mut reads = false;
    // The provenance when the model wrote the calls: the preview of one call did not influence another.
    let seen = state.provenance.clone();
    for pending in open {
        match examine(&mut state, &pending, &seen, cx, &mut emits).await? {
            Examined::Reads => reads = true,
            Examined::Parked(parked) => park(&mut state, &pending.call.id, parked),
            Examined::Taken => {}
            Examined::Answered(content) => state.answer(&pending.call.id, &content),
        }
    }
    emits.extend(drafts::emits(&mut state));
    let next = if reads { Next::Go(Node::Act) } else { act::onward(&state) };
    Ok(Step { state, emits, next })
}

enum Examined {
    /// A read call that can run now.
    Reads,
    /// It waits for something.
    Parked(Parked),
    /// It will not run; the state has the answer.
    Taken,
    /// It will not run; the model reads this.
    Answered(Value),
}

async fn examine(
    state: &mut AgentState,
    pending: &PendingCall,
    seen: &Provenance,
    cx: &NodeContext<'_>,
    emits: &mut Vec<Emit>,
) -> Result<Examined, NodeError> {
    let Some(tool) = cx.tools.get(&pending.call.name) else {
        let known: Vec<&str> = cx.tools.iter().map(|t| t.spec().name).collect();
        let said = format!("there is no tool “{}”; there are: {}", pending.call.name, known.join(", "));
        return Ok(Examined::Answered(json!({ "error": said })));
    };
    state.acts |= matches!(tool, Tool::Act(_));
    let args = match arguments(tool.spec(), &pending.call.arguments) {
        Ok(args) => args,
        Err(fault) => return Ok(Examined::Answered(json!({ "error": fault.to_string() }))),
    };
    let args = match recipients::resolved(tool.spec(), args, &pending.picked, state, cx).await? {
        Ok(args) => args,
        Err(fault) => return Ok(faulted(fault, state, pending, cx, emits)),
    };
    let addressed = args.clone();
    let moments = (cx.said_at, cx.clock.now());
    let times = times::resolved(tool.spec(), args, &pending.picked, &state.principal.zone, moments);
    let times::Resolved { args, assumed } = match times {
        Ok(times) => times,
        Err(fault) => return Ok(faulted(fault, state, pending, cx, emits)),
    };
    let Tool::Act(tool) = tool else {
        // Act runs it, with the resolved recipients.
        if let Some(own) = state.pending.iter_mut().find(|own| own.call.id == pending.call.id) {
            own.call.arguments = addressed.to_string();
        }
        return Ok(Examined::Reads);
    };
    let named = drafts::resolved(tool.spec(), args, &pending.picked, state);
    let named = match named {
        Ok(args) => args,
        Err(fault) => return Ok(faulted(fault, state, pending, cx, emits)),
    };
    let with = cx.tool_context(state);
    let overwrites = drafts::overwrites(tool.spec(), &named, state);
    let previewed = act::limited(&with, tool.preview(&with, &named)).await;
    let previewed = previewed.map(|preview| for_whom(Preview { display_limit: cx.room, ..preview }, state));
    let previewed = previewed.map(|preview| saying(preview, &assumed));
    let name = format!("{}.preview", tool.spec().name);
    let mut record = StepRecord::new("tool", &name, with.scope.invocation, with.now, cx.clock.now());
    record.error = previewed.as_ref().err().map(ToolError::to_string);
    record.output = previewed.as_ref().ok().and_then(recorded);
    record.input = Some(named);
    cx.records.push(record);
    if let Ok(preview) = &previewed {
        state.audience = state.audience.narrow(preview.audience);
        state.provenance = state.provenance.clone().merge(preview.provenance.clone());
    }
    let unnamed = match &previewed {
        Ok(preview) => recipients::unnamed(preview, &pending.picked, state, cx).await?,
        Err(_) => Vec::new(),
    };
    match previewed.map(|preview| Preview { unknown_recipients: unnamed, ..preview }) {
        Ok(preview) => {
            match (ruled(tool.spec(), &preview, overwrites, state, seen, cx).await?, askable(&preview)) {
                (Ruling::Never(why), _) => Ok(Examined::Answered(never(&why))),
                (Ruling::Run, _) => Ok(wanted(tool.as_ref(), None, pending, preview, cx, emits)),
                (Ruling::Ask(_), Err(long)) => Ok(Examined::Answered(too_long(long))),
                (Ruling::Ask(terms), Ok(())) => {
                    match cx.directory.second(&terms, &state.principal, &preview.account).await? {
                        Some(why) => Ok(Examined::Answered(nobody_else(&why))),
                        None => Ok(wanted(tool.as_ref(), Some(terms), pending, preview, cx, emits)),
                    }
                }
            }
        }
        Err(fault @ ToolError::RateLimited { .. }) => {
            act::failed(state, pending, tool.spec(), &fault, cx);
            Ok(Examined::Taken)
        }
        Err(fault) => {
            kept_private(tool.spec(), &fault, state);
            if told_after_a_pick(&fault, state, pending) {
                return Ok(Examined::Taken);
            }
            Ok(faulted(fault, state, pending, cx, emits))
        }
    }
}

/// Narrows the audience if a tool's error can contain account data ("there is no such label; similar: …"). Errors that
/// the gate finds before it calls the tool contain only the conversation and the people in it.
pub(super) fn kept_private(spec: &ToolSpec, fault: &ToolError, state: &mut AgentState) {
    if spec.provider.is_some() && fault.has_account_data() {
        state.audience = state.audience.narrow(Audience::Person(state.principal.person));
    }
}

/// Asks for another time if the picked one does not work. The person gets Nod's text: a click needs a direct answer.
pub(super) fn told_after_a_pick(fault: &ToolError, state: &mut AgentState, pending: &PendingCall) -> bool {
    let ToolError::InvalidArguments { reason } = fault else { return false };
    let picked = pending.picked.keys().any(|name| question::is_time(name));
    if picked {
        let asked = question::for_another_way(reason, state.shared);
        state.take(&pending.call.id, &asked, &asked.content.to_string());
    }
    picked
}

/// Adds the assumptions to the preview, so that the person can still correct them.
fn saying(mut preview: Preview, assumed: &[String]) -> Preview {
    if !assumed.is_empty() {
        preview.fields.push((ASSUMPTIONS_FIELD.to_owned(), assumed.join(" ")));
    }
    preview
}

/// Returns the preview without text that its card does not show; the approval's row, readable by its owner, has it all.
fn recorded(preview: &Preview) -> Option<Value> {
    if preview.trailing_text.is_none() {
        return serde_json::to_value(preview).ok();
    }
    serde_json::to_value(Preview { payload: Value::Null, trailing_text: None, ..preview.clone() }).ok()
}

/// Keeps risks from the person's own mailbox or calendar private: if others read too, they are not even stored.
fn for_whom(preview: Preview, state: &mut AgentState) -> Preview {
    let own = Audience::Person(state.principal.person);
    if state.shared && state.audience.narrow(preview.audience) == Audience::Channel {
        return Preview { private_risks: Vec::new(), ..preview };
    }
    if !preview.private_risks.is_empty() {
        state.audience = state.audience.narrow(own);
    }
    preview
}

/// Returns what the policy says about the call.
async fn ruled(
    spec: &ToolSpec,
    preview: &Preview,
    overwrites: bool,
    state: &AgentState,
    seen: &Provenance,
    cx: &NodeContext<'_>,
) -> Result<Ruling, NodeError> {
    // For the person's own account: what only the call's preview shows did not influence the call.
    let in_view = if spec.reach == Reach::Others { &state.provenance } else { seen };
    let call = policy::Call {
        tool: spec.name,
        reach: spec.reach,
        account: &preview.account,
        recipients: &preview.recipients,
        outside_text: in_view.is_untrusted(),
        overwrites,
    };
    Ok(policy::decide(&cx.directory.policy().await?, &call))
}

fn nobody_else(why: &str) -> Value {
    let detail = format!("{why} Nothing was asked or done. Tell the person that; do not try another way.");
    json!({ "status": "nobody_to_decide", "detail": detail })
}

fn never(why: &str) -> Value {
    let detail = format!(
        "the rules here never allow this, whoever agrees: {why}; nothing was asked or done. Tell the person the \
         reason; do not try another way."
    );
    json!({ "status": "never", "detail": detail })
}

/// A person cannot approve what they cannot see.
fn too_long(long: TooLong) -> Value {
    let what = match long {
        TooLong::Body(length) => format!("the body has {length} characters, more than {MAX_BODY_CHARS}"),
        TooLong::Fields(people) => format!("there are {people} recipients"),
    };
    let said = format!(
        "{what}: more than can be shown for approval; nothing was asked. Offer a shorter one, or several mails."
    );
    json!({ "error": said })
}

/// Emits an effect for an act that can run now, or an approval request for one that has `terms`.
fn wanted(
    tool: &dyn ActTool,
    terms: Option<Terms>,
    pending: &PendingCall,
    preview: Preview,
    cx: &NodeContext<'_>,
    emits: &mut Vec<Emit>,
) -> Examined {
    let (call_id, tool) = (pending.call.id.clone(), tool.spec().name);
    let preview = Box::new(preview);
    if let Some(terms) = terms {
        let approval = cx.ids.next().into();
        emits.push(Emit::Ask { approval, call_id, tool, preview, terms });
        Examined::Parked(Parked::Approval(approval))
    } else {
        let effect = cx.ids.next().into();
        emits.push(Emit::Act { effect, call_id, tool, preview });
        Examined::Parked(Parked::Effect(effect))
    }
}

/// Waits if a person can fix the error; any other error goes back to the model.
pub(super) fn wait_for_person(
    fault: &ToolError,
    call_id: &str,
    cx: &NodeContext<'_>,
    emits: &mut Vec<Emit>,
) -> Option<Parked> {
    match fault {
        ToolError::NeedsConnect { provider, revoked, missing } => {
            need_account(*provider, *revoked, missing, emits);
            Some(Parked::Connection(*provider))
        }
        ToolError::Ambiguous { name, choices, message: why } if !choices.is_empty() => {
            let question = cx.ids.next().into();
            emits.push(Emit::Question {
                question,
                call_id: call_id.to_owned(),
                name: name.clone(),
                choices: choices.clone(),
                why: why.clone(),
                vote: None,
            });
            Some(Parked::Question(question))
        }
        ToolError::AmbiguousTime { topic: about, title, choices, voters, unreadable_calendars: unseen } => {
            let question = cx.ids.next().into();
            emits.push(Emit::Question {
                question,
                call_id: call_id.to_owned(),
                name: when::quoted_phrase(about),
                choices: choices.clone(),
                why: None,
                vote: Some(Vote { title: title.clone(), voters: voters.clone(), unseen: unseen.clone() }),
            });
            Some(Parked::Question(question))
        }
        _ => None,
    }
}

/// Emits one connect link for all calls of a turn.
fn need_account(provider: Provider, revoked: bool, missing: &[String], emits: &mut Vec<Emit>) {
    let asked = emits.iter_mut().find_map(|emit| match emit {
        Emit::Connect { provider: p, missing, .. } if *p == provider => Some(missing),
        _ => None,
    });
    match asked {
        Some(asked) => asked.extend_from_slice(missing),
        None => emits.push(Emit::Connect { provider, revoked, missing: missing.to_vec() }),
    }
}

fn faulted(
    fault: ToolError,
    state: &mut AgentState,
    pending: &PendingCall,
    cx: &NodeContext<'_>,
    emits: &mut Vec<Emit>,
) -> Examined {
    if let ToolError::Conflict { current: now } = &fault {
        state.take(&pending.call.id, now, &act::content(now, &cx.scope().invocation.short()));
        return Examined::Taken;
    }
    if let ToolError::NoSuchTime { message: why } = &fault {
        let asked = question::for_time(&format!("{why} Which time do you mean?"), state.shared);
        state.take(&pending.call.id, &asked, &asked.content.to_string());
        return Examined::Taken;
    }
    noted(&fault, state);
    match wait_for_person(&fault, &pending.call.id, cx, emits) {
        Some(parked) => Examined::Parked(parked),
        None => Examined::Answered(json!({ "error": fault.to_string() })),
    }
}

/// Adds a note under the answer about what an admin has to fix, whatever the model writes.
pub(super) fn noted(fault: &ToolError, state: &mut AgentState) {
    if let ToolError::NeedsAdmin { reason } = fault {
        state.note(&format!("{}. {}", reason.trim_end_matches('.'), think::done_so_far(state)));
    }
}

pub(super) fn park(state: &mut AgentState, call_id: &str, parked: Parked) {
    if let Some(pending) = state.pending.iter_mut().find(|p| p.call.id == call_id) {
        pending.parked = Some(parked);
    }
}

/// Parses the model's raw text into arguments that satisfy the tool's schema.
pub(super) fn arguments(spec: &ToolSpec, raw: &str) -> Result<Value, ToolError> {
    let raw = if raw.trim().is_empty() { "{}" } else { raw };
    let args: Value = serde_json::from_str(raw)
        .map_err(|error| ToolError::invalid(format!("the arguments are no JSON: {error}")))?;
    let validator = jsonschema::validator_for(&spec.parameters).map_err(|error| {
        ToolError::internal(format!("the schema of {} does not compile: {error}", spec.name))
    })?;
    let wrong: Vec<String> = validator
        .iter_errors(&args)
        .take(5)
        .map(|e| {
            let at = e.instance_path().to_string();
            // If a value is long, the model needs no copy of it.
            let why = Some(e.to_string()).filter(|why| why.len() <= LONGEST_WHY);
            let why = why.unwrap_or_else(|| e.masked().to_string());
            if at.is_empty() { why } else { format!("{at}: {why}") }
        })
        .collect();
    if wrong.is_empty() { Ok(args) } else { Err(ToolError::invalid(wrong.join("; "))) }
}
