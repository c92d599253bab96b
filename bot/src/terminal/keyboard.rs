//! What is typed, a line at a time, with a history; and what is printed above the line that is being typed. The
//! editor waits for keys in a thread of its own.

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

use super::text::harmless;

/// What somebody did at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// A line, or several.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the input is at its end.
    Ended,
}

/// A line to be typed.
struct Prompt {
    words: String,
    /// What stands in it already.
    initial: Option<String>,
}

/// The keyboard and the lines above it.
pub(super) struct Keyboard {
    prompts: std_mpsc::Sender<Prompt>,
    typed: mpsc::UnboundedReceiver<Typed>,
    lines: std_mpsc::Sender<String>,
    /// As the terminal was before; none where the input is no terminal.
    before: Option<Termios>,
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // The editor may still wait for a key, and the shell wants its terminal back.
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, before);
        }
    }
}

impl Keyboard {
    /// Takes the terminal; what is typed in answer to an empty prompt is kept in this file.
    pub(super) fn open(history: PathBuf) -> anyhow::Result<Self> {
        let before = tcgetattr(std::io::stdin()).ok();
        let mut editor: Editor<(), FileHistory> = Editor::new().context("no keyboard")?;
        editor.set_max_history_size(500)?;
        // A new line in what is typed; Enter alone ends it.
        let new_line = KeyEvent(KeyCode::Enter, Modifiers::ALT);
        editor.bind_sequence(new_line, EventHandler::Simple(Cmd::Newline));
        // There is none yet at the first time.
        let _ = editor.load_history(&history);
        let mut printer = editor.create_external_printer().context("no screen")?;
        let (lines, printed) = std_mpsc::channel::<String>();
        // The printer waits for the editor, which may wait for whoever prints.
        thread::Builder::new().name("screen".to_owned()).spawn(move || {
            for text in printed {
                if let Err(error) = printer.print(text) {
                    tracing::error!(%error, "the terminal takes no words");
                }
            }
        })?;
        let (prompts, asked) = std_mpsc::channel::<Prompt>();
        let (told, typed) = mpsc::unbounded_channel();
        thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            for prompt in asked {
                let typed = read(&mut editor, &prompt);
                if prompt.initial.is_none()
                    && let Typed::Line(line) = &typed
                    && editor.add_history_entry(line).is_ok_and(|new| new)
                {
                    let _ = editor.append_history(&history);
                }
                let over = typed == Typed::Ended;
                if told.send(typed).is_err() || over {
                    return;
                }
            }
        })?;
        Ok(Self { prompts, typed, lines, before })
    }

    /// Begins to ask for a line; [`Keyboard::next`] gives it.
    pub(super) fn ask(&self, words: &str, initial: Option<&str>) {
        let prompt = Prompt { words: words.to_owned(), initial: initial.map(harmless) };
        // Where the thread has ended, so have the lines.
        let _ = self.prompts.send(prompt);
    }

    /// What is typed next.
    pub(super) async fn next(&mut self) -> Typed {
        self.typed.recv().await.unwrap_or(Typed::Ended)
    }

    /// Prints above the line that is being typed.
    pub(super) fn print(&self, text: &str) {
        // Where the thread has ended, so has the terminal.
        let _ = self.lines.send(format!("{text}\n"));
    }
}

fn read(editor: &mut Editor<(), FileHistory>, prompt: &Prompt) -> Typed {
    let line = match &prompt.initial {
        Some(initial) => editor.readline_with_initial(&prompt.words, (initial, "")),
        None => editor.readline(&prompt.words),
    };
    match line {
        Ok(line) => Typed::Line(line),
        Err(ReadlineError::Interrupted) => Typed::Interrupted,
        Err(ReadlineError::Eof) => Typed::Ended,
        Err(error) => {
            tracing::error!(%error, "the terminal gives no line");
            Typed::Ended
        }
    }
}
