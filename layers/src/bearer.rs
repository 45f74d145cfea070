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
//! let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), "Ali Baba")]);
//! let service = ServiceBuilder::new()
//!     .layer(BearerLayer::new(tokens).with_exempt(["/health"]))
//!     .service(service_fn(|request: Request<Full<Bytes>>| async move {
//!         let name = request.extensions().get::<&str>().copied().unwrap_or("no token");
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
//! | carries a token whose scope does not suffice | 403 | `insufficient_scope` | `insufficient_scope` |
//! | cannot be checked because the verifier is out of reach | 503 | `verifier_unavailable` | no challenge |
//!
//! A malformed header is 401 and not the 400 that RFC 6750 suggests, because only a 401
//! makes clients look at the challenge.
//!
//! # Secrets
//!
//! The `Authorization` header of an admitted request is marked sensitive, so the `Debug` of
//! a request further in does not show the token. Nothing in this module stores one:
//! [`Hashed`] keeps SHA-256 digests.

mod challenge;
mod hashed;
#[cfg(test)]
mod tests;
mod token;

use std::{
    fmt, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    bearer::{
        challenge::{Challenges, Fault},
        token::bearer_token,
    },
    paths::Paths,
    reject::{AuthFailed, ErrorString, Rejection, Render},
};

pub use self::{
    challenge::{Challenge, InvalidChallenge},
    hashed::{Hashed, InvalidTokenHash, TokenHash},
};

/// Decides whether a token may pass.
///
/// Implemented by [`Hashed`] and by every `Fn(&str) -> Future`. A check in memory returns a
/// [`Ready`](std::future::Ready), and is cheapest with an answer to
/// [`verify_now`](Self::verify_now); a check in a database may box its own future.
///
/// ```
/// use std::future::{Ready, ready};
/// use ziggurat_layers::bearer::{BearerLayer, Denied};
///
/// let verify = |token: &str| -> Ready<Result<(), Denied>> {
///     ready(if token.len() > 20 { Ok(()) } else { Err(Denied::Invalid) })
/// };
/// let layer = BearerLayer::new(verify);
/// # let _ = layer;
/// ```
pub trait Verify {
    /// The identity that a valid token proves; put into the request extensions.
    type Identity: Clone + Send + Sync + 'static;
    /// Future returned by [`verify`](Self::verify).
    type Future: Future<Output = Result<Self::Identity, Denied>>;
    /// Looks the token up.
    fn verify(&self, token: &str) -> Self::Future;
    /// Looks the token up without waiting, if possible; called before [`verify`](Self::verify).
    ///
    /// A check in memory answers here, and the request is passed on at once. The default returns
    /// `None`, which means: call `verify`.
    fn verify_now(&self, token: &str) -> Option<Result<Self::Identity, Denied>> {
        let _ = token;
        None
    }
}

/// The reason why a well-formed token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// The token is unknown, expired or revoked; the client is not told which.
    Invalid,
    /// The token is good, but its scope does not cover this request.
    InsufficientScope,
    /// The token could not be checked. This is not the client's fault; it may try again.
    Unavailable,
}

/// Refuses requests that do not carry a valid bearer token.
#[derive(Clone)]
#[must_use]
pub struct BearerLayer<V, R = ErrorString> {
    verify: V,
    render: R,
    rules: Arc<Rules>,
}

/// Service made by [`BearerLayer`].
#[derive(Clone)]
pub struct Bearer<S, V, R = ErrorString> {
    inner: S,
    verify: V,
    render: R,
    rules: Arc<Rules>,
}

/// Settings that are fixed when the layer is built.
#[derive(Clone, Debug)]
struct Rules {
    challenges: Challenges,
    exempt: Paths,
    optional: Paths,
    reports_failures: bool,
}

