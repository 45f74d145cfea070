//! A static document, such as the description of the API.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::{Arc, OnceLock},
};

use axum::{
    body::Body,
    extract::Request,
    handler::Handler,
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

/// A document, or 304 if the client has it already. It is the handler of its path.
///
/// Clones are cheap: a router clones the handler for each request.
#[derive(Clone, Debug)]
pub struct Document(Arc<Content>);

#[derive(Clone, Debug)]
struct Content {
    bytes: Bytes,
    headers: HeaderMap,
    /// The tag, once it was asked for: to compute it reads all bytes, of which a program has many.
    tag: OnceLock<HeaderValue>,
}

// === impl Document ===

impl Document {
    /// Creates a document from its content type and its bytes.
    #[must_use]
    pub fn new(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        let no_change = HeaderValue::from_static("public, max-age=3600");
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
            (header::CACHE_CONTROL, no_change),
        ];
        Self(Arc::new(Content {
            bytes: bytes.into(),
            headers: HeaderMap::from_iter(headers),
            tag: OnceLock::new(),
        }))
    }

    /// Sets a header of the response, such as another `Cache-Control` than the default, an hour.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        Arc::make_mut(&mut self.0).headers.insert(name, value);
        self
    }

    /// Returns the document, or 304 if the client has it already, for a handler that chooses among
    /// several.
    #[must_use]
    pub fn response(&self, request: &HeaderMap) -> Response {
        let Content {
            bytes,
            headers,
            tag,
        } = &*self.0;
        let tag = tag.get_or_init(|| entity_tag(bytes));
        let mut headers = headers.clone();
        headers.insert(header::ETAG, tag.clone());
        if !is_known(tag, request) {
            return (headers, Body::from(bytes.clone())).into_response();
        }
        headers.remove(header::CONTENT_TYPE);
        headers.remove(header::CONTENT_ENCODING);
        // A body of unknown size: the router would send the length of any other, and that must be
        // the length of the document or be absent (RFC 9110, section 8.6).
        let none = stream::empty::<Result<Bytes, Infallible>>();
        (StatusCode::NOT_MODIFIED, headers, Body::from_stream(none)).into_response()
    }
}

impl<S> Handler<(), S> for Document {
    type Future = Ready<Response>;

    fn call(self, request: Request, _: S) -> Self::Future {
        ready(self.response(request.headers()))
    }
}

/// Returns whether the client has the version with this tag already (RFC 9110, section 13.1.2).
fn is_known(ours: &HeaderValue, request: &HeaderMap) -> bool {
    let values = request.get_all(header::IF_NONE_MATCH).iter();
    let tags = values.filter_map(|value| value.to_str().ok());
    tags.flat_map(|list| list.split(',')).any(|tag| {
        let tag = tag.trim();
        tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == ours
    })
}

fn entity_tag(bytes: &[u8]) -> HeaderValue {
    let digest = BASE64_STANDARD.encode(Sha256::digest(bytes));
    HeaderValue::try_from(format!("\"{digest}\"")).expect("printable characters")
}

#[cfg(test)]
mod tests {
    use axum::{Router, routing::get};
    use http::Method;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn answer(method: Method, tag: Option<&str>) -> Response<Bytes> {
        let document = Document::new("text/plain", "some words");
        let mut request = Request::builder().method(method);
        if let Some(tag) = tag {
            request = request.header("if-none-match", tag);
        }
        let request = request.body(Body::empty()).expect("valid parts");
        let router = Router::new().route("/", get(document));
        let (head, body) = router
            .oneshot(request)
            .await
            .expect("infallible")
            .into_parts();
        let body = body.collect().await.expect("whole").to_bytes();
        Response::from_parts(head, body)
    }

    #[tokio::test]
    async fn a_document_that_the_client_has_is_not_sent_again() {
        let first = answer(Method::GET, None).await;
        assert_eq!(
            (first.status().as_u16(), &**first.body()),
            (200, &b"some words"[..])
        );
        assert_eq!(first.headers()["content-type"], "text/plain");
        assert_eq!(first.headers()["cache-control"], "public, max-age=3600");
        let tag = first.headers()["etag"].to_str().expect("text").to_owned();
        for (sent, status) in [
            (tag.clone(), 304),
            (format!("W/{tag}"), 304),
            (format!("\"x\" , {tag}"), 304),
            ("*".to_owned(), 304),
            ("\"x\"".to_owned(), 200),
            (tag.replace('"', ""), 200),
            (String::new(), 200),
        ] {
            let again = answer(Method::GET, Some(&sent)).await;
            assert_eq!(again.status(), status, "{sent}");
            assert_eq!(again.headers()["etag"], *tag);
            assert_eq!(again.body().is_empty(), status == 304);
        }
    }

    #[tokio::test]
    async fn a_document_that_is_not_sent_again_has_no_length() {
        for method in [Method::GET, Method::HEAD] {
            let again = answer(method, Some("*")).await;
            assert_eq!(again.status(), 304);
            assert!(!again.headers().contains_key("content-length"));
        }
    }

    #[tokio::test]
    async fn a_head_request_gets_the_same_headers_and_no_body() {
        let (get, head) = (
            answer(Method::GET, None).await,
            answer(Method::HEAD, None).await,
        );
        assert_eq!(get.headers(), head.headers());
        assert_eq!(head.headers()["content-length"], "10");
        assert_eq!(head.body(), "");
    }
}
