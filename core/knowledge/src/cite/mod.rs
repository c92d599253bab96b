//! Whether an answer is supported by the passages that were shown to the model. Pure: all texts are given.
//!
//! A model writes `[p3f2a91 "25 days of annual leave"]` after a sentence: the handle of a passage, and words copied from
//! it. A citation holds if these words stand in the passage, and around them all numbers of the sentence and half of its
//! other words; without copied words it takes more of them. A sentence without a citation gets one if a passage says
//! it, and is marked if none does.

mod claim;
mod dates;
mod markers;
mod numerals;
mod passage;
mod polarity;
mod quote;
mod support;
mod units;
mod words;

pub(crate) use markers::HANDLE_LENGTH;
pub(crate) use words::compared_words;

use claim::Claim;
use markers::{Citation, Code, PLACEHOLDER, extract_citations, find_code, list_prefix, split_claims};
use passage::Passage;
use quote::Quote;
use support::{Context, is_foreign_to_one, number_missing_in_all, share_of};

/// Which part of a sentence's words has to stand in a passage: with words that are copied from it, and without.
const MIN_SHARE_WITH_QUOTE: f32 = 0.5;
const MIN_SHARE: f32 = 0.7;
/// A sentence of fewer words that say something claims little, unless one is a number.
const MIN_CLAIM_WORDS: usize = 4;
/// A sentence with this part of its words in the question repeats it.
const MIN_REPEATED_SHARE: f32 = 0.9;
/// A question without these asks whether something is so. "Was" is an English verb too.
const QUESTION_WORDS: &str = "how what when where which who whom whose why wie wann wo wohin woher welche welcher welches \
    welchen wer wem wen warum wieso comment quand où qui quoi quel quelle quels quelles pourquoi combien cómo qué cuándo \
    dónde quién quiénes cuál cuáles cuánto cuánta cuántos cuántas";
/// How an answer says that it does not know, in the form of compared words.
const ADMISSIONS: [&str; 43] = [
    "i dont know",
    "i do not know",
    "im not sure",
    "i am not sure",
    "do not say",
    "dont say",
    "does not say",
    "doesnt say",
    "do not mention",
    "dont mention",
    "does not mention",
    "doesnt mention",
    "no passage",
    "no document",
    "none of the documents",
    "nothing in the documents",
    "not in the documents",
    "could not find",
    "couldnt find",
    "did not find",
    "didnt find",
    "cannot find",
    "found nothing",
    "found no",
    "nothing about",
    "no results",
    "no information",
    "ich weiß nicht",
    "ich weiß es nicht",
    "weiß ich nicht",
    "steht nicht",
    "sagen nicht",
    "nicht gefunden",
    "nichts gefunden",
    "keine angaben",
    "nichts dazu",
    "nichts über",
    "je ne sais pas",
    "ne disent pas",
    "rien trouvé",
    "no lo sé",
    "no dicen",
    "no encontré",
];

/// After these an admission goes on with a claim.
const OBJECTIONS: [&str; 7] = ["but", "however", "although", "aber", "jedoch", "mais", "pero"];

/// How a sentence begins that offers more.
const COURTESIES: [&str; 8] = [
    "let me know",
    "feel free",
    "i hope",
    "happy to",
    "sag bescheid",
    "sagen sie bescheid",
    "gib bescheid",
    "nhésitez pas",
];

/// A passage that was shown to the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) handle: &'a str,
    /// The title of its document, and where it is there.
    pub(crate) title: &'a str,
    pub(crate) place: &'a str,
    pub(crate) text: &'a str,
}

/// A citation that holds: the source's position, and the words that prove it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) source: usize,
    pub(crate) quote: String,
}

/// An answer, checked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckedText {
    /// The answer without the sentences whose citation fails, with `[1]` for each that holds.
    pub(crate) text: String,
    /// What `[1]`, `[2]`, … stand for.
    pub(crate) proofs: Vec<Proof>,
    /// Why citations failed, each as a sentence for the model.
    pub(crate) failures: Vec<String>,
    /// The sentences that no passage says, each as a sentence for the model.
    pub(crate) unsupported: Vec<String>,
}

impl CheckedText {
    /// Adds a proof and returns its mark. A passage has one number, however often it is cited.
    fn add_proof(&mut self, proof: Proof) -> String {
        let known = self.proofs.iter().position(|other| other.source == proof.source);
        let at = known.unwrap_or_else(|| {
            self.proofs.push(proof);
            self.proofs.len() - 1
        });
        format!("[{}]", at + 1)
    }
}

/// What a sentence without a citation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It states nothing: a question, a heading, that nothing is known.
    Aside,
    /// It states little: a few words. It needs support only if nothing else in the answer has any.
    Minor,
    Claim,
}

