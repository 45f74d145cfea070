use std::convert::Infallible;

use tower::{ServiceExt as _, service_fn};

use super::*;
use crate::Hosts;

const MINE: &str = "http://localhost:3000";

async fn answer(origins: &Origins, request: http::request::Builder) -> Response<Bytes> {
    let service = OriginLayer::new(origins.clone()).layer(service_fn(|_: Request<()>| async {
        let response = Response::builder().header("vary", "Accept");
        let response = response.body(Bytes::from_static(b"served"));
        Ok::<_, Infallible>(response.expect("static parts"))
    }));
    let request = request.body(()).expect("valid parts");
    service.oneshot(request).await.expect("infallible")
}

async fn status(origins: &Origins, origin: &str) -> u16 {
    let request = Request::post("/mcp/v1").header("origin", origin);
    answer(origins, request).await.status().as_u16()
}

#[tokio::test]
async fn pages_of_this_machine_pass_by_default_and_no_others() {
    let origins = Origins::loopback();
    for (origin, expected) in [
        ("http://localhost", 200),
        ("https://LOCALHOST:8443", 200),
        ("http://127.0.0.1:1", 200),
        ("http://[::1]:3000", 200),
        ("http://[::1]", 200),
        ("vscode-webview://localhost", 200),
        ("https://example.com", 403),
        ("http://localhost.example.com", 403),
        ("http://example.com#localhost", 403),
        ("http://localhost@example.com", 403),
        ("http://example.com/localhost", 403),
        ("http://127.0.0.1.example.com", 403),
        ("http://127.0.0.2", 403),
        ("http://localhost:", 403),
        ("http://localhost:+80", 403),
        ("http://localhost:99999", 403),
        ("http://localhost/", 403),
        ("http://[::1", 403),
        ("http://[::1]x", 403),
        ("http://", 403),
        ("://localhost", 403),
        ("localhost", 403),
        ("null", 403),
        ("", 403),
        ("http://localhost http://example.com", 403),
    ] {
        assert_eq!(status(&origins, origin).await, expected, "{origin}");
    }
}

#[tokio::test]
async fn a_list_replaces_the_default() {
    let listed = ["https://App.example", "http://tool.example:8080"];
    let origins = Origins::listed(listed).expect("origins");
    for (origin, expected) in [
        ("https://app.example", 200),
        ("https://app.example:443", 200),
        ("http://tool.example:8080", 200),
        ("http://app.example", 403),
        ("https://app.example:8443", 403),
        ("http://tool.example", 403),
        ("https://evil.app.example", 403),
        (MINE, 403),
    ] {
        assert_eq!(status(&origins, origin).await, expected, "{origin}");
    }
    let nobody = Origins::listed([""; 0]).expect("none");
    assert_eq!(status(&nobody, MINE).await, 403);
}

#[test]
fn a_text_that_is_no_origin_is_refused_at_once() {
    for text in [
        "*",
        "null",
        "example.com",
        "https://",
        "https://a/",
        "https://a:x",
    ] {
        let refused = Origins::listed([text]).expect_err(text);
        assert!(refused.to_string().contains(text), "{refused}");
    }
}

#[tokio::test]
async fn a_request_without_an_origin_passes_and_one_with_two_does_not() {
    let origins = Origins::loopback();
    let response = answer(&origins, Request::post("/")).await;
    assert_eq!(response.status(), 200);
    assert!(
        !response
            .headers()
            .contains_key("access-control-allow-origin")
    );
    let vary: Vec<_> = response.headers().get_all("vary").iter().collect();
    assert_eq!(vary, ["Accept", "Origin"]);

    let twice = Request::post("/").header("origin", MINE);
    let response = answer(&origins, twice.header("origin", MINE)).await;
    assert_eq!(response.status(), 403);
}

