//! Answers a repeated request with the response to the first (`Idempotency-Key`).
//!
//! A client that gets no response cannot know if its request was processed. It chooses a key for
//! each operation, sends it in the `Idempotency-Key` header
//! (draft-ietf-httpapi-idempotency-key-header), and sends the request again with the same key. The
//! handler runs once: duplicates get the status, the body and some headers of the first response.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Extensions, Request, Response, StatusCode};
//! use http_body_util::{BodyExt as _, Full};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::idempotency::{DigestedBody, IdempotencyLayer};
//!
//! /// The identity that authentication put into the extensions.
//! #[derive(Clone, Copy, Hash)]
//! struct User(u64);
//!
//! # tokio_test::block_on(async {
//! let service = ServiceBuilder::new()
//!     .layer(IdempotencyLayer::new(|request: &Extensions| request.get::<User>().copied()))
//!     .service(service_fn(|request: Request<DigestedBody<Full<Bytes>>>| async {
//!         let order = request.into_body().collect().await?.to_bytes();
//!         Ok::<_, std::convert::Infallible>(Response::new(Full::new(order)))
//!     }));
//! let order = |text: &'static str| {
//!     let request = Request::post("/orders").header("idempotency-key", "\"8e03978e\"");
//!     request.extension(User(7)).body(Full::<Bytes>::from(text)).unwrap()
//! };
//!
//! let response = service.clone().oneshot(order("two chairs")).await?;
//! assert_eq!(response.status(), StatusCode::OK);
//! let response = service.clone().oneshot(order("two chairs")).await?;
//! assert_eq!(response.headers()["idempotent-replayed"], "true");
//! assert_eq!(response.into_body().collect().await?.to_bytes(), "two chairs");
//!
//! let response = service.oneshot(order("ten chairs")).await?;
//! assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
//! # Ok::<_, std::convert::Infallible>(())
//! # }).unwrap();
//! ```
//!
//! # Answers to a request with a key
//!
//! | The request | Answer |
//! | --- | --- |
//! | is the first with this key | the handler's |
//! | repeats one that was answered | that response, with `idempotent-replayed: true` |
//! | repeats one that still runs | 409 `idempotency_key_in_use`, with `Retry-After` |
//! | repeats one that ended without a stored response | 409 `idempotency_response_not_stored` |
//! | differs from the first with this key | 422 `idempotency_key_reused` |
//! | has several keys, or one that is not valid | 400 `idempotency_key_invalid` |
//! | has no identity | 403 `idempotency_identity_missing` |
//! | is one too many that run at the same time | 503 `idempotency_store_full`, with `Retry-After` |
//!
//! The names are the values of [`Rejection::code`](crate::reject::Rejection::code). A request
//! without a key passes, but [`with_required`] refuses it with 400 `idempotency_key_missing`. Other
//! methods than POST and PATCH pass as well; [`with_methods`] changes the list.
//!
//! Keys belong to an identity, which the function in [`new`](IdempotencyLayer::new) reads from the
//! extensions of the request, where no client can write. So clients never see the responses to
//! other clients. If all clients may share their keys, return a constant.
//!
//! A key is a quoted string of up to 255 characters, as in the draft, without parameters. The bare
//! form that many clients send is the same key; it must not contain spaces, quotes, backslashes,
//! commas or semicolons.
//!
//! A duplicate has the method, host, path, query, `Content-Type`, `Content-Encoding` and body of
//! the first request. The body is digested while the handler reads it. To compare, the layer reads
//! the body of a duplicate itself, no further than the first body was read. Bytes that the handler
//! left unread are not compared, because the response cannot depend on them.
//!
//! # Responses that are not stored
//!
//! Some keys are forgotten, and a duplicate runs the handler again: after 408, 425 and 429, which
//! ask to try again later; after a server fault (5xx), so that a retry can succeed; if the handler
//! could not read the request body; and if it was dropped before it answered, as most servers do
//! when a client disconnects. A handler that makes all its changes in one transaction has changed
//! nothing then. For other handlers use [`with_at_most_once`].
//!
//! Other responses cannot be repeated: streams and other bodies of unknown length, bodies larger
//! than [`with_max_bytes`], and responses that announce trailers. They pass unchanged but for the
//! header `idempotency-status: not-stored`. Duplicates are refused with 409 without `Retry-After`:
//! the request was processed, and a later retry gets no other answer.
//!
//! # Deployment
//!
//! - Put authentication further out, or there is no identity. Put authorization further out as
//!   well: layers further in do not see duplicates.
//! - Put a rate limit and [`body_limit`](crate::body_limit) further out: one client can use up the
//!   keys that are remembered, and the layer reads bodies of duplicates.
//! - Put compression, CORS and other layers that add headers further out, so that they see
//!   repeated responses as well.
//! - Put a timeout further in: a request that never ends keeps its key for ever. The time to send
//!   a body is limited by the server alone.
//! - A response is stored before the server begins to send it. To get it also when the client
//!   disconnects while the handler runs, run the handler in a task of its own further in.
//! - The keys are in the memory of one process. With replicas, send a client always to the same
//!   one. A restart forgets all keys.
//! - `Set-Cookie` is never stored. Add other headers with [`with_headers`].
//! - All services of a layer share its keys.
//!
//! # Memory
//!
//! The layer remembers 100,000 keys at most for 24 hours by default, at 200 to 300 bytes each.
//! When there are more, the oldest answered key is forgotten, and a duplicate of its request runs
//! the handler again: set [`with_max_keys`] above the number of keys that you expect in the
//! lifetime. Keys of running requests are never forgotten; if there are only such keys, new ones
//! get 503. The store is divided into parts of equal size, so this happens to the first keys when
//! it is nearly full.
//!
//! Responses take 64 MiB at most, by [`with_max_total_bytes`]. When there are more, the oldest is
//! dropped, but its key is not: duplicates get 409, and the handler does not run again.
//!
//! A request without a key allocates nothing. One with a key allocates for the digest of its body,
//! which may be read on another task, and for the copy of its response.
//!
//! [`with_required`]: IdempotencyLayer::with_required
//! [`with_methods`]: IdempotencyLayer::with_methods
//! [`with_headers`]: IdempotencyLayer::with_headers
//! [`with_max_bytes`]: IdempotencyLayer::with_max_bytes
//! [`with_max_keys`]: IdempotencyLayer::with_max_keys
//! [`with_max_total_bytes`]: IdempotencyLayer::with_max_total_bytes
//! [`with_at_most_once`]: IdempotencyLayer::with_at_most_once

