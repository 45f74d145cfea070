//! Responses to requests that run no statement.

use std::borrow::Cow;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use ziggurat_calls::{activity::CancelledBy, http::limited, limits::Refused};
use ziggurat_databases::{MetadataError, NoDatabase, SelectError};
use ziggurat_http::{ErrorAndCode, Refusal};
use ziggurat_layers::reject::Rejection;
use ziggurat_postgres::pool::LeaseError;

/// The code of a statement that was cancelled.
pub(crate) const CANCELLED: &str = "cancelled";

/// The code and the sentence of a statement that has to be confirmed.
pub(crate) const CONFIRM: &str = "confirm";
pub(crate) const DEMANDED: &str = "This statement may change data. Confirm it to run it.";

/// Reason why a request runs no statement.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The request is refused.
    Refused(Refusal<ErrorAndCode>),
    /// The statement may write, and has to be confirmed.
    // Boxed: it is large, and rare.
    Confirm(Box<ConfirmationDemand>),
    /// The request asks for the changed rows alone.
    Preview(Box<Value>),
}

/// A statement that has to be confirmed: send the request again with `confirm`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConfirmationDemand {
    /// The sentence for the user.
    pub(crate) error: &'static str,
    /// `confirm`, or `changed`: another preview was confirmed.
    pub(crate) code: &'static str,
    /// The statement.
    pub(crate) statement: String,
    /// Name of the database.
    pub(crate) database: String,
    /// The seal: valid for ten minutes and for one run of this statement in this database.
    pub(crate) confirm: String,
    /// The rows that the statement would change, in a database with previews; null if they cannot be
    /// shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) preview: Option<Value>,
    /// The reason why there is no preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

// === impl Stop ===

impl Stop {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Refused(Refusal::new(status, code, message))
    }

    /// 400: the body is not what the endpoint expects.
    pub(crate) fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// 400: there is no statement.
    pub(crate) fn no_sql() -> Self {
        let message = "There is no statement to run";
        Self::new(StatusCode::BAD_REQUEST, "no_sql", message)
    }

    /// 404: the caller has no such database. Whether others have it is not for the caller to know.
    pub(crate) fn no_database() -> Self {
        let message = SelectError::NotFound.to_string();
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 503: the session runs as many statements as it may.
    pub(crate) fn busy() -> Self {
        let message = "This session already runs two queries. Stop one of them, or wait for it.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }
}

impl From<Refusal<ErrorAndCode>> for Stop {
    fn from(refusal: Refusal<ErrorAndCode>) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Self::Refused(rejection.into())
    }
}

impl From<NoDatabase> for Stop {
    fn from(error: NoDatabase) -> Self {
        // The message of this error is for the caller.
        Self::new(StatusCode::FORBIDDEN, "denied", error.to_string())
    }
}

impl From<MetadataError> for Stop {
    fn from(error: MetadataError) -> Self {
        let message = error.public_message();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unreachable", message)
    }
}

impl From<LeaseError> for Stop {
    fn from(error: LeaseError) -> Self {
        let code = match error {
            LeaseError::NotOpen { .. } => {
                return Self::new(StatusCode::FORBIDDEN, "denied", error.public_message());
            }
            LeaseError::Busy { .. }
            | LeaseError::Account { .. }
            | LeaseError::Full { .. }
            | LeaseError::TooManyPairs => "busy",
            _ => "unreachable",
        };
        let message = error.public_message();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }
}

impl From<CancelledBy> for Stop {
    fn from(by: CancelledBy) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, CANCELLED, by.message())
    }
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        limited(refused, "too_many_requests").into()
    }
}

impl IntoResponse for Stop {
    fn into_response(self) -> Response {
        match self {
            Self::Refused(refusal) => refusal.into_response(),
            Self::Confirm(demand) => (StatusCode::CONFLICT, Json(demand)).into_response(),
            Self::Preview(object) => Json(object).into_response(),
        }
    }
}