/// Checks an answer to a question. If there were other results than these passages, a sentence without a citation may say
/// what those say.
pub(crate) fn check(
    text: &str,
    question: &str,
    sources: &[Source<'_>],
    has_other_results: bool,
) -> CheckedText {
    let passages: Vec<Passage<'_>> = sources.iter().map(Passage::new).collect();
    let asked = Claim::new(last_clause(question));
    let checker = Checker { sources, passages, question: Claim::new(question), asked };
    let (bare, citations) = extract_citations(text);
    let mut citations = citations.into_iter();
    let mut checked = CheckedText::default();
    let mut layout = Layout::new(&bare);
    let mut minor = Vec::new();
    for sentence in split_claims(&bare) {
        let (prefix, rest) = sentence.split_at(if layout.is_line_start { list_prefix(&sentence) } else { 0 });
        let is_prose = layout.advance(&sentence);
        let said: String = rest.chars().filter(|c| *c != PLACEHOLDER).collect();
        let cited: Vec<Citation> =
            citations.by_ref().take(sentence.chars().filter(|c| *c == PLACEHOLDER).count()).collect();
        if !cited.is_empty() {
            checker.check_cited(&sentence, &said, &cited, &mut checked);
            continue;
        }
        let claim = Claim::new(&said);
        let kind = if is_prose { checker.classify(&said, &claim) } else { Kind::Aside };
        let proof = if kind == Kind::Aside { None } else { checker.find_proof(&claim, kind) };
        let problem = || format!("“{}”: nothing is cited for it, and no passage says it", said.trim());
        checked.text.push_str(prefix);
        match (proof, kind) {
            (Some(proof), _) => {
                let mark = checked.add_proof(proof);
                checked.text.push_str(&insert_mark(rest, &mark));
            }
            (None, Kind::Claim) if !has_other_results => {
                checked.unsupported.push(problem());
                checked.text.push_str(&mark_unsupported(rest));
            }
            (None, Kind::Minor) if !has_other_results => {
                minor.push(problem());
                checked.text.push_str(rest);
            }
            (None, _) => checked.text.push_str(rest),
        }
    }
    if checked.proofs.is_empty() {
        checked.unsupported.append(&mut minor);
    }
    checked.text = checked.text.trim().to_owned();
    checked
}

struct Checker<'a> {
    sources: &'a [Source<'a>],
    passages: Vec<Passage<'a>>,
    question: Claim,
    /// What is asked in the end.
    asked: Claim,
}

