//! Signals that tell a program to end.
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

/// Resolves when the process is asked to end, by SIGINT or SIGTERM.
///
/// From this call on neither of them ends the process by itself.
///
/// # Errors
/// Fails if the signals cannot be listened to.
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
