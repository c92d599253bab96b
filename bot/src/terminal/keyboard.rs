//! Line input with a history, and output above the line that is being typed. The editor waits for keys in its own
//! thread.

use std::path::PathBuf;
use std::sync::mpsc as std_mpsc;
use std::thread;

use anyhow::Context;
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Cmd, Editor, EventHandler, ExternalPrinter, KeyCode, KeyEvent, Modifiers};
use tokio::sync::mpsc;

use super::text::strip_control_chars;

/// An input of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// One or several lines.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    Closed,
}

/// A request for a line.
struct Prompt {
    words: String,
    /// Its initial text.
    initial: Option<String>,
}

/// The keyboard and the lines above it.
pub(super) struct Keyboard {
    prompts: std_mpsc::Sender<Prompt>,
    typed: mpsc::UnboundedReceiver<Input>,
    lines: std_mpsc::Sender<String>,
    /// The terminal's original settings; `None` if the input is not a terminal.
    saved_mode: Option<Termios>,
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // The editor may still wait for a key, and the shell needs its terminal settings back.
        if let Some(before) = &self.saved_mode {
            let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, before);
        }
    }
}

impl Keyboard {
    /// Takes over the terminal; lines typed at an empty prompt are saved in this file.
    pub(super) fn open(history: PathBuf) -> anyhow::Result<Self> {
        let before = tcgetattr(std::io::stdin()).ok();
        let mut editor: Editor<(), FileHistory> =
            Editor::new().context("no keyboard: nod chat needs a terminal")?;
        editor.set_max_history_size(500)?;
        // Inserts a line end; Enter without a modifier ends the input.
        let new_line = KeyEvent(KeyCode::Enter, Modifiers::ALT);
        editor.bind_sequence(new_line, EventHandler::Simple(Cmd::Newline));
        // The file does not exist on the first start.
        let _ = editor.load_history(&history);
        let mut printer = editor.create_external_printer().context("no screen: nod chat needs a terminal")?;
        let (lines, printed) = std_mpsc::channel::<String>();
        // A separate thread, because the printer waits for the editor, which could wait for the caller.
        thread::Builder::new().name("screen".to_owned()).spawn(move || {
            for text in printed {
                if let Err(error) = printer.print(text) {
                    tracing::error!(%error, "could not write to the terminal");
                }
            }
        })?;
        let (prompts, asked) = std_mpsc::channel::<Prompt>();
        let (told, typed) = mpsc::unbounded_channel();
        thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            for prompt in asked {
                let typed = read(&mut editor, &prompt);
                if prompt.initial.is_none()
                    && let Input::Line(line) = &typed
                    && editor.add_history_entry(line).is_ok_and(|new| new)
                {
                    let _ = editor.append_history(&history);
                }
                let over = typed == Input::Closed;
                if told.send(typed).is_err() || over {
                    return;
                }
            }
        })?;
        Ok(Self { prompts, typed, lines, saved_mode: before })
    }

    /// Starts to read a line; [`Keyboard::next`] returns it.
    pub(super) fn prompt(&self, words: &str, initial: Option<&str>) {
        let prompt = Prompt { words: words.to_owned(), initial: initial.map(strip_control_chars) };
        // If the thread has ended, so has the input.
        let _ = self.prompts.send(prompt);
    }

    /// Returns the next input.
    pub(super) async fn next_input(&mut self) -> Input {
        self.typed.recv().await.unwrap_or(Input::Closed)
    }

    /// Prints above the line that is being typed.
    pub(super) fn print(&self, text: &str) {
        // If the thread has ended, so has the terminal.
        let _ = self.lines.send(format!("{text}\n"));
    }
}

fn read(editor: &mut Editor<(), FileHistory>, prompt: &Prompt) -> Input {
    let line = match &prompt.initial {
        Some(initial) => editor.readline_with_initial(&prompt.words, (initial, "")),
        None => editor.readline(&prompt.words),
    };
    match line {
        Ok(line) => Input::Line(line),
        Err(ReadlineError::Interrupted) => Input::Interrupted,
        Err(ReadlineError::Eof) => Input::Closed,
        Err(error) => {
            tracing::error!(%error, "could not read from the terminal");
            Input::Closed
        }
    }
}
