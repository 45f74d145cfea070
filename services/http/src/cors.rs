//! Lets pages use an API that does not use cookies (CORS of the Fetch standard).

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");

/// Methods and headers of the API of pipelines.
const LISTED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, OPTIONS");
const LISTED_HEADERS: HeaderValue = HeaderValue::from_static("Content-Type, Accept");
const LISTED_HEADERS_AND_TOKEN: HeaderValue =
    HeaderValue::from_static("Authorization, Content-Type, Accept");

/// Headers that every client of these APIs may send.
const HEADERS: &str = "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID";

/// Prefix of headers with names that depend on the called tool.
const PARAMETER: &str = "mcp-param-";

/// Time for which a browser may cache the answer to a preflight: one day, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("86400");

const EXPOSED: HeaderValue = HeaderValue::from_static("WWW-Authenticate");
const ORIGIN: HeaderValue = HeaderValue::from_static("Origin");
const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");

/// Answers preflights, and tells browsers which pages may read the responses.
///
/// [`admitted`](Self::admitted) belongs inside of an
/// [`OriginLayer`](ziggurat_layers::origin::OriginLayer), which refuses pages of other origins. Tokens are sent by scripts and not by the browser, so credentials are
/// never allowed. `tower-http` has a layer of this name, but it answers every `OPTIONS` request, and
/// allows either fixed headers or all.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
/// use ziggurat_http::CorsLayer;
/// use ziggurat_layers::origin::{OriginLayer, Origins};
///
/// # tokio_test::block_on(async {
/// let service = ServiceBuilder::new()
///     .layer(OriginLayer::new(Origins::listed(["https://app.example"])?))
///     .layer(CorsLayer::admitted())
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
    readers: Readers,
    /// Headers that pages may send, if each response says so and not preflights only.
    fixed: Option<HeaderValue>,
}

/// Service made by [`CorsLayer`].
#[derive(Clone, Debug)]
pub struct Cors<S> {
    inner: S,
    settings: CorsLayer,
}

/// The pages that may read responses.
#[derive(Clone, Debug)]
enum Readers {
    /// The layer does nothing.
    Off,
    /// Each page that an `OriginLayer` has let through.
    Admitted,
    Listed(Arc<[HeaderValue]>),
    All,
}

pin_project! {
    /// Response future of [`Cors`].
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
        // The origin that may read the response.
        reader: Option<HeaderValue>,
        // True if another origin gets another response.
        varies: bool,
        fixed: Option<HeaderValue>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Preflight { allowed_headers: HeaderValue },
        Serving { #[pin] response: F },
    }
}

// === impl CorsLayer ===

impl CorsLayer {
    /// Makes a layer that does nothing.
    pub(crate) fn off() -> Self {
        let readers = Readers::Off;
        let fixed = None;
        Self { readers, fixed }
    }

    /// Lets each page read that an `OriginLayer` has let through. Other `OPTIONS` requests than
    /// preflights go to the service.
    pub fn admitted() -> Self {
        let readers = Readers::Admitted;
        let fixed = None;
        Self { readers, fixed }
    }

    /// Lets the pages of exactly these origins read, as browsers spell them, or all pages if `*` is
    /// among them. Every `OPTIONS` request is answered, and every response tells the methods and
    /// headers that pages may use.
    ///
    /// A text that no header can hold is never the origin of a browser and is ignored.
    pub fn listed(origins: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let origins = origins.into_iter();
        let values = origins.filter_map(|origin| HeaderValue::from_str(origin.as_ref()).ok());
        let listed: Arc<[_]> = values.collect();
        let readers = if listed.contains(&ANY_ORIGIN) {
            Readers::All
        } else {
            Readers::Listed(listed)
        };
        let fixed = Some(LISTED_HEADERS);
        Self { readers, fixed }
    }

    /// Lets the requests of listed pages also have a token.
    pub fn with_tokens(self) -> Self {
        let fixed = Some(LISTED_HEADERS_AND_TOKEN);
        Self { fixed, ..self }
    }
}

impl<S> Layer<S> for CorsLayer {
    type Service = Cors<S>;

    fn layer(&self, inner: S) -> Cors<S> {
        let settings = self.clone();
        Cors { inner, settings }
    }
}

// === impl Readers ===

impl Readers {
    /// Returns the origin that may read the response to a request.
    fn reader(&self, request: &HeaderMap) -> Option<HeaderValue> {
        let origin = || request.get(header::ORIGIN);
        match self {
            Self::Off => None,
            Self::Admitted => origin().cloned(),
            Self::Listed(listed) => origin().filter(|it| listed.contains(it)).cloned(),
            Self::All => origin().map(|_| ANY_ORIGIN),
        }
    }

