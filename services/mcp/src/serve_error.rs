//! Errors that keep a server from starting.

use std::{io, net::SocketAddr, sync::Arc};

use crate::SetupError;

/// Reason why a server does not start, or ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// An error in the lists of the server.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The variable that should hold the token of the callers is not set, or empty.
    #[error("the environment variable {0} has to hold the token of the callers")]
    NoToken(String),
    /// Other machines reach the address, and callers need no token.
    #[error(
        "other machines reach {0}, and callers need no token: add `bearer`, listen on 127.0.0.1, \
         or declare with `without_authentication` that this is intended"
    )]
    Open(SocketAddr),
    /// A host is not valid.
    #[cfg(feature = "http")]
    #[error(transparent)]
    Host(#[from] ziggurat_layers::host::InvalidHost),
    /// An origin is not valid.
    #[cfg(feature = "http")]
    #[error(transparent)]
    Origin(#[from] ziggurat_layers::origin::InvalidOrigin),
    /// The address cannot be listened on, or the input or output fails.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An error that an earlier step of the setup found.
    #[error(transparent)]
    Earlier(Arc<ServeError>),
}

/// Result of a server that runs until the process is told to stop.
pub type Result<T = (), E = ServeError> = std::result::Result<T, E>;
