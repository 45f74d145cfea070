//! Makes exactly one record of each request, whatever becomes of it.
//!
//! The layer passes a [`Record`] to a [`Sink`] when the request ends: when the response body ends,
//! fails or is dropped, when there is an error instead of a response, when the response future is
//! dropped, or when the service panics.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::{BodyExt as _, Full};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::audit::{AuditIdentityLayer, AuditLayer, CountedBody, Outcome, Queue};
//!
//! # tokio_test::block_on(async {
//! let (queue, records) = Queue::bounded(1000);
//! let service = ServiceBuilder::new()
//!     .layer(AuditLayer::new(queue).with_required())
//!     // In the place of a layer that authenticates, such as `BearerLayer`.
//!     .map_request(|mut request: Request<_>| {
//!         request.extensions_mut().insert("ali");
//!         request
//!     })
//!     .layer(AuditIdentityLayer::<&str>::new())
//!     .service(service_fn(|_: Request<CountedBody<Full<Bytes>>>| async {
//!         Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("hello")))
//!     }));
//!
//! let request = Request::get("/cave?key=secret").body(Full::default())?;
//! let response = service.oneshot(request).await?;
//! assert!(records.try_next().is_none());
//! response.into_body().collect().await?;
//!
//! let record = records.try_next().unwrap();
//! assert_eq!(record.outcome(), Outcome::Completed);
//! assert_eq!(record.status(), Some(StatusCode::OK));
//! assert_eq!((record.path(), record.bytes_out()), ("/cave", 5));
//! assert_eq!(record.identity(), Some("ali"));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # The end of a request
//!
//! | Event | [`Outcome`] |
//! | --- | --- |
//! | the response body ends, or its last frame or its trailers were taken | `Completed` |
//! | the head is passed on, and no body follows: an empty body, `HEAD`, 204, 304, 1xx, a tunnel | `Completed` |
//! | the body is dropped after as many bytes as its `Content-Length` | `Completed` |
//! | the body is dropped before | `ResponseAborted` |
//! | the body fails | `BodyFailed` |
//! | the response future is dropped, also before its first poll | `Cancelled` |
//! | the service returns an error | `ServiceError` |
//! | the service, its future or the response body panics | `Panicked` |
//!
//! A refusal by an inner layer is a completed request; the record has its status and its
//! [`code`](Record::code). Panics are not caught. With
//! [`SanitizeLayer`](crate::sanitize::SanitizeLayer) further in, a panic of the service is a
//! completed request with the status 500.
//!
//! "Taken" means by the server: the layer cannot know which bytes reached the client. Bytes that the
//! service reads from the request body after the end of the response do not count.
//!
//! # When the sink is full
//!
//! | Mode | Without space in the sink |
//! | --- | --- |
//! | default | the request is served; its record is [lost](AuditLayer::lost) and counted |
//! | [required](AuditLayer::with_required) | the service is not called; the answer is 503 with the code `audit_unavailable` and `Retry-After`, and the refusal is [counted](AuditLayer::refused), since it cannot be recorded |
//!
//! In the required mode each request reserves its slot in the sink before the service is called. The
//! first loss and the first refusal are logged as errors.
//!
//! # The type of the bodies
//!
//! The end of a response is the end of its body, which this layer would otherwise not see. So the
//! response has an [`AuditedBody`], and the request has a [`CountedBody`]; all other layers of this
//! crate keep the type of the response body. Both are a `Body` with the data and the errors of the
//! inner one, so hyper and axum take them as they are. To keep a signature, convert the body further
//! out: `.map_response(|response| response.map(axum::body::Body::new))`.
//!
//! # Deployment
//!
//! - Put the layer outside of all layers that can refuse a request, and inside of those that assign
//!   request ids and of [`SetClientIpLayer`](crate::client_ip::SetClientIpLayer), which refuses nothing:
//!   the record has the id and the address that the request has when it arrives here. A layer
//!   further out that replaces a body makes its request `ResponseAborted`.
//! - Put [`AuditIdentityLayer`] behind the layer that authenticates. A handler, or the router, sets
//!   the route on the [`AuditEntry`] of the request extensions.
//! - In the required mode a [`Queue`] needs a slot for each request that is being served, long
//!   streams included, and for the records that wait for the writer. Limit the number of requests
//!   per client, or one client can use all slots.
//! - A record in a `Queue` is lost when the process ends before the writer stores it. If that must
//!   not happen, write a `Sink` that stores the record in `accept`.
//! - One layer for each stack is enough: a second one further in makes a second record, and that one
//!   gets the route and the identity.
//! - A stream is recorded at its end, which may be hours after its start.
//! - These requests have no record: requests that the server refuses itself, requests with a leaked
//!   future, and requests that run when the process is killed or, with `panic = "abort"`, panics.
//! - A sink that panics loses the record, and nothing else.
//!
//! # Memory
//!
//! A request allocates three times: the state that its future, its bodies and its handler share,
//! the box of that state in the extensions, and the path, because a slice of the request head would
//! keep the buffer of the server alive. A [`RequestId`](crate::sanitize::RequestId) that is read
//! from the header is a fourth allocation; one of the extensions is shared. Texts have a maximum
//! length, see [`Record`].

