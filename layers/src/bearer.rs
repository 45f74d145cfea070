//! Refuses requests that do not carry a valid bearer token (RFC 6750).
//!
//! The layer reads the `Authorization` header, asks a [`Verify`] whether the token is good
//! and puts what the token proves into the request extensions. A request without a good
//! token is answered at once: the wrapped service is not called and the body is not read.
//!
//! It ignores tokens in query strings and form bodies (RFC 6750 sections 2.2 and 2.3 discourage
//! both), issues no tokens, and only names scopes in the challenge.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::bearer::{BearerLayer, Hashed, TokenHash};
//!
//! # tokio_test::block_on(async {
//! let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), "Ali Baba".to_owned())]);
//! let service = ServiceBuilder::new()
//!     .layer(BearerLayer::new(tokens).with_exempt(["/health"]))
//!     .service(service_fn(|request: Request<Full<Bytes>>| async move {
//!         let name: Option<&String> = request.extensions().get();
//!         let name = name.map_or("no token", String::as_str).to_owned();
//!         Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from(name)))
//!     }));
//!
//! let request = Request::get("/cave")
//!     .header("authorization", "Bearer open-sesame")
//!     .body(Full::default())?;
//! let response = service.clone().oneshot(request).await?;
//! assert_eq!(response.status(), StatusCode::OK);
//!
//! let request = Request::get("/cave").body(Full::default())?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
//! assert_eq!(response.headers()["www-authenticate"], "Bearer");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Refusals
//!
//! | The request | Status | [`code`](crate::reject::Rejection::code) | `error` in the challenge |
//! | --- | --- | --- | --- |
//! | has no `Authorization` header | 401 | `missing_token` | none |
//! | uses another scheme | 401 | `other_scheme` | none |
//! | has several such headers, or no well-formed token | 401 | `invalid_request` | `invalid_request` |
//! | carries a token that is unknown or expired | 401 | `invalid_token` | `invalid_token` |
//! | carries a token without the required scope | 403 | `insufficient_scope` | `insufficient_scope` |
//! | cannot be checked because the verifier is out of reach | 503 | `verifier_unavailable` | no challenge |
//!
//! A malformed header is 401 and not the 400 that RFC 6750 suggests, because only a 401
//! makes clients look at the challenge.
//!
//! # Deployment
//!
//! - The identity goes into the request extensions by its type: use a type of your own, so that no
//!   other layer replaces it.
//! - Use an identity without a lifetime: a `String`, an `Arc<str>`, or a struct around a
//!   `&'static str`. With a bare `&str`, rustc refuses to spawn an `async` block that serves a
//!   connection of hyper, with "implementation of `Clone` is not general enough".
//! - Put [`RateLimitLayer`](crate::rate_limit::RateLimitLayer) with a
//!   [`FailureWindow`](crate::rate_limit::FailureWindow) outside of the layer to stop clients that
//!   guess tokens.
//!
//! # Secrets
//!
//! The `Authorization` header of an admitted request is marked sensitive, so the `Debug` of
//! a request further in does not show the token. Nothing in this module stores one:
//! [`Hashed`] keeps SHA-256 digests.

mod challenge;
mod future;
mod hashed;
#[cfg(test)]
mod tests;
mod token;
mod verify;

use std::{
    fmt, mem,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response, StatusCode, header};
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    bearer::{
        challenge::{BearerFault, Challenges},
        future::{PendingRequest, RefusalParts, State},
        token::bearer_token,
    },
    paths::Paths,
    reject::{AuthFailed, ErrorString, Rejection, Render},
};

pub use self::{
    challenge::{Challenge, InvalidChallenge},
    future::ResponseFuture,
    hashed::{Hashed, InvalidTokenHash, TokenHash},
    verify::{Denied, Verify},
};

/// Refuses requests that do not carry a valid bearer token.
///
/// ```
/// use ziggurat_layers::bearer::{BearerLayer, Challenge, Hashed, TokenHash};
///
/// let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), "ali".to_owned())]);
/// let layer = BearerLayer::new(tokens)
///     .with_challenge(Challenge::new().with_realm("orders")?)
///     .with_exempt(["/health"]);
/// # let _ = layer;
/// # Ok::<_, ziggurat_layers::bearer::InvalidChallenge>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct BearerLayer<V, R = ErrorString> {
    verify: V,
    render: R,
    rules: Arc<BearerRules>,
}

/// Service made by [`BearerLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::bearer::{Bearer, BearerLayer, Hashed};
///
/// let layer = BearerLayer::new(Hashed::<u64>::default());
/// let service: Bearer<_, Hashed<u64>> = layer.layer("the service that is protected");
/// # let _ = service;
/// ```
#[derive(Clone)]
pub struct Bearer<S, V, R = ErrorString> {
    inner: S,
    verify: V,
    render: R,
    rules: Arc<BearerRules>,
}

