//! The order of the layers, from the outside in.

mod activity;
mod resource;
mod web_console;

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use axum::{
    Router,
    body::Body,
    extract::Path,
    handler::Handler,
    middleware::from_fn_with_state,
    response::IntoResponse,
    routing::{MethodRouter, any, get},
};
use http::{HeaderMap, Request, header::ALLOW};
use tower::{
    ServiceBuilder,
    util::{MapResponseLayer, option_layer},
};
use ziggurat_admin_api::{AdminApi, Services, program::SharedProgram};
use ziggurat_calls::activity::ActivityApi;
use ziggurat_chat_api as chat_api;
use ziggurat_console::{self as pages, SignIn};
use ziggurat_http::{
    AdmitLayer, AroundLayer, CorsLayer, Document, Edge, ErrorAndCode, PostLayer, Refusal,
    body_budget, health,
};
use ziggurat_layers::{
    bearer::{BearerLayer, Challenge},
    body_limit::BodyLimitLayer,
    json_rpc::JsonRpcLayer,
    origin::Origins,
    reject::{ErrorString, Render, SuccessFlag},
};
use ziggurat_mcp::{
    dialect,
    protocol::{self, ProtocolLayer},
    streamable::StreamableLayer,
};
use ziggurat_postgres_tools::LoginLayer;
use ziggurat_serve::HttpService;
use ziggurat_tokens::{Identity, issuer::TrustedIssuer};

use crate::{
    app::{App, Verifier},
    configuration::{Auth, Configuration, Http},
    interface::{CALLS, NAME, VERSION},
    logs::log_traffic,
    observation::receipts,
    requests::{
        Door,
        exports::{ExportCallers, identify_export},
        observe_list, observe_request, observe_statement,
        open_paths::{DESCRIPTION, PROBES, WELL_KNOWN},
        show_unavailable,
    },
    sign_in::ServedSignIn,
    stack::{
        activity::ConnectionCounts,
        resource::name_address,
        web_console::{Console, home},
    },
    state::replica,
};

/// Paths of the database endpoints, which refuse in a format of their own.
const DATABASES: [&str; 3] = [
    "/api/databases",
    "/api/databases/",
    "/api/databases/{*path}",
];

/// Path of the calls of clients that negotiate no revision.
const LEGACY: &str = "/mcp/v1";

/// Builds the layers and services of the server.
///
/// # Errors
/// Fails if the name of a host or of an origin is invalid.
pub(crate) fn build(
    http: &Http,
    configuration: &Configuration,
    address: SocketAddr,
    app: &App,
    own_sign_in: Option<ServedSignIn>,
) -> anyhow::Result<impl HttpService> {
    let hosts = http.hosts(address.ip()).context("http.allowed_hosts")?;
    let console = Console::new(http, address, app.guard.is_some());
    let (origins, has_console) = (page_origins(http, console.as_ref())?, console.is_some());
    let sign_in = |it: &Console| it.sign_in(configuration, app, own_sign_in.as_ref());
    let sign_in = console.as_ref().map(sign_in);
    let issuer = configuration.auth.issuer.as_ref();
    let issuer = issuer.filter(|_| app.guard.is_some());
    let challenge = resource::challenge(own_sign_in.as_ref(), issuer)?;
    let is_resource = own_sign_in.is_some() || issuer.is_some();
    let bearer = app.guard.clone().map(|it| bearer(it, &challenge));
    let (door, observer) = (door(app), door(app));
    let traffic = configuration.debug.then(|| AroundLayer::new(log_traffic));
    // One limit for each body, and one for all of them.
    let max_bytes = configuration.limits.max_body_bytes;
    let bodies =
        BodyLimitLayer::new(max_bytes).with_budget(body_budget(max_bytes), Identity::body_caller);
    let framing = framing(max_bytes);
    let routes = Router::new()
        .route(CALLS, any(async || only_posted()))
        .merge(databases(app, bearer.clone(), &bodies))
        .merge(administration(app, configuration))
        .merge(others(app, issuer, &challenge, sign_in, &bodies));
    let routes = ServiceBuilder::new()
        .layer(PostLayer::new(CALLS, calls(app, framing, &bodies)))
        .layer(PostLayer::new(
            LEGACY,
            legacy_calls(app, &challenge, framing, &bodies),
        ))
        .service(routes);
    let edge = Edge {
        render: ErrorString,
        metrics: app.observation.calls.metrics.clone(),
        is_encrypted: http.tls.is_some(),
        shows_faults: configuration.debug,
        has_request_ids: app.observation.calls.has_request_ids(),
        description: DESCRIPTION[0],
        cut_off: app.cut_off.clone(),
        proxies: Some(http.client_ip.layer()),
        records: Some(move |request: &mut Request<_>| observer.identify(request)),
        probes: &PROBES,
        rate_limit: http.rate_limit,
        hosts,
        detour: own_sign_in.map(|own| own.detour),
        origins: Some(origins),
        pages: None,
        preflight: Some(CorsLayer::admitted()),
        session: console.map(|console| move |request: &mut Request<_>| console.admit(request)),
        bearer: bearer.map(|bearer| with_open_paths(bearer, has_console)),
        // Limits callers by their identity, and what they see.
        call: Some(move |request: &mut Request<_>| {
            let limited = door.admit(request)?;
            door.route(request)?;
            Ok(limited)
        }),
    };
    let routes = edge.in_front_of(routes);
    let addresses =
        AroundLayer::new(move |request: &mut Request<_>| name_address(request, is_resource));
    Ok(ServiceBuilder::new()
        // Sees every request and response as the client does; for debugging only.
        .layer(option_layer(traffic))
        .layer(addresses)
        .service(routes.context("the path of the description")?))
}

