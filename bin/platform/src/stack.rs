//! The way of a request, from the outside in, on one screen.

use std::{convert::Infallible, error::Error};

use anyhow::Context as _;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower::{Service, ServiceBuilder};
use ziggurat_layers::{
    body_limit::BodyLimitLayer,
    client_ip::ClientIpLayer,
    link::{Link, LinkLayer},
    sanitize::SanitizeLayer,
};
use ziggurat_services::{
    accounts::WallClock,
    edge::HeadersLayer,
    platform::{self, Coded, Hooks, NumberLayer, Options, Store, Tokens},
    serve::RequestBody,
};

use crate::configuration::Configuration;

/// Builds the tower over what is kept.
///
/// # Errors
/// Fails if the path of the description makes no sense.
pub(crate) fn build(
    configuration: &Configuration,
    store: Store,
    tokens: Tokens,
    clock: WallClock,
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
    let mut service = platform::service(store, tokens, &options);
    if configuration.tests.are_hooked {
        service = Hooks::new(clock).on(service);
    }
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
        // Nobody is worth more than this.
        .layer(BodyLimitLayer::new(configuration.max_body_bytes).with_render(Coded))
        // Who is calling; failed exchanges are counted by it.
        .layer(ClientIpLayer::new(
            configuration.server.trusted.clone(),
            configuration.server.header.clone(),
        ))
        .service(service))
}
