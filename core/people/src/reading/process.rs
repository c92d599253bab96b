//! One reader: a process that is started, greets, and is given one document after another. Its output is not trusted:
//! lines, their number and their sum are bounded, and invalid output ends it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use nod_contract::wire::{Block, Done, Failure, Hello, Line, MAX_LINE_BYTES, Request};

/// Bytes that the lines of one document can have in addition to its escaped text.
const MAX_OVERHEAD_BYTES: usize = 1024 * 1024;
/// How long a process whose output ended can take to exit.
const LINGERS: Duration = Duration::from_millis(500);

/// The program that reads, called with `parse`.
#[derive(Debug, Clone)]
pub struct Program(PathBuf);

impl Program {
    /// Uses that program, or the one that is running.
    #[must_use]
    pub fn new(path: Option<&Path>) -> Self {
        Self(path.map_or_else(itself, Path::to_path_buf))
    }

    /// Starts a reader and returns its greeting, which reports what was denied to it.
    ///
    /// # Errors
    /// If it does not start or does not greet.
    pub async fn try_out(&self) -> io::Result<Hello> {
        Ok(self.start().await?.hello)
    }

    pub(super) async fn start(&self) -> io::Result<Process> {
        // Keys are in the environment, so the process gets an empty one. It dies with the task that waits for it, and
        // by itself when the thread that starts it ends: this must not be called from a short-lived thread.
        let mut child = Command::new(&self.0)
            .arg0("nod")
            .arg("parse")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut output = BufReader::new(output);
        match next(&mut output, &mut { MAX_LINE_BYTES }).await? {
            Some(Line::Hello { hello }) => Ok(Process { child, input, output, hello }),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Returns the file of the running program; on Linux also after an update has replaced it.
fn itself() -> PathBuf {
    match cfg!(target_os = "linux") {
        true => PathBuf::from("/proc/self/exe"),
        false => std::env::current_exe().unwrap_or_default(),
    }
}

/// A running reader.
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(super) hello: Hello,
}

/// The result of a document.
pub(super) enum Answer {
    Read(Vec<Block>, Done),
    Failed(Failure),
    /// The reader has ended.
    Died(ExitStatus),
}

impl Process {
    /// Returns whether it still runs.
    pub(super) fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Gives it a document and returns its answer. A caller that stops waiting drops the process, because its next
    /// answer would be for this document.
    pub(super) async fn read(&mut self, request: &Request, bytes: &[u8]) -> io::Result<Answer> {
        match self.exchange(request, bytes).await {
            Ok(Some(answer)) => Ok(answer),
            // It ended in the middle; its exit status tells why.
            Ok(None) | Err(_) => Ok(Answer::Died(self.wait_for_exit().await?)),
        }
    }

    async fn exchange(&mut self, request: &Request, bytes: &[u8]) -> io::Result<Option<Answer>> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.input.write_all(&line).await?;
        self.input.write_all(bytes).await?;
        self.input.flush().await?;
        let (mut blocks, mut size) = (Vec::new(), 0);
        // JSON can write a byte as six.
        let mut left = request.most_bytes_out.saturating_mul(6) + MAX_OVERHEAD_BYTES;
        loop {
            match next(&mut self.output, &mut left).await? {
                Some(Line::Block(block)) => {
                    size += block.size();
                    if size > request.most_bytes_out {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    blocks.push(block);
                }
                Some(Line::Done { done }) => return Ok(Some(Answer::Read(blocks, done))),
                Some(Line::Failed { failed }) => return Ok(Some(Answer::Failed(failed))),
                Some(Line::Hello { .. }) => return Err(io::ErrorKind::InvalidData.into()),
                None => return Ok(None),
            }
        }
    }

    /// Returns how it ended.
    ///
    /// # Errors
    /// If it has not: then its output was not understood, and it is killed.
    async fn wait_for_exit(&mut self) -> io::Result<ExitStatus> {
        let Ok(ended) = tokio::time::timeout(LINGERS, self.child.wait()).await else {
            self.child.start_kill()?;
            return Err(io::ErrorKind::InvalidData.into());
        };
        ended
    }
}

/// Returns the next line; `None` if the output ended.
async fn next(output: &mut BufReader<ChildStdout>, left: &mut usize) -> io::Result<Option<Line>> {
    let most = MAX_LINE_BYTES.min(*left);
    let mut line = Vec::new();
    output.take(most as u64).read_until(b'\n', &mut line).await?;
    *left -= line.len();
    match line.last() {
        None if most > 0 => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
