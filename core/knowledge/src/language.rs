//! The language of a text, and the stems of its words.

use std::collections::HashSet;

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

/// The fewest stop words that tell a language.
const MIN_STOP_WORDS: usize = 2;

/// The languages that are told apart. A text that does not tell is treated as an English one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, sqlx::Type)]
#[sqlx(type_name = "text")]
pub(crate) enum Language {
    #[default]
    #[serde(rename = "en")]
    #[sqlx(rename = "en")]
    English,
    #[serde(rename = "de")]
    #[sqlx(rename = "de")]
    German,
    #[serde(rename = "fr")]
    #[sqlx(rename = "fr")]
    French,
    #[serde(rename = "es")]
    #[sqlx(rename = "es")]
    Spanish,
    #[serde(rename = "it")]
    #[sqlx(rename = "it")]
    Italian,
    #[serde(rename = "nl")]
    #[sqlx(rename = "nl")]
    Dutch,
    #[serde(rename = "pt")]
    #[sqlx(rename = "pt")]
    Portuguese,
}

const ALL: [Language; 7] = [
    Language::English,
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Italian,
    Language::Dutch,
    Language::Portuguese,
];

impl Language {
    pub(crate) fn stemmer(self) -> Stemmer {
        Stemmer::create(match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Dutch => Algorithm::Dutch,
            Self::Portuguese => Algorithm::Portuguese,
        })
    }

    /// Returns the words that say nothing about what a text is about.
    pub(crate) fn stop_words(self) -> HashSet<&'static str> {
        let words = match self {
            Self::English => {
                "a about again am an and any are as at be been but by can could did do does for from had has \
    have he her here his how i if in into is it its may me my no not of on or our shall she should so such than that \
    the their them then there these they this those to us was we were what when where which who whom whose why will \
    with would you your"
            }
            Self::German => {
                "aber alle als am an auch auf aus bei bis das dass dem den der des die du ein eine einem einen einer \
            er es für haben hat ich ihr im in ist jede jeder jedes kann kein keine können man mit nach nicht noch nur oder \
            pro sein sich sie sind so und uns vom von vor war was wenn wer werden wie wir wird zu zum zur über"
            }
            Self::French => {
                "au aux avec ce ces cette dans de des du elle elles en est et il ils je la le les leur mais ne nous on \
            ont ou par pas pour que qui sa se ses son sont sur tous tout un une vous à être"
            }
            Self::Spanish => {
                "al como con de del el ella en es esta este está hay la las lo los más muy no nos o para pero por que \
            se sin son su sus tiene tienen todo todos un una usted y ya"
            }
            Self::Italian => {
                "al alla anche che chi come con da dei del della delle di e gli ha hanno i il in la le lo ma nel nella \
            non o per più questo si sono su tutti un una è"
            }
            Self::Dutch => {
                "aan als bij dan dat de die dit door een en er geen haar heb hebben heeft het hij in is je kan maar met \
            naar niet of om ook op te tot uit van voor was wat we wij worden wordt ze zijn"
            }
            Self::Portuguese => {
                "ao aos as com como da das de do dos e ela ele em esta este foi mais mas na nas no nos não o os ou para \
            pela pelo por que se sem seu sua são tem têm um uma à é"
            }
        };
        words.split_whitespace().collect()
    }
}

/// Returns the language of a text, or `None` if it does not tell.
pub(crate) fn detect_language(words: &[String]) -> Option<Language> {
    let count = |language: &Language| {
        let stop_words = language.stop_words();
        words.iter().filter(|word| stop_words.contains(word.as_str())).count()
    };
    let mut counts = ALL.map(|language| (count(&language), language));
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let [(most, language), (second, _), ..] = counts;
    (most >= MIN_STOP_WORDS && most > second).then_some(language)
}

pub(crate) fn stem_all(words: &[String], language: Option<Language>) -> HashSet<String> {
    let stemmer = language.unwrap_or_default().stemmer();
    words.iter().map(|word| stemmer.stem(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::compared_words;

    #[test]
    fn few_words_tell_the_language() {
        for (text, expected) in [
            ("Everybody has 25 days of annual leave and may carry over five.", Some(Language::English)),
            ("Sie haben 25 Tage Urlaub im Jahr und können fünf mitnehmen.", Some(Language::German)),
            ("Vous avez 25 jours de congé par an, selon le manuel.", Some(Language::French)),
            ("Todos tienen 25 días de vacaciones al año y no más.", Some(Language::Spanish)),
            ("25 Tage Urlaub", None),
            ("Masz 25 dni urlopu rocznie.", None),
            ("", None),
        ] {
            assert_eq!(detect_language(&compared_words(text)), expected, "{text}");
        }
    }
}
