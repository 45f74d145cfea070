//! A server with everything the MCP conformance suite needs, with the framing and the dispatcher of
//! the product.
//!
//! Listens on the address in its only argument, and prints it.

mod client_requests;
mod legacy;
mod prompts;
mod resources;
mod tools;

use std::{
    env, error,
    io::{self, Write as _},
};

use axum::{Router, body::to_bytes, extract::Request, response::IntoResponse as _, routing::post};
use http::StatusCode;
use http_body_util::Full;
use serde_json::Value;
use tokio::net::TcpListener;
use tower::{ServiceBuilder, ServiceExt as _};
use ziggurat_layers::{
    host::{HostLayer, Hosts},
    json_rpc::JsonRpcLayer,
    origin::OriginLayer,
};
use ziggurat_mcp::{
    Mcp, ServerInfo,
    protocol::{self, ProtocolLayer},
    streamable::StreamableLayer,
};
use ziggurat_runtime::signals;
use ziggurat_serve::{Limits, Server};

use crate::{client_requests::ClientRequests, legacy::LegacyLayer};

type Error = Box<dyn error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let address = env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "http://{address}/mcp")?;
    let client = ClientRequests::default();
    let about = ServerInfo::new("conformance-server", "1.0.0");
    let tools = tools::all(&client);
    let mcp = Mcp::new(&about, tools, resources::all(), prompts::all())?;
    let calls = ServiceBuilder::new()
        .layer(StreamableLayer::new())
        .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
        .layer(ProtocolLayer::http())
        .layer(LegacyLayer)
        .service(mcp);
    let front = async move |request: Request| {
        let (head, body) = request.into_parts();
        let Ok(message) = to_bytes(body, usize::MAX).await else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        let json = serde_json::from_slice::<Value>(&message).unwrap_or_default();
        if client.deliver(json) {
            return StatusCode::ACCEPTED.into_response();
        }
        let request = Request::from_parts(head, Full::new(message));
        calls.oneshot(request).await.into_response()
    };
    let tower = ServiceBuilder::new()
        .layer(HostLayer::new(Hosts::of(address.ip(), [""; 0])?))
        .layer(OriginLayer::default())
        .service(Router::new().route("/mcp", post(front)));
    let stop = signals::stop()?;
    let server = Server::new(Limits::default());
    Ok(server.serve(listener, tower, stop).await?)
}