/// Builds the endpoints below `/api/` for requests of this process, which have their identity.
///
/// # Errors
/// Fails if the challenge for a missing token is not valid.
pub(crate) fn endpoints(configuration: &Configuration, app: &App) -> anyhow::Result<Router> {
    let challenge = resource::challenge(None, None)?;
    let bodies = BodyLimitLayer::new(configuration.limits.max_body_bytes);
    let door = door(app);
    let routes = databases(app, None, &bodies).merge(others(app, None, &challenge, None, &bodies));
    let call = AdmitLayer::new(move |request: &mut Request<_>| {
        let limited = door.admit(request)?;
        door.route(request)?;
        Ok(limited)
    });
    let routes = ServiceBuilder::new().layer(call).service(routes);
    // A path that a caller does not see is changed before its route is looked for.
    Ok(Router::new().fallback_service(routes))
}

/// Returns the origins of pages that may call the server, including the origins of the console.
fn page_origins(http: &Http, console: Option<&Console>) -> anyhow::Result<Origins> {
    let origins = http.origins().context("http.allowed_origins")?;
    match console {
        Some(console) => console.add_origins(origins).context("http.public_url"),
        None => Ok(origins),
    }
}

/// Builds the layer that demands a token.
fn bearer(verifier: Verifier, challenge: &Challenge) -> BearerLayer<Verifier> {
    BearerLayer::new(verifier)
        .with_challenge(challenge.clone())
        // Guessing 32 random bytes needs no counting. Failed logins are counted where passwords
        // are checked.
        .with_failures_reported(false)
}

/// Exempts the paths that need no token, or check it themselves.
fn with_open_paths(bearer: BearerLayer<Verifier>, has_console: bool) -> BearerLayer<Verifier> {
    let [databases, ..] = DATABASES;
    let console = pages::OPEN_PATHS.into_iter().filter(|_| has_console);
    bearer
        .with_exempt(console)
        // A client that looks for an OAuth server must learn that it does not exist, instead of
        // being asked for a token.
        .with_exempt([WELL_KNOWN])
        .with_exempt(PROBES)
        .with_exempt(DESCRIPTION)
        // The page that shows it: a browser sends no token for an address.
        .with_exempt(pages::DOCS_PATHS)
        .with_exempt([databases, "/api/databases/*"])
        // The call of the login tool comes without one.
        .with_optional([LEGACY])
        // A browser sends the cookie alone for a download; without one a token is required.
        .with_optional(["/api/exports/*"])
}

/// Serves calls of all revisions on one path. No login is possible here, so a token is required.
fn calls(
    app: &App,
    framing: JsonRpcLayer,
    bodies: &BodyLimitLayer,
) -> impl HttpService<ResponseBody = Body> + use<> {
    ServiceBuilder::new()
        // A call that cannot be recorded has no answer of its protocol.
        .map_response(show_unavailable)
        // Notifications before the answer make it a stream of events.
        .layer(StreamableLayer::new())
        // After the method and the content type are checked, before a byte is read.
        .layer(bodies.clone())
        .layer(framing.with_dialect_of(protocol::dialect_of))
        // Finds the revision, and checks that headers and message agree.
        .layer(ProtocolLayer::http())
        .service(app.catalogue.clone())
}

