//! Runs `ziggurat-rag` next to the other server, until both are told to stop.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    sync::mpsc,
    thread::{self, JoinHandle},
};

use anyhow::{Context as _, bail};
use rustix::process::{self, Signal, kill_process};

/// The server that answers questions.
pub(crate) struct Answers {
    running: JoinHandle<ExitCode>,
    /// The address it listens on.
    pub(crate) address: SocketAddr,
}

// === impl Answers ===

impl Answers {
    /// Starts it with this configuration file, and waits until it accepts connections.
    pub(crate) fn start(configuration: PathBuf) -> anyhow::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let running = thread::Builder::new()
            .name("ziggurat-rag".to_owned())
            .spawn(move || {
                ziggurat_rag::run(["-config".into(), configuration.into()], move |address| {
                    // The receiver lives as long as the demo.
                    sender.send(address).ok();
                })
            })
            .context("starting a thread")?;
        match receiver.recv() {
            Ok(address) => Ok(Self { running, address }),
            // The server has already printed the reason.
            Err(_) => bail!("ziggurat-rag has not started"),
        }
    }

    /// Stops it, if the signal that stopped the other server has not done so.
    pub(crate) fn end(self) {
        kill_process(process::getpid(), Signal::TERM).ok();
        self.running.join().ok();
    }
}
