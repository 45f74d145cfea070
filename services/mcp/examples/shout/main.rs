//! An MCP server with one tool, over HTTP, for clients of all revisions.
//!
//! ```console
//! $ cargo run -p ziggurat-mcp --example shout 127.0.0.1:8080
//! $ curl http://127.0.0.1:8080/mcp -H 'content-type: application/json' -d '
//!     {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
//!      "params": {"name": "shout", "arguments": {"words": "hello"}}}'
//! {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"HELLO"}]}}
//! ```

#[cfg(test)]
mod tests;

use std::{env, error::Error};

use axum::{Router, routing::post_service};
use serde::Deserialize;
use tokio::net::TcpListener;
use tower::ServiceBuilder;
use ziggurat_layers::{
    body_limit::BodyLimitLayer,
    host::{HostLayer, Hosts},
    json_rpc::JsonRpcLayer,
    origin::OriginLayer,
};
use ziggurat_mcp::{
    Annotations, Lenient, Mcp, Prompts, Property, Resources, Schema, ServerInfo, Tool,
    ToolDescriptor, ToolError, ToolRequest, ToolResult, Tools,
    protocol::{self, ProtocolLayer},
    streamable::StreamableLayer,
};
use ziggurat_runtime::signals;
use ziggurat_serve::{Limits, Server};

struct Shout;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    words: Lenient<String>,
}

impl Tool for Shout {
    fn describe(&self) -> ToolDescriptor {
        let words = Property::string("The words to say.");
        let schema = Schema::new().with_required("words", words);
        ToolDescriptor::new("shout", "Says words in capitals.", schema)
            .with_annotations(Annotations::reading())
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, ToolError> {
        let arguments: Arguments = request.arguments()?;
        let words = arguments
            .words
            .or_report("The argument `words` is missing")?;
        Ok(ToolResult::text(words.to_uppercase()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8080")).await?;
    serve(listener, signals::stop()?).await
}

async fn serve(
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<(), Box<dyn Error>> {
    let about = ServerInfo::new("shout", env!("CARGO_PKG_VERSION"));
    let tools = Tools::new().with(Shout);
    let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new())?;
    let calls = ServiceBuilder::new()
        .layer(StreamableLayer::new())
        .layer(BodyLimitLayer::new(1 << 20))
        .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
        .layer(ProtocolLayer::http())
        .service(mcp);
    let hosts = Hosts::of(listener.local_addr()?.ip(), [""; 0])?;
    let tower = ServiceBuilder::new()
        // Pages of other origins cannot call the server.
        .layer(HostLayer::new(hosts))
        .layer(OriginLayer::default())
        .service(Router::new().route("/mcp", post_service(calls)));
    Ok(Server::new(Limits::default())
        .serve(listener, tower, stop)
        .await?)
}
