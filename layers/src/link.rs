//! Adds `Link` headers to responses (RFC 8288).
//!
//! The layer tells clients about resources that belong to a response: the description of the API,
//! its documentation, its status page. RFC 8631 names the relations for these, and [`LinkValue`] has a
//! constructor for each.
//!
//! `Link` headers of the service stay, and a link that the response already carries is not added
//! again.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::link::{LinkLayer, LinkValue};
//!
//! # tokio_test::block_on(async {
//! let service = ServiceBuilder::new()
//!     .layer(LinkLayer::new([LinkValue::service_desc("/v1/openapi.json")?]))
//!     .service(service_fn(|_: Request<Full<Bytes>>| async {
//!         Response::builder()
//!             .header("content-type", "application/json")
//!             .body(Full::<Bytes>::from("[]"))
//!     }));
//!
//! let request = Request::get("/v1/pipelines").body(Full::default())?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(
//!     response.headers()["link"],
//!     r#"</v1/openapi.json>; rel="service-desc""#
//! );
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Which responses
//!
//! By default responses with the content type `application/json` or `application/*+json`, of any
//! status: a client that was just refused needs the description most. Event streams, pages and
//! empty answers get no links. [`with_filter`](LinkLayer::with_filter) changes this.
//!
//! Two kinds never get a link. An interim or upgrading response (1xx) does not describe a
//! resource, and a 304 updates a stored response that has its links already (RFC 9110,
//! section 15.4.5, asks to send no more than that needs).
//!
//! # Deployment
//!
//! Put the layer outside of [`SanitizeLayer`](crate::sanitize::SanitizeLayer) and of the layers that
//! refuse requests. A layer further out makes its responses after this one has seen the request, so
//! they get no links: neither a refusal nor a sanitised fault or panic.
//!
//! # When a link is already there
//!
//! A link counts as present if a `Link` line of the response has one with the same target, all of
//! its relations and the same anchor. Targets are compared as written: `/openapi.json` and
//! `https://example.com/openapi.json` are two links, since the layer does not know its own host
//! name.
//!
//! # Cost
//!
//! Header values are made once, when the layer is built, and are never freed. A response that gets
//! a link costs the space its header map needs for it; another one costs a comparison of its
//! content type. Existing `Link` lines are read in place, in linear time.

#[cfg(test)]
mod corpus;
mod parse;
#[cfg(test)]
mod tests;
mod value;

use std::{
    fmt, iter, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Request, Response, StatusCode, header,
    header::{Entry, OccupiedEntry},
};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

pub use self::value::{InvalidLink, LinkValue};

/// Selects the responses that get the links.
///
/// Implemented by [`JsonResponses`], [`EveryResponse`] and every
/// `Fn(StatusCode, &HeaderMap) -> bool`.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use ziggurat_layers::link::{LinkLayer, LinkValue, Select};
///
/// /// Selects the responses to clients that were refused.
/// #[derive(Clone)]
/// struct Refusals;
///
/// impl Select for Refusals {
///     fn selects(&self, status: StatusCode, _: &HeaderMap) -> bool {
///         status.is_client_error()
///     }
/// }
///
/// let layer = LinkLayer::new([LinkValue::service_doc("/docs")?]).with_filter(Refusals);
/// # let _ = layer;
/// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
/// ```
pub trait Select {
    /// Returns whether the response with this head gets the links.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use ziggurat_layers::link::{EveryResponse, JsonResponses, Select as _};
    ///
    /// let headers = HeaderMap::new();
    /// assert!(EveryResponse.selects(StatusCode::OK, &headers));
    /// assert!(!JsonResponses.selects(StatusCode::OK, &headers));
    /// ```
    fn selects(&self, status: StatusCode, headers: &HeaderMap) -> bool;
}

/// Selects responses of the types `application/json` and `application/*+json`.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode, header};
/// use ziggurat_layers::link::{JsonResponses, Select as _};
///
/// let mut headers = HeaderMap::new();
/// headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
/// assert!(JsonResponses.selects(StatusCode::NOT_FOUND, &headers));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonResponses;

/// Selects every response.
///
/// ```
/// use ziggurat_layers::link::{EveryResponse, LinkLayer, LinkValue};
///
/// let layer: LinkLayer<EveryResponse> =
///     LinkLayer::new([LinkValue::status("/health")?]).with_filter(EveryResponse);
/// # let _ = layer;
/// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryResponse;