/// Settings that are fixed when the layer is built.
#[derive(Clone, Debug)]
struct BearerRules {
    challenges: Challenges,
    exempt: Paths,
    optional: Paths,
    reports_failures: bool,
}

// === impl BearerLayer ===

impl<V> BearerLayer<V> {
    /// Asks `verify` about the token of every request.
    ///
    /// ```
    /// use std::future::ready;
    /// use ziggurat_layers::bearer::{BearerLayer, Denied};
    ///
    /// let layer = BearerLayer::new(|token: &str| {
    ///     ready(token.strip_prefix("user-").map(str::to_owned).ok_or(Denied::Invalid))
    /// });
    /// # let _ = layer;
    /// ```
    pub fn new(verify: V) -> Self {
        Self {
            verify,
            render: ErrorString,
            rules: Arc::new(BearerRules {
                challenges: Challenge::new().complete(),
                exempt: Paths::default(),
                optional: Paths::default(),
                reports_failures: true,
            }),
        }
    }
}

impl<V, R> BearerLayer<V, R> {
    /// Replaces the body of the refusals.
    ///
    /// ```
    /// use ziggurat_layers::{bearer::{BearerLayer, Hashed}, reject::Problem};
    ///
    /// let layer = BearerLayer::new(Hashed::<u64>::default()).with_render(Problem);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> BearerLayer<V, T> {
        BearerLayer {
            verify: self.verify,
            render,
            rules: self.rules,
        }
    }

    /// Extends the `WWW-Authenticate` header beyond plain `Bearer`.
    ///
    /// ```
    /// use ziggurat_layers::bearer::{BearerLayer, Challenge, Hashed};
    ///
    /// let challenge = Challenge::new().with_scope("orders")?;
    /// let layer = BearerLayer::new(Hashed::<u64>::default()).with_challenge(challenge);
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::bearer::InvalidChallenge>(())
    /// ```
    pub fn with_challenge(mut self, challenge: Challenge) -> Self {
        Arc::make_mut(&mut self.rules).challenges = challenge.complete();
        self
    }

    /// Lets requests to these paths through without reading their headers.
    ///
    /// A path matches exactly, or, when it ends in `/*`, all paths below it match. A request path
    /// with a `.` or `..` segment, percent-encoded or not, never matches `/*`, so that a router
    /// that resolves such segments cannot be used to avoid the check.
    ///
    /// ```
    /// use ziggurat_layers::bearer::{BearerLayer, Hashed};
    ///
    /// let layer = BearerLayer::new(Hashed::<u64>::default())
    ///     .with_exempt(["/health", "/.well-known/*"]);
    /// # let _ = layer;
    /// ```
    pub fn with_exempt<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        Arc::make_mut(&mut self.rules).exempt.extend(paths);
        self
    }

    /// Lets requests to these paths through when they have no `Authorization` header.
    ///
    /// They arrive without an identity and the service decides. If the header is present, its token
    /// must still be valid. Paths match as in [`with_exempt`](Self::with_exempt); `/*` makes every
    /// token optional.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use tower::{Layer as _, ServiceExt as _, service_fn};
    /// use ziggurat_layers::bearer::{BearerLayer, Hashed};
    ///
    /// # tokio_test::block_on(async {
    /// let layer = BearerLayer::new(Hashed::<u64>::default()).with_optional(["/shop/*"]);
    /// let service = layer.layer(service_fn(|request: Request<()>| async move {
    ///     let is_guest = request.extensions().get::<u64>().is_none();
    ///     Ok::<_, std::convert::Infallible>(Response::new(Bytes::from(is_guest.to_string())))
    /// }));
    /// let response = service.oneshot(Request::get("/shop/tea").body(())?).await?;
    /// assert_eq!(response.body(), "true");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn with_optional<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        Arc::make_mut(&mut self.rules).optional.extend(paths);
        self
    }

    /// Sets whether a refused token counts as a failed login (it does by default).
    ///
    /// When it does, the refusal carries [`AuthFailed`], and a rate limiter further out can slow
    /// down clients that guess tokens.
    ///
    /// ```
    /// use ziggurat_layers::bearer::{BearerLayer, Hashed};
    ///
    /// // Several gateways behind one address must not be stopped because one has an old token.
    /// let layer = BearerLayer::new(Hashed::<u64>::default()).with_failures_reported(false);
    /// # let _ = layer;
    /// ```
    pub fn with_failures_reported(mut self, reported: bool) -> Self {
        Arc::make_mut(&mut self.rules).reports_failures = reported;
        self
    }
}

