//! The layers of the server, in the order in which a request passes them.

use std::net::IpAddr;

use anyhow::Context as _;
use axum::{Router, routing::get};
use http::Request;
use tower::{ServiceBuilder, util::option_layer};
use ziggurat_account_service::{self as platform, ErrorFormat, Options, Store, Tokens};
use ziggurat_http::{
    AroundLayer, CountedRefusal, ExceptLayer, Readiness, add_request_id, body_budget, headers,
};
use ziggurat_layers::shutdown::{CutOff, ShutdownLayer};
use ziggurat_layers::{
    body_limit::BodyLimitLayer,
    client_ip::SetClientIpLayer,
    host::HostLayer,
    link::{LinkLayer, LinkValue},
    origin::{OriginLayer, Origins},
    rate_limit::{RateLimitLayer, Steady},
    sanitize::SanitizeLayer,
};
use ziggurat_serve::HttpService;
use ziggurat_tokens::Identity;

use crate::{
    configuration::Configuration,
    observation::{Observation, count, count_exchange},
};

/// Paths of probes, allowed for any host and without a token.
const PROBES: [&str; 1] = ["/ready"];

/// Builds the layers around the service.
///
/// # Errors
/// Fails if the path of the description or the name of a host is invalid.
pub(crate) fn build(
    configuration: &Configuration,
    address: IpAddr,
    readiness: Readiness,
    store: Store,
    tokens: Tokens,
    cut_off: CutOff,
    observation: &Observation,
) -> anyhow::Result<impl HttpService> {
    let hosts = configuration.server.hosts(address);
    let hosts = hosts.context("server.allowed_hosts")?;
    // Clients are programs, so only pages of this machine and of the service itself are allowed.
    let origins = Origins::loopback().with_own(&hosts);
    let metrics = &observation.metrics;
    let refusal = |reason| CountedRefusal::new(metrics.clone(), reason, ErrorFormat);
    let limit = configuration.server.rate_limit.map(|quota| {
        let limit = RateLimitLayer::new(Steady::new(quota)).with_render(refusal("limit"));
        ExceptLayer::new(&PROBES, limit)
    });
    let counted = metrics.is_on().then(|| {
        let metrics = metrics.clone();
        AroundLayer::new(move |request: &mut Request<_>| count(&metrics, request))
    });
    let max_bytes = configuration.max_body_bytes;
    let bodies = BodyLimitLayer::new(max_bytes)
        .with_budget(body_budget(max_bytes), Identity::body_caller)
        .with_render(ErrorFormat);
    let exchanges = metrics.is_on().then(|| {
        let metrics = metrics.clone();
        AroundLayer::new(move |request: &mut Request<_>| count_exchange(&metrics, request))
    });
    let description =
        LinkValue::service_desc(platform::DESCRIPTION).context("the path of the description")?;

    Ok(ServiceBuilder::new()
        // Outermost, so that every response has these headers, including errors.
        .layer(headers(configuration.server.tls.is_some()))
        // Gives each request the id that both the log and the response contain.
        .layer(AroundLayer::new(add_request_id))
        // Replaces the details of internal errors by one fixed sentence.
        .layer(SanitizeLayer::new().with_render(ErrorFormat))
        // Above the layers that refuse requests, so that refusals link the description as well.
        .layer(LinkLayer::new([description]))
        // Determines the client address, by which requests and failed exchanges are counted.
        .layer(SetClientIpLayer::new(
            configuration.server.trusted.clone(),
            configuration.server.header.clone(),
        ))
        // Counts requests by their responses, refusals included.
        .layer(option_layer(counted))
        // Before everything that takes time, but for probes.
        .layer(option_layer(limit))
        // Refuses requests for other hosts and pages of other origins before reading anything.
        .layer(
            HostLayer::new(hosts)
                .with_exempt(PROBES)
                .with_render(refusal("host")),
        )
        .layer(OriginLayer::new(origins).with_render(refusal("origin")))
        // Counts the tokens that are issued, and the exchanges that fail.
        .layer(option_layer(exchanges))
        // Ends requests that still run when the shutdown time is over.
        .layer(ShutdownLayer::new(cut_off).with_render(ErrorFormat))
        // One body limit for all routes.
        .layer(bodies)
        .service(routes(configuration, readiness, store, tokens, observation)))
}

/// Serves the accounts and the probe, with hooks for tests of clients if they are configured.
fn routes(
    configuration: &Configuration,
    readiness: Readiness,
    store: Store,
    tokens: Tokens,
    observation: &Observation,
) -> Router {
    let clock = &configuration.tests.clock;
    let mut options = Options::default();
    options.attempts = configuration.attempts;
    options.clock = clock.clone();
    options.document = ziggurat_openapi::PLATFORM;
    options.tracer = observation.tracer.clone();
    let [ready] = PROBES;
    let service = platform::service(store, tokens, &options).route(ready, get(readiness));
    #[cfg(feature = "test-support")]
    if configuration.tests.are_hooked {
        return platform::Hooks::new(clock.clone()).on(service);
    }
    service
}
