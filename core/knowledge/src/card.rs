//! What people see of a document.

use sqlx::PgConnection;
use uuid::Uuid;

use crate::document::{Document, ReadVersion, Status};
use nod_contract::card::{Action, Block, Button, Card, OnClick, Style};
use nod_contract::chat::Attachment;
use nod_contract::clock::Timestamp;
use nod_contract::ids::TenantId;
use nod_contract::vector_store::Reader;
use nod_people::delivery;

/// The actions of the buttons.
pub(crate) const ASK_REMOVE: &str = "knowledge_ask_remove";
pub(crate) const REMOVE: &str = "knowledge_remove";
pub(crate) const READ_AGAIN: &str = "knowledge_read_again";
pub(crate) const SHOW_PASSAGE: &str = "knowledge_passage";

/// The most characters of a document's name that are shown.
const MAX_TITLE_CHARS: usize = 200;

pub(crate) fn shorten(title: &str) -> String {
    match title.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", &title[..end]),
        None => title.to_owned(),
    }
}

/// Shows a card in the message of a document, if it has one. Its lane is locked before the document's row, as everywhere.
pub(crate) async fn show(
    conn: &mut PgConnection,
    tenant: TenantId,
    document: &Document,
    card: &Card,
    now: Timestamp,
) -> sqlx::Result<()> {
    match document.delivery {
        Some(delivery) => delivery::update_card(conn, tenant, delivery, card, now).await,
        None => Ok(()),
    }
}

/// What a question about documents gets while the store of vectors is away.
pub(crate) const UNREACHABLE: &str = "I can't reach my index of documents right now. Nothing is lost.";

/// What somebody reads who has added a page of the web.
pub(crate) fn reading_page(title: &str) -> Card {
    Card::from_markdown("I'm reading this page. The list of documents shows when I'm done.")
        .with_block(Block::Fields(vec![("Document".to_owned(), shorten(title))]))
}

/// What somebody reads who picked a message without a file, or one in a channel that Nod does not know.
pub(crate) const NO_FILE: &str = "There's no file in that message, so I kept nothing.";
pub(crate) const NOT_HEARD_HERE: &str =
    "I kept nothing: no one has mentioned me in that channel yet. Mention me there once, then try again.";

/// What somebody reads who picked a message to keep its files: which of them are read, and why others are not. `command` is
/// that of the list.
pub(crate) fn reading_files(files: &[(&Attachment, Option<&str>)], command: &str) -> Card {
    let text = match files.iter().filter(|(_, problem)| problem.is_none()).count() {
        0 => "I kept nothing.".to_owned(),
        1 => format!("I'm reading this. Type `{command}` where you picked it to see when I'm done."),
        _ => format!("I'm reading these. Type `{command}` where you picked them to see when I'm done."),
    };
    let line = |(file, problem): &(&Attachment, Option<&str>)| {
        let status = problem.map_or("reading".to_owned(), |problem| format!("not kept: {problem}"));
        (shorten(&file.name), status)
    };
    Card::from_markdown(text).with_block(Block::Fields(files.iter().map(line).collect()))
}

/// What a list says if there is nothing to list.
pub(crate) const NO_DOCUMENTS: &str =
    "I don't know any documents here. Drop a file and say “keep this” with it.";

/// The message while a document is read.
pub(crate) fn indexing(title: &str) -> Card {
    Card::from_markdown("I'm reading this. You can ask me about it once I'm done.")
        .with_block(Block::Fields(vec![("Document".to_owned(), shorten(title))]))
}

/// The message while a document is read again.
pub(crate) fn rereading(document: &Document) -> Card {
    let meanwhile = if document.generation > 0 { "Until then I go by what I read before." } else { "" };
    Card::from_markdown(format!("I'm reading this again. {meanwhile}").trim_end())
        .with_block(Block::Fields(vec![("Document".to_owned(), shorten(&document.title))]))
}

/// The message while the embedding model works: how many passages it has done.
pub(crate) fn embedding(title: &str, done: i64, all: i64) -> Card {
    let fields = [("Document", shorten(title)), ("Passages", format!("{done} of {all}"))];
    Card::from_markdown("I've read this, and now I'm indexing it. You can ask me about it once I'm done.")
        .with_block(Block::Fields(fields.map(|(name, text)| (name.to_owned(), text)).to_vec()))
}

/// The message when its text can be found.
pub(crate) fn indexed(document: &Document, version: &ReadVersion, chunk_count: i32) -> Card {
    let size = match (version.pages, chunk_count) {
        (Some(1), 1) => "1 page, 1 passage".to_owned(),
        (Some(1), n) => format!("1 page, {n} passages"),
        (Some(pages), 1) => format!("{pages} pages, 1 passage"),
        (Some(pages), n) => format!("{pages} pages, {n} passages"),
        (None, 1) => "1 passage".to_owned(),
        (None, n) => format!("{n} passages"),
    };
    let text = match &document.digest {
        Some(earlier) if *earlier == version.digest => "I've read this again. Ask me about it.",
        Some(_) => "I've read the new version. It replaces the earlier one.",
        None => "I've read this. Ask me about it.",
    };
    let fields = vec![("Document".to_owned(), shorten(&document.title)), ("Read".to_owned(), size)];
    let mut card = Card::from_markdown(text).with_block(Block::Fields(fields));
    if version.is_partial {
        card = card.with_block(Block::Note(
            "It's longer than I can read: I don't know what comes after that.".to_owned(),
        ));
    }
    card.with_button("Remove", Style::Plain, OnClick::Action(Action::new(ASK_REMOVE, document.id)))
}

