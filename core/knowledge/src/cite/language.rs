//! The language of a text, and the stems of its words.

use std::collections::HashSet;

use rust_stemmers::{Algorithm, Stemmer};

use crate::analysis::STOP_WORDS;

/// The fewest stop words that tell a language.
const MIN_STOP_WORDS: usize = 2;

/// The languages that are told apart, by words that say nothing else.
pub(super) const LANGUAGES: [Language; 7] = [
    Language { algorithm: Algorithm::English, stop_words: STOP_WORDS },
    Language {
        algorithm: Algorithm::German,
        stop_words: "aber alle als am an auch auf aus bei bis das dass dem den der des die du ein eine einem einen einer \
            er es für haben hat ich ihr im in ist jede jeder jedes kann kein keine können man mit nach nicht noch nur oder \
            pro sein sich sie sind so und uns vom von vor war was wenn wer werden wie wir wird zu zum zur über",
    },
    Language {
        algorithm: Algorithm::French,
        stop_words: "au aux avec ce ces cette dans de des du elle elles en est et il ils je la le les leur mais ne nous on \
            ont ou par pas pour que qui sa se ses son sont sur tous tout un une vous à être",
    },
    Language {
        algorithm: Algorithm::Spanish,
        stop_words: "al como con de del el ella en es esta este está hay la las lo los más muy no nos o para pero por que \
            se sin son su sus tiene tienen todo todos un una usted y ya",
    },
    Language {
        algorithm: Algorithm::Italian,
        stop_words: "al alla anche che chi come con da dei del della delle di e gli ha hanno i il in la le lo ma nel nella \
            non o per più questo si sono su tutti un una è",
    },
    Language {
        algorithm: Algorithm::Dutch,
        stop_words: "aan als bij dan dat de die dit door een en er geen haar heb hebben heeft het hij in is je kan maar met \
            naar niet of om ook op te tot uit van voor was wat we wij worden wordt ze zijn",
    },
    Language {
        algorithm: Algorithm::Portuguese,
        stop_words: "ao aos as com como da das de do dos e ela ele em esta este foi mais mas na nas no nos não o os ou para \
            pela pelo por que se sem seu sua são tem têm um uma à é",
    },
];

#[derive(Debug, Clone, Copy)]
pub(super) struct Language {
    algorithm: Algorithm,
    pub(super) stop_words: &'static str,
}

/// Returns the language of a text, or `None` if it does not tell.
pub(super) fn detect_language(words: &[String]) -> Option<Language> {
    let count = |language: &Language| {
        let stop: HashSet<&str> = language.stop_words.split_whitespace().collect();
        words.iter().filter(|word| stop.contains(word.as_str())).count()
    };
    let mut counts = LANGUAGES.map(|language| (count(&language), language));
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let [(most, language), (second, _), ..] = counts;
    (most >= MIN_STOP_WORDS && most > second).then_some(language)
}

pub(super) fn stem_all(words: &[String], language: Option<Language>) -> HashSet<String> {
    let stemmer = Stemmer::create(language.unwrap_or(LANGUAGES[0]).algorithm);
    words.iter().map(|word| stemmer.stem(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::words::compared_words;

    #[test]
    fn few_words_tell_the_language() {
        for (text, expected) in [
            ("Everybody has 25 days of annual leave and may carry over five.", Some(Algorithm::English)),
            ("Sie haben 25 Tage Urlaub im Jahr und können fünf mitnehmen.", Some(Algorithm::German)),
            ("Vous avez 25 jours de congé par an, selon le manuel.", Some(Algorithm::French)),
            ("Todos tienen 25 días de vacaciones al año y no más.", Some(Algorithm::Spanish)),
            ("25 Tage Urlaub", None),
            ("Masz 25 dni urlopu rocznie.", None),
            ("", None),
        ] {
            let found = detect_language(&compared_words(text)).map(|language| language.algorithm);
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{text}");
        }
    }
}
