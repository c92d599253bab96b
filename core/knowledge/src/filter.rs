//! Which documents a search is about, if not all: those of a title, of a kind, or changed at some time.

use chrono::NaiveDate;
use nod_people::attachment::TextFormat;
use serde::Deserialize;
use uuid::Uuid;

use crate::document::Document;

/// What a document is. People and models name it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Pdf,
    Docx,
    Html,
    Markdown,
    Text,
    Csv,
}

impl Kind {
    /// Returns what the name of a document claims, or else its media type.
    fn of_document(document: &Document) -> Self {
        let ending = document.title.rsplit_once('.').map(|(_, ending)| ending.trim().to_lowercase());
        match (ending.as_deref(), document.media_type.as_str()) {
            (Some("pdf"), _) | (_, "application/pdf") => Self::Pdf,
            (Some("docx"), _) => Self::Docx,
            (_, media_type) if media_type.contains("wordprocessingml") => Self::Docx,
            _ => match TextFormat::of_file(&document.title, &document.media_type) {
                TextFormat::Html => Self::Html,
                TextFormat::Markdown => Self::Markdown,
                TextFormat::Table => Self::Csv,
                TextFormat::Plain => Self::Text,
            },
        }
    }
}

/// Which documents are meant; an empty one means all.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct Filter {
    document: Option<String>,
    kind: Option<Kind>,
    changed_since: Option<NaiveDate>,
    changed_until: Option<NaiveDate>,
}

impl Filter {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns those of the documents that are meant and can be found.
    pub(crate) fn select(&self, documents: &[Document]) -> Vec<Uuid> {
        let titled = self.document.as_ref().map(|wanted| {
            let titles: Vec<&str> = documents.iter().map(|document| document.title.as_str()).collect();
            match_titles(&titles, wanted)
        });
        let is_meant = |(at, document): &(usize, &Document)| {
            let Some(changed) = document.published_at.map(|at| at.date_naive()) else { return false };
            titled.as_ref().is_none_or(|titled| titled.contains(at))
                && self.kind.is_none_or(|kind| Kind::of_document(document) == kind)
                && self.changed_since.is_none_or(|since| changed >= since)
                && self.changed_until.is_none_or(|until| changed <= until)
        };
        documents.iter().enumerate().filter(is_meant).map(|(_, document)| document.id).collect()
    }
}

/// Returns the titles that fit best: the same, the same without the ending, those that contain it.
pub(crate) fn match_titles(titles: &[&str], wanted: &str) -> Vec<usize> {
    let wanted = wanted.trim().to_lowercase();
    let without_ending = |title: &str| title.rsplit_once('.').map_or(title, |(name, _)| name).to_owned();
    let fits: [&dyn Fn(&str) -> bool; 3] =
        [&|title| title == wanted, &|title| without_ending(title) == wanted, &|title| {
            !wanted.is_empty() && title.contains(&wanted)
        }];
    let found = fits.iter().map(|fits| {
        let fitting = titles.iter().enumerate().filter(|(_, title)| fits(&title.to_lowercase()));
        fitting.map(|(at, _)| at).collect::<Vec<_>>()
    });
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use nod_contract::clock::Timestamp;
    use nod_contract::vector_store::Reader;
    use serde_json::json;

    use super::*;
    use crate::document::Status;

    #[test]
    fn a_title_is_matched_as_people_write_it() {
        let titles = ["Handbook.md", "handbook.pdf", "Handbook", "Travel policy 2026.docx", "v1.2 notes"];
        for (wanted, expected) in [
            ("handbook.md", vec![0]),
            ("HANDBOOK", vec![2]),
            ("travel policy 2026", vec![3]),
            (" Travel policy ", vec![3]),
            ("handb", vec![0, 1, 2]),
            ("v1.2 notes", vec![4]),
            ("offer", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(match_titles(&titles, wanted), expected, "{wanted}");
        }
        assert_eq!(match_titles(&titles[..2], "handbook"), [0, 1]);
    }

    fn document(title: &str, media_type: &str, published: &str) -> Document {
        Document {
            id: Uuid::from_u128(title.len() as u128),
            title: title.to_owned(),
            reader: Reader::Everyone,
            added_by: None,
            platform: "file".to_owned(),
            url: String::new(),
            media_type: media_type.to_owned(),
            delivery: None,
            generation: 1,
            wanted_generation: 1,
            digest: None,
            wanted_digest: None,
            chunk_count: 1,
            status: Status::Indexed,
            reason: None,
            updated_at: Timestamp::default(),
            published_at: format!("{published}T12:00:00Z").parse().ok(),
        }
    }

    #[test]
    fn what_is_meant_is_selected() {
        let documents = [
            document("handbook.pdf", "application/octet-stream", "2026-03-01"),
            document("Handbook.docx", "", "2026-04-01"),
            document("wiki.acme.test/leave", "text/html; charset=utf-8", "2026-05-01"),
            document("notes.txt", "text/plain", "never"),
        ];
        for (filter, expected) in [
            (json!({}), vec![0, 1, 2]),
            (json!({ "document": "handbook" }), vec![0, 1]),
            (json!({ "document": "handbook", "kind": "pdf" }), vec![0]),
            (json!({ "kind": "html" }), vec![2]),
            (json!({ "changed_since": "2026-04-01" }), vec![1, 2]),
            (json!({ "changed_since": "2026-03-02", "changed_until": "2026-04-01" }), vec![1]),
            (json!({ "kind": "text" }), vec![]),
            (json!({ "document": "offer" }), vec![]),
        ] {
            let expected: Vec<Uuid> = expected.iter().map(|at: &usize| documents[*at].id).collect();
            let parsed = Filter::deserialize(&filter).unwrap();
            assert_eq!(parsed.select(&documents), expected, "{filter}");
        }
        assert!(Filter::deserialize(json!({ "changed_since": "March" })).is_err());
    }
}
