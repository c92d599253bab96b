//! Gate: checks each call of the model's turn: does the tool exist, are the arguments valid, whom do the names mean, is
//! it allowed? Read calls go on to Act; a call that reaches others becomes an approval request.

use serde_json::{Value, json};

use super::{
    CREATE_TASK, Next, NodeContext, NodeError, NodeOutput, Step, act, asked_by, drafts, recipients, think,
    times,
};
use crate::state::{AgentState, Node, PendingCall, WaitReason};
use nod_contract::privacy::{Audience, Provenance};
use nod_contract::provider::Provider;
use nod_contract::tool::{
    ASSUMPTIONS_FIELD, ActTool, MAX_BODY_CHARS, Preview, Reach, Tool, ToolContext, ToolError, ToolSpec, Tools,
};
use nod_requests::approval::{TooLong, check_displayable};
use nod_requests::policy::{self, Policy, Ruling, Terms};
use nod_requests::question::{self, VoteProposal};
use nod_store::steps::StepRecord;
use nod_when::when;

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
    let mut emits = Vec::new();
    let open: Vec<PendingCall> =
        state.pending_calls.iter().filter(|p| p.waiting_for.is_none()).cloned().collect();
    let mut reads = false;
    // A list is shown if it was the last that was called.
    state.items.clear();
    // The provenance when the model wrote the calls: the preview of one call did not influence another.
    // Nothing that is in view chose the call of a quick action.
    let seen = if state.follows_press() { Provenance::Trusted } else { state.provenance.clone() };
    let is_alone = open.len() == 1;
    for pending in open {
        // A step ends with nothing left to do.
        if !is_alone && cx.ends_by == Some(pending.call.name.as_str()) {
            let said = format!("call {} alone, once everything else is done", pending.call.name);
            state.answer(&pending.call.id, json!({ "error": said }));
            continue;
        }
        // Outside text that a model has read begins no work.
        let is_routed = state.model_turns == 0 && state.target_tool.as_deref() == Some(CREATE_TASK);
        if pending.call.name == CREATE_TASK && !is_routed {
            state.answer(&pending.call.id, json!({ "error": "there is no such tool" }));
            continue;
        }
        match examine(&mut state, &pending, &seen, cx, &mut emits).await? {
            GateResult::Read => reads = true,
            GateResult::Parked(parked) => park(&mut state, &pending.call.id, parked),
            GateResult::Handled => {}
            GateResult::Answered(content) => state.answer(&pending.call.id, &content),
        }
    }
    emits.extend(drafts::take_outputs(&mut state));
    let next = if reads { Next::Go(Node::Act) } else { act::next_node(&state) };
    Ok(Step { state, outputs: emits, next })
}

/// Whether it asks anybody outside: for a preview, or for a name in the person's own mail.
pub(crate) fn asks_outside(state: &AgentState, tools: &Tools) -> bool {
    let mut open = state.pending_calls.iter().filter(|pending| pending.waiting_for.is_none());
    open.any(|pending| {
        let tool = tools.get(&pending.call.name);
        tool.is_some_and(|tool| matches!(tool, Tool::Act(_)) || recipients::has_recipients(tool.spec()))
    })
}

enum GateResult {
    /// A read call that can run now.
    Read,
    /// It waits for something.
    Parked(WaitReason),
    /// It will not run; the state has the answer.
    Handled,
    /// It will not run; the model reads this.
    Answered(Value),
}

