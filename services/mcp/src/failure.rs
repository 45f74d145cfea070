//! Failures of the server during a call.

use std::{borrow::Cow, error::Error, fmt};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tracing::{debug, error};
use ziggurat_layers::{
    json_rpc::Reply,
    reject::AuthFailed,
    sanitize::{ErrorDetail, Public, RequestId, Sanitizer},
};

use crate::{BoxError, record::hex};

/// The failure of a tool or a resource, error -32603 for the client.
///
/// It keeps two texts apart: the message for the client, and the error for the log.
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
    message: Cow<'static, str>,
    source: Option<ErrorDetail>,
    // Boxed: rare, and it would make every error larger to move.
    http: Option<Box<HttpParts>>,
    /// Set if the client is to read the id of the request instead of the message.
    is_internal: bool,
}

#[derive(Default)]
struct HttpParts {
    status: Option<StatusCode>,
    headers: HeaderMap,
    auth_failed: bool,
}

// === impl Failure ===

impl Failure {
    /// Describes a failure with a message for the client: the `data` of its error.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: message.into(),
            source: None,
            http: None,
            is_internal: false,
        }
    }

    /// Describes a fault of the server, about which the client reads the id of its request only.
    pub(super) fn internal(cause: impl Into<BoxError>) -> Self {
        let mut failure = Self::new("an internal error occurred").with_source(cause);
        failure.is_internal = true;
        failure
    }

    /// Returns the id under which the cause is logged, and tells it the client.
    pub(super) fn identified(&mut self, request_id: Option<&RequestId>) -> Option<RequestId> {
        if !self.is_internal {
            return request_id.cloned();
        }
        let id = request_id.cloned().unwrap_or_else(RequestId::generate);
        self.message = format!("an internal error occurred (request id {id})").into();
        Some(id)
    }

    /// Adds the cause for the log; in development the client reads it too.
    ///
    /// A failure without a cause is not a fault of the server and is logged at debug level only.
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(ErrorDetail::new(source));
        self
    }

    /// Sets the status of the HTTP response.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.http.get_or_insert_default().status = Some(status);
        self
    }

    /// Adds a header to the HTTP response, without replacing others of that name.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        let http = self.http.get_or_insert_default();
        http.headers.append(name, value);
        self
    }

    /// Marks the reply with [`AuthFailed`], so that an outer rate limiter can count failed
    /// authentications.
    pub fn with_auth_failed(mut self) -> Self {
        self.http.get_or_insert_default().auth_failed = true;
        self
    }

    /// Makes the failure for a panic, which the panic hook has already logged.
    pub(super) fn panicked() -> Self {
        Self::new("an unexpected error occurred").with_source("a panic")
    }

    /// Returns whether the failure is a fault of the server.
    pub(super) fn is_fault(&self) -> bool {
        self.source.is_some()
    }

    /// Returns the text that the client may read.
    pub(super) fn public(&self, sanitizer: Sanitizer) -> Cow<'_, str> {
        if self.source.is_some() && sanitizer == Sanitizer::development() {
            sanitizer.public(self, "")
        } else {
            Cow::Borrowed(&self.message)
        }
    }

    /// Logs the failure and its cause. Called once, by the code that turns the failure into an
    /// answer.
    pub(super) fn log(
        &self,
        method: &'static str,
        name: &str,
        request_id: Option<&RequestId>,
        trace_id: Option<u128>,
    ) {
        let request_id = request_id.map(RequestId::as_str);
        let trace_id = trace_id.map(hex);
        if let Some(source) = &self.source {
            error!(error = %source, method, name, request_id, trace_id, "call failed");
        } else {
            debug!(method, name, "call refused");
        }
    }

    /// Adds the status, headers and extensions of the failure to the reply.
    pub(super) fn complete<T>(self, mut reply: Reply<T>) -> Reply<T> {
        let Some(http) = self.http else {
            return reply;
        };
        if let Some(status) = http.status {
            // The body was written for the client, whatever the status is.
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
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("message", &self.message)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
