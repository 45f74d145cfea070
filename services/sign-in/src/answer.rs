//! Answers of the endpoints.

use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, LOCATION, PRAGMA, RETRY_AFTER,
        WWW_AUTHENTICATE,
    },
};
use http_body_util::Full;
use serde_json::{Value, json};
use ziggurat_layers::rate_limit::Limited;

/// An answer.
pub(crate) type Answer = Response<Full<Bytes>>;

/// A refusal of an endpoint for programs (RFC 6749, section 5.2).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OAuthError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) problem: String,
    /// Says that the client tried Basic, so that it is asked for it.
    pub(crate) asks_basic: bool,
    /// The time after which another attempt makes sense.
    pub(crate) retry_after: Option<Duration>,
}

// === impl OAuthError ===

impl OAuthError {
    pub(crate) fn new(code: &'static str, problem: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code,
            problem: problem.into(),
            asks_basic: false,
            retry_after: None,
        }
    }

    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The accounts, the store or the keys cannot be used at the moment.
    pub(crate) fn unavailable() -> Self {
        let problem = "sign-in is not possible at the moment";
        Self {
            retry_after: Some(Duration::from_secs(5)),
            ..Self::new("temporarily_unavailable", problem)
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
        }
    }

    /// An address or a client asked too often.
    pub(crate) fn too_many(code: &'static str, limited: &Limited) -> Self {
        Self {
            retry_after: Some(limited.retry_after()),
            ..Self::new(code, "there were too many attempts; try again later")
                .with_status(StatusCode::TOO_MANY_REQUESTS)
        }
    }
}

impl From<OAuthError> for Answer {
    fn from(error: OAuthError) -> Self {
        let body = json!({"error": error.code, "error_description": error.problem});
        let mut answer = json_answer(error.status, &body);
        if error.asks_basic {
            let basic = HeaderValue::from_static("Basic realm=\"sign-in\"");
            answer.headers_mut().insert(WWW_AUTHENTICATE, basic);
        }
        match error.retry_after {
            Some(wait) => retry_after(answer, wait),
            None => answer,
        }
    }
}

/// Returns JSON for programs, which no cache keeps.
pub(crate) fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let mut answer = document(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    answer
}

/// Returns JSON that any page may read.
pub(crate) fn document(body: &Value) -> Answer {
    let mut answer = Response::new(Full::from(body.to_string()));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    answer
}

/// Returns an answer without a body.
pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    let no_store = HeaderValue::from_static("no-store");
    answer.headers_mut().insert(CACHE_CONTROL, no_store);
    answer
}

/// Sends a browser to another address.
pub(crate) fn see_other(address: &str) -> Answer {
    let mut answer = empty(StatusCode::SEE_OTHER);
    match HeaderValue::from_str(address) {
        Ok(address) => {
            answer.headers_mut().insert(LOCATION, address);
            answer
        }
        Err(_) => empty(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Tells when another attempt makes sense.
pub(crate) fn retry_after(answer: Answer, wait: Duration) -> Answer {
    with_header(answer, RETRY_AFTER, &wait.as_secs().max(1).to_string())
}

/// Adds a header to an answer.
pub(crate) fn with_header(mut answer: Answer, name: HeaderName, value: &str) -> Answer {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().append(name, value);
    }
    answer
}