async fn examine(
    state: &mut AgentState,
    pending: &PendingCall,
    seen: &Provenance,
    cx: &NodeContext<'_>,
    emits: &mut Vec<NodeOutput>,
) -> Result<GateResult, NodeError> {
    let Some(registered) = cx.tools.registered(&pending.call.name) else {
        let known: Vec<&str> = cx.tools.iter().map(|t| t.spec().name).collect();
        let said = format!("there is no tool “{}”; there are: {}", pending.call.name, known.join(", "));
        return Ok(GateResult::Answered(json!({ "error": said })));
    };
    let tool = registered.tool();
    state.acts |= matches!(tool, Tool::Act(_));
    let args = match registered.parse_arguments(&pending.call.arguments) {
        Ok(args) => args,
        Err(fault) => return Ok(GateResult::Answered(json!({ "error": fault.to_string() }))),
    };
    let args = match recipients::resolve_all(tool.spec(), args, &pending.picked_values, state, cx).await? {
        Ok(args) => args,
        Err(fault) => return Ok(handle_tool_error(fault, state, pending, cx, emits)),
    };
    let addressed = args.clone();
    let moments = (cx.message_time, cx.clock.now());
    let times =
        times::resolve_times(tool.spec(), args, &pending.picked_values, &state.principal.zone, moments);
    let times::ResolvedArguments { args, assumed } = match times {
        Ok(times) => times,
        Err(fault) => return Ok(handle_tool_error(fault, state, pending, cx, emits)),
    };
    let Tool::Act(tool) = tool else {
        // Act runs it, with the resolved recipients.
        if let Some(own) = state.pending_calls.iter_mut().find(|own| own.call.id == pending.call.id) {
            own.call.arguments = addressed.to_string();
        }
        return Ok(GateResult::Read);
    };
    let named = drafts::resolve_draft(tool.spec(), args, &pending.picked_values, state);
    let named = match named {
        Ok(args) => args,
        Err(fault) => return Ok(handle_tool_error(fault, state, pending, cx, emits)),
    };
    let (policy, accounts) = cx.directory.load_policy_and_accounts(state.principal.person).await?;
    let with = ToolContext { accounts: Some(accounts), ..cx.tool_context(state) };
    let overwrites = drafts::overwrites_own_draft(tool.spec(), &named, state);
    let previewed = act::with_deadline(&with, tool.preview(&with, &named)).await;
    let previewed = previewed
        .map(|preview| restrict_to_audience(Preview { display_limit: cx.display_limit, ..preview }, state));
    let previewed = previewed.map(|preview| with_assumptions(preview, &assumed));
    let name = format!("{}.preview", tool.spec().name);
    let mut record = StepRecord::new("tool", &name, with.scope.invocation, with.now, cx.clock.now());
    record.error = previewed.as_ref().err().map(ToolError::to_string);
    if let Ok(preview) = &previewed {
        match preview.trailing_text {
            None => record.set_output(preview),
            Some(_) => record.set_output(&without_private_text(preview)),
        }
    }
    record.set_input(&named);
    cx.records.push(record);
    if let Ok(preview) = &previewed {
        state.audience = state.audience.narrow(preview.audience);
        state.provenance = state.provenance.clone().merge(preview.provenance.clone());
    }
    let named = match &previewed {
        Ok(preview) => recipients::find_named(preview, &pending.picked_values, state, cx).await?,
        Err(_) => recipients::Named::default(),
    };
    let stated = |preview: Preview| {
        let preview = named.add_to(preview);
        Preview {
            asked_by: asked_by::find(tool.spec(), &addressed, &preview, seen, state),
            // A step that an earlier version began has none.
            task: state.goal.as_ref().map(|step| step.label.clone()).filter(|label| !label.is_empty()),
            ..preview
        }
    };
    match previewed.map(stated) {
        Ok(preview) => {
            let mut ruling = decide(&policy, tool.spec(), &preview, overwrites, state, seen);
            if matches!(ruling, Ruling::Allow) {
                // Nobody is asked, so the rules count as they are now, after the preview.
                let (policy, _) = cx.directory.load_policy_and_accounts(state.principal.person).await?;
                ruling = decide(&policy, tool.spec(), &preview, overwrites, state, seen);
            }
            match (ruling, check_displayable(&preview)) {
                (Ruling::Forbid(why), _) => Ok(GateResult::Answered(forbidden_content(&why))),
                (Ruling::Allow, _) => Ok(emit_act(tool.as_ref(), None, pending, preview, cx, emits)),
                (Ruling::Ask(_), Err(long)) => Ok(GateResult::Answered(too_long(long))),
                (Ruling::Ask(terms), Ok(())) => {
                    match cx
                        .directory
                        .find_co_approval_obstacle(&terms, &state.principal, &preview.account)
                        .await?
                    {
                        Some(why) => Ok(GateResult::Answered(no_co_approver_content(&why))),
                        None => Ok(emit_act(tool.as_ref(), Some(terms), pending, preview, cx, emits)),
                    }
                }
            }
        }
        Err(fault @ ToolError::RateLimited { .. }) => {
            act::handle_failure(state, pending, tool.spec(), &fault, cx);
            Ok(GateResult::Handled)
        }
        Err(fault) => {
            narrow_audience_of_error(tool.spec(), &fault, state);
            if answer_failed_pick(&fault, state, pending) {
                return Ok(GateResult::Handled);
            }
            Ok(handle_tool_error(fault, state, pending, cx, emits))
        }
    }
}

