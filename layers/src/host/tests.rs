use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use bytes::Bytes;
use http::HeaderValue;
use proptest::prelude::*;
use tokio_test::{assert_pending, assert_ready_ok};
use tower::{ServiceExt as _, service_fn};
use tower_test::mock;

use super::*;

fn served(_: Request<()>) -> Ready<Result<Response<Bytes>, Infallible>> {
    ready(Ok(Response::new(Bytes::from_static(b"served"))))
}

fn request(uri: &str, hosts: &[&str]) -> Request<()> {
    let mut request = Request::get(uri).body(()).expect("a URI");
    for host in hosts {
        let host = HeaderValue::from_bytes(host.as_bytes()).expect("a header");
        request.headers_mut().append(header::HOST, host);
    }
    request
}

async fn response(layer: &HostLayer, request: Request<()>) -> Response<Bytes> {
    let service = layer.layer(service_fn(served));
    service.oneshot(request).await.expect("infallible")
}

async fn status(hosts: &Hosts, uri: &str, sent: &[&str]) -> u16 {
    let layer = HostLayer::new(hosts.clone());
    response(&layer, request(uri, sent)).await.status().as_u16()
}

fn of(address: &str, allowed: &[&str]) -> Hosts {
    let address = address.parse().expect("an address");
    Hosts::of(address, allowed).expect("hosts")
}

#[tokio::test]
async fn a_server_on_a_loopback_address_serves_only_this_machine() {
    let hosts = of(
        "127.0.0.1",
        &["mcp.example", "other.example:8443", "dot.example."],
    );
    for (sent, expected) in [
        (&["localhost"][..], 200),
        (&["LocalHost:8080"], 200),
        (&["localhost."], 200),
        (&["localhost.:8080"], 200),
        (&["127.0.0.1:1"], 200),
        (&["[::1]"], 200),
        (&["[::1]:9"], 200),
        (&["[0:0:0:0:0:0:0:1]:9"], 200),
        (&["mcp.example:1234"], 200),
        (&["other.example:8443"], 200),
        (&["dot.example"], 200),
        (&["other.example"], 403),
        (&["evil.example"], 403),
        (&["localhost.evil.example"], 403),
        (&["localhost@evil.example"], 403),
        (&["evil@localhost"], 403),
        (&["localhost:99999"], 403),
        (&["localhost:+80"], 403),
        (&["localhost:"], 403),
        (&["localhost.."], 403),
        (&["."], 403),
        (&["::1"], 403),
        (&["[::2]"], 403),
        (&["[::1%eth0]"], 403),
        (&["localhöst"], 403),
        (&[""], 403),
        (&["localhost", "evil.example"], 403),
        (&["localhost", "localhost"], 403),
        (&[], 403),
    ] {
        assert_eq!(status(&hosts, "/", sent).await, expected, "{sent:?}");
    }
}

#[tokio::test]
async fn an_authority_and_a_header_must_name_the_same_served_host() {
    let hosts = of("127.0.0.1", &["mcp.example"]);
    for (uri, sent, expected) in [
        ("http://localhost:80/", &[][..], 200),
        ("http://localhost/", &["localhost"], 200),
        ("http://localhost:80/", &["LOCALHOST."], 200),
        ("http://localhost:80/", &["localhost:80"], 200),
        ("http://localhost:80/", &["localhost:81"], 403),
        ("http://localhost/", &["mcp.example"], 403),
        ("http://evil.example/", &["localhost"], 403),
        ("http://localhost/", &["evil.example"], 403),
        ("http://localhost/", &[""], 403),
        ("http://evil.example/", &[], 403),
        ("http://evil@localhost/", &[], 403),
    ] {
        let found = status(&hosts, uri, sent).await;
        assert_eq!(found, expected, "{uri} {sent:?}");
    }
}

#[tokio::test]
async fn on_other_addresses_hosts_are_checked_only_if_some_are_allowed() {
    let open = of("0.0.0.0", &[]);
    assert_eq!(status(&open, "/", &["anything"]).await, 200);
    assert_eq!(status(&open, "/", &[]).await, 200);
    let listed = of("::", &["mcp.example"]);
    assert_eq!(status(&listed, "/", &["mcp.example"]).await, 200);
    assert_eq!(status(&listed, "/", &["localhost"]).await, 403);
}

