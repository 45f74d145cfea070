//! The reasons to refuse a request.

use http::{HeaderValue, StatusCode, header};

use crate::{idempotency::key::NoKey, reject::Rejection};

/// Seconds after which a duplicate of a running request may be sent again.
static RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdempotencyFault {
    KeyMissing,
    KeyInvalid,
    IdentityMissing,
    Running,
    NotStored,
    Reused,
    Full,
    ResponseUnreadable,
}

// === impl IdempotencyFault ===

impl IdempotencyFault {
    #[cold]
    pub(super) fn rejection(self) -> Rejection {
        let (status, code, message) = match self {
            Self::KeyMissing => (
                StatusCode::BAD_REQUEST,
                "idempotency_key_missing",
                "This request needs an Idempotency-Key header",
            ),
            Self::KeyInvalid => (
                StatusCode::BAD_REQUEST,
                "idempotency_key_invalid",
                "Invalid Idempotency-Key header: expected one string of 1 to 255 characters",
            ),
            Self::IdentityMissing => (
                StatusCode::FORBIDDEN,
                "idempotency_identity_missing",
                "An Idempotency-Key needs an authenticated client",
            ),
            Self::Running => (
                StatusCode::CONFLICT,
                "idempotency_key_in_use",
                "A request with this Idempotency-Key is still running",
            ),
            Self::NotStored => (
                StatusCode::CONFLICT,
                "idempotency_response_not_stored",
                "The request with this Idempotency-Key was answered, but its response was not stored",
            ),
            Self::Reused => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                "This Idempotency-Key was used for another request",
            ),
            Self::Full => (
                StatusCode::SERVICE_UNAVAILABLE,
                "idempotency_store_full",
                "Too many requests with an Idempotency-Key are running",
            ),
            Self::ResponseUnreadable => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "response_unreadable",
                "The response could not be read",
            ),
        };
        let rejection = Rejection::new(status, code, message);
        match self {
            Self::Running | Self::Full => {
                rejection.with_header(header::RETRY_AFTER, RETRY_AFTER.clone())
            }
            _ => rejection,
        }
    }
}

impl From<NoKey> for IdempotencyFault {
    fn from(no_key: NoKey) -> Self {
        match no_key {
            NoKey::Missing => Self::KeyMissing,
            NoKey::Invalid => Self::KeyInvalid,
        }
    }
}
