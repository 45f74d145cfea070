//! A complete request and a complete answer.

use std::{fmt, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

/// A request that is built to its last byte.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
    pub(crate) purpose: Purpose,
    /// From the start of the first attempt to the last byte of the last; `None` is for ever.
    pub(crate) timeout: Option<Duration>,
    /// The most repetitions, if it only reads.
    pub(crate) retries: u32,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Purpose {
    /// A call of the API.
    Call,
    /// The exchange of a credential for a token: a dry run needs it too, and its answer is shown
    /// only where it can be masked.
    Exchange,
}

/// A request that a dry run stopped instead of sending it.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

/// The outcome of a request.
pub(crate) enum Outcome {
    Answer(Incoming),
    Stopped(Recorded),
}

/// An answer, whole.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The reason why there is no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum TransportError {
    /// The deadline passed; it was this long.
    Deadline(Duration),
    /// No connection, or it broke.
    Connection { cause: String, is_passing: bool },
    /// An answer that cannot be used; another attempt would not help.
    Answer(String),
}

// === impl Outgoing ===

impl Outgoing {
    /// A request that only reads may be repeated, and a dry run lets it through.
    pub(super) fn only_reads(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS)
    }
}

// === impl Incoming ===

impl Incoming {
    /// The status with its words, like `401 Unauthorized`.
    pub(crate) fn status_line(&self) -> String {
        match self.status.canonical_reason() {
            Some(reason) => format!("{} {reason}", self.status.as_u16()),
            None => self.status.as_u16().to_string(),
        }
    }
}

// === impl TransportError ===

impl TransportError {
    /// A connection that failed; another attempt may go better.
    pub(super) fn passing(cause: impl Into<String>) -> Self {
        Self::Connection {
            cause: cause.into(),
            is_passing: true,
        }
    }

    /// A connection that failed and will fail again.
    pub(super) fn lasting(cause: impl Into<String>) -> Self {
        Self::Connection {
            cause: cause.into(),
            is_passing: false,
        }
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline(after) => write!(formatter, "no answer within {after:?}"),
            Self::Connection { cause, .. } | Self::Answer(cause) => formatter.write_str(cause),
        }
    }
}
