//! The check of an answer: what it cites has to stand in the passages, as they are now.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::cite::{self, Source};
use crate::document::{CitationRow, Readers};
use crate::search::place_text;
use crate::{card, sql};
use nod_contract::ids::{TenantId, named_lane_id};
use nod_contract::privacy::Audience;
use nod_store::ability::{AnswerCheck, AnsweredRun, CheckedAnswer, Verdict};

/// The name of the check, and of what the tool leaves for it.
pub(crate) const NAME: &str = "knowledge";
/// The tools whose results it knows.
pub(crate) const RETRIEVE: &str = "retrieve_knowledge_base";
pub(crate) const FIND: &str = "find_in_document";
pub(crate) const OPEN: &str = "open_document";
const TOOLS: [&str; 3] = [RETRIEVE, FIND, OPEN];
/// The most buttons that open a passage.
const MAX_BUTTONS: usize = 5;

/// What one call leaves.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SearchPart {
    pub(crate) run: Uuid,
    /// `None` if a document was opened.
    pub(crate) query: Option<String>,
    /// The documents that were searched.
    pub(crate) documents: usize,
    /// The documents that were still being read then.
    #[serde(default)]
    pub(crate) unread: usize,
    /// They were not searched by meaning.
    #[serde(default)]
    pub(crate) by_words_alone: bool,
    /// Whose documents were used.
    pub(crate) readers: Readers,
    /// Where it may be told: in a channel, or to one person.
    pub(crate) channel: Option<Uuid>,
    pub(crate) person: Option<Uuid>,
    pub(crate) passages: Vec<PassageHandle>,
}

/// A passage that the model was shown.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PassageHandle {
    pub(crate) handle: String,
    pub(crate) chunk: Uuid,
}

/// What a check needs: the passages as they are now, and what was searched.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Loaded {
    passages: Vec<LoadedPassage>,
    searches: Vec<Search>,
}

