//! The example `hyper_gateway`.

use axum::{Router, body::Body, extract::Request};
use http::StatusCode;
use tokio::{net::TcpListener, task::JoinSet};

use crate::program::{Program, answer, free_address};

#[tokio::test]
async fn admitted_requests_reach_the_backend_without_the_token() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let backend = format!("http://{}/rpc", listener.local_addr().expect("bound"));
    let echo = Router::new().fallback(async |request: Request| {
        assert!(!request.headers().contains_key("authorization"));
        assert_eq!(request.uri().path(), "/rpc");
        Body::new(request.into_body())
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(async { axum::serve(listener, echo).await });
    let settings = [("BACKEND", backend.as_str()), ("TOKEN", "open-sesame")];
    let gateway = Program::start("hyper_gateway", &settings).await;

    let request = gateway.request("POST", "/");
    let request = request.header("authorization", "Bearer open-sesame");
    let passed = answer(request, "a message").await;
    assert_eq!(passed, (StatusCode::OK, "a message".to_owned()));

    let (status, _) = answer(gateway.request("POST", "/"), "a message").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_backend_that_is_down_is_a_502() {
    let backend = format!("http://{}/", free_address().await);
    let settings = [("BACKEND", backend.as_str()), ("TOKEN", "open-sesame")];
    let gateway = Program::start("hyper_gateway", &settings).await;
    let request = gateway.request("POST", "/");
    let request = request.header("authorization", "Bearer open-sesame");
    let refused = answer(request, "a message").await;
    let body = r#"{"error":"No answer"}"#.to_owned();
    assert_eq!(refused, (StatusCode::BAD_GATEWAY, body));
}
