//! Lets pages of other origins use an API that does not use cookies.
//!
//! `tower-http` has a layer of this name, but it sends methods, headers and age only with
//! preflights, of any origin. Here they go with every response to a listed origin, and with no
//! other response.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, OPTIONS");
const HEADERS: HeaderValue = HeaderValue::from_static("Content-Type, Accept");
const HEADERS_WITH_TOKEN: HeaderValue =
    HeaderValue::from_static("Authorization, Content-Type, Accept");
/// One day.
const MAX_AGE: HeaderValue = HeaderValue::from_static("86400");
const ORIGIN: HeaderValue = HeaderValue::from_static("Origin");
const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");

/// The origins of pages that may use a server.
#[derive(Clone, Debug)]
pub struct AllowedOrigins {
    listed: Arc<[HeaderValue]>,
    allows_all: bool,
    /// The headers that their requests may have.
    headers: HeaderValue,
}

/// Answers every `OPTIONS` request, and tells browsers that the pages of some origins may read the
/// responses.
///
/// No request is rejected: the browser enforces what a page may read, and other clients send no
/// `Origin`. To refuse pages, use an
/// [`OriginLayer`](ziggurat_layers::origin::OriginLayer).
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
/// use ziggurat_http::{AllowedOrigins, CorsLayer};
///
/// # tokio_test::block_on(async {
/// let origins = AllowedOrigins::new(["https://app.example"]);
/// let service = ServiceBuilder::new()
///     .layer(CorsLayer::new(origins))
///     .service(service_fn(|_: Request<()>| async {
///         Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default()))
///     }));
/// let request = Request::get("/").header("origin", "https://app.example").body(())?;
/// let response = service.oneshot(request).await?;
/// assert_eq!(response.headers()["access-control-allow-origin"], "https://app.example");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CorsLayer {
    origins: AllowedOrigins,
}

/// Service made by [`CorsLayer`].
#[derive(Clone, Debug)]
pub struct Cors<S> {
    inner: S,
    origins: AllowedOrigins,
}

pin_project! {
    /// Response future of [`Cors`].
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
        decision: Decision,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Serving { #[pin] response: F },
        Preflight,
    }
}

/// CORS decision about the origin of a request.
#[derive(Debug)]
enum Decision {
    /// It may read the response: all origins may, or this one is listed.
    Allowed {
        origin: HeaderValue,
        headers: HeaderValue,
    },
    /// It may not. Caches must keep the response apart, because another origin may.
    VaryOnly,
    /// There is no origin, or it makes no difference: no header is needed.
    NoHeaders,
}

// === impl AllowedOrigins ===

impl AllowedOrigins {
    /// Allows exactly these origins, as browsers spell them, or all if `*` is among them; none if
    /// the list is empty.
    ///
    /// A text that no header can hold is never the origin of a browser and is ignored.
    pub fn new(origins: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let values = origins
            .into_iter()
            .filter_map(|origin| HeaderValue::from_str(origin.as_ref()).ok());
        let listed: Arc<[_]> = values.collect();
        Self {
            allows_all: listed.contains(&ANY_ORIGIN),
            listed,
            headers: HEADERS,
        }
    }

    /// Lets the requests of these pages also have a token.
    #[must_use]
    pub fn with_tokens(self) -> Self {
        let headers = HEADERS_WITH_TOKEN;
        Self { headers, ..self }
    }

    fn decide(&self, headers: &HeaderMap) -> Decision {
        let origin = headers.get(header::ORIGIN);
        let allowed = |origin| Decision::Allowed {
            origin,
            headers: self.headers.clone(),
        };
        match origin {
            Some(_) if self.allows_all => allowed(ANY_ORIGIN),
            Some(origin) if self.listed.contains(origin) => allowed(origin.clone()),
            _ if self.allows_all || self.listed.is_empty() => Decision::NoHeaders,
            _ => Decision::VaryOnly,
        }
    }
}

// === impl Decision ===

impl Decision {
    fn write(&mut self, headers: &mut HeaderMap) {
        match std::mem::replace(self, Self::NoHeaders) {
            Self::Allowed {
                origin,
                headers: permitted,
            } => {
                if origin != ANY_ORIGIN {
                    vary_by_origin(headers);
                }
                headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
                headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
                headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, permitted);
                headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
            }
            Self::VaryOnly => vary_by_origin(headers),
            Self::NoHeaders => {}
        }
    }
}

// === impl CorsLayer ===

impl CorsLayer {
    /// Allows the pages of these origins.
    pub fn new(origins: AllowedOrigins) -> Self {
        Self { origins }
    }
}

impl<S> Layer<S> for CorsLayer {
    type Service = Cors<S>;

