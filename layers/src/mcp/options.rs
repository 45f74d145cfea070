//! Settings, and the check of the head of a request.

use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body::Body;

use crate::{json_rpc::scan::Limits, reject::Rejection};

const DEFAULT_MAX_BYTES: usize = 4 << 20;

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) limits: Limits,
    pub(super) max_bytes: usize,
    pub(super) max_list_bytes: usize,
    pub(super) challenge: HeaderValue,
    pub(super) posts_only: bool,
    pub(super) resumption: bool,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits {
                max_depth: 64,
                max_messages: 32,
            },
            max_bytes: DEFAULT_MAX_BYTES,
            max_list_bytes: DEFAULT_MAX_BYTES,
            challenge: HeaderValue::from_static("Bearer"),
            posts_only: false,
            resumption: false,
        }
    }
}

impl Options {
    /// Checks the head of a request.
    pub(super) fn check<B: Body>(&self, request: &Request<B>) -> Result<(), Box<Rejection>> {
        match *request.method() {
            Method::POST if is_json(request.headers()) => Ok(()),
            Method::POST => Err(Box::new(Rejection::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "The body must be JSON: send the header `Content-Type: application/json`",
            ))),
            Method::GET if self.must_not_resume(request.headers()) => Err(self.wrong_method()),
            Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS if !self.posts_only => {
                // A server that reads the body would read unchecked messages.
                require_no_body(request.body())
            }
            _ => Err(self.wrong_method()),
        }
    }

    fn must_not_resume(&self, headers: &HeaderMap) -> bool {
        !self.resumption && headers.contains_key("last-event-id")
    }

    fn wrong_method(&self) -> Box<Rejection> {
        let allowed = if self.posts_only {
            "POST"
        } else {
            "POST, GET, HEAD, DELETE, OPTIONS"
        };
        let rejection = Rejection::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "Method not allowed",
        );
        Box::new(rejection.with_header(header::ALLOW, HeaderValue::from_static(allowed)))
    }

    pub(super) fn unauthorized(&self) -> Box<Rejection> {
        let rejection = Rejection::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "Authentication is required",
        );
        Box::new(rejection.with_header(header::WWW_AUTHENTICATE, self.challenge.clone()))
    }
}

fn require_no_body<B: Body>(body: &B) -> Result<(), Box<Rejection>> {
    if body.is_end_stream() {
        return Ok(());
    }
    Err(Box::new(Rejection::new(
        StatusCode::BAD_REQUEST,
        "unexpected_body",
        "Only a POST may have a body",
    )))
}

/// Returns whether a body is JSON in UTF-8: another charset could hide a name. No `Content-Type` is
/// fine, since the body is read as JSON in any case.
fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let Some(value) = values.next() else {
        return true;
    };
    let Ok(value) = value.to_str() else {
        return false;
    };
    let mut parts = value.split(';').map(str::trim);
    let is_json = parts
        .next()
        .is_some_and(|it| it.eq_ignore_ascii_case("application/json"));
    let is_utf_8 = |part: &str| match part.split_once('=') {
        Some((name, charset)) if name.trim().eq_ignore_ascii_case("charset") => charset
            .trim()
            .trim_matches('"')
            .eq_ignore_ascii_case("utf-8"),
        _ => true,
    };
    is_json && parts.all(is_utf_8) && values.next().is_none()
}