mod body;
mod digest;
mod fault;
mod future;
mod key;
mod layer;
mod store;
#[cfg(test)]
mod tests;

use std::{
    error::Error,
    fmt,
    hash::Hash,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Extensions, HeaderName, Method, Request, Response, StatusCode, header};
use http_body::Body;
use tower_service::Service;

use self::{
    body::Comparison,
    fault::IdempotencyFault,
    future::FirstRequest,
    key::{NoKey, SentKey},
    store::{Begin, OnDrop, Store},
};
pub use self::{body::DigestedBody, future::ResponseFuture};
use crate::{
    clock::{Clock, Monotonic},
    reject::{ErrorString, Render},
};

type BoxError = Box<dyn Error + Send + Sync>;

/// Answers repeated requests with the response to the first.
///
/// ```
/// use http::Extensions;
/// use ziggurat_layers::idempotency::IdempotencyLayer;
///
/// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied());
/// # let _ = layer;
/// ```
#[derive(Clone)]
#[must_use]
pub struct IdempotencyLayer<I, C = Monotonic, R = ErrorString> {
    identity_of: I,
    clock: C,
    render: R,
    rules: Arc<IdempotencyRules>,
    store: Arc<Store>,
}

/// Service made by [`IdempotencyLayer`].
///
/// ```
/// use http::Extensions;
/// use tower::Layer as _;
/// use ziggurat_layers::idempotency::{Idempotency, IdempotencyLayer};
///
/// let layer = IdempotencyLayer::new(|request: &Extensions| request.get::<u64>().copied());
/// let service: Idempotency<_, _> = layer.layer("the service that is called");
/// # let _ = service;
/// ```
#[derive(Clone)]
pub struct Idempotency<S, I, C = Monotonic, R = ErrorString> {
    inner: S,
    layer: IdempotencyLayer<I, C, R>,
}

/// Settings that are fixed when the layer is built.
#[derive(Clone, Debug)]
struct IdempotencyRules {
    methods: Vec<Method>,
    headers: Vec<HeaderName>,
    lifetime: Duration,
    max_bytes: usize,
    is_required: bool,
    is_at_most_once: bool,
}

// === impl Idempotency ===

