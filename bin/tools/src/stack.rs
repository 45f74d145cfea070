//! The way of a request, from the outside in, on one screen.

use std::{convert::Infallible, error::Error, net::IpAddr};

use anyhow::Context as _;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Body;
use tower::{Service, ServiceBuilder, util::option_layer};
use ziggurat_chat_api as rest;
use ziggurat_http::{
    CutOffLayer, Document, EitherBody, HeadersLayer, Health, HostLayer, Hosts, OriginLayer,
    Origins, Routes,
    serve::{Ready, RequestBody},
};
use ziggurat_layers::{
    bearer::{BearerLayer, Challenge},
    body_limit::BodyLimitLayer,
    client_ip::ClientIpLayer,
    json_rpc::JsonRpcLayer,
    link::{Link, LinkLayer},
    reject::SuccessFlag,
    sanitize::SanitizeLayer,
};
use ziggurat_mcp::{
    dialect,
    protocol::{self, ProtocolLayer},
    streamable::StreamableLayer,
};
use ziggurat_postgres_tools::LoginLayer;

use crate::{
    app::App,
    catalogue::{NAME, VERSION},
    configuration::{Configuration, Http, TrustedIssuer},
    logs::TrafficLayer,
    state::Conversations,
};

/// What describes the server: the document under two names, and the page that shows it.
///
/// All of it is for everybody: it is the same on every server and holds no
/// secret, a client reads it to learn how to come in, and the address bar of a browser carries
/// no token. Whoever takes them out of the exempt paths has to send one.
const DESCRIPTION: [&str; 3] = [ziggurat_openapi::PATH, "/openapi.json", "/docs"];

/// Where clients look for the issuer of tokens (RFC 9728, section 3.1).
const METADATA: [&str; 2] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
];

/// Paths that probes ask, by any host and without a token.
const PROBES: [&str; 2] = ["/health", "/ready"];

/// The root of the database endpoints.
const DATABASES: &str = "/api/databases";

