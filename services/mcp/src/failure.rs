//! Failures of the server during a call.

use std::{borrow::Cow, error::Error, fmt};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tracing::{debug, error};
use ziggurat_layers::{
    json_rpc::{self, Reply},
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
    parts: Option<Box<ReplyParts>>,
    /// Set if the client is to read the id of the request instead of the message.
    is_internal: bool,
}

#[derive(Default)]
struct ReplyParts {
    /// The code of an error that has the text as its message.
    code: Option<i64>,
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
            parts: None,
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

    /// Sets the code of the error. The text is the message of the error then, instead of its `data`.
    ///
    /// With the code of an internal error the tool has reported an error of its caller.
    pub fn with_code(mut self, code: i64) -> Self {
        self.parts.get_or_insert_default().code = Some(code);
        self
    }

    /// Sets the status of the HTTP response.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.parts.get_or_insert_default().status = Some(status);
        self
    }

    /// Adds a header to the HTTP response, without replacing others of that name.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        let parts = self.parts.get_or_insert_default();
        parts.headers.append(name, value);
        self
    }

    /// Marks the reply with [`AuthFailed`], so that an outer rate limiter can count failed
    /// authentications.
    pub fn with_auth_failed(mut self) -> Self {
        self.parts.get_or_insert_default().auth_failed = true;
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

    fn code(&self) -> Option<i64> {
        self.parts.as_ref()?.code
    }

    /// Returns whether the failure is an error that the tool reports to its caller.
    pub(super) fn is_reported(&self) -> bool {
        self.code() == Some(json_rpc::Error::INTERNAL_ERROR) && !self.is_fault()
    }

    /// Returns the error for the client; `about` describes failures without a code.
    pub(super) fn error(&self, about: &'static str, sanitizer: Sanitizer) -> json_rpc::Error {
        let text = self.public(sanitizer);
        match self.code() {
            Some(code) => json_rpc::Error::new(code, text.into_owned()),
            None => json_rpc::Error::new(json_rpc::Error::INTERNAL_ERROR, about).with_data(text),
        }
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
        let Some(parts) = self.parts else {
            return reply;
        };
        if let Some(status) = parts.status {
            // The body was written for the client, whatever the status is.
            reply = reply.with_status(status).with_extension(Public);
        }
        for (name, value) in &parts.headers {
            reply = reply.with_header(name.clone(), value.clone());
        }
        if parts.auth_failed {
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
