//! The way of a request, from the outside in, on one screen.

use std::{convert::Infallible, error::Error, net::IpAddr};

use anyhow::Context as _;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower::{Service, ServiceBuilder, util::option_layer};
use ziggurat_http::{
    AllowedOrigins, CorsLayer, CutOffLayer, HostLayer, OriginLayer, Origins, serve::RequestBody,
};
use ziggurat_layers::{
    link::{Link, LinkLayer},
    sanitize::SanitizeLayer,
};
use ziggurat_rag_service::{self as rag, ErrorLine, Options, Pipelines, Timeouts};
use ziggurat_runtime::cut_off::CutOff;

use crate::{configuration::Server, logs::RequestsLayer};

/// Paths that probes ask, by any host.
const PROBES: [&str; 3] = ["/health", "/ready", "/v1/live"];

/// Builds the tower over the pipelines.
///
/// # Errors
/// Fails if the description has no path, and on the name of a host that makes no sense.
pub(crate) fn build(
    server: &Server,
    address: IpAddr,
    pipelines: Pipelines,
    cut_off: &CutOff,
) -> anyhow::Result<
    impl Service<
        Request<RequestBody>,
        Response = Response<
            impl Body<Data = Bytes, Error = Box<dyn Error + Send + Sync>> + Send + 'static,
        >,
        Error = Infallible,
        Future: Send + 'static,
    > + Clone
    + Send
    + 'static,
> {
    let options = Options {
        patience: Timeouts {
            request: server.request_timeout,
            stream_idle: server.stream_idle_timeout,
            stream_max: server.stream_max_duration,
            ping: server.ping_timeout,
        },
        retrieval_error_codes: server.retrieval_error_codes,
        keep_alive: server.stream_keep_alive,
        max_query: server.max_query_bytes,
        document: crate::DOCUMENT,
        cut_off: cut_off.clone(),
    };
    let hosts = server.hosts(address).context("server.allowed_hosts")?;
    let origins = server.cors.as_ref().map(AllowedOrigins::new);
    let admitted = match &server.cors {
        Some(listed) if listed.iter().any(|origin| origin == "*") => None,
        Some(listed) => Some(Origins::exactly(listed)),
        None => Some(Origins::loopback()),
    };
    let admitted = admitted.map(|origins| {
        let guard = OriginLayer::new(origins.with_own(&hosts));
        guard.without_cors().with_render(ErrorLine)
    });
    let description =
        Link::service_desc(rag::DESCRIPTION).context("the path of the description")?;

    Ok(ServiceBuilder::new()
        // Every request, and as the client sees it end: also one that a browser only asks about.
        .layer(RequestsLayer)
        // HttpClients of the rest, so that pages may read refusals and faults too.
        .layer(option_layer(origins.map(CorsLayer::new)))
        // Where to read what is offered: on all JSON, faults included.
        .layer(LinkLayer::new([description]))
        // Whatever goes wrong below leaves as one fixed sentence.
        .layer(SanitizeLayer::new().with_render(ErrorLine))
        // Before anything is read: requests meant for another host, and pages of other origins.
        .layer(
            HostLayer::new(hosts)
                .with_exempt(&PROBES)
                .with_render(ErrorLine),
        )
        .layer(option_layer(admitted))
        // A question that is still worked on when the time to finish is over; streams end
        // themselves.
        .layer(CutOffLayer::new(cut_off.clone()).with_render(ErrorLine))
        // How long a question may be is looked at there, once it is known whom it is for.
        .service(rag::service(pipelines, options)))
}
