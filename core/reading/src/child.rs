//! The reader process. It gives up what it does not need, reports that, and reads one document after another from its
//! standard input until the input ends.

use std::io::{self, BufRead, BufWriter, Read, Write};
use std::process::ExitCode;

use nod_contract::wire::{Block, Line, MAX_BYTES, MAX_REQUEST_BYTES, Request};

use crate::limits;

/// Reads documents until the input ends or cannot be parsed.
pub fn main() -> ExitCode {
    let (mut input, mut output) = (io::stdin().lock(), BufWriter::new(io::stdout().lock()));
    let hello = limits::confine();
    match serve(&mut input, &mut output, Line::Hello { hello }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(input: &mut dyn BufRead, output: &mut dyn Write, hello: Line) -> io::Result<()> {
    say(output, &hello)?;
    output.flush()?;
    while let Some(request) = next(input)? {
        if request.length > MAX_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; request.length];
        input.read_exact(&mut bytes)?;
        limits::allow(request.seconds);
        let mut said = Ok(());
        let mut out = |block: Block| {
            if said.is_ok() {
                said = say(output, &Line::Block(block));
            }
        };
        let read = crate::read(&request, &bytes, &mut out);
        said?;
        say(output, &read.map_or_else(|failed| Line::Failed { failed }, |done| Line::Done { done }))?;
        output.flush()?;
    }
    Ok(())
}

/// Returns the next request, or `None` at the end of the input.
fn next(input: &mut dyn BufRead) -> io::Result<Option<Request>> {
    let mut line = Vec::new();
    input.take(MAX_REQUEST_BYTES as u64).read_until(b'\n', &mut line)?;
    match line.is_empty() {
        true => Ok(None),
        false => Ok(Some(serde_json::from_slice(&line)?)),
    }
}

fn say(output: &mut dyn Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *output, line)?;
    output.write_all(b"\n")
}
