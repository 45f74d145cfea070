//! Keeps the cause of a server fault out of its response.
//!
//! A response with a status of 500 or above, and a panic, become one fixed sentence and a request
//! id. The cause goes to the log, under the same id and with credentials removed.
//!
//! Responses below 500 pass unchanged, without a look at the body: refusals were written for the
//! client, and a success has nothing to hide. A fault also passes if its body was written for the
//! client, which a [`Rejection`] or [`Public`] in the extensions of the response tells.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::{BodyExt as _, Full};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::sanitize::SanitizeLayer;
//!
//! # tokio_test::block_on(async {
//! let service = ServiceBuilder::new()
//!     .layer(SanitizeLayer::new())
//!     .service(service_fn(|_: Request<Full<Bytes>>| async {
//!         Response::builder()
//!             .status(StatusCode::BAD_GATEWAY)
//!             .body(Full::<Bytes>::from("cannot reach postgres://app:hunter2@10.0.0.7"))
//!     }));
//!
//! let response = service.oneshot(Request::new(Full::default())).await?;
//! assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
//! assert!(response.headers().contains_key("x-request-id"));
//! let body = response.into_body().collect().await?.to_bytes();
//! assert_eq!(body, r#"{"error":"Internal server error"}"#);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # What happens to a fault
//!
//! | Part of the response | Becomes |
//! | --- | --- |
//! | status | stays |
//! | body | dropped unread, replaced through [`Render`], code `internal_error` |
//! | headers about the body: length, type, coding, ranges, digests, validators, signatures | removed, then replaced by the headers of the new body |
//! | `cache-control` and other lifetimes | `cache-control: no-store`: the new body belongs to one request |
//! | other headers: `retry-after`, `set-cookie`, `link` | stay; a secret in one of them stays too |
//! | `x-request-id` | the [`RequestId`] of the request or response extensions, else a new one |
//!
//! A body that was written for the client stays, with all of its headers; only the id is added.
//!
//! # The log
//!
//! One `error` event per fault: `request_id`, `trace_id`, `status`, `method`, `path` (without the
//! query) and `error`, the [`ErrorDetail`] from the extensions of the response, or the message of the
//! panic. The trace is the [`TraceId`] in the extensions of the response, if there is one.
//! The detail is removed from the extensions, so a second layer further out does not log it again.
//! A fault that was written for the client and has no detail, such as an overload or a failing
//! health check, is a `debug` event.
//! # Panics
//!
//! Panics are caught while the service makes its future and while the future runs, and the future
//! is dropped. The service itself is used again: a service that keeps state outside the request
//! must repair it after a panic, as a poisoned `Mutex` reminds it to. The layer does not catch
//!
//! - a panic in `poll_ready` or in a response body that is already being sent: the connection is
//!   closed, so the client sees that the response is incomplete,
//! - every panic in a program built with `panic = "abort"`,
//! - the panic hook, which runs first and by default writes the message to standard error as it is.
//!
//! # Deployment
//!
//! Put it outside of everything that can fail and inside of the layer that assigns request ids. Put
//! [`LinkLayer`](crate::link::LinkLayer), which cannot fail, outside of it: then sanitised faults,
//! which are JSON, get links like other responses. Inside, it does not see them.
//!
//! A service error (`Err`) is not a response and passes. The layer holds the method, the path and
//! the id of each request until its response arrives, sharing them with the request; it allocates
//! on a fault only. A detail takes up to 4096 bytes of log.

mod detail;
mod future;
mod public;
mod request_id;
mod scrub;
#[cfg(test)]
pub(crate) mod tests;
mod trace_id;

use std::{
    borrow::Cow,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    task::{Context, Poll},
};

use http::{
    HeaderName, HeaderValue, Method, Request, Response, StatusCode, header, uri::PathAndQuery,
};
use tower_layer::Layer;
use tower_service::Service;

use self::future::State;
use crate::reject::{ErrorString, Rejection, Render};

pub use self::{
    detail::ErrorDetail,
    future::ResponseFuture,
    public::{Public, Sanitizer},
    request_id::{InvalidRequestId, RequestId},
    scrub::{REDACTED, scrub},
    trace_id::TraceId,
};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Headers that describe the body or its caching.
const BODY_HEADERS: [HeaderName; 24] = [
    header::ACCEPT_RANGES,
    header::AGE,
    header::CACHE_CONTROL,
    header::CDN_CACHE_CONTROL,
    HeaderName::from_static("content-digest"),
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    HeaderName::from_static("content-md5"),
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    HeaderName::from_static("digest"),
    header::ETAG,
    header::EXPIRES,
    header::LAST_MODIFIED,
    header::PRAGMA,
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("signature"),
    HeaderName::from_static("signature-input"),
    HeaderName::from_static("surrogate-control"),
    header::TRAILER,
    header::TRANSFER_ENCODING,
];