    fn layer(&self, inner: S) -> Cors<S> {
        Cors {
            inner,
            origins: self.origins.clone(),
        }
    }
}

// === impl Cors ===

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Cors<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    ResBody: From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let decision = self.origins.decide(request.headers());
        let state = if request.method() == Method::OPTIONS {
            State::Preflight
        } else {
            State::Serving {
                response: self.inner.call(request),
            }
        };
        ResponseFuture { state, decision }
    }
}

// === impl ResponseFuture ===

impl<F, B, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: From<Bytes>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = match this.state.project() {
            StateProj::Serving { response } => ready!(response.poll(cx))?,
            StateProj::Preflight => {
                let mut response = Response::new(Bytes::new().into());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
        };
        this.decision.write(response.headers_mut());
        Poll::Ready(Ok(response))
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("decision", &self.decision)
            .finish_non_exhaustive()
    }
}

fn vary_by_origin(headers: &mut HeaderMap) {
    // A refusal of another layer has it already.
    if !headers
        .get_all(header::VARY)
        .iter()
        .any(|value| value == ORIGIN)
    {
        headers.append(header::VARY, ORIGIN);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::Full;
    use tower::{ServiceExt as _, service_fn};

    use super::*;

    const LISTED: &str = "https://app.example";

    async fn response(
        origins: &[&str],
        method: Method,
        origin: Option<&str>,
    ) -> Response<Full<Bytes>> {
        let service = CorsLayer::new(AllowedOrigins::new(origins)).layer(service_fn(
            |_: Request<()>| async {
                let body = Full::from("ours");
                let ours = Response::builder().status(418).header("vary", "Accept");
                Ok::<_, Infallible>(ours.body(body).expect("a response"))
            },
        ));
        let mut request = Request::builder().method(method).uri("/any/path");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let request = request.body(()).expect("a request");
        service.oneshot(request).await.expect("infallible")
    }

    fn all<'a>(response: &'a Response<Full<Bytes>>, name: &str) -> Vec<&'a str> {
        let values = response.headers().get_all(name).iter();
        values.map(|value| value.to_str().expect("text")).collect()
    }

    #[tokio::test]
    async fn an_origin_is_allowed_if_it_is_listed_exactly_or_all_are() {
        let cases: [(&[&str], _, _, &[&str]); 9] = [
            (&[LISTED], Some(LISTED), Some(LISTED), &["Accept", "Origin"]),
            (&["*"], Some(LISTED), Some("*"), &["Accept"]),
            (&[LISTED, "*"], Some(LISTED), Some("*"), &["Accept"]),
            (&["*"], None, None, &["Accept"]),
            (&[], Some(LISTED), None, &["Accept"]),
            (&[LISTED], None, None, &["Accept", "Origin"]),
            (&[LISTED], Some("null"), None, &["Accept", "Origin"]),
            (
                &[LISTED],
                Some("https://APP.example"),
                None,
                &["Accept", "Origin"],
            ),
            (
                &[LISTED],
                Some("https://app.example:443"),
                None,
                &["Accept", "Origin"],
            ),
        ];
        for (origins, origin, expected, vary) in cases {
            let case = format!("{origins:?} {origin:?}");
            let response = response(origins, Method::GET, origin).await;
            assert_eq!(response.status(), 418, "{case}");
            let allowed = all(&response, "access-control-allow-origin");
            assert_eq!(allowed, Vec::from_iter(expected), "{case}");
            assert_eq!(all(&response, "vary"), vary, "{case}");
            let others = [
                ("access-control-allow-methods", "GET, POST, OPTIONS"),
                ("access-control-allow-headers", "Content-Type, Accept"),
                ("access-control-max-age", "86400"),
            ];
            for (name, value) in others {
                let found = all(&response, name);
                assert_eq!(found, Vec::from_iter(expected.map(|_| value)), "{case}");
            }
        }
    }

    #[tokio::test]
    async fn every_options_request_is_answered_with_headers_only() {
        for (origin, is_allowed) in [(Some(LISTED), true), (Some("null"), false), (None, false)] {
            let response = response(&[LISTED], Method::OPTIONS, origin).await;
            assert_eq!(response.status(), StatusCode::NO_CONTENT, "{origin:?}");
            let allowed = response
                .headers()
                .contains_key("access-control-allow-origin");
            assert_eq!(allowed, is_allowed, "{origin:?}");
            let size = http_body::Body::size_hint(response.body()).exact();
            assert_eq!(size, Some(0), "{origin:?}");
        }
    }

    #[test]
    fn the_layer_may_be_shared_and_sent() {
        fn check<T: Clone + Send + Sync>() {}
        check::<CorsLayer>();
        check::<Cors<()>>();
    }
}
