//! The body of a request.

use std::marker::PhantomData;

use axum::{
    body::{Body, to_bytes},
    extract::{FromRequest, Request},
};
use bytes::Bytes;
use serde::{
    Deserialize,
    de::{Error as _, IgnoredAny},
};
use thiserror::Error;
use ziggurat_layers::{
    body_limit::ByteBudget,
    reject::{ErrorString, Rejection, Render},
};

use crate::Refusal;

/// Minimum of a [`body_budget`], and of the share of one caller.
const MIN_BUDGET: u64 = 32 << 20;
const MIN_SHARE: u64 = 8 << 20;

/// The complete body of a request.
///
/// A body that breaks off is rejected in the format of the endpoint, with status 400, and one that
/// arrives too slowly with 408. The outer layer that counts the bytes rejects a body that is too
/// large.
#[derive(Clone, Debug)]
pub struct Payload<R = ErrorString> {
    bytes: Bytes,
    render: PhantomData<fn() -> R>,
}

/// The body is not what the endpoint expects: not JSON, not an object, or not with these members.
///
/// The message for the client says only this, unless the endpoint adds the
/// [detail](std::fmt::Display).
#[derive(Debug, Error)]
#[error(transparent)]
pub struct Malformed(#[from] serde_json::Error);

// === impl Payload ===

impl<R> Payload<R> {
    /// Parses it as a JSON object. Members that `T` does not have are ignored.
    ///
    /// # Errors
    /// Fails if it is not an object, or its members have other types.
    pub fn object<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Malformed> {
        let text = str::from_utf8(&self.bytes)
            .map_err(|_| serde_json::Error::custom("the text is not UTF-8"))?;
        object(text)
    }

    /// Returns its length in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

impl<R> From<Bytes> for Payload<R> {
    fn from(bytes: Bytes) -> Self {
        let render = PhantomData;
        Self { bytes, render }
    }
}

impl<S, R> FromRequest<S> for Payload<R>
where
    S: Sync,
    R: Render<Body> + Default,
{
    type Rejection = Refusal<R>;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal<R>> {
        // The outer layer enforces the limit.
        match to_bytes(request.into_body(), usize::MAX).await {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => Err(Rejection::unreadable_body(&error).into()),
        }
    }
}

/// Makes the budget of the bodies of a server: as much as four of the largest have, and at least 32
/// MiB. A caller may use as much as two of them have, and at least 8 MiB.
#[must_use]
pub fn body_budget(max_bytes: u64) -> ByteBudget {
    let times = |count: u64, least: u64| max_bytes.saturating_mul(count).max(least);
    ByteBudget::new(times(4, MIN_BUDGET), times(2, MIN_SHARE))
}

/// Parses a JSON object. Serde alone would accept an array for a struct, too.
pub fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Malformed> {
    let begins = text.trim_start_matches([' ', '\t', '\n', '\r']);
    if !begins.starts_with('{') {
        serde_json::from_str::<IgnoredAny>(text)?;
        return Err(serde_json::Error::custom("expected an object").into());
    }
    Ok(serde_json::from_str(text)?)
}

// === impl Malformed ===

impl<R> From<Malformed> for Refusal<R> {
    fn from(_: Malformed) -> Self {
        Self::invalid("Invalid request body")
    }
}
