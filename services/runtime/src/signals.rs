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

use tokio::signal::unix::{SignalKind, signal};

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
