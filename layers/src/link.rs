//! Add `Link` headers to responses (RFC 8288).
//!
//! The layer tells clients where to find what belongs to the response they hold: the
//! description of the API, its documentation, its status page. RFC 8631 names the relations
//! for these, and [`Link`] has a constructor for each.
//!
//! It leaves alone what the service says itself: its `Link` headers stay, and a link the
//! response already carries is not added again.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::link::{Link, LinkLayer};
//!
//! # tokio_test::block_on(async {
//! let service = ServiceBuilder::new()
//!     .layer(LinkLayer::new([Link::service_desc("/v1/openapi.json")?]))
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
//! By default those whose content type is `application/json` or `application/*+json`,
//! whatever their status: a client that was just refused is the one that needs the
//! description. Event streams, pages and empty answers get nothing.
//! [`with_filter`](LinkLayer::with_filter) decides otherwise.
//!
//! Two kinds never get a link. An interim or upgrading response (1xx) does not describe a
//! resource, and a 304 updates a stored response that has its links already (RFC 9110,
//! section 15.4.5, asks to send no more than that needs).
//!
//! # When a link is already there
//!
//! A link counts as present when some `Link` line of the response has one with the same
//! target, every one of its relations and the same anchor. Targets are compared as they are
//! written: `/openapi.json` and `https://example.com/openapi.json` are two links, since the
//! layer does not know under which name it is reached.
//!
//! # Cost
//!
//! Header values are made once, when the layer is built, and kept for as long as the program
//! runs. A response that gets a link costs the space its header map needs for it; one that does
//! not costs a look at its content type.
//! Link lines that are already there are read in place, in time linear in their length.

#[cfg(test)]
mod corpus;
mod parse;
#[cfg(test)]
mod tests;
mod value;

use std::{
    collections::BTreeSet,
    fmt, iter, mem,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use http::{
    HeaderMap, HeaderValue, Request, Response, StatusCode, header,
    header::{Entry, OccupiedEntry},
};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

pub use self::value::{InvalidLink, Link};

/// Decides which responses get the links.
///
/// Implemented by [`JsonResponses`], [`EveryResponse`] and every
/// `Fn(StatusCode, &HeaderMap) -> bool`.
pub trait Select {
    /// Whether the response with this head gets the links.
    fn selects(&self, status: StatusCode, headers: &HeaderMap) -> bool;
}

/// Selects responses of the types `application/json` and `application/*+json`.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonResponses;

/// Selects every response.
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryResponse;

/// Adds `Link` headers to responses.
#[derive(Clone)]
#[must_use]
pub struct LinkLayer<F = JsonResponses> {
    links: Prepared,
    filter: F,
}

/// Service made by [`LinkLayer`].
#[derive(Clone)]
pub struct LinkService<S, F = JsonResponses> {
    inner: S,
    links: Prepared,
    filter: F,
}

pin_project! {
    /// Response future of [`LinkService`].
    pub struct ResponseFuture<T, F = JsonResponses> {
        #[pin]
        response: T,
        links: Prepared,
        filter: F,
    }
}

/// The header values that say the links.
///
/// The first one travels by itself: it moves into the response, and most servers have no other.
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
        // Mostly it is the first there is, and a look at that costs less than looking it up.
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
    pub fn new(links: impl IntoIterator<Item = Link>) -> Self {
        Self {
            links: Prepared::new(links),
            filter: JsonResponses,
        }
    }
}

impl<F> LinkLayer<F> {
    /// Adds the links to the responses that `filter` selects instead.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use ziggurat_layers::link::{Link, LinkLayer};
    ///
    /// let found = |status: StatusCode, _: &HeaderMap| status.is_success();
    /// let layer = LinkLayer::new([Link::status("/health")?]).with_filter(found);
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
    type Service = LinkService<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        LinkService {
            inner,
            links: self.links.clone(),
            filter: self.filter.clone(),
        }
    }
}

// === impl LinkService ===

impl<S: fmt::Debug, F> fmt::Debug for LinkService<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkService")
            .field("inner", &self.inner)
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

impl<S, F, ReqBody, ResBody> Service<Request<ReqBody>> for LinkService<S, F>
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
        // Before the call, so that what it returns is written where it stays.
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
        // Changed where it is: a response is large enough for a copy of it to be felt.
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
    fn new(links: impl IntoIterator<Item = Link>) -> Self {
        let mut different: Vec<Link> = Vec::new();
        for link in links {
            if !different.contains(&link) {
                different.push(link);
            }
        }
        // A link is printable ASCII.
        let mut values = different
            .iter()
            .map(|link| HeaderValue::from_static(kept(link.to_string())));
        Self {
            first: values.next(),
            more: Some(values.collect::<Arc<[_]>>()).filter(|more| !more.is_empty()),
        }
    }

    /// Appends the links that the response did not come with.
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
                // What is appended here stands behind these, and is not compared with.
                let own = entry.iter().count();
                for value in iter::once(&first).chain(more) {
                    if !says(&entry, own, value) {
                        entry.append(value.clone());
                    }
                }
            }
        }
    }
}

/// The texts of all links that a layer was ever made with, each once.
static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Keeps a text for as long as the program runs.
///
/// What is there for good is put into a response without counting who holds it, and processors
/// that count together wait for each other. Links are written by whoever builds a server, not by
/// its clients, so there are few.
fn kept(text: String) -> &'static str {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(&*text) {
        return known;
    }
    let text = text.leak();
    texts.insert(text);
    text
}

/// Whether one of the first lines has a link that says what ours says.
fn says(lines: &OccupiedEntry<'_, HeaderValue>, first: usize, ours: &HeaderValue) -> bool {
    let ours = parse::links(ours.as_bytes()).next();
    ours.is_some_and(|ours| {
        let mut lines = lines.iter().take(first).map(HeaderValue::as_bytes);
        lines.any(|line| parse::links(line).any(|written| written.says(&ours)))
    })
}

#[inline]
fn is_json(content_type: &HeaderValue) -> bool {
    content_type == "application/json" || is_json_in_other_words(content_type)
}

fn is_json_in_other_words(content_type: &HeaderValue) -> bool {
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
