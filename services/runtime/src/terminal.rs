//! The terminal of standard input, and questions with answers that it does not show.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Settings of the terminal of standard input.
#[derive(Clone, Debug)]
pub struct State(Termios);

/// Asks for a secret: prints a question, and reads the answer without echo if standard input is a
/// terminal.
///
/// The echo is off before the question is printed, so an answer that is typed or pasted at once is
/// neither shown nor lost.
///
/// # Errors
/// Fails if printing or reading does.
pub fn ask_secret<S, T, E>(
    streams: &mut S,
    question: &str,
    print: impl Fn(&mut S, &str) -> Result<(), E>,
    read: impl FnOnce(&mut S) -> Result<T, E>,
) -> Result<T, E> {
    let before = State::now();
    if let Some(State(before)) = &before {
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // Not `Flush`, which discards text that was typed or pasted before.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &silent);
    }
    let answer = print(streams, question).and_then(|()| read(streams));
    if let Some(before) = before {
        before.restore();
        // The newline that the user typed was not shown either.
        print(streams, "\n")?;
    }
    answer
}

// === impl State ===

impl State {
    /// Returns the current settings; `None` if standard input is not a terminal.
    #[must_use]
    pub fn now() -> Option<Self> {
        tcgetattr(io::stdin()).ok().map(Self)
    }

    /// Restores the settings.
    pub fn restore(&self) {
        // A failure means that the terminal is closed.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
