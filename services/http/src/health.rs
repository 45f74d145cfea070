//! `/health`: reports that the process runs, with its name and version.

use std::{
    convert::Infallible,
    fmt,
    future::{Ready, ready},
    marker::PhantomData,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, header};
use serde_json::json;
use tower_service::Service;

/// Reports that the process runs, with its name and version. It makes no calls, in particular to no
/// database: the answer is about this process only.
pub struct Health<B> {
    body: Bytes,
    kind: PhantomData<fn() -> B>,
}

// === impl Health ===

impl<B> Health<B> {
    /// Takes the name and version of the server: the same as in `ServerInfo` of the MCP server.
    #[must_use]
    pub fn new(server: &str, version: &str) -> Self {
        // Written by hand, because a map would sort the members.
        let (server, version) = (json!(server), json!(version));
        let body = format!(r#"{{"status":"ok","server":{server},"version":{version}}}"#);
        let body = Bytes::from(body);
        // The first clone of bytes made from a `String` allocates, so it is made here, once.
        drop(body.clone());
        let kind = PhantomData;
        Self { body, kind }
    }
}

impl<B> Clone for Health<B> {
    fn clone(&self) -> Self {
        Self {
            body: self.body.clone(),
            kind: PhantomData,
        }
    }
}

impl<B> fmt::Debug for Health<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Health").field(&self.body).finish()
    }
}

impl<B: From<Bytes>, ReqBody> Service<Request<ReqBody>> for Health<B> {
    type Response = Response<B>;
    type Error = Infallible;
    type Future = Ready<Result<Response<B>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        // RFC 9110, section 9.3.2: a HEAD gets the headers of the GET, with its length, and no
        // body.
        let body = match *request.method() {
            Method::HEAD => Bytes::new(),
            _ => self.body.clone(),
        };
        let mut response = Response::new(B::from(body));
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        headers.insert(header::CONTENT_LENGTH, self.body.len().into());
        ready(Ok(response))
    }
}

#[cfg(test)]
mod tests {
    use tower::ServiceExt as _;

    use super::*;

    async fn answer(method: Method) -> Response<Bytes> {
        let mut request = Request::new(());
        *request.method_mut() = method;
        let health = Health::new("quoted \"name\"", "1.2.3");
        health.oneshot(request).await.expect("infallible")
    }

    #[tokio::test]
    async fn it_names_the_server_and_its_version() {
        let response = answer(Method::GET).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/json");
        let expected = r#"{"status":"ok","server":"quoted \"name\"","version":"1.2.3"}"#;
        assert_eq!(response.body(), expected);
    }

    #[tokio::test]
    async fn a_head_request_gets_the_same_headers_and_no_body() {
        let (get, head) = (answer(Method::GET).await, answer(Method::HEAD).await);
        assert_eq!(get.headers(), head.headers());
        assert_eq!(
            head.headers()["content-length"],
            get.body().len().to_string().as_str()
        );
        assert_eq!(head.body(), "");
    }
}