impl<S, I, T, C, R, ReqBody, ResBody> Service<Request<ReqBody>> for Idempotency<S, I, C, R>
where
    S: Service<Request<DigestedBody<ReqBody>>, Response = Response<ResBody>>,
    I: Fn(&Extensions) -> Option<T>,
    T: Hash,
    C: Clock + Clone,
    R: Render<ResBody> + Clone,
    ReqBody: Body<Error: Into<BoxError>>,
    ResBody: Body<Error: Into<BoxError>> + From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, ReqBody, ResBody, C, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let rules = &self.layer.rules;
        if !rules.methods.contains(request.method()) {
            return self.pass(request);
        }
        match SentKey::of(request.headers()) {
            Ok(key) => self.call_with_key(&key, request),
            Err(NoKey::Missing) if !rules.is_required => self.pass(request),
            Err(no_key) => self.refuse(no_key.into()),
        }
    }
}

impl<S, I, C, R> Idempotency<S, I, C, R> {
    #[inline]
    fn pass<Q, B>(&mut self, request: Request<Q>) -> ResponseFuture<S::Future, Q, B, C, R>
    where
        S: Service<Request<DigestedBody<Q>>>,
    {
        ResponseFuture::passing(self.inner.call(request.map(DigestedBody::unobserved)))
    }

    fn refuse<F, Q, B>(&self, fault: IdempotencyFault) -> ResponseFuture<F, Q, B, C, R>
    where
        R: Render<B>,
    {
        ResponseFuture::answered(fault.rejection().into_response(&self.layer.render))
    }

    // Not inlined, to keep the path of requests without a key small.
    #[inline(never)]
    fn call_with_key<T, Q, B>(
        &mut self,
        key: &SentKey,
        request: Request<Q>,
    ) -> ResponseFuture<S::Future, Q, B, C, R>
    where
        S: Service<Request<DigestedBody<Q>>>,
        I: Fn(&Extensions) -> Option<T>,
        T: Hash,
        C: Clock + Clone,
        R: Render<B> + Clone,
        Q: Body,
    {
        let layer = &self.layer;
        let Some(identity) = (layer.identity_of)(request.extensions()) else {
            return self.refuse(IdempotencyFault::IdentityMissing);
        };
        let key = digest::of_key(identity, key);
        let head = digest::of_head(&request);
        let now = layer.clock.now();
        match layer.store.begin(key, head, now, layer.rules.on_drop(now)) {
            Begin::First(claim) => {
                let first = FirstRequest {
                    claim,
                    rules: Arc::clone(&layer.rules),
                    clock: layer.clock.clone(),
                    render: layer.render.clone(),
                };
                let request = request.map(|body| DigestedBody::observed(body, first.claim.entry()));
                ResponseFuture::serving(self.inner.call(request), first)
            }
            Begin::Duplicate(expected, stored) => {
                let comparison = Comparison::new(request.into_body(), expected);
                ResponseFuture::comparing(comparison, stored, layer.render.clone())
            }
            Begin::Running => self.refuse(IdempotencyFault::Running),
            Begin::OtherHead => self.refuse(IdempotencyFault::Reused),
            Begin::NotStored => self.refuse(IdempotencyFault::NotStored),
            Begin::Full => self.refuse(IdempotencyFault::Full),
        }
    }
}

impl<S: fmt::Debug, I, C, R> fmt::Debug for Idempotency<S, I, C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency")
            .field("inner", &self.inner)
            .field("layer", &self.layer)
            .finish()
    }
}

// === impl IdempotencyRules ===

impl IdempotencyRules {
    /// Returns whether the handler runs again for a duplicate.
    fn permits_retry(&self, status: StatusCode) -> bool {
        // Each of these asks the client to send the same request later.
        const LATER: [StatusCode; 3] = [
            StatusCode::REQUEST_TIMEOUT,
            StatusCode::TOO_EARLY,
            StatusCode::TOO_MANY_REQUESTS,
        ];
        LATER.contains(&status) || (status.is_server_error() && !self.is_at_most_once)
    }

    fn on_drop(&self, now: Duration) -> OnDrop {
        if self.is_at_most_once {
            OnDrop::KeepUntil(now.saturating_add(self.lifetime))
        } else {
            OnDrop::Forget
        }
    }

    /// Returns the size of a response body that can be stored.
    fn size_to_store<B: Body>(&self, response: &Response<B>) -> Option<usize> {
        let size = usize::try_from(response.body().size_hint().exact()?).ok()?;
        // A stored response has no trailers.
        let has_trailers = response.headers().contains_key(header::TRAILER);
        (size <= self.max_bytes && !has_trailers).then_some(size)
    }
}
