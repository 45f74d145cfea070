//! Slow, pipelining and broken connections in front of the whole stack.

use std::{
    convert::Infallible,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tower::{ServiceBuilder, service_fn};
use ziggurat_layers::{
    bearer::{BearerLayer, Hashed, TokenHash},
    body_limit::{BodyLimitLayer, LimitedBody},
    link::{LinkLayer, LinkValue},
    sanitize::SanitizeLayer,
};
use ziggurat_serve::{Limits, RequestBody};

use crate::server::{Body, Running, start_with};

/// The layers of a gateway around a handler that answers with its path.
async fn gateway() -> Running {
    gateway_with(Limits::default()).await
}

async fn gateway_with(limits: Limits) -> Running {
    let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), ())]);
    let handler = service_fn(|request: Request<LimitedBody<RequestBody>>| async move {
        let path = request.uri().path().to_owned();
        assert_ne!(path, "/panic", "password=hunter2");
        request.into_body().collect().await.expect("a small body");
        Ok::<_, Infallible>(Response::new(Body::from(path)))
    });
    let service = ServiceBuilder::new()
        .layer(SanitizeLayer::new())
        .layer(LinkLayer::new([
            LinkValue::service_desc("/openapi.json").expect("a reference")
        ]))
        .layer(BodyLimitLayer::new(100))
        .layer(BearerLayer::new(tokens).with_exempt(["/health"]))
        .service(handler);
    start_with(limits, service).await
}

const AUTH: &str = "authorization: Bearer open-sesame\r\n";

#[tokio::test]
async fn a_client_with_slow_headers_is_disconnected() {
    let mut limits = Limits::default();
    limits.header_timeout = Duration::from_millis(300);
    let server = gateway_with(limits).await;
    let begun = Instant::now();
    for beginning in ["", "P", "GET / HTTP/1.1\r\nhost: t\r\nx-slow: "] {
        let mut wire = server.connect().await;
        wire.send(beginning).await;
        // The server ends the connection although the client sends nothing.
        wire.rest().await;
    }
    assert!(
        begun.elapsed().as_secs() < 10,
        "well before the test's time limit"
    );
}

#[tokio::test]
async fn pipelined_requests_are_answered_separately_and_in_order() {
    let server = gateway().await;
    let requests = [
        format!("GET /one HTTP/1.1\r\nhost: t\r\n{AUTH}\r\n"),
        "GET /two HTTP/1.1\r\nhost: t\r\n\r\n".to_owned(),
        format!("POST /three HTTP/1.1\r\nhost: t\r\n{AUTH}content-length: 3\r\n\r\nabc"),
        "GET /health HTTP/1.1\r\nhost: t\r\n\r\n".to_owned(),
        format!("GET /five HTTP/1.1\r\nhost: t\r\n{AUTH}connection: close\r\n\r\n"),
    ];
    let answers = server.exchange(&requests.concat()).await;
    let lines = ["200 OK", "401 Unauthorized", "200 OK", "200 OK", "200 OK"];
    let statuses: Vec<_> = answers
        .match_indices("HTTP/1.1 ")
        .map(|(at, mark)| answers[at + mark.len()..].lines().next().expect("a line"))
        .collect();
    assert_eq!(statuses, lines, "{answers}");
    for path in ["/one", "/three", "/health", "/five"] {
        assert!(
            answers.contains(&format!("\r\n\r\n{path}")),
            "{path}: {answers}"
        );
    }
}

#[tokio::test]
async fn a_refused_pipelined_body_is_never_taken_for_the_next_request() {
    let server = gateway().await;
    let smuggled = format!("GET /smuggled HTTP/1.1\r\nhost: t\r\n{AUTH}\r\n");
    let length = smuggled.len();
    let request =
        format!("POST / HTTP/1.1\r\nhost: t\r\ncontent-length: {length}\r\n\r\n{smuggled}");
    let last = format!("GET /last HTTP/1.1\r\nhost: t\r\n{AUTH}connection: close\r\n\r\n");
    let answers = server.exchange(&(request + &last)).await;
    assert!(answers.starts_with("HTTP/1.1 401 "), "{answers}");
    assert!(!answers.contains("/smuggled"), "{answers}");
}

#[tokio::test]
async fn a_panic_is_a_500_without_details_and_the_connection_stays_open() {
    let server = gateway().await;
    let requests = format!(
        "GET /panic HTTP/1.1\r\nhost: t\r\n{AUTH}\r\nGET /after HTTP/1.1\r\nhost: t\r\n{AUTH}connection: close\r\n\r\n"
    );
    let answers = server.exchange(&requests).await;
    assert!(answers.starts_with("HTTP/1.1 500 "), "{answers}");
    assert!(answers.contains("x-request-id: "), "{answers}");
    assert!(
        answers.contains(r#"{"error":"Internal server error"}"#),
        "{answers}"
    );
    assert!(!answers.contains("hunter2"), "{answers}");
    assert!(answers.ends_with("/after"), "{answers}");
}

#[tokio::test]
async fn refusals_advertise_the_description_like_every_json_response() {
    let server = gateway().await;
    let request = "GET / HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n";
    let answer = server.exchange(request).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    let link = "link: </openapi.json>; rel=\"service-desc\"\r\n";
    assert!(answer.contains(link), "{answer}");
}

#[tokio::test]
async fn http_2_gets_the_same_answers() {
    let server = gateway().await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http::<Full<Bytes>>();
    let url = |path: &str| format!("http://{}{path}", server.address);
    let cases = [
        (None, "/a", "", 401),
        (Some("Bearer open-sesame"), "/a", "small", 200),
        (Some("Bearer open-sesame"), "/a", &*"x".repeat(101), 413),
    ];
    for (token, path, body, status) in cases {
        let mut request = Request::post(url(path));
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        let request = request
            .body(Full::from(body.to_owned()))
            .expect("static parts");
        let response = client.request(request).await.expect("answered");
        assert_eq!(response.version(), http::Version::HTTP_2);
        assert_eq!(response.status(), status, "{token:?} {}", body.len());
        assert!(!response.headers().contains_key("connection"));
    }
}
