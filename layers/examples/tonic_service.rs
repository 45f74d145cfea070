//! The layers around a gRPC service of tonic. Clients get refusals as gRPC statuses.
//!
//! ```console
//! $ TOKEN=open-sesame cargo run -p ziggurat-layers --features full --example tonic_service
//! $ printf '\0\0\0\0\5\12\3ali' | curl -i --http2-prior-knowledge --data-binary @- -o - \
//!     -H 'content-type: application/grpc' -H 'te: trailers' \
//!     -H 'authorization: Bearer open-sesame' http://127.0.0.1:8080/greeter.Greeter/Greet
//! ```

use std::{env, error::Error, io};

use http::{Request, Response, StatusCode};
use tonic::{Code, Status, body::Body, server::Grpc, transport::server};
use tonic_prost::ProstCodec;
use tower::{ServiceBuilder, service_fn};
use ziggurat_layers::{
    bearer::{BearerLayer, Hashed, TokenHash},
    body_limit::{BodyLimitLayer, LimitedBody},
    client_ip::ClientIp,
    rate_limit::{FailureWindow, RateLimitLayer},
    reject::Rejection,
    sanitize::SanitizeLayer,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let token = TokenHash::of(&env::var("TOKEN").map_err(|_| "set TOKEN")?);
    let listen = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8080".to_owned());
    let incoming = server::TcpIncoming::bind(listen.parse()?)?;
    tracing::info!("listening on http://{}", incoming.local_addr()?);

    let failures = FailureWindow::new("10 per 15 minutes".parse()?);
    let layers = ServiceBuilder::new()
        .map_request(add_peer)
        .map_response(with_status_200)
        .layer(SanitizeLayer::new().with_render(grpc_status))
        .layer(BodyLimitLayer::new(64 * 1024).with_render(grpc_status))
        .layer(RateLimitLayer::new(failures).with_render(grpc_status))
        .layer(BearerLayer::new(Hashed::from_iter([(token, "ali")])).with_render(grpc_status));
    // In place of generated code, which goes to `add_service` behind the same layers.
    let greeter = service_fn(async |request: Request<LimitedBody<Body>>| {
        let greet = service_fn(async |name: tonic::Request<String>| {
            Ok(tonic::Response::new(format!("hello {}", name.get_ref())))
        });
        let mut grpc = Grpc::new(ProstCodec::default());
        Ok::<_, Status>(grpc.unary(greet, request).await)
    });
    let server = server::Server::builder().layer(layers);
    Ok(server.serve_with_incoming(greeter, incoming).await?)
}

fn add_peer(mut request: Request<Body>) -> Request<Body> {
    let info = request.extensions().get::<server::TcpConnectInfo>();
    if let Some(peer) = info.and_then(server::TcpConnectInfo::remote_addr) {
        request.extensions_mut().insert(ClientIp::from_peer(peer));
    }
    request
}

fn grpc_status(rejection: &Rejection) -> Response<Body> {
    let code = match rejection.status().as_u16() {
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        413 | 429 => Code::ResourceExhausted,
        _ => Code::Internal,
    };
    Status::new(code, rejection.message()).into_http()
}

/// Sets the HTTP status of refusals, because gRPC clients ignore their gRPC status otherwise.
fn with_status_200(mut response: Response<Body>) -> Response<Body> {
    *response.status_mut() = StatusCode::OK;
    response
}