impl Checker<'_> {
    /// Adds a sentence with citations if all of them hold.
    fn check_cited(&self, sentence: &str, said: &str, cited: &[Citation], checked: &mut CheckedText) {
        let claim = Claim::new(said);
        // Two citations may prove a half of the sentence each.
        let contexts: Vec<Context<'_, '_>> =
            cited.iter().filter_map(|citation| self.find_context(citation, &claim)).collect();
        let proofs: Result<Vec<Proof>, String> =
            cited.iter().map(|citation| self.prove(citation, &claim, &contexts)).collect();
        match proofs {
            Err(failure) => checked.failures.push(format!("“{}”: {failure}", said.trim())),
            Ok(proofs) => {
                let mut proofs = proofs.into_iter();
                for c in sentence.chars() {
                    if c == PLACEHOLDER {
                        let mark = proofs.next().map(|proof| checked.add_proof(proof));
                        checked.text.push_str(&mark.unwrap_or_default());
                    } else {
                        checked.text.push(c);
                    }
                }
            }
        }
    }

    fn find_source(&self, citation: &Citation) -> Option<usize> {
        self.sources.iter().position(|source| source.handle == citation.handle)
    }

    /// Returns the place that a citation names.
    fn find_context(&self, citation: &Citation, claim: &Claim) -> Option<Context<'_, '_>> {
        let passage = &self.passages[self.find_source(citation)?];
        let quote = Quote::parse(&citation.quote);
        Some(match quote.is_empty() {
            true => Context::of_claim(passage, claim),
            false => Context::of_words(passage, &quote.find_in(&passage.words)),
        })
    }

    /// Returns the proof of a citation, or why it does not hold. `cited` are the places of all citations of the claim.
    fn prove(&self, citation: &Citation, claim: &Claim, cited: &[Context<'_, '_>]) -> Result<Proof, String> {
        let Citation { handle, quote: written } = citation;
        let Some(source) = self.find_source(citation) else {
            return Err(format!("there is no passage {handle}"));
        };
        if claim.words.is_empty() {
            return Err("it proves no sentence".to_owned());
        }
        let passage = &self.passages[source];
        let quote = Quote::parse(written);
        if !quote.is_empty() && quote.is_too_short() {
            return Err(format!("“{written}” is too short to prove anything"));
        }
        if !quote.is_empty() && quote.find_in(&passage.words).is_empty() {
            return Err(format!("“{written}” does not stand in the passage {handle}"));
        }
        if let Some(number) = number_missing_in_all(cited, claim, &self.question) {
            return Err(format!("{number} does not stand in the passage {handle} beside what this says"));
        }
        // "Yes" says what was asked, and "no" its opposite.
        let said = if claim.is_bare() { &self.asked } else { claim };
        let is_negated = match claim.is_bare() {
            true if self.question.is_negated => None,
            true => said.common_negation.map(|asked| asked != claim.is_negated),
            false => said.common_negation,
        };
        let there = passage.find_negation(&quote.find_in(&passage.words), &said.content);
        if there.is_some() && is_negated.is_some() && there != is_negated {
            return Err(format!("the passage {handle} says the opposite there"));
        }
        // Of a question one word is enough: it may tell a long story.
        let share = match (claim.is_bare(), share_of(cited, said)) {
            (true, share) if share > 0.0 => 1.0,
            (_, share) => share,
        };
        let proof = if quote.is_empty() {
            let context = Context::of_claim(passage, claim);
            context.find_proof(claim).filter(|_| share >= MIN_SHARE)
        } else {
            let is_about = share >= MIN_SHARE_WITH_QUOTE || is_foreign_to_one(cited, claim, &self.question);
            is_about.then_some(written.as_str())
        };
        let quote = proof.ok_or_else(|| format!("the passage {handle} does not say this"))?.to_owned();
        Ok(Proof { source, quote })
    }

    fn classify(&self, said: &str, claim: &Claim) -> Kind {
        let end = said.trim_end_matches(|c: char| !c.is_alphanumeric() && !"?:".contains(c));
        let is_new_number = |word: &String| {
            word.starts_with(|c: char| c.is_ascii_digit()) && !self.question.words.contains(word)
        };
        let has_number = claim.words.iter().any(is_new_number);
        let words = format!(" {} ", claim.words.join(" "));
        let has = |phrase: &&str| words.contains(&format!(" {phrase} "));
        // "I could not find it, but you may fly first class" admits nothing.
        let is_admission = || !has_number && ADMISSIONS.iter().any(has) && !OBJECTIONS.iter().any(has);
        let is_courtesy =
            || !has_number && COURTESIES.iter().any(|phrase| words.starts_with(&format!(" {phrase} ")));
        let is_short = claim.content_count() < MIN_CLAIM_WORDS && !has_number;
        if claim.words.is_empty() || end.ends_with(['?', ':']) || is_admission() || is_courtesy() {
            Kind::Aside
        } else if is_short && !self.affirms_question(claim) {
            Kind::Minor
        } else {
            Kind::Claim
        }
    }

    /// Returns whether a sentence answers "Is lunch free?" by "Lunch is free", which claims more than its few words. "Free
    /// lunch" does not.
    fn affirms_question(&self, claim: &Claim) -> bool {
        let is_open = |word: &String| QUESTION_WORDS.split_whitespace().any(|open| open == word);
        let is_statement = !claim.content.is_empty() && claim.content.len() < claim.words.len();
        is_statement
            && !self.question.words.iter().any(is_open)
            && claim.shared_with(&self.question.words) >= MIN_REPEATED_SHARE
    }

    /// Returns the proof of a sentence without a citation, from the passage that has the most of its words.
    fn find_proof(&self, claim: &Claim, kind: Kind) -> Option<Proof> {
        let min_share = if kind == Kind::Claim { MIN_SHARE } else { 1.0 };
        let proofs = self.passages.iter().enumerate().rev().filter_map(|(source, passage)| {
            let context = Context::of_claim(passage, claim);
            let proof = context.find_proof(claim)?.to_owned();
            let is_known = context.list_missing_numbers(claim, &self.question).is_empty();
            let share = share_of(&[context], claim);
            (is_known && share >= min_share).then_some((share, Proof { source, quote: proof }))
        });
        proofs.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, proof)| proof)
    }
}

/// Where the check is in the Markdown of an answer.
struct Layout {
    /// How much of the text it has passed.
    at: usize,
    code: Vec<Code>,
    is_line_start: bool,
    /// In a heading or the row of a table.
    in_frame: bool,
}

impl Layout {
    fn new(text: &str) -> Self {
        Self { at: 0, code: find_code(text), is_line_start: true, in_frame: false }
    }

    /// Goes to the end of a sentence, and returns whether it is one: not code, a heading, a list's number.
    fn advance(&mut self, sentence: &str) -> bool {
        let begin = sentence.trim_start();
        let first = self.at + sentence.len() - begin.len();
        self.at += sentence.len();
        let next = self.code.partition_point(|code| code.range.end <= first);
        let in_code = self.code.get(next).is_some_and(|code| code.is_fence && code.range.start <= first);
        if self.is_line_start {
            self.in_frame = begin.starts_with(['#', '|']);
        }
        let is_number = self.is_line_start
            && sentence.ends_with(' ')
            && sentence.trim().trim_end_matches(['.', ')']).bytes().all(|b| b.is_ascii_digit());
        self.is_line_start = sentence.ends_with('\n');
        !in_code && !self.in_frame && !is_number
    }
}

/// Returns what a question asks, without the story before it.
fn last_clause(question: &str) -> &str {
    let question = question.trim_end();
    question.rsplit([',', ';', '.', ':', '\n']).find(|clause| !clause.trim().is_empty()).unwrap_or(question)
}

/// Writes a mark before the full stop of a sentence.
fn insert_mark(sentence: &str, mark: &str) -> String {
    let text = sentence.trim_end();
    let words = text.trim_end_matches(['.', '!']);
    format!("{words} {mark}{}", &sentence[words.len()..])
}

