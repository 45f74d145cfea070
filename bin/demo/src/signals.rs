//! Handles the signals that stop the demo.

use std::time::Duration;

use rustix::process::{self, Signal, kill_process};
use tokio::time;
use ziggurat_runtime::signals::Signals;

/// Passes each signal on as one that stops the servers: it may come before a server listens to
/// signals, and a closed terminal would make a server reload its configuration.
pub(crate) async fn pass_on(mut signals: Signals) {
    signals.any().await;
    let mut again = time::interval(Duration::from_millis(50));
    loop {
        again.tick().await;
        // The process sends the signal to itself.
        kill_process(process::getpid(), Signal::TERM).ok();
    }
}
