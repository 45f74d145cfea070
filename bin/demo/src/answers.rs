//! `ziggurat-rag` beside the other server, until both are told to stop.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
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
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

// === impl Answers ===

impl Answers {
    /// Starts it with the configuration in this file, and waits until it takes connections.
    pub(crate) fn start(configuration: PathBuf) -> anyhow::Result<Self> {
        let (tell, told) = mpsc::channel();
        let running = thread::Builder::new()
            .name("ziggurat-rag".to_owned())
            .spawn(move || {
                ziggurat_rag::run(["-config".into(), configuration.into()], move |address| {
                    // The demo is there for as long as this is.
                    tell.send(address).ok();
                })
            })
            .context("starting a thread")?;
        match told.recv() {
            Ok(address) => Ok(Self { running, address }),
            // It has said why.
            Err(_) => bail!("ziggurat-rag has not started"),
        }
    }

    /// Ends it, if it has not been told to by the signal that ended the other one.
    pub(crate) fn end(self) {
        kill_process(process::getpid(), Signal::TERM).ok();
        self.running.join().ok();
    }
}

/// A port that is free now.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("looking for a port")?;
    Ok(listener.local_addr().context("looking for a port")?.port())
}
