//! Being told to stop, from the first moment to the last.

use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{self, Signal, kill_process};
use tokio::{
    signal::unix::{self, SignalKind, signal},
    time,
};

/// Everything that ends the demo: Ctrl-C, `kill`, and the terminal being closed.
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: unix::Signal,
}

// === impl Signals ===

impl Signals {
    /// Begins to listen: from here on no signal ends the process by itself.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let on = |kind| signal(kind).context("listening to signals");
        Ok(Self {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hangup: on(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }

    /// Tells the server to stop when one of them comes: one may come before the server listens
    /// to signals, and to the server a closed terminal is a wish to read its configuration anew.
    pub(crate) async fn pass_on(mut self) {
        self.any().await;
        let mut again = time::interval(Duration::from_millis(50));
        loop {
            again.tick().await;
            // There is this process, and it may talk to itself.
            kill_process(process::getpid(), Signal::TERM).ok();
        }
    }
}
