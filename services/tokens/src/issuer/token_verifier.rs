//! Validates own tokens and tokens of an issuer.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use ziggurat_layers::bearer::{Denied, Verify};

use crate::{Identity, issuer::Issuer};

/// Validates own tokens, and signed tokens of an issuer if one is trusted. It needs at least one of the
/// two, else it refuses all tokens.
///
/// Signed tokens have two dots; own tokens have none.
#[derive(Clone, Debug)]
pub struct TokenVerifier<T, I = Issuer> {
    own: Option<T>,
    issuer: Option<I>,
}

/// Future returned by the check of a token, which `F` is for an own one.
pub struct TokenVerifyFuture<F, I = <Issuer as Verify>::Future>(State<F, I>);

enum State<F, I> {
    Own(F),
    Issued(I),
    Denied,
}

// === impl TokenVerifier ===

impl<T, I> TokenVerifier<T, I> {
    /// Creates a verifier for own tokens and tokens of this issuer.
    #[must_use]
    pub fn new(own: Option<T>, issuer: Option<I>) -> Self {
        Self { own, issuer }
    }

    fn issuer_of(&self, token: &str) -> Option<&I> {
        let issuer = self.issuer.as_ref()?;
        (token.bytes().filter(|byte| *byte == b'.').count() == 2).then_some(issuer)
    }
}

impl<T, I> Verify for TokenVerifier<T, I>
where
    T: Verify<Identity = Identity>,
    T::Future: Unpin,
    I: Verify<Identity = Identity>,
    I::Future: Unpin,
{
    type Identity = Identity;
    type Future = TokenVerifyFuture<T::Future, I::Future>;

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

impl<F, I> Future for TokenVerifyFuture<F, I>
where
    F: Future<Output = Result<Identity, Denied>> + Unpin,
    I: Future<Output = Result<Identity, Denied>> + Unpin,
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

impl<F, I> fmt::Debug for TokenVerifyFuture<F, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenVerifyFuture").finish_non_exhaustive()
    }
}
