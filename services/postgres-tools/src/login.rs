//! Lets clients without a token call the login tool only.
//!
//! The bearer layer makes a token optional on the path of the calls
//! ([`with_optional`](ziggurat_layers::bearer::BearerLayer::with_optional)), and passes on all
//! requests without one. This layer reads and parses them, as the inner service will do again. A
//! call of the login tool is passed on. All other requests are refused as the bearer layer would
//! refuse them: other calls, notifications, batches, and bodies that are not JSON.
//!
//! A request with an [`Identity`] is passed on unread.

#[cfg(test)]
mod edge;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    error::Error,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use serde::Deserialize;
use tower_layer::Layer;
use tower_service::Service;
use ziggurat_layers::{
    bearer::Challenge,
    json_rpc::Incoming,
    reject::{ErrorString, Rejection, Render},
};
use ziggurat_mcp as mcp;
use ziggurat_tokens::Identity;

type BoxError = Box<dyn Error + Send + Sync>;

/// The tool that may be called without a token.
const LOGIN_TOOL: &str = "authenticate_user";

/// Limit on the body of a login; a name and a password need much less. Unauthenticated clients can
/// make the server hold no more than this.
const MAX_BYTES: usize = 64 << 10;

/// Refuses requests without a token unless they are a login.
#[derive(Clone, Debug)]
#[must_use]
pub struct LoginLayer<R = ErrorString> {
    is_required: bool,
    challenge: HeaderValue,
    render: R,
}

/// Service made by [`LoginLayer`].
#[derive(Clone, Debug)]
pub struct Login<S, R = ErrorString> {
    inner: S,
    is_required: bool,
    challenge: HeaderValue,
    render: R,
}

pin_project! {
    /// The body of a request, completely read or unread.
    pub struct PeekedBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProj]
    enum Kind<B> {
        Unread { #[pin] body: B },
        Read { bytes: Bytes },
    }
}

pin_project! {
    /// Response future of [`Login`].
    pub struct ResponseFuture<S, B, F, R> {
        #[pin]
        state: State<S, B, F>,
        challenge: HeaderValue,
        render: R,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, B, F> {
        Refused,
        // Boxed: rare, and it would make every future larger.
        Unread { rejection: Box<Rejection> },
        Reading { #[pin] body: B, read: BytesMut, rest: Option<(Parts, S)> },
        Serving { #[pin] response: F },
    }
}

// === impl LoginLayer ===

impl LoginLayer {
    /// Makes a layer that refuses all requests without a token except a login.
    pub fn new() -> Self {
        Self {
            is_required: true,
            challenge: Challenge::new().to_header(),
            render: ErrorString,
        }
    }
}

impl Default for LoginLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> LoginLayer<R> {
    /// Sets whether a token is required; if not, all requests pass.
    pub fn with_required(mut self, is_required: bool) -> Self {
        self.is_required = is_required;
        self
    }

    /// Sets the challenge of the `WWW-Authenticate` header, by default `Bearer` as in the bearer
    /// layer.
    pub fn with_challenge(mut self, challenge: &Challenge) -> Self {
        self.challenge = challenge.to_header();
        self
    }

    /// Replaces the renderer of the body of a refusal.
    pub fn with_render<T>(self, render: T) -> LoginLayer<T> {
        LoginLayer {
            is_required: self.is_required,
            challenge: self.challenge,
            render,
        }
    }
}

impl<S, R: Clone> Layer<S> for LoginLayer<R> {
    type Service = Login<S, R>;

    fn layer(&self, inner: S) -> Login<S, R> {
        Login {
            inner,
            is_required: self.is_required,
            challenge: self.challenge.clone(),
            render: self.render.clone(),
        }
    }
}

// === impl Login ===

impl<S, R, B, ResBody> Service<Request<B>> for Login<S, R>
where
    S: Service<Request<PeekedBody<B>>, Response = Response<ResBody>> + Clone,
    R: Render<ResBody> + Clone,
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S, B, S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let is_known = request.extensions().get::<Identity>().is_some();
        let state = if is_known || !self.is_required {
            let request = request.map(PeekedBody::unread);
            let response = self.inner.call(request);
            State::Serving { response }
        } else if request.method() == Method::POST {
            // The clone was never polled ready: store it, and call the service that was.
            let clone = self.inner.clone();
            let inner = mem::replace(&mut self.inner, clone);
            let (head, body) = request.into_parts();
            State::Reading {
                body,
                read: BytesMut::new(),
                rest: Some((head, inner)),
            }
        } else {
            State::Refused
        };
        ResponseFuture {
            state,
            challenge: self.challenge.clone(),
            render: self.render.clone(),
        }
    }
}

// === impl ResponseFuture ===

impl<S, R, B, ResBody> Future for ResponseFuture<S, B, S::Future, R>
where
    S: Service<Request<PeekedBody<B>>, Response = Response<ResBody>>,
    R: Render<ResBody>,
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Refused => {
                    let refusal = refusal(this.challenge.clone());
                    return Poll::Ready(Ok(refusal.into_response(this.render)));
                }
                StateProj::Unread { rejection } => {
                    let rejection = (**rejection).clone();
                    return Poll::Ready(Ok(rejection.into_response(this.render)));
                }
                StateProj::Reading { body, read, rest } => match ready!(collect(body, read, cx)) {
                    Ok(Some(bytes)) if is_login(&bytes) => {
                        let (head, mut inner) = rest.take().expect("passed on once");
                        let body = PeekedBody::read(bytes);
                        let response = inner.call(Request::from_parts(head, body));
                        State::Serving { response }
                    }
                    // The state drops the body before the refusal is sent.
                    Ok(_) => State::Refused,
                    Err(rejection) => State::Unread { rejection },
                },
                StateProj::Serving { response } => return response.poll(cx),
            };
            this.state.set(next);
        }
    }
}

