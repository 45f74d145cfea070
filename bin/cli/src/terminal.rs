//! What a terminal needs: a line that is not shown while it is typed.

use std::io::{self, BufRead as _, Read as _};

use crate::context::Context;

/// No answer is longer.
const LONGEST: u64 = 64 * 1024;

/// Reads one line of standard input; nothing at its end. The last line may lack a line end.
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

/// Reads one line without showing it, where that can be helped.
pub(crate) fn read_secret_line(context: &mut Context<'_>) -> io::Result<Option<String>> {
    if !context.environment.terminals().stdin {
        return read_line(context);
    }
    let silence = Silence::begin();
    let line = read_line(context);
    drop(silence);
    // The line end that was typed was not shown either.
    context.streams.ask("\n");
    line
}

pub(crate) use self::system::{Silence, State};

#[cfg(unix)]
mod system {
    use std::{fmt, io};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// How the terminal of standard input is set.
    #[derive(Clone)]
    pub(crate) struct State(Termios);

    /// The terminal shows nothing of what is typed until this is dropped.
    #[derive(Debug)]
    pub(crate) struct Silence(Option<State>);

    // === impl State ===

    impl State {
        /// The settings of now; nothing when standard input is no terminal.
        pub(crate) fn now() -> Option<Self> {
            tcgetattr(io::stdin()).ok().map(Self)
        }

        /// Sets the terminal as it was.
        pub(crate) fn restore(&self) {
            // A terminal that is gone shows nothing anyway.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }

    impl fmt::Debug for State {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.debug_struct("State").finish_non_exhaustive()
        }
    }

    // === impl Silence ===

    impl Silence {
        pub(super) fn begin() -> Self {
            let before = State::now();
            if let Some(State(before)) = &before {
                let mut silent = before.clone();
                silent.local_modes.remove(LocalModes::ECHO);
                let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
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
}

#[cfg(not(unix))]
mod system {
    /// How the terminal is set: nothing this program changes on this system.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct State;

    /// The terminal shows what is typed: this system has no switch this program knows.
    #[derive(Debug)]
    pub(crate) struct Silence;

    impl State {
        pub(crate) fn now() -> Option<Self> {
            None
        }

        pub(crate) fn restore(self) {}
    }

    impl Silence {
        pub(super) fn begin() -> Self {
            Self
        }
    }
}