/// Serves calls of clients that negotiate no revision. Without a token the only call is the login.
fn legacy_calls(
    app: &App,
    challenge: &Challenge,
    framing: JsonRpcLayer,
    bodies: &BodyLimitLayer,
) -> impl HttpService<ResponseBody = Body> + use<> {
    ServiceBuilder::new()
        .layer(bodies.clone())
        .layer(login(app, challenge))
        .map_response(show_unavailable)
        .layer(framing.with_dialect(dialect()))
        .service(app.catalogue.clone())
}

/// Refuses other requests to the calls of clients that negotiate no revision: for a missing token
/// first, and then for their method.
fn legacy_refusal(app: &App, challenge: &Challenge) -> MethodRouter {
    any(async || only_posted()).layer(login(app, challenge))
}

/// Builds the layer that lets the login through without a token.
fn login(app: &App, challenge: &Challenge) -> LoginLayer {
    LoginLayer::new()
        .with_required(app.accounts.is_some())
        .with_challenge(challenge)
}

/// Refuses a request for calls with another method.
fn only_posted() -> impl IntoResponse {
    ([(ALLOW, "POST")], <Refusal>::no_such_method())
}

/// Serves the database endpoints. Their refusals have a format of their own, also for a missing
/// token.
fn databases(app: &App, bearer: Option<BearerLayer<Verifier>>, bodies: &BodyLimitLayer) -> Router {
    let bearer = bearer.map(|bearer| bearer.with_render(SuccessFlag));
    let routes = chat_api::router([chat_api::databases::routes(app.databases.clone())]);
    let (limits, access) = (door(app), door(app));
    let endpoints = ServiceBuilder::new()
        .layer(option_layer(bearer))
        .layer(AdmitLayer::new(move |request: &mut Request<_>| {
            limits.admit(request)
        }))
        .layer(bodies.clone())
        .layer(AdmitLayer::new(move |request: &mut Request<_>| {
            access.admit_databases(request)
        }))
        .service(recorded(routes, app));
    let paths = DATABASES.into_iter();
    paths.fold(Router::new(), |router, path| {
        router.route_service(path, endpoints.clone())
    })
}

/// Serves the endpoints of administrators, who are users. Without authentication these endpoints do
/// not exist.
fn administration(app: &App, configuration: &Configuration) -> Router {
    let Some(accounts) = app.accounts.clone() else {
        return Router::new();
    };
    let Auth {
        token_file,
        user_file,
        min_password_length,
        ..
    } = &configuration.auth;
    let api = AdminApi::new(Services {
        token_file: token_file.clone(),
        user_file: user_file.clone(),
        min_password_length: *min_password_length,
        accounts,
        grants: app.sign_in_store.clone(),
        conversations: app.conversations.clone(),
        databases: app.databases.clone(),
        readiness: app.readiness.clone(),
        program: SharedProgram(Arc::new(app.administered.clone())),
    });
    let audit = app.observation.calls.audit.clone();
    let routes = ziggurat_admin_api::routes(api).merge(ziggurat_admin_api::audit::routes(audit));
    recorded(routes, app)
        .method_not_allowed_fallback(async || <Refusal>::no_such_method())
        .layer(MapResponseLayer::new(ziggurat_query_api::unstored))
}

/// Serves everything else behind the body limit, paths that do not exist included.
fn others(
    app: &App,
    issuer: Option<&TrustedIssuer>,
    challenge: &Challenge,
    sign_in: Option<SignIn>,
    bodies: &BodyLimitLayer,
) -> Router {
    let document = Document::new("application/json", ziggurat_openapi::TOOLS);
    let [own, usual] = DESCRIPTION;
    let [alive, ready] = PROBES;
    let mut router = chat(app)
        .merge(library(app))
        .merge(statements(app, challenge))
        .merge(activity(app))
        .route(LEGACY, legacy_refusal(app, challenge))
        .route(alive, reading(health(NAME, VERSION)))
        .route(ready, reading(app.readiness.clone()))
        .route(own, reading(document.clone()))
        .route(usual, reading(document));
    for (path, file) in pages::docs() {
        router = router.route(&path, reading(file));
    }
    if let Some(receipts) = app.observation.calls.receipts.clone() {
        let keys = async move || receipts::published(&receipts);
        router = router.route(receipts::PUBLIC_KEYS, reading(keys));
    }
    if let Some(sign_in) = sign_in {
        let sign_in = sign_in.routes(|routes| recorded(routes, app));
        router = router
            .merge(sign_in)
            .route(pages::OPEN_PATHS[0], reading(home));
        for (path, file) in pages::pages() {
            router = router.route(&path, reading(file));
        }
    }
    // Without a trusted issuer these paths do not exist: anything but 404 would have clients look
    // for one.
    if let Some(issuer) = issuer {
        for (path, document) in resource::documents(issuer) {
            router = router.route(&path, reading(document));
        }
        let issuer = issuer.clone();
        let of_toolset = async move |name: Path<String>, headers: HeaderMap| {
            resource::of_toolset(&issuer, &name, &headers)
        };
        router = router.route(resource::OF_TOOLSETS, reading(of_toolset));
    }
    router
        .fallback(async || <Refusal>::not_found())
        .method_not_allowed_fallback(async || <Refusal>::no_such_method())
        .layer(bodies.clone())
}

