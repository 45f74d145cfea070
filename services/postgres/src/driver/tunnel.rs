//! Connection through the standard streams of a program.
//!
//! Both streams of the program are one end of a pair of sockets. The other end is of this process
//! alone, so the program reads the end of its input when this process is gone, however it ended.

use std::{
    io,
    os::{fd::OwnedFd, unix::net},
    process::Stdio,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    net::UnixStream,
    process::ChildStderr,
    task::JoinSet,
    time,
};
use tracing::debug;

use crate::{
    LOG_TARGET,
    driver::{CommandFailure, CommandLine, DriverError, Running, ending},
};

/// Maximum time between the end of the streams and the end of the program.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum length of the messages on standard error that are logged.
const MAX_MESSAGES: u64 = 64 << 10;

/// Program, and the server that it connects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TunnelAddress {
    /// With the host and the port in place of their names.
    pub(crate) command: CommandLine,
    /// Name to compare with the certificate of the server.
    pub(crate) host: String,
    /// Configured name of the database, for messages.
    pub(crate) database: String,
}

/// Program that a connection runs through. Dropping it ends the program.
pub(super) struct Tunnel {
    running: Running,
    database: String,
    /// Logs what the program writes on standard error.
    _messages: JoinSet<()>,
}

// === impl TunnelAddress ===

impl TunnelAddress {
    /// Returns the failure of the program.
    pub(crate) fn failure(&self, why: impl Into<String>) -> CommandFailure {
        failure(&self.database, why)
    }

    /// Starts the program.
    pub(super) fn open(&self) -> Result<(UnixStream, Tunnel), DriverError> {
        self.start().map_err(|error| {
            let why = format!("it cannot be started: {}", error.kind());
            Box::new(self.failure(why)).into()
        })
    }

    fn start(&self) -> io::Result<(UnixStream, Tunnel)> {
        let (own, other) = net::UnixStream::pair()?;
        own.set_nonblocking(true)?;
        let mut running = {
            // Dropped at once: it holds the end of the program.
            let mut command = self.command.command();
            command
                .stdin(Stdio::from(OwnedFd::from(other.try_clone()?)))
                .stdout(Stdio::from(OwnedFd::from(other)));
            Running::start(&mut command)?
        };
        let mut messages = JoinSet::new();
        if let Some(stderr) = running.child.stderr.take() {
            messages.spawn(log(stderr, self.database.clone()));
        }
        let tunnel = Tunnel {
            running,
            database: self.database.clone(),
            _messages: messages,
        };
        Ok((UnixStream::from_std(own)?, tunnel))
    }
}

// === impl Tunnel ===

impl Tunnel {
    /// Returns how the program ended in place of the error of a stream that has ended.
    pub(super) async fn explain(&mut self, error: DriverError) -> DriverError {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};

        let has_ended = matches!(&error, DriverError::Io(error)
            if matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof));
        if !has_ended {
            return error;
        }
        match time::timeout(END_TIMEOUT, self.running.wait()).await {
            Ok(Ok(status)) => Box::new(failure(&self.database, ending(status))).into(),
            _ => error,
        }
    }
}

fn failure(database: &str, why: impl Into<String>) -> CommandFailure {
    CommandFailure {
        key: "connect_command",
        database: database.to_owned(),
        failed: "did not connect",
        why: why.into(),
    }
}

/// Logs the messages of a program, and reads the rest, so that the program never waits.
async fn log(stderr: ChildStderr, database: String) {
    let mut lines = BufReader::new(stderr.take(MAX_MESSAGES)).lines();
    while let Ok(Some(stderr)) = lines.next_line().await {
        debug!(target: LOG_TARGET, database, stderr, "message of connect_command");
    }
    let mut rest = lines.into_inner().into_inner().into_inner();
    tokio::io::copy(&mut rest, &mut tokio::io::sink())
        .await
        .ok();
}