impl<V, R> fmt::Debug for BearerLayer<V, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The verifier is left out: it may hold tokens.
        f.debug_struct("BearerLayer")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl<S, V: Clone, R: Clone> Layer<S> for BearerLayer<V, R> {
    type Service = Bearer<S, V, R>;

    fn layer(&self, inner: S) -> Self::Service {
        Bearer {
            inner,
            verify: self.verify.clone(),
            render: self.render.clone(),
            rules: Arc::clone(&self.rules),
        }
    }
}

// === impl Bearer ===

impl<S: fmt::Debug, V, R> fmt::Debug for Bearer<S, V, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer")
            .field("inner", &self.inner)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl<S, V, R, ReqBody, ResBody> Service<Request<ReqBody>> for Bearer<S, V, R>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>> + Clone,
    V: Verify,
    R: Render<ResBody> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S, R, Request<ReqBody>, V::Future, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        let state = match self.admission(&mut request) {
            Admission::Pass => {
                return ResponseFuture {
                    state: State::Serving {
                        response: self.inner.call(request),
                    },
                };
            }
            Admission::Refuse(fault) => State::Refused {
                fault,
                refusal_parts: self.refusal_parts(),
            },
            Admission::Verify(verification) => State::Verifying {
                verification,
                pending: Some(self.keep(request)),
            },
        };
        ResponseFuture { state }
    }
}

enum Admission<V> {
    Pass,
    Refuse(BearerFault),
    Verify(V),
}

impl<S, V: Verify, R> Bearer<S, V, R> {
    #[inline]
    fn admission<B>(&self, request: &mut Request<B>) -> Admission<V::Future> {
        if self.rules.exempt.contain_path_of(request.uri()) {
            return Admission::Pass;
        }
        let fault = match bearer_token(request.headers_mut()) {
            Ok(token) => match self.verify.verify_now(token) {
                Some(Ok(identity)) => {
                    request.extensions_mut().insert(identity);
                    return Admission::Pass;
                }
                Some(Err(denied)) => denied.into(),
                None => return Admission::Verify(self.verify.verify(token)),
            },
            Err(fault) => fault,
        };
        if fault == BearerFault::Missing && self.rules.optional.contain_path_of(request.uri()) {
            return Admission::Pass;
        }
        Admission::Refuse(fault)
    }
}

impl<S, V, R: Clone> Bearer<S, V, R> {
    fn refusal_parts(&self) -> RefusalParts<R> {
        RefusalParts {
            render: self.render.clone(),
            rules: Arc::clone(&self.rules),
        }
    }
}

impl<S: Clone, V, R: Clone> Bearer<S, V, R> {
    fn keep<Req>(&mut self, request: Req) -> PendingRequest<S, R, Req> {
        // The clone was never polled ready, so it stays here and the ready service is used.
        let clone = self.inner.clone();
        PendingRequest {
            inner: mem::replace(&mut self.inner, clone),
            request,
            refusal_parts: self.refusal_parts(),
        }
    }
}

// === impl BearerRules ===

impl BearerRules {
    #[cold]
    fn refuse<B>(&self, fault: BearerFault, render: &impl Render<B>) -> Response<B> {
        let mut rejection = Rejection::new(fault.status(), fault.code(), fault.message());
        if let Some(challenge) = self.challenges.answer_to(fault) {
            rejection = rejection.with_header(header::WWW_AUTHENTICATE, challenge);
        }
        let mut response = rejection.into_response(render);
        if self.reports_failures && fault == BearerFault::Denied(Denied::Invalid) {
            response.extensions_mut().insert(AuthFailed);
        }
        response
    }
}

// === impl BearerFault ===

impl From<Denied> for BearerFault {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl BearerFault {
    fn status(self) -> StatusCode {
        match self {
            Self::Missing | Self::OtherScheme | Self::Malformed | Self::Denied(Denied::Invalid) => {
                StatusCode::UNAUTHORIZED
            }
            Self::Denied(Denied::InsufficientScope) => StatusCode::FORBIDDEN,
            Self::Denied(Denied::Unavailable) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Missing => "missing_token",
            Self::OtherScheme => "other_scheme",
            Self::Malformed => "invalid_request",
            Self::Denied(Denied::Invalid) => "invalid_token",
            Self::Denied(Denied::InsufficientScope) => "insufficient_scope",
            Self::Denied(Denied::Unavailable) => "verifier_unavailable",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Missing => "Missing Authorization header",
            Self::OtherScheme | Self::Malformed => {
                "Invalid Authorization header format. Expected: Bearer <token>"
            }
            Self::Denied(Denied::Invalid) => "Invalid or unknown token",
            Self::Denied(Denied::InsufficientScope) => "The token's scope does not suffice",
            Self::Denied(Denied::Unavailable) => "Tokens cannot be checked now, try again later",
        }
    }
}