/// Serves the resources of chat clients.
fn chat(app: &App) -> Router {
    let areas = [
        Some(chat_api::user::routes()),
        app.conversations
            .clone()
            .map(chat_api::conversations::routes),
        app.proxy.clone().map(chat_api::llm::routes),
        Some(chat_api::compact::routes()),
    ];
    let areas = areas.into_iter().flatten();
    recorded(areas.fold(Router::new(), Router::merge), app)
}

/// Serves the queries and prompts of users, which are kept where their conversations are.
fn library(app: &App) -> Router {
    let Some(conversations) = &app.conversations else {
        return Router::new();
    };
    let routes = chat_api::library::routes(conversations.library(), app.databases.clone());
    observed(counted::<ErrorAndCode>(routes, app), app)
        .layer(MapResponseLayer::new(ziggurat_query_api::unstored))
}

/// Serves statements over HTTP. Each request counts as a call of its caller, and is observed until
/// the last row was sent.
fn statements(app: &App, challenge: &Challenge) -> Router {
    let door = door(app);
    let (query, accounts) = (app.query.clone(), app.accounts.clone());
    let callers = ExportCallers::new(query, accounts, challenge, door.clone());
    let observing = door.clone();
    ziggurat_query_api::routes(app.query.clone())
        .layer(AdmitLayer::new(move |request: &mut Request<_>| {
            let counted = door.count::<ErrorAndCode>(request)?;
            door.admit_query(request)?;
            Ok(counted)
        }))
        .layer(from_fn_with_state(observing, observe_statement))
        .layer(from_fn_with_state(callers, identify_export))
        .layer(MapResponseLayer::new(ziggurat_query_api::unstored))
}

/// Serves the list of running statements. Programs ask for it every few seconds, so these requests
/// are not counted, and recorded only if they ask for the statements of others; those that cancel a
/// statement are both.
fn activity(app: &App) -> Router {
    let Some(activity) = app.observation.calls.activity.clone() else {
        return Router::new();
    };
    let connections = ConnectionCounts::new(app, activity.clone());
    let api = ActivityApi::new(activity, replica::name(), move |extensions| {
        connections.visible(extensions)
    });
    let [lists, cancels] = ziggurat_calls::activity::routes(api);
    lists
        .layer(from_fn_with_state(door(app), observe_list))
        .merge(recorded(cancels, app))
        .layer(MapResponseLayer::new(ziggurat_query_api::unstored))
}

/// Counts each request to these routes as a call of its caller, and observes it if there is an audit
/// trail, or metrics or traces are on.
fn recorded(routes: Router, app: &App) -> Router {
    observed(counted::<ErrorString>(routes, app), app)
}

/// Counts each request to these routes as a call of its caller, refused in the format `R`.
fn counted<R>(routes: Router, app: &App) -> Router
where
    R: Render<Body> + Default + 'static,
{
    let door = door(app);
    routes.layer(AdmitLayer::new(move |request: &mut Request<_>| {
        door.count::<R>(request)
    }))
}

/// Observes each request to these routes if there is an audit trail, or metrics or traces are on.
fn observed(routes: Router, app: &App) -> Router {
    let door = door(app);
    if door.is_on() {
        routes.layer(from_fn_with_state(door, observe_request))
    } else {
        routes
    }
}

fn door(app: &App) -> Door {
    Door {
        catalogue: app.catalogue.clone(),
        local: app.observation.local.clone(),
    }
}

/// Serves documents, which are only read.
fn reading<T: 'static>(document: impl Handler<T, ()>) -> MethodRouter {
    let refuse = async || ([(ALLOW, "GET, HEAD")], <Refusal>::no_such_method());
    get(document).fallback(refuse)
}

/// Reads messages of JSON-RPC up to the size of a body.
fn framing(max_bytes: u64) -> JsonRpcLayer {
    let max_bytes = max_bytes.try_into().unwrap_or(usize::MAX);
    JsonRpcLayer::new().with_max_bytes(max_bytes)
}
