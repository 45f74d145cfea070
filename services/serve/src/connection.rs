//! Drives one connection from its first bytes to its last.

use std::{
    cell::RefCell,
    mem,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use futures_util::future::Either;
use http::{Method, Request, Response, Version};
use http_body::Body as _;
use hyper::{body::Incoming, service::Service};
use hyper_util::server::graceful::GracefulConnection;
use pin_project_lite::pin_project;
use tokio::sync::watch;
use tower::{ServiceExt as _, util::Oneshot};
use tracing::debug;
use ziggurat_layers::client_ip::ClientIp;

use crate::{
    Limits,
    body::{RequestBody, ResponseBody},
    idle::{Activity, InFlight, TimeoutReason},
    unread::Unread,
};

/// Sets the client IP of requests, and reports requests and responses to [`Activity`].
///
/// A connection shares one for all of its requests. Cloning a tower stack per request would change
/// the reference counts that its layers share, which all processors contend for.
#[derive(Debug)]
pub(super) struct Watched<S> {
    inner: RefCell<S>,
    peer: ClientIp,
    activity: Arc<Activity>,
    limits: Arc<Limits>,
}

pin_project! {
    /// Response future of [`Watched`].
    pub(super) struct ResponseFuture<F> {
        #[pin]
        response: F,
        is_withheld: bool,
        unread: Unread,
        request: Option<InFlight>,
    }
}

/// Drives a connection until it ends, is evicted, or its client has timed out.
pub(super) async fn drive<C>(
    connection: C,
    activity: &Activity,
    mut stop: watch::Receiver<()>,
) -> Result<(), C::Error>
where
    C: GracefulConnection,
{
    let mut connection = pin!(connection);
    let mut is_ending = false;
    let mut was_notified = false;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => return ended,
            _ = stop.changed(), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
            () = activity.evicted() => {
                debug!("idle connection closed, because the limit of connections was reached");
                return Ok(());
            }
            why = activity.timed_out() => {
                if was_notified || why == TimeoutReason::Slow {
                    debug!(?why, "connection closed");
                    return Ok(());
                }
                was_notified = true;
                activity.was_notified();
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

// === impl Watched ===

impl<S> Watched<S> {
    pub(super) fn new(inner: S, peer: ClientIp, activity: Arc<Activity>, limits: Limits) -> Self {
        Self {
            inner: RefCell::new(inner),
            peer,
            activity,
            limits: Arc::new(limits),
        }
    }
}

impl<S, B> Service<Request<Incoming>> for Watched<S>
where
    S: tower_service::Service<Request<RequestBody>, Response = Response<B>> + Clone,
{
    type Response = Response<ResponseBody<B>>;
    type Error = S::Error;
    type Future = ResponseFuture<Either<S::Future, Oneshot<S, Request<RequestBody>>>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let in_flight = self.activity.begin();
        // hyper omits the body of the response to a HEAD on HTTP/1 only.
        let is_http2 = request.version() == Version::HTTP_2;
        let is_withheld = is_http2 && request.method() == Method::HEAD;
        let mut request = request.map(|body| {
            let activity = Arc::clone(&self.activity);
            RequestBody::new(body, activity, &self.limits)
        });
        let unread = if is_http2 && !request.body().is_end_stream() {
            let rest = request.body_mut().pass_on();
            Unread::of(rest, &self.activity, &self.limits)
        } else {
            Unread::Drained
        };
        request.extensions_mut().insert(self.peer);
        let mut inner = self.inner.borrow_mut();
        let response = match inner.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Either::Left(inner.call(request)),
            // A clone can wait for readiness, and fail, by itself.
            _ => Either::Right(inner.clone().oneshot(request)),
        };
        ResponseFuture {
            response,
            is_withheld,
            unread,
            request: Some(in_flight),
        }
    }
}

// === impl ResponseFuture ===

impl<F, B, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<ResponseBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(this.response.poll(cx))?;
        let request = this.request.take().expect("not polled after it is ready");
        let is_withheld = *this.is_withheld;
        let unread = mem::replace(this.unread, Unread::Drained);
        Poll::Ready(Ok(
            response.map(|body| ResponseBody::new(body, is_withheld, unread, request))
        ))
    }
}
