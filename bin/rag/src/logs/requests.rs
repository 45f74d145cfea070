//! A log line for every request.

use std::{
    fmt,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tracing::{enabled, info};
use ziggurat_layers::{client_ip::ClientIp, sanitize::TraceId};

/// Limit on the logged part of a path, in bytes.
const LONGEST: usize = 200;

/// Status that is logged if the client left before the response. No response has it; it is a common
/// convention of proxies.
const CLIENT_LEFT: u16 = 499;

pin_project! {
    /// A body that logs the request when it ends.
    pub(crate) struct NotedBody<B> {
        #[pin]
        body: B,
        // Dropped with the body, which writes the line.
        entry: Option<Entry>,
    }
}

/// The data of a log line, which is written on drop.
struct Entry {
    method: Method,
    uri: Uri,
    remote: Option<IpAddr>,
    status: Option<StatusCode>,
    request_id: Option<HeaderValue>,
    trace_id: Option<TraceId>,
    began: Instant,
}

/// Logs a request when its response was sent or its client has left: its ids, method, path, status
/// and duration. Nothing of the query, the headers or the body is logged.
pub(crate) fn log_request<B, C>(
    request: &mut Request<B>,
) -> impl FnOnce(Response<C>) -> Response<NotedBody<C>> + use<B, C> {
    let mut entry = enabled!(tracing::Level::INFO).then(|| Entry {
        method: request.method().clone(),
        uri: request.uri().clone(),
        remote: request.extensions().get().map(ClientIp::client),
        status: None,
        request_id: None,
        trace_id: None,
        began: Instant::now(),
    });
    move |response| {
        if let Some(entry) = &mut entry {
            entry.status = Some(response.status());
            entry.request_id = response.headers().get("x-request-id").cloned();
            entry.trace_id = response.extensions().get().cloned();
        }
        response.map(|body| NotedBody { body, entry })
    }
}

// === impl NotedBody ===

impl<B: Body> Body for NotedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> fmt::Debug for NotedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotedBody").finish_non_exhaustive()
    }
}

// === impl Entry ===

impl Drop for Entry {
    fn drop(&mut self) {
        let path = self.uri.path();
        let id = self.request_id.as_ref();
        info!(
            request_id = id.and_then(|id| id.to_str().ok()),
            trace_id = self.trace_id.as_ref().map(TraceId::as_str),
            method = self.method.as_str(),
            path = &path[..path.floor_char_boundary(LONGEST)],
            status = self.status.map_or(CLIENT_LEFT, |status| status.as_u16()),
            duration = ?self.began.elapsed(),
            remote = self.remote.map(tracing::field::display),
            "request"
        );
    }
}
