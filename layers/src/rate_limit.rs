//! Limits requests, failures or concurrent requests per client.
//!
//! A [`Policy`] decides which requests are admitted; the layer answers 429 to the others. There are
//! three policies, and a trait for your own:
//!
//! | Policy | What counts | At the limit |
//! | --- | --- | --- |
//! | [`Steady`] | every admitted request | one more as soon as the rate allows it |
//! | [`FailureWindow`] | responses that carry [`AuthFailed`](crate::reject::AuthFailed) | none until the window ends |
//! | [`Concurrency`] | requests that are not answered yet | one more as soon as one is answered |
//!
//! A [`Key`] tells which requests count together. By default it is the address in the
//! [`ClientIp`](crate::client_ip::ClientIp) extension, IPv6 addresses by their /64;
//! [`with_extension`](RateLimitLayer::with_extension) counts by the identity that a layer further
//! out has proved, and [`with_client_of`](RateLimitLayer::with_client_of) also gives clients limits
//! of their own. Headers are never read, so a client cannot change its key. A refused request never
//! reaches the wrapped service, and its body is not read. The layer does not queue or delay
//! anything, and it does not match paths: wrap the route you mean.
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
//! - Put [`SetClientIpLayer`](crate::client_ip::SetClientIpLayer) further out when there are proxies, or
//!   all clients behind one proxy share one quota. Requests without an address all share
//!   [`Key::UNKNOWN`], so a missing extension is noticed soon. With `axum::serve`, add
//!   `client_ip::FromConnectInfoLayer` (feature `axum`).
//! - Put the layer outside of what it protects: password hashing, the bearer check. One that counts
//!   by identity belongs inside of the bearer check, so it does not protect that; use two.
//! - [`FailureWindow`] counts a failure when it is answered. On a login route add
//!   [`with_in_flight_counted`](FailureWindow::with_in_flight_counted), or guesses sent all at once
//!   are all admitted.
//! - The counts are per process: with three replicas a client has three quotas.
//! - All services of a layer share its policy. To limit something that is not a request, use a
//!   policy without the layer: call [`admit`](Policy::admit) and [`settle`](Permit::settle).
//! - The status is 429 for [`Concurrency`], too, with `Retry-After: 1`. A response that streams
//!   counts until its head is sent; see [`InFlight`] for a limit on streams.
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
//! for clients without failures. [`Concurrency`] forgets a key with its last request.

mod client;
mod concurrency;
mod failure_window;
mod fields;
mod key;
mod policy;
mod quota;
mod steady;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    fmt,
    hash::Hash,
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
use crate::reject::{ErrorString, Rejection, Render};

/// Maximum number of keys unless another is set.
const DEFAULT_MAX_KEYS: usize = 100_000;

pub use self::{
    client::{ByAddress, ByExtension, Client, ClientOf},
    concurrency::{Concurrency, InFlight},
    failure_window::{Attempt, FailureWindow},
    fields::InvalidName,
    key::Key,
    policy::{Announcement, AtOnce, AuthSucceeded, Limited, Outcome, Permit, Policy, Remaining},
    quota::{InvalidQuota, Quota},
    steady::Steady,
};

/// Answers 429 to requests that its policy does not admit.
///
/// ```
/// use ziggurat_layers::rate_limit::{RateLimitLayer, Steady};
///
/// let layer = RateLimitLayer::new(Steady::new("600 per minute".parse()?)).with_fields_on_success();
/// # let _ = layer;
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RateLimitLayer<P, C = ByAddress, R = ErrorString> {
    policy: P,
    client_of: C,
    render: R,
    rules: Arc<RateLimitRules>,
}

/// Service made by [`RateLimitLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::rate_limit::{RateLimit, RateLimitLayer, Steady};
///
/// let layer = RateLimitLayer::new(Steady::new("600 per minute".parse()?));
/// let service: RateLimit<_, Steady> = layer.layer("the inner service");
/// # let _ = service;
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
#[derive(Clone, Debug)]
pub struct RateLimit<S, P, C = ByAddress, R = ErrorString> {
    inner: S,
    policy: P,
    client_of: C,
    render: R,
    rules: Arc<RateLimitRules>,
}

