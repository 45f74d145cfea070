//! Who is asking.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use ziggurat_accounts::Identity;

/// Who is asking: nobody in particular where nobody has to sign in.
#[derive(Clone, Debug)]
pub struct Caller(Option<Identity>);

// === impl Caller ===

impl Caller {
    /// What the token of the request proved.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.0.as_ref()
    }

    /// The name of the user, if it is one.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.identity().and_then(Identity::user)
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}
