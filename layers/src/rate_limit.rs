//! Limits requests, or failures, per client address.
//!
//! A [`Policy`] decides which requests are admitted; the layer answers 429 to the others. There are
//! two policies, and a trait for your own:
//!
//! | Policy | What counts | At the limit |
//! | --- | --- | --- |
//! | [`Steady`] | every admitted request | one more as soon as the rate allows it |
//! | [`FailureWindow`] | responses that carry [`AuthFailed`] | none until the window ends |
//!
//! A [`Key`] tells which requests count together: the address in the [`ClientIp`] extension, IPv6
//! addresses by their /64. A refused request never reaches the wrapped service, and its body is not
//! read. The layer does not queue or delay anything, and it does not match paths: wrap the route
//! you mean.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::{
//!     client_ip::ClientIp,
//!     rate_limit::{FailureWindow, RateLimitLayer},
//!     reject::AuthFailed,
//! };
//!
//! # tokio_test::block_on(async {
//! let failures = FailureWindow::new("1 per 15 minutes".parse()?);
//! let service = ServiceBuilder::new()
//!     .layer(RateLimitLayer::new(failures))
//!     .service(service_fn(|_: Request<()>| async {
//!         // A login that never works.
//!         let mut response = Response::new(Bytes::new());
//!         response.extensions_mut().insert(AuthFailed);
//!         Ok::<_, std::convert::Infallible>(response)
//!     }));
//!
//! let caller = ClientIp::from_peer("192.0.2.1:4711".parse()?);
//! let request = Request::post("/login").extension(caller).body(())?;
//! let response = service.clone().oneshot(request.clone()).await?;
//! assert_eq!(response.status(), StatusCode::OK);
//!
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
//! assert_eq!(response.headers()["retry-after"], "900");
//! assert_eq!(response.headers()["ratelimit-policy"], r#""failures";q=1;w=900"#);
//! assert_eq!(response.headers()["ratelimit"], r#""failures";r=0;t=900"#);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Deployment
//!
//! - Put [`ClientIpLayer`](crate::client_ip::ClientIpLayer) further out when there are proxies, or
//!   all clients behind one proxy share one quota. Requests without a [`ClientIp`] all share
//!   [`Key::UNKNOWN`], so a missing extension is noticed soon.
//! - Put the layer outside of what it protects: password hashing, the bearer check.
//! - [`FailureWindow`] counts a failure when it is answered. On a login route add
//!   [`with_in_flight_counted`](FailureWindow::with_in_flight_counted), or guesses sent all at once
//!   are all admitted.
//! - The counts are per process: with three replicas a client has three quotas.
//! - All services of a layer share its policy. To limit something that is not a request, use a
//!   policy without the layer: call [`admit`](Policy::admit) and [`settle`](Permit::settle).
//!
//! # Memory
//!
//! A policy remembers 100,000 keys at most by default, at 100 to 200 bytes each. The cap holds for
//! the whole store at any time. The store is divided into parts of equal size, so the first keys
//! may be dropped when it is nearly full. The oldest keys are dropped first, and a dropped key
//! starts with a full quota: too many clients never lock another client out. This also means that
//! counting addresses does not stop a client that has more addresses than the cap. A `/48` has
//! 65,536 keys; set the cap above the number of addresses you expect in an attack.
//!
//! An admitted request of a known key allocates nothing, and [`FailureWindow`] allocates nothing
//! for clients without failures.

mod failure_window;
mod fields;
mod key;
mod quota;
mod steady;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderValue, Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use self::fields::Fields;
use crate::{
    client_ip::ClientIp,
    reject::{AuthFailed, ErrorString, Rejection, Render},
};

/// Maximum number of keys unless another is set.
const DEFAULT_MAX_KEYS: usize = 100_000;

pub use self::{
    failure_window::{Attempt, FailureWindow},
    fields::InvalidName,
    key::Key,
    quota::{InvalidQuota, Quota},
    steady::{Steady, Ticket},
};

/// Decides which requests are admitted.
///
/// Called for every request, so an implementation must not block or wait. Clones must count
/// together: every service of a layer has a clone.
pub trait Policy {
    /// The state kept for an admitted request until it is answered.
    type Permit: Permit;

    /// Admits a request, or returns the time until the next attempt.
    fn admit(&self, key: Key) -> Result<Self::Permit, Limited>;

    /// The quota in the `RateLimit-Policy` field.
    fn quota(&self) -> Quota;

    /// The name in the header fields, unless the layer sets another. Printable ASCII.
    fn name(&self) -> &'static str {
        "default"
    }
}

