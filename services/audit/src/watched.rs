//! Requests with tokens that may be refused.

use std::{fmt, net::IpAddr};

use http::{Method, Request, uri::PathAndQuery};

use crate::{Audit, CallStart, Caller, draft::Draft, request_method};

/// A request over HTTP that may be refused for its token. It keeps the facts for the record.
pub struct WatchedRequest {
    audit: Audit,
    method: Method,
    path: Option<PathAndQuery>,
    ip: Option<IpAddr>,
}

// === impl WatchedRequest ===

impl WatchedRequest {
    pub(crate) fn new<B>(audit: Audit, request: &Request<B>, ip: Option<IpAddr>) -> Self {
        Self {
            audit,
            method: request.method().clone(),
            path: request.uri().path_and_query().cloned(),
            ip,
        }
    }

    /// Records that the token was refused. In each second, all refused tokens after the tenth become
    /// one line with their number.
    pub fn denied(&self, request_id: &str) {
        let path = self.path.as_ref().map_or("/", PathAndQuery::path);
        self.audit.queue().push_denied(|| {
            Box::new(Draft::denied(&CallStart {
                request_id,
                transport: "http",
                method: &request_method(self.method.as_str(), path),
                caller: Caller {
                    ip: self.ip,
                    ..Caller::default()
                },
                ..CallStart::default()
            }))
        });
    }
}

impl fmt::Debug for WatchedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The path is left out, which may contain a secret.
        f.debug_struct("WatchedRequest").finish_non_exhaustive()
    }
}