/// The message if a document cannot be read. `reason` is the end of a sentence.
pub(crate) fn failed(document: &Document, reason: &str) -> Card {
    let then =
        if document.generation > 0 { "I still have the earlier version." } else { "I kept nothing of it." };
    Card::from_markdown(format!("I couldn't read this: {reason}. {then}"))
        .with_block(Block::Fields(vec![("Document".to_owned(), shorten(&document.title))]))
        .with_button("Try again", Style::Plain, OnClick::Action(Action::new(READ_AGAIN, document.id)))
        .with_button("Remove", Style::Plain, OnClick::Action(Action::new(ASK_REMOVE, document.id)))
}

/// The message for a file that becomes no document. `reason` is the end of a sentence.
pub(crate) fn not_kept(title: &str, reason: &str) -> Card {
    Card::from_markdown(format!("I couldn't read this: {reason}. I kept nothing of it."))
        .with_block(Block::Fields(vec![("Document".to_owned(), shorten(title))]))
}

/// The message if a file says what a document here says already.
pub(crate) fn same_content(title: &str, existing: &str) -> Card {
    Card::from_markdown("I already have exactly this, so I kept nothing new.").with_block(Block::Fields(
        vec![("File".to_owned(), shorten(title)), ("Document".to_owned(), shorten(existing))],
    ))
}

/// The message of a version of which a newer one came before it was read.
pub(crate) fn superseded(title: &str) -> Card {
    Card::from_markdown("A newer version came before I'd read this one.")
        .with_block(Block::Fields(vec![("Document".to_owned(), shorten(title))]))
}

/// The message of a document that was removed.
pub(crate) fn removed(title: &str) -> Card {
    Card::from_markdown("Removed. I've forgotten what it said.")
        .with_block(Block::Fields(vec![("Document".to_owned(), shorten(title))]))
}

/// The line below an answer that says what `[1]` stands for.
pub(crate) fn source_line(number: usize, title: &str, place: &str) -> String {
    let title = shorten(title);
    if place.is_empty() { format!("[{number}] {title}") } else { format!("[{number}] {title} · {place}") }
}

/// The button that shows a cited passage.
pub(crate) fn source_button(number: usize, title: &str, citation: Uuid) -> Button {
    Button {
        label: format!("[{number}] {}", shorten(title)),
        style: Style::Plain,
        on_click: OnClick::Action(Action::new(SHOW_PASSAGE, citation)),
    }
}

/// The line below an answer that cites nothing, though passages were found.
pub(crate) fn looked_up_line<'a>(passages: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut documents: Vec<(&str, Vec<&str>)> = Vec::new();
    for (title, place) in passages {
        let known = documents.iter().position(|(other, _)| *other == title);
        let at = known.unwrap_or_else(|| {
            documents.push((title, Vec::new()));
            documents.len() - 1
        });
        if !place.is_empty() && !documents[at].1.contains(&place) {
            documents[at].1.push(place);
        }
    }
    let named = documents.into_iter().map(|(title, places)| {
        let title = shorten(title);
        if places.is_empty() { title } else { format!("{title} ({})", places.join(", ")) }
    });
    let named = named.collect::<Vec<_>>().join(" and ");
    format!("Looked at {named}. The answer quotes none of it.")
}

/// The line below an answer to which no passage was found.
pub(crate) fn nothing_found_line(query: &str, documents: usize, by_words_alone: bool) -> String {
    let words = if by_words_alone { "the words of " } else { "" };
    format!("Searched {words}{} for “{query}” and found nothing.", document_count(documents))
}

/// The line below an answer that cites nothing while documents were still being read.
pub(crate) fn unread_line(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("I'm still reading 1 document, so I couldn't look there.".to_owned()),
        n => Some(format!("I'm still reading {n} documents, so I couldn't look there.")),
    }
}

/// The line below an answer that no passage supports: what was searched, and the passage that fits it best.
pub(crate) fn nearest_line(queries: &[&str], documents: usize, title: &str, place: &str) -> String {
    /// The most queries that are named.
    const MAX_QUERIES: usize = 3;
    let last = queries.len().saturating_sub(MAX_QUERIES);
    let queries: Vec<String> = queries[last..].iter().map(|query| format!("“{query}”")).collect();
    let title = shorten(title);
    let place = if place.is_empty() { title } else { format!("{title} · {place}") };
    if queries.is_empty() {
        return format!("Read {place}.");
    }
    format!("Searched {} for {}. Nearest: {place}.", document_count(documents), queries.join(", "))
}

