//! JSON-RPC framing over a socket.

use std::convert::Infallible;

use tower::{Layer as _, service_fn};
use ziggurat_layers::json_rpc::{
    Batches, Call, Dialect, Error, Json, JsonRpcLayer, NoStream, Reply,
};

use crate::server::{Running, start};

async fn calculator() -> Running {
    let handler = service_fn(|call: Call| async move {
        let reply: Result<Json, Error> = match call.method() {
            "sum" => call
                .params::<Vec<i64>>()
                .map(|terms| Json::new(&terms.iter().sum::<i64>()).expect("a number")),
            _ => Err(Error::method_not_found()),
        };
        Ok::<_, Infallible>(Reply::<NoStream>::from(reply))
    });
    let dialect = Dialect::new().with_batches(Batches::new(10));
    start(JsonRpcLayer::new().with_dialect(dialect).layer(handler)).await
}

async fn post(server: &Running, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    server.exchange(&request).await
}

#[tokio::test]
async fn calls_are_answered_with_their_id_to_the_letter() {
    let server = calculator().await;
    for (body, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"sum","params":[1,2]}"#,
            r#"{"jsonrpc":"2.0","id":9007199254740993,"result":3}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"é","method":"none"}"#,
            r#"{"jsonrpc":"2.0","id":"é","error":{"code":-32601,"message":"Method not found"}}"#,
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"sum","params":[1]},{"jsonrpc":"2.0","method":"sum"},{"jsonrpc":"2.0","id":2,"method":"sum","params":[2]}]"#,
            r#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":2}]"#,
        ),
    ] {
        let answer = post(&server, body).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(
            answer.contains("content-type: application/json\r\n"),
            "{answer}"
        );
        assert!(answer.contains("content-length: "), "{answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{expected}")), "{answer}");
    }
}

#[tokio::test]
async fn a_notification_is_202_without_a_body() {
    let server = calculator().await;
    let answer = post(&server, r#"{"jsonrpc":"2.0","method":"whatever"}"#).await;
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    assert!(
        answer.ends_with("content-length: 0\r\n\r\n") || answer.ends_with("\r\n\r\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn other_methods_are_405_and_broken_json_is_a_parse_error() {
    let server = calculator().await;
    let request = "GET / HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n";
    let answer = server.exchange(request).await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    assert!(answer.contains("allow: POST\r\n"), "{answer}");

    let answer = post(&server, r#"{"jsonrpc":"#).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(
        answer.contains(r#""id":null,"error":{"code":-32700,"message":"Parse error""#),
        "{answer}"
    );
}
