//! An output in the record of a step. What a model said and what a tool returned become turns of the run, which are rows;
//! such an output is named by its turn's number, and the function `whole_output` of the database reads it there. What
//! differs from its turn in a character, as a result that was too long for the model does, is recorded whole.

use serde::Serialize;
use serde_json::value::RawValue;

use nod_contract::model::{Completion, ToolCall, Turn};

use super::StoredTurns;

/// What a call gave.
#[derive(Debug, Clone)]
pub(super) enum Output {
    /// The answer of a model.
    Answer(Completion),
    /// The result of a tool, as JSON.
    Result(Box<RawValue>),
}

/// The answer of a model as it is recorded. Its usage is the record's own.
#[derive(Serialize)]
pub(super) struct RecordedAnswer<'a> {
    /// The number of the turn with its text and its calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    calls: &'a [ToolCall],
    model: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    truncated: bool,
    #[serde(skip_serializing_if = "is_false")]
    from_fallback: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl StoredTurns<'_> {
    /// Names the turn of an answer, if there is one.
    pub(super) fn record_answer<'a>(&self, answer: &'a Completion) -> RecordedAnswer<'a> {
        let says_the_same = |turn: &Turn| matches!(turn, Turn::Ai { text, calls } if *text == answer.text && *calls == answer.calls);
        let turn = self.own.iter().rposition(says_the_same).map(|at| self.number(at));
        let is_whole = turn.is_none();
        RecordedAnswer {
            turn,
            text: is_whole.then_some(answer.text.as_str()),
            calls: if is_whole { &answer.calls } else { &[] },
            model: &answer.model,
            truncated: answer.truncated,
            from_fallback: answer.from_fallback,
        }
    }

    /// Returns the number of the turn in which a tool's result stands, and its first character there and its length, as
    /// Postgres counts them: markers can stand around it.
    pub(super) fn find_result(&self, tool: &str, result: &str) -> Option<(i32, usize, usize)> {
        // Postgres does not read this in JSON; where it is stored, it is replaced.
        if result.contains("\\u0000") {
            return None;
        }
        self.own.iter().enumerate().rev().find_map(|(at, turn)| match turn {
            Turn::Tool { name, content, .. } if name == tool => {
                let (before, _) = content.split_once(result)?;
                Some((self.number(at), before.chars().count() + 1, result.chars().count()))
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turns() -> [Turn; 3] {
        let call = ToolCall { id: "c1".to_owned(), name: "look".to_owned(), arguments: "{}".to_owned() };
        [
            Turn::Human { text: "look".to_owned() },
            Turn::Ai { text: String::new(), calls: vec![call] },
            Turn::Tool {
                call_id: "c1".to_owned(),
                name: "look".to_owned(),
                content: "outside 1 begins (Zoë)\n{\"seen\":\"é\"}\noutside 1 ends".to_owned(),
            },
        ]
    }

    #[test]
    fn an_answer_is_named_by_its_turn_if_it_says_the_same() {
        let own = turns();
        let stored = StoredTurns { first_turn: 4, own: &own, ..StoredTurns::default() };
        let Turn::Ai { calls, .. } = &own[1] else { unreachable!() };
        let mut answer = Completion {
            text: String::new(),
            calls: calls.clone(),
            usage: None,
            model: "m".to_owned(),
            truncated: false,
            from_fallback: true,
        };
        let record = |answer: &Completion| serde_json::to_value(stored.record_answer(answer)).unwrap();
        assert_eq!(record(&answer), json!({ "turn": 5, "model": "m", "from_fallback": true }));
        answer.text.push('x');
        let whole = json!({ "text": "x", "calls": calls, "model": "m", "from_fallback": true });
        assert_eq!(record(&answer), whole);
    }

    #[test]
    fn a_result_is_found_between_markers() {
        let own = turns();
        let stored = StoredTurns { first_turn: 4, own: &own, ..StoredTurns::default() };
        assert_eq!(stored.find_result("look", r#"{"seen":"é"}"#), Some((6, 24, 12)));
        assert_eq!(stored.find_result("look", r#"{"seen":"e"}"#), None);
        assert_eq!(stored.find_result("search", r#"{"seen":"é"}"#), None);
        assert_eq!(stored.find_result("look", r#"{"seen":"\u0000"}"#), None);
    }
}