/// Settings that are fixed when the layer is built.
#[derive(Clone, Debug)]
struct RateLimitRules {
    fields: Fields,
    fields_on_success: bool,
    message: Option<Cow<'static, str>>,
}

pin_project! {
    /// Response future of [`RateLimit`].
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use tower::{Layer as _, Service as _, service_fn};
    /// use ziggurat_layers::rate_limit::{RateLimitLayer, ResponseFuture, Steady};
    ///
    /// # tokio_test::block_on(async {
    /// let layer = RateLimitLayer::new(Steady::new("1 per hour".parse()?));
    /// let mut service = layer.layer(service_fn(|_: Request<()>| async {
    ///     Ok::<_, std::convert::Infallible>(Response::new(Bytes::new()))
    /// }));
    /// let first: ResponseFuture<_, _, _> = service.call(Request::new(()));
    /// let second = service.call(Request::new(()));
    /// assert_eq!((first.await?.status(), second.await?.status()), (200.try_into()?, 429.try_into()?));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
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
    fields: Option<(Arc<RateLimitRules>, Announcement)>,
}

// === impl RateLimitLayer ===

impl<P: Policy> RateLimitLayer<P> {
    /// Admits the requests that the policy admits, counted by client address.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use ziggurat_layers::rate_limit::{AtOnce, Concurrency, RateLimitLayer};
    ///
    /// let layer = RateLimitLayer::new(Concurrency::new(AtOnce(NonZeroU32::new(16).unwrap())));
    /// # let _ = layer;
    /// ```
    ///
    /// # Panics
    /// Panics if the policy's own name is not printable ASCII.
    pub fn new(policy: P) -> Self {
        let fields = Fields::new(policy.name());
        Self {
            policy,
            client_of: ByAddress,
            render: ErrorString,
            rules: Arc::new(RateLimitRules {
                fields: fields.expect("a policy's own name is printable ASCII"),
                fields_on_success: false,
                message: None,
            }),
        }
    }
}

impl<P: Policy, C, R> RateLimitLayer<P, C, R> {
    /// Counts by an extension, such as the identity that a bearer token proves.
    ///
    /// Put the layer behind the one that adds the extension. Requests without it count by address.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{RateLimitLayer, Steady};
    ///
    /// #[derive(Clone, Hash)]
    /// struct User(String);
    ///
    /// let steady = Steady::new("100 per minute".parse()?);
    /// let layer = RateLimitLayer::new(steady).with_extension::<User>();
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_extension<T>(self) -> RateLimitLayer<P, ByExtension<T>, R>
    where
        T: Hash + Send + Sync + 'static,
    {
        self.with_client_of(ByExtension::default())
    }

    /// Counts by what `client_of` makes of the extensions of a request: a key, and a limit for
    /// clients that have one of their own.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::rate_limit::{Client, Key, Quota, RateLimitLayer, Steady};
    ///
    /// #[derive(Clone)]
    /// struct Customer { number: u64, quota: Quota }
    ///
    /// let steady = Steady::new("10 per minute".parse()?);
    /// let layer = RateLimitLayer::new(steady).with_client_of(|extensions: &Extensions| {
    ///     match extensions.get::<Customer>() {
    ///         Some(customer) => Client::new(Key::of(&customer.number)).with_limit(customer.quota),
    ///         None => Client::new(Key::UNKNOWN),
    ///     }
    /// });
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_client_of<T: ClientOf<P::Limit>>(self, client_of: T) -> RateLimitLayer<P, T, R> {
        RateLimitLayer {
            policy: self.policy,
            client_of,
            render: self.render,
            rules: self.rules,
        }
    }
}

impl<P, C, R> RateLimitLayer<P, C, R> {
    /// Replaces the body of the refusal.
    ///
    /// ```
    /// use ziggurat_layers::{rate_limit::{RateLimitLayer, Steady}, reject::Problem};
    ///
    /// let layer = RateLimitLayer::new(Steady::new("5/s".parse()?)).with_render(Problem);
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_render<T>(self, render: T) -> RateLimitLayer<P, C, T> {
        RateLimitLayer {
            policy: self.policy,
            client_of: self.client_of,
            render,
            rules: self.rules,
        }
    }