/// Adds `Link` headers to responses.
///
/// ```
/// use ziggurat_layers::link::{LinkLayer, LinkValue};
///
/// let description = LinkValue::service_desc("/openapi.json")?;
/// let manual = LinkValue::service_doc("/docs")?.with_param("hreflang", "en")?;
/// let layer = LinkLayer::new([description, manual]);
/// # let _ = layer;
/// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct LinkLayer<F = JsonResponses> {
    links: Prepared,
    filter: F,
}

/// Service made by [`LinkLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::link::{Link, LinkLayer, LinkValue};
///
/// let layer = LinkLayer::new([LinkValue::service_desc("/openapi.json")?]);
/// let service: Link<_> = layer.layer("the service that is described");
/// # let _ = service;
/// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
/// ```
#[derive(Clone)]
pub struct Link<S, F = JsonResponses> {
    inner: S,
    links: Prepared,
    filter: F,
}

pin_project! {
    /// Response future of [`Link`].
    ///
    /// ```
    /// use std::future::{Ready, ready};
    /// use http::{Request, Response};
    /// use tower::{Layer as _, Service as _, service_fn};
    /// use ziggurat_layers::link::{LinkLayer, LinkValue, ResponseFuture};
    ///
    /// type Served = Ready<Result<Response<String>, std::io::Error>>;
    /// let serve = |_: Request<()>| -> Served { ready(Ok(Response::default())) };
    /// let layer = LinkLayer::new([LinkValue::status("/health")?]);
    /// let future: ResponseFuture<Served> = layer.layer(service_fn(serve)).call(Request::new(()));
    /// # let _ = future;
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub struct ResponseFuture<T, F = JsonResponses> {
        #[pin]
        response: T,
        links: Prepared,
        filter: F,
    }
}

/// The links as header values.
///
/// The first is stored separately, because most servers have only one, and it moves into the
/// response.
#[derive(Clone, Debug, Default)]
struct Prepared {
    first: Option<HeaderValue>,
    more: Option<Arc<[HeaderValue]>>,
}

// === impl Select ===

impl<T> Select for T
where
    T: Fn(StatusCode, &HeaderMap) -> bool,
{
    fn selects(&self, status: StatusCode, headers: &HeaderMap) -> bool {
        self(status, headers)
    }
}

impl Select for JsonResponses {
    #[inline]
    fn selects(&self, _: StatusCode, headers: &HeaderMap) -> bool {
        // The content type is usually the first header, and comparing that is faster than a
        // look-up.
        let content_type = match headers.iter().next() {
            Some((name, value)) if name == header::CONTENT_TYPE => Some(value),
            _ => headers.get(header::CONTENT_TYPE),
        };
        content_type.is_some_and(is_json)
    }
}

impl Select for EveryResponse {
    fn selects(&self, _: StatusCode, _: &HeaderMap) -> bool {
        true
    }
}

// === impl LinkLayer ===

impl LinkLayer {
    /// Adds these links, in this order, to every JSON response.
    ///
    /// A link that is listed twice is added once.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use tower::{Layer as _, ServiceExt as _, service_fn};
    /// use ziggurat_layers::link::{LinkLayer, LinkValue};
    ///
    /// # tokio_test::block_on(async {
    /// let layer = LinkLayer::new([LinkValue::service_doc("/docs")?]);
    /// let service = layer.layer(service_fn(|_: Request<()>| async {
    ///     Response::builder().header("content-type", "application/json").body(Bytes::from("[]"))
    /// }));
    /// let response = service.oneshot(Request::new(())).await?;
    /// assert_eq!(response.headers()["link"], r#"</docs>; rel="service-doc""#);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn new(links: impl IntoIterator<Item = LinkValue>) -> Self {
        Self {
            links: Prepared::new(links),
            filter: JsonResponses,
        }
    }
}

impl<F> LinkLayer<F> {
    /// Adds the links to the responses selected by `filter` instead.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use ziggurat_layers::link::{LinkLayer, LinkValue};
    ///
    /// let found = |status: StatusCode, _: &HeaderMap| status.is_success();
    /// let layer = LinkLayer::new([LinkValue::status("/health")?]).with_filter(found);
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn with_filter<T>(self, filter: T) -> LinkLayer<T> {
        LinkLayer {
            links: self.links,
            filter,
        }
    }

