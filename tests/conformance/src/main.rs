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

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tokio::net::TcpListener;
use tower::{Service as _, ServiceBuilder, service_fn};
use ziggurat_http::{
    EitherBody, HostLayer, Hosts, OriginLayer, Origins, Routes,
    serve::{Limits, RequestBody, Server},
};
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_mcp::{
    Mcp, ServerInfo,
    protocol::{self, ProtocolLayer},
    streamable::StreamableLayer,
};
use ziggurat_runtime::signals;

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
    let front = service_fn(move |request: Request<RequestBody>| {
        let (client, mut calls) = (client.clone(), calls.clone());
        async move {
            let (head, body) = request.into_parts();
            let Ok(body) = body.collect().await else {
                return Ok(said(StatusCode::BAD_REQUEST));
            };
            let message = body.to_bytes();
            let json = serde_json::from_slice::<Value>(&message).unwrap_or_default();
            if client.deliver(json) {
                return Ok(said(StatusCode::ACCEPTED));
            }
            let response = calls.call(Request::from_parts(head, Full::new(message)));
            response
                .await
                .map(|response| response.map(EitherBody::second))
        }
    });
    let tower = ServiceBuilder::new()
        .layer(HostLayer::new(Hosts::of(address.ip(), [""; 0])?))
        .layer(OriginLayer::new(Origins::loopback()))
        .service(Routes::new().at("/mcp", [Method::POST], front));
    let stop = signals::stop()?;
    let server = Server::new(Limits::default());
    Ok(server.serve(listener, tower, stop).await?)
}

fn said<B>(status: StatusCode) -> Response<EitherBody<Full<Bytes>, B>> {
    let mut response = Response::new(EitherBody::first(Full::default()));
    *response.status_mut() = status;
    response
}
