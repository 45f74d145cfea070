//! The audit trail of a running program.

use std::time::Duration;

use tokio::{task::JoinSet, time};
use tracing::warn;

use crate::{Audit, OpenError, Settings};

/// An audit trail and the thread that writes it.
#[derive(Debug)]
pub struct Trail {
    audit: Audit,
    writer: JoinSet<()>,
}

// === impl Trail ===

impl Trail {
    /// Opens the trail and starts its writer, if there is one.
    ///
    /// # Errors
    /// Fails if the file cannot be used, or another server writes it.
    ///
    /// # Panics
    /// Panics outside a Tokio runtime.
    pub fn open(settings: Option<&Settings>) -> Result<Option<Self>, OpenError> {
        let Some(settings) = settings else {
            return Ok(None);
        };
        let (audit, run) = Audit::open(settings.clone())?;
        let mut writer = JoinSet::new();
        writer.spawn_blocking(move || run.run());
        Ok(Some(Self { audit, writer }))
    }

    /// Returns the handle to the trail.
    #[must_use]
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Writes the records that are left, within a time.
    pub async fn close(mut self, limit: Duration) {
        self.audit.close();
        let written = async { while self.writer.join_next().await.is_some() {} };
        if time::timeout(limit, written).await.is_err() {
            warn!("the audit trail was not written to its end");
        }
    }
}
