//! The audit trail of a running server.

use std::time::Duration;

use tokio::{task::JoinSet, time};
use tracing::warn;
use ziggurat_audit::Audit;

use crate::configuration::Configuration;

/// The audit trail and the thread that writes it.
#[derive(Debug)]
pub(crate) struct Trail {
    pub(crate) audit: Audit,
    writer: JoinSet<()>,
}

// === impl Trail ===

impl Trail {
    /// Opens the trail and starts its writer, if there is one.
    ///
    /// # Errors
    /// Fails if the file cannot be used, or another server writes it.
    pub(crate) fn open(configuration: &Configuration) -> anyhow::Result<Option<Self>> {
        let Some(trail) = &configuration.audit else {
            return Ok(None);
        };
        let (audit, run) = Audit::open(trail.settings()?)?;
        let mut writer = JoinSet::new();
        writer.spawn_blocking(move || run.run());
        Ok(Some(Self { audit, writer }))
    }

    /// Writes the records that are left, within a time.
    pub(crate) async fn close(mut self, limit: Duration) {
        self.audit.close();
        let written = async { while self.writer.join_next().await.is_some() {} };
        if time::timeout(limit, written).await.is_err() {
            warn!("the audit trail was not written to its end");
        }
    }
}
