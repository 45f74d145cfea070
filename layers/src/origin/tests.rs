use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use bytes::Bytes;
use proptest::prelude::*;
use tokio_test::{assert_pending, assert_ready_ok};
use tower::{ServiceExt as _, service_fn};
use tower_test::mock;

use super::*;
use crate::host::Hosts;

const MINE: &str = "http://localhost:3000";

fn served(_: Request<()>) -> Ready<Result<Response<Bytes>, Infallible>> {
    ready(Ok(Response::new(Bytes::from_static(b"served"))))
}

async fn answer(origins: &Origins, request: http::request::Builder) -> Response<Bytes> {
    let service = OriginLayer::new(origins.clone()).layer(service_fn(served));
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
    assert!(response.headers().is_empty());

    let twice = Request::post("/").header("origin", MINE);
    let response = answer(&origins, twice.header("origin", MINE)).await;
    assert_eq!(response.status(), 403);
}

#[tokio::test]
async fn the_response_to_an_allowed_page_is_that_of_the_service() {
    let request = Request::post("/").header("origin", MINE);
    let response = answer(&Origins::default(), request).await;
    assert_eq!(response.body(), "served");
    assert!(response.headers().is_empty());
}

#[tokio::test]
async fn a_refusal_is_rendered_and_kept_apart_by_caches() {
    let request = Request::options("/").header("origin", "https://evil.example");
    let response = answer(&Origins::loopback(), request).await;
    assert_eq!(response.status(), 403);
    let body = r#"{"error":"Requests from this origin are not allowed"}"#;
    assert_eq!(response.body(), body);
    assert_eq!(response.headers()["vary"], "Origin");

    let layer = OriginLayer::default()
        .with_render(|rejection: &Rejection| Response::new(Bytes::from(rejection.code())));
    let request = Request::post("/").header("origin", "null").body(());
    let service = layer.layer(service_fn(served));
    let response = service.oneshot(request.expect("valid parts")).await;
    assert_eq!(response.expect("infallible").body(), "origin_not_allowed");
}

#[tokio::test]
async fn readiness_is_that_of_the_service() {
    let layer = OriginLayer::default();
    let (mut service, mut handle) = mock::spawn_layer::<Request<()>, Response<Bytes>, _>(layer);
    handle.allow(0);
    assert_pending!(service.poll_ready());
    handle.allow(1);
    assert_ready_ok!(service.poll_ready());
}

proptest! {
    #[test]
    fn only_origins_whose_url_is_on_this_machine_are_admitted(
        origin in "(http|https|x)://[a-c.:@1/#\\[\\]]{0,10}|https?://(localhost|127[.]0[.]0[.]1)[.:@/1a]{0,5}",
    ) {
        let value = HeaderValue::from_str(&origin).expect("ASCII");
        let request = Request::new(());
        if Origins::loopback().admit(&value, &request) {
            let url: http::Uri = origin.parse().expect("an admitted origin is a URL");
            let host = url.host().expect("a host");
            prop_assert!(["localhost", "127.0.0.1", "[::1]"].contains(&host), "{origin}");
            prop_assert!(!origin.contains('@'), "{origin}");
        }
    }
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
