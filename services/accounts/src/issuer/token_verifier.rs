//! Validates own tokens and those of an issuer.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use ziggurat_layers::bearer::{Denied, Verify};

use super::Issuer;
use crate::{Accounts, Identity, VerifyFuture};

/// Validates own tokens, and those of an issuer if one is trusted.
///
/// Signed tokens have two dots; own tokens have none.
#[derive(Clone, Debug)]
pub struct TokenVerifier {
    accounts: Accounts,
    issuer: Option<Issuer>,
}

/// Future returned by the check of a token.
pub struct TokenVerifyFuture(State);

enum State {
    Ours(VerifyFuture),
    Issued(<Issuer as Verify>::Future),
}

// === impl TokenVerifier ===

impl TokenVerifier {
    /// Creates a verifier for own tokens and those of this issuer.
    #[must_use]
    pub fn new(accounts: Accounts, issuer: Option<Issuer>) -> Self {
        Self { accounts, issuer }
    }

    fn issuer_of(&self, token: &str) -> Option<&Issuer> {
        let issuer = self.issuer.as_ref()?;
        (token.bytes().filter(|byte| *byte == b'.').count() == 2).then_some(issuer)
    }
}

impl Verify for TokenVerifier {
    type Identity = Identity;
    type Future = TokenVerifyFuture;

    fn verify(&self, token: &str) -> TokenVerifyFuture {
        TokenVerifyFuture(match self.issuer_of(token) {
            Some(issuer) => State::Issued(issuer.verify(token)),
            None => State::Ours(self.accounts.verify(token)),
        })
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        match self.issuer_of(token) {
            Some(issuer) => issuer.verify_now(token),
            None => self.accounts.verify_now(token),
        }
    }
}

// === impl TokenVerifyFuture ===

impl Future for TokenVerifyFuture {
    type Output = Result<Identity, Denied>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ours(verdict) => Pin::new(verdict).poll(cx),
            State::Issued(verdict) => Pin::new(verdict).poll(cx),
        }
    }
}

impl fmt::Debug for TokenVerifyFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenVerifyFuture").finish_non_exhaustive()
    }
}
