//! Answers the requests that are still in flight when the grace period of a shutdown ends.
//!
//! A server that stops gives its requests some time, and then closes their connections. Clients see
//! a broken connection, and cannot tell whether their request was handled. With this layer the
//! program [declares the cut-off](CutOff::happen) a moment before, and each request that is still in
//! flight is answered with 503.
//!
//! ```
//! use std::{convert::Infallible, future::pending};
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::shutdown::{CutOff, ShutdownLayer};
//!
//! # tokio_test::block_on(async {
//! let cut_off = CutOff::default();
//! let slow = service_fn(|_: Request<()>| pending::<Result<Response<Full<Bytes>>, Infallible>>());
//! let service = ServiceBuilder::new().layer(ShutdownLayer::new(cut_off.clone())).service(slow);
//!
//! cut_off.happen();
//! let response = service.oneshot(Request::new(())).await?;
//! assert_eq!(response.status(), 503);
//! # Ok::<_, Infallible>(())
//! # }).unwrap();
//! ```
//!
//! # Order
//!
//! Outside of everything that may take long. A service that answers the requests itself, in the
//! format of its protocol, can wait for the same [`CutOff`] and takes precedence.
//!
//! # Caveats
//!
//! A response that has begun is not changed: its body has to end by itself.
//!
//! # Cost
//!
//! A request that is answered at once costs a reference count. One that waits allocates a listener.

mod cut_off;

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, StatusCode};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::reject::{ErrorString, Rejection, Render};

pub use self::cut_off::{CutOff, CutOffFuture};

/// Time that a server should give the answers after the cut-off, before it closes connections.
///
/// ```
/// use std::time::Duration;
/// use ziggurat_layers::shutdown::ERROR_SEND_TIME;
///
/// assert!(ERROR_SEND_TIME < Duration::from_secs(1));
/// ```
pub const ERROR_SEND_TIME: Duration = Duration::from_millis(500);

/// Answers 503 for requests that are still in flight at the [`CutOff`].
///
/// ```
/// use ziggurat_layers::shutdown::{CutOff, ShutdownLayer};
///
/// let layer = ShutdownLayer::new(CutOff::default());
/// # let _ = layer;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ShutdownLayer<R = ErrorString> {
    cut_off: CutOff,
    render: R,
}

/// Service made by [`ShutdownLayer`].
///
/// ```
/// use tower::{Layer as _, service_fn};
/// use ziggurat_layers::shutdown::{CutOff, Shutdown, ShutdownLayer};
///
/// # let echo = service_fn(|request: http::Request<()>| async { Ok::<_, ()>(request) });
/// let service: Shutdown<_> = ShutdownLayer::new(CutOff::default()).layer(echo);
/// # let _ = service;
/// ```
#[derive(Clone, Debug)]
pub struct Shutdown<S, R = ErrorString> {
    inner: S,
    cut_off: CutOff,
    render: R,
}

pin_project! {
    /// Response future of [`Shutdown`].
    ///
    /// ```
    /// use http::{Request, Response};
    /// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
    /// use ziggurat_layers::shutdown::{CutOff, ShutdownLayer};
    ///
    /// # tokio_test::block_on(async {
    /// let service = ServiceBuilder::new()
    ///     .layer(ShutdownLayer::new(CutOff::default()))
    ///     .service(service_fn(|_: Request<()>| async {
    ///         Ok::<_, std::io::Error>(Response::new(bytes::Bytes::from("hello")))
    ///     }));
    /// let response = service.oneshot(Request::new(())).await?; // awaits the response future
    /// assert_eq!(response.status(), 200);
    /// # Ok::<_, std::io::Error>(())
    /// # }).unwrap();
    /// ```
    pub struct ResponseFuture<F, R> {
        #[pin]
        response: Option<F>,
        #[pin]
        cut_off: CutOffFuture,
        render: R,
    }
}

// === impl ShutdownLayer ===

impl ShutdownLayer {
    /// Answers the requests in flight at this moment.
    ///
    /// ```
    /// use ziggurat_layers::shutdown::{CutOff, ShutdownLayer};
    ///
    /// let layer = ShutdownLayer::new(CutOff::default());
    /// # let _ = layer;
    /// ```
    pub fn new(cut_off: CutOff) -> Self {
        let render = ErrorString;
        Self { cut_off, render }
    }
}

impl<R> ShutdownLayer<R> {
    /// Replaces the renderer of the answer.
    ///
    /// ```
    /// use ziggurat_layers::{reject::Problem, shutdown::{CutOff, ShutdownLayer}};
    ///
    /// let layer = ShutdownLayer::new(CutOff::default()).with_render(Problem);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> ShutdownLayer<T> {
        let cut_off = self.cut_off;
        ShutdownLayer { cut_off, render }
    }
}

impl<S, R: Clone> Layer<S> for ShutdownLayer<R> {
    type Service = Shutdown<S, R>;

    fn layer(&self, inner: S) -> Self::Service {
        Shutdown {
            inner,
            cut_off: self.cut_off.clone(),
            render: self.render.clone(),
        }
    }
}

// === impl Shutdown ===

impl<S, R, B, ResBody> Service<Request<B>> for Shutdown<S, R>
where
    S: Service<Request<B>, Response = Response<ResBody>>,
    R: Render<ResBody> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ResponseFuture {
            response: Some(self.inner.call(request)),
            cut_off: self.cut_off.happened(),
            render: self.render.clone(),
        }
    }
}

// === impl ResponseFuture ===

impl<F, R, B, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<B>, E>>,
    R: Render<B>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(response) = this.response.as_mut().as_pin_mut()
            && let Poll::Ready(response) = response.poll(cx)
        {
            return Poll::Ready(response);
        }
        if this.cut_off.poll(cx).is_pending() {
            return Poll::Pending;
        }
        // Drops what the request holds before the response is returned.
        this.response.set(None);
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let rejection = Rejection::new(status, "shutting_down", "The server is shutting down");
        Poll::Ready(Ok(rejection.into_response(this.render)))
    }
}

impl<F, R> fmt::Debug for ResponseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::pending};

    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Full};
    use tokio_test::{assert_pending, assert_ready, task};
    use tower::{ServiceExt as _, service_fn};

    use super::*;

    #[tokio::test]
    async fn only_requests_in_flight_at_the_cut_off_are_answered_with_503() {
        let cut_off = CutOff::default();
        let layer = ShutdownLayer::new(cut_off.clone());
        let done = service_fn(async |_: Request<()>| {
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("done")))
        });
        let slow =
            service_fn(|_: Request<()>| pending::<Result<Response<Full<Bytes>>, Infallible>>());
        let mut waiting = task::spawn(layer.layer(slow).oneshot(Request::new(())));
        assert_pending!(waiting.poll());
        cut_off.happen();
        assert!(waiting.is_woken());
        let Ok(response) = assert_ready!(waiting.poll());
        assert_eq!(response.status(), 503);
        let body = response.into_body().collect().await.expect("whole");
        assert_eq!(
            body.to_bytes(),
            r#"{"error":"The server is shutting down"}"#
        );

        let Ok(response) = layer.layer(done).oneshot(Request::new(())).await;
        assert_eq!(
            response.status(),
            200,
            "an answer that is ready takes precedence"
        );
    }
}
