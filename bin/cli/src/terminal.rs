//! Reads a line from the terminal without echo.

use std::io::{self, BufRead as _, Read as _};

use crate::context::Context;

/// Maximum length of an answer.
const LONGEST: u64 = 64 * 1024;

/// Reads one line of standard input; `None` at its end. The last line may lack a newline.
pub(crate) fn read_line(context: &mut Context<'_>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let read = context
        .streams
        .stdin
        .by_ref()
        .take(LONGEST)
        .read_until(b'\n', &mut line)?;
    let line = String::from_utf8(line)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8"))?;
    Ok((read > 0).then_some(line))
}

/// Asks for one line and reads it without echo, if that is possible.
///
/// The echo is disabled before the question is printed, so that an answer typed or pasted
/// immediately is neither shown nor lost.
pub(crate) fn ask_secret(context: &mut Context<'_>, question: &str) -> io::Result<Option<String>> {
    if !context.environment.terminals().stdin {
        context.streams.ask(question);
        return read_line(context);
    }
    let line = system::ask_silently(context, question);
    // The newline that the user typed was not shown either.
    context.streams.ask("\n");
    line
}

pub(crate) use self::system::State;

#[cfg(unix)]
mod system {
    use std::io;

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    use crate::context::Context;

    /// The settings of the terminal of standard input.
    #[derive(Clone)]
    pub(crate) struct State(Termios);

    /// Disables the echo of the terminal until it is dropped.
    struct Silence(Option<State>);

    // === impl State ===

    impl State {
        /// Returns the current settings; `None` if standard input is not a terminal.
        pub(crate) fn now() -> Option<Self> {
            tcgetattr(io::stdin()).ok().map(Self)
        }

        /// Restores the settings.
        pub(crate) fn restore(&self) {
            // A failure means that the terminal is closed.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }

    // === impl Silence ===

    impl Silence {
        fn begin() -> Self {
            let before = State::now();
            if let Some(State(before)) = &before {
                let mut silent = before.clone();
                silent.local_modes.remove(LocalModes::ECHO);
                // Not `Flush`, which discards text that was typed or pasted before.
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, &silent);
            }
            Self(before)
        }
    }

    impl Drop for Silence {
        fn drop(&mut self) {
            if let Some(before) = &self.0 {
                before.restore();
            }
        }
    }

    /// Asks for one line and reads it with the echo off.
    pub(super) fn ask_silently(
        context: &mut Context<'_>,
        question: &str,
    ) -> io::Result<Option<String>> {
        let _silence = Silence::begin();
        context.streams.ask(question);
        super::read_line(context)
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;

    use crate::context::Context;

    /// The settings of the terminal: on this system they end with the process.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct State;

    impl State {
        /// Nothing needs to be restored.
        pub(crate) fn now() -> Option<Self> {
            None
        }

        /// Nothing needs to be restored.
        pub(crate) fn restore(self) {}
    }

    /// Asks for one line of the console and reads it with the echo off.
    pub(super) fn ask_silently(
        context: &mut Context<'_>,
        question: &str,
    ) -> io::Result<Option<String>> {
        context.streams.ask(question);
        rpassword::read_password().map(Some)
    }
}
