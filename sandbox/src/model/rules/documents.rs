//! Questions about documents: answered with the one sentence that has the most of the question's words, and its proof.

use std::collections::HashSet;

use serde_json::Value;

pub(super) const SEARCH: &str = "retrieve_knowledge_base";

/// Words of a question that documents answer.
const ABOUT_DOCUMENTS: [&str; 16] = [
    "document",
    "documents",
    "handbook",
    "policy",
    "policies",
    "rule",
    "rules",
    "guide",
    "manual",
    "contract",
    "offer",
    "leave",
    "holiday",
    "expenses",
    "travel",
    "onboarding",
];
const ASKING: [&str; 12] =
    ["how", "what", "when", "where", "who", "which", "why", "may", "can", "do", "does", "is"];
/// The most words of a sentence that are copied as its proof.
const QUOTED: usize = 10;

/// Returns whether a sentence asks something that documents might answer.
pub(super) fn is_question(text: &str) -> bool {
    let words = split_words(text);
    let asks =
        text.trim_end().ends_with('?') || words.first().is_some_and(|word| ASKING.contains(&word.as_str()));
    asks && words.iter().any(|word| ABOUT_DOCUMENTS.contains(&word.as_str()))
}

/// Answers with a sentence of the passages, and cites it.
pub(super) fn describe_result(result: &Value) -> String {
    if result["documents"] == 0 {
        return "I know no documents here. Drop a file and say “keep this” with it.".to_owned();
    }
    let wanted: HashSet<String> = split_words(result["searched"].as_str().unwrap_or_default())
        .into_iter()
        .filter(|word| word.len() > 3)
        .collect();
    let passages = result["passages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sentences = passages.iter().flat_map(|passage| {
        let text = passage["text"].as_str().unwrap_or_default();
        text.split_inclusive(['.', '!', '?', '\n']).map(move |sentence| (passage, sentence.trim()))
    });
    let shared = |sentence: &str| split_words(sentence).iter().filter(|word| wanted.contains(*word)).count();
    let fitting: Vec<_> = sentences.filter(|(_, sentence)| shared(sentence) > 0).collect();
    // Of equal sentences the first, whose passage fits better.
    let best = fitting.into_iter().rev().max_by_key(|(_, sentence)| shared(sentence));
    let Some((passage, sentence)) = best else { return "The documents do not say.".to_owned() };
    let quote: Vec<&str> = sentence.split_whitespace().take(QUOTED).collect();
    let handle = passage["handle"].as_str().unwrap_or_default();
    format!("{sentence} [{handle} \"{}\"]", quote.join(" "))
}

fn split_words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_questions_about_documents_are_looked_up() {
        for text in [
            "How much leave do I have?",
            "what does the handbook say about lunch",
            "Is there a travel policy?",
        ] {
            assert!(is_question(text), "{text}");
        }
        for text in ["I leave at five", "how are you?", "thanks for the offer"] {
            assert!(!is_question(text), "{text}");
        }
    }

    #[test]
    fn the_fitting_sentence_is_cited() {
        let passages =
            json!([{"handle": "p3f2a91", "text": "We work. Everybody has 25 days of annual leave a year."}]);
        let result = json!({"searched": "how much annual leave", "documents": 1, "passages": passages});
        let expected = "Everybody has 25 days of annual leave a year. [p3f2a91 \"Everybody has 25 days of annual leave a \
                        year.\"]";
        assert_eq!(describe_result(&result), expected);
        let nothing = json!({"searched": "parking", "documents": 1, "passages": passages});
        assert_eq!(describe_result(&nothing), "The documents do not say.");
    }
}
