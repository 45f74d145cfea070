//! Spans of requests.

use std::borrow::Cow;

use axum::Router;
use http::{Method, Request, Response};
use ziggurat_http::AroundLayer;
use ziggurat_layers::sanitize::TraceId;
use ziggurat_telemetry::{
    Verdict,
    traces::{Incoming, ServerSpan, Tracer, Transport},
};

/// Methods that may be in the name of a span. Any other word is made up by a client.
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// Beginning of the paths that may end with an id.
const AREAS: &str = "/account/v1/";

/// Ends of these paths that are no ids.
const FIXED: [&str; 2] = ["me", "token"];

/// Begins a span for each request to these routes, if there are traces.
pub(super) fn traced(routes: Router, tracer: &Tracer, is_authenticated: bool) -> Router {
    if !tracer.is_on() {
        return routes;
    }
    let tracer = tracer.clone();
    routes.layer(AroundLayer::new(move |request: &mut Request<_>| {
        let span = begin(&tracer, request, is_authenticated);
        move |response| end(span, response)
    }))
}

/// Begins a span with the method and the route.
fn begin<B>(tracer: &Tracer, request: &Request<B>, is_authenticated: bool) -> ServerSpan {
    let method = METHODS.iter().find(|method| *method == request.method());
    let method = method.map_or("_OTHER", Method::as_str);
    let name = format!("{method} {}", route(request.uri().path()));
    let incoming = Incoming::default().with_headers(request.headers());
    let mut span = tracer.begin(&name, incoming, is_authenticated);
    span.set_transport(Transport::Tcp);
    span
}

/// Returns the path of a known route without the id in it. The feature of axum that knows the route
/// would cost each request of all programs an allocation.
fn route(path: &str) -> Cow<'_, str> {
    let below = path.strip_prefix(AREAS);
    match below.and_then(|below| below.split_once('/')) {
        Some((area, rest)) if !FIXED.contains(&rest) => format!("{AREAS}{area}/{{id}}").into(),
        _ => path.into(),
    }
}

fn end<B>(mut span: ServerSpan, mut response: Response<B>) -> Response<B> {
    let status = response.status();
    // For the log of a fault.
    if let Some(id) = span.trace().id() {
        response
            .extensions_mut()
            .insert(TraceId::new(id.to_string()));
    }
    span.set_verdict(Verdict::of(status).as_str());
    if status.is_server_error() {
        span.set_error(status.as_str());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_contains_no_id() {
        for (path, expected) in [
            ("/account/v1/clients", "/account/v1/clients"),
            ("/account/v1/clients/7f3a", "/account/v1/clients/{id}"),
            ("/account/v1/clients/7f3a/b", "/account/v1/clients/{id}"),
            ("/account/v1/users/me", "/account/v1/users/me"),
            ("/account/v1/oauth/token", "/account/v1/oauth/token"),
            ("/.well-known/jwks.json", "/.well-known/jwks.json"),
        ] {
            assert_eq!(route(path), expected);
        }
    }
}
