//! Refuses request bodies that are too large.
//!
//! A body with an announced size is checked by its headers: the refusal is sent before a byte of it
//! is read, so a client that sent `Expect: 100-continue` never starts sending. A body of unknown
//! size is counted as it is read. If it exceeds the limit, the layer answers 413 itself instead of
//! the handler, and drops the handler's future at once.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::{BodyExt as _, Full};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::body_limit::{BodyLimitLayer, LimitedBody};
//!
//! # tokio_test::block_on(async {
//! let service = ServiceBuilder::new().layer(BodyLimitLayer::new(5)).service(service_fn(
//!     |request: Request<LimitedBody<Full<Bytes>>>| async move {
//!         let body = request.into_body().collect().await?.to_bytes();
//!         Ok::<_, ziggurat_layers::body_limit::BodyError>(Response::new(Full::new(body)))
//!     },
//! ));
//!
//! let response = service.clone().oneshot(Request::new(Full::from("12345"))).await?;
//! assert_eq!(response.status(), StatusCode::OK);
//!
//! let response = service.oneshot(Request::new(Full::from("123456"))).await?;
//! assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
//! # Ok::<_, ziggurat_layers::body_limit::BodyError>(())
//! # }).unwrap();
//! ```
//!
//! # A budget for all bodies
//!
//! A limit for each body limits nothing for many of them. With a [`ByteBudget`] the bodies of all
//! requests share a number of bytes, of which each caller has a share: a body of announced size
//! takes its bytes before a byte is read, and one of unknown size as its pieces arrive. Where none
//! are left the answer is 429 if the caller uses up its share, and 503 if all callers together do.
//! The bytes are free again when the response future is dropped, or the [`BodyPermit`] that a
//! handler took out of the extensions.
//!
//! # What it leaves alone
//!
//! Headers (a server bounds those), trailers, and responses. Bodies of up to 4 KiB are not counted
//! for a budget: a connection costs as much. Once a handler has answered, a body
//! that exceeds the limit can no longer become a 413: the handler, or the response body it streams,
//! gets a [`BodyError`] instead.
//!
//! # Deployment
//!
//! A refusal closes an HTTP/1 connection (`Connection: close`), because the rest of the body
//! would have to be read before the next request. A client that is still sending reads the
//! answer only if the server does not close the socket on unread data: shut the writing side
//! down first and read on, for a bounded time, before closing (RFC 9112 section 9.6). hyper
//! does not do this by itself.
//!
//! # Cost
//!
//! A request of announced size passes without an allocation; one of unknown size costs one
//! flag, shared between its body and its response future. A body that is counted for a budget costs
//! a lock and a permit.

mod body;
mod budget;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Extensions, HeaderMap, HeaderValue, Request, Response, StatusCode, Version, header};
use http_body::{Body, SizeHint};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use self::body::Overrun;
use crate::reject::{ErrorString, Rejection, Render};

pub use self::{
    body::{BodyError, BodyPermit, LimitedBody},
    budget::{ByteBudget, BytePermit, Exhausted},
};

/// A decimal number of this many digits always fits into 64 bits.
const SAFE_DIGITS: usize = 19;

/// Bodies of announced size up to this one are not counted for a budget.
const UNCOUNTED: u64 = 4 << 10;

/// Seconds after which a request that found no bytes in the budget may be sent again.
const RETRY_SECONDS: u16 = 1;

/// Number of the caller of a request, found in its extensions.
type CallerOf = fn(&Extensions) -> u64;

/// Refuses request bodies over a number of bytes.
///
/// ```
/// use ziggurat_layers::{body_limit::BodyLimitLayer, reject::ErrorObject};
///
/// let layer = BodyLimitLayer::new(10 << 20)
///     .with_message("Files may have up to 10 MiB")
///     .with_render(ErrorObject);
/// # let _ = layer;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct BodyLimitLayer<R = ErrorString> {
    max_bytes: u64,
    budget: Option<(ByteBudget, CallerOf)>,
    message: Cow<'static, str>,
    render: R,
}

