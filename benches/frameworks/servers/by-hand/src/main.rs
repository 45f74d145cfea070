//! Five tools with hyper and serde. Usage: `with-nothing 127.0.0.1:8080`
//!
//! The least that a server can do for the requests of the comparison: no checks, no limits, and
//! only `echo` can be called. It shows what HTTP and JSON cost on this machine.

use std::{convert::Infallible, env, error::Error};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response, StatusCode, body::Incoming, header::CONTENT_TYPE, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::{net::TcpListener, task::JoinSet};

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"five-tools","version":"1.0.0"}}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1).ok_or("usage: with-nothing ADDRESS")?;
    let listener = TcpListener::bind(address).await?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service_fn(|request| async { Ok::<_, Infallible>(serve(request).await) });
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(request: Request<Incoming>) -> Response<Full<Bytes>> {
    let version = request.headers().get("mcp-protocol-version");
    let is_modern = version.is_some_and(|version| version == "2026-07-28");
    let body = match request.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return status(StatusCode::BAD_REQUEST),
    };
    let Ok(call) = serde_json::from_slice::<Call<'_>>(&body) else {
        return status(StatusCode::BAD_REQUEST);
    };
    let Some(id) = call.id else {
        return status(StatusCode::ACCEPTED);
    };
    let result = match (call.method, call.params.arguments) {
        ("initialize", _) => INITIALIZED.to_owned(),
        ("tools/list", _) => format!(r#"{{"tools":{}"#, include_str!("tools.json").trim()),
        ("tools/call", Some(Arguments { text })) => {
            let r#type = "text";
            let content = serde_json::to_string(&[Text { r#type, text }]);
            format!(r#"{{"content":{}"#, content.expect("texts are JSON"))
        }
        _ => return status(StatusCode::NOT_FOUND),
    };
    let end = match (call.method, is_modern) {
        ("initialize", _) => "",
        (_, true) => r#","resultType":"complete"}"#,
        (_, false) => "}",
    };
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}{end}}}"#);
    let mut response = Response::new(Full::new(Bytes::from(answer)));
    let kind = "application/json".try_into().expect("a header");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}
