//! The example `tonic_service`.

use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::program::{Program, send_http2};

/// The message `StringValue { value: "ali" }` in a frame of gRPC.
const ALI: &[u8] = b"\0\0\0\0\x05\x0a\x03ali";

async fn greet(service: &Program, token: &str, message: Vec<u8>) -> Response<Incoming> {
    let request = service.request("POST", "/greeter.Greeter/Greet");
    let request = request
        .header("content-type", "application/grpc")
        .header("authorization", format!("Bearer {token}"));
    send_http2(request, message).await
}

#[tokio::test]
async fn a_caller_with_the_token_is_greeted() {
    let service = Program::start("tonic_service", &[("TOKEN", "open-sesame")]).await;
    let response = greet(&service, "open-sesame", ALI.to_vec()).await;
    let answer = response.into_body().collect().await.expect("a body");
    assert_eq!(answer.trailers().expect("trailers")["grpc-status"], "0");
    assert_eq!(answer.to_bytes(), &b"\0\0\0\0\x0b\x0a\x09hello ali"[..]);
}

#[tokio::test]
async fn refusals_have_a_status_of_grpc() {
    let service = Program::start("tonic_service", &[("TOKEN", "open-sesame")]).await;
    // Each with the token, the message, and the status of gRPC.
    let cases = [
        ("a guess", "guess", ALI.to_vec(), "16"),
        (
            "a large message",
            "open-sesame",
            vec![0; 64 * 1024 + 1],
            "8",
        ),
    ];
    for (case, token, message, status) in cases {
        let response = greet(&service, token, message).await;
        assert_eq!(response.status(), StatusCode::OK, "{case}");
        assert_eq!(response.headers()["grpc-status"], status, "{case}");
    }
}