/// Service made by [`BodyLimitLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::body_limit::{BodyLimit, BodyLimitLayer};
///
/// let service: BodyLimit<_> = BodyLimitLayer::new(1 << 20).layer("the service behind the limit");
/// # let _ = service;
/// ```
#[derive(Clone, Debug)]
pub struct BodyLimit<S, R = ErrorString> {
    inner: S,
    layer: Arc<BodyLimitLayer<R>>,
}

pin_project! {
    /// Response future of [`BodyLimit`].
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response, StatusCode};
    /// use http_body_util::Full;
    /// use tower::{Layer as _, Service as _, service_fn};
    /// use ziggurat_layers::body_limit::{BodyLimitLayer, LimitedBody, ResponseFuture};
    ///
    /// # tokio_test::block_on(async {
    /// let handler = |_: Request<LimitedBody<Full<Bytes>>>| async {
    ///     Ok::<_, std::convert::Infallible>(Response::new(Bytes::new()))
    /// };
    /// let mut service = BodyLimitLayer::new(3).layer(service_fn(handler));
    /// let future: ResponseFuture<_> = service.call(Request::new(Full::from("four")));
    /// assert_eq!(future.await?.status(), StatusCode::PAYLOAD_TOO_LARGE);
    /// # Ok::<_, std::convert::Infallible>(())
    /// # }).unwrap();
    /// ```
    #[derive(Debug)]
    pub struct ResponseFuture<F, R = ErrorString> {
        #[pin]
        // None: refused.
        response: Option<F>,
        watch: Option<Watch<R>>,
        permit: Option<BodyPermit>,
    }
}

/// Refuses a request, at once or when its body exceeds the limit while it is served.
#[derive(Debug)]
struct Watch<R> {
    layer: Arc<BodyLimitLayer<R>>,
    /// Reason of a refusal at once.
    fault: BodyFault,
    version: Version,
    overrun: Option<Arc<Overrun>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyFault {
    TooLarge,
    ContentLength,
    Exhausted(Exhausted),
}

// === impl BodyLimitLayer ===

impl BodyLimitLayer {
    /// Allows bodies of up to `max_bytes` bytes, inclusive.
    ///
    /// ```
    /// use ziggurat_layers::body_limit::BodyLimitLayer;
    ///
    /// let one_mebibyte = BodyLimitLayer::new(1 << 20);
    /// # let _ = one_mebibyte;
    /// ```
    pub fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            budget: None,
            message: Cow::Borrowed("Request body too large"),
            render: ErrorString,
        }
    }
}

impl<R> BodyLimitLayer<R> {
    /// Replaces the body of the refusals.
    ///
    /// ```
    /// use ziggurat_layers::{body_limit::BodyLimitLayer, reject::Problem};
    ///
    /// let layer = BodyLimitLayer::new(1 << 20).with_render(Problem);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> BodyLimitLayer<T> {
        BodyLimitLayer {
            max_bytes: self.max_bytes,
            budget: self.budget,
            message: self.message,
            render,
        }
    }

    /// Counts the bytes of bodies for a budget. The function returns the number of the caller, which
    /// a layer further out has put into the extensions.
    ///
    /// ```
    /// use ziggurat_layers::body_limit::{BodyLimitLayer, ByteBudget};
    ///
    /// #[derive(Clone, Hash)]
    /// struct User(String);
    ///
    /// let budget = ByteBudget::new(40 << 20, 20 << 20);
    /// let layer = BodyLimitLayer::new(10 << 20)
    ///     .with_budget(budget, |extensions| ByteBudget::caller(&extensions.get::<User>()));
    /// # let _ = layer;
    /// ```
    pub fn with_budget(mut self, budget: ByteBudget, caller: fn(&Extensions) -> u64) -> Self {
        self.budget = Some((budget, caller));
        self
    }

    /// Replaces the text of the 413.
    ///
    /// ```
    /// use ziggurat_layers::body_limit::BodyLimitLayer;
    ///
    /// let max_bytes = 4096;
    /// let layer = BodyLimitLayer::new(max_bytes)
    ///     .with_message(format!("A note may have up to {max_bytes} bytes"));
    /// # let _ = layer;
    /// ```
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.message = message.into();
        self
    }

    #[cold]
    fn refuse<B>(&self, fault: BodyFault, version: Version) -> Response<B>
    where
        R: Render<B>,
    {
        let mut rejection = match fault {
            BodyFault::TooLarge => Rejection::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "request_too_large",
                self.message.clone(),
            ),
            BodyFault::ContentLength => Rejection::new(
                StatusCode::BAD_REQUEST,
                "invalid_content_length",
                "Invalid Content-Length header: expected one decimal number",
            ),
            BodyFault::Exhausted(Exhausted::Share) => Rejection::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_requests",
                "Too many large requests of this caller are in progress. Try again later.",
            ),
            BodyFault::Exhausted(Exhausted::Total) => Rejection::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "Too many large requests are in progress. Try again later.",
            ),
        };
        if let BodyFault::Exhausted(_) = fault {
            let seconds = HeaderValue::from(RETRY_SECONDS);
            rejection = rejection.with_header(header::RETRY_AFTER, seconds);
        }
        // HTTP/2 and later have no `Connection` header (RFC 9113, section 8.2.2).
        if version <= Version::HTTP_11 {
            let close = HeaderValue::from_static("close");
            rejection = rejection.with_header(header::CONNECTION, close);
        }
        rejection.into_response(&self.render)
    }
}