/// Keeps the cause of a server fault out of its response.
///
/// ```
/// use ziggurat_layers::{reject::ErrorObject, sanitize::SanitizeLayer};
///
/// let layer = SanitizeLayer::new()
///     .with_message("Something went wrong. Please name the request id when you report it.")
///     .with_render(ErrorObject);
/// # let _ = layer;
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct SanitizeLayer<R = ErrorString> {
    rules: SanitizeRules<R>,
}

/// Service made by [`SanitizeLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::sanitize::{Sanitize, SanitizeLayer};
///
/// let service: Sanitize<_> = SanitizeLayer::new().layer("the service that may fail");
/// # let _ = service;
/// ```
#[derive(Clone, Copy)]
pub struct Sanitize<S, R = ErrorString> {
    inner: S,
    rules: SanitizeRules<R>,
}

/// Settings that are fixed when the layer is built.
#[derive(Clone, Copy)]
struct SanitizeRules<R> {
    render: R,
    message: &'static str,
    sanitizer: Sanitizer,
}

/// The log fields of the request; empty if logging is off.
struct RequestInfo {
    head: Option<(Method, Option<PathAndQuery>)>,
    id: Option<RequestId>,
}

// === impl SanitizeLayer ===

impl SanitizeLayer {
    /// Answers faults with `Internal server error` and a request id.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response, StatusCode};
    /// use tower::{Layer as _, ServiceExt as _, service_fn};
    /// use ziggurat_layers::sanitize::SanitizeLayer;
    ///
    /// # tokio_test::block_on(async {
    /// let service = SanitizeLayer::new().layer(service_fn(|_: Request<()>| async {
    ///     Response::builder().status(StatusCode::BAD_GATEWAY).body(Bytes::from("no route to 10.0.0.7"))
    /// }));
    /// let response = service.oneshot(Request::new(())).await?;
    /// assert_eq!(response.body(), r#"{"error":"Internal server error"}"#);
    /// # Ok::<_, http::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn new() -> Self {
        Self {
            rules: SanitizeRules {
                render: ErrorString,
                message: "Internal server error",
                sanitizer: Sanitizer::production(),
            },
        }
    }
}

impl Default for SanitizeLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> SanitizeLayer<R> {
    /// Replaces the body of the response to a fault.
    ///
    /// The rejection to render has the `x-request-id` among its headers, for a body that names it.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::Response;
    /// use ziggurat_layers::{reject::Rejection, sanitize::SanitizeLayer};
    ///
    /// let page = |rejection: &Rejection| {
    ///     let id = rejection.headers()["x-request-id"].to_str().unwrap_or_default();
    ///     Response::new(Bytes::from(format!("<h1>{}</h1><p>{id}</p>", rejection.message())))
    /// };
    /// let layer = SanitizeLayer::new().with_render(page);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> SanitizeLayer<T> {
        SanitizeLayer {
            rules: SanitizeRules {
                render,
                message: self.rules.message,
                sanitizer: self.rules.sanitizer,
            },
        }
    }

    /// Replaces the sentence that clients read.
    ///
    /// ```
    /// use ziggurat_layers::sanitize::SanitizeLayer;
    ///
    /// let layer = SanitizeLayer::new().with_message("The service is out of order");
    /// # let _ = layer;
    /// ```
    pub fn with_message(mut self, message: &'static str) -> Self {
        self.rules.message = message;
        self
    }

    /// Sets whether clients are shown the cause (they are not by default).
    ///
    /// When they are, the sentence is the scrubbed detail of the fault; a fault without a detail
    /// keeps its body. Scrubbing does not make this safe for production: turn it on for developers
    /// only.
    ///
    /// ```
    /// use ziggurat_layers::sanitize::SanitizeLayer;
    ///
    /// let layer = SanitizeLayer::new().with_detail(cfg!(debug_assertions));
    /// # let _ = layer;
    /// ```
    pub fn with_detail(mut self, shown: bool) -> Self {
        self.rules.sanitizer = Sanitizer {
            shows_detail: shown,
        };
        self
    }
}

impl<R> fmt::Debug for SanitizeLayer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SanitizeLayer")
            .field("rules", &self.rules)
            .finish()
    }
}

impl<S, R: Clone> Layer<S> for SanitizeLayer<R> {
    type Service = Sanitize<S, R>;

