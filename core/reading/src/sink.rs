//! Takes the text of a document and emits it in blocks of a bounded size, up to the requested amount.

use std::time::{Duration, Instant};

use nod_contract::wire::{Block, MAX_TEXT_BYTES, Request};

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