impl Loaded {
    /// Returns whether documents were searched and gave nothing. Where there is no document, nobody takes an answer for
    /// what one says; and of one that was opened, its contents may have been shown.
    fn is_without_result(&self) -> bool {
        let has_contents = |search: &Search| search.query.is_none() && search.found == 0;
        self.passages.is_empty()
            && self.searches.iter().any(|search| search.documents > 0)
            && !self.searches.iter().any(has_contents)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Search {
    query: Option<String>,
    /// The documents that it covered, and the passages that it found then.
    documents: usize,
    #[serde(default)]
    unread: usize,
    by_words_alone: bool,
    found: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct LoadedPassage {
    handle: String,
    run: Uuid,
    chunk: Uuid,
    document: Uuid,
    generation: i32,
    channel: Option<Uuid>,
    person: Option<Uuid>,
    title: String,
    place: String,
    text: String,
}

/// What the model is told with the citations that do not hold.
const RETRY: &str = "Write the answer again. Copy the words of a citation exactly from its passage, and leave out what no \
    passage says. If the passages do not answer the question, say so.";

pub(crate) struct CitationCheck;

#[async_trait]
impl AnswerCheck for CitationCheck {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn load(&self, conn: &mut PgConnection, tenant: TenantId, parts: &[Value]) -> sqlx::Result<Value> {
        let mut loaded = Loaded::default();
        for part in parts.iter().filter_map(|part| SearchPart::deserialize(part).ok()) {
            loaded.searches.push(Search {
                query: part.query.clone(),
                documents: part.documents,
                unread: part.unread,
                by_words_alone: part.by_words_alone,
                found: part.passages.len(),
            });
            let chunks: Vec<Uuid> = part.passages.iter().map(|passage| passage.chunk).collect();
            let found = sql::load_chunks(conn, tenant, &chunks, &part.readers).await?;
            for PassageHandle { handle, chunk } in part.passages {
                let known = loaded.passages.iter().any(|passage| passage.handle == handle);
                // A passage that was changed or removed since then proves nothing any more.
                let Some(now) = found.iter().find(|now| now.id == chunk).filter(|_| !known) else { continue };
                loaded.passages.push(LoadedPassage {
                    handle,
                    run: part.run,
                    chunk,
                    document: now.document_id,
                    generation: now.generation,
                    channel: part.channel,
                    person: part.person,
                    title: now.title.clone(),
                    place: place_text(now.page, &now.heading),
                    text: now.text.clone(),
                });
            }
        }
        Ok(serde_json::to_value(loaded).unwrap_or_default())
    }

    fn check(&self, answer: &CheckedAnswer<'_>, loaded: &Value) -> Verdict {
        let loaded = Loaded::deserialize(loaded).unwrap_or_default();
        let sources: Vec<Source<'_>> = loaded
            .passages
            .iter()
            .map(|passage| Source {
                handle: &passage.handle,
                title: &passage.title,
                place: &passage.place,
                text: &passage.text,
            })
            .collect();
        // What the answer does not cite may come from there: from a mail, for example.
        let has_other_results = answer.tools.iter().any(|tool| !TOOLS.contains(tool));
        let is_judged = !has_other_results && (!loaded.passages.is_empty() || loaded.is_without_result());
        let checked = cite::check(answer.text, answer.question, &sources, !is_judged);
        let problem_count = checked.failures.len() + checked.unsupported.len();
        if answer.may_retry && problem_count > 0 {
            let problems = [checked.failures, checked.unsupported].concat();
            return Verdict::Retry { problems, instruction: RETRY };
        }
        let mut notes = Vec::new();
        let mut buttons = Vec::new();
        let mut rows = Vec::new();
        for (at, proof) in checked.proofs.iter().enumerate() {
            let passage = &loaded.passages[proof.source];
            let id = named_lane_id(&["citation", &passage.run.to_string(), &passage.handle]);
            notes.push(card::source_line(at + 1, &passage.title, &passage.place));
            if at < MAX_BUTTONS {
                buttons.push(card::source_button(at + 1, &passage.title, id));
            }
            // An answer for one person is opened by that person, wherever they read it.
            let (channel, person) = match answer.audience {
                Audience::Person(person) => (None, Some(person.0)),
                Audience::Channel => (passage.channel, passage.person),
            };
            rows.push(CitationRow {
                id,
                document: passage.document,
                chunk: passage.chunk,
                generation: passage.generation,
                channel,
                person,
                title: passage.title.clone(),
                place: passage.place.clone(),
                quote: proof.quote.clone(),
            });
        }
        // Nothing of the answer stands in what was found, if anything was.
        let is_unsupported = problem_count > 0 && rows.is_empty() && is_judged;
        let is_empty = problem_count > 0 && !checked.text.contains(char::is_alphanumeric);
        if is_unsupported {
            notes.extend(nearest_line(&loaded).or_else(|| uncited_line(&loaded)));
        } else if rows.is_empty() {
            notes.extend(uncited_line(&loaded));
        }
        if rows.is_empty() {
            let unread = loaded.searches.iter().map(|search| search.unread).max();
            notes.extend(card::unread_line(unread.unwrap_or_default()));
        }
        let left_out = if is_unsupported { problem_count } else { checked.failures.len() };
        notes.extend(card::left_out_line(left_out));
        let text = match is_unsupported || is_empty {
            true => "I don't know: the documents I can use here don't say.".to_owned(),
            false => checked.text,
        };
        let rows = (!rows.is_empty()).then(|| serde_json::to_value(rows).unwrap_or_default());
        Verdict::Send { text, notes, buttons, rows }
    }

    async fn write(&self, conn: &mut PgConnection, run: &AnsweredRun, rows: &Value) -> sqlx::Result<()> {
        let rows = Vec::<CitationRow>::deserialize(rows).map_err(|e| sqlx::Error::Decode(e.into()))?;
        for row in &rows {
            sql::insert_citation(conn, run, row).await?;
        }
        Ok(())
    }
}

/// Returns the line below an answer that cites nothing: where Nod looked.
fn uncited_line(loaded: &Loaded) -> Option<String> {
    if !loaded.passages.is_empty() {
        let places = loaded.passages.iter().map(|passage| (passage.title.as_str(), passage.place.as_str()));
        return Some(card::looked_up_line(places));
    }
    if loaded.searches.iter().any(|search| search.found > 0) {
        return Some("The documents I looked at have changed since then.".to_owned());
    }
    let search = loaded.searches.iter().find(|search| search.documents > 0 && search.query.is_some())?;
    Some(card::nothing_found_line(search.query.as_deref()?, search.documents, search.by_words_alone))
}

/// Returns the line below an answer that nothing supports: what was searched, and what fits it best.
fn nearest_line(loaded: &Loaded) -> Option<String> {
    let nearest = loaded.passages.first()?;
    let queries: Vec<&str> = loaded.searches.iter().filter_map(|search| search.query.as_deref()).collect();
    let documents = loaded.searches.iter().map(|search| search.documents).max().unwrap_or_default();
    Some(card::nearest_line(&queries, documents, &nearest.title, &nearest.place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn verdict(text: &str, may_retry: bool) -> Verdict {
        let passage = json!({
            "handle": "p3f2a91", "run": Uuid::nil(), "chunk": Uuid::nil(), "document": Uuid::nil(), "generation": 1,
            "channel": null, "person": Uuid::nil(), "title": "handbook.md", "place": "Leave",
            "text": "Everybody has 25 days of leave.",
        });
        let search = json!({ "query": "leave", "documents": 1, "by_words_alone": false, "found": 1 });
        verdict_on(text, &json!({ "passages": [passage], "searches": [search] }), &[], may_retry)
    }

    fn verdict_on(text: &str, loaded: &Value, tools: &[&str], may_retry: bool) -> Verdict {
        let answer = CheckedAnswer {
            text,
            question: "how much leave?",
            tools,
            audience: Audience::Channel,
            may_retry,
        };
        CitationCheck.check(&answer, loaded)
    }

    #[test]
    fn what_fails_is_sent_back_once_and_then_left_out() {
        let wrong = "You have 28 days [p3f2a91 \"28 days of leave\"].";
        let Verdict::Retry { problems, .. } = verdict(wrong, true) else { panic!("it was sent") };
        assert!(
            problems[0].contains("“28 days of leave” does not stand in the passage p3f2a91"),
            "{problems:?}"
        );
        let Verdict::Send { text, notes, buttons, rows } = verdict(wrong, false) else {
            panic!("sent back twice")
        };
        assert_eq!(text, "I don't know: the documents I can use here don't say.");
        assert_eq!(notes[0], "Searched 1 document for “leave”. Nearest: handbook.md · Leave.");
        assert!(notes.iter().any(|note| note.contains("left out 1 sentence")), "{notes:?}");
        assert!(buttons.is_empty() && rows.is_none());
    }

    #[test]
    fn what_no_passage_says_is_sent_back_once_and_then_marked() {
        let answer = "25 days [p3f2a91 \"25 days\"]. You can also fly first class to Rome.";
        let Verdict::Retry { problems, .. } = verdict(answer, true) else { panic!("it was sent") };
        let problem =
            "“You can also fly first class to Rome.”: nothing is cited for it, and no passage says it";
        assert_eq!(problems, [problem]);
        let Verdict::Send { text, notes, .. } = verdict(answer, false) else { panic!("sent back twice") };
        assert_eq!(text, "25 days [1]. *You can also fly first class to Rome.* (not in the documents)");
        assert_eq!(notes, ["[1] handbook.md · Leave"]);
    }

    #[test]
    fn an_answer_that_nothing_supports_is_replaced() {
        for text in ["Yes, they do.", "Lunch is free for visitors and staff.", "Yes. Do you want more?"] {
            assert!(matches!(verdict(text, true), Verdict::Retry { .. }), "{text}");
            let Verdict::Send { text: shown, notes, .. } = verdict(text, false) else { panic!("{text}") };
            assert!(shown.starts_with("I don't know: "), "{shown}");
            assert!(notes[0].contains("Nearest: handbook.md"), "{notes:?}");
        }
        for text in ["The documents do not say who cooks.", "Which year do you mean?", ""] {
            let Verdict::Send { text: shown, notes, .. } = verdict(text, true) else { panic!("{text}") };
            assert_eq!((shown.as_str(), notes.len()), (text, 1));
            assert!(notes[0].starts_with("Looked at handbook.md"), "{notes:?}");
        }
    }

    #[test]
    fn where_nothing_was_found_nothing_is_claimed() {
        let searched = |documents: u32, found: u32| {
            let search =
                json!({ "query": "leave", "documents": documents, "by_words_alone": false, "found": found });
            json!({ "passages": [], "searches": [search] })
        };
        let claim = "Everybody has 30 days of leave.";
        let unknown = "I don't know: the documents I can use here don't say.";
        let (nothing, changed) =
            ("Searched 3 documents for “leave” and found nothing.", "The documents I looked at have changed");
        for (text, loaded, shown, note) in [
            (claim, searched(3, 0), unknown, Some(nothing)),
            ("Yes.", searched(3, 0), unknown, Some(nothing)),
            ("30 days [p3f2a91 \"30 days\"].", searched(3, 0), unknown, Some(nothing)),
            (claim, searched(3, 2), unknown, Some(changed)),
            ("I found no rule about it.", searched(3, 0), "I found no rule about it.", Some(nothing)),
            // Where there is no document, nobody takes it for what one says.
            ("To keep a document, drop it here.", searched(0, 0), "To keep a document, drop it here.", None),
        ] {
            let is_sent_back = matches!(verdict_on(text, &loaded, &[], true), Verdict::Retry { .. });
            assert_eq!(is_sent_back, shown == unknown, "{text}");
            let Verdict::Send { text: said, notes, .. } = verdict_on(text, &loaded, &[], false) else {
                panic!("{text}")
            };
            assert_eq!(said, shown, "{text}");
            assert_eq!(
                notes.first().map(|said| note.is_some_and(|note| said.starts_with(note))),
                note.map(|_| true),
                "{notes:?}"
            );
        }
        let contents = json!({ "query": null, "documents": 1, "by_words_alone": false, "found": 0 });
        let loaded = json!({ "passages": [], "searches": [contents] });
        let said = "It has a part about leave and one about travel.";
        let Verdict::Send { text, .. } = verdict_on(said, &loaded, &[], true) else {
            panic!("it was sent back")
        };
        assert_eq!(text, said);
        // A mail may say it.
        let Verdict::Send { text, .. } = verdict_on(claim, &searched(3, 0), &["gmail_list_recent"], true)
        else {
            panic!("it was sent back")
        };
        assert_eq!(text, claim);
    }

    #[test]
    fn what_holds_has_its_source() {
        let Verdict::Send { text, notes, buttons, rows } = verdict("25 days [p3f2a91 \"25 days\"].", true)
        else {
            panic!("it was sent back")
        };
        assert_eq!((text.as_str(), notes.len(), buttons.len()), ("25 days [1].", 1, 1));
        assert_eq!(notes[0], "[1] handbook.md · Leave");
        assert_eq!(rows.unwrap()[0]["quote"], "25 days");
    }
}
