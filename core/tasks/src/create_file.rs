//! The tool by which a step makes a file for its person.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use nod_contract::tool::{
    FollowUp, Reach, ReadTool, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec,
};

const MAX_NAME_CHARS: usize = 80;
const MAX_CONTENT_CHARS: usize = 200_000;

#[derive(Deserialize)]
struct NewFile {
    name: String,
    kind: Kind,
    content: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Markdown,
    Text,
    Csv,
    Json,
    Html,
}

impl Kind {
    fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Text => "txt",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Html => "html",
        }
    }
}

/// Returns the tool `create_file`.
pub(crate) fn tool() -> Tool {
    Tool::Read(Arc::new(CreateFile(ToolSpec {
        name: "create_file",
        description: "Makes a file and gives it to the person in the chat, where they read it at once. Use it for what they want to \
            keep or open elsewhere, such as a table or a longer text; not for what the result says anyway.",
        parameters: json!({
            "type": "object",
            "properties": {
                "name": {
                    "type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS,
                    "description": "What it is called, without an extension",
                },
                "kind": { "type": "string", "enum": ["markdown", "text", "csv", "json", "html"] },
                "content": { "type": "string", "minLength": 1, "maxLength": MAX_CONTENT_CHARS },
            },
            "required": ["name", "kind", "content"],
            "additionalProperties": false,
        }),
        reach: Reach::Reads,
        provider: None,
        status_text: "Writing a file",
    })))
}

struct CreateFile(ToolSpec);

#[async_trait]
impl ReadTool for CreateFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: &ToolContext, args: &Value) -> ToolResult {
        let NewFile { name, kind, content } =
            NewFile::deserialize(args).map_err(|error| ToolError::invalid(error.to_string()))?;
        if content.trim().is_empty() {
            return Err(ToolError::invalid("the file is empty"));
        }
        if content.chars().count() > MAX_CONTENT_CHARS {
            return Err(ToolError::invalid(format!("a file has at most {MAX_CONTENT_CHARS} characters")));
        }
        if matches!(kind, Kind::Json) {
            serde_json::from_str::<Value>(&content)
                .map_err(|error| ToolError::invalid(format!("the content is not JSON: {error}")))?;
        }
        let extension = kind.extension();
        let stem = stem(&name, extension);
        let told = json!({ "status": "given to the person", "name": format!("{stem}.{extension}") });
        let file =
            FollowUp::File { stem, extension: extension.to_owned(), text: content.replace('\0', "\u{FFFD}") };
        Ok(ToolOutput::trusted(told).with_follow_up(file))
    }
}

/// Returns a name that every system takes as the name of a file: letters, digits and single dashes.
fn stem(name: &str, extension: &str) -> String {
    let last = name.rsplit(['/', '\\']).find(|part| !part.trim().is_empty()).unwrap_or_default();
    let own = format!(".{extension}");
    let end = last.len().checked_sub(own.len()).filter(|at| last.is_char_boundary(*at));
    let last = end.filter(|at| last[*at..].eq_ignore_ascii_case(&own)).map_or(last, |at| &last[..at]);
    let words: Vec<&str> =
        last.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let stem: String = words.join("-").chars().take(MAX_NAME_CHARS).collect();
    if stem.is_empty() { "file".to_owned() } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_one_that_every_system_takes() {
        for (name, expected) in [
            ("comparison", "comparison"),
            ("Comparison of 3 caterers.md", "Comparison-of-3-caterers"),
            ("../../etc/passwd", "passwd"),
            ("C:\\temp\\plan.MD", "plan"),
            ("a/", "a"),
            ("Größe: 5 €", "Größe-5"),
            ("İ.md", "İ"),
            (" / ", "file"),
            ("\u{202e}dm.exe", "dm-exe"),
        ] {
            assert_eq!(stem(name, "md"), expected, "{name}");
        }
        assert_eq!(stem(&"é".repeat(200), "md").chars().count(), MAX_NAME_CHARS);
    }
}