fn document_count(count: usize) -> String {
    if count == 1 { "1 document".to_owned() } else { format!("{count} documents") }
}

/// The line below an answer of which sentences were left out.
pub(crate) fn left_out_line(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("I left out 1 sentence that the documents don't support.".to_owned()),
        n => Some(format!("I left out {n} sentences that the documents don't support.")),
    }
}

/// A cited passage, for whoever opens it.
pub(crate) fn passage(title: &str, place: &str, quote: &str, text: Option<&str>) -> Card {
    /// The most characters of a passage that are shown.
    const MAX_SHOWN_CHARS: usize = 2_500;
    let mut fields = vec![("Document".to_owned(), shorten(title))];
    fields.extend((!place.is_empty()).then(|| ("Where".to_owned(), place.to_owned())));
    fields.extend((!quote.is_empty()).then(|| ("Cited".to_owned(), quote.to_owned())));
    let card = Card::default().with_block(Block::Fields(fields));
    match text {
        Some(text) => card.with_block(Block::Literal(text.chars().take(MAX_SHOWN_CHARS).collect())),
        None => card.with_block(Block::Note(
            "I can only show what was quoted: the document has changed, or belongs to a channel.".to_owned(),
        )),
    }
}

/// Returns whose a document is, for a list.
pub(crate) fn reader_text(reader: Reader) -> &'static str {
    match reader {
        Reader::Everyone => "everyone's",
        Reader::Channel(_) => "a channel's",
        Reader::Person(_) => "yours",
    }
}

/// Asks which of several documents of one title is to be removed or read again.
pub(crate) fn ask_which(documents: &[&Document], is_again: bool) -> Card {
    /// The most documents that are offered.
    const MAX_OFFERED: usize = 5;
    let (question, kind) = match is_again {
        true => ("Several documents have that name. Which one should I read again?", READ_AGAIN),
        false => ("Several documents have that name. Which one should I remove?", ASK_REMOVE),
    };
    let mut card = Card::from_markdown(question);
    if let Some(more) = documents.len().checked_sub(MAX_OFFERED).filter(|more| *more > 0) {
        card = card.with_block(Block::Note(format!("and {more} more, listed in their own channels")));
    }
    documents.iter().take(MAX_OFFERED).fold(card, |card, document| {
        let label = format!("{} ({})", shorten(&document.title), reader_text(document.reader));
        card.with_button(&label, Style::Plain, OnClick::Action(Action::new(kind, document.id)))
    })
}

/// Asks whether to remove a document.
pub(crate) fn ask_remove(document: &Document) -> Card {
    let whose = match document.reader {
        Reader::Everyone => "Everyone's",
        Reader::Channel(_) => "The channel's",
        Reader::Person(_) => "Yours alone",
    };
    let fields = [("Document", shorten(&document.title)), ("Whose", whose.to_owned())];
    Card::from_markdown("Remove this document? I'll forget what it says.")
        .with_block(Block::Fields(fields.map(|(name, text)| (name.to_owned(), text)).to_vec()))
        .with_button("Yes, remove it", Style::Danger, OnClick::Action(Action::new(REMOVE, document.id)))
}

/// The list of the documents here. What stands still comes first.
pub(crate) fn list(mut documents: Vec<Document>, now: Timestamp) -> Card {
    /// The most documents that are listed.
    const MAX_LISTED: usize = 20;
    documents.sort_by_key(|document| document.status != Status::Failed && !document.is_stuck(now));
    let line = |document: &Document| {
        let whose = reader_text(document.reader);
        (shorten(&document.title), format!("{whose}, {}", status_text(document, now)))
    };
    let mut card = Card::from_markdown("The documents I know here:")
        .with_block(Block::Fields(documents.iter().take(MAX_LISTED).map(line).collect()));
    if let Some(more) = documents.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        card = card.with_block(Block::Note(format!("and {more} more")));
    }
    card
}

/// Returns how far a document is, for a list.
pub(crate) fn status_text(document: &Document, now: Timestamp) -> String {
    let since = elapsed(document.updated_at, now);
    match (document.status, document.chunk_count) {
        (Status::Indexing, _) if document.is_stuck(now) => {
            format!("stuck: I started reading it {since} ago")
        }
        (Status::Indexing, _) => "reading".to_owned(),
        (Status::Failed, _) => {
            let reason = document.reason.as_deref().unwrap_or("I couldn't read it");
            format!("failed: {reason} ({since} ago)")
        }
        (Status::Indexed, 1) => "1 passage".to_owned(),
        (Status::Indexed, n) => format!("{n} passages"),
    }
}

/// Returns the time that has passed: "12 minutes".
fn elapsed(from: Timestamp, now: Timestamp) -> String {
    let passed = now - from;
    let (count, unit) = match (passed.num_days(), passed.num_hours(), passed.num_minutes()) {
        (days @ 1.., ..) => (days, "day"),
        (_, hours @ 1.., _) => (hours, "hour"),
        (_, _, minutes) => (minutes.max(1), "minute"),
    };
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}