/// Builds the tower over the services of a house.
///
/// # Errors
/// Fails on names of hosts and origins that make no sense.
#[expect(
    clippy::too_many_lines,
    reason = "the way of a request reads from the outside in, in one place"
)]
pub(crate) fn build(
    http: &Http,
    configuration: &Configuration,
    address: IpAddr,
    house: &App,
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
    let hosts = Hosts::of(address, &http.allowed_hosts).context("http.allowed_hosts")?;
    let origins = match &http.allowed_origins {
        Some(allowed) => Origins::listed(allowed).context("http.allowed_origins")?,
        None => Origins::loopback(),
    };
    let issuer = configuration.auth.issuer.as_ref();
    let issuer = issuer.filter(|_| house.guard.is_some());
    let challenge = challenge(issuer)?;
    let bearer = house.guard.clone().map(|guard| {
        BearerLayer::new(guard)
            .with_challenge(challenge.clone())
            // Guessing 32 random bytes needs no counting. Failed logins are counted where
            // passwords are checked.
            .with_failures_reported(false)
    });
    let login = LoginLayer::new()
        .with_required(house.accounts.is_some())
        .with_challenge(&challenge);
    // Nobody is worth more than this.
    let max_bytes = configuration.limits.max_body_bytes;
    let limit = BodyLimitLayer::new(max_bytes);
    let framing = JsonRpcLayer::new().with_max_bytes(max_bytes.try_into().unwrap_or(usize::MAX));
    let calls = ServiceBuilder::new()
        .layer(framing.with_dialect(dialect()))
        .service(house.mcp.clone());
    let calls = ServiceBuilder::new()
        .map_response(|response: Response<_>| {
            response.map(|body| EitherBody::first(EitherBody::first(body)))
        })
        // Without a token there is one call: the login. Whatever else comes without one is
        // refused for that, and not for its method.
        .layer(login)
        .service(Routes::new().at("/mcp/v1", [Method::POST], calls));
    // All revisions on one path. Nobody logs in here, so nobody comes without a token.
    let negotiated = ServiceBuilder::new()
        .map_response(|response: Response<_>| {
            response.map(|body| EitherBody::first(EitherBody::second(body)))
        })
        // What has to be said before the answer makes it a stream of events.
        .layer(StreamableLayer::new())
        // After the method and the type of the content, before a byte is read.
        .layer(limit.clone())
        .layer(framing.with_dialect_of(protocol::dialect_of))
        // Which revision it is, and whether headers and message agree.
        .layer(ProtocolLayer::http())
        .service(house.mcp.clone());
    // Refusals here have a format of their own, that of a missing token included.
    let databases = ServiceBuilder::new()
        .map_response(|response: Response<_>| response.map(EitherBody::second))
        .layer(option_layer(
            bearer.clone().map(|bearer| bearer.with_render(SuccessFlag)),
        ))
        .layer(limit.clone())
        .service(rest::router([rest::databases::routes(
            house.databases.clone(),
        )]));
    let areas = [
        Some(rest::user::routes()),
        house.conversations.clone().map(|kept| match kept {
            Conversations::Here(store) => rest::conversations::routes(store),
            Conversations::Shared(store) => rest::conversations::routes(store),
        }),
        house.proxy.clone().map(rest::llm::routes),
        Some(rest::compact::routes()),
    ];
    let rest = ServiceBuilder::new()
        .map_response(|response: Response<_>| response.map(EitherBody::second))
        .service(rest::router(areas.into_iter().flatten()));
    let document = Document::new("application/json", ziggurat_openapi::TOOLS);
    let [own, usual, page] = DESCRIPTION;
    let [health, ready] = PROBES;
    let reading = [Method::GET, Method::HEAD];
    let others = Routes::new()
        .under("/mcp/v1", calls)
        .under("/api/", rest)
        .at(health, reading.clone(), Health::new(NAME, VERSION))
        .at(ready, reading.clone(), Ready::new(house.readiness.clone()))
        .at(own, reading.clone(), document.clone())
        .at(usual, reading.clone(), document)
        .at(
            page,
            reading.clone(),
            Document::page(ziggurat_openapi::PAGE),
        );
    // Where no issuer is trusted nothing is there, at a path that no request has: anything but a
    // clear 404 would have clients look for one.
    let [root, mcp] = issuer.map_or([""; 2], |_| METADATA);
    let metadata = issuer.map(TrustedIssuer::metadata).unwrap_or_default();
    let metadata = Document::new("application/json", metadata);
    let others = others
        .at(root, reading.clone(), metadata.clone())
        .at(mcp, reading, metadata);
    // Everywhere else the size comes first, whatever is at the path.
    let others = ServiceBuilder::new().layer(limit).service(others);
    let routes = Routes::new()
        .under("", others)
        .under(DATABASES, databases)
        .at("/mcp", [Method::POST], negotiated);
    let description = Link::service_desc(own).context("the path of the description")?;
    let bearer = bearer.map(|bearer| {
        bearer
            // Probes have no token; and a client that looks for an OAuth server must learn that
            // there is none, instead of being asked for a token.
            .with_exempt(PROBES)
            .with_exempt(["/.well-known/*"])
            .with_exempt(DESCRIPTION)
            // They ask for it themselves.
            .with_exempt([DATABASES, "/api/databases/*"])
            // A login comes without one. What else does is refused where calls are read.
            .with_optional(["/mcp/v1"])
    });

    Ok(ServiceBuilder::new()
        // Somebody wants to see everything as it comes and goes.
        .layer(option_layer(configuration.debug.then_some(TrafficLayer)))
        // Outside of the rest, so that every response has them, refusals and faults too.
        .layer(HeadersLayer::new().with_tls(http.tls.is_some()))
        // Whatever goes wrong below leaves as one fixed sentence.
        .layer(SanitizeLayer::new().with_detail(configuration.debug))
        // Where to read what is offered: to whoever is turned away below, too.
        .layer(LinkLayer::new([description]))
        // What is still worked on when the time to finish is over; calls answer themselves.
        .layer(CutOffLayer::new(house.cut_off.clone()))
        // Before anything is read: pages of strangers are turned away.
        .layer(HostLayer::new(hosts).with_exempt(&PROBES))
        .layer(OriginLayer::new(origins))
        // Who is calling; logins are counted by it.
        .layer(ClientIpLayer::new(
            http.client_ip.trusted.clone(),
            http.client_ip.header.clone(),
        ))
        // A stranger is told nothing but that: how much is too much is for those who may come in.
        .layer(option_layer(bearer))
        .service(routes))
}

/// What a refusal says besides `Bearer`: where tokens come from, if from an issuer.
fn challenge(issuer: Option<&TrustedIssuer>) -> anyhow::Result<Challenge> {
    let mut challenge = Challenge::new();
    if let Some(issuer) = issuer {
        let [_, metadata] = METADATA;
        let url = format!("{}{metadata}", issuer.public_url);
        challenge = challenge.with_resource_metadata(url)?;
        if !issuer.scopes.is_empty() {
            challenge = challenge.with_scope(issuer.scopes.join(" "))?;
        }
    }
    Ok(challenge)
}