impl<S, R: Clone> Layer<S> for BodyLimitLayer<R> {
    type Service = BodyLimit<S, R>;

    fn layer(&self, inner: S) -> Self::Service {
        BodyLimit {
            inner,
            layer: Arc::new(self.clone()),
        }
    }
}

// === impl BodyLimit ===

impl<S, R, ReqBody, ResBody> Service<Request<ReqBody>> for BodyLimit<S, R>
where
    S: Service<Request<LimitedBody<ReqBody>>, Response = Response<ResBody>>,
    R: Render<ResBody> + Clone,
    ReqBody: Body,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        match self.layer.check_size(&request) {
            Ok(Some(bytes)) if bytes <= UNCOUNTED || self.layer.budget.is_none() => {
                ResponseFuture {
                    response: Some(self.serve(request, None, None)),
                    watch: None,
                    permit: None,
                }
            }
            checked => self.call_unless_uncounted(request, checked),
        }
    }
}

impl<S, R> BodyLimit<S, R> {
    #[inline]
    fn serve<B>(
        &mut self,
        request: Request<B>,
        overrun: Option<Arc<Overrun>>,
        permit: Option<BodyPermit>,
    ) -> S::Future
    where
        S: Service<Request<LimitedBody<B>>>,
    {
        let remaining = self.layer.max_bytes;
        self.inner.call(request.map(|inner| LimitedBody {
            inner,
            remaining,
            overrun,
            permit,
            is_over: false,
        }))
    }

    // Not inlined, to keep the path of requests with a known size small; nearly all have one.
    #[inline(never)]
    fn call_unless_uncounted<B>(
        &mut self,
        mut request: Request<B>,
        checked: Result<Option<u64>, BodyFault>,
    ) -> ResponseFuture<S::Future, R>
    where
        S: Service<Request<LimitedBody<B>>>,
    {
        let version = request.version();
        let taken = checked.and_then(|size| {
            let permit = self.layer.take(request.extensions(), size)?;
            Ok((size, permit))
        });
        let (size, permit) = match taken {
            Ok(taken) => taken,
            Err(fault) => {
                return ResponseFuture {
                    response: None,
                    watch: Some(self.watch(fault, version, None)),
                    permit: None,
                };
            }
        };
        if let Some(permit) = &permit {
            request.extensions_mut().insert(permit.clone());
        }
        let overrun = size.is_none().then(Arc::<Overrun>::default);
        let growing = permit.clone().filter(|_| size.is_none());
        ResponseFuture {
            response: Some(self.serve(request, overrun.clone(), growing)),
            watch: overrun.map(|overrun| self.watch(BodyFault::TooLarge, version, Some(overrun))),
            permit,
        }
    }

    fn watch(&self, fault: BodyFault, version: Version, overrun: Option<Arc<Overrun>>) -> Watch<R> {
        Watch {
            layer: Arc::clone(&self.layer),
            fault,
            version,
            overrun,
        }
    }
}

