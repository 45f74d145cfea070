//! Attacks on MCP servers that were published in 2025 and 2026.
//!
//! Each succeeds against a plain server, and is refused by the layer that is for it.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Extensions, Method, Request, Response};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::{Layer, Service, layer::util::Identity};
use ziggurat_layers::{
    host::HostLayer,
    mcp::{Access, McpPolicyLayer},
    origin::OriginLayer,
};
use ziggurat_serve::RequestBody;

use crate::server::{Body, Running, start};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// Host of a page with a name that was made to resolve to the server. The browser sends the name
/// and the port with each request of the page.
const REBOUND: &str = "host: evil.example:8080\r\n";

/// An MCP server on this machine without authentication. It lists the tool `search`, and leaves out
/// `delete_all`, which can be called like every tool.
#[derive(Clone, Default)]
struct ToolServer {
    deletions: Arc<AtomicUsize>,
}

impl<B> Service<Request<B>> for ToolServer
where
    B: http_body::Body<Data: Send, Error: std::error::Error> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    // Boxed: a service of tests only.
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let method = request.method().clone();
            let body = request.into_body().collect().await.expect("a whole body");
            Ok(server.answer(&method, &body.to_bytes()))
        })
    }
}

impl ToolServer {
    fn answer(&self, method: &Method, body: &Bytes) -> Response<Body> {
        if method == Method::GET {
            let event = "event: message\ndata: {\"rows\":\"secret\"}\n\n";
            return with_type("text/event-stream", event.to_owned());
        }
        let message: Value = serde_json::from_slice(body).expect("JSON");
        let result = match (
            message["method"].as_str(),
            message["params"]["name"].as_str(),
        ) {
            (Some("tools/list"), _) => json!({"tools": [{"name": "search"}]}),
            (_, Some("delete_all")) => {
                self.deletions.fetch_add(1, Ordering::Relaxed);
                json!({"content": [{"type": "text", "text": "deleted"}]})
            }
            _ => json!({"content": [{"type": "text", "text": "found"}]}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        with_type("application/json", answer.to_string())
    }
}

fn with_type(content_type: &str, body: String) -> Response<Body> {
    Response::builder()
        .header("content-type", content_type)
        .body(body.into())
        .expect("static parts")
}

/// A tool server behind a layer, and the number of its deletions.
struct Target {
    server: Running,
    deletions: Arc<AtomicUsize>,
}

impl Target {
    async fn behind<L, S>(layer: L) -> Self
    where
        L: Layer<ToolServer, Service = S>,
        S: Service<Request<RequestBody>, Response = Response<Body>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send + 'static,
    {
        let tools = ToolServer::default();
        let deletions = Arc::clone(&tools.deletions);
        let server = start(layer.layer(tools)).await;
        Self { server, deletions }
    }

    async fn plain() -> Self {
        Self::behind(Identity::new()).await
    }

    /// Sends a request, and returns the status, the body and the number of deletions so far.
    async fn send(&self, request: &str) -> (u16, String, usize) {
        let answer = self.server.exchange(request).await;
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head[9..12].parse().expect("a status");
        (
            status,
            body.to_owned(),
            self.deletions.load(Ordering::Relaxed),
        )
    }

    /// Asserts that a call of `delete_all` with these headers deletes.
    async fn assert_deletes(&self, headers: &str) {
        let (status, body, deletions) = self.send(&delete(headers)).await;
        assert_eq!((status, deletions), (200, 1), "{headers}: {body}");
    }

    /// Asserts that a call of `delete_all` with these headers is refused before the server sees it.
    async fn assert_refuses(&self, headers: &str) {
        let (status, body, deletions) = self.send(&delete(headers)).await;
        assert_eq!((status, deletions), (403, 0), "{headers}: {body}");
    }
}

fn post(headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\n{headers}content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn call(tool: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}).to_string()
}

fn delete(headers: &str) -> String {
    post(headers, &call("delete_all"))
}

/// CVE-2026-42559, rmcp: the server did not look at `Host`.
///
/// The user opens a page of `evil.example`. Then that name resolves to 127.0.0.1. For the browser
/// the MCP server is now the page's own server, so the page may send any request and read the
/// response.
#[tokio::test]
async fn a_page_with_a_rebound_name_calls_no_tool() {
    let headers = format!("{REBOUND}origin: http://evil.example:8080\r\n");
    Target::plain().await.assert_deletes(&headers).await;
    Target::behind(HostLayer::default())
        .await
        .assert_refuses(&headers)
        .await;
}

/// CVE-2026-34742, the Go SDK: neither transport looked at `Host` by default.
///
/// The same page opens the event stream with `GET`. Browsers send no `Origin` with a `GET` to the
/// page's own server, so only the host shows the attack.
#[tokio::test]
async fn a_page_with_a_rebound_name_reads_no_stream() {
    let request = format!(
        "GET /mcp HTTP/1.1\r\n{REBOUND}accept: text/event-stream\r\nconnection: close\r\n\r\n"
    );
    let (status, body, _) = Target::plain().await.send(&request).await;
    assert!(status == 200 && body.contains("secret"), "{body}");
    let by_origin = Target::behind(OriginLayer::default()).await;
    assert_eq!(by_origin.send(&request).await.0, 200, "no origin to check");
    let (status, body, _) = Target::behind(HostLayer::default())
        .await
        .send(&request)
        .await;
    assert!(status == 403 && !body.contains("secret"), "{body}");
}

/// CVE-2025-66416, the Python SDK: the check of `Host` was off by default.
///
/// The same page asks for the tools. The name of its host is made to look like this machine to a
/// careless comparison.
#[tokio::test]
async fn a_page_with_a_rebound_name_that_resembles_localhost_lists_no_tools() {
    for host in [
        "localhost.evil.example:8080",
        "127.0.0.1.evil.example:8080",
        "evil.example",
        "evil-localhost:8080",
        "localhost@evil.example",
    ] {
        let request = post(&format!("host: {host}\r\n"), LIST);
        let (status, body, _) = Target::plain().await.send(&request).await;
        assert!(status == 200 && body.contains("search"), "{host}: {body}");
        let (status, body, _) = Target::behind(HostLayer::default())
            .await
            .send(&request)
            .await;
        assert!(status == 403 && !body.contains("search"), "{host}: {body}");
    }
}

/// The Java SDK: the server did not look at `Origin`.
///
/// A page sends a request to `localhost` across origins. The browser does not show the response to
/// the page, but the tool has run.
#[tokio::test]
async fn a_page_of_another_origin_calls_no_tool() {
    let headers = "host: localhost:8080\r\norigin: https://evil.example\r\n";
    Target::plain().await.assert_deletes(headers).await;
    let by_host = Target::behind(HostLayer::default()).await;
    by_host.assert_deletes(headers).await;
    Target::behind(OriginLayer::default())
        .await
        .assert_refuses(headers)
        .await;
}

/// CVE-2026-11624, Toolbox: all hosts and all origins were allowed by default.
///
/// Both kinds of pages got through, and those without an origin of their own: a sandboxed frame or
/// a local file sends `Origin: null`. The defaults of the two layers together admit none of them.
#[tokio::test]
async fn without_configuration_no_page_of_another_machine_calls_a_tool() {
    for headers in [
        "host: evil.example:5000\r\norigin: http://evil.example:5000\r\n",
        "host: evil.example:5000\r\n",
        "host: localhost:5000\r\norigin: https://evil.example\r\n",
        "host: localhost:5000\r\norigin: null\r\n",
        "host: localhost:5000\r\norigin: http://localhost.evil.example:5000\r\n",
    ] {
        Target::plain().await.assert_deletes(headers).await;
        Target::behind((HostLayer::default(), OriginLayer::default()))
            .await
            .assert_refuses(headers)
            .await;
    }
    let program = Target::behind((HostLayer::default(), OriginLayer::default())).await;
    program.assert_deletes("host: localhost:5000\r\n").await;
}

/// CVE-2026-46519: a tool that was hidden from the list could be called.
///
/// The client knows or guesses the name, and calls the tool although no list has shown it.
#[tokio::test]
async fn a_tool_that_is_hidden_from_the_list_cannot_be_called() {
    let host = "host: localhost\r\n";
    let plain = Target::plain().await;
    let (_, list, _) = plain.send(&post(host, LIST)).await;
    assert!(!list.contains("delete_all"), "hidden: {list}");
    plain.assert_deletes(host).await;

    let access = Access::nothing().with_tools(["search"]);
    let policy = McpPolicyLayer::new(move |_: &Extensions| Some(access.clone()));
    let guarded = Target::behind(policy).await;
    let (status, body, deletions) = guarded.send(&delete(host)).await;
    assert_eq!(deletions, 0, "{body}");
    let (unknown_status, unknown, _) = guarded.send(&post(host, &call("delete_xyz"))).await;
    let unknown = unknown.replace("delete_xyz", "delete_all");
    assert_eq!(
        (status, body),
        (unknown_status, unknown),
        "answered like a tool that does not exist"
    );
    let (_, found, _) = guarded.send(&post(host, &call("search"))).await;
    assert!(found.contains("found"), "{found}");
}