/// An admitted request that is not answered yet.
///
/// Dropped without `settle` if there is no response (the request was abandoned or the service
/// returned an error), or if the permit does not [observe responses](Self::OBSERVES_RESPONSES).
pub trait Permit {
    /// Returns whether the permit learns from responses. If not, and no header field has to be
    /// added, responses pass without being read.
    const OBSERVES_RESPONSES: bool = true;

    /// Learns the outcome of the request, and returns the state of the quota after it.
    fn settle(self, outcome: Outcome) -> Standing;
}

/// The outcome of an admitted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The response carries [`AuthFailed`].
    Failed,
    /// The response carries [`AuthSucceeded`], and no [`AuthFailed`].
    Succeeded,
    /// The response says nothing about credentials.
    Neither,
}

/// Marks the response to a request whose credentials were valid.
///
/// The counterpart of [`AuthFailed`]: put into the extensions of a response by a handler that
/// checked a password. [`FailureWindow`] resets its count for it if
/// [told so](FailureWindow::with_forgiveness).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthSucceeded;

/// A refusal by a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Limited {
    retry_after: Duration,
    message: &'static str,
}

/// The remaining quota of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    remaining: u32,
    reset: Option<Duration>,
}

/// Answers 429 to requests that its policy does not admit.
#[derive(Clone, Debug)]
#[must_use]
pub struct RateLimitLayer<P, R = ErrorString> {
    policy: P,
    render: R,
    rules: Arc<Rules>,
}

/// Service made by [`RateLimitLayer`].
#[derive(Clone, Debug)]
pub struct RateLimit<S, P, R = ErrorString> {
    inner: S,
    policy: P,
    render: R,
    rules: Arc<Rules>,
}

/// Settings that are fixed when the layer is built.
#[derive(Clone, Debug)]
struct Rules {
    fields: Fields,
    fields_on_success: bool,
    message: Option<Cow<'static, str>>,
}

pin_project! {
    /// Response future of [`RateLimit`].
    pub struct ResponseFuture<T, F, B> {
        #[pin]
        state: State<T, F, B>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<T, F, B> {
        Refused { response: Option<Response<B>> },
        Serving {
            #[pin]
            response: F,
            // `None`: the response need not be read.
            admitted: Option<Admitted<T>>,
        },
    }
}

/// The state that is needed when the response arrives.
struct Admitted<T> {
    permit: T,
    /// Set only if the response gets the fields.
    rules: Option<Arc<Rules>>,
}

// === impl Outcome ===

impl Outcome {
    fn of<B>(response: &Response<B>) -> Self {
        let said = response.extensions();
        if said.get::<AuthFailed>().is_some() {
            Self::Failed
        } else if said.get::<AuthSucceeded>().is_some() {
            Self::Succeeded
        } else {
            Self::Neither
        }
    }
}

// === impl Permit ===

/// The permit of a policy that learns nothing from responses.
impl Permit for Standing {
    const OBSERVES_RESPONSES: bool = false;

    fn settle(self, _: Outcome) -> Standing {
        self
    }
}

// === impl Limited ===

impl Limited {
    /// Refuses until this time has passed. The header rounds it up to seconds.
    pub fn new(retry_after: Duration) -> Self {
        Self {
            retry_after,
            message: "Rate limit exceeded",
        }
    }

    /// Replaces the sentence for the client, unless the layer sets another.
    pub fn with_message(mut self, message: &'static str) -> Self {
        self.message = message;
        self
    }

    /// The time until the client may send the next request.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        self.retry_after
    }
}

// === impl Standing ===

impl Standing {
    /// Leaves this many requests, or failures, to the client.
    #[must_use]
    pub fn new(remaining: u32) -> Self {
        Self {
            remaining,
            reset: None,
        }
    }

    /// Adds the time until the quota is full again.
    #[must_use]
    pub fn with_reset(mut self, reset: Duration) -> Self {
        self.reset = Some(reset);
        self
    }

    /// The number of requests, or failures, that are left.
    #[must_use]
    pub fn remaining(&self) -> u32 {
        self.remaining
    }

    /// The time until the quota is full again, if any of it is used.
    #[must_use]
    pub fn reset(&self) -> Option<Duration> {
        self.reset
    }
}

// === impl RateLimitLayer ===

