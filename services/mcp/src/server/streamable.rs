//! The HTTP transport for calls that may send messages before their answer (Streamable HTTP of the
//! protocol).
//!
//! [`StreamableLayer`] answers in JSON if it can. A response becomes a stream of events only if a
//! message for the client comes before the answer, or after a long silence, and only if the client
//! accepts events. The layer puts a [`Notifier`] into the extensions of such a request. If the
//! client disconnects, the call is dropped.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt as _, Full};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_mcp::{Notifier, streamable::StreamableLayer};
//!
//! # tokio_test::block_on(async {
//! let service = ServiceBuilder::new()
//!     .layer(StreamableLayer::new())
//!     .service(service_fn(|request: Request<()>| Box::pin(async move {
//!         let notifier = request.extensions().get::<Notifier>().cloned();
//!         if let Some(notifier) = notifier {
//!             notifier.notify("notifications/message", &"on it");
//!             // Anything that takes a while.
//!             tokio::task::yield_now().await;
//!         }
//!         Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("{}")))
//!     })));
//!
//! let request = Request::post("/")
//!     .header("content-type", "application/json")
//!     .header("accept", "application/json, text/event-stream");
//! let response = service.oneshot(request.body(())?).await?;
//! assert_eq!(response.headers()["content-type"], "text/event-stream");
//! let body = response.into_body().collect().await?.to_bytes();
//! assert!(body.ends_with(b"\n\nevent: message\ndata: {}\n\n"));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Cost
//!
//! A response that stays JSON costs the handle of its notifier. A stream costs a box, into which
//! the future of the call is moved, so the future has to be [`Unpin`].

mod accept;
mod body;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderValue, Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tower_layer::Layer;
use tower_service::Service;
use ziggurat_layers::reject::{ErrorString, Rejection, Render};
use ziggurat_serve::{is_json, sse};

use crate::{Notifier, server::streamable::accept::takes_events};

pub use self::body::StreamableBody;

/// Time without a message after which a keep-alive is sent.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Lets calls send messages before they are answered, and refuses requests that are not JSON.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct StreamableLayer<R = ErrorString> {
    render: R,
}

/// Service made by [`StreamableLayer`].
#[derive(Clone, Copy, Debug)]
pub struct Streamable<S, R = ErrorString> {
    inner: S,
    render: R,
}

pin_project! {
    /// Response future of [`Streamable`].
    pub struct ResponseFuture<F, R> {
        // `None` if the request is refused.
        call: Option<F>,
        notifier: Option<Notifier>,
        #[pin]
        silence: Option<Sleep>,
        render: R,
    }
}

// === impl StreamableLayer ===

impl StreamableLayer {
    /// Makes a layer that sends a keep-alive after 15 seconds of silence.
    pub fn new() -> Self {
        Self {
            render: ErrorString,
        }
    }
}

impl Default for StreamableLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> StreamableLayer<R> {
    /// Replaces the renderer of the body of a refusal.
    pub fn with_render<T>(self, render: T) -> StreamableLayer<T> {
        StreamableLayer { render }
    }
}

impl<S, R: Clone> Layer<S> for StreamableLayer<R> {
    type Service = Streamable<S, R>;

    fn layer(&self, inner: S) -> Streamable<S, R> {
        Streamable {
            inner,
            render: self.render.clone(),
        }
    }
}

// === impl Streamable ===

impl<S, R, ReqBody, ResBody> Service<Request<ReqBody>> for Streamable<S, R>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    S::Future: Unpin,
    R: Render<StreamableBody<S::Future, ResBody>> + Clone,
{
    type Response = Response<StreamableBody<S::Future, ResBody>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        let mut notifier = None;
        let call = is_json(request.headers()).then(|| {
            if takes_events(request.headers()) {
                let opened = Notifier::new();
                request.extensions_mut().insert(opened.clone());
                notifier = Some(opened);
            }
            self.inner.call(request)
        });
        ResponseFuture {
            call,
            notifier,
            silence: None,
            render: self.render.clone(),
        }
    }
}

// === impl ResponseFuture ===

impl<F, R, B, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<B>, E>> + Unpin,
    R: Render<StreamableBody<F, B>>,
{
    type Output = Result<Response<StreamableBody<F, B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(call) = this.call else {
            return Poll::Ready(Ok(refusal().into_response(this.render)));
        };
        if let Poll::Ready(response) = Pin::new(call).poll(cx) {
            return Poll::Ready(response.map(|response| match this.notifier.take() {
                // A message sent just before the answer still comes first.
                Some(notifier) => match notifier.poll_next(cx) {
                    Poll::Ready(first) => {
                        events(StreamableBody::answered(response, notifier, &first))
                    }
                    Poll::Pending => response.map(StreamableBody::plain),
                },
                None => response.map(StreamableBody::plain),
            }));
        }
        let Some(notifier) = this.notifier else {
            return Poll::Pending;
        };
        let first = if let Poll::Ready(message) = notifier.poll_next(cx) {
            body::event(&message)
        } else {
            if this.silence.is_none() {
                this.silence.set(Some(sleep(KEEP_ALIVE_INTERVAL)));
            }
            let silence = this.silence.as_mut().as_pin_mut();
            if silence.is_some_and(|silence| silence.poll(cx).is_pending()) {
                return Poll::Pending;
            }
            sse::KEEP_ALIVE
        };
        let call = this.call.take().expect("taken once");
        let notifier = this.notifier.take().expect("taken once");
        Poll::Ready(Ok(events(StreamableBody::waiting(call, notifier, first))))
    }
}

impl<F, R> fmt::Debug for ResponseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

/// Makes a response that is a stream of events.
fn events<B>(body: B) -> Response<B> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (sse::X_ACCEL_BUFFERING, "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refusal() -> Rejection {
    Rejection::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "The body must be JSON: send the header `Content-Type: application/json`",
    )
}
