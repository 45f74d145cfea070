//! Events of the sign-in, for the audit trail or the log, and for metrics.

use http::Extensions;
use serde_json::{Map, Value};
use ziggurat_audit::Audit;
use ziggurat_layers::sanitize::RequestId;
use ziggurat_mcp_auth::{Event, EventKind};
use ziggurat_telemetry::Metrics;

/// Takes the events of a server.
#[derive(Clone)]
pub(super) struct Events {
    pub(super) audit: Option<Audit>,
    pub(super) metrics: Metrics,
}

// === impl Events ===

impl Events {
    pub(super) fn take(&self, event: &Event<'_>, request: &Extensions) {
        self.count(event.kind);
        let Some(audit) = &self.audit else {
            return event.log();
        };
        let id = request.get().map_or("", RequestId::as_str);
        audit.sign_in(id, event.address, &members(event));
    }

    fn count(&self, kind: EventKind) {
        let metrics = &self.metrics;
        match kind {
            EventKind::LoginOk => metrics.sign_in("password", "ok"),
            EventKind::LoginFailed => metrics.sign_in("password", "failed"),
            EventKind::LoginLocked => metrics.sign_in("password", "locked"),
            EventKind::SecondFactorFailed => metrics.sign_in("second_factor", "failed"),
            EventKind::UpstreamOk => metrics.sign_in("upstream", "ok"),
            EventKind::UpstreamRefused => metrics.sign_in("upstream", "failed"),
            EventKind::AssertionOk => metrics.sign_in("assertion", "ok"),
            EventKind::AssertionRefused => metrics.sign_in("assertion", "failed"),
            EventKind::TokenIssued => metrics.token_issued("authorization_code", "ok"),
            EventKind::TokenRefreshed => metrics.token_issued("refresh_token", "ok"),
            EventKind::CodeReplayed => metrics.token_issued("authorization_code", "refused"),
            EventKind::RefreshReused => metrics.token_issued("refresh_token", "refused"),
            _ => {}
        }
    }
}

/// Returns the facts of an event that are there.
fn members(event: &Event<'_>) -> Value {
    let grant = event.grant_id();
    let facts = [
        ("event", Some(event.kind.name())),
        ("person", event.person),
        ("client", event.client),
        ("grant", grant.as_deref()),
        ("resource", event.resource),
        ("scope", event.scope),
        ("reason", event.reason),
    ];
    let facts = facts.into_iter().filter_map(|(name, fact)| {
        let fact: Value = fact?.into();
        Some((name.to_owned(), fact))
    });
    facts.collect::<Map<_, _>>().into()
}
