//! The layers around every request, from the outside in.

use std::net::IpAddr;

use anyhow::Context as _;
use axum::{Router, body::Body};
use http::Request;
use tower::{ServiceBuilder, util::option_layer};
use ziggurat_calls::Calls;
use ziggurat_console::rag as pages;
use ziggurat_http::{Absent, AroundLayer, CorsLayer, Document, Edge, PostLayer};
use ziggurat_layers::{host::Hosts, origin::Origins, shutdown::CutOff};
use ziggurat_rag_service::{
    self as rag, CHAT_PATHS, ChatErrors, ErrorLine, Options, Timeouts, mcp,
};
use ziggurat_serve::HttpService;

use crate::{
    app::App,
    authentication::Authentication,
    configuration::{Configuration, Server},
    logs::log_request,
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
    configuration: &Configuration,
    address: IpAddr,
    app: &App,
    auth: Option<&Authentication>,
    cut_off: &CutOff,
    calls: &Calls,
) -> anyhow::Result<impl HttpService> {
    let server = &configuration.server;
    let hosts = server.hosts(address).context("server.allowed_hosts")?;
    let bearer = auth.map(|auth| {
        let bearer = auth.layer().with_exempt(PROBES).with_exempt(OPEN);
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
    let records = calls
        .is_on()
        .then_some(move |request: &mut Request<_>| observed.identify(ENDPOINTS, request));
    let edge = Edge {
        render: ErrorLine,
        metrics: calls.metrics.clone(),
        is_encrypted: server.tls.is_some(),
        shows_faults: false,
        has_request_ids: calls.has_request_ids(),
        description: rag::DESCRIPTION,
        cut_off: cut_off.clone(),
        // No proxy is trusted for addresses.
        proxies: None,
        records,
        probes: &PROBES,
        rate_limit: server.rate_limit,
        detour: None,
        origins: origins(server, &hosts),
        hosts,
        pages: pages(server),
        preflight: None,
        session: None::<Absent>,
        bearer,
        // The service limits callers itself, and the body, after it has found the pipeline.
        call: None::<Absent>,
    };
    let options = options(server, app, cut_off, calls);
    let tools = document_tools(configuration, app, &options);
    let routes = ServiceBuilder::new()
        .layer(option_layer(tools))
        .service(routes(server, app, auth, options));
    let edge = edge.in_front_of(routes);
    Ok(ServiceBuilder::new()
        // Outermost, so that every request is logged with its final status, preflights included.
        .layer(AroundLayer::new(log_request))
        .service(edge.context("the path of the description")?))
}

/// Leads calls of tools to the pipelines, if this is configured.
fn document_tools(
    configuration: &Configuration,
    app: &App,
    options: &Options,
) -> Option<PostLayer<impl HttpService<ResponseBody = Body> + use<>>> {
    let tools = configuration
        .server
        .mcp
        .then(|| app.tools(options.clone(), configuration.mcp))?;
    Some(PostLayer::new(mcp::PATH, mcp::service(&tools)))
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
    if server.mcp {
        routes = routes.route(mcp::PATH, rag::posting());
    }
    if server.console {
        routes = routes.merge(rag::console_service(app.pipelines.clone(), server.mcp));
        for (path, file) in pages::pages() {
            routes = routes.route(&path, rag::reading(file));
        }
    }
    let issuer = server.auth.as_ref().and_then(|auth| auth.issuer.as_ref());
    if let Some(issuer) = issuer {
        let metadata = Document::new("application/json", issuer.metadata(""));
        for path in issuer.metadata_paths() {
            routes = routes.route(&path, rag::reading(metadata.clone()));
        }
    }
    rag::service(app.pipelines.clone(), options).merge(routes)
}

/// Returns the pages that may read all responses.
fn pages(server: &Server) -> Option<CorsLayer> {
    let pages = CorsLayer::listed(server.cors.as_ref()?);
    Some(match server.auth {
        Some(_) => pages.with_tokens(),
        None => pages,
    })
}

/// Returns the origins of the pages that may use the server: the listed ones, or this machine, and
/// the server itself; `None` if all may.
fn origins(server: &Server, hosts: &Hosts) -> Option<Origins> {
    let origins = match &server.cors {
        Some(listed) if listed.iter().any(|origin| origin == "*") => return None,
        Some(listed) => Origins::exactly(listed),
        None => Origins::loopback(),
    };
    Some(origins.with_own(hosts))
}

/// Returns the options of the service.
pub(crate) fn options(server: &Server, app: &App, cut_off: &CutOff, calls: &Calls) -> Options {
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
