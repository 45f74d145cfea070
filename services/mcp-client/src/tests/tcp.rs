//! Plain TCP.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

use super::{doubles::*, *};
use ziggurat_mcp::protocol::Revision;

/// Reads a request and returns its message, or `None` at the end of the connection.
async fn receive(stream: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        // A client that closes with data unread resets the connection.
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return None;
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a body");
    Some(serde_json::from_slice(&body).unwrap_or_default())
}

async fn answer(stream: &mut BufReader<TcpStream>, answer: &Value) {
    let body = answer.to_string();
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(response.as_bytes()).await.expect("sent");
}

async fn accept(listener: &TcpListener) -> BufReader<TcpStream> {
    let (stream, _) = soon(listener.accept()).await.expect("a client");
    BufReader::new(stream)
}

/// Answers `initialize` on a new connection.
async fn welcome(listener: &TcpListener) -> BufReader<TcpStream> {
    let mut stream = accept(listener).await;
    let request = receive(&mut stream).await.expect("a request");
    answer(&mut stream, &initialized(&request)).await;
    let initialized = receive(&mut stream).await.expect("a notification");
    assert_eq!(initialized["method"], "notifications/initialized");
    answer(&mut stream, &Value::Null).await;
    stream
}

async fn listen() -> (TcpListener, ClientBuilder) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let builder = Client::http(&format!("http://{address}/mcp"));
    (listener, builder.with_revision(Revision::V2025_11_25))
}

#[tokio::test]
async fn a_connection_serves_many_requests_and_a_closed_one_is_replaced() {
    let (listener, builder) = listen().await;
    let serving = async {
        let mut stream = welcome(&listener).await;
        let request = receive(&mut stream).await.expect("a request");
        let body = result(&request, &json!({"tools": []})).to_string();
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length:";
        let response = format!("{head} {}\r\n\r\n{body}", body.len());
        stream.write_all(response.as_bytes()).await.expect("sent");
        let mut stream = accept(&listener).await;
        let request = receive(&mut stream).await.expect("a request");
        answer(&mut stream, &result(&request, &json!({"tools": []}))).await;
    };
    let asking = async {
        let client = builder.connect().await.expect("connected");
        client
            .tools()
            .await
            .expect("a list on the first connection");
        client
            .tools()
            .await
            .expect("a list on the second connection");
    };
    soon(async { tokio::join!(serving, asking) }).await;
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle_of_an_answer_is_an_error() {
    for (part, expected) in [
        ("", "connection to the server failed"),
        ("HTTP/1.1 200 OK\r\ncont", "connection to the server failed"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"json",
            "connection to the server failed",
        ),
        (
            "HTTP/1.1 200 OK\r\n\r\n{\"json",
            "not valid: EOF while parsing",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"json",
            "closed the connection",
        ),
        ("SSH-2.0-OpenSSH\r\n", "connection to the server failed"),
    ] {
        let (listener, builder) = listen().await;
        let serving = async {
            let mut stream = welcome(&listener).await;
            receive(&mut stream).await.expect("a request");
            stream.write_all(part.as_bytes()).await.expect("sent");
        };
        let asking = async {
            let client = builder.connect().await.expect("connected");
            client.tools().await.expect_err("a dead server").to_string()
        };
        let ((), error) = soon(async { tokio::join!(serving, asking) }).await;
        assert!(error.contains(expected), "{part:?}: {error}");
    }
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection_and_a_flush_sends_its_cancellation() {
    let (listener, builder) = listen().await;
    let (start, started) = tokio::sync::oneshot::channel();
    let serving = async {
        let mut stream = welcome(&listener).await;
        let call = receive(&mut stream).await.expect("a call");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n";
        stream.write_all(head.as_bytes()).await.expect("sent");
        start.send(()).expect("a client");
        assert_eq!(receive(&mut stream).await, None, "the connection is closed");
        let mut stream = accept(&listener).await;
        let cancelled = receive(&mut stream).await.expect("a notification");
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], call["id"]);
        answer(&mut stream, &Value::Null).await;
    };
    let asking = async {
        let client = builder.connect().await.expect("connected");
        tokio::select! {
            _ = client.call("x", &()) => panic!("it never answers"),
            started = started => started.expect("a server"),
        }
        client.flush().await.expect("flushed");
    };
    soon(async { tokio::join!(serving, asking) }).await;
}

#[tokio::test]
async fn a_port_without_a_server_is_an_error() {
    let (listener, builder) = listen().await;
    drop(listener);
    let error = soon(builder.connect()).await.expect_err("no server");
    assert!(matches!(error, ClientError::Transport(_)), "{error}");
}
