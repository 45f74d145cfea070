//! Responses: answers and refusals.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_layers::reject::{ErrorObject, Rejection, Render};

use super::failure::STOPPED;

/// Renders a refusal as `{"error": {"code": "<CODE>", "message": "<message>"}}` and a line feed.
///
/// It replaces the codes and messages of layers and routes by those of this server. A program also
/// uses it for refusals of its outer layers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorLine;

/// The response to a refused request.
// Boxed, so that a `Result` with it is not much larger than its `Ok` value.
pub(super) type Refused = Box<Rejection>;

/// The body of the response to a refused request.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what `ErrorLine` writes")]
pub(super) struct ErrorResponse {
    error: ErrorDetail,
}

/// The reason why a request is refused.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what `ErrorLine` writes")]
struct ErrorDetail {
    /// The reason, as a code for programs.
    #[schema(example = "INVALID_REQUEST")]
    code: String,
    /// The reason, as a message for people.
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

/// Returns the refusal with the code and message of this server, where they differ.
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

/// Returns a JSON response to a GET or HEAD request.
pub(super) fn page<B: From<Bytes>>(method: &Method, value: &impl Serialize) -> Response<B> {
    let response = json(value);
    if *method != Method::HEAD {
        return response.map(Into::into);
    }
    // A response to HEAD has the header fields of GET and no content (RFC 9110, section 9.3.2).
    let (mut head, body) = response.into_parts();
    head.headers
        .insert(header::CONTENT_LENGTH, body.len().into());
    Response::from_parts(head, Bytes::new().into())
}

/// Returns a JSON response that ends with a line feed.
pub(super) fn json(value: &impl Serialize) -> Response<Bytes> {
    let mut body = serde_json::to_vec(value).expect("strings, numbers, and lists of them");
    body.push(b'\n');
    let mut response = Response::new(Bytes::from(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Returns 400: the request is invalid.
pub(super) fn invalid(message: String) -> Refused {
    Rejection::new(StatusCode::BAD_REQUEST, "invalid_request", message).into()
}

/// Returns 404: there is no resource at this path.
pub(super) fn not_found() -> Refused {
    Rejection::new(StatusCode::NOT_FOUND, "not_found", "resource not found").into()
}

/// Returns 405: the resource does not support this method.
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
    fn refusals_of_layers_get_the_messages_of_this_server() {
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
    fn a_response_to_head_has_the_header_fields_of_get() {
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
