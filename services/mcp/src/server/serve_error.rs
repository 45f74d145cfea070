//! Errors that keep a server from starting.

use std::{error::Error, fmt, io, net::SocketAddr};

use crate::SetupError;

/// Reason why a server does not start, or ends.
#[non_exhaustive]
pub enum ServeError {
    /// An error in the lists of the server.
    Setup(SetupError),
    /// The variable that should hold the token of the callers is not set, or empty.
    NoToken(String),
    /// Other machines reach the address, and callers need no token.
    Open(SocketAddr),
    /// A host is not valid.
    #[cfg(feature = "http")]
    Host(ziggurat_layers::host::InvalidHost),
    /// An origin is not valid.
    #[cfg(feature = "http")]
    Origin(ziggurat_layers::origin::InvalidOrigin),
    /// The address cannot be listened on, or the input or output fails.
    Io(io::Error),
}

/// Result of a server that runs until the process is told to stop.
pub type Result<T = (), E = ServeError> = std::result::Result<T, E>;

// === impl ServeError ===

impl ServeError {
    /// Returns the error that this one only passes on.
    fn inner(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Setup(error) => Some(error),
            #[cfg(feature = "http")]
            Self::Host(error) => Some(error),
            #[cfg(feature = "http")]
            Self::Origin(error) => Some(error),
            Self::Io(error) => Some(error),
            Self::NoToken(_) | Self::Open(_) => None,
        }
    }
}

/// Writes the message, because `main` prints a returned error with `Debug`.
impl fmt::Debug for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToken(variable) => write!(
                f,
                "the environment variable {variable} has to hold the token of the callers"
            ),
            Self::Open(address) => write!(
                f,
                "other machines reach {address}, and callers need no token: add `bearer`, listen \
                 on 127.0.0.1, or declare with `without_authentication` that this is intended"
            ),
            other => other
                .inner()
                .map_or(Ok(()), |error| fmt::Display::fmt(error, f)),
        }
    }
}

impl Error for ServeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner()?.source()
    }
}

impl From<SetupError> for ServeError {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

impl From<io::Error> for ServeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[cfg(feature = "http")]
impl From<ziggurat_layers::host::InvalidHost> for ServeError {
    fn from(error: ziggurat_layers::host::InvalidHost) -> Self {
        Self::Host(error)
    }
}

#[cfg(feature = "http")]
impl From<ziggurat_layers::origin::InvalidOrigin> for ServeError {
    fn from(error: ziggurat_layers::origin::InvalidOrigin) -> Self {
        Self::Origin(error)
    }
}
