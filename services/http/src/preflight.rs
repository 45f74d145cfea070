//! Lets the pages that an `OriginLayer` admits use an API (CORS of the Fetch standard).

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");

/// Headers that every client of these APIs may send.
const HEADERS: &str = "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID";

/// Prefix of headers with names that depend on the called tool.
const PARAMETER: &str = "mcp-param-";

/// Time for which a browser may cache the answer, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

const EXPOSED: HeaderValue = HeaderValue::from_static("WWW-Authenticate");
const ORIGIN: HeaderValue = HeaderValue::from_static("Origin");

/// Answers preflights, and tells browsers that a page may read the responses.
///
/// It belongs inside of an [`OriginLayer`](ziggurat_layers::origin::OriginLayer), which refuses
/// pages of other origins. Tokens are sent by scripts and not by the browser, so credentials are
/// never allowed. `tower-http` has a layer for CORS, but it answers every `OPTIONS` request, and
/// allows either fixed headers or all.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
/// use ziggurat_http::PreflightLayer;
/// use ziggurat_layers::origin::{OriginLayer, Origins};
///
/// # tokio_test::block_on(async {
/// let service = ServiceBuilder::new()
///     .layer(OriginLayer::new(Origins::listed(["https://app.example"])?))
///     .layer(PreflightLayer)
///     .service(service_fn(|_: Request<()>| async {
///         Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default()))
///     }));
/// let request = Request::get("/").header("origin", "https://app.example").body(())?;
/// let response = service.oneshot(request).await?;
/// assert_eq!(response.headers()["access-control-allow-origin"], "https://app.example");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PreflightLayer;

/// Service made by [`PreflightLayer`].
#[derive(Clone, Debug)]
pub struct Preflight<S>(S);

pin_project! {
    /// Response future of [`Preflight`].
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Preflight { headers: HeaderMap },
        Serving { #[pin] response: F, origin: Option<HeaderValue> },
    }
}

// === impl PreflightLayer ===

impl<S> Layer<S> for PreflightLayer {
    type Service = Preflight<S>;

    fn layer(&self, inner: S) -> Preflight<S> {
        Preflight(inner)
    }
}

// === impl Preflight ===

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Preflight<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    ResBody: From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let state = match request.headers().get(header::ORIGIN).cloned() {
            Some(origin) if is_preflight(&request) => State::Preflight {
                headers: preflight(request.headers(), origin),
            },
            origin => State::Serving {
                response: self.0.call(request),
                origin,
            },
        };
        ResponseFuture { state }
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
        let mut response = match self.project().state.project() {
            StateProj::Preflight { headers } => {
                let mut response = Response::new(B::from(Bytes::new()));
                *response.status_mut() = StatusCode::NO_CONTENT;
                *response.headers_mut() = mem::take(headers);
                response
            }
            StateProj::Serving { response, origin } => {
                let mut response = ready!(response.poll(cx))?;
                if let Some(origin) = origin.take() {
                    let headers = response.headers_mut();
                    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
                    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
                }
                response
            }
        };
        // Set without an origin, too: caches must keep the two responses apart.
        response.headers_mut().append(header::VARY, ORIGIN);
        Poll::Ready(Ok(response))
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

fn is_preflight<B>(request: &Request<B>) -> bool {
    let asked = header::ACCESS_CONTROL_REQUEST_METHOD;
    request.method() == Method::OPTIONS && request.headers().contains_key(asked)
}

fn preflight(request: &HeaderMap, origin: HeaderValue) -> HeaderMap {
    HeaderMap::from_iter([
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, origin),
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            allowed_headers(request),
        ),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ])
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
    HeaderValue::try_from(allowed).expect("tokens and commas")
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

    async fn answer(request: http::request::Builder) -> Response<Bytes> {
        let service = ServiceBuilder::new()
            .layer(OriginLayer::new(Origins::loopback()))
            .layer(PreflightLayer)
            .service(service_fn(|_: Request<()>| async {
                let response = Response::builder().header("vary", "Accept");
                let response = response.body(Bytes::from_static(b"served"));
                Ok::<_, Infallible>(response.expect("static parts"))
            }));
        let request = request.body(()).expect("valid parts");
        service.oneshot(request).await.expect("infallible")
    }

    fn vary(response: &Response<Bytes>) -> Vec<&HeaderValue> {
        response.headers().get_all("vary").iter().collect()
    }

    #[tokio::test]
    async fn a_request_without_an_origin_gets_no_permission() {
        let response = answer(Request::post("/")).await;
        assert_eq!(response.status(), 200);
        let allowed = response.headers().get("access-control-allow-origin");
        assert_eq!(allowed, None);
        assert_eq!(vary(&response), ["Accept", "Origin"]);
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
        assert_eq!(vary(&response), ["Origin"]);
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
            assert_eq!(vary(&response), ["Origin"]);
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
}
