//! Requests that run a statement and send its rows.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use ziggurat_calls::{
    activity::Begin,
    http::{add_trace_id, end_with_body},
};

use crate::requests::Door;

/// Paths of the requests that run statements of their callers.
const PATHS: [&str; 2] = ["/api/query", "/api/exports"];

/// Begins a call for a request that runs a statement, and ends it when the last of its rows was sent.
pub(crate) async fn observe_statement(
    State(door): State<Door>,
    mut request: Request,
    next: Next,
) -> Response {
    let followed = PATHS.into_iter().find(|path| {
        let rest = request.uri().path().strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let followed = followed.map(|tool| Begin { via: "rest", tool });
    let allowance = request.extensions().get().cloned();
    let call = door.begin(&mut request, allowance, followed);
    if call.is_off() {
        return next.run(request).await;
    }
    request.extensions_mut().insert(call.clone());
    let mut response = next.run(request).await;
    add_trace_id(&mut response, &call);
    end_with_body(call, response)
}
