//! The differences between endpoints. "OpenAI-compatible" means something else everywhere: known differences are in a
//! provider's preset, and an argument that an endpoint rejects by name is left out from then on.

use serde::Deserialize;

/// How structured output is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructuredOutput {
    /// With the schema itself, enforced.
    #[default]
    Schema,
    /// As any JSON object; the schema is in the prompt.
    Object,
    /// Only in the prompt.
    Prompt,
}

/// What one endpoint accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)]
pub struct Dialect {
    /// How structured output is requested.
    pub structure: StructuredOutput,
    /// `max_completion_tokens` instead of `max_tokens`.
    pub completion_tokens: bool,
    /// No `temperature`.
    pub no_temperature: bool,
    /// No `stream_options`, and so perhaps no token counts.
    pub no_stream_options: bool,
    /// Only the first message can be a system message: others are moved or rejected, so they are sent as user messages.
    pub lone_system: bool,
    /// Only basic JSON Schema: no `additionalProperties`, one type for each value.
    #[serde(rename = "plain_schemas")]
    pub basic_schemas: bool,
    /// Reasoning is in the text, before a `</think>` without an opening tag.
    #[serde(rename = "thinks_aloud")]
    pub leading_reasoning: bool,
    /// Calls in the history need a signature of their reasoning (Gemini 3).
    #[serde(rename = "signed_calls")]
    pub thought_signatures: bool,
}

impl Dialect {
    /// Returns a simpler dialect, if the rejection names an argument that can be replaced or left out.
    pub(super) fn without_argument(self, status: u16, reason: &str) -> Option<Self> {
        if !matches!(status, 400 | 422) {
            return None;
        }
        let reason = reason.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| reason.contains(word));
        let mut simpler = self;
        if names(&["response_format", "json_schema", "json_object", "response format", "response_schema"]) {
            simpler.structure = match self.structure {
                StructuredOutput::Schema => StructuredOutput::Object,
                StructuredOutput::Object | StructuredOutput::Prompt => StructuredOutput::Prompt,
            };
        }
        if names(&["max_completion_tokens"]) || (names(&["max_tokens"]) && names(&["unsupported"])) {
            simpler.completion_tokens = true;
        }
        simpler.no_temperature |= names(&["temperature"]);
        simpler.no_stream_options |= names(&["stream_options"]);
        simpler.lone_system |= names(&[
            "system message must be",
            "roles must alternate",
            "system role",
            "only one system message",
        ]);
        simpler.basic_schemas |= names(&["additionalproperties", "additional_properties"]);
        simpler.thought_signatures |= names(&["thought_signature", "thought signature"]);
        (simpler != self).then_some(simpler)
    }
}

/// Returns whether a rejection says that the model cannot call tools. Each provider words it differently.
pub(super) fn has_no_tools(status: u16, reason: &str) -> bool {
    const WORDS: [&str; 11] = [
        "does not support tool",
        "do not support tool",
        "support tool use",
        "tool calling` is not supported",
        "tool calling is not supported",
        "tools is not supported",
        "tools are not supported",
        "tool choice requires",
        "function calling is not enabled",
        "function calling is not supported",
        "does not support function",
    ];
    let reason = reason.to_lowercase();
    matches!(status, 400 | 404 | 422 | 501) && WORDS.iter().any(|words| reason.contains(words))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn structured_output_degrades_step_by_step() {
        let first = Dialect::default()
            .without_argument(400, "response_format: json_schema is not supported")
            .unwrap();
        assert_eq!(first.structure, StructuredOutput::Object);
        let second = first.without_argument(400, "'response_format.type' must be 'text'").unwrap();
        assert_eq!(second.structure, StructuredOutput::Prompt);
        assert_eq!(second.without_argument(400, "response_format?"), None);
    }

    #[test]
    fn unsupported_tools_are_recognised_by_provider_message() {
        for (status, reason) in [
            (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
            (404, "No endpoints found that support tool use. To learn more about provider routing, visit: …"),
            (400, "`tool calling` is not supported with this model"),
            (400, "Function calling is not enabled for models/gemma-3-1b-it"),
            (400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
            (400, "tools is not supported in this model. For a list of supported models, refer to …"),
        ] {
            assert!(has_no_tools(status, reason), "{reason}");
        }
        assert!(!has_no_tools(400, "tools.0.name: invalid"));
        assert!(!has_no_tools(500, "does not support tools"));
    }

    #[test]
    fn only_a_rejection_naming_an_argument_changes_the_dialect() {
        let d = Dialect::default();
        assert_eq!(d.without_argument(400, "prompt too long"), None);
        assert_eq!(d.without_argument(401, "response_format"), None);
        assert!(
            d.without_argument(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'")
                .unwrap()
                .completion_tokens
        );
        assert!(d.without_argument(400, "Unsupported value: 'temperature'").unwrap().no_temperature);
        assert!(d.without_argument(422, "stream_options: extra inputs").unwrap().no_stream_options);
        assert!(d.without_argument(400, "System message must be at the beginning.").unwrap().lone_system);
        assert!(d.without_argument(400, "Unknown name \"additionalProperties\"").unwrap().basic_schemas);
        assert!(
            d.without_argument(400, "Function call is missing a thought_signature")
                .unwrap()
                .thought_signatures
        );
    }
}