/// Narrows the audience if a tool's error can contain account data ("there is no such label; similar: …"). Errors that
/// the gate finds before it calls the tool contain only the conversation and the people in it.
pub(super) fn narrow_audience_of_error(spec: &ToolSpec, fault: &ToolError, state: &mut AgentState) {
    if spec.provider.is_some() && fault.has_account_data() {
        state.audience = state.audience.narrow(Audience::Person(state.principal.person));
    }
}

/// Asks for another time if the picked one does not work. The person gets Nod's text: a click needs a direct answer.
pub(super) fn answer_failed_pick(fault: &ToolError, state: &mut AgentState, pending: &PendingCall) -> bool {
    let ToolError::InvalidArguments { reason } = fault else { return false };
    let picked = pending.picked_values.keys().any(|name| question::is_time_question(name));
    if picked {
        let asked = question::ask_for_alternative(reason, state.is_shared);
        state.apply_tool_output(&pending.call.id, &asked, &asked.content.to_string());
    }
    picked
}

/// Adds the assumptions to the preview, so that the person can still correct them.
fn with_assumptions(mut preview: Preview, assumed: &[String]) -> Preview {
    if !assumed.is_empty() {
        preview.fields.push((ASSUMPTIONS_FIELD.to_owned(), assumed.join(" ")));
    }
    preview
}

/// Returns the preview without text that its card does not show; the approval's row, readable by its owner, has it all.
fn without_private_text(preview: &Preview) -> Preview {
    Preview { payload: Value::Null, trailing_text: None, ..preview.clone() }
}

/// Keeps risks from the person's own mailbox or calendar private: if others read too, they are not even stored.
fn restrict_to_audience(preview: Preview, state: &mut AgentState) -> Preview {
    let own = Audience::Person(state.principal.person);
    if state.is_shared && state.audience.narrow(preview.audience) == Audience::Channel {
        return Preview { private_risks: Vec::new(), never_written_to: Vec::new(), ..preview };
    }
    if !preview.private_risks.is_empty() || !preview.never_written_to.is_empty() {
        state.audience = state.audience.narrow(own);
    }
    preview
}

/// Returns what the policy says about the call.
fn decide(
    policy: &Policy,
    spec: &ToolSpec,
    preview: &Preview,
    overwrites: bool,
    state: &AgentState,
    seen: &Provenance,
) -> Ruling {
    // For the person's own account: what only the call's preview shows did not influence the call.
    let in_view = if spec.reach == Reach::Others { &state.provenance } else { seen };
    let call = policy::PolicyInput {
        tool: spec.name,
        reach: spec.reach,
        account: &preview.account,
        recipients: &preview.recipients,
        has_untrusted_content: in_view.is_untrusted(),
        overwrites_user_draft: overwrites,
    };
    policy::decide(policy, &call)
}

fn no_co_approver_content(why: &str) -> Value {
    let detail = format!("{why} Nothing was asked or done. Tell the person that; do not try another way.");
    json!({ "status": "nobody_to_decide", "detail": detail })
}

fn forbidden_content(why: &str) -> Value {
    let detail = format!(
        "the rules here never allow this, whoever agrees: {why}; nothing was asked or done. Tell the person the \
         reason; do not try another way."
    );
    json!({ "status": "never", "detail": detail })
}

/// A person cannot approve what they cannot see.
fn too_long(long: TooLong) -> Value {
    let what = match long {
        TooLong::Body(length) => {
            format!("the body is {length} characters long, and the limit is {MAX_BODY_CHARS}")
        }
        TooLong::Fields(people) => format!("there are {people} recipients"),
    };
    let said = format!(
        "{what}: more than can be shown for approval; nothing was asked. Offer a shorter one, or several mails."
    );
    json!({ "error": said })
}

/// Emits an effect for an act that can run now, or an approval request for one that has `terms`.
fn emit_act(
    tool: &dyn ActTool,
    terms: Option<Terms>,
    pending: &PendingCall,
    preview: Preview,
    cx: &NodeContext<'_>,
    emits: &mut Vec<NodeOutput>,
) -> GateResult {
    let (call_id, tool) = (pending.call.id.clone(), tool.spec().name);
    let preview = Box::new(preview);
    if let Some(terms) = terms {
        let approval = cx.ids.next().into();
        emits.push(NodeOutput::ApprovalRequest { approval, call_id, tool, preview, terms });
        GateResult::Parked(WaitReason::Approval(approval))
    } else {
        let effect = cx.ids.next().into();
        emits.push(NodeOutput::Effect { effect, call_id, tool, preview });
        GateResult::Parked(WaitReason::Effect(effect))
    }
}

