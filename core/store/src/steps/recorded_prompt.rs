//! A prompt in the record of a model call: whole, except that what prompts have in common stands in it by digest, and what
//! is a row of the run by its number. So a record is as long in a run's hundredth step as in its tenth.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use nod_contract::model::{CompletionRequest, Turn};
use nod_contract::prompt::PromptText;

/// The turns of a run that are rows, or will be with the record.
#[derive(Debug, Default)]
pub struct StoredTurns<'a> {
    /// The number of the first of its own turns. What it recalled is under the same number.
    pub first_turn: i32,
    /// What it recalled.
    pub recalled: &'a [Turn],
    /// What it recalled, as a part of the system text.
    pub remembered: &'a str,
    /// Its own turns.
    pub own: &'a [Turn],
}

/// Turns of a recorded prompt.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum RecordedTurns<'a> {
    /// A turn that is no row.
    Whole(&'a Turn),
    /// From the first to the last of those that the run recalled, as numbers of its list.
    Recalled { recalled: (i32, usize, usize) },
    /// From the first to the last of the run's own, as numbers of their rows.
    Own { own: (i32, i32) },
    /// One of the run's own messages, and what the prompt adds to its text.
    Extended { own: (i32, i32), added: &'a str },
}

/// A prompt as it is recorded. The function `whole_prompt` of the database puts it together again. Its tier is the name of
/// the step.
#[derive(Serialize)]
pub(super) struct RecordedPrompt<'a> {
    /// The digest of the fixed part, and the own part; then the number under which the rest of it was recalled.
    system: RecordedSystem<'a>,
    turns: Vec<RecordedTurns<'a>>,
    /// The digest of the list of the definitions' digests.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Uuid>,
    /// The name, and the digest of the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_schema: Option<(&'a str, Uuid)>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum RecordedSystem<'a> {
    Whole(Uuid, &'a str),
    Recalled(Uuid, &'a str, i32),
}

impl<'a> StoredTurns<'a> {
    /// Names the turns of a prompt that are rows.
    fn record(&self, mut turns: &'a [Turn]) -> Vec<RecordedTurns<'a>> {
        let mut recorded = Vec::new();
        while let Some(first) = turns.first() {
            let found = [self.recalled, self.own].map(|rows| find_rows(rows, turns));
            let (named, count) = match found {
                [Some((at, count)), _] => {
                    (RecordedTurns::Recalled { recalled: (self.first_turn, at, at + count - 1) }, count)
                }
                [_, Some((at, count))] => {
                    (RecordedTurns::Own { own: (self.number(at), self.number(at + count - 1)) }, count)
                }
                _ => (self.find_extended(first).unwrap_or(RecordedTurns::Whole(first)), 1),
            };
            recorded.push(named);
            turns = &turns[count..];
        }
        recorded
    }

    /// Names a message to which the prompt adds something.
    fn find_extended<'t>(&self, turn: &'t Turn) -> Option<RecordedTurns<'t>> {
        let Turn::Human { text } = turn else { return None };
        self.own.iter().enumerate().find_map(|(at, row)| match row {
            Turn::Human { text: said } if !said.is_empty() => {
                let added = text.strip_prefix(said.as_str())?;
                Some(RecordedTurns::Extended { own: (self.number(at), self.number(at)), added })
            }
            _ => None,
        })
    }

    /// Returns the number of one of the run's own turns.
    pub(super) fn number(&self, at: usize) -> i32 {
        self.first_turn.saturating_add(i32::try_from(at).unwrap_or(i32::MAX))
    }
}

/// Returns where these turns begin among the rows, and how many of them follow each other there as they do here.
fn find_rows(rows: &[Turn], turns: &[Turn]) -> Option<(usize, usize)> {
    let at = rows.iter().position(|row| Some(row) == turns.first())?;
    Some((at, rows[at..].iter().zip(turns).take_while(|(row, turn)| row == turn).count()))
}

impl<'a> RecordedPrompt<'a> {
    /// Returns a prompt as it is recorded, and the texts that it names.
    pub(super) fn new(ask: &'a CompletionRequest, stored: &StoredTurns<'a>) -> (Self, Vec<Arc<PromptText>>) {
        let fixed = ask.system.fixed_part().digest();
        let mut texts = vec![Arc::clone(ask.system.fixed_part())];
        let mut name = |text: Arc<PromptText>| {
            let digest = text.digest();
            texts.push(text);
            digest
        };
        let definitions: Vec<Uuid> = ask.tools.iter().map(|tool| name(Arc::clone(tool.text()))).collect();
        let recorded = Self {
            system: match ask.system.own_part().strip_suffix(stored.remembered) {
                Some(own) if !stored.remembered.is_empty() => {
                    RecordedSystem::Recalled(fixed, own, stored.first_turn)
                }
                _ => RecordedSystem::Whole(fixed, ask.system.own_part()),
            },
            turns: stored.record(&ask.turns),
            // The same tools in another order are another list, which is short.
            tools: (!definitions.is_empty()).then(|| name(PromptText::from_json(&json!(definitions)))),
            response_schema: ask
                .response_schema
                .as_ref()
                .map(|(answer, schema)| (answer.as_str(), name(PromptText::from_json(schema)))),
        };
        (recorded, texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn human(text: &str) -> Turn {
        Turn::Human { text: text.to_owned() }
    }

    #[test]
    fn turns_that_are_rows_are_named() {
        let (recalled, own) = (["a", "b", "c"].map(human), ["d", "e", "f"].map(human));
        let stored = StoredTurns { first_turn: 4, recalled: &recalled, own: &own, ..StoredTurns::default() };
        let record = |turns: &[&str]| {
            let turns: Vec<Turn> = turns.iter().map(|text| human(text)).collect();
            serde_json::to_string(&stored.record(&turns)).unwrap()
        };
        assert_eq!(record(&["a", "b", "c", "d", "e", "f"]), r#"[{"recalled":[4,0,2]},{"own":[4,6]}]"#);
        assert_eq!(
            record(&["b", "c", "d, with a hint", "e", "new"]),
            r#"[{"recalled":[4,1,2]},{"own":[4,4],"added":", with a hint"},{"own":[5,5]},{"role":"human","text":"new"}]"#
        );
        assert_eq!(record(&[]), "[]");
    }
}
