//! Calls over HTTP.

use std::{convert::Infallible, sync::Arc};

use axum::{
    BoxError,
    body::{Body, Bytes},
    response::{IntoResponse as _, Response},
};
use http::Request;
use http_body::Body as HttpBody;
use tower::{Service, ServiceBuilder};
use ziggurat_calls::{Caller, http::audit_unavailable};
use ziggurat_http::AdmitLayer;
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_mcp::{
    NotAdmitted,
    protocol::{self, ProtocolLayer},
    streamable::StreamableLayer,
};

use crate::{
    mcp::DocumentTools,
    query::MAX_BODY,
    question::check_flood,
    reply::{ErrorLine, Refused},
};

/// Serves the calls of all revisions, behind the limits of callers and bodies.
pub fn service<B>(
    tools: &DocumentTools,
) -> impl Service<Request<B>, Response = Response, Error = Infallible, Future: Send> + Clone + use<B>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let admitting = tools.clone();
    let max_bytes = usize::try_from(MAX_BODY).unwrap_or(usize::MAX);
    let bodies = tools.shared.options.body_limit().with_render(ErrorLine);
    ServiceBuilder::new()
        .layer(AdmitLayer::new(move |request: &mut Request<B>| {
            admitting.admit(request)
        }))
        // A call that cannot be recorded has no answer of its protocol.
        .map_response(show_unavailable)
        // Notifications before the answer make it a stream of events.
        .layer(StreamableLayer::new())
        // After the method and the content type are checked, before a byte is read.
        .layer(bodies)
        .layer(
            JsonRpcLayer::new()
                .with_max_bytes(max_bytes)
                .with_dialect_of(protocol::dialect_of),
        )
        // Finds the revision, and checks that headers and message agree.
        .layer(ProtocolLayer::http())
        .service(tools.clone())
}

// === impl DocumentTools ===

impl DocumentTools {
    /// Finds the allowance of the caller of a request, which the response announces. A caller that
    /// goes on with calls although many were refused is refused before its request is read.
    fn admit<B>(
        &self,
        request: &mut Request<B>,
    ) -> Result<impl FnOnce(Response) -> Response + use<B>, Box<Response>> {
        let options = &self.shared.options;
        let allowance = Caller::of(request.extensions()).allowance(&options.limits);
        let checked = check_flood(allowance.as_deref(), options);
        if let Some(allowance) = &allowance {
            request.extensions_mut().insert(Arc::clone(allowance));
        }
        let announce = move |mut response: Response| {
            if let Some(allowance) = allowance {
                allowance.append_fields(response.headers_mut());
            }
            response
        };
        match checked {
            Ok(()) => Ok(announce),
            Err(refused) => Err(Box::new(announce(refused.into_response()))),
        }
    }
}

/// Replaces the reply to a call that could not be recorded.
fn show_unavailable<B>(response: http::Response<B>) -> Response
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    if response.extensions().get::<NotAdmitted>().is_some() {
        return Refused::from(audit_unavailable()).into_response();
    }
    response.map(Body::new)
}
