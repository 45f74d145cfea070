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
    convert::Infallible,
    env, error,
    io::{self, Write as _},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tokio::net::TcpListener;
use tower::{Layer as _, Service, ServiceExt as _, service_fn};
use tower_layer::layer_fn;
use ziggurat_mcp::{Calls, Http, Mcp, Server, ServerInfo};
use ziggurat_runtime::signals;
use ziggurat_serve::RequestBody;

use crate::{
    client_requests::ClientRequests,
    legacy::{Legacy, LegacyLayer},
};

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
    let server = Server::of(LegacyLayer.layer(mcp));
    let http = Http::new(server).layer(layer_fn(|calls: Calls<Legacy<Mcp>>| {
        let client = client.clone();
        service_fn(move |request| deliver_or_call(client.clone(), calls.clone(), request))
    }));
    Ok(http.serve_on(listener, signals::stop()?).await?)
}

/// Delivers the answer to a request of the server, or calls the server.
async fn deliver_or_call<S, B>(
    client: ClientRequests,
    calls: S,
    request: Request<RequestBody>,
) -> Result<Response<B>, Infallible>
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
    B: From<Bytes>,
{
    let with_status = |status| {
        let mut response = Response::new(B::from(Bytes::new()));
        *response.status_mut() = status;
        Ok(response)
    };
    let (head, body) = request.into_parts();
    let Ok(message) = body.collect().await else {
        return with_status(StatusCode::BAD_REQUEST);
    };
    let message = message.to_bytes();
    let json = serde_json::from_slice::<Value>(&message).unwrap_or_default();
    if client.deliver(json) {
        return with_status(StatusCode::ACCEPTED);
    }
    let request = Request::from_parts(head, Full::new(message));
    calls.oneshot(request).await
}
