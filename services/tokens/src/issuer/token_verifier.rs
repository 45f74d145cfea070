//! Validates own tokens and tokens of an issuer.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use ziggurat_layers::bearer::{Denied, Verify};

use crate::{Identity, issuer::Issuer};

/// Validates own tokens, and tokens of an issuer if one is trusted. It needs at least one of the
/// two, else it refuses all tokens.
///
/// Signed tokens have two dots; own tokens have none.
#[derive(Clone, Debug)]
pub struct TokenVerifier<T> {
    own: Option<T>,
    issuer: Option<Issuer>,
}

/// Future returned by the check of a token, which `F` is for an own one.
pub struct TokenVerifyFuture<F>(State<F>);

enum State<F> {
    Own(F),
    Issued(<Issuer as Verify>::Future),
    Denied,
}

// === impl TokenVerifier ===

impl<T> TokenVerifier<T> {
    /// Creates a verifier for own tokens and tokens of this issuer.
    #[must_use]
    pub fn new(own: Option<T>, issuer: Option<Issuer>) -> Self {
        Self { own, issuer }
    }

    fn issuer_of(&self, token: &str) -> Option<&Issuer> {
        let issuer = self.issuer.as_ref()?;
        (token.bytes().filter(|byte| *byte == b'.').count() == 2).then_some(issuer)
    }
}

impl<T> Verify for TokenVerifier<T>
where
    T: Verify<Identity = Identity>,
    T::Future: Unpin,
{
    type Identity = Identity;
    type Future = TokenVerifyFuture<T::Future>;

    fn verify(&self, token: &str) -> Self::Future {
        TokenVerifyFuture(match (self.issuer_of(token), &self.own) {
            (Some(issuer), _) => State::Issued(issuer.verify(token)),
            (None, Some(own)) => State::Own(own.verify(token)),
            (None, None) => State::Denied,
        })
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        match (self.issuer_of(token), &self.own) {
            (Some(issuer), _) => issuer.verify_now(token),
            (None, Some(own)) => own.verify_now(token),
            (None, None) => Some(Err(Denied::Invalid)),
        }
    }
}

// === impl TokenVerifyFuture ===

impl<F> Future for TokenVerifyFuture<F>
where
    F: Future<Output = Result<Identity, Denied>> + Unpin,
{
    type Output = Result<Identity, Denied>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Own(verdict) => Pin::new(verdict).poll(cx),
            State::Issued(verdict) => Pin::new(verdict).poll(cx),
            State::Denied => Poll::Ready(Err(Denied::Invalid)),
        }
    }
}

impl<F> fmt::Debug for TokenVerifyFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenVerifyFuture").finish_non_exhaustive()
    }
}