    fn layer(&self, inner: S) -> Self::Service {
        Sanitize {
            inner,
            rules: self.rules.clone(),
        }
    }
}

// === impl Sanitize ===

impl<S: fmt::Debug, R> fmt::Debug for Sanitize<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sanitize")
            .field("inner", &self.inner)
            .field("rules", &self.rules)
            .finish()
    }
}

impl<S, R, ReqBody, ResBody> Service<Request<ReqBody>> for Sanitize<S, R>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    R: Render<ResBody> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let origin = RequestInfo::of(&request);
        let rules = self.rules.clone();
        // The request is dropped after a panic. The service is not; see the module docs.
        match catch_unwind(AssertUnwindSafe(|| self.inner.call(request))) {
            Ok(response) => ResponseFuture {
                state: State::Serving { response },
                origin,
                rules,
            },
            Err(payload) => ResponseFuture {
                state: State::panicked(&*payload),
                origin,
                rules,
            },
        }
    }
}

// === impl SanitizeRules ===

impl<R> fmt::Debug for SanitizeRules<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SanitizeRules")
            .field("message", &self.message)
            .field("sanitizer", &self.sanitizer)
            .finish_non_exhaustive()
    }
}

impl<R> SanitizeRules<R> {
    #[cold]
    fn answer<B>(&self, origin: &RequestInfo, response: &mut Response<B>)
    where
        R: Render<B>,
    {
        let status = response.status();
        let extensions = response.extensions_mut();
        let detail = extensions.remove::<ErrorDetail>();
        let is_public =
            extensions.get::<Rejection>().is_some() || extensions.get::<Public>().is_some();
        let id = origin.id.as_ref().or(extensions.get()).cloned();
        let id = id.unwrap_or_else(RequestId::generate);
        let trace = extensions.get::<TraceId>();
        origin.log(&id, trace, status, detail.as_ref(), is_public);

        let message = match &detail {
            _ if is_public => None,
            Some(detail) => Some(self.sanitizer.public(detail, self.message)),
            None if self.sanitizer.shows_detail => None,
            None => Some(Cow::Borrowed(self.message)),
        };
        let Some(message) = message else {
            response
                .headers_mut()
                .insert(X_REQUEST_ID, id.to_header_value());
            response.extensions_mut().insert(id);
            return;
        };
        for name in &BODY_HEADERS {
            response.headers_mut().remove(name);
        }
        let (new, body) = self.fault(status, message, id).into_parts();
        response.headers_mut().extend(new.headers);
        response.extensions_mut().extend(new.extensions);
        *response.body_mut() = body;
    }

    fn answer_to_panic<B>(&self, origin: &RequestInfo, detail: &ErrorDetail) -> Response<B>
    where
        R: Render<B>,
    {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        let id = origin.id.clone().unwrap_or_else(RequestId::generate);
        origin.log(&id, None, status, Some(detail), false);
        let message = self.sanitizer.public(detail, self.message);
        self.fault(status, message, id)
    }

    fn fault<B>(&self, status: StatusCode, message: Cow<'static, str>, id: RequestId) -> Response<B>
    where
        R: Render<B>,
    {
        let mut response = Rejection::new(status, "internal_error", message)
            .with_header(X_REQUEST_ID, id.to_header_value())
            .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
            .into_response(&self.render);
        response.extensions_mut().insert(id);
        response
    }
}

// === impl RequestInfo ===

impl RequestInfo {
    #[inline]
    fn of<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        Self {
            head: tracing::enabled!(tracing::Level::ERROR)
                .then(|| (request.method().clone(), uri.path_and_query().cloned())),
            id: RequestId::of(request),
        }
    }

    fn log(
        &self,
        id: &RequestId,
        trace: Option<&TraceId>,
        status: StatusCode,
        detail: Option<&ErrorDetail>,
        is_public: bool,
    ) {
        let Some((method, path)) = &self.head else {
            return;
        };
        let request_id = id.as_str();
        let trace_id = trace.map(TraceId::as_str);
        let status = status.as_u16();
        let method = method.as_str();
        let path = detail::legible(path.as_ref().map_or("", PathAndQuery::path));
        let path = path.as_str();
        if is_public && detail.is_none() {
            tracing::debug!(request_id, trace_id, status, method, path, "refused");
            return;
        }
        // As a string and not through `Display`, so that a subscriber escapes line breaks.
        let error = detail.map(ToString::to_string);
        let error = error.as_deref();
        tracing::error!(
            request_id,
            trace_id,
            status,
            method,
            path,
            error,
            "server fault"
        );
    }
}
