//! The tools of an installation. What every call needs of a tool's schema (the text that a model reads, and the check of
//! the arguments that it writes) is made once here, because making it takes longer than using it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{Reach, Tool, ToolError};
use crate::model::{MORE_ARGUMENT, ToolDefinition};

/// The longest reason why an argument is invalid, in bytes.
const MAX_REASON_BYTES: usize = 300;
/// So many reasons are enough for a model to write better arguments.
const MAX_REASONS: usize = 5;

/// The tools of this installation, by name, in a stable order (so that model prompts keep their prefix).
#[derive(Debug, Clone, Default)]
pub struct Tools(BTreeMap<&'static str, RegisteredTool>);

/// A tool, with what was made of its description.
#[derive(Debug, Clone)]
pub struct RegisteredTool {
    tool: Tool,
    definition: Arc<ToolDefinition>,
    parameters: Arc<Validator>,
}

/// A tool's parameters are no JSON Schema: whoever wrote the tool must mend it.
#[derive(Debug, thiserror::Error)]
#[error("the schema of the tool {tool} is invalid: {reason}")]
pub struct InvalidSchema {
    tool: &'static str,
    reason: String,
}

impl Tools {
    /// Creates the registry from a list; of two with the same name, the later one is kept.
    ///
    /// # Errors
    /// If the parameters of a tool are no JSON Schema.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, InvalidSchema> {
        let registered = |tool: Tool| Ok((tool.spec().name, RegisteredTool::new(tool)?));
        Ok(Self(tools.into_iter().map(registered).collect::<Result<_, _>>()?))
    }

    /// Returns the tool with that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.registered(name).map(RegisteredTool::tool)
    }

    /// Returns the tool with that name, for a call of it.
    #[must_use]
    pub fn registered(&self, name: &str) -> Option<&RegisteredTool> {
        self.0.get(name)
    }

    /// Iterates over all tools.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.0.values().map(RegisteredTool::tool)
    }

    /// Iterates over all tools and their definitions for a model.
    pub fn definitions(&self) -> impl Iterator<Item = (&Tool, &Arc<ToolDefinition>)> {
        self.0.values().map(|registered| (&registered.tool, &registered.definition))
    }
}

impl RegisteredTool {
    fn new(tool: Tool) -> Result<Self, InvalidSchema> {
        let spec = tool.spec();
        let mut schema = spec.parameters.clone();
        if spec.reach == Reach::Others {
            if !schema["properties"][MORE_ARGUMENT].is_null() {
                let reason =
                    format!("every tool that reaches others has an argument “{MORE_ARGUMENT}” already");
                return Err(InvalidSchema { tool: spec.name, reason });
            }
            schema["properties"][MORE_ARGUMENT] = json!({
                "type": "boolean",
                "description": "false if the request is done with this, and its receipt is answer enough",
            });
        }
        let parameters = jsonschema::validator_for(&schema)
            .map_err(|error| InvalidSchema { tool: spec.name, reason: error.to_string() })?;
        let definition = ToolDefinition::new(spec.name, spec.description.trim(), &schema);
        Ok(Self { tool, definition: Arc::new(definition), parameters: Arc::new(parameters) })
    }

    /// Returns the tool.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.tool
    }

    /// Parses a model's raw text into arguments that satisfy the tool's schema. What is said about the turn is not for
    /// the tool (see [`crate::model::ToolCall::is_last`]).
    ///
    /// # Errors
    /// If the text is no JSON or does not satisfy the schema; the model reads why.
    pub fn parse_arguments(&self, raw: &str) -> Result<Value, ToolError> {
        let raw = if raw.trim().is_empty() { "{}" } else { raw };
        let mut args: Value = serde_json::from_str(raw)
            .map_err(|error| ToolError::invalid(format!("the arguments are no JSON: {error}")))?;
        let wrong: Vec<String> = self
            .parameters
            .iter_errors(&args)
            .take(MAX_REASONS)
            .map(|e| {
                let at = e.instance_path().to_string();
                // If a value is long, the model needs no copy of it.
                let why = Some(e.to_string()).filter(|why| why.len() <= MAX_REASON_BYTES);
                let why = why.unwrap_or_else(|| e.masked().to_string());
                if at.is_empty() { why } else { format!("{at}: {why}") }
            })
            .collect();
        if !wrong.is_empty() {
            return Err(ToolError::invalid(wrong.join("; ")));
        }
        if self.tool.spec().reach == Reach::Others
            && let Some(args) = args.as_object_mut()
        {
            args.remove(MORE_ARGUMENT);
        }
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::{Reach, ReadTool, ToolContext, ToolOutput, ToolResult, ToolSpec};

    struct Roll(ToolSpec);

    #[async_trait::async_trait]
    impl ReadTool for Roll {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        async fn call(&self, _: &ToolContext, args: &Value) -> ToolResult {
            Ok(ToolOutput::trusted(args.clone()))
        }
    }

    fn roll(parameters: Value) -> Tool {
        roll_with(Reach::Reads, parameters)
    }

    fn roll_with(reach: Reach, parameters: Value) -> Tool {
        Tool::Read(Arc::new(Roll(ToolSpec {
            name: "roll",
            description: "Rolls a die.",
            parameters,
            reach,
            provider: None,
            status_text: "Rolling",
        })))
    }

    #[test]
    fn a_tool_whose_schema_is_invalid_is_not_registered() {
        let error = Tools::new([roll(json!({ "type": "dice" }))]).unwrap_err().to_string();
        assert!(error.starts_with("the schema of the tool roll is invalid: "), "{error}");
    }

    #[test]
    fn what_is_said_about_the_turn_is_not_for_the_tool() {
        let parameters =
            |name: &str| json!({ "type": "object", "properties": { name: { "type": "boolean" } } });
        let tools = Tools::new([roll_with(Reach::Others, parameters("fair"))]).unwrap();
        let parse = |raw: &str| tools.registered("roll").unwrap().parse_arguments(raw);
        assert_eq!(parse(r#"{ "fair": true, "more": false }"#), Ok(json!({ "fair": true })));
        assert!(parse(r#"{ "more": "no" }"#).is_err());
        let error = Tools::new([roll_with(Reach::Others, parameters("more"))]).unwrap_err().to_string();
        assert!(error.contains("an argument “more” already"), "{error}");
        assert!(Tools::new([roll_with(Reach::Reads, parameters("more"))]).is_ok());
    }

    #[test]
    fn arguments_that_do_not_fit_are_named() {
        let sides = json!({ "type": "integer", "maximum": 20 });
        let schema = json!({ "type": "object", "properties": { "sides": sides }, "required": ["sides"] });
        let tools = Tools::new([roll(schema)]).unwrap();
        let parse = |raw: &str| tools.registered("roll").unwrap().parse_arguments(raw);
        assert_eq!(parse(r#"{ "sides": 6 }"#), Ok(json!({ "sides": 6 })));
        for (raw, why) in [
            ("", r#""sides" is a required property"#),
            (r#"{ "sides": 21 }"#, "/sides: 21 is greater than the maximum of 20"),
        ] {
            assert_eq!(parse(raw), Err(ToolError::invalid(why)), "{raw}");
        }
        let long = parse(&json!({ "sides": "six".repeat(200) }).to_string()).unwrap_err().to_string();
        assert_eq!(long, r#"/sides: value is not of type "integer""#);
    }
}
