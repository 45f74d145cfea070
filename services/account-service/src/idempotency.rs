//! Requests that create something, sent again.

use std::time::Duration;

use http::{Extensions, Method};
use ziggurat_layers::{clock::Monotonic, idempotency::IdempotencyLayer};

use crate::{ErrorFormat, input::Authenticated};

/// Time for which a response is kept. It is short, because the response may have a secret.
const LIFETIME: Duration = Duration::from_hours(1);

/// Answers a `POST` that repeats the `Idempotency-Key` of its caller with the first response.
pub(super) fn layer() -> IdempotencyLayer<
    impl Fn(&Extensions) -> Option<Authenticated> + Clone + Send + Sync + 'static,
    Monotonic,
    ErrorFormat,
> {
    // The role is a part of the identity: a caller that lost it gets no response of before.
    IdempotencyLayer::new(|caller: &Extensions| caller.get::<Authenticated>().copied())
        .with_methods([Method::POST])
        .with_lifetime(LIFETIME)
        .with_render(ErrorFormat)
}
