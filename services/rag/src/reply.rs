//! What a response looks like: an answer, or a refusal.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_layers::reject::{ErrorObject, Rejection, Render};

use super::failure::STOPPED;

/// Renders `{"error": {"code": "<CODE>", "message": "<message>"}}` and a line feed behind it: how
/// this server turns requests down.
///
/// What layers and routes say in words of their own, it says in the words of this server. A
/// program renders with it whatever is refused further out, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorLine;

/// A request that is turned down.
// Boxed: a `Result` with it is as large as its other side.
pub(super) type Refused = Box<Rejection>;

/// How a request is turned down.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what `ErrorLine` writes")]
pub(super) struct ErrorResponse {
    error: ErrorDetail,
}

/// Why a request is turned down.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what `ErrorLine` writes")]
struct ErrorDetail {
    /// The reason, for programs.
    #[schema(example = "INVALID_REQUEST")]
    code: String,
    /// The reason, for people.
    #[schema(example = "query is required")]
    message: String,
}

// === impl ErrorLine ===

impl<B: From<Bytes>> Render<B> for ErrorLine {
    fn render(&self, rejection: &Rejection) -> Response<B> {
        let response: Response<Bytes> = match ours(rejection) {
            Some(ours) => ErrorObject.render(&ours),
            None => ErrorObject.render(rejection),
        };
        response.map(|body| {
            let mut line = Vec::with_capacity(body.len() + 1);
            line.extend_from_slice(&body);
            line.push(b'\n');
            Bytes::from(line).into()
        })
    }
}

/// The same in the words of this server, where they differ.
fn ours(rejection: &Rejection) -> Option<Rejection> {
    let (code, message) = match rejection.code() {
        "not_found" => ("not_found", "resource not found"),
        "method_not_allowed" => ("method_not_allowed", "method not allowed"),
        "internal_error" => ("internal_error", "internal server error"),
        "shutting_down" => ("shutting_down", STOPPED),
        "invalid_content_length" => ("invalid_request", "invalid request body: its length"),
        _ => return None,
    };
    Some(Rejection::new(rejection.status(), code, message))
}

/// An answer to a request with this method.
pub(super) fn page<B: From<Bytes>>(method: &Method, value: &impl Serialize) -> Response<B> {
    let response = json(value);
    if *method != Method::HEAD {
        return response.map(Into::into);
    }
    // RFC 9110, section 9.3.2: the head of a GET, its length included, and nothing more.
    let (mut head, body) = response.into_parts();
    head.headers
        .insert(header::CONTENT_LENGTH, body.len().into());
    Response::from_parts(head, Bytes::new().into())
}

/// An answer, with a line feed behind it.
pub(super) fn json(value: &impl Serialize) -> Response<Bytes> {
    let mut body = serde_json::to_vec(value).expect("strings, numbers, and lists of them");
    body.push(b'\n');
    let mut response = Response::new(Bytes::from(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// 400: the request is no good.
pub(super) fn invalid(message: String) -> Refused {
    Rejection::new(StatusCode::BAD_REQUEST, "invalid_request", message).into()
}

/// 404: there is nothing at this path.
pub(super) fn not_found() -> Refused {
    Rejection::new(StatusCode::NOT_FOUND, "not_found", "resource not found").into()
}

/// 405: there is something, but not with this method.
pub(super) fn no_such_method(allow: &'static str) -> Refused {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    Rejection::new(status, "method_not_allowed", "method not allowed")
        .with_header(header::ALLOW, HeaderValue::from_static(allow))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(rejection: Rejection) -> (u16, Bytes) {
        let response: Response<Bytes> = rejection.into_response(&ErrorLine);
        (response.status().as_u16(), response.into_body())
    }

    #[test]
    fn a_refusal_is_one_line_with_the_code_first() {
        let said = rendered(*invalid("query is \"required\"".to_owned()));
        let line = "{\"error\":{\"code\":\"INVALID_REQUEST\",\
            \"message\":\"query is \\\"required\\\"\"}}\n";
        assert_eq!(said, (400, line.into()));
    }

    #[test]
    fn what_others_refuse_is_said_in_the_words_of_this_server() {
        for (status, code, line) in [
            (
                404,
                "not_found",
                r#""NOT_FOUND","message":"resource not found""#,
            ),
            (
                405,
                "method_not_allowed",
                r#""METHOD_NOT_ALLOWED","message":"method not allowed""#,
            ),
            (
                500,
                "internal_error",
                r#""INTERNAL_ERROR","message":"internal server error""#,
            ),
            (
                400,
                "invalid_content_length",
                r#""INVALID_REQUEST","message":"invalid request body: its length""#,
            ),
            (
                418,
                "short_and_stout",
                r#""SHORT_AND_STOUT","message":"tea""#,
            ),
        ] {
            let status = StatusCode::from_u16(status).expect("a status");
            let said = rendered(Rejection::new(status, code, "tea"));
            let line = format!("{{\"error\":{{\"code\":{line}}}}}\n");
            assert_eq!(said, (status.as_u16(), line.into()), "{code}");
        }
    }

    #[test]
    fn a_head_is_that_of_the_answer() {
        let get: Response<Bytes> = page(&Method::GET, &["a"]);
        assert_eq!(get.body(), "[\"a\"]\n");
        let head: Response<Bytes> = page(&Method::HEAD, &["a"]);
        assert_eq!(head.headers()["content-length"], "6");
        assert_eq!(
            head.headers()["content-type"],
            get.headers()["content-type"]
        );
        assert_eq!(head.body(), "");
    }
}
