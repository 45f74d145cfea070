//! The layers of the server, in the order in which a request passes them.

use std::net::IpAddr;

use anyhow::Context as _;
use axum::{Router, routing::get};
use http::Request;
use tower::ServiceBuilder;
use ziggurat_account_service::{self as platform, ErrorFormat, Options, Store, Tokens};
use ziggurat_http::{Absent, Detour, Edge, Readiness, body_budget, health};
use ziggurat_layers::{
    bearer::{BearerLayer, Hashed},
    body_limit::BodyLimitLayer,
    client_ip::SetClientIpLayer,
    origin::Origins,
    shutdown::CutOff,
};
use ziggurat_serve::HttpService;
use ziggurat_sign_in_state::SignInStore;
use ziggurat_tokens::Identity;

use crate::{
    configuration::Configuration,
    observation::{Observation, count, count_exchange},
};

/// Paths of probes, allowed for any host and without a token.
const PROBES: [&str; 2] = ["/health", "/ready"];

/// The service behind the layers.
pub(crate) struct Served {
    pub(crate) store: Store,
    pub(crate) tokens: Tokens,
    /// Grants of people, if they sign in here.
    pub(crate) sign_in: Option<SignInStore>,
    pub(crate) readiness: Readiness,
}

/// Builds the layers around the service. The paths of a sign-in take the detour.
///
/// # Errors
/// Fails if the path of the description or the name of a host is invalid.
pub(crate) fn build(
    configuration: &Configuration,
    address: IpAddr,
    behind: Served,
    detour: Option<Detour>,
    cut_off: CutOff,
    observation: &Observation,
) -> anyhow::Result<impl HttpService> {
    let server = &configuration.server;
    let hosts = server.hosts(address).context("server.allowed_hosts")?;
    let metrics = &observation.metrics;
    let counted = metrics.is_on().then(|| {
        let metrics = metrics.clone();
        move |request: &mut Request<_>| count(&metrics, request)
    });
    let exchanges = metrics.is_on().then(|| {
        let metrics = metrics.clone();
        move |request: &mut Request<_>| Ok(count_exchange(&metrics, request))
    });
    let max_bytes = configuration.max_body_bytes;
    let bodies = BodyLimitLayer::new(max_bytes)
        .with_budget(body_budget(max_bytes), Identity::body_caller)
        .with_render(ErrorFormat);
    let edge = Edge {
        render: ErrorFormat,
        metrics: metrics.clone(),
        is_encrypted: server.tls.is_some(),
        shows_faults: false,
        has_request_ids: true,
        description: platform::DESCRIPTION,
        cut_off,
        proxies: Some(SetClientIpLayer::new(
            server.trusted.clone(),
            server.header.clone(),
        )),
        records: counted,
        probes: &PROBES,
        rate_limit: server.rate_limit,
        detour,
        // Clients are programs, so only pages of this machine and of the service itself are allowed.
        origins: Some(Origins::loopback().with_own(&hosts)),
        hosts,
        pages: None,
        preflight: None,
        session: None::<Absent>,
        // The service checks tokens itself.
        bearer: None::<BearerLayer<Hashed<()>>>,
        call: exchanges,
    };
    let routes = ServiceBuilder::new()
        // One body limit for all routes.
        .layer(bodies)
        .service(routes(configuration, behind, observation));
    edge.in_front_of(routes)
        .context("the path of the description")
}

/// Serves the accounts and the probe, with hooks for tests of clients if they are configured.
fn routes(configuration: &Configuration, behind: Served, observation: &Observation) -> Router {
    let clock = &configuration.tests.clock;
    let mut options = Options::default();
    options.attempts = configuration.attempts;
    options.clock = clock.clone();
    options.sign_in = behind.sign_in;
    options.document = ziggurat_openapi::PLATFORM;
    options.tracer = observation.tracer.clone();
    let [alive, ready] = PROBES;
    let version = env!("CARGO_PKG_VERSION");
    let service = platform::service(behind.store, behind.tokens, &options)
        .route(alive, get(health("ziggurat-platform", version)))
        .route(ready, get(behind.readiness));
    #[cfg(feature = "test-support")]
    if configuration.tests.are_hooked {
        return platform::Hooks::new(clock.clone()).on(service);
    }
    service
}
