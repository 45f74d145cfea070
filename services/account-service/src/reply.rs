//! How requests are turned down.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_http::Refusal;
use ziggurat_layers::{
    reject::{Rejection, Render},
    sanitize::ErrorDetail,
};

use super::Trouble;

/// The code of what no handler has refused.
const NO_ROUTE: &str = "no_route";

/// Renders `{"code": <status>, "message": "<message>"}`, and `{"message": "<message>"}` where
/// there is no such path or method at all: so a client can tell a record that is not there from
/// a service that is another one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coded;

/// A request that is turned down.
pub(super) type Refused = Refusal<Coded>;

/// How a request is turned down.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub(super) struct ErrorBody {
    /// The status. It is not there where there is no such path or method.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    code: Option<u16>,
    /// The reason, for people.
    message: String,
    /// The reason, for programs, where they can do something about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<&'static str>,
}

// === impl Coded ===

impl<B: From<Bytes>> Render<B> for Coded {
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

/// 404: there is nothing at this path.
pub(super) fn no_route() -> Refused {
    Refusal::new(StatusCode::NOT_FOUND, NO_ROUTE, "Not Found")
}

/// 405: there is something, but not with this method.
pub(super) fn no_method() -> Refused {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    Refusal::new(status, NO_ROUTE, "Method Not Allowed")
}

/// 400: the request is no good.
pub(super) fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Refused {
    Refusal::invalid(message)
}

/// 401: whoever asks is not the one who may.
pub(super) fn unauthorized(message: &'static str) -> Refused {
    Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
}

/// 403: the caller is known, and may not do this.
pub(super) fn forbidden(message: &'static str) -> Refused {
    Refusal::new(StatusCode::FORBIDDEN, "forbidden", message)
}

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        let status = match &trouble {
            Trouble::Invalid(_) => StatusCode::BAD_REQUEST,
            Trouble::NotFound(_) => StatusCode::NOT_FOUND,
            Trouble::Conflict(_) => StatusCode::CONFLICT,
            Trouble::Unsigned | Trouble::Random(_) | Trouble::Store(_) => {
                return Self::fault("internal server error", ErrorDetail::new(trouble));
            }
        };
        Self::new(status, "refused", trouble.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_has_no_code_and_a_record_that_is_not_there_has() {
        let said = |status: u16, code| {
            let status = StatusCode::from_u16(status).expect("a status");
            let response: Response<Bytes> =
                Rejection::new(status, code, "Not \"Found\"").into_response(&Coded);
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