mod body;
mod entry;
mod identity;
mod record;
mod sink;
#[cfg(test)]
mod tests;
mod trace_id;

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;
use tracing::error;

use self::entry::{CountingSink, Destination, Recording};
use crate::{
    clock::{Calendar, Clock, System},
    guard,
    reject::{ErrorString, Rejection, Render},
};

pub use self::{
    body::{AuditedBody, CountedBody},
    entry::AuditEntry,
    identity::{AuditIdentity, AuditIdentityLayer, AuditName},
    record::{Outcome, Record},
    sink::{Lost, Queue, QueueSlot, Records, Sink, TracingSink},
    trace_id::TraceId,
};

/// Makes one record of each request.
///
/// Clones share the sink and the counters: keep one to read them.
///
/// ```
/// use ziggurat_layers::audit::{AuditLayer, Record};
///
/// let layer = AuditLayer::new(|record: Record| println!("{record:?}"));
/// assert_eq!(layer.lost(), 0);
/// ```
#[must_use]
pub struct AuditLayer<K, R = ErrorString, C = System> {
    sink: Arc<CountingSink<K>>,
    render: R,
    clock: C,
    is_required: bool,
}

/// Service made by [`AuditLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::audit::{Audit, AuditLayer, TracingSink};
///
/// let service: Audit<(), TracingSink> = AuditLayer::new(TracingSink).layer(());
/// # let _ = service;
/// ```
pub struct Audit<S, K, R = ErrorString, C = System> {
    inner: S,
    layer: AuditLayer<K, R, C>,
}

pin_project! {
    /// Response future of [`Audit`].
    ///
    /// ```
    /// use std::future::{Ready, ready};
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use http_body_util::Full;
    /// use tower::{Layer as _, Service as _, service_fn};
    /// use ziggurat_layers::audit::{AuditLayer, CountedBody, ResponseFuture, TracingSink};
    ///
    /// type Served = Ready<Result<Response<Full<Bytes>>, std::io::Error>>;
    /// let serve = |_: Request<CountedBody<()>>| -> Served { ready(Ok(Response::default())) };
    /// let mut service = AuditLayer::new(TracingSink).layer(service_fn(serve));
    /// let future: ResponseFuture<Served> = service.call(Request::new(()));
    /// # let _ = future;
    /// ```
    #[derive(Debug)]
    pub struct ResponseFuture<F, R = ErrorString> {
        // Dropped first, so that the record has what its `drop` does.
        #[pin]
        inner: guard::ResponseFuture<F, R>,
        // `None`: refused, or answered.
        recording: Option<Recording>,
    }
}

// === impl AuditLayer ===

impl<K: Sink> AuditLayer<K> {
    /// Passes the records to `sink`.
    ///
    /// ```
    /// use ziggurat_layers::audit::{AuditLayer, Queue};
    ///
    /// let (queue, records) = Queue::bounded(1000);
    /// let layer = AuditLayer::new(queue);
    /// # let _ = (layer, records);
    /// ```
    pub fn new(sink: K) -> Self {
        Self {
            sink: Arc::new(CountingSink {
                sink,
                lost: AtomicU64::new(0),
                refused: AtomicU64::new(0),
            }),
            render: ErrorString,
            clock: System,
            is_required: false,
        }
    }
}

