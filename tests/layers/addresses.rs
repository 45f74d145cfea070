//! Client addresses and rate limits over a socket.

use std::{convert::Infallible, fmt::Write as _};

use http::{Request, Response};
use tower::{ServiceBuilder, service_fn};
use ziggurat_layers::{
    client_ip::{ClientIp, HopHeader, SetClientIpLayer},
    rate_limit::{FailureWindow, Policy as _, RateLimitLayer, Steady},
    reject::AuthFailed,
};
use ziggurat_serve::RequestBody;

use crate::server::{Body, Running, start};

/// Answers with the client's address, behind a limit of `quota`.
async fn whoami(trusted: &str, header: HopHeader, quota: &Steady) -> Running {
    let handler = service_fn(|request: Request<RequestBody>| async move {
        let caller = request
            .extensions()
            .get::<ClientIp>()
            .expect("from the accept loop");
        Ok::<_, Infallible>(Response::new(Body::from(caller.client().to_string())))
    });
    let trusted = trusted.parse().expect("networks");
    let service = ServiceBuilder::new()
        .layer(SetClientIpLayer::new(trusted, header))
        .layer(RateLimitLayer::new(quota.clone()))
        .service(handler);
    start(service).await
}

fn steady(quota: &str) -> Steady {
    Steady::new(quota.parse().expect("a quota"))
}

fn get(headers: &str) -> String {
    format!("GET / HTTP/1.1\r\nhost: t\r\n{headers}\r\n")
}

fn last(headers: &str) -> String {
    get(&format!("{headers}connection: close\r\n"))
}

#[tokio::test]
async fn a_header_from_an_unlisted_peer_is_ignored() {
    for (header, line) in [
        (HopHeader::Forwarded, "forwarded: for=203.0.113.9\r\n"),
        (HopHeader::XForwardedFor, "x-forwarded-for: 203.0.113.9\r\n"),
    ] {
        let server = whoami("10.0.0.0/8", header.clone(), &steady("100 per minute")).await;
        let answer = server.exchange(&last(line)).await;
        assert!(
            answer.ends_with("\r\n\r\n127.0.0.1"),
            "{header:?}: {answer}"
        );
    }
}

#[tokio::test]
async fn an_unlisted_peer_cannot_escape_its_limit_by_changing_the_header() {
    let server = whoami(
        "10.0.0.0/8",
        HopHeader::XForwardedFor,
        &steady("2 per hour"),
    )
    .await;
    let mut requests = String::new();
    for n in 1..=3 {
        requests += &get(&format!("x-forwarded-for: 203.0.113.{n}\r\n"));
    }
    requests += &last("x-forwarded-for: 203.0.113.4\r\n");
    let answers = server.exchange(&requests).await;
    assert_eq!(answers.matches("HTTP/1.1 200 ").count(), 2, "{answers}");
    assert_eq!(answers.matches("HTTP/1.1 429 ").count(), 2, "{answers}");
    assert!(answers.contains("retry-after: 1800\r\n"), "{answers}");
}

#[tokio::test]
async fn a_listed_proxy_is_believed_from_the_right() {
    let server = whoami(
        "127.0.0.0/8",
        HopHeader::Forwarded,
        &steady("100 per minute"),
    )
    .await;
    let lines =
        "forwarded: for=192.0.2.66\r\nforwarded: for=\"[2001:db8::7]:80\", for=127.0.0.9\r\n";
    let answer = server.exchange(&last(lines)).await;
    assert!(answer.ends_with("\r\n\r\n2001:db8::7"), "{answer}");
}

#[tokio::test]
async fn ten_thousand_addresses_never_take_more_than_the_thousand_places() {
    const ADDRESSES: u32 = 10_000;
    let quota = steady("5 per hour").with_max_keys(1000);
    let server = whoami("127.0.0.1", HopHeader::XForwardedFor, &quota).await;
    let mut wire = server.connect().await;
    for hundred in 0..ADDRESSES / 100 {
        let mut requests = String::new();
        for n in 0..100 {
            let address = std::net::Ipv4Addr::from(0xC633_0000 + hundred * 100 + n);
            write!(
                requests,
                "{}",
                get(&format!("x-forwarded-for: {address}\r\n"))
            )
            .expect("a string grows");
        }
        let newest = format!(
            "\r\n\r\n{}",
            std::net::Ipv4Addr::from(0xC633_0000 + hundred * 100 + 99)
        );
        wire.send(&requests).await;
        let answers = wire.until(&newest).await;
        assert_eq!(answers.matches("HTTP/1.1 200 ").count(), 100, "{answers}");
        assert!(quota.len() <= 1000, "{} keys", quota.len());
    }
    assert!(quota.len() > 900, "the places are used: {}", quota.len());
}

#[tokio::test]
async fn after_too_many_failures_no_login_from_the_address_is_admitted() {
    let failures = FailureWindow::new("3 per 15 minutes".parse().expect("a quota"));
    let handler = service_fn(|request: Request<RequestBody>| async move {
        let mut response = Response::new(Body::default());
        if request.uri().path() == "/wrong" {
            *response.status_mut() = http::StatusCode::UNAUTHORIZED;
            response.extensions_mut().insert(AuthFailed);
        }
        Ok::<_, Infallible>(response)
    });
    let service = ServiceBuilder::new()
        .layer(RateLimitLayer::new(failures.clone()))
        .service(handler);
    let server = start(service).await;
    let wrong = "GET /wrong HTTP/1.1\r\nhost: t\r\n\r\n";
    let requests = get("") + wrong + &get("") + wrong + wrong + &get("") + wrong + &last("");
    let answers = server.exchange(&requests).await;
    let statuses: Vec<_> = answers
        .match_indices("HTTP/1.1 ")
        .map(|(at, _)| &answers[at + 9..at + 12])
        .collect();
    assert_eq!(
        statuses,
        ["200", "401", "200", "401", "401", "429", "429", "429"]
    );
    let address: std::net::IpAddr = "127.0.0.2".parse().expect("an address");
    assert!(failures.admit(address.into(), failures.limit()).is_ok());
}
