//! A person at a terminal in which `nod chat` runs: a real pseudo-terminal, with keys and a screen.

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pty_process::{Command, OwnedWritePty, Size, open};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::max_wait;

/// The terminal.
pub struct Terminal {
    pty_writer: OwnedWritePty,
    child: Child,
    screen: Arc<Mutex<String>>,
    reader_task: JoinHandle<()>,
    /// The position up to which the screen was read.
    read_offset: usize,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.reader_task.abort();
    }
}

impl Terminal {
    /// Starts `binary chat --as who` with only these variables set, in Nod's data directory.
    #[must_use]
    pub fn open(binary: &str, who: &str, env: &BTreeMap<String, String>) -> Self {
        let (pty, pts) = open().unwrap_or_else(|e| panic!("a terminal: {e}"));
        pty.resize(Size::new(50, 200)).unwrap_or_else(|e| panic!("its size: {e}"));
        let keep = ["PATH", "HOME"].into_iter().filter_map(|n| Some((n.to_owned(), std::env::var(n).ok()?)));
        let child = Command::new(binary)
            .args(["chat", "--as", who])
            .env_clear()
            .envs(keep)
            .envs(env.clone())
            .env("TERM", "xterm")
            .current_dir(&env["NOD_DATA__DIR"])
            .kill_on_drop(true)
            .spawn(pts)
            .unwrap_or_else(|e| panic!("{binary}: {e}"));
        let (mut output, keys) = pty.into_split();
        let screen = Arc::<Mutex<String>>::default();
        let shown = screen.clone();
        let reading = tokio::spawn(async move {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes).await {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                shown.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
            }
        });
        Self { pty_writer: keys, child, screen, reader_task: reading, read_offset: 0 }
    }

    /// Presses these keys.
    pub async fn press_keys(&mut self, keys: &str) {
        self.pty_writer.write_all(keys.as_bytes()).await.unwrap_or_else(|e| panic!("keys: {e}"));
    }

    /// Types a line.
    pub async fn type_line(&mut self, line: &str) {
        self.press_keys(&format!("{line}\r")).await;
    }

    /// Waits until the screen shows these words after those that were read before, and marks them as read.
    pub async fn wait_for_text(&mut self, words: &str) {
        self.read_offset = self.find_text(words).await;
    }

    /// Waits until the screen shows these words without marking them as read. Returns where they end.
    pub async fn find_text(&self, words: &str) -> usize {
        let until = Instant::now() + max_wait();
        loop {
            let screen = self.screen_text();
            if let Some(at) = screen[self.read_offset..].find(words) {
                return self.read_offset + at + words.len();
            }
            assert!(
                Instant::now() < until,
                "“{words}” never came. On the screen:\n{}",
                &screen[self.read_offset..]
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Types the number of the newest button with this label, as that of any current one: the card may just be shown
    /// again with other numbers, and a bare number would then be an answer to it.
    pub async fn click(&mut self, label: &str) {
        let screen = self.screen_text();
        let at = screen.rfind(&format!("] {label}")).unwrap_or_else(|| panic!("no [{label}]:\n{screen}"));
        let number: String = screen[..at].chars().rev().take_while(char::is_ascii_digit).collect();
        let number: String = number.chars().rev().collect();
        self.type_line(&format!("!{number}")).await;
    }

    /// Returns everything that was shown, without cursor movements and colours.
    #[must_use]
    pub fn screen_text(&self) -> String {
        strip_escapes(&self.screen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends SIGKILL.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap_or_else(|e| panic!("kill: {e}"));
    }

    /// Presses Ctrl-D and returns the exit status.
    pub async fn close(mut self) -> ExitStatus {
        let until = Instant::now() + max_wait();
        loop {
            // A key pressed between two lines, when no process reads keys, is lost, so Ctrl-D is pressed again. The
            // write fails if the program has ended meanwhile.
            let _ = self.pty_writer.write_all(b"\x04").await;
            if let Ok(ended) = tokio::time::timeout(Duration::from_secs(2), self.child.wait()).await {
                return ended.unwrap_or_else(|e| panic!("{e}"));
            }
            assert!(Instant::now() < until, "it does not end:\n{}", self.screen_text());
        }
    }
}

/// Removes escape sequences.
fn strip_escapes(screen: &str) -> String {
    let mut text = String::with_capacity(screen.len());
    let mut letters = screen.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' if letters.next_if_eq(&'[').is_some() => {
                while letters.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
                letters.next();
            }
            '\r' => {}
            _ => text.push(letter),
        }
    }
    text
}
