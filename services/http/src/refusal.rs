//! Error responses of an endpoint.

use std::{borrow::Cow, fmt, marker::PhantomData};

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::Serialize;
use ziggurat_layers::{
    reject::{ErrorString, Rejection, Render},
    sanitize::ErrorDetail,
};

/// A request that is rejected, in the format of its endpoint: `{"error": …}` unless `R` is another
/// [`Render`].
///
/// The message is meant for the client and is sent unchanged, for a server fault, too. The cause is
/// for the log and is added with [`with_detail`](Self::with_detail).
pub struct Refusal<R = ErrorString> {
    // Boxed, because it determines the size of every `Result` that holds it.
    parts: Box<(Rejection, Option<ErrorDetail>)>,
    render: PhantomData<fn() -> R>,
}

/// Renders `{"error": "<message>", "code": "<code>"}`.
///
/// ```
/// use axum::body::{Body, to_bytes};
/// use http::StatusCode;
/// use ziggurat_http::ErrorAndCode;
/// use ziggurat_layers::reject::Rejection;
///
/// # tokio_test::block_on(async {
/// let no = Rejection::new(StatusCode::CONFLICT, "closed", "This order is closed");
/// let response = no.into_response::<Body>(&ErrorAndCode);
/// let body = to_bytes(response.into_body(), 100).await?;
/// assert_eq!(body, r#"{"error":"This order is closed","code":"closed"}"#);
/// # Ok::<_, axum::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorAndCode;

/// Body of a response of [`ErrorAndCode`].
#[derive(Serialize)]
struct Coded<'a> {
    error: &'a str,
    code: &'a str,
}

// === impl ErrorAndCode ===

impl Render<Body> for ErrorAndCode {
    fn render(&self, rejection: &Rejection) -> Response {
        let coded = Coded {
            error: rejection.message(),
            code: rejection.code(),
        };
        Json(coded).into_response()
    }
}

// === impl Refusal ===

impl<R> Refusal<R> {
    /// Rejects a request. `code` is the reason for programs, in snake case.
    #[must_use]
    pub fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Rejection::new(status, code, message).into()
    }

    /// 400: the request is invalid.
    #[must_use]
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// 404: there is nothing at this path.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Not found")
    }

    /// 405: the path exists, but not with this method. The router adds the allowed methods.
    #[must_use]
    pub fn no_such_method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "Method not allowed",
        )
    }

    /// 500: it is not the client's fault. The message is for the client, the detail for the log.
    #[must_use]
    pub fn fault(message: impl Into<Cow<'static, str>>, detail: ErrorDetail) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message).with_detail(detail)
    }

    /// Returns the status, the code and the message.
    #[must_use]
    pub fn rejection(&self) -> &Rejection {
        &self.parts.0
    }

    /// Adds a detail for the log.
    #[must_use]
    pub fn with_detail(mut self, detail: ErrorDetail) -> Self {
        self.parts.1 = Some(detail);
        self
    }
}

impl<R> From<Rejection> for Refusal<R> {
    fn from(rejection: Rejection) -> Self {
        Self {
            parts: Box::new((rejection, None)),
            render: PhantomData,
        }
    }
}

impl<R: Render<Body> + Default> IntoResponse for Refusal<R> {
    fn into_response(self) -> Response {
        let (rejection, detail) = *self.parts;
        let mut response = rejection.into_response(&R::default());
        if let Some(detail) = detail {
            response.extensions_mut().insert(detail);
        }
        response
    }
}

impl<R> fmt::Debug for Refusal<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refusal").field(&self.parts.0).finish()
    }
}
