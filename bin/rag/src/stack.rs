//! The layers around every request, from the outside in.

use std::net::IpAddr;

use anyhow::Context as _;
use axum::Router;
use http::Request;
use tower::{ServiceBuilder, util::option_layer};
use ziggurat_calls::Calls;
use ziggurat_console::rag as pages;
use ziggurat_http::{
    AllowedOrigins, AroundLayer, CorsLayer, CountedRefusal, Document, ExceptLayer, headers,
};
use ziggurat_layers::shutdown::{CutOff, ShutdownLayer};
use ziggurat_layers::{
    host::{HostLayer, Hosts},
    link::{LinkLayer, LinkValue},
    origin::{OriginLayer, Origins},
    rate_limit::{RateLimitLayer, Steady},
    sanitize::SanitizeLayer,
};
use ziggurat_rag_service::{self as rag, CHAT_PATHS, ChatErrors, ErrorLine, Options, Timeouts};
use ziggurat_serve::HttpService;

use crate::{
    app::App, authentication::Authentication, configuration::Server, logs::log_request,
    observation::ENDPOINTS,
};

/// Paths for probes, which may use any host name.
const PROBES: [&str; 3] = ["/health", "/ready", "/v1/live"];

/// Paths that need no token: the OpenAPI document, which is the same on every server, and the paths
/// where clients look for an issuer of tokens. Clients must learn there if no issuer exists.
const OPEN: [&str; 2] = [rag::DESCRIPTION, "/.well-known/*"];

/// A path that needs no token. Its answer depends on the caller.
const HEALTH: &str = "/v1/health";

/// Builds the layers over the pipelines and the limits of callers.
///
/// # Errors
/// Fails if the path of the OpenAPI document or the name of an allowed host is invalid.
pub(crate) fn build(
    server: &Server,
    address: IpAddr,
    app: &App,
    auth: Option<&Authentication>,
    cut_off: &CutOff,
    calls: &Calls,
) -> anyhow::Result<impl HttpService> {
    let hosts = server.hosts(address).context("server.allowed_hosts")?;
    let refusal = |reason| CountedRefusal::new(calls.metrics.clone(), reason, ErrorLine);
    let origins = origins(server, &hosts);
    let origins = origins.map(|origins| origins.with_render(refusal("origin")));
    let limit = server.rate_limit.map(|quota| {
        let limit = RateLimitLayer::new(Steady::new(quota)).with_render(refusal("limit"));
        ExceptLayer::new(&PROBES, limit)
    });
    let description =
        LinkValue::service_desc(rag::DESCRIPTION).context("the path of the description")?;

    let bearer = auth.map(|auth| {
        let bearer = auth.layer().with_render(ErrorLine);
        let bearer = bearer.with_exempt(PROBES).with_exempt(OPEN);
        // Those have a layer of their own.
        let chat = server.openai_compatible.then_some(CHAT_PATHS);
        // The page is the same on every server; what it shows needs a token.
        let console = server.console.then_some(pages::OPEN_PATHS);
        bearer
            .with_exempt(console.into_iter().flatten())
            .with_exempt(chat.into_iter().flatten())
            .with_optional([HEALTH])
    });

    let observed = calls.clone();
    let records = calls.is_on().then(|| {
        AroundLayer::new(move |request: &mut Request<_>| observed.identify(ENDPOINTS, request))
    });

    Ok(ServiceBuilder::new()
        // Outermost, so that every request is logged with its final status, preflights included.
        .layer(AroundLayer::new(log_request))
        // Counts requests, and gives them an id.
        .layer(option_layer(records))
        // Outside of the rest, so that refusals and faults have the headers too.
        .layer(headers(server.tls.is_some()))
        // Outside of the guards, so that pages can also read refusals and failures.
        .layer(option_layer(cors(server)))
        // Adds the `Link` header to every JSON response, failures included.
        .layer(LinkLayer::new([description]))
        // Replaces the details of any failure below by one fixed message.
        .layer(SanitizeLayer::new().with_render(ErrorLine))
        // Before everything that takes time, but for probes. No proxy is trusted for addresses.
        .layer(option_layer(limit))
        // Refuses requests for other hosts, and from pages of other origins, before the body is
        // read.
        .layer(
            HostLayer::new(hosts)
                .with_exempt(PROBES)
                .with_render(refusal("host")),
        )
        .layer(option_layer(origins))
        // Answers requests that still run at the end of the shutdown time; streams end themselves.
        .layer(ShutdownLayer::new(cut_off.clone()).with_render(ErrorLine))
        // Before a pipeline is found, or anything is counted for a caller.
        .layer(option_layer(bearer))
        // The service limits the body itself, after it has found the pipeline.
        .service(routes(
            server,
            app,
            auth,
            options(server, app, cut_off, calls),
        )))
}

/// Serves the pipelines, the console, also models if this is configured, and the metadata of an issuer.
fn routes(server: &Server, app: &App, auth: Option<&Authentication>, options: Options) -> Router {
    let mut routes = Router::new();
    if server.openai_compatible {
        let chat = rag::chat_service(app.pipelines.clone(), options.clone());
        // Refuses tokens in the format of this API.
        let bearer = auth.map(|auth| auth.layer().with_render(ChatErrors));
        routes = chat.layer(option_layer(bearer));
    }
    if server.console {
        routes = routes.merge(rag::console_service(app.pipelines.clone()));
        for (path, file) in pages::pages() {
            routes = routes.route(&path, rag::reading(file));
        }
    }
    let issuer = server.auth.as_ref().and_then(|auth| auth.issuer.as_ref());
    if let Some(issuer) = issuer {
        let metadata = Document::new("application/json", issuer.metadata());
        for path in issuer.metadata_paths() {
            routes = routes.route(&path, rag::reading(metadata.clone()));
        }
    }
    rag::service(app.pipelines.clone(), options).merge(routes)
}

/// Lets pages of the listed origins read responses.
fn cors(server: &Server) -> Option<CorsLayer> {
    let listed = server.cors.as_ref()?;
    let mut allowed = AllowedOrigins::new(listed);
    if server.auth.is_some() {
        allowed = allowed.with_tokens();
    }
    Some(CorsLayer::new(allowed))
}

/// Refuses pages of other origins than those listed, this machine and the server itself, unless all
/// are allowed.
fn origins(server: &Server, hosts: &Hosts) -> Option<OriginLayer> {
    let origins = match &server.cors {
        Some(listed) if listed.iter().any(|origin| origin == "*") => return None,
        Some(listed) => Origins::exactly(listed),
        None => Origins::loopback(),
    };
    Some(OriginLayer::new(origins.with_own(hosts)))
}

/// Returns the options of the service.
fn options(server: &Server, app: &App, cut_off: &CutOff, calls: &Calls) -> Options {
    Options {
        timeouts: Timeouts {
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
        limits: app.limits.clone(),
        calls: calls.clone(),
        ..Options::default()
    }
}
