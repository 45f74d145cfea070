//! The layers around an axum router: each is an ordinary `tower::Layer`.
//!
//! ```console
//! $ TOKEN=open-sesame cargo run -p ziggurat-layers --features full --example axum_app
//! $ curl -i -H 'Authorization: Bearer open-sesame' http://127.0.0.1:8080/hello
//! $ curl -i http://127.0.0.1:8080/hello
//! ```

use std::{env, error::Error, io, net::SocketAddr};

use axum::{
    Extension, Json, Router,
    routing::{get, post},
};
use tokio::net::TcpListener;
use tower::ServiceBuilder;
use ziggurat_layers::{
    bearer::{BearerLayer, Challenge, Hashed, TokenHash},
    body_limit::BodyLimitLayer,
    client_ip::{FromConnectInfoLayer, HopHeader, SetClientIpLayer, TrustedProxies},
    link::{LinkLayer, LinkValue},
    rate_limit::{FailureWindow, RateLimitLayer},
    sanitize::SanitizeLayer,
};

/// The name that a token proves.
#[derive(Clone)]
struct Caller(&'static str);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let token = env::var("TOKEN").map_err(|_| "set TOKEN")?;
    let tokens = Hashed::from_iter([(TokenHash::of(&token), Caller("ali"))]);
    let trusted: TrustedProxies = "10.0.0.0/8".parse()?;

    // The order of a request: the first layer sees it first.
    let layers = ServiceBuilder::new()
        .layer(FromConnectInfoLayer::new())
        // Outside of the next layer, so that its responses to faults get the link, too.
        .layer(LinkLayer::new([LinkValue::service_desc("/openapi.json")?]))
        .layer(SanitizeLayer::new())
        .layer(BodyLimitLayer::new(64 * 1024))
        .layer(SetClientIpLayer::new(trusted, HopHeader::XForwardedFor))
        .layer(RateLimitLayer::new(FailureWindow::new(
            "10 per 15 minutes".parse()?,
        )))
        .layer(
            BearerLayer::new(tokens)
                .with_challenge(Challenge::new().with_realm("axum app")?)
                .with_exempt(["/health"]),
        );
    let app = Router::new()
        .route("/health", get(async || "ok"))
        .route("/hello", get(hello))
        .route("/echo", post(async |body: String| body))
        .layer(layers);

    let listen = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(listen).await?;
    tracing::info!("listening on http://{}", listener.local_addr()?);
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).await?;
    Ok(())
}

async fn hello(Extension(Caller(name)): Extension<Caller>) -> Json<String> {
    Json(format!("hello {name}"))
}
