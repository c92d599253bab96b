//! Reads untrusted documents, in a process that can do nothing else (`nod parse`). At worst a document ends that
//! process, which receives bytes and returns text, and never opens a file, a socket or another program.

mod child;
mod docx;
mod html;
mod html_file;
mod limits;
mod mail;
mod markdown;
mod pdf;
mod sink;
mod table;

use nod_contract::wire::{Block, Done, Failure, Kind, Request};

pub use child::main;
use sink::Sink;

/// Reads one document and passes its blocks to `out`.
///
/// # Errors
/// If no text can be read from the document.
pub fn read(request: &Request, bytes: &[u8], out: &mut dyn FnMut(Block)) -> Result<Done, Failure> {
    let mut sink = Sink::new(request, out);
    match request.kind {
        Kind::Pdf => pdf::read(bytes, &mut sink),
        Kind::Docx => docx::read(bytes, &mut sink),
        kind @ (Kind::Html | Kind::Description | Kind::Signature) => html::read(kind, bytes, &mut sink),
        Kind::HtmlFile => html_file::read(bytes, &mut sink),
        Kind::Markdown => markdown::read(bytes, &mut sink),
        Kind::Table => table::read(bytes, &mut sink),
        Kind::Mail => mail::read(bytes, &mut sink),
        Kind::Draft => mail::draft(bytes, &mut sink),
    }
}

#[cfg(test)]
mod tests {
    use nod_contract::wire::Cut;

    use super::*;

    /// How many bytes of text the tests request.
    pub(crate) const MAX_OUTPUT_BYTES: usize = 20_000;

    /// Returns the text of a document, and why it is incomplete.
    pub(crate) fn extract_text(kind: Kind, bytes: &[u8]) -> Result<(String, Option<Cut>), Failure> {
        let (blocks, cut) = blocks(kind, bytes)?;
        let text = |block| match block {
            Block::Text { text, .. } | Block::Heading { text, .. } => text,
            other => panic!("{other:?}"),
        };
        Ok((blocks.into_iter().map(text).collect(), cut))
    }

    /// Returns a line for each block: `2|Leave` for a heading, `Month=May|=120` for a row.
    pub(crate) fn outline(kind: Kind, bytes: &[u8]) -> Result<Vec<String>, Failure> {
        let line = |block: Block| match block {
            Block::Heading { level, text, .. } => format!("{level}|{}", text.trim_end()),
            Block::Row { head, cells } => {
                let names = head.iter().map(String::as_str).chain(std::iter::repeat(""));
                names.zip(&cells).map(|(name, cell)| format!("{name}={cell}")).collect::<Vec<_>>().join("|")
            }
            Block::Text { text, .. } | Block::Field { text, .. } => text,
        };
        Ok(blocks(kind, bytes)?.0.into_iter().map(line).collect())
    }

    /// Returns the blocks of a document, and why they are incomplete.
    pub(crate) fn blocks(kind: Kind, bytes: &[u8]) -> Result<(Vec<Block>, Option<Cut>), Failure> {
        let mut blocks = Vec::new();
        let request = Request {
            kind,
            name: String::new(),
            length: bytes.len(),
            most_pages: 200,
            most_bytes_out: MAX_OUTPUT_BYTES,
            seconds: 10,
        };
        let done = read(&request, bytes, &mut |block| blocks.push(block))?;
        Ok((blocks, done.cut))
    }
}
