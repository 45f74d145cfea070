//! Lets those without a token do one thing: get one.
//!
//! The bearer layer is told that a token is optional on the path of the calls
//! ([`with_optional`](ziggurat_layers::bearer::BearerLayer::with_optional)), and everybody
//! who shows none ends up here. What they send is read and parsed, as it will be once more by
//! the service behind; if it is the call of the login tool it is passed on, and otherwise it
//! is refused as the bearer layer would have, whatever it is: another call, a notification,
//! a batch, or no JSON at all.
//!
//! A request with an [`Identity`] passes unread.

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
use ziggurat_accounts::Identity;
use ziggurat_layers::{
    bearer::Challenge,
    json_rpc::Incoming,
    reject::{ErrorString, Rejection, Render},
};
use ziggurat_mcp as mcp;

type BoxError = Box<dyn Error + Send + Sync>;

/// The tool that may be called without a token.
const LOGIN_TOOL: &str = "authenticate_user";

/// A name and a password have room in much less. It is all a stranger can make us hold.
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
    /// The body of a request, of which all or nothing has been read.
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
        // Boxed: rare, and this is as large as its largest state.
        Unread { rejection: Box<Rejection> },
        Reading { #[pin] body: B, read: BytesMut, rest: Option<(Parts, S)> },
        Serving { #[pin] response: F },
    }
}

// === impl LoginLayer ===

impl LoginLayer {
    /// Refuses everything without a token but a login.
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
    /// Sets whether anybody needs a token; otherwise everything passes.
    pub fn with_required(mut self, is_required: bool) -> Self {
        self.is_required = is_required;
        self
    }

    /// Says more in the `WWW-Authenticate` header than `Bearer`: what the bearer layer says.
    pub fn with_challenge(mut self, challenge: &Challenge) -> Self {
        self.challenge = challenge.to_header();
        self
    }

    /// Replaces the body of the refusal.
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
            // The clone was never polled ready: keep it, use up the service that was.
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
                    // What was read, and what was not, goes before the answer does.
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
        // What was read is left out: it may hold a password.
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

/// Reads a whole body; nothing comes of one that is too large or breaks off. One that comes in
/// too slowly is refused for that: it may have been a login.
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
                // Trailers say nothing about a message.
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

/// Whether a message is the call of the login tool, to the rules of the service behind.
fn is_login(message: &Bytes) -> bool {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }

    let Incoming::Call(call) = mcp::dialect().read(Request::new(message.clone())) else {
        return false;
    };
    // A notification is never acted upon, so there is nothing to let in.
    !call.is_notification()
        && call.method() == "tools/call"
        && call
            .params::<Params<'_>>()
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
