//! Security headers on every response.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

/// One year, without subdomains, which may belong to another operator.
const TRANSPORT: (HeaderName, HeaderValue) = (
    header::STRICT_TRANSPORT_SECURITY,
    HeaderValue::from_static("max-age=31536000"),
);

const ALWAYS: [(HeaderName, HeaderValue); 3] = [
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("strict-origin-when-cross-origin"),
    ),
];

/// Adds headers to every response that keep browsers from guessing its type, framing it and sending
/// its address as the referrer. Headers that the response sets itself stay.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct HeadersLayer {
    is_encrypted: bool,
}

/// Service made by [`HeadersLayer`].
#[derive(Clone, Copy, Debug)]
pub struct Headers<S> {
    inner: S,
    is_encrypted: bool,
}

pin_project! {
    /// Response future of [`Headers`].
    pub struct ResponseFuture<F> {
        #[pin]
        response: F,
        is_encrypted: bool,
    }
}

// === impl HeadersLayer ===

impl HeadersLayer {
    /// Adds the headers that are the same for every server.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the server uses TLS; then browsers are told to use only HTTPS.
    pub fn with_tls(mut self, is_encrypted: bool) -> Self {
        self.is_encrypted = is_encrypted;
        self
    }
}

impl<S> Layer<S> for HeadersLayer {
    type Service = Headers<S>;

    fn layer(&self, inner: S) -> Headers<S> {
        Headers {
            inner,
            is_encrypted: self.is_encrypted,
        }
    }
}

// === impl Headers ===

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Headers<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        ResponseFuture {
            response: self.inner.call(request),
            is_encrypted: self.is_encrypted,
        }
    }
}

// === impl ResponseFuture ===

impl<F, B, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = ready!(this.response.poll(cx))?;
        let headers = response.headers_mut();
        headers.reserve(ALWAYS.len() + 1);
        for line in ALWAYS {
            add(headers, line);
        }
        if *this.is_encrypted {
            add(headers, TRANSPORT);
        }
        Poll::Ready(Ok(response))
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

fn add(headers: &mut HeaderMap, (name, value): (HeaderName, HeaderValue)) {
    headers.entry(name).or_insert(value);
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tower::{ServiceExt as _, service_fn};

    use super::*;

    async fn headers(layer: HeadersLayer, own: Option<&'static str>) -> HeaderMap {
        let service = layer.layer(service_fn(move |_: Request<()>| async move {
            let mut response = Response::new(());
            if let Some(own) = own {
                let value = HeaderValue::from_static(own);
                response
                    .headers_mut()
                    .insert(header::X_FRAME_OPTIONS, value);
            }
            Ok::<_, Infallible>(response)
        }));
        let response = service.oneshot(Request::new(())).await;
        response.expect("infallible").headers().clone()
    }

    #[tokio::test]
    async fn every_response_has_the_headers_and_those_over_tls_one_more() {
        for is_encrypted in [false, true] {
            let headers = headers(HeadersLayer::new().with_tls(is_encrypted), None).await;
            assert_eq!(headers["x-content-type-options"], "nosniff");
            assert_eq!(headers["x-frame-options"], "DENY");
            let policy = "strict-origin-when-cross-origin";
            assert_eq!(headers["referrer-policy"], policy);
            let transport = headers.contains_key("strict-transport-security");
            assert_eq!(transport, is_encrypted);
        }
    }

    #[tokio::test]
    async fn headers_that_a_response_sets_itself_stay() {
        let headers = headers(HeadersLayer::new(), Some("SAMEORIGIN")).await;
        assert_eq!(headers["x-frame-options"], "SAMEORIGIN");
    }
}