    /// Adds the links to responses of every type.
    ///
    /// ```
    /// use ziggurat_layers::link::{LinkLayer, LinkValue};
    ///
    /// let layer = LinkLayer::new([LinkValue::new("/terms", "terms-of-service")?]).on_every_response();
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn on_every_response(self) -> LinkLayer<EveryResponse> {
        self.with_filter(EveryResponse)
    }
}

impl<F> fmt::Debug for LinkLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkLayer")
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

impl<S, F: Clone> Layer<S> for LinkLayer<F> {
    type Service = Link<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        Link {
            inner,
            links: self.links.clone(),
            filter: self.filter.clone(),
        }
    }
}

// === impl Link ===

impl<S: fmt::Debug, F> fmt::Debug for Link<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("inner", &self.inner)
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

impl<S, F, ReqBody, ResBody> Service<Request<ReqBody>> for Link<S, F>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    F: Select + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, F>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        // Cloned before the call, so that the result of the call is written to its final place.
        let links = self.links.clone();
        let filter = self.filter.clone();
        ResponseFuture {
            response: self.inner.call(request),
            links,
            filter,
        }
    }
}

// === impl ResponseFuture ===

impl<T, F, B, E> Future for ResponseFuture<T, F>
where
    T: Future<Output = Result<Response<B>, E>>,
    F: Select,
{
    type Output = T::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // Changed in place: a response is large, so copying it costs time.
        let mut polled = this.response.poll(cx);
        if let Poll::Ready(Ok(response)) = &mut polled {
            let status = response.status();
            let never = status.is_informational() || status == StatusCode::NOT_MODIFIED;
            if !never && this.filter.selects(status, response.headers()) {
                mem::take(this.links).append_to(response.headers_mut());
            }
        }
        polled
    }
}

impl<T, F> fmt::Debug for ResponseFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

// === impl Prepared ===

impl Prepared {
    fn new(links: impl IntoIterator<Item = LinkValue>) -> Self {
        let mut different: Vec<LinkValue> = Vec::new();
        for link in links {
            if !different.contains(&link) {
                different.push(link);
            }
        }
        // Shared by all responses, which count its references instead of copying the text.
        let mut values = different.iter().map(|link| {
            let text = Bytes::from(link.to_string());
            HeaderValue::from_maybe_shared(text).expect("a link is printable ASCII")
        });
        Self {
            first: values.next(),
            more: Some(values.collect::<Arc<[_]>>()).filter(|more| !more.is_empty()),
        }
    }

    /// Appends the links that the response does not have yet.
    fn append_to(self, headers: &mut HeaderMap) {
        let Some(first) = self.first else { return };
        let more = self.more.as_deref().unwrap_or_default();
        match headers.entry(header::LINK) {
            Entry::Vacant(vacant) => {
                let mut entry = vacant.insert_entry(first);
                for value in more {
                    entry.append(value.clone());
                }
            }
            Entry::Occupied(mut entry) => {
                // Only the lines the response came with are compared, not those appended here.
                let own = entry.iter().count();
                for value in iter::once(&first).chain(more) {
                    if !has_link(&entry, own, value) {
                        entry.append(value.clone());
                    }
                }
            }
        }
    }
}

/// Returns whether one of the first lines contains our link.
fn has_link(lines: &OccupiedEntry<'_, HeaderValue>, first: usize, ours: &HeaderValue) -> bool {
    let ours = parse::links(ours.as_bytes()).next();
    ours.is_some_and(|ours| {
        let mut lines = lines.iter().take(first).map(HeaderValue::as_bytes);
        lines.any(|line| parse::links(line).any(|written| written.covers(&ours)))
    })
}

#[inline]
fn is_json(content_type: &HeaderValue) -> bool {
    content_type == "application/json" || is_json_media_type(content_type)
}

fn is_json_media_type(content_type: &HeaderValue) -> bool {
    let media_type = content_type
        .as_bytes()
        .split(|&byte| byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    let Some((kind, subtype)) = media_type.split_at_checked(b"application/".len()) else {
        return false;
    };
    kind.eq_ignore_ascii_case(b"application/")
        && (subtype.eq_ignore_ascii_case(b"json")
            || subtype
                .last_chunk::<5>()
                .is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+json")))
}