impl<R> BodyLimitLayer<R> {
    /// Returns the greatest size that a body within the limit can have, if it is known without
    /// touching the body.
    #[inline]
    fn check_size<B: Body>(&self, request: &Request<B>) -> Result<Option<u64>, BodyFault> {
        let hint = request.body().size_hint();
        let announced = content_length(request.headers(), &hint)?;
        if announced.unwrap_or(0).max(hint.lower()) > self.max_bytes {
            return Err(BodyFault::TooLarge);
        }
        // The header alone proves nothing: the body from the server decides.
        Ok(hint.upper().filter(|upper| *upper <= self.max_bytes))
    }

    /// Takes the bytes of a body of known size, or prepares to take the bytes of another one.
    fn take(
        &self,
        extensions: &Extensions,
        size: Option<u64>,
    ) -> Result<Option<BodyPermit>, BodyFault> {
        let Some((budget, caller)) = &self.budget else {
            return Ok(None);
        };
        let taken = budget.take(caller(extensions), size.unwrap_or(0));
        taken
            .map(|it| Some(BodyPermit::new(it)))
            .map_err(BodyFault::Exhausted)
    }
}

/// Reads `Content-Length` strictly (RFC 9110, section 8.6).
///
/// Accepts one field line of digits, and `Transfer-Encoding` next to it only if the server found
/// exactly that length: headers that two readers could understand differently allow request
/// smuggling (RFC 9112, section 11.2). A number too large for 64 bits is simply too large.
#[inline]
fn content_length(headers: &HeaderMap, hint: &SizeHint) -> Result<Option<u64>, BodyFault> {
    let Some(value) = headers.get(header::CONTENT_LENGTH) else {
        return Ok(None);
    };
    // Counting is cheaper than a second look-up: repeated headers are rare.
    if headers.len() > headers.keys_len() && is_repeated(headers) {
        return Err(BodyFault::ContentLength);
    }
    let length = decimal(value.as_bytes()).ok_or(BodyFault::ContentLength)?;
    if hint.exact() != Some(length) && headers.contains_key(header::TRANSFER_ENCODING) {
        return Err(BodyFault::ContentLength);
    }
    Ok(Some(length))
}

#[cold]
fn is_repeated(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_LENGTH).iter();
    values.nth(1).is_some()
}

#[inline]
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let (safe, rest) = digits.split_at(digits.len().min(SAFE_DIGITS));
    let mut sum = 0_u64;
    for &byte in safe {
        sum = sum * 10 + digit(byte)?;
    }
    for &byte in rest {
        sum = sum.saturating_mul(10).saturating_add(digit(byte)?);
    }
    Some(sum)
}

#[inline]
fn digit(byte: u8) -> Option<u64> {
    let digit = byte.wrapping_sub(b'0');
    (digit < 10).then_some(digit.into())
}

// === impl ResponseFuture ===

impl<F, R, B, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<B>, E>>,
    R: Render<B>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(watch) = this.watch {
            return watch.poll(this.response, cx);
        }
        let response = this.response.as_pin_mut();
        response.expect("what is not refused is served").poll(cx)
    }
}

// === impl Watch ===

impl<R> Watch<R> {
    #[inline(never)]
    fn poll<F, B, E>(
        &self,
        mut response: Pin<&mut Option<F>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<B>, E>>
    where
        F: Future<Output = Result<Response<B>, E>>,
        R: Render<B>,
    {
        let mut fault = self.fault;
        if let (Some(response), Some(overrun)) = (response.as_mut().as_pin_mut(), &self.overrun) {
            let response = response.poll(cx);
            // The body may be read on another task, so a future that waits for its handler
            // waits for the overrun as well.
            let happened = match response {
                Poll::Ready(_) => overrun.happened(),
                Poll::Pending => overrun.happened_or_wake(cx.waker()),
            };
            let Some(happened) = happened else {
                return response;
            };
            fault = happened;
        }
        // The handler is dropped first, so that it does not run while the answer is made.
        response.set(None);
        Poll::Ready(Ok(self.layer.refuse(fault, self.version)))
    }
}
