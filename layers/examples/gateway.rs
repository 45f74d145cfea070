//! An authenticated, limited reverse proxy in front of any JSON-RPC backend, on hyper alone.
//! It listens on `LISTEN`, expects the token in `TOKEN` and forwards admitted requests to
//! `BACKEND`.

use std::{env, error::Error};

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri, Version, header};
use http_body_util::{Either, Full};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo, TokioTimer},
    service::TowerToHyperService,
};
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
    let setting = |name| env::var(name).map_err(|_| format!("set {name}"));
    let listener = TcpListener::bind(setting("LISTEN")?).await?;
    let backend: Uri = setting("BACKEND")?.parse()?;
    let token = TokenHash::of(&setting("TOKEN")?);
    let client = Client::builder(TokioExecutor::new()).build_http();
    let render = ErrorString.map_body(|bytes| Body::Left(Full::new(bytes)));

    let forward = service_fn(move |mut request: Request<LimitedBody<Incoming>>| {
        *request.uri_mut() = backend.clone();
        // The token was for this gateway; the others are hop-by-hop headers.
        for name in [header::AUTHORIZATION, header::HOST, header::CONNECTION] {
            request.headers_mut().remove(name);
        }
        let answer = client.request(request);
        async move {
            let refusal = Rejection::new(StatusCode::BAD_GATEWAY, "no_answer", "No answer");
            let answer: Result<Response<Incoming>, _> = answer.await;
            answer.map_or_else(
                |_| Ok::<_, hyper::Error>(refusal.into_response(&render)),
                |mut answer| {
                    *answer.version_mut() = Version::default();
                    Ok(answer.map(Body::Right))
                },
            )
        }
    });
    let stack = ServiceBuilder::new()
        .layer(SanitizeLayer::new().with_render(render))
        .layer(BodyLimitLayer::new(1 << 20).with_render(render))
        .layer(RateLimitLayer::new(Steady::new("600 per minute".parse()?)).with_render(render))
        .layer(BearerLayer::new(Hashed::from_iter([(token, ())])).with_render(render))
        .service(forward);

    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new());
    let mut connections = JoinSet::new();
    loop {
        let (stream, peer) = listener.accept().await?;
        let peer = ClientIp::from_peer(peer);
        let stack = stack.clone().map_request(move |mut request: Request<_>| {
            request.extensions_mut().insert(peer);
            request
        });
        let service = TowerToHyperService::new(stack);
        connections.spawn(http.serve_connection(TokioIo::new(stream), service));
        while connections.try_join_next().is_some() {}
    }
}
