//! What an endpoint turned out not to take. "OpenAI-compatible" means something else everywhere; each
//! argument that is refused by name is left out from then on.

/// How structured output is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Structure {
    /// The schema itself, enforced.
    #[default]
    Schema,
    /// Some JSON object; the schema stands in the prompt.
    Object,
    /// Only the prompt says so.
    Prompt,
}

/// What one endpoint takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Dialect {
    pub structure: Structure,
    /// `max_completion_tokens` instead of `max_tokens`.
    pub completion_tokens: bool,
    pub no_temperature: bool,
    pub no_stream_options: bool,
}

impl Dialect {
    /// A simpler one, where the refusal names an argument that can be said otherwise or left out.
    pub(super) fn without(self, status: u16, reason: &str) -> Option<Self> {
        if !matches!(status, 400 | 422) {
            return None;
        }
        let reason = reason.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| reason.contains(word));
        let mut simpler = self;
        if names(&["response_format", "json_schema", "json_object", "response format"]) {
            simpler.structure = match self.structure {
                Structure::Schema => Structure::Object,
                Structure::Object | Structure::Prompt => Structure::Prompt,
            };
        }
        if names(&["max_completion_tokens"]) || (names(&["max_tokens"]) && names(&["unsupported"])) {
            simpler.completion_tokens = true;
        }
        simpler.no_temperature |= names(&["temperature"]);
        simpler.no_stream_options |= names(&["stream_options"]);
        (simpler != self).then_some(simpler)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn structure_is_given_up_step_by_step() {
        let first = Dialect::default().without(400, "response_format: json_schema is not supported").unwrap();
        assert_eq!(first.structure, Structure::Object);
        let second = first.without(400, "'response_format.type' must be 'text'").unwrap();
        assert_eq!(second.structure, Structure::Prompt);
        assert_eq!(second.without(400, "response_format?"), None);
    }

    #[test]
    fn only_a_refusal_that_names_an_argument_teaches() {
        let d = Dialect::default();
        assert_eq!(d.without(400, "prompt too long"), None);
        assert_eq!(d.without(401, "response_format"), None);
        assert!(
            d.without(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'")
                .unwrap()
                .completion_tokens
        );
        assert!(d.without(400, "Unsupported value: 'temperature'").unwrap().no_temperature);
        assert!(d.without(422, "stream_options: extra inputs").unwrap().no_stream_options);
    }
}
