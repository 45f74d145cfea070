//! The server could not do what it was asked to.

use std::{borrow::Cow, error::Error, fmt};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tracing::{debug, error};
use ziggurat_layers::{
    json_rpc::Reply,
    reject::AuthFailed,
    sanitize::{ErrorDetail, Public, Sanitizer},
};

type BoxError = Box<dyn Error + Send + Sync>;

/// Why a tool or a resource failed outside its own words, -32603 to the client.
///
/// It holds two texts that never mix: what the client is told, and the error for the log.
///
/// ```
/// use http::StatusCode;
/// use ziggurat_mcp::Failure;
///
/// let locked = Failure::new("too many failed authentication attempts")
///     .with_status(StatusCode::TOO_MANY_REQUESTS)
///     .with_auth_failed();
/// let broken = Failure::new("the catalogue could not be read")
///     .with_source(std::io::Error::other("connection reset"));
/// assert_eq!(broken.to_string(), "the catalogue could not be read");
/// # let _ = locked;
/// ```
#[must_use]
pub struct Failure {
    told: Cow<'static, str>,
    source: Option<ErrorDetail>,
    // Boxed: rare, and errors are moved around.
    http: Option<Box<Http>>,
}

#[derive(Default)]
struct Http {
    status: Option<StatusCode>,
    headers: HeaderMap,
    auth_failed: bool,
}

// === impl Failure ===

impl Failure {
    /// Describes a failure in words written for the client: the `data` of its error.
    pub fn new(told: impl Into<Cow<'static, str>>) -> Self {
        Self {
            told: told.into(),
            source: None,
            http: None,
        }
    }

    /// Keeps the error behind it for the log; in development the client reads it too.
    ///
    /// A failure without one is no fault of the server and is not logged as such.
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(ErrorDetail::new(source));
        self
    }

    /// Sets the status of the HTTP response.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.http.get_or_insert_default().status = Some(status);
        self
    }

    /// Adds a header to the HTTP response, next to others of that name.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        let http = self.http.get_or_insert_default();
        http.headers.append(name, value);
        self
    }

    /// Says that the caller failed to prove who it is, so that the reply carries
    /// [`AuthFailed`] and a rate limiter further out can count it.
    pub fn with_auth_failed(mut self) -> Self {
        self.http.get_or_insert_default().auth_failed = true;
        self
    }

    /// Stands for a panic, which its hook has already written down.
    pub(super) fn panicked() -> Self {
        Self::new("the server met an unexpected condition").with_source("a panic")
    }

    /// Whether it is the server that is to blame.
    pub(super) fn is_fault(&self) -> bool {
        self.source.is_some()
    }

    /// What the client may read.
    pub(super) fn public(&self, sanitizer: Sanitizer) -> Cow<'_, str> {
        if self.source.is_some() && sanitizer == Sanitizer::development() {
            sanitizer.public(self, "")
        } else {
            Cow::Borrowed(&self.told)
        }
    }

    /// Logs what is behind the failure, if it is a fault of the server; done once, by whoever
    /// turns the failure into an answer.
    pub(super) fn log(&self, method: &'static str, name: &str) {
        if let Some(source) = &self.source {
            error!(error = %source, method, name, "call failed");
        } else {
            debug!(method, name, "call refused");
        }
    }

    /// Puts what belongs to HTTP on the reply.
    pub(super) fn complete<T>(self, mut reply: Reply<T>) -> Reply<T> {
        let Some(http) = self.http else {
            return reply;
        };
        if let Some(status) = http.status {
            // What it says was written for the client, whatever the status.
            reply = reply.with_status(status).with_extension(Public);
        }
        for (name, value) in &http.headers {
            reply = reply.with_header(name.clone(), value.clone());
        }
        if http.auth_failed {
            reply = reply.with_extension(AuthFailed);
        }
        reply
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("told", &self.told)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