    /// Returns whether this layer answers a request itself.
    fn answer<B>(&self, request: &Request<B>) -> bool {
        let asks = |name| request.headers().contains_key(name);
        request.method() == Method::OPTIONS
            && match self {
                Self::Off => false,
                Self::Admitted => {
                    asks(header::ORIGIN) && asks(header::ACCESS_CONTROL_REQUEST_METHOD)
                }
                Self::Listed(_) | Self::All => true,
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
        let CorsLayer { readers, fixed } = &self.settings;
        let reader = readers.reader(request.headers());
        let varies = !matches!(readers, Readers::Off | Readers::All);
        let fixed = fixed.clone();
        let state = if readers.answer(&request) {
            let allowed_headers = allowed_headers(request.headers());
            State::Preflight { allowed_headers }
        } else {
            let response = self.inner.call(request);
            State::Serving { response }
        };
        ResponseFuture {
            state,
            reader,
            varies,
            fixed,
        }
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
            StateProj::Serving { response } => {
                let mut response = ready!(response.poll(cx))?;
                if this.reader.is_some() && this.fixed.is_none() {
                    let headers = response.headers_mut();
                    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
                }
                response
            }
            StateProj::Preflight { allowed_headers } => {
                let mut response = Response::new(B::from(Bytes::new()));
                *response.status_mut() = StatusCode::NO_CONTENT;
                if this.reader.is_some() && this.fixed.is_none() {
                    let allowed = allowed_headers.clone();
                    response.headers_mut().extend(answer(METHODS, allowed));
                }
                response
            }
        };
        let headers = response.headers_mut();
        if let Some(reader) = this.reader.take() {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, reader);
            if let Some(fixed) = this.fixed.take() {
                headers.extend(answer(LISTED_METHODS, fixed));
            }
        }
        // Set without an origin, too: caches must keep the two responses apart.
        if *this.varies {
            headers.append(header::VARY, ORIGIN);
        }
        Poll::Ready(Ok(response))
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

/// Returns the headers that tell the methods and headers that pages may use.
fn answer(methods: HeaderValue, headers: HeaderValue) -> [(HeaderName, HeaderValue); 3] {
    [
        (header::ACCESS_CONTROL_ALLOW_METHODS, methods),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, headers),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ]
}

/// Returns the headers that are always allowed, and the requested headers that are parameters.
fn allowed_headers(request: &HeaderMap) -> HeaderValue {
    let mut allowed = String::from(HEADERS);
    let asked = request.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS);
    for name in asked.iter().filter_map(|line| line.to_str().ok()) {
        for name in name.split(',').map(str::trim) {
            let start = name.get(..PARAMETER.len());
            if start.is_some_and(|start| start.eq_ignore_ascii_case(PARAMETER)) && is_token(name) {
                allowed.push_str(", ");
                allowed.push_str(name);
            }
        }
    }
    // Tokens and commas are always a value.
    HeaderValue::try_from(allowed).unwrap_or(HeaderValue::from_static(HEADERS))
}