/// Waits if a person can fix the error; any other error goes back to the model.
pub(super) fn park_for_person(
    fault: &ToolError,
    call_id: &str,
    cx: &NodeContext<'_>,
    emits: &mut Vec<NodeOutput>,
) -> Option<WaitReason> {
    match fault {
        ToolError::NeedsConnect { provider, revoked, missing } => {
            emit_account_request(*provider, *revoked, missing, emits);
            Some(WaitReason::Connection(*provider))
        }
        ToolError::Ambiguous { name, choices, message: why } if !choices.is_empty() => {
            let question = cx.ids.next().into();
            emits.push(NodeOutput::Question {
                question,
                call_id: call_id.to_owned(),
                name: name.clone(),
                choices: choices.clone(),
                message: why.clone(),
                vote: None,
                words_until: None,
            });
            Some(WaitReason::Question(question))
        }
        ToolError::Ask { question: words, choices, message, until } => {
            let question = cx.ids.next().into();
            emits.push(NodeOutput::Question {
                question,
                call_id: call_id.to_owned(),
                name: words.clone(),
                choices: choices.clone(),
                message: message.clone(),
                vote: None,
                words_until: Some(*until),
            });
            Some(WaitReason::Answer(question))
        }
        ToolError::AmbiguousTime { topic: about, title, choices, voters, unreadable_calendars: unseen } => {
            let question = cx.ids.next().into();
            emits.push(NodeOutput::Question {
                question,
                call_id: call_id.to_owned(),
                name: when::quoted_phrase(about),
                choices: choices.clone(),
                message: None,
                vote: Some(VoteProposal {
                    title: title.clone(),
                    voters: voters.clone(),
                    unreadable_calendars: unseen.clone(),
                }),
                words_until: None,
            });
            Some(WaitReason::Question(question))
        }
        _ => None,
    }
}

/// Emits one connect link for all calls of a turn.
fn emit_account_request(provider: Provider, revoked: bool, missing: &[String], emits: &mut Vec<NodeOutput>) {
    let asked = emits.iter_mut().find_map(|emit| match emit {
        NodeOutput::ConnectRequest { provider: p, missing, .. } if *p == provider => Some(missing),
        _ => None,
    });
    match asked {
        Some(asked) => asked.extend_from_slice(missing),
        None => emits.push(NodeOutput::ConnectRequest { provider, revoked, missing: missing.to_vec() }),
    }
}

fn handle_tool_error(
    fault: ToolError,
    state: &mut AgentState,
    pending: &PendingCall,
    cx: &NodeContext<'_>,
    emits: &mut Vec<NodeOutput>,
) -> GateResult {
    if let ToolError::Conflict { current: now } = &fault {
        state.apply_tool_output(&pending.call.id, now, &act::content(now, &cx.scope().invocation.short()));
        return GateResult::Handled;
    }
    if let ToolError::NoSuchTime { message: why } = &fault {
        let asked = question::for_time(&format!("{why} Which time do you mean?"), state.is_shared);
        state.apply_tool_output(&pending.call.id, &asked, &asked.content.to_string());
        return GateResult::Handled;
    }
    note_admin_error(&fault, state);
    match park_for_person(&fault, &pending.call.id, cx, emits) {
        Some(parked) => GateResult::Parked(parked),
        None => GateResult::Answered(json!({ "error": fault.to_string() })),
    }
}

/// Adds a note under the answer about what an admin has to fix, whatever the model writes.
pub(super) fn note_admin_error(fault: &ToolError, state: &mut AgentState) {
    if let ToolError::NeedsAdmin { reason } = fault {
        state.add_note(&format!("{}. {}", reason.trim_end_matches('.'), think::progress_summary(state)));
    }
}

pub(super) fn park(state: &mut AgentState, call_id: &str, parked: WaitReason) {
    if let Some(pending) = state.pending_calls.iter_mut().find(|p| p.call.id == call_id) {
        pending.waiting_for = Some(parked);
    }
}