impl<P: Policy> RateLimitLayer<P> {
    /// Admits the requests that the policy admits.
    ///
    /// # Panics
    /// Panics if the policy's own name is not printable ASCII.
    pub fn new(policy: P) -> Self {
        let fields = Fields::new(policy.name(), policy.quota());
        Self {
            render: ErrorString,
            rules: Arc::new(Rules {
                fields: fields.expect("a policy's own name is printable ASCII"),
                fields_on_success: false,
                message: None,
            }),
            policy,
        }
    }
}

impl<P, R> RateLimitLayer<P, R> {
    /// Replaces the body of the refusal.
    pub fn with_render<T>(self, render: T) -> RateLimitLayer<P, T> {
        RateLimitLayer {
            policy: self.policy,
            render,
            rules: self.rules,
        }
    }

    /// Replaces the sentence for the client.
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        Arc::make_mut(&mut self.rules).message = Some(message.into());
        self
    }

    /// Names the limit in the `RateLimit` and `RateLimit-Policy` fields.
    ///
    /// # Errors
    /// Fails on anything but printable ASCII.
    pub fn with_name(mut self, name: &str) -> Result<Self, InvalidName>
    where
        P: Policy,
    {
        let fields = Fields::new(name, self.policy.quota())?;
        Arc::make_mut(&mut self.rules).fields = fields;
        Ok(self)
    }

    /// Adds the fields to admitted responses too.
    ///
    /// This allocates the value of `RateLimit` for every response, and space in its header map if
    /// there is none left.
    pub fn with_fields_on_success(mut self) -> Self {
        Arc::make_mut(&mut self.rules).fields_on_success = true;
        self
    }
}

impl<S, P: Clone, R: Clone> Layer<S> for RateLimitLayer<P, R> {
    type Service = RateLimit<S, P, R>;

    fn layer(&self, inner: S) -> Self::Service {
        RateLimit {
            inner,
            policy: self.policy.clone(),
            render: self.render.clone(),
            rules: Arc::clone(&self.rules),
        }
    }
}

// === impl RateLimit ===

impl<S, P, R, ReqBody, ResBody> Service<Request<ReqBody>> for RateLimit<S, P, R>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    P: Policy,
    R: Render<ResBody>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<P::Permit, S::Future, ResBody>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let caller = request.extensions().get().copied();
        let key = caller.map_or(Key::UNKNOWN, |caller: ClientIp| caller.into());
        let state = match self.policy.admit(key) {
            Ok(permit) => {
                let announced = self.rules.fields_on_success;
                let rules = announced.then(|| Arc::clone(&self.rules));
                let is_looked_at = P::Permit::OBSERVES_RESPONSES || announced;
                return ResponseFuture {
                    state: State::Serving {
                        admitted: is_looked_at.then_some(Admitted { permit, rules }),
                        response: self.inner.call(request),
                    },
                };
            }
            Err(limited) => State::Refused {
                response: Some(self.rules.refuse(limited, &self.render)),
            },
        };
        ResponseFuture { state }
    }
}

// === impl ResponseFuture ===

impl<T, F, B, E> Future for ResponseFuture<T, F, B>
where
    T: Permit,
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Refused { response } => {
                let response = response.take().expect("not polled after completion");
                Poll::Ready(Ok(response))
            }
            StateProj::Serving { response, admitted } => {
                if admitted.is_none() {
                    return response.poll(cx);
                }
                // Changed in place: a response is large, so copying it costs time.
                let mut polled = response.poll(cx);
                if let Poll::Ready(Ok(response)) = &mut polled
                    && let Some(admitted) = admitted.take()
                {
                    let outcome = Outcome::of(response);
                    let standing = admitted.permit.settle(outcome);
                    if let Some(rules) = admitted.rules {
                        rules.fields.append_to(response.headers_mut(), standing);
                    }
                }
                polled
            }
        }
    }
}

impl<T, F, B> fmt::Debug for ResponseFuture<T, F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

// === impl Rules ===

impl Rules {
    #[cold]
    fn refuse<B>(&self, limited: Limited, render: &impl Render<B>) -> Response<B> {
        // With `Retry-After: 0` a client would come back at once.
        let wait = limited.retry_after.max(Duration::from_secs(1));
        let seconds = HeaderValue::from(fields::whole_seconds(wait));
        let standing = Standing::new(0).with_reset(wait);
        let message = self.message.clone();
        let message = message.unwrap_or(Cow::Borrowed(limited.message));
        Rejection::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message)
            .with_header(header::RETRY_AFTER, seconds)
            .with_header(fields::RATE_LIMIT_POLICY, self.fields.policy())
            .with_header(fields::RATE_LIMIT, self.fields.limit(standing))
            .into_response(render)
    }
}
