//! Handles the signals that stop the demo.

use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{self, Signal, kill_process};
use tokio::{
    signal::unix::{self, SignalKind, signal},
    time,
};

/// The signals that end the demo: Ctrl-C, `kill`, and a closed terminal.
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: unix::Signal,
}

// === impl Signals ===

impl Signals {
    /// Begins to listen: from now on these signals do not end the process by themselves.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let on = |kind| signal(kind).context("listening to signals");
        Ok(Self {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hangup: on(SignalKind::hangup())?,
        })
    }

    /// Waits for one of the signals.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }

    /// Passes each signal on as one that stops the servers: it may come before a server listens to
    /// signals, and a closed terminal would make a server reload its configuration.
    pub(crate) async fn pass_on(mut self) {
        self.any().await;
        let mut again = time::interval(Duration::from_millis(50));
        loop {
            again.tick().await;
            // The process sends the signal to itself.
            kill_process(process::getpid(), Signal::TERM).ok();
        }
    }
}
