//! What operators see of the calls: the audit trail and the metrics.

use ziggurat_audit::Audit;
use ziggurat_databases::Databases;
use ziggurat_mcp::Mcp;
use ziggurat_telemetry::Metrics;

use crate::{calls::CallObserver, configuration::Configuration, metrics, trail::Trail};

/// The audit trail and the metrics of a server; each may be off.
#[derive(Debug)]
pub(crate) struct Observation {
    pub(crate) trail: Option<Trail>,
    pub(crate) metrics: Metrics,
}

// === impl Observation ===

impl Observation {
    /// Opens the audit trail, and starts the metrics.
    ///
    /// # Errors
    /// Fails if the file of the trail cannot be used, or another server writes it.
    pub(crate) fn start(configuration: &Configuration) -> anyhow::Result<Self> {
        let trail = Trail::open(configuration)?;
        let metrics = metrics::start(configuration, trail.as_ref());
        Ok(Self { trail, metrics })
    }

    /// Returns the audit trail, if there is one.
    pub(crate) fn audit(&self) -> Option<&Audit> {
        self.trail.as_ref().map(|trail| &trail.audit)
    }

    /// Returns whether anything is observed.
    pub(crate) fn is_on(&self) -> bool {
        self.trail.is_some() || self.metrics.is_on()
    }

    /// Observes the calls of a service, if anything is observed.
    pub(crate) fn observe(&self, mcp: Mcp, databases: &Databases) -> Mcp {
        if !self.is_on() {
            return mcp;
        }
        metrics::learn_tools(&self.metrics, &mcp);
        let (audit, metrics) = (self.audit().cloned(), self.metrics.clone());
        mcp.with_observer(CallObserver::new(audit, metrics, databases.clone()))
    }
}
