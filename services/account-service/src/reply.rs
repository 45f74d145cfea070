//! Error responses.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_http::Refusal;
use ziggurat_layers::{
    reject::{Rejection, Render},
    sanitize::ErrorDetail,
};

use crate::AccountError;

/// Rejection code of unknown paths and methods.
const NO_ROUTE: &str = "no_route";

/// Renders `{"code": <status>, "message": "<message>"}`, but `{"message": "<message>"}` for an
/// unknown path or method. A client can thus tell a missing record from a different service.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorFormat;

/// A refused request.
pub(super) type Refused = Refusal<ErrorFormat>;

/// Body of an error response.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub(super) struct ErrorBody {
    /// HTTP status. Missing if the path or method does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    code: Option<u16>,
    /// Reason of the error, for people.
    message: String,
    /// Reason of the error for programs, if they can act on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<&'static str>,
}

// === impl ErrorFormat ===

impl<B: From<Bytes>> Render<B> for ErrorFormat {
    fn render(&self, rejection: &Rejection) -> Response<B> {
        let status = rejection.status();
        let body = ErrorBody {
            code: (rejection.code() != NO_ROUTE).then_some(status.as_u16()),
            message: rejection.message().to_owned(),
            reason: None,
        };
        let body = serde_json::to_vec(&body).expect("texts and a number");
        let mut response = Response::new(Bytes::from(body).into());
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

/// Builds a 404: the path does not exist.
pub(super) fn no_route() -> Refused {
    Refusal::new(StatusCode::NOT_FOUND, NO_ROUTE, "Not Found")
}

/// Builds a 405: the path exists, but not with this method.
pub(super) fn no_method() -> Refused {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    Refusal::new(status, NO_ROUTE, "Method Not Allowed")
}

/// Builds a 400: the request is invalid.
pub(super) fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Refused {
    Refusal::invalid(message)
}

/// Builds a 401: the credentials are wrong.
pub(super) fn unauthorized(message: &'static str) -> Refused {
    Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
}

/// Builds a 403: the caller is known, but may not do this.
pub(super) fn forbidden(message: &'static str) -> Refused {
    Refusal::new(StatusCode::FORBIDDEN, "forbidden", message)
}

impl From<AccountError> for Refused {
    fn from(error: AccountError) -> Self {
        let status = match &error {
            AccountError::Invalid(_) => StatusCode::BAD_REQUEST,
            AccountError::NotFound(_) => StatusCode::NOT_FOUND,
            AccountError::Conflict(_) => StatusCode::CONFLICT,
            AccountError::Unsigned | AccountError::Random(_) | AccountError::Store(_) => {
                return Self::fault("internal server error", ErrorDetail::new(error));
            }
        };
        Self::new(status, "refused", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_path_has_no_code_and_a_missing_record_has_one() {
        let said = |status: u16, code| {
            let status = StatusCode::from_u16(status).expect("a status");
            let response: Response<Bytes> =
                Rejection::new(status, code, "Not \"Found\"").into_response(&ErrorFormat);
            response.into_body()
        };
        assert_eq!(said(404, NO_ROUTE), r#"{"message":"Not \"Found\""}"#);
        let expected = r#"{"code":404,"message":"Not \"Found\""}"#;
        assert_eq!(said(404, "refused"), expected);
        assert_eq!(
            said(413, "payload_too_large"),
            r#"{"code":413,"message":"Not \"Found\""}"#
        );
    }
}
