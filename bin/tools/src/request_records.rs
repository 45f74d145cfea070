//! Records of `/api/` requests and of refused tokens for the audit trail.

use std::net::IpAddr;

use axum::{
    BoxError,
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderName, HeaderValue, StatusCode, header::RETRY_AFTER};
use ziggurat_accounts::Identity;
use ziggurat_audit::{Audit, CallStart, Caller, Verdict};
use ziggurat_http::Refusal;
use ziggurat_layers::{client_ip::ClientIp, sanitize::RequestId};
use ziggurat_mcp::NotAdmitted;

use crate::call_records::{RETRY_SECONDS, named};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest recorded path, in bytes.
const LONGEST: usize = 200;

/// Records a request, and refuses it if it cannot be recorded although it has to be.
pub(crate) async fn record_request(
    State(audit): State<Audit>,
    request: Request,
    next: Next,
) -> Response {
    let identity = request.extensions().get::<Identity>();
    let account = identity.map(Identity::account);
    let token = identity.map(|identity| identity.token().to_string());
    let id = request.extensions().get::<RequestId>();
    let record = audit.begin(&CallStart {
        request_id: id.map_or("", RequestId::as_str),
        transport: "http",
        face: "/api",
        caller: Caller {
            ip: client_ip(&request),
            ..named(account.as_ref(), token.as_deref())
        },
        method: &target(&request),
        ..CallStart::default()
    });
    if record.open().await.is_err() {
        return unavailable();
    }
    let response = next.run(request).await;
    let status = response.status();
    if !status.is_success() {
        record.code(status.as_str());
    }
    record.end(verdict(status));
    response
}

/// Gives a request an id, which its response and its record have, and records the refusal of its
/// token: an unauthenticated request is no call.
pub(crate) fn identify<B, C>(
    audit: Audit,
    request: &mut http::Request<B>,
) -> impl FnOnce(http::Response<C>) -> http::Response<C> + use<B, C> {
    let given = request.extensions().get().cloned();
    let id = given.unwrap_or_else(RequestId::generate);
    request.extensions_mut().insert(id.clone());
    let (method, ip) = (target(request), client_ip(request));
    move |mut response| {
        if response.status() == StatusCode::UNAUTHORIZED {
            audit.denied(&CallStart {
                request_id: id.as_str(),
                transport: "http",
                method: &method,
                caller: Caller {
                    ip,
                    ..Caller::default()
                },
                ..CallStart::default()
            });
        }
        if let Ok(value) = HeaderValue::from_str(id.as_str()) {
            response.headers_mut().entry(REQUEST_ID).or_insert(value);
        }
        response
    }
}

/// Replaces the reply to a call that could not be recorded.
pub(crate) fn show_unavailable<B>(response: http::Response<B>) -> Response
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    if response.extensions().get::<NotAdmitted>().is_some() {
        return unavailable();
    }
    response.map(Body::new)
}

/// Returns the answer to a request that may not run without a record.
fn unavailable() -> Response {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let refusal = <Refusal>::new(status, "audit_unavailable", "Audit is unavailable");
    let mut response = refusal.into_response();
    let seconds = HeaderValue::from(RETRY_SECONDS);
    response.headers_mut().insert(RETRY_AFTER, seconds);
    response
}

/// Returns the method and the path of a request.
fn target<B>(request: &http::Request<B>) -> String {
    let path = request.uri().path();
    let path = &path[..path.floor_char_boundary(LONGEST)];
    format!("{} {path}", request.method())
}

fn client_ip<B>(request: &http::Request<B>) -> Option<IpAddr> {
    request.extensions().get().map(ClientIp::client)
}

fn verdict(status: StatusCode) -> Verdict {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Verdict::Denied,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Verdict::Unknown,
        StatusCode::TOO_MANY_REQUESTS => Verdict::Limited,
        status if status.is_server_error() => Verdict::Failed,
        status if status.is_client_error() => Verdict::Refused,
        _ => Verdict::Ok,
    }
}
