//! The way of a request, from the outside in, on one screen.

use std::{convert::Infallible, error::Error, net::IpAddr};

use anyhow::Context as _;
use axum::routing::get_service;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower::{Service, ServiceBuilder};
use ziggurat_account_service::{
    self as platform, Coded, Hooks, NumberLayer, Options, Store, Tokens,
};
use ziggurat_accounts::WallClock;
use ziggurat_http::{
    CutOffLayer, HeadersLayer, HostLayer, OriginLayer, Origins,
    serve::{Readiness, Ready, RequestBody},
};
use ziggurat_layers::{
    body_limit::BodyLimitLayer,
    client_ip::ClientIpLayer,
    link::{Link, LinkLayer},
    sanitize::SanitizeLayer,
};
use ziggurat_runtime::cut_off::CutOff;

use crate::configuration::Configuration;

/// The path that probes ask, by any host and without a token.
const PROBES: [&str; 1] = ["/ready"];

/// Builds the tower over what is kept.
///
/// # Errors
/// Fails if the path of the description or the name of a host makes no sense.
pub(crate) fn build(
    configuration: &Configuration,
    address: IpAddr,
    readiness: Readiness,
    store: Store,
    tokens: Tokens,
    clock: WallClock,
    cut_off: CutOff,
) -> anyhow::Result<
    impl Service<
        Request<RequestBody>,
        Response = Response<
            impl Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
        >,
        Error = Infallible,
        Future: Send + 'static,
    > + Clone
    + Send
    + 'static,
> {
    let mut options = Options::default();
    options.attempts = configuration.attempts;
    options.clock = clock.clone();
    options.document = ziggurat_openapi::PLATFORM;
    let [ready] = PROBES;
    let mut service = platform::service(store, tokens, &options);
    service = service.route(
        ready,
        get_service(Ready::<axum::body::Body>::new(readiness)),
    );
    if configuration.tests.are_hooked {
        service = Hooks::new(clock).on(service);
    }
    let hosts = configuration.server.hosts(address);
    let hosts = hosts.context("server.allowed_hosts")?;
    // Clients are programs; of pages only those of this machine and of the service itself get in.
    let origins = Origins::loopback().with_own(&hosts);
    let description =
        Link::service_desc(platform::DESCRIPTION).context("the path of the description")?;

    Ok(ServiceBuilder::new()
        // Outside of the rest, so that every response has them, refusals and faults too.
        .layer(HeadersLayer::new().with_tls(configuration.server.tls.is_some()))
        // What a client quotes when it complains is what the log says.
        .layer(NumberLayer)
        // Whatever goes wrong below leaves as one fixed sentence.
        .layer(SanitizeLayer::new().with_render(Coded))
        // Where to read what is offered: to whoever is turned away below, too.
        .layer(LinkLayer::new([description]))
        // Before anything is read: requests meant for another host, and pages of other origins.
        .layer(
            HostLayer::new(hosts)
                .with_exempt(&PROBES)
                .with_render(Coded),
        )
        .layer(OriginLayer::new(origins).without_cors().with_render(Coded))
        // What is still worked on when the time to finish is over.
        .layer(CutOffLayer::new(cut_off).with_render(Coded))
        // One body limit for all routes.
        .layer(BodyLimitLayer::new(configuration.max_body_bytes).with_render(Coded))
        // Who is calling; failed exchanges are counted by it.
        .layer(ClientIpLayer::new(
            configuration.server.trusted.clone(),
            configuration.server.header.clone(),
        ))
        .service(service))
}