impl<S, B, F, R> fmt::Debug for ResponseFuture<S, B, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The body is left out: it may contain a password.
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

/// Reads a whole body; returns `None` if it is too large or incomplete. A body that arrives too
/// slowly is refused as such: it may have been a login.
fn collect<B>(
    mut body: Pin<&mut B>,
    read: &mut BytesMut,
    cx: &mut Context<'_>,
) -> Poll<Result<Option<Bytes>, Box<Rejection>>>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    loop {
        let room = MAX_BYTES - read.len();
        if body.size_hint().lower() > room as u64 {
            return Poll::Ready(Ok(None));
        }
        match ready!(body.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) if data.len() > room => return Poll::Ready(Ok(None)),
                Ok(data) => read.extend_from_slice(&data),
                // Trailers are not part of a message.
                Err(_) => {}
            },
            Some(Err(error)) => {
                let rejection = Rejection::unreadable_body(&*error.into());
                let is_late = rejection.status() == StatusCode::REQUEST_TIMEOUT;
                return Poll::Ready(if is_late {
                    Err(rejection.into())
                } else {
                    Ok(None)
                });
            }
            None => return Poll::Ready(Ok(Some(mem::take(read).freeze()))),
        }
    }
}

/// Returns whether a message is a call of the login tool, parsed as the inner service parses it.
fn is_login(message: &Bytes) -> bool {
    #[derive(Deserialize)]
    struct CalledTool<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }

    let Incoming::Call(call) = mcp::dialect().read(Request::new(message.clone())) else {
        return false;
    };
    // A notification is never executed, so it cannot be a login.
    !call.is_notification()
        && call.method() == "tools/call"
        && call
            .params::<CalledTool<'_>>()
            .is_ok_and(|params| params.name == LOGIN_TOOL)
}

fn refusal(challenge: HeaderValue) -> Rejection {
    Rejection::new(
        StatusCode::UNAUTHORIZED,
        "missing_token",
        "Missing Authorization header",
    )
    .with_header(header::WWW_AUTHENTICATE, challenge)
}

// === impl PeekedBody ===

impl<B> PeekedBody<B> {
    fn unread(body: B) -> Self {
        let kind = Kind::Unread { body };
        Self { kind }
    }

    fn read(bytes: Bytes) -> Self {
        let kind = Kind::Read { bytes };
        Self { kind }
    }
}

impl<B: Body<Data = Bytes>> Body for PeekedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            KindProj::Unread { body } => body.poll_frame(cx),
            KindProj::Read { bytes } => {
                let bytes = Some(mem::take(bytes)).filter(|bytes| !bytes.is_empty());
                Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Unread { body } => body.is_end_stream(),
            Kind::Read { bytes } => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Unread { body } => body.size_hint(),
            Kind::Read { bytes } => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}

impl<B> fmt::Debug for PeekedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeekedBody").finish_non_exhaustive()
    }
}
