//! The HTTP layers of the server in combination, over a socket.

use std::{convert::Infallible, future::pending};

use axum::{
    Router,
    routing::{get, post_service},
};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tower::{ServiceBuilder, service_fn};
use ziggurat_http::{CorsLayer, Refusal, headers, health};
use ziggurat_layers::{
    bearer::{BearerLayer, Hashed, TokenHash},
    host::{HostLayer, Hosts},
    json_rpc::{Call, Json, JsonRpcLayer, Reply},
    origin::{OriginLayer, Origins},
};
use ziggurat_mcp as mcp;
use ziggurat_serve::{Limits, Server};
use ziggurat_tokens::{Holder, Identity};

use crate::login::LoginLayer;

const TOKEN: &str = "Bearer open-sesame";
const MISSING: &str = r#"{"error":"Missing Authorization header"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Serves all layers around a service that answers with the name of the method.
async fn start(tasks: &mut JoinSet<()>) -> TcpStream {
    let token = TokenHash::of("open-sesame");
    let (id, database) = ("token-1".into(), None);
    let holder = Holder::Program { id, database };
    let tokens = Hashed::from_iter([(token, Identity::new(token, holder))]);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let calls = ServiceBuilder::new()
        .layer(LoginLayer::new())
        .layer(
            JsonRpcLayer::new()
                .with_dialect(mcp::dialect())
                .with_max_bytes(1000),
        )
        .service(service_fn(|call: Call| async move {
            let reply = Json::new(call.method()).expect("text");
            Ok::<Reply, Infallible>(reply.into())
        }));
    let routes = Router::new()
        .route("/health", get(health("edge", "1")))
        .route("/mcp/v1", post_service(calls))
        .fallback(async || <Refusal>::not_found())
        .method_not_allowed_fallback(async || <Refusal>::no_such_method());
    let stack = ServiceBuilder::new()
        .layer(headers(false))
        .layer(HostLayer::new(
            Hosts::of(address.ip(), [""; 0]).expect("none"),
        ))
        .layer(OriginLayer::new(Origins::loopback()))
        .layer(CorsLayer::admitted())
        .layer(
            BearerLayer::new(tokens)
                .with_exempt(["/health", "/.well-known/*"])
                .with_optional(["/mcp/v1"]),
        )
        .service(routes);
    tasks.spawn(async move {
        let serving = Server::new(Limits::default()).serve(listener, stack, pending());
        serving.await.expect("the listener lives");
    });
    TcpStream::connect(address).await.expect("listening")
}

fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path);
    if path.starts_with('/') && headers.iter().all(|(name, _)| *name != "host") {
        request = request.header("host", "localhost");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.into()));
    request.expect("valid parts")
}

type Headers = [(&'static str, &'static str)];

/// Sends requests of one method to one path, and compares status and body.
async fn check(method: &str, path: &str, cases: &[(&Headers, &str, u16, &str)]) {
    let mut tasks = JoinSet::new();
    let stream = start(&mut tasks).await;
    let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
    tasks.spawn(async move { connection.await.expect("in order") });
    for (headers, sent, status, body) in cases {
        let case = format!("{method} {path} {headers:?} {sent:.30}");
        let request = request(method, path, headers, (*sent).to_owned());
        let response = client.send_request(request).await.expect("answered");
        assert_eq!(response.status(), *status, "{case}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        if *status != 202 {
            assert_eq!(response.headers()["content-type"], "application/json");
        }
        let whole = response.into_body().collect().await.expect("whole");
        assert_eq!(whole.to_bytes(), body, "{case}");
    }
}

#[tokio::test]
async fn calls_with_a_token_are_answered() {
    let token = &[("authorization", TOKEN)][..];
    let unusual = &[
        ("authorization", TOKEN),
        ("content-type", "text/plain"),
        ("accept", "image/png"),
        ("mcp-protocol-version", "1999-12-31"),
        ("mcp-session-id", "x"),
    ];
    let pong = r#"{"jsonrpc":"2.0","id":1,"result":"ping"}"#;
    let too_large = r#"{"error":"Request body too large"}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"x"}"#;
    let cases = [
        (token, PING, 200, pong),
        (unusual, PING, 200, pong),
        (token, notification, 202, ""),
        (token, &" ".repeat(1001), 413, too_large),
    ];
    check("POST", "/mcp/v1", &cases).await;
}

#[tokio::test]
async fn without_a_token_only_a_login_is_answered() {
    let wrong = &[("authorization", "Bearer x")][..];
    let login =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"authenticate_user"}}"#;
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":"tools/call"}"#;
    let unknown = r#"{"error":"Invalid or unknown token"}"#;
    let cases = [
        (&[][..], login, 200, reply),
        (wrong, login, 401, unknown),
        (&[], PING, 401, MISSING),
        (&[], "{", 401, MISSING),
        (&[], "", 401, MISSING),
    ];
    check("POST", "/mcp/v1", &cases).await;
}

#[tokio::test]
async fn foreign_origins_and_hosts_are_refused_before_the_token_is_checked() {
    let page = &[("origin", "https://evil.example"), ("authorization", "x")][..];
    let host = &[("host", "evil.example"), ("authorization", "x")][..];
    let no_page = r#"{"error":"Requests from this origin are not allowed"}"#;
    let no_host = r#"{"error":"This server does not serve that host"}"#;
    let cases = [(page, "", 403, no_page), (host, "", 403, no_host)];
    for path in ["/mcp/v1", "/health", "/nowhere"] {
        check("POST", path, &cases).await;
    }
}

#[tokio::test]
async fn paths_and_methods_have_their_answers() {
    let token = &[("authorization", TOKEN)][..];
    let anonymous = &[][..];
    let health = r#"{"status":"ok","server":"edge","version":"1"}"#;
    let no_method = r#"{"error":"Method not allowed"}"#;
    let no_path = r#"{"error":"Not found"}"#;
    check("GET", "/health", &[(anonymous, "", 200, health)]).await;
    check("HEAD", "/health", &[(anonymous, "", 200, "")]).await;
    for method in ["GET", "DELETE", "PUT", "PATCH"] {
        let cases = [(anonymous, "", 405, no_method), (token, "", 405, no_method)];
        check(method, "/mcp/v1", &cases).await;
    }
    let cases = [(anonymous, "", 401, MISSING), (token, "", 404, no_path)];
    check("GET", "/nowhere", &cases).await;
    let unknown = "/.well-known/oauth-protected-resource/mcp";
    check("GET", unknown, &[(anonymous, "", 404, no_path)]).await;
}

#[tokio::test]
async fn a_head_over_http_2_has_no_body_and_the_host_is_in_the_address() {
    let mut tasks = JoinSet::new();
    let stream = start(&mut tasks).await;
    let (mut client, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .expect("HTTP/2");
    tasks.spawn(async move { connection.await.expect("in order") });
    for (uri, status, length) in [
        ("http://localhost/health", 200, Some("45")),
        ("http://evil.example/health", 403, None),
    ] {
        let request = request("HEAD", uri, &[], Bytes::new());
        let response = client.send_request(request).await.expect("answered");
        assert_eq!(response.status(), status, "{uri}");
        let said = response.headers().get("content-length");
        let said = said.map(|said| said.to_str().expect("digits"));
        assert_eq!(said, length, "{uri}");
        let whole = response.into_body().collect().await.expect("whole");
        assert_eq!(whole.to_bytes(), "", "{uri}");
    }
}
