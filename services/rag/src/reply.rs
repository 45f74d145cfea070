//! Responses: answers and refusals.

use axum::response::IntoResponse as _;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_http::Refusal;
use ziggurat_layers::reject::{ErrorObject, Rejection, Render};

use crate::failure::STOPPED;

/// Message for a request without a valid token. It does not tell why a token is invalid.
const NO_TOKEN: &str = "a valid bearer token is required";

/// Renders a refusal as `{"error": {"code": "<CODE>", "message": "<message>"}}` and a line feed.
///
/// It replaces the codes and messages of layers and routes by the codes and messages of this
/// server. A program also uses it for refusals of its outer layers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorLine;

/// The response to a refused request.
pub(super) type Refused = Refusal<ErrorLine>;

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

/// Returns the refusal of a request without a valid token with this code.
pub(super) fn unauthorized(rejection: &Rejection, code: &'static str) -> Option<Rejection> {
    let status = rejection.status();
    (status == StatusCode::UNAUTHORIZED).then(|| Rejection::new(status, code, NO_TOKEN))
}

/// Returns the refusal with the code and message of this server, where they differ.
fn ours(rejection: &Rejection) -> Option<Rejection> {
    if let Some(unauthorized) = unauthorized(rejection, "unauthorized") {
        return Some(unauthorized);
    }
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

/// Returns a JSON response that ends with a line feed.
pub(super) fn json(value: &impl Serialize) -> axum::response::Response {
    let mut body = serde_json::to_vec(value).expect("strings, numbers, and lists of them");
    body.push(b'\n');
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], body).into_response()
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
        let said = rendered(
            Refused::invalid("query is \"required\"")
                .rejection()
                .clone(),
        );
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
                401,
                "invalid_token",
                r#""UNAUTHORIZED","message":"a valid bearer token is required""#,
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
}
