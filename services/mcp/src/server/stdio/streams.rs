//! The standard input and output of the process.

use tokio::io::{AsyncRead, AsyncWrite, stdin, stdout};

/// Returns the standard input.
///
/// A pipe of the process that started this one may be in a mode in which reads do not wait. The mode
/// belongs to both processes, so it stays, and the runtime waits until there is something to read.
pub(super) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    // Boxed: one per process.
    #[cfg(unix)]
    if let Some(pipe) = unix::input() {
        return Box::new(pipe);
    }
    Box::new(stdin())
}

/// Returns the standard output, in the same way.
pub(super) fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    #[cfg(unix)]
    if let Some(pipe) = unix::output() {
        return Box::new(pipe);
    }
    Box::new(stdout())
}

#[cfg(unix)]
mod unix {
    use std::{
        io,
        os::fd::{AsFd, OwnedFd},
    };

    use rustix::fs::{OFlags, fcntl_getfl};
    use tokio::net::unix::pipe::{Receiver, Sender};

    pub(super) fn input() -> Option<Receiver> {
        Receiver::from_owned_fd_unchecked(without_waiting(io::stdin())?).ok()
    }

    pub(super) fn output() -> Option<Sender> {
        Sender::from_owned_fd_unchecked(without_waiting(io::stdout())?).ok()
    }

    /// Returns the stream if its reads and writes do not wait. It may also be a socket or a terminal;
    /// a file is refused by the runtime, and its reads and writes always succeed.
    fn without_waiting(stream: impl AsFd) -> Option<OwnedFd> {
        let flags = fcntl_getfl(&stream).ok()?;
        let waits = !flags.contains(OFlags::NONBLOCK);
        if waits {
            return None;
        }
        stream.as_fd().try_clone_to_owned().ok()
    }
}
