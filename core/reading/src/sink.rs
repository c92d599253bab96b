//! Takes the text of a document and emits it in blocks of a bounded size, up to the requested amount.

use std::time::{Duration, Instant};

use nod_contract::wire::{Block, MAX_TEXT_BYTES, Request};

/// The longest heading that is read, in bytes.
const MAX_HEADING_BYTES: usize = 1024;

pub(crate) struct Sink<'a> {
    out: &'a mut dyn FnMut(Block),
    left: usize,
    pub(crate) most_pages: usize,
    until: Instant,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(request: &Request, out: &'a mut dyn FnMut(Block)) -> Self {
        // A reader that can stop between two pages stops before the CPU limit would end the whole process.
        let until = Instant::now() + Duration::from_millis(request.seconds.min(600) * 400);
        Self { out, left: request.most_bytes_out, most_pages: request.most_pages, until }
    }

    /// Returns how many bytes of text are still wanted.
    pub(crate) fn remaining_bytes(&self) -> usize {
        self.left
    }

    /// Returns whether the time for this document has run out.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() > self.until
    }

    /// Emits a block that is small by itself. Returns false if it was too large or no longer wanted.
    pub(crate) fn block(&mut self, block: Block) -> bool {
        let size = block.size();
        let wanted = size <= self.left.min(MAX_TEXT_BYTES);
        if wanted {
            self.left -= size;
            (self.out)(block);
        }
        wanted
    }

    /// Emits a heading, cut to what fits into a block. Returns false if it was no longer wanted.
    pub(crate) fn heading(&mut self, level: u8, text: &str, page: Option<u32>) -> bool {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = &words[..words.floor_char_boundary(MAX_HEADING_BYTES)];
        words.is_empty() || self.block(Block::Heading { level, text: format!("{words}\n"), page })
    }

    /// Emits a row of a table; as text if it is too large for a block. Returns false if not all of it was wanted.
    pub(crate) fn row(&mut self, head: &[String], cells: Vec<String>) -> bool {
        let text = cells.join("; ") + "\n";
        let block = Block::Row { head: head.to_vec(), cells };
        if block.size() > MAX_TEXT_BYTES { self.text(&text, None) } else { self.block(block) }
    }

    /// Emits a text. Returns false if not all of it was wanted.
    pub(crate) fn text(&mut self, text: &str, page: Option<u32>) -> bool {
        let mut rest = &text[..text.floor_char_boundary(self.left)];
        let whole = rest.len() == text.len();
        self.left -= rest.len();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_TEXT_BYTES));
            (self.out)(Block::Text { text: piece.to_owned(), page });
            rest = after;
        }
        whole
    }
}
