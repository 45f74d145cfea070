//! A static document, such as the description of the API or its page.

use std::{
    convert::Infallible,
    fmt,
    future::{Ready, ready},
    marker::PhantomData,
    sync::Arc,
    task::{Context, Poll},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use sha2::{Digest as _, Sha256};
use tower_service::Service;

/// Sends a document, or 304 if the client has it already.
///
/// Clones are cheap: a server clones all services for each request.
pub struct Document<B> {
    sheet: Arc<Sheet>,
    kind: PhantomData<fn() -> B>,
}

#[derive(Clone)]
struct Sheet {
    bytes: Bytes,
    headers: HeaderMap,
}

// === impl Document ===

impl<B> Document<B> {
    /// Creates a document from its content type and its bytes.
    #[must_use]
    pub fn new(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
            (header::ETAG, entity_tag(&bytes)),
            (
                header::CACHE_CONTROL,
                HeaderValue::from_static("public, max-age=3600"),
            ),
        ]);
        Self {
            sheet: Arc::new(Sheet { bytes, headers }),
            kind: PhantomData,
        }
    }

    /// Creates an HTML page that needs only its inline style, its inline script and this server;
    /// the content security policy forbids anything else.
    #[must_use]
    pub fn page(html: &'static str) -> Self {
        Self::new("text/html; charset=utf-8", html)
            .with_header(header::CONTENT_SECURITY_POLICY, policy(html))
    }

    /// Adds a header to the response.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        Arc::make_mut(&mut self.sheet).headers.insert(name, value);
        self
    }

    /// Returns whether the client has it already (RFC 9110, section 13.1.2).
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let ours = &self.sheet.headers[header::ETAG];
        let values = headers.get_all(header::IF_NONE_MATCH).iter();
        let tags = values.filter_map(|value| value.to_str().ok());
        tags.flat_map(|list| list.split(',')).any(|tag| {
            let tag = tag.trim();
            tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == ours
        })
    }
}

impl<B> Clone for Document<B> {
    fn clone(&self) -> Self {
        Self {
            sheet: Arc::clone(&self.sheet),
            kind: PhantomData,
        }
    }
}

impl<B> fmt::Debug for Document<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("headers", &self.sheet.headers)
            .field("length", &self.sheet.bytes.len())
            .finish_non_exhaustive()
    }
}

impl<B: From<Bytes>, ReqBody> Service<Request<ReqBody>> for Document<B> {
    type Response = Response<B>;
    type Error = Infallible;
    type Future = Ready<Result<Response<B>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let is_known = self.is_known(request.headers());
        let is_sent = !is_known && request.method() != Method::HEAD;
        let body = if is_sent {
            self.sheet.bytes.clone()
        } else {
            Bytes::new()
        };
        let mut response = Response::new(B::from(body));
        *response.headers_mut() = self.sheet.headers.clone();
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response.headers_mut().remove(header::CONTENT_TYPE);
        } else {
            let length = self.sheet.bytes.len().into();
            response
                .headers_mut()
                .insert(header::CONTENT_LENGTH, length);
        }
        ready(Ok(response))
    }
}

fn entity_tag(bytes: &[u8]) -> HeaderValue {
    let digest = BASE64_STANDARD.encode(Sha256::digest(bytes));
    HeaderValue::try_from(format!("\"{digest}\"")).expect("printable characters")
}

fn policy(html: &str) -> HeaderValue {
    let script = html.split_once("<script>").map_or("", |(_, rest)| rest);
    let script = script.split("</script>").next().unwrap_or_default();
    let digest = BASE64_STANDARD.encode(Sha256::digest(script));
    let policy = format!(
        "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; \
         script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).expect("printable characters")
}

#[cfg(test)]
mod tests {
    use tower::ServiceExt as _;

    use super::*;

    async fn answer(method: Method, tag: Option<&str>) -> Response<Bytes> {
        let document = Document::new("text/plain", "some words");
        let mut request = Request::builder().method(method);
        if let Some(tag) = tag {
            request = request.header("if-none-match", tag);
        }
        let request = request.body(()).expect("valid parts");
        document.oneshot(request).await.expect("infallible")
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
    async fn the_policy_of_a_page_allows_only_its_own_script() {
        let page = Document::<Bytes>::page("<p>x</p><script>alert(1)</script><p>y</p>");
        let response = page.oneshot(Request::new(())).await.expect("infallible");
        let policy = response.headers()["content-security-policy"].to_str();
        let policy = policy.expect("text");
        // `printf 'alert(1)' | openssl dgst -sha256 -binary | base64`
        let digest = "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='";
        assert!(policy.contains(digest), "{policy}");
        assert_eq!(
            response.headers()["content-type"],
            "text/html; charset=utf-8"
        );
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