#[tokio::test]
async fn a_refusal_is_a_json_error_that_lets_the_page_read_nothing() {
    let request = Request::post("/").header("origin", "https://evil.example");
    let response = answer(&Origins::loopback(), request).await;
    assert_eq!(response.status(), 403);
    assert!(response.body().starts_with(br#"{"error":""#));
    assert!(
        !response
            .headers()
            .contains_key("access-control-allow-origin")
    );
}

#[tokio::test]
async fn an_allowed_page_may_read_the_response_and_the_challenge() {
    let request = Request::post("/").header("origin", MINE);
    let response = answer(&Origins::loopback(), request).await;
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
    let response = answer(&Origins::loopback(), request).await;
    assert_eq!(response.status(), 204);
    assert_eq!(response.body(), "");
    let headers = response.headers();
    assert_eq!(headers["access-control-allow-origin"], MINE);
    let methods = "GET, HEAD, POST, PUT, PATCH, DELETE";
    assert_eq!(headers["access-control-allow-methods"], methods);
    // A header line with a character outside of ASCII is ignored as a whole.
    let allowed = format!("{HEADERS}, MCP-PARAM-a");
    assert_eq!(headers["access-control-allow-headers"], allowed);

    let asked = "authorization, mcp-param-Region,x-other, mcp-param-b@d";
    let request = preflight_from(MINE).header("access-control-request-headers", asked);
    let response = answer(&Origins::loopback(), request).await;
    let allowed = format!("{HEADERS}, mcp-param-Region");
    assert_eq!(response.headers()["access-control-allow-headers"], allowed);
}

#[tokio::test]
async fn a_preflight_of_another_page_is_refused() {
    let response = answer(&Origins::loopback(), preflight_from("https://evil.example")).await;
    assert_eq!(response.status(), 403);
    assert!(
        !response
            .headers()
            .contains_key("access-control-allow-methods")
    );
}

#[tokio::test]
async fn options_that_are_no_preflight_go_to_the_service() {
    let request = Request::options("/").header("origin", MINE);
    let response = answer(&Origins::loopback(), request).await;
    assert_eq!(response.body(), "served");
}

/// Returns the status of a request to the host `host` from a page of `origin`.
async fn status_at(origins: &Origins, host: &str, origin: &str) -> u16 {
    let request = Request::get("/").header("host", host);
    let request = request.header("origin", origin);
    answer(origins, request).await.status().as_u16()
}

#[tokio::test]
async fn pages_of_the_server_itself_pass_if_its_hosts_are_known() {
    let local = "127.0.0.1".parse().expect("an address");
    let hosts = Hosts::of(local, ["rag.example"]).expect("hosts");
    let origins = Origins::exactly(["null"]).with_own(&hosts);
    for (host, origin, expected) in [
        ("localhost:8080", "http://localhost:8080", 200),
        ("[::1]:8080", "http://[::1]:8080", 200),
        ("rag.example", "https://RAG.example", 200),
        ("rag.example", "http://rag.example:80", 200),
        ("rag.example:8443", "https://rag.example:8443", 200),
        ("anything", "null", 200),
        ("rag.example", "https://rag.example:8443", 403),
        ("rag.example:8443", "https://rag.example", 403),
        ("rag.example", "https://evil.example", 403),
        ("localhost:8080", "http://localhost:3000", 403),
    ] {
        let found = status_at(&origins, host, origin).await;
        assert_eq!(found, expected, "{host} {origin}");
    }
}

#[tokio::test]
async fn if_any_host_is_allowed_own_pages_are_recognised_by_address_only() {
    let any = "0.0.0.0".parse().expect("an address");
    let hosts = Hosts::of(any, [""; 0]).expect("hosts");
    let origins = Origins::loopback().with_own(&hosts);
    for (host, origin, expected) in [
        ("192.0.2.1:8080", "http://192.0.2.1:8080", 200),
        ("[2001:db8::1]", "http://[2001:db8::1]", 200),
        ("rebound.example:8080", "http://rebound.example:8080", 403),
        ("192.0.2.1:8080", "http://192.0.2.2:8080", 403),
        ("192.0.2.1:8080", "http://localhost:3000", 200),
    ] {
        let found = status_at(&origins, host, origin).await;
        assert_eq!(found, expected, "{host} {origin}");
    }
}

#[tokio::test]
async fn without_cors_the_layer_only_rejects() {
    let layer = OriginLayer::new(Origins::loopback()).without_cors();
    let service = layer.layer(service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(Response::new(Bytes::from_static(b"served")))
    }));
    for (request, expected) in [
        (preflight_from(MINE), 200),
        (preflight_from("https://evil.example"), 403),
    ] {
        let request = request.body(()).expect("valid parts");
        let response = service.clone().oneshot(request).await.expect("infallible");
        assert_eq!(response.status(), expected);
        let headers = response.headers();
        assert!(!headers.contains_key("access-control-allow-origin"));
        assert!(!headers.contains_key("vary"));
    }
}
