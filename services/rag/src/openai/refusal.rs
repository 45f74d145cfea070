//! Errors in the format of the API of `OpenAI`.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_layers::reject::{Rejection, Render};

use crate::reply::{Refused, unauthorized};

/// Renders a refusal as the API of `OpenAI` does. A program also uses it for refusals of its layers
/// around these routes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatErrors;

/// A request that is refused, with the parameter that is the reason.
#[derive(Debug)]
pub(super) struct ChatRefusal {
    // Boxed, because it determines the size of every `Result` that holds it.
    rejection: Box<Rejection>,
    param: Option<&'static str>,
}

/// The body of the response to a refused request.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChatErrorResponse<'a> {
    error: ChatError<'a>,
}

/// The reason why a request is refused.
#[derive(Debug, Serialize, ToSchema)]
struct ChatError<'a> {
    /// The reason, as a message for people.
    message: &'a str,
    /// The kind of error.
    #[serde(rename = "type")]
    #[schema(example = "invalid_request_error")]
    kind: &'static str,
    /// The parameter that is the reason.
    param: Option<&'static str>,
    /// The reason, as a code for programs.
    code: Option<&'a str>,
}

// === impl ChatErrors ===

impl<B: From<Bytes>> Render<B> for ChatErrors {
    fn render(&self, rejection: &Rejection) -> Response<B> {
        // As the API of `OpenAI` calls it.
        let unauthorized = unauthorized(rejection, "invalid_api_key");
        response(unauthorized.as_ref().unwrap_or(rejection), None).map(Into::into)
    }
}

// === impl ChatRefusal ===

impl ChatRefusal {
    /// 400: a parameter is invalid.
    pub(super) fn invalid(param: &'static str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        let rejection = Refused::invalid(message).rejection().clone();
        Self {
            param: Some(param),
            ..rejection.into()
        }
    }

    /// 400: a parameter asks for something that the server does not do.
    pub(super) fn unsupported(param: &'static str, message: String) -> Self {
        let status = StatusCode::BAD_REQUEST;
        Self {
            param: Some(param),
            ..Rejection::new(status, "unsupported_parameter", message).into()
        }
    }

    /// 404: no pipeline has this name.
    pub(super) fn no_model(name: &str) -> Self {
        let message = format!("The model `{name}` does not exist");
        Self {
            param: Some("model"),
            ..Rejection::new(StatusCode::NOT_FOUND, "model_not_found", message).into()
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.rejection.status()
    }
}

impl From<Rejection> for ChatRefusal {
    fn from(rejection: Rejection) -> Self {
        Self {
            rejection: Box::new(rejection),
            param: None,
        }
    }
}

impl From<Refused> for ChatRefusal {
    fn from(refused: Refused) -> Self {
        refused.rejection().clone().into()
    }
}

impl IntoResponse for ChatRefusal {
    fn into_response(self) -> Response {
        let Self { rejection, param } = self;
        // The rejection adds its status and its headers.
        rejection.into_response(&move |rejection: &Rejection| {
            response(rejection, param).map(axum::body::Body::from)
        })
    }
}

/// Returns an error as the last event of a stream, or as a body.
pub(super) fn body<'a>(
    rejection: &'a Rejection,
    param: Option<&'static str>,
) -> ChatErrorResponse<'a> {
    ChatErrorResponse {
        error: ChatError {
            message: rejection.message(),
            kind: match rejection.status() {
                StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
                status if status.is_server_error() => "server_error",
                _ => "invalid_request_error",
            },
            param,
            code: Some(rejection.code()),
        },
    }
}

fn response(rejection: &Rejection, param: Option<&'static str>) -> Response<Bytes> {
    let mut line = serde_json::to_vec(&body(rejection, param)).expect("strings");
    line.push(b'\n');
    let mut response = Response::new(Bytes::from(line));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
