//! `/health`: reports that the process runs, with its name and version.

use axum::response::IntoResponse;
use bytes::Bytes;
use http::header;
use serde_json::json;

/// Returns the response of `/health`, which is also its handler.
///
/// It names the server as `ServerInfo` of the MCP server does. It is about this process only:
/// nothing else is called, in particular no database.
#[must_use]
pub fn health(
    server: &str,
    version: &str,
) -> impl IntoResponse + Clone + Send + Sync + 'static + use<> {
    // Written by hand, because a map would sort the members.
    let (server, version) = (json!(server), json!(version));
    let body = format!(r#"{{"status":"ok","server":{server},"version":{version}}}"#);
    (
        [(header::CONTENT_TYPE, "application/json")],
        Bytes::from(body),
    )
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, response::Response, routing::get};
    use http::{Method, Request};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn answer(method: Method) -> Response<Bytes> {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        let health = health("quoted \"name\"", "1.2.3");
        let answered = Router::new().route("/", get(health)).oneshot(request).await;
        let (head, body) = answered.expect("infallible").into_parts();
        let body = body.collect().await.expect("whole").to_bytes();
        Response::from_parts(head, body)
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
