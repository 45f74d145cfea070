//! Signals that shut down a program.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! let stop = ziggurat_runtime::signals::stop()?;
//! stop.await;
//! # Ok(())
//! # }
//! ```

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end a program of a person: Ctrl-C, `kill`, and a closed terminal.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

// === impl Signals ===

impl Signals {
    /// Begins to listen: from now on these signals do not end the process by themselves.
    ///
    /// # Errors
    /// Fails if the signal handlers cannot be installed.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one of the signals, and returns its number.
    pub async fn any(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
            _ = self.hangup.recv() => 1,
        }
    }
}

/// Returns a future that resolves on SIGINT or SIGTERM.
///
/// From this call on, these signals no longer end the process by themselves.
///
/// # Errors
/// Fails if the signal handlers cannot be installed.
pub fn stop() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
