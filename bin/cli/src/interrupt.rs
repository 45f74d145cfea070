//! Ends the program on a signal: at once, with the terminal restored.
//!
//! The command runs in a thread of its own, because it may be blocked reading a line.
//! The main thread waits for the command or for a signal, whichever comes first.

use std::{panic, sync::mpsc, thread, time::Duration};

use tokio::sync::oneshot;

use self::system::Signals;
use crate::terminal::State;

/// The time for a save that has begun, so that no temporary file stays behind.
const GRACE: Duration = Duration::from_millis(200);

/// The exit code of a process that panicked.
const PANICKED: u8 = 101;

/// Runs a command and returns its exit code; 128 and the number of the signal when one comes
/// first.
pub fn watched(command: impl FnOnce() -> u8 + Send + 'static) -> u8 {
    let before = State::now();
    // Before the command begins: it must not ask for a secret while a signal still ends the
    // process with the echo off.
    let signals = Signals::caught();
    let (done, result) = mpsc::sync_channel(1);
    let (wake, ended) = oneshot::channel::<()>();
    let started = thread::Builder::new()
        .name("command".to_owned())
        .spawn(move || {
            let exit = panic::catch_unwind(panic::AssertUnwindSafe(command)).unwrap_or(PANICKED);
            // After a signal the receiver is gone.
            let _ = done.send(exit);
            drop(wake);
        });
    if started.is_err() {
        return 1;
    }
    let signal = match signals {
        Some(signals) => signals.first_before(ended),
        None => None,
    };
    let Some(signal) = signal else {
        return result.recv().unwrap_or(PANICKED);
    };
    if let Some(before) = before {
        before.restore();
    }
    // Its exit code no longer counts, only that a save may end.
    let _ = result.recv_timeout(GRACE);
    128 + signal
}

#[cfg(unix)]
mod system {
    use tokio::{
        runtime::{Builder, Runtime},
        signal::unix::{Signal, SignalKind, signal},
        sync::oneshot::Receiver,
    };

    /// The signals that end a program, caught.
    pub(super) struct Signals {
        runtime: Runtime,
        interrupt: Signal,
        terminate: Signal,
        hangup: Signal,
    }

    // === impl Signals ===

    impl Signals {
        /// Catches them; nothing where that cannot be done, and then they end the process.
        pub(super) fn caught() -> Option<Self> {
            let runtime = Builder::new_current_thread().enable_io().build().ok()?;
            let entered = runtime.enter();
            let interrupt = signal(SignalKind::interrupt()).ok()?;
            let terminate = signal(SignalKind::terminate()).ok()?;
            let hangup = signal(SignalKind::hangup()).ok()?;
            drop(entered);
            Some(Self {
                runtime,
                interrupt,
                terminate,
                hangup,
            })
        }

        /// Waits for the end of the command or a signal, and says which.
        pub(super) fn first_before(mut self, ended: Receiver<()>) -> Option<u8> {
            self.runtime.block_on(async {
                tokio::select! {
                    _ = ended => None,
                    _ = self.interrupt.recv() => Some(2),
                    _ = self.terminate.recv() => Some(15),
                    _ = self.hangup.recv() => Some(1),
                }
            })
        }
    }
}

#[cfg(not(unix))]
mod system {
    use tokio::sync::oneshot::Receiver;

    /// Nothing is caught: the system ends the process.
    pub(super) struct Signals;

    impl Signals {
        pub(super) fn caught() -> Option<Self> {
            None
        }

        pub(super) fn first_before(self, _: Receiver<()>) -> Option<u8> {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_ends_says_what_the_process_exits_with() {
        assert_eq!(watched(|| 7), 7);
    }
}
