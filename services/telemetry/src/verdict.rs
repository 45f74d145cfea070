//! Ends of calls.

use http::StatusCode;

/// End of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It succeeded.
    Ok,
    /// The tool reported an error.
    Error,
    /// A guard, a mask or the check of arguments refused it.
    Refused,
    /// It named something that does not exist for its caller.
    Unknown,
    /// The token or the database is not for this caller.
    Denied,
    /// A limit was reached.
    Limited,
    /// The user is asked first.
    Asked,
    /// The client gave up.
    Cancelled,
    /// It took too long.
    Timeout,
    /// The server failed.
    Failed,
    /// The server ended before the call did; written at the next start.
    Lost,
}

// === impl Verdict ===

impl Verdict {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Denied => "denied",
            Self::Limited => "limited",
            Self::Asked => "asked",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Failed => "failed",
            Self::Lost => "lost",
        }
    }

    /// Returns the end of a request with a response of this status.
    #[must_use]
    pub fn of(status: StatusCode) -> Self {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Self::Denied,
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Self::Unknown,
            StatusCode::REQUEST_TIMEOUT => Self::Timeout,
            StatusCode::TOO_MANY_REQUESTS => Self::Limited,
            status if status.is_server_error() => Self::Failed,
            status if status.is_client_error() => Self::Refused,
            _ => Self::Ok,
        }
    }
}