fn mark_unsupported(sentence: &str) -> String {
    let text = sentence.trim_end();
    let emphasis = if text.contains('*') { '_' } else { '*' };
    format!("{emphasis}{text}{emphasis} (not in the documents){}", &sentence[text.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: [Source<'_>; 2] = [
        Source {
            handle: "p3f2a91",
            title: "handbook.md",
            place: "p. 4 · Leave",
            text: "Everybody has 25 days of annual leave a year. It ends in March. It costs 1,000 euros at 2 pm.",
        },
        Source { handle: "p00c1e5", title: "travel.md", place: "", text: "We go by train." },
    ];

    fn checked_parts(text: &str) -> (String, usize, usize) {
        let checked = check(text, "how much leave do I have in 2026?", &SOURCES, false);
        (checked.text, checked.proofs.len(), checked.failures.len())
    }

    #[test]
    fn citations_that_hold_become_numbers() {
        let all = [
            ("You have 25 days [p3f2a91 \"25 days of annual leave\"].", "You have 25 days [1]."),
            ("You have 25 days. [p3f2a91: “25 days of Annual Leave”]", "You have 25 days. [1]"),
            (
                "25 days [p3f2a91 \"25 days\"]. By train [p00c1e5 \"go by train\"].",
                "25 days [1]. By train [2].",
            ),
            ("In 2026 you have 25 days of leave [p3f2a91].", "In 2026 you have 25 days of leave [1]."),
            ("A [list] of [p3]. Nothing cited.", "A [list] of [p3]. Nothing cited."),
            (
                "It costs 1.000 euros at 14:00 [p3f2a91 \"costs 1,000 euros\"].",
                "It costs 1.000 euros at 14:00 [1].",
            ),
            ("25 days … March [p3f2a91 \"25 days … ends in March\"].", "25 days … March [1]."),
            ("Page 4 of the handbook: 25 days [p3f2a91].", "Page 4 of the handbook: 25 days [1]."),
            ("It is 25 [p3f2a91 \"25 days of annual leave\"].", "It is 25 [1]."),
            ("1) 25 days [p3f2a91 \"25 days\"].", "1) 25 days [1]."),
            (
                "Sie haben 25 Tage Urlaub im Jahr [p3f2a91 \"25 days of annual leave\"].",
                "Sie haben 25 Tage Urlaub im Jahr [1].",
            ),
            ("25 days [p3f2a91 \"25 days\"]. Much more [1].", "25 days [1]. Much more."),
            ("You have 25 days.\n[p3f2a91 \"25 days\"]", "You have 25 days.\n[1]"),
        ];
        for (text, expected) in all {
            let (shown, _, failures) = checked_parts(text);
            assert_eq!((shown.as_str(), failures), (expected, 0), "{text}");
        }
    }

    #[test]
    fn a_source_that_is_cited_twice_has_one_number() {
        let text = "25 days [p3f2a91 \"25 days\"]. Until March [p3f2a91 \"ends in March\"].";
        assert_eq!(checked_parts(text), ("25 days [1]. Until March [1].".to_owned(), 1, 0));
    }

    #[test]
    fn the_opposite_of_a_passage_is_refused() {
        let rule = |text| Source { handle: "p3f2a91", title: "rules.md", place: "", text };
        let holds = |passage: &'static str, question: &str, answer: &str| {
            check(answer, question, &[rule(passage)], false).failures.is_empty()
        };
        let asked = "which rules are there?";
        for (passage, answer, expected) in [
            (
                "Interns may not take parental leave.",
                "Interns may take parental leave [p3f2a91 \"take parental leave\"].",
                false,
            ),
            (
                "Nobody flies first class.",
                "Everybody flies first class [p3f2a91 \"flies first class\"].",
                false,
            ),
            (
                "Employees may carry over 5 days.",
                "You may not carry over days [p3f2a91 \"may carry over 5 days\"].",
                false,
            ),
            (
                "You may not carry over more than 5 days.",
                "You may carry over up to 5 days [p3f2a91 \"carry over more than 5 days\"].",
                true,
            ),
            (
                "You have 25 days, and they do not carry over.",
                "You have 25 days of leave [p3f2a91 \"You have 25 days\"].",
                true,
            ),
            ("Flights are not paid.", "Flights are never paid [p3f2a91 \"Flights are not paid\"].", true),
        ] {
            assert_eq!(holds(passage, asked, answer), expected, "{answer}");
        }
        let lunch = "is lunch free?";
        for (passage, question, answer, expected) in [
            ("You have 25 days of annual leave.", lunch, "Yes [p3f2a91 \"25 days of annual leave\"].", false),
            ("Lunch is not free.", lunch, "Yes [p3f2a91 \"Lunch is not free\"].", false),
            ("Lunch is free for staff.", lunch, "Yes [p3f2a91 \"Lunch is free\"].", true),
            ("Lunch is free for staff.", lunch, "No [p3f2a91 \"Lunch is free\"].", false),
            (
                "Lunch costs 5 euros.",
                lunch,
                "No, lunch costs 5 euros [p3f2a91 \"Lunch costs 5 euros\"].",
                true,
            ),
            ("Lunch is free for staff.", "isn't lunch free?", "Yes [p3f2a91 \"Lunch is free\"].", true),
            (
                "Up to three weeks of leave may be taken at once.",
                "I am planning a trip with my family in August; can I take three weeks of annual leave at once?",
                "Yes [p3f2a91 \"may be taken at once\"].",
                true,
            ),
            (
                "Everybody may work from home two days a week.",
                "Can I work from home if I have no children?",
                "Yes [p3f2a91 \"may work from home\"].",
                true,
            ),
        ] {
            assert_eq!(holds(passage, question, answer), expected, "{question} {answer}");
        }
    }

    #[test]
    fn what_says_the_same_in_other_words_is_no_opposite() {
        for (passage, answer) in [
            (
                "Not covered:\n- Dental care for children\n- Glasses",
                "Dental care for children is not covered [p3f2a91 \"Dental care for children\"].",
            ),
            (
                "You may not smoke or drink in the office.",
                "You may not drink in the office [p3f2a91 \"drink in the office\"].",
            ),
            (
                "Smoking in the building is prohibited.",
                "Smoking in the building is not allowed [p3f2a91 \"in the building is prohibited\"].",
            ),
            (
                "Das Rauchen im Gebäude ist verboten.",
                "Das Rauchen ist im Gebäude nicht erlaubt [p3f2a91 \"im Gebäude ist verboten\"].",
            ),
            (
                "Unused days expire in March.",
                "Days that are not used expire in March [p3f2a91 \"Unused days expire\"].",
            ),
            (
                "You may stay home for 3 days without a doctor's note.",
                "A doctor's note is needed after 3 days [p3f2a91 \"without a doctor's note\"].",
            ),
            (
                "Sie haben 30 Urlaubstage im Jahr.",
                "Im Jahr sind es 30 Tage [p3f2a91 \"30 Urlaubstage im Jahr\"].",
            ),
        ] {
            let rule = Source { handle: "p3f2a91", title: "rules.md", place: "", text: passage };
            let checked = check(answer, "which rules are there?", &[rule], false);
            assert!(checked.failures.is_empty(), "{answer}: {:?}", checked.failures);
        }
    }

    #[test]
    fn a_number_counts_what_it_counts_in_the_passage() {
        let rule = |text| Source { handle: "p3f2a91", title: "rules.md", place: "", text };
        for (passage, answer, expected) in [
            ("It costs €1,000.", "It costs $1,000 [p3f2a91 \"costs €1,000\"].", false),
            ("It costs €1,000.", "It costs 1,000 euros [p3f2a91 \"costs €1,000\"].", true),
            ("Notice is 30 days.", "Notice is 30 weeks [p3f2a91 \"Notice is 30\"].", false),
            (
                "Notice is 30 days in the first 6 months.",
                "Notice is 30 months [p3f2a91 \"Notice is 30\"].",
                false,
            ),
            ("Notice is 30 days.", "Die Frist ist 30 Tage [p3f2a91 \"Notice is 30 days\"].", true),
            (
                "Notice in days:\n- Staff: 30\n- Interns: 10",
                "Staff have 30 days [p3f2a91 \"Staff: 30\"].",
                true,
            ),
        ] {
            let checked = check(answer, "which rules are there?", &[rule(passage)], false);
            assert_eq!(checked.failures.is_empty(), expected, "{answer}: {:?}", checked.failures);
        }
    }

    #[test]
    fn sentences_whose_citation_fails_are_left_out() {
        for text in [
            "You have 28 days [p3f2a91 \"28 days of annual leave\"].",
            "You have 28 days [p3f2a91 \"days of annual leave\"].",
            "You have 25 days [pffffff \"25 days\"].",
            "You have leave [p3f2a91 \"leave\"].",
            "You fly first class [p00c1e5].",
            "You have 28 days.\n[p3f2a91 \"days of annual leave\"]\n",
            "You have 28 days.\n[p3f2a91]\n",
            "You have 28 days. [pffffff \"x\"].",
            "You have 28 days [p3f2a91 \"see [2] above in it\"].",
            "It costs 100 euros [p3f2a91 \"It costs 1,000 euros\"].",
            "It costs 1,000 euros at 2 am [p3f2a91 \"It costs 1,000 euros\"].",
            "You may be in the gym for all of the afternoon [p3f2a91 \"25 days of annual leave\"].",
            "You do not have 25 days of annual leave [p3f2a91].",
            "You have 25 days [p3f2a91 \"ends in March … 25 days\"].",
        ] {
            let (shown, proofs, failures) = checked_parts(&format!("{text} So much."));
            assert_eq!((shown.as_str(), proofs, failures), ("So much.", 0, 1), "{text}");
        }
    }

    #[test]
    fn sentences_without_a_citation_get_one_or_are_marked() {
        let cited = "Leave is 25 days [p3f2a91 \"25 days\"].";
        for (text, expected, unsupported) in [
            ("You have 25 days of annual leave.", "You have 25 days of annual leave [1].", 0),
            ("We go by train!", "We go by train [1]!", 0),
            ("- **We go by train.**", "- **We go by train.** [1]", 0),
            ("We go by train at 3 pm.", "*We go by train at 3 pm.* (not in the documents)", 1),
            (
                "- We always fly **first** class.",
                "- _We always fly **first** class._ (not in the documents)",
                1,
            ),
            (
                "Not everybody has annual leave a year.",
                "*Not everybody has annual leave a year.* (not in the documents)",
                1,
            ),
            (
                "Lunch is free for visitors and staff.\n",
                "*Lunch is free for visitors and staff.* (not in the documents)\n",
                1,
            ),
            ("This is how much leave you have in 2026.", "This is how much leave you have in 2026.", 0),
            ("Is lunch free for visitors and staff?", "Is lunch free for visitors and staff?", 0),
            ("# Free lunch for visitors and staff\n", "# Free lunch for visitors and staff\n", 0),
            ("| Free lunch | for visitors | and staff |\n", "| Free lunch | for visitors | and staff |\n", 0),
            ("```\nlunch is free for visitors\n```\n", "```\nlunch is free for visitors\n```\n", 0),
            (
                "```rm```\nLunch is free for visitors and staff.",
                "```rm```\n*Lunch is free for visitors and staff.* (not in the documents)",
                1,
            ),
            ("What visitors and staff eat for lunch:\n", "What visitors and staff eat for lunch:\n", 0),
            (
                "The documents do not say who eats free lunch.",
                "The documents do not say who eats free lunch.",
                0,
            ),
            (
                "Das steht nicht in den Dokumenten zum Mittagessen.",
                "Das steht nicht in den Dokumenten zum Mittagessen.",
                0,
            ),
            (
                "The documents do not say it, but lunch is 9 euros.",
                "*The documents do not say it, but lunch is 9 euros.* (not in the documents)",
                1,
            ),
            ("As always.", "As always.", 0),
            ("It costs 9 euros.", "*It costs 9 euros.* (not in the documents)", 1),
        ] {
            let checked =
                check(&format!("{text} {cited}"), "how much leave do I have in 2026?", &SOURCES, false);
            let (shown, last) = checked.text.rsplit_once(" Leave is 25 days [").unwrap();
            assert_eq!((shown, checked.unsupported.len()), (expected, unsupported), "{last}");
        }
    }

    #[test]
    fn what_affirms_a_question_is_a_claim() {
        let interns = "can interns in Rome take parental leave?";
        for (question, text, unsupported) in [
            (interns, "Interns in Rome can take parental leave.", 1),
            (interns, "Yes, interns in Rome can take parental leave.", 1),
            (interns, "Yes, interns can.", 1),
            ("is lunch free?", "Lunch is free.", 1),
            ("Ist das Essen für uns frei?", "Das Essen ist für uns frei.", 1),
            // The passage says so.
            ("do we go by train?", "You go by train.", 0),
            // What follows has to be proven.
            (interns, "Yes, they can.", 0),
            (interns, "Parental leave", 0),
            (interns, "What interns in Rome can take as parental leave:", 0),
            (interns, "The documents do not say whether interns in Rome can take parental leave.", 0),
            ("how much leave do I have?", "You asked how much leave you have.", 0),
        ] {
            let text = format!("{text}\nLeave is 25 days [p3f2a91 \"25 days\"].");
            assert_eq!(check(&text, question, &SOURCES, false).unsupported.len(), unsupported, "{text}");
        }
    }

    #[test]
    fn an_answer_without_any_citation_has_to_be_supported() {
        for (text, unsupported) in
            [("On Friday.", 1), ("In March.", 0), ("1. In March.", 0), ("Yes.", 1), ("I do not know.", 0)]
        {
            assert_eq!(check(text, "when?", &SOURCES, false).unsupported.len(), unsupported, "{text}");
            let found_nothing = usize::from(text != "I do not know.");
            assert_eq!(check(text, "when?", &[], false).unsupported.len(), found_nothing, "{text}");
            // It may come from elsewhere.
            let checked = check(text, "when?", &SOURCES, true);
            assert!(
                checked.unsupported.is_empty() && checked.text.starts_with(&text[..text.len() - 1]),
                "{text}"
            );
        }
    }

    #[test]
    fn two_citations_may_prove_a_half_each() {
        let both = "You have 25 days [p3f2a91 \"25 days of annual leave\"] and go by train [p00c1e5 \"go by train\"].";
        assert_eq!(checked_parts(both), ("You have 25 days [1] and go by train [2].".to_owned(), 2, 0));
        let wrong = both.replace("25 days [", "28 days [");
        assert_eq!(checked_parts(&wrong).2, 1);
    }

    #[test]
    fn a_terse_sentence_is_compared_too() {
        let terse = "Contractors receive equity grants [p3f2a91 \"25 days of annual leave\"].";
        assert_eq!(checked_parts(terse).2, 1);
        let german =
            check("25 Tage Urlaub [p3f2a91 \"25 days\"].", "Wie viel Urlaub habe ich?", &SOURCES, false);
        assert_eq!((german.text.as_str(), german.failures.len()), ("25 Tage Urlaub [1].", 0));
    }

    #[test]
    fn offers_need_no_citation_and_hidden_claims_do() {
        let cited = "You have 25 days [p3f2a91 \"25 days\"].";
        for (text, unsupported) in [
            ("Let me know if you need more details about it.", 0),
            ("I could not find more about parental allowance.", 0),
            ("I could not find it, but employees may fly first class.", 1),
        ] {
            let checked = check(&format!("{cited} {text}"), "how much leave?", &SOURCES, false);
            assert_eq!(checked.unsupported.len(), unsupported, "{text}");
        }
    }

    #[test]
    fn citations_end_where_they_end() {
        let page = "25 days [p3f2a91 \"25 days\", p. 4]. By train [p00c1e5 \"go by train\"].";
        assert_eq!(checked_parts(page), ("25 days [1]. By train [2].".to_owned(), 2, 0));
        let pasted = "25 days [p3f2a91 \"25 days\"]. In March [1, 2].";
        assert_eq!(checked_parts(pasted).0, "25 days [1]. In March [1].");
    }

    const STAFF: &str = "Full-time staff have 25 days. Interns have 10 days.";
    const FAR: &str =
        "Full-time staff have 25 days. We go by train. We eat together. We sing aloud. Interns have 10 days.";
    const LIST: &str =
        "Days of leave:\n- Full-time staff: 25\n- Interns: 10\n- Temps: 5\n- Board: 30\n\nWe sing aloud.";
    const GROUPS: &str =
        "Full-time staff:\n- leave: 25 days\n- notice: 3 months\nInterns:\n- leave: 10 days\n";
    const TABLE: &str = "| City | Days of leave |\n| --- | --- |\n| Berlin | 25 |\n| Rome | 30 |\n| Oslo | 28 |\n| Bonn | 22 |\n";
    const ROWS: &str = "Role: Intern; Days: 10; Place: Rome\nRole: Manager; Days: 25; Place: Bonn\n";
    const PLAIN: &str = "City Days of leave\nBerlin 25\nRome 30\nOslo 28\nBonn 22\n";
    const WRAPPED: &str = "All of the people who work full-time here have 25 days\nof leave. All interns of this company who study have 10\ndays of leave.";

    #[test]
    fn a_number_stands_beside_the_words_that_it_is_about() {
        let asked = "how many days of leave are there?";
        let interns = "how many days do interns have?";
        for (passage, question, text, holds) in [
            (STAFF, asked, "Interns have 10 days.", true),
            (STAFF, asked, "Interns have 25 days.", false),
            (STAFF, asked, "Interns have 25 days [p3f2a91].", false),
            (STAFF, asked, "Interns have 25 days [p3f2a91 \"staff have 25 days\"].", false),
            (STAFF, asked, "Interns have 25 days [p3f2a91 \"Interns have 10 days\"].", false),
            (STAFF, asked, "Full-time staff have 10 days.", false),
            (STAFF, asked, "Interns have 10 days and full-time staff have 25.", true),
            (STAFF, asked, "Full-time staff have 10 days, interns have 25.", false),
            (STAFF, asked, "25 days [p3f2a91 \"25 days\"].", true),
            // A sentence that is cited and has a number of its own takes none of others.
            (STAFF, asked, "You have 25 days [p3f2a91 \"Interns have 10 days\"].", false),
            (
                STAFF,
                asked,
                "Interns have 10 days, 25 for the others [p3f2a91 \"Interns have 10 days\"].",
                true,
            ),
            // The question says who is meant.
            (STAFF, interns, "They have 10 days [p3f2a91 \"Interns have 10 days\"].", true),
            (STAFF, interns, "They have 25 days [p3f2a91 \"staff have 25 days\"].", false),
            (FAR, asked, "Interns have 10 days.", true),
            (FAR, asked, "Interns have 25 days.", false),
            (FAR, asked, "Interns have 25 days [p3f2a91].", false),
            (FAR, asked, "Interns have 25 days [p3f2a91 \"Interns have 10 days\"].", false),
            // Each citation proves its half.
            (
                FAR,
                asked,
                "Staff have 25 days and interns 10 [p3f2a91 \"staff have 25 days\"][p3f2a91 \"Interns have 10 days\"].",
                true,
            ),
            (LIST, asked, "Temps have 5 days of leave.", true),
            (LIST, asked, "Temps have 30 days of leave.", false),
            (LIST, asked, "Temps have 5 days of leave [p3f2a91 \"Temps: 5\"].", true),
            (LIST, asked, "The board has 5 days of leave [p3f2a91 \"Temps: 5\"].", false),
            (GROUPS, asked, "Interns have 10 days of leave.", true),
            (GROUPS, asked, "Interns have 25 days of leave.", false),
            (GROUPS, asked, "Interns have 25 days of leave [p3f2a91 \"leave: 25 days\"].", false),
            (TABLE, asked, "In Bonn it is 22 days of leave.", true),
            (TABLE, asked, "In Bonn it is 28 days of leave.", false),
            (TABLE, asked, "In Bonn it is 22 days [p3f2a91 \"Bonn | 22\"].", true),
            (TABLE, asked, "Berlin has 25 days of leave, Rome 30, Oslo 28.", true),
            (ROWS, asked, "An intern has 10 days.", true),
            (ROWS, asked, "An intern has 25 days.", false),
            (PLAIN, asked, "Bonn has 22 days of leave.", true),
            (PLAIN, asked, "Bonn has 28 days of leave.", false),
            (WRAPPED, asked, "Interns have 10 days of leave.", true),
            (WRAPPED, asked, "Interns have 25 days of leave.", false),
            (
                "Everybody has 25 days of leave. Leave must be requested 14 days early.",
                asked,
                "You have 25 days of leave and must request it early [p3f2a91 \"25 days of leave\"].",
                true,
            ),
            // A sentence without a number of its own goes on in the next.
            ("Interns have leave too. It is 10 days.", asked, "Interns have leave of 10 days.", true),
            (
                "Interns have leave too. It is 10 days.",
                asked,
                "Interns have 10 days [p3f2a91 \"Interns have leave too\"].",
                true,
            ),
        ] {
            let source = Source { handle: "p3f2a91", title: "handbook.md", place: "", text: passage };
            let checked = check(text, question, &[source], false);
            assert_eq!(
                checked.failures.is_empty() && checked.unsupported.is_empty(),
                holds,
                "{passage}: {text}"
            );
        }
    }

    #[test]
    fn one_bracket_may_hold_several_citations() {
        for (cited, expected) in [
            ("[p3f2a91, p00c1e5]", "[1] [2]"),
            ("[p3f2a91; p00c1e5]", "[1] [2]"),
            ("[p3f2a91 and p00c1e5]", "[1] [2]"),
            ("[p3f2a91 \"25 days\", p00c1e5 \"go by train\"]", "[1] [2]"),
            ("[p3f2a91: “25 days”; p00c1e5: “go by train”]", "[1] [2]"),
            ("[p3f2a91 25 days, p00c1e5 go by train]", "[1] [2]"),
            ("[p00c1e5 \"go by train\", p3f2a91 \"25 days\", p. 4]", "[1] [2]"),
        ] {
            let text = format!("25 days and we go by train {cited}.");
            let expected = format!("25 days and we go by train {expected}.");
            assert_eq!(checked_parts(&text), (expected, 2, 0), "{cited}");
        }
        let wrong = "25 days [p3f2a91 \"25 days\", p00c1e5 \"go by bus\"].";
        assert_eq!(checked_parts(wrong), (String::new(), 0, 1));
    }

    #[test]
    fn brackets_in_code_stay() {
        for text in [
            "Is `args[1]` cited?",
            "Are ``a ` [1]`` and `b[2]` cited?",
            "```rust\nlet a = args[1] + b[ 2 ];\n[1, 2]\n```",
            "```\na[1]\n",
            "````\n```\na[1]\n```\n````",
        ] {
            assert_eq!(checked_parts(text).0, text.trim(), "{text}");
        }
        for (text, expected) in [
            ("It's a ` mark [1].", "It's a ` mark."),
            ("`a` [1] `b`", "`a` `b`"),
            ("So it is [[2]1].", "So it is1]."),
            ("So it is [^1] [1–3].", "So it is."),
            ("`25 days` [p3f2a91 \"25 days\"].", "`25 days` [1]."),
            ("25 days `[p3f2a91 \"25 days\"]`.", "25 days `[1]`."),
        ] {
            assert_eq!(checked_parts(text).0, expected, "{text}");
        }
    }

    #[test]
    fn numbers_and_dates_are_compared_however_they_are_spelled() {
        for (passage, text, holds) in [
            ("Notice is thirty days.", "Notice is 30 days.", true),
            ("Notice is 30 days.", "Notice is thirty days.", true),
            ("Notice is 30 days.", "Notice is thirteen days [p3f2a91 \"Notice is 30 days\"].", false),
            ("Die Frist ist zwölf Tage.", "Die Frist ist 12 Tage.", true),
            ("A thirty-day notice is due.", "A 30-day notice is due.", true),
            ("Leave ends on 31.03. each year.", "Leave ends on March 31 each year.", true),
            ("Leave ends on 31.03. each year.", "Leave ends on April 31 each year.", false),
            ("Leave ends on 31 March.", "Leave ends on 2026-03-31.", true),
            ("Leave ends on 31/03/2026.", "Leave ends on the 31st of March 2026.", true),
            ("Der Urlaub endet jedes Jahr am 31. Mai.", "Der Urlaub endet am 31.05. jedes Jahr.", true),
            ("Leave ends in March.", "Leave ends in March 2026.", true),
            ("Leave ends in April.", "Leave ends in March 2026 [p3f2a91 \"Leave ends in April\"].", false),
            ("Leave ends on 31 March.", "Leave ends in March.", true),
            ("Leave of 5 may carry over.", "Leave of 5 may carry over.", true),
        ] {
            let source = Source { handle: "p3f2a91", title: "handbook.md", place: "", text: passage };
            let checked = check(text, "when does it end in 2026?", &[source], false);
            assert_eq!(
                checked.failures.is_empty() && checked.unsupported.is_empty(),
                holds,
                "{passage}: {text}"
            );
        }
    }

    #[test]
    fn any_text_is_checked() {
        for text in [
            "",
            "[",
            "[p3f2a91",
            "[p3f2a91 \"",
            "[]",
            "]",
            "[pß000]",
            "[p3f2a91 \"\"]",
            "[p3f2a91 \"a]b",
            "[p3f2ß91]",
        ] {
            checked_parts(text);
        }
    }
}
