//! One reader: a process that is started and greets. Nothing that it says is believed: lines are bounded, and what is
//! not understood ends it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStdout, Command};

use super::wire::{Hello, Line, MOST_LINE};

/// What is started to read: called with `parse`.
#[derive(Debug, Clone)]
pub struct Program(PathBuf);

impl Program {
    /// That one, or the program that runs here.
    #[must_use]
    pub fn new(path: Option<&Path>) -> Self {
        Self(path.map_or_else(itself, Path::to_path_buf))
    }

    /// Starts a reader and hears what it could not do when it tried.
    ///
    /// # Errors
    /// When it does not start or does not greet.
    pub async fn try_out(&self) -> io::Result<Hello> {
        // Keys stand in the environment, so it has none. It dies with whoever waits for it, and by itself when the thread
        // that starts it ends: this must not be called from a thread that comes and goes.
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
        let first = next(&mut output, &mut { MOST_LINE }).await?;
        drop(input);
        match first {
            Some(Line::Hello { hello }) => Ok(hello),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// The file of the program that runs: on Linux also after an update has put another in its place.
fn itself() -> PathBuf {
    match cfg!(target_os = "linux") {
        true => PathBuf::from("/proc/self/exe"),
        false => std::env::current_exe().unwrap_or_default(),
    }
}

/// The next line; `None` where its output ended.
async fn next(output: &mut BufReader<ChildStdout>, left: &mut usize) -> io::Result<Option<Line>> {
    let most = MOST_LINE.min(*left);
    let mut line = Vec::new();
    output.take(most as u64).read_until(b'\n', &mut line).await?;
    *left -= line.len();
    match line.last() {
        None if most > 0 => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