/// Checks for a token (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tower::{ServiceBuilder, ServiceExt as _, service_fn};
    use ziggurat_layers::origin::{OriginLayer, Origins};

    use super::*;

    const MINE: &str = "http://localhost:3000";
    const LISTED: &str = "https://app.example";

    async fn served(_: Request<()>) -> Result<Response<Bytes>, Infallible> {
        let response = Response::builder().header("vary", "Accept");
        let response = response.body(Bytes::from_static(b"served"));
        Ok(response.expect("static parts"))
    }

    async fn answer(request: http::request::Builder) -> Response<Bytes> {
        let service = ServiceBuilder::new()
            .layer(OriginLayer::new(Origins::loopback()))
            .layer(CorsLayer::admitted())
            .service(service_fn(served));
        let request = request.body(()).expect("valid parts");
        service.oneshot(request).await.expect("infallible")
    }

    async fn answer_to(origins: &[&str], method: Method, origin: Option<&str>) -> Response<Bytes> {
        let service = CorsLayer::listed(origins).layer(service_fn(served));
        let mut request = Request::builder().method(method).uri("/any/path");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let request = request.body(()).expect("a request");
        service.oneshot(request).await.expect("infallible")
    }

    fn all<'a>(response: &'a Response<Bytes>, name: &str) -> Vec<&'a str> {
        let values = response.headers().get_all(name).iter();
        values.map(|value| value.to_str().expect("text")).collect()
    }

    #[tokio::test]
    async fn a_request_without_an_origin_gets_no_permission() {
        let response = answer(Request::post("/")).await;
        assert_eq!(response.status(), 200);
        let allowed = response.headers().get("access-control-allow-origin");
        assert_eq!(allowed, None);
        assert_eq!(all(&response, "vary"), ["Accept", "Origin"]);
    }

    #[tokio::test]
    async fn an_allowed_page_may_read_the_response_and_the_challenge() {
        let response = answer(Request::post("/").header("origin", MINE)).await;
        assert_eq!(response.body(), "served");
        let headers = response.headers();
        assert_eq!(headers["access-control-allow-origin"], MINE);
        assert_eq!(headers["access-control-expose-headers"], "WWW-Authenticate");
    }

    fn preflight_from(origin: &str) -> http::request::Builder {
        Request::options("/mcp/v1")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
    }

    #[tokio::test]
    async fn a_preflight_of_an_allowed_page_is_answered_before_anything_else() {
        let asked = "authorization, mcp-param-Region,x-other, mcp-param-b@d, Mcp-Param-ünic";
        let request = preflight_from(MINE).header("access-control-request-headers", "MCP-PARAM-a");
        let request = request.header("access-control-request-headers", asked);
        let response = answer(request).await;
        assert_eq!(response.status(), 204);
        assert_eq!(response.body(), "");
        assert_eq!(all(&response, "vary"), ["Origin"]);
        let headers = response.headers();
        assert_eq!(headers["access-control-allow-origin"], MINE);
        let methods = "GET, HEAD, POST, PUT, PATCH, DELETE";
        assert_eq!(headers["access-control-allow-methods"], methods);
        // A header line with a character outside of ASCII is ignored as a whole.
        let allowed = format!("{HEADERS}, MCP-PARAM-a");
        assert_eq!(headers["access-control-allow-headers"], allowed);

        let asked = "authorization, mcp-param-Region,x-other, mcp-param-b@d";
        let request = preflight_from(MINE).header("access-control-request-headers", asked);
        let response = answer(request).await;
        let allowed = format!("{HEADERS}, mcp-param-Region");
        assert_eq!(response.headers()["access-control-allow-headers"], allowed);
    }

    #[tokio::test]
    async fn a_page_of_another_origin_may_not_read_its_refusal() {
        let evil = "https://evil.example";
        for request in [
            preflight_from(evil),
            Request::post("/").header("origin", evil),
        ] {
            let response = answer(request).await;
            assert_eq!(response.status(), 403);
            assert_eq!(all(&response, "vary"), ["Origin"]);
            let mut names = response.headers().keys();
            assert!(!names.any(|name| name.as_str().starts_with("access-control")));
        }
    }

    #[tokio::test]
    async fn options_that_are_no_preflight_go_to_the_service() {
        let request = Request::options("/").header("origin", MINE);
        let response = answer(request).await;
        assert_eq!(response.body(), "served");
    }

    #[tokio::test]
    async fn an_origin_is_allowed_if_it_is_listed_exactly_or_all_are() {
        let both: &[&str] = &["Accept", "Origin"];
        let cases: [(&[&str], _, _, &[&str]); 9] = [
            (&[LISTED], Some(LISTED), Some(LISTED), both),
            (&["*"], Some(LISTED), Some("*"), &["Accept"]),
            (&[LISTED, "*"], Some(LISTED), Some("*"), &["Accept"]),
            (&["*"], None, None, &["Accept"]),
            (&[], Some(LISTED), None, both),
            (&[LISTED], None, None, both),
            (&[LISTED], Some("null"), None, both),
            (&[LISTED], Some("https://APP.example"), None, both),
            (&[LISTED], Some("https://app.example:443"), None, both),
        ];
        for (origins, origin, expected, vary) in cases {
            let case = format!("{origins:?} {origin:?}");
            let response = answer_to(origins, Method::GET, origin).await;
            assert_eq!(response.body(), "served", "{case}");
            let allowed = all(&response, "access-control-allow-origin");
            assert_eq!(allowed, Vec::from_iter(expected), "{case}");
            assert_eq!(all(&response, "vary"), vary, "{case}");
            let headers = all(&response, "access-control-allow-headers");
            let listed = expected.map(|_| "Content-Type, Accept");
            assert_eq!(headers, Vec::from_iter(listed), "{case}");
        }
    }

    #[tokio::test]
    async fn with_a_list_every_options_request_is_answered_with_headers_only() {
        for (origin, is_allowed) in [(Some(LISTED), true), (Some("null"), false), (None, false)] {
            let response = answer_to(&[LISTED], Method::OPTIONS, origin).await;
            assert_eq!(response.status(), StatusCode::NO_CONTENT, "{origin:?}");
            assert_eq!(response.body(), "", "{origin:?}");
            for (name, value) in [
                ("access-control-allow-origin", LISTED),
                ("access-control-allow-methods", "GET, POST, OPTIONS"),
                ("access-control-allow-headers", "Content-Type, Accept"),
                ("access-control-max-age", "86400"),
            ] {
                let expected = is_allowed.then_some(value);
                assert_eq!(all(&response, name), Vec::from_iter(expected), "{origin:?}");
            }
        }
    }

    #[test]
    fn the_layer_may_be_shared_and_sent() {
        fn check<T: Clone + Send + Sync>() {}
        check::<CorsLayer>();
        check::<Cors<()>>();
    }
}