    /// Replaces the sentence for the client.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{RateLimitLayer, Steady};
    ///
    /// let layer = RateLimitLayer::new(Steady::new("5/s".parse()?))
    ///     .with_message("Five requests per second are free; write to us for more");
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        Arc::make_mut(&mut self.rules).message = Some(message.into());
        self
    }

    /// Names the limit in the `RateLimit` and `RateLimit-Policy` fields.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{RateLimitLayer, Steady};
    ///
    /// let layer = RateLimitLayer::new(Steady::new("5/s".parse()?)).with_name("per user")?;
    /// # let _ = layer;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails on anything but printable ASCII.
    pub fn with_name(mut self, name: &str) -> Result<Self, InvalidName> {
        Arc::make_mut(&mut self.rules).fields = Fields::new(name)?;
        Ok(self)
    }

    /// Adds the fields to admitted responses too.
    ///
    /// This allocates the values of the fields for every response, and space in its header map if
    /// it is full.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{RateLimitLayer, Steady};
    ///
    /// let layer = RateLimitLayer::new(Steady::new("5/s".parse()?)).with_fields_on_success();
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_fields_on_success(mut self) -> Self {
        Arc::make_mut(&mut self.rules).fields_on_success = true;
        self
    }
}

impl<S, P: Clone, C: Clone, R: Clone> Layer<S> for RateLimitLayer<P, C, R> {
    type Service = RateLimit<S, P, C, R>;

    fn layer(&self, inner: S) -> Self::Service {
        RateLimit {
            inner,
            policy: self.policy.clone(),
            client_of: self.client_of.clone(),
            render: self.render.clone(),
            rules: Arc::clone(&self.rules),
        }
    }
}

// === impl RateLimit ===

impl<S, P, C, R, ReqBody, ResBody> Service<Request<ReqBody>> for RateLimit<S, P, C, R>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    P: Policy,
    C: ClientOf<P::Limit>,
    R: Render<ResBody>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<P::Permit, S::Future, ResBody>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let Client { key, limit } = self.client_of.client(request.extensions());
        let limit = limit.unwrap_or_else(|| self.policy.limit());
        let state = match self.policy.admit(key, limit) {
            Ok(permit) => {
                let announced = self.rules.fields_on_success;
                let fields = announced.then(|| (Arc::clone(&self.rules), limit.into()));
                let is_kept = P::Permit::OBSERVES_RESPONSES || announced;
                return ResponseFuture {
                    state: State::Serving {
                        admitted: is_kept.then_some(Admitted { permit, fields }),
                        response: self.inner.call(request),
                    },
                };
            }
            Err(limited) => State::Refused {
                response: Some(self.rules.refuse(limited, limit.into(), &self.render)),
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
                    let remaining = admitted.permit.settle(outcome);
                    if let Some((rules, limit)) = admitted.fields {
                        let headers = response.headers_mut();
                        rules.fields.append_to(headers, limit, remaining);
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

// === impl RateLimitRules ===

impl RateLimitRules {
    #[cold]
    fn refuse<B>(
        &self,
        limited: Limited,
        limit: Announcement,
        render: &impl Render<B>,
    ) -> Response<B> {
        // With `Retry-After: 0` a client would come back at once.
        let wait = limited.retry_after().max(Duration::from_secs(1));
        let seconds = HeaderValue::from(fields::whole_seconds(wait));
        let remaining = Remaining::new(0).with_reset(wait);
        let message = self.message.clone();
        let message = message.unwrap_or(Cow::Borrowed(limited.message));
        Rejection::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message)
            .with_header(header::RETRY_AFTER, seconds)
            .with_header(fields::RATE_LIMIT_POLICY, self.fields.policy(limit))
            .with_header(fields::RATE_LIMIT, self.fields.limit(remaining))
            .into_response(render)
    }
}
