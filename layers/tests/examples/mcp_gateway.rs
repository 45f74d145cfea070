//! The example `mcp_gateway`, in front of a small MCP server.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use axum::{Json, Router, extract::State, routing::post};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
    sync::oneshot,
    task::JoinSet,
};
use ziggurat_layers::bearer::TokenHash;

use crate::program::{Program, answer, free_address, send};

/// An MCP server that remembers the messages it received.
#[derive(Default)]
struct Server {
    received: Received,
    tasks: JoinSet<()>,
}

type Received = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

impl Server {
    /// Serves in the background, and returns the URL.
    async fn start(&mut self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("bound"));
        let router = Router::new().route("/mcp", post(reply));
        let router = router.with_state(Arc::clone(&self.received));
        let serving = axum::serve(listener, router).into_future();
        self.tasks
            .spawn(async { serving.await.expect("the listener lives") });
        url
    }

    fn received(&self) -> Vec<(HeaderMap, Value)> {
        self.received.lock().expect("whole").clone()
    }
}

async fn reply(
    State(received): State<Received>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> Json<Value> {
    let result = match message["method"].as_str() {
        Some("tools/list") => json!({"tools": [{"name": "search"}, {"name": "drop"}]}),
        Some("tools/call") => json!({"content": [{"type": "text", "text": "found"}]}),
        _ => json!({}),
    };
    let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    received.lock().expect("whole").push((headers, message));
    Json(response)
}

/// Starts the gateway for the callers `ali` and `bea`, who may use one tool.
async fn gateway(upstream: &str, settings: &[(&str, &str)]) -> Program {
    let caller = |token| {
        let digest = TokenHash::of(token).to_string();
        json!({"token_sha256": digest, "tools": ["search"], "prompts": [], "resources": []})
    };
    let callers = json!({"ali": caller("open-sesame"), "bea": caller("close-sesame")});
    let file = NamedTempFile::new().expect("a file");
    fs::write(&file, callers.to_string()).expect("written");
    let path = file.path().to_str().expect("text");
    let own = [("UPSTREAM", upstream), ("CALLERS", path)];
    Program::start("mcp_gateway", &[&own, settings].concat()).await
}

fn post_with(gateway: &Program, token: &str) -> http::request::Builder {
    let request = gateway.request("POST", "/mcp");
    request
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("authorization", format!("Bearer {token}"))
}

fn call(tool: &str) -> String {
    let params = json!({"name": tool, "arguments": {}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[tokio::test]
async fn hidden_tools_are_not_listed_and_are_answered_like_unknown_names() {
    let mut server = Server::default();
    let gateway = gateway(&server.start().await, &[]).await;

    let (status, list) = answer(post_with(&gateway, "open-sesame"), LIST).await;
    assert_eq!(status, StatusCode::OK);
    let list: Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list["result"], json!({"tools": [{"name": "search"}]}));

    let hidden = answer(post_with(&gateway, "open-sesame"), call("drop")).await;
    let unknown = answer(post_with(&gateway, "open-sesame"), call("flop")).await;
    assert_eq!(hidden.0, unknown.0);
    assert_eq!(hidden.1.replace("drop", "flop"), unknown.1);
    assert!(unknown.1.contains("-32602"), "{}", unknown.1);

    let (_, found) = answer(post_with(&gateway, "open-sesame"), call("search")).await;
    assert!(found.contains("found"), "{found}");
    let received = server.received();
    assert_eq!(received.len(), 2, "the list and the call that is allowed");
    for (headers, _) in received {
        assert!(!headers.contains_key("authorization"), "{headers:?}");
    }
}

#[tokio::test]
async fn each_request_has_one_record() {
    let mut server = Server::default();
    let gateway = gateway(&server.start().await, &[]).await;
    let with_token = || post_with(&gateway, "open-sesame");
    let large = vec![b' '; (1 << 20) + 1];
    let without_token = || gateway.request("POST", "/mcp");
    let requests = [
        (with_token(), LIST.into(), 200, Some("ali")),
        (with_token(), call("drop").into(), 200, Some("ali")),
        (with_token(), large, 413, Some("ali")),
        (without_token(), LIST.into(), 401, None),
        (
            without_token().header("host", "evil.example"),
            LIST.into(),
            403,
            None,
        ),
        (
            with_token().header("origin", "https://evil.example"),
            LIST.into(),
            403,
            None,
        ),
        (post_with(&gateway, "guess"), LIST.into(), 401, None),
        (
            gateway
                .request("GET", "/other")
                .header("authorization", "Bearer open-sesame"),
            vec![],
            404,
            Some("ali"),
        ),
    ];
    let mut expected = Vec::new();
    for (request, body, status, identity) in requests {
        let (answered, text) = answer(request, body).await;
        assert_eq!(answered, status, "{text}");
        expected.push((json!(status), json!(identity)));
    }

    let lines = gateway.stop().await;
    let lines = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let records: Vec<_> = lines.filter(|line| line["target"] == "audit").collect();
    let found = records
        .iter()
        .map(|it| (it["status"].clone(), it["identity"].clone()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    for record in records {
        assert_eq!(record["client"], "127.0.0.1", "{record}");
        assert_eq!(record["outcome"], "completed", "{record}");
    }
}

#[tokio::test]
async fn a_caller_at_its_limit_is_refused_and_another_is_not() {
    let mut server = Server::default();
    let gateway = gateway(&server.start().await, &[("RATE", "2 per hour")]).await;
    for expected in [200, 200, 429] {
        let (status, text) = answer(post_with(&gateway, "open-sesame"), LIST).await;
        assert_eq!(status, expected, "{text}");
    }
    let (status, _) = answer(post_with(&gateway, "close-sesame"), LIST).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(server.received().len(), 3);
}

#[tokio::test]
async fn events_are_passed_on_as_they_arrive() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let upstream = format!("http://{}/mcp", listener.local_addr().expect("bound"));
    let (first_arrived, is_first_there) = oneshot::channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).await.expect("a line");
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("read");
        stream.write_all(b"data: 1\n\n").await.expect("read");
        is_first_there.await.expect("the first event arrives alone");
        stream.write_all(b"data: 2\n\n").await.expect("read");
        stream.shutdown().await.expect("open");
    });

    let gateway = gateway(&upstream, &[]).await;
    let request = gateway.request("GET", "/mcp");
    let request = request.header("authorization", "Bearer open-sesame");
    let response = send(request, "").await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    let first = body.frame().await.expect("a frame").expect("whole");
    assert_eq!(first.into_data().expect("data"), "data: 1\n\n");
    first_arrived.send(()).expect("the server waits");
    let rest = body.collect().await.expect("whole").to_bytes();
    assert_eq!(rest, "data: 2\n\n");
}

#[tokio::test]
async fn a_server_that_is_down_is_a_502_whose_cause_is_in_the_log() {
    let upstream = format!("http://{}/mcp", free_address().await);
    let gateway = gateway(&upstream, &[]).await;
    let response = send(post_with(&gateway, "open-sesame"), LIST).await;
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    let id = response.headers()["x-request-id"].clone();
    let body = response.into_body().collect().await.expect("whole");
    assert_eq!(body.to_bytes(), r#"{"error":"The MCP server failed"}"#);

    let lines = gateway.stop().await;
    let lines = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let of_request: Vec<_> = lines
        .filter(|line| line["request_id"] == id.to_str().expect("text"))
        .collect();
    assert_eq!(
        of_request.len(),
        2,
        "the error and the record: {of_request:?}"
    );
    let error = of_request.iter().find(|line| line["level"] == "ERROR");
    let error = error.expect("an error")["error"].to_string();
    assert!(error.contains("refused"), "{error}");
}
