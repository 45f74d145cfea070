//! Rejects requests of web pages whose origin is not allowed, and implements CORS for the others
//! (Fetch standard).
//!
//! A request without an `Origin` does not come from a web page and passes. Tokens are sent by
//! scripts and not by the browser, so credentials are never allowed.

mod allowed;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;
use ziggurat_layers::reject::{ErrorString, Rejection, Render};

pub use self::allowed::{InvalidOrigin, Origins};

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");

/// Headers that every client of these APIs may send.
const HEADERS: &str = "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID";

/// Prefix of headers whose names depend on the called tool.
const PARAMETER: &str = "mcp-param-";

/// Time for which a browser may cache the answer, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

const EXPOSED: HeaderValue = HeaderValue::from_static("WWW-Authenticate");
const ORIGIN: HeaderValue = HeaderValue::from_static("Origin");

/// Rejects requests of web pages whose origin is not allowed.
#[derive(Clone, Debug)]
#[must_use]
pub struct OriginLayer<R = ErrorString> {
    origins: Origins,
    is_silent: bool,
    render: R,
}

/// Service made by [`OriginLayer`].
#[derive(Clone, Debug)]
pub struct Origin<S, R = ErrorString> {
    inner: S,
    layer: OriginLayer<R>,
}

pin_project! {
    /// Response future of [`Origin`].
    pub struct ResponseFuture<F, R> {
        #[pin]
        state: State<F>,
        is_silent: bool,
        render: R,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Refused,
        Preflight { headers: HeaderMap },
        Serving { #[pin] response: F, origin: Option<HeaderValue> },
    }
}

/// Decision about a request.
enum Decision {
    Refuse,
    /// A preflight for a page of this origin.
    Preflight(HeaderValue),
    /// The request passes; CORS headers are added if there is an origin.
    Pass(Option<HeaderValue>),
}

// === impl OriginLayer ===

impl OriginLayer {
    /// Admits only pages of these origins.
    pub fn new(origins: Origins) -> Self {
        Self {
            origins,
            is_silent: false,
            render: ErrorString,
        }
    }
}

impl<R> OriginLayer<R> {
    /// Replaces the body of the rejection.
    pub fn with_render<T>(self, render: T) -> OriginLayer<T> {
        OriginLayer {
            origins: self.origins,
            is_silent: self.is_silent,
            render,
        }
    }

    /// Disables CORS, for example because another layer does it: preflights are passed on like
    /// other requests, and responses are unchanged.
    pub fn without_cors(self) -> Self {
        Self {
            is_silent: true,
            ..self
        }
    }

    fn decide<B>(&self, request: &Request<B>) -> Decision {
        let mut origins = request.headers().get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Decision::Pass(None),
            (Some(origin), None) if self.origins.admit(origin, request) => {
                let origin = (!self.is_silent).then(|| origin.clone());
                match origin {
                    Some(origin) if is_preflight(request) => Decision::Preflight(origin),
                    origin => Decision::Pass(origin),
                }
            }
            (Some(_), _) => Decision::Refuse,
        }
    }
}

impl<S, R: Clone> Layer<S> for OriginLayer<R> {
    type Service = Origin<S, R>;

    fn layer(&self, inner: S) -> Origin<S, R> {
        let layer = self.clone();
        Origin { inner, layer }
    }
}

// === impl Origin ===

impl<S, R, ReqBody, ResBody> Service<Request<ReqBody>> for Origin<S, R>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    R: Render<ResBody> + Clone,
    ResBody: From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let state = match self.layer.decide(&request) {
            Decision::Refuse => State::Refused,
            Decision::Preflight(origin) => State::Preflight {
                headers: preflight(request.headers(), origin),
            },
            Decision::Pass(origin) => State::Serving {
                response: self.inner.call(request),
                origin,
            },
        };
        ResponseFuture {
            state,
            is_silent: self.layer.is_silent,
            render: self.layer.render.clone(),
        }
    }
}

// === impl ResponseFuture ===

impl<F, R, B, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<B>, E>>,
    R: Render<B>,
    B: From<Bytes>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = match this.state.project() {
            StateProj::Refused => refusal().into_response(this.render),
            StateProj::Preflight { headers } => {
                let mut response = Response::new(B::from(Bytes::new()));
                *response.status_mut() = StatusCode::NO_CONTENT;
                *response.headers_mut() = std::mem::take(headers);
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
        if !*this.is_silent {
            // Set without an origin, too: caches must keep the two responses apart.
            response.headers_mut().append(header::VARY, ORIGIN);
        }
        Poll::Ready(Ok(response))
    }
}

impl<F, R> fmt::Debug for ResponseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

fn refusal() -> Rejection {
    Rejection::new(
        StatusCode::FORBIDDEN,
        "origin_not_allowed",
        "Requests from this origin are not allowed",
    )
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

/// Returns the headers that are always allowed, and those of the requested ones that are
/// parameters.
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
