//! Body limits for a client that is still sending.

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use tokio::io::AsyncWriteExt as _;
use tower::{Layer as _, service_fn};
use ziggurat_layers::body_limit::{BodyLimitLayer, LimitedBody};
use ziggurat_serve::RequestBody;

use crate::server::{Body, Running, start};

const LIMIT: usize = 1000;

/// Echoes bodies of up to `LIMIT` bytes; answers 500 to a body it cannot read.
async fn echo() -> Running {
    let handler = service_fn(|request: Request<LimitedBody<RequestBody>>| async {
        let read = request.into_body().collect().await;
        let mut response = Response::new(Body::default());
        match read {
            Ok(body) => *response.body_mut() = Full::new(body.to_bytes()),
            Err(_) => *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR,
        }
        Ok(response)
    });
    start(BodyLimitLayer::new(LIMIT as u64).layer(handler)).await
}

fn chunk(size: usize) -> String {
    format!("{size:x}\r\n{}\r\n", "x".repeat(size))
}

const CHUNKED: &str = "POST / HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn a_client_still_sending_chunks_reads_the_413() {
    let server = echo().await;
    let mut wire = server.connect().await;
    wire.send(CHUNKED).await;
    wire.send(&chunk(LIMIT)).await;
    // Far more than the socket buffers hold, so most of it is sent after the refusal.
    let more = chunk(64 * 1024);
    let mut sent = 0;
    while sent < 8 << 20 {
        wire.writing
            .write_all(more.as_bytes())
            .await
            .expect("the server reads on");
        sent += more.len();
    }
    let answer = wire.rest().await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    assert!(
        answer.ends_with(r#"{"error":"Request body too large"}"#),
        "{answer}"
    );
}

#[tokio::test]
async fn a_client_still_sending_an_announced_body_reads_the_413() {
    let server = echo().await;
    let mut wire = server.connect().await;
    wire.send("POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 9000000\r\n\r\n")
        .await;
    let block = vec![b'x'; 90_000];
    for _ in 0..100 {
        wire.writing
            .write_all(&block)
            .await
            .expect("the server reads on");
    }
    let answer = wire.rest().await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_client_that_expects_100_continue_is_refused_before_it_sends() {
    let server = echo().await;
    let head = "POST / HTTP/1.1\r\nhost: t\r\nexpect: 100-continue\r\nconnection: close\r\n";

    let answer = server
        .exchange(&format!("{head}content-length: 1001\r\n\r\n"))
        .await;
    assert!(
        answer.starts_with("HTTP/1.1 413 "),
        "no 100 before it: {answer}"
    );

    let mut wire = server.connect().await;
    wire.send(&format!("{head}content-length: 1000\r\n\r\n"))
        .await;
    assert_eq!(
        wire.until("\r\n\r\n").await,
        "HTTP/1.1 100 Continue\r\n\r\n"
    );
    wire.send(&"x".repeat(LIMIT)).await;
    let answer = wire.rest().await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn exactly_the_limit_passes_in_both_framings() {
    let server = echo().await;
    let body = "x".repeat(LIMIT);
    let announced = format!(
        "POST / HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: {LIMIT}\r\n\r\n{body}"
    );
    let answer = server.exchange(&announced).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(&body),
        "{answer}"
    );

    let head = CHUNKED.replace("host: t", "host: t\r\nconnection: close");
    let chunked = format!("{head}{}{}0\r\n\r\n", chunk(400), chunk(600));
    let answer = server.exchange(&chunked).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(&body),
        "{answer}"
    );

    let over = format!("{head}{}{}0\r\n\r\n", chunk(400), chunk(601));
    let answer = server.exchange(&over).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_client_that_disconnects_in_the_middle_of_a_body_does_no_harm() {
    let server = echo().await;
    let mut wire = server.connect().await;
    wire.send(CHUNKED).await;
    wire.send("ff\r\nxx").await;
    drop(wire);
    let request = "GET / HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n";
    let answer = server.exchange(request).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
