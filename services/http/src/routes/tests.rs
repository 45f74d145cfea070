use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Full};
use tower::{ServiceExt as _, service_fn};

use super::*;
use crate::{EitherBody, Health};

type Body = EitherBody<Full<Bytes>, Empty<Bytes>>;

fn routes()
-> impl Service<Request<()>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>
+ Clone
+ Send
+ Sync {
    let echo = |name: &'static str| {
        service_fn(move |request: Request<()>| async move {
            let text = format!("{name} {} {}", request.method(), request.uri().path());
            Ok(Response::new(Body::from(Bytes::from(text))))
        })
    };
    let teapot = service_fn(|_: Request<()>| async {
        let mut response = Response::new(Empty::new());
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        Ok(response)
    });
    // A service with another body, as a web framework would be.
    let tea = teapot.map_response(|response: Response<_>| response.map(EitherBody::second));
    Routes::new()
        .under("/api/", echo("rest"))
        .at("/api/tea", [Method::GET], tea)
        .at(
            "/health",
            [Method::GET, Method::HEAD],
            Health::new("a", "1"),
        )
        .at("/mcp/v1", [Method::POST], echo("calls"))
}

async fn answer(method: &str, path: &str) -> (u16, Option<String>, String) {
    let request = Request::builder().method(method).uri(path);
    let request = request.body(()).expect("valid parts");
    let response = routes().oneshot(request).await.expect("infallible");
    let status = response.status().as_u16();
    let allow = response.headers().get("allow");
    let allow = allow.map(|allow| allow.to_str().expect("text").to_owned());
    let body = response.into_body().collect().await.expect("whole");
    let body = String::from_utf8(body.to_bytes().into()).expect("text");
    (status, allow, body)
}

#[tokio::test]
async fn a_path_leads_to_its_service() {
    let cases = [
        ("POST", "/mcp/v1", 200, "calls POST /mcp/v1"),
        ("POST", "/mcp/v1?a=b", 200, "calls POST /mcp/v1"),
        ("GET", "/api/databases", 200, "rest GET /api/databases"),
        ("DELETE", "/api/", 200, "rest DELETE /api/"),
        ("GET", "/api/tea", 418, ""),
        (
            "GET",
            "/health",
            200,
            r#"{"status":"ok","server":"a","version":"1"}"#,
        ),
        ("HEAD", "/health", 200, ""),
    ];
    for (method, path, status, body) in cases {
        let expected = (status, None, body.to_owned());
        assert_eq!(answer(method, path).await, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn another_path_is_not_found() {
    let paths = [
        "/",
        "/mcp",
        "/mcp/v1/",
        "/mcp/v1/x",
        "//mcp/v1",
        "/MCP/v1",
        "/mcp%2Fv1",
        "/mcp/./v1",
        "/healthy",
        "/api",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/openid-configuration",
    ];
    for path in paths {
        for method in ["GET", "POST", "OPTIONS"] {
            let expected = (404, None, r#"{"error":"Not found"}"#.to_owned());
            assert_eq!(answer(method, path).await, expected, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn another_method_is_refused_with_the_allowed_methods() {
    let cases = [
        (
            "/mcp/v1",
            &["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "post"][..],
            "POST",
        ),
        ("/health", &["POST", "OPTIONS", "BREW"], "GET, HEAD"),
        ("/api/tea", &["POST"], "GET"),
    ];
    for (path, methods, allow) in cases {
        for method in methods {
            let body = r#"{"error":"Method not allowed"}"#.to_owned();
            let expected = (405, Some(allow.to_owned()), body);
            assert_eq!(answer(method, path).await, expected, "{method} {path}");
        }
    }
}