#[tokio::test]
async fn the_default_serves_this_machine_and_an_empty_list_serves_no_host() {
    assert_eq!(status(&Hosts::default(), "/", &["localhost"]).await, 200);
    assert_eq!(status(&Hosts::default(), "/", &["mcp.example"]).await, 403);
    assert_eq!(status(&Hosts::any(), "/", &["mcp.example"]).await, 200);
    let none = Hosts::listed([""; 0]).expect("hosts");
    assert_eq!(status(&none, "/", &["localhost"]).await, 403);
}

#[tokio::test]
async fn an_added_host_counts_only_if_hosts_are_checked() {
    let host = "accounts.example";
    let local = of("127.0.0.1", &[]).and(host).expect("a host");
    assert_eq!(status(&local, "/", &["accounts.example:443"]).await, 200);
    assert_eq!(status(&local, "/", &["evil.example"]).await, 403);
    let open = of("0.0.0.0", &[]).and(host).expect("a host");
    assert_eq!(status(&open, "/", &["anything"]).await, 200);
    assert!(of("::1", &[]).and("a b").is_err());
}

#[tokio::test]
async fn exempt_paths_admit_any_host() {
    let layer = HostLayer::default().with_exempt(["/health", "/docs/*"]);
    for (path, expected) in [
        ("/health", 200),
        ("/health/", 403),
        ("/docs/a", 200),
        ("/docs/../secret", 403),
        ("/", 403),
    ] {
        let response = response(&layer, request(path, &["10.0.0.7:8080"])).await;
        assert_eq!(response.status(), expected, "{path}");
    }
}

#[tokio::test]
async fn a_refusal_is_rendered_and_may_be_421() {
    let refused = response(&HostLayer::default(), request("/", &["evil.example"])).await;
    assert_eq!(refused.status(), 403);
    let body = r#"{"error":"This server does not serve that host"}"#;
    assert_eq!(refused.body(), body);
    let rejection = refused
        .extensions()
        .get::<Rejection>()
        .expect("a rejection");
    assert_eq!(rejection.code(), "host_not_allowed");

    let layer = HostLayer::default()
        .with_exempt(["/health"])
        .with_misdirected();
    let layer =
        layer.with_render(|rejection: &Rejection| Response::new(Bytes::from(rejection.code())));
    let service = layer.layer(service_fn(served));
    let refused = service.oneshot(request("/", &["evil.example"])).await;
    let refused = refused.expect("infallible");
    assert_eq!(refused.status(), 421);
    assert_eq!(refused.body(), "host_not_allowed");
}

#[test]
fn a_text_that_is_no_host_is_refused_at_once() {
    for text in [
        "", ".", "a b", "http://a", "a/b", "a:b", "user@a", "::1", "a:+1",
    ] {
        let refused = Hosts::listed([text]).expect_err(text);
        assert_eq!(refused, InvalidHost(text.to_owned()));
        assert!(refused.to_string().contains(text), "{refused}");
    }
}

#[tokio::test]
async fn readiness_is_that_of_the_service() {
    let layer = HostLayer::default();
    let (mut service, mut handle) = mock::spawn_layer::<Request<()>, Response<Bytes>, _>(layer);
    handle.allow(0);
    assert_pending!(service.poll_ready());
    handle.allow(1);
    assert_ready_ok!(service.poll_ready());
}

proptest! {
    #[test]
    fn a_host_that_is_admitted_has_a_served_name(host in "[a-c.:\\[\\]@1%L]{0,12}|localhost[.:@1a-z]{0,6}") {
        let sent = request("/", &[&host]);
        if Hosts::loopback().contain(&sent) {
            let url = format!("http://{host}/");
            let uri: http::Uri = url.parse().expect("an admitted host is one in a URL, too");
            let name = uri.host().expect("a host").trim_end_matches('.').to_ascii_lowercase();
            let is_local = LOOPBACK.contains(&&*name) || ipv6(&name) == Some(Ipv6Addr::LOCALHOST);
            prop_assert!(is_local, "{host}");
            prop_assert!(uri.authority().is_some_and(|authority| !authority.as_str().contains('@')));
        }
    }
}