impl<K, R, C> AuditLayer<K, R, C> {
    /// Refuses requests with 503 while the sink cannot accept records.
    ///
    /// ```
    /// use ziggurat_layers::audit::{AuditLayer, Queue};
    ///
    /// let (queue, records) = Queue::bounded(1000);
    /// let layer = AuditLayer::new(queue).with_required();
    /// # let _ = (layer, records);
    /// ```
    pub fn with_required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Replaces the body of the refusal.
    ///
    /// ```
    /// use ziggurat_layers::{audit::{AuditLayer, TracingSink}, reject::Problem};
    ///
    /// let layer = AuditLayer::new(TracingSink).with_required().with_render(Problem);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> AuditLayer<K, T, C> {
        AuditLayer {
            sink: self.sink,
            render,
            clock: self.clock,
            is_required: self.is_required,
        }
    }

    /// Reads the time and the date from another clock.
    ///
    /// ```
    /// use ziggurat_layers::{audit::{AuditLayer, TracingSink}, clock::ManualClock};
    ///
    /// let layer = AuditLayer::new(TracingSink).with_clock(ManualClock::new());
    /// # let _ = layer;
    /// ```
    pub fn with_clock<T>(self, clock: T) -> AuditLayer<K, R, T> {
        AuditLayer {
            sink: self.sink,
            render: self.render,
            clock,
            is_required: self.is_required,
        }
    }

    /// The number of requests that were served without a record, because the sink did not take it.
    ///
    /// ```
    /// use ziggurat_layers::audit::{AuditLayer, TracingSink};
    ///
    /// assert_eq!(AuditLayer::new(TracingSink).lost(), 0);
    /// ```
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.sink.lost.load(Ordering::Relaxed)
    }

    /// The number of requests that were refused because the sink could not accept a record.
    ///
    /// ```
    /// use ziggurat_layers::audit::{AuditLayer, TracingSink};
    ///
    /// assert_eq!(AuditLayer::new(TracingSink).refused(), 0);
    /// ```
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.sink.refused.load(Ordering::Relaxed)
    }

    /// Reserves a slot in the required mode.
    fn reserve(&self) -> Result<Option<K::Slot>, Lost>
    where
        K: Sink,
    {
        if !self.is_required {
            return Ok(None);
        }
        self.sink.sink.reserve().map(Some).ok_or(Lost)
    }

    #[cold]
    fn rejection(&self) -> Rejection {
        if self.sink.refused.fetch_add(1, Ordering::Relaxed) == 0 {
            error!("refused a request, because the audit sink is full; later refusals are counted");
        }
        Rejection::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "audit_unavailable",
            "Requests cannot be recorded now, try again later",
        )
        .with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    fn begin<B>(&self, request: &mut Request<B>, slot: Option<K::Slot>) -> Recording
    where
        K: Sink,
        C: Clock + Calendar + Clone + Send + Sync + 'static,
    {
        let destination = Destination {
            slot: Mutex::new(slot),
            sink: Arc::clone(&self.sink),
            clock: self.clock.clone(),
            begun: self.clock.now(),
        };
        let record = Record::of(request, self.clock.date());
        let recording = Recording::new(record, destination);
        request.extensions_mut().insert(recording.entry());
        recording
    }
}

/// Needs no `Clone` of the sink, unlike a derived implementation.
impl<K, R: Clone, C: Clone> Clone for AuditLayer<K, R, C> {
    fn clone(&self) -> Self {
        Self {
            sink: Arc::clone(&self.sink),
            render: self.render.clone(),
            clock: self.clock.clone(),
            is_required: self.is_required,
        }
    }
}

impl<K, R, C> fmt::Debug for AuditLayer<K, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLayer")
            .field("is_required", &self.is_required)
            .field("lost", &self.lost())
            .field("refused", &self.refused())
            .finish_non_exhaustive()
    }
}

impl<S, K, R: Clone, C: Clone> Layer<S> for AuditLayer<K, R, C> {
    type Service = Audit<S, K, R, C>;

    fn layer(&self, inner: S) -> Self::Service {
        let layer = self.clone();
        Audit { inner, layer }
    }
}

// === impl Audit ===

impl<S: Clone, K, R: Clone, C: Clone> Clone for Audit<S, K, R, C> {
    fn clone(&self) -> Self {
        self.layer.layer(self.inner.clone())
    }
}

impl<S: fmt::Debug, K, R, C> fmt::Debug for Audit<S, K, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit")
            .field("inner", &self.inner)
            .field("layer", &self.layer)
            .finish()
    }
}

impl<S, K, R, C, ReqBody, ResBody> Service<Request<ReqBody>> for Audit<S, K, R, C>
where
    S: Service<Request<CountedBody<ReqBody>>, Response = Response<ResBody>>,
    K: Sink,
    R: Render<ResBody> + Clone,
    C: Clock + Calendar + Clone + Send + Sync + 'static,
    ResBody: Body,
{
    type Response = Response<AuditedBody<ResBody>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        let Ok(slot) = self.layer.reserve() else {
            let (rejection, render) = (self.layer.rejection(), self.layer.render.clone());
            return ResponseFuture {
                inner: guard::ResponseFuture::refused(rejection, render),
                recording: None,
            };
        };
        let mut recording = self.layer.begin(&mut request, slot);
        let request = request.map(|inner| recording.count(inner));
        let response = recording.run(|| self.inner.call(request));
        ResponseFuture {
            inner: guard::ResponseFuture::serving(response),
            recording: Some(recording),
        }
    }
}

// === impl ResponseFuture ===

impl<F, R, B, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<B>, E>>,
    R: Render<B>,
    B: Body,
{
    type Output = Result<Response<AuditedBody<B>>, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(recording) = this.recording else {
            let refused = ready!(this.inner.poll(cx));
            return Poll::Ready(refused.map(|refused| refused.map(AuditedBody::unrecorded)));
        };
        let served = ready!(recording.run(|| this.inner.poll(cx)));
        let recording = this.recording.take().expect("the recording was there");
        Poll::Ready(match served {
            Ok(response) => Ok(recording.attach(response)),
            Err(error) => {
                recording.finish(Outcome::ServiceError);
                Err(error)
            }
        })
    }
}
