//! Security headers on every response.

use axum::response::Response;
use http::{HeaderName, HeaderValue, header};
use tower::util::MapResponseLayer;

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
/// its address as the referrer. Over TLS, browsers are told to use only HTTPS. Headers that the
/// response sets itself stay.
#[must_use]
pub fn headers(
    is_encrypted: bool,
) -> MapResponseLayer<impl Fn(Response) -> Response + Clone + Send + Sync + 'static> {
    MapResponseLayer::new(move |mut response: Response| {
        let headers = response.headers_mut();
        headers.reserve(ALWAYS.len() + 1);
        for (name, value) in ALWAYS.into_iter().chain(is_encrypted.then_some(TRANSPORT)) {
            headers.entry(name).or_insert(value);
        }
        response
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use http::{HeaderMap, Request};
    use tower::{Layer as _, ServiceExt as _, service_fn};

    use super::*;

    async fn sent(is_encrypted: bool, own: Option<&'static str>) -> HeaderMap {
        let service = headers(is_encrypted).layer(service_fn(move |_: Request<()>| async move {
            let mut response = Response::new(Body::empty());
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
            let headers = sent(is_encrypted, None).await;
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
        let headers = sent(false, Some("SAMEORIGIN")).await;
        assert_eq!(headers["x-frame-options"], "SAMEORIGIN");
    }
}
