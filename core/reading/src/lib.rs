//! Reads documents of others, in a process that can do nothing else (`nod parse`). Whatever a document holds ends that
//! process at worst: it is given bytes and gives back text, and never opens a file, a socket or another program.

mod child;
mod docx;
mod html;
mod limits;
mod mail;
mod pdf;
mod sink;

use nod_contract::wire::{Block, Done, Failure, Kind, Request};

pub use child::main;
use sink::Sink;

/// Reads one document and hands on its blocks.
///
/// # Errors
/// When it has no words for us.
pub fn read(request: &Request, bytes: &[u8], out: &mut dyn FnMut(Block)) -> Result<Done, Failure> {
    let mut sink = Sink::new(request, out);
    match request.kind {
        Kind::Pdf => pdf::read(bytes, &mut sink),
        Kind::Docx => docx::read(bytes, &mut sink),
        kind @ (Kind::Html | Kind::Description | Kind::Signature) => html::read(kind, bytes, &mut sink),
        Kind::Mail => mail::read(bytes, &mut sink),
        Kind::Draft => mail::draft(bytes, &mut sink),
    }
}

#[cfg(test)]
mod tests {
    use nod_contract::wire::Cut;

    use super::*;

    /// Bytes of text that tests ask for.
    pub(crate) const MOST_OUT: usize = 20_000;

    /// The words of a document, and why not all of them are there.
    pub(crate) fn words(kind: Kind, bytes: &[u8]) -> Result<(String, Option<Cut>), Failure> {
        let (blocks, cut) = blocks(kind, bytes)?;
        let text = |block| match block {
            Block::Text { text, .. } => text,
            other => panic!("{other:?}"),
        };
        Ok((blocks.into_iter().map(text).collect(), cut))
    }

    /// Its blocks, and why not all of them are there.
    pub(crate) fn blocks(kind: Kind, bytes: &[u8]) -> Result<(Vec<Block>, Option<Cut>), Failure> {
        let mut blocks = Vec::new();
        let request = Request {
            kind,
            name: String::new(),
            length: bytes.len(),
            most_pages: 200,
            most_bytes_out: MOST_OUT,
            seconds: 10,
        };
        let done = read(&request, bytes, &mut |block| blocks.push(block))?;
        Ok((blocks, done.cut))
    }
}
