//! An authenticated, limited reverse proxy in front of a JSON-RPC backend, on hyper alone.
//!
//! ```console
//! $ BACKEND=http://127.0.0.1:9000/ TOKEN=open-sesame \
//!     cargo run -p ziggurat-layers --features full --example hyper_gateway
//! $ curl -i -H 'Authorization: Bearer open-sesame' http://127.0.0.1:8080/
//! ```

use std::{convert::Infallible, env, error::Error, io};

use bytes::Bytes;
use http::{Request, StatusCode, Uri, Version, header};
use http_body_util::{Either, Full};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{client::legacy::Client, rt, service::TowerToHyperService};
use tokio::{net::TcpListener, task::JoinSet};
use tower::{ServiceBuilder, ServiceExt as _, service_fn};
use ziggurat_layers::{
    bearer::{BearerLayer, Hashed, TokenHash},
    body_limit::{BodyLimitLayer, LimitedBody},
    client_ip::ClientIp,
    rate_limit::{RateLimitLayer, Steady},
    reject::{ErrorString, Rejection, RenderExt as _},
    sanitize::SanitizeLayer,
};

/// A refusal of the gateway, or the answer of the backend as it streams in.
type Body = Either<Full<Bytes>, Incoming>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let backend: Uri = env::var("BACKEND").map_err(|_| "set BACKEND")?.parse()?;
    let token = TokenHash::of(&env::var("TOKEN").map_err(|_| "set TOKEN")?);
    let listen = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(listen).await?;
    let client = Client::builder(rt::TokioExecutor::new()).build_http();
    let render = ErrorString.map_body(|bytes| Body::Left(Full::new(bytes)));

    let forward = service_fn(move |mut request: Request<LimitedBody<Incoming>>| {
        *request.uri_mut() = backend.clone();
        // The token was for this gateway; the others are about its connection.
        for name in [header::AUTHORIZATION, header::HOST, header::CONNECTION] {
            request.headers_mut().remove(name);
        }
        let answer = client.request(request);
        async move {
            let refusal = Rejection::new(StatusCode::BAD_GATEWAY, "no_answer", "No answer");
            Ok::<_, Infallible>(match answer.await {
                Ok(mut answer) => {
                    *answer.version_mut() = Version::default();
                    answer.map(Body::Right)
                }
                Err(_) => refusal.into_response(&render),
            })
        }
    });
    let stack = ServiceBuilder::new()
        .layer(SanitizeLayer::new().with_render(render))
        .layer(BodyLimitLayer::new(1 << 20).with_render(render))
        .layer(RateLimitLayer::new(Steady::new("600 per minute".parse()?)).with_render(render))
        .layer(BearerLayer::new(Hashed::from_iter([(token, ())])).with_render(render))
        .service(forward);

    tracing::info!("listening on http://{}", listener.local_addr()?);
    let mut http = http1::Builder::new();
    http.timer(rt::TokioTimer::new());
    let mut connections = JoinSet::new();
    loop {
        let (stream, peer) = listener.accept().await?;
        let stack = stack.clone().map_request(move |mut request: Request<_>| {
            request.extensions_mut().insert(ClientIp::from_peer(peer));
            request
        });
        let service = TowerToHyperService::new(stack);
        connections.spawn(http.serve_connection(rt::TokioIo::new(stream), service));
        while connections.try_join_next().is_some() {}
    }
}
