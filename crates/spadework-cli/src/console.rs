//! What goes to the terminal: data to stdout, messages and progress to stderr.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use spadework::monitor::{Monitor, Stage};
use spadework_app::{Observer, Voice};
use spadework_document::Note;

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::interrupt;

/// How much to say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    messages: bool,
    progress: bool,
}

impl Console {
    pub(crate) fn new(args: &OutputArgs) -> Self {
        args.terminal.console()
    }

    /// As `--quiet` and `--no-progress` say.
    pub(crate) fn saying(quiet: bool, no_progress: bool) -> Self {
        let progress = !quiet && !no_progress && std::io::stderr().is_terminal();
        Self { messages: !quiet, progress }
    }

    /// Says nothing but errors.
    pub(crate) fn quiet() -> Self {
        Self { messages: false, progress: false }
    }

    /// Says something that the user should know, on stderr.
    pub(crate) fn note(self, message: &str) {
        if self.messages {
            to_stderr(&format!("note: {}\n", printable(message)));
        }
    }

    pub(crate) fn error(message: &str, hint: Option<&str>) {
        let hint = hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        to_stderr(&format!("error: {}\n{hint}", printable(message)));
    }

    /// Prints data.
    ///
    /// A reader that closes the pipe (`| head`) has what it wanted; that is not a failure. A full disk is one.
    pub(crate) fn data(text: &str) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(without_controls(text, &['\n', '\t']).as_bytes()).and_then(|()| stdout.flush())
        {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::usage(format!("stdout: cannot be written: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Draws progress on a terminal, stops on Ctrl-C and prints notes.
    pub(crate) fn monitor(self) -> TerminalMonitor {
        TerminalMonitor { bar: Mutex::new(None), console: self }
    }
}

/// A message without the control characters that a name in it may have: a terminal would obey them.
pub(crate) fn printable(message: &str) -> String {
    without_controls(message, &[])
}

fn without_controls(text: &str, allowed: &[char]) -> String {
    let mut printable = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() && !allowed.contains(&letter) {
            printable.extend(letter.escape_default());
        } else {
            printable.push(letter);
        }
    }
    printable
}

/// Nothing is left to do about a message that cannot be delivered.
fn to_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Draws one bar a stage.
#[derive(Debug)]
pub(crate) struct TerminalMonitor {
    bar: Mutex<Option<ProgressBar>>,
    console: Console,
}

impl TerminalMonitor {
    fn with_bar(&self, work: impl FnOnce(&mut Option<ProgressBar>)) {
        if let (true, Ok(mut bar)) = (self.console.progress, self.bar.lock()) {
            work(&mut bar);
        }
    }
}

impl Monitor for TerminalMonitor {
    fn begin(&self, stage: Stage) {
        self.with_bar(|slot| {
            if let Some(old) = slot.take() {
                old.finish_and_clear();
            }
            let bar = ProgressBar::new_spinner();
            bar.set_message(stage.to_string());
            bar.enable_steady_tick(Duration::from_millis(100));
            *slot = Some(bar);
        });
    }

    fn progress(&self, done: u64, total: u64) {
        self.with_bar(|slot| {
            let Some(bar) = slot else { return };
            if total > 0 && bar.length() != Some(total) {
                bar.set_length(total);
                let style = ProgressStyle::with_template("{msg:>16} {bar:40} {percent:>3} % {eta:>6}");
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            }
            // Workers report out of order; a bar that runs backwards confuses.
            bar.set_position(bar.position().max(done));
        });
    }

    fn is_cancelled(&self) -> bool {
        interrupt::requested()
    }
}

impl TerminalMonitor {
    /// Nothing is drawn until the next stage begins.
    fn clear(&self) {
        self.with_bar(|slot| {
            if let Some(bar) = slot.take() {
                bar.finish_and_clear();
            }
        });
    }
}

impl Observer for TerminalMonitor {
    fn note(&self, note: &Note) {
        // A bar that goes on would be drawn over the note.
        self.clear();
        self.console.note(&note.message);
    }

    fn voice(&self) -> Voice {
        Voice::Command
    }
}

impl Drop for TerminalMonitor {
    fn drop(&mut self) {
        self.clear();
    }
}