pin_project! {
    /// Response future of [`Bearer`].
    pub struct ResponseFuture<S, R, Req, V, F> {
        #[pin]
        state: State<S, R, Req, V, F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, R, Req, V, F> {
        Refused { fault: Fault, refusal_parts: RefusalParts<R> },
        Verifying {
            #[pin]
            verification: V,
            pending: Option<PendingRequest<S, R, Req>>,
        },
        Serving { #[pin] response: F },
    }
}

/// The request and its service, held until the token is verified.
struct PendingRequest<S, R, Req> {
    inner: S,
    request: Req,
    refusal_parts: RefusalParts<R>,
}

/// The parts that are needed to refuse a request.
struct RefusalParts<R> {
    render: R,
    rules: Arc<Rules>,
}

// === impl Verify ===

impl<T, F, I> Verify for T
where
    T: Fn(&str) -> F,
    F: Future<Output = Result<I, Denied>>,
    I: Clone + Send + Sync + 'static,
{
    type Identity = I;
    type Future = F;

    fn verify(&self, token: &str) -> F {
        self(token)
    }
}

// === impl BearerLayer ===

impl<V> BearerLayer<V> {
    /// Asks `verify` about the token of every request.
    pub fn new(verify: V) -> Self {
        Self {
            verify,
            render: ErrorString,
            rules: Arc::new(Rules {
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
    pub fn with_render<T>(self, render: T) -> BearerLayer<V, T> {
        BearerLayer {
            verify: self.verify,
            render,
            rules: self.rules,
        }
    }

    /// Extends the `WWW-Authenticate` header beyond plain `Bearer`.
    pub fn with_challenge(mut self, challenge: Challenge) -> Self {
        Arc::make_mut(&mut self.rules).challenges = challenge.complete();
        self
    }

    /// Lets requests to these paths through without reading their headers.
    ///
    /// A path matches exactly, or, when it ends in `/*`, all paths below it match. A request path
    /// with a `.` or `..` segment, percent-encoded or not, never matches `/*`, so that a router
    /// that resolves such segments cannot be used to avoid the check.
    pub fn with_exempt<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        Arc::make_mut(&mut self.rules).exempt.extend(paths);
        self
    }

    /// Lets requests to these paths through when they have no `Authorization` header.
    ///
    /// They arrive without an identity and the service decides. If the header is present, its token
    /// must still be valid. Paths match as in [`with_exempt`](Self::with_exempt); `/*` makes every
    /// token optional.
    pub fn with_optional<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        Arc::make_mut(&mut self.rules).optional.extend(paths);
        self
    }

    /// Sets whether a refused token counts as a failed login (it does by default).
    ///
    /// When it does, the refusal carries [`AuthFailed`], and a rate limiter further out can slow
    /// down clients that guess tokens.
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
    Refuse(Fault),
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
        if fault == Fault::Missing && self.rules.optional.contain_path_of(request.uri()) {
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

// === impl ResponseFuture ===

impl<S, R, ReqBody, ResBody, V, I> Future for ResponseFuture<S, R, Request<ReqBody>, V, S::Future>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    R: Render<ResBody>,
    V: Future<Output = Result<I, Denied>>,
    I: Clone + Send + Sync + 'static,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProj::Serving { response } => return response.poll(cx),
                StateProj::Refused {
                    fault,
                    refusal_parts,
                } => {
                    return Poll::Ready(Ok(refusal_parts
                        .rules
                        .refuse(*fault, &refusal_parts.render)));
                }
                StateProj::Verifying {
                    verification,
                    pending,
                } => {
                    let verification = ready!(verification.poll(cx));
                    let mut pending = pending.take().expect("there is one verification");
                    let next = match verification {
                        Ok(identity) => {
                            pending.request.extensions_mut().insert(identity);
                            State::Serving {
                                response: pending.inner.call(pending.request),
                            }
                        }
                        // Dropping the request first: its body must not wait for the answer.
                        Err(denied) => State::Refused {
                            fault: denied.into(),
                            refusal_parts: pending.refusal_parts,
                        },
                    };
                    state.set(next);
                }
            }
        }
    }
}

impl<S, R, Req, V, F> fmt::Debug for ResponseFuture<S, R, Req, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The request is left out: its headers hold the token.
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

// === impl Rules ===

impl Rules {
    #[cold]
    fn refuse<B>(&self, fault: Fault, render: &impl Render<B>) -> Response<B> {
        let mut rejection = Rejection::new(fault.status(), fault.code(), fault.message());
        if let Some(challenge) = self.challenges.answer_to(fault) {
            rejection = rejection.with_header(header::WWW_AUTHENTICATE, challenge);
        }
        let mut response = rejection.into_response(render);
        if self.reports_failures && fault == Fault::Denied(Denied::Invalid) {
            response.extensions_mut().insert(AuthFailed);
        }
        response
    }
}

// === impl Fault ===

impl From<Denied> for Fault {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl Fault {
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
