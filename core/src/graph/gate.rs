//! Gate: for each call of the model's turn: does the tool exist, are the arguments valid, whom do the names
//! mean, may it run? Reading calls go on to Act; what reaches others becomes a request for a nod.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Emit, Next, Node, NodeContext, NodeError, Step, StepRecord, act, drafts};
use crate::approval::{TooLong, askable};
use crate::gate::{Gate, decide};
use crate::policy::{self, Ruling, Terms};
use crate::run::{AgentState, Parked, PendingCall};
use crate::tool::{ActTool, Fault, LONGEST_BODY, Preview, Tool, ToolSpec};

pub(super) async fn step(mut state: AgentState, cx: &NodeContext<'_>) -> Result<Step, NodeError> {
    let mut emits = Vec::new();
    let open: Vec<PendingCall> = state.pending.iter().filter(|p| p.parked.is_none()).cloned().collect();
    let mut reads = false;
    for pending in open {
        match examine(&mut state, &pending, cx, &mut emits).await? {
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
    /// A reading call that may run now.
    Reads,
    /// It waits.
    Parked(Parked),
    /// It will not run; the state knows why.
    Taken,
    /// It will not run, and this is what the model hears.
    Answered(Value),
}

async fn examine(
    state: &mut AgentState,
    pending: &PendingCall,
    cx: &NodeContext<'_>,
    emits: &mut Vec<Emit>,
) -> Result<Examined, NodeError> {
    let Some(tool) = cx.tools.get(&pending.call.name) else {
        let known: Vec<&str> = cx.tools.iter().map(|t| t.spec().name).collect();
        let said = format!("there is no tool “{}”; there are: {}", pending.call.name, known.join(", "));
        return Ok(Examined::Answered(json!({ "error": said })));
    };
    let args = match arguments(tool.spec(), &pending.call.arguments) {
        Ok(args) => args,
        Err(fault) => return Ok(Examined::Answered(json!({ "error": fault.to_string() }))),
    };
    let verdict = decide(tool.spec(), cx.member, &state.provenance);
    if let Gate::Refuse(why) = verdict {
        return Ok(Examined::Answered(json!({ "error": why })));
    }
    let Tool::Act(tool) = tool else { return Ok(Examined::Reads) };
    let named = recipients(tool.spec(), args, &pending.picked, state, cx).await?;
    let named = named.and_then(|args| drafts::resolved(tool.spec(), args, &pending.picked, state));
    let named = match named {
        Ok(args) => args,
        Err(fault) => return Ok(faulted(fault, state, pending, cx, emits)),
    };
    let with = cx.tool_context(state);
    let previewed = act::limited(&with, tool.preview(&with, &named)).await;
    let previewed = previewed.map(|preview| Preview { room: cx.room, ..preview });
    let name = format!("{}.preview", tool.spec().name);
    let mut record = StepRecord::new("tool", &name, with.scope.invocation, with.now, cx.clock.now());
    record.error = previewed.as_ref().err().map(Fault::to_string);
    record.output = previewed.as_ref().ok().and_then(|preview| serde_json::to_value(preview).ok());
    record.input = Some(named);
    cx.records.push(record);
    if let Ok(preview) = &previewed {
        state.audience = state.audience.narrow(preview.audience);
        state.provenance = state.provenance.clone().with(preview.provenance.clone());
    }
    match previewed {
        Ok(preview) => match (ruled(tool.spec(), &preview, state, cx), askable(&preview)) {
            (Ruling::Never(why), _) => Ok(Examined::Answered(never(&why))),
            (_, Err(long)) if matches!(verdict, Gate::Ask(_)) => Ok(Examined::Answered(too_long(long))),
            (Ruling::Ask(terms), _) => {
                let terms = matches!(verdict, Gate::Ask(_)).then_some(terms);
                Ok(wanted(tool.as_ref(), terms, pending, preview, cx, emits))
            }
        },
        Err(fault) => Ok(faulted(fault, state, pending, cx, emits)),
    }
}

/// What the rules of this installation say of the call.
fn ruled(spec: &ToolSpec, preview: &Preview, state: &AgentState, cx: &NodeContext<'_>) -> Ruling {
    let call = policy::Call {
        tool: spec.name,
        account: &preview.account,
        recipients: &preview.recipients,
        outside_text: state.provenance.is_outside(),
    };
    policy::decide(cx.policy, &call)
}

fn never(why: &str) -> Value {
    let detail = format!(
        "the rules here never allow this, whoever agrees: {why}; nothing was asked or done. Tell the person the \
         reason; do not try another way."
    );
    json!({ "status": "never", "detail": detail })
}

/// Nobody approves what they cannot see.
fn too_long(long: TooLong) -> Value {
    let what = match long {
        TooLong::Body(length) => format!("the body has {length} characters, more than {LONGEST_BODY}"),
        TooLong::Fields(people) => format!("there are {people} recipients"),
    };
    let said = format!(
        "{what}: more than can be shown for approval; nothing was asked. Offer a shorter one, or several mails."
    );
    json!({ "error": said })
}

/// An act that may run becomes an effect; one that must ask becomes an approval.
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

/// What a person can mend waits for them; everything else goes back to the model.
pub(super) fn wait_for_person(
    fault: &Fault,
    call_id: &str,
    cx: &NodeContext<'_>,
    emits: &mut Vec<Emit>,
) -> Option<Parked> {
    match fault {
        Fault::NeedsConnect { provider, revoked } => {
            let twice = emits.iter().any(|e| matches!(e, Emit::Connect { provider: p, .. } if p == provider));
            if !twice {
                emits.push(Emit::Connect { provider: *provider, revoked: *revoked });
            }
            Some(Parked::Connection(*provider))
        }
        Fault::Ambiguous { name, choices } if !choices.is_empty() => {
            let question = cx.ids.next().into();
            emits.push(Emit::Question {
                question,
                call_id: call_id.to_owned(),
                name: name.clone(),
                choices: choices.clone(),
            });
            Some(Parked::Question(question))
        }
        _ => None,
    }
}

fn faulted(
    fault: Fault,
    state: &mut AgentState,
    pending: &PendingCall,
    cx: &NodeContext<'_>,
    emits: &mut Vec<Emit>,
) -> Examined {
    if let Fault::Outdated { now } = &fault {
        state.take(&pending.call.id, now, &act::content(now, &cx.scope().invocation.short()));
        return Examined::Taken;
    }
    match wait_for_person(&fault, &pending.call.id, cx, emits) {
        Some(parked) => Examined::Parked(parked),
        None => Examined::Answered(json!({ "error": fault.to_string() })),
    }
}

pub(super) fn park(state: &mut AgentState, call_id: &str, parked: Parked) {
    if let Some(pending) = state.pending.iter_mut().find(|p| p.call.id == call_id) {
        pending.parked = Some(parked);
    }
}

/// The model's raw text as arguments that satisfy the tool's schema.
pub(super) fn arguments(spec: &ToolSpec, raw: &str) -> Result<Value, Fault> {
    let raw = if raw.trim().is_empty() { "{}" } else { raw };
    let args: Value = serde_json::from_str(raw)
        .map_err(|error| Fault::invalid(format!("the arguments are no JSON: {error}")))?;
    let validator = jsonschema::validator_for(&spec.parameters)
        .map_err(|error| Fault::broken(format!("the schema of {} does not compile: {error}", spec.name)))?;
    let wrong: Vec<String> = validator
        .iter_errors(&args)
        .take(5)
        .map(|e| {
            let at = e.instance_path().to_string();
            if at.is_empty() { e.to_string() } else { format!("{at}: {e}") }
        })
        .collect();
    if wrong.is_empty() { Ok(args) } else { Err(Fault::invalid(wrong.join("; "))) }
}

/// Turns the names in every field of format `recipient` into addresses.
async fn recipients(
    spec: &ToolSpec,
    mut args: Value,
    picked: &BTreeMap<String, String>,
    state: &AgentState,
    cx: &NodeContext<'_>,
) -> Result<Result<Value, Fault>, NodeError> {
    let Some(properties) = spec.parameters["properties"].as_object() else { return Ok(Ok(args)) };
    for (field, schema) in properties {
        let takes = |schema: &Value| schema["format"] == "recipient";
        if !takes(schema) && !takes(&schema["items"]) {
            continue;
        }
        let Some(value) = args.get_mut(field) else { continue };
        let slots: Vec<&mut Value> = match value {
            Value::Array(all) => all.iter_mut().collect(),
            one => vec![one],
        };
        for slot in slots {
            let Some(written) = slot.as_str().map(str::to_owned) else { continue };
            match address(&written, picked, state, cx).await? {
                Ok(address) => *slot = Value::String(address),
                Err(fault) => return Ok(Err(fault)),
            }
        }
    }
    Ok(Ok(args))
}

async fn address(
    written: &str,
    picked: &BTreeMap<String, String>,
    state: &AgentState,
    cx: &NodeContext<'_>,
) -> Result<Result<String, Fault>, NodeError> {
    let name = written.trim().trim_start_matches('@').trim();
    if let Some(address) = picked.get(name) {
        return Ok(Ok(address.clone()));
    }
    Ok(cx.directory.address(written, &state.principal).await?)
}
