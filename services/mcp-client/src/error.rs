//! Errors of a call.

use std::{error::Error, fmt, sync::Arc};

use http::StatusCode;
use serde_json::value::RawValue;
use ziggurat_mcp::protocol::Revision;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Characters of a wrong answer that an error quotes.
const QUOTED: usize = 1024;

/// The reason why a call has no result.
///
/// ```
/// use ziggurat_mcp_client::{Client, ClientError};
///
/// # tokio_test::block_on(async {
/// let error = Client::http("https://example.com/mcp").connect().await.unwrap_err();
/// assert!(matches!(error, ClientError::Setup(_)), "TLS needs a service that brings it: {error}");
/// # });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The client cannot be made, or a call cannot be sent, from these values.
    Setup(String),
    /// The connection to the server failed.
    Transport(Arc<dyn Error + Send + Sync>),
    /// The server closed the connection, or ended its stream, before it answered.
    Closed,
    /// The server answered with an HTTP status, without an error of the protocol.
    Status {
        /// The status.
        status: StatusCode,
        /// The first part of the body.
        body: String,
    },
    /// The server answered with an error of the protocol.
    Rpc {
        /// The code of the error.
        code: i64,
        /// The message of the server.
        message: String,
        /// The data of the error, as JSON.
        data: Option<Box<RawValue>>,
    },
    /// The answer is not one that the protocol allows.
    Unexpected(String),
    /// The answer is longer than the client accepts.
    TooLarge {
        /// The limit of the client.
        max_bytes: usize,
    },
    /// The server does not support the revision of the client.
    Revision {
        /// The revisions that the server names.
        supported: Vec<String>,
    },
    /// The server asked for input again and again.
    TooManyRounds {
        /// The limit of the client.
        max_rounds: usize,
    },
}

// === impl ClientError ===

impl ClientError {
    pub(crate) fn transport(error: impl Into<BoxError>) -> Self {
        Self::Transport(error.into().into())
    }

    pub(crate) fn unexpected(problem: impl Into<String>) -> Self {
        Self::Unexpected(problem.into())
    }

    /// Makes the error for a result that lacks something or has a member of another type.
    pub(crate) fn result(method: &str, error: &serde_json::Error) -> Self {
        Self::Unexpected(format!("the result of `{method}`: {error}"))
    }

    pub(crate) fn revision(offered: &str) -> Self {
        Self::Revision {
            supported: vec![offered.to_owned()],
        }
    }

    /// Returns the revisions that the server supports, if the revision of the client is refused.
    pub(crate) fn supported(&self) -> Option<Vec<String>> {
        #[derive(serde::Deserialize)]
        struct Versions {
            supported: Vec<String>,
        }

        match self {
            Self::Rpc {
                code: UNSUPPORTED_VERSION,
                data: Some(data),
                ..
            } => {
                let versions: Option<Versions> = serde_json::from_str(data.get()).ok();
                versions.map(|versions| versions.supported)
            }
            Self::Revision { supported } => Some(supported.clone()),
            _ => None,
        }
    }

    /// Returns whether a server without the modern revision may answer a modern request so.
    pub(crate) fn may_come_from_legacy_server(&self) -> bool {
        match self {
            Self::Rpc { .. } => true,
            Self::Status { status, .. } => {
                status.is_client_error()
                    && ![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(status)
            }
            _ => false,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(problem) => f.write_str(problem),
            Self::Transport(_) => f.write_str("the connection to the server failed"),
            Self::Closed => f.write_str("the server closed the connection before it answered"),
            Self::Status { status, body } => {
                write!(
                    f,
                    "the server answered with the HTTP status {status}: {body}"
                )
            }
            Self::Rpc { code, message, .. } => {
                write!(f, "the server answered with the error {code}: {message}")
            }
            Self::Unexpected(problem) => write!(f, "the answer is not valid: {problem}"),
            Self::TooLarge { max_bytes } => {
                write!(f, "the answer is longer than {max_bytes} bytes")
            }
            Self::Revision { supported } => {
                let supported = supported.join(", ");
                write!(
                    f,
                    "the server supports no revision of the client, only {supported}"
                )
            }
            Self::TooManyRounds { max_rounds } => write!(
                f,
                "the server asked for input more than {max_rounds} times in one call"
            ),
        }
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Transport(error) => Some(&**error),
            _ => None,
        }
    }
}

/// Code of the error for a revision that is not supported.
const UNSUPPORTED_VERSION: i64 = -32022;

/// Returns the newest of these revisions that starts with `initialize`.
pub(crate) fn newest_legacy(supported: &[String]) -> Option<Revision> {
    let legacy = supported.iter();
    legacy
        .filter_map(|text| Revision::legacy(text.as_bytes()))
        .max()
}

/// Returns the first part of a text, for an error.
pub(crate) fn quote(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * QUOTED)]);
    text.trim().chars().take(QUOTED).collect()
}
