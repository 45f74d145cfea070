//! The caller and the trace of a request.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use ziggurat_telemetry::traces::Trace;
use ziggurat_tokens::Identity;

/// The caller of a request; without an identity if the server has no authentication.
#[derive(Clone, Debug)]
pub struct Caller(Option<Identity>);

/// The trace of a request, for its requests to providers; off by default.
#[derive(Clone, Debug)]
pub(crate) struct RequestTrace(pub(crate) Trace);

// === impl Caller ===

impl Caller {
    /// Returns the identity of the token of the request.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.0.as_ref()
    }

    /// Returns the name of the user, if the caller is a user.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.identity().and_then(Identity::user)
    }

    /// Returns the id of the account, if the caller is a user.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        self.user()?;
        self.identity().map(Identity::account_id)
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}

// === impl RequestTrace ===

impl<S: Sync> FromRequestParts<S> for RequestTrace {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned().unwrap_or_default()))
    }
}
