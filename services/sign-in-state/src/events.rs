//! Events of the sign-in, for the audit trail or the log, and for metrics.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use http::Extensions;
use serde_json::{Map, Value};
use tokio::time;
use tracing::debug;
use ziggurat_audit::Audit;
use ziggurat_layers::sanitize::RequestId;
use ziggurat_mcp_auth::{Event, EventKind, Seconds};
use ziggurat_telemetry::{GrantCount, Metrics};

use crate::SignInStore;

/// Time between counts of the grants. The age of a count does not matter.
const COUNT_INTERVAL: Duration = Duration::from_mins(1);

/// Takes the events of a server.
#[derive(Clone, Debug)]
pub struct SignInEvents {
    audit: Option<Audit>,
    metrics: Metrics,
}

// === impl SignInEvents ===

impl SignInEvents {
    /// Records events in this trail, or else in the log, and counts them.
    #[must_use]
    pub fn new(audit: Option<Audit>, metrics: Metrics) -> Self {
        Self { audit, metrics }
    }

    /// Counts the grants of a store for the page of metrics, again and again. A page shows the last
    /// count, because it must not wait for the store. Without metrics nothing is counted.
    pub async fn count_grants(self, store: SignInStore, now: impl Fn() -> Seconds) {
        if !self.metrics.is_on() {
            return;
        }
        let counts = Arc::<ArcSwap<Vec<GrantCount>>>::default();
        let shown = Arc::clone(&counts);
        self.metrics
            .read_grants(move || shown.load().as_ref().clone());
        let mut ticks = time::interval(COUNT_INTERVAL);
        ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match store.count_grants(now()).await {
                Ok(found) => counts.store(Arc::new(found)),
                // The store logs that it is unreachable, and the last count stays.
                Err(error) => debug!(%error, "the grants cannot be counted"),
            }
        }
    }

    /// Takes an event of a request.
    pub fn take(&self, event: &Event<'_>, request: &Extensions) {
        self.count(event);
        let Some(audit) = &self.audit else {
            return event.log();
        };
        let id = request.get().map_or("", RequestId::as_str);
        audit.sign_in(id, event.address, &members(event));
    }

    fn count(&self, event: &Event<'_>) {
        let metrics = &self.metrics;
        match event.kind {
            EventKind::LoginOk => metrics.sign_in("password", "ok"),
            EventKind::LoginFailed => metrics.sign_in("password", "failed"),
            EventKind::LoginLocked => metrics.sign_in("password", "locked"),
            EventKind::SecondFactorFailed => metrics.sign_in("second_factor", "failed"),
            EventKind::UpstreamOk => metrics.sign_in("upstream", "ok"),
            EventKind::UpstreamRefused => metrics.sign_in("upstream", "failed"),
            EventKind::AssertionOk => metrics.sign_in("assertion", "ok"),
            EventKind::AssertionRefused => metrics.sign_in("assertion", "failed"),
            EventKind::TokenIssued => {
                metrics.token_issued(event.grant_type.unwrap_or_default(), "ok");
            }
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
