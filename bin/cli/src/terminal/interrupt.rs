//! Ends the program on a signal: immediately, with the terminal restored.
//!
//! The command runs in a separate thread, because it may be blocked reading a line. The main thread
//! waits for the command or for a signal, whichever is first.

use std::{panic, sync::mpsc, thread, time::Duration};

use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
};
use ziggurat_runtime::{signals::Signals, terminal::State};

/// Time for a save that has begun, so that no temporary file is left.
const GRACE: Duration = Duration::from_millis(200);

/// The exit code of a process that panicked.
const PANICKED: u8 = 101;

/// Runs a command and returns its exit code, or 128 and the number of the signal if one arrives
/// first.
pub fn watched(command: impl FnOnce() -> u8 + Send + 'static) -> u8 {
    let before = State::now();
    // Before the command begins: it must not disable the echo while a signal would still end the
    // process without restoring it.
    let signals = caught();
    let (done, result) = mpsc::sync_channel(1);
    let (wake, ended) = oneshot::channel::<()>();
    let started = thread::Builder::new()
        .name("command".to_owned())
        .spawn(move || {
            let exit = panic::catch_unwind(panic::AssertUnwindSafe(command)).unwrap_or(PANICKED);
            // After a signal the receiver no longer exists.
            let _ = done.send(exit);
            drop(wake);
        });
    if started.is_err() {
        return 1;
    }
    let signal = signals.and_then(|(runtime, mut signals)| {
        runtime.block_on(async {
            tokio::select! {
                _ = ended => None,
                signal = signals.any() => Some(signal),
            }
        })
    });
    let Some(signal) = signal else {
        return result.recv().unwrap_or(PANICKED);
    };
    if let Some(before) = before {
        before.restore();
    }
    // The exit code does not matter any more, only that a save can end.
    let _ = result.recv_timeout(GRACE);
    128 + signal
}

/// Installs the handlers; `None` if that fails, and then signals end the process as usual.
fn caught() -> Option<(Runtime, Signals)> {
    let runtime = Builder::new_current_thread().enable_io().build().ok()?;
    let entered = runtime.enter();
    let signals = Signals::listen().ok()?;
    drop(entered);
    Some((runtime, signals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_ends_says_what_the_process_exits_with() {
        assert_eq!(watched(|| 7), 7);
    }
}
